/* Calls that end by an output of the communicators (collectives/communicators/communicators.h). */
#ifndef FTC_RUNTIME_API_MAKING_H
#define FTC_RUNTIME_API_MAKING_H

#include "runtime/comm/engine.h"

/* A creation; or an agreement of the survivors: an agree, or a validate after a revoke (C9). */
struct ftc_making {
    const struct ftc_call *call; /* of an agreement; NULL: it is a creation */
    enum ftc_creation creation;
    int color, key;   /* of a split */
    int count, tag;   /* of a group */
    const int *ranks; /* of a group */
    struct ftc_started_call started;
};

/* The input of an agree. It stays until the call has ended. */
struct ftc_agreeing {
    struct ftc_agree_input input;
    struct ftc_set unrecognized;
    struct ftc_call call;
};
/* FTC_ERR_NOMEM. */
int ftc_agreeing_open(struct ftc_agreeing *agreeing, const struct ftc_comm *comm, int flag);
void ftc_agreeing_close(struct ftc_agreeing *agreeing);
/* It is decided: *flag. FTC_ERR_RANK_FAILED: a failure that a rank has not recognized. */
int ftc_agreeing_take(const struct ftc_started_call *started, int *flag);

/* What a creation is in the history of operations. */
const struct ftc_signature *ftc_making_signature(enum ftc_creation creation);

/* Starts it. comm->started is its `started` until that has ended. FTC_ERR_ARG, FTC_ERR_STATE,
 * FTC_ERR_NOMEM. With the lock. */
int ftc_making_start(struct ftc_comm *comm, struct ftc_making *making);

/* May a caller of a split give this color? If not, the words of the error are set. */
bool ftc_color_is_sound(int color);

/* Runs an agreement of the survivors. */
int ftc_making_agree(struct ftc_comm *comm, struct ftc_making *making);

#endif
