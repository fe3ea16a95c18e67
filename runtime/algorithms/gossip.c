/* Messages, timers and notices of a gossip aggregation. */
#include "runtime/algorithms/gossip.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mix.h"
#include "collectives/values/types.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/mismatch.h"
#include "runtime/comm/publish.h"
#include "runtime/comm/ranks.h"
#include "runtime/process/progress.h"

/* Limits of the messages that are kept: those that come before the call, while this rank is frozen,
 * or while it rests. An operation with a number further ahead is no operation of this job. */
#define KEPT_MOST     4096
#define KEPT_BYTES    (64u << 20)
#define KEPT_FURTHEST (1u << 20)

/* The timer doubles each time that it fires without a message before it, SILENT_MOST times at most.
 * It also allows for the time that the bytes of a message take on a busy machine. */
#define SILENT_MOST 6
#define NS_PER_BYTE 100

/* If the estimate has stood still for REST_AFTER messages, this rank waits for a slow rank. Then it
 * rests: it answers what comes only every REST_NS, until the estimate moves. Otherwise two such
 * ranks would send thousands of messages to each other. */
#define REST_AFTER 64
#define REST_NS    FTC_NS_PER_MS

/* A rank shows what it does before it sleeps. A rank that always has messages never sleeps, so it
 * also shows it this often. */
#define SHOW_NS (10 * FTC_NS_PER_MS)

struct ftc_gossip_kept {
    struct ftc_gossip_kept *next;
    int from;
    struct ftc_buffer *message;
};

static int gossip_open(struct ftc_comm *comm)
{
    struct ftc_gossip_run *run = calloc(1, sizeof(*run));

    comm->gossip = run;
    if (run == NULL || ftc_set_init(&run->heard, comm->size) != 0)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator of %d ranks", comm->size);
    run->random = ftc_mix((uint64_t)comm->process->config.drill_seed) ^ (uint64_t)comm->rank << 32;
    return FTC_SUCCESS;
}

static void gossip_close(struct ftc_comm *comm)
{
    struct ftc_gossip_run *run = comm->gossip;

    if (run == NULL)
        return;
    while (run->first != NULL) {
        struct ftc_gossip_kept *kept = run->first;
        run->first = kept->next;
        ftc_buffer_unref(kept->message);
        free(kept);
    }
    ftc_set_fini(&run->heard);
    free(run->rank);
    free(run);
    comm->gossip = NULL;
}

/* --- drills --- */

/* The i-th flip that may hit this operation. The last one is the drawn one. NULL: there is none. */
static const struct ftc_flip *flip_of(const struct ftc_comm *comm, int i)
{
    if (i < comm->flips.count)
        return &comm->flips.flip[i];
    return i == comm->flips.count && comm->flips.drawn ? &comm->gossip->drawn : NULL;
}

static bool is_due(const struct ftc_comm *comm, int i, const struct ftc_flip *flip)
{
    const struct ftc_gossip_run *run = comm->gossip;

    return !run->struck[i] && flip->rank == comm->rank && flip->op == run->head.op &&
           flip->step <= run->sent;
}

static void struck(struct ftc_comm *comm, int i, const struct ftc_flip *flip, bool done)
{
    comm->gossip->struck[i] = done;
    if (done)
        FTC_LOG(&comm->process->log, FTC_LOG_INFO,
                "drill: bit %d of %s.%d turned over after %llu messages", flip->bit,
                ftc_flip_variable_name(flip->variable), flip->element,
                (unsigned long long)comm->gossip->sent);
}

void ftc_gossip_run_strike(struct ftc_comm *comm)
{
    const struct ftc_flip *flip;

    for (int i = 0; (flip = flip_of(comm, i)) != NULL; i++)
        if (is_due(comm, i, flip))
            struck(comm, i, flip, ftc_gossip_flip(comm->gossip->core, flip));
}

/* Flips a bit in the head of a message that is about to be sent, if such a flip is due. */
static void strike_head(struct ftc_comm *comm, struct ftc_buffer *head)
{
    const struct ftc_flip *flip;

    for (int i = 0; (flip = flip_of(comm, i)) != NULL; i++)
        if (flip->variable == FTC_FLIP_HEAD && is_due(comm, i, flip))
            struck(comm, i, flip, ftc_flip_bytes(flip, head->data, head->size));
}

static bool is_lost(struct ftc_comm *comm)
{
    struct ftc_gossip_run *run = comm->gossip;

    if (comm->process->config.drill_message_loss_ppm == 0)
        return false;
    run->random += 0x9e3779b97f4a7c15u;
    return (int64_t)(ftc_mix(run->random) % (uint64_t)FTC_CONFIG_PPM) <
           comm->process->config.drill_message_loss_ppm;
}

/* --- out --- */

/* The part of a letter behind its head. It is empty in a letter that asks. */
static struct ftc_value rest_of(struct ftc_comm *comm, const struct ftc_gossip_output *output)
{
    struct ftc_value value = {.size = output->size - FTC_GOSSIP_LETTER_HEAD};

    if (value.size == 0)
        return value;
    value.buffer = ftc_buffer_new(value.size);
    if (value.buffer == NULL)
        ftc_process_leave(comm->process, FTC_EXIT_INTERNAL, "out of memory");
    memcpy(value.buffer->data, (const unsigned char *)output->bytes + FTC_GOSSIP_LETTER_HEAD,
           value.size);
    return value;
}

static void send(struct ftc_comm *comm, const struct ftc_gossip_output *output)
{
    struct ftc_gossip_run *run = comm->gossip;
    struct ftc_value value = rest_of(comm, output);
    struct ftc_buffer *head = ftc_gossip_head_encode(&run->head, output->bytes);

    if (head == NULL)
        ftc_process_leave(comm->process, FTC_EXIT_INTERNAL, "out of memory");
    strike_head(comm, head);
    run->sent++;
    run->spared += ftc_gossip_settled(run->core);
    ftc_publish_sent(comm, FTC_MESSAGE_GOSSIP, head->size + value.size);
    ftc_comm_send(comm, run->rank[output->to], head, &value, false);
    ftc_buffer_unref(head);
    ftc_value_drop(&value);
    ftc_drill_pass(&comm->process->drill, FTC_DRILL_SEND);
}

static uint64_t patience(const struct ftc_gossip_run *run, uint64_t delay_ns)
{
    return (delay_ns + run->head.count * sizeof(double) * NS_PER_BYTE) << run->silent;
}

bool ftc_gossip_run_ready(const struct ftc_gossip_run *run)
{
    return ftc_gossip_end_ready(run->end, run->sent - run->spared);
}

void ftc_gossip_run_outputs(struct ftc_comm *comm)
{
    struct ftc_gossip_run *run = comm->gossip;
    struct ftc_gossip_output output;

    while (ftc_gossip_next_output(run->core, &output)) {
        if (output.kind == FTC_GOSSIP_SEND)
            send(comm, &output);
        else
            ftc_comm_algorithm_due(comm, ftc_clock_now() + patience(run, output.delay_ns));
    }
    ftc_gossip_end_look(run->end);
    if (!ftc_gossip_settled(run->core))
        run->stood = run->sent;
    if (ftc_gossip_run_ready(run))
        run->unsettled_ns = 0;
    else if (run->unsettled_ns == 0)
        run->unsettled_ns = ftc_clock_now();
}

/* --- in --- */

_Noreturn static void mismatch(struct ftc_comm *comm, int from,
                               const struct ftc_gossip_head *theirs)
{
    const struct ftc_gossip_head *own = &comm->gossip->head;
    char words[FTC_MISMATCH_WORDS];

    snprintf(words, sizeof(words),
             "operation %llu: rank %d gossips about %llu doubles (algorithm %d, neighbourhood %d, "
             "turns %d, "
             "operator %d), rank %d about %llu (%d, %d, %d, %d)",
             (unsigned long long)own->op, from, (unsigned long long)theirs->count,
             theirs->algorithm, theirs->neighbourhood, theirs->turns, theirs->operator_code,
             comm->rank, (unsigned long long)own->count, own->algorithm, own->neighbourhood,
             own->turns, own->operator_code);
    ftc_comm_end_mismatched(comm, words);
}

static bool in_turns(const struct ftc_gossip_run *run)
{
    return run->head.turns != 0;
}

static void received(struct ftc_comm *comm)
{
    struct ftc_gossip_run *run = comm->gossip;

    if (!run->owing)
        return;
    run->owing = false;
    if (run->core == NULL || run->frozen)
        return;
    ftc_gossip_answer(run->core);
    ftc_gossip_run_outputs(comm);
}

/* Takes in a message of the operation under way. Without turns the answer comes later, when all
 * messages that lie here are taken in: one push for all of them. */
static int take(struct ftc_comm *comm, int from, const struct ftc_gossip_head *head,
                const unsigned char *letter, size_t size)
{
    struct ftc_gossip_run *run = comm->gossip;

    if (!ftc_gossip_head_equal(head, &run->head))
        mismatch(comm, from, head);
    if (run->place[from] < 0)
        return FTC_SUCCESS; /* its sender takes no part, because it had failed before */
    ftc_set_add(&run->heard, from);
    run->silent = 0;
    ftc_gossip_run_strike(comm);
    ftc_gossip_more(run->core, !in_turns(run) ||
                                   comm->process->transport->ops->ready(comm->process->transport));
    run->owing = !in_turns(run);
    int rc = ftc_gossip_receive(run->core, run->place[from], letter, size);
    ftc_gossip_run_outputs(comm);
    return rc;
}

static bool is_mark(const struct ftc_buffer *message)
{
    return message->size >= FTC_GOSSIP_HEAD &&
           ftc_gossip_is_mark(message->data + FTC_GOSSIP_HEAD - FTC_GOSSIP_LETTER_HEAD);
}

/* Is there room to keep this message? A mark always finds some, since ranks wait for it
 * (gossip.md, rule 5): a neighbour sends one before it waits for this rank in its turn. */
static bool has_room(const struct ftc_comm *comm, const struct ftc_buffer *message)
{
    const struct ftc_gossip_run *run = comm->gossip;

    if (is_mark(message))
        return run->kept < KEPT_MOST + 2 * (size_t)comm->size;
    return run->kept < KEPT_MOST && run->kept_bytes + message->size <= KEPT_BYTES;
}

/* Keeps a message of operation `op` for later. If there is no room it is dropped, which is like a
 * lost message: all algorithms but push-sum make up for it. FTC_ERR_PROTO: too many marks. */
static int keep(struct ftc_comm *comm, int from, uint64_t op, struct ftc_buffer *message)
{
    struct ftc_gossip_run *run = comm->gossip;
    struct ftc_gossip_kept *kept;

    if (!has_room(comm, message)) {
        run->lost_before = op + 1 > run->lost_before ? op + 1 : run->lost_before;
        return is_mark(message) ? ftc_error_set(FTC_ERR_PROTO, "rank %d sent too many marks", from)
                                : FTC_SUCCESS;
    }
    kept = malloc(sizeof(*kept));
    if (kept == NULL)
        return FTC_ERR_NOMEM;
    *kept = (struct ftc_gossip_kept){.from = from, .message = ftc_buffer_ref(message)};
    if (run->last != NULL)
        run->last->next = kept;
    else
        run->first = kept;
    run->last = kept;
    run->kept++;
    run->kept_bytes += message->size;
    return FTC_SUCCESS;
}

/* Does this rank rest? It does not without room to keep a message: no message that is put off may
 * be dropped. While messages are put off it goes on to rest, so that they stay in order of
 * arrival. */
static bool rests(const struct ftc_comm *comm, const struct ftc_buffer *message)
{
    const struct ftc_gossip_run *run = comm->gossip;

    return !run->taking && has_room(comm, message) &&
           (run->putting_off ||
            (ftc_gossip_settled(run->core) && run->sent - run->stood > REST_AFTER));
}

/* Keeps a message until this rank has rested. */
static int put_off(struct ftc_comm *comm, int from, uint64_t op, struct ftc_buffer *message)
{
    if (!comm->gossip->putting_off)
        ftc_comm_algorithm_due(comm, ftc_clock_now() + REST_NS);
    comm->gossip->putting_off = true;
    return keep(comm, from, op, message);
}

/* How many operations this rank has called. The caller may be in a call on the board, without the
 * lock, so this reads an atomic. */
static uint64_t called(const struct ftc_comm *comm)
{
    uint64_t calls = atomic_load_explicit(&comm->called, memory_order_relaxed);

    return calls > comm->gossip->head.op ? calls : comm->gossip->head.op;
}

/* A message with a damaged head may be of any operation. With turns it is dropped: its sender
 * misses the answer and sends again. Without turns no message may get lost, so the sender is
 * accused. */
static int drop_damaged(struct ftc_comm *comm, int from, bool turns)
{
    if (!turns)
        return FTC_ERR_PROTO;
    comm->gossip->damaged++;
    comm->dropped++;
    FTC_LOG(&comm->process->log, FTC_LOG_INFO,
            "gossip: the head of a message from rank %d is damaged: dropped", from);
    return FTC_SUCCESS;
}

static int judge(struct ftc_comm *comm, int from, struct ftc_buffer *message)
{
    struct ftc_gossip_run *run = comm->gossip;
    struct ftc_gossip_head head;
    const unsigned char *letter;
    size_t size;
    int rc = ftc_gossip_head_decode(message, &head, &letter, &size);

    if (rc == FTC_ERR_CORRUPT)
        return drop_damaged(comm, from, head.turns != 0);
    if (rc != FTC_SUCCESS)
        return rc;
    if (head.communicator != comm->driven.number || head.op > called(comm) + KEPT_FURTHEST)
        return ftc_error_set(FTC_ERR_PROTO, "rank %d gossips in operation %llu", from,
                             (unsigned long long)head.op);
    if (head.op < run->head.op)
        return FTC_SUCCESS; /* its operation is over */
    if (run->core == NULL || run->frozen || head.op > run->head.op)
        return keep(comm, from, head.op, message);
    if (rests(comm, message))
        return put_off(comm, from, head.op, message);
    if (run->putting_off && !run->taking)
        ftc_gossip_run_take_kept(comm);
    return take(comm, from, &head, letter, size);
}

static int receive_message(struct ftc_comm *comm, int from, struct ftc_buffer *message)
{
    return !is_mark(message) && is_lost(comm) ? FTC_SUCCESS : judge(comm, from, message);
}

void ftc_gossip_run_take_kept(struct ftc_comm *comm)
{
    struct ftc_gossip_run *run = comm->gossip;
    struct ftc_gossip_kept *kept = run->first;
    bool taking = run->taking;

    run->first = run->last = NULL;
    run->kept = run->kept_bytes = 0;
    run->taking = true;
    run->putting_off = false;
    while (kept != NULL) {
        struct ftc_gossip_kept *next = kept->next;
        int rc = judge(comm, kept->from, kept->message);
        if (rc == FTC_ERR_PROTO)
            ftc_comm_accuse(comm, kept->from, "sent a damaged message");
        else
            ftc_progress_must(comm->process, rc);
        ftc_buffer_unref(kept->message);
        free(kept);
        kept = next;
    }
    run->taking = taking;
    received(comm);
}

static void timer(struct ftc_comm *comm)
{
    struct ftc_gossip_run *run = comm->gossip;

    if (run->core == NULL || run->frozen)
        return;
    if (run->first != NULL) {
        ftc_gossip_run_take_kept(comm);
        return;
    }
    run->silent += run->silent < SILENT_MOST;
    if (comm->process->clogged) {
        ftc_comm_algorithm_due(
            comm, ftc_clock_now() +
                      patience(run, (uint64_t)comm->process->config.gossip_patience_us * 1000));
        return;
    }
    ftc_gossip_run_strike(comm);
    ftc_gossip_timer(run->core);
    ftc_gossip_run_outputs(comm);
}

bool ftc_gossip_run_lost(const struct ftc_gossip_run *run)
{
    return run->lost_before > run->head.op;
}

void ftc_gossip_run_notice(struct ftc_comm *comm, int rank)
{
    struct ftc_gossip_run *run = comm->gossip;

    if (run == NULL || run->core == NULL || run->place[rank] < 0)
        return;
    ftc_gossip_notice(run->core, run->place[rank]);
    ftc_gossip_end_removed(run->end, rank);
}

/* --- looking in --- */

static bool hears(const struct ftc_gossip_run *run, int self, int place)
{
    int link = ftc_neighbourhood_link(&run->neighbourhood, place, self);

    return link >= 0 && ftc_neighbourhood_sends(&run->neighbourhood, place, link);
}

/* Counts the living neighbours that no message has come from. *lowest is the lowest of them, or
 * -1. */
static int count_silent(const struct ftc_comm *comm, int *lowest)
{
    const struct ftc_gossip_run *run = comm->gossip;
    const struct ftc_set *failed = ftc_member_known_failed(comm->member);
    int silent = 0;

    *lowest = -1;
    for (int place = run->places - 1; place >= 0; place--) {
        int rank = run->rank[place];
        if (!hears(run, run->place[comm->rank], place) || ftc_set_has(&run->heard, rank) ||
            ftc_set_has(failed, rank))
            continue;
        silent++;
        *lowest = rank;
    }
    return silent;
}

void ftc_gossip_run_clock(struct ftc_comm *comm)
{
    struct ftc_gossip_run *run = comm->gossip;
    uint64_t now = ftc_clock_now(),
             most = (uint64_t)comm->process->config.gossip_most_seconds * FTC_NS_PER_S;
    int lowest;

    if (now - run->shown_ns > SHOW_NS) {
        run->shown_ns = now;
        ftc_publish_activity(comm, FTC_WAIT_NOTHING);
    }
    if (run->began_ns == 0) {
        if (count_silent(comm, &lowest) == 0)
            run->began_ns = now;
    } else if (most > 0 && run->spent_ns + (now - run->began_ns) >= most) {
        ftc_gossip_end_late(run->end);
    }
}

void ftc_gossip_run_clock_stop(struct ftc_comm *comm)
{
    struct ftc_gossip_run *run = comm->gossip;

    run->spent_ns += run->began_ns > 0 ? ftc_clock_now() - run->began_ns : 0;
    run->began_ns = 0;
}

/* Names a silent neighbour first: it may be silent because it is in another collective. */
static void activity(const struct ftc_comm *comm, struct ftc_member_activity *now)
{
    const struct ftc_gossip_run *run = comm->gossip;

    if (run == NULL || run->core == NULL || comm->agreeing)
        return;
    now->kind = FTC_CALL_GOSSIP;
    now->op = run->head.op;
    now->wait = FTC_WAIT_GOSSIP;
    now->root = -1;
    now->unsettled_ns = run->unsettled_ns;
    now->waits = count_silent(comm, &now->waits_for);
    if (now->waits > 0)
        return;
    int place = ftc_gossip_awaits(run->core, &now->waits);
    now->waits_for = place >= 0 ? run->rank[place] : -1;
}

const struct ftc_algorithm ftc_algorithm_gossip = {
    .of_world = true,
    .open = gossip_open,
    .close = gossip_close,
    .owns = ftc_gossip_is_message,
    .receive = receive_message,
    .received = received,
    .timer = timer,
    .notice = ftc_gossip_run_notice,
    .activity = activity,
};
