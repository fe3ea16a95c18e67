/* The list of collective calls that every process of a simulated job makes. */
#ifndef FTC_SIM_MODEL_PROGRAM_H
#define FTC_SIM_MODEL_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/settings.h"
#include "collectives/message.h"

struct ftc_program_operation {
    enum ftc_call_kind kind;
    int root;      /* -1: the kind has no root */
    bool floating; /* sum doubles instead of counts, for tests that compare bits */
    /* the barrier of a gossip aggregation, before the agreement that has the value */
    bool empty;
    /* a reduction whose operator does not commute: its contributions stay apart */
    bool ordered;
};

struct ftc_program {
    struct ftc_program_operation *operation; /* owned */
    int length;
};

/* Parse "allreduce,bcast:2,reduce-ordered:0,barrier*3,validate,finalize". Roots must be less than
 * `ranks`. FTC_ERR_ARG says what is wrong and what is allowed; FTC_ERR_NOMEM. fini() of a zeroed
 * struct is legal. */
int ftc_program_parse(struct ftc_program *program, const char *text, int ranks);
void ftc_program_fini(struct ftc_program *program);
/* The program as such text, malloc'ed; equal neighbours are written as "barrier*3". NULL: out of
 * memory. */
char *ftc_program_format(const struct ftc_program *program);

/* Do the contributions of the operation stay apart, as blocks? */
bool ftc_program_gathers(const struct ftc_program_operation *operation);
/* Does the operation combine values, or put them side by side? Does every rank get the result? */
bool ftc_program_combines(const struct ftc_program_operation *operation);
bool ftc_program_combines_for_all(const struct ftc_program_operation *operation);

/* The next two say what agreement.md allows an operation under these settings. `members` is the
 * size of the view at its call. */
/* Is ballot (0,0) an exchange (agreement.md, rule 2, "Exchange")? */
bool ftc_program_exchanges(const struct ftc_member_settings *settings, enum ftc_call_kind kind,
                           int members);
/* The least number of failures after which ballot b can be the one that decides. A ballot masks f
 * failures; an exchange masks none. */
int ftc_program_least_failures(const struct ftc_member_settings *settings, enum ftc_call_kind kind,
                               int members, struct ftc_ballot_id b);

#endif
