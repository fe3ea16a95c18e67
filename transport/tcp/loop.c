/* A turn of the transport: what happened at descriptors, and timers that are due. */
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "transport/tcp/internal.h"

#define EVENTS 64
/* Pause between looks at sockets and timers, where a look for messages takes no system call. */
#define LOOK_NS (FTC_NS_PER_MS / 5)

/* --- timers --- */

/* Rule S9 of docs/design/tcp.md: TCP does not notice bytes that were acknowledged and dropped. */
static void watch_sealed(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, uint64_t now)
{
    if (ftc_tcp_sealed_endless(tcp, peer, now)) {
        ftc_tcp_link_lost(tcp, peer, "a record has no end");
    } else if (ftc_tcp_sealed_probe(tcp, peer, now)) {
        peer->acknowledge_at = 1;
        ftc_tcp_link_write(tcp, peer);
    }
}

static void run_timers_of(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, uint64_t now)
{
    if (peer->acknowledge_at != 0 && now >= peer->acknowledge_at && peer->link != NULL &&
        !peer->link->blocked)
        ftc_tcp_link_write(tcp, peer);
    if (peer->link != NULL && peer->link->held > 0 && now >= peer->link->held_until &&
        !peer->link->blocked)
        ftc_tcp_link_write(tcp, peer);
    if (peer->link != NULL && peer->link->sealed != NULL)
        watch_sealed(tcp, peer, now);
    if (peer->dial != NULL && now >= peer->dial->deadline)
        ftc_tcp_dial_late(tcp, peer);
    if (peer->reach_by != 0 && now >= peer->reach_by)
        ftc_tcp_reach_late(tcp, peer);
    if (peer->retry_at != 0 && now >= peer->retry_at) {
        peer->retry_at = 0;
        if (peer->link == NULL && peer->dial == NULL && ftc_tcp_wanted(peer))
            ftc_tcp_dial(tcp, peer);
    }
}

static uint64_t earlier(uint64_t one, uint64_t other)
{
    if (one == 0 || other == 0)
        return one + other;
    return one < other ? one : other;
}

/* When the peer's next timer is due; 0: it has none. */
static uint64_t next_of(const struct ftc_tcp_peer *peer)
{
    uint64_t next = earlier(peer->retry_at, peer->dial != NULL ? peer->dial->deadline : 0);
    next = earlier(next, peer->reach_by);
    /* No timer is needed while the wire is full: it tells when it has room. */
    if (peer->link != NULL && !peer->link->blocked)
        next = earlier(
            next, earlier(peer->acknowledge_at, peer->link->held > 0 ? peer->link->held_until : 0));
    if (peer->link != NULL && peer->link->sealed != NULL)
        next = earlier(next, ftc_tcp_sealed_due(peer));
    return next;
}

static uint64_t run_timers_of_peers(struct ftc_tcp *tcp, uint64_t now)
{
    uint64_t next = 0;
    for (struct ftc_tcp_peer **place = &tcp->timed, *peer; (peer = *place) != NULL;) {
        run_timers_of(tcp, peer, now); /* it may put others into the list, at its end */
        uint64_t due = next_of(peer);
        next = earlier(next, due);
        if (due != 0) {
            place = &peer->next_timed;
            continue;
        }
        peer->timed = false;
        *place = peer->next_timed;
        if (*place == NULL)
            tcp->timed_end = place;
    }
    return next;
}

static bool has_timers(const struct ftc_tcp *tcp)
{
    return tcp->timed != NULL || tcp->half_first != NULL || tcp->accept_again_at != 0;
}

static uint64_t run_timers(struct ftc_tcp *tcp, uint64_t now)
{
    while (tcp->half_first != NULL && now >= tcp->half_first->deadline) {
        ftc_tcp_note(tcp, FTC_TCP_LATE,
                     "dropped a connection that did not say who it is within %d s",
                     (int)(FTC_TCP_HANDSHAKE_NS / FTC_NS_PER_S));
        ftc_tcp_hang_up(tcp, tcp->half_first);
    }
    if (tcp->accept_again_at != 0 && now >= tcp->accept_again_at) {
        tcp->accept_again_at = 0;
        ftc_tcp_listen_to(tcp, true);
    }
    uint64_t next = run_timers_of_peers(tcp, now);
    next = earlier(next, tcp->half_first != NULL ? tcp->half_first->deadline : 0);
    return earlier(next, tcp->accept_again_at);
}

/* The timer is only ever set to an earlier time. A timer that fires for nothing costs less than
 * setting it for every message. */
void ftc_tcp_set_timer(struct ftc_tcp *tcp, uint64_t at)
{
    if (at == 0 || (tcp->timer_at != 0 && tcp->timer_at <= at))
        return;
    struct itimerspec when = {.it_value = {(time_t)(at / FTC_NS_PER_S), (long)(at % FTC_NS_PER_S)}};
    timerfd_settime(tcp->timer, TFD_TIMER_ABSTIME, &when, NULL); /* cannot fail: `when` is valid */
    tcp->timer_at = at;
}

static void timer_fired(struct ftc_tcp *tcp)
{
    uint64_t times;
    if (read(tcp->timer, &times, sizeof(times)) == sizeof(times))
        tcp->timer_at = 0;
}

/* --- a turn --- */

static void dispatch(struct ftc_tcp *tcp, void *what, uint32_t events)
{
    struct ftc_tcp_connection *connection = what;
    if (what == NULL)
        ftc_tcp_accept(tcp);
    else if (what == &tcp->timer)
        timer_fired(tcp);
    else if (what == &tcp->wire_event[0] || what == &tcp->wire_event[1])
        tcp->wire->wake(tcp, what == &tcp->wire_event[1]);
    else if (connection->fd < 0)
        return; /* closed earlier in this turn */
    else if (connection->state == FTC_TCP_LINKED)
        tcp->wire->step(tcp, ftc_tcp_known(tcp, connection->rank), events);
    else if (connection->state == FTC_TCP_WAIT_HELLO || connection->state == FTC_TCP_WAIT_PROOF)
        ftc_tcp_accept_step(tcp, connection);
    else
        ftc_tcp_dial_step(tcp, connection);
}

/* Look at sockets, timers and the descriptors of the wire. */
static void look(struct ftc_tcp *tcp)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(tcp->epoll, events, EVENTS, 0);
    if (count <= 0 && !has_timers(tcp))
        return;
    tcp->now = ftc_clock_now();
    for (int i = 0; i < count; i++)
        dispatch(tcp, events[i].data.ptr, events[i].events);
    ftc_tcp_set_timer(tcp, run_timers(tcp, tcp->now));
}

/* Is a look due? Looks are rare if the wire finds messages without system calls, and if nobody uses
 * this transport. */
static bool look_is_due(struct ftc_tcp *tcp)
{
    bool idle = tcp->met == NULL && tcp->half_open == 0;
    if (tcp->wire->poll == NULL && !idle)
        return true;
    tcp->now = ftc_clock_now();
    if (tcp->now < tcp->look_at)
        return false;
    tcp->look_at = tcp->now + LOOK_NS;
    return true;
}

void ftc_tcp_turn(struct ftc_tcp *tcp)
{
    if (tcp->wire->poll != NULL)
        tcp->wire->poll(tcp);
    if (look_is_due(tcp))
        look(tcp);
    ftc_tcp_free_closed(tcp);
}
