/* Messages that come (P1 to P3, P12). */
#include <string.h>

#include "base/error.h"
#include "collectives/point_to_point/internal.h"

/* P3: a message that counts so much is no longer on its way or unexpected. */
static int give_back(struct ftc_matching *m, struct ftc_matching_peer *peer, int from, size_t size)
{
    peer->taken += size + FTC_MATCHING_OVERHEAD;
    return peer->taken - peer->told >= m->set.credit / 2
               ? ftc_matching_say(m, peer, from, FTC_MATCHING_CREDIT, 0)
               : FTC_SUCCESS;
}

static int take_eager(struct ftc_matching *m, struct ftc_matching_peer *peer,
                      struct ftc_transfer *t, int from, const struct ftc_matching_message *message)
{
    if (t->wanted > 0)
        memcpy(t->buffer, message->bytes, t->wanted);
    ftc_transfer_end(m, t, t->wanted < t->bytes ? FTC_ERR_TRUNCATED : FTC_SUCCESS);
    return FTC_MATCHING_MUTATED(CREDIT_EARLY) ? FTC_SUCCESS
                                              : give_back(m, peer, from, message->length);
}

int ftc_matching_take(struct ftc_matching *m, struct ftc_matching_peer *peer,
                      struct ftc_transfer *t, int from, const struct ftc_matching_message *message)
{
    bool eager = message->what == FTC_MATCHING_EAGER;

    ftc_link_take_out(&t->link);
    t->from = from;
    t->got = (int)message->tag;
    t->number = message->number;
    t->bytes = eager ? message->length : (size_t)message->size;
    t->wanted = t->bytes < t->size ? t->bytes : t->size;
    if (eager)
        return take_eager(m, peer, t, from, message);
    if (peer->failure != 0 && !FTC_MATCHING_MUTATED(READY_OF_DEAD)) {
        ftc_transfer_end(m, t, FTC_ERR_RANK_FAILED);
        return FTC_SUCCESS;
    }
    t->address = message->address;
    t->mark_address = message->mark_address;
    t->mark = message->mark;
    if (t->wanted > 0) {
        ftc_link_put_last(&m->copying, &t->link);
        return FTC_SUCCESS;
    }
    int rc = t->bytes > 0 && FTC_MATCHING_MUTATED(TRUNCATED_KEPT)
                 ? FTC_SUCCESS
                 : ftc_matching_say(m, peer, from, FTC_MATCHING_END, t->number);
    ftc_transfer_end(m, t, t->bytes > 0 ? FTC_ERR_TRUNCATED : FTC_SUCCESS);
    return rc;
}

/* P3: may this message be on its way? */
static bool has_credit(const struct ftc_matching *m, struct ftc_matching_peer *peer,
                       const struct ftc_matching_message *message)
{
    if (message->what != FTC_MATCHING_EAGER)
        return true;
    peer->came += message->length + FTC_MATCHING_OVERHEAD;
    return peer->came - peer->told <= m->set.credit || FTC_MATCHING_MUTATED(NO_CREDIT);
}

/* EAGER or READY. */
static int take_first(struct ftc_matching *m, struct ftc_matching_peer *peer, int from,
                      const struct ftc_matching_message *message, struct ftc_buffer *buffer)
{
    if (message->number != peer->received)
        return ftc_error_set(FTC_ERR_PROTO, "message %llu of rank %d comes in place of %llu",
                             (unsigned long long)message->number, from,
                             (unsigned long long)peer->received);
    if (!has_credit(m, peer, message))
        return ftc_error_set(FTC_ERR_PROTO, "rank %d sends more than it has credit for", from);
    peer->received++;
    if (FTC_MATCHING_MUTATED(CREDIT_EARLY) && message->what == FTC_MATCHING_EAGER) {
        int rc = give_back(m, peer, from, message->length);
        if (rc != FTC_SUCCESS)
            return rc;
    }
    struct ftc_transfer *t = ftc_matching_receiver(m, peer, message);
    return t != NULL ? ftc_matching_take(m, peer, t, from, message)
                     : ftc_arrival_keep(m, peer, from, message, buffer);
}

static int take_message(struct ftc_matching *m, struct ftc_matching_peer *peer, int from,
                        const struct ftc_matching_message *message, struct ftc_buffer *buffer)
{
    switch (message->what) {
    case FTC_MATCHING_EAGER:
    case FTC_MATCHING_READY:
        return take_first(m, peer, from, message, buffer);
    case FTC_MATCHING_PULL:
        return ftc_matching_take_pull(m, peer, message);
    case FTC_MATCHING_DATA:
        return ftc_matching_take_data(m, peer, message);
    case FTC_MATCHING_END:
        return ftc_matching_take_end(m, peer, message);
    case FTC_MATCHING_WITHDRAW:
        return ftc_matching_take_withdraw(m, peer, from, message);
    case FTC_MATCHING_WITHDRAWN:
    case FTC_MATCHING_KEPT:
    case FTC_MATCHING_LEFT:
        return ftc_matching_take_answer(m, peer, message);
    default:
        return FTC_SUCCESS;
    }
}

static int broken(const struct ftc_buffer *buffer, int from)
{
    return ftc_error_set(FTC_ERR_PROTO, "%zu bytes of rank %d are no message of its kind",
                         buffer->size, from);
}

static int receive(struct ftc_matching *m, int from, struct ftc_buffer *buffer)
{
    struct ftc_matching_peer *peer = ftc_matching_peer(m, from);
    struct ftc_matching_message message;

    if (peer == NULL)
        return FTC_ERR_NOMEM;
    if (peer->failure != 0)
        return FTC_SUCCESS;
    if (!ftc_matching_decode(m, buffer, &message))
        return m->over ? FTC_SUCCESS : broken(buffer, from);
    if (m->over)
        return ftc_matching_take_late(m, peer, from, &message);
    if (message.taken < peer->returned || message.taken > peer->spent)
        return broken(buffer, from);
    peer->returned = message.taken;
    return take_message(m, peer, from, &message, buffer);
}

int ftc_matching_take_own(struct ftc_matching *m)
{
    int rc = FTC_SUCCESS;

    while (rc == FTC_SUCCESS && m->own_count > 0) {
        struct ftc_buffer *buffer = m->own[m->own_first];
        m->own_first = (m->own_first + 1) % m->own_room;
        m->own_count--;
        rc = receive(m, m->set.self, buffer);
        ftc_buffer_unref(buffer);
    }
    return rc;
}

int ftc_matching_receive(struct ftc_matching *m, int from, struct ftc_buffer *message)
{
    if (from < 0 || from >= m->set.ranks || from == m->set.self)
        return FTC_ERR_PROTO;
    return receive(m, from, message);
}
