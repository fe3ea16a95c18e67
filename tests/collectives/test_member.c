/* Stories about one communicator: first each operation without failures, then deaths one by one. */
#include <stdlib.h>
#include <string.h>

#include "story.h"
#include "tests/suite.h"

static const struct ftc_program all_kinds =
    PROGRAM(ALLREDUCE, REDUCE(0), BCAST(0), BARRIER, VALIDATE, FINALIZE);

/* --- without failures --- */

START_TEST(a_job_of_one_needs_no_message)
{
    struct ftc_member_settings settings = ftc_cluster_settings(1, 0);
    struct ftc_cluster *c = story_begin(&settings, &all_kinds);

    for (int op = 0; op < all_kinds.length; op++) {
        ftc_cluster_do(c, ftc_cluster_call(c, 0));
        ck_assert(ftc_cluster_delivered(c, op, 0)); /* within the call */
    }
    story_expect(c, 0, 0, "0", "none", 0, 0);
    ck_assert_str_eq(ftc_cluster_value(c, 1, 0), "0");
    story_finish(c);
    ftc_cluster_free(c);
}
END_TEST

START_TEST(two_ranks)
{
    for (int f = 0; f < 2; f++) {
        struct ftc_member_settings settings = ftc_cluster_settings(2, f);
        struct ftc_cluster *c = story_begin(&settings, &all_kinds);
        story_finish(c);
        story_expect(c, 0, 0, "0-1", "none", 0, 0);
        story_expect(c, 0, 1, "0-1", "none", 0, 0);
        ck_assert_str_eq(ftc_cluster_value(c, 1, 0), "0-1");
        ck_assert_str_eq(ftc_cluster_value(c, 1, 1), "-");
        ftc_cluster_free(c);
    }
}
END_TEST

/* The cluster compares the numbers of messages with the formulas. */
START_TEST(every_operation_with_every_shape)
{
    for (int n = 1; n <= 17; n++) {
        for (int variant = 0; variant < 4 * 3 * 3; variant++) {
            struct ftc_member_settings settings = ftc_cluster_settings(n, variant % 4);
            settings.scheme = (enum ftc_scheme)(variant / 4 % 3);
            settings.tree.tree = (enum ftc_tree)(variant / 12);
            settings.rotation = n % 2 == 0 ? FTC_ROTATION_SPREAD : FTC_ROTATION_FIRST;
            settings.reduce_arity = 1 + variant % 3;
            settings.direct = variant % 5 * 4;
            settings.doubling = variant % 7 % 2 * 16;
            if (settings.f >= n)
                continue;
            struct ftc_cluster *c = story_begin(&settings, &all_kinds);
            story_finish(c);
            for (int rank = 0; rank < n; rank++)
                ck_assert_int_eq(ftc_member_retained(c->process[rank].member), 1);
            ftc_cluster_free(c);
        }
    }
}
END_TEST

/* Numbers by hand, for n = 7 and f = 1, so that the formula and the program cannot share an
 * error. */
START_TEST(the_numbers_of_seven_ranks_by_hand)
{
    struct ftc_member_settings settings = ftc_cluster_settings(7, 1);
    struct ftc_cluster *c = story_begin(&settings, &all_kinds);

    story_finish(c);
    ck_assert_uint_eq(ftc_cluster_sent(c, 0, FTC_MESSAGE_UP), 6); /* three groups of two */
    ck_assert_uint_eq(ftc_cluster_sent(c, 0, FTC_MESSAGE_DECIDE), 6);
    ck_assert_uint_eq(ftc_cluster_sent(c, 1, FTC_MESSAGE_UP), 6);
    ck_assert_uint_eq(ftc_cluster_sent(c, 1, FTC_MESSAGE_TREE), 6);
    ck_assert_uint_eq(ftc_cluster_sent(c, 1, FTC_MESSAGE_DECIDE), 0);
    ck_assert_uint_eq(ftc_cluster_sent(c, 2, FTC_MESSAGE_UP), 0);
    ck_assert_uint_eq(ftc_cluster_sent(c, 2, FTC_MESSAGE_TREE), 0);
    ck_assert_uint_eq(ftc_cluster_sent(c, 2, FTC_MESSAGE_DECIDE), 6);
    ftc_cluster_free(c);
}
END_TEST

/* Every rank gets the same bits, with every schedule, though sums of doubles depend on their order.
 * This holds with one coordinator and for an exchange. */
START_TEST(the_same_bits_on_every_rank_and_from_run_to_run)
{
    const struct ftc_program program = PROGRAM(SUM_DOUBLE, SUM_DOUBLE, FINALIZE);

    for (int n = 1; n <= 14; n++) {
        for (int f = 0; f < 4 && f < n; f++) {
            struct ftc_member_settings settings = ftc_cluster_settings(n, f);
            settings.take = FTC_TAKE_LOWEST; /* with `auto` a timer ends the wait for it */
            double first = 0, next;
            settings.doubling = _i == 0 ? 0 : n;
            for (uint64_t run = 0; run < 20; run++) {
                struct ftc_cluster *c = ftc_cluster_new(&settings, &program, story_seed() + run);
                c->bias = run;
                story_finish(c);
                struct ftc_value result = ftc_ledger_result(c->ledger, 0, n - 1);
                memcpy(&next, ftc_value_bytes(&result), sizeof(next));
                if (run == 0)
                    first = next;
                ck_assert_int_eq(memcmp(&first, &next, sizeof(first)), 0);
                ftc_cluster_free(c);
            }
        }
    }
}
END_TEST

/* Rule 8 and w: the operations of a root pile up until one of them collects. */
START_TEST(broadcasts_pile_up_until_something_collects)
{
    const struct ftc_program program =
        PROGRAM(BCAST(0), BCAST(0), BCAST(0), BCAST(0), BARRIER, FINALIZE);

    for (uint32_t w = 0; w < 4; w++) {
        struct ftc_member_settings settings = ftc_cluster_settings(3, 1);
        settings.settle_every = w;
        struct ftc_cluster *c = story_begin(&settings, &program);
        for (int op = 0; op < 4; op++) {
            story_all_call(c);
            ftc_cluster_run(c);
            bool collects = w > 0 && (op + 1) % (int)w == 0;
            ck_assert_uint_eq(ftc_cluster_sent(c, op, FTC_MESSAGE_UP), collects ? 2 : 0);
            if (w == 0)
                ck_assert_int_eq(ftc_member_retained(c->process[0].member), op + 1);
        }
        story_all_call(c);
        ftc_cluster_run(c);
        ck_assert_int_eq(ftc_member_retained(c->process[0].member), 1);
        story_finish(c);
        ftc_cluster_free(c);
    }
}
END_TEST

/* --- the paper's example --- */

static int sum_of_ranks(struct ftc_cluster *c, int op, int at)
{
    int sum = 0;
    for (int rank = 0; rank < c->n; rank++)
        sum += rank * ftc_cluster_counts(c, op, at, rank);
    return sum;
}

START_TEST(the_papers_example_sums_to_20)
{
    const struct ftc_program program = PROGRAM(REDUCE(0), ALLREDUCE, FINALIZE);

    for (int scheme = 0; scheme < 3; scheme++) {
        struct ftc_member_settings settings = ftc_cluster_settings(7, 1);
        settings.scheme = (enum ftc_scheme)scheme;
        struct ftc_cluster *c = story_begin(&settings, &program);
        ftc_cluster_crash(c, 1);
        story_finish(c);
        ck_assert_int_eq(sum_of_ranks(c, 0, 0), 20);
        for (int rank = 0; rank < 7; rank++) {
            if (rank != 1)
                ck_assert_int_eq(sum_of_ranks(c, 1, rank), 20);
        }
        if (scheme == FTC_SCHEME_LIST)
            ck_assert_str_eq(ftc_cluster_failed(c, 1, 0), "1");
        ftc_cluster_free(c);
    }
}
END_TEST

/* --- coordinators die --- */

static const struct ftc_program allreduce_twice = PROGRAM(ALLREDUCE, ALLREDUCE, FINALIZE);

START_TEST(the_coordinator_dies_before_it_tells_anyone)
{
    struct ftc_member_settings settings = ftc_cluster_settings(4, 1);
    struct ftc_cluster *c = story_begin(&settings, &allreduce_twice);

    ftc_cluster_doom(c, 0, FTC_MESSAGE_DECIDE, 1, true);
    story_finish(c);
    story_expect(c, 0, 1, "1-3", "0", 1, 0);
    story_expect(c, 1, 3, "1-3", "0", 0, 0);
    ftc_cluster_free(c);
}
END_TEST

START_TEST(the_coordinator_dies_after_telling_one)
{
    struct ftc_member_settings settings = ftc_cluster_settings(4, 1);
    struct ftc_cluster *c = story_begin(&settings, &allreduce_twice);

    ftc_cluster_hold_notices(c, 0);
    ftc_cluster_doom(c, 0, FTC_MESSAGE_DECIDE, 1, false);
    ftc_cluster_run(c);
    ftc_cluster_release_notices(c, 0);
    story_finish(c);
    for (int rank = 1; rank < 4; rank++) {
        story_expect(c, 0, rank, "0-3", "none", 0,
                     0); /* the input of 0 counts, for one survivor had it */
        /* Operation 1 finds 0 dead in its ballot (0,0). */
        story_expect(c, 1, rank, "1-3", "0", 1, 0);
    }
    ftc_cluster_free(c);
}
END_TEST

START_TEST(two_coordinators_in_a_row)
{
    struct ftc_member_settings settings = ftc_cluster_settings(5, 1);
    struct ftc_cluster *c = story_begin(&settings, &allreduce_twice);

    ftc_cluster_doom(c, 0, FTC_MESSAGE_DECIDE, 1, true);
    ftc_cluster_doom(c, 1, FTC_MESSAGE_PREPARE, 2, false);
    story_finish(c);
    for (int rank = 2; rank < 5; rank++)
        story_expect(c, 0, rank, "2-4", "0-1", 2, 0);
    ftc_cluster_free(c);
}
END_TEST

START_TEST(everyone_dies_but_one)
{
    struct ftc_member_settings settings = ftc_cluster_settings(6, 2);
    struct ftc_cluster *c = story_begin(&settings, &all_kinds);

    story_all_call(c);
    for (int rank = 0; rank < 5; rank++)
        ftc_cluster_crash(c, rank);
    for (int rank = 0; rank < 5; rank++)
        ftc_cluster_lose(c, rank, 5);
    story_finish(c);
    story_expect(c, 0, 5, "5", "0-4", 5, 0);
    ftc_cluster_free(c);
}
END_TEST

/* --- more than f failures --- */

START_TEST(more_than_f_failures_cost_a_round)
{
    for (int scheme = 0; scheme < 3; scheme++) {
        struct ftc_member_settings settings = ftc_cluster_settings(7, 1);
        settings.scheme = (enum ftc_scheme)scheme;
        struct ftc_cluster *c = story_begin(&settings, &allreduce_twice);
        ftc_cluster_crash(c, 1); /* the two are the heads of both subtrees */
        ftc_cluster_crash(c, 2);
        story_finish(c);
        for (int rank = 3; rank < 7; rank++) {
            story_expect(c, 0, rank, "0,3-6", "1-2", 0, 1);
            ck_assert_uint_eq(ftc_ledger_retries(c->ledger, 0, rank), 1);
        }
        story_expect(c, 1, 0, "0,3-6", "1-2", 0, 0);
        ftc_cluster_free(c);
    }
}
END_TEST

START_TEST(a_reduce_says_too_many_failures_at_its_root_only)
{
    const struct ftc_program program = PROGRAM(REDUCE(0), FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(7, 1);
    struct ftc_cluster *c = story_begin(&settings, &program);

    ftc_cluster_crash(c, 1);
    ftc_cluster_crash(c, 2);
    story_finish(c);
    ck_assert_int_eq(ftc_cluster_status(c, 0, 0), FTC_ERR_TOO_MANY_FAILURES);
    for (int rank = 3; rank < 7; rank++)
        ck_assert_int_eq(ftc_cluster_status(c, 0, rank), FTC_SUCCESS);
    ftc_cluster_free(c);
}
END_TEST

/* With `share = off` dead ranks go on using up f, so the second operation retries as well. */
START_TEST(without_sharing_the_view_stays)
{
    struct ftc_member_settings settings = ftc_cluster_settings(7, 1);
    settings.share = FTC_SHARE_OFF;
    struct ftc_cluster *c = story_begin(&settings, &allreduce_twice);

    ftc_cluster_crash(c, 1);
    ftc_cluster_crash(c, 2);
    story_finish(c);
    story_expect(c, 0, 3, "0,3-6", "1-2", 0, 1);
    story_expect(c, 1, 3, "0,3-6", "1-2", 0, 1);
    ftc_cluster_free(c);
}
END_TEST

START_TEST(later_operations_cost_what_the_living_cost)
{
    const struct ftc_program program = PROGRAM(BARRIER, BARRIER, FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(7, 1);
    struct ftc_cluster *c = story_begin(&settings, &program);

    ftc_cluster_crash(c, 3);
    story_finish(c);
    /* n = 6: 2 UP in each of the groups {1,2} and {4,5}, and 2 in {6,0} */
    ck_assert_uint_eq(ftc_cluster_sent(c, 1, FTC_MESSAGE_UP), 6);
    ck_assert_uint_eq(ftc_cluster_sent(c, 1, FTC_MESSAGE_DECIDE), 5);
    ftc_cluster_free(c);
}
END_TEST

/* --- broadcasts --- */

START_TEST(a_broadcast_of_a_dead_root)
{
    const struct ftc_program program = PROGRAM(BCAST(2), BCAST(2), REDUCE(2), FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(5, 1);
    struct ftc_cluster *c = story_begin(&settings, &program);

    ftc_cluster_crash(c, 2);
    story_finish(c);
    for (int rank = 0; rank < 5; rank++) {
        if (rank == 2)
            continue;
        ck_assert_int_eq(ftc_cluster_status(c, 0, rank), FTC_ERR_ROOT_FAILED);
        ck_assert_int_eq(ftc_cluster_status(c, 1, rank), FTC_ERR_ROOT_FAILED);
        ck_assert_int_eq(ftc_cluster_status(c, 2, rank), FTC_SUCCESS);
    }
    for (int kind = 0; kind < FTC_MESSAGES; kind++) {
        ck_assert_uint_eq(ftc_cluster_sent(c, 1, kind), 0); /* at once, with no message */
        ck_assert_uint_eq(ftc_cluster_sent(c, 2, kind), 0);
    }
    ftc_cluster_free(c);
}
END_TEST

START_TEST(a_root_dies_after_reaching_one)
{
    const struct ftc_program program = PROGRAM(BCAST(0), FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(6, 1);
    struct ftc_cluster *c = story_begin(&settings, &program);

    ftc_cluster_hold_notices(c, 0);
    ftc_cluster_doom(c, 0, FTC_MESSAGE_DECIDE, 1, false);
    ftc_cluster_run(c);
    ftc_cluster_release_notices(c, 0);
    story_finish(c);
    for (int rank = 1; rank < 6; rank++) {
        ck_assert_int_eq(ftc_cluster_status(c, 0, rank), FTC_SUCCESS);
        ck_assert_uint_eq(ftc_cluster_ballot(c, 0, rank).i, 0);
    }
    ftc_cluster_free(c);
}
END_TEST

/* --- failure information --- */

START_TEST(one_who_knows_tells_all_in_validate)
{
    for (int scheme = 0; scheme < 3; scheme++) {
        const struct ftc_program program = PROGRAM(VALIDATE, FINALIZE);
        struct ftc_member_settings settings = ftc_cluster_settings(5, 3);
        settings.scheme = (enum ftc_scheme)scheme;
        struct ftc_cluster *c = story_begin(&settings, &program);
        ftc_cluster_crash(c, 4);
        ftc_cluster_do(c, ftc_cluster_notice(c, 2, 4));
        story_finish(c);
        for (int rank = 0; rank < 4; rank++)
            ck_assert_str_eq(ftc_cluster_failed(c, 0, rank), "4");
        ftc_cluster_free(c);
    }
}
END_TEST

/* Returns the bytes of a reduce in which one of 8 ranks is missing. */
static uint64_t bytes_of(enum ftc_scheme scheme)
{
    const struct ftc_program program = PROGRAM(REDUCE(0), FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(8, 1);
    settings.scheme = scheme;
    struct ftc_cluster *c = story_begin(&settings, &program);

    ftc_cluster_crash(c, 5);
    story_finish(c);
    uint64_t bytes = ftc_cluster_bytes(c, 0);
    ftc_cluster_free(c);
    return bytes;
}

START_TEST(a_list_costs_most_and_a_bit_least)
{
    ck_assert_uint_gt(bytes_of(FTC_SCHEME_LIST), bytes_of(FTC_SCHEME_COUNT));
    ck_assert_uint_gt(bytes_of(FTC_SCHEME_COUNT), bytes_of(FTC_SCHEME_BIT));
}
END_TEST

/* --- what only a faulty run sees --- */

/* Returns the next message that `from` wants to send to `to`, as one buffer. */
static struct ftc_buffer *message_to(struct ftc_member *from, int to)
{
    const struct ftc_output *output;

    while ((output = ftc_member_next_output(from)) != NULL) {
        if (output->kind == FTC_OUTPUT_SEND && output->to == to)
            break;
    }
    ck_assert_ptr_nonnull(output);
    size_t value = output->value.buffer != NULL ? output->value.size : 0;
    struct ftc_buffer *bytes = ftc_value_new_message(output->head->size, value);
    memcpy(bytes->data, output->head->data, output->head->size);
    if (value > 0)
        memcpy(bytes->data + ftc_value_offset(output->head->size), ftc_value_bytes(&output->value),
               value);
    return bytes;
}

static struct ftc_member *member_in(int n, int f, int self, enum ftc_call_kind kind)
{
    struct ftc_member_settings settings = ftc_cluster_settings(n, f);
    struct ftc_call call = {.signature = {.kind = (uint8_t)kind, .root = -1}};
    struct ftc_member *member;

    settings.self = self;
    ck_assert_int_eq(ftc_member_create(&member, &settings), FTC_SUCCESS);
    ck_assert_int_eq(ftc_member_call(member, &call), FTC_SUCCESS);
    return member;
}

static bool has_output(struct ftc_member *member, enum ftc_output_kind kind)
{
    const struct ftc_output *output;

    while ((output = ftc_member_next_output(member)) != NULL) {
        if (output->kind == kind)
            return true;
    }
    return false;
}

/* Rule 0: rank 1 was told that 0 and 2 failed. But 2 lives, and hears of a ballot without
 * itself. */
START_TEST(who_was_declared_failed_is_told_to_leave)
{
    struct ftc_member *one = member_in(4, 1, 1, FTC_CALL_BARRIER);
    struct ftc_member *two = member_in(4, 1, 2, FTC_CALL_BARRIER);

    ck_assert(!has_output(one, FTC_OUTPUT_FENCED)); /* UP and TREE of (0,0) do not matter here */
    ck_assert_int_eq(ftc_member_notice(one, 2), FTC_SUCCESS);
    ck_assert_int_eq(ftc_member_notice(one, 0), FTC_SUCCESS);
    struct ftc_buffer *prepare = message_to(one, 3);
    while (ftc_member_receive(two, 1, prepare) == FTC_SUCCESS &&
           ftc_member_rules(two)[FTC_RULE_FENCED] == 0) {
        ftc_buffer_unref(prepare);
        prepare = message_to(one, 3);
    }
    ck_assert(has_output(two, FTC_OUTPUT_FENCED));
    ftc_buffer_unref(prepare);
    ftc_member_destroy(one);
    ftc_member_destroy(two);
}
END_TEST

START_TEST(ranks_in_different_collectives_are_named)
{
    struct ftc_member *one = member_in(3, 1, 1, FTC_CALL_BARRIER);
    struct ftc_member *two = member_in(3, 1, 2, FTC_CALL_VALIDATE);
    struct ftc_buffer *up = message_to(one, 2);

    ck_assert_int_eq(ftc_member_receive(two, 1, up), FTC_SUCCESS);
    ck_assert(has_output(two, FTC_OUTPUT_MISMATCH));
    ck_assert_ptr_nonnull(strstr(ftc_member_mismatch(two), "barrier"));
    ck_assert_ptr_nonnull(strstr(ftc_member_mismatch(two), "validate"));
    ck_assert_ptr_nonnull(strstr(ftc_member_mismatch(two), "rank 1"));
    ftc_buffer_unref(up);
    ftc_member_destroy(one);
    ftc_member_destroy(two);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("member");
    TCase *calm = tcase_create("without failures");
    TCase *deaths = tcase_create("deaths");

    tcase_set_timeout(calm, 300);
    tcase_add_test(calm, a_job_of_one_needs_no_message);
    tcase_add_test(calm, two_ranks);
    tcase_add_test(calm, every_operation_with_every_shape);
    tcase_add_test(calm, the_numbers_of_seven_ranks_by_hand);
    tcase_add_loop_test(calm, the_same_bits_on_every_rank_and_from_run_to_run, 0, 2);
    tcase_add_test(calm, broadcasts_pile_up_until_something_collects);
    tcase_add_test(deaths, the_papers_example_sums_to_20);
    tcase_add_test(deaths, the_coordinator_dies_before_it_tells_anyone);
    tcase_add_test(deaths, the_coordinator_dies_after_telling_one);
    tcase_add_test(deaths, two_coordinators_in_a_row);
    tcase_add_test(deaths, everyone_dies_but_one);
    tcase_add_test(deaths, more_than_f_failures_cost_a_round);
    tcase_add_test(deaths, a_reduce_says_too_many_failures_at_its_root_only);
    tcase_add_test(deaths, without_sharing_the_view_stays);
    tcase_add_test(deaths, later_operations_cost_what_the_living_cost);
    tcase_add_test(deaths, a_broadcast_of_a_dead_root);
    tcase_add_test(deaths, a_root_dies_after_reaching_one);
    tcase_add_test(deaths, one_who_knows_tells_all_in_validate);
    tcase_add_test(deaths, a_list_costs_most_and_a_bit_least);
    tcase_add_test(deaths, who_was_declared_failed_is_told_to_leave);
    tcase_add_test(deaths, ranks_in_different_collectives_are_named);
    suite_add_tcase(suite, calm);
    suite_add_tcase(suite, deaths);
    return test_suite_run(suite);
}
