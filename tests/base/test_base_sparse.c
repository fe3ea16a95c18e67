/* Tables of many ranks of which few are used. */
#include <string.h>

#include "base/error.h"
#include "base/sparse.h"
#include "fail_alloc.h"
#include "tests/suite.h"

#define RANKS 65536

struct entry {
    uint64_t first, second, third;
};

static struct ftc_sparse table;

static void open_table(void)
{
    ck_assert_int_eq(ftc_sparse_init(&table, RANKS, sizeof(struct entry)), 0);
}

static void close_table(void)
{
    ftc_sparse_fini(&table);
}

static struct entry *made(int rank)
{
    struct entry *entry = ftc_sparse_make(&table, rank);

    ck_assert_ptr_nonnull(entry);
    return entry;
}

START_TEST(an_entry_is_there_once_it_is_used)
{
    static const struct entry none;

    for (int rank = 0; rank < RANKS; rank++)
        ck_assert_ptr_null(ftc_sparse_find(&table, rank));
    struct entry *entry = made(40000);
    ck_assert_int_eq(memcmp(entry, &none, sizeof(none)), 0);
    entry->second = 7;
    ck_assert_ptr_eq(ftc_sparse_find(&table, 40000), entry);
    ck_assert_ptr_eq(made(40000), entry);
    ck_assert_uint_eq(entry->second, 7);
    ck_assert_ptr_null(ftc_sparse_find(&table, 50000));
}
END_TEST

START_TEST(entries_lie_beside_each_other_and_stay_where_they_are)
{
    static struct entry *entries[RANKS];

    for (int rank = RANKS - 1; rank >= 0; rank--) {
        entries[rank] = made(rank);
        *entries[rank] = (struct entry){(uint64_t)rank, (uint64_t)rank, (uint64_t)rank};
    }
    for (int rank = 0; rank < RANKS; rank++) {
        ck_assert_ptr_eq(ftc_sparse_find(&table, rank), entries[rank]);
        ck_assert_uint_eq(entries[rank]->first, (uint64_t)rank);
        ck_assert_uint_eq(entries[rank]->third, (uint64_t)rank);
    }
}
END_TEST

/* Each rank that was used is visited, in ascending order, and no rank far from all of these. */
START_TEST(a_walk_visits_the_ranks_that_are_used)
{
    static const int used[] = {3, 64, 4095, 4096, 65535};
    size_t met = 0;
    int visits = 0;

    ck_assert_int_eq(ftc_sparse_next(&table, 0), -1);
    for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++)
        made(used[i])->first = 1;
    for (int rank = ftc_sparse_next(&table, 0); rank >= 0;
         rank = ftc_sparse_next(&table, rank + 1)) {
        struct entry *entry = ftc_sparse_find(&table, rank);
        ck_assert_ptr_nonnull(entry);
        visits++;
        if (entry->first != 0)
            ck_assert_int_eq(rank, used[met++]);
    }
    ck_assert_uint_eq(met, sizeof(used) / sizeof(used[0]));
    ck_assert_int_eq(visits, 5 * (int)FTC_SPARSE_CHUNK);
    ck_assert_int_eq(ftc_sparse_next(&table, RANKS), -1);
}
END_TEST

/* The last chunk may be short; so may be the only one. */
START_TEST(any_number_of_ranks_goes)
{
    static const int sizes[] = {1, 2, 63, 64, 65, 127, 128, 1000};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct ftc_sparse some;
        ck_assert_int_eq(ftc_sparse_init(&some, sizes[i], 1), 0);
        for (int rank = sizes[i] - 1; rank >= 0; rank--)
            *(char *)ftc_sparse_make(&some, rank) = 1;
        int visits = 0;
        for (int rank = ftc_sparse_next(&some, 0); rank >= 0;
             rank = ftc_sparse_next(&some, rank + 1))
            visits += *(char *)ftc_sparse_find(&some, rank);
        ck_assert_int_eq(visits, sizes[i]);
        ftc_sparse_fini(&some);
    }
}
END_TEST

START_TEST(a_pointer_is_null_until_it_is_set)
{
    struct ftc_sparse pointers;
    int here, there;

    ck_assert_int_eq(ftc_sparse_init(&pointers, RANKS, sizeof(void *)), 0);
    ck_assert_ptr_null(ftc_sparse_pointer(&pointers, 100));
    ck_assert_int_eq(ftc_sparse_set_pointer(&pointers, 100, &here), 0);
    ck_assert_int_eq(ftc_sparse_set_pointer(&pointers, 65535, &there), 0);
    ck_assert_ptr_eq(ftc_sparse_pointer(&pointers, 100), &here);
    ck_assert_ptr_eq(ftc_sparse_pointer(&pointers, 65535), &there);
    ck_assert_ptr_null(ftc_sparse_pointer(&pointers, 101)); /* of the same chunk */
    ck_assert_int_eq(ftc_sparse_next_pointer(&pointers, 0), 100);
    ck_assert_int_eq(ftc_sparse_next_pointer(&pointers, 101), 65535);
    ck_assert_int_eq(ftc_sparse_next_pointer(&pointers, 65536), -1);
    ftc_sparse_fini(&pointers);
}
END_TEST

START_TEST(a_lack_of_memory_is_told_and_leaves_the_table_sound)
{
    struct ftc_sparse pointers;
    int here;

    fail_alloc_at(0);
    ck_assert_int_eq(ftc_sparse_init(&pointers, RANKS, sizeof(void *)), FTC_ERR_NOMEM);
    ck_assert(fail_alloc_stop());
    ftc_sparse_fini(&pointers);
    ck_assert_int_eq(ftc_sparse_init(&pointers, RANKS, sizeof(void *)), 0);
    fail_alloc_at(0);
    ck_assert_int_eq(ftc_sparse_set_pointer(&pointers, 9, &here), FTC_ERR_NOMEM);
    ck_assert(fail_alloc_stop());
    ck_assert_ptr_null(ftc_sparse_pointer(&pointers, 9));
    ck_assert_int_eq(ftc_sparse_set_pointer(&pointers, 9, &here), 0);
    ck_assert_ptr_eq(ftc_sparse_pointer(&pointers, 9), &here);
    fail_alloc_at(0);
    ck_assert_ptr_null(ftc_sparse_make(&table, 9));
    ck_assert(fail_alloc_stop());
    ck_assert_int_eq(ftc_sparse_next(&table, 0), -1);
    ftc_sparse_fini(&pointers);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base: sparse tables");
    TCase *tcase = tcase_create("sparse");

    tcase_add_checked_fixture(tcase, open_table, close_table);
    tcase_add_test(tcase, an_entry_is_there_once_it_is_used);
    tcase_add_test(tcase, entries_lie_beside_each_other_and_stay_where_they_are);
    tcase_add_test(tcase, a_walk_visits_the_ranks_that_are_used);
    tcase_add_test(tcase, any_number_of_ranks_goes);
    tcase_add_test(tcase, a_pointer_is_null_until_it_is_set);
    tcase_add_test(tcase, a_lack_of_memory_is_told_and_leaves_the_table_sound);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
