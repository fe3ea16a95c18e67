/*
 * The wire of sealed links: a socket that carries records (docs/design/tcp.md, "Seal"). What is
 * above it sees the bytes inside, and sees none before the tag of their record was checked.
 */
#include "transport/tcp/sealed.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "transport/tcp/internal.h"
#include "transport/tcp/seal.h"

#define BUFFER_SIZE ((size_t)4 * FTC_SEAL_RECORD_MAX)
#define PROBES      8 /* in the time in which a record must be whole */

/* Bytes of a buffer that are still needed. */
struct span {
    size_t begin, end;
};

struct ftc_tcp_sealed {
    struct ftc_seal out, in;
    struct span output;  /* sealed, but not in the kernel yet */
    struct span input;   /* read, but not opened yet */
    struct span content; /* of the record that was opened last: not handed out yet */
    bool emptied;        /* the last read gave less than it asked for */
    uint64_t probe_at;   /* when to send a record for nothing else */
    uint64_t partial_by; /* when a part of a record must be whole; 0: there is no part */
    unsigned char output_bytes[BUFFER_SIZE], input_bytes[BUFFER_SIZE];
};

/* --- life --- */

bool ftc_tcp_sealed_start(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection)
{
    unsigned char key[FTC_TCP_PROOF_SIZE];
    struct ftc_tcp_hello hello;
    struct ftc_tcp_sealed *sealed = malloc(sizeof(*sealed)); /* calloc() would touch all pages */
    if (sealed == NULL)
        return false;
    memset(sealed, 0, offsetof(struct ftc_tcp_sealed, output_bytes));
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
    return link->sealed->output.begin < link->sealed->output.end;
}

/* Write the sealed bytes. False: some are left, and errno says why. */
static bool push(struct ftc_tcp_connection *link)
{
    struct ftc_tcp_sealed *sealed = link->sealed;
    size_t size = sealed->output.end - sealed->output.begin;
    if (size == 0)
        return true;
    ssize_t sent = send(link->fd, sealed->output_bytes + sealed->output.begin, size,
                        MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0)
        return false;
    sealed->output.begin += (size_t)sent;
    errno = EAGAIN;
    return (size_t)sent == size;
}

/* Copy up to `most` bytes, from byte `from` of the pieces on. */
static size_t copy(unsigned char *to, size_t most, const struct iovec *pieces, int count,
                   size_t from)
{
    size_t copied = 0;
    for (int i = 0; i < count && copied < most; i++) {
        if (from >= pieces[i].iov_len) {
            from -= pieces[i].iov_len;
            continue;
        }
        size_t there = pieces[i].iov_len - from,
               step = there < most - copied ? there : most - copied;
        memcpy(to + copied, (const unsigned char *)pieces[i].iov_base + from, step);
        copied += step;
        from = 0;
    }
    return copied;
}

/* Seal as many of the bytes as the buffer takes, which is empty. */
static size_t take(struct ftc_tcp_sealed *sealed, const struct iovec *pieces, int count)
{
    size_t taken = 0;
    sealed->output = (struct span){0};
    while (BUFFER_SIZE - sealed->output.end >= FTC_SEAL_RECORD_MAX) {
        unsigned char *record = sealed->output_bytes + sealed->output.end;
        size_t content =
            copy(record + FTC_SEAL_LENGTH_SIZE, FTC_SEAL_CONTENT_MAX, pieces, count, taken);
        if (content == 0)
            break;
        sealed->output.end += ftc_seal_close(&sealed->out, record, content);
        taken += content;
    }
    return taken;
}

/* Bytes that were taken count as sent: this end sends them again only on a new connection. */
ssize_t ftc_tcp_sealed_send(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                            const struct iovec *pieces, int count)
{
    struct ftc_tcp_connection *link = peer->link;
    if (!push(link))
        return -1;
    size_t taken = take(link->sealed, pieces, count);
    link->sealed->probe_at = tcp->now + timeout_ns(tcp) / PROBES;
    ftc_tcp_time(tcp, peer);
    return push(link) || errno == EAGAIN ? (ssize_t)taken : -1;
}

/* --- receiving --- */

/* The bytes of the first record in the buffer; SIZE_MAX: its length is not complete; 0: the length
 * is wrong. */
static size_t first_size(const struct ftc_tcp_sealed *sealed)
{
    if (sealed->input.end - sealed->input.begin < FTC_SEAL_LENGTH_SIZE)
        return SIZE_MAX;
    return ftc_seal_size(sealed->input_bytes + sealed->input.begin);
}

static bool has_record(const struct ftc_tcp_sealed *sealed)
{
    return sealed->input.end - sealed->input.begin >= FTC_SEAL_LENGTH_SIZE &&
           sealed->input.end - sealed->input.begin >= first_size(sealed);
}

bool ftc_tcp_sealed_holds(const struct ftc_tcp_connection *link)
{
    return link->sealed->content.begin < link->sealed->content.end || has_record(link->sealed);
}

bool ftc_tcp_sealed_emptied(const struct ftc_tcp_connection *link)
{
    return link->sealed->emptied && !ftc_tcp_sealed_holds(link);
}

/* False: it is not what the other end sent (rule S6). */
static bool open_record(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    struct ftc_tcp_sealed *sealed = peer->link->sealed;
    size_t begin = sealed->input.begin, size = first_size(sealed);
    if (size == 0 || !ftc_seal_open(&sealed->in, sealed->input_bytes + begin, size)) {
        ftc_tcp_note(tcp, FTC_TCP_FORGED,
                     "what came from rank %d was changed on its way; connecting again", peer->rank);
        errno = EBADMSG;
        return false;
    }
    sealed->content = (struct span){begin + FTC_SEAL_LENGTH_SIZE, begin + size - FTC_SEAL_TAG_SIZE};
    sealed->input.begin += size;
    sealed->partial_by = 0;
    return true;
}

static size_t hand_out(struct ftc_tcp_sealed *sealed, const struct iovec *places, int count)
{
    size_t given = 0;
    for (int i = 0; i < count; i++) {
        size_t there = sealed->content.end - sealed->content.begin,
               step = there < places[i].iov_len ? there : places[i].iov_len;
        if (step > 0)
            memcpy(places[i].iov_base, sealed->input_bytes + sealed->content.begin, step);
        sealed->content.begin += step;
        given += step;
    }
    return given;
}

/* How many bytes to read: one record that fills the places, if they are small. The rest stays in
 * the kernel then, as on links that are not sealed. */
static size_t wanted(const struct ftc_tcp_sealed *sealed, const struct iovec *places, int count)
{
    size_t room = BUFFER_SIZE - sealed->input.end, all = FTC_SEAL_OVERHEAD;
    size_t size = first_size(sealed), there = sealed->input.end - sealed->input.begin;
    for (int i = 0; i < count; i++)
        all += places[i].iov_len;
    if (all >= FTC_TCP_READ_SIZE)
        return room;
    if (size != SIZE_MAX && size - there > all)
        all = size - there;
    return all < room ? all : room;
}

static ssize_t fill_up(struct ftc_tcp_connection *link, const struct iovec *places, int count)
{
    struct ftc_tcp_sealed *sealed = link->sealed;
    size_t left = sealed->input.end - sealed->input.begin; /* less than a record */
    memmove(sealed->input_bytes, sealed->input_bytes + sealed->input.begin, left);
    sealed->input = (struct span){0, left};
    size_t most = wanted(sealed, places, count);
    ssize_t got = recv(link->fd, sealed->input_bytes + left, most, MSG_DONTWAIT);
    sealed->emptied = got < (ssize_t)most;
    if (got > 0)
        sealed->input.end += (size_t)got;
    return got;
}

/* The socket is empty. A part of a record may be there (rule S9). */
static ssize_t nothing_more(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    struct ftc_tcp_sealed *sealed = peer->link->sealed;
    if (sealed->input.begin < sealed->input.end && sealed->partial_by == 0) {
        sealed->partial_by = ftc_clock_now() + timeout_ns(tcp);
        ftc_tcp_time(tcp, peer);
    }
    errno = EAGAIN;
    return -1;
}

ssize_t ftc_tcp_sealed_receive(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                               const struct iovec *places, int count)
{
    struct ftc_tcp_sealed *sealed = peer->link->sealed;
    bool read_all = false;
    for (;;) {
        if (sealed->content.begin < sealed->content.end)
            return (ssize_t)hand_out(sealed, places, count);
        if (has_record(sealed)) {
            if (!open_record(tcp, peer))
                return -1;
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
