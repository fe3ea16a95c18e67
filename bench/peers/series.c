#include "bench/peers/series.h"

#include <stdlib.h>
#include <time.h>

#define BATCH_S    0.01
#define GROWTH_MAX 10.0 /* so that a batch that was quick by chance causes no endless next one */

double series_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

long series_start(struct series *series, double seconds)
{
    series->start_s = series_now();
    series->limit_s = seconds;
    series->batch_s = seconds / 10 < BATCH_S ? seconds / 10 : BATCH_S;
    series->calibrated = false;
    series->quickest_s = 0;
    series->operations = 1;
    series->total = 0;
    series->count = 0;
    return 1;
}

/* Each number of operations is tried twice, and the quicker batch counts, because the other one may
 * have had a cold start or another process on its core. The batch that ends the calibration is no
 * figure of the point: its length was the reason to choose it. */
static void calibrate(struct series *series, double elapsed_s)
{
    if (series->quickest_s == 0) {
        series->quickest_s = elapsed_s;
        return;
    }
    double quicker_s = elapsed_s < series->quickest_s ? elapsed_s : series->quickest_s;
    series->quickest_s = 0;
    if (quicker_s >= series->batch_s / 2) {
        series->calibrated = true;
        return;
    }
    double growth =
        quicker_s * GROWTH_MAX > series->batch_s ? series->batch_s / quicker_s : GROWTH_MAX;
    series->operations = (long)((double)series->operations * growth) + 1;
}

void series_add(struct series *series, double elapsed_s, long operations)
{
    series->figures[series->count++] = elapsed_s * 1e6 / (double)operations;
    series->total += operations;
}

long series_next(struct series *series, double elapsed_s)
{
    bool over = series_now() - series->start_s >= series->limit_s;
    if (series->calibrated || over)
        series_add(series, elapsed_s, series->operations);
    if (over || series->count == SERIES_MAX)
        return 0;
    if (!series->calibrated)
        calibrate(series, elapsed_s);
    return series->operations;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double series_quantile(struct series *series, double part)
{
    qsort(series->figures, series->count, sizeof(series->figures[0]), compare);
    return series->figures[(size_t)(part * (double)(series->count - 1) + 0.5)];
}
