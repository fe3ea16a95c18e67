/*
 * Bytes on a queue pair. They are cut into sends of at most one slot, which come in order. Each
 * send uses one receive of the peer. As immediate data (the credits) it says how many receives this
 * end has posted again. So there is always a receive for a send. The last credit is kept for a
 * message that only gives credits, so that two ends that are both full can go on.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "transport/verbs/internal.h"

#define BATCH       16
#define ROUNDS      64      /* batches of completions in one turn */
#define OF_SEND     0x8000u /* in the number of a request: it is a send, not a receive */
#define ONLY_CREDIT 0xffffu

/* The number of a request: rank, generation of the link, place. */
static uint64_t request_number(const struct ftc_tcp_peer *peer, uint32_t place)
{
    return (uint64_t)(uint32_t)peer->rank << 32 |
           (uint64_t)peer->link->queue_pair->generation << 16 | place;
}

/* The peer whose link made the request. NULL: that link is gone. */
static struct ftc_tcp_peer *peer_of(const struct ftc_tcp *tcp, uint64_t number)
{
    struct ftc_tcp_peer *peer = ftc_tcp_known(tcp, (int)(number >> 32));
    bool same = peer != NULL && peer->link != NULL && peer->link->queue_pair != NULL &&
                peer->link->queue_pair->generation == (number >> 16 & 0xffff);
    return same ? peer : NULL;
}

/* --- sending --- */

/* Copy up to `room` bytes of the pieces, without the first `done` bytes. */
static uint32_t copy_pieces(unsigned char *to, size_t room, const struct iovec *pieces, int count,
                            size_t done)
{
    uint32_t size = 0;
    for (int i = 0; i < count && size < room; i++) {
        if (done >= pieces[i].iov_len) {
            done -= pieces[i].iov_len;
            continue;
        }
        size_t left = pieces[i].iov_len - done, step = left < room - size ? left : room - size;
        memcpy(to + size, (const unsigned char *)pieces[i].iov_base + done, step);
        size += (uint32_t)step;
        done = 0;
    }
    return size;
}

struct sends {
    struct ibv_send_wr requests[BATCH];
    struct ibv_sge pieces[BATCH];
    int count;
};

static void add_send(struct sends *sends, const struct ftc_verbs *verbs,
                     const struct ftc_tcp_peer *peer, uint32_t place, uint32_t size)
{
    struct ftc_verbs_link *link = peer->link->queue_pair;
    struct ibv_send_wr *request = &sends->requests[sends->count];
    uint32_t slot = link->slots[place];
    sends->pieces[sends->count] =
        (struct ibv_sge){(uintptr_t)ftc_verbs_pool_bytes(&verbs->pool, slot), size,
                         ftc_verbs_pool_key(&verbs->pool, slot)};
    *request = (struct ibv_send_wr){.wr_id = request_number(peer, OF_SEND | place),
                                    .sg_list = &sends->pieces[sends->count],
                                    .num_sge = 1,
                                    .opcode = IBV_WR_SEND_WITH_IMM,
                                    .send_flags = IBV_SEND_SOLICITED |
                                                  (size <= link->inline_most ? IBV_SEND_INLINE : 0),
                                    .imm_data = htonl(link->owed)};
    link->owed = 0;
    if (sends->count > 0)
        sends->requests[sends->count - 1].next = request;
    sends->count++;
}

/* The link waits for the completion of a send. Only then does such a completion wake a rank that
 * sleeps. */
static void starve(struct ftc_verbs *verbs, struct ftc_verbs_link *link)
{
    verbs->starved += !link->starved;
    link->starved = true;
}

ssize_t ftc_verbs_send(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, const struct iovec *pieces,
                       int count)
{
    struct ftc_verbs *verbs = (struct ftc_verbs *)tcp;
    struct ftc_verbs_link *link = peer->link->queue_pair;
    struct ibv_send_wr *bad;
    struct sends sends = {.count = 0};
    size_t done = 0;
    while (sends.count < BATCH && link->idle_count > 0 && link->credits > 1) {
        uint32_t place = link->idle[link->idle_count - 1];
        uint32_t size = copy_pieces(ftc_verbs_pool_bytes(&verbs->pool, link->slots[place]),
                                    FTC_VERBS_SLOT_SIZE, pieces, count, done);
        if (size == 0)
            break;
        add_send(&sends, verbs, peer, place, size);
        link->idle_count--;
        link->credits--;
        done += size;
    }
    if (sends.count == 0 && link->idle_count == 0)
        starve(verbs, link);
    errno = sends.count > 0 ? ibv_post_send(link->queue_pair, sends.requests, &bad) : EAGAIN;
    return errno == 0 ? (ssize_t)done : -1;
}

/* Send a message of no bytes, which gives credits. If it cannot be posted, the queue pair has
 * broken, and a completion tells that. */
static void post_credits(struct ftc_verbs_link *link, uint64_t number)
{
    struct ibv_send_wr *bad;
    struct ibv_send_wr request = {.wr_id = number,
                                  .opcode = IBV_WR_SEND_WITH_IMM,
                                  .send_flags = IBV_SEND_SOLICITED,
                                  .imm_data = htonl(link->owed)};
    if (ibv_post_send(link->queue_pair, &request, &bad) != 0)
        return;
    link->owed = 0;
    link->credits--;
    link->credit_posted = true;
}

/* Give credits by a message of their own, if half of the receives have been posted again without
 * the peer knowing. These are at least two, so such messages become ever rarer when they answer one
 * another. */
static void give_credits(struct ftc_verbs *verbs, const struct ftc_tcp_peer *peer)
{
    struct ftc_verbs_link *link = peer->link->queue_pair;
    if (link->state != FTC_VERBS_UP || link->ended || link->owed < link->receives / 2 ||
        link->credits == 0)
        return;
    if (link->credit_posted)
        starve(verbs, link);
    else
        post_credits(link, request_number(peer, ONLY_CREDIT));
}

/* The completion must wake a rank that sleeps, since it is the answer of ops->reach. */
void ftc_verbs_prove(struct ftc_verbs *verbs, const struct ftc_tcp_peer *peer)
{
    struct ftc_verbs_link *link = peer->link->queue_pair;
    post_credits(link, request_number(peer, ONLY_CREDIT));
    starve(verbs, link);
}

void ftc_verbs_unblock(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    struct ftc_verbs_link *link = peer->link->queue_pair;
    if (!peer->link->blocked || link->state != FTC_VERBS_UP || link->ended ||
        link->idle_count == 0 || link->credits < 2)
        return;
    ftc_tcp_link_unblock(tcp, peer);
}

/* --- receiving --- */

int ftc_verbs_post_receive(struct ftc_verbs *verbs, const struct ftc_tcp_peer *peer, uint32_t place)
{
    struct ftc_verbs_link *link = peer->link->queue_pair;
    uint32_t slot = link->slots[place];
    struct ibv_sge piece = {(uintptr_t)ftc_verbs_pool_bytes(&verbs->pool, slot),
                            FTC_VERBS_SLOT_SIZE, ftc_verbs_pool_key(&verbs->pool, slot)};
    struct ibv_recv_wr request = {.wr_id = request_number(peer, place),
                                  .sg_list = &piece,
                                  .num_sge = 1},
                       *bad;
    return ibv_post_recv(link->queue_pair, &request, &bad);
}

/* Post a receive again: its bytes were taken, or it had none. If the queue pair takes no receives,
 * it has broken, and a completion tells why. */
static void post_again(struct ftc_verbs *verbs, struct ftc_tcp_peer *peer, uint32_t place)
{
    struct ftc_verbs_link *link = peer->link->queue_pair;
    if (!link->ended && ftc_verbs_post_receive(verbs, peer, place) == 0)
        link->owed++;
}

/* Take up to `room` bytes of the first arrival. */
static size_t take_bytes(struct ftc_verbs *verbs, struct ftc_tcp_peer *peer, unsigned char *to,
                         size_t room)
{
    struct ftc_verbs_link *link = peer->link->queue_pair;
    struct ftc_verbs_arrival first = link->arrived[link->arrived_first];
    size_t left = first.size - link->used, step = left < room ? left : room;
    memcpy(to, ftc_verbs_pool_bytes(&verbs->pool, link->slots[first.place]) + link->used, step);
    link->used += (uint32_t)step;
    if (link->used == first.size) {
        link->used = 0;
        link->arrived_first = (link->arrived_first + 1) % link->receives;
        link->arrived_count--;
        post_again(verbs, peer, first.place);
    }
    return step;
}

ssize_t ftc_verbs_receive(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                          const struct iovec *places, int count)
{
    struct ftc_verbs *verbs = (struct ftc_verbs *)tcp;
    struct ftc_verbs_link *link = peer->link->queue_pair;
    size_t total = 0;
    for (int i = 0; i < count; i++)
        for (size_t done = 0; link->arrived_count > 0 && done < places[i].iov_len;) {
            size_t step = take_bytes(verbs, peer, (unsigned char *)places[i].iov_base + done,
                                     places[i].iov_len - done);
            done += step;
            total += step;
        }
    if (total > 0) {
        give_credits(verbs, peer);
        return (ssize_t)total;
    }
    errno = link->ended ? link->error : EAGAIN;
    return errno == 0 ? 0 : -1;
}

/* --- its end --- */

void ftc_verbs_fail(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, int error)
{
    struct ftc_verbs_link *link = peer->link->queue_pair;
    if (link->ended)
        return;
    link->ended = true;
    link->error = error;
    peer->link->blocked = true;
    ftc_tcp_unwatch(tcp, peer->link);
    ftc_tcp_read(tcp, peer);
}

void ftc_verbs_fail_all(struct ftc_tcp *tcp, int error)
{
    for (struct ftc_tcp_peer *peer = tcp->met; peer != NULL; peer = peer->next_met)
        if (peer->link != NULL && peer->link->queue_pair != NULL)
            ftc_verbs_fail(tcp, peer, error);
}

/* --- completions --- */

static void sent(struct ftc_verbs *verbs, const struct ftc_tcp_peer *peer, uint32_t place)
{
    struct ftc_verbs_link *link = peer->link->queue_pair;
    verbs->starved -= link->starved;
    link->starved = false;
    if (place == ONLY_CREDIT)
        link->credit_posted = false;
    else
        link->idle[link->idle_count++] = place & ~OF_SEND;
}

static bool credit(struct ftc_verbs_link *link, const struct ibv_wc *done)
{
    uint32_t given = (done->wc_flags & IBV_WC_WITH_IMM) != 0 ? ntohl(done->imm_data) : UINT32_MAX;
    if (given > link->credits_most - link->credits)
        return false;
    link->credits += given;
    return true;
}

static void came(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, const struct ibv_wc *done)
{
    struct ftc_verbs_link *link = peer->link->queue_pair;
    uint32_t place = done->wr_id & 0xffff;
    if (!credit(link, done)) {
        ftc_error_set(FTC_ERR_PROTO, "rank %d posted more receives than it has", peer->rank);
        ftc_tcp_damage(tcp, peer);
    } else if (done->byte_len == 0) {
        post_again((struct ftc_verbs *)tcp, peer, place);
    } else {
        link->arrived[(link->arrived_first + link->arrived_count++) % link->receives] =
            (struct ftc_verbs_arrival){place, done->byte_len};
        ftc_tcp_read(tcp, peer);
    }
}

static int error_of(enum ibv_wc_status status)
{
    if (status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_RNR_RETRY_EXC_ERR)
        return ETIMEDOUT;
    return status == IBV_WC_WR_FLUSH_ERR ? ECONNABORTED : EIO;
}

static void complete(struct ftc_tcp *tcp, const struct ibv_wc *done)
{
    struct ftc_tcp_peer *peer = peer_of(tcp, done->wr_id);
    uint32_t place = done->wr_id & 0xffff;
    if (peer == NULL)
        return;
    if (done->status != IBV_WC_SUCCESS) {
        ftc_verbs_fail(tcp, peer, error_of(done->status));
        return;
    }
    if (!peer->link->proven)
        ftc_tcp_link_proven(peer);
    if ((place & OF_SEND) != 0) {
        ftc_tcp_reached(peer);
        sent((struct ftc_verbs *)tcp, peer, place);
    } else {
        came(tcp, peer, done);
    }
    peer = peer_of(tcp, done->wr_id);
    if (peer == NULL)
        return;
    ftc_verbs_unblock(tcp, peer); /* first, since bytes that go out give credits, too */
    if (peer_of(tcp, done->wr_id) != NULL)
        give_credits((struct ftc_verbs *)tcp, peer);
}

/* Handle completions. False: there may be more. */
static bool drain(struct ftc_tcp *tcp)
{
    struct ftc_verbs *verbs = (struct ftc_verbs *)tcp;
    struct ibv_wc done[BATCH];
    for (int round = 0; round < ROUNDS; round++) {
        int count = ibv_poll_cq(verbs->completions, BATCH, done);
        if (count < 0)
            ftc_verbs_fail_all(tcp, EIO);
        if (count > 0)
            verbs->armed = false;
        for (int i = 0; i < count; i++)
            complete(tcp, &done[i]);
        if (count < BATCH)
            return true;
    }
    return false;
}

void ftc_verbs_poll(struct ftc_tcp *tcp)
{
    drain(tcp);
}

/*
 * From now on the channel becomes readable when something comes or fails. If a link waits for the
 * completion of a send, such a completion does it, too. Otherwise a rank that sleeps is not woken
 * by its own sends. What completed before does not make the channel readable, so it is looked for
 * afterwards.
 */
void ftc_verbs_arm(struct ftc_tcp *tcp)
{
    struct ftc_verbs *verbs = (struct ftc_verbs *)tcp;
    do {
        bool all = verbs->starved > 0;
        if (!verbs->armed || (all && !verbs->armed_for_all)) {
            ibv_req_notify_cq(verbs->completions, !all); /* cannot fail on a device that works */
            verbs->armed = true;
            verbs->armed_for_all = all;
        }
        while (!drain(tcp))
            ;
    } while (verbs->starved > 0 && !verbs->armed_for_all);
}
