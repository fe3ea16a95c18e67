/* Programs over several communicators keep their promises, whoever dies. The same seed is the same
 * run. Everything that can happen did happen. */
#include <stdlib.h>
#include <string.h>

#include "sim/communicators/communicators.h"
#include "tests/random.h"
#include "tests/suite.h"

#define RUNS (TEST_SANITIZED ? 1000 : 10000)

static uint64_t seed_start(void)
{
    struct test_random random = test_random_start();
    return test_random_bits(&random) >> 16;
}

static bool run(uint64_t seed, struct ftc_comms_sums *sums, FILE *log,
                char violation[FTC_COMMS_WORDS])
{
    struct ftc_comms_story story;

    ftc_comms_draw(&story, seed);
    return ftc_comms_run(&story, sums, log, violation);
}

START_TEST(promises_are_kept)
{
    struct ftc_comms_sums sums = {0};
    char violation[FTC_COMMS_WORDS];
    uint64_t seed = seed_start();

    for (uint64_t i = 0; i < RUNS; i++)
        ck_assert_msg(run(seed + i, &sums, NULL, violation), "seed %llu: %s",
                      (unsigned long long)(seed + i), violation);
    /* Otherwise the runs tried nothing. Each bound is a tenth of the mean at most, so no seed
     * misses it. */
    ck_assert_uint_gt(sums.deaths, sums.runs / 10);
    ck_assert_uint_gt(sums.children, sums.runs);
    ck_assert_uint_gt(sums.groups, sums.runs / 10);
    ck_assert_uint_gt(sums.cut_off, sums.runs / 100);
    ck_assert_uint_gt(sums.agreements, sums.runs / 400);
    ck_assert_uint_gt(sums.by_messages, sums.runs / 400);
    ck_assert_uint_gt(sums.spares, sums.runs / 100);
    for (int event = 0; event < FTC_COMMUNICATORS_EVENTS; event++)
        ck_assert_msg(sums.event[event] > 0 || TEST_SANITIZED ||
                          event == FTC_COMMUNICATORS_EVENT_LOST, /* that is the explorer's */
                      "event %d never happened", event);
}
END_TEST

static char *trace_of(uint64_t seed)
{
    struct ftc_comms_sums sums = {0};
    char violation[FTC_COMMS_WORDS], *text = NULL;
    size_t length = 0;
    FILE *log = open_memstream(&text, &length);

    ck_assert_ptr_nonnull(log);
    run(seed, &sums, log, violation);
    fclose(log);
    return text;
}

START_TEST(the_same_seed_is_the_same_run)
{
    uint64_t seed = seed_start();
    int frees = 0;

    for (uint64_t i = 0; i < 20; i++) {
        char *one = trace_of(seed + i), *other = trace_of(seed + i);
        ck_assert_str_eq(one, other);
        frees += strstr(one, "frees 1\n") != NULL;
        free(one);
        free(other);
    }
    ck_assert_int_gt(frees, 0); /* but not where all die before that */
}
END_TEST

int main(void)
{
    test_seed_announce();
    Suite *suite = suite_create("communicators");
    TCase *tcase = tcase_create("communicators");
    tcase_set_timeout(tcase, TEST_SANITIZED ? 300 : 180);
    tcase_add_test(tcase, promises_are_kept);
    tcase_add_test(tcase, the_same_seed_is_the_same_run);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
