/* Waiting for receivers that are behind. */
#include "runtime/comm/flow_control.h"

#include "runtime/comm/flow.h"
#include "runtime/process/progress.h"

/* A receiver that has not called yet keeps at most so many bytes of one sender. One operation may
 * be larger by itself. */
#define BYTES_AHEAD  ((uint64_t)64 << 20)
#define TARGETS      128
#define ROOM_LOOK_NS 200000ull /* ranks of this node do not ring for room, so look so often */

/* What the next call waits for. */
struct room {
    const struct ftc_signature *signature; /* of the next call */
    uint64_t called; /* each receiver of the call must have called so many operations */
};

static int flow_control_open(struct ftc_comm *comm)
{
    return ftc_segment_nodes(comm->segment) > 1 ? ftc_flow_create(&comm->flow, comm->size)
                                                : FTC_SUCCESS;
}

static void flow_control_close(struct ftc_comm *comm)
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

void ftc_flow_control_answer(struct ftc_comm *comm)
{
    uint64_t called;
    struct ftc_buffer *answer;
    int rank;

    if (comm->flow == NULL)
        return;
    called = atomic_load_explicit(&comm->called, memory_order_relaxed);
    while ((rank = ftc_flow_answer(comm->flow, called, &answer)) >= 0) {
        if (answer == NULL)
            ftc_progress_must(comm, FTC_ERR_NOMEM);
        send(comm, rank, answer);
    }
}

/* Has the rank called `wanted` operations? Asks it if it is on another node. */
static bool has_called(struct ftc_comm *comm, int rank, uint64_t wanted)
{
    struct ftc_buffer *question;

    if (ftc_segment_is_local(comm->segment, rank))
        return atomic_load_explicit(&ftc_segment_slot(comm->segment, rank)->called,
                                    memory_order_relaxed) >= wanted;
    if (ftc_flow_called(comm->flow, rank) >= wanted)
        return true;
    ftc_progress_must(comm, ftc_flow_ask(comm->flow, rank, wanted, &question));
    if (question != NULL)
        send(comm, rank, question);
    return false;
}

static bool has_room(struct ftc_comm *comm, void *arg)
{
    const struct room *room = arg;
    int ranks[TARGETS];
    int count = ftc_member_targets(comm->member, room->signature, ranks, TARGETS);

    if (count < 0)
        ftc_progress_must(comm, count);
    for (int i = 0; i < count; i++)
        if (!ftc_segment_failed(comm->segment, ranks[i]) &&
            !has_called(comm, ranks[i], room->called))
            return false;
    return true;
}

/* By how many operations the receivers of operation k may be behind it. `bytes` is its size. */
static uint64_t most_ahead(const struct ftc_comm *comm, uint64_t k, uint64_t bytes)
{
    uint64_t ahead = 0;

    if (comm->bytes_ahead <= BYTES_AHEAD)
        return k < FTC_OPERATIONS_AHEAD ? k : FTC_OPERATIONS_AHEAD;
    while (ahead < FTC_OPERATIONS_AHEAD && ahead < k && bytes <= BYTES_AHEAD) {
        uint64_t before = comm->bytes_of[(k - ahead - 1) % FTC_OPERATIONS_AHEAD];
        if (before > BYTES_AHEAD - bytes)
            break;
        bytes += before;
        ahead++;
    }
    return ahead;
}

static void note_bytes(struct ftc_comm *comm, uint64_t k, uint64_t bytes)
{
    uint64_t *place = &comm->bytes_of[k % FTC_OPERATIONS_AHEAD];

    comm->bytes_ahead += bytes - *place;
    *place = bytes;
}

/* The number of broadcasts that receivers are behind needs no bound here if settle_every is set:
 * each settle_every-th broadcast waits for all ranks. */
void ftc_flow_control_wait(struct ftc_comm *comm, const struct ftc_call *call)
{
    const struct ftc_signature *signature = &call->signature;
    bool runs_ahead = ftc_call_table[signature->kind].rooted;
    uint64_t k = ftc_member_next_op(comm->member), bytes = runs_ahead ? signature->size : 0;

    if (comm->alone)
        return;
    note_bytes(comm, k, bytes);
    if (!runs_ahead)
        return;
    uint64_t ahead = most_ahead(comm, k, bytes);
    bool settled = signature->kind == FTC_CALL_BCAST && comm->config.settle_every > 0;
    if (k > ahead && (ahead < FTC_OPERATIONS_AHEAD || !settled))
        ftc_progress_until(comm, &(struct ftc_until){has_room, &(struct room){signature, k - ahead},
                                                     FTC_WAIT_ROOM, ROOM_LOOK_NS});
}

static bool owns(const struct ftc_comm *comm, const struct ftc_buffer *message)
{
    return comm->flow != NULL && ftc_flow_is_message(message);
}

static int receive_message(struct ftc_comm *comm, int from, struct ftc_buffer *message)
{
    int rc = ftc_flow_receive(comm->flow, from, message);

    ftc_flow_control_answer(comm);
    return rc;
}

static void notice(struct ftc_comm *comm, int rank)
{
    if (comm->flow != NULL)
        ftc_flow_notice(comm->flow, rank);
}

const struct ftc_algorithm ftc_algorithm_flow_control = {
    .open = flow_control_open,
    .close = flow_control_close,
    .owns = owns,
    .receive = receive_message,
    .notice = notice,
};
