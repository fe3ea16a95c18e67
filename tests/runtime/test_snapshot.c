/* Tests the accessors of the validate family: what L and G show, and when they change. */
#include <check.h>
#include <stdlib.h>

#include "base/error.h"
#include "runtime/comm/snapshot.h"
#include "tests/suite.h"

static struct ftc_snapshot snapshot;
static struct ftc_set detector; /* the failures that the detector knows */
static ftc_rank_info infos[8];
static int count;

static void setup(void)
{
    ck_assert_int_eq(ftc_snapshot_init(&snapshot, 8), 0);
    ck_assert_int_eq(ftc_set_init(&detector, 8), 0);
}

static void teardown(void)
{
    ftc_snapshot_fini(&snapshot);
    ftc_set_fini(&detector);
}

static void dies(int rank)
{
    ftc_set_add(&detector, rank);
}

static int local(int types)
{
    return ftc_snapshot_states(&snapshot, false, types, 8, &count, infos);
}

static int global(int types)
{
    return ftc_snapshot_states(&snapshot, true, types, 8, &count, infos);
}

START_TEST(a_death_between_count_and_fetch_changes_nothing)
{
    dies(2);
    ftc_snapshot_local(&snapshot, &detector);
    ck_assert_int_eq(ftc_snapshot_states(&snapshot, false, FTC_RANK_FAILED, 0, &count, NULL), 0);
    ck_assert_int_eq(count, 1);
    dies(5);
    ck_assert_int_eq(ftc_snapshot_states(&snapshot, false, FTC_RANK_FAILED, count, &count, infos),
                     0);
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(infos[0].rank, 2);
    ck_assert_int_eq(infos[0].state, FTC_RANK_FAILED);
    ck_assert_int_eq(infos[0].generation, 0);
}
END_TEST

START_TEST(a_short_array_is_an_error_and_nothing_is_written)
{
    dies(1);
    dies(6);
    ftc_snapshot_local(&snapshot, &detector);
    infos[0].rank = -7;
    count = -7;
    ck_assert_int_eq(ftc_snapshot_states(&snapshot, false, FTC_RANK_FAILED, 1, &count, infos),
                     FTC_ERR_SIZE);
    ck_assert_int_eq(infos[0].rank, -7);
    ck_assert_int_eq(count, -7);
}
END_TEST

START_TEST(recognising_turns_failed_into_null_here_only)
{
    dies(1);
    dies(6);
    ftc_snapshot_local(&snapshot, &detector);
    int six = 6, both[] = {1, 3};
    ck_assert_int_eq(ftc_snapshot_recognize(&snapshot, 1, &six), 0);
    ck_assert_int_eq(local(FTC_RANK_NULL), 0);
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(infos[0].rank, 6);
    ck_assert_int_eq(ftc_snapshot_recognize(&snapshot, 2, both), FTC_ERR_ARG);
    ck_assert_int_eq(local(FTC_RANK_FAILED), 0);
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(infos[0].rank, 1);
}
END_TEST

START_TEST(new_is_what_came_since_the_validate_before_the_last)
{
    dies(1);
    ftc_snapshot_local(&snapshot, &detector);
    dies(4);
    ftc_snapshot_local(&snapshot, &detector);
    ck_assert_int_eq(local(FTC_RANK_FAILED | FTC_RANK_NEW), 0);
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(infos[0].rank, 4);
    ck_assert_int_eq(local(FTC_RANK_FAILED | FTC_RANK_OLD), 0);
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(infos[0].rank, 1);
    ck_assert_int_eq(local(FTC_RANK_FAILED | FTC_RANK_NEW | FTC_RANK_OLD), 0);
    ck_assert_int_eq(count, 2);
    ftc_snapshot_local(&snapshot, &detector);
    ck_assert_int_eq(local(FTC_RANK_FAILED | FTC_RANK_NEW), 0);
    ck_assert_int_eq(count, 0);
}
END_TEST

START_TEST(a_global_validate_sets_both_and_recognises_by_itself)
{
    dies(1);
    ftc_snapshot_global(&snapshot, &detector);
    dies(3);
    ck_assert_int_eq(global(FTC_RANK_NULL), 0);
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(local(FTC_RANK_NULL), 0);
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(global(FTC_RANK_OK), 0);
    ck_assert_int_eq(count, 7);
    ck_assert_int_eq(global(FTC_RANK_FAILED), 0);
    ck_assert_int_eq(count, 0);
    ftc_snapshot_global(&snapshot, &detector);
    ck_assert_int_eq(global(FTC_RANK_NULL | FTC_RANK_NEW), 0);
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(infos[0].rank, 3);
}
END_TEST

START_TEST(wrong_types_and_missing_outputs_are_refused)
{
    ck_assert_int_eq(local(0), FTC_ERR_ARG);
    ck_assert_int_eq(local(FTC_RANK_NEW), FTC_ERR_ARG);
    ck_assert_int_eq(local(1 << 9), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_snapshot_states(&snapshot, false, FTC_RANK_OK, 4, &count, NULL),
                     FTC_ERR_ARG);
    ck_assert_int_eq(ftc_snapshot_states(&snapshot, false, FTC_RANK_OK, -1, &count, infos),
                     FTC_ERR_ARG);
    ck_assert_int_eq(ftc_snapshot_states(&snapshot, false, FTC_RANK_OK, 4, NULL, infos),
                     FTC_ERR_ARG);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("snapshot");
    TCase *accessors = tcase_create("accessors");

    tcase_add_checked_fixture(accessors, setup, teardown);
    tcase_add_test(accessors, a_death_between_count_and_fetch_changes_nothing);
    tcase_add_test(accessors, a_short_array_is_an_error_and_nothing_is_written);
    tcase_add_test(accessors, recognising_turns_failed_into_null_here_only);
    tcase_add_test(accessors, new_is_what_came_since_the_validate_before_the_last);
    tcase_add_test(accessors, a_global_validate_sets_both_and_recognises_by_itself);
    tcase_add_test(accessors, wrong_types_and_missing_outputs_are_refused);
    suite_add_tcase(suite, accessors);
    return test_suite_run(suite);
}
