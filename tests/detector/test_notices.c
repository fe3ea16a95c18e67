/* News between nodes: stories of one node, and of many nodes that die, are cut off or leave while
 * they tell one another (notices_world.h). */
#include "detector/mutation.h"
#include "tests/detector/notices_world.h"
#include "tests/suite.h"

/* A sanitizer looks for wrong accesses, which the same code makes in each run. */
#define RUNS       (TEST_SANITIZED ? 2000 : 20000)
#define LARGE_RUNS (TEST_SANITIZED ? 30 : 300)
#define MUTANTS                                                                                    \
    (TEST_SANITIZED ? FTC_NOTICES_MUTATION_NONE + 2                                                \
                    : FTC_NOTICES_MUTATIONS_COUNT) /* what they show, they show without too */

static struct notices_world world;

/* --- one node --- */

static void expect_news(struct ftc_notices *n, int to, uint32_t number)
{
    struct ftc_notices_output output;

    ck_assert(ftc_notices_next(n, &output));
    ck_assert(output.kind == FTC_NOTICES_NEWS);
    ck_assert_int_eq(output.to, to);
    ck_assert_uint_eq(output.number, number);
}

static void expect_nothing(struct ftc_notices *n)
{
    struct ftc_notices_output output;
    ck_assert(!ftc_notices_next(n, &output));
}

START_TEST(news_go_to_children_at_once_and_to_neighbours_later)
{
    struct ftc_notices n;

    ftc_notices_init(&n, 2, 8, NOTICES_WAIT);
    ck_assert(ftc_notices_take(&n, 0, 0, 1, NULL, 1));
    expect_news(&n, 6, 1);
    expect_nothing(&n);
    ck_assert_uint_eq(ftc_notices_due(&n), 1 + NOTICES_WAIT);
    ftc_notices_tick(&n, 1 + NOTICES_WAIT);
    expect_news(&n, 3, 1);
    expect_nothing(&n);
    ftc_notices_tick(&n, 1 + 2 * NOTICES_WAIT);
    expect_news(&n, 1, 1);
    expect_nothing(&n);
    ck_assert(ftc_notices_due(&n) == UINT64_MAX);
    ck_assert(!ftc_notices_take(&n, 3, 0, 1, NULL, 1));
    expect_nothing(&n);
    ftc_notices_fini(&n);
}
END_TEST

START_TEST(a_neighbour_that_has_sent_the_news_gets_none)
{
    struct ftc_notices n;

    ftc_notices_init(&n, 2, 8, NOTICES_WAIT);
    ck_assert(ftc_notices_take(&n, 0, 0, 1, NULL, 1));
    expect_news(&n, 6, 1);
    ck_assert(!ftc_notices_take(&n, 3, 0, 1, NULL, 1));
    ftc_notices_tick(&n, 1 + NOTICES_WAIT);
    expect_nothing(&n);
    ck_assert(!ftc_notices_take(&n, 1, 0, 1, NULL, 1));
    ftc_notices_tick(&n, 1 + 2 * NOTICES_WAIT);
    expect_nothing(&n);
    ftc_notices_fini(&n);
}
END_TEST

START_TEST(news_that_the_tree_has_missed_go_on_at_once)
{
    struct ftc_notices n;

    ftc_notices_init(&n, 2, 8, NOTICES_WAIT);
    ck_assert(ftc_notices_take(&n, 3, 0, 1, NULL, 1));
    expect_news(&n, 6, 1);
    expect_news(&n, 1, 1);
    expect_nothing(&n);
    ftc_notices_fini(&n);
}
END_TEST

/* While the correction of news 1 waits, node 1 goes. This makes node 3, the left neighbour, a
 * child. */
static bool gives_a_new_child_earlier_news_first(void)
{
    struct ftc_notices n;
    struct ftc_notices_output output;
    uint32_t next = 1;

    ftc_notices_init(&n, 0, 4, NOTICES_WAIT);
    (void)ftc_notices_tell(&n, NULL, 1);
    ftc_notices_gone(&n, 1);
    (void)ftc_notices_tell(&n, NULL, 1);
    while (ftc_notices_next(&n, &output))
        next += output.kind == FTC_NOTICES_NEWS && output.to == 3 && output.number == next;
    ftc_notices_fini(&n);
    return next == 3;
}

START_TEST(a_neighbour_that_becomes_a_child_gets_earlier_news_first)
{
    ck_assert(gives_a_new_child_earlier_news_first());
}
END_TEST

START_TEST(news_wait_for_those_before_them)
{
    struct ftc_notices n;

    ftc_notices_init(&n, 2, 8, NOTICES_WAIT);
    ck_assert(!ftc_notices_take(&n, 0, 0, 2, NULL, 1));
    ck_assert_uint_eq(ftc_notices_count(&n, 0), 0);
    ck_assert(ftc_notices_take(&n, 3, 0, 1, NULL, 1));
    ck_assert(ftc_notices_take(&n, 3, 0, 2, NULL, 1));
    ftc_notices_fini(&n);
}
END_TEST

START_TEST(a_lost_node_has_no_more_news)
{
    struct ftc_notices n;

    ftc_notices_init(&n, 2, 8, NOTICES_WAIT);
    ck_assert(ftc_notices_take(&n, 3, 0, 1, NULL, 1));
    ftc_notices_close(&n, 0);
    ck_assert(!ftc_notices_take(&n, 3, 0, 2, NULL, 1));
    ftc_notices_fini(&n);
}
END_TEST

START_TEST(a_new_neighbour_gets_a_vector_and_what_it_lacks)
{
    struct ftc_notices n;
    struct ftc_notices_output output;
    uint32_t have[4] = {0, 0, 0, 1};

    ftc_notices_init(&n, 1, 4, NOTICES_WAIT);
    ck_assert(ftc_notices_take(&n, 0, 0, 1, NULL, 1));
    while (ftc_notices_next(&n, &output))
        ;
    ftc_notices_gone(&n, 2);
    ck_assert(ftc_notices_next(&n, &output));
    ck_assert(output.kind == FTC_NOTICES_VECTOR && output.to == 3 && output.asks);
    ck_assert(!ftc_notices_next(&n, &output));
    ftc_notices_vector(&n, 3, have, true);
    ck_assert(ftc_notices_next(&n, &output));
    ck_assert(output.kind == FTC_NOTICES_NEWS && output.to == 3 && output.origin == 0);
    ck_assert(ftc_notices_next(&n, &output)); /* it lacks the news of node 3 */
    ck_assert(output.kind == FTC_NOTICES_VECTOR && output.to == 3 && !output.asks);
    ck_assert(!ftc_notices_next(&n, &output));
    ftc_notices_fini(&n);
}
END_TEST

/* --- what it costs --- */

static int log2_up(int n)
{
    int log = 0;

    while (1 << log < n)
        log++;
    return log;
}

/* For each number of nodes, each of them tells one news, and nobody dies. */
START_TEST(messages_and_rounds_are_logarithmic)
{
    struct test_random random = test_random_start();

    for (int nodes = 2; nodes <= NOTICES_MOST; nodes++) {
        for (int origin = 0; origin < nodes; origin++) {
            int rounds = 0;
            notices_world_make(&world, &random, nodes, nodes);
            world.node[origin].to_tell = 1;
            notices_world_tell(&world, origin);
            for (bool all = false; !all; rounds++) {
                all = true;
                (void)notices_world_round(&world);
                for (int i = 0; i < nodes; i++)
                    all &= ftc_notices_count(&world.node[i].notices, origin) == 1;
                ck_assert_int_le(rounds, log2_up(nodes));
            }
            for (int i = 0; i < nodes; i++)
                ck_assert_int_le(world.node[i].sent, log2_up(nodes) + 2);
            notices_world_free(&world);
        }
    }
}
END_TEST

/* --- many nodes --- */

static int count_broken(int runs, int least, int most)
{
    struct test_random random = test_random_start();
    int broken = 0;

    for (int run = 0; run < runs; run++) {
        notices_world_make(&world, &random, least, most);
        int longest = 60 * world.nodes;
        for (int steps = (int)test_random_between(&world.random, 0, (uint64_t)longest); steps > 0;
             steps--)
            notices_world_step(&world);
        notices_world_rest(&world);
        broken += !notices_world_agrees(&world);
        random = world.random;
        notices_world_free(&world);
    }
    return broken;
}

/* Neighbours in the ring die at a time, for example those of one rack, and nobody sees it. */
static int count_waits(int runs, int least, int most)
{
    struct test_random random = test_random_start();
    int broken = 0;

    for (int run = 0; run < runs; run++) {
        notices_world_make(&world, &random, least, most);
        int first = (int)test_random_between(&world.random, 0, (uint64_t)world.nodes - 1);
        int deaths = world.strikes;
        world.unseen = true;
        world.strikes = 0;
        for (int dead = 0; dead < deaths; dead++) {
            int i = (first + dead) % world.nodes;
            for (int steps = (int)test_random_between(&world.random, 0, 40); steps > 0; steps--)
                notices_world_step(&world);
            notices_world_die(&world, i);
        }
        notices_world_rest(&world);
        broken += !notices_world_agrees(&world);
        random = world.random;
        notices_world_free(&world);
    }
    return broken;
}

START_TEST(news_that_one_survivor_has_all_have)
{
    ck_assert_int_eq(count_broken(RUNS, 2, 9), 0);
    ck_assert_int_eq(count_broken(LARGE_RUNS, 33, NOTICES_MOST), 0);
}
END_TEST

START_TEST(nobody_waits_until_neighbours_that_died_are_seen_to_be_gone)
{
    ck_assert_int_eq(count_waits(RUNS, 2, 9), 0);
    ck_assert_int_eq(count_waits(LARGE_RUNS, 33, NOTICES_MOST), 0);
}
END_TEST

/* The nodes behind the origin, which have most others below them, have died. */
static bool reaches_all_behind_a_rack(void)
{
    struct test_random random = test_random_start();
    bool reached;

    notices_world_make(&world, &random, NOTICES_MOST, NOTICES_MOST);
    world.unseen = true;
    for (int i = 0; i < world.nodes; i++)
        world.node[i].to_tell = i == 0;
    for (int i = 1; i <= 16; i++)
        notices_world_die(&world, i);
    notices_world_tell(&world, 0);
    notices_world_wait(&world, 2);
    reached = notices_world_agrees(&world);
    notices_world_free(&world);
    return reached;
}

START_TEST(news_wait_once_where_neighbours_have_died)
{
    ck_assert(reaches_all_behind_a_rack());
}
END_TEST

START_TEST(each_fault_is_found)
{
    ftc_notices_mutation = (enum ftc_notices_mutation)_i;
    ck_assert_int_gt(count_broken(RUNS, 2, 9) + count_waits(RUNS, 2, 9) +
                         !reaches_all_behind_a_rack() + !gives_a_new_child_earlier_news_first(),
                     0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("notices");
    TCase *one = tcase_create("one"), *many = tcase_create("many");

    tcase_add_test(one, news_go_to_children_at_once_and_to_neighbours_later);
    tcase_add_test(one, a_neighbour_that_has_sent_the_news_gets_none);
    tcase_add_test(one, news_that_the_tree_has_missed_go_on_at_once);
    tcase_add_test(one, a_neighbour_that_becomes_a_child_gets_earlier_news_first);
    tcase_add_test(one, news_wait_for_those_before_them);
    tcase_add_test(one, a_lost_node_has_no_more_news);
    tcase_add_test(one, a_new_neighbour_gets_a_vector_and_what_it_lacks);
    tcase_set_timeout(many, 120);
    tcase_add_test(many, messages_and_rounds_are_logarithmic);
    tcase_add_test(many, news_that_one_survivor_has_all_have);
    tcase_add_test(many, nobody_waits_until_neighbours_that_died_are_seen_to_be_gone);
    tcase_add_test(many, news_wait_once_where_neighbours_have_died);
    tcase_add_loop_test(many, each_fault_is_found, FTC_NOTICES_MUTATION_NONE + 1, MUTANTS);
    suite_add_tcase(suite, one);
    suite_add_tcase(suite, many);
    return test_suite_run(suite);
}
