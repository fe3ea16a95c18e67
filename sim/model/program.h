/* What every process of a simulated job does: the same list of collective calls. */
#ifndef FTC_SIM_MODEL_PROGRAM_H
#define FTC_SIM_MODEL_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "collectives/call.h"

struct ftc_program_operation {
    enum ftc_call_kind kind;
    int root;      /* of a broadcast or reduce, else -1 */
    bool floating; /* sums of doubles instead of counts: for tests that compare bits */
};

struct ftc_program {
    struct ftc_program_operation *operation; /* owned */
    int length;
};

/* "allreduce,bcast:2,reduce:0,barrier*3,validate,finalize"; FTC_ERR_ARG with what is wrong and what is allowed,
 * FTC_ERR_NOMEM. Roots are checked against `ranks`. fini() of a zeroed struct is legal. */
int ftc_program_parse(struct ftc_program *program, const char *text, int ranks);
void ftc_program_fini(struct ftc_program *program);
/* The same text back, malloc'ed: equal neighbours as "barrier*3". NULL: out of memory. */
char *ftc_program_format(const struct ftc_program *program);

#endif
