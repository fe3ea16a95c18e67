/*
 * The TCP port at which libpmix listens inside ftrun. libpmix believes the user id that a client
 * sends; here the kernel is asked instead, and libpmix never sees a connection of another user.
 */
#ifndef FTC_LAUNCHER_PMIX_LISTENER_H
#define FTC_LAUNCHER_PMIX_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

/* The listening socket of this process at `port` of an internet address; -1: there is none. */
int ftc_pmix_listener_find(int port);

/*
 * Nobody can connect any more. Processes that are connected stay so. libpmix closes the
 * descriptor in the end. False: there is no free descriptor, and the port stays open. -1 is
 * legal.
 */
bool ftc_pmix_listener_close(int listener);

/* Connections that were refused so far. */
struct ftc_pmix_refused {
    uint64_t others;  /* of other users */
    uint64_t unknown; /* the kernel did not say of whom; closed at once, for example */
};

/* Any thread. */
struct ftc_pmix_refused ftc_pmix_listener_refused(void);

#endif
