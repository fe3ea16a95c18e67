/*
 * Reading from a link. The bytes go into the buffer of their message. Whole messages wait in the
 * peer's inbox. When the inbox is full, the link is left alone, and TCP holds the sender back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/error.h"
#include "transport/tcp/internal.h"

/* --- headers --- */

static int out_of_memory(const struct ftc_tcp_peer *peer, const struct ftc_tcp_header *header)
{
    return ftc_error_set(FTC_ERR_NOMEM, "out of memory for a message of %llu bytes from rank %d",
                         (unsigned long long)(header->head + header->value), peer->rank);
}

static int begin_message(const struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                         const struct ftc_tcp_header *header)
{
    struct ftc_tcp_arrival *coming = calloc(1, sizeof(*coming));
    if (coming != NULL)
        coming->message =
            ftc_value_take_message(tcp->pool, (size_t)header->head, (size_t)header->value);
    if (coming == NULL || coming->message == NULL) {
        free(coming);
        return out_of_memory(peer, header);
    }
    peer->coming = coming;
    peer->header = *header;
    peer->used = 0;
    return FTC_SUCCESS;
}

/* The header of the next message: a new one, or the rest of one that an earlier connection
 * began. */
static int take_message_header(const struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                               const struct ftc_tcp_header *header)
{
    bool rest = peer->coming != NULL;
    if (header->sequence != peer->expected || header->offset != (rest ? peer->used : 0) ||
        (rest && (header->head != peer->header.head || header->value != peer->header.value)))
        return ftc_error_set(
            FTC_ERR_PROTO, "rank %d sent message %llu at byte %llu where %llu was expected",
            peer->rank, (unsigned long long)header->sequence, (unsigned long long)header->offset,
            (unsigned long long)peer->expected);
    int rc = rest ? FTC_SUCCESS : begin_message(tcp, peer, header);
    if (rc == 0)
        peer->link->payload = true;
    return rc;
}

/* Take a header from the buffer. 1: one was taken; 0: it is not complete yet; or an error. */
static int take_header(const struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    struct ftc_tcp_connection *link = peer->link;
    struct ftc_tcp_header header;
    if (link->end - link->begin < FTC_TCP_HEADER_SIZE)
        return 0;
    int rc = ftc_tcp_header_decode(&header, link->buffer + link->begin);
    if (rc != 0)
        return rc;
    link->begin += FTC_TCP_HEADER_SIZE;
    const struct ftc_tcp_message *waited = peer->out.first;
    if (!ftc_tcp_queue_acknowledge(&peer->out, header.expected))
        return ftc_error_set(FTC_ERR_PROTO,
                             "rank %d acknowledges messages up to %llu, which were not sent",
                             peer->rank, (unsigned long long)header.expected);
    if (peer->out.first != waited)
        ftc_tcp_got_through(peer);
    if ((header.flags & FTC_TCP_MESSAGE) != 0)
        rc = take_message_header(tcp, peer, &header);
    return rc != 0 ? rc : 1;
}

/* --- payload --- */

/* Where the next bytes go, and how many belong there: first those of the head, then those of the
 * value behind the padding. */
static struct iovec next_place(const struct ftc_tcp_peer *peer)
{
    size_t head = (size_t)peer->header.head, value = (size_t)peer->header.value,
           used = (size_t)peer->used;
    unsigned char *data = peer->coming->message->data;
    if (used < head)
        return (struct iovec){data + used, head - used};
    return (struct iovec){data + (value > 0 ? ftc_value_offset(head) : head) + (used - head),
                          value - (used - head)};
}

static void deliver(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    struct ftc_tcp_arrival *arrival = peer->coming;
    uint64_t frame = FTC_TCP_HEADER_SIZE + peer->header.head + peer->header.value;
    peer->coming = NULL;
    peer->link->payload = false;
    peer->link->frame = frame < FTC_TCP_READ_SIZE ? (size_t)frame : FTC_TCP_READ_SIZE;
    if (peer->inbox != NULL)
        peer->inbox_last->next = arrival;
    else
        peer->inbox = arrival;
    peer->inbox_last = arrival;
    peer->inbox_size += arrival->message->size + sizeof(*arrival);
    peer->expected++;
    peer->quiet_messages++;
    peer->quiet_bytes += arrival->message->size;
    if (peer->acknowledge_at == 0 && !peer->closed) {
        peer->acknowledge_at =
            tcp->now + (tcp->setup.acknowledge_ms > 0 ? tcp->setup.acknowledge_ms * FTC_NS_PER_MS
                                                      : FTC_TCP_ACK_NS);
        ftc_tcp_time(tcp, peer);
    }
    ftc_tcp_activate(tcp, peer);
}

/* 1: the message is complete; 0: more has to come. */
static int take_payload(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    struct ftc_tcp_connection *link = peer->link;
    for (;;) {
        struct iovec place = next_place(peer);
        size_t there = link->end - link->begin,
               step = there < place.iov_len ? there : place.iov_len;
        if (place.iov_len == 0) {
            deliver(tcp, peer);
            return 1;
        }
        if (step == 0)
            return 0;
        memcpy(place.iov_base, link->buffer + link->begin, step);
        link->begin += step;
        peer->used += step;
    }
}

/* --- the socket --- */

/* Read behind what is in the buffer: at most `most` bytes if a frame begins there. Payload goes
 * straight to its place. As read(2). *all: this was all that there was. */
static ssize_t fill(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, size_t most, bool *all)
{
    struct ftc_tcp_connection *link = peer->link;
    struct iovec places[2] = {{0}};
    memmove(link->buffer, link->buffer + link->begin,
            link->end - link->begin); /* less than a header is left */
    link->end -= link->begin;
    link->begin = 0;
    size_t room = FTC_TCP_READ_SIZE - link->end;
    if (link->payload)
        places[0] = next_place(peer);
    else if (link->end == 0 && most < room)
        room = most;
    places[1] = (struct iovec){link->buffer + link->end, room};
    ssize_t got = tcp->wire->receive(tcp, peer, places, 2);
    if (got <= 0)
        return got;
    /* A queue pair tells only in one more call that it has ended. */
    *all = link->sealed != NULL
               ? ftc_tcp_sealed_emptied(link)
               : tcp->wire->poll == NULL && (size_t)got < places[0].iov_len + places[1].iov_len;
    size_t straight = (size_t)got < places[0].iov_len ? (size_t)got : places[0].iov_len;
    peer->used += straight;
    link->end += (size_t)got - straight;
    return got;
}

/* Is there nothing more to read? True: the link has no more bytes (EAGAIN), or it has ended and is
 * lost now. False: read on. */
static bool dry(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, ssize_t got)
{
    if (got > 0 || (got < 0 && errno == EINTR))
        return false;
    if (got == 0)
        ftc_tcp_link_lost(tcp, peer, "it ended it");
    else if (errno != EAGAIN)
        ftc_tcp_link_lost(tcp, peer, strerror(errno));
    else if (peer->closed)
        ftc_tcp_link_lost(tcp, peer, "closed");
    return true;
}

static void failed(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, int rc)
{
    if (rc == FTC_ERR_PROTO)
        ftc_tcp_damage(tcp, peer);
    else /* a new connection sends the message again, when there may be memory */
        ftc_tcp_link_lost(tcp, peer, ftc_last_error());
}

/* A message has come, and nothing of the next one has been read. */
static bool between_messages(const struct ftc_tcp_peer *peer)
{
    return peer->inbox != NULL && !peer->link->payload && peer->link->begin == peer->link->end;
}

/* Has more of a sealed link been read than was looked at? No descriptor tells of it. */
static bool holds(const struct ftc_tcp_connection *link)
{
    return link->sealed != NULL && ftc_tcp_sealed_holds(link);
}

size_t ftc_tcp_read_link(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, size_t most)
{
    bool limited = most < FTC_TCP_READ_SIZE;
    size_t bytes = 0;
    /* A socket that gave less than it was asked for is empty. So no further call is made to learn
     * that. A closed peer is read to its end at once. */
    bool all = false;
    while (peer->link != NULL && peer->inbox_size < FTC_TCP_INBOX_MAX) {
        int rc = peer->link->payload ? take_payload(tcp, peer) : take_header(tcp, peer);
        if (rc < 0) {
            failed(tcp, peer, rc);
        } else if (rc == 0) {
            bool enough = bytes >= FTC_TCP_TURN_MAX || all || (limited && between_messages(peer));
            if (enough && !peer->closed && !holds(peer->link))
                break;
            ssize_t got = fill(tcp, peer, most, &all);
            if (dry(tcp, peer, got))
                break;
            bytes += got > 0 ? (size_t)got : 0;
        }
    }
    return bytes;
}

void ftc_tcp_read_rest(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    while (peer->link != NULL && ftc_tcp_read_link(tcp, peer, FTC_TCP_READ_SIZE) > 0)
        ;
}
