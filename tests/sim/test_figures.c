/*
 * Tests broadcasts as rows of a table: times and messages that the literature or the design gives,
 * parameters that the program chooses, and measurements beside what a formula expects.
 */
#include "sim/figures/figures.h"

#include <string.h>

#include "sim/figures/axes.h"
#include "sim/model/cluster.h"
#include "tests/suite.h"

static const struct ftc_figures_failed nobody = {0}, one_percent = {1, true};
static struct ftc_cost cost;
static struct ftc_figures figures;
static struct ftc_figures_row row;

/* All times are in us and are multiples of o. */
static void setup(void)
{
    figures = (struct ftc_figures){
        .member = ftc_cluster_settings(1, 1), .bytes = 8, .seed = 1, .repeat = 20};
    figures.member.fragment = FTC_SETUP_FRAGMENT;
    ck_assert_int_eq(ftc_cost_parse(&cost, "L=2000,o=1000"), 0);
}

static void prepare(const char *name, int n, const struct ftc_figures_failed *failed)
{
    struct ftc_figures_axes axes;

    ck_assert_int_eq(ftc_figures_read_ways(&axes, name), 0);
    ck_assert_int_eq(axes.ways, 1);
    row = (struct ftc_figures_row){.way = axes.way[0], .cost = &cost, .failed = failed, .n = n};
    row.dead = ftc_figures_failed_of(failed, n);
}

static void measure(const char *name, int n, const struct ftc_figures_failed *failed)
{
    prepare(name, n, failed);
    ftc_figures_measure(&figures, &row);
    ck_assert_msg(row.code == FTC_SIM_EXIT_OK, "%s, n = %d: %s", name, n, row.words);
}

/* --- times and messages --- */

/* algorithms-notes.md, 2.6: T_tree at P = 1024. */
START_TEST(trees_take_what_the_literature_says)
{
    static const struct {
        const char *name;
        uint64_t time;
    } known[] = {{"binomial+none", 40000}, {"kary+none", 33000}, {"lame+none", 24000}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        measure(known[i].name, 1024, &nobody);
        ck_assert_uint_eq(row.latency, known[i].time);
        ck_assert_int_eq(row.runs, 1);
        ck_assert_double_eq_tol(row.dissemination, 1023.0 / 1024, 1e-9);
        ck_assert_double_eq(row.correction, 0);
    }
}
END_TEST

/* broadcast.md, "What each promises": the messages of each process where all ranks are coloured,
 * for x = 2, f = 1, d = 2. The root corrects a little sooner and its neighbours a little later. */
START_TEST(corrections_take_the_messages_of_the_design)
{
    static const struct {
        const char *name;
        double messages;
    } known[] = {
        {"multicast+none", 0},    {"multicast+opportunistic", 2}, {"multicast+optimised", 2},
        {"multicast+checked", 3}, {"multicast+throttled", 3},     {"multicast+failure-proof", 6},
        {"multicast+delayed", 1}, {"multicast+ring", 1},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        measure(known[i].name, 4096, &nobody);
        ck_assert_double_eq_tol(row.correction, known[i].messages, 0.002);
        ck_assert_double_eq_tol(row.mean, 4000, 1e-6);
        ck_assert_double_eq(row.spread, 0);
    }
}
END_TEST

/* t_send = L + 2o. Every rank has the datagram after one t_send. It has heard of its predecessor
 * after another t_send, and one more o because the root sends first. This holds for every n. */
START_TEST(multicast_takes_constant_time)
{
    for (int n = 8; n <= 4096; n *= 8) {
        measure("multicast+ring", n, &nobody);
        ck_assert_uint_eq(row.latency, 4000);
        ck_assert_double_eq(row.quiet, 2 * 4000 + 1000);
    }
    figures.repeat = 100;
    prepare("multicast+ring", 512, &nobody);
    row.loss = 10;
    ftc_figures_measure(&figures, &row);
    ck_assert_int_eq(row.runs, 100);
    ck_assert_int_eq(row.missed_runs, 0);
    ck_assert_double_gt(row.mean, 4300); /* one rank in ten gets it a t_send later or more */
    ck_assert_double_lt(row.mean, 4600);
}
END_TEST

/* --- parameters --- */

/* algorithms-notes.md, 3. */
START_TEST(gossip_is_planned)
{
    static const struct ftc_figures_failed forty = {40, false};

    prepare("ocg", 1024, &nobody);
    struct ftc_member_settings member = ftc_figures_member(&figures, &row);
    ck_assert_int_eq(member.gossip_rounds, 25);
    ck_assert_int_eq(member.gossip_hop, 4);
    ck_assert_int_eq(member.distance, 7);
    ck_assert_int_eq(member.gossip_bound, FTC_GOSSIP_TIME);
    prepare("ocg", 4096, &nobody);
    member = ftc_figures_member(&figures, &row);
    ck_assert(member.gossip_rounds == 31 && member.distance == 5);
    prepare("ocg", 4096, &forty);
    member = ftc_figures_member(&figures, &row);
    ck_assert(member.gossip_rounds == 30 && member.distance == 7);
}
END_TEST

START_TEST(what_is_given_is_not_chosen)
{
    figures.member.gossip_rounds = 9;
    figures.member.distance = 3;
    figures.member.patience_ns = 77;
    figures.member.correction_delay_ns = 88;
    figures.given =
        FTC_FIGURES_ROUNDS | FTC_FIGURES_DISTANCE | FTC_FIGURES_PATIENCE | FTC_FIGURES_PACE;
    prepare("ocg", 1024, &nobody);
    struct ftc_member_settings member = ftc_figures_member(&figures, &row);
    ck_assert(member.gossip_rounds == 9 && member.distance == 3 && member.patience_ns == 77 &&
              member.correction_delay_ns == 88);
    prepare("lame+none", 64, &nobody);
    ck_assert_int_eq(ftc_figures_member(&figures, &row).tree.arity, 4);
    ck_assert_int_eq(ftc_cost_parse(&cost, "L=4000,o=1000"), 0);
    ck_assert_int_eq(ftc_figures_member(&figures, &row).tree.arity, 6);
    figures.given = FTC_FIGURES_ARITY;
    figures.member.tree.arity = 3;
    ck_assert_int_eq(ftc_figures_member(&figures, &row).tree.arity, 3);
}
END_TEST

/* The mean field has g-nodes send at every o. The g-nodes of the product also receive, which costs
 * them rounds. So there are fewer messages, and more ranks to correct. */
START_TEST(gossip_stays_behind_its_formula)
{
    measure("gossip+none", 1024, &nobody);
    ck_assert_int_eq(row.runs, 20);
    ck_assert_double_lt(row.dissemination, row.formula_messages);
    ck_assert_double_gt(row.dissemination, 0.7 * row.formula_messages);
    ck_assert_double_gt(row.missed, row.formula_missed);
    ck_assert_double_lt(row.missed, 3 * row.formula_missed);
    ck_assert_int_eq(row.missed_runs, 20);
    measure("ocg", 1024, &nobody);
    ck_assert_double_eq(row.missed, 0);
}
END_TEST

/* --- failures --- */

START_TEST(sure_corrections_reach_every_survivor)
{
    static const char *const sure[] = {"binomial+checked", "lame+throttled", "gossip+failure-proof",
                                       "kary+delayed"};

    figures.noise_ns = 2000;
    measure("binomial+none", 512, &one_percent);
    ck_assert_int_eq(row.dead, 5);
    ck_assert_double_gt(row.missed, 0);
    for (size_t i = 0; i < sizeof(sure) / sizeof(sure[0]); i++) {
        measure(sure[i], 512, &one_percent);
        ck_assert_int_eq(row.missed_runs, 0);
        ck_assert_uint_lt(row.least, row.most);
    }
}
END_TEST

START_TEST(a_baseline_is_a_row)
{
    measure("ack-linear", 64, &nobody);
    ck_assert_uint_eq(row.latency, 4000);
    ck_assert_double_gt(row.quiet, 63 * 1000.0);
    ck_assert_int_eq(row.endless_runs, 0);
    measure("ack-tree", 64, &(struct ftc_figures_failed){1, false});
    ck_assert_int_eq(row.endless_runs, 20);
    prepare("nack", 64, &nobody);
    row.loss = 100;
    ftc_figures_measure(&figures, &row);
    ck_assert_int_eq(row.code, FTC_SIM_EXIT_OK);
    ck_assert_double_gt(row.correction, 0);
}
END_TEST

/* --- axes --- */

START_TEST(axes_are_lists)
{
    struct ftc_figures_axes axes;
    char text[32], name[FTC_PAIR_NAME];

    ck_assert_int_eq(ftc_figures_read_ways(&axes, "all"), 0);
    ck_assert_int_eq(axes.ways, FTC_PAIRS);
    ck_assert_int_eq(ftc_figures_read_ways(&axes, "baselines,fcg,gossip+failure-proof,ack-tree"),
                     0);
    ck_assert_int_eq(axes.ways, FTC_BASELINES + 1);
    ck_assert_str_eq(ftc_figures_way_name(&axes.way[1], name), "ack-tree");
    ck_assert_str_eq(ftc_figures_way_name(&axes.way[4], name), "gossip+failure-proof");
    ck_assert_int_eq(ftc_figures_read_ways(&axes, "all,"), 0);
    ck_assert_int_eq(ftc_figures_read_ways(&axes, "ring"), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_figures_read_ways(&axes, ""), FTC_ERR_ARG);

    ck_assert_int_eq(ftc_figures_read_failed(&axes, "0,3,1%,2.5%"), 0);
    ck_assert_int_eq(axes.faileds, 4);
    ck_assert_int_eq(ftc_figures_failed_of(&axes.failed[1], 64), 3);
    ck_assert_int_eq(ftc_figures_failed_of(&axes.failed[2], 64), 1);
    ck_assert_int_eq(ftc_figures_failed_of(&axes.failed[2], 4096), 41);
    ck_assert_str_eq(ftc_figures_failed_name(&axes.failed[3], text), "2.5%");
    ck_assert_int_eq(ftc_figures_read_failed(&axes, "1.5"), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_figures_read_failed(&axes, "%"), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_figures_read_failed(&axes, "-1"), FTC_ERR_ARG);

    ck_assert_int_eq(ftc_figures_read_losses(&axes, "0,0.287,100"), 0);
    ck_assert_int_eq(axes.losses, 3);
    ck_assert_double_eq(axes.loss[1], 0.287);
    ck_assert_int_eq(ftc_figures_read_losses(&axes, "101"), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_figures_read_losses(&axes, "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"),
                     FTC_ERR_ARG);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("figures");
    TCase *all = tcase_create("figures");

    tcase_add_checked_fixture(all, setup, NULL);
    tcase_add_test(all, trees_take_what_the_literature_says);
    tcase_add_test(all, corrections_take_the_messages_of_the_design);
    tcase_add_test(all, multicast_takes_constant_time);
    tcase_add_test(all, gossip_is_planned);
    tcase_add_test(all, what_is_given_is_not_chosen);
    tcase_add_test(all, gossip_stays_behind_its_formula);
    tcase_add_test(all, sure_corrections_reach_every_survivor);
    tcase_add_test(all, a_baseline_is_a_row);
    tcase_add_test(all, axes_are_lists);
    suite_add_tcase(suite, all);
    return test_suite_run(suite);
}
