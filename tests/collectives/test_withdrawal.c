/* Sends that are cancelled (docs/design/point-to-point.md, P10): rank 1 sends to rank 0, and rank 0
 * withdraws the message, unless it was taken. */
#include <string.h>

#include "include/ftcoll.h"
#include "tests/collectives/matching_net.h"
#include "tests/suite.h"

static char large[1000], got[sizeof(large)];

/* A send of rank 1, whose message has come to rank 0. _i of the stories: is it large? */
static struct ftc_transfer send_of(bool is_large)
{
    return net_transfer(true, 0, 7, large, is_large ? sizeof(large) : 8);
}

static struct ftc_transfer receive(void)
{
    return net_transfer(false, 1, 7, got, sizeof(got));
}

START_TEST(a_message_that_no_receive_has_taken_is_withdrawn)
{
    struct ftc_transfer send = send_of(_i), next = send_of(_i), take = receive();

    memset(large, 'a', sizeof(large));
    net_start(1, &send);
    net_start(1, &next);
    net_settle();
    net_cancel(1, &send);
    ck_assert(!ftc_transfer_has_ended(&send));
    net_settle();
    net_ended(&send, FTC_ERR_CANCELLED);
    net_start(0, &take);
    net_settle();
    net_ended(&take, FTC_SUCCESS);
    ck_assert_uint_eq(take.number, 1);
    net_ended(&next, FTC_SUCCESS);
}
END_TEST

START_TEST(a_message_that_a_receive_has_taken_is_kept)
{
    struct ftc_transfer send = send_of(_i), take = receive();

    net_copies = FTC_COPY_DONE;
    net_start(0, &take);
    net_start(1, &send);
    while (net_move_one(1))
        ;
    net_cancel(1, &send);
    while (net_move_one(1))
        ;
    net_settle();
    net_ended(&send, FTC_SUCCESS);
    net_ended(&take, FTC_SUCCESS);
    ck_assert_int_eq(net_sent[FTC_MATCHING_KEPT], 1);
}
END_TEST

/* Its receiver asks for parts, and the cancel meets them. */
START_TEST(a_send_by_parts_that_is_cancelled_ends_with_its_answer)
{
    struct ftc_transfer send = send_of(true), take = receive();

    net_copies = FTC_COPY_REFUSED;
    net_start(1, &send);
    net_start(0, &take);
    while (net_move_one(1))
        ;
    ck_assert(net_copy_one(0));
    net_cancel(1, &send);
    while (net_move_one(0))
        ;
    ck_assert(!ftc_transfer_has_ended(&send));
    net_settle();
    net_ended(&take, FTC_SUCCESS);
    net_ended(&send, FTC_SUCCESS);
    net_copies = FTC_COPY_DONE;
}
END_TEST

START_TEST(a_message_of_a_matched_probe_is_kept)
{
    struct ftc_transfer send = send_of(_i), take = receive();

    net_start(1, &send);
    net_settle();
    take.matched = ftc_matching_match(net_engine[0], 1, 7, 0);
    net_cancel(1, &send);
    net_settle();
    ck_assert_int_eq(ftc_transfer_has_ended(&send), !_i);
    net_start(0, &take);
    net_settle();
    net_ended(&take, FTC_SUCCESS);
    net_ended(&send, FTC_SUCCESS);
}
END_TEST

/* Otherwise later sends would have no credit, and wait. */
START_TEST(credit_of_withdrawn_messages_comes_back)
{
    for (int i = 0; i < 10 * CREDIT / FTC_MATCHING_OVERHEAD; i++) {
        struct ftc_transfer send = send_of(false);
        net_start(1, &send);
        net_ended(&send, FTC_SUCCESS);
        net_cancel(1, &send);
        net_settle();
        net_ended(&send, FTC_ERR_CANCELLED);
    }
}
END_TEST

START_TEST(a_failure_ends_a_send_that_is_being_withdrawn)
{
    struct ftc_transfer send = send_of(_i);

    net_start(1, &send);
    net_settle();
    net_cancel(1, &send);
    ck_assert_int_eq(ftc_matching_notice(net_engine[1], 0), FTC_SUCCESS);
    net_ended(&send, _i ? FTC_ERR_RANK_FAILED : FTC_SUCCESS);
    net_cancel(1, &send);
    net_ended(&send, _i ? FTC_ERR_RANK_FAILED : FTC_SUCCESS);
}
END_TEST

START_TEST(a_revoke_ends_a_send_that_is_being_withdrawn)
{
    struct ftc_transfer send = send_of(_i);

    net_start(1, &send);
    net_settle();
    net_cancel(1, &send);
    ftc_matching_revoke(net_engine[1]);
    net_ended(&send, _i ? FTC_ERR_REVOKED : FTC_SUCCESS);
    net_cancel(1, &send);
    net_ended(&send, _i ? FTC_ERR_REVOKED : FTC_SUCCESS);
    net_settle();
}
END_TEST

START_TEST(a_receiver_that_has_left_answers)
{
    struct ftc_transfer send = send_of(_i);

    net_start(1, &send);
    net_settle();
    ftc_matching_leave(net_engine[0]);
    net_cancel(1, &send);
    net_cancel(1, &send); /* once is enough */
    net_settle();
    net_ended(&send, _i ? FTC_ERR_CANCELLED : FTC_SUCCESS);
    ck_assert_int_eq(net_sent[FTC_MATCHING_LEFT], 1);
}
END_TEST

START_TEST(a_rank_withdraws_from_itself_at_once)
{
    struct ftc_transfer send = send_of(_i), take = net_transfer(false, 0, 7, got, 1);

    net_start(0, &send);
    net_cancel(0, &send);
    net_ended(&send, FTC_ERR_CANCELLED);
    net_start(0, &take);
    ck_assert(!ftc_transfer_has_ended(&take));
    net_cancel(0, &take);
}
END_TEST

START_TEST(a_cancel_wants_an_answer_and_the_answer_does_not)
{
    struct ftc_transfer send = send_of(false);
    const struct ftc_matching_output *output;

    net_start(1, &send);
    net_settle();
    net_cancel(1, &send);
    output = ftc_matching_next_output(net_engine[1]);
    ck_assert(output->urgent && !output->ready);
    struct ftc_buffer *withdraw = net_join(output);
    ck_assert_int_eq(ftc_matching_receive(net_engine[0], 1, withdraw), FTC_SUCCESS);
    ftc_buffer_unref(withdraw);
    output = ftc_matching_next_output(net_engine[0]);
    ck_assert(!output->urgent && output->to == 1);
    ftc_matching_revoke(net_engine[1]);
}
END_TEST

START_TEST(words_of_a_cancel_that_there_was_not_are_refused)
{
    struct ftc_transfer small = net_transfer(true, 1, 0, large, 8);
    struct ftc_transfer ready = net_transfer(true, 1, 0, large, sizeof(large));

    net_refused(net_message(FTC_MATCHING_WITHDRAW, 0, 0, 0)); /* nothing has come */
    net_start(0, &small);
    net_start(0, &ready);
    for (int what = FTC_MATCHING_WITHDRAWN; what <= FTC_MATCHING_LEFT; what++)
        for (uint64_t number = 0; number < 3; number++)
            net_refused(net_message(what, number, 0, 0));
    net_cancel(0, &small);
    net_refused(net_message(FTC_MATCHING_END, 0, 0, 0)); /* it had ended */
    net_taken(net_message(FTC_MATCHING_WITHDRAWN, 0, 0, 0));
    net_ended(&small, FTC_ERR_CANCELLED);
    net_refused(net_message(FTC_MATCHING_KEPT, 0, 0, 0)); /* one answer is enough */
    ftc_matching_revoke(net_engine[0]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("withdrawal");
    TCase *tcase = tcase_create("withdrawal");

    tcase_add_checked_fixture(tcase, net_begin, net_end);
    tcase_add_loop_test(tcase, a_message_that_no_receive_has_taken_is_withdrawn, 0, 2);
    tcase_add_loop_test(tcase, a_message_that_a_receive_has_taken_is_kept, 0, 2);
    tcase_add_test(tcase, a_send_by_parts_that_is_cancelled_ends_with_its_answer);
    tcase_add_loop_test(tcase, a_message_of_a_matched_probe_is_kept, 0, 2);
    tcase_add_test(tcase, credit_of_withdrawn_messages_comes_back);
    tcase_add_loop_test(tcase, a_failure_ends_a_send_that_is_being_withdrawn, 0, 2);
    tcase_add_loop_test(tcase, a_revoke_ends_a_send_that_is_being_withdrawn, 0, 2);
    tcase_add_loop_test(tcase, a_receiver_that_has_left_answers, 0, 2);
    tcase_add_loop_test(tcase, a_rank_withdraws_from_itself_at_once, 0, 2);
    tcase_add_test(tcase, a_cancel_wants_an_answer_and_the_answer_does_not);
    tcase_add_test(tcase, words_of_a_cancel_that_there_was_not_are_refused);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
