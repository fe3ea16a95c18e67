/*
 * A job from the command line to the exit code.
 *
 * Everything happens in one thread and one event loop; PMIx has threads of its own and only pokes the loop.
 * Steps are taken in the order segment, server, loop, ranks, and undone in the opposite one, from wherever
 * it stopped.
 */
#include "launcher/job.h"

#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "launcher/drill.h"
#include "launcher/environment.h"
#include "launcher/input.h"
#include "launcher/limits.h"
#include "launcher/output.h"
#include "launcher/program.h"
#include "launcher/report.h"
#include "launcher/server.h"
#include "launcher/signals.h"
#include "launcher/spawn.h"
#include "launcher/verdict.h"
#include "launcher/waiters.h"
#include "launcher/watcher.h"
#include "node/bell.h"
#include "node/jobs.h"
#include "node/segment.h"

#define CHECK_SECONDS   0.1
#define HELD_CHECKS     10 /* a pipe that stays open and silent so long after the end is held by a stranger */
#define FORCED_CHECKS   20 /* a reader that is so slow when the job was killed gets no more */
#define UNKILLED_CHECKS 100 /* a process that is still there so long after SIGKILL is left to the kernel */

struct ftc_job {
    const struct ftc_command *command;
    const struct ftc_settings *settings;
    char name[FTC_JOB_NAME_SIZE], directory[108], host[64];
    char *program;
    uint64_t started_ns, started_realtime_ns, server_ns, spawned_ns;

    struct ftc_segment *segment;
    struct ftc_bell bell;
    struct ftc_environment environment; /* of the ranks, but for what each has of its own */
    struct ftc_server server;
    struct ftc_ranks ranks;
    struct ftc_spawn spawn;
    struct ev_loop *loop;
    struct ftc_output output;
    struct ftc_input input;
    struct ftc_watcher watcher;
    struct ftc_signals signals;
    struct ftc_launch_drill drill;
    struct ftc_verdict verdict;

    struct ev_idle spawner;  /* starts one rank per turn, so that news of those that run are not held up */
    struct ev_async poke;    /* from PMIx's thread: look at the abort word */
    struct ev_timer timeout; /* --timeout */
    struct ev_timer check;   /* the end: what still keeps the job? */
    int next_rank;
    int checks, silent_checks;
    sigset_t deferred; /* signals that came before all ranks were there */
    bool ending;       /* it is being killed */
    int exit_code;     /* -1: the verdict's */
};

/* --- ending --- */

/* Kill the job; its exit code is decided. */
static void end_job(struct ftc_job *job, int code)
{
    if (!job->ending) {
        job->ending = true;
        job->exit_code = code;
        job->watcher.ending = true;
        ev_idle_stop(job->loop, &job->spawner);
        ev_timer_start(job->loop, &job->check);
    }
    ftc_ranks_signal_all(&job->ranks, SIGKILL);
}

static bool spawning(const struct ftc_job *job)
{
    return !job->ending && job->next_rank < job->command->np;
}

/* Leave the loop once every rank has ended and everything it said is written. */
static void look_for_end(struct ftc_job *job)
{
    if (spawning(job) || job->ranks.running > 0)
        return;
    if (!job->ending)
        ftc_watcher_settle(&job->watcher);
    ev_timer_stop(job->loop, &job->timeout);
    if (job->output.open == 0 && ftc_output_empty(&job->output))
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
        ftc_sink_say(job->verdict.err, "%d ranks do not end although they were killed; giving up on them",
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
        look_for_end(job);
}

static void on_output_closed(void *arg)
{
    look_for_end(arg);
}

/* --- news --- */

/* ftc_abort(), PMIx_Abort(): the word in the header. */
static void look_for_abort(struct ftc_job *job)
{
    uint64_t word = atomic_load(&ftc_segment_header(job->segment)->abort);
    if (word == 0 || job->ending)
        return;
    int code = FTC_ABORT_CODE(word);
    if (code < 1 || code > 255)
        code = 1;
    ftc_sink_say(job->verdict.err, "rank %d aborted the job with code %d; killing the other ranks",
                 FTC_ABORT_RANK(word), code);
    end_job(job, code);
}

static void look_for_limit(struct ftc_job *job)
{
    int failures = ftc_verdict_failures(&job->verdict);
    if (job->ending || failures <= job->verdict.max_failures || job->ranks.running == 0)
        return;
    int rank = ftc_verdict_first_failed(&job->verdict);
    ftc_sink_say(job->verdict.err, "%d ranks failed, more than --max-failures %d; killing the others",
                 failures, job->verdict.max_failures);
    end_job(job, rank >= 0 ? ftc_verdict_rank_code(&job->verdict, rank) : 1);
}

static void on_failed(void *arg, int rank)
{
    struct ftc_job *job = arg;
    look_for_abort(job); /* then its exit is no news */
    if (!job->ending)
        ftc_verdict_tell(&job->verdict, rank);
}

static void on_suspected(void *arg, int rank)
{
    struct ftc_job *job = arg;
    ftc_verdict_tell_suspect(&job->verdict, rank);
}

static void on_changed(void *arg)
{
    struct ftc_job *job = arg;
    look_for_abort(job);
    if (!job->ending && job->ranks.any_joined)
        ftc_verdict_tell_all(&job->verdict);
    look_for_limit(job);
    look_for_end(job);
}

/* In PMIx's thread. */
static void on_pmix_abort(void *arg, int rank, int code)
{
    struct ftc_job *job = arg;
    uint64_t none = 0;
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
    ftc_sink_say(job->verdict.err, "timeout after %g s; who waits for whom:", job->command->timeout_s);
    ftc_waiters_print(job->verdict.err, &job->ranks, job->segment);
    end_job(job, FTC_EXIT_TIMEOUT);
}

/* --- signals --- */

static void on_forward(void *arg, int number)
{
    struct ftc_job *job = arg;
    bool ends = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
    if (ends && spawning(job)) { /* ranks that are not there yet would miss it */
        ftc_sink_say(job->verdict.err, "got SIG%s before all ranks were started; killing them",
                     sigabbrev_np(number));
        end_job(job, 128 + number);
        look_for_end(job);
        return;
    }
    if (spawning(job) && (number == SIGUSR1 || number == SIGUSR2)) {
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
    if (job->ending) /* not even that helps: a reader that does not read */
        ev_break(job->loop, EVBREAK_ALL);
    end_job(job, 128 + number);
}

static void on_resumed(void *arg)
{
    struct ftc_job *job = arg;
    ftc_input_resume(&job->input);
}

/* --- starting ranks --- */

/* The ranks' environment and then `own`; the strings stay where they are. */
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
        rc = ftc_spawn_rank(&job->spawn, rank, all, rank == 0 ? job->input.child_fd : -1, spawned, error);
    free(all);
    ftc_server_free_environment(pmix);
    return rc;
}

/* The program was checked, but not everything can be seen beforehand. */
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
    end_job(job, launch_code(error));
    look_for_end(job);
}

/* The last rank runs. */
static void all_started(struct ftc_job *job)
{
    ev_idle_stop(job->loop, &job->spawner);
    job->spawned_ns = ftc_clock_now();
    atomic_store(&ftc_segment_header(job->segment)->state, FTC_JOB_RUNNING);
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&job->deferred, number) == 1)
            ftc_ranks_signal_all(&job->ranks, number);
    if (ftc_launch_drill_start(&job->drill, job->loop, &job->watcher, job->verdict.err, job->command) !=
        FTC_SUCCESS)
        ftc_sink_say(job->verdict.err, "--kill: %s", ftc_last_error());
    look_for_end(job);
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
        end_job(job, 1);
    } else if (!spawning(job)) {
        all_started(job);
    }
}

/* --- setting up --- */

/* "program arg arg", cut; for people. */
static void format_command(const struct ftc_command *command, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (char **arg = command->program; *arg != NULL && used < size - 1; arg++) {
        int length = snprintf(text + used, size - used, "%s%s", used > 0 ? " " : "", *arg);
        used += length > 0 ? (size_t)length : 0;
    }
}

static int make_segment(struct ftc_job *job)
{
    char command[256];
    const struct ftc_config *config = &job->settings->value;
    char *text = ftc_settings_dump(job->settings);
    if (text == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    format_command(job->command, command, sizeof(command));
    struct ftc_segment_spec spec = {
        .job = job->name,
        .host = job->host,
        .command = command,
        .directory = job->directory,
        .text = text,
        .ranks = job->command->np,
        .f = (int)config->f,
        .bound_cores = job->command->bind_core ? ftc_process_cores() : 0,
        .heartbeat_period_ns = (uint64_t)config->heartbeat_period_ms * FTC_NS_PER_MS,
        .heartbeat_timeout_ns = (uint64_t)config->heartbeat_timeout_ms * FTC_NS_PER_MS,
    };
    int rc = ftc_segment_create(&job->segment, &spec);
    free(text);
    return rc;
}

static int make_environment(struct ftc_job *job, char *const environment[])
{
    char segment[64];
    int rc = ftc_environment_copy(&job->environment, environment);
    if (rc == FTC_SUCCESS) /* as in the server: saves each rank a dlopen() in PMIx_Init() */
        rc = ftc_environment_default(&job->environment, "PMIX_MCA_pcompress=^zlib");
    snprintf(segment, sizeof(segment), "FTCOLL_JOB_SEGMENT=%s", job->name);
    if (rc == FTC_SUCCESS)
        rc = ftc_environment_set(&job->environment, segment);
    for (int i = 0; rc == FTC_SUCCESS && i < job->command->variable_count; i++) {
        const char *variable = job->command->variables[i];
        if (strchr(variable, '=') != NULL)
            rc = ftc_environment_set(&job->environment, variable);
        else if (getenv(variable) == NULL)
            fprintf(stderr, "ftrun: -x %s: the variable is not set here; give -x %s=VALUE to set it\n",
                    variable, variable);
    }
    return rc;
}

static int make_server(struct ftc_job *job)
{
    struct ftc_server_spec spec = {
        .job = job->name,
        .directory = job->directory,
        .host = job->host,
        .np = job->command->np,
        .aborted = on_pmix_abort,
        .arg = job,
    };
    int rc = ftc_server_start(&job->server, &spec);
    job->server_ns = ftc_clock_now();
    return rc;
}

static void init_watchers(struct ftc_job *job)
{
    ev_idle_init(&job->spawner, on_spawn);
    ev_async_init(&job->poke, on_poke);
    ev_timer_init(&job->timeout, on_timeout, job->command->timeout_s, 0);
    ev_timer_init(&job->check, on_check, CHECK_SECONDS, CHECK_SECONDS);
    job->spawner.data = job->poke.data = job->timeout.data = job->check.data = job;
    ev_async_start(job->loop, &job->poke);
}

static int make_loop(struct ftc_job *job)
{
    const struct ftc_command *command = job->command;
    int rc = ftc_output_init(&job->output, job->loop, command->np, command->tag, command->timestamp,
                             command->output_directory);
    if (rc == FTC_SUCCESS)
        rc = ftc_input_init(&job->input, job->loop);
    if (rc == FTC_SUCCESS)
        rc = ftc_ranks_init(&job->ranks, command->np);
    if (rc == FTC_SUCCESS)
        rc = ftc_watcher_init(&job->watcher, job->loop, &job->ranks, job->segment, &job->bell,
                              &job->settings->value);
    if (rc == FTC_SUCCESS)
        rc = ftc_spawn_init(&job->spawn);
    if (rc != FTC_SUCCESS)
        return rc;
    job->output.closed = on_output_closed;
    job->output.closed_arg = job;
    job->verdict = (struct ftc_verdict){.ranks = &job->ranks,
                                        .segment = job->segment,
                                        .err = job->output.err_sink,
                                        .max_failures = command->max_failures};
    job->watcher.failed = on_failed;
    job->watcher.suspected = on_suspected;
    job->watcher.changed = on_changed;
    job->watcher.arg = job;
    job->signals.forward = on_forward;
    job->signals.kill_all = on_kill_all;
    job->signals.resumed = on_resumed;
    job->signals.arg = job;
    return FTC_SUCCESS;
}

/* Everything up to the first rank. */
static int prepare(struct ftc_job *job, char *const environment[])
{
    const struct ftc_command *command = job->command;
    int rc = ftc_limits_raise(command->np, command->output_directory != NULL, &job->spawn.files);
    if (rc == FTC_SUCCESS)
        rc = ftc_jobs_new(job->name, job->directory);
    if (rc == FTC_SUCCESS)
        rc = make_segment(job);
    if (rc == FTC_SUCCESS)
        rc = ftc_bell_open(&job->bell, job->segment, FTC_BELL_LAUNCHER);
    if (rc == FTC_SUCCESS)
        rc = make_environment(job, environment);
    if (rc != FTC_SUCCESS)
        return rc;
    job->loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
    if (job->loop == NULL)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot make an event loop: %m; raise ulimit -n");
    init_watchers(job);
    rc = make_loop(job);
    return rc == FTC_SUCCESS ? make_server(job) : rc;
}

/* --- running --- */

static void run_loop(struct ftc_job *job)
{
    ftc_signals_start(&job->signals, job->loop);
    ev_now_update(job->loop);
    if (job->command->timeout_s > 0)
        ev_timer_start(job->loop, &job->timeout);
    /* Above output, below news of deaths. */
    ev_set_priority(&job->spawner, 0);
    ev_idle_start(job->loop, &job->spawner);
    ev_run(job->loop, 0);
    ftc_signals_stop(&job->signals);
}

static int write_report(struct ftc_job *job, int code)
{
    struct ftc_job_report report = {
        .path = job->command->report,
        .verdict = &job->verdict,
        .job = job->name,
        .f = (int)job->settings->value.f,
        .exit_code = code,
        .started_realtime_ns = job->started_realtime_ns,
        .ended_realtime_ns = ftc_clock_realtime(),
        .started_ns = job->started_ns,
        .server_ns = job->server_ns,
        .spawned_ns = job->spawned_ns,
    };
    if (report.path == NULL || ftc_job_report_write(&report) == FTC_SUCCESS)
        return code;
    fprintf(stderr, "ftrun: %s\n", ftc_last_error());
    return code != 0 ? code : 1;
}

static int conclude(struct ftc_job *job)
{
    atomic_store(&ftc_segment_header(job->segment)->state, FTC_JOB_ENDED);
    int code = job->exit_code >= 0 ? job->exit_code : ftc_verdict_code(&job->verdict);
    ftc_verdict_summary(&job->verdict, code);
    return write_report(job, code);
}

static void clean_up(struct ftc_job *job)
{
    ftc_server_stop(&job->server);
    ftc_launch_drill_fini(&job->drill);
    ftc_watcher_fini(&job->watcher);
    ftc_output_fini(&job->output);
    ftc_input_fini(&job->input);
    ftc_spawn_fini(&job->spawn);
    ftc_ranks_fini(&job->ranks);
    if (job->loop != NULL)
        ev_loop_destroy(job->loop);
    ftc_environment_fini(&job->environment);
    ftc_bell_close(&job->bell);
    ftc_segment_detach(job->segment);
    if (job->name[0] != '\0')
        ftc_jobs_remove(job->name);
    free(job->program);
}

int ftc_job_run(const struct ftc_command *command, const struct ftc_settings *settings,
                char *const environment[])
{
    struct ftc_job job = {
        .command = command,
        .settings = settings,
        .started_ns = ftc_clock_now(),
        .started_realtime_ns = ftc_clock_realtime(),
        .bell = {.fd = -1},
        .exit_code = -1,
    };
    int code = 1;
    if (ftc_program_find(command->program[0], command->working_directory, &job.program, &code) !=
        FTC_SUCCESS) {
        fprintf(stderr, "ftrun: %s\n", ftc_last_error());
        return code;
    }
    sigemptyset(&job.deferred);
    ftc_signals_block(&job.signals);
    job.spawn = (struct ftc_spawn){.path = job.program,
                                   .argv = command->program,
                                   .directory = command->working_directory,
                                   .bind = command->bind_core,
                                   .ignore_hangup = job.signals.ignore_hangup,
                                   .null_fd = -1};
    if (gethostname(job.host, sizeof(job.host) - 1) != 0)
        snprintf(job.host, sizeof(job.host), "localhost");
    (void)ftc_jobs_collect_garbage();
    if (prepare(&job, environment) == FTC_SUCCESS) {
        run_loop(&job);
        code = conclude(&job);
    } else {
        fprintf(stderr, "ftrun: %s\n", ftc_last_error());
    }
    clean_up(&job);
    return code;
}
