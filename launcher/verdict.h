/* What a rank's end means for people and for the exit code. */
#ifndef FTC_LAUNCHER_VERDICT_H
#define FTC_LAUNCHER_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/ranks.h"
#include "launcher/sink.h"
#include "node/segment/segment.h"

struct ftc_verdict {
    struct ftc_ranks *ranks;
    struct ftc_segment *segment;
    struct ftc_sink *err;
    int max_failures;
    int forwarded; /* a signal that was passed on to the ranks and may end them: no line for each; 0: none */
};

/* Print what is to be told about `rank`, once. Ranks that ended with 0 without joining are told
 * when others join. */
void ftc_verdict_tell(struct ftc_verdict *verdict, int rank);
void ftc_verdict_tell_all(struct ftc_verdict *verdict);
void ftc_verdict_tell_suspect(struct ftc_verdict *verdict, int rank);

/* When a declared rank's trouble began, as far as it is known: its last heartbeat, its stop, or the
 * first sign of its end (ftc_clock_now()). */
uint64_t ftc_verdict_began(const struct ftc_verdict *verdict, int rank);

/* Is this rank a failure of the job? A plain program that exits with 0 is none, while nobody
 * joins. */
bool ftc_verdict_failed(const struct ftc_verdict *verdict, int rank);
int ftc_verdict_failures(const struct ftc_verdict *verdict);

/* The rank that failed first, or, if there is none, the survivor that first ended with an error;
 * -1: neither. */
int ftc_verdict_first_failed(const struct ftc_verdict *verdict);

/* The job's exit code, once every rank has ended. */
int ftc_verdict_code(const struct ftc_verdict *verdict);
/* The exit code that stands for this rank's end: its own, 128 + signal, 1 if it should not have
 * been 0. */
int ftc_verdict_rank_code(const struct ftc_verdict *verdict, int rank);

/* The line at the end. False: nothing failed. */
bool ftc_verdict_summary(const struct ftc_verdict *verdict, int exit_code, char *text, size_t size);

#endif
