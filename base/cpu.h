/* Hints to the processor; without effect on what a program does. */
#ifndef FTC_BASE_CPU_H
#define FTC_BASE_CPU_H

/* On the way of every operation: such functions are laid side by side, on few pages, since with
 * many ranks on a core each one comes back to cold caches. */
#define FTC_HOT __attribute__((hot))

/* In a loop that waits for another core. */
static inline void ftc_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* The cache line of `address` will be read and written: fetch it once, to own it. */
static inline void ftc_cpu_own(const void *address)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" ::"m"(*(const char *)address));
#else
    __builtin_prefetch(address, 1);
#endif
}

#endif
