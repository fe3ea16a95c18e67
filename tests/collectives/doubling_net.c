/* A few ranks run a deterministic allreduce over channels of their own. An assertion costs a system
 * call, so there is none for each message. */
#include "tests/collectives/doubling_net.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tests/suite.h"

struct packet {
    struct packet *next;
    size_t size;
    unsigned char misaligns, bytes[];
};

struct doubling_channel {
    struct packet *head, *tail;
};

static void put(struct doubling_net *net, int from, const struct ftc_doubling_output *output)
{
    int at = from * net->settings.ranks + output->to;
    struct doubling_channel *channel = &net->channel[at];
    struct packet *packet = malloc(sizeof(*packet) + output->size);
    if (packet == NULL)
        ck_abort_msg("no memory");
    packet->next = NULL;
    packet->size = output->size;
    memcpy(packet->bytes, output->bytes, output->size);
    if (channel->head == NULL)
        net->busy[net->busies++] = at;
    *(channel->head == NULL ? &channel->head : &channel->tail->next) = packet;
    channel->tail = packet;
}

static void take_outputs(struct doubling_net *net, int rank)
{
    struct ftc_doubling_output output;
    while (ftc_doubling_next_output(net->rank[rank], &output)) {
        if (output.to < 0 || output.to >= net->settings.ranks || output.to == rank)
            ck_abort_msg("rank %d sends to %d", rank, output.to);
        put(net, rank, &output);
    }
}

static struct packet *pop(struct doubling_net *net, int which)
{
    struct doubling_channel *channel = &net->channel[net->busy[which]];
    struct packet *packet = channel->head;
    channel->head = packet->next;
    if (packet->next == NULL)
        net->busy[which] = net->busy[--net->busies];
    return packet;
}

bool doubling_net_step(struct doubling_net *net)
{
    if (net->busies == 0)
        return false;
    int which = (int)test_random_between(&net->random, 0, net->busies - 1), at = net->busy[which];
    int from = at / net->settings.ranks, to = at % net->settings.ranks;
    struct packet *packet = pop(net, which);
    if (!net->dead[to]) {
        if (ftc_doubling_receive(net->rank[to], from, packet->bytes, packet->size) != FTC_SUCCESS)
            ck_abort_msg("%s", ftc_last_error());
        take_outputs(net, to);
    }
    free(packet);
    return true;
}

struct doubling_net *doubling_net_new(enum ftc_doubling_algorithm algorithm, int ranks,
                                      size_t count, double (*value)(int rank, size_t i))
{
    struct doubling_net *net = calloc(1, sizeof(*net));
    double values[DOUBLING_NET_VALUES];

    net->random = test_random_start();
    net->channel = calloc((size_t)ranks * (size_t)ranks, sizeof(*net->channel));
    net->busy = calloc((size_t)ranks * (size_t)ranks, sizeof(*net->busy));
    net->settings =
        (struct ftc_doubling_settings){.ranks = ranks, .algorithm = algorithm, .count = count};
    for (int rank = 0; rank < ranks; rank++) {
        for (size_t i = 0; i < count; i++)
            values[i] = value(rank, i);
        net->settings.self = rank;
        if (ftc_doubling_create(&net->rank[rank], &net->settings, values) != FTC_SUCCESS)
            ck_abort_msg("%s", ftc_last_error());
    }
    return net;
}

void doubling_net_start(struct doubling_net *net, int rank)
{
    ftc_doubling_start(net->rank[rank]);
    take_outputs(net, rank);
}

void doubling_net_run(struct doubling_net *net)
{
    int first = (int)test_random_between(&net->random, 0, net->settings.ranks - 1);
    for (int i = 0; i < net->settings.ranks; i++) {
        doubling_net_start(net, (first + i) % net->settings.ranks);
        for (int64_t steps = test_random_between(&net->random, 0, 3); steps > 0; steps--)
            doubling_net_step(net);
    }
    while (doubling_net_step(net))
        ;
}

void doubling_net_free(struct doubling_net *net)
{
    while (net->busies > 0)
        free(pop(net, 0));
    for (int rank = 0; rank < net->settings.ranks; rank++)
        ftc_doubling_destroy(net->rank[rank]);
    free(net->channel);
    free(net->busy);
    free(net);
}

void doubling_net_kill(struct doubling_net *net, int rank)
{
    net->dead[rank] = true;
    for (int other = 0; other < net->settings.ranks; other++)
        if (!net->dead[other])
            ftc_doubling_notice(net->rank[other], rank);
}
