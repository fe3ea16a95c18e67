/* What has been measured, and the forms in which it is shown. */
#ifndef FTC_CLI_PERF_OUTPUT_H
#define FTC_CLI_PERF_OUTPUT_H

#include "cli/perf/kill.h"
#include "cli/perf/measure.h"

#define FTC_PERF_ROWS_MAX 32 /* doublings from a byte to FTC_PERF_SIZE_MAX */

/* One operation: rows, or kills with --kill. */
struct ftc_perf_table {
    const struct ftc_perf_operation *operation;
    struct ftc_perf_row row[FTC_PERF_ROWS_MAX];
    int rows;
    struct ftc_perf_kill *kill;
    int kills;
    double undisturbed;      /* us of an operation before the kills: the mean of a quick batch */
    struct ftc_perf_how how; /* at first */
};

struct ftc_perf_results {
    const struct ftc_perf_job *job;
    const struct ftc_perf_options *options;
    struct ftc_perf_table table[FTC_PERF_OPERATIONS];
    int tables;
};

/* Of the times at the last survivor. */
struct ftc_perf_summary {
    double median, p99, most;
};
int ftc_perf_summarise(const struct ftc_perf_table *table, struct ftc_perf_summary *summary);

/* MB/s, 10^6 bytes; 0 for an operation without a vector. */
double ftc_perf_bandwidth(const struct ftc_perf_row *row);

/* To standard output, for ftc_perf_job_print(); `results` is a struct ftc_perf_results. */
int ftc_perf_print_row(
    void *results); /* the last row of the last table, after its title if it is the first */
int ftc_perf_print_kill(void *results);    /* the same of kills */
int ftc_perf_print_summary(void *results); /* below the kills of the last table */
int ftc_perf_print_json(void *results);
int ftc_perf_print_csv(void *results);

/* Can a figure be drawn? */
int ftc_perf_plot_check(const char *path);
int ftc_perf_plot(void *results);

#endif
