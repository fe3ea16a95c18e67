/*
 * Stops the node board at each of its steps (board_harness.h): by storms of random plans; at every
 * step of every rank of small programs; in every interleaving of smaller programs with few
 * switches; revoked at each step; and with each post damaged at each step. The tests find each
 * deliberate fault.
 *
 * FTC_TEST_SEED=n makes the storm's plan of that seed the first, so that a failure shows again.
 * FTC_TEST_PLANS sets how many plans a storm has. FTC_TEST_FOLLOWERS sets how many operations come
 * after a death in each plan. With FTC_TEST_STRIDE=n something happens at one step of n.
 * FTC_TEST_SWITCHES sets how many switches an interleaving has (one less with a death, and in the
 * long operations).
 */
#include <stdio.h>
#include <stdlib.h>

#include "node/board/mutation.h"
#include "node/segment/board_memory.h"
#include "tests/node/board_harness.h"
#include "tests/node/scratch.h"
#include "tests/random.h"
#include "tests/suite.h"

#define STORM_RUNS  (TEST_SANITIZED ? 1500 : 10000)
#define MUTANT_RUNS 400000 /* the rarest fault is found in one plan of 10,000 */
#define MUTANTS                                                                                    \
    (TEST_SANITIZED ? 1 : FTC_BOARD_MUTATIONS_COUNT) /* what they show, they show without too */
#define FOLLOWERS  1
#define MOST_RANKS (TEST_SANITIZED ? 3 : 4)
/* A sanitizer looks for wrong accesses, not for wrong orders: it sees a part of the steps, in each
 * run another one. Many steps of four ranks differ from one another only in the rank: each run and
 * each rank has a third of them, and the long run (node_board_soak) has all. */
#define STRIDE      (TEST_SANITIZED ? 5 : 1)
#define STRIDE_OF_4 3
#define SWITCHES    2
#define COPY_MODES  (TEST_SANITIZED ? 1 : BOARD_COPIES)

enum ftc_board_mutation ftc_board_mutation;

static struct board_box *box;

static void setup(void)
{
    box = board_box_make();
}

static void teardown(void)
{
    board_box_free(box);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 0) : otherwise;
}

static uint32_t stride(int ranks)
{
    return (uint32_t)number_of("FTC_TEST_STRIDE", ranks < 4 ? STRIDE : STRIDE_OF_4);
}

static void run(const struct board_plan *plan, struct board_outcome *outcome)
{
    char words[BOARD_WORDS];

    board_box_run(box, plan, outcome);
    ck_assert_msg(!outcome->broken, "%s\n%s", outcome->words, board_plan_words(plan, words));
}

/* --- storms --- */

START_TEST(a_storm_finds_nothing)
{
    uint64_t first = test_random_start().state, runs = number_of("FTC_TEST_PLANS", STORM_RUNS);
    uint64_t restarts = 0, unnamed = 0, asleep = 0, steps = 0, copied = 0, more = 0;
    uint64_t taken_again = 0, ahead = 0;

    for (uint64_t i = 0; i < runs; i++) {
        struct board_plan plan;
        struct board_outcome outcome;
        board_plan_random(&plan, first + i);
        run(&plan, &outcome);
        restarts += outcome.restarts > 0;
        taken_again += outcome.taken_again > 0;
        ahead += outcome.ahead > 0;
        unnamed += outcome.unnamed > 0;
        asleep += outcome.asleep;
        copied += outcome.copies > 0;
        more += outcome.copies > 0 && plan.ranks > 2;
        steps += outcome.steps;
    }
    printf("%llu plans, %llu steps; with sleep %llu, restarts %llu, of gathers %llu, broadcasts "
           "without their root "
           "%llu, copies "
           "%llu, with more than two ranks %llu, operations started ahead %llu\n",
           (unsigned long long)runs, (unsigned long long)steps, (unsigned long long)asleep,
           (unsigned long long)restarts, (unsigned long long)taken_again,
           (unsigned long long)unnamed, (unsigned long long)copied, (unsigned long long)more,
           (unsigned long long)ahead);
    if (runs >= 1000) { /* with fewer runs, chance decides */
        ck_assert(asleep > runs / 4 && restarts > runs / 100 && unnamed > runs / 50);
        ck_assert(taken_again > runs / 100 && copied > runs / 50 && more > runs / 100);
        ck_assert(ahead > runs / 8);
    }
}
END_TEST

static const char *const mutation_words[] = {"none",
#define WORDS(name, text) text,
                                             FTC_BOARD_MUTATIONS_LIST(WORDS)
#undef WORDS
};

START_TEST(a_storm_finds_each_mutation)
{
    uint64_t first = test_random_start().state;
    struct board_outcome outcome = {.broken = false};
    uint64_t runs = 0;

    /* The variable is of this test's own process. */
    ftc_board_mutation = (enum ftc_board_mutation)_i;
    while (!outcome.broken && runs < MUTANT_RUNS) {
        struct board_plan plan;
        board_plan_random(&plan, first + runs++);
        board_box_run(box, &plan, &outcome);
    }
    printf("%s: plan %llu: %s\n", mutation_words[_i], (unsigned long long)runs, outcome.words);
    ck_assert_msg(outcome.broken, "%s: not found in %llu plans", mutation_words[_i],
                  (unsigned long long)runs);
}
END_TEST

/* --- every kill --- */

#define SMALL_SIZE   (FTC_BOARD_SMALL - 8)
#define BLOCK_SIZE   (FTC_BOARD_BLOCK - 8)
#define SEVERAL_SIZE (2 * FTC_BOARD_BLOCK + 8)
#define WHOLES_SIZE  (2 * FTC_BOARD_WHOLE + 8)

static const struct board_operation every[] = {
    {.kind = FTC_CALL_BARRIER},
    {.kind = FTC_CALL_VALIDATE},
    {.kind = FTC_CALL_ALLREDUCE, .size = FTC_BOARD_INLINE, .in_place = true, .merge = true},
    {.kind = FTC_CALL_ALLREDUCE, .size = SMALL_SIZE},
    {.kind = FTC_CALL_ALLREDUCE, .size = BLOCK_SIZE, .in_place = true, .merge = true},
    {.kind = FTC_CALL_ALLREDUCE, .size = SEVERAL_SIZE, .in_place = true},
    {.kind = FTC_CALL_REDUCE, .size = FTC_BOARD_INLINE, .root = 1},
    {.kind = FTC_CALL_REDUCE, .size = BLOCK_SIZE, .root = 0, .in_place = true, .merge = true},
    {.kind = FTC_CALL_REDUCE, .size = SEVERAL_SIZE, .root = 1},
    {.kind = FTC_CALL_BCAST, .size = FTC_BOARD_INLINE, .root = 0},
    {.kind = FTC_CALL_BCAST, .size = BLOCK_SIZE, .root = 1},
    {.kind = FTC_CALL_BCAST, .size = WHOLES_SIZE, .root = 0},
    {.kind = FTC_CALL_ALLGATHER, .size = FTC_BOARD_INLINE, .in_place = true},
    {.kind = FTC_CALL_ALLGATHER, .size = BLOCK_SIZE, .uneven = true},
    {.kind = FTC_CALL_ALLGATHER, .size = WHOLES_SIZE, .in_place = true, .uneven = true},
    {.kind = FTC_CALL_ALLTOALL, .size = WHOLES_SIZE, .in_place = true},
    {.kind = FTC_CALL_GATHER, .size = FTC_BOARD_LINE, .root = 1},
    {.kind = FTC_CALL_GATHER, .size = WHOLES_SIZE, .root = 0, .in_place = true},
    {.kind = FTC_CALL_SCATTER, .size = SMALL_SIZE, .root = 0},
    {.kind = FTC_CALL_SCATTER, .size = WHOLES_SIZE, .root = 1, .uneven = true},
    {.kind = FTC_CALL_REDUCE_SCATTER, .size = 480, .in_place = true, .merge = true, .element = 24},
    {.kind = FTC_CALL_REDUCE_SCATTER, .size = 1800, .element = 40, .in_place = true},
    {.kind = FTC_CALL_EXSCAN, .size = WHOLES_SIZE, .in_place = true},
    {.kind = FTC_CALL_REDUCE, .size = SMALL_SIZE, .root = 0, .ordered = true},
};
#define EVERY (sizeof(every) / sizeof(every[0]))

/* Two ranks, or the last two of three, are a pair. */
static bool is_pair(int ranks, const struct board_operation *o)
{
    return ranks <= 3 && !o->ordered && o->size >= FTC_BOARD_DIRECT &&
           (o->kind == FTC_CALL_ALLREDUCE ||
            (o->kind == FTC_CALL_REDUCE && o->size > FTC_BOARD_BLOCK));
}

/* Do ranks copy between their memories? */
static bool copies(int ranks, const struct board_operation *o)
{
    bool places =
        o->kind == FTC_CALL_ALLGATHER || o->kind == FTC_CALL_GATHER || o->kind == FTC_CALL_ALLTOALL;

    return is_pair(ranks, o) || (places && o->size > FTC_BOARD_WHOLE);
}

/* The program has one operation, or two in a row: the second one finds what the death in the first
 * one left. Before the first operation with copies the ranks must have met. */
static void small_program(struct board_plan *plan, int ranks, size_t first, size_t second)
{
    *plan = (struct board_plan){.ranks = ranks, .fenced_by_others = true};
    if (copies(ranks, &every[first]))
        plan->program[plan->length++] = (struct board_operation){.kind = FTC_CALL_BARRIER};
    plan->program[plan->length++] = every[first];
    if (second < EVERY)
        plan->program[plan->length++] = every[second];
}

/* All operations are started, as far as they can be. The ranks start different numbers of them
 * before they wait. A third operation lies behind the two. */
static void start_all(struct board_plan *plan)
{
    plan->program[plan->length++] = plan->program[0];
    for (int i = 0; i < plan->length; i++)
        plan->program[i].started = true;
    for (int rank = 0; rank < plan->ranks; rank++)
        plan->ahead[rank] = rank % 2 == 0 ? 3 : 2;
}

/* Kills each rank at each of its steps. Then also kills another rank at some step, perhaps. Returns
 * the number of steps. */
static uint64_t kill_everywhere(struct board_plan *plan, struct test_random *random)
{
    struct board_outcome reference, outcome;
    uint32_t apart = stride(plan->ranks);
    uint64_t steps = 0;

    plan->kill[0].step = plan->kill[1].step = 0;
    run(plan, &reference);
    for (int rank = 0; rank < plan->ranks; rank++) {
        uint32_t first = (uint32_t)test_random_between(random, 1, apart);
        steps += reference.taken[rank];
        for (uint32_t step = first; step <= reference.taken[rank]; step += apart) {
            plan->kill[0] = (struct board_kill){rank, step};
            plan->kill[1].step = 0;
            run(plan, &outcome);
            plan->kill[1].rank = (int)test_random_between(random, 0, plan->ranks - 1);
            plan->kill[1].step = (uint32_t)test_random_between(random, 1, reference.taken[rank]);
            run(plan, &outcome);
        }
    }
    return steps;
}

/* Kills ranks in each way that copies may go, or in one of them. */
static uint64_t kill_with_copies(struct board_plan *plan, struct test_random *random)
{
    bool direct = false;
    uint64_t kills = 0;

    for (int i = 0; i < plan->length; i++)
        direct = direct || copies(plan->ranks, &plan->program[i]);
    uint64_t first = test_random_between(random, 0, BOARD_COPIES - 1);
    for (int mode = 0; mode < (direct ? COPY_MODES : 1); mode++) {
        plan->copies = (enum board_copies)((first + (uint64_t)mode) % BOARD_COPIES);
        plan->copies_made = (int)test_random_between(random, 0, 8);
        kills += kill_everywhere(plan, random);
    }
    return kills;
}

static int plan_ranks(int index)
{
    return 2 + index / (int)EVERY;
}

/* Each of two ranks combines for itself. Three ranks combine some values together, four ranks all
 * of them. */
START_TEST(each_rank_may_die_at_each_step)
{
    struct test_random random = test_random_start();
    uint64_t kills = 0;

    uint64_t followers = number_of("FTC_TEST_FOLLOWERS", FOLLOWERS);
    size_t first = (size_t)_i % EVERY;

    for (size_t i = 0; i < followers; i++) {
        size_t second = (first + 1 + 5 * i) % EVERY;
        for (enum board_policy policy = 0; policy < BOARD_POLICIES; policy++) {
            struct board_plan plan;
            small_program(&plan, plan_ranks(_i), first, second);
            plan.policy = policy;
            plan.share = second % 4 == 3 ? FTC_SHARE_OFF : FTC_SHARE_PIGGYBACK;
            plan.spins = second % 2 == 1;
            plan.seed = test_random_bits(&random);
            kills += kill_with_copies(&plan, &random);
            if (policy != (first + i) % BOARD_POLICIES)
                continue;
            start_all(&plan);
            kills += kill_everywhere(&plan, &random);
        }
    }
    ck_assert_uint_gt(kills, followers * BOARD_POLICIES * (uint64_t)plan_ranks(_i) * 5);
}
END_TEST

/* --- every revoke --- */

/* Another thread revokes at each step of all fibers. Then also kills a rank at some step. */
static unsigned revoke_everywhere(struct board_plan *plan, struct test_random *random)
{
    struct board_outcome reference, outcome;
    uint32_t apart = stride(plan->ranks);
    uint32_t first = (uint32_t)test_random_between(random, 1, apart);
    unsigned revoked = 0;

    run(plan, &reference);
    for (uint32_t step = first; step <= reference.steps; step += apart) {
        plan->revoke_step = step;
        plan->kill[0].step = 0;
        run(plan, &outcome);
        revoked += outcome.revoked;
        plan->kill[0].rank = (int)test_random_between(random, 0, plan->ranks - 1);
        plan->kill[0].step = (uint32_t)test_random_between(random, 1, reference.taken[0]);
        run(plan, &outcome);
    }
    return revoked;
}

START_TEST(a_call_may_be_revoked_at_each_step)
{
    struct test_random random = test_random_start();
    size_t first = (size_t)_i % EVERY;
    unsigned revoked = 0;

    for (enum board_policy policy = 0; policy < BOARD_POLICIES; policy++) {
        struct board_plan plan;
        small_program(&plan, plan_ranks(_i), first, (first + 1) % EVERY);
        plan.policy = policy;
        plan.own_file = policy % 2 == 0;
        plan.seed = test_random_bits(&random);
        plan.copies = BOARD_COPIES_WORK;
        revoked += revoke_everywhere(&plan, &random);
        if (policy != first % BOARD_POLICIES)
            continue;
        plan.revoke_step = 0;
        start_all(&plan);
        revoked += revoke_everywhere(&plan, &random);
    }
    ck_assert_uint_gt(revoked, 0);
}
END_TEST

/* --- every damage --- */

/* One rank runs ahead of the other, as far as it may, and then waits for it. */
static void program_ahead(struct board_plan *plan, size_t first)
{
    *plan = (struct board_plan){.ranks = 2, .fenced_by_others = true, .time_limits = true};
    plan->program[plan->length++] = every[first];
    while (plan->length < (int)FTC_BOARD_DEPTH)
        plan->program[plan->length++] =
            (struct board_operation){.kind = FTC_CALL_BCAST, .size = FTC_BOARD_INLINE, .root = 1};
    plan->program[plan->length++] =
        (struct board_operation){.kind = FTC_CALL_BCAST, .size = FTC_BOARD_INLINE, .root = 0};
    plan->program[plan->length++] = (struct board_operation){.kind = FTC_CALL_FINALIZE};
}

/* Damages this rank's post in each place, in each way. The policies take turns. */
static void damage_at(struct board_plan *plan, int rank, uint32_t step)
{
    struct board_outcome outcome;

    for (unsigned place = 0; place < FTC_BOARD_DEPTH; place++) {
        for (enum board_harm harm = 0; harm < BOARD_HARMS; harm++) {
            plan->policy = (enum board_policy)((step + place + (unsigned)harm) % BOARD_POLICIES);
            plan->damage = (struct board_damage){rank, step, place, harm, false};
            run(plan, &outcome);
        }
    }
}

START_TEST(each_post_may_be_damaged_at_each_step)
{
    struct board_plan plan;
    struct board_outcome reference;

    program_ahead(&plan, (size_t)_i);
    if (_i % 2 == 1)
        start_all(&plan);
    plan.seed = test_random_start().state;
    run(&plan, &reference);
    for (int rank = 0; rank < plan.ranks; rank++)
        for (uint32_t step = 1 + plan.seed % STRIDE; step <= reference.taken[rank]; step += STRIDE)
            damage_at(&plan, rank, step);
}
END_TEST

/* --- every interleaving --- */

struct walk {
    struct board_plan plan;
    int limit;       /* limit of forced switches */
    uint32_t offset; /* of the first switch, where not each step has one */
    uint64_t runs;
};

/* Runs this plan, and all plans that switch once more after `from`. */
static void walk_on(struct walk *walk, int depth, uint32_t from)
{
    struct board_outcome outcome;

    run(&walk->plan, &outcome);
    walk->runs++;
    if (depth >= walk->limit || depth >= BOARD_FORCED)
        return;
    if ((int)outcome.forced < depth) /* the last switch changed nothing, so nothing new follows */
        return;
    uint32_t apart = depth == 0 ? stride(walk->plan.ranks) : 1;
    for (uint32_t step = from + 1 + walk->offset % apart; step <= outcome.steps; step += apart) {
        for (int to = 0; to <= walk->plan.ranks; to++) {
            walk->plan.forced[depth] = (struct board_switch){step, to};
            walk_on(walk, depth + 1, step);
        }
    }
    walk->plan.forced[depth].step = 0;
}

/* Does the operation take several rounds? */
static bool is_long(const struct board_operation *o)
{
    bool root_posts = o->kind == FTC_CALL_BCAST || o->kind == FTC_CALL_SCATTER;

    return copies(2, o) || (!root_posts && o->size > FTC_BOARD_BLOCK);
}

/* Without a death, and with one death at each step. Ranks copy in each way that copies may go. */
START_TEST(two_ranks_may_be_interleaved_in_any_way)
{
    struct walk walk = {.limit = (int)number_of("FTC_TEST_SWITCHES", SWITCHES),
                        .offset = (uint32_t)test_random_start().state};
    struct board_outcome reference;

    const struct board_operation *o = &every[_i % (int)EVERY];
    enum board_copies mode = (enum board_copies)(_i / (int)EVERY);

    if (mode != BOARD_COPIES_WORK && !copies(2, o))
        return;
    if (is_long(o))
        walk.limit--;
    ck_assert(walk.limit >= 1 && walk.limit <= BOARD_FORCED);
    small_program(&walk.plan, 2, (size_t)_i % EVERY, EVERY);
    walk.plan.copies = mode;
    walk.plan.copies_made = 1;
    run(&walk.plan, &reference);
    walk_on(&walk, 0, 0);
    walk.limit--;
    if (mode == BOARD_COPIES_WORK) {
        struct walk started = walk;
        start_all(&started.plan);
        walk_on(&started, 0, 0);
    }
    for (int rank = 0; rank < 2; rank++) {
        for (uint32_t step = 1; step <= reference.taken[rank]; step++) {
            walk.plan.kill[0] = (struct board_kill){rank, step};
            walk_on(&walk, 0, 0);
        }
    }
    printf("%llu interleavings of %s(%u), copies %d\n", (unsigned long long)walk.runs,
           ftc_call_kind_name(o->kind), o->size, (int)mode);
    ck_assert_uint_gt(walk.runs, 100);
}
END_TEST

static void add_case(Suite *suite, const char *name, const TTest *test, int from, int to)
{
    TCase *tcase = tcase_create(name);

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, test, from, to);
    suite_add_tcase(suite, tcase);
}

int main(void)
{
    Suite *suite = suite_create("node/board");

    add_case(suite, "storm", a_storm_finds_nothing, 0, 1);
    add_case(suite, "mutations", a_storm_finds_each_mutation, 1, MUTANTS);
    add_case(suite, "kills", each_rank_may_die_at_each_step, 0, (MOST_RANKS - 1) * EVERY);
    add_case(suite, "revokes", a_call_may_be_revoked_at_each_step, 0, (MOST_RANKS - 1) * EVERY);
    add_case(suite, "damage", each_post_may_be_damaged_at_each_step, 0, EVERY);
    add_case(suite, "interleavings", two_ranks_may_be_interleaved_in_any_way, 0,
             COPY_MODES * EVERY);
    return scratch_run(suite);
}
