/* Messages on their way, as ordered lists. Their memory comes from slabs that the cluster keeps. */
#include "sim/model/cluster_channel.h"

#include <assert.h>
#include <stdlib.h>

#define SLAB_LENGTH 128

struct ftc_cluster_slab {
    struct ftc_cluster_slab *next;
    struct ftc_cluster_message message[SLAB_LENGTH];
};

static void add_slab(struct ftc_cluster *c)
{
    struct ftc_cluster_slab *slab = malloc(sizeof(*slab));

    if (slab == NULL)
        ftc_cluster_no_memory(c->n);
    slab->next = c->slab;
    c->slab = slab;
    for (int m = 0; m < SLAB_LENGTH; m++)
        slab->message[m].next = m + 1 < SLAB_LENGTH ? &slab->message[m + 1] : NULL;
    c->spare = slab->message;
}

void ftc_cluster_free_channels(struct ftc_cluster *c)
{
    while (c->slab != NULL) {
        struct ftc_cluster_slab *slab = c->slab;
        c->slab = slab->next;
        free(slab);
    }
}

struct ftc_cluster_message *ftc_cluster_enqueue(struct ftc_cluster *c,
                                                struct ftc_cluster_channel *channel)
{
    if (c->spare == NULL)
        add_slab(c);
    struct ftc_cluster_message *message = c->spare;
    c->spare = message->next;
    message->next = NULL;
    *(channel->count++ > 0 ? &channel->last->next : &channel->first) = message;
    channel->last = message;
    return message;
}

struct ftc_cluster_message ftc_cluster_dequeue(struct ftc_cluster *c,
                                               struct ftc_cluster_channel *channel)
{
    struct ftc_cluster_message *first = channel->first, message = *first;

    assert(channel->count > 0);
    channel->first = first->next;
    channel->count--;
    channel->arrived++;
    first->next = c->spare;
    c->spare = first;
    return message;
}

void ftc_cluster_cut_channel(struct ftc_cluster *c, struct ftc_cluster_channel *channel, int keep)
{
    struct ftc_cluster_message **link = &channel->first;

    if (channel->count <= keep)
        return;
    for (int m = 0; m < keep; m++) {
        channel->last = *link;
        link = &channel->last->next;
    }
    for (struct ftc_cluster_message *m = *link, *next; channel->count > keep;
         m = next, channel->count--) {
        next = m->next;
        ftc_buffer_unref(m->bytes);
        m->next = c->spare;
        c->spare = m;
    }
    *link = NULL;
}
