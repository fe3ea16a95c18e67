/* The ledger notices faults in calls, messages, inputs and values, and at the end. test_ledger.c
 * has the deliveries. */
#include <string.h>

#include "job.h"
#include "tests/suite.h"

static struct job job;

static void setup(void)
{
    job_begin(&job, 4, 1);
}

static void teardown(void)
{
    job_end(&job);
}

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* --- calls --- */

static void other_agreed(struct ftc_member *member)
{
    ftc_set_add(&member->agreed, 3);
    ftc_set_add(&member->known, 3);
}

static void other_epoch(struct ftc_member *member)
{
    member->epoch.ballot.s = 1;
}

static void other_number(struct ftc_member *member)
{
    member->next_op = 5;
}

static const struct {
    void (*change)(struct ftc_member *member);
    const char *words;
} callers[] = {
    {other_agreed, "ranks 2 and 1 call operation 0 with different G"},
    {other_epoch, "ranks 2 and 1 call operation 0 in different epochs"},
    {other_number, "rank 2 counts 5 operations, it called 0"},
};

START_TEST(the_living_call_with_the_same_history)
{
    job_open(&job, "barrier", NULL);
    job_call(&job, 1);
    callers[_i].change(job.member[2]);
    ftc_ledger_calls(job.ledger, 2, job.member[2]);
    job_broken(&job, callers[_i].words);
}
END_TEST

/* What a plain reduce tells its root is no decision. */
static const char *const unchanged[] = {
    "rank 2: G after operation 0 is not what was decided",
    "rank 2: the epoch after operation 0 is not that of the decision"};

START_TEST(nothing_but_a_decision_changes_the_history)
{
    job_open(&job, "reduce:1,barrier", NULL);
    job_all_call(&job);
    job_deliver_letters(&job);
    callers[_i].change(job.member[2]);
    ftc_ledger_calls(job.ledger, 2, job.member[2]);
    job_broken(&job, unchanged[_i]);
}
END_TEST

START_TEST(a_message_of_another_history_is_dropped)
{
    job_open(&job, "barrier", NULL);
    other_epoch(job.member[0]);
    ftc_ledger_calls(job.ledger, 0, job.member[0]);
    job_kill(&job, 0);
    job_call(&job, 1);
    job_decide(&job, 1, job_decision(&job, 1, NULL)); /* the decision claims rank 1's history */
    job_broken(&job, "rank 1 takes a message of operation 0 of another history from rank 0");
}
END_TEST

START_TEST(the_dead_had_a_history_of_their_own)
{
    job_open(&job, "barrier", NULL);
    job_call(&job, 1);
    job_kill(&job, 1);
    other_epoch(job.member[2]);
    ftc_ledger_calls(job.ledger, 2, job.member[2]);
    job_kept(&job);
}
END_TEST

/* --- messages --- */

static const struct {
    int to;
    enum ftc_message_kind kind, claimed;
    uint64_t op;
    const char *words;
} sends[] = {
    {1, FTC_MESSAGE_UP, FTC_MESSAGE_UP, 0, "rank 1 sends to rank 1"},
    {-1, FTC_MESSAGE_UP, FTC_MESSAGE_UP, 0, "rank 1 sends to rank -1"},
    {4, FTC_MESSAGE_UP, FTC_MESSAGE_UP, 0, "rank 1 sends to rank 4"},
    {2, FTC_MESSAGE_UP, FTC_MESSAGE_TREE, 0, "rank 1 sends what ftc_message_peek() cannot read"},
    {2, FTC_MESSAGE_UP, FTC_MESSAGE_UP, 1, "rank 1 sends for operation 1 before it calls it"},
    {2, FTC_MESSAGE_UP, FTC_MESSAGE_UP, 2, "rank 1 sends for operation 2, which nobody has"},
};

START_TEST(a_message_has_a_receiver_and_an_operation)
{
    job_open(&job, "barrier*2", NULL);
    job_call(&job, 1);
    struct ftc_message message = {.kind = sends[_i].kind, .op = sends[_i].op};
    struct ftc_output output = {.kind = FTC_OUTPUT_SEND,
                                .to = sends[_i].to,
                                .message = sends[_i].claimed,
                                .head = ftc_message_encode(&message, FTC_SCHEME_LIST)};
    ftc_ledger_sends(job.ledger, 1, &output);
    ftc_buffer_unref(output.head);
    job_broken(&job, sends[_i].words);
}
END_TEST

/* --- after each input --- */

static void forget_known(struct ftc_member *member)
{
    ftc_set_clear(&member->known);
}

static void suspect_the_living(struct ftc_member *member)
{
    ftc_set_add(&member->known, 2);
}

static void agree_alone(struct ftc_member *member)
{
    ftc_set_add(&member->agreed, 2);
}

static void keep_too_much(struct ftc_member *member)
{
    member->retained = 4;
}

static const struct {
    void (*change)(struct ftc_member *member);
    const char *words;
} inputs[] = {
    {forget_known, "rank 1: L has shrunk"},
    {suspect_the_living, "rank 1: a live rank is in its L"},
    {agree_alone, "rank 1: G is not in L"},
    {keep_too_much, "rank 1 retains 4 operations, with w = 2"},
};

START_TEST(every_input_leaves_a_sound_member)
{
    job.settings.settle_every = 2;
    job_open(&job, "barrier", NULL);
    job_kill(&job, 3);
    job_tell(&job, 1, 3);
    job_kept(&job);
    inputs[_i].change(job.member[1]);
    ftc_ledger_input_done(job.ledger, 1, job.member[1], FTC_SUCCESS);
    job_broken(&job, inputs[_i].words);
    job.member[1]->retained = 0;
}
END_TEST

START_TEST(an_operation_that_settles_frees_those_before_it)
{
    job.settings.settle_every = 0;
    job_open(&job, "bcast:0,barrier", NULL);
    job_run(&job);
    job_kept(&job);
    int retained = job.member[1]->retained;
    job.member[1]->retained = 2;
    ftc_ledger_input_done(job.ledger, 1, job.member[1], FTC_SUCCESS);
    job_broken(&job, "rank 1 retains 2 operations after one that settles");
    job.member[1]->retained = retained;
}
END_TEST

START_TEST(without_sharing_g_stays_empty)
{
    job.settings.share = FTC_SHARE_OFF;
    job_open(&job, "barrier", NULL);
    job_kill(&job, 3);
    job_tell(&job, 1, 3);
    ftc_set_add(&job.member[1]->agreed, 3);
    ftc_ledger_input_done(job.ledger, 1, job.member[1], FTC_SUCCESS);
    job_broken(&job, "rank 1: G changes though share is off");
}
END_TEST

START_TEST(no_input_fails)
{
    job_open(&job, "barrier", NULL);
    ftc_ledger_input_done(job.ledger, 1, job.member[1], FTC_ERR_PROTO);
    job_broken(&job, "rank 1: an input returns");
}
END_TEST

START_TEST(who_is_told_of_a_death_knows_it)
{
    job_open(&job, "barrier", NULL);
    job_kill(&job, 3);
    ftc_ledger_hears(job.ledger, 1, job.member[1], 3);
    job_broken(&job, "rank 1 was told of rank 3's death and does not know it");
}
END_TEST

static const struct {
    enum ftc_output_kind kind;
    const char *words;
} protests[] = {
    {FTC_OUTPUT_FENCED, "rank 1 is told that it was declared failed, but it lives"},
    {FTC_OUTPUT_CORRUPT, "rank 1 finds its memory damaged, which it is not"},
    {FTC_OUTPUT_ACCUSE, "rank 1 accuses rank 2"},
    {FTC_OUTPUT_MISMATCH, "rank 1 reports a mismatch: it is said"},
};

START_TEST(nobody_protests)
{
    struct ftc_output output = {.kind = protests[_i].kind, .to = 2};

    job_open(&job, "barrier", NULL);
    job.member[1]->mismatch = strdup("it is said");
    ftc_ledger_protests(job.ledger, 1, job.member[1], &output);
    job_broken(&job, protests[_i].words);
}
END_TEST

START_TEST(the_first_violation_is_the_one_told)
{
    job_open(&job, "barrier", NULL);
    ftc_ledger_violate(job.ledger, "first: %d", 1);
    ftc_ledger_violate(job.ledger, "second: %d", 2);
    ck_assert_str_eq(ftc_ledger_violation(job.ledger), "first: 1");
}
END_TEST

/* --- operators and inputs --- */

START_TEST(the_operator_rests_after_the_delivery)
{
    unsigned char in[8] = {0}, inout[8] = {0};
    struct ftc_call call;

    job_open(&job, "allreduce,barrier", NULL);
    ftc_ledger_prepare(job.ledger, 1, 0, &call);
    if (_i == 0) {
        job_all_call(&job);
        job_deliver_letters(&job);
    } else {
        job_call(&job, 1);
    }
    job_kept(&job);
    call.combine(call.combine_arg, in, inout, _i == 0 ? sizeof(in) : sizeof(in) / 2);
    job_broken(&job, "rank 1: an operator is called after its call was delivered, or with");
}
END_TEST

/* A member that keeps a pointer to its caller's buffer sends garbage. */
START_TEST(the_input_is_overwritten_after_the_call)
{
    struct ftc_call call;
    unsigned char before;

    job_open(&job, "allreduce", NULL);
    ftc_ledger_prepare(job.ledger, 0, 0, &call);
    before = *(const unsigned char *)call.input;
    ck_assert_uint_eq(before, 1);
    ftc_ledger_calls(job.ledger, 0, job.member[0]);
    ck_assert_int_eq(ftc_member_call(job.member[0], &call), FTC_SUCCESS);
    ck_assert_uint_eq(*(const unsigned char *)call.input, before);
    ftc_ledger_sends(job.ledger, 0, ftc_member_next_output(job.member[0]));
    ck_assert_uint_ne(*(const unsigned char *)call.input, before);
}
END_TEST

/* --- tickets: 1 and 4 may die, 0, 2, 3, 5 may not --- */

static const struct {
    int counted[8];
    const char *words;
} tickets[] = {
    {{0, 1, 2, 3, 4, 5, -1}, ""},
    {{0, 1, 2, 4, 5, -1}, "leaves live rank 3 out"},
    {{0, 1, 2, 3, 3, 4, 5, -1}, "counts rank 3 2 times"},
    {{0, 1, 4, -1}, "does not count all that live once"},
    {{0, 1, 2, 3, 5, -1}, "leaves live rank 4 out"},
    {{0, 1, 2, 3, 4, 4, 5, -1}, "counts rank 4 2 times"},
};

static void open_with_mortals(const char *operations)
{
    struct ftc_set mortal;

    job_begin(&job, 6, 1);
    ck_assert_int_eq(ftc_set_init(&mortal, 6), FTC_SUCCESS);
    ftc_set_add(&mortal, 1);
    ftc_set_add(&mortal, 4);
    job_open(&job, operations, &mortal);
    ftc_set_fini(&mortal);
}

START_TEST(the_living_are_counted_by_their_tickets)
{
    open_with_mortals("allreduce");
    job_all_call(&job);
    job_decide(&job, 2, job_decision(&job, 2, tickets[_i].counted));
    job_broken(&job, tickets[_i].words);
}
END_TEST

START_TEST(an_honest_job_with_tickets)
{
    open_with_mortals("allreduce,reduce:2,barrier,finalize");
    job_all_call(&job);
    job_kill(&job, 4);
    job_tell_all(&job, 4);
    job_run(&job);
    job_kept(&job);
    ck_assert_int_eq(ftc_ledger_counts(job.ledger, 0, 0, 1), 1);
    ck_assert_int_eq(ftc_ledger_counts(job.ledger, 1, 2, 4), 0);
    /* Rank 0 has no count of its own for it. */
    ck_assert_int_eq(ftc_ledger_counts(job.ledger, 0, 0, 2), -1);
    ck_assert_uint_eq(ftc_ledger_result(job.ledger, 0, 0).size,
                      sizeof(uint64_t) + 2 * sizeof(uint16_t));
}
END_TEST

START_TEST(who_is_not_mortal_does_not_die)
{
    open_with_mortals("barrier");
    job_kill(&job, 3);
    job_broken(&job, "rank 3 dies, which was said not to");
}
END_TEST

/* --- the end --- */

START_TEST(a_survivor_that_never_delivers)
{
    job_open(&job, "barrier", NULL);
    for (int rank = 0; rank < 3; rank++)
        job_call(&job, rank);
    ck_assert_int_eq(ftc_ledger_unfinished(job.ledger), 0);
    ftc_ledger_ends(job.ledger);
    job_broken(&job, "deadlock: rank 0 never delivers operation 0");
}
END_TEST

/* Sends the same message of rank 1's first operation `times` times. It is like one of its TREEs,
 * but of another kind. */
static void send_more(enum ftc_message_kind kind, int times)
{
    struct ftc_message message = {.kind = kind};
    struct ftc_output output = {.kind = FTC_OUTPUT_SEND,
                                .message = kind,
                                .head = ftc_message_encode(&message, FTC_SCHEME_LIST)};

    for (int t = 0; t < times; t++)
        ftc_ledger_sends(job.ledger, 1, &output);
    ftc_buffer_unref(output.head);
    job_kept(&job);
}

static void run_and_send_more(enum ftc_message_kind kind, int times)
{
    while (ftc_ledger_unfinished(job.ledger) >= 0) {
        job_deliver_letters(&job);
        if (ftc_ledger_called(job.ledger, 1) < job.program.length)
            job_all_call(&job);
    }
    send_more(kind, times);
    ftc_ledger_ends(job.ledger);
}

static const struct {
    const char *operation;
    enum ftc_message_kind kind;
    const char *words;
} numbers[] = {
    {"allreduce", FTC_MESSAGE_UP, "operation 0: 5 UP were sent, expected 4 to 4"},
    {"allreduce", FTC_MESSAGE_TREE, "operation 0: 4 TREE were sent, expected 0 to 3"},
    {"barrier", FTC_MESSAGE_DECIDE, "operation 0: 4 DECIDE were sent, expected 3 to 3"},
    {"validate", FTC_MESSAGE_PREPARE, "operation 0: 1 PREPARE were sent, expected 0 to 0"},
    {"bcast:2", FTC_MESSAGE_UP, "operation 0: 1 UP were sent, expected 0 to 0"},
    {"bcast:2", FTC_MESSAGE_POKE, "operation 0: 1 POKE were sent, expected 0 to 0"},
    {"bcast:2", FTC_MESSAGE_PULL, "operation 0: 1 PULL were sent, expected 0 to 0"},
    {"reduce:2", FTC_MESSAGE_TREE, "operation 0: 4 TREE were sent, expected 3 to 3"},
    {"reduce:2", FTC_MESSAGE_DECIDE, "operation 0: 1 DECIDE were sent, expected 0 to 0"},
};

START_TEST(a_message_too_many_without_failures)
{
    job_open(&job, numbers[_i].operation, NULL);
    run_and_send_more(numbers[_i].kind, 1);
    job_broken(&job, numbers[_i].words);
}
END_TEST

static void hide_decides(struct ftc_output *output)
{
    if (output->kind == FTC_OUTPUT_SEND && output->message == FTC_MESSAGE_DECIDE)
        output->kind = FTC_OUTPUT_TIMER;
}

START_TEST(a_message_too_few)
{
    job_open(&job, "bcast:0", NULL);
    job.tamper = hide_decides;
    job_run(&job);
    job_broken(&job, "operation 0: 0 DECIDE were sent, expected 3 to 3");
}
END_TEST

/* With one failure, an allreduce may send at most twice the messages, not counting PREPARE and
 * POKE. A reduce may send no more than without a failure. */
static const struct {
    const char *operation;
    enum ftc_message_kind kind;
    const char *words;
} bounds[] = {
    {"allreduce", FTC_MESSAGE_UP, "UP were sent, expected 0 to 8"},
    {"allreduce", FTC_MESSAGE_TREE, "TREE were sent, expected 0 to 6"},
    {"allreduce", FTC_MESSAGE_DECIDE, "DECIDE were sent, expected 0 to 6"},
    {"allreduce", FTC_MESSAGE_PREPARE, "PREPARE were sent, expected 0 to 3"},
    {"allreduce", FTC_MESSAGE_POKE, "POKE were sent, expected 0 to 3"},
    {"bcast:0", FTC_MESSAGE_UP, "UP were sent, expected 0 to 4"},
    {"reduce:0", FTC_MESSAGE_UP, "UP were sent, expected 0 to 4"},
    {"reduce:0", FTC_MESSAGE_TREE, "TREE were sent, expected 0 to 3"},
    {"reduce:0", FTC_MESSAGE_PULL, "PULL were sent, expected 0 to 0"},
};

START_TEST(messages_too_many_with_a_failure)
{
    job_open(&job, bounds[_i].operation, NULL);
    job_kill(&job, 0);
    job_tell_all(&job, 0);
    run_and_send_more(bounds[_i].kind, 10);
    job_broken(&job, bounds[_i].words);
}
END_TEST

START_TEST(a_root_in_g_costs_no_message)
{
    job_open(&job, "bcast:3,barrier", NULL);
    job_kill(&job, 3);
    for (int rank = 0; rank < 3; rank++) {
        ftc_set_add(&job.member[rank]->agreed, 3);
        job_tell(&job, rank, 3);
    }
    job_all_call(&job);
    job_kept(&job);
    send_more(FTC_MESSAGE_DECIDE, 1);
    job_run(&job);
    job_broken(&job, "operation 0: 1 DECIDE were sent, expected 0 to 0");
}
END_TEST

/* --- tests --- */

static void add_events(Suite *suite)
{
    TCase *events = tcase_create("events");

    tcase_add_checked_fixture(events, setup, teardown);
    tcase_add_loop_test(events, the_living_call_with_the_same_history, 0, LENGTH(callers));
    tcase_add_loop_test(events, nothing_but_a_decision_changes_the_history, 0, LENGTH(unchanged));
    tcase_add_test(events, a_message_of_another_history_is_dropped);
    tcase_add_test(events, an_operation_that_settles_frees_those_before_it);
    tcase_add_test(events, the_dead_had_a_history_of_their_own);
    tcase_add_loop_test(events, a_message_has_a_receiver_and_an_operation, 0, LENGTH(sends));
    tcase_add_loop_test(events, every_input_leaves_a_sound_member, 0, LENGTH(inputs));
    tcase_add_test(events, without_sharing_g_stays_empty);
    tcase_add_test(events, no_input_fails);
    tcase_add_test(events, who_is_told_of_a_death_knows_it);
    tcase_add_loop_test(events, nobody_protests, 0, LENGTH(protests));
    tcase_add_test(events, the_first_violation_is_the_one_told);
    suite_add_tcase(suite, events);
}

static void add_values(Suite *suite)
{
    TCase *values = tcase_create("values");

    tcase_add_checked_fixture(values, setup, teardown);
    tcase_add_loop_test(values, the_operator_rests_after_the_delivery, 0, 2);
    tcase_add_test(values, the_input_is_overwritten_after_the_call);
    tcase_add_loop_test(values, the_living_are_counted_by_their_tickets, 0, LENGTH(tickets));
    tcase_add_test(values, an_honest_job_with_tickets);
    tcase_add_test(values, who_is_not_mortal_does_not_die);
    suite_add_tcase(suite, values);
}

static void add_end(Suite *suite)
{
    TCase *end = tcase_create("end");

    tcase_add_checked_fixture(end, setup, teardown);
    tcase_add_test(end, a_survivor_that_never_delivers);
    tcase_add_loop_test(end, a_message_too_many_without_failures, 0, LENGTH(numbers));
    tcase_add_test(end, a_message_too_few);
    tcase_add_loop_test(end, messages_too_many_with_a_failure, 0, LENGTH(bounds));
    tcase_add_test(end, a_root_in_g_costs_no_message);
    suite_add_tcase(suite, end);
}

int main(void)
{
    Suite *suite = suite_create("ledger events");

    add_events(suite);
    add_values(suite);
    add_end(suite);
    return test_suite_run(suite);
}
