/*
 * Waiting on the board, and waking the ranks that wait.
 *
 *   publisher                              sleeper
 *   P1 publish (mark, done, finished)      S1 expected := bell
 *   P2 fence                               S2 count itself asleep (sleepers, wanted); fence
 *   P3 read the count                      S3 look at everything
 *   P4 if any: bell += 1, wake two         S4 sleep while bell == expected
 *
 * If P3 does not see S2, then S3 sees P1. If P3 sees S2, then P4 comes after S1, and the kernel
 * either does not let the sleeper sleep, or wakes it.
 *
 * P2 would cost too much for the root of a broadcast and for a sender of a plain reduce, and where
 * sleep is rare also for all others. There the sleeper fences for both (membarrier) after S2, and
 * P2 only keeps the compiler from moving P3.
 *
 * The count of sleepers is tagged with their round. A rank that wakes two sleepers takes two off
 * the count, so the count is never less than the number of ranks asleep. Each woken rank finishes
 * the round and wakes two more. In a broadcast nobody waits for the receivers, so one of them may
 * be in round r + W while others sleep in round r. Until these have finished, it naps elsewhere, a
 * millisecond at a time.
 */
#include <sched.h>

#include "base/cpu.h"
#include "node/board/internal.h"
#include "node/system/futex.h"

#define QUICK_LOOKS       100 /* looks without a pause: one takes as long as to fetch a line */
#define ROOM_PAUSES       16  /* about a microsecond */
#define FAN_OUT           2
#define UNFENCED_SLEEP_NS 1000000u /* limit of a sleep where no process can fence for others */
#define NAP_NS            1000000u

static void fence(const struct ftc_board *b, bool light)
{
    if ((light || b->set.light) && b->set.fenced_by_others)
        atomic_signal_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_seq_cst);
}

/* --- waking --- */

static uint64_t tag_of(uint64_t word)
{
    return word & ~(uint64_t)0xffff;
}

/* Take up to FAN_OUT sleepers of this round off the count. False: there are none. */
FTC_HOT static bool take_sleepers(struct ftc_board_place *place, uint64_t round)
{
    uint64_t word = FTC_BOARD_LOAD(place->sleepers);

    while (tag_of(word) == FTC_BOARD_TAG(round) && FTC_BOARD_VALUE(word) > 0) {
        uint32_t count = FTC_BOARD_VALUE(word);
        uint32_t left = count > FAN_OUT && !FTC_BOARD_MUTATED(NO_FAN_OUT) ? count - FAN_OUT : 0;
        if (FTC_BOARD_SWAP(place->sleepers, &word, FTC_BOARD_WORD(round, left)))
            return true;
    }
    return false;
}

/* Wake sleepers at the place of this round. Called after this rank has published what they wait
 * for, and by a woken rank to wake the next ones. */
FTC_HOT static void ring(struct ftc_board *b, uint64_t round, bool light)
{
    struct ftc_board_place *place = ftc_board_place(b, round);

    fence(b, light);
    if (!take_sleepers(place, round))
        return;
    if (!FTC_BOARD_MUTATED(NO_BUMP))
        FTC_BOARD_ADD(place->bell, 1);
    b->set.host.wake(b->set.host.arg, &place->bell, FAN_OUT);
}

FTC_HOT void ftc_board_ring_posted(struct ftc_board *b, uint64_t round)
{
    ring(b, round, true);
}

FTC_HOT static void ring_wanted(struct ftc_board *b, struct ftc_board_progress *own)
{
    uint64_t wanted = FTC_BOARD_LOAD(own->wanted);

    if (wanted == 0 || wanted > b->round + 1)
        return;
    /* A rank whose smaller threshold is lost by this looks again, because the bell moves. */
    FTC_BOARD_STORE(own->wanted, 0);
    if (FTC_BOARD_MUTATED(THRESHOLD_WITHOUT_BELL))
        return;
    FTC_BOARD_ADD(own->bell, 1);
    b->set.host.wake(b->set.host.arg, &own->bell, FTC_NODE_MAX_LOCAL);
}

FTC_HOT void ftc_board_finish(struct ftc_board *b, bool collecting)
{
    struct ftc_board_progress *own = &b->memory.progress[b->rank];

    if (!collecting) { /* after a collecting round this rank's next post shows it */
        b->own_finished = b->round + 1;
        FTC_BOARD_STORE(own->finished, b->own_finished);
    }
    ring(b, b->round, !collecting);
    if (!collecting)
        ring_wanted(b, own);
    if (collecting) {
        b->settled = b->round; /* each member has posted in it, so has finished all before it */
        b->met = true;
    }
    b->round++;
    if (!collecting)
        return;
    ftc_cpu_own(
        ftc_board_post_of(b, b->round, b->rank)); /* the next round probably collects, too */
    if (ftc_board_in_line(b->bytes))
        ftc_cpu_own(ftc_board_line(b, b->round, b->rank));
}

/* May a rank sleep at the counter of finished rounds of this one? One that lives wakes all that
 * asked. One that died may have taken the mark away before that. */
static bool asks(const struct ftc_board_memory *memory, int rank, const struct ftc_set *failed)
{
    int count;

    if (FTC_BOARD_LOAD(memory->progress[rank].wanted) != 0)
        return true;
    if (failed != NULL)
        return ftc_set_has(failed, rank);
    return ftc_segment_failed(memory->segment, ftc_segment_local(memory->segment, &count) + rank);
}

/* Ring all. Of the counters of finished rounds, those at which a rank may sleep. NULL: those have
 * failed that the segment of the board says. */
static void ring_all(const struct ftc_board_memory *memory, int ranks, const struct ftc_set *failed)
{
    for (unsigned i = 0; i < FTC_BOARD_DEPTH && !FTC_BOARD_MUTATED(DEATH_WITHOUT_BUMP); i++)
        FTC_BOARD_ADD(memory->places[i].bell, 1);
    for (int rank = 0; rank < ranks; rank++)
        FTC_BOARD_ADD(memory->progress[rank].bell, 1);
    /* A rank that is not asleep yet must still read its bell, and then finds the new value and the
     * declared failure. */
    atomic_thread_fence(memory_order_seq_cst);
    /* Do not trust the counts: the dead rank may have taken sleepers off without waking them. */
    for (unsigned i = 0; i < FTC_BOARD_DEPTH; i++)
        if (!FTC_BOARD_MUTATED(DEATH_WAKES_COUNTED) ||
            FTC_BOARD_VALUE(FTC_BOARD_LOAD(memory->places[i].sleepers)) > 0)
            ftc_futex_wake(&memory->places[i].bell, FTC_NODE_MAX_LOCAL);
    for (int rank = 0; rank < ranks; rank++)
        if (asks(memory, rank, failed))
            ftc_futex_wake(&memory->progress[rank].bell, FTC_NODE_MAX_LOCAL);
}

void ftc_board_ring_all(struct ftc_segment *segment)
{
    struct ftc_board_memory memory = ftc_segment_board(segment);
    int count;

    (void)ftc_segment_local(segment, &count);
    ring_all(&memory, count, NULL);
}

void ftc_board_ring_own(const struct ftc_board_file *file, int ranks, const struct ftc_set *failed)
{
    ring_all(ftc_board_file_memory(file), ranks, failed);
}

/* --- revoked, left --- */

void ftc_board_revoke(struct ftc_board *b, const struct ftc_set *failed)
{
    FTC_BOARD_STORE(b->memory.places[0].revoked, 1);
    if (!FTC_BOARD_MUTATED(REVOKE_WAKES_NOBODY))
        ring_all(&b->memory, b->ranks, failed);
}

static uint64_t left_word(uint64_t end, uint64_t communicator)
{
    return ftc_board_mark(end, communicator * FTC_BOARD_GOLDEN);
}

void ftc_board_leave(struct ftc_board *b)
{
    uint64_t rounds = FTC_BOARD_MUTATED(LEFT_EARLY) && b->round > 0 ? b->round - 1 : b->round;

    FTC_BOARD_STORE(b->memory.progress[b->rank].left, left_word(rounds + 1, b->set.communicator));
}

bool ftc_board_says_left(const struct ftc_board *b, uint64_t left)
{
    uint64_t end = left & FTC_BOARD_ROUND_MASK;

    return end > 0 &&
           (left == left_word(end, b->set.communicator) || FTC_BOARD_MUTATED(LEFT_UNCHECKED));
}

/* Ranks that wait for this one are in a round that it does not take part in. */
void ftc_board_give_up(struct ftc_board *b)
{
    const struct ftc_board_host *host = &b->set.host;
    struct ftc_board_progress *own = &b->memory.progress[b->rank];

    ftc_board_leave(b);
    if (FTC_BOARD_MUTATED(LEFT_WAKES_NOBODY))
        return;
    atomic_thread_fence(memory_order_seq_cst);
    for (unsigned i = 0; i < FTC_BOARD_DEPTH; i++) {
        struct ftc_board_place *place = &b->memory.places[i];
        uint64_t sleepers = FTC_BOARD_LOAD(place->sleepers);
        if (tag_of(sleepers) < FTC_BOARD_TAG(b->round) || FTC_BOARD_VALUE(sleepers) == 0)
            continue;
        FTC_BOARD_ADD(place->bell, 1);
        host->wake(host->arg, &place->bell, FTC_NODE_MAX_LOCAL);
    }
    if (FTC_BOARD_LOAD(own->wanted) == 0)
        return;
    FTC_BOARD_ADD(own->bell, 1);
    host->wake(host->arg, &own->bell, FTC_NODE_MAX_LOCAL);
}

/* agreement.md, "Left". *left* is read before *revoked*, and before what this rank awaits. */
static void look_at_leaver(struct ftc_board *b, int rank, uint64_t left)
{
    static const struct ftc_signature closed = {.kind = FTC_CALL_CLOSE, .root = -1};
    bool sound = ftc_board_says_left(b, left);

    if (!FTC_BOARD_MUTATED(LEFT_UNREVOKED) && ftc_board_is_revoked(b))
        return;
    if (sound && (left & FTC_BOARD_ROUND_MASK) <= b->round + 1)
        b->set.host.mismatch(b->set.host.arg, rank, &closed);
    else if ((!sound || ftc_board_awaits(b, rank)) && !FTC_BOARD_MUTATED(LEFT_DAMAGED))
        ftc_board_accuse(b, rank);
}

/* Nobody leaves the world's board. */
bool ftc_board_is_in_vain(struct ftc_board *b)
{
    bool some_may_leave = b->set.file != NULL && !FTC_BOARD_MUTATED(LEFT_UNSEEN);

    for (int i = 0; i < b->members && some_may_leave; i++) {
        int rank = b->member[i];
        uint64_t left = FTC_BOARD_LOAD(b->memory.progress[rank].left);
        bool failed = ftc_set_has(&b->known, rank) && !FTC_BOARD_MUTATED(LEFT_FAILED);
        if (left != 0 && rank != b->rank && !failed)
            look_at_leaver(b, rank, left);
    }
    return ftc_board_is_revoked(b);
}

/* --- sleeping --- */

/* Where to sleep: at a place, or at the progress of a rank. */
struct waitable {
    _Atomic uint32_t *bell;
    struct ftc_board_place *place;       /* count this rank as a sleeper here; or NULL */
    struct ftc_board_progress *progress; /* ask here for `finished` to reach `end`; or NULL */
    uint64_t end;
    bool light;
};

static void count_sleeper(struct ftc_board *b, struct ftc_board_place *place)
{
    uint64_t tag = FTC_BOARD_TAG(b->round), word = FTC_BOARD_LOAD(place->sleepers), next;

    do {
        bool same = tag_of(word) == tag;
        /* More sleepers than ranks: they are old sleeps that timed out. */
        if (same && FTC_BOARD_VALUE(word) == 0xffff)
            return;
        next = same ? word + 1 : tag + 1;
    } while (!FTC_BOARD_SWAP(place->sleepers, &word, next));
}

/* Only the smallest threshold is kept. Ranks with larger ones are woken with it, and ask again. */
static void lower_threshold(struct ftc_board_progress *progress, uint64_t end)
{
    uint64_t wanted = FTC_BOARD_LOAD(progress->wanted);

    while (!FTC_BOARD_SWAP(progress->wanted, &wanted, wanted == 0 || end < wanted ? end : wanted))
        ;
}

/* Is there a threshold that covers ours? When the smallest was reached all were cleared. Ask this
 * after the bell was read. */
static bool threshold_covers(struct ftc_board_progress *progress, uint64_t end)
{
    uint64_t wanted = FTC_BOARD_LOAD(progress->wanted);

    return wanted != 0 && wanted <= end;
}

static bool failures_waiting(const struct ftc_board *b)
{
    uint32_t failures = FTC_BOARD_LOAD(b->header->failures);

    /* A damaged length must not make this true for ever, so stop when all ranks have failed. */
    return failures != b->failures && b->failures < (uint32_t)ftc_segment_ranks(b->set.segment);
}

FTC_HOT void ftc_board_look(struct ftc_board *b)
{
    if (failures_waiting(b))
        b->set.host.look(b->set.host.arg);
}

/* Can a rank sleep at this bell for an earlier round? */
static bool is_shared(struct ftc_board *b, const struct waitable *waitable)
{
    return waitable->place != NULL && b->round >= FTC_BOARD_DEPTH &&
           !ftc_board_settled(b, b->round + 1 - FTC_BOARD_DEPTH) &&
           !FTC_BOARD_MUTATED(SHARED_PLACE);
}

/* Sleep elsewhere than at the place, where this rank could be woken instead of one of an earlier
 * round. The ranks behind may be waiting for an older mark of this rank, so it checks its marks. */
void ftc_board_nap(struct ftc_board *b)
{
    const struct ftc_board_host *host = &b->set.host;
    _Atomic uint32_t nobodys_bell = 0;

    host->asleep(host->arg, true);
    if (!FTC_BOARD_MUTATED(NAP_UNCHECKED))
        ftc_board_check_own(b);
    host->sleep(host->arg, &nobodys_bell, 0, NAP_NS);
    b->suspicious = true;
    host->asleep(host->arg, false);
}

/* False: its time was over. */
static bool sleep_once(struct ftc_board *b, const struct waitable *waitable, ftc_board_done *done)
{
    bool rung = true;
    const struct ftc_board_host *host = &b->set.host;
    uint64_t longest = b->set.longest_ns;
    uint32_t failures = b->failures;

    host->asleep(host->arg, true);
    ftc_board_check_own(b);
    uint32_t expected = FTC_BOARD_LOAD(*waitable->bell);
    if (waitable->progress != NULL)
        lower_threshold(waitable->progress, waitable->end);
    if (waitable->place != NULL)
        count_sleeper(b, waitable->place);
    atomic_thread_fence(memory_order_seq_cst);
    if ((waitable->light || b->set.light) && !host->fence_all(host->arg) &&
        longest > UNFENCED_SLEEP_NS)
        longest = UNFENCED_SLEEP_NS;
    if (FTC_BOARD_MUTATED(LATE_BELL))
        expected = FTC_BOARD_LOAD(*waitable->bell);
    b->suspicious = true;
    ftc_board_look(b);
    if ((!done(b) || FTC_BOARD_MUTATED(NO_LAST_LOOK)) && failures == b->failures &&
        !ftc_board_is_in_vain(b) &&
        (waitable->progress == NULL || threshold_covers(waitable->progress, waitable->end)))
        rung = host->sleep(host->arg, waitable->bell, expected, longest);
    b->suspicious = true;
    host->asleep(host->arg, false);
    return rung;
}

/* A rank that waits for room has W rounds under way, so it need not hurry, and each look takes the
 * cache line away from the ranks that work on them. */
static void relax(const struct waitable *waitable, int idle)
{
    int pauses = waitable->place == NULL ? ROOM_PAUSES : idle > QUICK_LOOKS ? 1 : 0;

    for (int i = 0; i < pauses; i++)
        ftc_cpu_relax();
}

/* Spin while cores are free, then yield, then sleep. A rank that only spins looks neither at
 * *revoked* nor at *left*. */
FTC_HOT static bool until(struct ftc_board *b, const struct waitable *waitable,
                          ftc_board_done *done)
{
    int idle = 0;

    while (!done(b)) {
        if (FTC_BOARD_CHECKS)
            ftc_board_look(b);
        idle++;
        if (idle <= b->set.spins) {
            relax(waitable, idle);
            continue;
        }
        if (ftc_board_is_revoked(b))
            return false;
        if (idle <= b->set.spins + b->set.yields) {
            sched_yield();
        } else if (is_shared(b, waitable)) {
            if (!ftc_board_is_in_vain(b))
                ftc_board_nap(b);
            idle = b->set.spins;
        } else {
            /* Woken: others may be about to run, so it yields again before it sleeps. */
            idle = b->set.spins + (sleep_once(b, waitable, done) ? 0 : b->set.yields);
        }
    }
    return idle == 0;
}

FTC_HOT bool ftc_board_until(struct ftc_board *b, ftc_board_done *done, bool light)
{
    struct ftc_board_place *place = ftc_board_place(b, b->round);

    return until(b, &(struct waitable){.bell = &place->bell, .place = place, .light = light}, done);
}

static bool has_finished(struct ftc_board *b)
{
    int rank = b->awaited;

    b->finished[rank] = FTC_BOARD_LOAD(b->memory.progress[rank].finished);
    return b->finished[rank] >= b->awaited_end || ftc_set_has(&b->known, rank);
}

void ftc_board_until_finished(struct ftc_board *b, int rank, uint64_t end)
{
    struct ftc_board_progress *progress = &b->memory.progress[rank];

    b->awaited = rank;
    b->awaited_end = end;
    (void)until(b,
                &(struct waitable){
                    .bell = &progress->bell, .progress = progress, .end = end, .light = true},
                has_finished);
    b->awaited_end = 0;
}
