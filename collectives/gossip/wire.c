/* Messages of gossip aggregation on the wire. */
#include "collectives/gossip/wire.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/value.h"
#include "base/wire.h"
#include "collectives/frame.h"
#include "collectives/message.h"
#include "collectives/mutation.h"

/* Differs from FTC_FRAME_VERSION in two bits, so that no flip turns one into the other. */
#define GOSSIP_VERSION 12
#define CHECKSUM_AT    40 /* the letter's head comes after it */
/* Otherwise 0. No flip turns one into the other, so `turns` is right in a damaged head, too. */
#define IN_TURNS 0xff

_Static_assert(((GOSSIP_VERSION ^ FTC_FRAME_VERSION) &
                ((GOSSIP_VERSION ^ FTC_FRAME_VERSION) - 1)) != 0,
               "more than one bit");

_Static_assert(FTC_GOSSIP_HEAD % FTC_VALUE_ALIGNMENT == 0, "what follows does so without padding");
_Static_assert(FTC_GOSSIP_HEAD == CHECKSUM_AT + 8 + FTC_GOSSIP_LETTER_HEAD, "see gossip/wire.h");

static uint64_t checksum_of(const unsigned char *head)
{
    uint64_t own = XXH3_64bits(head, CHECKSUM_AT);

    return XXH3_64bits_withSeed(head + CHECKSUM_AT + 8, FTC_GOSSIP_LETTER_HEAD, own);
}

struct ftc_buffer *ftc_gossip_head_encode(const struct ftc_gossip_head *head, const void *letter)
{
    struct ftc_buffer *buffer = ftc_buffer_new(FTC_GOSSIP_HEAD);
    struct ftc_writer writer = {.size = FTC_GOSSIP_HEAD};

    if (buffer == NULL)
        return NULL;
    memcpy(buffer->data + CHECKSUM_AT + 8, letter, FTC_GOSSIP_LETTER_HEAD);
    writer.data = buffer->data;
    ftc_write_u8(&writer, GOSSIP_VERSION);
    ftc_write_u8(&writer, FTC_MESSAGE_GOSSIP);
    ftc_write_u8(&writer, head->algorithm);
    ftc_write_u8(&writer, head->neighbourhood);
    ftc_write_u64(&writer, head->communicator);
    ftc_write_u8(&writer, head->turns != 0 ? IN_TURNS : 0);
    ftc_write_u8(&writer, head->operator_code);
    ftc_write_align(&writer, 8);
    ftc_write_u64(&writer, head->op);
    ftc_write_u64(&writer, head->count);
    ftc_write_u64(&writer, 0);
    ftc_write_u64(&writer, checksum_of(buffer->data));
    assert(!writer.failed);
    return buffer;
}

/* One bit in either byte may have turned over. */
bool ftc_gossip_is_message(const struct ftc_buffer *buffer)
{
    return buffer->size >= 2 &&
           (buffer->data[0] == GOSSIP_VERSION ||
            (buffer->data[1] == FTC_MESSAGE_GOSSIP && buffer->data[0] != FTC_FRAME_VERSION));
}

int ftc_gossip_head_decode(const struct ftc_buffer *buffer, struct ftc_gossip_head *head,
                           const unsigned char **letter, size_t *size)
{
    struct ftc_reader reader = {.data = buffer->data, .size = buffer->size};

    if (buffer->size < FTC_GOSSIP_HEAD)
        return ftc_error_set(FTC_ERR_PROTO, "%zu bytes are no message of gossip", buffer->size);
    bool sound = ftc_read_u8(&reader) == GOSSIP_VERSION;
    sound &= ftc_read_u8(&reader) == FTC_MESSAGE_GOSSIP;
    head->algorithm = ftc_read_u8(&reader);
    head->neighbourhood = ftc_read_u8(&reader);
    head->communicator = ftc_read_u64(&reader);
    unsigned turns = ftc_read_u8(&reader);
    head->turns = __builtin_popcount(turns) > 4;
    head->operator_code = ftc_read_u8(&reader);
    sound &= ftc_read_u16(&reader) == 0 && (turns == 0 || turns == IN_TURNS);
    head->op = ftc_read_u64(&reader);
    head->count = ftc_read_u64(&reader);
    sound &= ftc_read_u64(&reader) == 0;
    if (ftc_read_u64(&reader) != checksum_of(buffer->data) && !FTC_MUTATED(GOSSIP_HEAD_UNCHECKED))
        return FTC_ERR_CORRUPT;
    if (!sound)
        return ftc_error_set(FTC_ERR_PROTO, "%zu bytes are no message of gossip", buffer->size);
    *letter = reader.data + reader.used;
    *size = reader.size - reader.used;
    return FTC_SUCCESS;
}

bool ftc_gossip_head_equal(const struct ftc_gossip_head *a, const struct ftc_gossip_head *b)
{
    return a->op == b->op && a->count == b->count && a->algorithm == b->algorithm &&
           a->neighbourhood == b->neighbourhood && a->turns == b->turns &&
           a->operator_code == b->operator_code;
}
