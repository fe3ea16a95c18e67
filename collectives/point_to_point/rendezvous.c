/* How the bytes of a large message come to the receiver (P4 to P6). */
#include <string.h>

#include "base/error.h"
#include "base/mix.h"
#include "collectives/point_to_point/internal.h"

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t ftc_matching_mark(const struct ftc_matching *m, int to, uint64_t number)
{
    return ftc_mix(ftc_mix(m->set.communicator + ((uint64_t)to << 40)) ^ number) | 1;
}

/* --- the receiver copies --- */

static bool is_mark_due(const struct ftc_transfer *t)
{
    return FTC_MATCHING_MUTATED(EARLY_MARK) ? t->moved == 0 && t->seen == 0 : t->moved == t->wanted;
}

bool ftc_matching_has_copies(const struct ftc_matching *m)
{
    return !ftc_link_is_empty(&m->copying);
}

bool ftc_matching_next_copy(struct ftc_matching *m, struct ftc_matching_copy *copy)
{
    if (!ftc_matching_has_copies(m))
        return false;
    struct ftc_transfer *t = ftc_transfer_of(m->copying.next);
    *copy = (struct ftc_matching_copy){.transfer = t, .rank = t->from};
    if (is_mark_due(t)) {
        copy->to = &t->seen;
        copy->address = t->mark_address;
        copy->size = sizeof(t->seen);
    } else {
        copy->to = (char *)t->buffer + t->moved;
        copy->address = t->address + t->moved;
        copy->size = (size_t)least(t->wanted - t->moved, m->set.piece);
        if (t->moved + copy->size == t->wanted && !FTC_MATCHING_MUTATED(EARLY_MARK)) {
            copy->mark = &t->seen;
            copy->mark_address = t->mark_address;
        }
    }
    return true;
}

static int end_status(const struct ftc_transfer *t)
{
    return t->wanted < t->bytes ? FTC_ERR_TRUNCATED : FTC_SUCCESS;
}

/* Nothing more comes for this receive: it waits for the notice, or for the revoke. */
static void wait_for_end(struct ftc_matching_peer *peer, struct ftc_transfer *t)
{
    t->bound = t->moved;
    ftc_link_put_last(&peer->pulling, &t->link);
}

/* P6: all is copied, and the mark was read. */
static int judge(struct ftc_matching *m, struct ftc_matching_peer *peer, struct ftc_transfer *t)
{
    if (t->seen != t->mark && !FTC_MATCHING_MUTATED(NO_MARK)) {
        wait_for_end(peer, t);
        return FTC_SUCCESS;
    }
    int rc = ftc_matching_say(m, peer, t->from, FTC_MATCHING_END, t->number);
    ftc_transfer_end(m, t, end_status(t));
    return rc;
}

/* Asks for a window more. */
static int pull(struct ftc_matching *m, struct ftc_matching_peer *peer, struct ftc_transfer *t)
{
    t->bound = least(t->wanted, t->moved + m->set.window);
    struct ftc_matching_message message = {
        .what = FTC_MATCHING_PULL, .number = t->number, .size = t->bound};
    return ftc_matching_put(m, peer, t->from, &message, NULL);
}

static int fall_back(struct ftc_matching *m, struct ftc_matching_peer *peer, struct ftc_transfer *t)
{
    ftc_link_put_last(&peer->pulling, &t->link);
    t->moved = 0;
    return FTC_MATCHING_MUTATED(NOT_FALLEN_BACK) ? FTC_SUCCESS : pull(m, peer, t);
}

int ftc_matching_take_copy(struct ftc_matching *m, struct ftc_transfer *t, enum ftc_copied result)
{
    struct ftc_matching_peer *peer = ftc_matching_known(m, t->from);
    bool mark = is_mark_due(t);

    ftc_link_take_out(&t->link);
    if (result == FTC_COPY_REFUSED)
        return fall_back(m, peer, t);
    if (result == FTC_COPY_NOBODY) {
        wait_for_end(peer, t);
        return FTC_SUCCESS;
    }
    if (!mark)
        t->moved += least(t->wanted - t->moved, m->set.piece);
    if (FTC_MATCHING_MUTATED(EARLY_MARK) ? t->moved == t->wanted
                                         : mark || result == FTC_COPY_MARKED)
        return judge(m, peer, t);
    ftc_link_put_last(&m->copying, &t->link);
    return FTC_SUCCESS;
}

/* --- the sender sends parts --- */

static int send_part(struct ftc_matching *m, struct ftc_matching_peer *peer, struct ftc_transfer *t)
{
    size_t size = (size_t)least(t->bound - t->moved, m->set.fragment);
    struct ftc_buffer *part = ftc_buffer_pool_take(m->set.pool, size);

    if (part == NULL)
        return FTC_ERR_NOMEM;
    memcpy(part->data, (const char *)t->buffer + t->moved, size);
    struct ftc_matching_message message = {.what = FTC_MATCHING_DATA,
                                           .number = t->number,
                                           .size = t->moved,
                                           .bytes = part->data,
                                           .length = size};
    t->moved += size;
    int rc = ftc_matching_put(m, peer, t->rank, &message, part);
    ftc_buffer_unref(part);
    return rc;
}

int ftc_matching_take_pull(struct ftc_matching *m, struct ftc_matching_peer *peer,
                           const struct ftc_matching_message *message)
{
    struct ftc_transfer *t = ftc_transfer_find(&peer->announced, message->number);
    int rc = FTC_SUCCESS;

    if (t == NULL || t->rank == m->set.self)
        return ftc_matching_unknown(message);
    if (message->size <= t->bound || message->size > t->size)
        return ftc_error_set(FTC_ERR_PROTO, "%llu bytes of a message are not to be had",
                             (unsigned long long)message->size);
    t->bound = FTC_MATCHING_MUTATED(NO_BOUND) ? t->size : message->size;
    while (rc == FTC_SUCCESS && t->moved < t->bound)
        rc = send_part(m, peer, t);
    if (rc == FTC_SUCCESS && t->moved == t->size)
        ftc_matching_sent(m, peer, t);
    return rc;
}

int ftc_matching_take_end(struct ftc_matching *m, struct ftc_matching_peer *peer,
                          const struct ftc_matching_message *message)
{
    struct ftc_transfer *t = ftc_transfer_find(&peer->announced, message->number);

    if (t == NULL)
        return ftc_matching_unknown(message);
    ftc_matching_sent(m, peer, t);
    return FTC_SUCCESS;
}

/* --- the receiver takes parts --- */

static int finish_parts(struct ftc_matching *m, struct ftc_matching_peer *peer,
                        struct ftc_transfer *t)
{
    int rc = t->wanted < t->bytes && !FTC_MATCHING_MUTATED(TRUNCATED_KEPT)
                 ? ftc_matching_say(m, peer, t->from, FTC_MATCHING_END, t->number)
                 : FTC_SUCCESS;

    ftc_transfer_end(m, t, end_status(t));
    return rc;
}

int ftc_matching_take_data(struct ftc_matching *m, struct ftc_matching_peer *peer,
                           const struct ftc_matching_message *message)
{
    struct ftc_transfer *t = ftc_transfer_find(&peer->pulling, message->number);

    if (t == NULL)
        return ftc_matching_unknown(message);
    if (message->size != t->moved || message->length == 0 || message->length > t->bound - t->moved)
        return ftc_error_set(FTC_ERR_PROTO, "a part of %zu bytes was not asked for",
                             message->length);
    memcpy((char *)t->buffer + t->moved, message->bytes, message->length);
    t->moved += message->length;
    if (t->moved == t->wanted || FTC_MATCHING_MUTATED(PART_ENDS))
        return finish_parts(m, peer, t);
    bool more = t->bound < t->wanted && t->bound - t->moved <= m->set.window / 2;
    return more && !FTC_MATCHING_MUTATED(WINDOW_STAYS) ? pull(m, peer, t) : FTC_SUCCESS;
}
