/*
 * Bare non-blocking TCP connections between all ranks, without any protocol. A rank that waits
 * polls the one socket that it waits for, and gives way after each look, as ftcoll does
 * (docs/design/tcp.md, "Patience"). An error, and a wait of 30 s, end the process.
 */
#ifndef FTC_BENCH_FLOOR_WIRES_H
#define FTC_BENCH_FLOOR_WIRES_H

#include <stdbool.h>
#include <stddef.h>

#define WIRES_PORT  7700
#define WIRES_PIECE 65536 /* bytes that are received, and added, at a time */

struct wire {
    int socket;
    unsigned char *ahead; /* what was read before it was asked for: bytes begin .. end-1 */
    size_t begin, end;
};

struct wires {
    int rank, size;
    int looks;        /* how often a waiting rank looks before it sleeps */
    bool reads_ahead; /* small values are read with all that follows them in the socket */
    struct wire *to;
};

/* Bytes that go to a rank. `bytes` 0: none. */
struct outgoing {
    int to;
    const void *data;
    size_t bytes;
};

/* Doubles that come from a rank, and are added to `own` if it is not NULL. */
struct incoming {
    int from;
    double *into;
    const double *own; /* may be `into` */
    size_t bytes;      /* 0: nothing */
};

/* Connect all ranks. Rank r is on host r / per_host. The rank listens at the address of its host,
 * at the port WIRES_PORT + the number of the rank on its host. */
void wires_open(struct wires *wires, char *const addresses[], int per_host);
void wires_close(struct wires *wires);

/* Send and receive at the same time, and return when both are done: what is sent is with the kernel
 * then. If `into` is what is sent, an element is replaced only after it was sent. */
void wires_exchange(struct wires *wires, const struct outgoing *out, const struct incoming *in);

void wires_send(struct wires *wires, int to, const void *data, size_t bytes);
void wires_receive(struct wires *wires, int from, double *into, const double *own, size_t bytes);

#endif
