/* Comparison of the results of subtrees (agreement.md, "Vote"): which flipped bits it detects, and
 * which it corrects. */
#include <stdlib.h>
#include <string.h>

#include "collectives/values/flip.h"
#include "story.h"
#include "tests/suite.h"

#define REDUCE_DOUBLE(r)                                                                           \
    {                                                                                              \
        .kind = FTC_CALL_REDUCE, .root = (r), .floating = true                                     \
    }

static const struct ftc_program sums = PROGRAM(SUM_DOUBLE, REDUCE_DOUBLE(0), SUM_DOUBLE, FINALIZE);

static struct ftc_member_settings voting(int n, int f)
{
    struct ftc_member_settings settings = ftc_cluster_settings(n, f);

    settings.integrity = FTC_INTEGRITY_VOTE;
    return settings;
}

static struct ftc_member_report report_of(const struct ftc_cluster *c, int rank)
{
    struct ftc_member_report report;

    ftc_member_report(c->process[rank].member, &report);
    return report;
}

/* --- without damage --- */

START_TEST(all_results_are_compared_with_every_shape)
{
    const struct ftc_program program =
        PROGRAM(ALLREDUCE, REDUCE(0), BCAST(0), VALIDATE, ALLREDUCE, FINALIZE);

    for (int n = 1; n <= 17; n++) {
        for (int f = 0; f < 4 && f < n; f++) {
            struct ftc_member_settings settings = voting(n, f);
            settings.rotation = n % 2 == 0 ? FTC_ROTATION_SPREAD : FTC_ROTATION_FIRST;
            settings.reduce_arity = 1 + n % 3;
            struct ftc_cluster *c = story_begin(&settings, &program);
            ftc_cluster_run_to(c, 0, n - 1);
            bool compares = f > 0 && n > f + 1;
            ck_assert_uint_eq(report_of(c, n - 1).compared, compares ? (unsigned)f + 1 : 0);
            ck_assert(ftc_set_empty(report_of(c, n - 1).wrong));
            story_finish(c);
            ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_COMPARE), compares ? 3 : 0);
            ftc_cluster_free(c);
        }
    }
}
END_TEST

/* A member that dies between its UPs is in one result and not in the other. Both results are
 * right. */
START_TEST(results_with_other_inputs_are_not_compared)
{
    const struct ftc_program program = PROGRAM(ALLREDUCE, ALLREDUCE, FINALIZE);
    struct ftc_member_settings settings = voting(7, 2);
    struct ftc_cluster *c = story_begin(&settings, &program);

    ftc_cluster_doom(c, 5, FTC_MESSAGE_UP, 1, false); /* 4 has the input of 5, 6 does not */
    ftc_cluster_hold_notices(c, 5);
    ftc_cluster_run(c);
    ftc_cluster_release_notices(c, 5);
    ftc_cluster_run_to(c, 0, 1);
    ck_assert_uint_eq(report_of(c, 1).compared, 0);
    story_expect(c, 0, 1, "0-6", "5", 0, 0);
    story_finish(c);
    ftc_cluster_free(c);
}
END_TEST

/* The results with the most common list of inputs are compared: those of subtrees 2 and 3, not
 * 1. */
START_TEST(most_of_the_same_inputs_are_compared)
{
    const struct ftc_program program = PROGRAM(ALLREDUCE, FINALIZE);
    struct ftc_member_settings settings = voting(9, 3);
    struct ftc_cluster *c = story_begin(&settings, &program);

    ftc_cluster_doom(c, 8, FTC_MESSAGE_UP, 1, false); /* 5 has the input of 8, 6 and 7 do not */
    ftc_cluster_hold_notices(c, 8);
    ftc_cluster_run(c);
    ftc_cluster_release_notices(c, 8);
    ftc_cluster_run_to(c, 0, 1);
    ck_assert_uint_eq(report_of(c, 1).compared, 2);
    story_expect(c, 0, 1, "0-7", "8", 0, 0);
    story_finish(c);
    ftc_cluster_free(c);
}
END_TEST

/* --- one bit --- */

struct outcome {
    int status;
    double value;
    uint32_t compared;
    int wrong, first_wrong;
};

/* The outcome of operation `op` of a job at rank 0. The ledger checks the survivors. */
static struct outcome run(const struct ftc_member_settings *settings, int op)
{
    struct ftc_cluster *c = story_begin(settings, &sums);
    struct outcome outcome = {0};

    ftc_cluster_run_to(c, op, 0);
    story_kept(c);
    struct ftc_member_report report = report_of(c, 0);
    struct ftc_value result = ftc_ledger_result(c->ledger, op, 0);
    outcome.status = ftc_cluster_status(c, op, 0);
    outcome.compared = report.compared;
    outcome.wrong = ftc_set_count(report.wrong);
    outcome.first_wrong = ftc_set_next(report.wrong, 0);
    if (result.buffer != NULL)
        memcpy(&outcome.value, ftc_value_bytes(&result), sizeof(outcome.value));
    story_finish(c);
    ftc_cluster_free(c);
    return outcome;
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

/* The values of the last, incomplete group go up only through the coordinator. */
static bool matters(int n, int f, int rank)
{
    return rank == 0 || rank <= (n - 1) / (f + 1) * (f + 1);
}

/* Carries out one flip. Whatever it does, no rank gets a wrong result. What is detected or
 * corrected must be what f promises. */
static void flip(int n, int f, int op, struct ftc_flip flip, double right)
{
    struct ftc_flips flips = {.count = 1, .flip = {flip}};
    struct ftc_member_settings settings = voting(n, f);
    char text[128];

    flips.flip[0].op = (uint64_t)op;
    settings.flips = &flips;
    struct outcome o = run(&settings, op);
    ftc_flips_format(&flips, text, sizeof(text));
    ck_assert_msg(o.compared == (unsigned)f + 1, "n %d, f %d, %s: compared %u", n, f, text,
                  o.compared);
    if (f > 1 || o.status == FTC_SUCCESS)
        ck_assert_msg(o.status == FTC_SUCCESS && same_bits(o.value, right),
                      "n %d, f %d, %s: status %d, %a", n, f, text, o.status, o.value);
    else
        ck_assert_msg(o.status == FTC_ERR_CORRUPT && o.wrong == 2, "n %d, f %d, %s: status %d", n,
                      f, text, o.status);
    if (flip.bit >= 52 && matters(n, f, flip.rank)) /* rounding may remove lower bits */
        ck_assert_msg(o.wrong == (f > 1 ? 1 : 2), "n %d, f %d, %s: %d found", n, f, text, o.wrong);
    if (f > 1 && o.wrong > 0 && flip.rank > 0)
        ck_assert_msg(o.first_wrong == (flip.rank - 1) % (f + 1) + 1,
                      "n %d, f %d, %s: blames rank %d", n, f, text, o.first_wrong);
}

static const int sizes[] = {7, 16, TEST_SANITIZED ? 17 : 64};

/* The sign, an exponent bit, the lowest bit and others, at every rank, after up-correction and in
 * partial results. */
START_TEST(a_bit_at_any_rank)
{
    static const int bits[] = {0, 30, 51, 52, 62, 63};
    int n = sizes[_i % 3], f = 1 + _i / 3;

    for (int op = 0; op < 2; op++) {
        struct ftc_member_settings sound = voting(n, f);
        double right = run(&sound, op).value;
        for (int rank = 0; rank < n; rank++)
            for (int b = 0; b < 6; b++) {
                flip(n, f, op,
                     (struct ftc_flip){.rank = rank, .variable = FTC_FLIP_UP, .bit = bits[b]},
                     right);
                flip(n, f, op,
                     (struct ftc_flip){.rank = rank, .variable = FTC_FLIP_PARTIAL, .bit = bits[b]},
                     right);
            }
    }
}
END_TEST

START_TEST(any_bit_at_some_ranks)
{
    int n = sizes[_i % 3], f = 1 + _i / 3;
    const int ranks[] = {0, 1, f + 1, n / 2, n - 1};
    struct ftc_member_settings sound = voting(n, f);
    double right = run(&sound, 0).value;

    for (int bit = 0; bit < 64; bit += TEST_SANITIZED ? 9 : 1)
        for (int r = 0; r < 5; r++) {
            flip(n, f, 0, (struct ftc_flip){.rank = ranks[r], .variable = FTC_FLIP_UP, .bit = bit},
                 right);
            flip(n, f, 0,
                 (struct ftc_flip){.rank = ranks[r], .variable = FTC_FLIP_PARTIAL, .bit = bit},
                 right);
        }
}
END_TEST

/* After a death, f = 2 has two results left. They detect the fault, but do not correct it. The next
 * calls are right. */
START_TEST(a_death_and_a_bit_are_detected)
{
    const struct ftc_program program = PROGRAM(ALLREDUCE, ALLREDUCE, FINALIZE);
    struct ftc_flips flips = {.count = 1,
                              .flip = {{.rank = 4, .variable = FTC_FLIP_PARTIAL, .bit = 1}}};
    struct ftc_member_settings settings = voting(7, 2);
    settings.flips = &flips;
    struct ftc_cluster *c = story_begin(&settings, &program);

    ftc_cluster_crash(c, 5);
    for (int rank = 0; rank < 7; rank += rank == 4 ? 2 : 1) {
        ftc_cluster_run_to(c, 0, rank);
        ck_assert_int_eq(ftc_cluster_status(c, 0, rank), FTC_ERR_CORRUPT);
        ck_assert_str_eq(ftc_cluster_failed(c, 0, rank), "5");
    }
    story_finish(c);
    story_expect(c, 1, 6, "0-4,6", "5", 0, 0);
    ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_DETECT), 1);
    ftc_cluster_free(c);
}
END_TEST

/* Two results with the same error outvote the third. The mode does not promise more. */
START_TEST(two_equal_faults_outvote_the_third)
{
    struct ftc_flips flips = {.count = 2,
                              .flip = {{.rank = 1, .variable = FTC_FLIP_PARTIAL, .bit = 63},
                                       {.rank = 2, .variable = FTC_FLIP_PARTIAL, .bit = 63}}};
    struct ftc_member_settings settings = voting(7, 2);

    settings.flips = &flips;
    struct outcome o = run(&settings, 0);
    ck_assert(o.status == FTC_SUCCESS && o.wrong == 1 && o.first_wrong == 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vote");
    TCase *sound = tcase_create("sound"), *bits = tcase_create("bits");

    tcase_add_test(sound, all_results_are_compared_with_every_shape);
    tcase_add_test(sound, results_with_other_inputs_are_not_compared);
    tcase_add_test(sound, most_of_the_same_inputs_are_compared);
    suite_add_tcase(suite, sound);
    tcase_add_loop_test(bits, a_bit_at_any_rank, 0, 6);
    tcase_add_loop_test(bits, any_bit_at_some_ranks, 0, 6);
    tcase_add_test(bits, a_death_and_a_bit_are_detected);
    tcase_add_test(bits, two_equal_faults_outvote_the_third);
    tcase_set_timeout(bits, 300);
    suite_add_tcase(suite, bits);
    return test_suite_run(suite);
}
