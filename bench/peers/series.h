/*
 * The batches of one measured point, as rank 0 keeps them. A batch is a number of operations that
 * are timed together. Its figure is the time of one operation. The first batch has one operation.
 * The number grows until a batch takes about 10 ms (a tenth of the point's time if that is less),
 * and then stays. Only the batches after that count. If the point's time is used up before, the
 * last batch counts. So a point ends with a figure after its time and one more batch, however slow
 * an operation is.
 */
#ifndef FTC_BENCH_PEERS_SERIES_H
#define FTC_BENCH_PEERS_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#define SERIES_MAX 2000

struct series {
    double start_s, limit_s, batch_s;
    bool calibrated;
    double
        quickest_s;  /* the quicker of the two batches tried with this number; 0 before the first */
    long operations; /* in the next batch */
    long total;      /* operations in the batches that count */
    double figures[SERIES_MAX]; /* microseconds */
    size_t count;
};

/* Begin a point of about `seconds`. Returns the number of operations in its first batch. */
long series_start(struct series *series, double seconds);

/* Note that the batch took `elapsed_s`. Returns the number of operations in the next batch, or 0 if
 * there is none. */
long series_next(struct series *series, double elapsed_s);

/* Add the figure of a batch of so many operations that took `elapsed_s`. series_next() does so for
 * the batches that count. A series that follows another one has only this. */
void series_add(struct series *series, double elapsed_s, long operations);

/* Returns the quantile `part` of the figures, from 0 to 1; 0.5 is the median. Sorts the figures. */
double series_quantile(struct series *series, double part);

double series_now(void); /* seconds, monotonic */

#endif
