/* What ftc_last_report() knows of the last operation. */
#ifndef FTC_RUNTIME_COMM_FINISHED_H
#define FTC_RUNTIME_COMM_FINISHED_H

#include "runtime/comm/comm.h"

/* Of the operation that was finished last by a call, a wait or a test. The sets belong to the
 * communicator, and are valid until its next operation. With the lock. */
void ftc_finished_look(const struct ftc_comm *comm, struct ftc_finished *finished);
/* Its failed set alone. */
const struct ftc_set *ftc_finished_failed(const struct ftc_comm *comm);

/* The same, with sets of its own, of the operation that the communicator has run last.
 * FTC_ERR_NOMEM. With the lock. */
int ftc_finished_keep(const struct ftc_comm *comm, struct ftc_finished *finished);
void ftc_finished_fini(struct ftc_finished *finished); /* a zeroed struct is legal */
void ftc_finished_free(struct ftc_finished *finished); /* made by calloc(); NULL is legal */

/* Is the last report one that ftc_finished_show() was given? */
static inline bool ftc_finished_is_kept(const struct ftc_comm *comm)
{
    return (atomic_load_explicit(&comm->detour, memory_order_relaxed) & FTC_DETOUR_FINISHED) != 0;
}

/* From now on the last report is that of the operation that it has run last, whatever runs next. */
void ftc_finished_hold(struct ftc_comm *comm);

/* The same of the operation that `other` has run last. */
void ftc_finished_take(struct ftc_comm *comm, const struct ftc_comm *other);

/* From now on the last report is **finished, which the communicator owns; NULL: that of the
 * operation that it has run last. *finished becomes memory to be used again, or NULL. */
void ftc_finished_show(struct ftc_comm *comm, struct ftc_finished **finished);

#endif
