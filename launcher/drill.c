/* Kills ranks at given times, so that a program's behaviour under failures can be tried. */
#include "launcher/drill.h"

#include <stdlib.h>

#include "base/error.h"

static void on_time(struct ev_loop *loop, struct ev_timer *timer, int events)
{
    struct ftc_drill_timer *own = (struct ftc_drill_timer *)timer;
    (void)loop;
    (void)events;
    if (!ftc_watcher_kill(own->drill->watcher, own->rank, FTC_CAUSE_DRILL))
        ftc_sink_say(own->drill->err, "--kill %d: the rank has ended already", own->rank);
}

int ftc_launch_drill_start(struct ftc_launch_drill *drill, struct ev_loop *loop,
                           struct ftc_watcher *watcher, struct ftc_sink *err,
                           const struct ftc_command *command)
{
    *drill = (struct ftc_launch_drill){.loop = loop, .watcher = watcher, .err = err};
    if (command->kill_count == 0)
        return FTC_SUCCESS;
    drill->timers = calloc((size_t)command->kill_count, sizeof(*drill->timers));
    if (drill->timers == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    ev_now_update(loop);
    for (int i = 0; i < command->kill_count; i++) {
        struct ftc_drill_timer *own = &drill->timers[drill->count];
        if (!ftc_segment_is_local(watcher->segment, command->kills[i].rank))
            continue; /* the agent of its node kills it */
        drill->count++;
        own->drill = drill;
        own->rank = command->kills[i].rank;
        ev_timer_init(&own->timer, on_time, command->kills[i].after_s, 0);
        ev_timer_start(loop, &own->timer);
    }
    return FTC_SUCCESS;
}

void ftc_launch_drill_fini(struct ftc_launch_drill *drill)
{
    for (int i = 0; i < drill->count; i++)
        ev_timer_stop(drill->loop, &drill->timers[i].timer);
    free(drill->timers);
    *drill = (struct ftc_launch_drill){0};
}
