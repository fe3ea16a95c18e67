/*
 * The TCP port at which libpmix listens inside ftrun. libpmix believes the user id that a client
 * sends. This file asks the kernel instead, so that libpmix never sees a connection of another
 * user.
 */
#ifndef FTC_LAUNCHER_PMIX_LISTENER_H
#define FTC_LAUNCHER_PMIX_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

/* The socket of this process that listens at `port` of an internet address. -1: there is none. */
int ftc_pmix_listener_find(int port);

/*
 * Close the port: no process can connect any more. Processes that are connected stay connected.
 * libpmix closes the descriptor in the end. -1 is legal. False: there is no free descriptor, and
 * the port stays open.
 */
bool ftc_pmix_listener_close(int listener);

/* Connections that were refused so far. */
struct ftc_pmix_refused {
    uint64_t others;  /* of other users */
    uint64_t unknown; /* the kernel did not tell the user; a closed connection, for example */
};

/* May be called in any thread. */
struct ftc_pmix_refused ftc_pmix_listener_refused(void);

#endif
