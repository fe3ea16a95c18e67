/*
 * The detector of one node. It tells which ranks are suspected, which must be fenced, and which may
 * be declared failed. It does no I/O.
 *
 * Rules (architecture.md, "Failure detection"). A rank may be declared failed only when its process
 * is known to be stopped, that is when its exit was seen. A stalled heartbeat, a long stop by job
 * control, or an accusation is only a reason to fence the rank (SIGKILL); the exit that follows is
 * the proof. An exit is no failure if the rank had set the finalized mark before.
 *
 * Use. Every period/2 call ftc_watch_tick(), then ftc_watch_heartbeat() for every rank that has
 * joined, then ftc_watch_next_to_fence() until it gives -1. Suspicions of stalls and stops arise
 * only in that last call, after the fresh heartbeats were read. So a late watcher never blames a
 * rank for its own lateness. All other functions may be called at any time. All times are ns of one
 * monotonic clock, and never go back.
 *
 * Bounds, with a tick every period/2. A rank that stops beating, or is stopped, is suspected within
 * timeout + 2 periods of its last beat. A rank whose beats come within `timeout` of each other is
 * never suspected, however late the watcher is.
 *
 * Local health. If a tick comes more than a period after the last one, the machine was probably
 * busy or asleep, and the ranks missed the same time. Then every deadline moves by the missed time.
 * So one such pause of the whole machine, however long, makes no rank suspected whose beats come
 * within timeout - period of running time.
 *
 * A watch belongs to one thread. Ranks out of range are ignored, because they may come from shared
 * memory.
 */
#ifndef FTC_DETECTOR_WATCH_H
#define FTC_DETECTOR_WATCH_H

#include <stdbool.h>
#include <stdint.h>

enum ftc_watch_state {
    FTC_WATCH_ABSENT, /* not started */
    FTC_WATCH_ALIVE,
    FTC_WATCH_SUSPECTED, /* must be fenced */
    FTC_WATCH_FENCED,    /* must be killed, or was; its exit was not seen yet */
    FTC_WATCH_LEFT,      /* its exit was seen, and is no failure */
    FTC_WATCH_FAILED,    /* its exit was seen, and is a failure */
};

enum ftc_suspicion {
    FTC_SUSPECT_NONE,
    FTC_SUSPECT_STALLED,
    FTC_SUSPECT_STOPPED,
    FTC_SUSPECT_ACCUSED
};

struct ftc_watch_entry {
    enum ftc_watch_state state;
    enum ftc_suspicion suspicion; /* kept after the exit, as the cause of a failure */
    bool joined;                  /* the rank has a heartbeat */
    bool released;                /* the rank may stop beating */
    bool stopped;                 /* by job control */
    uint64_t heartbeat;           /* as last seen */
    /* When the heartbeat last changed, moved by the time that the watcher or the rank missed. */
    uint64_t changed_ns;
    uint64_t stopped_ns;   /* if stopped: when it stopped, moved by the time that was missed */
    uint64_t suspected_ns; /* when the suspicion arose */
    uint32_t suspicions;   /* how many have arisen */
    int accuser;           /* a rank; -1: none */
};

struct ftc_watch {
    int ranks;
    int first, end; /* ranks that were started are among first .. end - 1 */
    uint64_t period_ns, timeout_ns;
    bool fence;
    bool ticked;           /* last_look_ns is valid */
    uint64_t last_look_ns; /* the time of the last tick */
    struct ftc_watch_entry *entry;
};

/* `period_ns` is the period of the heartbeats, and timeout_ns >= 2 * period_ns. FTC_ERR_NOMEM.
 * fini() of a zeroed struct is legal. */
int ftc_watch_init(struct ftc_watch *watch, int ranks, uint64_t period_ns, uint64_t timeout_ns,
                   bool fence);
void ftc_watch_fini(struct ftc_watch *watch);

void ftc_watch_started(struct ftc_watch *watch, int rank, uint64_t now_ns);
/* The heartbeat of the rank as it was read now. The first call for a rank tells that it joined. A
 * changed heartbeat withdraws the suspicion of a stall, unless the rank is already FENCED. */
void ftc_watch_heartbeat(struct ftc_watch *watch, int rank, uint64_t heartbeat, uint64_t now_ns);
/* The rank was stopped or continued by job control; it need not have joined. While it is stopped
 * its heartbeat is not judged. When it continues it has as much time to beat as it had left when it
 * stopped, and a suspicion of the stop is withdrawn, unless the rank is already FENCED. */
void ftc_watch_stopped(struct ftc_watch *watch, int rank, bool stopped, uint64_t now_ns);
/* Rank `accuser` accuses `rank`, which is suspected at once. The first accuser is kept. */
void ftc_watch_accused(struct ftc_watch *watch, int rank, int accuser, uint64_t now_ns);
/* The rank has finalized, and no rank can need an answer of it any more. It may stop beating for
 * good. If job control stops it, it is fenced all the same, because the job would never end. */
void ftc_watch_released(struct ftc_watch *watch, int rank);

/* Call this once per tick, before the heartbeats of that tick. It moves the deadlines if the
 * watcher slept. */
void ftc_watch_tick(struct ftc_watch *watch, uint64_t now_ns);

/* The next rank that must be killed now, whose state becomes FENCED, or -1. With fence off it is
 * always -1, but suspicions arise all the same, and stay visible until they are withdrawn. */
int ftc_watch_next_to_fence(struct ftc_watch *watch, uint64_t now_ns);

/* The exit of the rank was seen. `finalized`: it had set the finalized mark. True, and only once,
 * if the exit is a failure that must be declared. */
bool ftc_watch_exited(struct ftc_watch *watch, int rank, bool finalized);

#endif
