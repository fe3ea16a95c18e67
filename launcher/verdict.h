/* What the end of a rank means for the user and for the exit code. */
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
    /* A signal that ends programs and that ftrun passed on to the ranks; 0: none. A rank that dies
     * of it gets no line of its own. */
    int forwarded;
    int told; /* how many were declared failed when the lines about all were printed */
};

/* Print the line about `rank`, once. A rank that ended with 0 and never joined gets its line only
 * when other ranks join: call ftc_verdict_tell_all() at each change after that. */
void ftc_verdict_tell(struct ftc_verdict *verdict, int rank);
void ftc_verdict_tell_all(struct ftc_verdict *verdict);
void ftc_verdict_tell_suspect(struct ftc_verdict *verdict, int rank);

/* When the trouble of a declared rank began, as far as it is known: at its last heartbeat, at its
 * stop, or at the first sign of its end (ftc_clock_now()). */
uint64_t ftc_verdict_began(const struct ftc_verdict *verdict, int rank);

/* Is this rank a failure of the job? A plain program that exits with 0 is no failure while no rank
 * joins. */
bool ftc_verdict_failed(const struct ftc_verdict *verdict, int rank);
int ftc_verdict_failures(const struct ftc_verdict *verdict);

/* The rank that failed first. If no rank failed, the survivor that first ended with an error. -1:
 * there is neither. */
int ftc_verdict_first_failed(const struct ftc_verdict *verdict);

/* The job's exit code, once every rank has ended. */
int ftc_verdict_code(const struct ftc_verdict *verdict);
/* The exit code for this rank's end: its own code, 128 + signal, or 1 if the rank ended with 0 and
 * failed all the same. */
int ftc_verdict_rank_code(const struct ftc_verdict *verdict, int rank);

/* Format the last line of ftrun. False: no rank failed. */
bool ftc_verdict_summary(const struct ftc_verdict *verdict, int exit_code, char *text, size_t size);

#endif
