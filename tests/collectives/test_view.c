/* Views: conversion between ranks and positions, for random sets of members. */
#include <stdlib.h>

#include "collectives/agreement/view.h"
#include "tests/random.h"
#include "tests/suite.h"

/* Returns a set of random size with a random share of members, at least one. */
static struct ftc_set random_set(struct test_random *random)
{
    struct ftc_set set;
    int size = (int)test_random_between(random, 1, 300),
        percent = (int)test_random_between(random, 0, 100);

    ck_assert_int_eq(ftc_set_init(&set, size), 0);
    for (int rank = 0; rank < size; rank++)
        if (test_random_chance(random, percent))
            ftc_set_add(&set, rank);
    ftc_set_add(&set, (int)test_random_between(random, 0, size - 1));
    return set;
}

static struct ftc_view *view_of(int size, int count, const int ranks[])
{
    struct ftc_set set;

    ck_assert_int_eq(ftc_set_init(&set, size), 0);
    for (int i = 0; i < count; i++)
        ftc_set_add(&set, ranks[i]);
    struct ftc_view *view = ftc_view_new(&set);
    ck_assert_ptr_nonnull(view);
    ftc_set_fini(&set); /* the view has its own copy */
    return view;
}

START_TEST(positions_count_cyclically_from_zero)
{
    struct ftc_view *view = view_of(8, 4, (int[]){1, 2, 5, 7});

    ck_assert_int_eq(view->size, 4);
    ck_assert_int_eq(ftc_view_position(view, 5, 5), 0);
    ck_assert_int_eq(ftc_view_position(view, 5, 7), 1);
    ck_assert_int_eq(ftc_view_position(view, 5, 1), 2);
    ck_assert_int_eq(ftc_view_position(view, 5, 2), 3);
    ck_assert_int_eq(ftc_view_rank(view, 5, 2), 1);
    ck_assert_int_eq(ftc_view_rank(view, 1, 3), 7);
    ftc_view_unref(view);
}
END_TEST

START_TEST(strangers_have_no_position)
{
    struct ftc_view *view = view_of(8, 2, (int[]){1, 2});

    ck_assert_int_eq(ftc_view_position(view, 1, 0), -1);
    ck_assert_int_eq(ftc_view_position(view, 1, 7), -1);
    ck_assert_int_eq(ftc_view_position(view, 1, 8), -1);
    ck_assert_int_eq(ftc_view_position(view, 1, -1), -1);
    ck_assert_int_eq(ftc_view_position(view, 1, INT32_MAX), -1);
    ftc_view_unref(view);
}
END_TEST

START_TEST(a_view_may_be_empty)
{
    struct ftc_view *view = view_of(3, 0, NULL);

    ck_assert_int_eq(view->size, 0);
    for (int rank = 0; rank < 3; rank++)
        ck_assert_int_eq(ftc_view_index(view, rank), -1);
    ftc_view_unref(view);
}
END_TEST

START_TEST(a_view_lives_until_its_last_reference)
{
    struct ftc_view *view = view_of(3, 1, (int[]){2});

    ck_assert_ptr_eq(ftc_view_ref(view), view);
    ftc_view_unref(view);
    ck_assert_int_eq(view->references, 1);
    ck_assert_int_eq(ftc_view_rank(view, 2, 0), 2);
    ftc_view_unref(view);
    ftc_view_unref(NULL);
}
END_TEST

/* From every zero, positions and ranks are the inverse of each other, and the positions go round
 * the ranks in ascending order once. */
static void check_from(const struct ftc_view *view, int zero)
{
    int previous = zero, wraps = 0;

    for (int position = 0; position < view->size; position++) {
        int rank = ftc_view_rank(view, zero, position);
        if (!ftc_set_has(&view->set, rank) || ftc_view_position(view, zero, rank) != position)
            ck_abort_msg("from %d: position %d is rank %d", zero, position, rank);
        wraps += rank < previous;
        previous = rank;
    }
    ck_assert_int_eq(ftc_view_rank(view, zero, 0), zero);
    ck_assert_int_le(wraps, 1);
}

START_TEST(positions_and_ranks_are_inverse_for_random_sets)
{
    struct test_random random = test_random_start();

    for (int round = 0; round < 100; round++) {
        struct ftc_set set = random_set(&random);
        struct ftc_view *view = ftc_view_new(&set);
        ck_assert_ptr_nonnull(view);
        ck_assert(ftc_set_equal(&view->set, &set));
        ck_assert_int_eq(view->size, ftc_set_count(&set));
        for (int rank = 0; rank < set.size; rank++)
            if (ftc_set_has(&set, rank))
                check_from(view, rank);
            else
                ck_assert_int_eq(ftc_view_position(view, ftc_view_member(view, 0), rank), -1);
        ftc_view_unref(view);
        ftc_set_fini(&set);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("view");
    tcase_add_test(tc, positions_count_cyclically_from_zero);
    tcase_add_test(tc, strangers_have_no_position);
    tcase_add_test(tc, a_view_may_be_empty);
    tcase_add_test(tc, a_view_lives_until_its_last_reference);
    tcase_add_test(tc, positions_and_ranks_are_inverse_for_random_sets);
    tcase_set_timeout(tc, 300);
    Suite *suite = suite_create("view");
    suite_add_tcase(suite, tc);

    test_seed_announce();
    return test_suite_run(suite);
}
