/* The deterministic baselines: right sums, their costs, and the effects of corruption, deaths and
 * nonsense. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "include/ftcoll.h"
#include "tests/collectives/doubling_net.h"
#include "tests/suite.h"

/* A rank contributes whole numbers, whose sums are exact, */
static double whole(int rank, size_t i)
{
    return (double)(rank + 1) * (double)(i + 1);
}

/* ... fractions, whose sums are not exact, */
static double fraction(int rank, size_t i)
{
    return 1.0 / (rank + 3.0) + (double)i * 0.1;
}

/* ... one value among zeros, so that rounding loses none of its bits, */
static double lonely(int rank, size_t i)
{
    return rank == 5 && i == 1 ? 1.5 : 0;
}

/* ... or values that are no finite numbers. */
static double strange(int rank, size_t i)
{
    if (rank != 3)
        return 1;
    return i == 0 ? (double)NAN : -(double)INFINITY;
}

static double right(const struct doubling_net *net, size_t i)
{
    return (double)net->settings.ranks * (net->settings.ranks + 1) / 2 * (double)(i + 1);
}

/* Checks the sum of whole numbers. */
static bool is_right(const struct doubling_net *net, int rank)
{
    const double *result = ftc_doubling_result(net->rank[rank]);
    for (size_t i = 0; result != NULL && i < net->settings.count; i++)
        if (result[i] != right(net, i))
            return false;
    return result != NULL;
}

static int wrong_ranks(const struct doubling_net *net)
{
    int wrong = 0;
    for (int rank = 0; rank < net->settings.ranks; rank++)
        wrong += !is_right(net, rank);
    return wrong;
}

static struct ftc_doubling_counters counters_of(const struct doubling_net *net, int rank)
{
    struct ftc_doubling_counters counters;
    ftc_doubling_counters(net->rank[rank], &counters);
    return counters;
}

/* --- sums --- */

static const char *title(const struct doubling_net *net)
{
    static char text[100];
    snprintf(text, sizeof(text), "%s of %zu values at %d ranks",
             ftc_doubling_algorithm_name(net->settings.algorithm), net->settings.count,
             net->settings.ranks);
    return text;
}

START_TEST(the_sum_is_right_for_any_number_of_ranks_and_values)
{
    for (int ranks = 1; ranks <= 64; ranks += ranks == 33 ? 31 : 1) {
        for (size_t count = 1; count <= DOUBLING_NET_VALUES; count += TEST_SANITIZED ? 7 : 1) {
            struct doubling_net *net =
                doubling_net_new((enum ftc_doubling_algorithm)_i, ranks, count, whole);
            doubling_net_run(net);
            if (wrong_ranks(net) > 0)
                ck_abort_msg("%s: %d are wrong", title(net), wrong_ranks(net));
            doubling_net_free(net);
        }
    }
}
END_TEST

static bool same_everywhere(const struct doubling_net *net)
{
    const double *first = ftc_doubling_result(net->rank[0]);
    for (int rank = 0; rank < net->settings.ranks; rank++) {
        const double *result = ftc_doubling_result(net->rank[rank]);
        if (result == NULL || memcmp(result, first, net->settings.count * sizeof(*result)) != 0)
            return false;
    }
    return true;
}

START_TEST(inexact_sums_are_the_same_bits_at_every_rank_and_again)
{
    for (int ranks = 1; ranks <= 33; ranks++) {
        struct doubling_net *net =
            doubling_net_new((enum ftc_doubling_algorithm)_i, ranks, 13, fraction);
        struct doubling_net *again =
            doubling_net_new((enum ftc_doubling_algorithm)_i, ranks, 13, fraction);
        again->random.state++; /* the messages come in another order */
        doubling_net_run(net);
        doubling_net_run(again);
        ck_assert_msg(same_everywhere(net) && same_everywhere(again), "%s", title(net));
        ck_assert_mem_eq(ftc_doubling_result(net->rank[0]), ftc_doubling_result(again->rank[0]),
                         13 * sizeof(double));
        doubling_net_free(net);
        doubling_net_free(again);
    }
}
END_TEST

START_TEST(a_vote_changes_nothing_where_nothing_is_wrong)
{
    struct doubling_net *plain = doubling_net_new(FTC_DOUBLING_PLAIN, 11, 7, fraction);
    struct doubling_net *voted = doubling_net_new(FTC_DOUBLING_VOTED, 11, 7, fraction);
    doubling_net_run(plain);
    doubling_net_run(voted);
    for (int rank = 0; rank < 11; rank++) {
        ck_assert_mem_eq(ftc_doubling_result(voted->rank[rank]),
                         ftc_doubling_result(plain->rank[rank]), 7 * sizeof(double));
        ck_assert_uint_eq(counters_of(voted, rank).differed, 0);
    }
    doubling_net_free(plain);
    doubling_net_free(voted);
}
END_TEST

START_TEST(values_that_are_no_numbers_are_summed_like_others)
{
    struct doubling_net *net = doubling_net_new((enum ftc_doubling_algorithm)_i, 6, 2, strange);
    doubling_net_run(net);
    for (int rank = 0; rank < 6; rank++) {
        ck_assert_int_eq((int)ftc_doubling_state(net->rank[rank]), FTC_DOUBLING_DONE);
        ck_assert(isnan(ftc_doubling_result(net->rank[rank])[0]));
        ck_assert(ftc_doubling_result(net->rank[rank])[1] == -(double)INFINITY);
    }
    doubling_net_free(net);
}
END_TEST

/* --- costs --- */

struct cost {
    uint64_t messages, bytes, added;
};

/* The formulas of doubling.h, for an N that divides l. */
static struct cost cost_of(enum ftc_doubling_algorithm algorithm, uint64_t levels, uint64_t n,
                           uint64_t l)
{
    uint64_t runs = algorithm == FTC_DOUBLING_VOTED ? 3 : 1;
    if (algorithm == FTC_DOUBLING_RABENSEIFNER)
        return (struct cost){2 * levels, 2 * (n - 1) * l / n * sizeof(double), (n - 1) * l / n};
    return (struct cost){runs * levels, runs * levels * l * sizeof(double), runs * levels * l};
}

START_TEST(each_rank_sends_and_adds_what_the_formulas_say)
{
    enum ftc_doubling_algorithm algorithm = (enum ftc_doubling_algorithm)_i;
    for (int levels = 0; levels <= 6; levels++) {
        struct doubling_net *net = doubling_net_new(algorithm, 1 << levels, 64, whole);
        struct cost cost = cost_of(algorithm, (uint64_t)levels, 1u << levels, 64);
        doubling_net_run(net);
        for (int rank = 0; rank < 1 << levels; rank++) {
            struct ftc_doubling_counters counters = counters_of(net, rank);
            ck_assert_uint_eq(counters.messages, cost.messages);
            ck_assert_uint_eq(counters.bytes, cost.bytes);
            ck_assert_uint_eq(counters.added, cost.added);
        }
        doubling_net_free(net);
    }
}
END_TEST

/* Of 11 ranks, 8 to 10 give their vectors to 0 to 2, and get the sum from them. */
START_TEST(ranks_past_a_power_of_two_send_once_and_cost_their_partner_one_more)
{
    struct doubling_net *net = doubling_net_new(FTC_DOUBLING_PLAIN, 11, 5, whole);
    doubling_net_run(net);
    for (int rank = 0; rank < 11; rank++) {
        struct ftc_doubling_counters counters = counters_of(net, rank);
        ck_assert_uint_eq(counters.messages, rank >= 8 ? 1 : rank < 3 ? 4 : 3);
        ck_assert_uint_eq(counters.bytes, counters.messages * 5 * sizeof(double));
    }
    doubling_net_free(net);
}
END_TEST

/* --- corruption --- */

static struct doubling_net *run_flipped(enum ftc_doubling_algorithm algorithm, int ranks, int rank,
                                        const struct ftc_flip *flip)
{
    struct doubling_net *net = doubling_net_new(algorithm, ranks, 3, whole);
    if (!ftc_doubling_flip(net->rank[rank], flip))
        ck_abort_msg("no %s", ftc_flip_variable_name(flip->variable));
    doubling_net_run(net);
    return net;
}

/* Wimmer 2016, figures 2.1 and 4.6. */
START_TEST(any_bit_of_an_input_makes_the_sum_wrong_everywhere)
{
    for (int bit = 0; bit < 64; bit++) {
        struct ftc_flip flip = {.variable = FTC_FLIP_INPUT, .element = 1, .bit = bit};
        struct doubling_net *net = doubling_net_new((enum ftc_doubling_algorithm)_i, 32, 3, lonely);
        ck_assert(ftc_doubling_flip(net->rank[5], &flip));
        doubling_net_run(net);
        ck_assert_msg(same_everywhere(net), "bit %d", bit);
        ck_assert_msg(ftc_doubling_result(net->rank[0])[1] != 1.5, "bit %d is repaired", bit);
        doubling_net_free(net);
    }
}
END_TEST

/* Wimmer 2016, figure 2.1: the earlier the flip, the more ranks are wrong. Their wrong results
 * differ, too. */
START_TEST(a_later_flip_makes_doubling_wrong_at_half_as_many_ranks_with_each_step)
{
    for (int sent = 0; sent < 5; sent++) {
        struct ftc_flip flip = {.variable = FTC_FLIP_PARTIAL, .bit = 51, .step = (uint64_t)sent};
        struct doubling_net *net = run_flipped(FTC_DOUBLING_PLAIN, 32, 9, &flip);
        ck_assert_int_eq(wrong_ranks(net), 32 >> sent);
        doubling_net_free(net);
        flip.variable = FTC_FLIP_MESSAGE;
        net = run_flipped(FTC_DOUBLING_PLAIN, 32, 9, &flip);
        ck_assert_int_eq(wrong_ranks(net), 16 >> sent);
        ck_assert(is_right(net, 9));
        doubling_net_free(net);
    }
}
END_TEST

static bool any_differed(const struct doubling_net *net)
{
    for (int rank = 0; rank < net->settings.ranks; rank++)
        if (counters_of(net, rank).differed > 0)
            return true;
    return false;
}

/* A flip in the first copy or in a message is noticed, unless it is so small that rounding removes
 * it. A flip in a sum may be overwritten before it does harm. */
static void flip_and_vote(int ranks, int rank, const struct ftc_flip *flip)
{
    struct doubling_net *net = run_flipped(FTC_DOUBLING_VOTED, ranks, rank, flip);
    const char *name = ftc_flip_variable_name(flip->variable);
    bool sent = flip->variable == FTC_FLIP_MESSAGE && flip->step < counters_of(net, rank).messages;
    bool first = flip->variable == FTC_FLIP_INPUT && flip->step == 0;

    if (wrong_ranks(net) > 0)
        ck_abort_msg("rank %d of %d: bit %d of %s after %d messages: %d are wrong", rank, ranks,
                     flip->bit, name, (int)flip->step, wrong_ranks(net));
    if (flip->bit >= 40 && (sent || first) && !any_differed(net))
        ck_abort_msg("rank %d of %d: bit %d of %s after %d messages is not noticed", rank, ranks,
                     flip->bit, name, (int)flip->step);
    doubling_net_free(net);
}

static const int voters[] = {1, 2, 7, 8, 11};

START_TEST(a_vote_corrects_any_single_flip)
{
    static const enum ftc_flip_variable variables[] = {FTC_FLIP_INPUT, FTC_FLIP_PARTIAL,
                                                       FTC_FLIP_MESSAGE};
    int ranks = voters[_i], most = 3 * 4; /* messages of a rank */
    for (int rank = 0; rank < ranks; rank++) {
        for (int sent = 0; sent <= most; sent++) {
            for (int bit = 0; bit < 3 * 64; bit += TEST_SANITIZED ? 13 : 1) {
                struct ftc_flip flip = {.variable = variables[bit / 64],
                                        .element = bit % 3,
                                        .bit = bit % 64,
                                        .step = (uint64_t)sent};
                flip_and_vote(ranks, rank, &flip);
            }
        }
    }
}
END_TEST

START_TEST(three_different_results_are_no_result)
{
    struct ftc_flip first = {.variable = FTC_FLIP_INPUT, .element = 2, .bit = 50};
    struct ftc_flip second = {.variable = FTC_FLIP_INPUT, .element = 2, .bit = 51, .step = 1};
    struct doubling_net *net = doubling_net_new(FTC_DOUBLING_VOTED, 16, 3, whole);
    ck_assert(ftc_doubling_flip(net->rank[3], &first));
    ck_assert(ftc_doubling_flip(net->rank[12], &second));
    doubling_net_run(net);
    for (int rank = 0; rank < 16; rank++) {
        ck_assert_int_eq((int)ftc_doubling_state(net->rank[rank]), FTC_DOUBLING_NO_MAJORITY);
        ck_assert_ptr_null(ftc_doubling_result(net->rank[rank]));
        ck_assert_uint_eq(counters_of(net, rank).differed, 1);
    }
    doubling_net_free(net);
}
END_TEST

START_TEST(what_is_not_there_does_not_turn_over)
{
    struct doubling_net *net = doubling_net_new((enum ftc_doubling_algorithm)_i, 4, 3, whole);
    struct ftc_flip flip = {.variable = FTC_FLIP_FLOW};
    ck_assert(!ftc_doubling_flip(net->rank[0], &flip));
    flip = (struct ftc_flip){.variable = FTC_FLIP_PARTIAL, .element = 3};
    ck_assert(!ftc_doubling_flip(net->rank[0], &flip));
    flip.element = -1;
    ck_assert(!ftc_doubling_flip(net->rank[0], &flip));
    flip = (struct ftc_flip){
        .variable = FTC_FLIP_INPUT, .bit = 51, .step = 1000}; /* a rank sends fewer messages */
    ck_assert(ftc_doubling_flip(net->rank[0], &flip));
    doubling_net_run(net);
    ck_assert_int_eq(wrong_ranks(net), 0);
    doubling_net_free(net);
}
END_TEST

/* --- deaths --- */

START_TEST(a_death_ends_it_where_it_is_not_done)
{
    int failed = 0;
    for (int steps = 0; steps < 60; steps++) {
        struct doubling_net *net = doubling_net_new((enum ftc_doubling_algorithm)_i, 11, 5, whole);
        net->random.state += (uint64_t)steps;
        for (int i = 0; i < 11; i++)
            doubling_net_start(net, i);
        for (int i = 0; i < steps; i++)
            doubling_net_step(net);
        doubling_net_kill(net, steps % 11);
        while (doubling_net_step(net))
            ;
        for (int rank = 0; rank < 11; rank++) {
            if (net->dead[rank])
                continue;
            enum ftc_doubling_state state = ftc_doubling_state(net->rank[rank]);
            ck_assert(state == FTC_DOUBLING_RANK_FAILED || is_right(net, rank));
            ck_assert((state == FTC_DOUBLING_DONE) ==
                      (ftc_doubling_result(net->rank[rank]) != NULL));
            failed += state == FTC_DOUBLING_RANK_FAILED;
        }
        doubling_net_free(net);
    }
    ck_assert_int_gt(failed, 0);
}
END_TEST

START_TEST(a_notice_of_no_other_rank_is_nothing)
{
    struct doubling_net *net = doubling_net_new((enum ftc_doubling_algorithm)_i, 5, 2, whole);
    ftc_doubling_notice(net->rank[0], 0);
    ftc_doubling_notice(net->rank[0], 5);
    ftc_doubling_notice(net->rank[0], -1);
    doubling_net_run(net);
    ck_assert_int_eq(wrong_ranks(net), 0);
    ftc_doubling_notice(net->rank[0], 1); /* too late */
    ck_assert(is_right(net, 0));
    doubling_net_free(net);
}
END_TEST

/* --- what it must refuse --- */

static void refuse(const struct doubling_net *net, int from, const unsigned char *bytes,
                   size_t size)
{
    ck_assert_int_eq(ftc_doubling_receive(net->rank[0], from, bytes, size), FTC_ERR_PROTO);
    ck_assert_ptr_nonnull(
        strstr(ftc_last_error(), ftc_doubling_algorithm_name(net->settings.algorithm)));
}

/* Rank 0 of two accepts its peer's message once, before it starts. It refuses all other messages,
 * and its sum is right all the same. */
START_TEST(nonsense_is_refused_and_changes_nothing)
{
    struct doubling_net *net = doubling_net_new((enum ftc_doubling_algorithm)_i, 2, 4, whole);
    unsigned char message[FTC_DOUBLING_HEAD + 5 * sizeof(double)] = {0}, damaged[sizeof(message)];
    struct ftc_doubling_output output;

    ftc_doubling_start(net->rank[1]);
    ck_assert(ftc_doubling_next_output(net->rank[1], &output));
    size_t size = output.size;
    memcpy(message, output.bytes, size);
    for (int from = -1; from < 3; from++)
        if (from != 1)
            refuse(net, from, message, size);
    for (size_t wrong = 0; wrong <= sizeof(message); wrong++)
        if (wrong != size)
            refuse(net, 1, message, wrong);
    for (size_t at = 0; at < FTC_DOUBLING_HEAD; at++) {
        memcpy(damaged, message, size);
        damaged[at] ^= 0x80;
        refuse(net, 1, damaged, size);
    }
    ck_assert_int_eq(ftc_doubling_receive(net->rank[0], 1, message, size), FTC_SUCCESS);
    refuse(net, 1, message, size);
    doubling_net_start(net, 0);
    while (doubling_net_step(net))
        ;
    ck_assert_int_eq(wrong_ranks(net), 0);
    refuse(net, 1, message, size); /* it is done */
    doubling_net_free(net);
}
END_TEST

START_TEST(settings_that_make_no_sense_are_refused_with_a_remedy)
{
    double value = 1;
    struct ftc_doubling *doubling = NULL;
    struct ftc_doubling_settings good = {.ranks = 2, .count = 1}, bad = good;
    bad.algorithm = FTC_DOUBLING_ALGORITHMS;
    ck_assert_int_eq(ftc_doubling_create(&doubling, &bad, &value), FTC_ERR_ARG);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "take doubling, rabenseifner or voted"));
    bad = good;
    bad.self = 2;
    ck_assert_int_eq(ftc_doubling_create(&doubling, &bad, &value), FTC_ERR_ARG);
    bad.self = -1;
    ck_assert_int_eq(ftc_doubling_create(&doubling, &bad, &value), FTC_ERR_ARG);
    bad = good;
    bad.count = 0;
    ck_assert_int_eq(ftc_doubling_create(&doubling, &bad, &value), FTC_ERR_ARG);
    bad.count = SIZE_MAX;
    if (!TEST_SANITIZED) /* a sanitizer aborts for such a size */
        ck_assert_int_eq(ftc_doubling_create(&doubling, &bad, &value), FTC_ERR_NOMEM);
    ck_assert_ptr_null(doubling);
    ftc_doubling_destroy(NULL);
}
END_TEST

int main(void)
{
    test_seed_announce();
    Suite *suite = suite_create("doubling");
    TCase *tcase = tcase_create("doubling");
    int all = FTC_DOUBLING_ALGORITHMS;
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, the_sum_is_right_for_any_number_of_ranks_and_values, 0, all);
    tcase_add_loop_test(tcase, inexact_sums_are_the_same_bits_at_every_rank_and_again, 0, all);
    tcase_add_test(tcase, a_vote_changes_nothing_where_nothing_is_wrong);
    tcase_add_loop_test(tcase, values_that_are_no_numbers_are_summed_like_others, 0, all);
    tcase_add_loop_test(tcase, each_rank_sends_and_adds_what_the_formulas_say, 0, all);
    tcase_add_test(tcase, ranks_past_a_power_of_two_send_once_and_cost_their_partner_one_more);
    tcase_add_loop_test(tcase, any_bit_of_an_input_makes_the_sum_wrong_everywhere, 0,
                        FTC_DOUBLING_VOTED);
    tcase_add_test(tcase, a_later_flip_makes_doubling_wrong_at_half_as_many_ranks_with_each_step);
    tcase_add_loop_test(tcase, a_vote_corrects_any_single_flip, 0,
                        sizeof(voters) / sizeof(voters[0]));
    tcase_add_test(tcase, three_different_results_are_no_result);
    tcase_add_loop_test(tcase, what_is_not_there_does_not_turn_over, 0, all);
    tcase_add_loop_test(tcase, a_death_ends_it_where_it_is_not_done, 0, all);
    tcase_add_loop_test(tcase, a_notice_of_no_other_rank_is_nothing, 0, all);
    tcase_add_loop_test(tcase, nonsense_is_refused_and_changes_nothing, 0, all);
    tcase_add_test(tcase, settings_that_make_no_sense_are_refused_with_a_remedy);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
