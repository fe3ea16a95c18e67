/*
 * How far a long command is, on standard error: a bar that is redrawn on a terminal, else a plain
 * line every few seconds. It reads the clock; what it shows has no influence on results.
 */
#ifndef FTC_SIM_PROGRESS_H
#define FTC_SIM_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct ftc_progress {
    FILE *out;
    const char *unit; /* "runs" */
    bool terminal;
    bool shown;             /* there is a bar to be wiped away */
    uint64_t total;         /* 0: unknown */
    uint64_t started, last; /* ns */
};

struct ftc_progress ftc_progress_start(FILE *out, const char *unit, uint64_t total);
/* Show it, if it is time to; `more` follows ("12 deaths"), "" for nothing. Call it as often as you
 * like. */
void ftc_progress_show(struct ftc_progress *progress, uint64_t done, const char *more);
void ftc_progress_end(struct ftc_progress *progress);             /* wipe the bar away */
double ftc_progress_seconds(const struct ftc_progress *progress); /* since the start */

#endif
