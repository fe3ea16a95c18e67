/*
 * The detector of one node, without I/O: who is suspected, who must be fenced, who may be declared
 * failed.
 *
 * Rules (architecture.md, "Failure detection"). A verdict needs a process known stopped: its exit
 * seen. A stalled heartbeat, a job-control stop that lasts, or an accusation only asks for fencing
 * (SIGKILL); the exit that follows is the proof. Marked finalized before the exit: no failure.
 *
 * Use. Every period/2: ftc_watch_tick(), then ftc_watch_heartbeat() for every rank that joined,
 * then ftc_watch_next_to_fence() until it gives -1. Suspicions arise in that last call alone, after
 * the fresh heartbeats were read, so a late watcher never blames a rank for its own lateness.
 * Everything else may be called at any time. All times are of one monotonic clock, in ns, and never
 * go back.
 *
 * Bounds, with ticks every period/2. A rank that stops beating, or is stopped, is suspected within
 * timeout + 2 periods of its last beat. A rank whose beats come within `timeout` of each other is
 * never suspected, however late the watcher is. Local health: if a tick comes more than a period
 * after the last, the machine was probably busy or asleep and the ranks missed the same time, so
 * every deadline moves by what was missed: one such pause of the whole machine, however long, makes
 * nobody suspected whose beats come within timeout - period of running time.
 *
 * A watch belongs to one thread. Ranks out of range (they may come from shared memory) are ignored.
 */
#ifndef FTC_DETECTOR_WATCH_H
#define FTC_DETECTOR_WATCH_H

#include <stdbool.h>
#include <stdint.h>

enum ftc_watch_state {
    FTC_WATCH_ABSENT, /* not started */
    FTC_WATCH_ALIVE,
    FTC_WATCH_SUSPECTED, /* to be fenced */
    FTC_WATCH_FENCED,    /* killed, exit not seen yet */
    FTC_WATCH_LEFT,      /* exit seen, no failure */
    FTC_WATCH_FAILED,    /* exit seen, declared */
};

enum ftc_suspicion {
    FTC_SUSPECT_NONE,
    FTC_SUSPECT_STALLED,
    FTC_SUSPECT_STOPPED,
    FTC_SUSPECT_ACCUSED
};

struct ftc_watch_entry {
    enum ftc_watch_state state;
    enum ftc_suspicion suspicion; /* kept after the exit: the cause of a failure */
    bool joined;                  /* has a heartbeat */
    bool released;                /* needs none any more */
    bool stopped;                 /* by job control */
    uint64_t heartbeat;           /* as last seen */
    uint64_t
        changed_ns; /* when it was seen to change, moved by what the watcher or the rank missed */
    uint64_t stopped_ns;   /* if stopped: since when, moved likewise */
    uint64_t suspected_ns; /* when the suspicion arose */
    uint32_t suspicions;   /* so many have arisen */
    int accuser;           /* rank, -1 */
};

struct ftc_watch {
    int ranks;
    uint64_t period_ns, timeout_ns;
    bool fence;
    bool ticked;           /* last_look_ns is valid */
    uint64_t last_look_ns; /* of the last tick */
    struct ftc_watch_entry *entry;
};

/* period: of the heartbeats; timeout >= 2 periods. FTC_ERR_NOMEM. fini() of a zeroed struct is
 * legal. */
int ftc_watch_init(struct ftc_watch *watch, int ranks, uint64_t period_ns, uint64_t timeout_ns,
                   bool fence);
void ftc_watch_fini(struct ftc_watch *watch);

void ftc_watch_started(struct ftc_watch *watch, int rank, uint64_t now_ns);
/* Its heartbeat as read now; the first call for a rank says that it joined. Withdraws an unfenced
 * stall. */
void ftc_watch_heartbeat(struct ftc_watch *watch, int rank, uint64_t heartbeat, uint64_t now_ns);
/* Stopped or continued by job control, whether it joined or not. Its heartbeat is not judged
 * meanwhile; when it continues it has as long to beat as it had left, and an unfenced suspicion of
 * the stop is withdrawn. */
void ftc_watch_stopped(struct ftc_watch *watch, int rank, bool stopped, uint64_t now_ns);
/* Suspects at once; the first accuser is remembered. */
void ftc_watch_accused(struct ftc_watch *watch, int rank, int accuser, uint64_t now_ns);
/* It finalized and nobody can need an answer of it any more: it may stop beating for good. One that
 * is stopped by job control is fenced all the same, or the job would never end. */
void ftc_watch_released(struct ftc_watch *watch, int rank);

/* Once per tick, before the heartbeats of that tick are fed in: moves deadlines if the watcher
 * slept. */
void ftc_watch_tick(struct ftc_watch *watch, uint64_t now_ns);

/* The next rank that must be killed now (state becomes FENCED), or -1. With fence off always -1,
 * but suspicions arise all the same and stay visible until they are withdrawn. */
int ftc_watch_next_to_fence(struct ftc_watch *watch, uint64_t now_ns);

/* Its exit was seen; `finalized`: the mark was set. True, once, if that makes it a failure to
 * declare. */
bool ftc_watch_exited(struct ftc_watch *watch, int rank, bool finalized);

#endif
