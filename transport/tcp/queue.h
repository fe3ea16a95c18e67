/* Messages to one peer, from send() until it has acknowledged them; what a new connection sends
 * again. No I/O. */
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
    uint64_t
        sent; /* bytes of head and value that went out on this connection, or had come on earlier ones */
    size_t header_sent;
    unsigned char header[FTC_TCP_HEADER_SIZE]; /* fixed once its first byte is out */
};

struct ftc_tcp_queue {
    struct ftc_tcp_message *first, *last; /* not acknowledged */
    struct ftc_tcp_message *unsent;       /* the first that is not out entirely; NULL: none */
    uint64_t next_sequence;
};

/* False: out of memory. Takes references of its own. */
bool ftc_tcp_queue_append(struct ftc_tcp_queue *queue, struct ftc_buffer *head,
                          const struct ftc_value *value);

/* The peer has all messages below `expected`. False: it cannot have. */
bool ftc_tcp_queue_acknowledge(struct ftc_tcp_queue *queue, uint64_t expected);

/* A new connection: the peer has all messages below `expected` and `offset` bytes of that one. What
 * it does not have is unsent again. False: it cannot be so. */
bool ftc_tcp_queue_resume(struct ftc_tcp_queue *queue, uint64_t expected, uint64_t offset);

/* Is a message out in part? Then nothing may come between. */
bool ftc_tcp_queue_amid(const struct ftc_tcp_queue *queue);

/* The next bytes to send, at most `most` pieces (at least 3); how many pieces. New headers
 * acknowledge `expected`. */
int ftc_tcp_queue_gather(struct ftc_tcp_queue *queue, struct iovec *pieces, int most,
                         uint64_t expected);
/* So many of the gathered bytes went out. */
void ftc_tcp_queue_advance(struct ftc_tcp_queue *queue, size_t bytes);

void ftc_tcp_queue_drop(struct ftc_tcp_queue *queue);

#endif
