/* The matching engine (collectives/point_to_point/matching.h): stories of rank 0, whose other ranks
 * are engines, too, or played by hand. */
#include <string.h>

#include "include/ftcoll.h"
#include "tests/collectives/matching_net.h"
#include "tests/suite.h"

START_TEST(an_expected_message_goes_to_its_receive)
{
    char from[8] = "message", to[8] = "";
    struct ftc_transfer receive = net_transfer(false, 1, 3, to, sizeof(to));
    struct ftc_transfer send = net_transfer(true, 0, 3, from, sizeof(from));

    net_start(0, &receive);
    net_start(1, &send);
    net_ended(&send, FTC_SUCCESS);
    net_settle();
    net_ended(&receive, FTC_SUCCESS);
    ck_assert_str_eq(to, "message");
    ck_assert_int_eq(receive.from, 1);
    ck_assert_int_eq(receive.got, 3);
    ck_assert_uint_eq(receive.bytes, 8);
}
END_TEST

START_TEST(an_eager_message_goes_out_of_the_buffer_of_its_send)
{
    char from[8] = "message";
    struct ftc_transfer send = net_transfer(true, 0, 3, from, sizeof(from));

    net_start(1, &send);
    const struct ftc_matching_output *output = ftc_matching_next_output(net_engine[1]);
    ck_assert_ptr_eq(output->bytes, from);
    ck_assert_ptr_null(output->buffer);
    ck_assert_uint_eq(output->size, sizeof(from));
    ck_assert_uint_eq(output->head_size % FTC_VALUE_ALIGNMENT, 0);
    ck_assert_ptr_null(ftc_matching_next_output(net_engine[1]));
}
END_TEST

static void take_output(const struct ftc_matching_output *output, int from)
{
    struct ftc_buffer *message = net_join(output);

    ck_assert_int_eq(ftc_matching_receive(net_engine[output->to], from, message), FTC_SUCCESS);
    ftc_buffer_unref(message);
}

START_TEST(what_wants_an_answer_is_urgent)
{
    char byte = 'x', got = 0;
    struct ftc_transfer send = net_transfer(true, 0, 0, &byte, 1);
    struct ftc_transfer receive = net_transfer(false, 1, 0, &got, 1);

    send.synchronous = true;
    net_start(1, &send);
    const struct ftc_matching_output *ready = ftc_matching_next_output(net_engine[1]);
    ck_assert(ready->ready && ready->urgent);
    take_output(ready, 1);
    net_copies = FTC_COPY_MARKED;
    net_start(0, &receive);
    ck_assert(net_copy_one(0));
    const struct ftc_matching_output *end = ftc_matching_next_output(net_engine[0]);
    ck_assert(!end->ready && !end->urgent);
    take_output(end, 0);
    net_ended(&send, FTC_SUCCESS);
    net_ended(&receive, FTC_SUCCESS);
}
END_TEST

START_TEST(unexpected_messages_are_taken_in_their_order)
{
    char a = 'a', b = 'b', c = 'c', got[3] = "";
    struct ftc_transfer sends[] = {net_transfer(true, 0, 1, &a, 1), net_transfer(true, 0, 2, &b, 1),
                                   net_transfer(true, 0, 1, &c, 1)};
    struct ftc_transfer any = net_transfer(false, FTC_MATCHING_ANY, 2, &got[0], 1);
    struct ftc_transfer one = net_transfer(false, 1, FTC_MATCHING_ANY, &got[1], 1);
    struct ftc_transfer two = net_transfer(false, 1, 1, &got[2], 1);
    struct ftc_envelope found;

    for (int i = 0; i < 3; i++)
        net_start(1, &sends[i]);
    net_settle();
    ck_assert(ftc_matching_probe(net_engine[0], FTC_MATCHING_ANY, FTC_MATCHING_ANY, 0, &found));
    ck_assert_int_eq(found.tag, 1);
    ck_assert(!ftc_matching_probe(net_engine[0], 2, FTC_MATCHING_ANY, 0, &found));
    ck_assert(!ftc_matching_probe(net_engine[0], 1, 1, 7, &found)); /* another context */
    net_start(0, &any);
    net_start(0, &one);
    net_start(0, &two);
    net_ended(&two, FTC_SUCCESS);
    ck_assert_mem_eq(got, "bac", 3);
}
END_TEST

START_TEST(the_receive_that_was_started_first_takes)
{
    char byte = 'x', got[2] = "";
    struct ftc_transfer any = net_transfer(false, FTC_MATCHING_ANY, FTC_MATCHING_ANY, &got[0], 1);
    struct ftc_transfer one = net_transfer(false, 2, 4, &got[1], 1);
    struct ftc_transfer send = net_transfer(true, 0, 4, &byte, 1);

    net_start(0, &any);
    net_start(0, &one);
    net_start(2, &send);
    net_settle();
    net_ended(&any, FTC_SUCCESS);
    ck_assert(!ftc_transfer_has_ended(&one));
    net_cancel(0, &one);
    net_ended(&one, FTC_ERR_CANCELLED);
}
END_TEST

static const enum ftc_copied ways[] = {FTC_COPY_DONE, FTC_COPY_REFUSED, FTC_COPY_MARKED};

/* _i: are copies refused, or is the mark read with the last bytes? */
START_TEST(a_large_message_comes_whole)
{
    static char from[3333], to[sizeof(from)];
    struct ftc_transfer send = net_transfer(true, 0, 0, from, sizeof(from));
    struct ftc_transfer receive = net_transfer(false, 1, 0, to, sizeof(to));

    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (char)(i * 7);
    net_copies = ways[_i];
    net_start(1, &send);
    net_settle();
    ck_assert(!ftc_transfer_has_ended(&send));
    net_start(0, &receive);
    net_settle();
    net_ended(&send, FTC_SUCCESS);
    net_ended(&receive, FTC_SUCCESS);
    ck_assert_mem_eq(from, to, sizeof(from));
    ck_assert_int_eq(net_sent[FTC_MATCHING_DATA], _i == 1 ? 34 : 0);
    ck_assert_int_eq(net_sent[FTC_MATCHING_END], _i != 1);
}
END_TEST

START_TEST(a_message_that_is_too_long_is_cut)
{
    static char from[333], to[100];
    struct ftc_transfer send = net_transfer(true, 0, 0, from, sizeof(from));
    struct ftc_transfer receive = net_transfer(false, 1, 0, to, sizeof(to));

    memset(from, 'x', sizeof(from));
    net_copies = ways[_i];
    net_start(1, &send);
    net_start(0, &receive);
    net_settle();
    net_ended(&send, FTC_SUCCESS);
    net_ended(&receive, FTC_ERR_TRUNCATED);
    ck_assert_mem_eq(from, to, sizeof(to));
    ck_assert_uint_eq(receive.bytes, sizeof(from));
}
END_TEST

START_TEST(a_synchronous_send_waits_for_its_receive)
{
    char byte = 'x', got = 0;
    struct ftc_transfer send = net_transfer(true, 0, 0, &byte, 1);
    struct ftc_transfer receive = net_transfer(false, 1, 0, &got, 1);

    send.synchronous = true;
    net_start(1, &send);
    net_settle();
    ck_assert(!ftc_transfer_has_ended(&send));
    net_start(0, &receive);
    net_settle();
    net_ended(&send, FTC_SUCCESS);
    ck_assert_int_eq(got, 'x');
}
END_TEST

START_TEST(a_rank_sends_to_itself)
{
    static char from[1000], to[sizeof(from)], small[2] = "s";
    struct ftc_transfer send = net_transfer(true, 0, 1, from, sizeof(from));
    struct ftc_transfer receive = net_transfer(false, FTC_MATCHING_ANY, 1, to, sizeof(to));
    struct ftc_transfer eager = net_transfer(true, 0, 2, small, 1), other;

    memset(from, 'y', sizeof(from));
    net_start(0, &eager);
    net_ended(&eager, FTC_SUCCESS);
    net_start(0, &send);
    net_start(0, &receive);
    net_settle();
    net_ended(&send, FTC_SUCCESS);
    net_ended(&receive, FTC_SUCCESS);
    ck_assert_mem_eq(from, to, sizeof(from));
    other = net_transfer(false, 0, 2, to, 1);
    net_start(0, &other);
    net_ended(&other, FTC_SUCCESS);
    ck_assert_int_eq(to[0], 's');
    ck_assert_int_eq(net_sent[FTC_MATCHING_EAGER] + net_sent[FTC_MATCHING_READY], 0);
}
END_TEST

START_TEST(a_matched_message_goes_to_its_receive_alone)
{
    static char large[1000], to[sizeof(large)], got[3];
    char a = 'a', b = 'b';
    struct ftc_transfer first = net_transfer(true, 0, 1, &a, 1),
                        second = net_transfer(true, 0, 1, &b, 1);
    struct ftc_transfer lost = net_transfer(true, 0, 2, large, sizeof(large));
    struct ftc_transfer one = net_transfer(false, 1, 1, &got[0], 1), other = one, third = one;
    struct ftc_transfer receive = net_transfer(false, FTC_MATCHING_ANY, FTC_MATCHING_ANY, to, 1000);

    net_start(1, &first);
    net_start(1, &second);
    net_start(1, &lost);
    net_settle();
    one.matched = ftc_matching_match(net_engine[0], FTC_MATCHING_ANY, 1, 0);
    receive.matched = ftc_matching_match(net_engine[0], 1, 2, 0);
    third.matched = ftc_matching_match(net_engine[0], 2, FTC_MATCHING_ANY, 0);
    ck_assert_ptr_null(third.matched);
    net_start(0, &other); /* takes the second one */
    net_ended(&other, FTC_SUCCESS);
    ck_assert_int_eq(got[0], b);
    ck_assert_int_eq(ftc_matching_notice(net_engine[0], 1), FTC_SUCCESS);
    ftc_matching_recognize(net_engine[0], 1);
    net_start(0, &one);
    net_ended(&one, FTC_SUCCESS);
    ck_assert_int_eq(got[0], a);
    net_start(0, &receive);
    net_ended(&receive, FTC_ERR_RANK_FAILED);
}
END_TEST

/* What is left is freed with the engine. */
START_TEST(a_revoke_ends_the_receive_of_a_matched_message)
{
    char byte = 'a', got = 0;
    struct ftc_transfer sends[2] = {net_transfer(true, 0, 1, &byte, 1),
                                    net_transfer(true, 0, 1, &byte, 1)};
    struct ftc_transfer receive = net_transfer(false, 1, 1, &got, 1);

    net_start(1, &sends[0]);
    net_start(1, &sends[1]);
    net_settle();
    receive.matched = ftc_matching_match(net_engine[0], 1, 1, 0);
    ck_assert_ptr_nonnull(ftc_matching_match(net_engine[0], 1, 1, 0));
    ftc_matching_revoke(net_engine[0]);
    net_start(0, &receive);
    net_ended(&receive, FTC_ERR_REVOKED);
    ck_assert_int_eq(got, 0);
}
END_TEST

START_TEST(a_matched_message_of_this_rank_is_not_withdrawn)
{
    static char from[1000], to[sizeof(from)];
    struct ftc_transfer send = net_transfer(true, 0, 1, from, sizeof(from));
    struct ftc_transfer receive = net_transfer(false, 0, 1, to, sizeof(to));

    net_start(0, &send);
    receive.matched = ftc_matching_match(net_engine[0], 0, 1, 0);
    ck_assert(ftc_matching_waits_for_self(net_engine[0], &send));
    net_cancel(0, &send);
    ck_assert(!ftc_transfer_has_ended(&send));
    net_start(0, &receive);
    ck_assert(!ftc_matching_waits_for_self(net_engine[0], &send));
    net_settle();
    net_ended(&send, FTC_SUCCESS);
    net_ended(&receive, FTC_SUCCESS);
}
END_TEST

#define MANY 40

START_TEST(a_sender_has_credit_for_so_much)
{
    static struct ftc_transfer sends[MANY], last, receives[MANY];
    char byte = 'x', tag = 't', got[MANY] = "", other = 0;
    size_t ready = 0;
    int under_way = 0;

    for (int i = 0; i < MANY; i++) {
        sends[i] = net_transfer(true, 0, 1, &byte, 1);
        net_start(1, &sends[i]);
    }
    last = net_transfer(true, 0, 2, &tag, 1);
    net_start(1, &last);
    net_settle();
    ck_assert_uint_le(ftc_matching_kept(net_engine[0], 1, &ready), CREDIT);
    for (int i = 0; i < MANY; i++)
        under_way += !ftc_transfer_has_ended(&sends[i]);
    ck_assert_int_eq(under_way + 1, (int)ready);
    ck_assert_int_eq(under_way, MANY - CREDIT / (1 + FTC_MATCHING_OVERHEAD));
    /* what is behind the others is there */
    receives[0] = net_transfer(false, 1, 2, &other, 1);
    net_start(0, &receives[0]);
    net_settle();
    net_ended(&last, FTC_SUCCESS);
    ck_assert_int_eq(other, 't');
    for (int i = 0; i < MANY; i++) {
        receives[i] = net_transfer(false, 1, FTC_MATCHING_ANY, &got[i], 1);
        net_start(0, &receives[i]);
        net_settle();
        net_ended(&receives[i], FTC_SUCCESS);
    }
    last = net_transfer(true, 0, 2, &tag, 1); /* the credit has come back */
    net_start(1, &last);
    net_ended(&last, FTC_SUCCESS);
}
END_TEST

/* P6 */
START_TEST(bytes_of_a_send_that_has_ended_are_void)
{
    static char from[1500], to[sizeof(from)];
    struct ftc_transfer send = net_transfer(true, 0, 0, from, sizeof(from));
    struct ftc_transfer receive = net_transfer(false, 1, 0, to, sizeof(to));

    net_start(0, &receive);
    net_start(1, &send);
    ck_assert(net_move_one(1));
    ck_assert(net_copy_one(0)); /* a piece of two */
    ftc_matching_revoke(net_engine[1]);
    net_ended(&send, FTC_ERR_REVOKED);
    net_settle();
    ck_assert(!ftc_transfer_has_ended(&receive));
    ftc_matching_revoke(net_engine[0]);
    net_ended(&receive, FTC_ERR_REVOKED);
    net_start(0, &receive);
    net_ended(&receive, FTC_ERR_REVOKED);
}
END_TEST

START_TEST(a_failure_ends_what_waits_for_the_rank)
{
    static char large[1000], got[sizeof(large)];
    char byte = 'x';
    struct ftc_transfer whole = net_transfer(true, 0, 1, &byte, 1);
    struct ftc_transfer lost = net_transfer(true, 0, 2, large, sizeof(large));
    struct ftc_transfer after = net_transfer(true, 0, 2, &byte, 1);
    struct ftc_transfer send = net_transfer(true, 1, 0, large, sizeof(large));
    struct ftc_transfer posted = net_transfer(false, 1, 7, got, 1);
    struct ftc_transfer receive;

    net_start(1, &whole);
    net_start(1, &lost);
    net_start(1, &after);
    net_start(0, &send);
    net_start(0, &posted);
    while (net_move_one(1))
        ;
    ck_assert_int_eq(ftc_matching_notice(net_engine[0], 1), FTC_SUCCESS);
    net_ended(&send, FTC_ERR_RANK_FAILED);
    net_ended(&posted, FTC_ERR_RANK_FAILED);
    /* the first of tag 2 is lost, and the second one is not taken in its place */
    receive = net_transfer(false, 1, 2, got, sizeof(got));
    net_start(0, &receive);
    net_ended(&receive, FTC_ERR_RANK_FAILED);
    net_start(0, &receive);
    net_ended(&receive, FTC_SUCCESS);
    receive = net_transfer(false, 1, 1, got, sizeof(got));
    net_start(0, &receive);
    net_ended(&receive, FTC_SUCCESS);
    net_start(0, &receive);
    net_ended(&receive, FTC_ERR_RANK_FAILED);
    send = net_transfer(true, 1, 0, &byte, 1);
    net_start(0, &send);
    net_ended(&send, FTC_ERR_RANK_FAILED);
}
END_TEST

START_TEST(a_failure_interrupts_a_wait_of_any_rank_once)
{
    char got;
    struct ftc_transfer any = net_transfer(false, FTC_MATCHING_ANY, 0, &got, 1);

    net_start(0, &any);
    ck_assert(!ftc_matching_interrupts(net_engine[0], &any));
    ck_assert_int_eq(ftc_matching_notice(net_engine[0], 1), FTC_SUCCESS);
    ck_assert(ftc_matching_interrupts(net_engine[0], &any));
    ck_assert(!ftc_matching_interrupts(net_engine[0], &any));
    ck_assert(ftc_matching_interrupts_probe(net_engine[0]));
    ftc_matching_recognize(net_engine[0], 1);
    ck_assert(!ftc_matching_interrupts_probe(net_engine[0]));
    ck_assert_int_eq(ftc_matching_notice(net_engine[0], 2), FTC_SUCCESS);
    ftc_matching_recognize(net_engine[0], 2);
    ck_assert(ftc_matching_interrupts(net_engine[0], &any)); /* nobody is left */
    ck_assert(ftc_matching_interrupts(net_engine[0], &any));
    net_cancel(0, &any);
    net_ended(&any, FTC_ERR_CANCELLED);
}
END_TEST

/* --- what others send is not trusted --- */

START_TEST(a_broken_message_is_refused)
{
    static char large[1000], got[1000];
    struct ftc_transfer send = net_transfer(true, 1, 0, large, sizeof(large));
    struct ftc_transfer receive = net_transfer(false, 1, 0, got, sizeof(got));
    struct ftc_buffer *cut = net_message(FTC_MATCHING_END, 0, 0, 0);

    net_start(0, &send); /* number 0 */
    net_start(0, &receive);
    net_refused(net_message(FTC_MATCHING_WHATS, 0, 0, 0));
    net_refused(net_message(FTC_MATCHING_EAGER, 1, 0, 0));  /* 0 comes first */
    net_refused(net_message(FTC_MATCHING_CREDIT, 0, 1, 0)); /* it has taken nothing */
    net_refused(net_message(FTC_MATCHING_PULL, 1, 0, 100));
    net_refused(net_message(FTC_MATCHING_PULL, 0, 0, 1001));
    net_refused(net_message(FTC_MATCHING_PULL, 0, 0, 0));
    net_refused(net_message(FTC_MATCHING_END, 1, 0, 0));
    net_refused(net_message(FTC_MATCHING_DATA, 0, 0, 0));
    net_refused(net_message(FTC_MATCHING_READY, 0, 0, UINT64_MAX));
    cut->size--;
    net_refused(cut);
    net_taken(net_message(FTC_MATCHING_READY, 0, 0, 500));
    net_copies = FTC_COPY_REFUSED;
    ck_assert(net_copy_one(0));
    net_refused(net_message(FTC_MATCHING_DATA, 0, 0, 8)); /* not where it should begin */
    net_taken(net_message(FTC_MATCHING_DATA, 0, 0, 0));
    net_refused(net_message(FTC_MATCHING_DATA, 0, 0, 0));
    while (ftc_matching_next_output(net_engine[0]) != NULL)
        ;
    ftc_matching_revoke(net_engine[0]);
}
END_TEST

START_TEST(a_sender_without_credit_is_refused)
{
    int number = 0;

    for (; number < CREDIT / FTC_MATCHING_OVERHEAD; number++)
        net_taken(net_message(FTC_MATCHING_EAGER, (uint64_t)number, 0, 0));
    net_refused(net_message(FTC_MATCHING_EAGER, (uint64_t)number, 0, 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("matching");
    TCase *tcase = tcase_create("matching");

    tcase_add_checked_fixture(tcase, net_begin, net_end);
    tcase_add_test(tcase, an_expected_message_goes_to_its_receive);
    tcase_add_test(tcase, an_eager_message_goes_out_of_the_buffer_of_its_send);
    tcase_add_test(tcase, what_wants_an_answer_is_urgent);
    tcase_add_test(tcase, unexpected_messages_are_taken_in_their_order);
    tcase_add_test(tcase, the_receive_that_was_started_first_takes);
    tcase_add_loop_test(tcase, a_large_message_comes_whole, 0, 3);
    tcase_add_loop_test(tcase, a_message_that_is_too_long_is_cut, 0, 3);
    tcase_add_test(tcase, a_synchronous_send_waits_for_its_receive);
    tcase_add_test(tcase, a_rank_sends_to_itself);
    tcase_add_test(tcase, a_matched_message_goes_to_its_receive_alone);
    tcase_add_test(tcase, a_revoke_ends_the_receive_of_a_matched_message);
    tcase_add_test(tcase, a_matched_message_of_this_rank_is_not_withdrawn);
    tcase_add_test(tcase, a_sender_has_credit_for_so_much);
    tcase_add_test(tcase, bytes_of_a_send_that_has_ended_are_void);
    tcase_add_test(tcase, a_failure_ends_what_waits_for_the_rank);
    tcase_add_test(tcase, a_failure_interrupts_a_wait_of_any_rank_once);
    tcase_add_test(tcase, a_broken_message_is_refused);
    tcase_add_test(tcase, a_sender_without_credit_is_refused);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
