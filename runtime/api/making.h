/* Calls that end by an output of the communicators (collectives/communicators/communicators.h). */
#ifndef FTC_RUNTIME_API_MAKING_H
#define FTC_RUNTIME_API_MAKING_H

#include "runtime/comm/engine.h"

/* A creation; or, after a revoke, the agreement that a validate is then (C9). */
struct ftc_making {
    const struct ftc_call *validate; /* NULL: it is a creation */
    enum ftc_creation creation;
    int color, key;   /* of a split */
    int count, tag;   /* of a group */
    const int *ranks; /* of a group */
    struct ftc_started_call started;
};

/* What a creation is in the history of operations. */
const struct ftc_signature *ftc_making_signature(enum ftc_creation creation);

/* Starts it. comm->started is its `started` until that has ended. FTC_ERR_ARG, FTC_ERR_STATE,
 * FTC_ERR_NOMEM. With the lock. */
int ftc_making_start(struct ftc_comm *comm, struct ftc_making *making);

/* May a caller of a split give this color? If not, the words of the error are set. */
bool ftc_color_is_sound(int color);

/* A validate of a communicator that is revoked. */
int ftc_validate_revoked(struct ftc_comm *comm, const struct ftc_call *call);

#endif
