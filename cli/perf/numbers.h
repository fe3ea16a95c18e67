/* The arithmetic of ftcoll-perf: sizes as people write them, quantiles, a seeded random sequence.
 * Nothing here does I/O or calls the library. */
#ifndef FTC_CLI_PERF_NUMBERS_H
#define FTC_CLI_PERF_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FTC_PERF_SIZE_MAX ((size_t)1 << 30) /* bytes */

/* Sizes from `first` bytes up to `last`; each is twice the size before. */
struct ftc_perf_sizes {
    size_t first, last;
};

/* Read a size up to FTC_PERF_SIZE_MAX: "64", "8K", "1M", "1G" (powers of 1024). Returns false, and
 * leaves *size unchanged, if `text` is none. */
bool ftc_perf_size_read(const char *text, size_t *size);
/* Read "8:1M" or "64K". Returns false if `text` is neither, or if the first size is 0 or larger
 * than the last one. */
bool ftc_perf_sizes_read(const char *text, struct ftc_perf_sizes *sizes);
/* Read a whole number from `least` to `most`. Returns false if `text` is anything else. */
bool ftc_perf_whole_read(const char *text, uint64_t least, uint64_t most, uint64_t *value);

/* Returns the smallest of the `count` > 0 sorted values that at least `part` (0 to 1) of them do
 * not exceed. */
double ftc_perf_quantile(const double sorted[], int count, double part);
void ftc_perf_sort(double values[], int count);
double ftc_perf_clamp(double value, double least, double most);

/* Compute, in so many steps that need no memory. Use the result, or a compiler leaves them out. */
double ftc_perf_compute(uint64_t steps);

/* Returns the next number of the random sequence of a seed (splitmix64), less than `below` > 0. */
uint64_t ftc_perf_random(uint64_t *state, uint64_t below);

#endif
