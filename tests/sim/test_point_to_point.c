/* Sends and receives keep their promises under deaths and revokes. The same seed is the same run.
 * Everything that can happen did happen. */
#include <stdlib.h>
#include <string.h>

#include "sim/point_to_point/messages.h"
#include "tests/random.h"
#include "tests/suite.h"

#define RUNS (TEST_SANITIZED ? 5000 : 50000)

static uint64_t seed_start(void)
{
    struct test_random random = test_random_start();
    return test_random_bits(&random) >> 16;
}

static bool run(uint64_t seed, struct ftc_messages_sums *sums, FILE *log,
                char violation[FTC_MESSAGES_WORDS])
{
    struct ftc_messages_story story;

    ftc_messages_draw(&story, seed);
    return ftc_messages_run(&story, sums, log, violation);
}

START_TEST(promises_are_kept)
{
    struct ftc_messages_sums sums = {0};
    char violation[FTC_MESSAGES_WORDS];
    uint64_t seed = seed_start();

    for (uint64_t i = 0; i < RUNS; i++)
        ck_assert_msg(run(seed + i, &sums, NULL, violation), "seed %llu: %s",
                      (unsigned long long)(seed + i), violation);
    /* Otherwise the runs tried nothing. */
    ck_assert_uint_gt(sums.deaths, sums.runs / 8);
    ck_assert_uint_gt(sums.revokes, sums.runs / 20);
    ck_assert_uint_gt(sums.received, 3 * sums.runs);
    ck_assert_uint_gt(sums.copied, sums.runs);
    ck_assert_uint_gt(sums.refused, sums.runs / 4);
    ck_assert_uint_gt(sums.failed, sums.runs / 4);
    ck_assert_uint_gt(sums.revoked, sums.runs / 4);
    ck_assert_uint_gt(sums.cancelled, sums.runs / 40);
    ck_assert_uint_gt(sums.withdrawn, sums.runs / 40);
    ck_assert_uint_gt(sums.kept, sums.runs / 20);
    ck_assert_uint_gt(sums.left, sums.runs / 8);
    ck_assert_uint_gt(sums.truncated, sums.runs / 4);
    ck_assert_uint_gt(sums.interrupted, sums.runs / 40);
    ck_assert_uint_gt(sums.matched, sums.runs / 4);
}
END_TEST

static char *trace_of(uint64_t seed)
{
    struct ftc_messages_sums sums = {0};
    char violation[FTC_MESSAGES_WORDS], *text = NULL;
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

    for (uint64_t i = 0; i < 20; i++) {
        char *one = trace_of(seed + i), *other = trace_of(seed + i);
        ck_assert_str_eq(one, other);
        ck_assert_ptr_nonnull(strstr(one, "starts"));
        free(one);
        free(other);
    }
}
END_TEST

int main(void)
{
    test_seed_announce();
    Suite *suite = suite_create("point_to_point");
    TCase *tcase = tcase_create("point_to_point");
    tcase_set_timeout(tcase, TEST_SANITIZED ? 300 : 60);
    tcase_add_test(tcase, promises_are_kept);
    tcase_add_test(tcase, the_same_seed_is_the_same_run);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
