/* How long a rank dozes that waits for the broadcasts of a row (docs/design/nodes.md, "Rows of
 * broadcasts"). */
#include "runtime/algorithms/doze.h"

#include "tests/suite.h"

enum { FIRST_US = 100, EACH_US = 60, MOST_US = 500, PAUSE = 8, ROOT = 3, OTHER = 4, NONE = -1 };

/* Calls so many broadcasts of `root` and delivers them, without a wait. */
static void deliver(struct ftc_doze *doze, int root, int count)
{
    for (int i = 0; i < count; i++) {
        ftc_doze_called(doze, root);
        ftc_doze_delivered(doze);
    }
}

/* Calls one more, and has to wait for it. Returns us. */
static int wait_for(struct ftc_doze *doze, int root)
{
    ftc_doze_called(doze, root);
    return (int)(ftc_doze_take(doze) / 1000);
}

START_TEST(only_a_row_of_one_root_lets_a_rank_doze)
{
    struct ftc_doze doze = FTC_DOZE_INIT;

    ck_assert_int_eq(wait_for(&doze, ROOT), 0);
    ck_assert_int_eq(wait_for(&doze, OTHER), 0);
    ck_assert_int_eq(wait_for(&doze, NONE), 0);
    ck_assert_int_eq(wait_for(&doze, NONE), 0);
    ck_assert_int_eq(wait_for(&doze, ROOT), 0);
    ck_assert_int_eq(wait_for(&doze, ROOT), FIRST_US);
}
END_TEST

START_TEST(a_doze_is_as_long_as_the_last_one_was_worth)
{
    struct ftc_doze doze = FTC_DOZE_INIT;

    deliver(&doze, ROOT, 1);
    ck_assert_int_eq(wait_for(&doze, ROOT), FIRST_US);
    ftc_doze_delivered(&doze);
    deliver(&doze, ROOT, 4);
    ck_assert_int_eq(wait_for(&doze, ROOT), 5 * EACH_US);
    ftc_doze_delivered(&doze);
    deliver(&doze, ROOT, 40);
    ck_assert_int_eq(wait_for(&doze, ROOT), MOST_US);
}
END_TEST

START_TEST(a_rank_dozes_once_for_a_broadcast)
{
    struct ftc_doze doze = FTC_DOZE_INIT;

    deliver(&doze, ROOT, 1);
    ck_assert_int_eq(wait_for(&doze, ROOT), FIRST_US);
    ck_assert_int_eq((int)ftc_doze_take(&doze), 0);
}
END_TEST

START_TEST(after_a_doze_that_was_not_worth_it_there_is_none_for_long)
{
    struct ftc_doze doze = FTC_DOZE_INIT;
    bool ends = _i == 1; /* another call comes in between, and ends the row */

    deliver(&doze, ROOT, 1);
    ck_assert_int_eq(wait_for(&doze, ROOT), FIRST_US);
    ftc_doze_delivered(&doze);
    for (int i = ends ? 1 : 0; i < PAUSE; i++) {
        if (ends && i == 1)
            deliver(&doze, NONE, 1);
        ck_assert_int_eq(wait_for(&doze, ROOT), 0);
        ftc_doze_delivered(&doze);
    }
    ck_assert_int_eq(wait_for(&doze, ROOT), FIRST_US);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("doze");
    TCase *rows = tcase_create("rows");

    tcase_add_test(rows, only_a_row_of_one_root_lets_a_rank_doze);
    tcase_add_test(rows, a_doze_is_as_long_as_the_last_one_was_worth);
    tcase_add_test(rows, a_rank_dozes_once_for_a_broadcast);
    tcase_add_loop_test(rows, after_a_doze_that_was_not_worth_it_there_is_none_for_long, 0, 2);
    suite_add_tcase(suite, rows);
    return test_suite_run(suite);
}
