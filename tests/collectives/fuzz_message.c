/* Fuzzes the decoder of messages of the agreement core with arbitrary bytes. It must refuse them,
 * or read a message that can be written again without loss. */
#include <stdlib.h>
#include <string.h>

#include "collectives/message.h"
#include "include/ftcoll.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static struct ftc_buffer *joined(const void *head, size_t head_size, const void *value,
                                 size_t value_size)
{
    struct ftc_buffer *buffer = ftc_value_new_message(head_size, value_size);

    require(buffer != NULL);
    if (head_size > 0)
        memcpy(buffer->data, head, head_size);
    if (value_size > 0)
        memcpy(buffer->data + ftc_value_offset(head_size), value, value_size);
    return buffer;
}

/* An accepted message is written and read again. It must be the same message. */
static void round_trip(const struct ftc_message *message, int ranks, enum ftc_scheme scheme)
{
    struct ftc_message again = {0};
    struct ftc_buffer *head = ftc_message_encode(message, scheme);
    const struct ftc_value *value = ftc_message_value(message);
    bool has_value = value != NULL && value->buffer != NULL;

    require(head != NULL && ftc_message_init(&again, ranks) == FTC_SUCCESS);
    struct ftc_buffer *both =
        joined(head->data, head->size, has_value ? ftc_value_bytes(value) : NULL,
               has_value ? value->size : 0);
    require(ftc_message_decode(&again, both, ranks, scheme) == FTC_SUCCESS);
    require(again.kind == message->kind && again.op == message->op);
    require(ftc_ballot_compare(again.ballot, message->ballot) == 0 &&
            ftc_epoch_equal(again.epoch, message->epoch));
    require(again.has_participants == message->has_participants);
    require(!again.has_participants || ftc_set_equal(&again.participants, &message->participants));
    require((again.contribution.decision != NULL) == (message->contribution.decision != NULL));
    ftc_message_fini(&again);
    ftc_buffer_unref(both);
    ftc_buffer_unref(head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ftc_message message = {0};
    struct ftc_message_head head;

    if (size < 2)
        return 0;
    int ranks = 1 + data[0] % 130;
    enum ftc_scheme scheme = (enum ftc_scheme)(data[1] % 3);
    struct ftc_buffer *buffer = joined(data + 2, size - 2, NULL, 0);

    require(ftc_message_init(&message, ranks) == FTC_SUCCESS);
    int rc = ftc_message_decode(&message, buffer, ranks, scheme);
    require(rc == FTC_SUCCESS || rc == FTC_ERR_PROTO);
    int peeked = ftc_message_peek(buffer, &head);
    if (rc == FTC_SUCCESS) {
        require(peeked == FTC_SUCCESS && head.kind == message.kind && head.op == message.op);
        round_trip(&message, ranks, scheme);
    } else {
        require(message.contribution.decision == NULL && message.contribution.value.buffer == NULL);
    }
    ftc_message_fini(&message);
    require(buffer->references == 1);
    ftc_buffer_unref(buffer);
    return 0;
}
