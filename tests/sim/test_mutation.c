/*
 * The prover itself: each fault that agreement.md names ("What the simulator must establish"), compiled into this
 * program alone, is found by storms within a budget. The storms have fixed seeds, so that the same ones find it every
 * time. "Declare failed without fencing" is no fault of a member: test_explore.c has it.
 */
#include <string.h>

#include "collectives/mutation.h"
#include "include/ftcoll.h"
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

/* Where a fault shows in one storm of thousands, these are the storms in which it can. */
static struct ftc_storm_frame frame_for(enum ftc_mutation mutation, struct ftc_program *program)
{
    struct ftc_storm_frame frame = {.settings = ftc_cluster_settings(1, 0)};

    if (mutation == FTC_MUTATION_VIEW_FOR_EPOCH) {
        /* The sender must be in the view and have another history than the receiver: f = 2 lets two ranks tell
         * different subtrees of a third one's death. */
        ck_assert_int_eq(ftc_program_parse(program, "barrier*2", 5), FTC_SUCCESS);
        frame.program = program;
        frame.least = frame.most = 5;
        frame.settings.f = 2;
        frame.settings.scheme = FTC_SCHEME_BIT;
        frame.pinned = FTC_STORM_PIN_F | FTC_STORM_PIN_SCHEME | FTC_STORM_PIN_SHARE | FTC_STORM_PIN_ROTATION |
                       FTC_STORM_PIN_CORRECTION | FTC_STORM_PIN_PREPARE;
    } else if (mutation == FTC_MUTATION_NO_ADOPTION) {
        frame.settings.prepare = FTC_PREPARE_TREE;
        frame.pinned = FTC_STORM_PIN_PREPARE;
    }
    return frame;
}

static void storm(enum ftc_mutation mutation, uint64_t runs, struct ftc_storm_outcome *outcome)
{
    struct ftc_program program = {0};
    struct ftc_storm_plan plan = {
        .frame = frame_for(mutation, &program), .seed = 1, .runs = runs, .jobs = WORKERS};

    ftc_mutation = mutation; /* the workers are forked with it */
    ck_assert_int_eq(ftc_storm_pool_run(&plan, outcome), FTC_SUCCESS);
    ftc_mutation = FTC_MUTATION_NONE;
    ftc_program_fini(&program);
    printf("%s: %s", words[mutation], outcome->violated ? "" : "not found\n");
    if (outcome->violated)
        printf("seed %llu: %s\n", (unsigned long long)outcome->seed, outcome->violation);
}

START_TEST(a_fault_is_found)
{
    struct ftc_storm_outcome outcome;

    if (_i == FTC_MUTATION_LATE_CONTRIBUTION)
        return;
    storm((enum ftc_mutation)_i, BUDGET, &outcome);
    ck_assert_msg(outcome.violated, "%d storms do not find: %s", BUDGET, words[_i]);
}
END_TEST

/* The switch alone changes nothing. */
START_TEST(the_sound_protocol_keeps_its_promises)
{
    struct ftc_storm_outcome outcome;

    storm(FTC_MUTATION_NONE, HARMLESS, &outcome);
    ck_assert_msg(!outcome.violated, "seed %llu: %s", (unsigned long long)outcome.seed, outcome.violation);
}
END_TEST

/*
 * Taking a contribution after its sender was written off is harmless. A rank that still waits for others is then in
 * the state that it would be in had the contribution come before the notice: an order that the sound protocol knows.
 * One that waits for nobody any more has sent what it made of the others' and looks at no contribution again.
 */
START_TEST(a_late_contribution_is_harmless)
{
    struct ftc_storm_outcome outcome;

    storm(FTC_MUTATION_LATE_CONTRIBUTION, HARMLESS, &outcome);
    ck_assert_msg(!outcome.violated, "seed %llu: %s", (unsigned long long)outcome.seed, outcome.violation);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mutations");
    TCase *faults = tcase_create("faults"), *harmless = tcase_create("harmless");

    tcase_add_loop_test(faults, a_fault_is_found, FTC_MUTATION_NONE + 1, FTC_MUTATIONS_COUNT);
    tcase_set_timeout(faults, 120);
    tcase_add_test(harmless, the_sound_protocol_keeps_its_promises);
    tcase_add_test(harmless, a_late_contribution_is_harmless);
    tcase_set_timeout(harmless, 120);
    suite_add_tcase(suite, faults);
    suite_add_tcase(suite, harmless);
    return test_suite_run(suite);
}
