/*
 * Tests the prover itself: storms of nodes find each fault of leases that nodes.md names
 * (detector/mutation.h) within a budget. The faults are compiled into this program alone. Seeds are
 * fixed, so that the same runs find a fault every time.
 */
#include "detector/mutation.h"
#include "sim/nodes/beats.h"
#include "sim/nodes/nodes.h"
#include "tests/suite.h"

#define BUDGET   30000
#define HARMLESS 3000

enum ftc_lease_mutation ftc_lease_mutation;

static const char *const words[FTC_LEASE_MUTATIONS_COUNT] = {"sound leases",
#define WORDS(name, text) text,
                                                             FTC_LEASE_MUTATIONS_LIST(WORDS)
#undef WORDS
};

/* The number of runs until a promise is broken; `most` + 1 if none was. */
static int find(enum ftc_lease_mutation mutation, int most)
{
    struct ftc_nodes_frame frame = {.fault = FTC_NODES_SOUND};
    struct ftc_nodes_sums sums = {0};
    struct ftc_nodes_story story;
    char violation[FTC_NODES_WORDS] = "not found";
    int runs = 1;

    ftc_lease_mutation = mutation;
    for (bool kept = true; kept && runs <= most; runs += kept) {
        ftc_nodes_draw(&story, &frame, (uint64_t)runs);
        kept = ftc_nodes_run(&story, &sums, NULL, violation);
    }
    printf("%s: run %d: %s\n", words[mutation], runs, violation);
    return runs;
}

/* Nodes that are lost, and have not died, when a quarter of 256 nodes dies at once. */
static int lost_to_a_rack(enum ftc_lease_mutation mutation)
{
    struct ftc_beats beats = {.nodes = 256, .seed = 1, .rack = true};

    ftc_lease_mutation = mutation;
    ck_assert_int_eq(ftc_cost_parse(&beats.cost, "tcp"), FTC_SUCCESS);
    ck_assert_int_eq(ftc_beats_run(&beats), FTC_SUCCESS);
    printf("%s: %d nodes are lost\n", words[mutation], beats.lost);
    return beats.lost;
}

START_TEST(a_fault_is_found)
{
    ck_assert_msg(find((enum ftc_lease_mutation)_i, BUDGET) <= BUDGET, "%d runs do not find: %s",
                  BUDGET, words[_i]);
}
END_TEST

/* Storms are of few nodes. These faults need more. */
START_TEST(a_fault_that_needs_many_nodes_is_found)
{
    ck_assert_int_gt(lost_to_a_rack((enum ftc_lease_mutation)_i), 0);
}
END_TEST

/* The switch that selects faults changes nothing by itself. */
START_TEST(sound_leases_keep_their_promises)
{
    ck_assert_int_gt(find(FTC_LEASE_MUTATION_NONE, HARMLESS), HARMLESS);
    ck_assert_int_eq(lost_to_a_rack(FTC_LEASE_MUTATION_NONE), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mutations of leases");
    TCase *tcase = tcase_create("faults");

    tcase_set_timeout(tcase, TEST_SANITIZED ? 300 : 60);
    tcase_add_loop_test(tcase, a_fault_is_found, FTC_LEASE_MUTATION_NONE + 1,
                        FTC_LEASE_MUTATION_NOT_REACHED);
    tcase_add_loop_test(tcase, a_fault_that_needs_many_nodes_is_found,
                        FTC_LEASE_MUTATION_NOT_REACHED, FTC_LEASE_MUTATION_TURNS_OF_P + 1);
    tcase_add_test(tcase, sound_leases_keep_their_promises);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
