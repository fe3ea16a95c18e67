/* Collectives of large values keep their promises under deaths. The same seed is the same run.
 * Everything that can happen did happen. */
#include <stdlib.h>
#include <string.h>

#include "collectives/large/exchange.h"
#include "sim/large/large.h"
#include "tests/random.h"
#include "tests/suite.h"

#define RUNS (TEST_SANITIZED ? 3000 : 30000)

static uint64_t seed_start(void)
{
    struct test_random random = test_random_start();
    return test_random_bits(&random) >> 16;
}

static bool run(uint64_t seed, struct ftc_large_sums *sums, FILE *log,
                char violation[FTC_LARGE_SIM_WORDS])
{
    struct ftc_large_story story;

    ftc_large_draw(&story, seed);
    return ftc_large_run(&story, sums, log, violation);
}

START_TEST(promises_are_kept)
{
    struct ftc_large_sums sums = {0};
    char violation[FTC_LARGE_SIM_WORDS];
    uint64_t seed = seed_start();

    for (uint64_t i = 0; i < RUNS; i++)
        ck_assert_msg(run(seed + i, &sums, NULL, violation), "seed %llu: %s",
                      (unsigned long long)(seed + i), violation);
    /* Otherwise the runs tried nothing. */
    ck_assert_uint_gt(sums.deaths, sums.runs / 3);
    ck_assert_uint_gt(sums.committed, 2 * sums.runs);
    ck_assert_uint_gt(sums.again, sums.runs / 4);
    ck_assert_uint_gt(sums.fallbacks, sums.runs / 20);
    ck_assert_uint_gt(sums.early, sums.runs / 2);
    for (int kind = 0; kind < FTC_CALL_KINDS; kind++)
        if (ftc_large_exchange_exists(&(struct ftc_signature){.kind = (uint8_t)kind}))
            ck_assert_uint_gt(sums.results[kind], sums.runs / 10);
    ck_assert_uint_gt(sums.late, sums.runs / 100);
    ck_assert(sums.foreign > 0 || TEST_SANITIZED); /* one run of 2,300 has one */
}
END_TEST

/* Rank 2 dies while blocks are under way that it took out of the area of rank 3. Rank 3 uses its
 * area again before they arrive. */
START_TEST(a_dead_rank_lends_nothing)
{
    struct ftc_large_sums sums = {0};
    char violation[FTC_LARGE_SIM_WORDS];

    ck_assert_msg(run(49544086319788, &sums, NULL, violation), "%s", violation);
    ck_assert_uint_eq(sums.deaths, 1);
}
END_TEST

static char *trace_of(uint64_t seed)
{
    struct ftc_large_sums sums = {0};
    char violation[FTC_LARGE_SIM_WORDS], *text = NULL;
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
        ck_assert_ptr_nonnull(strstr(one, "returns from call 0"));
        free(one);
        free(other);
    }
}
END_TEST

int main(void)
{
    test_seed_announce();
    Suite *suite = suite_create("large");
    TCase *tcase = tcase_create("large");
    tcase_set_timeout(tcase, TEST_SANITIZED ? 300 : 60);
    tcase_add_test(tcase, promises_are_kept);
    tcase_add_test(tcase, a_dead_rank_lends_nothing);
    tcase_add_test(tcase, the_same_seed_is_the_same_run);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
