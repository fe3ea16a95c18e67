/* The ledger notices each broken promise of a delivery. test_ledger_events.c and
 * test_ledger_reduce.c have the other promises. */
#include <string.h>

#include "job.h"
#include "tests/suite.h"

static struct job job;

static const int everyone[] = {0, 1, 2, 3, -1};
static const int all_but_3[] = {0, 1, 2, -1};
static const int twice_2[] = {0, 1, 2, 2, 3, -1};

static void setup(void)
{
    job_begin(&job, 4, 1);
}

static void teardown(void)
{
    job_end(&job);
}

/* All members call the first operation. */
static void begin(const char *operations)
{
    job_open(&job, operations, NULL);
    job_all_call(&job);
}

/* The same, and rank 3 dies in the operation. Ranks 1 and 2 know it. */
static void begin_without_3(const char *operations)
{
    begin(operations);
    job_kill(&job, 3);
    job_tell(&job, 1, 3);
    job_tell(&job, 2, 3);
}

static struct ftc_decision *decision_failed(int at, const int counted[], int failed)
{
    struct ftc_decision *decision = job_decision(&job, at, counted);
    ftc_set_add(&decision->failed, failed);
    return decision;
}

/* --- honest jobs --- */

static const char *const all_kinds = "allreduce,reduce:1,bcast:2*2,barrier,validate,finalize";

START_TEST(an_honest_job_keeps_every_promise)
{
    job_open(&job, all_kinds, NULL);
    job_run(&job);
    job_kept(&job);
    ck_assert_int_eq(ftc_ledger_alive(job.ledger), 4);
    ck_assert_int_eq(ftc_ledger_unfinished(job.ledger), -1);
    for (int rank = 0; rank < 4; rank++) {
        ck_assert(ftc_ledger_delivered(job.ledger, 6, rank));
        ck_assert_int_eq(ftc_ledger_counts(job.ledger, 0, rank, 3), 1);
        ck_assert_int_eq(ftc_ledger_counts(job.ledger, 1, rank, 3), rank == 1 ? 1 : -1);
        ck_assert_ptr_nonnull(ftc_ledger_decision(job.ledger, 2, rank));
        ck_assert_ptr_null(ftc_ledger_decision(job.ledger, 1, rank));
    }
    ck_assert_uint_eq(ftc_ledger_sent(job.ledger, 0, FTC_MESSAGE_UP), 4); /* pairs 1-2 and 3-0 */
    ck_assert_uint_eq(ftc_ledger_sent(job.ledger, 0, FTC_MESSAGE_DECIDE), 3);
    ck_assert_uint_gt(ftc_ledger_bytes(job.ledger, 0), ftc_ledger_bytes(job.ledger, 4));
}
END_TEST

START_TEST(an_honest_job_with_a_death_keeps_every_promise)
{
    job.settings.scheme = (enum ftc_scheme)_i;
    job_open(&job, all_kinds, NULL);
    job_all_call(&job);
    job_kill(&job, 0);
    job_tell_all(&job, 0);
    job_run(&job);
    job_kept(&job);
    ck_assert_int_eq(ftc_ledger_alive(job.ledger), 3);
    ck_assert(ftc_set_has(ftc_ledger_dead(job.ledger), 0));
    ck_assert(!ftc_ledger_delivered(job.ledger, 0, 0));
    ck_assert(!ftc_ledger_under_way(job.ledger, 0));
    ck_assert_int_eq(ftc_ledger_called(job.ledger, 0), 1);
    ck_assert_uint_eq(ftc_ledger_decision(job.ledger, 0, 3)->ballot.i, 1);
    ck_assert_uint_eq(ftc_ledger_retries(job.ledger, 0, 3), 1);
    ck_assert_int_eq(ftc_ledger_status(job.ledger, 0, 3), FTC_SUCCESS);
    /* Rank 0 delivered nothing. */
    ck_assert_uint_eq(ftc_ledger_rule(job.ledger, FTC_RULE_DELIVER), 0);
}
END_TEST

/* --- validity --- */

START_TEST(a_live_rank_in_the_failed_set)
{
    begin("allreduce");
    job_decide(&job, 1, decision_failed(1, everyone, 3));
    job_broken(&job, "rank 1: operation 0: a live rank is in the failed set");
}
END_TEST

START_TEST(a_live_rank_left_out)
{
    begin("allreduce");
    job_decide(&job, 1, job_decision(&job, 1, all_but_3));
    job_broken(&job, "leaves live rank 3 out");
}
END_TEST

START_TEST(a_rank_counted_twice)
{
    begin("allreduce");
    job_decide(&job, 1, job_decision(&job, 1, twice_2));
    job_broken(&job, "counts rank 2 2 times");
}
END_TEST

START_TEST(a_list_names_who_is_left_out)
{
    job.settings.scheme = (enum ftc_scheme)_i;
    begin_without_3("allreduce");
    job_decide(&job, 1, job_decision(&job, 1, all_but_3));
    if (_i == FTC_SCHEME_LIST)
        job_broken(&job, "leaves rank 3 out and does not name it");
    else
        job_kept(&job);
}
END_TEST

START_TEST(a_dead_rank_may_be_counted_and_named)
{
    begin_without_3("allreduce");
    job_decide(&job, 1, decision_failed(1, everyone, 3));
    job_decide(&job, 2, decision_failed(2, everyone, 3));
    job_kept(&job);
}
END_TEST

START_TEST(who_died_before_the_call_is_named)
{
    job_open(&job, "barrier", NULL);
    job_kill(&job, 3);
    job_all_call(&job);
    job_decide(&job, 1, job_decision(&job, 1, everyone));
    job_broken(&job, "operation 0 is decided without rank 3 and does not name it");
}
END_TEST

START_TEST(the_failed_set_keeps_g)
{
    job_open(&job, "barrier", NULL);
    job_kill(&job, 3);
    for (int rank = 0; rank < 3; rank++) {
        ftc_set_add(&job.member[rank]->agreed, 3);
        job_tell(&job, rank, 3);
    }
    job_all_call(&job);
    ftc_set_clear(&job.member[1]->agreed); /* otherwise the member would refuse the decision */
    job_decide(&job, 1, job_decision(&job, 1, everyone));
    job_broken(&job, "rank 1: operation 0: the failed set has lost ranks of G");
}
END_TEST

START_TEST(a_coordinator_given_up_is_in_the_failed_set)
{
    begin("barrier");
    struct ftc_decision *decision = job_decision(&job, 2, everyone);
    decision->ballot.i = 1;
    job_decide(&job, 2, decision);
    job_broken(&job, "decided by c_1, but c_0 = 0 not in the failed set");
}
END_TEST

START_TEST(a_coordinator_is_a_member_of_the_view)
{
    begin("barrier");
    struct ftc_decision *decision = job_decision(&job, 2, everyone);
    decision->ballot.i = 4;
    job_decide(&job, 2, decision);
    job_broken(&job, "decided by c_4, which is nobody");
}
END_TEST

/* Each sub-round leaves out one more failed rank. */
START_TEST(f_failures_need_no_second_round)
{
    begin_without_3("barrier");
    struct ftc_decision *decision = decision_failed(1, everyone, 3);
    decision->ballot.s = 1;
    job_decide(&job, 1, decision);
    job_broken(&job, "ballot (0,1) was needed after 1 failures, with f = 1");
}
END_TEST

START_TEST(there_are_no_more_sub_rounds_than_failures)
{
    begin_without_3("barrier");
    struct ftc_decision *decision = decision_failed(2, everyone, 3);
    decision->ballot.s = 2;
    job_decide(&job, 2, decision);
    job_broken(&job, "decided in ballot (0,2) with 1 failures");
}
END_TEST

START_TEST(nobody_delivers_before_all_have_called)
{
    job_open(&job, "barrier", NULL);
    for (int rank = 0; rank < 3; rank++)
        job_call(&job, rank);
    job_decide(&job, 1, job_decision(&job, 1, everyone));
    job_broken(&job, "rank 1 delivers operation 0 before rank 3 has called it");
}
END_TEST

START_TEST(a_broadcast_waits_for_nobody)
{
    job_open(&job, "bcast:0", NULL);
    job_call(&job, 0);
    ck_assert(ftc_ledger_delivered(job.ledger, 0, 0));
    job_call(&job, 1);
    job_deliver_letters(&job); /* some letters arrive before the call */
    ck_assert(ftc_ledger_delivered(job.ledger, 0, 1));
    job_kept(&job);
}
END_TEST

static struct ftc_decision *broadcast_decision(int at, unsigned char byte)
{
    struct ftc_decision *decision = job_decision(&job, at, everyone);
    struct ftc_call call;

    ftc_ledger_prepare(job.ledger, 0, 0, &call);
    decision->value = (struct ftc_value){.buffer = ftc_buffer_new(call.signature.size),
                                         .size = call.signature.size};
    memcpy(decision->value.buffer->data, call.input, call.signature.size);
    decision->value.buffer->data[7] ^= byte;
    return decision;
}

START_TEST(other_bytes_than_the_root_sent)
{
    begin("bcast:0");
    job_decide(&job, 1, broadcast_decision(1, 0));
    job_kept(&job);
    job_decide(&job, 2, broadcast_decision(2, 0x40));
    job_broken(&job, "rank 2: operation 0 does not deliver what root 0 sent");
}
END_TEST

START_TEST(a_live_root_reported_as_failed)
{
    begin("bcast:0");
    struct ftc_decision *decision = job_decision(&job, 1, everyone);
    decision->status = FTC_ERR_ROOT_FAILED;
    job_decide(&job, 1, decision);
    job_broken(&job, "reports live root 0 as failed");
}
END_TEST

START_TEST(a_failed_root_is_in_the_failed_set)
{
    begin("bcast:0");
    job_kill(&job, 0);
    struct ftc_decision *decision = job_decision(&job, 1, everyone);
    decision->status = FTC_ERR_ROOT_FAILED;
    job_decide(&job, 1, decision);
    job_broken(&job, "ROOT_FAILED, but root 0 not in the failed set");
}
END_TEST

START_TEST(validate_names_what_a_survivor_knew_at_its_call)
{
    job_open(&job, "validate", NULL);
    job_call(&job, 3);
    job_kill(&job, 3);
    job_tell(&job, 2, 3);
    job_all_call(&job);
    if (_i == 1)
        job_kill(&job, 2); /* rank 2 is no survivor then */
    job_decide(&job, 1, job_decision(&job, 1, everyone));
    if (_i == 0)
        job_broken(&job, "validate 0 does not name all that survivor 2 knew");
    else
        job_kept(&job);
}
END_TEST

/* --- agreement --- */

START_TEST(two_living_deliver_different_values)
{
    job.settings.scheme = FTC_SCHEME_BIT;
    begin_without_3("allreduce");
    job_decide(&job, 1, decision_failed(1, everyone, 3));
    if (_i == 1)
        job_kill(&job, 1); /* only the living must agree */
    job_decide(&job, 2, decision_failed(2, all_but_3, 3));
    if (_i == 0)
        job_broken(&job, "ranks 1 and 2, both alive, deliver operation 0 differently");
    else
        job_kept(&job);
}
END_TEST

START_TEST(two_living_deliver_different_failed_sets)
{
    begin_without_3("barrier");
    job_decide(&job, 2, job_decision(&job, 2, everyone));
    job_decide(&job, 1, decision_failed(1, everyone, 3));
    job_broken(&job, "ranks 2 and 1, both alive, deliver operation 0 differently");
}
END_TEST

START_TEST(two_living_deliver_from_different_ballots)
{
    job.settings.f = 0;
    begin_without_3("barrier");
    job_decide(&job, 2, decision_failed(2, everyone, 3));
    struct ftc_decision *later = decision_failed(1, everyone, 3);
    later->ballot.s = 1;
    job_decide(&job, 1, later);
    job_broken(&job, "ranks 2 and 1, both alive, deliver operation 0 differently");
}
END_TEST

START_TEST(the_ledger_keeps_its_own_copy)
{
    begin("allreduce");
    job_decide(&job, 1, job_decision(&job, 1, everyone));
    struct ftc_decision *delivered = job.member[1]->newest->decision;
    ftc_value_bytes(&delivered->value)[0] ^= 2;
    ck_assert_int_eq(ftc_ledger_counts(job.ledger, 0, 1, 0), 1);
}
END_TEST

/* --- the delivery itself --- */

static void twice(struct ftc_output *output)
{
    if (output->kind == FTC_OUTPUT_DELIVER)
        ftc_ledger_delivers(job.ledger, 1, job.member[1], output);
}

START_TEST(a_second_delivery)
{
    begin("barrier");
    job.tamper = twice;
    job_decide(&job, 1, job_decision(&job, 1, everyone));
    job_broken(&job, "rank 1 delivers operation 0 twice");
}
END_TEST

START_TEST(a_delivery_of_nothing_called)
{
    struct ftc_output output = {.kind = FTC_OUTPUT_DELIVER};

    job_open(&job, "barrier", NULL);
    ftc_ledger_delivers(job.ledger, 1, job.member[1], &output);
    job_broken(&job, "rank 1 delivers operation -1 before it calls any");
}
END_TEST

static void without_decision(struct ftc_output *output)
{
    output->decision = NULL;
}

static void without_value(struct ftc_output *output)
{
    output->result = (struct ftc_value){0};
}

static void with_another_value(struct ftc_output *output)
{
    if (output->kind == FTC_OUTPUT_DELIVER)
        output->result.offset--;
}

static void with_another_status(struct ftc_output *output)
{
    output->status = FTC_ERR_TOO_MANY_FAILURES;
}

static const struct {
    void (*tamper)(struct ftc_output *output);
    const char *words;
} outputs[] = {
    {without_decision, "rank 1: operation 0 delivers no decision"},
    {without_value, "rank 1: operation 0 delivers no value"},
    {with_another_value, "rank 1: the result of operation 0 is not the decision's value"},
    {with_another_status, "rank 1: operation 0 delivers status"},
};

START_TEST(what_the_caller_gets_is_the_decision)
{
    begin("allreduce");
    job.tamper = outputs[_i].tamper;
    job_decide(&job, 1, job_decision(&job, 1, everyone));
    job_broken(&job, outputs[_i].words);
}
END_TEST

/* --- rule 5 and the report: a member that does not do what it delivers --- */

static void forgets_epoch(struct ftc_output *output)
{
    if (output->kind == FTC_OUTPUT_DELIVER)
        job.member[1]->epoch = (struct ftc_epoch){0};
}

static void forgets_failed(struct ftc_output *output)
{
    if (output->kind == FTC_OUTPUT_DELIVER)
        ftc_set_clear(&job.member[1]->known);
}

static void forgets_agreed(struct ftc_output *output)
{
    if (output->kind == FTC_OUTPUT_DELIVER)
        ftc_set_clear(&job.member[1]->agreed);
}

static void forgets_report(struct ftc_output *output)
{
    if (output->kind == FTC_OUTPUT_DELIVER)
        ftc_set_clear(&job.member[1]->report_failed);
}

static const struct {
    void (*tamper)(struct ftc_output *output);
    const char *words;
} forgetful[] = {
    {forgets_epoch, "rank 1: the epoch after operation 0 is wrong"},
    {forgets_failed, "rank 1: the failed set of operation 0 is not in L"},
    {forgets_agreed, "rank 1: G after operation 0 is not its failed set"},
    {forgets_report, "rank 1: the report of operation 0 has another failed set"},
};

START_TEST(who_delivers_takes_over_what_was_decided)
{
    begin_without_3("barrier");
    job.tamper = forgetful[_i].tamper;
    struct ftc_decision *decision = decision_failed(1, everyone, 3);
    decision->ballot.s = 1;
    job_decide(&job, 1, decision);
    job_broken(&job, forgetful[_i].words);
}
END_TEST

/* --- roots in G --- */

static void pretends_success(struct ftc_output *output)
{
    if (output->kind == FTC_OUTPUT_DELIVER && output->decision == NULL)
        output->status = FTC_SUCCESS;
}

START_TEST(a_broadcast_of_a_root_in_g_fails_at_once)
{
    begin_without_3("barrier,bcast:3");
    job_decide(&job, 1, decision_failed(1, everyone, 3));
    job.tamper = _i == 0 ? NULL : pretends_success;
    job_call(&job, 1);
    if (_i == 0)
        ck_assert_int_eq(ftc_ledger_status(job.ledger, 1, 1), FTC_ERR_ROOT_FAILED);
    else
        job_broken(&job, "broadcast 1 of a root in G returns 0");
}
END_TEST

/* --- tests --- */

static void add_validity(Suite *suite)
{
    TCase *validity = tcase_create("validity");

    tcase_add_checked_fixture(validity, setup, teardown);
    tcase_add_test(validity, an_honest_job_keeps_every_promise);
    tcase_add_loop_test(validity, an_honest_job_with_a_death_keeps_every_promise, 0, 3);
    tcase_add_test(validity, a_live_rank_in_the_failed_set);
    tcase_add_test(validity, a_live_rank_left_out);
    tcase_add_test(validity, a_rank_counted_twice);
    tcase_add_loop_test(validity, a_list_names_who_is_left_out, 0, 3);
    tcase_add_test(validity, a_dead_rank_may_be_counted_and_named);
    tcase_add_test(validity, who_died_before_the_call_is_named);
    tcase_add_test(validity, f_failures_need_no_second_round);
    tcase_add_test(validity, the_failed_set_keeps_g);
    tcase_add_test(validity, a_coordinator_given_up_is_in_the_failed_set);
    tcase_add_test(validity, a_coordinator_is_a_member_of_the_view);
    tcase_add_test(validity, there_are_no_more_sub_rounds_than_failures);
    tcase_add_test(validity, nobody_delivers_before_all_have_called);
    tcase_add_test(validity, a_broadcast_waits_for_nobody);
    tcase_add_test(validity, other_bytes_than_the_root_sent);
    tcase_add_test(validity, a_live_root_reported_as_failed);
    tcase_add_test(validity, a_failed_root_is_in_the_failed_set);
    tcase_add_loop_test(validity, validate_names_what_a_survivor_knew_at_its_call, 0, 2);
    suite_add_tcase(suite, validity);
}

static void add_agreement(Suite *suite)
{
    TCase *agreement = tcase_create("agreement");

    tcase_add_checked_fixture(agreement, setup, teardown);
    tcase_add_loop_test(agreement, two_living_deliver_different_values, 0, 2);
    tcase_add_test(agreement, two_living_deliver_different_failed_sets);
    tcase_add_test(agreement, two_living_deliver_from_different_ballots);
    tcase_add_test(agreement, the_ledger_keeps_its_own_copy);
    suite_add_tcase(suite, agreement);
}

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

static void add_delivery(Suite *suite)
{
    TCase *delivery = tcase_create("delivery");

    tcase_add_checked_fixture(delivery, setup, teardown);
    tcase_add_test(delivery, a_second_delivery);
    tcase_add_test(delivery, a_delivery_of_nothing_called);
    tcase_add_loop_test(delivery, what_the_caller_gets_is_the_decision, 0, LENGTH(outputs));
    tcase_add_loop_test(delivery, who_delivers_takes_over_what_was_decided, 0, LENGTH(forgetful));
    tcase_add_loop_test(delivery, a_broadcast_of_a_root_in_g_fails_at_once, 0, 2);
    suite_add_tcase(suite, delivery);
}

int main(void)
{
    Suite *suite = suite_create("ledger");

    add_validity(suite);
    add_agreement(suite);
    add_delivery(suite);
    return test_suite_run(suite);
}
