/*
 * The PMIx server inside ftrun. It gives the ranks their identity, and nothing else. It answers in
 * a thread of its own. Failures, events and the end of the job are the business of the launcher and
 * the segment.
 */
#ifndef FTC_LAUNCHER_SERVER_H
#define FTC_LAUNCHER_SERVER_H

#include <stdbool.h>

#include "node/segment/segment.h"

/* The job-level key of the job's name, from which the name of the segment follows. Clients get it
 * by PMIx_Get() with PMIX_RANK_WILDCARD. */
#define FTC_SERVER_KEY_SEGMENT "ftcoll.segment"

/* "ftcoll-" and 128 random bits in hexadecimal digits. */
#define FTC_SERVER_SPACE_SIZE 40

struct ftc_server {
    bool running;
    char space[FTC_SERVER_SPACE_SIZE]; /* PMIx namespace; only the environment of ranks has it */
    int np;
    int listener; /* the socket where ranks connect; -1: it is closed, or was not found */
    /* A rank has called PMIx_Abort(). This runs in PMIx's thread, and must not block. */
    void (*aborted)(void *arg, int rank, int code);
    void *arg;
};

struct ftc_server_spec {
    const char *job, *directory; /* these strings must outlive the server */
    struct ftc_segment *segment; /* tells which ranks there are, and on which nodes */
    void (*aborted)(void *arg, int rank, int code);
    void *arg;
};

/*
 * Start the server, with all of its files in spec->directory, and tell it about the job. This
 * removes the PMIX_* variables of an outer server from ftrun's environment, so call it before there
 * are threads. FTC_ERR_SYSTEM, with the reason that PMIx gives.
 */
int ftc_server_start(struct ftc_server *server, const struct ftc_server_spec *spec);

/* The PMIX_* variables for a rank, NULL-terminated. The list is empty if the server does not run.
 * Free it by ftc_server_free_environment(). FTC_ERR_SYSTEM. */
int ftc_server_environment(struct ftc_server *server, int rank, char ***environment);
void ftc_server_free_environment(char **environment);

/* Call it when no rank of this node will connect any more. Connected ranks are served on. If no
 * descriptor was free, `listener` is still set, and the caller tries again later. */
void ftc_server_close(struct ftc_server *server);

/* Stop the server. Waits at most two seconds: a PMIx thread that hangs must not keep ftrun from
 * ending. Legal for a zeroed struct. */
void ftc_server_stop(struct ftc_server *server);

#endif
