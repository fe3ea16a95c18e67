/* Input of a lease: messages as bytes, and settings. What does not fit is refused. */
#include <string.h>

#include "base/error.h"
#include "detector/lease/lease.h"
#include "tests/suite.h"

START_TEST(damaged_messages_are_refused)
{
    struct ftc_lease_box box, back_box;
    unsigned char bytes[512];
    ck_assert_int_eq(ftc_lease_box_init(&box, 9), 0);
    ck_assert_int_eq(ftc_lease_box_init(&back_box, 9), 0);
    ftc_set_add(&box.nodes, 8);
    ftc_set_add(&box.refused, 4);
    box.pair[0] = (struct ftc_lease_pair){8, 5};
    struct ftc_lease_message message = {.kind = FTC_LEASE_ECHO,
                                        .term = 3,
                                        .beat = 7,
                                        .rounds = 11,
                                        .refused = &box.refused,
                                        .declared = &box.declared,
                                        .nodes = &box.nodes,
                                        .pair = box.pair,
                                        .pairs = 1},
                             back;
    size_t size = ftc_lease_encode(&message, bytes, sizeof(bytes));
    ck_assert_uint_eq(ftc_lease_size(&message), size);
    ck_assert_uint_eq(ftc_lease_encode(&message, bytes, size - 1), 0);
    ck_assert_uint_eq(ftc_lease_encode(&message, bytes, sizeof(bytes)), size);
    for (size_t cut = 0; cut < size; cut++)
        ck_assert_int_eq(ftc_lease_decode(&back, &back_box, bytes, cut), FTC_ERR_PROTO);
    ck_assert_int_eq(ftc_lease_decode(&back, &back_box, bytes, size), 0);
    ck_assert(back.kind == FTC_LEASE_ECHO && back.term == 3 && back.beat == 7 && back.rounds == 11);
    ck_assert(ftc_set_has(back.refused, 4) && ftc_set_empty(back.declared) &&
              ftc_set_has(back.nodes, 8));
    ck_assert(back.pairs == 1 && back.pair[0].node == 8 && back.pair[0].unheard == 5);
    bytes[size - 1] = 1; /* there is no such node */
    ck_assert_int_eq(ftc_lease_decode(&back, &back_box, bytes, size), FTC_ERR_PROTO);
    bytes[size - 1] = 0;
    bytes[8] = 0x80; /* a term so high that no higher one might be left */
    ck_assert_int_eq(ftc_lease_decode(&back, &back_box, bytes, size), FTC_ERR_PROTO);
    bytes[8] = 0;
    ck_assert_int_eq(ftc_lease_decode(&back, &back_box, bytes, size), 0);
    bytes[0] = FTC_LEASE_KINDS;
    ck_assert_int_eq(ftc_lease_decode(&back, &back_box, bytes, size), FTC_ERR_PROTO);
    ftc_lease_box_fini(&box);
    ftc_lease_box_fini(&back_box);
}
END_TEST

/* A beat names its leader, who is in its tree. */
START_TEST(damaged_beats_are_refused)
{
    struct ftc_lease_box box, back_box;
    unsigned char bytes[512];
    ck_assert_int_eq(ftc_lease_box_init(&box, 9), 0);
    ck_assert_int_eq(ftc_lease_box_init(&back_box, 9), 0);
    ftc_set_add(&box.nodes, 2);
    ftc_set_add(&box.named[3], 6);
    ftc_set_add(&box.silent, 1);
    struct ftc_lease_message message = {.kind = FTC_LEASE_BEAT,
                                        .leader = 2,
                                        .beat = 1,
                                        .refused = &box.refused,
                                        .declared = &box.declared,
                                        .silent = &box.silent,
                                        .nodes = &box.nodes,
                                        .named = box.named},
                             back;
    for (int damage = 0; damage < 4; damage++) {
        message.leader = damage == 1 ? 3 : damage == 2 ? 9 : 2;
        message.beat = damage != 3;
        size_t size = ftc_lease_encode(&message, bytes, sizeof(bytes));
        ck_assert_uint_eq(ftc_lease_size(&message), size);
        ck_assert_int_eq(ftc_lease_decode(&back, &back_box, bytes, size),
                         damage == 0 ? 0 : FTC_ERR_PROTO);
    }
    ck_assert(ftc_set_has(&back.named[3], 6) && ftc_set_has(back.silent, 1));
    ftc_lease_box_fini(&box);
    ftc_lease_box_fini(&back_box);
}
END_TEST

START_TEST(settings_that_do_not_fit_are_refused_with_a_remedy)
{
    struct ftc_lease *lease;
    struct ftc_lease_settings settings = {.nodes = 4, .timeout_ns = 1900, .period_ns = 100};
    ck_assert_int_eq(ftc_lease_create(&lease, &settings), FTC_ERR_ARG);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "give a longer one"));
    settings.timeout_ns = 2000;
    settings.self = 4;
    ck_assert_int_eq(ftc_lease_create(&lease, &settings), FTC_ERR_ARG);
    settings.self = 3;
    settings.greetings = 2;
    ck_assert_int_eq(ftc_lease_create(&lease, &settings), FTC_ERR_ARG);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "at least 3"));
    settings.greetings = 3;
    ck_assert_int_eq(ftc_lease_create(&lease, &settings), 0);
    ftc_lease_destroy(lease);
}
END_TEST

/* nodes.md, rule 5, "Lead". */
START_TEST(a_leader_refuses_what_a_late_vote_refuses)
{
    struct ftc_lease *lease;
    struct ftc_lease_box box;
    struct ftc_lease_settings settings = {.nodes = 5, .timeout_ns = 2000, .period_ns = 100};
    ck_assert_int_eq(ftc_lease_create(&lease, &settings), 0);
    ck_assert_int_eq(ftc_lease_box_init(&box, settings.nodes), 0);
    ftc_lease_start(lease, 1000);
    ck_assert_int_eq(ftc_lease_leader(lease), 0);
    ftc_set_add(&box.refused, 3);
    struct ftc_lease_message vote = {
        .kind = FTC_LEASE_VOTE, .term = 1, .refused = &box.refused, .declared = &box.declared};
    ftc_lease_receive(lease, 1, &vote, 1001);
    ck_assert(ftc_set_has(ftc_lease_refused(lease), 3));
    ftc_lease_box_fini(&box);
    ftc_lease_destroy(lease);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lease_input");
    TCase *tcase = tcase_create("input");
    tcase_add_test(tcase, damaged_messages_are_refused);
    tcase_add_test(tcase, damaged_beats_are_refused);
    tcase_add_test(tcase, a_leader_refuses_what_a_late_vote_refuses);
    tcase_add_test(tcase, settings_that_do_not_fit_are_refused_with_a_remedy);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
