/* Flips on request: how a text names a flip, and what the flip does. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "collectives/values/flip.h"
#include "tests/suite.h"

START_TEST(a_line_names_a_flip)
{
    struct ftc_flip flip;
    ck_assert_int_eq(ftc_flip_parse("3:flow:55@150", &flip), FTC_SUCCESS);
    ck_assert(flip.rank == 3 && flip.variable == FTC_FLIP_FLOW && flip.element == 0 &&
              flip.bit == 55);
    ck_assert(flip.op == 0 && flip.step == 150);
    ck_assert_int_eq(ftc_flip_parse("12:partial.7:0@41/2", &flip), FTC_SUCCESS);
    ck_assert(flip.rank == 12 && flip.variable == FTC_FLIP_PARTIAL && flip.element == 7 &&
              flip.bit == 0);
    ck_assert(flip.op == 41 && flip.step == 2);
}
END_TEST

START_TEST(each_variable_has_a_name_that_is_read_back)
{
    for (int i = 0; i < FTC_FLIP_VARIABLES; i++) {
        char text[64];
        struct ftc_flip flip;
        snprintf(text, sizeof(text), "0:%s:63@0",
                 ftc_flip_variable_name((enum ftc_flip_variable)i));
        ck_assert_msg(ftc_flip_parse(text, &flip) == FTC_SUCCESS, "%s: %s", text, ftc_last_error());
        ck_assert_int_eq((int)flip.variable, i);
    }
}
END_TEST

/* Draws for sweeps reach every variable at every rank, and are the same again from the same
 * seed. */
START_TEST(flips_are_drawn_for_each_operation)
{
    struct ftc_flips flips, again;
    unsigned variables = 0, ranks = 0;
    char text[128];

    ck_assert_int_eq(ftc_flips_parse("3:flow:55@7/1,random:41", &flips), FTC_SUCCESS);
    ck_assert(flips.count == 1 && flips.drawn && flips.seed == 41 && ftc_flips_any(&flips));
    ck_assert_int_eq(ftc_flips_parse(ftc_flips_format(&flips, text, sizeof(text)), &again),
                     FTC_SUCCESS);
    for (uint64_t op = 0; op < 1000; op++) {
        struct ftc_flip flip = ftc_flips_draw(&flips, op, 8), same = ftc_flips_draw(&again, op, 8);
        ck_assert(flip.op == op && flip.rank < 8 && flip.bit < 64);
        ck_assert(flip.rank == same.rank && flip.variable == same.variable && flip.bit == same.bit);
        variables |= 1u << flip.variable;
        ranks |= 1u << flip.rank;
    }
    ck_assert_uint_eq(variables, (1u << FTC_FLIP_VARIABLES) - 1);
    ck_assert_uint_eq(ranks, 0xff);
    ck_assert_int_eq(ftc_flips_parse("random:", &flips), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_flips_parse("random:1x", &flips), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_flips_parse("random:-1", &flips), FTC_ERR_ARG);
}
END_TEST

START_TEST(other_lines_are_refused_with_what_a_flip_looks_like)
{
    static const char *const wrong[] = {"",
                                        "3",
                                        "3:flow",
                                        "3:flow:55",
                                        "3:flow:55@",
                                        "3:flow:64@1",
                                        "3:flow:-1@1",
                                        "-3:flow:1@1",
                                        "3:river:1@1",
                                        "3:flow.:1@1",
                                        "3:flow.-1:1@1",
                                        "3:flow:1@1/",
                                        "3:flow:1@1/2x",
                                        "3:flow:1@-1",
                                        "3:flow:1@1,4:flow:1@1",
                                        "99999999999999999999:flow:1@1",
                                        "3:flow.99999999999999999999:1@1",
                                        "3:flow:1@99999999999999999999999"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct ftc_flip flip;
        ck_assert_msg(ftc_flip_parse(wrong[i], &flip) == FTC_ERR_ARG, "taken: %s", wrong[i]);
        ck_assert_ptr_nonnull(strstr(ftc_last_error(), "3:flow:55@150"));
    }
}
END_TEST

START_TEST(a_bit_turns_over_and_back)
{
    struct ftc_flip flip = {.bit = 63};
    double value = 1.5;
    ftc_flip_double(&flip, &value);
    ck_assert(value == -1.5);
    flip.bit = 62; /* 1.5 has all bits of the exponent but this one */
    ftc_flip_double(&flip, &value);
    ck_assert(isnan(value));
    ftc_flip_double(&flip, &value);
    ck_assert(value == -1.5);
}
END_TEST

START_TEST(of_bytes_only_those_that_are_there)
{
    unsigned char bytes[12] = {0};
    struct ftc_flip flip = {.element = 1, .bit = 31};
    ck_assert(ftc_flip_bytes(&flip, bytes, sizeof(bytes)));
    ck_assert_int_eq(bytes[11], 0x80);
    flip.bit = 32;
    ck_assert(!ftc_flip_bytes(&flip, bytes, sizeof(bytes)));
    ck_assert(!ftc_flip_bytes(&flip, bytes, 0));
}
END_TEST

START_TEST(a_list_is_read_and_written)
{
    struct ftc_flips flips, again;
    char text[128];
    ck_assert_int_eq(ftc_flips_parse("", &flips), FTC_SUCCESS);
    ck_assert_int_eq(flips.count, 0);
    ck_assert_int_eq(ftc_flips_parse("3:up:62@1/0,12:partial.7:0@41/2", &flips), FTC_SUCCESS);
    ck_assert_int_eq(flips.count, 2);
    ck_assert(flips.flip[1].rank == 12 && flips.flip[1].op == 41 && flips.flip[1].step == 2);
    ck_assert_str_eq(ftc_flips_format(&flips, text, sizeof(text)),
                     "3:up.0:62@1/0,12:partial.7:0@41/2");
    ck_assert_int_eq(ftc_flips_parse(text, &again), FTC_SUCCESS);
    ck_assert_int_eq(memcmp(&flips, &again, sizeof(flips)), 0);
}
END_TEST

START_TEST(a_list_with_a_gap_or_too_long_is_refused)
{
    struct ftc_flips flips;
    static const char *const lists[] = {",", "0:up:1@0,", ",0:up:1@0", "0:up:1@0,,0:up:1@0",
                                        "0:up:1@0 "};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        ck_assert_msg(ftc_flips_parse(lists[i], &flips) == FTC_ERR_ARG, "\"%s\"", lists[i]);
    char text[16 * (FTC_FLIPS + 1)] = "0:up:1@0";
    for (int i = 1; i < FTC_FLIPS; i++)
        strcat(text, ",0:up:1@0");
    ck_assert_int_eq(ftc_flips_parse(text, &flips), FTC_SUCCESS);
    strcat(text, ",0:up:1@0");
    ck_assert_int_eq(ftc_flips_parse(text, &flips), FTC_ERR_ARG);
    ck_assert_str_eq(ftc_last_error(), "more than 16 flips; give fewer");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("flip");
    TCase *tcase = tcase_create("flip");
    tcase_add_test(tcase, a_line_names_a_flip);
    tcase_add_test(tcase, flips_are_drawn_for_each_operation);
    tcase_add_test(tcase, each_variable_has_a_name_that_is_read_back);
    tcase_add_test(tcase, other_lines_are_refused_with_what_a_flip_looks_like);
    tcase_add_test(tcase, a_bit_turns_over_and_back);
    tcase_add_test(tcase, of_bytes_only_those_that_are_there);
    tcase_add_test(tcase, a_list_is_read_and_written);
    tcase_add_test(tcase, a_list_with_a_gap_or_too_long_is_refused);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
