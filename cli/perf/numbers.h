/* The arithmetic of ftcoll-perf: sizes as people write them, quantiles, a seeded sequence. No I/O,
 * no library. */
#ifndef FTC_CLI_PERF_NUMBERS_H
#define FTC_CLI_PERF_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FTC_PERF_SIZE_MAX ((size_t)1 << 30) /* bytes */

/* From `first` bytes, each twice the one before it, up to `last`. */
struct ftc_perf_sizes {
    size_t first, last;
};

/* "64", "8K", "1M", "1G" (powers of 1024), up to FTC_PERF_SIZE_MAX. False: it is none, *size is
 * unchanged. */
bool ftc_perf_size_read(const char *text, size_t *size);
/* "8:1M" or "64K". False: not that, or the first is larger than the last, or 0. */
bool ftc_perf_sizes_read(const char *text, struct ftc_perf_sizes *sizes);
/* All of the text, a whole number within the range. */
bool ftc_perf_whole_read(const char *text, uint64_t least, uint64_t most, uint64_t *value);

/* The smallest of `count` sorted values that at least `part` (0 to 1) of them do not exceed; count
 * > 0. */
double ftc_perf_quantile(const double sorted[], int count, double part);
void ftc_perf_sort(double values[], int count);
double ftc_perf_clamp(double value, double least, double most);

/* The next of a sequence that the seed decides (splitmix64), below `below` > 0. */
uint64_t ftc_perf_random(uint64_t *state, uint64_t below);

#endif
