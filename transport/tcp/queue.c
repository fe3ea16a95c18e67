/* The messages to one peer. */
#include "transport/tcp/queue.h"

#include <stdlib.h>

static uint64_t total(const struct ftc_tcp_message *message)
{
    return message->head->size + message->value.size;
}

bool ftc_tcp_queue_append(struct ftc_tcp_queue *queue, struct ftc_buffer *head,
                          const struct ftc_value *value)
{
    struct ftc_tcp_message *message = calloc(1, sizeof(*message));
    if (message == NULL)
        return false;
    message->sequence = queue->next_sequence++;
    message->head = ftc_buffer_ref(head);
    if (value != NULL && value->size > 0)
        ftc_value_set(&message->value, value);
    if (queue->last != NULL)
        queue->last->next = message;
    else
        queue->first = message;
    queue->last = message;
    if (queue->unsent == NULL)
        queue->unsent = message;
    return true;
}

static void drop_first(struct ftc_tcp_queue *queue)
{
    struct ftc_tcp_message *message = queue->first;
    queue->first = message->next;
    if (queue->first == NULL)
        queue->last = NULL;
    if (queue->unsent == message)
        queue->unsent = message->next;
    ftc_buffer_unref(message->head);
    ftc_value_drop(&message->value);
    free(message);
}

static void drop_below(struct ftc_tcp_queue *queue, uint64_t expected)
{
    while (queue->first != NULL && queue->first->sequence < expected)
        drop_first(queue);
}

static uint64_t first_sequence(const struct ftc_tcp_queue *queue)
{
    return queue->first != NULL ? queue->first->sequence : queue->next_sequence;
}

bool ftc_tcp_queue_acknowledge(struct ftc_tcp_queue *queue, uint64_t expected)
{
    /* A lower number than before is no damage: a header keeps the acknowledgement that it was made
     * with. */
    if (expected > (queue->unsent != NULL ? queue->unsent->sequence : queue->next_sequence))
        return false;
    drop_below(queue, expected);
    return true;
}

bool ftc_tcp_queue_resume(struct ftc_tcp_queue *queue, uint64_t expected, uint64_t offset)
{
    if (expected < first_sequence(queue) || expected > queue->next_sequence)
        return false;
    drop_below(queue, expected);
    for (struct ftc_tcp_message *message = queue->first; message != NULL; message = message->next) {
        message->sent = 0;
        message->header_sent = 0;
    }
    queue->unsent = queue->first;
    if (queue->first == NULL || offset >= total(queue->first))
        return offset == 0;
    queue->first->sent = offset;
    return true;
}

bool ftc_tcp_queue_amid(const struct ftc_tcp_queue *queue)
{
    return queue->unsent != NULL && queue->unsent->header_sent > 0;
}

static void make_header(struct ftc_tcp_message *message, uint64_t expected)
{
    struct ftc_tcp_header header = {.flags = FTC_TCP_MESSAGE,
                                    .sequence = message->sequence,
                                    .expected = expected,
                                    .head = message->head->size,
                                    .value = message->value.size,
                                    .offset = message->sent};
    ftc_tcp_header_encode(message->header, &header);
}

static int add_piece(struct iovec *pieces, int count, void *bytes, size_t size)
{
    if (size > 0)
        pieces[count++] = (struct iovec){bytes, size};
    return count;
}

static int gather_one(struct ftc_tcp_message *message, struct iovec *pieces, int count)
{
    size_t head = message->head->size, sent = (size_t)message->sent;
    size_t of_head = sent < head ? sent : head, of_value = sent - of_head;
    count = add_piece(pieces, count, message->header + message->header_sent,
                      FTC_TCP_HEADER_SIZE - message->header_sent);
    count = add_piece(pieces, count, message->head->data + of_head, head - of_head);
    if (message->value.size > of_value)
        count = add_piece(pieces, count, ftc_value_bytes(&message->value) + of_value,
                          message->value.size - of_value);
    return count;
}

int ftc_tcp_queue_gather(struct ftc_tcp_queue *queue, struct iovec *pieces, int most,
                         uint64_t expected)
{
    int count = 0;
    for (struct ftc_tcp_message *message = queue->unsent; message != NULL && count + 3 <= most;
         message = message->next) {
        if (message->header_sent == 0)
            make_header(message, expected);
        count = gather_one(message, pieces, count);
    }
    return count;
}

/* Count up to `bytes` as sent, in one message. Gives how many are left for the next messages. */
static size_t advance_one(struct ftc_tcp_message *message, size_t bytes)
{
    size_t header = FTC_TCP_HEADER_SIZE - message->header_sent;
    size_t step = bytes < header ? bytes : header;
    uint64_t payload = total(message) - message->sent;
    message->header_sent += step;
    bytes -= step;
    step = bytes < payload ? bytes : (size_t)payload;
    message->sent += step;
    return bytes - step;
}

void ftc_tcp_queue_advance(struct ftc_tcp_queue *queue, size_t bytes)
{
    while (bytes > 0 && queue->unsent != NULL) {
        struct ftc_tcp_message *message = queue->unsent;
        bytes = advance_one(message, bytes);
        if (message->header_sent == FTC_TCP_HEADER_SIZE && message->sent == total(message))
            queue->unsent = message->next;
    }
}

void ftc_tcp_queue_drop(struct ftc_tcp_queue *queue)
{
    while (queue->first != NULL)
        drop_first(queue);
}
