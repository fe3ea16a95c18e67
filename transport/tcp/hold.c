/*
 * Holding small messages back, so that one system call sends several (docs/design/tcp.md,
 * "Bursts"). A message is held if its sender is far ahead of the peer and sends one message right
 * after another.
 */
#include "transport/tcp/internal.h"

#define AHEAD    8u    /* messages under way to the peer, from which on the next one may be held */
#define MOST     8u    /* messages that are held at most */
#define SMALL    512u  /* bytes of a message that may be held */
#define BURST_NS 20000 /* between two messages of a burst, at most */
#define HELD_NS  50000 /* how long one is held at most, where a timer is heard */

static bool far_ahead(const struct ftc_tcp_queue *queue)
{
    return queue->next_sequence - queue->first->sequence > AHEAD;
}

bool ftc_tcp_hold(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    const struct ftc_tcp_message *last = peer->out.last;
    struct ftc_tcp_connection *link = peer->link;
    uint64_t before = link->burst_at;

    if (tcp->gathers) {
        link->held++;
        return true;
    }
    if (tcp->wire->poll != NULL || !far_ahead(&peer->out) ||
        last->head->size + last->value.size > SMALL)
        return false;
    link->burst_at = ftc_clock_now();
    if (link->burst_at - before > BURST_NS || link->held + 1 >= MOST)
        return false;
    if (link->held++ == 0) {
        link->held_until = link->burst_at + HELD_NS;
        ftc_tcp_time(tcp, peer);
        ftc_tcp_set_timer(tcp, link->held_until);
    }
    tcp->holds = true;
    tcp->passes = 0;
    return true;
}

void ftc_tcp_release(struct ftc_tcp *tcp)
{
    tcp->holds = false;
    for (struct ftc_tcp_peer *peer = tcp->waiting; peer != NULL; peer = peer->next_waiting)
        if (peer->link != NULL && peer->link->held > 0 && !peer->link->blocked)
            ftc_tcp_link_write(tcp, peer);
}

void ftc_tcp_gather(struct ftc_transport *transport, bool on)
{
    struct ftc_tcp *tcp = (struct ftc_tcp *)transport;

    tcp->gathers = on;
    if (on)
        return;
    ftc_tcp_release(tcp);
    (void)ftc_tcp_all_sent(tcp);
}
