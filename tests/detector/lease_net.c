/* Agents that hold leases, in virtual time. */
#include "tests/detector/lease_net.h"

#include <stdlib.h>
#include <string.h>

#include "tests/random.h"
#include "tests/suite.h"

#define STEP  (LEASE_PERIOD / 20)
#define BYTES 2048

struct letter {
    struct letter *next;
    uint64_t at;
    size_t size;
    unsigned char bytes[BYTES];
};

struct channel {
    struct letter *first, *last;
    uint64_t latest;
    bool cut;
};

struct node {
    struct ftc_lease *lease;
    int64_t offset_ns, rate_ppm; /* of the node's clock */
    uint64_t paused_until;
    bool dead, fenced;
    bool refused[LEASE_NODES], declared[LEASE_NODES];
};

struct lease_net {
    int nodes;
    uint64_t now, declared[LEASE_NODES];
    struct test_random random;
    struct node node[LEASE_NODES];
    struct channel channel[LEASE_NODES][LEASE_NODES];
};

static uint64_t clock_of(const struct lease_net *net, int node)
{
    const struct node *n = &net->node[node];
    return (uint64_t)((int64_t)net->now + n->offset_ns + (int64_t)net->now / 1000000 * n->rate_ppm);
}

static void take_outputs(struct lease_net *net, int node);

struct lease_net *lease_net_new(int nodes, int greetings, uint64_t seed)
{
    struct lease_net *net = calloc(1, sizeof(*net));

    net->nodes = nodes;
    net->random.state = seed;
    net->now = LEASE_PERIOD;
    for (int i = 0; i < nodes; i++) {
        struct ftc_lease_settings settings = {.self = i,
                                              .nodes = nodes,
                                              .greetings = greetings,
                                              .timeout_ns = LEASE_TIMEOUT,
                                              .period_ns = LEASE_PERIOD};
        net->node[i].offset_ns = test_random_between(&net->random, 0, 1000000000000);
        net->node[i].rate_ppm = test_random_between(&net->random, -4000, 4000);
        ck_assert_int_eq(ftc_lease_create(&net->node[i].lease, &settings), 0);
    }
    for (int i = 0; i < nodes; i++) {
        ftc_lease_start(net->node[i].lease, clock_of(net, i));
        take_outputs(net, i);
    }
    return net;
}

static void drop(struct channel *channel)
{
    while (channel->first != NULL) {
        struct letter *next = channel->first->next;
        free(channel->first);
        channel->first = next;
    }
    channel->last = NULL;
}

void lease_net_free(struct lease_net *net)
{
    for (int i = 0; i < net->nodes; i++) {
        ftc_lease_destroy(net->node[i].lease);
        for (int j = 0; j < net->nodes; j++)
            drop(&net->channel[i][j]);
    }
    free(net);
}

uint64_t lease_net_now(const struct lease_net *net)
{
    return net->now;
}

/* --- what must never happen --- */

static bool has_lease(const struct lease_net *net, int node)
{
    uint64_t until = ftc_lease_until(net->node[node].lease);
    return until != 0 && clock_of(net, node) < until;
}

bool lease_net_is_up(const struct lease_net *net, int node)
{
    return !net->node[node].dead && !net->node[node].fenced && has_lease(net, node);
}

static void check_declared(const struct lease_net *net, int by, int node)
{
    if (lease_net_is_up(net, node))
        ck_abort_msg("%d declares %d, whose lease holds", by, node);
    for (int i = 0; i < net->nodes; i++)
        if (i != node && lease_net_is_up(net, i) && !net->node[i].refused[node])
            ck_abort_msg("%d declares %d, to whom %d listens", by, node, i);
}

/* --- messages --- */

static void post(struct lease_net *net, int from, const struct ftc_lease_output *output)
{
    struct channel *channel = &net->channel[from][output->node];
    struct letter *letter = calloc(1, sizeof(*letter));
    uint64_t at = net->now + (uint64_t)test_random_between(&net->random, 0, LEASE_PERIOD / 4);

    letter->size = ftc_lease_encode(&output->message, letter->bytes, BYTES);
    ck_assert_uint_gt(letter->size, 0);
    letter->at = channel->latest = at > channel->latest ? at : channel->latest;
    if (channel->last != NULL)
        channel->last->next = letter;
    else
        channel->first = letter;
    channel->last = letter;
}

static void take_outputs(struct lease_net *net, int node)
{
    struct ftc_lease_output output;
    struct node *n = &net->node[node];

    while (ftc_lease_next_output(n->lease, &output)) {
        if (output.kind == FTC_LEASE_SEND) {
            post(net, node, &output);
        } else if (output.kind == FTC_LEASE_FENCE) {
            n->fenced = true;
        } else if (output.kind == FTC_LEASE_REFUSE) {
            n->refused[output.node] = true;
        } else {
            check_declared(net, node, output.node);
            n->declared[output.node] = true;
            if (net->declared[output.node] == 0)
                net->declared[output.node] = net->now;
        }
    }
}

static void deliver(struct lease_net *net, int from, int to)
{
    struct channel *channel = &net->channel[from][to];
    struct letter *letter = channel->first;
    struct ftc_lease_message message;
    struct ftc_lease_box box;

    channel->first = letter->next;
    if (channel->first == NULL)
        channel->last = NULL;
    ck_assert_int_eq(ftc_lease_box_init(&box, net->nodes), 0);
    ck_assert_int_eq(ftc_lease_decode(&message, &box, letter->bytes, letter->size), 0);
    if (!net->node[to].refused[from]) {
        ftc_lease_receive(net->node[to].lease, from, &message, clock_of(net, to));
        take_outputs(net, to);
    }
    ftc_lease_box_fini(&box);
    free(letter);
}

static bool runs(const struct lease_net *net, int node)
{
    const struct node *n = &net->node[node];
    return !n->dead && !n->fenced && n->paused_until <= net->now;
}

static void step_node(struct lease_net *net, int node)
{
    int first = (int)test_random_between(&net->random, 0, net->nodes - 1);

    for (int i = 0; i < net->nodes; i++) {
        int from = (first + i) % net->nodes;
        struct channel *channel = &net->channel[from][node];
        while (runs(net, node) && !channel->cut && channel->first != NULL &&
               channel->first->at <= net->now)
            deliver(net, from, node);
    }
    if (runs(net, node) && clock_of(net, node) >= ftc_lease_due(net->node[node].lease)) {
        ftc_lease_tick(net->node[node].lease, clock_of(net, node));
        take_outputs(net, node);
    }
}

void lease_net_run(struct lease_net *net, uint64_t ns)
{
    for (uint64_t end = net->now + ns; net->now < end; net->now += STEP)
        for (int i = 0; i < net->nodes; i++)
            if (runs(net, i))
                step_node(net, i);
}

/* --- what happens --- */

void lease_net_kill(struct lease_net *net, int node)
{
    net->node[node].dead = true;
}

void lease_net_left(struct lease_net *net, int node)
{
    for (int i = 0; i < net->nodes; i++) {
        if (i == node || !runs(net, i))
            continue;
        ftc_lease_left(net->node[i].lease, node, clock_of(net, i));
        take_outputs(net, i);
    }
}

void lease_net_cut(struct lease_net *net, int from, int to, bool cut)
{
    net->channel[from][to].cut = cut;
}

void lease_net_reach(struct lease_net *net, int node, int other, bool reached)
{
    ftc_lease_reach(net->node[node].lease, other, reached);
}

void lease_net_split(struct lease_net *net, unsigned side)
{
    for (int i = 0; i < net->nodes; i++)
        for (int j = 0; j < net->nodes; j++)
            lease_net_cut(net, i, j, (side >> i & 1) != (side >> j & 1));
}

void lease_net_pause(struct lease_net *net, int node, uint64_t ns)
{
    net->node[node].paused_until = net->now + ns;
}

bool lease_net_fenced(const struct lease_net *net, int node)
{
    return net->node[node].fenced;
}

bool lease_net_stopped(const struct lease_net *net, int node)
{
    const struct node *n = &net->node[node];
    return n->dead || n->fenced || (ftc_lease_until(n->lease) != 0 && !has_lease(net, node));
}

uint64_t lease_net_declared(const struct lease_net *net, int node)
{
    return net->declared[node];
}

bool lease_net_declared_by(const struct lease_net *net, int by, int node)
{
    return net->node[by].declared[node];
}

int lease_net_refused(const struct lease_net *net)
{
    int count = 0;

    for (int i = 0; i < net->nodes; i++)
        for (int j = 0; j < net->nodes; j++)
            count += net->node[i].refused[j];
    return count;
}
