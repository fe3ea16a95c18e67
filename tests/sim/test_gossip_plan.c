/* Tests gossip by formula: the vectors of the notes, the limits, and gossip itself played with dice
 * beside its formula. */
#include "sim/figures/gossip_plan.h"

#include <math.h>
#include <string.h>

#include "tests/random.h"
#include "tests/suite.h"

/* --- the vectors of docs/design/algorithms-notes.md, 3: L = 2, o = 1, epsilon = 1e-6 --- */

static void expect_plan(int ranks, int dead, int rounds, int coloured, double messages,
                        int distance)
{
    struct ftc_gossip_model model = {ranks, ranks - dead, ftc_gossip_plan_hop(2, 1)};
    struct ftc_gossip_plan plan = ftc_gossip_plan_choose(&model, 1e-6);

    ck_assert_int_eq(model.hop, 4);
    ck_assert_int_eq(plan.rounds, rounds);
    ck_assert_int_eq((int)lround(plan.spread.coloured), coloured);
    ck_assert_double_eq_tol(plan.spread.messages / ranks, messages, 0.05);
    ck_assert_int_eq(plan.distance, distance);
    ck_assert_int_eq(plan.duration, rounds + 4 + distance + 3);
}

START_TEST(the_plans_of_the_notes_come_out)
{
    expect_plan(1024, 0, 25, 980, 3.1, 7);
    expect_plan(4096, 0, 31, 4050, 4.5, 5);
    expect_plan(4096, 40, 30, 3941, 3.6, 7);
}
END_TEST

/* No other number of rounds is better, and any smaller number is worse. */
START_TEST(a_plan_is_the_best_of_all)
{
    for (int ranks = 2; ranks <= 3000; ranks = ranks * 3 / 2 + 1)
        for (int hop = 1; hop <= 20; hop += 6) {
            struct ftc_gossip_model model = {ranks, ranks - ranks / 10, hop};
            struct ftc_gossip_plan plan = ftc_gossip_plan_choose(&model, 1e-4);
            for (int rounds = 0; rounds <= plan.duration; rounds++) {
                double coloured = ftc_gossip_plan_spread(&model, rounds).coloured;
                int gap = ftc_gossip_plan_gap(ranks, coloured, 1e-4);
                int duration = rounds + 2 * hop - 1 + (gap < ranks ? gap : ranks - 1);
                ck_assert_int_ge(duration, plan.duration + (rounds < plan.rounds));
            }
        }
}
END_TEST

START_TEST(a_ring_of_one_or_two_is_simple)
{
    struct ftc_gossip_model alone = {1, 1, 4}, pair = {2, 2, 4};
    struct ftc_gossip_plan plan = ftc_gossip_plan_choose(&alone, 1e-6);

    ck_assert_int_eq(plan.rounds, 0);
    ck_assert_int_eq(plan.distance, 0);
    ck_assert_double_eq(plan.spread.messages, 0);
    ck_assert_double_eq(ftc_gossip_plan_spread(&pair, 1).coloured, 2);
    ck_assert_double_eq(ftc_gossip_plan_spread(&pair, 1).messages, 1);
    ck_assert_int_eq(ftc_gossip_plan_choose(&pair, 1e-6).rounds,
                     0); /* correction reaches the root's neighbour */
}
END_TEST

START_TEST(a_message_is_under_way_for_whole_rounds)
{
    ck_assert_int_eq(ftc_gossip_plan_hop(0, 1), 2);
    ck_assert_int_eq(ftc_gossip_plan_hop(3700, 200), 21);
    ck_assert_int_eq(ftc_gossip_plan_hop(12000, 1800), 9);
    ck_assert_int_eq(ftc_gossip_plan_hop(1022, 1), FTC_GOSSIP_PLAN_HOP_MAX);
    ck_assert_int_eq(ftc_gossip_plan_hop(1023, 1), -1);
    ck_assert_int_eq(ftc_gossip_plan_hop(5, 0), -1);
    ck_assert_int_eq(ftc_gossip_plan_hop(0, 0), -1);
}
END_TEST

/* --- rounds and gaps --- */

/* The first round has one sender and one target. Until the first message has arrived, each round
 * adds one rank. */
START_TEST(the_first_rounds_are_counted_by_hand)
{
    struct ftc_gossip_model model = {1000, 1000, 3};

    ck_assert_double_eq(ftc_gossip_plan_spread(&model, 0).coloured, 1);
    ck_assert_double_eq_tol(ftc_gossip_plan_spread(&model, 1).coloured, 2, 1e-9 + 1.0 / 999);
    ck_assert_double_eq_tol(ftc_gossip_plan_spread(&model, 3).coloured, 4, 0.01);
    ck_assert_double_eq_tol(ftc_gossip_plan_spread(&model, 4).coloured, 6, 0.03);
    ck_assert_double_eq(ftc_gossip_plan_spread(&model, 3).messages, 3);
    ck_assert_double_eq_tol(ftc_gossip_plan_spread(&model, 4).messages, 5, 0.01);
}
END_TEST

/* With counted rounds the coloured ranks double at first. In the end each round leaves 1/e of the
 * ranks that are missing. */
START_TEST(counted_rounds_double_and_end_exponentially)
{
    struct ftc_gossip_model model = {1 << 20, 1 << 20, 1};
    double end = ftc_gossip_plan_spread(&model, 28).coloured,
           next = ftc_gossip_plan_spread(&model, 29).coloured;

    ck_assert_double_eq_tol(ftc_gossip_plan_spread(&model, 10).coloured, 1024, 2);
    ck_assert_double_eq_tol((model.ranks - next) / (model.ranks - end), exp(-1), 0.01);
}
END_TEST

START_TEST(the_gap_is_the_least_that_is_rare_enough)
{
    for (int coloured = 1; coloured < 500; coloured += 7) {
        int gap = ftc_gossip_plan_gap(500, coloured, 1e-3);
        ck_assert_int_ge(gap, 1);
        ck_assert_int_le(gap, 500);
        if (gap < 500)
            ck_assert_double_le(500 * pow(1 - coloured / 500., gap), 1e-3 * (1 + 1e-9));
        ck_assert_double_gt(fmin(1, 500 * pow(1 - coloured / 500., gap - 1)), 1e-3);
    }
    ck_assert_int_eq(ftc_gossip_plan_gap(500, 500, 1e-3), 1);
    ck_assert_int_eq(ftc_gossip_plan_gap(500, 1, 1e-3), 500);
}
END_TEST

/* --- gossip with dice --- */

#define RING 512

struct game {
    struct test_random *random;
    const struct ftc_gossip_model *model;
    bool dead[RING], coloured[RING];
    int since[RING]; /* the round from which the rank sends */
};

static void kill_some(struct game *g)
{
    memset(g->dead, 0, sizeof(g->dead));
    for (int left = g->model->ranks - g->model->live; left > 0;) {
        int rank = (int)test_random_between(g->random, 1, g->model->ranks - 1);
        left -= !g->dead[rank];
        g->dead[rank] = true;
    }
}

/* Returns how many ranks are coloured in the end. */
static int gossip(struct game *g, int rounds)
{
    int ranks = g->model->ranks, coloured = 1;

    memset(g->coloured, 0, sizeof(g->coloured));
    g->coloured[0] = true;
    g->since[0] = 0;
    for (int round = 0; round < rounds; round++)
        for (int rank = 0; rank < ranks; rank++) {
            if (!g->coloured[rank] || g->since[rank] > round)
                continue;
            int to = (rank + (int)test_random_between(g->random, 1, ranks - 1)) % ranks;
            if (g->dead[to] || g->coloured[to])
                continue;
            g->coloured[to] = true;
            g->since[to] = round + g->model->hop;
            coloured++;
        }
    return coloured;
}

static bool someone_reaches(const struct game *g, int rank, int distance)
{
    int ranks = g->model->ranks;

    for (int d = 1; d <= distance - distance / 2; d++)
        if (g->coloured[(rank - d + ranks) % ranks])
            return true;
    for (int d = 1; d <= distance / 2; d++)
        if (g->coloured[(rank + d) % ranks])
            return true;
    return false;
}

/* Every coloured rank sends, also ranks coloured by correction, until no rank is new. Returns how
 * many live ranks stay without. */
static int correct(struct game *g, int distance)
{
    int missed;
    bool news;

    do {
        news = false;
        missed = 0;
        for (int rank = 0; rank < g->model->ranks; rank++) {
            if (g->dead[rank] || g->coloured[rank])
                continue;
            g->coloured[rank] = someone_reaches(g, rank, distance);
            news |= g->coloured[rank];
            missed += !g->coloured[rank];
        }
    } while (news);
    return missed;
}

/* Without deaths chance matters little: for 512 ranks the mean field is within one hundredth. */
START_TEST(dice_colour_what_the_mean_field_says)
{
    struct test_random random = test_random_start();
    struct ftc_gossip_model model = {RING, RING, 3};
    struct game game = {.random = &random, .model = &model};

    for (int rounds = 5; rounds <= 30; rounds += 5) {
        double sum = 0, wanted = ftc_gossip_plan_spread(&model, rounds).coloured;
        for (int i = 0; i < 400; i++)
            sum += gossip(&game, rounds);
        printf("%d rounds: %.1f coloured, by formula %.1f\n", rounds, sum / 400, wanted);
        ck_assert_double_eq_tol(sum / 400, wanted, 0.02 * wanted);
    }
}
END_TEST

static void compare_missed(struct test_random *random, int dead, int rounds, int distance)
{
    const int runs = 4000;
    struct ftc_gossip_model model = {RING, RING - dead, 3};
    struct game game = {.random = random, .model = &model};
    double coloured = 0, missed = 0, planned = ftc_gossip_plan_spread(&model, rounds).coloured;

    for (int i = 0; i < runs; i++) {
        kill_some(&game);
        coloured += gossip(&game, rounds) / (double)runs;
        missed += correct(&game, distance) / (double)runs;
    }
    double expected = ftc_gossip_plan_missed(&model, coloured, distance);
    printf("%d dead, %d rounds, d = %d: %.1f coloured (by formula %.1f), %.3f missed (%.3f, with "
           "the true "
           "coloured "
           "%.3f)\n",
           dead, rounds, distance, coloured, planned, missed,
           ftc_gossip_plan_missed(&model, planned, distance), expected);
    ck_assert_double_eq_tol(missed, expected, 0.3 * expected);
}

/* Lost first messages slow gossip down more than their mean does. Given the number of coloured
 * ranks, the rest of the formula is right. */
START_TEST(dice_miss_what_the_formula_says)
{
    struct test_random random = test_random_start();

    compare_missed(&random, 25, 20, 1);
    compare_missed(&random, 51, 20, 2);
    compare_missed(&random, 128, 20, 2);
    compare_missed(&random, 128, 22, 3);
    compare_missed(&random, 256, 30, 4);
}
END_TEST

START_TEST(nobody_is_missed_without_enough_dead)
{
    struct test_random random = test_random_start();
    struct ftc_gossip_model model = {RING, RING - 3, 3};
    struct game game = {.random = &random, .model = &model};

    ck_assert_double_eq(ftc_gossip_plan_missed(&model, 10, 4), 0);
    ck_assert_double_gt(ftc_gossip_plan_missed(&model, 10, 3), 0);
    for (int i = 0; i < 1000; i++) {
        kill_some(&game);
        gossip(&game, 10);
        ck_assert_int_eq(correct(&game, 4), 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gossip_plan");
    TCase *plans = tcase_create("plans"), *parts = tcase_create("parts"),
          *dice = tcase_create("dice");

    test_seed_announce();
    tcase_add_test(plans, the_plans_of_the_notes_come_out);
    tcase_add_test(plans, a_plan_is_the_best_of_all);
    tcase_add_test(plans, a_ring_of_one_or_two_is_simple);
    tcase_add_test(plans, a_message_is_under_way_for_whole_rounds);
    suite_add_tcase(suite, plans);
    tcase_add_test(parts, the_first_rounds_are_counted_by_hand);
    tcase_add_test(parts, counted_rounds_double_and_end_exponentially);
    tcase_add_test(parts, the_gap_is_the_least_that_is_rare_enough);
    suite_add_tcase(suite, parts);
    tcase_add_test(dice, dice_colour_what_the_mean_field_says);
    tcase_add_test(dice, dice_miss_what_the_formula_says);
    tcase_add_test(dice, nobody_is_missed_without_enough_dead);
    suite_add_tcase(suite, dice);
    return test_suite_run(suite);
}
