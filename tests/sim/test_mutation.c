/*
 * Tests the prover itself: storms find each fault that agreement.md names ("What the simulator must
 * establish") within a budget. The faults are compiled into this program alone. The storms have
 * fixed seeds, so that the same storms find a fault every time. "Declare failed without fencing" is
 * no fault of a member, so test_explore.c tests it. The last tests show that the reductions of the
 * explorer hide no fault.
 */
#include <string.h>

#include "base/error.h"
#include "collectives/gossip/wire.h"
#include "collectives/mutation.h"
#include "include/ftcoll.h"
#include "sim/explore/explore.h"
#include "sim/gossip/engine.h"
#include "sim/model/cluster.h"
#include "sim/storm/pool.h"
#include "tests/suite.h"

#define BUDGET   200000
#define HARMLESS 20000
#define WORKERS  2

enum ftc_mutation ftc_mutation;

static const char *const words[FTC_MUTATIONS_COUNT] = {"the sound protocol",
#define WORDS(name, text) text,
                                                       FTC_MUTATIONS_LIST(WORDS)
#undef WORDS
};

static enum ftc_take taken; /* if it is pinned */

static void storm(enum ftc_mutation mutation, uint64_t runs, unsigned pinned,
                  struct ftc_storm_outcome *outcome)
{
    struct ftc_storm_plan plan = {
        .frame = {.settings = ftc_cluster_settings(1, 0), .pinned = pinned},
        .seed = 1,
        .runs = runs,
        .jobs = WORKERS};

    plan.frame.settings.take = taken;
    ftc_mutation = mutation; /* workers are forked with this value */
    ck_assert_int_eq(ftc_storm_pool_run(&plan, outcome), FTC_SUCCESS);
    ftc_mutation = FTC_MUTATION_NONE;
    printf("%s: %s", words[mutation], outcome->violated ? "" : "not found\n");
    if (outcome->violated)
        printf("seed %llu: %s\n", (unsigned long long)outcome->seed, outcome->violation);
}

START_TEST(a_fault_is_found)
{
    struct ftc_storm_outcome outcome;

    if (_i >= FTC_MUTATION_LATE_CONTRIBUTION)
        return;
    storm((enum ftc_mutation)_i, BUDGET, 0, &outcome);
    ck_assert_msg(outcome.violated, "%d storms do not find: %s", BUDGET, words[_i]);
}
END_TEST

/* A subtree that reported a failure must not be taken, in whatever order subtrees come. */
START_TEST(a_failed_subtree_is_found_with_each_way_to_take_one)
{
    struct ftc_storm_outcome outcome;

    taken = (enum ftc_take)_i;
    storm(FTC_MUTATION_FAILED_SUBTREE, BUDGET, FTC_STORM_PIN_TAKE, &outcome);
    taken = FTC_TAKE_AUTO;
    ck_assert(outcome.violated);
}
END_TEST

/* The switch that selects faults changes nothing by itself. */
START_TEST(the_sound_protocol_keeps_its_promises)
{
    struct ftc_storm_outcome outcome;

    storm(FTC_MUTATION_NONE, HARMLESS, 0, &outcome);
    ck_assert_msg(!outcome.violated, "seed %llu: %s", (unsigned long long)outcome.seed,
                  outcome.violation);
}
END_TEST

/*
 * It is harmless to take a contribution after its sender was written off. Consider a rank that
 * still waits for others. It is then in the same state as if the contribution had come before the
 * notice, and the sound protocol allows that order. A rank that waits for nobody any more has
 * already sent its combined value, and looks at no contribution again. Where results are compared
 * it is a fault, because the list then names a rank whose input is in the value.
 */
START_TEST(a_late_contribution_is_harmless_but_where_results_are_compared)
{
    struct ftc_storm_outcome outcome;

    storm(FTC_MUTATION_LATE_CONTRIBUTION, HARMLESS, FTC_STORM_PIN_INTEGRITY, &outcome);
    ck_assert_msg(!outcome.violated, "seed %llu: %s", (unsigned long long)outcome.seed,
                  outcome.violation);
    storm(FTC_MUTATION_LATE_CONTRIBUTION, BUDGET, 0, &outcome);
    ck_assert_msg(outcome.violated, "%d storms do not find it where results are compared", BUDGET);
}
END_TEST

/* --- gossip --- */

/* Flips one bit of the head of a message. Returns false if that ended the job, or left it without a
 * result. */
static bool gossip_survives(int element, int bit)
{
    struct ftc_gossip_run run = {
        .gossip = {.algorithm = FTC_GOSSIP_PFCC,
                   .count = 1,
                   .accuracy = 1e-6,
                   .turns = true,
                   .patience_ns = 16 * FTC_GOSSIP_TICKS},
        .seed = (uint64_t)(64 * element + bit),
        .flips = true,
        .flip = {.variable = FTC_FLIP_HEAD, .element = element, .bit = bit, .step = 9},
        .most = 2000};
    struct ftc_gossip_outcome outcome;

    ck_assert_int_eq(
        ftc_neighbourhood_init(&run.gossip.neighbourhood, FTC_NEIGHBOURHOOD_HYPERCUBE, 8), 0);
    int rc = ftc_gossip_run(&run, &outcome);
    ck_assert(rc != FTC_SUCCESS || outcome.flips == 1);
    return rc == FTC_SUCCESS && outcome.converged;
}

START_TEST(a_damaged_head_costs_nothing_as_its_checksum_is_looked_at)
{
    int ended = 0;

    for (int at = 0; at < FTC_GOSSIP_HEAD * 8; at++)
        ck_assert_msg(gossip_survives(at / 64, at % 64), "bit %d: %s", at, ftc_last_error());
    ftc_mutation = FTC_MUTATION_GOSSIP_HEAD_UNCHECKED;
    for (int at = 0; at < FTC_GOSSIP_HEAD * 8; at++)
        ended += !gossip_survives(at / 64, at % 64);
    ftc_mutation = FTC_MUTATION_NONE;
    printf("%s: %d of %d bits end the job\n", words[FTC_MUTATION_GOSSIP_HEAD_UNCHECKED], ended,
           FTC_GOSSIP_HEAD * 8);
    ck_assert_int_gt(ended, 100);
}
END_TEST

/* --- the explorer --- */

static const struct {
    const char *program;
    enum ftc_scheme scheme;
    enum ftc_prepare prepare;
    uint32_t settle_every;
} explored[] = {
    {"allreduce*2", FTC_SCHEME_LIST, FTC_PREPARE_DIRECT, 0},
    {"allreduce,bcast:1", FTC_SCHEME_BIT, FTC_PREPARE_TREE, 0},
    {"bcast:0,bcast:1,barrier", FTC_SCHEME_COUNT, FTC_PREPARE_DIRECT, 2},
    {"reduce:1,validate", FTC_SCHEME_LIST, FTC_PREPARE_DIRECT, 0},
    {"allgather,scatter:1", FTC_SCHEME_BIT, FTC_PREPARE_TREE, 0},
};
#define EXPLORED (int)(sizeof(explored) / sizeof(explored[0]))

static bool is_broken(int which, bool plain)
{
    struct ftc_member_settings settings = ftc_cluster_settings(3, 1);
    struct ftc_explore_limits limits = {.crashes = 2, .plain = plain};
    struct ftc_explore_result result;
    struct ftc_program program;

    settings.scheme = explored[which].scheme;
    settings.prepare = explored[which].prepare;
    settings.settle_every = explored[which].settle_every;
    ck_assert_int_eq(ftc_program_parse(&program, explored[which].program, 3), FTC_SUCCESS);
    ck_assert_int_eq(ftc_explore(&settings, &program, &limits, &result), FTC_SUCCESS);
    ck_assert(result.violated || result.exhausted);
    bool violated = result.violated;
    ftc_explore_result_fini(&result);
    ftc_program_fini(&program);
    return violated;
}

START_TEST(reductions_hide_no_fault)
{
    int found = 0;

    for (ftc_mutation = FTC_MUTATION_NONE; ftc_mutation < FTC_MUTATIONS_COUNT; ftc_mutation++) {
        bool broken = is_broken(_i, false);
        ck_assert_msg(broken == is_broken(_i, true), "%s: %s", explored[_i].program,
                      words[ftc_mutation]);
        ck_assert(!broken || ftc_mutation != FTC_MUTATION_NONE);
        found += broken;
    }
    printf("%s: the explorer finds %d of %d faults\n", explored[_i].program, found,
           FTC_MUTATIONS_COUNT - 2);
    ck_assert_int_gt(found, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mutations");
    TCase *faults = tcase_create("faults"), *harmless = tcase_create("harmless"),
          *gossip = tcase_create("gossip"), *explorer = tcase_create("explorer");

    tcase_add_loop_test(faults, a_fault_is_found, FTC_MUTATION_NONE + 1, FTC_MUTATIONS_COUNT);
    tcase_add_loop_test(faults, a_failed_subtree_is_found_with_each_way_to_take_one, FTC_TAKE_AUTO,
                        FTC_TAKE_LOWEST + 1);
    tcase_set_timeout(faults, 300);
    tcase_add_test(harmless, the_sound_protocol_keeps_its_promises);
    tcase_add_test(harmless, a_late_contribution_is_harmless_but_where_results_are_compared);
    tcase_set_timeout(harmless, 300);
    suite_add_tcase(suite, faults);
    suite_add_tcase(suite, harmless);
    tcase_add_test(gossip, a_damaged_head_costs_nothing_as_its_checksum_is_looked_at);
    tcase_set_timeout(gossip, 60);
    suite_add_tcase(suite, gossip);
    tcase_add_loop_test(explorer, reductions_hide_no_fault, 0, EXPLORED);
    tcase_set_timeout(explorer, 300);
    suite_add_tcase(suite, explorer);
    return test_suite_run(suite);
}
