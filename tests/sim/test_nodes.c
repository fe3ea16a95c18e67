/* Storms of nodes with leases keep their promises. The same seed is the same run. A driver that
 * uses the objects wrongly is found out. */
#include <stdlib.h>
#include <string.h>

#include "sim/nodes/nodes.h"
#include "tests/random.h"
#include "tests/suite.h"

#define RUNS   (TEST_SANITIZED ? 300 : 3000)
#define BUDGET 30000 /* runs to find a fault; seeds are fixed */

static uint64_t seed_start(void)
{
    struct test_random random = test_random_start();
    return test_random_bits(&random) >> 16;
}

static bool run(uint64_t seed, enum ftc_nodes_fault fault, struct ftc_nodes_sums *sums, FILE *log,
                char violation[FTC_NODES_WORDS])
{
    struct ftc_nodes_frame frame = {.fault = fault};
    struct ftc_nodes_story story;

    ftc_nodes_draw(&story, &frame, seed);
    return ftc_nodes_run(&story, sums, log, violation);
}

START_TEST(promises_are_kept)
{
    struct ftc_nodes_sums sums = {0};
    char violation[FTC_NODES_WORDS];
    uint64_t seed = seed_start();

    for (int i = 0; i < RUNS; i++)
        ck_assert_msg(run(seed + (uint64_t)i, FTC_NODES_SOUND, &sums, NULL, violation),
                      "seed %llu: %s", (unsigned long long)seed + (unsigned long long)i, violation);
    /* Otherwise the runs tried nothing. */
    ck_assert_uint_gt(sums.leaders, sums.runs + sums.runs / 20);
    ck_assert_uint_gt(sums.declared, sums.runs / 20);
    ck_assert_uint_gt(sums.fenced, sums.runs / 20);
    ck_assert_uint_gt(sums.decided, sums.runs);
    ck_assert_uint_gt(sums.went_on, sums.runs / 10);
    ck_assert_uint_gt(sums.lost, 0);
    ck_assert_uint_gt(sums.late, 0);
}
END_TEST

static char *trace_of(uint64_t seed)
{
    struct ftc_nodes_sums sums = {0};
    char violation[FTC_NODES_WORDS], *text = NULL;
    size_t length = 0;
    FILE *log = open_memstream(&text, &length);

    ck_assert_ptr_nonnull(log);
    run(seed, FTC_NODES_SOUND, &sums, log, violation);
    fclose(log);
    return text;
}

START_TEST(the_same_seed_is_the_same_run)
{
    uint64_t seed = seed_start();
    int delivered = 0;

    for (uint64_t i = 0; i < 20; i++) {
        char *one = trace_of(seed + i), *other = trace_of(seed + i);
        ck_assert_str_eq(one, other);
        delivered += strstr(one, "delivers operation") != NULL;
        free(one);
        free(other);
    }
    ck_assert_int_gt(delivered, 5); /* otherwise the traces say little */
}
END_TEST

START_TEST(a_fault_of_the_driver_is_found)
{
    struct ftc_nodes_sums sums = {0};
    enum ftc_nodes_fault fault = (enum ftc_nodes_fault)_i;
    char violation[FTC_NODES_WORDS];
    int runs = 1;

    while (runs <= BUDGET && run((uint64_t)runs, fault, &sums, NULL, violation))
        runs++;
    ck_assert_msg(runs <= BUDGET, "%d runs do not find: %s", BUDGET, ftc_nodes_fault_name(fault));
    printf("%s: run %d: %s\n", ftc_nodes_fault_name(fault), runs, violation);
}
END_TEST

/* nodes.md, "What may be declared": a rank in L has stopped, just as a rank in G has. */
START_TEST(a_base_that_shrinks_by_l_is_harmless)
{
    struct ftc_nodes_sums sums = {0};
    char violation[FTC_NODES_WORDS];

    for (uint64_t seed = 1; seed <= RUNS; seed++)
        ck_assert_msg(run(seed, FTC_NODES_BY_L, &sums, NULL, violation), "seed %llu: %s",
                      (unsigned long long)seed, violation);
}
END_TEST

int main(void)
{
    test_seed_announce();
    Suite *suite = suite_create("nodes");
    TCase *tcase = tcase_create("nodes");
    tcase_set_timeout(tcase, TEST_SANITIZED ? 300 : 60);
    tcase_add_test(tcase, promises_are_kept);
    tcase_add_test(tcase, the_same_seed_is_the_same_run);
    tcase_add_loop_test(tcase, a_fault_of_the_driver_is_found, FTC_NODES_UNCHECKED,
                        FTC_NODES_STAYS + 1);
    tcase_add_test(tcase, a_base_that_shrinks_by_l_is_harmless);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
