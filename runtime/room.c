/* Waiting for receivers that are behind. */
#include "runtime/room.h"

#include "runtime/flow.h"
#include "runtime/progress.h"

#define OPERATIONS_AHEAD 64 /* of a sender */
#define TARGETS          128
#define ROOM_LOOK_NS     200000ull /* nobody of this node rings for room: look again after this long */

int ftc_room_open(struct ftc_comm *comm)
{
    return ftc_segment_nodes(comm->segment) > 1 ? ftc_flow_create(&comm->flow, comm->size) : FTC_SUCCESS;
}

void ftc_room_close(struct ftc_comm *comm)
{
    ftc_flow_destroy(comm->flow);
    comm->flow = NULL;
}

static void send(struct ftc_comm *comm, int rank, struct ftc_buffer *message)
{
    int rc = comm->transport->ops->send(comm->transport, rank, message, NULL, true);

    ftc_buffer_unref(message);
    ftc_progress_must(comm, rc);
}

void ftc_room_answer(struct ftc_comm *comm)
{
    uint64_t called;
    struct ftc_buffer *answer;
    int rank;

    if (comm->flow == NULL)
        return;
    called = atomic_load_explicit(&comm->slot->called, memory_order_relaxed);
    while ((rank = ftc_flow_answer(comm->flow, called, &answer)) >= 0) {
        if (answer == NULL)
            ftc_progress_must(comm, FTC_ERR_NOMEM);
        send(comm, rank, answer);
    }
}

/* Has the rank called so many operations? */
static bool has_called(struct ftc_comm *comm, int rank, uint64_t wanted)
{
    struct ftc_buffer *question;

    if (ftc_segment_is_local(comm->segment, rank))
        return atomic_load_explicit(&ftc_segment_slot(comm->segment, rank)->called, memory_order_relaxed) >=
               wanted;
    if (ftc_flow_called(comm->flow, rank) >= wanted)
        return true;
    ftc_progress_must(comm, ftc_flow_ask(comm->flow, rank, wanted, &question));
    if (question != NULL)
        send(comm, rank, question);
    return false;
}

static bool has_room(struct ftc_comm *comm, void *arg)
{
    const struct ftc_call *call = arg;
    int ranks[TARGETS];
    int count = ftc_member_targets(comm->member, &call->signature, ranks, TARGETS);
    uint64_t k = ftc_member_next_op(comm->member);

    if (count < 0)
        ftc_progress_must(comm, count);
    for (int i = 0; k > OPERATIONS_AHEAD && i < count; i++)
        if (!ftc_segment_failed(comm->segment, ranks[i]) && !has_called(comm, ranks[i], k - OPERATIONS_AHEAD))
            return false;
    return true;
}

void ftc_room_wait(struct ftc_comm *comm, const struct ftc_call *call)
{
    int kind = call->signature.kind;
    bool unbounded = kind == FTC_CALL_REDUCE || (kind == FTC_CALL_BCAST && comm->config.settle_every == 0);
    struct ftc_until room = {has_room, (void *)call, FTC_WAIT_ROOM, ROOM_LOOK_NS};

    if (unbounded && !comm->alone)
        ftc_progress_until(comm, &room);
}
