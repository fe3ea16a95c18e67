/* A program started without a launcher is a job of one rank. The whole API works, and wrong
 * arguments are refused. */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ftcoll.h"
#include "tests/suite.h"

static ftc_comm *world;

static void setup(void)
{
    unsetenv("PMIX_NAMESPACE");
    ck_assert_int_eq(ftc_init(NULL, &world), FTC_SUCCESS);
}

static void teardown(void)
{
    ck_assert_int_eq(ftc_finalize(world), FTC_SUCCESS);
}

START_TEST(one_rank_gets_its_own_input_from_everything)
{
    double in[3] = {1.5, -2, 1e300}, out[3] = {0};
    int failed = -1;

    ck_assert_int_eq(ftc_rank(world), 0);
    ck_assert_int_eq(ftc_size(world), 1);
    ck_assert_int_eq(ftc_allreduce(in, out, 3, FTC_DOUBLE, FTC_SUM, world), FTC_SUCCESS);
    ck_assert_mem_eq(in, out, sizeof(in));
    memset(out, 0, sizeof(out));
    ck_assert_int_eq(ftc_reduce(in, out, 3, FTC_DOUBLE, FTC_MAX, 0, world), FTC_SUCCESS);
    ck_assert_mem_eq(in, out, sizeof(in));
    ck_assert_int_eq(ftc_allreduce(FTC_IN_PLACE, out, 3, FTC_DOUBLE, FTC_MIN, world), FTC_SUCCESS);
    ck_assert_mem_eq(in, out, sizeof(in));
    ck_assert_int_eq(ftc_bcast(in, 3, FTC_DOUBLE, 0, world), FTC_SUCCESS);
    ck_assert_int_eq(ftc_barrier(world), FTC_SUCCESS);
    ck_assert_int_eq(ftc_validate_local(world, &failed), FTC_SUCCESS);
    ck_assert_int_eq(failed, 0);
    ck_assert_int_eq(ftc_validate_global(world, &failed), FTC_SUCCESS);
    ck_assert_int_eq(failed, 0);
}
END_TEST

START_TEST(no_elements_are_fine)
{
    ck_assert_int_eq(ftc_allreduce(NULL, NULL, 0, FTC_INT8, FTC_SUM, world), FTC_SUCCESS);
    ck_assert_int_eq(ftc_reduce(NULL, NULL, 0, FTC_INT8, FTC_SUM, 0, world), FTC_SUCCESS);
    ck_assert_int_eq(ftc_bcast(NULL, 0, FTC_INT8, 0, world), FTC_SUCCESS);
}
END_TEST

START_TEST(the_report_says_what_ran)
{
    ftc_report report = {.struct_size = sizeof(report), .ballots = 99};

    ck_assert_int_eq(ftc_barrier(world), FTC_SUCCESS);
    ck_assert_int_eq(ftc_last_report(world, &report), FTC_SUCCESS);
    ck_assert_int_eq(report.failed_count, 0);
    ck_assert_uint_eq(report.ballots, 1);
    ck_assert_uint_eq(report.retries, 0);
    ck_assert_str_eq(report.algorithm, "self");
    ck_assert_int_eq(report.f, 0);
    ck_assert_ptr_null(report.dissemination);
}
END_TEST

START_TEST(an_older_shorter_report_is_filled_no_further)
{
    ftc_report report = {.struct_size = offsetof(ftc_report, ballots), .ballots = 99};

    ck_assert_int_eq(ftc_barrier(world), FTC_SUCCESS);
    ck_assert_int_eq(ftc_last_report(world, &report), FTC_SUCCESS);
    ck_assert_uint_eq(report.ballots, 99);
}
END_TEST

static void refused(int rc, int code, const char *part)
{
    ck_assert_int_eq(rc, code);
    ck_assert_msg(strstr(ftc_last_error(), part) != NULL, "\"%s\" is not in \"%s\"", part,
                  ftc_last_error());
}

START_TEST(wrong_arguments_are_refused_with_a_reason)
{
    double in[2] = {0}, out[2] = {0};
    int failed;

    refused(ftc_init(NULL, NULL), FTC_ERR_ARG, "world");
    refused(ftc_allreduce(in, out, 2, FTC_DOUBLE, FTC_SUM, NULL), FTC_ERR_ARG, "communicator");
    refused(ftc_allreduce(NULL, out, 2, FTC_DOUBLE, FTC_SUM, world), FTC_ERR_ARG, "send");
    refused(ftc_allreduce(in, NULL, 2, FTC_DOUBLE, FTC_SUM, world), FTC_ERR_ARG, "recv");
    refused(ftc_allreduce(in, out, 2, (ftc_type)77, FTC_SUM, world), FTC_ERR_ARG, "type");
    refused(ftc_allreduce(in, out, 2, FTC_DOUBLE, NULL, world), FTC_ERR_ARG, "operator");
    refused(ftc_allreduce(in, out, 2, FTC_DOUBLE, FTC_BAND, world), FTC_ERR_TYPE, "band");
    refused(ftc_allreduce(in, out, SIZE_MAX / 8, FTC_DOUBLE, FTC_SUM, world), FTC_ERR_ARG,
            "memory");
    refused(ftc_reduce(in, out, 2, FTC_DOUBLE, FTC_SUM, 1, world), FTC_ERR_ARG, "root");
    refused(ftc_reduce(in, out, 2, FTC_DOUBLE, FTC_SUM, INT_MIN, world), FTC_ERR_ARG, "root");
    refused(ftc_bcast(NULL, 2, FTC_DOUBLE, 0, world), FTC_ERR_ARG, "buffer");
    refused(ftc_validate_local(world, NULL), FTC_ERR_ARG, "output");
    refused(ftc_validate_global(NULL, &failed), FTC_ERR_ARG, "communicator");
    refused(ftc_recognize(world, 1, &(int){0}), FTC_ERR_ARG, "rank 0");
    ck_assert_int_eq(ftc_rank(NULL), FTC_ERR_ARG);
}
END_TEST

/* Adds, and counts how often it was called. */
static void add(const void *in, void *inout, size_t count, ftc_type type, void *arg)
{
    ck_assert_int_eq(type, FTC_INT32);
    for (size_t i = 0; i < count; i++)
        ((int32_t *)inout)[i] += ((const int32_t *)in)[i];
    ++*(int *)arg;
}

START_TEST(user_defined_operators_are_made_used_and_freed)
{
    int32_t in = 5, out = 0;
    int calls = 0;
    ftc_op op = NULL, sum = FTC_SUM, mean = FTC_AVG;

    refused(ftc_op_create(NULL, NULL, &op), FTC_ERR_ARG, "function");
    ck_assert_int_eq(ftc_op_create(add, &calls, &op), FTC_SUCCESS);
    ck_assert_int_eq(ftc_allreduce(&in, &out, 1, FTC_INT32, op, world), FTC_SUCCESS);
    ck_assert_int_eq(out, 5);
    ck_assert_int_eq(ftc_op_free(&op), FTC_SUCCESS);
    ck_assert_ptr_null(op);
    refused(ftc_op_free(&op), FTC_ERR_ARG, "operator");
    refused(ftc_op_free(&sum), FTC_ERR_ARG, "operator");
    refused(ftc_op_free(&mean), FTC_ERR_ARG, "operator");
}
END_TEST

START_TEST(errors_have_words)
{
    ck_assert_str_eq(ftc_strerror(FTC_ERR_ROOT_FAILED),
                     "the root of the broadcast or scatter failed");
    ck_assert_ptr_nonnull(ftc_strerror(-9999));
    ck_assert_str_eq(ftc_version(), "0.1.0");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("a job of one");
    TCase *single = tcase_create("single");

    tcase_add_checked_fixture(single, setup, teardown);
    tcase_add_test(single, one_rank_gets_its_own_input_from_everything);
    tcase_add_test(single, no_elements_are_fine);
    tcase_add_test(single, the_report_says_what_ran);
    tcase_add_test(single, an_older_shorter_report_is_filled_no_further);
    tcase_add_test(single, wrong_arguments_are_refused_with_a_reason);
    tcase_add_test(single, user_defined_operators_are_made_used_and_freed);
    tcase_add_test(single, errors_have_words);
    suite_add_tcase(suite, single);
    return test_suite_run(suite);
}
