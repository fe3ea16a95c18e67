/* What happens to a job while it runs: failures, aborts, limits, signals, its end. */
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "launcher/job/internal.h"
#include "launcher/strays.h"
#include "launcher/waiters.h"
#include "node/jobs.h"

#define CHECK_SECONDS 0.1
#define HELD_CHECKS                                                                                \
    10 /* a pipe that is open and silent so long after the end belongs to a stranger */
#define FORCED_CHECKS 20 /* a reader that is so slow when the job was killed gets no more */
#define UNKILLED_CHECKS                                                                            \
    100 /* a process that is still there so long after SIGKILL is left to the kernel */

/* --- ending --- */

void ftc_job_end(struct ftc_job *job, int code)
{
    if (!job->ending && job->several)
        ftc_agent_end(&job->agent, code);
    ftc_job_end_here(job, code);
}

static void begin_end(struct ftc_job *job, int code)
{
    job->ending = job->agent.ending = true;
    job->exit_code = code;
    ev_idle_stop(job->loop, &job->spawner);
    ev_timer_start(job->loop, &job->check);
}

/* An agent of adopted ranks may be killed when the last of them ends: Slurm kills what is left of a
 * step on a host (proctrack/cgroup). So files that have a name are removed before the ranks end.
 * Processes that have them open keep them. */
static void drop_names(const struct ftc_job *job)
{
    if (job->adopts)
        ftc_jobs_remove(job->directory, job->directory_lock, job->segment);
}

/* The ends of this node's ranks are failures. The other agents that can still be reached learn of
 * them at once. */
void ftc_job_fence(struct ftc_job *job)
{
    if (!job->ending)
        begin_end(job, FTC_EXIT_FENCED);
    drop_names(job);
    for (int rank = 0; rank < job->ranks.count; rank++)
        (void)ftc_watcher_kill(&job->watcher, rank, FTC_CAUSE_NODE);
}

void ftc_job_end_here(struct ftc_job *job, int code)
{
    if (!job->ending) {
        begin_end(job, code);
        job->watcher.ending = true;
    }
    drop_names(job);
    ftc_ranks_signal_all(&job->ranks, SIGKILL);
}

bool ftc_job_spawning(const struct ftc_job *job)
{
    return !job->ending && job->next_rank < job->end_rank;
}

/* The processes that ranks have left behind end with the job. */
static void end_strays(struct ftc_job *job)
{
    int count = job->adopts ? 0 : ftc_strays_kill(job->name, &job->ranks);

    if (count > 0 && !job->strays)
        ftc_sink_say(
            job->verdict.err,
            "killed what ranks had left running; a process that shall outlive the job has to be "
            "started without FTCOLL_JOB_SEGMENT in its environment");
    job->strays = job->strays || count > 0;
}

/* Leave the loop once every rank has ended and all of their output is written. */
void ftc_job_look_for_end(struct ftc_job *job)
{
    if (ftc_job_spawning(job) || job->ranks.running > 0)
        return;
    drop_names(job);
    if (!job->watcher.ending)
        ftc_watcher_settle(&job->watcher);
    ftc_trace_finish(&job->trace); /* the others may read it as soon as this node has left */
    ev_timer_stop(job->loop, &job->timeout);
    end_strays(job);
    bool told = !job->several || ftc_agent_leave(&job->agent);
    if (told && job->output.open == 0 && ftc_output_empty(&job->output))
        ev_break(job->loop, EVBREAK_ALL);
    else
        ev_timer_start(job->loop, &job->check);
}

static void on_check(struct ev_loop *loop, struct ev_timer *timer, int events)
{
    struct ftc_job *job = timer->data;
    (void)events;
    job->checks++;
    if (job->ranks.running > 0) {
        ftc_ranks_signal_all(&job->ranks, SIGKILL);
        if (job->checks < UNKILLED_CHECKS)
            return;
        ftc_sink_say(job->verdict.err,
                     "%d ranks do not end although they were killed; giving up on them",
                     job->ranks.running);
        ev_break(loop, EVBREAK_ALL);
        return;
    }
    job->silent_checks = ftc_output_idle(&job->output) ? job->silent_checks + 1 : 0;
    if (job->silent_checks >= HELD_CHECKS)
        ftc_output_close(&job->output);
    if (job->ending && job->checks >= FORCED_CHECKS)
        ev_break(loop, EVBREAK_ALL);
    else
        ftc_job_look_for_end(job);
}

static void on_output_closed(void *arg)
{
    ftc_job_look_for_end(arg);
}

/* --- news --- */

/* Reads the word of the header that ftc_abort() writes. A word that no rank can have written is
 * damage. It is removed, since the first word keeps out all later ones. */
static uint64_t read_abort(struct ftc_job *job)
{
    _Atomic uint64_t *shared = &ftc_segment_header(job->segment)->abort;
    uint64_t word = atomic_load(shared);

    if (word == 0 || (word == FTC_ABORT(FTC_ABORT_RANK(word), FTC_ABORT_CODE(word)) &&
                      (uint32_t)FTC_ABORT_RANK(word) < (uint32_t)job->ranks.count))
        return word;
    (void)atomic_compare_exchange_strong(shared, &word, 0);
    return 0;
}

static void look_for_abort(struct ftc_job *job)
{
    uint64_t word = atomic_load(&job->pmix_abort);
    if (word == 0)
        word = read_abort(job);
    if (word == 0 || job->ending)
        return;
    int code = FTC_ABORT_CODE(word);
    if (code < 1 || code > 255)
        code = 1;
    ftc_sink_say(job->verdict.err, "rank %d aborted the job with code %d; killing the other ranks",
                 FTC_ABORT_RANK(word), code);
    ftc_job_end(job, code);
}

static void look_for_limit(struct ftc_job *job)
{
    int failures = ftc_verdict_failures(&job->verdict);
    if (job->ending || failures <= job->verdict.max_failures || job->ranks.running == 0)
        return;
    int rank = ftc_verdict_first_failed(&job->verdict);
    int code = rank >= 0 ? ftc_verdict_rank_code(&job->verdict, rank) : 1;
    if (job->several && !ftc_agent_speaks(&job->agent)) { /* the agent that speaks finds it, too */
        ftc_job_end_here(job, code);
        return;
    }
    ftc_sink_say(job->verdict.err,
                 "%d ranks failed, more than --max-failures %d; killing the others", failures,
                 job->verdict.max_failures);
    ftc_job_end(job, code);
}

static void trace(struct ftc_job *job)
{
    job->trace.speaks = !job->several || ftc_agent_speaks(&job->agent);
    ftc_trace_drain(&job->trace);
}

static void on_failed(void *arg, int rank)
{
    struct ftc_job *job = arg;
    trace(job);
    if (job->several)
        ftc_agent_look(&job->agent);
    look_for_abort(job); /* if the rank has aborted, its exit is no news */
    if (!job->ending)
        ftc_verdict_tell(&job->verdict, rank);
}

static void on_accused_elsewhere(void *arg, int rank, int accuser)
{
    struct ftc_job *job = arg;
    ftc_agent_accuse(&job->agent, rank, accuser);
}

static void on_suspected(void *arg, int rank)
{
    struct ftc_job *job = arg;
    ftc_verdict_tell_suspect(&job->verdict, rank);
}

/* Ranks need PMIx only to start. Once each rank of this node has joined or ended, no process needs
 * to connect any more. */
static void look_for_joined(struct ftc_job *job)
{
    int count, first = ftc_segment_local(job->segment, &count);
    if (job->server.listener < 0)
        return;
    for (int rank = first; rank < first + count; rank++)
        if (!job->ranks.at[rank].joined && !job->ranks.at[rank].ended)
            return;
    ftc_server_close(&job->server);
}

static void on_changed(void *arg)
{
    struct ftc_job *job = arg;
    trace(job);
    look_for_joined(job);
    look_for_abort(job);
    if (!job->ending && job->ranks.any_joined)
        ftc_verdict_tell_all(&job->verdict);
    look_for_limit(job);
    ftc_job_look_for_end(job);
}

/* Runs in PMIx's thread. */
void ftc_job_on_pmix_abort(void *arg, int rank, int code)
{
    struct ftc_job *job = arg;
    uint64_t none = 0;
    (void)atomic_compare_exchange_strong(&job->pmix_abort, &none, FTC_ABORT(rank, code));
    none = 0; /* the header is for ftcoll-status */
    (void)atomic_compare_exchange_strong(&ftc_segment_header(job->segment)->abort, &none,
                                         FTC_ABORT(rank, code));
    ev_async_send(job->loop, &job->poke);
}

static void on_poke(struct ev_loop *loop, struct ev_async *async, int events)
{
    (void)loop;
    (void)events;
    look_for_abort(async->data);
}

static void on_timeout(struct ev_loop *loop, struct ev_timer *timer, int events)
{
    struct ftc_job *job = timer->data;
    (void)loop;
    (void)events;
    if (job->ending) /* the agent that began to kill the job has said why */
        return;
    ftc_sink_say(job->verdict.err,
                 "timeout after %g s; who waits for whom:", job->command->timeout_s);
    ftc_waiters_print(job->verdict.err, &job->ranks, job->segment);
    ftc_job_end(job, FTC_EXIT_TIMEOUT);
}

/* --- signals --- */

static void on_forward(void *arg, int number)
{
    struct ftc_job *job = arg;
    bool ends = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
    if (ends && ftc_job_spawning(job)) { /* ranks that are not started yet would miss it */
        ftc_sink_say(job->verdict.err, "got SIG%s before all ranks were started; killing them",
                     sigabbrev_np(number));
        ftc_job_end(job, 128 + number);
        ftc_job_look_for_end(job);
        return;
    }
    if (ftc_job_spawning(job) && (number == SIGUSR1 || number == SIGUSR2)) {
        sigaddset(&job->deferred, number);
        return;
    }
    if (ends) {
        job->verdict.forwarded = number;
        ftc_sink_say(job->verdict.err, "got SIG%s; passed on to %d ranks (once more kills them)",
                     sigabbrev_np(number), job->ranks.running);
    }
    ftc_ranks_signal_all(&job->ranks, number);
}

static void on_kill_all(void *arg, int number)
{
    struct ftc_job *job = arg;
    ftc_sink_say(job->verdict.err, "got SIG%s again; killing all ranks", sigabbrev_np(number));
    if (job->ending) /* not even killing helps: a reader does not read */
        ev_break(job->loop, EVBREAK_ALL);
    ftc_job_end(job, 128 + number);
}

static void on_resumed(void *arg)
{
    struct ftc_job *job = arg;
    ftc_input_resume(&job->input);
}

/* --- watchers --- */

void ftc_job_set_callbacks(struct ftc_job *job)
{
    job->output.closed = on_output_closed;
    job->output.closed_arg = job;
    job->watcher.failed = on_failed;
    job->watcher.suspected = on_suspected;
    job->watcher.changed = on_changed;
    job->watcher.accused_elsewhere = on_accused_elsewhere;
    job->watcher.arg = job;
    job->signals.forward = on_forward;
    job->signals.kill_all = on_kill_all;
    job->signals.resumed = on_resumed;
    job->signals.arg = job;
}

void ftc_job_init_watchers(struct ftc_job *job)
{
    ev_async_init(&job->poke, on_poke);
    ev_timer_init(&job->timeout, on_timeout, job->command->timeout_s, 0);
    ev_timer_init(&job->check, on_check, CHECK_SECONDS, CHECK_SECONDS);
    job->poke.data = job->timeout.data = job->check.data = job;
    ev_async_start(job->loop, &job->poke);
}
