/* The connector's side of the handshake: an attempt to connect, until it gets a link or fails.
 * After a failure it is made again, after ever longer pauses. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error.h"
#include "transport/tcp/internal.h"

/* --- an attempt --- */

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
                                  .target = (uint32_t)peer->rank,
                                  .seal = tcp->setup.seal};
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
        [FTC_TCP_REFUSED_CLOSED] = FTC_TCP_UNREACHABLE, [FTC_TCP_REFUSED_SEAL] = FTC_TCP_SEAL,
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

static void refused_seal(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, enum ftc_tcp_seal theirs)
{
    ftc_tcp_note(tcp, FTC_TCP_SEAL,
                 "rank %d refused a connection: transport.seal is %s there and %s here; give all "
                 "hosts the same setting",
                 peer->rank, ftc_tcp_seal_name(theirs), ftc_tcp_seal_name(tcp->setup.seal));
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
    } else if (answer.refusal == FTC_TCP_REFUSED_SEAL) {
        refused_seal(tcp, peer, answer.seal);
    } else if (answer.refusal != FTC_TCP_ACCEPTED) {
        refused(tcp, peer, answer.refusal);
    } else if (!ftc_tcp_answer_proven(dial->answer, dial->hello, &tcp->secret)) {
        ftc_tcp_note(tcp, FTC_TCP_SECRET,
                     "where rank %d should listen, one without the job secret does", peer->rank);
        give_up(tcp, peer);
    } else if (answer.seal != tcp->setup.seal) {
        refused_seal(tcp, peer, answer.seal);
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
    if (!ftc_tcp_verdict_decode(&refusal, &place, dial->in, dial->hello, dial->answer,
                                &tcp->secret)) {
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
    struct ftc_tcp_peer *peer = ftc_tcp_known(tcp, dial->rank);
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
