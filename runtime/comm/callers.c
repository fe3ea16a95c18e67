/* Communicators that callers of the process free, or take all at once. */
#include "runtime/comm/algorithm.h"
#include "runtime/comm/engine.h"
#include "runtime/comm/spare.h"
#include "runtime/process/progress.h"

static struct ftc_comm *comm_of(const struct ftc_communicator *c)
{
    return ftc_communicator_engine(c);
}

static struct ftc_communicator *next(const struct ftc_process *process,
                                     const struct ftc_communicator *c)
{
    return ftc_communicators_next(ftc_comm_engine_set(process), c);
}

static void free_one(struct ftc_comm *comm)
{
    bool small = comm->board != NULL && ftc_board_is_small(comm->board);

    ftc_algorithms_leave(comm);
    ftc_comm_give_up_board(comm);
    if (ftc_comm_is_revoked(comm)) /* the closing is an agreement */
        ftc_comm_close_board(comm);
    else if (small)
        ftc_spare_keep(comm);
    ftc_progress_must(comm->process, ftc_communicator_free(comm->communicator));
}

static bool is_child_in_use(const struct ftc_process *process, const struct ftc_communicator *c)
{
    return ftc_communicator_has_callers(c) && comm_of(c) != ftc_comm_engine_world(process);
}

/* NULL: there is none. */
static struct ftc_comm *child_in_use(const struct ftc_process *process)
{
    for (struct ftc_communicator *c = NULL; (c = next(process, c)) != NULL;)
        if (is_child_in_use(process, c))
            return comm_of(c);
    return NULL;
}

void ftc_comm_engine_free(struct ftc_process *process, struct ftc_comm *comm)
{
    struct ftc_comm *rest;

    if (comm != NULL)
        free_one(comm);
    while (comm == NULL && (rest = child_in_use(process)) != NULL)
        free_one(rest);
    ftc_comm_engine_settle(process);
}

static void give_back_until(struct ftc_process *process, const struct ftc_comm *end)
{
    for (struct ftc_communicator *c = next(process, NULL); comm_of(c) != end; c = next(process, c))
        if (is_child_in_use(process, c))
            atomic_store(&comm_of(c)->busy, 0);
}

struct ftc_comm *ftc_comm_engine_take_children(struct ftc_process *process)
{
    for (struct ftc_communicator *c = NULL; (c = next(process, c)) != NULL;)
        if (is_child_in_use(process, c) && atomic_exchange(&comm_of(c)->busy, 1) != 0) {
            give_back_until(process, comm_of(c));
            return comm_of(c);
        }
    return NULL;
}

bool ftc_comm_engine_has_requests(const struct ftc_process *process)
{
    for (struct ftc_communicator *c = NULL; (c = next(process, c)) != NULL;)
        if (comm_of(c) != NULL && comm_of(c)->requests > 0)
            return true;
    return false;
}
