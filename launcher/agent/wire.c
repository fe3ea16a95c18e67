/* A message is kind u8, rank u32, value u32, number u32, cause u32, seen_by u32, took u64.
 * The rest is `bytes`. All kinds have this one shape, since agents send few messages. */
#include "launcher/agent/wire.h"

#include <string.h>

#include "base/error.h"
#include "base/wire.h"
#include "launcher/counters.h"

#define HEAD_BYTES 29u

struct ftc_buffer *ftc_agent_encode(const struct ftc_agent_message *message)
{
    struct ftc_buffer *buffer = ftc_buffer_new(HEAD_BYTES + message->size);

    if (buffer == NULL)
        return NULL;
    struct ftc_writer w = {.data = buffer->data, .size = buffer->size};
    ftc_write_u8(&w, (uint8_t)message->kind);
    ftc_write_u32(&w, (uint32_t)message->rank);
    ftc_write_u32(&w, (uint32_t)message->value);
    ftc_write_u32(&w, message->number);
    ftc_write_u32(&w, (uint32_t)message->cause);
    ftc_write_u32(&w, (uint32_t)message->seen_by);
    ftc_write_u64(&w, message->took_ns);
    ftc_write_bytes(&w, message->bytes, message->size);
    return buffer;
}

bool ftc_agent_is_news(enum ftc_agent_kind kind)
{
    return kind == FTC_AGENT_JOINED || kind == FTC_AGENT_MARKED || kind == FTC_AGENT_ENDED ||
           kind == FTC_AGENT_FAILED || kind == FTC_AGENT_LOST;
}

static bool has_rank(enum ftc_agent_kind kind)
{
    return ftc_agent_is_news(kind) || kind == FTC_AGENT_ACCUSED;
}

static bool fits(enum ftc_agent_kind kind, size_t rest)
{
    switch (kind) {
    case FTC_AGENT_LEASE:
    case FTC_AGENT_ACTIVITY:
    case FTC_AGENT_VECTOR:
        return rest > 0;
    case FTC_AGENT_JOINED:
        return rest < FTC_ENDPOINT_SIZE;
    case FTC_AGENT_ENDED:
        return rest <= FTC_COUNTERS_PACKED;
    default:
        return rest == 0;
    }
}

static bool sound(const struct ftc_agent_message *m, int ranks)
{
    if (m->kind >= FTC_AGENT_KINDS || !fits(m->kind, m->size))
        return false;
    if (has_rank(m->kind) && (m->rank < 0 || m->rank >= ranks))
        return false;
    if (ftc_agent_is_news(m->kind) && m->number == 0)
        return false;
    if (m->kind == FTC_AGENT_ACCUSED)
        return m->value >= 0 && m->value < ranks;
    if (m->kind == FTC_AGENT_END)
        return m->value >= 0 && m->value <= 255;
    return m->kind != FTC_AGENT_FAILED || (m->cause < FTC_CAUSES && m->cause != FTC_CAUSE_NONE &&
                                           m->seen_by >= -1 && m->seen_by < ranks);
}

int ftc_agent_decode(struct ftc_agent_message *message, const struct ftc_buffer *buffer, int ranks)
{
    struct ftc_reader r = {.data = buffer->data, .size = buffer->size};

    *message = (struct ftc_agent_message){.kind = (enum ftc_agent_kind)ftc_read_u8(&r)};
    message->rank = (int)ftc_read_u32(&r);
    message->value = (int)ftc_read_u32(&r);
    message->number = ftc_read_u32(&r);
    message->cause = (enum ftc_failure_cause)ftc_read_u32(&r);
    message->seen_by = (int)ftc_read_u32(&r);
    message->took_ns = ftc_read_u64(&r);
    if (!r.failed) {
        message->size = r.size - r.used;
        message->bytes = r.data + r.used;
    }
    if (r.failed || !sound(message, ranks))
        return ftc_error_set(FTC_ERR_PROTO,
                             "a malformed message of %zu bytes, kind %d, between agents",
                             buffer->size, (int)message->kind);
    return FTC_SUCCESS;
}
