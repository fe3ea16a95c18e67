/* Starting a job's ranks, one per turn of the loop. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "launcher/job/internal.h"

/* --- starting ranks --- */

/* The common environment, then the entries of `own`. The strings are not copied. */
static char **join_environment(const struct ftc_environment *common, char **own)
{
    size_t own_count = 0;
    while (own[own_count] != NULL)
        own_count++;
    char **all = calloc((size_t)common->count + own_count + 1, sizeof(*all));
    if (all == NULL)
        return NULL;
    memcpy(all, common->at, (size_t)common->count * sizeof(*all));
    memcpy(all + common->count, own, own_count * sizeof(*all));
    return all;
}

static int start_rank(struct ftc_job *job, int rank, struct ftc_spawned *spawned, int *error)
{
    char own[32], **pmix = NULL;
    *error = ENOMEM;
    snprintf(own, sizeof(own), "FTCOLL_RANK=%d", rank);
    int rc = ftc_environment_set(&job->environment, own);
    if (rc == FTC_SUCCESS)
        rc = ftc_server_environment(&job->server, rank, &pmix);
    if (rc != FTC_SUCCESS)
        return rc;
    char **all = join_environment(&job->environment, pmix);
    if (all == NULL)
        rc = ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    else
        rc = ftc_spawn_rank(&job->spawn, rank, all, rank == 0 ? job->input.child_fd : -1, spawned,
                            error);
    free(all);
    ftc_server_free_environment(pmix);
    return rc;
}

/* Not all that keeps a program from running can be seen when it is checked. */
static int launch_code(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return FTC_EXIT_NOT_FOUND;
    case EACCES:
    case EPERM:
    case ENOEXEC:
    case ELOOP:
    case ETXTBSY:
    case E2BIG:
        return FTC_EXIT_NOT_EXECUTABLE;
    default:
        return 1;
    }
}

static void fail_launch(struct ftc_job *job, int rank, int error)
{
    ftc_sink_say(job->verdict.err, "%s", ftc_last_error());
    job->verdict.ranks->at[rank].told = true;
    ftc_watcher_not_started(&job->watcher, rank, error);
    ftc_job_end(job, launch_code(error));
    ftc_job_look_for_end(job);
}

/* Call it when the last rank runs. */
static void all_started(struct ftc_job *job)
{
    ev_idle_stop(job->loop, &job->spawner);
    job->spawned_ns = ftc_clock_now();
    atomic_store(&ftc_segment_header(job->segment)->state, FTC_JOB_RUNNING);
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&job->deferred, number) == 1)
            ftc_ranks_signal_all(&job->ranks, number);
    if (ftc_launch_drill_start(&job->drill, job->loop, &job->watcher, job->verdict.err,
                               job->command) != FTC_SUCCESS)
        ftc_sink_say(job->verdict.err, "--kill: %s", ftc_last_error());
    ftc_job_look_for_end(job);
}

static void on_spawn(struct ev_loop *loop, struct ev_idle *idle, int events)
{
    struct ftc_job *job = idle->data;
    int rank = job->next_rank, error;
    struct ftc_spawned spawned;
    (void)loop;
    (void)events;
    if (start_rank(job, rank, &spawned, &error) != FTC_SUCCESS) {
        fail_launch(job, rank, error);
        return;
    }
    job->next_rank++;
    ftc_watcher_started(&job->watcher, rank, spawned.pid);
    if (rank == 0)
        ftc_input_started(&job->input);
    if (ftc_output_add(&job->output, rank, spawned.out_fd, spawned.err_fd) != FTC_SUCCESS) {
        ftc_sink_say(job->verdict.err, "%s", ftc_last_error());
        ftc_job_end(job, 1);
    } else if (!ftc_job_spawning(job)) {
        all_started(job);
    }
}

void ftc_job_init_spawner(struct ftc_job *job)
{
    ev_idle_init(&job->spawner, on_spawn);
    job->spawner.data = job;
}
