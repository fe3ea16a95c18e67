/* A job under way. Of job*.c only. */
#ifndef FTC_LAUNCHER_JOB_INTERNAL_H
#define FTC_LAUNCHER_JOB_INTERNAL_H

#include <ev.h>
#include <signal.h>
#include <stdatomic.h>

#include "launcher/agent/agent.h"
#include "launcher/drill.h"
#include "launcher/environment.h"
#include "launcher/input.h"
#include "launcher/job/job.h"
#include "launcher/output.h"
#include "launcher/server.h"
#include "launcher/signals.h"
#include "launcher/spawn.h"
#include "launcher/verdict.h"
#include "launcher/watcher.h"
#include "node/bell.h"
#include "node/segment/segment.h"

struct ftc_job {
    const struct ftc_command *command;
    struct ftc_settings *settings;
    char name[FTC_JOB_NAME_SIZE], directory[108], host[64];
    int directory_lock; /* -1 */
    char *program;
    uint64_t started_ns, started_realtime_ns, server_ns, spawned_ns;

    struct ftc_segment *segment;
    struct ftc_bell bell;
    struct ftc_environment environment; /* of the ranks, but for what each has of its own */
    struct ftc_server server;
    struct ftc_ranks ranks;
    struct ftc_spawn spawn;
    int report_fd; /* --report: a descriptor or a device; -1 */
    struct ev_loop *loop;
    struct ftc_output output;
    struct ftc_input input;
    struct ftc_watcher watcher;
    struct ftc_signals signals;
    struct ftc_launch_drill drill;
    struct ftc_verdict verdict;
    struct ftc_agent agent; /* if several */
    bool several;           /* nodes */
    bool adopts;            /* its ranks run already */
    int leader;             /* ... and one of them is at the other end of this; -1 */

    struct ev_idle
        spawner; /* starts one rank per turn, so that news of those that run are not held up */
    struct ev_async poke;        /* from PMIx's thread: look at pmix_abort */
    _Atomic uint64_t pmix_abort; /* PMIx_Abort(): 0, or FTC_ABORT(rank, code) */
    struct ev_timer timeout;     /* --timeout */
    struct ev_timer check;       /* the end: what still keeps the job? */
    int next_rank,
        end_rank; /* of this node; those below and from here on are there, or are not its own */
    bool strays;  /* ranks left some, and ftrun has said so */
    int checks, silent_checks;
    sigset_t deferred; /* signals that came before all ranks were there */
    bool ending;       /* it is being killed */
    int exit_code;     /* -1: the verdict's */
};

/* job/news.c: kill the job, on all nodes or on this one only; its exit code is decided. Leave the
 * loop if there is nothing to wait for. */
void ftc_job_end(struct ftc_job *job, int code);
void ftc_job_end_here(struct ftc_job *job, int code);
void ftc_job_fence(struct ftc_job *job); /* this node is cut off */
void ftc_job_look_for_end(struct ftc_job *job);
bool ftc_job_spawning(const struct ftc_job *job);
void ftc_job_set_callbacks(struct ftc_job *job);
void ftc_job_on_pmix_abort(void *arg, int rank, int code); /* in PMIx's thread */
void ftc_job_init_watchers(struct ftc_job *job);           /* and the timers of both */

/* job/start.c: for the idle watcher that starts a rank per turn. */
void ftc_job_on_spawn(struct ev_loop *loop, struct ev_idle *idle, int events);

/* job/nodes.c: several nodes. */
int ftc_job_meet(struct ftc_job *job);
int ftc_job_met(struct ftc_job *job, int rc);
int ftc_job_start_agent(struct ftc_job *job);
/* Does this node know the end of every rank? Only then can it tell the job's. */
bool ftc_job_knows(const struct ftc_job *job);
/* Tell the ftrun that had the agents started, or people if there is none. */
void ftc_job_tell_end(struct ftc_job *job, int code);

#endif
