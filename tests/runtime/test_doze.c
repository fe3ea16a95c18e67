/* How long a rank dozes that waits for the broadcasts of a row (docs/design/nodes.md, "Rows of
 * broadcasts"). */
#include "runtime/algorithms/doze.h"

#include "tests/suite.h"

enum {
    FIRST_US = 200,
    EACH_US = 60,
    MOST_US = 500,
    TRIES = 3,
    PAUSE = 32,
    ROOT = 3,
    OTHER = 4,
    NONE = -1
};

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

/* Dozes as often as it may while no doze is worth it, for one broadcast each or all for one. */
static void doze_in_vain(struct ftc_doze *doze, bool for_one)
{
    deliver(doze, ROOT, 1);
    for (int i = 0; i < TRIES; i++) {
        if (i == 0 || !for_one)
            ftc_doze_called(doze, ROOT);
        ck_assert_int_eq((int)(ftc_doze_take(doze) / 1000), FIRST_US);
        if (!for_one)
            ftc_doze_delivered(doze);
    }
    if (for_one) {
        ck_assert_int_eq((int)ftc_doze_take(doze), 0);
        ftc_doze_delivered(doze);
    }
}

START_TEST(after_dozes_that_were_not_worth_it_there_is_none_for_long)
{
    struct ftc_doze doze = FTC_DOZE_INIT;
    bool for_one = _i == 1;

    doze_in_vain(&doze, for_one);
    for (int i = for_one ? 1 : 0; i < PAUSE; i++) {
        ck_assert_int_eq(wait_for(&doze, ROOT), 0);
        ftc_doze_delivered(&doze);
    }
    ck_assert_int_eq(wait_for(&doze, ROOT), FIRST_US);
}
END_TEST

START_TEST(rows_that_end_after_one_broadcast_are_not_worth_it_either)
{
    struct ftc_doze doze = FTC_DOZE_INIT;

    for (int i = 0; i < TRIES; i++) {
        deliver(&doze, NONE, 1);
        deliver(&doze, ROOT, 1);
        ck_assert_int_eq(wait_for(&doze, ROOT), FIRST_US);
        ftc_doze_delivered(&doze);
    }
    deliver(&doze, NONE, 1);
    deliver(&doze, ROOT, 1);
    ck_assert_int_eq(wait_for(&doze, ROOT), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("doze");
    TCase *rows = tcase_create("rows");

    tcase_add_test(rows, only_a_row_of_one_root_lets_a_rank_doze);
    tcase_add_test(rows, a_doze_is_as_long_as_the_last_one_was_worth);
    tcase_add_loop_test(rows, after_dozes_that_were_not_worth_it_there_is_none_for_long, 0, 2);
    tcase_add_test(rows, rows_that_end_after_one_broadcast_are_not_worth_it_either);
    suite_add_tcase(suite, rows);
    return test_suite_run(suite);
}
