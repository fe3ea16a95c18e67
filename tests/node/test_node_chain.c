/* Tests who waits for whom in the end, and which cycles of waiting are deadlocks. */
#include "node/segment/chain.h"

#include <stdio.h>
#include <string.h>

#include "collectives/agreement/member.h"
#include "collectives/communicators/number.h"
#include "node/segment/history.h"
#include "tests/suite.h"

#define RANKS   12
#define NOBODY  (-1)
#define WORLD   1
#define ROWS    (UINT64_C(7) << FTC_COMMUNICATOR_MAKER_BITS)
#define COLUMNS (UINT64_C(8) << FTC_COMMUNICATOR_MAKER_BITS)

static struct ftc_chain_link links[RANKS];

/* At first every rank is outside the library. */
static void setup(void)
{
    memset(links, 0, sizeof(links));
    for (int i = 0; i < RANKS; i++)
        links[i].next = NOBODY;
}

static void wait_in(int rank, uint64_t communicator, int next, bool stands)
{
    links[rank].next = next;
    links[rank].stands = stands;
    links[rank].communicator = communicator;
    strcpy(links[rank].name, communicator == ROWS      ? "rows"
                             : communicator == COLUMNS ? "columns"
                                                       : "world");
}

static int deadlocks(void)
{
    int count = 0;
    ftc_chain_follow(links, RANKS);
    for (int i = 0; i < RANKS; i++)
        count += links[i].deadlock;
    return count;
}

START_TEST(a_chain_ends_at_the_rank_that_waits_for_none)
{
    wait_in(0, WORLD, 1, false);
    wait_in(1, WORLD, 2, false);
    ck_assert_int_eq(deadlocks(), 0);
    ck_assert_int_eq(links[0].end, 2);
    ck_assert_int_eq(links[1].end, 2);
    ck_assert_int_eq(links[2].end, NOBODY);
    ck_assert_int_eq(links[2].waiters, 2);
}
END_TEST

START_TEST(a_cycle_in_one_communicator_is_a_moment_of_it)
{
    wait_in(0, ROWS, 2, true);
    wait_in(1, ROWS, 2, true);
    wait_in(2, ROWS, 1, true);
    ck_assert_int_eq(deadlocks(), 0);
    ck_assert_int_eq(links[0].end, 1);
    ck_assert_int_eq(links[1].cycle, 2);
    ck_assert_int_eq(links[1].waiters, 3);
}
END_TEST

START_TEST(ranks_that_wait_for_each_other_in_two_communicators_are_a_deadlock)
{
    char text[FTC_CHAIN_TEXT];
    wait_in(3, ROWS, 5, true);
    wait_in(5, COLUMNS, 3, true);
    wait_in(0, WORLD, 5, true);
    ck_assert_int_eq(deadlocks(), 1);
    ck_assert(links[3].deadlock);
    ck_assert_int_eq(links[0].end, 3);
    ck_assert_str_eq(ftc_chain_words(links, 3, text),
                     "ranks 3 and 5 wait for each other: rank 3 in rows for rank 5, rank 5 in "
                     "columns for rank 3");
}
END_TEST

START_TEST(a_longer_cycle_is_one_too)
{
    char text[FTC_CHAIN_TEXT];
    wait_in(1, ROWS, 4, true);
    wait_in(4, ROWS, 2, true);
    wait_in(2, WORLD, 1, true);
    ck_assert_int_eq(deadlocks(), 1);
    ck_assert_str_eq(ftc_chain_words(links, 1, text),
                     "ranks 1, 4 and 2 wait for each other: rank 1 in rows for rank 4, rank 4 in "
                     "rows for rank 2, rank 2 in world for rank 1");
}
END_TEST

/* _i is the rank whose wait has moved between the two looks. */
START_TEST(a_cycle_of_which_one_wait_has_moved_is_none)
{
    for (int i = 0; i < 3; i++)
        wait_in(i, i == 2 ? COLUMNS : ROWS, (i + 1) % 3, i != _i);
    ck_assert_int_eq(deadlocks(), 0);
}
END_TEST

START_TEST(a_wait_for_a_rank_that_computes_is_no_cycle)
{
    wait_in(3, ROWS, 5, true);
    wait_in(4, COLUMNS, 3, true);
    ck_assert_int_eq(deadlocks(), 0);
    ck_assert_int_eq(links[4].end, 5);
}
END_TEST

START_TEST(a_wait_for_a_rank_in_another_communicator_counts_only_if_it_stands)
{
    wait_in(3, ROWS, 5, false);
    wait_in(5, COLUMNS, 6, true);
    ck_assert_int_eq(deadlocks(), 0);
    ck_assert_int_eq(links[3].end, NOBODY);
    wait_in(3, ROWS, 5, true);
    ck_assert_int_eq(deadlocks(), 0);
    ck_assert_int_eq(links[3].end, 6);
}
END_TEST

START_TEST(a_link_to_nowhere_or_to_itself_does_not_count)
{
    wait_in(0, ROWS, RANKS, true);
    wait_in(1, ROWS, 1, true);
    wait_in(2, ROWS, -7, true);
    ck_assert_int_eq(deadlocks(), 0);
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(links[i].end, NOBODY);
}
END_TEST

START_TEST(the_words_of_a_long_cycle_are_cut)
{
    char text[FTC_CHAIN_TEXT];
    for (int i = 0; i < RANKS; i++) {
        wait_in(i, i % 2 == 0 ? ROWS : COLUMNS, (i + 1) % RANKS, true);
        memset(links[i].name, 'x', sizeof(links[i].name) - 1);
    }
    ck_assert_int_eq(deadlocks(), 1);
    ftc_chain_words(links, 0, text);
    ck_assert_ptr_nonnull(strstr(text, "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 4 more wait"));
    ck_assert_ptr_nonnull(strstr(text, "for rank 8, ..."));
    ck_assert_ptr_null(strstr(text, "rank 8 in"));
}
END_TEST

static const char *shown(const char *name, uint64_t number)
{
    static char text[FTC_COMMUNICATOR_NAME];
    struct ftc_activity activity;
    char bytes[FTC_COMMUNICATOR_NAME] = "";
    memset(&activity, 0, sizeof(activity));
    memcpy(bytes, name, strlen(name) < sizeof(bytes) ? strlen(name) : sizeof(bytes));
    memcpy(activity.name, bytes, sizeof(bytes));
    return ftc_chain_communicator(&activity, number, text);
}

START_TEST(a_communicator_is_shown_by_its_name_or_its_number)
{
    ck_assert_str_eq(shown("rows", ROWS), "rows");
    ck_assert_str_eq(shown("rows", ROWS | FTC_COMMUNICATOR_REVOKED), "rows (revoked)");
    ck_assert_str_eq(shown("", ROWS), "7.0");
    ck_assert_str_eq(shown("", WORLD), "world");
    ck_assert_str_eq(shown("a\x1b[31m\xc3\xa4\n", ROWS), "a?[31m???");
    ck_assert_str_eq(shown("0123456789012345678901234567890123456789", ROWS),
                     "0123456789012345678901234567890");
    ck_assert_str_eq(shown("0123456789012345678901234567890", ROWS | FTC_COMMUNICATOR_REVOKED),
                     "012345678901234567890 (revoked)");
}
END_TEST

static const char *words_of(int kind, uint32_t role, int rank, int tag, uint32_t requests,
                            uint64_t bytes)
{
    static char text[FTC_CHAIN_MESSAGE];
    struct ftc_activity activity;
    struct ftc_chain_message message;
    memset(&activity, 0, sizeof(activity));
    activity.kind = (uint32_t)kind;
    activity.role = role;
    activity.waits_for = rank;
    activity.tag = tag;
    activity.waits = requests;
    activity.bytes = bytes;
    ftc_chain_look(&activity, &message);
    return message.kind != 0 ? ftc_chain_message_words(&message, text) : "none";
}

START_TEST(a_send_or_a_receive_is_told_in_words)
{
    ck_assert_str_eq(words_of(FTC_HISTORY_RECV, FTC_WAIT_MESSAGE, 3, 7, 1, 16),
                     "from 3, tag 7, 16 B");
    ck_assert_str_eq(words_of(FTC_HISTORY_SENDRECV, FTC_WAIT_RECEIVER, 0, 0, 1, 0),
                     "to 0, tag 0, 0 B");
    ck_assert_str_eq(words_of(FTC_HISTORY_RECV, FTC_WAIT_REST, 5, -1, 1, UINT64_C(1) << 40),
                     "rest from 5, any tag, 1099511627776 B");
    ck_assert_str_eq(words_of(FTC_HISTORY_PROBE, FTC_WAIT_MESSAGE, -1, 4, 1, UINT64_MAX),
                     "from any, tag 4");
    ck_assert_str_eq(words_of(FTC_HISTORY_WAIT, FTC_WAIT_MESSAGE, -1, -1, 3, UINT64_MAX),
                     "any of 3 requests");
}
END_TEST

START_TEST(nonsense_in_a_send_or_a_receive_is_told_in_words)
{
    ck_assert_str_eq(words_of(FTC_HISTORY_SEND, UINT32_MAX, INT32_MIN, INT32_MIN, 0, UINT64_MAX),
                     "from any, any tag");
    ck_assert_str_eq(
        words_of(FTC_HISTORY_WAIT, FTC_WAIT_REST, INT32_MAX, INT32_MAX, 1, UINT64_MAX - 1),
        "rest from 2147483647, tag 2147483647, 18446744073709551614 B");
    ck_assert_str_eq(words_of(FTC_HISTORY_WAIT, UINT32_MAX, 0, 0, UINT32_MAX, 0),
                     "any of 4294967295 requests");
}
END_TEST

START_TEST(other_kinds_are_no_sends_or_receives)
{
    ck_assert_str_eq(words_of(FTC_CALL_NONE, FTC_WAIT_MESSAGE, 0, 0, 0, 0), "none");
    ck_assert_str_eq(words_of(FTC_CALL_ALLREDUCE, FTC_WAIT_MESSAGE, 0, 0, 0, 0), "none");
    ck_assert_str_eq(words_of(FTC_HISTORY_FREE, FTC_WAIT_MESSAGE, 0, 0, 0, 0), "none");
    ck_assert_str_eq(words_of(FTC_HISTORY_KINDS, FTC_WAIT_MESSAGE, 0, 0, 0, 0), "none");
    ck_assert_str_eq(words_of(-1, FTC_WAIT_MESSAGE, 0, 0, 0, 0), "none");
}
END_TEST

START_TEST(a_link_of_a_send_or_a_receive_to_a_rank_in_a_call_counts_if_it_stands)
{
    wait_in(3, WORLD, 5, false);
    wait_in(5, WORLD, 3, false);
    wait_in(6, WORLD, 7, false);
    links[3].passes = links[5].passes = links[6].passes = true;
    ck_assert_int_eq(deadlocks(), 0);
    ck_assert_int_eq(links[3].end, NOBODY); /* its message may be under way */
    ck_assert_int_eq(links[6].end, 7);      /* rank 7 computes */

    wait_in(3, WORLD, 5, true);
    wait_in(5, WORLD, 3, true);
    ck_assert_int_eq(deadlocks(), 0);
    ck_assert_int_eq(links[5].end, 3);
    ck_assert_int_eq(links[3].cycle, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node_chain");
    TCase *tests = tcase_create("chain");

    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, a_chain_ends_at_the_rank_that_waits_for_none);
    tcase_add_test(tests, a_cycle_in_one_communicator_is_a_moment_of_it);
    tcase_add_test(tests, ranks_that_wait_for_each_other_in_two_communicators_are_a_deadlock);
    tcase_add_test(tests, a_longer_cycle_is_one_too);
    tcase_add_loop_test(tests, a_cycle_of_which_one_wait_has_moved_is_none, 0, 3);
    tcase_add_test(tests, a_wait_for_a_rank_that_computes_is_no_cycle);
    tcase_add_test(tests, a_wait_for_a_rank_in_another_communicator_counts_only_if_it_stands);
    tcase_add_test(tests, a_link_to_nowhere_or_to_itself_does_not_count);
    tcase_add_test(tests, the_words_of_a_long_cycle_are_cut);
    tcase_add_test(tests, a_communicator_is_shown_by_its_name_or_its_number);
    tcase_add_test(tests, a_send_or_a_receive_is_told_in_words);
    tcase_add_test(tests, nonsense_in_a_send_or_a_receive_is_told_in_words);
    tcase_add_test(tests, other_kinds_are_no_sends_or_receives);
    tcase_add_test(tests, a_link_of_a_send_or_a_receive_to_a_rank_in_a_call_counts_if_it_stands);
    suite_add_tcase(suite, tests);
    return test_suite_run(suite);
}
