/* The transports that share endpoints, handshake, queues and frames. The two do not speak to each
 * other. */
#ifndef FTC_TRANSPORT_TCP_PROTOCOL_H
#define FTC_TRANSPORT_TCP_PROTOCOL_H

enum ftc_tcp_protocol {
    FTC_TCP_PROTOCOL_SOCKET, /* the bytes of a link go by its socket */
    FTC_TCP_PROTOCOL_VERBS,  /* the bytes go by a queue pair beside the socket */
    FTC_TCP_PROTOCOLS,
};

/* What the two ends of a connection are. Both kinds have the secret of the job. The proofs name the
 * kind, so that the proof of a rank is worth nothing to an agent, and the other way round. */
enum ftc_tcp_ends {
    FTC_TCP_RANKS,
    FTC_TCP_AGENTS,
};

/* The protection of what follows the handshake (docs/design/tcp.md, "Seal"). The setting
 * transport.seal has the same order. */
enum ftc_tcp_seal {
    FTC_TCP_SEAL_OFF,
    FTC_TCP_SEAL_AUTHENTICATE,
    FTC_TCP_SEAL_ENCRYPT,
    FTC_TCP_SEALS,
};
/* As in the setting. */
const char *ftc_tcp_seal_name(enum ftc_tcp_seal seal);

#endif
