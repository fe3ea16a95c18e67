/*
 * The listener's side of the handshake. A connection belongs to no peer until its proof has come.
 * Until then it costs a descriptor and a little memory, and has a deadline. If there are too many,
 * the oldest is dropped: the oldest of the same address if that has too many.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>

#include "base/error.h"
#include "transport/tcp/internal.h"

#define ACCEPTS_A_TURN 16
#define REST_NS        (100 * FTC_NS_PER_MS)

/* --- half-open connections --- */

/* The oldest connection of that address, and the number of them. */
static struct ftc_tcp_connection *oldest_of(const struct ftc_tcp *tcp,
                                            const unsigned char address[16], int *count)
{
    struct ftc_tcp_connection *oldest = NULL;
    *count = 0;
    for (struct ftc_tcp_connection *one = tcp->half_first; one != NULL; one = one->next)
        if (memcmp(one->address, address, 16) == 0) {
            oldest = oldest != NULL ? oldest : one;
            ++*count;
        }
    return oldest;
}

static void make_room(struct ftc_tcp *tcp, const unsigned char address[16])
{
    int count;
    struct ftc_tcp_connection *goes = oldest_of(tcp, address, &count);
    if (count < FTC_TCP_HALF_OPEN_ADDRESS)
        goes = tcp->half_open >= FTC_TCP_HALF_OPEN_MAX ? tcp->half_first : NULL;
    if (goes == NULL)
        return;
    ftc_tcp_accept_step(tcp, goes); /* if many come at once, its bytes may lie there unread */
    if (goes->fd < 0 || goes->state == FTC_TCP_LINKED)
        return;
    ftc_tcp_note(tcp, FTC_TCP_CROWD,
                 "dropped a connection: %d others have not said who they are either",
                 tcp->half_open - 1);
    ftc_tcp_hang_up(tcp, goes);
}

/* --- accepting --- */

/* Write an address of either family as IPv6. */
static void address_key(unsigned char key[16], const struct sockaddr_storage *address)
{
    memset(key, 0, 16);
    if (address->ss_family == AF_INET6) {
        memcpy(key, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
    } else {
        key[10] = key[11] = 0xff;
        memcpy(key + 12, &((const struct sockaddr_in *)address)->sin_addr, 4);
    }
}

/* If there is no descriptor left, the listener stays readable, and nobody could sleep. So it rests
 * for a while. */
static void accept_failed(struct ftc_tcp *tcp)
{
    if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM)
        return;
    ftc_tcp_note(tcp, FTC_TCP_DESCRIPTORS, "cannot accept a connection: %m%s",
                 errno == EMFILE ? "; raise the limit: `ulimit -n`" : "");
    ftc_tcp_listen_to(tcp, false);
    tcp->accept_again_at = ftc_clock_now() + REST_NS;
}

static void admit(struct ftc_tcp *tcp, int fd, const struct sockaddr_storage *from)
{
    struct ftc_tcp_connection *connection;
    unsigned char key[16];
    address_key(key, from);
    make_room(tcp, key);
    if (ftc_tcp_watch(tcp, &connection, fd, FTC_TCP_WAIT_HELLO, EPOLLIN) != 0) {
        ftc_tcp_note(tcp, FTC_TCP_DESCRIPTORS, "cannot take a connection: %s", ftc_last_error());
        return;
    }
    ftc_tcp_options(tcp, fd);
    memcpy(connection->address, key, sizeof(key));
    ftc_tcp_half_open_add(tcp, connection);
}

void ftc_tcp_accept(struct ftc_tcp *tcp)
{
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        struct sockaddr_storage from = {0};
        socklen_t size = sizeof(from);
        int fd =
            accept4(tcp->listener, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            accept_failed(tcp);
            return;
        }
        admit(tcp, fd, &from);
    }
}

/* --- the handshake --- */

static void refuse_hello(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection,
                         enum ftc_tcp_refusal refusal)
{
    struct ftc_tcp_answer answer = {.protocol = tcp->wire->protocol,
                                    .versions = tcp->wire->versions,
                                    .seal = tcp->setup.seal,
                                    .refusal = refusal};
    ftc_tcp_answer_encode(connection->answer, &answer, connection->hello, &tcp->secret);
    /* If this fails, the other end sees only that the connection closes. */
    ftc_tcp_put(connection, connection->answer, sizeof(connection->answer));
    ftc_tcp_hang_up(tcp, connection);
}

/* True: the hello is refused, and the refusal is counted. */
static bool objectionable(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection,
                          const struct ftc_tcp_hello *hello)
{
    struct ftc_tcp_versions own = tcp->wire->versions;
    if (ftc_tcp_common_version(&own, &hello->versions) == 0) {
        ftc_tcp_note(tcp, FTC_TCP_VERSION,
                     "refused a connection: it speaks versions %u to %u of the protocol, this rank "
                     "%u to %u: "
                     "use one ftcoll on all hosts",
                     hello->versions.lowest, hello->versions.highest, own.lowest, own.highest);
        refuse_hello(tcp, connection, FTC_TCP_REFUSED_VERSION);
    } else if (memcmp(hello->job, tcp->job, sizeof(tcp->job)) != 0) {
        ftc_tcp_note(tcp, FTC_TCP_FOREIGN_JOB, "refused a connection of job \"%s\"", hello->job);
        refuse_hello(tcp, connection, FTC_TCP_REFUSED_JOB);
    } else if (hello->target != (uint32_t)tcp->self || hello->sender >= (uint32_t)tcp->ranks ||
               hello->sender == (uint32_t)tcp->self) {
        ftc_tcp_note(tcp, FTC_TCP_WRONG_RANK,
                     "refused a connection of rank %u to rank %u: this is rank %d of %d",
                     hello->sender, hello->target, tcp->self, tcp->ranks);
        refuse_hello(tcp, connection, FTC_TCP_REFUSED_RANK);
    } else if (hello->seal != tcp->setup.seal) {
        ftc_tcp_note(tcp, FTC_TCP_SEAL,
                     "refused a connection of rank %u: transport.seal is %s there and %s here; "
                     "give all hosts the same setting",
                     hello->sender, ftc_tcp_seal_name(hello->seal),
                     ftc_tcp_seal_name(tcp->setup.seal));
        refuse_hello(tcp, connection, FTC_TCP_REFUSED_SEAL);
    } else {
        return false;
    }
    return true;
}

static void take_hello(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection)
{
    struct ftc_tcp_hello hello;
    struct ftc_tcp_versions own = tcp->wire->versions;
    struct ftc_tcp_answer answer = {
        .protocol = tcp->wire->protocol, .versions = own, .seal = tcp->setup.seal};
    memcpy(connection->hello, connection->in, sizeof(connection->hello));
    if (!ftc_tcp_hello_decode(&hello, connection->hello) || hello.protocol != tcp->wire->protocol) {
        ftc_tcp_note(tcp, FTC_TCP_STRANGER,
                     "dropped a connection that does not speak this protocol");
        ftc_tcp_hang_up(tcp, connection);
        return;
    }
    if (objectionable(tcp, connection, &hello))
        return;
    answer.version = ftc_tcp_common_version(&own, &hello.versions);
    connection->rank = (int)hello.sender;
    connection->state = FTC_TCP_WAIT_PROOF;
    bool random = getrandom(answer.challenge, sizeof(answer.challenge), GRND_NONBLOCK) ==
                  sizeof(answer.challenge);
    if (random)
        ftc_tcp_answer_encode(connection->answer, &answer, connection->hello, &tcp->secret);
    if (!random || !ftc_tcp_put(connection, connection->answer, sizeof(connection->answer)))
        ftc_tcp_hang_up(tcp, connection);
}

static void give_verdict(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection,
                         enum ftc_tcp_refusal refusal)
{
    unsigned char verdict[FTC_TCP_VERDICT_SIZE];
    struct ftc_tcp_place nowhere = {0};
    ftc_tcp_verdict_encode(verdict, refusal, &nowhere, connection->hello, connection->answer,
                           &tcp->secret);
    ftc_tcp_put(connection, verdict, sizeof(verdict));
    ftc_tcp_hang_up(tcp, connection);
}

/* A newer link replaces an older one: the other end connects only if it has no connection ("Newer
 * connections" in docs/design/tcp.md). */
static void welcome(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                    struct ftc_tcp_connection *connection, const struct ftc_tcp_place *theirs)
{
    unsigned char verdict[FTC_TCP_VERDICT_SIZE];
    ftc_tcp_dial_drop(tcp, peer);
    ftc_tcp_link_drop(tcp, peer);
    struct ftc_tcp_place place = ftc_tcp_link_place(peer);
    ftc_tcp_half_open_remove(tcp, connection);
    connection->state = FTC_TCP_LINKED;
    if (ftc_tcp_link_up(tcp, peer, connection, theirs) != 0)
        return;
    ftc_tcp_verdict_encode(verdict, FTC_TCP_ACCEPTED, &place, connection->hello, connection->answer,
                           &tcp->secret);
    if (!ftc_tcp_put(connection, verdict, sizeof(verdict))) {
        ftc_tcp_link_lost(tcp, peer, strerror(errno));
        return;
    }
    tcp->wire->begin(tcp, peer);
}

/* Was the connection made before the last link came up? Its proof may be late when both ends
 * connect and TCP has to send it again. By then its sender has dropped it for that link, and the
 * place in the proof is out of date, too. */
static bool is_outdated(const struct ftc_tcp_peer *peer,
                        const struct ftc_tcp_connection *connection)
{
    return connection->since <= peer->linked_at;
}

static void take_proof(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection)
{
    struct ftc_tcp_place theirs;
    if (!ftc_tcp_proof_decode(&theirs, connection->in, connection->hello, connection->answer,
                              &tcp->secret)) {
        ftc_tcp_note(tcp, FTC_TCP_SECRET,
                     "refused a connection that says rank %d: wrong job secret", connection->rank);
        give_verdict(tcp, connection, FTC_TCP_REFUSED_SECRET);
        return;
    }
    struct ftc_tcp_peer *peer = ftc_tcp_peer(tcp, connection->rank);
    if (peer == NULL) /* out of memory; the other end tries again */
        ftc_tcp_hang_up(tcp, connection);
    else if (peer->closed || peer->damaged || peer->reported)
        give_verdict(tcp, connection, FTC_TCP_REFUSED_CLOSED);
    else if ((peer->dial != NULL && tcp->self < peer->rank) || is_outdated(peer, connection))
        give_verdict(tcp, connection, FTC_TCP_REFUSED_BUSY);
    else
        welcome(tcp, peer, connection, &theirs);
}

void ftc_tcp_accept_step(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection)
{
    bool hello = connection->state == FTC_TCP_WAIT_HELLO;
    int rc = ftc_tcp_take(connection, hello ? FTC_TCP_HELLO_SIZE : FTC_TCP_PROOF_BYTES);
    if (hello && rc == 0 &&
        !ftc_tcp_magic_begins(tcp->wire->protocol, connection->in, connection->used)) {
        ftc_tcp_note(tcp, FTC_TCP_STRANGER,
                     "dropped a connection that does not speak this protocol");
        rc = -1;
    }
    if (rc < 0)
        ftc_tcp_hang_up(tcp, connection);
    else if (rc == 1 && hello)
        take_hello(tcp, connection);
    else if (rc == 1)
        take_proof(tcp, connection);
}
