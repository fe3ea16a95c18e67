/* Stories about several nodes. */
#include "explore_nodes.h"

enum ftc_mutation ftc_mutation;

void explore_nodes(const struct nodes_job *job, struct ftc_explore_limits limits,
                   struct ftc_explore_result *result)
{
    struct ftc_member_settings settings = ftc_cluster_settings(job->n, job->f);
    int first[FTC_EXPLORE_RANKS + 1];
    struct ftc_program program;

    for (int node = 0; node <= job->nodes; node++)
        first[node] = node * job->n / job->nodes;
    settings.nodes = job->nodes;
    settings.first_ranks = first;
    settings.levels_most = job->most > 0 ? job->most : UINT64_MAX;
    settings.levels_plain = job->plain;
    settings.settle_every = job->settle_every > 0 ? job->settle_every : settings.settle_every;
    settings.rotation = job->rotation;
    settings.prepare = job->prepare;
    settings.share = job->share;
    settings.correction = job->correction;
    settings.dissemination = job->dissemination;
    settings.doubling = job->doubling;
    limits.crashes = job->crashes;
    ck_assert_int_eq(ftc_program_parse(&program, job->program, job->n), FTC_SUCCESS);
    ck_assert_int_eq(ftc_explore(&settings, &program, &limits, result), FTC_SUCCESS);
    ftc_program_fini(&program);
}

void nodes_keep_promises(const struct nodes_job *job, struct ftc_explore_limits limits)
{
    struct ftc_explore_result result;

    explore_nodes(job, limits, &result);
    ck_assert_msg(!result.violated, "%s: %s\n%s", job->program, result.violation, result.path);
    ck_assert(result.exhausted);
    printf("%d ranks on %d nodes, f = %d, %d crashes, %-36s %9llu states\n", job->n, job->nodes,
           job->f, job->crashes, job->program, (unsigned long long)result.states);
    ftc_explore_result_fini(&result);
}

void nodes_lose_no_outcome(const struct nodes_job *job)
{
    struct ftc_explore_result reduced, plain;

    explore_nodes(job, (struct ftc_explore_limits){.outcomes = true}, &reduced);
    explore_nodes(job, (struct ftc_explore_limits){.outcomes = true, .plain = true}, &plain);
    ck_assert_msg(!plain.violated, "%s\n%s", plain.violation, plain.path);
    ck_assert(!reduced.violated && plain.exhausted);
    ck_assert_uint_lt(reduced.states, plain.states);
    ck_assert_uint_eq(reduced.outcome_sum, plain.outcome_sum);
    ftc_explore_result_fini(&reduced);
    ftc_explore_result_fini(&plain);
}

void nodes_find(const struct nodes_fault *fault, struct nodes_job job)
{
    struct ftc_explore_result result;

    job.program = fault->program;
    job.most = fault->most;
    ftc_mutation = fault->mutation;
    explore_nodes(&job, fault->limits, &result);
    ftc_mutation = FTC_MUTATION_NONE;
    ck_assert_msg(result.violated, "not found: %s", fault->what);
    printf("%s: %s\n", fault->what, result.violation);
    ftc_explore_result_fini(&result);
}
