/* The results of the measurements, and the forms in which they are shown. */
#ifndef FTC_CLI_PERF_OUTPUT_H
#define FTC_CLI_PERF_OUTPUT_H

#include "cli/perf/kill.h"
#include "cli/perf/measure.h"

#define FTC_PERF_ROWS_MAX 32 /* doublings from a byte to FTC_PERF_SIZE_MAX */

/* The results of one operation: rows, or with --kill kills. */
struct ftc_perf_table {
    const struct ftc_perf_operation *operation;
    struct ftc_perf_row row[FTC_PERF_ROWS_MAX];
    int rows;
    struct ftc_perf_kill *kill;
    int kills;
    double undisturbed;      /* time of an operation before the kills, in us, in a quick batch */
    struct ftc_perf_how how; /* how the first operation ran */
};

struct ftc_perf_results {
    const struct ftc_perf_job *job;
    const struct ftc_perf_options *options;
    struct ftc_perf_table table[FTC_PERF_OPERATIONS];
    int tables;
};

/* Summary of the times at the last survivor. */
struct ftc_perf_summary {
    double median, p99, most;
};
int ftc_perf_summarise(const struct ftc_perf_table *table, struct ftc_perf_summary *summary);

/* Returns MB/s (10^6 bytes), or 0 for an operation without a vector. */
double ftc_perf_bandwidth(const struct ftc_perf_row *row);
/* Returns how many messages all pairs together send in a second. */
double ftc_perf_message_rate(const struct ftc_perf_row *row);

/* These print to standard output. ftc_perf_job_print() calls them, and `results` is a struct
 * ftc_perf_results. */
int ftc_perf_print_row(
    void *results); /* the last row of the last table; above the first row, the title too */
int ftc_perf_print_kill(void *results);    /* the same for kills */
int ftc_perf_print_summary(void *results); /* the summary below the kills of the last table */
int ftc_perf_print_json(void *results);
int ftc_perf_print_csv(void *results);

/* Check that a figure can be drawn. */
int ftc_perf_plot_check(const char *path);
int ftc_perf_plot(void *results);

#endif
