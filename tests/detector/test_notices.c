/* Notices between nodes: stories of one node, and of many nodes that die while they tell one
 * another. */
#include <stdlib.h>
#include <string.h>

#include "detector/notices.h"
#include "tests/random.h"
#include "tests/suite.h"

#define MOST  9 /* nodes; each has one rank: rank r is on node r */
#define QUEUE 256
#define RUNS  20000

/* --- one node --- */

START_TEST(a_notice_goes_to_the_right_neighbour_once)
{
    struct ftc_notices n;

    ck_assert_int_eq(ftc_notices_init(&n, 1, 4, 8), 0);
    ftc_notices_learn(&n, 7, 3, 3);
    ck_assert_int_eq(n.right, 2);
    ck_assert_int_eq(ftc_notices_next(&n), 7);
    ck_assert_int_eq(ftc_notices_next(&n), -1);
    ftc_notices_fini(&n);
}
END_TEST

START_TEST(who_told_it_or_owns_the_rank_is_not_told)
{
    struct ftc_notices n;

    ck_assert_int_eq(ftc_notices_init(&n, 1, 4, 8), 0);
    ftc_notices_learn(&n, 7, 3, 2);
    ftc_notices_learn(&n, 4, 2, 2);
    ck_assert_int_eq(ftc_notices_next(&n), -1);
    ftc_notices_fini(&n);
}
END_TEST

START_TEST(the_next_neighbour_is_told_all_again)
{
    struct ftc_notices n;

    ck_assert_int_eq(ftc_notices_init(&n, 1, 4, 8), 0);
    ftc_notices_learn(&n, 0, 0, 0);
    ftc_notices_learn(&n, 5, 2, 2);
    while (ftc_notices_next(&n) >= 0)
        ;
    ftc_notices_gone(&n, 2);
    ck_assert_int_eq(n.right, 3);
    ck_assert_int_eq(ftc_notices_next(&n), 0);
    ck_assert_int_eq(ftc_notices_next(&n), 5);
    ftc_notices_gone(&n, 0);
    ck_assert_int_eq(n.right, 3);
    ftc_notices_gone(&n, 3);
    ck_assert_int_eq(n.right, 1);
    ck_assert_int_eq(ftc_notices_next(&n), -1);
    ftc_notices_fini(&n);
}
END_TEST

/* --- many nodes --- */

enum fault { NONE, NOTHING_IS_PASSED_ON, NOBODY_IS_TOLD_AGAIN };

struct queue {
    int rank[QUEUE], from, to;
};

struct node {
    struct ftc_notices notices;
    bool dead, knows[MOST]; /* knows: the ranks whose failures it knows of */
    bool sees_gone[MOST];
    int telling; /* how many nodes it has told that its own rank has failed; -1: the rank has not */
};

struct world {
    struct test_random random;
    int nodes, deaths;
    enum fault fault;
    struct node node[MOST];
    struct queue link[MOST][MOST];
};

static void make_world(struct world *w, struct test_random *random, enum fault fault)
{
    memset(w, 0, sizeof(*w));
    w->random = *random;
    w->nodes = (int)test_random_between(&w->random, 2, MOST);
    w->deaths = (int)test_random_between(&w->random, 0, w->nodes - 1);
    w->fault = fault;
    for (int i = 0; i < w->nodes; i++) {
        ck_assert_int_eq(ftc_notices_init(&w->node[i].notices, i, w->nodes, w->nodes), 0);
        w->node[i].telling = test_random_between(&w->random, 0, 2) == 0 ? 0 : -1;
        w->node[i].knows[i] = w->node[i].telling == 0;
    }
}

static void end_world(struct world *w, struct test_random *random)
{
    for (int i = 0; i < w->nodes; i++)
        ftc_notices_fini(&w->node[i].notices);
    *random = w->random;
}

static void send(struct world *w, int from, int to, int rank)
{
    struct queue *queue = &w->link[from][to];

    ck_assert_int_lt(queue->to, QUEUE);
    if (!w->node[from].sees_gone[to])
        queue->rank[queue->to++] = rank;
}

static void pass_on(struct world *w, int i)
{
    struct ftc_notices *n = &w->node[i].notices;
    int rank;

    while (w->fault != NOTHING_IS_PASSED_ON && (rank = ftc_notices_next(n)) >= 0)
        if (rank != n->right)
            send(w, i, n->right, rank);
}

static bool tell_one(struct world *w, int i)
{
    struct node *node = &w->node[i];

    if (node->dead || node->telling < 0 || node->telling == w->nodes)
        return false;
    if (node->telling != i)
        send(w, i, node->telling, i);
    node->telling++;
    return true;
}

/* What a dead node had sent may arrive or not. What arrives comes in order. */
static bool receive_one(struct world *w, int from, int to)
{
    struct queue *queue = &w->link[from][to];
    struct node *node = &w->node[to];

    if (node->dead || queue->from == queue->to)
        return false;
    int rank = queue->rank[queue->from++];
    if (node->sees_gone[from] || node->knows[rank])
        return true;
    node->knows[rank] = true;
    ftc_notices_learn(&node->notices, rank, rank, from);
    pass_on(w, to);
    return true;
}

static bool see_gone(struct world *w, int i, int gone)
{
    struct node *node = &w->node[i];

    if (node->dead || !w->node[gone].dead || node->sees_gone[gone])
        return false;
    node->sees_gone[gone] = true;
    ftc_notices_gone(&node->notices, gone);
    if (w->fault == NOBODY_IS_TOLD_AGAIN)
        ftc_set_clear(&node->notices.waiting);
    pass_on(w, i);
    return true;
}

static void die(struct world *w, int i)
{
    if (w->node[i].dead || w->deaths == 0)
        return;
    w->deaths--;
    w->node[i].dead = true;
    for (int to = 0; to < w->nodes; to++) {
        struct queue *queue = &w->link[i][to];
        queue->to = (int)test_random_between(&w->random, queue->from, queue->to);
    }
}

/* Does one random thing that can happen. Returns false if there was none. */
static bool step(struct world *w)
{
    int a = (int)test_random_between(&w->random, 0, w->nodes - 1);
    int b = (int)test_random_between(&w->random, 0, w->nodes - 1);

    switch (test_random_between(&w->random, 0, 15)) {
    case 0:
        die(w, a);
        return true;
    case 1:
        return a != b && see_gone(w, a, b);
    case 2:
    case 3:
    case 4:
        return tell_one(w, a);
    default:
        return a != b && receive_one(w, a, b);
    }
}

static bool rest(struct world *w)
{
    bool any = false;

    for (int a = 0; a < w->nodes; a++) {
        while (tell_one(w, a))
            any = true;
        for (int b = 0; b < w->nodes; b++) {
            any |= a != b && see_gone(w, a, b);
            any |= a != b && receive_one(w, a, b);
        }
    }
    return any;
}

/* Does each live node know what any live node knows? */
static bool agree(const struct world *w)
{
    for (int rank = 0; rank < w->nodes; rank++) {
        bool known = false, missed = false;
        for (int i = 0; i < w->nodes; i++) {
            known |= !w->node[i].dead && w->node[i].knows[rank];
            missed |= !w->node[i].dead && !w->node[i].knows[rank];
        }
        if (known && missed)
            return false;
    }
    return true;
}

static int count_broken(enum fault fault)
{
    static struct world w;
    struct test_random random = test_random_start();
    int broken = 0;

    for (int run = 0; run < RUNS; run++) {
        make_world(&w, &random, fault);
        for (int steps = (int)test_random_between(&w.random, 0, 400); steps > 0; steps--)
            (void)step(&w);
        while (rest(&w))
            ;
        broken += !agree(&w);
        end_world(&w, &random);
    }
    return broken;
}

START_TEST(what_one_survivor_knows_all_know)
{
    ck_assert_int_eq(count_broken(NONE), 0);
}
END_TEST

START_TEST(faults_are_found)
{
    ck_assert_int_gt(count_broken(NOTHING_IS_PASSED_ON), 0);
    ck_assert_int_gt(count_broken(NOBODY_IS_TOLD_AGAIN), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("notices");
    TCase *one = tcase_create("one"), *many = tcase_create("many");

    tcase_add_test(one, a_notice_goes_to_the_right_neighbour_once);
    tcase_add_test(one, who_told_it_or_owns_the_rank_is_not_told);
    tcase_add_test(one, the_next_neighbour_is_told_all_again);
    tcase_set_timeout(many, 120);
    tcase_add_test(many, what_one_survivor_knows_all_know);
    tcase_add_test(many, faults_are_found);
    suite_add_tcase(suite, one);
    suite_add_tcase(suite, many);
    return test_suite_run(suite);
}
