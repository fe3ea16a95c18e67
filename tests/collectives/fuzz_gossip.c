/*
 * Fuzzes a gossip aggregation or a deterministic allreduce, in the middle of it. Its neighbours or
 * peers send anything: raw bytes, and its own messages thrown back, damaged. It must refuse what is
 * wrong, and may not crash, leak or send without end. The input is a script: each byte picks what
 * happens next.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/baseline/doubling.h"
#include "collectives/gossip/gossip.h"
#include "include/ftcoll.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KEPT        8
#define MESSAGE     512 /* bytes at most */
#define MOST_VALUES 4
#define SCRIPT      4096

struct message {
    size_t size;
    unsigned char bytes[MESSAGE];
};

struct fuzz {
    const uint8_t *data;
    size_t size, used;
    int ranks, self;
    struct ftc_gossip *gossip; /* one of the two; the other is NULL */
    struct ftc_doubling *doubling;
    struct message kept[KEPT]; /* messages that it sent */
    unsigned sent;
};

static void require(bool truth)
{
    if (!truth)
        abort();
}

static unsigned take(struct fuzz *z, unsigned limit)
{
    unsigned byte = z->used < z->size ? z->data[z->used++] : 0;
    return byte % limit;
}

/* --- the rank under test --- */

static void keep(struct fuzz *z, int to, const void *bytes, size_t size)
{
    struct message *kept = &z->kept[z->sent++ % KEPT];

    require(to >= 0 && to < z->ranks && to != z->self && size <= MESSAGE);
    memcpy(kept->bytes, bytes, size);
    kept->size = size;
}

/* Accepts at most two messages to each neighbour for one input. */
static void take_outputs(struct fuzz *z)
{
    struct ftc_gossip_output gossip;
    struct ftc_doubling_output doubling;
    unsigned before = z->sent;

    while (z->gossip != NULL && ftc_gossip_next_output(z->gossip, &gossip)) {
        if (gossip.kind == FTC_GOSSIP_SEND)
            keep(z, gossip.to, gossip.bytes, gossip.size);
        require(z->sent - before <= 2 * (unsigned)z->ranks);
    }
    while (z->doubling != NULL && ftc_doubling_next_output(z->doubling, &doubling))
        keep(z, doubling.to, doubling.bytes, doubling.size);
    require(z->sent - before <= 64);
}

static void look(const struct fuzz *z)
{
    struct ftc_gossip_counters gossip;
    struct ftc_doubling_counters doubling;

    if (z->gossip != NULL) {
        require(ftc_gossip_estimate(z->gossip) != NULL);
        ftc_gossip_counters(z->gossip, &gossip);
        ftc_gossip_settled(z->gossip);
        require(gossip.sent >= z->sent);
    } else {
        bool done = ftc_doubling_state(z->doubling) == FTC_DOUBLING_DONE;
        require(done == (ftc_doubling_result(z->doubling) != NULL));
        ftc_doubling_counters(z->doubling, &doubling);
        require(doubling.messages == z->sent);
    }
}

/* --- the other ranks --- */

/* The message gets memory of exactly its size, so that a sanitizer sees reads past its end. */
static void feed(struct fuzz *z, const unsigned char *bytes, size_t size)
{
    int from = (int)take(z, (unsigned)z->ranks + 1) - 1;
    unsigned char *copy = malloc(size + 1);

    require(copy != NULL);
    memcpy(copy + 1, bytes, size); /* not aligned */
    int rc = z->gossip != NULL ? ftc_gossip_receive(z->gossip, from, copy + 1, size)
                               : ftc_doubling_receive(z->doubling, from, copy + 1, size);
    require(rc == FTC_SUCCESS || rc == FTC_ERR_PROTO);
    require(rc == FTC_ERR_PROTO || (from >= 0 && from != z->self) ||
            (z->doubling != NULL && ftc_doubling_state(z->doubling) == FTC_DOUBLING_RANK_FAILED));
    free(copy);
}

static void send_raw(struct fuzz *z)
{
    unsigned char bytes[200];
    size_t size = take(z, sizeof(bytes));

    for (size_t b = 0; b < size; b++)
        bytes[b] = (unsigned char)take(z, 256);
    feed(z, bytes, size);
}

/* Sends one of its own messages back, as if another rank had sent it. Up to three bytes are
 * changed, and perhaps it is cut. */
static void send_back(struct fuzz *z)
{
    struct message message = z->kept[take(z, KEPT)];

    if (take(z, 8) == 0)
        message.size = take(z, (unsigned)message.size + 1);
    for (unsigned change = take(z, 4); change > 0 && message.size > 0; change--)
        message.bytes[take(z, (unsigned)message.size)] = (unsigned char)take(z, 256);
    feed(z, message.bytes, message.size);
}

/* Sends a step of a deterministic allreduce, of which every value is 1, as a peer would. */
static void send_step(struct fuzz *z)
{
    struct message message = z->kept[0];
    double one = 1;
    size_t values = take(z, MOST_VALUES + 1);

    if (z->doubling == NULL || message.size < FTC_DOUBLING_HEAD)
        return;
    message.bytes[4] = (unsigned char)take(z, 20);
    for (size_t i = 0; i < values; i++)
        memcpy(message.bytes + FTC_DOUBLING_HEAD + i * sizeof(one), &one, sizeof(one));
    feed(z, message.bytes, FTC_DOUBLING_HEAD + values * sizeof(one));
}

/* --- what happens --- */

static void flip(struct fuzz *z)
{
    struct ftc_flip flip = {.variable = (enum ftc_flip_variable)take(z, FTC_FLIP_VARIABLES),
                            .element = (int)take(z, MOST_VALUES + 4) - 1,
                            .bit = (int)take(z, 64),
                            .step = take(z, 8)};

    if (z->gossip != NULL)
        ftc_gossip_flip(z->gossip, &flip);
    else if (z->doubling != NULL)
        ftc_doubling_flip(z->doubling, &flip);
}

static void notice(struct fuzz *z)
{
    int rank = (int)take(z, (unsigned)z->ranks + 2) - 1;

    if (z->gossip != NULL)
        ftc_gossip_notice(z->gossip, rank);
    else
        ftc_doubling_notice(z->doubling, rank);
}

static void next_event(struct fuzz *z)
{
    switch (take(z, 8)) {
    case 0:
        if (take(z, 4) == 0)
            notice(z);
        break;
    case 1:
        if (z->gossip != NULL)
            ftc_gossip_timer(z->gossip);
        break;
    case 2:
        flip(z);
        break;
    case 3:
        send_raw(z);
        break;
    case 4:
    case 5:
        send_step(z);
        break;
    default:
        send_back(z);
        break;
    }
    take_outputs(z);
    look(z);
}

/* Returns false if these settings do not go together. */
static bool create_gossip(struct fuzz *z, const double *values, size_t count)
{
    struct ftc_gossip_settings settings = {
        .self = z->self,
        .algorithm = (enum ftc_gossip_algorithm)take(z, FTC_GOSSIP_ALGORITHMS),
        .count = count,
        .accuracy = 1e-9,
        .turns = take(z, 2) == 1,
        .rounds = take(z, 4) == 0,
        .seed = take(z, 256),
        .patience_ns = take(z, 2)};
    enum ftc_neighbourhood_kind kind = (enum ftc_neighbourhood_kind)take(z, FTC_NEIGHBOURHOODS);

    if (ftc_neighbourhood_init(&settings.neighbourhood, kind, z->ranks) != FTC_SUCCESS)
        return false;
    return ftc_gossip_create(&z->gossip, &settings, values) == FTC_SUCCESS;
}

static bool create(struct fuzz *z)
{
    double values[MOST_VALUES] = {1, -2, 0.1, 1e300};
    size_t count = 1 + take(z, MOST_VALUES);

    z->ranks = 1 + (int)take(z, 12);
    z->self = (int)take(z, (unsigned)z->ranks);
    if (take(z, 2) == 0)
        return create_gossip(z, values, count);
    struct ftc_doubling_settings settings = {
        .self = z->self,
        .ranks = z->ranks,
        .algorithm = (enum ftc_doubling_algorithm)take(z, FTC_DOUBLING_ALGORITHMS),
        .count = count};
    require(ftc_doubling_create(&z->doubling, &settings, values) == FTC_SUCCESS);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz z = {.data = data, .size = size < SCRIPT ? size : SCRIPT};

    if (create(&z)) {
        if (z.gossip != NULL)
            ftc_gossip_start(z.gossip);
        else
            ftc_doubling_start(z.doubling);
        take_outputs(&z);
        while (z.used < z.size)
            next_event(&z);
    }
    ftc_gossip_destroy(z.gossip);
    ftc_doubling_destroy(z.doubling);
    return 0;
}
