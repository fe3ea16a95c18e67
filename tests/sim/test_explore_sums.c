/*
 * Explores reduces over two levels whose senders go on (docs/design/nodes.md, S1 to S8): four ranks
 * on two nodes, with deaths between the post, the sum, what the root answers, and the next post.
 * Each fault must break a promise there.
 */
#include "collectives/mutation.h"
#include "include/ftcoll.h"
#include "sim/explore/explore.h"
#include "sim/model/cluster.h"
#include "tests/suite.h"

enum ftc_mutation ftc_mutation;

struct job {
    int n, nodes, crashes;
    const char *program;
    /* Bytes over two levels; 0: all. A broadcast has 2, the last rank's 6, and a reduction n. */
    uint64_t most;
};

static void explore(const struct job *job, struct ftc_explore_limits limits,
                    struct ftc_explore_result *result)
{
    struct ftc_member_settings settings = ftc_cluster_settings(job->n, 1);
    int first[FTC_EXPLORE_RANKS + 1];
    struct ftc_program program;

    for (int node = 0; node <= job->nodes; node++)
        first[node] = node * job->n / job->nodes;
    settings.nodes = job->nodes;
    settings.first_ranks = first;
    settings.levels_most = job->most > 0 ? job->most : UINT64_MAX;
    settings.levels_plain = true;
    limits.crashes = job->crashes;
    ck_assert_int_eq(ftc_program_parse(&program, job->program, job->n), FTC_SUCCESS);
    ck_assert_int_eq(ftc_explore(&settings, &program, &limits, result), FTC_SUCCESS);
    ftc_program_fini(&program);
}

/* --- promises that are kept --- */

static const struct job sound[] = {
    {4, 2, 3, "reduce:0", 0},
    {4, 2, 3, "reduce:0*2", 0},
    /* The third reduce writes over the posts of the first one. */
    {4, 2, 3, "reduce:0*3", 0},
    {4, 2, 2, "reduce:0*4", 0},
    {4, 2, 3, "reduce:3,reduce:0", 0},
    {4, 2, 2, "reduce:1,reduce:3,reduce:0", 0},
    /* Agreements and broadcasts before, after and in between. */
    {4, 2, 3, "allreduce,reduce:1", 0},
    {4, 2, 3, "reduce:1,allreduce", 0},
    {4, 2, 2, "reduce:3,validate", 0},
    {4, 2, 2, "reduce:0,allreduce,reduce:0", 0},
    {4, 2, 1, "allreduce,reduce:2,allreduce", 0},
    {4, 2, 2, "bcast:2,reduce:0", 0},
    {4, 2, 2, "reduce:0,bcast:2,reduce:0", 0},
    /* The operation in between goes by messages among all ranks. */
    {4, 2, 2, "bcast:3,reduce:0", 5},
    {4, 2, 1, "reduce:0,bcast:3,reduce:1", 5},
    {4, 3, 2, "reduce:3*2", 0},
    {5, 2, 2, "reduce:0", 0},
};

START_TEST(every_promise_is_kept)
{
    const struct job *job = &sound[_i];
    struct ftc_explore_result result;

    explore(job, (struct ftc_explore_limits){0}, &result);
    ck_assert_msg(!result.violated, "%s: %s\n%s", job->program, result.violation, result.path);
    ck_assert(result.exhausted);
    printf("%d ranks on %d nodes, %d crashes, %-30s %9llu states\n", job->n, job->nodes,
           job->crashes, job->program, (unsigned long long)result.states);
    ftc_explore_result_fini(&result);
}
END_TEST

/* The reductions of the search leave out only runs that end as others do. */
START_TEST(reductions_lose_no_outcome)
{
    static const struct job job = {4, 2, 1, "reduce:0", 0};
    struct ftc_explore_result reduced, plain;

    explore(&job, (struct ftc_explore_limits){.outcomes = true}, &reduced);
    explore(&job, (struct ftc_explore_limits){.outcomes = true, .plain = true}, &plain);
    ck_assert_msg(!plain.violated, "%s\n%s", plain.violation, plain.path);
    ck_assert(!reduced.violated && plain.exhausted);
    ck_assert_uint_lt(reduced.states, plain.states);
    ck_assert_uint_eq(reduced.outcome_sum, plain.outcome_sum);
    ftc_explore_result_fini(&reduced);
    ftc_explore_result_fini(&plain);
}
END_TEST

/* --- faults --- */

static const struct {
    const char *what;
    enum ftc_mutation mutation;
    struct ftc_explore_limits limits;
    const char *program;
    uint64_t most;
} faults[] = {
    {"a post is written over before its sum is taken",
     FTC_MUTATION_NONE,
     {.overwrites = true},
     "reduce:0*3",
     0},
    {"a new delegate does not send again", FTC_MUTATION_NONE, {.no_resend = true}, "reduce:0*2", 0},
    {"posts of another history count",
     FTC_MUTATION_NONE,
     {.no_epoch = true},
     "bcast:3,reduce:0",
     5},
    {"the root takes two sums of a node", FTC_MUTATION_SUMS_TWICE, {0}, "reduce:0", 0},
    {"the root takes the sum of another reduce",
     FTC_MUTATION_SUMS_OF_ANOTHER,
     {0},
     "reduce:0*2",
     0},
    {"a node is written off with its delegate", FTC_MUTATION_SUMS_OF_DELEGATES, {0}, "reduce:0", 0},
    {"a sum does not say whose input it lacks", FTC_MUTATION_UP_WITHOUT_LIST, {0}, "reduce:0", 0},
    {"a dead delegate is told that its sum is taken",
     FTC_MUTATION_SUMS_FIRST_SENDER,
     {0},
     "reduce:0*3",
     0},
    {"a sum that comes late is not answered", FTC_MUTATION_SUMS_UNANSWERED, {0}, "reduce:0*3", 0},
};

START_TEST(a_fault_is_found)
{
    struct job job = {4, 2, 2, faults[_i].program, faults[_i].most};
    struct ftc_explore_result result;

    ftc_mutation = faults[_i].mutation;
    explore(&job, faults[_i].limits, &result);
    ftc_mutation = FTC_MUTATION_NONE;
    ck_assert_msg(result.violated, "not found: %s", faults[_i].what);
    printf("%s: %s\n", faults[_i].what, result.violation);
    ftc_explore_result_fini(&result);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("explore_sums");
    TCase *kept = tcase_create("kept"), *found = tcase_create("found");

    tcase_set_timeout(kept, 300);
    tcase_add_loop_test(kept, every_promise_is_kept, 0, (int)(sizeof(sound) / sizeof(sound[0])));
    tcase_add_test(kept, reductions_lose_no_outcome);
    tcase_set_timeout(found, 300);
    tcase_add_loop_test(found, a_fault_is_found, 0, (int)(sizeof(faults) / sizeof(faults[0])));
    suite_add_tcase(suite, kept);
    suite_add_tcase(suite, found);
    return test_suite_run(suite);
}
