/* Hints to the processor. They change the speed of a program, never its results. */
#ifndef FTC_BASE_CPU_H
#define FTC_BASE_CPU_H

/* For functions that every operation calls. The linker lays them side by side on few pages, which
 * helps where many ranks share a core and each rank finds cold caches when its turn comes. */
#define FTC_HOT __attribute__((hot))

/* Call this in a loop that waits for another core. */
static inline void ftc_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* Fetch the cache line of `address` for writing. A line that is read first and then written would
 * otherwise travel twice. */
static inline void ftc_cpu_own(const void *address)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" ::"m"(*(const char *)address));
#else
    __builtin_prefetch(address, 1);
#endif
}

#endif
