/* The connector's side of the handshake: an attempt to connect, until it gets a link or fails.
 * After a failure it is made again, after ever longer pauses. */
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mix.h"
#include "transport/tcp/internal.h"

#define BACKOFF_NS      (10 * FTC_NS_PER_MS)
#define BACKOFF_DOUBLED 6 /* the pause is doubled this often at most */
#define USER_TIMEOUT_MS 10000
#define RETRANSMIT_MS   1000 /* longest pause between two retransmissions; Linux takes no less */
#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44 /* since Linux 6.15 */
#endif

/* --- what both sides use --- */

static void set(int fd, int level, int option, int value)
{
    setsockopt(fd, level, option, &value, sizeof(value)); /* a refused option costs only time */
}

void ftc_tcp_options(const struct ftc_tcp *tcp, int fd)
{
    int user_timeout =
        tcp->setup.user_timeout_ms > 0 ? (int)tcp->setup.user_timeout_ms : USER_TIMEOUT_MS;
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, user_timeout);
    /* After a cut or on a bad line, leases wait for retransmissions. If TCP doubled its pauses,
     * they would wait for up to twice as long as the cut lasted. */
    set(fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1);
    set(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, RETRANSMIT_MS);
    /* Even an end that only waits must notice a black hole. */
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 2);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 2);
    ftc_tcp_congestion_set(tcp, fd);
}

/* Read no byte beyond the message: what follows belongs to the link. */
int ftc_tcp_take(struct ftc_tcp_connection *connection, size_t size)
{
    ssize_t got =
        recv(connection->fd, connection->in + connection->used, size - connection->used, 0);
    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    connection->used += (size_t)got;
    if (connection->used < size)
        return 0;
    connection->used = 0;
    return 1;
}

bool ftc_tcp_put(const struct ftc_tcp_connection *connection, const void *bytes, size_t size)
{
    return send(connection->fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* --- an attempt --- */

void ftc_tcp_dial_drop(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    if (peer->dial != NULL)
        ftc_tcp_hang_up(tcp, peer->dial);
    peer->dial = NULL;
}

void ftc_tcp_retry(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    unsigned doubled = peer->attempts < BACKOFF_DOUBLED ? peer->attempts : BACKOFF_DOUBLED;
    uint64_t wait = BACKOFF_NS << doubled, now = ftc_clock_now();
    if (!ftc_tcp_wanted(peer))
        return;
    /* Half of the pause is random, so that two ranks that connect to each other, or many that
     * connect to one, do not collide again. */
    wait = wait / 2 + ftc_mix(now ^ (uint64_t)tcp->self << 32 ^ (uint64_t)peer->rank) % (wait / 2);
    peer->retry_at = now + wait;
    ftc_tcp_time(tcp, peer);
}

static void give_up(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    ftc_tcp_dial_drop(tcp, peer);
    peer->attempts++;
    if (peer->broken_since == 0)
        peer->broken_since = ftc_clock_now();
    ftc_tcp_retry(tcp, peer);
}

static void unreachable(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, const char *why)
{
    ftc_tcp_note(tcp, FTC_TCP_UNREACHABLE, "cannot connect to rank %d: %s; trying again",
                 peer->rank, why);
    give_up(tcp, peer);
}

void ftc_tcp_dial_late(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    unreachable(tcp, peer, "no answer");
}

static int new_socket(struct ftc_tcp *tcp, const struct ftc_tcp_peer *peer, int family)
{
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        ftc_tcp_options(tcp, fd);
    else
        ftc_tcp_note(tcp, FTC_TCP_DESCRIPTORS, "no socket for rank %d: %m%s", peer->rank,
                     errno == EMFILE ? "; raise the limit: `ulimit -n`" : "");
    return fd;
}

/* Bind the socket to the address of the wire's device, if there is one. So the bytes take the way
 * that has been tried. */
static bool bind_source(const struct ftc_tcp *tcp, int fd, const struct sockaddr_storage *to)
{
    const struct sockaddr_storage *source = &tcp->source;
    return source->ss_family != to->ss_family ||
           bind(fd, (const struct sockaddr *)source, ftc_tcp_address_size(source)) == 0;
}

static void connect_to(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                       const struct sockaddr_storage *address)
{
    int fd = new_socket(tcp, peer, address->ss_family);
    if (fd < 0) {
        give_up(tcp, peer);
    } else if (!bind_source(tcp, fd, address) ||
               (connect(fd, (const struct sockaddr *)address, ftc_tcp_address_size(address)) != 0 &&
                errno != EINPROGRESS)) {
        int saved = errno;
        close(fd);
        errno = saved;
        unreachable(tcp, peer, strerror(errno));
    } else if (ftc_tcp_watch(tcp, &peer->dial, fd, FTC_TCP_CONNECTING, EPOLLOUT) != 0) {
        unreachable(tcp, peer, ftc_last_error());
    } else {
        peer->dial->rank = peer->rank;
        ftc_tcp_time(tcp, peer);
    }
}

void ftc_tcp_dial(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    struct ftc_tcp_endpoint endpoint;
    const char *text = tcp->setup.endpoint(tcp->setup.context, peer->rank);
    if (text == NULL)
        unreachable(tcp, peer, "its endpoint is not known");
    else if (ftc_tcp_endpoint_parse(&endpoint, text) != 0)
        unreachable(tcp, peer, ftc_last_error());
    else if (endpoint.protocol != tcp->wire->protocol)
        unreachable(tcp, peer, "its endpoint is one of another transport");
    else /* one address at each attempt, in the order of the endpoint */
        connect_to(tcp, peer, &endpoint.address[peer->attempts % (unsigned)endpoint.count]);
}

/* --- whether there is a way at all --- */

bool ftc_tcp_wanted(const struct ftc_tcp_peer *peer)
{
    return peer->out.first != NULL || peer->reach_by != 0;
}

enum ftc_reach ftc_tcp_reach(struct ftc_transport *transport, int rank)
{
    struct ftc_tcp *tcp = (struct ftc_tcp *)transport;
    struct ftc_tcp_peer *peer = ftc_tcp_peer(tcp, rank);
    if (peer == NULL)
        return FTC_REACH_NO; /* out of memory */
    if (peer->closed || peer->damaged || peer->reported)
        return FTC_REACH_YES; /* nothing is sent to this peer any more */
    if (peer->reach != FTC_REACH_NOT_YET || peer->reach_by != 0)
        return peer->reach;
    peer->reach_by = ftc_clock_now() + tcp->reach_ns;
    ftc_tcp_time(tcp, peer);
    if (peer->link == NULL && peer->dial == NULL && peer->retry_at == 0)
        ftc_tcp_dial(tcp, peer);
    return peer->reach;
}

void ftc_tcp_reached(struct ftc_tcp_peer *peer)
{
    peer->reach = FTC_REACH_YES;
    peer->reach_by = 0;
}

void ftc_tcp_reach_late(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    peer->reach = FTC_REACH_NO;
    peer->reach_by = 0;
    ftc_tcp_note(tcp, FTC_TCP_GIVEN_UP,
                 "%s does not reach rank %d within %llu ms: messages to it go by another of "
                 "transport.order, if there "
                 "is one; log.level = info tells of each attempt",
                 tcp->wire->ops->name, peer->rank,
                 (unsigned long long)(tcp->reach_ns / FTC_NS_PER_MS));
}

/* --- its handshake --- */

static void say_hello(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    struct ftc_tcp_connection *dial = peer->dial;
    struct ftc_tcp_hello hello = {.protocol = tcp->wire->protocol,
                                  .versions = tcp->wire->versions,
                                  .sender = (uint32_t)tcp->self,
                                  .target = (uint32_t)peer->rank};
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(dial->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
        unreachable(tcp, peer, strerror(error));
        return;
    }
    memcpy(hello.job, tcp->job, sizeof(hello.job));
    if (getrandom(hello.challenge, sizeof(hello.challenge), GRND_NONBLOCK) !=
        sizeof(hello.challenge)) {
        unreachable(tcp, peer, "no random numbers yet");
        return;
    }
    ftc_tcp_hello_encode(dial->hello, &hello);
    dial->state = FTC_TCP_WAIT_ANSWER;
    ftc_tcp_wait_for(tcp, dial, EPOLLIN);
    if (!ftc_tcp_put(dial, dial->hello, sizeof(dial->hello)))
        unreachable(tcp, peer, strerror(errno));
}

static void refused(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, enum ftc_tcp_refusal refusal)
{
    static const enum ftc_tcp_event events[FTC_TCP_REFUSALS] = {
        [FTC_TCP_REFUSED_VERSION] = FTC_TCP_VERSION,    [FTC_TCP_REFUSED_JOB] = FTC_TCP_FOREIGN_JOB,
        [FTC_TCP_REFUSED_RANK] = FTC_TCP_WRONG_RANK,    [FTC_TCP_REFUSED_SECRET] = FTC_TCP_SECRET,
        [FTC_TCP_REFUSED_CLOSED] = FTC_TCP_UNREACHABLE,
    };
    if (refusal == FTC_TCP_REFUSED_BUSY) { /* the other end has a better connection */
        ftc_tcp_dial_drop(tcp, peer);
        ftc_tcp_retry(tcp, peer);
        return;
    }
    ftc_tcp_note(tcp, events[refusal], "rank %d refused a connection: %s; trying again", peer->rank,
                 ftc_tcp_refusal_text(refusal));
    give_up(tcp, peer);
}

static void refused_version(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                            const struct ftc_tcp_versions *theirs)
{
    ftc_tcp_note(tcp, FTC_TCP_VERSION,
                 "rank %d speaks versions %u to %u of the protocol, this one %u to %u: use one "
                 "ftcoll on all hosts",
                 peer->rank, theirs->lowest, theirs->highest, tcp->wire->versions.lowest,
                 tcp->wire->versions.highest);
    give_up(tcp, peer);
}

static void take_answer(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    struct ftc_tcp_connection *dial = peer->dial;
    struct ftc_tcp_versions own = tcp->wire->versions;
    struct ftc_tcp_place place = ftc_tcp_link_place(peer);
    struct ftc_tcp_answer answer;
    unsigned char proof[FTC_TCP_PROOF_BYTES];
    memcpy(dial->answer, dial->in, sizeof(dial->answer));
    if (!ftc_tcp_answer_decode(&answer, dial->answer) || answer.protocol != tcp->wire->protocol) {
        unreachable(tcp, peer, "something else answers there");
    } else if (answer.refusal == FTC_TCP_REFUSED_VERSION) {
        refused_version(tcp, peer, &answer.versions);
    } else if (answer.refusal != FTC_TCP_ACCEPTED) {
        refused(tcp, peer, answer.refusal);
    } else if (!ftc_tcp_answer_proven(dial->answer, dial->hello, &tcp->secret)) {
        ftc_tcp_note(tcp, FTC_TCP_SECRET,
                     "where rank %d should listen, one without the job secret does", peer->rank);
        give_up(tcp, peer);
    } else if (answer.version != ftc_tcp_common_version(&own, &answer.versions)) {
        refused_version(tcp, peer, &answer.versions);
    } else {
        dial->state = FTC_TCP_WAIT_VERDICT;
        ftc_tcp_proof_encode(proof, &place, dial->hello, dial->answer, &tcp->secret);
        if (!ftc_tcp_put(dial, proof, sizeof(proof)))
            unreachable(tcp, peer, strerror(errno));
    }
}

static void take_verdict(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    struct ftc_tcp_connection *dial = peer->dial;
    enum ftc_tcp_refusal refusal;
    struct ftc_tcp_place place;
    if (!ftc_tcp_verdict_decode(&refusal, &place, dial->in)) {
        unreachable(tcp, peer, "its verdict is none");
    } else if (refusal != FTC_TCP_ACCEPTED) {
        refused(tcp, peer, refusal);
    } else {
        peer->dial = NULL;
        if (ftc_tcp_link_up(tcp, peer, dial, &place) == 0)
            tcp->wire->begin(tcp, peer);
    }
}

void ftc_tcp_dial_step(struct ftc_tcp *tcp, struct ftc_tcp_connection *dial)
{
    struct ftc_tcp_peer *peer = tcp->peer[dial->rank];
    bool answer = dial->state == FTC_TCP_WAIT_ANSWER;
    if (dial->state == FTC_TCP_CONNECTING) {
        say_hello(tcp, peer);
        return;
    }
    int rc = ftc_tcp_take(dial, answer ? FTC_TCP_ANSWER_SIZE : FTC_TCP_VERDICT_SIZE);
    if (rc < 0)
        unreachable(tcp, peer, "it ended the connection");
    else if (rc == 1 && answer)
        take_answer(tcp, peer);
    else if (rc == 1)
        take_verdict(tcp, peer);
}
