/*
 * The pace of a correction: two messages of one correction are at least so far apart, whatever
 * other operations wait for. The test has only the root of the broadcasts; the other ranks do not
 * answer.
 */
#include "collectives/agreement/member.h"
#include "include/ftcoll.h"
#include "tests/suite.h"

#define RANKS 16
#define PACE  1000 /* ns */

static struct ftc_member *root;
static uint64_t now, due; /* ns; due is 0 if there is no timer */
static int sent[2];       /* messages of each operation */

static void take_outputs(void)
{
    const struct ftc_output *output;
    struct ftc_message_head head;

    while ((output = ftc_member_next_output(root)) != NULL) {
        if (output->kind == FTC_OUTPUT_TIMER)
            due = now + output->delay_ns;
        if (output->kind != FTC_OUTPUT_SEND)
            continue;
        ck_assert_int_eq(ftc_message_peek(output->head, &head), 0);
        ck_assert_uint_lt(head.op, 2);
        sent[head.op]++;
    }
}

static void setup(void)
{
    const struct ftc_member_settings settings = {
        .ranks = RANKS,
        .f = 1,
        .reduce_arity = 2,
        .tree = {.tree = FTC_TREE_BINOMIAL, .arity = 2},
        .correction = FTC_CORRECTION_CHECKED,
        .correction_delay_ns = PACE,
    };

    now = due = 0;
    sent[0] = sent[1] = 0;
    ck_assert_int_eq(ftc_member_create(&root, &settings), 0);
}

static void teardown(void)
{
    ftc_member_destroy(root);
}

static void broadcast(void)
{
    const struct ftc_call call = {
        .signature = {.kind = FTC_CALL_BCAST, .type = FTC_UINT8, .root = 0, .size = 4},
        .input = "abc"};

    ck_assert_int_eq(ftc_member_call(root, &call), 0);
    take_outputs();
}

static void until_timer(void)
{
    ck_assert_uint_ge(due, now);
    now = due;
    due = 0;
    ck_assert_int_eq(ftc_member_timer(root), 0);
    take_outputs();
}

START_TEST(one_operation_sends_once_in_each_pace)
{
    broadcast();
    int first = sent[0];
    for (int i = 1; i < 5; i++) {
        until_timer();
        ck_assert_uint_eq(now, (uint64_t)i * PACE);
        ck_assert_int_eq(sent[0], first + i);
    }
}
END_TEST

/* The second operation begins just before the timer of the first one. */
START_TEST(another_operation_keeps_its_own_pace)
{
    broadcast();
    now = PACE - 10;
    broadcast();
    int first = sent[0], second = sent[1];
    ck_assert_uint_eq(due, PACE);
    until_timer();
    ck_assert_int_eq(sent[0], first + 1);
    ck_assert_int_eq(sent[1], second);
    until_timer();
    ck_assert_uint_eq(now, 2 * PACE);
    ck_assert_int_eq(sent[0], first + 2);
    ck_assert_int_eq(sent[1], second + 1);
    until_timer(); /* and from then on both send at once */
    ck_assert_int_eq(sent[0], first + 3);
    ck_assert_int_eq(sent[1], second + 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pace");
    TCase *pace = tcase_create("pace");

    tcase_add_checked_fixture(pace, setup, teardown);
    tcase_add_test(pace, one_operation_sends_once_in_each_pace);
    tcase_add_test(pace, another_operation_keeps_its_own_pace);
    suite_add_tcase(suite, pace);
    return test_suite_run(suite);
}
