/* Transports that share endpoints, handshake, queues and frames. They do not speak to each other. */
#ifndef FTC_TRANSPORT_TCP_PROTOCOL_H
#define FTC_TRANSPORT_TCP_PROTOCOL_H

enum ftc_tcp_protocol {
    FTC_TCP_PROTOCOL_SOCKET, /* a link's bytes go by its socket */
    FTC_TCP_PROTOCOL_VERBS,  /* they go by a queue pair beside it */
    FTC_TCP_PROTOCOLS,
};

#endif
