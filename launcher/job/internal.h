/* The state of a job that runs. Only the files of this folder use this header. */
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
#include "launcher/trace/trace.h"
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
    struct ftc_environment environment; /* of the ranks, without what each rank has of its own */
    struct ftc_server server;
    struct ftc_ranks ranks;
    struct ftc_spawn spawn;
    int report_fd; /* --report is this descriptor or device; -1: it is neither */
    struct ev_loop *loop;
    struct ftc_output output;
    struct ftc_input input;
    struct ftc_watcher watcher;
    struct ftc_signals signals;
    struct ftc_launch_drill drill;
    struct ftc_verdict verdict;
    struct ftc_trace trace; /* --trace */
    struct ftc_agent agent; /* only if `several` */
    bool several;           /* the job has several nodes */
    struct ev_io orders;    /* of the front that started this agent */
    struct ftc_order order; /* the one that is being read */
    size_t order_used;
    bool deserted; /* that front has ended, or cannot be reached */
    bool adopts;   /* its ranks ran before this ftrun */
    int leader;    /* the socket to the rank that called this ftrun; -1: none */

    /* Starts one rank per turn of the loop, so as not to delay news of the ranks that run. */
    struct ev_idle spawner;
    struct ev_async poke;        /* PMIx's thread wakes the loop: look at pmix_abort */
    _Atomic uint64_t pmix_abort; /* PMIx_Abort(): 0, or FTC_ABORT(rank, code) */
    struct ev_timer timeout;     /* --timeout */
    struct ev_timer check;       /* near the end: what still keeps the job? */
    /* The ranks of this node from next_rank to end_rank - 1 are still to be started. */
    int next_rank, end_rank;
    bool strays; /* ftrun has said that ranks left strays */
    int checks, silent_checks;
    sigset_t deferred; /* signals that came before all ranks were started */
    bool ending;       /* the job is being killed */
    int exit_code;     /* -1: the verdict gives it */
};

/* job/news.c. Kill the job, on all nodes or on this node only. `code` becomes its exit code. Leave
 * the loop if there is nothing to wait for. */
void ftc_job_end(struct ftc_job *job, int code);
void ftc_job_end_here(struct ftc_job *job, int code);
void ftc_job_fence(struct ftc_job *job); /* this node is cut off */
void ftc_job_look_for_end(struct ftc_job *job);
bool ftc_job_spawning(const struct ftc_job *job);
void ftc_job_set_callbacks(struct ftc_job *job);
void ftc_job_on_pmix_abort(void *arg, int rank, int code); /* runs in PMIx's thread */
/* Set up `poke`, `timeout` and `check`. */
void ftc_job_init_watchers(struct ftc_job *job);

/* job/start.c. Set up `spawner`. */
void ftc_job_init_spawner(struct ftc_job *job);

/* job/nodes.c: several nodes. */
bool ftc_job_meets(const struct ftc_job *job); /* the agents of this job meet */
int ftc_job_meet(struct ftc_job *job);
int ftc_job_met(struct ftc_job *job, int rc);
int ftc_job_start_agent(struct ftc_job *job);
/* Does this node know how the job ends? An agent that is fenced or deserted must not ask. */
bool ftc_job_knows(const struct ftc_job *job);
/* Tell the end to the ftrun in front that had the agents started. `unknown`: the number of ranks
 * whose ends this node does not know. If there is no such ftrun, print the end if it is known. */
void ftc_job_tell_end(struct ftc_job *job, int code, int unknown);

#endif
