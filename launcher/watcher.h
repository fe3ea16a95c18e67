/*
 * Who died, who must be fenced, who is declared failed. Every child's exit, the pidfd of each
 * process that joined behind a wrapper, the bell and a timer lead here; the verdicts are the
 * detector's (detector/watch.h).
 *
 * From SIGCHLD to the notice is the shortest way in ftrun: declare, ring everybody, and only then
 * print and reap.
 */
#ifndef FTC_LAUNCHER_WATCHER_H
#define FTC_LAUNCHER_WATCHER_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "detector/watch.h"
#include "launcher/ranks.h"
#include "node/bell.h"
#include "node/segment/segment.h"

struct ftc_watcher {
    struct ev_loop *loop;
    struct ftc_ranks *ranks;
    struct ftc_segment *segment;
    struct ftc_bell *bell;
    struct ftc_watch watch;
    bool exit_notices;
    bool ending; /* the job is being killed: exits are no failures any more */
    struct ev_signal child;
    struct ev_io rung;
    struct ev_timer tick;
    struct ev_io *joined; /* per rank: pidfd */

    /* Called from the loop; may be NULL. */
    void (*failed)(void *arg, int rank);    /* it was declared */
    void (*suspected)(void *arg, int rank); /* but fencing is off */
    void (*changed)(void *arg);             /* anything: look at the job again */
    void (*accused_elsewhere)(void *arg, int rank,
                              int accuser); /* a rank of another node; at every look */
    void *arg;
};

/* Starts watching; the callbacks are set by the caller afterwards, before the loop runs.
 * FTC_ERR_NOMEM. fini() of a zeroed struct is legal. */
int ftc_watcher_init(struct ftc_watcher *watcher, struct ev_loop *loop, struct ftc_ranks *ranks,
                     struct ftc_segment *segment, struct ftc_bell *bell,
                     const struct ftc_config *config);
void ftc_watcher_fini(struct ftc_watcher *watcher);

/* `rank` was started as `child`. */
void ftc_watcher_started(struct ftc_watcher *watcher, int rank, pid_t child);
/* `rank` could not be started: errno. */
void ftc_watcher_not_started(struct ftc_watcher *watcher, int rank, int error);
/* `rank` is a process that somebody else has started; `fd` is its pidfd, and the watcher's from
 * here on. */
void ftc_watcher_adopted(struct ftc_watcher *watcher, int rank, pid_t pid, uint64_t start, int fd);

/* Kill a rank; its exit is then declared with this cause. False: there is nothing to kill. */
bool ftc_watcher_kill(struct ftc_watcher *watcher, int rank, enum ftc_failure_cause cause);

/* A rank of another node had damaged data from this one. */
void ftc_watcher_accused(struct ftc_watcher *watcher, int rank, int accuser);

/* Every rank has ended: conclude what still waits for a heartbeat to stand still
 * (detector.exit_notices = off). */
void ftc_watcher_settle(struct ftc_watcher *watcher);

/* Is `rank` suspected, and not fenced because fencing is off? */
bool ftc_watcher_suspects(const struct ftc_watcher *watcher, int rank);

#endif
