/* What every process of a simulated job does: the same list of collective calls. */
#ifndef FTC_SIM_MODEL_PROGRAM_H
#define FTC_SIM_MODEL_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/settings.h"
#include "collectives/message.h"

struct ftc_program_operation {
    enum ftc_call_kind kind;
    int root;      /* of a broadcast or reduce, else -1 */
    bool floating; /* sums of doubles instead of counts: for tests that compare bits */
    bool empty;    /* of gossip: the barrier before the agreement that has the value */
};

struct ftc_program {
    struct ftc_program_operation *operation; /* owned */
    int length;
};

/* "allreduce,bcast:2,reduce:0,barrier*3,validate,finalize"; FTC_ERR_ARG with what is wrong and
 * what is allowed, FTC_ERR_NOMEM. Roots are checked against `ranks`. fini() of a zeroed struct
 * is legal. */
int ftc_program_parse(struct ftc_program *program, const char *text, int ranks);
void ftc_program_fini(struct ftc_program *program);
/* The same text back, malloc'ed: equal neighbours as "barrier*3". NULL: out of memory. */
char *ftc_program_format(const struct ftc_program *program);

/* Has the operation a value that is combined? Does everybody get it? */
bool ftc_program_combines(const struct ftc_program_operation *operation);
bool ftc_program_combines_for_all(const struct ftc_program_operation *operation);

/* What agreement.md allows an operation of `members`, the view at its call, under these
 * settings. */
/* Rule 2, "Exchange": is its ballot (0,0) one? */
bool ftc_program_exchanges(const struct ftc_member_settings *settings, enum ftc_call_kind kind,
                           int members);
/* Fewer failures cannot have made ballot b the one that decides: f are masked, but by an exchange
 * none. */
int ftc_program_least_failures(const struct ftc_member_settings *settings, enum ftc_call_kind kind,
                               int members, struct ftc_ballot_id b);

#endif
