#include "tests/transport/played.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "transport/tcp/tcp.h"

struct played *plays[FTC_CARRIERS];
bool plays_device;
struct ftc_verbs_setup plays_given_to_verbs;

static int play(struct ftc_transport **out, const struct ftc_transport_setup *setup,
                enum ftc_carrier carrier, const struct ftc_transport_ops *ops)
{
    struct played *played = calloc(1, sizeof(*played));

    played->base.ops = ops;
    played->damaged = -1;
    played->settled = true;
    for (int rank = 0; rank < PLAYED_RANKS; rank++)
        played->reach[rank] = FTC_REACH_YES;
    played->fd = carrier == FTC_CARRIER_SHM ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    played->find = setup->tcp->endpoint;
    played->context = setup->tcp->context;
    plays[carrier] = played;
    *out = &played->base;
    return 0;
}

static int played_send(struct ftc_transport *transport, int to, struct ftc_buffer *head,
                       const struct ftc_value *value, bool urgent)
{
    struct played *played = (struct played *)transport;

    (void)value;
    (void)urgent;
    played->sent[played->sent_count++] = (struct played_letter){to, head->data[0]};
    return 0;
}

static int played_flush(struct ftc_transport *transport, bool *idle)
{
    (void)transport;
    *idle = true;
    return 0;
}

static int played_receive(struct ftc_transport *transport, int *from, struct ftc_buffer **message)
{
    struct played *played = (struct played *)transport;

    if (played->damaged >= 0) {
        *from = played->damaged;
        played->damaged = -1;
        return FTC_ERR_PROTO;
    }
    if (played->taken == played->coming_count)
        return 0;
    struct played_letter letter = played->coming[played->taken++];
    *from = letter.rank;
    *message = ftc_buffer_new(1);
    (*message)->data[0] = letter.byte;
    return 1;
}

static bool played_ready(struct ftc_transport *transport)
{
    struct played *played = (struct played *)transport;

    return played->taken < played->coming_count;
}

static int played_descriptor(struct ftc_transport *transport)
{
    return ((struct played *)transport)->fd;
}

static void played_close_peer(struct ftc_transport *transport, int peer)
{
    ((struct played *)transport)->closed[peer] = true;
}

static enum ftc_reach played_reach(struct ftc_transport *transport, int peer)
{
    return ((struct played *)transport)->reach[peer];
}

static bool played_settled(const struct ftc_transport *transport)
{
    return ((const struct played *)transport)->settled;
}

static void played_close(struct ftc_transport *transport)
{
    struct played *played = (struct played *)transport;

    for (int carrier = 0; carrier < FTC_CARRIERS; carrier++)
        if (plays[carrier] == played)
            plays[carrier] = NULL;
    if (played->fd >= 0)
        close(played->fd);
    free(played);
}

static const char *verbs_endpoint(const struct ftc_transport *transport)
{
    (void)transport;
    return "verbs:v1;here";
}

static const char *tcp_endpoint(const struct ftc_transport *transport)
{
    (void)transport;
    return "tcp:v1;here";
}

#define PLAYED                                                                                     \
    .send = played_send, .flush = played_flush, .receive = played_receive, .ready = played_ready,  \
    .descriptor = played_descriptor, .close_peer = played_close_peer, .settled = played_settled,   \
    .close = played_close

static int play_shm(struct ftc_transport **out, const struct ftc_transport_setup *setup);
static int play_verbs(struct ftc_transport **out, const struct ftc_transport_setup *setup);
static int play_tcp(struct ftc_transport **out, const struct ftc_transport_setup *setup);

const struct ftc_transport_ops played_shm = {.name = "shm", .open = play_shm, PLAYED};
const struct ftc_transport_ops played_verbs = {
    .name = "verbs", .open = play_verbs, .endpoint = verbs_endpoint, .reach = played_reach, PLAYED};
const struct ftc_transport_ops played_tcp = {
    .name = "tcp", .open = play_tcp, .endpoint = tcp_endpoint, PLAYED};

static int play_shm(struct ftc_transport **out, const struct ftc_transport_setup *setup)
{
    return play(out, setup, FTC_CARRIER_SHM, &played_shm);
}

static int play_verbs(struct ftc_transport **out, const struct ftc_transport_setup *setup)
{
    if (!plays_device)
        return ftc_error_set(FTC_ERR_SYSTEM, "there is no device");
    plays_given_to_verbs = *setup->verbs;
    return play(out, setup, FTC_CARRIER_VERBS, &played_verbs);
}

static int play_tcp(struct ftc_transport **out, const struct ftc_transport_setup *setup)
{
    return play(out, setup, FTC_CARRIER_TCP, &played_tcp);
}
