/*
 * Random storms over whole communicators: any operations, deaths and schedules, every promise of
 * agreement.md.
 *
 * FTC_TEST_SEED=n replays one storm (with FTC_TEST_LARGE=1 if it was a large one); FTC_TEST_RUNS sets how
 * many run, FTC_TEST_FIRST the first seed; FTC_TEST_RULES=1 prints how often each rule was taken.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/storm.h"
#include "tests/suite.h"

#define DEFAULT_RUNS    200000 /* about 20 s without optimisation */
#define SMALL_PER_LARGE 100

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 0) : otherwise;
}

/* Stops at the first broken promise; returns how many storms were survived. */
static uint64_t run_storms(uint64_t runs, bool large, uint64_t rules[FTC_RULES_COUNT])
{
    uint64_t first = number_of("FTC_TEST_FIRST", 1);
    struct ftc_storm storm;

    for (uint64_t run = 0; run < runs; run++) {
        ftc_storm_draw(&storm, first + run, large);
        if (!ftc_storm_run(&storm, rules)) {
            ck_abort_msg("storm %llu broke a promise, see above", (unsigned long long)storm.seed);
            return run;
        }
    }
    return runs;
}

static void print_rules(const uint64_t rules[FTC_RULES_COUNT])
{
    for (int rule = 0; rule < FTC_RULES_COUNT; rule++)
        fprintf(stderr, "%12llu  %s\n", (unsigned long long)rules[rule], ftc_rule_name((enum ftc_rule)rule));
}

START_TEST(one_storm_again)
{
    struct ftc_storm storm;
    ftc_storm_draw(&storm, number_of("FTC_TEST_SEED", 1), getenv("FTC_TEST_LARGE") != NULL);
    ck_assert(ftc_storm_run(&storm, NULL));
}
END_TEST

START_TEST(all_survive_and_take_every_rule)
{
    uint64_t rules[FTC_RULES_COUNT] = {0};
    uint64_t runs = number_of("FTC_TEST_RUNS", DEFAULT_RUNS);
    uint64_t large = runs / SMALL_PER_LARGE;

    ck_assert_uint_eq(run_storms(runs, false, rules), runs);
    ck_assert_uint_eq(run_storms(large, true, rules), large);
    if (getenv("FTC_TEST_RULES") != NULL)
        print_rules(rules);
    for (int rule = 0; rule < FTC_RULES_COUNT; rule++) {
        /* To be fenced takes a detector that errs: not here. */
        if (rule == FTC_RULE_FENCED)
            ck_assert_uint_eq(rules[rule], 0);
        else if (runs >= DEFAULT_RUNS)
            ck_assert_msg(rules[rule] > 0, "no storm took the rule \"%s\"",
                          ftc_rule_name((enum ftc_rule)rule));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("member storm");
    TCase *storms = tcase_create("storms");

    tcase_set_timeout(storms, 0); /* ctest has the limit */
    if (getenv("FTC_TEST_SEED") != NULL) {
        tcase_add_test(storms, one_storm_again);
    } else {
        tcase_add_test(storms, all_survive_and_take_every_rule);
    }
    suite_add_tcase(suite, storms);
    return test_suite_run(suite);
}
