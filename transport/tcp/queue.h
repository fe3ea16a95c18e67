/* The messages to one peer, from send() until the peer has acknowledged them, and what a new
 * connection must send again. No I/O. */
#ifndef FTC_TRANSPORT_TCP_QUEUE_H
#define FTC_TRANSPORT_TCP_QUEUE_H

#include <stdbool.h>
#include <sys/uio.h>

#include "base/value.h"
#include "transport/tcp/frame.h"

struct ftc_tcp_message {
    struct ftc_tcp_message *next;
    uint64_t sequence;
    struct ftc_buffer *head;
    struct ftc_value value;
    /* Bytes of head and value that were sent on this connection, or had come on earlier ones. */
    uint64_t sent;
    size_t header_sent;
    unsigned char header[FTC_TCP_HEADER_SIZE]; /* does not change once its first byte is sent */
};

struct ftc_tcp_queue {
    struct ftc_tcp_message *first, *last; /* the messages that are not acknowledged */
    struct ftc_tcp_message *unsent;       /* the first that is not sent completely; NULL: none */
    uint64_t next_sequence;
};

/* Takes its own references to head and value. False: out of memory. */
bool ftc_tcp_queue_append(struct ftc_tcp_queue *queue, struct ftc_buffer *head,
                          const struct ftc_value *value);

/* The peer has all messages below `expected`. False: it cannot have them, since they were not
 * sent. */
bool ftc_tcp_queue_acknowledge(struct ftc_tcp_queue *queue, uint64_t expected);

/* Start on a new connection. The peer has all messages below `expected`, and `offset` bytes of
 * message `expected`. What it does not have is to be sent again. False: this cannot be so. */
bool ftc_tcp_queue_resume(struct ftc_tcp_queue *queue, uint64_t expected, uint64_t offset);

/* Is a message sent in part? Then nothing may be sent before the rest of it. */
bool ftc_tcp_queue_amid(const struct ftc_tcp_queue *queue);

/* The next bytes to send, in at most `most` pieces (at least 3). Gives the number of pieces. New
 * headers acknowledge all messages below `expected`. */
int ftc_tcp_queue_gather(struct ftc_tcp_queue *queue, struct iovec *pieces, int most,
                         uint64_t expected);
/* This many of the gathered bytes were sent. */
void ftc_tcp_queue_advance(struct ftc_tcp_queue *queue, size_t bytes);

void ftc_tcp_queue_drop(struct ftc_tcp_queue *queue);

#endif
