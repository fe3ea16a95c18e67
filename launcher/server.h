/*
 * The PMIx server inside ftrun: identity for the ranks, nothing else. It answers in a thread of its
 * own; failures, events and the end of the job are the launcher's and the segment's business.
 */
#ifndef FTC_LAUNCHER_SERVER_H
#define FTC_LAUNCHER_SERVER_H

#include <stdbool.h>

#include "node/segment/segment.h"

/* Job-level key with the job's name, from which the segment's follows: clients PMIx_Get it with
 * PMIX_RANK_WILDCARD. */
#define FTC_SERVER_KEY_SEGMENT "ftcoll.segment"

/* "ftcoll-" and 128 random bits in hexadecimal digits. */
#define FTC_SERVER_SPACE_SIZE 40

struct ftc_server {
    bool running;
    char
        space[FTC_SERVER_SPACE_SIZE]; /* its PMIx namespace; only the ranks' environment tells it */
    int np;
    int listener; /* where ranks connect; -1: it is closed, or was not found */
    /* A rank called PMIx_Abort(). Called in PMIx's thread: must not block. */
    void (*aborted)(void *arg, int rank, int code);
    void *arg;
};

struct ftc_server_spec {
    const char *job, *directory; /* strings must outlive the server */
    struct ftc_segment *segment; /* which ranks there are, and where */
    void (*aborted)(void *arg, int rank, int code);
    void *arg;
};

/*
 * Start it, with every file of its own in spec->directory, and tell it about the job. Changes
 * ftrun's environment (PMIX_* of an outer server go away), so call it before there are threads.
 * FTC_ERR_SYSTEM with PMIx's reason.
 */
int ftc_server_start(struct ftc_server *server, const struct ftc_server_spec *spec);

/* The PMIX_* variables for a rank, NULL-terminated; none if the server does not run. Free them by
 * ftc_server_free_environment(). FTC_ERR_SYSTEM. */
int ftc_server_environment(struct ftc_server *server, int rank, char ***environment);
void ftc_server_free_environment(char **environment);

/* No rank of this node will connect any more. Those that are connected go on being served. The
 * caller tries again later if the listener is still there: no descriptor was free. */
void ftc_server_close(struct ftc_server *server);

/* Stop it, waiting at most two seconds: a PMIx thread that hangs must not keep ftrun. Legal when
 * zeroed. */
void ftc_server_stop(struct ftc_server *server);

#endif
