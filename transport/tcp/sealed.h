/* The wire of sealed links (docs/design/tcp.md, "Seal"): the same functions as a socket has, over
 * records. */
#ifndef FTC_TRANSPORT_TCP_SEALED_H
#define FTC_TRANSPORT_TCP_SEALED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct ftc_tcp;
struct ftc_tcp_connection;
struct ftc_tcp_peer;

/* The handshake is over: derive the keys. False: out of memory. */
bool ftc_tcp_sealed_start(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection);

/* As in struct ftc_tcp_wire. EBADMSG of receive: what came was changed on its way. */
ssize_t ftc_tcp_sealed_send(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                            const struct iovec *pieces, int count);
ssize_t ftc_tcp_sealed_receive(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                               const struct iovec *places, int count);
void ftc_tcp_sealed_end(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection);

/* Of a link that is sealed. waits: are sealed bytes left to send? holds: can the next receive give
 * something without a read? emptied: was the socket empty after the last read, and is nothing left
 * of what was read, not even a part of a record? */
bool ftc_tcp_sealed_waits(const struct ftc_tcp_connection *link);
bool ftc_tcp_sealed_holds(const struct ftc_tcp_connection *link);
bool ftc_tcp_sealed_emptied(const struct ftc_tcp_connection *link);

/* Rule S9. due: when to ask the other two; 0: nothing is awaited. endless: is a part of a record
 * overdue? probe: is a record to be sent, even with nothing in it? */
uint64_t ftc_tcp_sealed_due(const struct ftc_tcp_peer *peer);
bool ftc_tcp_sealed_endless(struct ftc_tcp *tcp, const struct ftc_tcp_peer *peer, uint64_t now);
bool ftc_tcp_sealed_probe(struct ftc_tcp *tcp, const struct ftc_tcp_peer *peer, uint64_t now);

#endif
