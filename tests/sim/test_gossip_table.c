/* Tests gossip aggregation on the virtual machine: the measurements of the source, and the promises
 * of the checksums. */
#include <float.h>
#include <math.h>

#include "base/error.h"
#include "sim/gossip/table.h"
#include "tests/suite.h"

#define FEW (TEST_SANITIZED ? 2 : 10)

/* Makes a table with one row. */
static struct ftc_gossip_row one(enum ftc_gossip_algorithm algorithm,
                                 enum ftc_neighbourhood_kind kind, int ranks, double accuracy)
{
    struct ftc_gossip_row row = {.bit = -1, .flips_wanted = -1, .repeat = FEW};
    row.run = (struct ftc_gossip_run){.seed = 1, .most = 5000};
    row.run.gossip = (struct ftc_gossip_settings){.algorithm = algorithm,
                                                  .count = 1,
                                                  .accuracy = accuracy,
                                                  .patience_ns = 16 * FTC_GOSSIP_TICKS};
    ck_assert_int_eq(ftc_neighbourhood_init(&row.run.gossip.neighbourhood, kind, ranks), 0);
    return row;
}

static double measured(struct ftc_gossip_row *row)
{
    ftc_gossip_row_measure(row);
    ck_assert_msg(row->rc == 0, "%s", row->words);
    ck_assert_msg(row->converged == row->repeat, "%d of %d converged, error %g", row->converged,
                  row->repeat, row->error);
    return row->most;
}

static void check_near(const char *what, double value, double expected, double share)
{
    if (TEST_SANITIZED) /* a sanitized build makes too few runs for a mean */
        share *= 2;
    ck_assert_msg(fabs(value - expected) <= share * expected, "%s: %.1f messages, %.0f expected",
                  what, value, expected);
}

/* Wimmer 2016, table 2.1. The source has single runs, this test has means. */
START_TEST(as_many_messages_as_in_the_source)
{
    static const struct {
        enum ftc_gossip_algorithm algorithm;
        enum ftc_neighbourhood_kind kind;
        int ranks;
        double messages;
    } cells[] = {
        {FTC_GOSSIP_PUSH_SUM, FTC_NEIGHBOURHOOD_FULL, 64, 116},
        {FTC_GOSSIP_PUSH_SUM, FTC_NEIGHBOURHOOD_HYPERCUBE, 32, 163},
        {FTC_GOSSIP_PUSH_SUM, FTC_NEIGHBOURHOOD_HYPERCUBE, 128, 210},
        {FTC_GOSSIP_PUSH_SUM, FTC_NEIGHBOURHOOD_TORUS, 64, 203},
        {FTC_GOSSIP_PUSH_FLOW, FTC_NEIGHBOURHOOD_FULL, 64, 1231},
        {FTC_GOSSIP_PUSH_FLOW, FTC_NEIGHBOURHOOD_HYPERCUBE, 32, 249},
        {FTC_GOSSIP_PUSH_FLOW, FTC_NEIGHBOURHOOD_HYPERCUBE, 128, 355},
        {FTC_GOSSIP_PUSH_FLOW, FTC_NEIGHBOURHOOD_TORUS, 64, 328},
    };
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        struct ftc_gossip_row row = one(cells[i].algorithm, cells[i].kind, cells[i].ranks, 1e-11);
        check_near(ftc_gossip_algorithm_name(cells[i].algorithm), measured(&row), cells[i].messages,
                   0.15);
    }
}
END_TEST

/* Wimmer 2016, table 5.1: 0.5442 log2(n - 15.9551) / gap + 68.6655 on a full graph, and so on. */
START_TEST(as_many_rounds_as_in_the_source)
{
    struct ftc_gossip_row full = one(FTC_GOSSIP_PUSH_SUM, FTC_NEIGHBOURHOOD_FULL, 512, 1e-14);
    full.run.sync = true;
    double gap = ftc_neighbourhood_gap(&full.run.gossip.neighbourhood);
    check_near("full", measured(&full), 0.5442 * log2(512 - 15.9551) / gap + 68.6655, 0.2);
    struct ftc_gossip_row cube = one(FTC_GOSSIP_PUSH_SUM, FTC_NEIGHBOURHOOD_HYPERCUBE, 512, 1e-14);
    cube.run.sync = true;
    gap = ftc_neighbourhood_gap(&cube.run.gossip.neighbourhood);
    check_near("hypercube", measured(&cube), 0.9064 * log2(512 - 15.992) / gap + 133.1687, 0.2);
}
END_TEST

START_TEST(turns_need_no_more_messages_than_push_sum)
{
    static const enum ftc_neighbourhood_kind kinds[] = {
        FTC_NEIGHBOURHOOD_FULL, FTC_NEIGHBOURHOOD_HYPERCUBE, FTC_NEIGHBOURHOOD_TORUS};
    for (int i = 0; i < 3; i++) {
        struct ftc_gossip_row sum = one(FTC_GOSSIP_PUSH_SUM, kinds[i], 64, 1e-11);
        struct ftc_gossip_row flow = one(FTC_GOSSIP_PFCC, kinds[i], 64, 1e-11);
        flow.run.gossip.turns = true;
        double most = measured(&flow), limit = measured(&sum);
        ck_assert_msg(most <= 1.1 * limit, "%s: %.1f, push-sum %.1f",
                      ftc_neighbourhood_name(kinds[i]), most, limit);
    }
}
END_TEST

START_TEST(a_directed_hypercube_needs_fewer)
{
    struct ftc_gossip_row directed =
        one(FTC_GOSSIP_PUSH_FLOW, FTC_NEIGHBOURHOOD_DIRECTED_HYPERCUBE, 64, 1e-11);
    struct ftc_gossip_row both = one(FTC_GOSSIP_PUSH_SUM, FTC_NEIGHBOURHOOD_HYPERCUBE, 64, 1e-11);
    ck_assert_double_lt(measured(&directed), measured(&both));
}
END_TEST

/* Flips any bit of a flow. pfcc is as fast as without the flip, and pflc is right in the end. */
START_TEST(a_flip_costs_pfcc_nothing)
{
    struct ftc_gossip_row quiet = one(FTC_GOSSIP_PFCC, FTC_NEIGHBOURHOOD_HYPERCUBE, 32, 1e-14);
    double without = measured(&quiet);
    for (int bit = 3; bit < 64; bit += 10) {
        struct ftc_gossip_row row = one(FTC_GOSSIP_PFCC, FTC_NEIGHBOURHOOD_HYPERCUBE, 32, 1e-14);
        row.run.flips = true;
        row.run.flip =
            (struct ftc_flip){.rank = -1, .variable = FTC_FLIP_FLOW, .bit = bit, .step = 150};
        check_near("pfcc", measured(&row), without, 0.05);
        row.run.gossip.algorithm = FTC_GOSSIP_PFLC;
        row.converged = 0;
        row.most = row.deviation = row.mean = row.error = 0;
        measured(&row);
    }
}
END_TEST

/* docs/design/gossip.md, rule 6. These are runs that a greater threshold loses. */
START_TEST(pflc_heals_what_is_harmful)
{
    struct ftc_gossip_row rows[] = {
        one(FTC_GOSSIP_PFLC, FTC_NEIGHBOURHOOD_HYPERCUBE, 256, 2e-12),
        one(FTC_GOSSIP_PFLC, FTC_NEIGHBOURHOOD_TORUS, 512, 1e-12),
    };
    for (int i = 0; i < 2; i++) {
        rows[i].repeat = 2 * FEW;
        rows[i].run.flips = true;
        rows[i].run.flip =
            (struct ftc_flip){.rank = -1, .variable = FTC_FLIP_FLOW, .bit = 56, .step = 100};
        ck_assert_double_lt(measured(&rows[i]), 600);
        ck_assert_double_gt(rows[i].resets, 0);
    }
}
END_TEST

/* How an error d spreads in push-flow, which corrects nothing: no flow gets much larger than d, and
 * c u d is left of it (docs/design/gossip.md, "tau"). */
START_TEST(an_error_grows_no_flow_and_leaves_its_rounding)
{
    struct ftc_gossip_sample sample[801];
    struct ftc_gossip_row row = one(FTC_GOSSIP_PUSH_FLOW, FTC_NEIGHBOURHOOD_HYPERCUBE, 32, DBL_MIN);
    int used = 0;

    row.run.inputs = FTC_GOSSIP_LINEAR;
    row.run.most = 800;
    row.run.sample = sample;
    row.run.sample_room = 801;
    row.run.flips = true;
    row.run.flip = (struct ftc_flip){.rank = -1, .variable = FTC_FLIP_FLOW, .bit = 57, .step = 100};
    for (int i = 0; i < 4 * FEW; i++) {
        struct ftc_gossip_outcome outcome;
        double error = 0, greatest = 0, average = (32 + 1) / 2.0;
        row.run.seed = (uint64_t)i;
        row.run.gossip.turns = i % 2 == 0;
        ck_assert_int_eq(ftc_gossip_run(&row.run, &outcome), 0);
        for (int k = 0; k < outcome.samples; k++) {
            error = sample[k].most <= 103 ? fmax(error, sample[k].flow) : error;
            greatest = fmax(greatest, sample[k].flow);
        }
        if (error < 1e6) /* the flip has made the flow smaller */
            continue;
        used++;
        ck_assert_double_le(greatest, 2 * error);
        ck_assert_double_le(outcome.error * average,
                            (row.run.gossip.turns ? 16 : 1024) * (DBL_EPSILON / 2) * error);
    }
    ck_assert_int_gt(used, FEW);
}
END_TEST

START_TEST(push_sum_and_push_flow_do_not_survive_one)
{
    static const enum ftc_gossip_algorithm algorithms[] = {
        FTC_GOSSIP_PUSH_SUM, FTC_GOSSIP_PUSH_FLOW, FTC_GOSSIP_PUSH_CANCEL_FLOW};
    for (int i = 0; i < 3; i++) {
        struct ftc_gossip_row row = one(algorithms[i], FTC_NEIGHBOURHOOD_HYPERCUBE, 32, 1e-14);
        row.run.gossip.turns = algorithms[i] == FTC_GOSSIP_PUSH_CANCEL_FLOW;
        row.run.flips = true;
        row.run.most = 1000;
        row.run.flip =
            (struct ftc_flip){.rank = -1, .variable = FTC_FLIP_WEIGHT, .bit = 62, .step = 60};
        ftc_gossip_row_measure(&row);
        ck_assert_msg(row.converged < row.repeat, "%s", ftc_gossip_algorithm_name(algorithms[i]));
        ck_assert_double_gt(row.error, 1e-10);
    }
}
END_TEST

START_TEST(loss_costs_no_more_than_what_is_lost)
{
    struct ftc_gossip_row quiet = one(FTC_GOSSIP_PFCC, FTC_NEIGHBOURHOOD_HYPERCUBE, 32, 1e-14);
    double without = measured(&quiet);
    static const double losses[] = {0.01, 0.05, 0.2, 0.5};
    for (int i = 0; i < 4; i++) {
        struct ftc_gossip_row row = one(FTC_GOSSIP_PFCC, FTC_NEIGHBOURHOOD_HYPERCUBE, 32, 1e-14);
        row.run.loss = losses[i];
        double most = measured(&row);
        ck_assert_msg(most <= 1.3 / (1 - losses[i]) * without, "%g lost: %.1f, %.1f without",
                      losses[i], most, without);
    }
}
END_TEST

START_TEST(the_same_seed_is_the_same_run)
{
    struct ftc_gossip_row row = one(FTC_GOSSIP_PFLC, FTC_NEIGHBOURHOOD_TORUS, 27, 1e-9);
    struct ftc_gossip_outcome first, second;
    row.run.loss = 0.1;
    row.run.flip_rate = 1e-2;
    row.run.flips_end = 100;
    row.run.kills = 2;
    row.run.kill_at = 50;
    ck_assert_int_eq(ftc_gossip_run(&row.run, &first), 0);
    ck_assert_int_eq(ftc_gossip_run(&row.run, &second), 0);
    ck_assert(first.converged && first.most == second.most && first.error == second.error);
    ck_assert_uint_gt(first.flips, 0);
    row.run.seed++;
    ck_assert_int_eq(ftc_gossip_run(&row.run, &second), 0);
    ck_assert(first.error != second.error);
}
END_TEST

/* The fit gives back the coefficients of a known curve. */
START_TEST(the_fit_finds_the_curve)
{
    struct ftc_gossip_row rows[8];
    struct ftc_gossip_table table = {.row = rows, .rows = 8};
    struct ftc_gossip_fit fit;
    for (int i = 0; i < 8; i++) {
        rows[i] = one(FTC_GOSSIP_PUSH_SUM, FTC_NEIGHBOURHOOD_HYPERCUBE, 32 << i, 1e-14);
        rows[i].converged = rows[i].repeat;
        rows[i].most =
            0.9 * log2((32 << i) - 16) / ftc_neighbourhood_gap(&rows[i].run.gossip.neighbourhood) +
            130;
    }
    ck_assert(ftc_gossip_fit(&table, 0, &fit));
    ck_assert_int_eq(fit.points, 8);
    ck_assert_double_gt(fit.r_squared, 0.9999);
    ck_assert_double_eq_tol(fit.a, 0.9, 0.01);
    ck_assert_double_eq_tol(fit.b, -16, 0.5);
    ck_assert_double_eq_tol(fit.c, 130, 1);
    table.rows = 3;
    ck_assert(!ftc_gossip_fit(&table, 0, &fit));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gossip_table");
    TCase *tcase = tcase_create("gossip_table");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, as_many_messages_as_in_the_source);
    tcase_add_test(tcase, as_many_rounds_as_in_the_source);
    tcase_add_test(tcase, turns_need_no_more_messages_than_push_sum);
    tcase_add_test(tcase, a_directed_hypercube_needs_fewer);
    tcase_add_test(tcase, a_flip_costs_pfcc_nothing);
    tcase_add_test(tcase, pflc_heals_what_is_harmful);
    tcase_add_test(tcase, an_error_grows_no_flow_and_leaves_its_rounding);
    tcase_add_test(tcase, push_sum_and_push_flow_do_not_survive_one);
    tcase_add_test(tcase, loss_costs_no_more_than_what_is_lost);
    tcase_add_test(tcase, the_same_seed_is_the_same_run);
    tcase_add_test(tcase, the_fit_finds_the_curve);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
