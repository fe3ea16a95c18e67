/* Messages of point-to-point (P2): encoding, decoding, and the queue of those that go out. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "collectives/frame.h"
#include "collectives/point_to_point/internal.h"

/* --- layout --- */

enum {
    TAG = FTC_FRAME_HEAD,
    NUMBER = TAG + 4,
    TAKEN = NUMBER + 8,
    HEAD = TAKEN + 8, /* what all messages have */
    SIZE = HEAD,      /* of PULL, DATA and READY */
    BOUND = SIZE + 8, /* PULL, and DATA before its bytes */
    ADDRESS = BOUND,  /* of READY */
    MARK_ADDRESS = ADDRESS + 8,
    MARK = MARK_ADDRESS + 8,
    READY = MARK + 8
};

_Static_assert((int)READY <= FTC_MATCHING_HEAD, "an output has room for each head");
_Static_assert((int)HEAD % FTC_VALUE_ALIGNMENT == 0, "the bytes of EAGER need no padding");

#define FIRST_ROOM 16

static size_t fixed_size(enum ftc_matching_what what)
{
    switch (what) {
    case FTC_MATCHING_READY:
        return READY;
    case FTC_MATCHING_PULL:
    case FTC_MATCHING_DATA:
        return BOUND;
    default:
        return HEAD;
    }
}

/* --- out --- */

/* Writes the head to a place that has room for it. Returns its size. */
FTC_HOT static size_t encode(const struct ftc_matching *m,
                             const struct ftc_matching_message *message, unsigned char *head)
{
    size_t size = fixed_size(message->what);

    ftc_frame_put(head, FTC_FRAME_POINT_TO_POINT,
                  (uint16_t)((unsigned)message->what | (unsigned)message->context << 8),
                  m->set.communicator);
    ftc_store_u32(head + TAG, message->tag);
    ftc_store_u64(head + NUMBER, message->number);
    ftc_store_u64(head + TAKEN, message->taken);
    if (size > HEAD)
        ftc_store_u64(head + SIZE, message->size);
    if (message->what == FTC_MATCHING_READY) {
        ftc_store_u64(head + ADDRESS, message->address);
        ftc_store_u64(head + MARK_ADDRESS, message->mark_address);
        ftc_store_u64(head + MARK, message->mark);
    }
    return size;
}

/* Makes room for one more in a circle. */
static bool make_room(void **circle, size_t *room, size_t *first, size_t count, size_t size)
{
    size_t more = *room > 0 ? 2 * *room : FIRST_ROOM;
    unsigned char *bigger, *old = *circle;

    if (count < *room)
        return true;
    bigger = malloc(more * size);
    if (bigger == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        memcpy(bigger + i * size, old + (*first + i) % *room * size, size);
    free(old);
    *circle = bigger;
    *room = more;
    *first = 0;
    return true;
}

static int put_own(struct ftc_matching *m, const struct ftc_matching_message *message)
{
    struct ftc_buffer *buffer = ftc_buffer_new(FTC_MATCHING_HEAD + message->length);
    void *circle = m->own;
    bool room = make_room(&circle, &m->own_room, &m->own_first, m->own_count, sizeof(*m->own));

    m->own = circle;
    if (!room || buffer == NULL) {
        ftc_buffer_unref(buffer);
        return FTC_ERR_NOMEM;
    }
    size_t head = encode(m, message, buffer->data);
    if (message->length > 0)
        memcpy(buffer->data + head, message->bytes, message->length);
    buffer->size = head + message->length;
    m->own[(m->own_first + m->own_count++) % m->own_room] = buffer;
    return FTC_SUCCESS;
}

static bool make_queue_room(struct ftc_matching *m)
{
    void *circle = m->queue;
    bool room = make_room(&circle, &m->room, &m->first, m->count, sizeof(*m->queue));

    m->queue = circle;
    return room;
}

/* The place behind the last one. NULL: no memory. */
FTC_HOT static struct ftc_matching_output *add(struct ftc_matching *m)
{
    if (m->count == m->room && !make_queue_room(m))
        return NULL;
    size_t place = m->first + m->count++;
    return &m->queue[place < m->room ? place : place - m->room];
}

FTC_HOT int ftc_matching_put(struct ftc_matching *m, struct ftc_matching_peer *peer, int to,
                             struct ftc_matching_message *message, struct ftc_buffer *buffer)
{
    if (peer->failure != 0)
        return FTC_SUCCESS;
    message->taken = peer->taken;
    peer->told = peer->taken;
    if (to == m->set.self)
        return put_own(m, message);
    struct ftc_matching_output *output = add(m);
    if (output == NULL)
        return FTC_ERR_NOMEM;
    output->to = to;
    output->ready = message->what == FTC_MATCHING_READY;
    output->urgent = message->what >= FTC_MATCHING_READY && message->what <= FTC_MATCHING_WITHDRAW;
    output->head_size = encode(m, message, output->head);
    output->size = message->length;
    output->bytes = message->bytes;
    output->buffer = ftc_buffer_ref(buffer);
    return FTC_SUCCESS;
}

int ftc_matching_say(struct ftc_matching *m, struct ftc_matching_peer *peer, int to,
                     enum ftc_matching_what what, uint64_t number)
{
    struct ftc_matching_message message = {.what = what, .number = number};

    return ftc_matching_put(m, peer, to, &message, NULL);
}

/* A queue that is empty begins at the same place again, which is in the cache. */
FTC_HOT static void drop_first(struct ftc_matching *m)
{
    ftc_buffer_unref(m->queue[m->first].buffer);
    m->taken = false;
    m->first = --m->count > 0 ? (m->first + 1) % m->room : 0;
}

FTC_HOT const struct ftc_matching_output *ftc_matching_next_output(struct ftc_matching *m)
{
    if (m->taken)
        drop_first(m);
    m->taken = m->count > 0;
    return m->taken ? &m->queue[m->first] : NULL;
}

/* --- in --- */

/* Where the bytes of EAGER or DATA begin. 0: the message is shorter than its head, or its padding
 * is not zero. */
static size_t begin_of_bytes(enum ftc_matching_what what, const struct ftc_buffer *buffer)
{
    size_t head = fixed_size(what);
    size_t begin = what == FTC_MATCHING_DATA ? ftc_value_offset(head) : head;

    if (buffer->size < begin)
        return 0;
    for (size_t i = head; i < begin; i++)
        if (buffer->data[i] != 0)
            return 0;
    return begin;
}

static bool is_sound(const struct ftc_matching *m, const struct ftc_matching_message *message)
{
    if (message->what != FTC_MATCHING_EAGER && message->what != FTC_MATCHING_DATA &&
        message->length != 0)
        return false;
    if (message->what == FTC_MATCHING_EAGER && message->length > m->set.eager)
        return false;
    return message->tag <= INT_MAX && message->size <= SIZE_MAX / 2;
}

FTC_HOT bool ftc_matching_decode(const struct ftc_matching *m, const struct ftc_buffer *buffer,
                                 struct ftc_matching_message *message)
{
    const unsigned char *head = buffer->data;
    uint64_t communicator;
    uint16_t own;
    int kind;

    *message = (struct ftc_matching_message){0};
    if (buffer->size < HEAD || !ftc_frame_get(head, &kind, &own, &communicator) ||
        kind != FTC_FRAME_POINT_TO_POINT || communicator != m->set.communicator ||
        (own & 0xff) >= FTC_MATCHING_WHATS)
        return false;
    message->what = (enum ftc_matching_what)(own & 0xff);
    message->context = (uint8_t)(own >> 8);
    size_t begin = begin_of_bytes(message->what, buffer);
    if (begin == 0)
        return false;
    message->tag = ftc_load_u32(head + TAG);
    message->number = ftc_load_u64(head + NUMBER);
    message->taken = ftc_load_u64(head + TAKEN);
    if (begin > HEAD)
        message->size = ftc_load_u64(head + SIZE);
    if (message->what == FTC_MATCHING_READY) {
        message->address = ftc_load_u64(head + ADDRESS);
        message->mark_address = ftc_load_u64(head + MARK_ADDRESS);
        message->mark = ftc_load_u64(head + MARK);
    }
    message->bytes = head + begin;
    message->length = buffer->size - begin;
    return is_sound(m, message);
}
