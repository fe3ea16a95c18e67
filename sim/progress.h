/*
 * Shows on standard error how far a long command is. On a terminal it draws a bar again and again;
 * elsewhere it prints a line every few seconds. It reads the clock, but has no influence on
 * results.
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
    bool shown;             /* a bar is on the screen and must be wiped away */
    uint64_t total;         /* 0: unknown */
    uint64_t started, last; /* ns */
};

struct ftc_progress ftc_progress_start(FILE *out, const char *unit, uint64_t total);
/* Show the progress if enough time has passed since the last time; so it may be called as often as
 * you like. `more` is text to append ("12 deaths"), or "". */
void ftc_progress_show(struct ftc_progress *progress, uint64_t done, const char *more);
void ftc_progress_end(struct ftc_progress *progress);             /* wipe the bar away */
double ftc_progress_seconds(const struct ftc_progress *progress); /* since the start */

#endif
