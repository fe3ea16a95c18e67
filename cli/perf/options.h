/* The command line of ftcoll-perf. */
#ifndef FTC_CLI_PERF_OPTIONS_H
#define FTC_CLI_PERF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/option.h"
#include "cli/perf/numbers.h"
#include "cli/perf/operation.h"

#define FTC_PERF_SAMPLES_MAX 100000

struct ftc_perf_options {
    const struct ftc_perf_operation *operation[FTC_PERF_OPERATIONS];
    int operations;
    struct ftc_perf_sizes sizes;
    double seconds;   /* sampling time for each size, if `samples` is 0 */
    uint64_t samples; /* samples for each size; 0: as many as fit into `seconds` */
    uint64_t warm_up; /* operations of the warm-up for each size */
    bool warm_up_given, synchronise, per_rank, json, csv, help, version;
    uint64_t under_way; /* non-blocking operations at the same time; 0: blocking ones */
    uint64_t kills;     /* kills for each operation; 0: measure latency */
    uint64_t seed;
    bool seed_given;   /* false: `seed` is a fresh one, another at each rank */
    const char *plot;  /* NULL: no figure */
    char problem[256]; /* if parse() has failed: the error and its remedy */
};

/* Parse the command line. It reads only argv and the clock (for the seed). Returns false with the
 * cause in options->problem. */
bool ftc_perf_options_parse(struct ftc_perf_options *options, int argc, char **argv);
void ftc_perf_options_help(FILE *out);
/* Give the i-th option, in the order of --help. Returns false if there is none. */
bool ftc_perf_option(int i, struct ftc_option_text *text);

#endif
