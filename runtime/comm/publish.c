/* Publishing in the slot. This rank is the only writer of each word, so relaxed stores are
 * enough. */
#include "runtime/comm/publish.h"
#include "runtime/comm/algorithm.h"

#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "runtime/comm/mover.h"
#include "runtime/comm/ranks.h"
#include "runtime/process/multicast.h"
#include "runtime/process/turn.h"

_Static_assert(FTC_PIECES == FTC_PIECES_KINDS, "the slot has room for all kinds");
_Static_assert(FTC_RULES >= FTC_RULES_COUNT, "the slot has room for all rules");
_Static_assert(FTC_MESSAGE_KINDS >= FTC_MESSAGES, "the slot has room for all kinds of messages");

#define STORE(field, value) atomic_store_explicit(&(field), (value), memory_order_relaxed)
#define LOAD(field)         atomic_load_explicit(&(field), memory_order_relaxed)
#define ADD(field, value)   STORE(field, LOAD(field) + (value))

/* A part of the job does not show its sets, nor how many operations it has called. The slot has
 * room for those of the world. */
static bool is_part(const struct ftc_comm *comm)
{
    return comm->job_ranks != NULL;
}

/* The name cannot change meanwhile: ftc_comm_set_name() is a call on comm, too. */
static void publish_name(const struct ftc_comm *comm)
{
    uint64_t words[FTC_COMMUNICATOR_NAME / 8];

    memcpy(words, comm->name, sizeof(words));
    for (size_t i = 0; i < FTC_COMMUNICATOR_NAME / 8; i++)
        STORE(comm->process->slot->activity.name[i], words[i]);
}

static void fill(struct ftc_comm *comm, const struct ftc_member_activity *now, enum ftc_wait wait)
{
    struct ftc_activity *a = &comm->process->slot->activity;

    STORE(a->communicator, comm->driven.number);
    publish_name(comm);
    STORE(a->kind, now->kind);
    STORE(a->op, now->op);
    STORE(a->ballot_i, now->ballot.i);
    STORE(a->ballot_s, now->ballot.s);
    STORE(a->role, wait);
    STORE(a->waits_for,
          now->waits_for < 0 ? now->waits_for : ftc_comm_job_rank(comm, now->waits_for));
    STORE(a->waits, (uint32_t)now->waits);
    STORE(a->root, now->root);
    STORE(a->epoch_op, now->epoch.op);
    STORE(a->epoch_i, now->epoch.ballot.i);
    STORE(a->epoch_s, now->epoch.ballot.s);
    if (now->known_failed >= 0)
        STORE(a->known_failed, (uint32_t)now->known_failed);
    STORE(a->agreed_failed, (uint32_t)now->agreed_failed);
    STORE(comm->agreed_count, (uint32_t)now->agreed_failed);
    STORE(a->unsettled_ns, now->unsettled_ns);
}

/* The transfer that is shown: of a send and a receive the receive, while it is under way. */
static const struct ftc_transfer *shown_of(const struct ftc_passing_call *call)
{
    static const struct ftc_transfer any = {
        .rank = FTC_MATCHING_ANY, .tag = FTC_MATCHING_ANY, .from = -1};
    const struct ftc_transfer *t = call->transfer;

    if (t == NULL)
        return &any;
    return call->count > 1 && !ftc_transfer_has_ended(&t[1]) ? &t[1] : t;
}

int ftc_passing_awaits(const struct ftc_passing_call *call)
{
    const struct ftc_transfer *t = shown_of(call);

    return t->rank >= 0 ? t->rank : t->from;
}

/* Replaces what fill() says of the call. Returns the job's rank that is awaited; -1: any. */
static int fill_passing(struct ftc_comm *comm, const struct ftc_passing_call *call)
{
    struct ftc_activity *a = &comm->process->slot->activity;
    const struct ftc_transfer *t = shown_of(call);
    bool sized = call->transfer != NULL && call->kind != FTC_HISTORY_PROBE;
    int rank = ftc_passing_awaits(call);

    if (rank >= 0)
        rank = ftc_comm_job_rank(comm, rank);
    STORE(a->kind, (uint32_t)call->kind);
    STORE(a->op, FTC_HISTORY_UNNUMBERED);
    STORE(a->ballot_i, 0);
    STORE(a->ballot_s, 0);
    STORE(a->role, t->sends ? FTC_WAIT_RECEIVER : t->from >= 0 ? FTC_WAIT_REST : FTC_WAIT_MESSAGE);
    STORE(a->waits_for, rank);
    STORE(a->waits, call->transfer != NULL ? 1 : (uint32_t)call->count);
    STORE(a->root, -1);
    STORE(a->tag, t->tag);
    STORE(a->bytes, sized ? t->size : UINT64_MAX);
    STORE(a->since_ns, comm->passing_since_ns);
    return rank;
}

/* Translates the activity of the board into that of a member. The board has no ballots. */
static void board_activity(const struct ftc_board *board, struct ftc_member_activity *now)
{
    static const enum ftc_wait waits[] = {[FTC_BOARD_WAITS_NOT] = FTC_WAIT_NOTHING,
                                          [FTC_BOARD_WAITS_POST] = FTC_WAIT_POST,
                                          [FTC_BOARD_WAITS_STARTED] = FTC_WAIT_STARTED,
                                          [FTC_BOARD_WAITS_RESULT] = FTC_WAIT_RESULT,
                                          [FTC_BOARD_WAITS_ROOM] = FTC_WAIT_ROOM};
    struct ftc_board_activity a;

    ftc_board_activity(board, &a);
    *now = (struct ftc_member_activity){.op = a.op,
                                        .wait = waits[a.wait],
                                        .waits_for = a.waits_for,
                                        .waits = a.waits,
                                        .root = a.signature != NULL ? a.signature->root : -1,
                                        .known_failed = -1, /* ftc_publish_noticed() shows it */
                                        .agreed_failed = ftc_set_count(ftc_board_agreed(board))};
    if (a.signature != NULL)
        now->kind = (enum ftc_call_kind)a.signature->kind;
}

/* If there is a board, the numbers of failed ranks are still those of the board. */
static void member_activity(const struct ftc_comm *comm, struct ftc_member_activity *now)
{
    struct ftc_member_activity board = *now;

    ftc_member_activity(comm->member, now);
    if (comm->board == NULL)
        return;
    now->known_failed = board.known_failed;
    now->agreed_failed = board.agreed_failed;
}

/* While another thread moves operations on, what the board does changes all the time. */
static void look_at_board(const struct ftc_comm *comm, struct ftc_member_activity *now)
{
    bool leave;

    if (ftc_mover_peek((struct ftc_comm *)comm, &leave))
        board_activity(comm->board, now);
    else
        *now = (struct ftc_member_activity){.op = LOAD(comm->called),
                                            .waits_for = -1,
                                            .root = -1,
                                            .known_failed = -1,
                                            .agreed_failed = (int)LOAD(comm->agreed_count)};
    ftc_mover_end_peek((struct ftc_comm *)comm, leave);
}

void ftc_publish_what(const struct ftc_comm *comm, struct ftc_member_activity *now)
{
    if (comm->board != NULL)
        look_at_board(comm, now);
    if (comm->board == NULL || comm->agreeing)
        member_activity(comm, now);
    ftc_algorithms_activity(comm, now);
}

static void publish_set(_Atomic uint64_t *row, const struct ftc_set *set)
{
    for (int i = 0; i < ftc_set_words(set->size); i++)
        STORE(row[i], ftc_set_word(set, i));
}

/* G of the world only grows. So if the number of its ranks is the same, the set is the same. */
static void publish_agreed(struct ftc_comm *comm)
{
    const struct ftc_set *agreed = ftc_board_agreed(comm->board);
    uint32_t count = (uint32_t)ftc_set_count(agreed);

    STORE(comm->agreed_count, count);
    if (is_part(comm) || count == comm->published_agreed)
        return;
    comm->published_agreed = count;
    STORE(comm->process->slot->activity.agreed_failed, count);
    publish_set(ftc_segment_agreed_row(comm->process->segment, comm->rank), agreed);
}

static void publish_board_agreed(struct ftc_comm *comm)
{
    bool leave;

    if (ftc_mover_peek(comm, &leave))
        publish_agreed(comm);
    ftc_mover_end_peek(comm, leave);
}

/* The sequence is odd while the fields change. The release fence and the release store keep the
 * relaxed stores of the fields between the two changes of the sequence. */
static void publish(struct ftc_comm *comm, enum ftc_wait wait, const struct ftc_passing_call *call)
{
    struct ftc_member_activity now;
    struct ftc_activity *a = &comm->process->slot->activity;

    ftc_publish_board_record(comm);
    ftc_publish_what(comm, &now);
    if (wait == FTC_WAIT_SETTLEMENT)
        ftc_member_holding(comm->member, &now);
    if (wait == FTC_WAIT_NOTHING)
        wait = now.wait;
    if (comm->board != NULL)
        publish_board_agreed(comm);
    ftc_history_waits(comm->recording,
                      now.waits_for < 0 ? -1 : ftc_comm_job_rank(comm, now.waits_for));
    STORE(a->sequence, LOAD(a->sequence) | 1u);
    atomic_thread_fence(memory_order_release);
    fill(comm, &now, wait);
    if (call != NULL)
        ftc_history_waits(&comm->history, fill_passing(comm, call));
    atomic_store_explicit(&a->sequence, (LOAD(a->sequence) | 1u) + 1u, memory_order_release);
}

void ftc_publish_activity(struct ftc_comm *comm, enum ftc_wait wait)
{
    if (!comm->process->alone)
        publish(comm, wait, NULL);
}

static void begin_passing(struct ftc_comm *comm, const struct ftc_passing_call *call)
{
    struct ftc_signature signature = {.kind = (uint8_t)call->kind, .size = shown_of(call)->size};

    comm->passing_since_ns = ftc_clock_now();
    if (comm->history.store == NULL)
        return;
    comm->history.call = &signature;
    comm->history.outcome = FTC_HISTORY_OUTCOME(0, 0, LOAD(comm->agreed_count)); /* no algorithm */
    ftc_history_call(&comm->history, FTC_HISTORY_UNNUMBERED, true);
}

void ftc_publish_passing(struct ftc_comm *comm, const struct ftc_passing_call *call)
{
    if (comm->process->alone)
        return;
    if (comm->passing_since_ns == 0)
        begin_passing(comm, call);
    publish(comm, FTC_WAIT_NOTHING, call);
}

void ftc_publish_passed(struct ftc_comm *comm, int status)
{
    if (comm->process->alone)
        return;
    comm->passing_since_ns = 0;
    STORE(comm->process->slot->activity.since_ns, ftc_clock_now());
    ftc_history_return(&comm->history, FTC_HISTORY_OUTCOME(status, 0, LOAD(comm->agreed_count)));
}

void ftc_publish_shown(struct ftc_comm *comm)
{
    comm->shown = false;
    ftc_turn_lock(comm->process);
    ftc_publish_activity(comm, FTC_WAIT_NOTHING);
    ftc_turn_unlock(comm->process);
}

void ftc_publish_bytes(struct ftc_comm *comm, size_t bytes)
{
    ADD(comm->process->slot->counters.bytes, bytes);
}

void ftc_publish_sent(struct ftc_comm *comm, enum ftc_message_kind kind, size_t bytes)
{
    ADD(comm->process->slot->counters.sent[kind], 1);
    ADD(comm->process->slot->counters.bytes, bytes);
}

/* Threads count at the same time only if they use several communicators. Otherwise the cheaper way
 * will do. */
FTC_HOT static void count_operation(struct ftc_process *process)
{
    struct ftc_counters *counters = &process->slot->counters;

    if (LOAD(process->parted))
        atomic_fetch_add_explicit(&counters->operations, 1, memory_order_relaxed);
    else
        ADD(counters->operations, 1);
}

FTC_HOT void ftc_publish_board_record(struct ftc_comm *comm)
{
    if (comm->history.call != NULL)
        ftc_history_call(&comm->history, LOAD(comm->called) - 1, false);
}

void ftc_publish_queued(struct ftc_comm *comm)
{
    if (comm->history.call != NULL && (ftc_comm_has_queue(comm) || ftc_mover_has_work(comm)))
        ftc_history_call(&comm->history, FTC_HISTORY_UNNUMBERED, true);
}

static uint64_t next_operation(const struct ftc_comm *comm)
{
    return comm->board != NULL && !comm->agreeing ? ftc_board_operations(comm->board)
                                                  : ftc_member_next_op(comm->member);
}

void ftc_publish_record(struct ftc_comm *comm)
{
    if (comm->history.call != NULL)
        ftc_history_call(&comm->history, next_operation(comm), true);
    else
        ftc_history_number(&comm->history, next_operation(comm));
}

static uint32_t outcome_of(const struct ftc_comm *comm, int status)
{
    return FTC_HISTORY_OUTCOME(status, LOAD(comm->ran) + 1, LOAD(comm->agreed_count));
}

FTC_HOT void ftc_publish_result(struct ftc_comm *comm, int status)
{
    ftc_publish_board_record(comm);
    ftc_history_return(&comm->history, outcome_of(comm, status));
}

void ftc_publish_done(struct ftc_comm *comm, const struct ftc_signature *signature)
{
    if (comm->history.store == NULL)
        return;
    comm->history.call = signature;
    ftc_history_call(&comm->history, FTC_HISTORY_UNNUMBERED, true);
    ftc_history_return(&comm->history, FTC_HISTORY_OUTCOME(0, 0, LOAD(comm->agreed_count)));
}

/* Opens the record of one request. */
static void open_request(struct ftc_comm *comm, struct ftc_history *history)
{
    ftc_history_open(history, &comm->process->history, comm->number, comm->name, true);
}

void ftc_publish_request(struct ftc_comm *comm, struct ftc_queued_operation *operation,
                         const struct ftc_signature *signature)
{
    struct ftc_history *history = &operation->history;

    open_request(comm, history);
    operation->record = history;
    operation->leads = true;
    if (history->store == NULL)
        return;
    history->call = signature;
    ftc_history_call(history, FTC_HISTORY_UNNUMBERED, true);
}

void ftc_publish_request_begins(struct ftc_comm *comm, struct ftc_history *history)
{
    comm->recording = history;
    ftc_history_number(history, next_operation(comm));
    ftc_history_started(history);
}

/* The last run, or another one that none is left of. NULL: there is none. */
static struct ftc_history *unused_run(struct ftc_comm *comm)
{
    if (comm->posting != NULL && comm->posting->left == 0)
        return comm->posting;
    for (int i = 0; i < FTC_RUNS_POSTED; i++)
        if (comm->posted[i].left == 0)
            return &comm->posted[i];
    return NULL;
}

static void begin_run(struct ftc_comm *comm, struct ftc_queued_operation *operation)
{
    struct ftc_history *run = unused_run(comm);

    operation->leads = true;
    operation->record = run != NULL ? run : &operation->history;
    if (operation->record->store == NULL || run == NULL)
        open_request(comm, operation->record);
    if (operation->record->store == NULL)
        return;
    if (run != NULL && comm->posting != NULL && run != comm->posting)
        ftc_history_follow(run, comm->posting);
    if (run != NULL)
        comm->posting = run;
    operation->record->call = &operation->on_board.call->signature;
    ftc_history_call(operation->record, LOAD(comm->called) - 1, false);
    ftc_history_started(operation->record);
}

FTC_HOT void ftc_publish_request_posted(struct ftc_comm *comm,
                                        struct ftc_queued_operation *operation)
{
    struct ftc_history *run = comm->posting;

    if (operation->record != NULL) { /* it was in the queue */
        ftc_history_number(operation->record, LOAD(comm->called) - 1);
        ftc_history_started(operation->record);
    } else if (run != NULL && ftc_history_join(run, &operation->on_board.call->signature,
                                               LOAD(comm->called) - 1)) {
        operation->record = run;
        operation->leads = false;
    } else {
        begin_run(comm, operation);
    }
}

FTC_HOT void ftc_publish_request_decided(struct ftc_comm *comm,
                                         struct ftc_queued_operation *operation)
{
    operation->agreed = LOAD(comm->agreed_count);
    if (operation->leads)
        ftc_history_decided(operation->record);
}

/* By the time that it is given to its caller, another one may have begun. */
void ftc_publish_request_ends(struct ftc_comm *comm, struct ftc_history *history)
{
    const struct ftc_set *agreed = comm->board != NULL && !comm->agreeing
                                       ? ftc_board_agreed(comm->board)
                                       : ftc_member_agreed_failed(comm->member);

    comm->recording = &comm->history;
    ftc_history_ended(history, FTC_HISTORY_OUTCOME(0, LOAD(comm->ran) + 1, ftc_set_count(agreed)));
}

FTC_HOT void ftc_publish_request_given(struct ftc_comm *comm,
                                       struct ftc_queued_operation *operation, int status)
{
    struct ftc_history *record = operation->record;
    uint32_t outcome = operation->by_board
                           ? FTC_HISTORY_OUTCOME(0, FTC_CHOICE_BOARD + 1, operation->agreed)
                           : record->outcome;

    if (comm->recording == record) /* a revoke has cut it off */
        comm->recording = &comm->history;
    if (ftc_history_leave(record, outcome | (uint8_t)status) && record != comm->posting)
        ftc_history_close(record);
}

void ftc_publish_ballot(struct ftc_comm *comm, const struct ftc_epoch *entered)
{
    struct ftc_ballot_mark *mark;

    if (comm->process->alone || (entered->ballot.i == 0 && entered->ballot.s == 0))
        return;
    mark = &comm->process->slot->ballot;
    STORE(mark->sequence, LOAD(mark->sequence) | 1u);
    atomic_thread_fence(memory_order_release);
    STORE(mark->i, entered->ballot.i);
    STORE(mark->s, entered->ballot.s);
    STORE(mark->op, entered->op);
    STORE(mark->at_ns, ftc_clock_now());
    atomic_store_explicit(&mark->sequence, LOAD(mark->sequence) + 1u, memory_order_release);
}

FTC_HOT void ftc_publish_called(struct ftc_comm *comm, uint64_t calls)
{
    STORE(comm->called, calls);
    if (comm->process->alone)
        return;
    if (!is_part(comm))
        STORE(comm->process->slot->called, calls);
    if (comm->board == NULL)
        STORE(comm->process->slot->activity.since_ns, ftc_clock_now());
}

FTC_HOT void ftc_publish_counted(struct ftc_comm *comm)
{
    count_operation(comm->process);
    if (LOAD(comm->process->slot->first_result_ns) == 0)
        STORE(comm->process->slot->first_result_ns, ftc_clock_now());
    if (LOAD(comm->process->slot->noticed) > 0)
        publish_board_agreed(comm);
}

void ftc_publish_beat(struct ftc_comm *comm)
{
    uint64_t moves = LOAD(comm->called) + LOAD(comm->process->slot->counters.operations);

    if (comm->board == NULL || moves == comm->moves)
        return;
    comm->moves = moves;
    STORE(comm->process->slot->activity.since_ns, ftc_clock_now());
}

void ftc_publish_noticed(struct ftc_comm *comm)
{
    if (is_part(comm))
        return;
    publish_set(ftc_segment_known_row(comm->process->segment, comm->rank),
                ftc_member_known_failed(comm->member));
    if (comm->board == NULL) /* with a board the caller publishes it */
        publish_set(ftc_segment_agreed_row(comm->process->segment, comm->rank),
                    ftc_member_agreed_failed(comm->member));
    STORE(comm->process->slot->activity.known_failed,
          (uint32_t)ftc_set_count(ftc_member_known_failed(comm->member)));
    STORE(comm->process->slot->noticed_ns, ftc_clock_now());
    atomic_store_explicit(&comm->process->slot->noticed, comm->process->failures_seen,
                          memory_order_release);
}

/* Counters of the slot are of the process. This communicator has counted `now` so far, of which
 * `before` are in the counter. */
static void count_up(_Atomic uint64_t *counter, uint64_t *before, uint64_t now)
{
    ADD(*counter, now - *before);
    *before = now;
}

void ftc_publish_multicast(struct ftc_comm *comm)
{
    const uint64_t *pieces = ftc_member_pieces(comm->member);

    for (int i = 0; i < FTC_PIECES_KINDS; i++)
        count_up(&comm->process->slot->counters.pieces[i], &comm->counted.pieces[i], pieces[i]);
    ftc_runtime_multicast_publish(comm->process);
}

static void count_rules(struct ftc_comm *comm, struct ftc_counters *counters)
{
    const uint32_t *taken = ftc_member_rules(comm->member);

    for (int rule = 0; rule < FTC_RULES_COUNT; rule++) {
        uint32_t more = taken[rule] - comm->counted.rules[rule];
        if (more == 0)
            continue;
        ADD(counters->rules[rule], more);
        comm->counted.rules[rule] = taken[rule];
        if (rule == FTC_RULE_DROP_SMALLER || rule == FTC_RULE_DROP_FREED ||
            rule == FTC_RULE_DROP_EPOCH)
            ADD(counters->dropped, more);
    }
}

void ftc_publish_returned(struct ftc_comm *comm)
{
    struct ftc_counters *counters;
    uint64_t now = ftc_clock_now();

    if (comm->process->alone)
        return;
    counters = &comm->process->slot->counters;
    count_operation(comm->process);
    count_up(&counters->ballots, &comm->counted.ballots, ftc_member_ballots(comm->member));
    count_up(&counters->dropped, &comm->counted.dropped, comm->dropped);
    count_rules(comm, counters);
    if (LOAD(comm->process->slot->first_result_ns) == 0)
        STORE(comm->process->slot->first_result_ns, now);
    STORE(comm->process->slot->activity.since_ns, now);
    if (is_part(comm) || ftc_set_empty(ftc_member_known_failed(comm->member)))
        return;
    publish_set(ftc_segment_known_row(comm->process->segment, comm->rank),
                ftc_member_known_failed(comm->member));
    if (comm->board == NULL)
        publish_set(ftc_segment_agreed_row(comm->process->segment, comm->rank),
                    ftc_member_agreed_failed(comm->member));
}
