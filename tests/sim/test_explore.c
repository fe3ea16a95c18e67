/* Tests the exhaustive exploration of small communicators: verdicts, what the reductions keep,
 * counter-examples, limits. */
#include <string.h>

#include "include/ftcoll.h"
#include "sim/explore/explore.h"
#include "sim/model/cluster.h"
#include "tests/suite.h"

/* A communicator and what it does. A zero stands for the plain choice. */
struct job {
    const char *name;
    int n, f, crashes;
    const char *program;
    enum ftc_scheme scheme;
    enum ftc_share share;
    enum ftc_correction correction;
    enum ftc_prepare prepare;
    uint32_t settle_every;
    int direct, doubling;
    enum ftc_take take;
    bool unfenced;
};

static struct ftc_member_settings settings_of(const struct job *job)
{
    struct ftc_member_settings settings = ftc_cluster_settings(job->n, job->f);

    settings.scheme = job->scheme;
    settings.share = job->share;
    settings.correction = job->correction;
    settings.prepare = job->prepare;
    settings.settle_every = job->settle_every;
    settings.direct = job->direct;
    settings.doubling = job->doubling;
    settings.take = job->take;
    return settings;
}

/* Explores with these limits, but with the job's own crashes and fencing. Returns the value of
 * ftc_explore(). */
static int explore(const struct job *job, struct ftc_explore_limits limits,
                   struct ftc_explore_result *result)
{
    struct ftc_member_settings settings = settings_of(job);
    struct ftc_program program;

    limits.crashes = job->crashes;
    limits.unfenced = job->unfenced;
    ck_assert_int_eq(ftc_program_parse(&program, job->program, job->n), FTC_SUCCESS);
    int rc = ftc_explore(&settings, &program, &limits, result);
    ftc_program_fini(&program);
    return rc;
}

static void expect_kept(const struct job *job, struct ftc_explore_limits limits,
                        struct ftc_explore_result *result)
{
    ck_assert_int_eq(explore(job, limits, result), FTC_SUCCESS);
    ck_assert_msg(!result->violated, "%s: %s\n%s", job->name, result->violation, result->path);
    ck_assert_msg(result->exhausted, "%s: %s", job->name, result->incomplete);
    printf("%-44s %8llu states %9llu transitions %6llu terminal %5llu outcomes\n", job->name,
           (unsigned long long)result->states, (unsigned long long)result->transitions,
           (unsigned long long)result->terminal, (unsigned long long)result->outcomes);
}

/* --- verdicts and numbers --- */

/* The number of states is a function of the protocol alone. A change of the protocol changes these
 * numbers. */
START_TEST(small_jobs_have_known_numbers_of_states)
{
    static const struct {
        struct job job;
        uint64_t states, transitions, terminal;
    } known[] = {
        {{.name = "n 1", .n = 1, .f = 0, .crashes = 3, .program = "allreduce"}, 2, 1, 1},
        {{.name = "n 2, one crash", .n = 2, .f = 1, .crashes = 1, .program = "allreduce"},
         21,
         41,
         6},
        {{.name = "n 3, two crashes", .n = 3, .f = 1, .crashes = 2, .program = "allreduce"},
         465,
         1677,
         38},
    };

    for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
        struct ftc_explore_result result;
        expect_kept(&known[k].job, (struct ftc_explore_limits){0}, &result);
        ck_assert_uint_eq(result.states, known[k].states);
        ck_assert_uint_eq(result.transitions, known[k].transitions);
        ck_assert_uint_eq(result.terminal, known[k].terminal);
        ftc_explore_result_fini(&result);
    }
}
END_TEST

START_TEST(four_ranks_and_three_operations_keep_their_promises)
{
    if (TEST_SANITIZED) /* a million states take half a minute */
        return;
    static const struct job job = {.name = "n 4, f 1, three crashes, three operations, bit",
                                   .n = 4,
                                   .f = 1,
                                   .crashes = 3,
                                   .program = "allreduce,bcast:1,allreduce",
                                   .scheme = FTC_SCHEME_BIT};
    struct ftc_explore_result result;

    expect_kept(&job, (struct ftc_explore_limits){0}, &result);
    ck_assert_uint_gt(result.states, 100000);
    ck_assert_uint_gt(result.decisions, 50);
    ftc_explore_result_fini(&result);
}
END_TEST

/* --- reductions --- */

static const struct job compared[] = {
    {.name = "allreduce", .n = 3, .f = 1, .crashes = 2, .program = "allreduce"},
    {.name = "allreduce, f 0, bit",
     .n = 3,
     .crashes = 2,
     .program = "allreduce",
     .scheme = FTC_SCHEME_BIT},
    {.name = "allreduce, f 2, count",
     .n = 3,
     .f = 2,
     .crashes = 2,
     .program = "allreduce",
     .scheme = FTC_SCHEME_COUNT},
    {.name = "allreduce, bcast",
     .n = 3,
     .f = 1,
     .crashes = 2,
     .program = "allreduce,bcast:1",
     .scheme = FTC_SCHEME_BIT},
    {.name = "bcast, reduce, validate",
     .n = 3,
     .f = 1,
     .crashes = 1,
     .program = "bcast:1,reduce:0,validate"},
    {.name = "three broadcasts, w 2",
     .n = 3,
     .f = 1,
     .crashes = 2,
     .program = "bcast:0,bcast:1,bcast:0",
     .settle_every = 2},
    {.name = "share off",
     .n = 3,
     .f = 1,
     .crashes = 2,
     .program = "allreduce*2",
     .share = FTC_SHARE_OFF},
    {.name = "checked correction",
     .n = 3,
     .f = 1,
     .crashes = 1,
     .program = "allreduce",
     .correction = FTC_CORRECTION_CHECKED},
    {.name = "n 4, PREPARE down the tree",
     .n = 4,
     .f = 1,
     .crashes = 2,
     .program = "allreduce",
     .prepare = FTC_PREPARE_TREE},
    {.name = "n 4, first subtree, reduce",
     .n = 4,
     .f = 1,
     .crashes = 2,
     .program = "reduce:0,reduce:1",
     .take = FTC_TAKE_FIRST},
    {.name = "n 4, first subtree, count",
     .n = 4,
     .f = 1,
     .crashes = 2,
     .program = "allreduce",
     .scheme = FTC_SCHEME_COUNT,
     .take = FTC_TAKE_FIRST},
    {.name = "n 4, direct", .n = 4, .crashes = 2, .program = "allreduce", .direct = 4},
    {.name = "n 3, exchange", .n = 3, .crashes = 2, .program = "allreduce*2", .doubling = 3},
    {.name = "n 4, exchange", .n = 4, .crashes = 1, .program = "allreduce", .doubling = 4},
    {.name = "n 4, two crashes, bit",
     .n = 4,
     .f = 1,
     .crashes = 2,
     .program = "allreduce",
     .scheme = FTC_SCHEME_BIT},
};

/* The ways to end must be the same: the dead ranks, and the state of every survivor. */
START_TEST(reductions_change_neither_verdict_nor_outcomes)
{
    const struct job *job = &compared[_i];
    struct ftc_explore_result reduced, plain;

    if (TEST_SANITIZED && job->n > 3) /* three ranks take the same code */
        return;
    expect_kept(job, (struct ftc_explore_limits){.outcomes = true}, &reduced);
    expect_kept(job, (struct ftc_explore_limits){.outcomes = true, .plain = true}, &plain);
    ck_assert_uint_gt(reduced.outcomes, 1);
    ck_assert_uint_eq(reduced.outcomes, plain.outcomes);
    ck_assert_uint_eq(reduced.outcome_sum, plain.outcome_sum);
    ck_assert_uint_lt(reduced.states, plain.states);
    ftc_explore_result_fini(&reduced);
    ftc_explore_result_fini(&plain);
}
END_TEST

/* --- counter-examples --- */

static const char *first_coordinator_only(int rank, int op, struct ftc_ballot_id ballot)
{
    (void)rank;
    (void)op;
    return ballot.i > 0 ? "another coordinator decides" : NULL;
}

START_TEST(a_broken_promise_gives_a_short_counter_example)
{
    static const struct job job = {
        .name = "", .n = 3, .f = 1, .crashes = 1, .program = "allreduce"};
    struct ftc_explore_limits limits = {.promise = first_coordinator_only};
    struct ftc_explore_result longer, shorter;

    ck_assert_int_eq(explore(&job, limits, &longer), FTC_SUCCESS);
    limits.shorten = 100000;
    ck_assert_int_eq(explore(&job, limits, &shorter), FTC_SUCCESS);
    ck_assert(longer.violated && shorter.violated && !shorter.exhausted);
    ck_assert_int_lt(shorter.length, longer.length);
    /* The path has two calls, the death of rank 0 told to each, and the messages between the two
     * ranks. */
    ck_assert_int_le(shorter.length, 8);
    ck_assert_ptr_nonnull(strstr(shorter.violation, "another coordinator decides"));
    ck_assert_ptr_nonnull(strstr(shorter.path, "rank 0 CRASHES"));
    ck_assert_ptr_nonnull(strstr(shorter.path, "delivers operation 0: success, ballot (1,0)"));
    ck_assert_ptr_null(shorter.replay); /* a cluster does not know this promise */
    ftc_explore_result_fini(&longer);
    ftc_explore_result_fini(&shorter);
}
END_TEST

START_TEST(without_reductions_the_same_promise_is_broken)
{
    static const struct job job = {
        .name = "", .n = 3, .f = 1, .crashes = 1, .program = "allreduce"};
    struct ftc_explore_limits limits = {
        .promise = first_coordinator_only, .shorten = 100000, .plain = true};
    struct ftc_explore_result result;

    ck_assert_int_eq(explore(&job, limits, &result), FTC_SUCCESS);
    ck_assert(result.violated);
    ck_assert_ptr_nonnull(strstr(result.violation, "another coordinator decides"));
    ftc_explore_result_fini(&result);
}
END_TEST

START_TEST(without_fencing_two_running_ranks_disagree)
{
    static const struct job job = {
        .name = "", .n = 3, .f = 1, .crashes = 1, .program = "allreduce", .unfenced = true};
    struct ftc_explore_result result;

    ck_assert_int_eq(explore(&job, (struct ftc_explore_limits){.shorten = 100000}, &result),
                     FTC_SUCCESS);
    ck_assert(result.violated);
    ck_assert_ptr_nonnull(
        strstr(result.violation, "both running, deliver operation 0 differently"));
    ck_assert_ptr_nonnull(strstr(result.path, "declared failed but goes on"));
    ck_assert_ptr_null(result.replay); /* a cluster fences, so it cannot replay this */
    ftc_explore_result_fini(&result);
}
END_TEST

/* --- limits --- */

START_TEST(a_limit_of_states_ends_without_a_verdict)
{
    static const struct job job = {
        .name = "", .n = 4, .f = 1, .crashes = 1, .program = "allreduce"};
    struct ftc_explore_result result;

    ck_assert_int_eq(explore(&job, (struct ftc_explore_limits){.states = 100}, &result),
                     FTC_SUCCESS);
    ck_assert(!result.exhausted && !result.violated);
    ck_assert_uint_eq(result.states, 100);
    ck_assert_str_eq(result.incomplete, "the limit of 100 states was reached");
    ftc_explore_result_fini(&result);
}
END_TEST

START_TEST(a_limit_of_memory_ends_without_a_verdict)
{
    static const struct job job = {
        .name = "", .n = 4, .f = 1, .crashes = 3, .program = "allreduce,bcast:1,allreduce"};
    struct ftc_explore_limits limits = {.bytes = (size_t)2 << 20};
    struct ftc_explore_result result;

    ck_assert_int_eq(explore(&job, limits, &result), FTC_SUCCESS);
    ck_assert(!result.exhausted && !result.violated);
    ck_assert_uint_gt(result.states, 10000);
    ck_assert_ptr_nonnull(strstr(result.incomplete, "more than 2 MiB"));
    ftc_explore_result_fini(&result);
}
END_TEST

START_TEST(what_is_too_large_is_refused)
{
    static const struct job ranks = {.name = "", .n = 9, .f = 1, .program = "barrier"};
    static const struct job operations = {.name = "", .n = 2, .f = 1, .program = "barrier*9"};
    struct ftc_explore_result result;

    ck_assert_int_eq(explore(&ranks, (struct ftc_explore_limits){0}, &result), FTC_ERR_ARG);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "9 ranks cannot be explored"));
    ck_assert_int_eq(explore(&operations, (struct ftc_explore_limits){0}, &result), FTC_ERR_ARG);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "9 operations cannot be explored"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("explore");
    TCase *verdicts = tcase_create("verdicts");
    TCase *limits = tcase_create("limits");

    tcase_add_test(verdicts, small_jobs_have_known_numbers_of_states);
    tcase_add_test(verdicts, four_ranks_and_three_operations_keep_their_promises);
    tcase_add_loop_test(verdicts, reductions_change_neither_verdict_nor_outcomes, 0,
                        (int)(sizeof(compared) / sizeof(compared[0])));
    tcase_add_test(verdicts, a_broken_promise_gives_a_short_counter_example);
    tcase_add_test(verdicts, without_reductions_the_same_promise_is_broken);
    tcase_add_test(verdicts, without_fencing_two_running_ranks_disagree);
    suite_add_tcase(suite, verdicts);
    tcase_add_test(limits, a_limit_of_states_ends_without_a_verdict);
    tcase_add_test(limits, a_limit_of_memory_ends_without_a_verdict);
    tcase_add_test(limits, what_is_too_large_is_refused);
    suite_add_tcase(suite, limits);
    return test_suite_run(suite);
}
