/* Sizes, quantiles, random numbers. */
#include "cli/perf/numbers.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Read the digits at the beginning of `text`, up to the value `most`. *end is what follows them.
 * This is not strtoull alone, which takes "-1" and " 1". */
static bool read_digits(const char *text, uint64_t most, uint64_t *value, const char **end)
{
    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    unsigned long long read = strtoull(text, (char **)end, 10);
    if (errno != 0 || read > most)
        return false;
    *value = read;
    return true;
}

static bool read_size(const char *text, size_t *size, const char **end)
{
    static const char suffixes[] = "KMG";
    uint64_t value;

    if (!read_digits(text, FTC_PERF_SIZE_MAX, &value, end))
        return false;
    const char *suffix = **end != '\0' ? strchr(suffixes, toupper((unsigned char)**end)) : NULL;
    unsigned shift = 0;
    if (suffix != NULL) {
        shift = 10 * (unsigned)(suffix - suffixes + 1);
        (*end)++;
    }
    if (value > FTC_PERF_SIZE_MAX >> shift)
        return false;
    *size = (size_t)value << shift;
    return true;
}

bool ftc_perf_size_read(const char *text, size_t *size)
{
    const char *end;
    size_t value;

    if (!read_size(text, &value, &end) || *end != '\0')
        return false;
    *size = value;
    return true;
}

bool ftc_perf_sizes_read(const char *text, struct ftc_perf_sizes *sizes)
{
    const char *end;
    size_t first, last;

    if (!read_size(text, &first, &end))
        return false;
    last = first;
    if (*end == ':' && !ftc_perf_size_read(end + 1, &last))
        return false;
    if ((*end != ':' && *end != '\0') || first == 0 || first > last)
        return false;
    *sizes = (struct ftc_perf_sizes){first, last};
    return true;
}

bool ftc_perf_whole_read(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    const char *end;
    uint64_t read;

    if (!read_digits(text, most, &read, &end) || *end != '\0' || read < least)
        return false;
    *value = read;
    return true;
}

double ftc_perf_quantile(const double sorted[], int count, double part)
{
    int at = (int)ceil(part * count) - 1;

    return sorted[at < 0 ? 0 : at];
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

void ftc_perf_sort(double values[], int count)
{
    qsort(values, (size_t)count, sizeof(values[0]), compare);
}

double ftc_perf_clamp(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

double ftc_perf_compute(uint64_t steps)
{
    double x = 0;

    for (uint64_t i = 0; i < steps; i++)
        x = x * 0.999 + 1;
    return x;
}

uint64_t ftc_perf_random(uint64_t *state, uint64_t below)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % below;
}
