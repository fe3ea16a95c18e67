/* Tests the memory of an exploration: hashes of states, queues of messages, things that have a
 * number. */
#include "base/mix.h"
#include "include/ftcoll.h"
#include "sim/explore/channel.h"
#include "sim/explore/table.h"
#include "sim/explore/visited.h"
#include "tests/suite.h"

#define MANY 300000u

START_TEST(each_hash_is_fresh_once)
{
    struct ftc_visited visited;
    bool fresh;

    ck_assert_int_eq(ftc_visited_init(&visited, SIZE_MAX), FTC_SUCCESS);
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < MANY; i++) {
            ck_assert_int_eq(ftc_visited_add(&visited, ftc_mix(i), &fresh), FTC_SUCCESS);
            ck_assert_int_eq(fresh, round == 0);
        }
    }
    ck_assert_uint_eq(visited.count, MANY);
    /* The table is half full or fuller. */
    ck_assert_uint_le(visited.bytes, (size_t)MANY * 16 + (1 << 20));
    ftc_visited_fini(&visited);
}
END_TEST

START_TEST(the_hash_zero_is_like_any_other)
{
    struct ftc_visited visited;
    bool fresh;

    ck_assert_int_eq(ftc_visited_init(&visited, SIZE_MAX), FTC_SUCCESS);
    ck_assert_int_eq(ftc_visited_add(&visited, 0, &fresh), FTC_SUCCESS);
    ck_assert(fresh);
    ck_assert_int_eq(ftc_visited_add(&visited, 0, &fresh), FTC_SUCCESS);
    ck_assert(!fresh);
    ftc_visited_fini(&visited);
}
END_TEST

START_TEST(a_full_set_says_so_and_keeps_what_it_has)
{
    struct ftc_visited visited;
    bool fresh;
    uint64_t added = 0;

    ck_assert_int_eq(ftc_visited_init(&visited, (size_t)3 << 20), FTC_SUCCESS);
    while (ftc_visited_add(&visited, ftc_mix(added), &fresh) == FTC_SUCCESS)
        added++;
    ck_assert_uint_gt(added, 100000);
    ck_assert_uint_eq(visited.count, added);
    ck_assert_uint_le(visited.bytes, (size_t)3 << 20);
    for (uint64_t i = 0; i < added; i++) {
        ck_assert_int_eq(ftc_visited_add(&visited, ftc_mix(i), &fresh), FTC_SUCCESS);
        ck_assert(!fresh);
    }
    ftc_visited_fini(&visited);
}
END_TEST

START_TEST(equal_queues_have_one_number_however_they_came_about)
{
    struct ftc_channels channels;
    uint32_t a = 0, b = 0;

    ck_assert_int_eq(ftc_channels_init(&channels), FTC_SUCCESS);
    for (uint32_t message = 10; message < 14; message++)
        ck_assert_int_eq(ftc_channels_append(&channels, &a, message), FTC_SUCCESS);
    for (uint32_t message = 12; message < 14; message++)
        ck_assert_int_eq(ftc_channels_append(&channels, &b, message), FTC_SUCCESS);
    ck_assert_uint_eq(channels.queue[a].head, 10);
    a = channels.queue[channels.queue[a].rest].rest; /* messages 10 and 11 arrive */
    ck_assert_uint_eq(a, b);
    ck_assert_uint_eq(channels.queue[a].head, 12);
    ck_assert_uint_eq(channels.queue[channels.queue[a].rest].head, 13);
    ck_assert_uint_eq(channels.queue[channels.queue[a].rest].rest, 0);
    ftc_channels_fini(&channels);
}
END_TEST

START_TEST(a_table_finds_what_was_put_and_nothing_else)
{
    struct ftc_table table = {0};

    ck_assert_uint_eq(ftc_table_get(&table, 7), FTC_TABLE_NONE);
    for (uint32_t i = 0; i < MANY; i++)
        ck_assert_int_eq(ftc_table_put(&table, (uint64_t)i << 32 | (i & 3), i), FTC_SUCCESS);
    for (uint32_t i = 0; i < MANY; i++) {
        ck_assert_uint_eq(ftc_table_get(&table, (uint64_t)i << 32 | (i & 3)), i);
        ck_assert_uint_eq(ftc_table_get(&table, (uint64_t)i << 32 | 4), FTC_TABLE_NONE);
    }
    ck_assert_int_eq(ftc_table_put(&table, 0, 42), FTC_SUCCESS);
    ck_assert_uint_eq(ftc_table_get(&table, 0), 42);
    ck_assert_uint_eq(table.count, MANY);
    ftc_table_fini(&table);
}
END_TEST

START_TEST(things_that_share_half_a_digest_have_numbers_of_their_own)
{
    struct ftc_intern intern = {0};
    uint32_t number;
    bool fresh;

    for (uint64_t high = 0; high < 3; high++) {
        ck_assert_int_eq(ftc_intern_number(&intern, (struct ftc_digest){5, high}, &number, &fresh),
                         FTC_SUCCESS);
        ck_assert(fresh);
        ck_assert_uint_eq(number, high);
    }
    ck_assert_int_eq(ftc_intern_number(&intern, (struct ftc_digest){5, 1}, &number, &fresh),
                     FTC_SUCCESS);
    ck_assert(!fresh);
    ck_assert_uint_eq(number, 1);
    ftc_intern_fini(&intern);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("explore_store");
    TCase *tcase = tcase_create("store");

    tcase_add_test(tcase, each_hash_is_fresh_once);
    tcase_add_test(tcase, the_hash_zero_is_like_any_other);
    tcase_add_test(tcase, a_full_set_says_so_and_keeps_what_it_has);
    tcase_add_test(tcase, equal_queues_have_one_number_however_they_came_about);
    tcase_add_test(tcase, a_table_finds_what_was_put_and_nothing_else);
    tcase_add_test(tcase, things_that_share_half_a_digest_have_numbers_of_their_own);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
