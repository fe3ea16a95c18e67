/* Runs many notice objects by random steps. */
#include "tests/detector/notices_world.h"

#include <stdlib.h>
#include <string.h>

/* An item names its news. */
static void *item_of(int origin, uint32_t number)
{
    return (void *)(uintptr_t)((uint32_t)origin * NOTICES_NEWS + number);
}

static int below(struct notices_world *w, int limit)
{
    return (int)test_random_between(&w->random, 0, (uint64_t)limit - 1);
}

/* --- links --- */

static bool listens(const struct notices_world *w, int from, int to)
{
    const struct notices_node *receiver = &w->node[to];
    bool left = w->node[from].leaving && !w->node[from].dead;

    return !w->node[from].deaf[to] && (!receiver->sees_gone[from] || left);
}

static void send(struct notices_world *w, int from, const struct ftc_notices_output *output)
{
    struct notices_queue *queue = &w->link[from][output->to];
    struct notices_message message = {.output = *output};

    if (output->kind == FTC_NOTICES_VECTOR) {
        message.have = calloc((size_t)w->nodes, sizeof(*message.have));
        for (int i = 0; i < w->nodes; i++)
            message.have[i] = ftc_notices_count(&w->node[from].notices, i);
    }
    w->node[from].sent += output->kind == FTC_NOTICES_NEWS;
    if (queue->to == queue->room) {
        queue->room = queue->room == 0 ? 8 : 2 * queue->room;
        queue->message = realloc(queue->message, (size_t)queue->room * sizeof(*queue->message));
    }
    queue->message[queue->to++] = message;
}

static void put_out(struct notices_world *w, int i)
{
    struct ftc_notices_output output;

    while (ftc_notices_next(&w->node[i].notices, &output))
        send(w, i, &output);
}

static void take(struct notices_world *w, int from, int to, const struct notices_message *m)
{
    struct ftc_notices *n = &w->node[to].notices;
    uint32_t before = ftc_notices_count(n, m->output.origin);

    if (m->output.kind == FTC_NOTICES_VECTOR)
        ftc_notices_vector(n, from, m->have, m->output.asks);
    else if (ftc_notices_take(n, from, m->output.origin, m->output.number, m->output.item, w->now))
        w->skipped |= m->output.item != item_of(m->output.origin, before + 1);
    put_out(w, to);
}

static bool receive_one(struct notices_world *w, int from, int to)
{
    struct notices_queue *queue = &w->link[from][to];

    if (w->node[to].dead || queue->from == queue->to)
        return false;
    struct notices_message message = queue->message[queue->from++];
    if (listens(w, from, to))
        take(w, from, to, &message);
    free(message.have);
    return true;
}

bool notices_world_round(struct notices_world *w)
{
    static int waiting[NOTICES_MOST][NOTICES_MOST];
    bool any = false;

    for (int from = 0; from < w->nodes; from++)
        for (int to = 0; to < w->nodes; to++)
            waiting[from][to] = w->link[from][to].to - w->link[from][to].from;
    for (int from = 0; from < w->nodes; from++)
        for (int to = 0; to < w->nodes; to++)
            for (int i = 0; i < waiting[from][to]; i++)
                any |= receive_one(w, from, to);
    return any;
}

/* --- what happens to nodes --- */

void notices_world_tell(struct notices_world *w, int i)
{
    struct notices_node *node = &w->node[i];

    if (node->dead || node->to_tell == 0)
        return;
    node->to_tell--;
    ftc_notices_tell(&node->notices, item_of(i, ftc_notices_count(&node->notices, i) + 1), w->now);
    put_out(w, i);
}

/* Of what a dead node had sent, a part arrives: the first of it on each link. */
void notices_world_die(struct notices_world *w, int i)
{
    w->node[i].dead = true;
    for (int to = 0; to < w->nodes; to++) {
        struct notices_queue *queue = &w->link[i][to];
        int keep = queue->from + below(w, queue->to - queue->from + 1);
        while (queue->to > keep)
            free(queue->message[--queue->to].have);
    }
}

static void cut_off(struct notices_world *w, int i)
{
    w->node[i].cut = true;
    for (int to = 0; to < w->nodes; to++)
        w->node[i].deaf[to] = below(w, 2) == 0;
}

static void strike(struct notices_world *w, int i)
{
    struct notices_node *node = &w->node[i];

    if (node->dead || node->cut || w->strikes == 0)
        return;
    w->strikes--;
    if (w->unseen || below(w, 2) == 0)
        notices_world_die(w, i);
    else
        cut_off(w, i);
}

static void leave(struct notices_world *w, int i)
{
    if (!w->unseen && w->node[i].to_tell == 0)
        w->node[i].leaving = true;
}

/* A node that leaves is done without as soon as all its news are there. */
static bool see_gone(struct notices_world *w, int i, int gone)
{
    struct notices_node *node = &w->node[i], *other = &w->node[gone];
    bool complete = other->leaving && ftc_notices_count(&node->notices, gone) ==
                                          ftc_notices_count(&other->notices, gone);

    if (node->dead || node->sees_gone[gone] || w->unseen ||
        !(other->dead || other->cut || complete))
        return false;
    node->sees_gone[gone] = true;
    ftc_notices_gone(&node->notices, gone);
    put_out(w, i);
    return true;
}

static void tick(struct notices_world *w, int i)
{
    if (w->node[i].dead || ftc_notices_due(&w->node[i].notices) > w->now)
        return;
    ftc_notices_tick(&w->node[i].notices, w->now);
    put_out(w, i);
}

void notices_world_step(struct notices_world *w)
{
    w->now++;
    int a = below(w, w->nodes), b = below(w, w->nodes), kind = below(w, 26);

    if (kind == 0)
        strike(w, a);
    else if (kind == 1)
        leave(w, a);
    else if (kind < 4 && a != b)
        (void)see_gone(w, a, b);
    else if (kind < 8)
        notices_world_tell(w, a);
    else if (kind < 10)
        tick(w, a);
    else if (a != b)
        (void)receive_one(w, a, b);
}

static void arrive(struct notices_world *w)
{
    bool any = true;

    while (any) {
        any = false;
        for (int a = 0; a < w->nodes; a++) {
            notices_world_tell(w, a);
            for (int b = 0; b < w->nodes; b++)
                any |= a != b && (see_gone(w, a, b) || receive_one(w, a, b));
        }
    }
}

void notices_world_wait(struct notices_world *w, int waits)
{
    arrive(w);
    for (; waits > 0; waits--) {
        w->now += NOTICES_WAIT;
        for (int i = 0; i < w->nodes; i++)
            tick(w, i);
        arrive(w);
    }
}

/* News wait twice at most in each level of the tree. */
void notices_world_rest(struct notices_world *w)
{
    int levels = 0;

    while (1 << levels < w->nodes)
        levels++;
    notices_world_wait(w, 2 * levels);
}

/* --- judging --- */

static bool goes_on(const struct notices_node *node)
{
    return !node->dead && !node->cut && !node->leaving;
}

bool notices_world_agrees(const struct notices_world *w)
{
    for (int origin = 0; origin < w->nodes && !w->skipped; origin++) {
        uint32_t least = UINT32_MAX, most = 0;
        for (int i = 0; i < w->nodes; i++) {
            uint32_t count = ftc_notices_count(&w->node[i].notices, origin);
            if (!goes_on(&w->node[i]))
                continue;
            least = count < least ? count : least;
            most = count > most ? count : most;
        }
        if (least < most)
            return false;
    }
    return !w->skipped;
}

/* --- life --- */

void notices_world_make(struct notices_world *w, const struct test_random *random, int least,
                        int most)
{
    memset(w, 0, sizeof(*w));
    w->random = *random;
    w->nodes = (int)test_random_between(&w->random, (uint64_t)least, (uint64_t)most);
    w->strikes = below(w, w->nodes);
    for (int i = 0; i < w->nodes; i++) {
        ftc_notices_init(&w->node[i].notices, i, w->nodes, NOTICES_WAIT);
        w->node[i].to_tell = below(w, NOTICES_NEWS);
    }
}

void notices_world_free(struct notices_world *w)
{
    for (int from = 0; from < w->nodes; from++) {
        ftc_notices_fini(&w->node[from].notices);
        for (int to = 0; to < w->nodes; to++) {
            struct notices_queue *queue = &w->link[from][to];
            while (queue->from < queue->to)
                free(queue->message[queue->from++].have);
            free(queue->message);
        }
    }
}
