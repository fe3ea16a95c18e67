/* Deterministic allreduces without tolerance: their messages, waits and calls. */
#include "cli/perf/baseline/baseline.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/wire.h"
#include "collectives/frame.h"
#include "runtime/algorithms/table.h"
#include "runtime/api/call.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/publish.h"
#include "runtime/process/progress.h"

/* A message is a head and then what ftc_doubling_receive() takes. The head is
 *   u8 version | u8 kind | u16 0 | u64 communicator | u64 number of the call | zeroes up to 32 */
#define HEAD 32

/* Kept messages belong to the next call, which this rank has not come to. A rank sends at most one
 * message for each step of it. */
#define KEPT_MOST 256

_Static_assert(HEAD % FTC_VALUE_ALIGNMENT == 0, "what follows is not padded");

struct kept {
    int from;
    struct ftc_buffer *message;
};

struct ftc_doubling_run {
    struct ftc_doubling *core; /* NULL: no call is under way */
    uint64_t calls;            /* calls that are over; also the number of this call or the next */
    /* rank[i] is the i-th rank that takes part. place[r] is the index of rank r among them; -1: r
     * does not take part. */
    int *rank, *place;
    int places;
    struct kept kept[KEPT_MOST];
    int kepts;
};

static int baseline_open(struct ftc_comm *comm)
{
    struct ftc_doubling_run *run = calloc(1, sizeof(*run));

    comm->doubling = run;
    if (run == NULL || (run->rank = calloc(2 * (size_t)comm->size, sizeof(int))) == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator of %d ranks", comm->size);
    run->place = run->rank + comm->size;
    return FTC_SUCCESS;
}

static void baseline_close(struct ftc_comm *comm)
{
    struct ftc_doubling_run *run = comm->doubling;

    if (run == NULL)
        return;
    for (int i = 0; i < run->kepts; i++)
        ftc_buffer_unref(run->kept[i].message);
    free(run->rank);
    free(run);
    comm->doubling = NULL;
}

/* --- out --- */

static struct ftc_buffer *encode_head(const struct ftc_doubling_run *run)
{
    struct ftc_buffer *buffer = ftc_buffer_new(HEAD);
    struct ftc_writer writer = {.size = HEAD};

    if (buffer == NULL)
        return NULL;
    writer.data = buffer->data;
    ftc_frame_write(&writer, FTC_FRAME_BASELINE, 0, FTC_COMMUNICATOR_WORLD);
    ftc_write_u64(&writer, run->calls);
    ftc_write_align(&writer, HEAD);
    return buffer;
}

static void send(struct ftc_comm *comm, const struct ftc_doubling_output *output)
{
    struct ftc_doubling_run *run = comm->doubling;
    struct ftc_buffer *head = encode_head(run);
    struct ftc_value value = {.buffer = ftc_buffer_new(output->size), .size = output->size};

    if (head == NULL || value.buffer == NULL)
        ftc_progress_must(comm->process, FTC_ERR_NOMEM);
    memcpy(value.buffer->data, output->bytes, output->size);
    ftc_progress_must(comm->process, comm->process->transport->ops->send(comm->process->transport,
                                                                         run->rank[output->to],
                                                                         head, &value, false));
    ftc_buffer_unref(value.buffer);
    ftc_buffer_unref(head);
}

static void put_out(struct ftc_comm *comm)
{
    struct ftc_doubling_output output;

    while (ftc_doubling_next_output(comm->doubling->core, &output))
        send(comm, &output);
}

/* --- in --- */

static bool read_head(const struct ftc_buffer *message, uint64_t *call)
{
    struct ftc_reader reader = {.data = message->data, .size = message->size};
    uint64_t communicator;
    uint16_t own;
    int kind;
    bool sound = ftc_frame_read(&reader, &kind, &own, &communicator);

    *call = ftc_read_u64(&reader);
    ftc_read_align(&reader, HEAD);
    return sound && !reader.failed;
}

static int keep(struct ftc_doubling_run *run, int from, struct ftc_buffer *message)
{
    if (run->kepts == KEPT_MOST)
        return ftc_error_set(FTC_ERR_PROTO, "rank %d sent more messages than a call has", from);
    run->kept[run->kepts++] = (struct kept){from, ftc_buffer_ref(message)};
    return FTC_SUCCESS;
}

static int take(struct ftc_comm *comm, int from, const struct ftc_buffer *message)
{
    struct ftc_doubling_run *run = comm->doubling;

    if (run->place[from] < 0)
        return FTC_SUCCESS; /* its sender has no part in this call, because it had failed before */
    int rc = ftc_doubling_receive(run->core, run->place[from], message->data + HEAD,
                                  message->size - HEAD);
    put_out(comm);
    return rc;
}

/* A rank that ends a call depends on a message of every rank that takes part. So no rank can be
 * further ahead than the next call. */
static int receive_message(struct ftc_comm *comm, int from, struct ftc_buffer *message)
{
    struct ftc_doubling_run *run = comm->doubling;
    uint64_t call;

    if (!read_head(message, &call) || call > run->calls + (run->core != NULL))
        return ftc_error_set(FTC_ERR_PROTO,
                             "rank %d sent what is no message of this call or the next", from);
    if (call < run->calls)
        return FTC_SUCCESS; /* here a death has ended the call of this message */
    return run->core != NULL && call == run->calls ? take(comm, from, message)
                                                   : keep(run, from, message);
}

static void notice(struct ftc_comm *comm, int rank)
{
    struct ftc_doubling_run *run = comm->doubling;

    if (run->core != NULL && run->place[rank] >= 0)
        ftc_doubling_notice(run->core, run->place[rank]);
}

static void take_kept(struct ftc_comm *comm)
{
    struct ftc_doubling_run *run = comm->doubling;

    for (int i = 0; i < run->kepts; i++) {
        int rc = take(comm, run->kept[i].from, run->kept[i].message);
        if (rc == FTC_ERR_PROTO)
            ftc_progress_accuse(comm->process, run->kept[i].from, "sent a damaged message");
        else
            ftc_progress_must(comm->process, rc);
        ftc_buffer_unref(run->kept[i].message);
    }
    run->kepts = 0;
}

/* --- the call --- */

static void place_ranks(struct ftc_comm *comm)
{
    struct ftc_doubling_run *run = comm->doubling;
    const struct ftc_set *failed = comm->board != NULL ? ftc_board_agreed(comm->board)
                                                       : ftc_member_agreed_failed(comm->member);

    run->places = 0;
    for (int rank = 0; rank < comm->size; rank++) {
        run->place[rank] = ftc_set_has(failed, rank) ? -1 : run->places;
        if (run->place[rank] >= 0)
            run->rank[run->places++] = rank;
    }
}

static bool is_over(struct ftc_comm *comm, void *arg)
{
    (void)arg;
    return ftc_doubling_state(comm->doubling->core) != FTC_DOUBLING_UNDER_WAY;
}

/* A rank in L that is not in G takes part, but has failed. So it ends the call here, before a
 * message is sent. */
static void run_core(struct ftc_comm *comm)
{
    const struct ftc_set *known = ftc_member_known_failed(comm->member);

    comm->driven.waits = true; /* so that a step takes in more than one message */
    ftc_progress_failures(comm->process);
    for (int rank = ftc_set_next(known, 0); rank >= 0; rank = ftc_set_next(known, rank + 1))
        notice(comm, rank);
    ftc_doubling_start(comm->doubling->core);
    put_out(comm);
    take_kept(comm);
    ftc_comm_wait(comm, &(struct ftc_until){.done = is_over});
    comm->driven.waits = false;
}

static int result(const struct ftc_doubling *core, double *recv, size_t count)
{
    switch (ftc_doubling_state(core)) {
    case FTC_DOUBLING_DONE:
        memcpy(recv, ftc_doubling_result(core), count * sizeof(double));
        return FTC_SUCCESS;
    case FTC_DOUBLING_NO_MAJORITY:
        return ftc_error_set(FTC_ERR_CORRUPT, "three runs of an allreduce had three results");
    default:
        return ftc_error_set(
            FTC_ERR_TOO_MANY_FAILURES,
            "a rank has failed, which this allreduce does not survive; agree on the failed "
            "set with ftc_validate_global(), and repeat it");
    }
}

static int run(struct ftc_comm *comm, struct ftc_doubling_settings *settings,
               const double *send_values, double *recv)
{
    struct ftc_doubling_run *here = comm->doubling;

    ftc_call_enter(comm);
    place_ranks(comm);
    settings->self = here->place[comm->rank];
    settings->ranks = here->places;
    int rc = ftc_doubling_create(&here->core, settings, send_values);
    if (rc == FTC_SUCCESS) {
        run_core(comm);
        rc = result(here->core, recv, settings->count);
        ftc_doubling_destroy(here->core);
        here->core = NULL;
        here->calls++;
    }
    ftc_call_leave(comm);
    return rc;
}

static int run_alone(struct ftc_doubling_settings *settings, const double *send_values,
                     double *recv)
{
    struct ftc_doubling *core;
    int rc = ftc_doubling_create(&core, settings, send_values);

    if (rc != FTC_SUCCESS)
        return rc;
    ftc_doubling_start(core);
    rc = result(core, recv, settings->count);
    ftc_doubling_destroy(core);
    return rc;
}

FTC_API int ftc_baseline_allreduce(enum ftc_doubling_algorithm algorithm, const double *send,
                                   double *recv, size_t count, ftc_comm *comm)
{
    struct ftc_doubling_settings settings = {.ranks = 1, .algorithm = algorithm, .count = count};
    int rc = ftc_call_check(comm);

    if (rc == FTC_SUCCESS && (send == NULL || recv == NULL))
        rc = ftc_error_set(FTC_ERR_ARG, "%s is NULL", send == NULL ? "send" : "recv");
    if (rc != FTC_SUCCESS)
        return rc;
    rc = ftc_call_begin(comm);
    if (rc != FTC_SUCCESS)
        return rc;
    rc = comm->process->alone ? run_alone(&settings, send, recv) : run(comm, &settings, send, recv);
    return ftc_call_end(comm, rc);
}

const struct ftc_algorithm ftc_algorithm_baseline = {
    .open = baseline_open,
    .close = baseline_close,
    .frame = FTC_FRAME_BASELINE,
    .receive = receive_message,
    .notice = notice,
};
