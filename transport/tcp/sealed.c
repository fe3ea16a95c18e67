/*
 * The wire of sealed links: a socket that carries records (docs/design/tcp.md, "Seal"). What is
 * above it sees the bytes inside, and counts none before the tag of their record was checked.
 */
#include "transport/tcp/sealed.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "transport/tcp/internal.h"
#include "transport/tcp/seal.h"

/* Content of a record that goes through a buffer at the other end, at most (rule S4). */
#define MIXED_MAX   ((size_t)FTC_TCP_READ_SIZE)
#define BUFFER_SIZE (MIXED_MAX + FTC_SEAL_OVERHEAD)
/* Content of a record while a break would cost more than it. */
#define SHORT_MAX ((size_t)FTC_SEAL_ENCRYPTED_MAX)
#define PROBES    8 /* in the time in which a record must be whole */

/* Bytes of a buffer that are still needed. */
struct span {
    size_t begin, end;
};

/* A record whose content is not in a buffer of the link. */
struct apart {
    size_t content; /* its bytes; 0: there is no such record */
    size_t done;    /* bytes of the record that were sent, or of the content that are here */
    unsigned char length[FTC_SEAL_LENGTH_SIZE], tag[FTC_SEAL_TAG_SIZE]; /* only if it is sent */
};

struct ftc_tcp_sealed {
    struct ftc_seal out, in;
    struct span output;    /* sealed, but not in the kernel yet */
    struct apart lent;     /* a record of a message's bytes, which are sent from where they lie */
    uint64_t carried;      /* bytes of content that went out */
    struct span input;     /* read, but not opened yet */
    struct apart borrowed; /* a record that is read to where its content belongs */
    struct span content;   /* of the record that was opened last: not handed out yet */
    bool emptied;          /* the last read gave less than it asked for */
    uint64_t probe_at;     /* when to send a record for nothing else */
    uint64_t partial_by;   /* when a part of a record must be whole; 0: there is no part */
    unsigned char input_bytes[BUFFER_SIZE],
        output_bytes[FTC_SEAL_ENCRYPTED_MAX + FTC_SEAL_OVERHEAD];
};

/* --- life --- */

bool ftc_tcp_sealed_start(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection)
{
    unsigned char key[FTC_TCP_PROOF_SIZE];
    struct ftc_tcp_hello hello;
    struct ftc_tcp_sealed *sealed = malloc(sizeof(*sealed)); /* calloc() would touch all pages */
    if (sealed == NULL)
        return false;
    memset(sealed, 0, offsetof(struct ftc_tcp_sealed, input_bytes));
    (void)ftc_tcp_hello_decode(&hello, connection->hello);
    bool connector = hello.sender == (uint32_t)tcp->self;
    ftc_tcp_seal_key(key, connector, connection->hello, connection->answer, &tcp->secret);
    ftc_seal_start(&sealed->out, tcp->setup.seal, key);
    ftc_tcp_seal_key(key, !connector, connection->hello, connection->answer, &tcp->secret);
    ftc_seal_start(&sealed->in, tcp->setup.seal, key);
    explicit_bzero(key, sizeof(key));
    connection->sealed = sealed;
    return true;
}

void ftc_tcp_sealed_end(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection)
{
    (void)tcp;
    if (connection->sealed == NULL)
        return;
    ftc_seal_erase(&connection->sealed->out);
    ftc_seal_erase(&connection->sealed->in);
    free(connection->sealed);
    connection->sealed = NULL;
}

static uint64_t timeout_ns(const struct ftc_tcp *tcp)
{
    return tcp->setup.user_timeout_ms > 0 ? tcp->setup.user_timeout_ms * FTC_NS_PER_MS
                                          : FTC_TCP_USER_TIMEOUT_NS;
}

/* --- sending --- */

bool ftc_tcp_sealed_waits(const struct ftc_tcp_connection *link)
{
    return link->sealed->output.begin < link->sealed->output.end || link->sealed->lent.content > 0;
}

static int flags(bool more)
{
    return MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0);
}

/* Write the sealed bytes. `more`: others follow at once. False: some are left, and errno says
 * why. */
static bool push(struct ftc_tcp_connection *link, bool more)
{
    struct ftc_tcp_sealed *sealed = link->sealed;
    size_t size = sealed->output.end - sealed->output.begin;
    if (size == 0)
        return true;
    ssize_t sent = send(link->fd, sealed->output_bytes + sealed->output.begin, size, flags(more));
    if (sent < 0)
        return false;
    sealed->output.begin += (size_t)sent;
    errno = EAGAIN;
    return (size_t)sent == size;
}

/* Bytes of the content that are done. */
static size_t content_done(const struct apart *record)
{
    size_t done = record->done > FTC_SEAL_LENGTH_SIZE ? record->done - FTC_SEAL_LENGTH_SIZE : 0;
    return done < record->content ? done : record->content;
}

static size_t smaller(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* On a new connection records are short, since a break loses the record that is under way. A link
 * that has carried the bytes of a long one takes long ones: each record is a send and a read. */
static size_t large_most(const struct ftc_tcp_sealed *sealed)
{
    return sealed->carried < FTC_SEAL_CONTENT_MAX ? SHORT_MAX
                                                  : ftc_seal_content_max(sealed->out.kind);
}

/* The bytes of the next record. Small pieces go together. A record that begins with a large piece
 * holds nothing else, so that the other end can read it to its place (rule S4). */
static size_t next_content(const struct ftc_tcp_sealed *sealed, const struct iovec *pieces,
                           int count)
{
    size_t size = 0;
    if (pieces[0].iov_len >= MIXED_MAX)
        return smaller(pieces[0].iov_len, large_most(sealed));
    for (int i = 0; i < count && pieces[i].iov_len < MIXED_MAX && size < MIXED_MAX; i++)
        size += pieces[i].iov_len;
    return smaller(size, MIXED_MAX);
}

static bool has_more_than(size_t content, const struct iovec *pieces, int count)
{
    size_t size = 0;
    for (int i = 0; i < count && size <= content; i++)
        size += pieces[i].iov_len;
    return size > content;
}

/* Make the next record. Gives how much of the pieces is in the buffer; 0: the record is lent. */
static size_t make_record(struct ftc_tcp_sealed *sealed, const struct iovec *pieces, int count)
{
    struct apart *lent = &sealed->lent;
    size_t content = next_content(sealed, pieces, count);
    sealed->carried += content;
    if (pieces[0].iov_len < MIXED_MAX || sealed->out.kind == FTC_TCP_SEAL_ENCRYPT) {
        sealed->output.begin = 0;
        sealed->output.end = ftc_seal_close(&sealed->out, sealed->output_bytes, content, pieces);
        return content;
    }
    ftc_seal_close_around(&sealed->out, lent->length, pieces[0].iov_base, content, lent->tag);
    lent->content = content;
    return 0;
}

/* Write the rest of the lent record: the first piece begins with the rest of its content. Gives the
 * bytes of the content that the kernel took, or -1. */
static ssize_t push_lent(struct ftc_tcp_connection *link, const struct iovec *pieces, int count)
{
    struct apart *record = &link->sealed->lent;
    size_t before = content_done(record), left = record->content - before,
           behind = FTC_SEAL_LENGTH_SIZE + record->content,
           of_length = smaller(record->done, FTC_SEAL_LENGTH_SIZE),
           of_tag = record->done > behind ? record->done - behind : 0;
    assert(left == 0 || (count > 0 && pieces[0].iov_len >= left));
    struct iovec parts[] = {{record->length + of_length, FTC_SEAL_LENGTH_SIZE - of_length},
                            {left > 0 ? pieces[0].iov_base : NULL, left},
                            {record->tag + of_tag, FTC_SEAL_TAG_SIZE - of_tag}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
    ssize_t sent = sendmsg(link->fd, &message, flags(has_more_than(left, pieces, count)));
    if (sent < 0)
        return -1;
    record->done += (size_t)sent;
    size_t now = content_done(record);
    if (record->done == behind + FTC_SEAL_TAG_SIZE)
        record->content = record->done = 0;
    return (ssize_t)(now - before);
}

/* Bytes that were taken count as sent: this end sends them again only on a new connection. Those of
 * a lent record are taken by the kernel, all others by the buffer. */
ssize_t ftc_tcp_sealed_send(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                            const struct iovec *pieces, int count)
{
    struct ftc_tcp_connection *link = peer->link;
    struct ftc_tcp_sealed *sealed = link->sealed;
    if (!push(link, count > 0))
        return -1;
    if (sealed->lent.content == 0 && count > 0) {
        sealed->probe_at = tcp->now + timeout_ns(tcp) / PROBES;
        ftc_tcp_time(tcp, peer);
        size_t taken = make_record(sealed, pieces, count);
        if (taken > 0)
            return push(link, has_more_than(taken, pieces, count)) || errno == EAGAIN ||
                           errno == EINTR
                       ? (ssize_t)taken
                       : -1;
    }
    return sealed->lent.content > 0 ? push_lent(link, pieces, count) : 0;
}

/* --- receiving --- */

/* The bytes of the first record in the buffer; SIZE_MAX: its length is not complete; 0: the length
 * is wrong. */
static size_t first_size(const struct ftc_tcp_sealed *sealed)
{
    if (sealed->input.end - sealed->input.begin < FTC_SEAL_LENGTH_SIZE)
        return SIZE_MAX;
    return ftc_seal_size(sealed->in.kind, sealed->input_bytes + sealed->input.begin);
}

static bool has_record(const struct ftc_tcp_sealed *sealed)
{
    return sealed->borrowed.content == 0 && first_size(sealed) != SIZE_MAX &&
           sealed->input.end - sealed->input.begin >= first_size(sealed);
}

/* A record that is too long for the buffer will never be whole there. */
static bool is_to_open(const struct ftc_tcp_sealed *sealed)
{
    size_t size = first_size(sealed);
    return has_record(sealed) ||
           (sealed->borrowed.content == 0 && size != SIZE_MAX && size > BUFFER_SIZE);
}

bool ftc_tcp_sealed_holds(const struct ftc_tcp_connection *link)
{
    return link->sealed->content.begin < link->sealed->content.end || has_record(link->sealed);
}

static bool has_part(const struct ftc_tcp_sealed *sealed)
{
    return sealed->input.begin < sealed->input.end || sealed->borrowed.content > 0;
}

bool ftc_tcp_sealed_emptied(const struct ftc_tcp_connection *link)
{
    return link->sealed->emptied && !ftc_tcp_sealed_holds(link) && !has_part(link->sealed);
}

/* It is not what the other end sent (rule S6). */
static int forged(struct ftc_tcp *tcp, const struct ftc_tcp_peer *peer)
{
    ftc_tcp_note(tcp, FTC_TCP_FORGED,
                 "what came from rank %d was changed on its way; connecting again", peer->rank);
    errno = EBADMSG;
    return -1;
}

/* Open the first record in the buffer. A record that is too long for the buffer does not belong
 * here (rule S4). */
static bool open_record(struct ftc_tcp_sealed *sealed)
{
    size_t begin = sealed->input.begin + FTC_SEAL_LENGTH_SIZE, size = first_size(sealed);
    if (size == 0 || size > BUFFER_SIZE)
        return false;
    size_t content = size - FTC_SEAL_OVERHEAD;
    if (!ftc_seal_open(&sealed->in, sealed->input_bytes + begin, content,
                       sealed->input_bytes + begin + content))
        return false;
    sealed->content = (struct span){begin, begin + content};
    sealed->input.begin += size;
    sealed->partial_by = 0;
    return true;
}

static size_t hand_out(struct ftc_tcp_sealed *sealed, const struct iovec *places, int count)
{
    size_t given = 0;
    for (int i = 0; i < count; i++) {
        size_t step = smaller(sealed->content.end - sealed->content.begin, places[i].iov_len);
        if (step > 0)
            memcpy(places[i].iov_base, sealed->input_bytes + sealed->content.begin, step);
        sealed->content.begin += step;
        given += step;
    }
    return given;
}

/* The first record is not whole yet. If all of its content belongs to this place, borrow the place
 * for it. */
static void borrow(struct ftc_tcp_sealed *sealed, const struct iovec *place)
{
    size_t size = first_size(sealed);
    if (size == SIZE_MAX || size == 0 || size - FTC_SEAL_OVERHEAD > place->iov_len)
        return;
    sealed->input.begin += FTC_SEAL_LENGTH_SIZE;
    size_t content = size - FTC_SEAL_OVERHEAD,
           there = smaller(sealed->input.end - sealed->input.begin, content);
    memcpy(place->iov_base, sealed->input_bytes + sealed->input.begin, there);
    sealed->input.begin += there;
    sealed->borrowed.content = content;
    sealed->borrowed.done = there;
}

static bool borrowed_is_whole(const struct ftc_tcp_sealed *sealed)
{
    return sealed->borrowed.content > 0 && sealed->borrowed.done == sealed->borrowed.content &&
           sealed->input.end - sealed->input.begin >= FTC_SEAL_TAG_SIZE;
}

/* A part of a record may be here (rule S9). The caller may not read on, and no descriptor tells of
 * it. */
static void await_rest(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    struct ftc_tcp_sealed *sealed = peer->link->sealed;
    if (!has_part(sealed) || has_record(sealed) || sealed->partial_by != 0)
        return;
    sealed->partial_by = ftc_clock_now() + timeout_ns(tcp);
    ftc_tcp_time(tcp, peer);
}

/* Gives the bytes that count from here on, or -1. */
static ssize_t open_borrowed(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                             const struct iovec *place)
{
    struct ftc_tcp_sealed *sealed = peer->link->sealed;
    size_t content = sealed->borrowed.content;
    if (!ftc_seal_open(&sealed->in, place->iov_base, content,
                       sealed->input_bytes + sealed->input.begin))
        return forged(tcp, peer);
    sealed->input.begin += FTC_SEAL_TAG_SIZE;
    sealed->borrowed.content = sealed->borrowed.done = 0;
    sealed->partial_by = 0;
    await_rest(tcp, peer);
    return (ssize_t)content;
}

/* How many bytes to read into the buffer: one record that fills the places, if they are small. The
 * rest stays in the kernel then, as on links that are not sealed. Behind a borrowed place, it is
 * only the tag and the length of a record that goes to that place, too. */
static size_t wanted(const struct ftc_tcp_sealed *sealed, const struct iovec *places, int count)
{
    size_t there = sealed->input.end, room = BUFFER_SIZE - there, all = FTC_SEAL_OVERHEAD;
    if (sealed->borrowed.content > 0)
        return sealed->borrowed.content < places[0].iov_len ? FTC_SEAL_OVERHEAD - there : room;
    size_t size = first_size(sealed);
    for (int i = 0; i < count; i++)
        all += places[i].iov_len;
    if (all >= FTC_TCP_READ_SIZE)
        return room;
    if (size != SIZE_MAX && size - there > all)
        all = size - there;
    return smaller(all, room);
}

static ssize_t fill_up(struct ftc_tcp_connection *link, const struct iovec *places, int count)
{
    struct ftc_tcp_sealed *sealed = link->sealed;
    size_t left = sealed->input.end - sealed->input.begin; /* less than a record */
    memmove(sealed->input_bytes, sealed->input_bytes + sealed->input.begin, left);
    sealed->input = (struct span){0, left};
    size_t straight = sealed->borrowed.content - sealed->borrowed.done,
           most = wanted(sealed, places, count);
    struct iovec parts[] = {{NULL, straight}, {sealed->input_bytes + left, most}};
    if (straight > 0)
        parts[0].iov_base = (unsigned char *)places[0].iov_base + sealed->borrowed.done;
    ssize_t got = straight > 0 ? readv(link->fd, parts, 2)
                               : recv(link->fd, parts[1].iov_base, most, MSG_DONTWAIT);
    sealed->emptied = got < (ssize_t)(straight + most);
    if (got > 0) {
        size_t step = smaller((size_t)got, straight);
        sealed->borrowed.done += step;
        sealed->input.end += (size_t)got - step;
    }
    return got;
}

static ssize_t nothing_more(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    await_rest(tcp, peer);
    errno = EAGAIN;
    return -1;
}

ssize_t ftc_tcp_sealed_receive(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                               const struct iovec *places, int count)
{
    struct ftc_tcp_sealed *sealed = peer->link->sealed;
    bool read_all = false;
    for (;;) {
        if (sealed->content.begin < sealed->content.end) {
            await_rest(tcp, peer);
            return (ssize_t)hand_out(sealed, places, count);
        }
        if (borrowed_is_whole(sealed))
            return open_borrowed(tcp, peer, &places[0]);
        if (sealed->borrowed.content == 0 && !has_record(sealed))
            borrow(sealed, &places[0]);
        if (is_to_open(sealed)) {
            if (!open_record(sealed))
                return forged(tcp, peer);
            continue;
        }
        if (read_all)
            return nothing_more(tcp, peer);
        ssize_t got = fill_up(peer->link, places, count);
        if (got < 0 && errno == EAGAIN)
            return nothing_more(tcp, peer);
        if (got <= 0)
            return got;
        read_all = sealed->emptied;
    }
}

/* --- what TCP does not notice, since the bytes were acknowledged (rule S9) --- */

uint64_t ftc_tcp_sealed_due(const struct ftc_tcp_peer *peer)
{
    const struct ftc_tcp_sealed *sealed = peer->link->sealed;
    uint64_t probe = peer->out.first != NULL && !peer->link->blocked ? sealed->probe_at : 0;
    if (probe == 0 || sealed->partial_by == 0)
        return probe + sealed->partial_by;
    return probe < sealed->partial_by ? probe : sealed->partial_by;
}

bool ftc_tcp_sealed_endless(struct ftc_tcp *tcp, const struct ftc_tcp_peer *peer, uint64_t now)
{
    struct ftc_tcp_sealed *sealed = peer->link->sealed;
    if (sealed->partial_by == 0 || now < sealed->partial_by)
        return false;
    sealed->partial_by = now + timeout_ns(tcp);
    return peer->inbox_size < FTC_TCP_INBOX_MAX; /* otherwise this end does not read */
}

bool ftc_tcp_sealed_probe(struct ftc_tcp *tcp, const struct ftc_tcp_peer *peer, uint64_t now)
{
    struct ftc_tcp_sealed *sealed = peer->link->sealed;
    if (peer->out.first == NULL || peer->link->blocked || now < sealed->probe_at)
        return false;
    sealed->probe_at = now + timeout_ns(tcp) / PROBES;
    return true;
}
