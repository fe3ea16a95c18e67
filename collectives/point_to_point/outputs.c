/* Messages of point-to-point (P2): encoding, decoding, and the queue of those that go out. */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collectives/frame.h"
#include "collectives/point_to_point/internal.h"

#define HEAD       32 /* bytes before what only some messages have */
#define READY      (HEAD + 4 * 8)
#define BOUND      (HEAD + 8) /* PULL, and DATA before its bytes */
#define SMALL      512        /* heads of up to so many bytes are used again */
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

static struct ftc_buffer *take_head(struct ftc_matching *m, size_t size)
{
    struct ftc_buffer *head = size <= SMALL ? m->small : NULL;

    if (head != NULL)
        m->small = NULL;
    else
        head = ftc_buffer_new(size <= SMALL ? SMALL : size);
    if (head != NULL)
        head->size = size;
    return head;
}

static void give_head(struct ftc_matching *m, struct ftc_buffer *head)
{
    if (head != NULL && head->references == 1 && head->size <= SMALL && m->small == NULL)
        m->small = head;
    else
        ftc_buffer_unref(head);
}

static struct ftc_buffer *encode(struct ftc_matching *m, const struct ftc_matching_message *message)
{
    enum ftc_matching_what what = message->what;
    size_t size = fixed_size(what) + (what == FTC_MATCHING_EAGER ? message->length : 0);
    struct ftc_buffer *head = take_head(m, size);
    struct ftc_writer writer = {.size = size};

    if (head == NULL)
        return NULL;
    writer.data = head->data;
    ftc_frame_write(&writer, FTC_FRAME_POINT_TO_POINT,
                    (uint16_t)((unsigned)what | (unsigned)message->context << 8),
                    m->set.communicator);
    ftc_write_u32(&writer, message->tag);
    ftc_write_u64(&writer, message->number);
    ftc_write_u64(&writer, message->taken);
    if (fixed_size(what) > HEAD)
        ftc_write_u64(&writer, message->size);
    if (what == FTC_MATCHING_READY) {
        ftc_write_u64(&writer, message->address);
        ftc_write_u64(&writer, message->mark_address);
        ftc_write_u64(&writer, message->mark);
    }
    if (what == FTC_MATCHING_EAGER && message->length > 0)
        memcpy(head->data + HEAD, message->bytes, message->length);
    assert(!writer.failed);
    return head;
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

static int put_own(struct ftc_matching *m, struct ftc_buffer *head)
{
    void *circle = m->own;
    bool room = make_room(&circle, &m->own_room, &m->own_first, m->own_count, sizeof(*m->own));

    m->own = circle;
    if (!room) {
        ftc_buffer_unref(head);
        return FTC_ERR_NOMEM;
    }
    m->own[(m->own_first + m->own_count++) % m->own_room] = head;
    return FTC_SUCCESS;
}

static int put(struct ftc_matching *m, const struct ftc_matching_output *output)
{
    void *circle = m->queue;
    bool room = make_room(&circle, &m->room, &m->first, m->count, sizeof(*m->queue));

    m->queue = circle;
    if (!room) {
        ftc_buffer_unref(output->head);
        return FTC_ERR_NOMEM;
    }
    struct ftc_matching_output *place = &m->queue[(m->first + m->count++) % m->room];
    *place = *output;
    ftc_buffer_ref(place->value.buffer);
    return FTC_SUCCESS;
}

int ftc_matching_put(struct ftc_matching *m, struct ftc_matching_peer *peer, int to,
                     struct ftc_matching_message *message, const struct ftc_value *value)
{
    bool urgent = message->what != FTC_MATCHING_EAGER && message->what != FTC_MATCHING_CREDIT;

    if (peer->failure != 0)
        return FTC_SUCCESS;
    message->taken = peer->taken;
    peer->told = peer->taken;
    struct ftc_buffer *head = encode(m, message);
    if (head == NULL)
        return FTC_ERR_NOMEM;
    if (to == m->set.self)
        return put_own(m, head);
    struct ftc_matching_output output = {.to = to, .head = head, .urgent = urgent};
    if (value != NULL)
        output.value = *value;
    return put(m, &output);
}

int ftc_matching_say(struct ftc_matching *m, struct ftc_matching_peer *peer, int to,
                     enum ftc_matching_what what, uint64_t number)
{
    struct ftc_matching_message message = {.what = what, .number = number};

    return ftc_matching_put(m, peer, to, &message, NULL);
}

bool ftc_matching_next_output(struct ftc_matching *m, struct ftc_matching_output *output)
{
    give_head(m, m->current.head);
    ftc_buffer_unref(m->current.value.buffer);
    m->current = (struct ftc_matching_output){0};
    if (m->count == 0)
        return false;
    m->current = m->queue[m->first];
    m->first = (m->first + 1) % m->room;
    m->count--;
    *output = m->current;
    return true;
}

/* --- in --- */

static bool is_sound(const struct ftc_matching *m, const struct ftc_matching_message *message,
                     size_t rest)
{
    if (message->what != FTC_MATCHING_EAGER && message->what != FTC_MATCHING_DATA && rest != 0)
        return false;
    if (message->what == FTC_MATCHING_EAGER && rest > m->set.eager)
        return false;
    return message->tag <= INT_MAX && message->size <= SIZE_MAX / 2;
}

bool ftc_matching_decode(const struct ftc_matching *m, const struct ftc_buffer *buffer,
                         struct ftc_matching_message *message)
{
    struct ftc_reader reader = {.data = buffer->data, .size = buffer->size};
    uint64_t communicator;
    uint16_t own;
    int kind;

    *message = (struct ftc_matching_message){0};
    if (!ftc_frame_read(&reader, &kind, &own, &communicator) || kind != FTC_FRAME_POINT_TO_POINT ||
        communicator != m->set.communicator || (own & 0xff) >= FTC_MATCHING_WHATS)
        return false;
    message->what = (enum ftc_matching_what)(own & 0xff);
    message->context = (uint8_t)(own >> 8);
    message->tag = ftc_read_u32(&reader);
    message->number = ftc_read_u64(&reader);
    message->taken = ftc_read_u64(&reader);
    if (fixed_size(message->what) > HEAD)
        message->size = ftc_read_u64(&reader);
    if (message->what == FTC_MATCHING_READY) {
        message->address = ftc_read_u64(&reader);
        message->mark_address = ftc_read_u64(&reader);
        message->mark = ftc_read_u64(&reader);
    }
    if (message->what == FTC_MATCHING_DATA)
        ftc_read_align(&reader, FTC_VALUE_ALIGNMENT);
    if (reader.failed || !is_sound(m, message, reader.size - reader.used))
        return false;
    message->bytes = reader.data + reader.used;
    message->length = reader.size - reader.used;
    return true;
}
