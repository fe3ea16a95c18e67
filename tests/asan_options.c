/*
 * For programs that use PMIx, as a second ftc_init() does, too, under AddressSanitizer. What
 * libpmix leaks is suppressed by who called it (lsan.supp), which takes unwinding through libraries
 * without frame pointers. That makes malloc() several times slower, so nobody else does it.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void); /* of libasan */

const char *__asan_default_options(void)
{
    return "fast_unwind_on_malloc=0";
}
