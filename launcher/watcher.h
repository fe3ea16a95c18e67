/*
 * Finds out which ranks died, which must be fenced, and which are declared failed. The exit of each
 * child, the pidfd of each process that joined behind a wrapper, the bell and a timer lead here.
 * The detector gives the verdicts (detector/watch.h).
 *
 * The way from SIGCHLD to the notice is the shortest in ftrun: it declares, rings all ranks, and
 * only then prints and reaps.
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
    bool ending; /* the job is being killed: an exit is no failure any more */
    struct ev_signal child;
    struct ev_io rung;
    struct ev_timer tick;
    struct ev_io *joined; /* per rank: watches its pidfd */

    /* Called from the loop; may be NULL. */
    void (*failed)(void *arg, int rank);    /* `rank` was declared failed */
    void (*suspected)(void *arg, int rank); /* `rank` is suspected, but fencing is off */
    void (*changed)(void *arg);             /* anything has changed: look at the job again */
    /* `accuser` has accused `rank`, which is of another node. Called at every look. */
    void (*accused_elsewhere)(void *arg, int rank, int accuser);
    void *arg;
};

/* Start watching. The caller sets the callbacks afterwards, before the loop runs.
 * ftc_watcher_fini() of a zeroed struct is legal. FTC_ERR_NOMEM. */
int ftc_watcher_init(struct ftc_watcher *watcher, struct ev_loop *loop, struct ftc_ranks *ranks,
                     struct ftc_segment *segment, struct ftc_bell *bell,
                     const struct ftc_config *config);
void ftc_watcher_fini(struct ftc_watcher *watcher);

/* `rank` was started as `child`. */
void ftc_watcher_started(struct ftc_watcher *watcher, int rank, pid_t child);
/* `rank` could not be started; `error` is the errno. */
void ftc_watcher_not_started(struct ftc_watcher *watcher, int rank, int error);
/* `rank` is a process that another launcher has started. `fd` is its pidfd, which the watcher owns
 * from here on. */
void ftc_watcher_adopted(struct ftc_watcher *watcher, int rank, pid_t pid, uint64_t start, int fd);

/* Kill a rank. Its exit is then declared with this cause. False: there is no process to kill. */
bool ftc_watcher_kill(struct ftc_watcher *watcher, int rank, enum ftc_failure_cause cause);

/* `accuser`, a rank of another node, had damaged data from `rank` of this node. */
void ftc_watcher_accused(struct ftc_watcher *watcher, int rank, int accuser);

/* Call it when every rank has ended. Ranks whose heartbeat must still be seen to stand still
 * (detector.exit_notices = off) are judged now. */
void ftc_watcher_settle(struct ftc_watcher *watcher);

/* Is `rank` suspected, and not fenced because fencing is off? */
bool ftc_watcher_suspects(const struct ftc_watcher *watcher, int rank);

#endif
