/* Tests cost models and distances: which text is understood, the LogGP arithmetic, hops that are
 * counted by hand. */
#include "sim/timed/cost.h"

#include <stdbool.h>
#include <string.h>

#include "include/ftcoll.h"
#include "sim/timed/axes.h"
#include "sim/timed/distance.h"
#include "tests/suite.h"

static struct ftc_cost cost;

static void expect(const char *text, const char *name, double L, double o, double g, double G,
                   double c)
{
    ck_assert_msg(ftc_cost_parse(&cost, text) == 0, "%s: %s", text, ftc_last_error());
    ck_assert_str_eq(cost.name, name);
    ck_assert_double_eq(cost.L, L);
    ck_assert_double_eq(cost.o, o);
    ck_assert_double_eq(cost.g, g);
    ck_assert_double_eq(cost.G, G);
    ck_assert_double_eq(cost.c, c);
}

START_TEST(models_are_presets_or_values_or_both)
{
    expect("rdma", "rdma", 3700, 200, 5, 0.04, 0.1);
    expect("L=2,o=1", "L=2;o=1", 2, 1, 0, 0, 0);
    expect("rdma,G=0.5,c=0", "rdma;G=0.5;c=0", 3700, 200, 5, 0.5, 0);
    ck_assert_int_eq(ftc_cost_parse(&cost, "shared-memory"), 0);
    ck_assert_int_eq(ftc_cost_parse(&cost, "tcp"), 0);
    ck_assert_double_gt(cost.detect, 0);
}
END_TEST

START_TEST(nonsense_is_refused_with_a_remedy)
{
    static const char *const texts[] = {"",    "ether",    "L=",       "L=-1",   "L=1x",
                                        "x=1", "L=1,,o=2", "o=1,rdma", "L=1e99", "G"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        ck_assert_msg(ftc_cost_parse(&cost, texts[i]) == FTC_ERR_ARG, "'%s' was accepted",
                      texts[i]);
        ck_assert_ptr_nonnull(strstr(ftc_last_error(), "give shared-memory, rdma or tcp"));
    }
}
END_TEST

/* Alexandrov et al. 1995: o + (k-1)G + L + o; the last o is the receiver's. */
START_TEST(a_message_costs_what_loggp_says)
{
    ck_assert_int_eq(ftc_cost_parse(&cost, "L=1000,o=100,g=30,G=0.5,c=0.25"), 0);
    ck_assert_uint_eq(ftc_cost_overhead(&cost), 100);
    ck_assert_uint_eq(ftc_cost_flight(&cost, 1), 1100);
    ck_assert_uint_eq(ftc_cost_flight(&cost, 0), 1100);
    ck_assert_uint_eq(ftc_cost_flight(&cost, 101), 1150);
    ck_assert_uint_eq(ftc_cost_gap(&cost, 1), 30);
    ck_assert_uint_eq(ftc_cost_gap(&cost, 101), 80);
    ck_assert_uint_eq(ftc_cost_combine(&cost, 400), 100);
}
END_TEST

START_TEST(times_have_the_unit_that_suits_them)
{
    char text[32];

    ck_assert_str_eq(ftc_cost_time(12, text, sizeof(text)), "12 ns");
    ck_assert_str_eq(ftc_cost_time(3420, text, sizeof(text)), "3.42 us");
    ck_assert_str_eq(ftc_cost_time(1.6e6, text, sizeof(text)), "1.6 ms");
    ck_assert_str_eq(ftc_cost_time(2e9, text, sizeof(text)), "2 s");
}
END_TEST

/* --- distances --- */

static struct ftc_distance distance;

static void begin(const char *text, int ranks, uint64_t seed)
{
    struct ftc_distance_settings settings = {.hop_ns = 10};

    ck_assert_msg(ftc_distance_parse(&settings, text) == 0, "%s: %s", text, ftc_last_error());
    ck_assert_int_eq(ftc_distance_init(&distance, &settings, ranks, seed), 0);
}

static void teardown(void)
{
    ftc_distance_fini(&distance);
}

START_TEST(flat_ranks_are_all_neighbours)
{
    begin("flat", 100, 1);
    ck_assert_uint_eq(ftc_distance_extra(&distance, 3, 99), 0);
}
END_TEST

START_TEST(a_fat_tree_has_a_distance_for_each_level)
{
    begin("fat-tree:4", 64, 1);
    ck_assert_uint_eq(ftc_distance_extra(&distance, 0, 3), 0);
    ck_assert_uint_eq(ftc_distance_extra(&distance, 0, 4), 20);
    ck_assert_uint_eq(ftc_distance_extra(&distance, 3, 15), 20);
    ck_assert_uint_eq(ftc_distance_extra(&distance, 15, 16), 40);
    ck_assert_uint_eq(ftc_distance_extra(&distance, 63, 0), 40);
}
END_TEST

/* Each of the 60 nodes of a torus is used once. Distances are symmetric, and at most half way round
 * in each direction. */
START_TEST(a_torus_places_each_rank_on_a_node_of_its_own)
{
    bool used[64] = {false};

    begin("torus", 60, 7);
    ck_assert_int_ge(distance.side[0] * distance.side[1] * distance.side[2], 60);
    ck_assert_int_le(distance.side[0] * distance.side[1] * distance.side[2], 64);
    int most = distance.side[0] / 2 + distance.side[1] / 2 + distance.side[2] / 2;
    for (int a = 0; a < 60; a++) {
        ck_assert(!used[distance.node[a]]);
        used[distance.node[a]] = true;
        for (int b = 0; b < 60; b++) {
            ck_assert_int_eq(ftc_distance_hops(&distance, a, b),
                             ftc_distance_hops(&distance, b, a));
            ck_assert_int_ge(ftc_distance_hops(&distance, a, b), a != b);
            ck_assert_int_le(ftc_distance_hops(&distance, a, b), most);
        }
    }
}
END_TEST

START_TEST(a_torus_goes_the_short_way_round)
{
    begin("torus", 64, 1);
    ck_assert_int_eq(distance.side[0], 4);
    for (uint32_t rank = 0; rank < 64; rank++)
        distance.node[rank] = rank; /* placed by hand: x + 4 (y + 4 z) */
    ck_assert_int_eq(ftc_distance_hops(&distance, 0, 3), 1);
    ck_assert_int_eq(ftc_distance_hops(&distance, 0, 2), 2);
    ck_assert_int_eq(ftc_distance_hops(&distance, 0, 63), 3);
    ck_assert_int_eq(ftc_distance_hops(&distance, 0, 2 + 4 * 2 + 16 * 2), 6);
    ck_assert_uint_eq(ftc_distance_extra(&distance, 0, 42), 50);
}
END_TEST

START_TEST(a_placement_depends_on_its_seed_alone)
{
    uint32_t first[27];

    begin("torus", 27, 5);
    memcpy(first, distance.node, sizeof(first));
    ftc_distance_fini(&distance);
    begin("torus", 27, 5);
    ck_assert_mem_eq(first, distance.node, sizeof(first));
    ftc_distance_fini(&distance);
    begin("torus", 27, 6);
    ck_assert_mem_ne(first, distance.node, sizeof(first));
}
END_TEST

START_TEST(unknown_topologies_are_refused)
{
    static const char *const texts[] = {
        "", "ring", "fat-tree:", "fat-tree:1", "fat-tree:x", "torus:3"};
    struct ftc_distance_settings settings;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        ck_assert_msg(ftc_distance_parse(&settings, texts[i]) == FTC_ERR_ARG, "'%s' was accepted",
                      texts[i]);
}
END_TEST

/* --- axes of a sweep --- */

static void expect_axis(const struct ftc_axis *axis, const int wanted[], int count)
{
    ck_assert_int_eq(axis->count, count);
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(axis->value[i], wanted[i]);
}

START_TEST(axes_are_lists_and_ranges)
{
    struct ftc_axis axis = {0};

    ck_assert_int_eq(ftc_axis_read_ranks(&axis, "3..20,100"), 0);
    expect_axis(&axis, (const int[]){3, 6, 12, 100}, 4);
    ck_assert_int_eq(ftc_axis_read_f(&axis, "0..2,7"), 0);
    expect_axis(&axis, (const int[]){0, 1, 2, 7}, 4);
    ck_assert_int_eq(ftc_axis_read_ranks(&axis, "8..4"), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_axis_read_ranks(&axis, "1,"), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_axis_read_f(&axis, "f"), FTC_ERR_ARG);
    ftc_axis_fini(&axis);
}
END_TEST

START_TEST(deaths_can_be_told_by_f)
{
    struct ftc_axis axis = {0};
    int kills[10];

    ck_assert_int_eq(ftc_axis_read_kills(&axis, "1..f,0"), 0);
    ck_assert_int_eq(ftc_axis_kills(&axis, 3, kills, 10), 4);
    ck_assert_int_eq(kills[3], 3);
    ck_assert_int_eq(ftc_axis_kills(&axis, 0, kills, 10), 1);
    ck_assert_int_eq(ftc_axis_read_kills(&axis, "0,f,5"), 0);
    ck_assert_int_eq(ftc_axis_kills(&axis, 2, kills, 10), 3);
    ck_assert_int_eq(kills[1], 2);
    ck_assert_int_eq(kills[2], 5);
    ftc_axis_fini(&axis);
}
END_TEST

START_TEST(values_belong_to_the_model_before_them)
{
    struct ftc_cost costs[FTC_AXIS_COSTS];
    int count;

    ck_assert_int_eq(ftc_axis_read_costs(costs, &count, "rdma,tcp,G=0.1,L=5,shared-memory"), 0);
    ck_assert_int_eq(count, 3);
    ck_assert_str_eq(costs[0].name, "rdma");
    ck_assert_double_eq(costs[1].G, 0.1);
    ck_assert_double_eq(costs[1].L, 5);
    ck_assert_str_eq(costs[2].name, "shared-memory");
    ck_assert_int_eq(ftc_axis_read_costs(costs, &count, "L=2,o=1"), 0);
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(ftc_axis_read_costs(costs, &count, "rdma,bogus"), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_axis_read_costs(costs, &count, ""), FTC_ERR_ARG);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cost");
    TCase *costs = tcase_create("cost"), *distances = tcase_create("distance"),
          *axes = tcase_create("axes");

    tcase_add_test(costs, models_are_presets_or_values_or_both);
    tcase_add_test(costs, nonsense_is_refused_with_a_remedy);
    tcase_add_test(costs, a_message_costs_what_loggp_says);
    tcase_add_test(costs, times_have_the_unit_that_suits_them);
    suite_add_tcase(suite, costs);
    tcase_add_checked_fixture(distances, NULL, teardown);
    tcase_add_test(distances, flat_ranks_are_all_neighbours);
    tcase_add_test(distances, a_fat_tree_has_a_distance_for_each_level);
    tcase_add_test(distances, a_torus_places_each_rank_on_a_node_of_its_own);
    tcase_add_test(distances, a_torus_goes_the_short_way_round);
    tcase_add_test(distances, a_placement_depends_on_its_seed_alone);
    tcase_add_test(distances, unknown_topologies_are_refused);
    suite_add_tcase(suite, distances);
    tcase_add_test(axes, axes_are_lists_and_ranges);
    tcase_add_test(axes, deaths_can_be_told_by_f);
    tcase_add_test(axes, values_belong_to_the_model_before_them);
    suite_add_tcase(suite, axes);
    return test_suite_run(suite);
}
