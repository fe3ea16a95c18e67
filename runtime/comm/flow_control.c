/* Waiting for receivers that are behind. */
#include "runtime/comm/flow_control.h"

#include "base/error.h"
#include "collectives/frame.h"
#include "runtime/comm/flow.h"
#include "runtime/comm/ranks.h"
#include "runtime/process/progress.h"

/* A receiver that has not called yet keeps at most so many bytes of one sender. One operation may
 * be larger by itself. */
#define BYTES_AHEAD ((uint64_t)64 << 20)
#define TARGETS     128

static int flow_control_open(struct ftc_comm *comm)
{
    return ftc_segment_nodes(comm->process->segment) > 1 || comm->job_ranks != NULL
               ? ftc_flow_create(&comm->flow, comm->size, comm->driven.number)
               : FTC_SUCCESS;
}

static void flow_control_close(struct ftc_comm *comm)
{
    ftc_flow_destroy(comm->flow);
    comm->flow = NULL;
}

static void send(struct ftc_comm *comm, int rank, struct ftc_buffer *message)
{
    ftc_comm_send(comm, rank, message, NULL, true);
    ftc_buffer_unref(message);
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
            ftc_progress_must(comm->process, FTC_ERR_NOMEM);
        send(comm, rank, answer);
    }
}

/* Has the rank called `wanted` operations? The slot of a rank of this node says that of the world.
 * Otherwise this rank asks. */
static bool has_called(struct ftc_comm *comm, int rank, uint64_t wanted)
{
    struct ftc_buffer *question;

    if (comm->job_ranks == NULL && ftc_comm_is_local(comm, rank))
        return atomic_load_explicit(&ftc_segment_slot(comm->process->segment, rank)->called,
                                    memory_order_relaxed) >= wanted;
    if (ftc_flow_called(comm->flow, rank) >= wanted)
        return true;
    ftc_progress_must(comm->process, ftc_flow_ask(comm->flow, rank, wanted, &question));
    if (question != NULL)
        send(comm, rank, question);
    return false;
}

/* Have the receivers of the next call called so many operations? */
static bool have_called(struct ftc_comm *comm, const struct ftc_signature *signature,
                        uint64_t called)
{
    int ranks[TARGETS];
    int count = ftc_member_targets(comm->member, signature, ranks, TARGETS);

    if (count < 0)
        ftc_progress_must(comm->process, count);
    for (int i = 0; i < count; i++)
        if (!ftc_comm_is_declared(comm, ranks[i]) && !has_called(comm, ranks[i], called))
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

static bool runs_ahead(const struct ftc_call *call)
{
    return ftc_call_table[call->signature.kind].rooted;
}

void ftc_flow_control_note(struct ftc_comm *comm, const struct ftc_call *call)
{
    uint64_t *place = &comm->bytes_of[ftc_member_next_op(comm->member) % FTC_OPERATIONS_AHEAD];
    uint64_t bytes = runs_ahead(call) ? call->signature.size : 0;

    comm->bytes_ahead += bytes - *place;
    *place = bytes;
}

/* The number of broadcasts and scatters that receivers are behind needs no bound here if
 * settle_every is set: each settle_every-th one waits for all ranks. */
bool ftc_flow_control_has_room(struct ftc_comm *comm, const struct ftc_call *call)
{
    const struct ftc_signature *signature = &call->signature;

    if (comm->process->alone || !runs_ahead(call))
        return true;
    uint64_t k = ftc_member_next_op(comm->member), ahead = most_ahead(comm, k, signature->size);
    bool settled = ftc_call_from_root(signature->kind) && comm->process->config.settle_every > 0;
    return k <= ahead || (ahead == FTC_OPERATIONS_AHEAD && settled) ||
           have_called(comm, signature, k - ahead);
}

static int receive_message(struct ftc_comm *comm, int from, struct ftc_buffer *message)
{
    if (comm->flow == NULL)
        return ftc_error_set(FTC_ERR_PROTO, "rank %d asks for flow control on one node", from);
    int rc = ftc_flow_receive(comm->flow, from, message);

    ftc_flow_control_answer(comm);
    return rc;
}

static int awaits(const struct ftc_comm *comm)
{
    return comm->flow != NULL ? ftc_flow_awaited(comm->flow) : -1;
}

static void notice(struct ftc_comm *comm, int rank)
{
    if (comm->flow != NULL)
        ftc_flow_notice(comm->flow, rank);
}

const struct ftc_algorithm ftc_algorithm_flow_control = {
    .open = flow_control_open,
    .close = flow_control_close,
    .frame = FTC_FRAME_FLOW,
    .receive = receive_message,
    .awaits = awaits,
    .notice = notice,
};
