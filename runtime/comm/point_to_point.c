/* Drives the matching engine of a communicator. */
#include "runtime/comm/point_to_point.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "collectives/frame.h"
#include "runtime/comm/algorithm.h"
#include "runtime/comm/publish.h"
#include "runtime/comm/ranks.h"
#include "runtime/process/peer_memory.h"
#include "runtime/process/progress.h"
#include "runtime/process/turn.h"

/* docs/design/point-to-point.md, P3 to P5 */
#define EAGER    ((size_t)16 << 10)
#define CREDIT   ((size_t)512 << 10)
#define PIECE    ((size_t)4 << 20)
#define FRAGMENT ((size_t)256 << 10)
#define WINDOW   (8 * FRAGMENT)

#define SMALL ((size_t)512)

#define CREDIT_STEPS 256 /* until a send goes without credit */

struct ftc_passing {
    struct ftc_matching *matching;
    struct ftc_peers peers;   /* between whose memory and ours messages are copied */
    bool no_copies;           /* with ranks of this node */
    bool rings_later;         /* the caller that starts a send rings its receiver by itself */
    struct ftc_buffer *small; /* for messages of up to SMALL bytes; NULL: none yet */
};

/* --- outputs --- */

/* P4: may the two processes copy from each other? The sender is asked, too, since it has to admit
 * the receiver. */
static bool may_copy(struct ftc_comm *comm, int rank)
{
    struct ftc_passing *passing = comm->passing;

    if (passing->no_copies || !ftc_comm_is_local(comm, rank))
        return false;
    passing->no_copies =
        !ftc_peer_allow(comm->process, &passing->peers, ftc_comm_job_rank(comm, rank));
    return !passing->no_copies;
}

/* A buffer that nobody else writes to. The one of few bytes is used again. NULL: no memory. */
static struct ftc_buffer *take_buffer(struct ftc_passing *passing, size_t size)
{
    if (size > SMALL)
        return ftc_buffer_new(size);
    if (passing->small == NULL || passing->small->references > 1) {
        ftc_buffer_unref(passing->small);
        passing->small = ftc_buffer_new(SMALL);
    }
    if (passing->small != NULL)
        passing->small->size = size;
    return ftc_buffer_ref(passing->small);
}

static void send_in_buffer(struct ftc_comm *comm, const struct ftc_matching_output *output)
{
    struct ftc_value value = {.buffer = output->buffer};
    size_t joined = output->buffer == NULL ? output->size : 0;
    struct ftc_buffer *head = take_buffer(comm->passing, output->head_size + joined);

    if (head == NULL)
        ftc_progress_must(comm->process, FTC_ERR_NOMEM);
    memcpy(head->data, output->head, output->head_size);
    if (joined > 0)
        memcpy(head->data + output->head_size, output->bytes, joined);
    value.size = output->size - joined;
    ftc_comm_send(comm, output->to, head, &value, output->urgent);
    ftc_buffer_unref(head);
}

/* Does the message go at once, with no copy beside that of the transport? */
FTC_HOT static bool sends_at_once(struct ftc_comm *comm, const struct ftc_matching_output *output)
{
    const struct ftc_pieces pieces = {.first = output->head,
                                      .second = output->bytes,
                                      .first_size = output->head_size,
                                      .second_size = output->size};

    return output->buffer == NULL &&
           ftc_comm_send_pieces(comm, output->to, &pieces,
                                output->urgent && !comm->passing->rings_later);
}

FTC_HOT static void put_out(struct ftc_comm *comm)
{
    const struct ftc_matching_output *output;

    while ((output = ftc_matching_next_output(comm->passing->matching)) != NULL) {
        if (output->ready)
            (void)may_copy(comm, output->to);
        ftc_publish_bytes(comm, output->head_size + output->size);
        if (!sends_at_once(comm, output))
            send_in_buffer(comm, output);
        ftc_drill_pass(&comm->process->drill, FTC_DRILL_SEND);
    }
}

static enum ftc_board_copied copy_bytes(struct ftc_comm *comm, int job_rank,
                                        const struct ftc_matching_copy *copy, bool *marked)
{
    struct ftc_peers *peers = &comm->passing->peers;

    if (copy->mark == NULL)
        return ftc_peer_copy_from(comm->process, peers, job_rank, copy->to, copy->address,
                                  copy->size);
    return ftc_peer_copy_and_word(comm->process, peers, job_rank, copy->to, copy->address,
                                  copy->size, copy->mark, copy->mark_address, marked);
}

/* The pid of a declared rank may be that of another process (peer_memory.c). */
static enum ftc_copied copy_from_peer(struct ftc_comm *comm, const struct ftc_matching_copy *copy)
{
    int job_rank = ftc_comm_job_rank(comm, copy->rank);
    bool marked = false;

    if (!may_copy(comm, copy->rank) || ftc_peer_pid(&comm->passing->peers, job_rank) <= 0)
        return FTC_COPY_REFUSED;
    if (ftc_comm_is_declared(comm, copy->rank))
        return FTC_COPY_NOBODY;
    atomic_thread_fence(memory_order_seq_cst); /* P6: the mark is read after the bytes */
    switch (copy_bytes(comm, job_rank, copy, &marked)) {
    case FTC_COPIED:
        return marked ? FTC_COPY_MARKED : FTC_COPY_DONE;
    case FTC_NOBODY_THERE:
        return FTC_COPY_NOBODY;
    default:
        comm->passing->no_copies = true;
        return FTC_COPY_REFUSED;
    }
}

static enum ftc_copied make(struct ftc_comm *comm, const struct ftc_matching_copy *copy)
{
    if (copy->rank != comm->rank)
        return copy_from_peer(comm, copy);
    memmove(copy->to, (const void *)(uintptr_t)copy->address, copy->size);
    return FTC_COPY_DONE;
}

/* Makes copies until they have moved a piece, and carries out what follows. A step does no more, so
 * that a large message does not hold the process up. */
static void copy_piece(struct ftc_comm *comm)
{
    struct ftc_matching *matching = comm->passing->matching;
    struct ftc_matching_copy copy;
    size_t moved = 0;

    while (moved < PIECE && ftc_matching_next_copy(matching, &copy)) {
        moved += copy.size;
        ftc_progress_must(comm->process,
                          ftc_matching_copied(matching, copy.transfer, make(comm, &copy)));
        put_out(comm);
    }
}

/* After each input. `ended` is how many transfers had ended before it. Steps make the copies: while
 * they do, the caller is in the library, and needs no ring. */
static void settle(struct ftc_comm *comm, uint64_t ended)
{
    struct ftc_matching *matching = comm->passing->matching;

    put_out(comm);
    while (comm->process->alone && ftc_matching_has_copies(matching)) /* it takes no steps */
        copy_piece(comm);
    comm->driven.copies = ftc_matching_has_copies(matching);
    if (comm->driven.copies)
        ftc_progress_activate(comm->process, &comm->driven);
    if (ftc_matching_ended(matching) != ended)
        comm->process->delivered = true;
}

/* --- life --- */

/* What the process knows of failures by now. */
static void inherit(struct ftc_comm *comm)
{
    const struct ftc_process *process = comm->process;

    for (int rank = 0; (rank = ftc_set_next(&process->failed, rank)) >= 0; rank++)
        if (ftc_comm_rank_of(comm, rank) >= 0 && !ftc_set_has(&process->audible, rank))
            ftc_progress_must(comm->process, ftc_matching_notice(comm->passing->matching,
                                                                 ftc_comm_rank_of(comm, rank)));
}

static struct ftc_matching *make_matching(struct ftc_comm *comm)
{
    struct ftc_matching_settings settings = {.communicator = comm->number,
                                             .self = comm->rank,
                                             .ranks = comm->size,
                                             .eager = EAGER,
                                             .credit = CREDIT,
                                             .piece = PIECE,
                                             .fragment = FRAGMENT,
                                             .window = WINDOW,
                                             .pool = comm->process->pool};

    comm->passing = calloc(1, sizeof(*comm->passing));
    if (comm->passing == NULL)
        ftc_progress_must(comm->process, FTC_ERR_NOMEM);
    ftc_progress_must(comm->process, ftc_matching_create(&comm->passing->matching, &settings));
    inherit(comm);
    if (ftc_comm_is_revoked(comm))
        ftc_matching_revoke(comm->passing->matching);
    return comm->passing->matching;
}

/* Made when it is first needed. */
FTC_HOT static inline struct ftc_matching *matching_of(struct ftc_comm *comm)
{
    return comm->passing != NULL ? comm->passing->matching : make_matching(comm);
}

static void passing_close(struct ftc_comm *comm)
{
    if (comm->passing == NULL)
        return;
    ftc_matching_destroy(comm->passing->matching);
    ftc_buffer_unref(comm->passing->small);
    ftc_peers_free(&comm->passing->peers);
    free(comm->passing);
    comm->passing = NULL;
}

/* --- inputs --- */

static int receive_message(struct ftc_comm *comm, int from, struct ftc_buffer *message)
{
    struct ftc_matching *matching = matching_of(comm);
    uint64_t ended = ftc_matching_ended(matching);
    int rc = ftc_matching_receive(matching, from, message);

    settle(comm, ended);
    return rc;
}

static void received(struct ftc_comm *comm)
{
    if (!comm->driven.copies)
        return;
    uint64_t ended = ftc_matching_ended(comm->passing->matching);
    copy_piece(comm);
    settle(comm, ended);
}

static void silent(struct ftc_comm *comm, int rank)
{
    if (comm->passing == NULL)
        return;
    uint64_t ended = ftc_matching_ended(comm->passing->matching);
    ftc_progress_must(comm->process, ftc_matching_notice(comm->passing->matching, rank));
    settle(comm, ended);
    comm->process->delivered = true; /* waits of any rank are interrupted */
}

static void revoked(struct ftc_comm *comm)
{
    if (comm->passing == NULL)
        return;
    ftc_matching_revoke(comm->passing->matching);
    comm->driven.copies = false;
    comm->process->delivered = true;
}

static void leaves(struct ftc_comm *comm)
{
    if (comm->passing != NULL)
        ftc_matching_leave(comm->passing->matching);
}

static void start(struct ftc_comm *comm, struct ftc_matching *matching,
                  struct ftc_transfer *transfer)
{
    uint64_t ended = ftc_matching_ended(matching);

    ftc_progress_must(comm->process, ftc_matching_start(matching, transfer));
    settle(comm, ended);
}

/* Credit that others have given back may not have been taken in yet. */
static bool lacks_credit(const struct ftc_matching *matching, const struct ftc_transfer *t)
{
    return t->sends && !ftc_matching_has_credit(matching, t->rank, t->size);
}

void ftc_comm_start_transfer(struct ftc_comm *comm, struct ftc_transfer *transfer)
{
    struct ftc_matching *matching = matching_of(comm);

    for (int steps = 0; steps < CREDIT_STEPS && lacks_credit(matching, transfer); steps++)
        if (!ftc_progress_step(comm->process))
            break;
    start(comm, matching, transfer);
}

bool ftc_comm_start_lightly(struct ftc_comm *comm, struct ftc_transfer *transfer, bool *started)
{
    const struct ftc_process *process = comm->process;
    struct ftc_matching *matching = matching_of(comm);

    *started = process->alone || ((process->transport->ops->caps & FTC_CAP_LOCAL) != 0 &&
                                  !lacks_credit(matching, transfer));
    if (!*started)
        return false;
    comm->passing->rings_later = transfer->sends && transfer->awaited;
    start(comm, matching, transfer);
    comm->passing->rings_later = false;
    return !comm->driven.copies;
}

void ftc_comm_ring_receiver(struct ftc_comm *comm, const struct ftc_transfer *transfer)
{
    struct ftc_process *process = comm->process;

    if (transfer->sends && !ftc_transfer_has_ended(transfer) && !process->alone)
        ftc_bell_ring(&process->bell, ftc_comm_job_rank(comm, transfer->rank), true);
}

/* A caller that has not come in looks so many times for a message. It is a short while, because
 * READY would ring the progress thread meanwhile, and so it does not pause. */
#define LOOKS 200
/* Where ranks share cores, it then gives way, at most TURNS times. It looks so often only after a
 * message has come while it looked: its sender runs on another core, and the two exchange messages
 * without a change of processes. Otherwise it looks just long enough to meet such a sender, and
 * once if that one gives way itself. */
#define LOOKS_FEW 24
#define TURNS     25

/* Only where no other caller is in the library: that one may wait for the same messages. */
static bool may_await(const struct ftc_process *process)
{
    return !process->alone && (process->transport->ops->caps & FTC_CAP_LOCAL) != 0 &&
           process->turn.inside == 0 && !process->any_audible;
}

/* The slot of the rank that must do something; NULL: it may be any, or is on another node. */
static const struct ftc_slot *other_end(const struct ftc_comm *comm, const struct ftc_transfer *t)
{
    int rank = t->rank >= 0 ? t->rank : t->from;

    return rank >= 0 && ftc_comm_is_local(comm, rank)
               ? ftc_segment_slot(comm->process->segment, ftc_comm_job_rank(comm, rank))
               : NULL;
}

static int most_looks(const struct ftc_patience *patience, const struct ftc_slot *other)
{
    if (patience->spins > 0)
        return LOOKS;
    if (other != NULL && atomic_load_explicit(&other->gives_way, memory_order_relaxed) != 0)
        return 1;
    return patience->found ? LOOKS : LOOKS_FEW;
}

/* Lets other processes run. False: the cores are free, or there is something else to do. */
static bool give_way(struct ftc_process *process)
{
    if (process->patience.spins > 0 || ftc_progress_ready(process))
        return false;
    process->patience.found = false;
    ftc_turn_give_way(process);
    return atomic_load_explicit(&process->turn.wanted, memory_order_relaxed) == 0;
}

/* The agreement core has nothing to do with the message, and is not asked, as a step would. */
FTC_HOT static void take(struct ftc_comm *comm, int job_rank, struct ftc_buffer *message)
{
    int rank = ftc_comm_rank_of(comm, job_rank);

    if (rank < 0)
        comm->driven.ops->receive(&comm->driven, job_rank, message);
    else
        ftc_progress_took(comm->process, job_rank, receive_message(comm, rank, message));
    ftc_buffer_unref(message);
}

FTC_HOT bool ftc_comm_await_lightly(struct ftc_comm *comm, const struct ftc_transfer *transfer)
{
    struct ftc_process *process = comm->process;
    struct ftc_patience *patience = &process->patience;
    enum ftc_found found = FTC_FOUND_NOTHING;
    struct ftc_buffer *message = NULL;

    if (!may_await(process))
        return false;
    const struct ftc_slot *other = other_end(comm, transfer);
    int most = most_looks(patience, other), looks = most, turns = TURNS, from = -1;
    while (looks > 0 && found != FTC_FOUND_OTHER && !ftc_transfer_has_ended(transfer) &&
           !comm->driven.copies) {
        found =
            ftc_progress_receive(process, &comm->driven, FTC_FRAME_POINT_TO_POINT, &from, &message);
        if (found == FTC_FOUND_MESSAGE) {
            patience->found |= looks < most;
            take(comm, from, message);
        } else if (--looks == 0 && --turns >= 0 && give_way(process)) {
            looks = most = most_looks(patience, other);
        }
    }
    return ftc_transfer_has_ended(transfer) && found != FTC_FOUND_OTHER && !comm->driven.copies;
}

bool ftc_comm_cancel_transfer(struct ftc_comm *comm, struct ftc_transfer *transfer)
{
    struct ftc_matching *matching = matching_of(comm);
    uint64_t ended = ftc_matching_ended(matching);

    ftc_progress_must(comm->process, ftc_matching_cancel(matching, transfer));
    settle(comm, ended);
    return ftc_transfer_has_ended(transfer) && transfer->status == FTC_ERR_CANCELLED;
}

/* P8: the snapshots are the caller's, so they are looked at when the caller waits. */
static void cover(struct ftc_comm *comm)
{
    struct ftc_matching *matching = comm->passing->matching;

    for (int rank = 0; rank < comm->size; rank++)
        if (ftc_matching_is_gone(matching, rank) && ftc_snapshot_recognizes(&comm->snapshot, rank))
            ftc_matching_recognize(matching, rank);
}

bool ftc_comm_interrupts(struct ftc_comm *comm, struct ftc_transfer *transfer)
{
    struct ftc_matching *matching = matching_of(comm);

    if (!ftc_matching_interrupts_probe(matching))
        return false;
    cover(comm);
    return ftc_matching_interrupts(matching, transfer);
}

bool ftc_comm_waits_for_self(struct ftc_comm *comm, const struct ftc_transfer *transfer)
{
    return ftc_matching_waits_for_self(matching_of(comm), transfer);
}

int ftc_comm_probe(struct ftc_comm *comm, int from, int tag, struct ftc_envelope *found)
{
    struct ftc_matching *matching = matching_of(comm);

    if (ftc_matching_probe(matching, from, tag, 0, found))
        return 1;
    if (from != FTC_MATCHING_ANY)
        return ftc_matching_is_gone(matching, from) ? FTC_ERR_RANK_FAILED : 0;
    if (ftc_matching_interrupts_probe(matching))
        cover(comm);
    return ftc_matching_interrupts_probe(matching) ? FTC_ERR_RANK_FAILED : 0;
}

struct ftc_arrival *ftc_comm_match(struct ftc_comm *comm, int from, int tag)
{
    return ftc_matching_match(comm->passing->matching, from, tag, 0);
}

const struct ftc_algorithm ftc_algorithm_point_to_point = {
    .close = passing_close,
    .frame = FTC_FRAME_POINT_TO_POINT,
    .receive = receive_message,
    .received = received,
    .silent = silent,
    .revoked = revoked,
    .leaves = leaves,
};
