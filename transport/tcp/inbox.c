/* What the caller receives: the messages in the inboxes of the peers, in turn. Each turn reads what
 * the links hold, since acknowledgements are among it. */
#include <stdlib.h>

#include "base/error.h"
#include "transport/tcp/internal.h"

#define TURN_EVERY   8  /* a turn after this many messages, so that quiet peers are heard, too */
#define LOOKS_AT_ONE 32 /* looks at the expected peer alone, before a turn looks at all */

static void read_and_acknowledge(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, size_t most)
{
    (void)ftc_tcp_read_link(tcp, peer, most);
    if (peer->link != NULL && !peer->link->blocked && peer->acknowledge_at != 0)
        ftc_tcp_link_write(tcp, peer);
    if (peer->link != NULL)
        tcp->wire->wait(tcp, peer);
}

void ftc_tcp_read(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    read_and_acknowledge(tcp, peer, FTC_TCP_READ_SIZE);
}

static struct ftc_buffer *take_first(struct ftc_tcp_peer *peer)
{
    struct ftc_tcp_arrival *first = peer->inbox;
    struct ftc_buffer *message = first->message;
    peer->inbox = first->next;
    peer->inbox_size -= message->size + sizeof(*first);
    free(first);
    return message;
}

/* As ftc_transport_ops.receive, for one peer that was just taken from the list. */
static int visit(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, struct ftc_buffer **message)
{
    if (peer->inbox == NULL && peer->closed)
        ftc_tcp_read(tcp, peer);
    if (peer->inbox != NULL) {
        bool full = peer->inbox_size >= FTC_TCP_INBOX_MAX;
        *message = take_first(peer);
        /* The buffer may hold whole messages, and the descriptor does not tell of these. */
        if (full && peer->inbox_size < FTC_TCP_INBOX_MAX)
            ftc_tcp_read(tcp, peer);
        if (peer->inbox != NULL || peer->closed || peer->damaged)
            ftc_tcp_activate(tcp, peer);
        return 1;
    }
    if (!peer->damaged)
        return 0;
    peer->damaged = false;
    peer->reported = true;
    return FTC_ERR_PROTO;
}

void ftc_tcp_expect(struct ftc_transport *transport, int from)
{
    ((struct ftc_tcp *)transport)->expected = from;
}

/* Read one message of the expected rank only: that is one system call less than by epoll. If
 * messages have equal sizes, what came behind the expected one stays in the kernel. The kernel
 * acknowledges that with the next data that go there. If it were read before, the kernel would send
 * a packet for it alone, which costs as much as a message. */
static bool look_at_expected(struct ftc_tcp *tcp)
{
    struct ftc_tcp_peer *peer = tcp->expected >= 0 ? ftc_tcp_known(tcp, tcp->expected) : NULL;
    bool none = tcp->expected == tcp->self; /* no message is */
    if ((!none && (peer == NULL || peer->link == NULL || peer->closed)) || !tcp->idle ||
        tcp->wire->poll != NULL || tcp->looked >= LOOKS_AT_ONE) {
        tcp->looked = 0;
        return false;
    }
    tcp->looked++;
    if (!none)
        read_and_acknowledge(tcp, peer, peer->link->frame);
    return true;
}

int ftc_tcp_receive(struct ftc_transport *transport, int *from, struct ftc_buffer **message)
{
    struct ftc_tcp *tcp = (struct ftc_tcp *)transport;
    /* A caller that looks twice waits. */
    if (tcp->holds && tcp->passes++ > 0)
        ftc_tcp_release(tcp);
    if (tcp->active == NULL || tcp->until_turn == 0) {
        if (!look_at_expected(tcp))
            ftc_tcp_turn(tcp);
        tcp->until_turn = TURN_EVERY;
        tcp->turned = true;
    }
    tcp->until_turn--;
    for (struct ftc_tcp_peer *peer; (peer = ftc_tcp_take_active(tcp)) != NULL;) {
        int rc = visit(tcp, peer, message);
        if (rc != 0) {
            *from = peer->rank;
            return rc;
        }
    }
    return 0;
}
