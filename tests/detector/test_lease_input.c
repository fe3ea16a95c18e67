/* Input of a lease: messages as bytes, and settings. What does not fit is refused. */
#include <string.h>

#include "base/error.h"
#include "detector/lease/lease.h"
#include "tests/suite.h"

START_TEST(damaged_messages_are_refused)
{
    struct ftc_set refused, declared, unheard;
    unsigned char bytes[FTC_LEASE_BYTES(9)];
    ck_assert_int_eq(ftc_set_init(&refused, 9), 0);
    ck_assert_int_eq(ftc_set_init(&declared, 9), 0);
    ck_assert_int_eq(ftc_set_init(&unheard, 9), 0);
    ftc_set_add(&unheard, 8);
    ftc_set_add(&refused, 4);
    struct ftc_lease_message message = {.kind = FTC_LEASE_ECHO,
                                        .term = 3,
                                        .leader_ns = 7,
                                        .node_ns = 9,
                                        .refused = &refused,
                                        .declared = &declared,
                                        .unheard = &unheard,
                                        .rounds = 11},
                             back;
    size_t size = ftc_lease_encode(&message, bytes, sizeof(bytes));
    ck_assert_uint_eq(ftc_lease_encode(&message, bytes, size - 1), 0);
    ck_assert_uint_eq(ftc_lease_encode(&message, bytes, sizeof(bytes)), size);
    for (size_t cut = 0; cut < size; cut++)
        ck_assert_int_eq(ftc_lease_decode(&back, &refused, &declared, &unheard, bytes, cut),
                         FTC_ERR_PROTO);
    ck_assert_int_eq(ftc_lease_decode(&back, &refused, &declared, &unheard, bytes, size), 0);
    ck_assert(back.kind == FTC_LEASE_ECHO && back.term == 3 && back.leader_ns == 7 &&
              back.node_ns == 9 && back.rounds == 11);
    ck_assert(ftc_set_has(&refused, 4) && ftc_set_empty(&declared) && ftc_set_has(&unheard, 8));
    bytes[8] = 0x80; /* a term so high that no higher one might be left */
    ck_assert_int_eq(ftc_lease_decode(&back, &refused, &declared, &unheard, bytes, size),
                     FTC_ERR_PROTO);
    bytes[8] = 0;
    ck_assert_int_eq(ftc_lease_decode(&back, &refused, &declared, &unheard, bytes, size), 0);
    bytes[0] = FTC_LEASE_KINDS;
    ck_assert_int_eq(ftc_lease_decode(&back, &refused, &declared, &unheard, bytes, size),
                     FTC_ERR_PROTO);
    ftc_set_fini(&refused);
    ftc_set_fini(&declared);
    ftc_set_fini(&unheard);
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

int main(void)
{
    Suite *suite = suite_create("lease_input");
    TCase *tcase = tcase_create("input");
    tcase_add_test(tcase, damaged_messages_are_refused);
    tcase_add_test(tcase, settings_that_do_not_fit_are_refused_with_a_remedy);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
