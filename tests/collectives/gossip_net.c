/* A few ranks that gossip over channels of their own. */
#include "tests/collectives/gossip_net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tests/random.h"
#include "tests/suite.h"

struct packet {
    struct packet *next;
    size_t size;
    unsigned char bytes[];
};

struct channel {
    struct packet *head, *tail;
    int length;
};

struct gossip_net {
    struct gossip_net_frame frame;
    struct test_random random;
    struct ftc_gossip **rank;
    bool *dead;
    uint64_t *patience;
    int held;                /* the channel that is held; -1: none */
    int steps, *heard;       /* steps so far; the step of each rank's last message or timer */
    struct channel *channel; /* from * ranks + to */
};

static struct channel *channel_of(const struct gossip_net *net, int from, int to)
{
    return &net->channel[from * net->frame.ranks + to];
}

static void put(struct gossip_net *net, int from, const struct ftc_gossip_output *output)
{
    struct channel *channel = channel_of(net, from, output->to);
    if (net->dead[output->to] || test_random_chance(&net->random, net->frame.loss_percent))
        return;
    struct packet *packet = malloc(sizeof(*packet) + output->size);
    if (packet == NULL)
        ck_abort_msg("no memory");
    packet->next = NULL;
    packet->size = output->size;
    memcpy(packet->bytes, output->bytes, output->size);
    *(channel->head == NULL ? &channel->head : &channel->tail->next) = packet;
    channel->tail = packet;
    channel->length++;
}

void gossip_net_take(struct gossip_net *net, int rank)
{
    struct ftc_gossip_output output;
    while (ftc_gossip_next_output(net->rank[rank], &output))
        if (output.kind == FTC_GOSSIP_SEND)
            put(net, rank, &output);
        else
            net->patience[rank] = output.delay_ns;
}

double gossip_net_input(const struct gossip_net_frame *frame, int rank, size_t element)
{
    return frame->input != NULL ? frame->input(rank, element)
                                : (double)(rank + 1) * (double)(element + 1);
}

double gossip_net_weight(const struct gossip_net_frame *frame, int rank)
{
    return frame->weight != NULL ? frame->weight(rank) : 1;
}

struct gossip_net *gossip_net_new(const struct gossip_net_frame *frame)
{
    struct gossip_net *net = calloc(1, sizeof(*net));
    size_t ranks = (size_t)frame->ranks;
    struct ftc_gossip_settings settings = {
        .algorithm = frame->algorithm,
        .count = frame->count,
        .accuracy = frame->accuracy,
        .turns = frame->turns,
        .seed = frame->seed,
        .patience_ns = frame->patience_ns > 0 ? frame->patience_ns : 1,
    };

    net->frame = *frame;
    net->random.state = frame->seed;
    net->held = -1;
    net->rank = calloc(ranks, sizeof(*net->rank));
    net->dead = calloc(ranks, sizeof(*net->dead));
    net->patience = calloc(ranks, sizeof(*net->patience));
    net->heard = calloc(ranks, sizeof(*net->heard));
    net->channel = calloc(ranks * ranks, sizeof(*net->channel));
    ck_assert_int_eq(
        ftc_neighbourhood_init(&settings.neighbourhood, frame->neighbourhood, frame->ranks), 0);
    for (int rank = 0; rank < frame->ranks; rank++) {
        double values[64], weight = gossip_net_weight(frame, rank);
        for (size_t i = 0; i < frame->count; i++)
            values[i] = weight > 0 ? weight * gossip_net_input(frame, rank, i) : 0;
        settings.self = rank;
        settings.weight = frame->weight != NULL ? &weight : NULL;
        ck_assert_msg(ftc_gossip_create(&net->rank[rank], &settings, values) == 0, "%s",
                      ftc_last_error());
        ftc_gossip_start(net->rank[rank]);
    }
    for (int rank = 0; rank < frame->ranks; rank++)
        gossip_net_take(net, rank);
    return net;
}

static void channel_empty(struct channel *channel)
{
    while (channel->head != NULL) {
        struct packet *packet = channel->head;
        channel->head = packet->next;
        free(packet);
    }
    channel->length = 0;
}

void gossip_net_free(struct gossip_net *net)
{
    int ranks = net->frame.ranks;
    for (int i = 0; i < ranks * ranks; i++)
        channel_empty(&net->channel[i]);
    for (int rank = 0; rank < ranks; rank++)
        ftc_gossip_destroy(net->rank[rank]);
    free(net->rank);
    free(net->dead);
    free(net->patience);
    free(net->heard);
    free(net->channel);
    free(net);
}

struct ftc_gossip *gossip_net_rank(struct gossip_net *net, int rank)
{
    return net->rank[rank];
}

uint64_t gossip_net_patience(const struct gossip_net *net, int rank)
{
    return net->patience[rank];
}

int gossip_net_waiting(const struct gossip_net *net, int from, int to)
{
    return channel_of(net, from, to)->length;
}

void gossip_net_deliver(struct gossip_net *net, int from, int to)
{
    struct channel *channel = channel_of(net, from, to);
    struct packet *packet = channel->head;

    if (packet == NULL)
        ck_abort_msg("nothing to deliver from %d to %d", from, to);
    channel->head = packet->next;
    channel->length--;
    if (ftc_gossip_receive(net->rank[to], from, packet->bytes, packet->size) != FTC_SUCCESS)
        ck_abort_msg("%s", ftc_last_error());
    free(packet);
    net->heard[to] = net->steps;
    gossip_net_take(net, to);
}

void gossip_net_fire(struct gossip_net *net, int rank)
{
    net->heard[rank] = net->steps;
    ftc_gossip_timer(net->rank[rank]);
    gossip_net_take(net, rank);
}

/* Fires the timer of a rank that has had no message for `silence` steps per rank. Returns false if
 * there is no such rank. */
static bool fire_timer(struct gossip_net *net, int silence)
{
    int first = (int)test_random_between(&net->random, 0, net->frame.ranks - 1);
    for (int i = 0; i < net->frame.ranks; i++) {
        int rank = (first + i) % net->frame.ranks;
        if (net->dead[rank] || net->steps - net->heard[rank] < silence * net->frame.ranks)
            continue;
        gossip_net_fire(net, rank);
        return true;
    }
    return false;
}

void gossip_net_hold(struct gossip_net *net, int from, int to)
{
    net->held = from < 0 ? -1 : from * net->frame.ranks + to;
}

static int waiting_for(const struct gossip_net *net, int rank)
{
    int waiting = 0;

    for (int from = 0; from < net->frame.ranks; from++)
        waiting += gossip_net_waiting(net, from, rank);
    return waiting;
}

/* The oldest message of this channel, with the hints that the runtime gives. */
static void deliver_with_hints(struct gossip_net *net, int from, int to)
{
    ftc_gossip_more(net->rank[to], !net->frame.turns && waiting_for(net, to) > 1);
    gossip_net_deliver(net, from, to);
    if (waiting_for(net, to) > 0)
        return;
    ftc_gossip_answer(net->rank[to]);
    gossip_net_take(net, to);
}

bool gossip_net_step(struct gossip_net *net)
{
    int channels = net->frame.ranks * net->frame.ranks;
    int first = (int)test_random_between(&net->random, 0, channels - 1);
    net->steps++;
    if (test_random_chance(&net->random, 10) && fire_timer(net, 30))
        return true;
    for (int i = 0; i < channels; i++) {
        int at = (first + i) % channels;
        if (net->channel[at].length == 0 || at == net->held)
            continue;
        deliver_with_hints(net, at / net->frame.ranks, at % net->frame.ranks);
        return true;
    }
    return fire_timer(net, 0);
}

double gossip_net_error(const struct gossip_net *net)
{
    double sum = 0, live = 0, worst = 0;
    for (int rank = 0; rank < net->frame.ranks; rank++) {
        double weight = net->dead[rank] ? 0 : gossip_net_weight(&net->frame, rank);
        sum += weight * (rank + 1);
        live += weight;
    }
    for (int rank = 0; rank < net->frame.ranks; rank++) {
        for (size_t i = 0; !net->dead[rank] && i < net->frame.count; i++) {
            double right = sum / live * (double)(i + 1);
            double error = fabs(ftc_gossip_estimate(net->rank[rank])[i] - right) / right;
            worst = error <= worst || isnan(worst) ? worst : error; /* NaN: no estimate */
        }
    }
    return worst;
}

int gossip_net_run(struct gossip_net *net, int most)
{
    for (int steps = 0; steps < most; steps++) {
        if (gossip_net_error(net) <= net->frame.accuracy)
            return steps;
        if (!gossip_net_step(net))
            return -1;
    }
    return -1;
}

void gossip_net_kill(struct gossip_net *net, int rank)
{
    net->dead[rank] = true;
    for (int other = 0; other < net->frame.ranks; other++) {
        channel_empty(channel_of(net, rank, other));
        channel_empty(channel_of(net, other, rank));
        if (!net->dead[other])
            ftc_gossip_notice(net->rank[other], rank);
    }
}

bool gossip_net_settled(const struct gossip_net *net)
{
    for (int rank = 0; rank < net->frame.ranks; rank++)
        if (!net->dead[rank] && !ftc_gossip_settled(net->rank[rank]))
            return false;
    return true;
}
