/* The box: the ranks and the launcher of a job as fibers, and what the board asks of its host. */
#include "tests/node/board_harness.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "include/ftcoll.h"
#include "node/segment/board_memory.h"
#include "node/segment/internal.h"
#include "tests/node/board_box.h"

/* --- host --- */

static void look(void *arg)
{
    struct actor *actor = arg;

    ftc_board_take_failures(actor->board);
    if (ftc_set_has(ftc_board_known(actor->board), actor->rank))
        board_violate(actor->box, "rank %d lives and is declared failed", actor->rank);
}

static void asleep(void *arg, bool asleep)
{
    (void)arg;
    (void)asleep;
}

static void mismatch(void *arg, int rank, const struct ftc_signature *theirs)
{
    struct actor *actor = arg;
    const struct board_departure *departure = &actor->box->plan->departure;

    if (theirs->kind == FTC_CALL_CLOSE && departure->op > 0 && departure->rank == rank &&
        !departure->revokes && !ftc_set_has(ftc_board_known(actor->board), rank)) {
        actor->box->outcome->mismatch = true;
        fibers_end(actor->box);
    }
    board_violate(actor->box, "rank %d in operation %d takes rank %d to be in %s of %d bytes",
                  actor->rank, actor->called - 1, rank, ftc_call_kind_name(theirs->kind),
                  (int)theirs->size);
}

/* The launcher kills the rank, which stops where it is. A rank that has ended is declared, too.
 * Other ranks do not have the finalized mark yet. */
static void accuse(void *arg, int rank, const char *what)
{
    const struct actor *actor = arg;
    struct board_box *box = actor->box;

    if (rank != box->plan->damage.rank || !box->damaged)
        board_violate(box, "rank %d says that rank %d %s", actor->rank, rank, what);
    box->fiber[rank].state = FIBER_DEAD;
    ftc_set_add(&box->killed, rank);
    launcher_notice(box);
}

static void damaged(void *arg, const char *what)
{
    struct actor *actor = arg;
    struct board_box *box = actor->box;

    if (box->stopping)
        return;
    if (actor->rank != box->plan->damage.rank || !box->damaged)
        board_violate(box, "rank %d in operation %d: %s", actor->rank, actor->called - 1, what);
    ftc_set_add(&box->killed, actor->rank);
    launcher_notice(box);
    fiber_leave(box, FIBER_DEAD);
}

static void exhausted(void *arg, int error)
{
    struct actor *actor = arg;

    board_violate(actor->box, "rank %d: error %d: %s", actor->rank, error, ftc_last_error());
}

static void pass(void *arg, enum ftc_board_point point)
{
    (void)arg;
    (void)point;
}

/* a rank that sleeps uncounted looks again after this time */
#define BRIEF_NS 1000000u
/* what a copy reads that comes too late */
#define OTHER_BYTE 0x77

static bool sleep_on(void *arg, _Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    struct actor *actor = arg;

    bool brief = timeout_ns <= BRIEF_NS;

    fiber_sleep(actor->box, word, expected, brief);
    return !brief;
}

static void wake(void *arg, _Atomic uint32_t *word, int count)
{
    struct actor *actor = arg;

    fibers_wake(actor->box, word, count);
}

static bool fence_all(void *arg)
{
    (void)arg;
    ftc_board_step();
    return true;
}

static bool allow_copies(void *arg, int rank)
{
    const struct actor *actor = arg;
    const struct board_plan *plan = actor->box->plan;

    if (actor->box->actor[rank].called == 0 && !ftc_set_has(&actor->box->killed, rank))
        board_violate(actor->box, "rank %d asks for rank %d, which may not have joined",
                      actor->rank, rank);
    return plan->copies != BOARD_COPIES_FORBIDDEN || actor->rank % 2 == 0;
}

/* A killed rank may be gone already, or not yet. No rank may even look for a declared one. */
static bool may_copy(const struct actor *actor, int rank)
{
    struct board_box *box = actor->box;

    if (ftc_set_has(&box->declared, rank))
        board_violate(box, "rank %d copies from or to rank %d, which is declared", actor->rank,
                      rank);
    return !ftc_set_has(&box->killed, rank) || test_random_chance(&box->random, 50);
}

/* After the call the caller of the other rank may use its buffers for something else. Then direct
 * copies read something else, and are dropped. A pair would write there. A rank that has damaged
 * its post misleads the other one about it. */
static bool is_call_over(const struct actor *actor, int rank)
{
    struct board_box *box = actor->box;
    bool pair = part_of(actor, actor->called - 1)->call.take == NULL;

    if (box->actor[rank].calls)
        return false;
    if ((pair || !box->revoked) && !(box->damaged && box->plan->damage.rank == actor->rank))
        board_violate(box, "rank %d copies from or to rank %d, whose call has ended", actor->rank,
                      rank);
    return true;
}

/* Of a call that is over, the memory may be that of something else. */
static void copy_part(unsigned char *to, const unsigned char *from, size_t size, bool over,
                      bool reads)
{
    if (!over)
        memcpy(to, from, size);
    else if (reads)
        memset(to, OTHER_BYTE, size);
}

/* The copy fails half-way, or may be of another process that has got the pid of a dead one. */
static enum ftc_board_copied copy_bytes(const struct actor *actor, int rank, unsigned char *to,
                                        const unsigned char *from, size_t size, bool reads)
{
    struct board_box *box = actor->box;
    bool fails = box->plan->copies == BOARD_COPIES_FAIL && box->copies >= box->plan->copies_made;

    if (!may_copy(actor, rank))
        return FTC_NOBODY_THERE;
    box->copies++;
    bool over = is_call_over(actor, rank);
    copy_part(to, from, size / 2, over, reads);
    ftc_board_step();
    over = is_call_over(actor, rank) || over || ftc_set_has(&box->declared, rank);
    if (!fails && over)
        copy_part(to, from, size, over, reads);
    else if (!fails)
        copy_part(to + size / 2, from + size / 2, size - size / 2, over, reads);
    return fails ? FTC_COPY_DENIED : FTC_COPIED;
}

static enum ftc_board_copied copy_from(void *arg, int rank, void *to, uint64_t address, size_t size)
{
    return copy_bytes(arg, rank, to, (const unsigned char *)(uintptr_t)address, size, true);
}

static enum ftc_board_copied copy_to(void *arg, int rank, uint64_t address, const void *from,
                                     size_t size)
{
    return copy_bytes(arg, rank, (unsigned char *)(uintptr_t)address, from, size, false);
}

/* --- ranks and launcher --- */

static void revoke_by(struct board_box *box, struct ftc_board *board)
{
    box->revoked = true;
    ftc_board_revoke(board, &box->declared);
}

/* True: this rank starts no more operations. */
static bool departs(struct actor *actor)
{
    const struct board_departure *departure = &actor->box->plan->departure;

    if (departure->rank != actor->rank || departure->op != actor->called + 1)
        return false;
    if (departure->revokes)
        revoke_by(actor->box, actor->board);
    return true;
}

/* False: it was the last operation. The deliveries of a rank that has damaged its memory bind no
 * other rank. */
static bool deliver(struct actor *actor, int status)
{
    const struct board_damage *damage = &actor->box->plan->damage;

    if (status == FTC_ERR_REVOKED)
        ledger_check_revoked(actor);
    else if (damage->step == 0 || actor->rank != damage->rank)
        ledger_check(actor, status);
    actor->returned++;
    return status != FTC_ERR_REVOKED;
}

/* False: it was the last operation. */
static bool make_call(struct actor *actor)
{
    unsigned char *receive;
    struct part *part = ledger_prepare(actor, &receive);

    actor->called++;
    actor->calls = true;
    int status = ftc_board_call(actor->board, &part->call, receive);
    actor->calls = false;
    return deliver(actor, status);
}

/* --- operations that are started --- */

static void start_one(struct actor *actor)
{
    unsigned char *receive;
    struct part *part = ledger_prepare(actor, &receive);

    part->operation = (struct ftc_board_operation){.call = &part->call, .receive = receive};
    actor->box->outcome->ahead += actor->called > actor->returned;
    actor->called++;
    ftc_board_start(actor->board, &part->operation);
}

/* The operation has ended. False: it was the last one. */
static bool end_one(struct actor *actor, const struct ftc_board_operation *operation)
{
    if (operation != &part_of(actor, actor->returned)->operation)
        board_violate(actor->box, "rank %d: not operation %d ends, but another one", actor->rank,
                      actor->returned);
    return deliver(actor, operation->status);
}

/* Ends all that were started. False: they were the last ones. */
static bool drain(struct actor *actor)
{
    bool more = true;

    while (actor->returned < actor->called)
        more = end_one(actor, ftc_board_wait(actor->board)) && more;
    return more;
}

/* Is the next operation one to start? */
static bool is_to_start(struct actor *actor)
{
    const struct board_plan *plan = actor->box->plan;
    unsigned char *receive;

    return actor->called < plan->length && plan->program[actor->called].started &&
           ftc_board_may_start(actor->board, &ledger_prepare(actor, &receive)->call);
}

/* Starts some, looks whether some have ended, and perhaps waits for the first one. False: a revoke
 * has ended one. */
static bool start_some(struct actor *actor)
{
    struct test_random *random = &actor->box->random;
    int most = actor->box->plan->ahead[actor->rank];
    struct ftc_board_operation *ended;

    if (actor->called - actor->returned < most)
        start_one(actor);
    for (int64_t i = test_random_between(random, 0, 2); i > 0; i--)
        if ((ended = ftc_board_advance(actor->board)) != NULL && !end_one(actor, ended))
            return false;
    if (actor->called - actor->returned < most && !test_random_chance(random, 20))
        return true;
    ended = ftc_board_wait(actor->board);
    return ended == NULL || end_one(actor, ended);
}

/* False: it was the last operation. */
static bool go_on(struct actor *actor)
{
    if (is_to_start(actor))
        return start_some(actor);
    return drain(actor) && (actor->called == actor->box->plan->length || make_call(actor));
}

/* A process that has closed a board is still there, and may still be damaged or killed. */
static void part(struct actor *actor)
{
    ftc_board_close(actor->board);
    actor->board = NULL;
    actor->closed = actor->box->fiber[actor->rank].steps;
    for (int i = 0; i < BOARD_LINGERING; i++)
        ftc_board_step();
}

static void live(struct actor *actor)
{
    const struct board_plan *plan = actor->box->plan;

    while (actor->returned < plan->length && !departs(actor) && go_on(actor))
        ;
    (void)drain(actor);
    if (plan->own_file)
        part(actor);
    else
        ftc_board_check_own(actor->board); /* as ftc_finalize() does while it lingers */
}

static int next_to_declare(const struct board_box *box)
{
    for (int rank = ftc_set_next(&box->killed, 0); rank >= 0;
         rank = ftc_set_next(&box->killed, rank + 1))
        if (!ftc_set_has(&box->declared, rank))
            return rank;
    return -1;
}

static void declare(struct board_box *box)
{
    struct ftc_segment *segment = box->job[box->plan->ranks].segment;
    struct ftc_failure failure = {.cause = FTC_CAUSE_SIGNAL, .detail = 9, .seen_by = -1};
    int rank;

    while ((rank = next_to_declare(box)) >= 0) {
        ftc_board_step();
        ftc_segment_declare(segment, rank, &failure);
        ftc_set_add(&box->declared, rank);
        if (box->plan->own_file)
            ftc_board_ring_own(box->file[box->plan->ranks], box->plan->ranks, &box->declared);
        else
            ftc_board_ring_all(segment);
    }
}

void launcher_notice(struct board_box *box)
{
    struct fiber *launcher = &box->fiber[box->plan->ranks];

    if (launcher->state == FIBER_IDLE)
        launcher->state = FIBER_READY;
}

void fiber_body(struct board_box *box, int fiber)
{
    if (fiber < box->plan->ranks) {
        live(&box->actor[fiber]);
        return;
    }
    for (;;) {
        declare(box);
        if (box->must_revoke)
            revoke_by(box, box->thread);
        box->must_revoke = false;
        if (next_to_declare(box) < 0)
            fiber_wait(box, FIBER_IDLE);
    }
}

/* --- life --- */

struct board_box *board_box_make(void)
{
    struct board_box *box = calloc(1, sizeof(*box));

    ck_assert_ptr_nonnull(box);
    box->self = -1;
    fibers_make(box);
    return box;
}

void board_box_free(struct board_box *box)
{
    for (int ranks = 1; ranks <= BOARD_RANKS; ranks++) {
        ftc_board_file_close(box->file[ranks]);
        if (box->job[ranks].segment != NULL)
            scratch_job_remove(&box->job[ranks]);
    }
    fibers_free(box);
    free(box);
}

/* A segment as it is when a job starts. */
static struct ftc_segment *fresh_segment(struct board_box *box)
{
    int ranks = box->plan->ranks;
    struct scratch_job *job = &box->job[ranks];

    if (job->segment == NULL) {
        scratch_job_make(job, ranks);
        ck_assert_int_eq(ftc_board_file_open(&box->file[ranks], job->segment, 1, 0, ranks), 0);
        ftc_board_file_unlink(box->file[ranks]);
    }
    struct ftc_board_memory memory = box->plan->own_file ? *ftc_board_file_memory(box->file[ranks])
                                                         : ftc_segment_board(job->segment);
    box->memory = memory;
    memset(memory.places, 0, FTC_BOARD_DEPTH * sizeof(*memory.places));
    memset(memory.progress, 0, (size_t)ranks * sizeof(*memory.progress));
    memset(memory.posts, 0, FTC_BOARD_DEPTH * memory.post_stride);
    memset(memory.ahead, 0, (size_t)ranks * FTC_BOARD_DEPTH * sizeof(struct ftc_board_post));
    memset(memory.results, 0, FTC_BOARD_RESULTS * FTC_BOARD_BLOCK);
    memset(memory.areas, 0, (size_t)ranks * FTC_BOARD_AREA);
    atomic_store(&ftc_segment_header(job->segment)->failures, 0);
    for (int rank = 0; rank < ranks; rank++)
        atomic_store(&ftc_segment_standing(job->segment, rank)->failed, 0);
    job->segment->declared = (struct ftc_declared){0};
    return job->segment;
}

static void open_board(struct actor *actor, struct ftc_segment *segment, struct ftc_board **board)
{
    const struct board_plan *plan = actor->box->plan;
    struct ftc_board_setup setup = {.segment = segment,
                                    .file = plan->own_file ? actor->box->file[plan->ranks] : NULL,
                                    .ranks = plan->ranks,
                                    .rank = actor->rank,
                                    .share = plan->share,
                                    .spins = plan->spins,
                                    .yields = plan->yields,
                                    .longest_ns = UINT64_MAX,
                                    .light = plan->fenced_by_others,
                                    .fenced_by_others = plan->fenced_by_others,
                                    .host = {.arg = actor,
                                             .look = look,
                                             .asleep = asleep,
                                             .mismatch = mismatch,
                                             .accuse = accuse,
                                             .damaged = damaged,
                                             .exhausted = exhausted,
                                             .pass = pass,
                                             .allow_copies = allow_copies,
                                             .copy_from = copy_from,
                                             .copy_to = copy_to,
                                             .sleep = sleep_on,
                                             .wake = wake,
                                             .fence_all = fence_all}};

    ck_assert_int_eq(ftc_board_open(board, &setup), 0);
}

static void start(struct board_box *box)
{
    struct ftc_segment *segment = fresh_segment(box);
    int ranks = box->plan->ranks;

    ck_assert(ranks >= 1 && ranks <= BOARD_RANKS && box->plan->length <= BOARD_LENGTH);
    for (int rank = 0; rank < ranks; rank++) {
        struct actor *actor = &box->actor[rank];
        actor->box = box;
        actor->rank = rank;
        actor->called = actor->returned = 0;
        actor->calls = false;
        actor->closed = 0;
        open_board(actor, segment, &actor->board);
    }
    open_board(&box->actor[0], segment, &box->thread);
    box->revoked = box->must_revoke = box->stopping = false;
    box->copies = 0;
    box->damaged = false;
    ck_assert_int_eq(ftc_set_init(&box->killed, ranks), 0);
    ck_assert_int_eq(ftc_set_init(&box->declared, ranks), 0);
    for (int op = 0; op < box->plan->length; op++)
        box->fact[op].known = false;
}

/* Closes the boards of the dead ranks, too. Their memory is freed here, as the end of a process
 * frees it. */
static void stop(struct board_box *box)
{
    box->outcome->copies = box->copies;
    box->stopping = true;
    ftc_board_close(box->thread);
    for (int rank = 0; rank < box->plan->ranks; rank++) {
        box->outcome->taken[rank] = box->fiber[rank].steps;
        ftc_board_close(box->actor[rank].board);
    }
}

void board_box_run(struct board_box *box, const struct board_plan *plan,
                   struct board_outcome *outcome)
{
    *outcome = (struct board_outcome){.broken = false};
    box->plan = plan;
    box->outcome = outcome;
    box->random = (struct test_random){plan->seed};
    start(box);
    fibers_run(box);
    stop(box);
}
