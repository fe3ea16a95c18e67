/* Fault drills: --kill RANK@SECONDS. */
#ifndef FTC_LAUNCHER_DRILL_H
#define FTC_LAUNCHER_DRILL_H

#include <ev.h>

#include "launcher/options.h"
#include "launcher/sink.h"
#include "launcher/watcher.h"

struct ftc_drill_timer {
    struct ev_timer timer;
    struct ftc_launch_drill *drill;
    int rank;
};

struct ftc_launch_drill {
    struct ev_loop *loop;
    struct ftc_watcher *watcher;
    struct ftc_sink *err;
    struct ftc_drill_timer *timers;
    int count;
};

/* Start a timer for each --kill. Call it after the ranks were started. ftc_launch_drill_fini() of a
 * zeroed struct is legal. FTC_ERR_NOMEM. */
int ftc_launch_drill_start(struct ftc_launch_drill *drill, struct ev_loop *loop,
                           struct ftc_watcher *watcher, struct ftc_sink *err,
                           const struct ftc_command *command);
void ftc_launch_drill_fini(struct ftc_launch_drill *drill);

#endif
