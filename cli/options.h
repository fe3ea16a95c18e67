/* The command line of ftcoll-status. */
#ifndef FTC_CLI_OPTIONS_H
#define FTC_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/option.h"

enum ftc_status_format { FTC_STATUS_TEXTUAL, FTC_STATUS_JSON, FTC_STATUS_OPENMETRICS };

struct ftc_status_options {
    enum ftc_status_format format; /* the last one that was given */
    bool watch, failed, gc, list, all, stacks, no_sample, help, version;
    bool history; /* --history; `history_rank` is -1 for all ranks */
    int history_rank;
    const char *job; /* NULL: not given */
};

/* Parse the command line. On FTC_ERR_ARG, ftc_last_error() gives the cause. */
int ftc_status_options_parse(struct ftc_status_options *options, int argc, char **argv);
void ftc_status_options_help(FILE *out);
/* Give the i-th option, in the order of --help. Returns false if there is none. */
bool ftc_status_option(int i, struct ftc_option_text *text);

#endif
