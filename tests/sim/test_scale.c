/*
 * A large job fits into memory: one allreduce of 65,536 ranks with f = 3 takes at most 4 KiB per
 * rank. That is 4 GiB at 1,048,576 ranks. FTC_TEST_SCALE=1048576 runs that size.
 */
#include <stdlib.h>
#include <sys/resource.h>

#include "include/ftcoll.h"
#include "sim/timed/timed.h"
#include "tests/suite.h"

#define BYTES_PER_RANK 4096

static int ranks(void)
{
    const char *text = getenv("FTC_TEST_SCALE");

    return text != NULL ? atoi(text) : 65536;
}

static long resident_bytes(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss * 1024;
}

static void run(const char *operation, int kills, struct ftc_timed_result *result)
{
    struct ftc_member_settings members = {.ranks = ranks(),
                                          .f = 3,
                                          .reduce_arity = 2,
                                          .tree = {.tree = FTC_TREE_BINOMIAL, .arity = 2},
                                          .correction_delay_ns = 1000000,
                                          .settle_every = 16};
    struct ftc_timed_settings timed = {.bytes = 8,
                                       .kills = kills,
                                       .horizon_ns = 100000,
                                       .detect_ns = 600000,
                                       .jitter_ns = 500000,
                                       .seed = 1};
    struct ftc_program program = {0};

    ck_assert_int_eq(ftc_cost_parse(&timed.cost, "rdma"), 0);
    ck_assert_int_eq(ftc_program_parse(&program, operation, members.ranks), 0);
    ck_assert_msg(ftc_timed_run(&members, &program, &timed, NULL, result) == 0, "%s",
                  ftc_last_error());
    ck_assert_msg(result->violation[0] == '\0', "%s", result->violation);
    ck_assert_int_eq(result->operation[0].deliveries, members.ranks - kills);
    ftc_program_fini(&program);
}

START_TEST(a_large_allreduce_fits)
{
    struct ftc_timed_result result;
    uint64_t others = (uint64_t)ranks() - 1;

    run("allreduce", 0, &result);
    ck_assert_uint_eq(result.operation[0].sent[FTC_MESSAGE_UP],
                      (uint64_t)ftc_topology_up_messages(ranks(), 3));
    ck_assert_uint_le(result.operation[0].sent[FTC_MESSAGE_TREE], others);
    ck_assert_uint_eq(result.operation[0].sent[FTC_MESSAGE_DECIDE], others);
    ftc_timed_result_fini(&result);
    if (!TEST_SANITIZED)
        ck_assert_int_le(resident_bytes() / ranks(), BYTES_PER_RANK);
}
END_TEST

START_TEST(a_large_allreduce_with_deaths_fits)
{
    struct ftc_timed_result result;

    run("allreduce", 3, &result);
    ftc_timed_result_fini(&result);
    if (!TEST_SANITIZED)
        ck_assert_int_le(resident_bytes() / ranks(), BYTES_PER_RANK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scale");
    TCase *tcase = tcase_create("scale");

    tcase_add_test(tcase, a_large_allreduce_fits);
    tcase_add_test(tcase, a_large_allreduce_with_deaths_fits);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
