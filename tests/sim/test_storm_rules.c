/*
 * Runs random storms over whole communicators: any operations, deaths and schedules. Every promise
 * of agreement.md must hold, and every rule of the protocol must be taken.
 *
 * FTC_TEST_SEED=n runs one storm and shows it; FTC_TEST_RUNS sets how many run, FTC_TEST_FIRST the
 * first seed; FTC_TEST_RULES=1 prints how often each rule was taken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/storm/pool.h"
#include "tests/suite.h"

#define DEFAULT_RUNS 200000

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 0) : otherwise;
}

static struct ftc_storm_plan default_plan(void)
{
    struct ftc_storm_plan plan = {
        .frame.settings = ftc_cluster_settings(1, 0),
        .seed = number_of("FTC_TEST_FIRST", 1),
        .runs = number_of("FTC_TEST_RUNS", DEFAULT_RUNS),
        .jobs = (int)sysconf(_SC_NPROCESSORS_ONLN),
    };
    return plan;
}

START_TEST(one_storm_again)
{
    struct ftc_storm_plan plan = default_plan();
    struct ftc_storm storm;
    struct ftc_storm_sums sums = {0};
    char violation[FTC_SCHEDULE_TEXT];

    ftc_storm_draw(&storm, &plan.frame, number_of("FTC_TEST_SEED", 1));
    ck_assert_msg(ftc_storm_run(&storm, NULL, &sums, NULL, stderr, violation), "%s", violation);
}
END_TEST

static void print_rules(const uint64_t rules[FTC_RULES_COUNT])
{
    for (int rule = 0; rule < FTC_RULES_ONE_LEVEL; rule++)
        fprintf(stderr, "%12llu  %s\n", (unsigned long long)rules[rule],
                ftc_rule_name((enum ftc_rule)rule));
}

START_TEST(all_keep_their_promises_and_take_every_rule)
{
    struct ftc_storm_plan plan = default_plan();
    struct ftc_storm_outcome outcome;

    ck_assert_int_eq(ftc_storm_pool_run(&plan, &outcome), FTC_SUCCESS);
    ck_assert_msg(!outcome.violated,
                  "%s; replay: FTC_TEST_SEED=%llu, or ftcoll-sim storm --seed %llu --runs 1",
                  outcome.violation, (unsigned long long)outcome.seed,
                  (unsigned long long)outcome.seed);
    ck_assert_uint_eq(outcome.sums.runs, plan.runs);
    if (getenv("FTC_TEST_RULES") != NULL)
        print_rules(outcome.sums.rules);
    for (int rule = 0; rule < FTC_RULES_ONE_LEVEL; rule++) {
        /* A rank is fenced only if a detector errs. No detector errs here. */
        if (rule == FTC_RULE_FENCED)
            ck_assert_uint_eq(outcome.sums.rules[rule], 0);
        else if (plan.runs >= DEFAULT_RUNS)
            ck_assert_msg(outcome.sums.rules[rule] > 0, "no storm took the rule \"%s\"",
                          ftc_rule_name((enum ftc_rule)rule));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("storm rules");
    TCase *storms = tcase_create("storms");

    tcase_set_timeout(storms, 0); /* ctest sets the limit */
    if (getenv("FTC_TEST_SEED") != NULL)
        tcase_add_test(storms, one_storm_again);
    else
        tcase_add_test(storms, all_keep_their_promises_and_take_every_rule);
    suite_add_tcase(suite, storms);
    return test_suite_run(suite);
}
