/*
 * Explores programs over the world and its children, whole processes with all their communicators
 * (docs/design/communicators.md, part 3): verdicts, numbers of states, what the reductions keep. It
 * tests the prover itself, too: a small program finds each fault of
 * collectives/communicators/mutation.h. The faults are compiled into this program alone.
 */
#include "collectives/communicators/mutation.h"
#include "collectives/mutation.h"
#include "include/ftcoll.h"
#include "sim/explore/explore.h"
#include "sim/explore/process.h"
#include "sim/model/cluster.h"
#include "tests/suite.h"

enum ftc_communicators_mutation ftc_communicators_mutation;
enum ftc_mutation ftc_mutation;

static const char *const words[FTC_COMMUNICATORS_MUTATIONS_COUNT] = {
    "sound",
#define WORDS(name, text) text,
    FTC_COMMUNICATORS_MUTATIONS_LIST(WORDS)
#undef WORDS
};

/* A zero stands for the plain choice. */
struct job {
    int n, crashes, threads, doubling, direct;
    const char *program;
};

static void explore(const struct job *job, struct ftc_explore_limits limits,
                    struct ftc_explore_result *result)
{
    struct ftc_comms_story story = {.settings = ftc_cluster_settings(job->n, 1)};
    int threads = job->threads > 0 ? job->threads : 1;

    story.settings.communicator = FTC_COMMUNICATOR_WORLD;
    story.settings.doubling = job->doubling;
    story.settings.direct = job->direct;
    limits.crashes = job->crashes;
    ck_assert_int_eq(ftc_explore_words(&story, threads, job->program), FTC_SUCCESS);
    ck_assert_int_eq(ftc_explore_communicators(&story, &limits, result), FTC_SUCCESS);
}

static void expect_kept(const struct job *job, struct ftc_explore_limits limits,
                        struct ftc_explore_result *result)
{
    explore(job, limits, result);
    ck_assert_msg(!result->violated, "%s: %s\n%s", job->program, result->violation, result->path);
    ck_assert_msg(result->exhausted, "%s: %s", job->program, result->incomplete);
    printf("n %d, %d crashes: %-44s %8llu states %5llu outcomes\n", job->n, job->crashes,
           job->program, (unsigned long long)result->states, (unsigned long long)result->outcomes);
}

/* The number of states is a function of the protocol alone. A change of the protocol changes these
 * numbers. */
static const struct {
    struct job job;
    uint64_t states;
} known[] = {
    {{.n = 2, .crashes = 1, .program = "dup iallreduce@child iallreduce"}, 234},
    {{.n = 2, .crashes = 1, .threads = 2, .program = "dup dup dup@1"}, 6651},
    {{.n = 3, .crashes = 1, .program = "dup allreduce@child"}, 11037},
};
#define KNOWN ((int)(sizeof(known) / sizeof(known[0])))

START_TEST(small_programs_have_known_numbers_of_states)
{
    struct ftc_explore_result result;

    expect_kept(&known[_i].job, (struct ftc_explore_limits){0}, &result);
    ck_assert_uint_eq(result.states, known[_i].states);
    ftc_explore_result_fini(&result);
}
END_TEST

/* One after the other: each way to make a child, requests under way, revokes, freed children. */
static const struct job kept[] = {
    {.n = 2, .crashes = 1, .program = "isplit iallreduce split@child"},
    {.n = 2, .crashes = 1, .program = "revoke:0 validate shrink:after"},
    {.n = 3, .crashes = 2, .program = "isplit iallreduce split@child"},
    {.n = 3, .crashes = 2, .program = "iallreduce dup iallreduce@child"},
    {.n = 3, .crashes = 2, .program = "create:0+2 iallreduce@child iallreduce"},
    {.n = 3, .crashes = 2, .program = "shrink bcast:1@child free@child"},
    {.n = 3, .crashes = 1, .program = "dup revoke:1@child allreduce@child shrink:after@child"},
    {.n = 3, .crashes = 1, .direct = 3, .program = "idup revoke:2"},
    {.n = 2, .crashes = 1, .program = "iallreduce iagree revoke:0 shrink:after"},
    {.n = 3, .crashes = 1, .program = "revoke:0 agree"},
};
#define KEPT ((int)(sizeof(kept) / sizeof(kept[0])))

START_TEST(every_promise_is_kept)
{
    struct ftc_explore_result result;

    expect_kept(&kept[_i], (struct ftc_explore_limits){0}, &result);
    ftc_explore_result_fini(&result);
}
END_TEST

/* --- the reductions --- */

static const struct job reduced[] = {
    {.n = 2, .crashes = 1, .program = "dup iallreduce@child iallreduce"},
    {.n = 2, .crashes = 1, .program = "idup revoke:0 allreduce@child"},
    {.n = 3, .crashes = 1, .program = "create:0+2"},
};
#define REDUCED ((int)(sizeof(reduced) / sizeof(reduced[0])))

START_TEST(the_reductions_lose_no_outcome)
{
    struct ftc_explore_result few, all;

    expect_kept(&reduced[_i], (struct ftc_explore_limits){.outcomes = true}, &few);
    expect_kept(&reduced[_i], (struct ftc_explore_limits){.outcomes = true, .plain = true}, &all);
    ck_assert_uint_lt(few.states, all.states);
    ck_assert_uint_eq(few.outcomes, all.outcomes);
    ck_assert_uint_eq(few.outcome_sum, all.outcome_sum);
    ftc_explore_result_fini(&few);
    ftc_explore_result_fini(&all);
}
END_TEST

/* --- faults --- */

/* Two need four ranks and more states than a test has time for: REVOKE_ONCE, with two deaths, which
 * storms find; and GONE_IN_OPENING, with 32 million states, which test_lifecycle.c looks for. */
static const struct job finds[FTC_COMMUNICATORS_MUTATIONS_COUNT] = {
#define FINDS(name, ...) [FTC_COMMUNICATORS_MUTATION_##name] = {__VA_ARGS__}
    FINDS(NO_MAKER, .n = 2, .crashes = 1, .threads = 2, .program = "dup dup dup@1"),
    FINDS(SAME_COUNT, .n = 2, .program = "dup dup"),
    FINDS(KEEP_FAILED, .n = 3, .crashes = 1,
          .program = "dup revoke:1@child allreduce@child shrink:after@child"),
    FINDS(NO_OPENING, .n = 3, .crashes = 1, .program = "create:0+1 iallreduce@child"),
    FINDS(FORGET_AT_FREE, .n = 3, .crashes = 1, .program = "dup idup allreduce@child"),
    FINDS(NO_GONE, .n = 3, .crashes = 1, .program = "barrier"),
    FINDS(CLOSE_BEFORE_GROUPS, .n = 3, .crashes = 1,
          .program = "dup icreate:0+2@child revoke:1@1 free@1"),
    FINDS(GONE_NOT_PASSED_ON, .n = 3, .crashes = 1, .program = "idup revoke allreduce@child"),
    FINDS(CLOSE_UNCOLLECTED, .n = 3, .crashes = 1, .program = "dup idup allreduce@child"),
    FINDS(GONE_TOO_EARLY, .n = 3, .crashes = 1, .program = "create:0+1 iallreduce@child allreduce"),
    FINDS(FORGET_POKE, .n = 4, .crashes = 1, .doubling = 4, .program = "barrier"),
    FINDS(TEMPORARY_WITHOUT_L, .n = 3, .crashes = 1, .program = "create"),
    FINDS(FORGET_BEFORE_BYE, .n = 3, .crashes = 1, .program = "create"),
    FINDS(DROP_EARLY, .n = 3, .crashes = 1, .program = "create:0+1 iallreduce@child"),
    FINDS(KEEP_OF_DEAD, .n = 3, .crashes = 1, .program = "dup icreate:0+2@child revoke:1@1 free@1"),
    FINDS(KEEP_LATE, .n = 3, .crashes = 1, .program = "create"),
    FINDS(BYE_UNANSWERED, .n = 3, .crashes = 1,
          .program = "dup icreate:0+2@child revoke:1@1 free@1"),
    FINDS(REVOKE_NOT_PASSED_ON, .n = 3, .crashes = 1,
          .program = "dup revoke:1@child allreduce@child shrink:after@child"),
    FINDS(REVOKE_NOT_TO_NEXT, .n = 3, .crashes = 1, .program = "revoke:0 allreduce shrink:after"),
    FINDS(AGREE_CUT_OFF, .n = 2, .program = "iagree revoke:0"),
    FINDS(AGREE_AS_OPERATION, .n = 3, .crashes = 1, .program = "agree revoke:0"),
    FINDS(REVOKE_UNANSWERED, .n = 3, .crashes = 1,
          .program = "dup revoke:1@child allreduce@child shrink:after@child"),
    FINDS(AFTER_FROM_G, .n = 3, .crashes = 1,
          .program = "dup revoke:1@child allreduce@child shrink:after@child"),
    FINDS(AFTER_UNTOLD, .n = 2, .program = "revoke:0 validate shrink:after"),
    FINDS(CLOSE_ONCE, .n = 3, .crashes = 1,
          .program = "dup revoke:1@child allreduce@child shrink:after@child"),
    FINDS(KEEP_CHILD, .n = 3, .crashes = 1, .program = "idup revoke allreduce@child"),
    FINDS(STRANGER_ACCUSED, .n = 3, .crashes = 1,
          .program = "dup icreate:0+2@child revoke:1@1 free@1"),
    FINDS(COMING_DROPPED, .n = 4, .program = "isplit:0+3 revoke:0"),
    FINDS(LOST_ACCUSED, .n = 3, .crashes = 1, .direct = 3, .program = "idup revoke:2"),
    FINDS(LOST_AWAITED, .n = 3, .crashes = 1, .direct = 3,
          .program = "idup revoke:2 allreduce@child shrink:after@child"),
#undef FINDS
};

/* Explored programs have no boards, and too few processes for a ring. */
static bool is_for_others(enum ftc_communicators_mutation mutation)
{
    switch (mutation) {
    case FTC_COMMUNICATORS_MUTATION_REVOKE_ONCE:
    case FTC_COMMUNICATORS_MUTATION_GONE_IN_OPENING:
    case FTC_COMMUNICATORS_MUTATION_SPARE_OF_ONE:
    case FTC_COMMUNICATORS_MUTATION_LEFT_NOT_AWAITED:
    case FTC_COMMUNICATORS_MUTATION_LEFT_THOUGH_REVOKED:
    case FTC_COMMUNICATORS_MUTATION_REVOKED_NOT_LEARNT:
        return true;
    default:
        return false;
    }
}

START_TEST(a_fault_is_found)
{
    struct ftc_explore_result result;

    if (is_for_others((enum ftc_communicators_mutation)_i))
        return;
    ck_assert_msg(finds[_i].program != NULL, "no program is to find: %s", words[_i]);
    ftc_communicators_mutation = (enum ftc_communicators_mutation)_i;
    explore(&finds[_i], (struct ftc_explore_limits){0}, &result);
    printf("%s: %llu states: %s\n", words[_i], (unsigned long long)result.states, result.violation);
    ck_assert_msg(result.violated, "\"%s\" does not find: %s", finds[_i].program, words[_i]);
    ck_assert_ptr_nonnull(result.path);
    ftc_explore_result_fini(&result);
}
END_TEST

/* --- programs --- */

START_TEST(a_program_that_makes_no_sense_is_refused)
{
    static const char *const wrong[] = {"",        "gather", "allreduce@child", "split:0+9",
                                        "bcast:3", "dup:1",  "free@world",      "shrink:afterwards",
                                        "ifree",   "free@0", "dup@2",           "allreduce,dup"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct ftc_comms_story story = {.settings = ftc_cluster_settings(3, 1)};
        ck_assert_msg(ftc_explore_words(&story, 1, wrong[i]) == FTC_ERR_ARG, "\"%s\"", wrong[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exploring communicators");
    TCase *tcase = tcase_create("programs");

    tcase_set_timeout(tcase, TEST_SANITIZED ? 1800 : 300);
    tcase_add_test(tcase, a_program_that_makes_no_sense_is_refused);
    tcase_add_loop_test(tcase, small_programs_have_known_numbers_of_states, 0, KNOWN);
    tcase_add_loop_test(tcase, every_promise_is_kept, 0, KEPT);
    tcase_add_loop_test(tcase, the_reductions_lose_no_outcome, 0, REDUCED);
    tcase_add_loop_test(tcase, a_fault_is_found, FTC_COMMUNICATORS_MUTATION_NONE + 1,
                        FTC_COMMUNICATORS_MUTATIONS_COUNT);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
