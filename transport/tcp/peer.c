/* Peers: what is known of each other rank, and what is counted of all. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mix.h"
#include "transport/tcp/internal.h"

#define LOG_PERIOD_NS   (10 * FTC_NS_PER_S)
#define BACKOFF_NS      (10 * FTC_NS_PER_MS)
#define BACKOFF_DOUBLED 6 /* the pause is doubled this often at most */

struct ftc_tcp_peer *ftc_tcp_peer(struct ftc_tcp *tcp, int rank)
{
    struct ftc_tcp_peer *peer = ftc_tcp_known(tcp, rank);
    if (peer != NULL)
        return peer;
    peer = calloc(1, sizeof(*peer));
    if (peer == NULL || ftc_sparse_set_pointer(&tcp->peers, rank, peer) != 0) {
        free(peer);
        return NULL;
    }
    peer->rank = rank;
    peer->next_met = tcp->met;
    tcp->met = peer;
    return peer;
}

void ftc_tcp_activate(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    if (peer->next_active != NULL)
        return;
    peer->next_active = tcp->active != NULL ? tcp->active->next_active : peer;
    if (tcp->active != NULL)
        tcp->active->next_active = peer;
    tcp->active = peer;
}

struct ftc_tcp_peer *ftc_tcp_take_active(struct ftc_tcp *tcp)
{
    struct ftc_tcp_peer *first = tcp->active != NULL ? tcp->active->next_active : NULL;
    if (first == NULL)
        return NULL;
    if (first == tcp->active)
        tcp->active = NULL;
    else
        tcp->active->next_active = first->next_active;
    first->next_active = NULL;
    return first;
}

void ftc_tcp_time(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    if (peer->timed)
        return;
    peer->timed = true;
    peer->next_timed = NULL;
    *tcp->timed_end = peer;
    tcp->timed_end = &peer->next_timed;
}

void ftc_tcp_await(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    if (peer->waiting)
        return;
    peer->waiting = true;
    peer->next_waiting = NULL;
    *tcp->waiting_end = peer;
    tcp->waiting_end = &peer->next_waiting;
}

void ftc_tcp_note(struct ftc_tcp *tcp, enum ftc_tcp_event event, const char *format, ...)
{
    char text[512];
    uint64_t now = ftc_clock_now();
    tcp->count[event]++;
    if (tcp->count[event] > 1 && now - tcp->logged_at[event] < LOG_PERIOD_NS)
        return;
    tcp->logged_at[event] = now;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    /* A peer that dies breaks its connections, too, and others report its failure. So these are
     * info only. */
    bool common = event == FTC_TCP_BROKEN || event == FTC_TCP_UNREACHABLE;
    FTC_LOG(tcp->log, common ? FTC_LOG_INFO : FTC_LOG_WARN, "%s; %llu of this kind so far", text,
            (unsigned long long)tcp->count[event]);
}

/* --- what came from it --- */

void ftc_tcp_arrivals_drop(struct ftc_tcp_arrival *first)
{
    while (first != NULL) {
        struct ftc_tcp_arrival *next = first->next;
        ftc_buffer_unref(first->message);
        free(first);
        first = next;
    }
}

void ftc_tcp_coming_drop(struct ftc_tcp_peer *peer)
{
    ftc_tcp_arrivals_drop(peer->coming);
    peer->coming = NULL;
}

void ftc_tcp_acknowledged(struct ftc_tcp_peer *peer)
{
    peer->acknowledge_at = 0;
    peer->quiet_bytes = peer->quiet_messages = 0;
}

/* --- whether a link is wanted --- */

bool ftc_tcp_wanted(const struct ftc_tcp_peer *peer)
{
    return peer->out.first != NULL || peer->reach_by != 0;
}

void ftc_tcp_retry(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    unsigned doubled = peer->attempts < BACKOFF_DOUBLED ? peer->attempts : BACKOFF_DOUBLED;
    uint64_t wait = BACKOFF_NS << doubled, now = ftc_clock_now();
    if (!ftc_tcp_wanted(peer))
        return;
    /* Half of the pause is random, so that two ranks that connect to each other, or many that
     * connect to one, do not collide again. */
    wait = wait / 2 + ftc_mix(now ^ (uint64_t)tcp->self << 32 ^ (uint64_t)peer->rank) % (wait / 2);
    peer->retry_at = now + wait;
    ftc_tcp_time(tcp, peer);
}

void ftc_tcp_reached(struct ftc_tcp_peer *peer)
{
    peer->reach = FTC_REACH_YES;
    peer->reach_by = 0;
}
