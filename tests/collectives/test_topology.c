/*
 * The shapes of a ballot: groups, I(f)-trees of every arity, dissemination trees. They are checked
 * against their definitions for all small sizes. Together they must give the protocol what it
 * needs: every value once, and short gaps. The example of the paper comes out, too.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/spread/topology.h"
#include "tests/random.h"
#include "tests/suite.h"

#define MAX_N     300
#define MAX_F     8
#define MAX_ARITY 4
#define LARGE     (1 << 30)

/* As ck_assert_msg(), but free where the condition holds: Check writes a line for each assertion,
 * and there are millions here. */
#define EXPECT(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg(__VA_ARGS__);                                                             \
    } while (0)

static bool in_group(int m, int f, int j, int member)
{
    struct ftc_group group = ftc_topology_group(m, f, j);
    bool listed = member >= group.first && member < group.first + group.count;
    return member == 0 ? group.with_root : listed;
}

static int group_size(int m, int f, int j)
{
    struct ftc_group group = ftc_topology_group(m, f, j);
    return group.count + group.with_root;
}

/* --- groups --- */

/* agreement.md: the group has number floor((j-1)/F). Position 0 is in the last group if that is
 * incomplete, else in no group. */
static bool same_group_by_definition(int m, int f, int j, int q)
{
    int size = f + 1, last = (m - 2) / size;
    bool incomplete = (m - 1) % size != 0;

    if (j == 0 && q == 0)
        return incomplete;
    if (j == 0 || q == 0)
        return incomplete && (j + q - 1) / size == last;
    return (j - 1) / size == (q - 1) / size;
}

START_TEST(groups_are_those_of_the_definition)
{
    for (int f = 0; f <= MAX_F; f++)
        for (int m = 1; m <= MAX_N; m += m < 40 ? 1 : 13)
            for (int j = 0; j < m; j++)
                for (int q = 0; q < m; q++)
                    EXPECT(in_group(m, f, j, q) == same_group_by_definition(m, f, j, q),
                           "m %d, f %d: is %d in the group of %d?", m, f, q, j);
}
END_TEST

/* The groups together cover 1..m-1 once, and all members of a group agree on it. */
START_TEST(groups_partition_the_positions)
{
    for (int f = 0; f <= MAX_F; f++) {
        for (int m = 1; m <= MAX_N; m++) {
            int next = 1;
            while (next < m) {
                struct ftc_group group = ftc_topology_group(m, f, next);
                EXPECT(group.first == next && group.count >= 1 &&
                           group.count + group.with_root <= f + 1,
                       "m %d, f %d: %d", m, f, next);
                for (int j = next; j < next + group.count; j++) {
                    struct ftc_group other = ftc_topology_group(m, f, j);
                    EXPECT(other.first == group.first && other.count == group.count &&
                               other.with_root == group.with_root,
                           "m %d, f %d: %d and %d", m, f, next, j);
                }
                next += group.count;
                EXPECT(!group.with_root || next == m, "m %d, f %d: root in the group before %d", m,
                       f, next);
            }
            ck_assert_int_eq(next, m);
        }
    }
}
END_TEST

START_TEST(up_messages_are_those_of_theorem_5)
{
    for (int f = 0; f <= MAX_F; f++) {
        for (int n = 1; n <= MAX_N; n++) {
            long sent = 0;
            for (int j = 0; j < n; j++)
                sent += group_size(n, f, j) > 0 ? group_size(n, f, j) - 1 : 0;
            int a = (n - 1) % (f + 1) + 1;
            ck_assert_int_eq(sent, f * (f + 1) * ((n - 1) / (f + 1)) + a * (a - 1));
            ck_assert_int_eq(ftc_topology_up_messages(n, f), sent);
        }
    }
    ck_assert_int_eq(ftc_topology_up_messages(LARGE, LARGE - 2), (long)(LARGE - 1) * (LARGE - 2));
}
END_TEST

/* --- I(f)-trees --- */

/* Walks down from `j`, counts the visits and checks each step. Returns the number of positions in
 * the subtree of j. */
static int visit(int m, int f, int arity, int j, int visits[])
{
    int size = 1, previous = j;

    visits[j]++;
    for (int c = 0; c < arity; c++) {
        int child = ftc_topology_reduce_child(m, f, arity, j, c);
        if (child == -1) {
            previous = m; /* no child may follow */
            continue;
        }
        bool family = ftc_topology_reduce_parent(f, arity, child) == j &&
                      ftc_topology_subtree(f, child) == ftc_topology_subtree(f, j);
        EXPECT(child > previous && child < m && family,
               "m %d, f %d, arity %d: child %d of %d is %d", m, f, arity, c, j, child);
        previous = child;
        size += visit(m, f, arity, child, visits);
    }
    EXPECT(ftc_topology_reduce_child(m, f, arity, j, arity) == -1, "%d has too many children", j);
    return size;
}

static void check_reduce_tree(int m, int f, int arity)
{
    int visits[MAX_N] = {0}, least = m, most = 0;

    for (int s = 0; s <= f; s++) {
        int head = ftc_topology_head(m, f, s), size = 0;
        EXPECT(head == (s + 1 < m ? s + 1 : -1), "m %d: head %d of subtree %d", m, head, s);
        if (head != -1) {
            EXPECT(ftc_topology_reduce_parent(f, arity, head) == 0, "f %d: parent of head %d", f,
                   head);
            EXPECT(ftc_topology_subtree(f, head) == s, "f %d: subtree of head %d", f, head);
            size = visit(m, f, arity, head, visits);
        }
        least = size < least ? size : least;
        most = size > most ? size : most;
    }
    for (int j = 1; j < m; j++)
        EXPECT(visits[j] == 1, "m %d, f %d, arity %d: %d visited %d times", m, f, arity, j,
               visits[j]);
    EXPECT(most - least <= 1, "m %d, f %d: subtrees of %d to %d", m, f, least, most);
}

START_TEST(reduce_trees_span_each_subtree_once)
{
    for (int arity = 1; arity <= MAX_ARITY; arity++)
        for (int f = 0; f <= MAX_F; f++)
            for (int m = 1; m <= MAX_N; m++)
                check_reduce_tree(m, f, arity);
}
END_TEST

START_TEST(a_chain_is_a_heap_of_arity_one)
{
    for (int j = 1; j < 20; j++)
        ck_assert_int_eq(ftc_topology_reduce_child(20, 2, 1, j, 0), j + 3 < 20 ? j + 3 : -1);
}
END_TEST

/* Counts how often the value of each rank is in what the coordinator gets of subtree s without
 * failures. Messages go up the real tree, with vectors of multiplicities as values. */
static void reduce_multiplicities(int m, int f, int arity, uint8_t value[MAX_N][MAX_N])
{
    for (int j = 0; j < m; j++) {
        memset(value[j], 0, (size_t)m);
        value[j][j] = 1;
        for (int q = 0; q < m; q++)
            if (q != j && in_group(m, f, j, q))
                value[j][q] += 1;
    }
    for (int j = m - 1; j > f + 1; j--) { /* children come after their parents */
        int parent = ftc_topology_reduce_parent(f, arity, j);
        for (int q = 0; q < m; q++)
            value[parent][q] += value[j][q];
    }
}

START_TEST(every_subtree_gives_every_value_exactly_once)
{
    static uint8_t value[MAX_N][MAX_N];
    int arity = _i;

    for (int f = 0; f <= MAX_F; f++) {
        for (int m = 1; m <= MAX_N; m += m < 50 ? 1 : 7) {
            reduce_multiplicities(m, f, arity, value);
            for (int s = 0; s <= f; s++) {
                int head = ftc_topology_head(m, f, s);
                bool own = !ftc_topology_subtree_has_root_value(m, f, s);
                for (int q = 0; q < m; q++)
                    EXPECT((head == -1 ? 0 : value[head][q]) + (own ? value[0][q] : 0) == 1,
                           "m %d, f %d, arity %d, subtree %d: value of %d", m, f, arity, s, q);
            }
        }
    }
}
END_TEST

/* Küttler, Härtig 2026, 4.3 and figure 2: n = 7, f = 1, process 1 is dead, each process sends its
 * number. */
START_TEST(the_example_of_the_paper)
{
    enum { N = 7, F = 1, DEAD = 1 };
    int value[N], below[N];

    ck_assert_int_eq(group_size(N, F, 0), 0); /* the root takes no part in the up-correction */
    for (int j = 0; j < N; j++) {
        value[j] = j;
        for (int q = 0; q < N; q++)
            if (q != j && q != DEAD && in_group(N, F, j, q))
                value[j] += q;
    }
    ck_assert_int_eq(value[0], 0);
    ck_assert_int_eq(value[2], 2); /* its partner is dead */
    ck_assert_int_eq(value[3], 7);
    ck_assert_int_eq(value[4], 7);
    ck_assert_int_eq(value[5], 11);
    ck_assert_int_eq(value[6], 11);

    ck_assert_int_eq(ftc_topology_reduce_parent(F, 2, 3), 1);
    ck_assert_int_eq(ftc_topology_reduce_parent(F, 2, 5), 1);
    ck_assert_int_eq(ftc_topology_reduce_parent(F, 2, 4), 2);
    ck_assert_int_eq(ftc_topology_reduce_parent(F, 2, 6), 2);
    memcpy(below, value, sizeof(below));
    for (int j = N - 1; j > F + 1; j--)
        below[ftc_topology_reduce_parent(F, 2, j)] += below[j];
    ck_assert_int_eq(ftc_topology_head(N, F, 1), 2);
    ck_assert_int_eq(below[2], 20); /* 2 + 7 + 11: subtree 1 has no failure */
    ck_assert(!ftc_topology_subtree_has_root_value(N, F, 1));
    ck_assert_int_eq(below[2] + value[0], 20);
}
END_TEST

/* --- dissemination trees --- */

static const struct ftc_tree_shape shapes[] = {
    {FTC_TREE_BINOMIAL, 0}, {FTC_TREE_KARY, 2}, {FTC_TREE_KARY, 3},
    {FTC_TREE_KARY, 4},     {FTC_TREE_KARY, 7}, {FTC_TREE_LAME, 1},
    {FTC_TREE_LAME, 2},     {FTC_TREE_LAME, 3}, {FTC_TREE_LAME, 4},
    {FTC_TREE_LAME, 6},     {FTC_TREE_LAME, 9}, {FTC_TREE_LAME, FTC_TOPOLOGY_LAME_MAX},
};
#define SHAPES ((int)(sizeof(shapes) / sizeof(shapes[0])))

/* Returns the number of positions in the subtree of j. Checks the steps, and that larger subtrees
 * come first. */
static int visit_broadcast(const struct ftc_tree_shape *shape, int m, int j, int visits[])
{
    int size = 1, previous = j, larger = m;

    visits[j]++;
    EXPECT(visits[j] == 1, "m %d: %d reached twice", m, j); /* a wrong tree might run for ever */
    for (int c = 0, child; (child = ftc_topology_broadcast_child(shape, m, j, c)) != -1; c++) {
        EXPECT(child > previous && child < m, "m %d: child %d of %d is %d", m, c, j, child);
        EXPECT(ftc_topology_broadcast_parent(shape, child) == j, "parent of %d is not %d", child,
               j);
        int below = visit_broadcast(shape, m, child, visits);
        EXPECT(below <= larger, "m %d: %d has a larger subtree than a child before it", m, child);
        larger = below;
        previous = child;
        size += below;
    }
    return size;
}

START_TEST(broadcast_trees_reach_everyone_once)
{
    for (int m = 1; m <= 1024; m += m < MAX_N ? 1 : 181) {
        int visits[1024] = {0};
        ck_assert_int_eq(visit_broadcast(&shapes[_i], m, 0, visits), m);
    }
}
END_TEST

/* Returns the child of position 0 that has j in its subtree. */
static int top_of(const struct ftc_tree_shape *shape, int j)
{
    for (int parent; (parent = ftc_topology_broadcast_parent(shape, j)) != 0;)
        j = parent;
    return j;
}

/* So one death leaves only gaps of 1 on the ring: the only ancestor that two neighbours have in
 * common is 0. */
START_TEST(a_subtree_never_holds_two_neighbours)
{
    for (int j = 1; j < 5000; j++)
        EXPECT(top_of(&shapes[_i], j) != top_of(&shapes[_i], j + 1), "%d and %d", j, j + 1);
}
END_TEST

START_TEST(lame_of_order_one_is_binomial)
{
    struct ftc_tree_shape lame = {FTC_TREE_LAME, 1}, binomial = {FTC_TREE_BINOMIAL, 0};

    for (int j = 0; j < 1000; j++)
        for (int c = 0; c < 12; c++)
            ck_assert_int_eq(ftc_topology_broadcast_child(&lame, 1000, j, c),
                             ftc_topology_broadcast_child(&binomial, 1000, j, c));
}
END_TEST

/* LogP: returns when the last position has the message, if each sends to its children one after the
 * other. */
static int finish_time(struct ftc_tree_shape shape, int m, int latency, int overhead, int j,
                       int now)
{
    int last = now;

    for (int c = 0, child; (child = ftc_topology_broadcast_child(&shape, m, j, c)) != -1; c++) {
        int arrival = now + c * overhead + latency + 2 * overhead;
        int below = finish_time(shape, m, latency, overhead, child, arrival);
        last = below > last ? below : last;
    }
    return last;
}

START_TEST(tree_times_are_those_of_the_table)
{
    static const struct {
        struct ftc_tree_shape shape;
        int latency, time;
    } rows[] = {
        {{FTC_TREE_BINOMIAL, 0}, 2, 40}, {{FTC_TREE_KARY, 4}, 2, 33}, {{FTC_TREE_LAME, 2}, 2, 29},
        {{FTC_TREE_LAME, 3}, 2, 25},     {{FTC_TREE_LAME, 4}, 2, 24}, {{FTC_TREE_LAME, 3}, 1, 20},
        {{FTC_TREE_LAME, 6}, 4, 31},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        ck_assert_int_eq(finish_time(rows[i].shape, 1024, rows[i].latency, 1, 0, 0), rows[i].time);
}
END_TEST

/* --- large numbers --- */

START_TEST(reduce_trees_of_a_billion_positions)
{
    struct test_random random = test_random_start();

    for (int round = 0; round < 200000; round++) {
        int m = LARGE - (int)test_random_between(&random, 0, 1000);
        int f = (int)(test_random_bits(&random) >> test_random_between(&random, 34, 63)) % (m - 1);
        int arity =
            (int)test_random_between(&random, 1, test_random_chance(&random, 5) ? LARGE : 64);
        int j =
            1 + (int)(test_random_bits(&random) >> test_random_between(&random, 34, 63)) % (m - 1);
        int c = (int)test_random_between(&random, 0, arity - 1);
        int child = ftc_topology_reduce_child(m, f, arity, j, c);
        int parent = ftc_topology_reduce_parent(f, arity, j);

        bool family = child == -1 ||
                      (child > j && child < m && ftc_topology_reduce_parent(f, arity, child) == j);
        bool grouped = in_group(m, f, j, j) && group_size(m, f, j) <= f + 1;
        EXPECT(family && grouped && parent >= 0 && parent < j,
               "m %d, f %d, arity %d: %d, child %d is %d", m, f, arity, j, c, child);
    }
}
END_TEST

START_TEST(broadcast_trees_of_a_billion_positions)
{
    struct test_random random = test_random_start();

    for (int round = 0; round < 5000; round++) {
        int m = LARGE - (int)test_random_between(&random, 0, 1000);
        int j =
            1 + (int)(test_random_bits(&random) >> test_random_between(&random, 34, 63)) % (m - 1);
        int parent = ftc_topology_broadcast_parent(&shapes[_i], j), c = 0, child;

        EXPECT(parent >= 0 && parent < j, "parent of %d is %d", j, parent);
        while ((child = ftc_topology_broadcast_child(&shapes[_i], m, parent, c)) != j) {
            EXPECT(child != -1 && child < j, "m %d: %d is not among the children of %d", m, j,
                   parent);
            c++;
        }
        EXPECT(ftc_topology_broadcast_child(&shapes[_i], m, j, INT32_MAX) == -1, "%d has no end",
               j);
    }
}
END_TEST

static TCase *story(Suite *suite, const char *name)
{
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 100);
    suite_add_tcase(suite, tc);
    return tc;
}

int main(void)
{
    Suite *suite = suite_create("topology");
    TCase *groups = story(suite, "groups");
    tcase_add_test(groups, groups_are_those_of_the_definition);
    tcase_add_test(groups, groups_partition_the_positions);
    tcase_add_test(groups, up_messages_are_those_of_theorem_5);

    TCase *reduce = story(suite, "I(f)-tree");
    tcase_add_test(reduce, reduce_trees_span_each_subtree_once);
    tcase_add_test(reduce, a_chain_is_a_heap_of_arity_one);
    tcase_add_loop_test(reduce, every_subtree_gives_every_value_exactly_once, 1, MAX_ARITY + 1);
    tcase_add_test(reduce, the_example_of_the_paper);
    tcase_add_test(reduce, reduce_trees_of_a_billion_positions);

    TCase *broadcast = story(suite, "dissemination");
    tcase_add_loop_test(broadcast, broadcast_trees_reach_everyone_once, 0, SHAPES);
    tcase_add_loop_test(broadcast, a_subtree_never_holds_two_neighbours, 0, SHAPES);
    tcase_add_test(broadcast, lame_of_order_one_is_binomial);
    tcase_add_test(broadcast, tree_times_are_those_of_the_table);
    tcase_add_loop_test(broadcast, broadcast_trees_of_a_billion_positions, 0, SHAPES);

    test_seed_announce();
    return test_suite_run(suite);
}
