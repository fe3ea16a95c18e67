/*
 * A job from the command line to the exit code.
 *
 * Everything happens in one thread and one event loop. PMIx has threads of its own, which only wake
 * the loop. The job sets up segment, server, loop and ranks in this order. It undoes them in the
 * opposite order, beginning with the last that was set up.
 */
#include "launcher/job/job.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "launcher/bus.h"
#include "launcher/choices.h"
#include "launcher/job/adopt.h"
#include "launcher/job/guest.h"
#include "launcher/job/internal.h"
#include "launcher/limits.h"
#include "launcher/pmix_listener.h"
#include "launcher/program.h"
#include "launcher/report.h"
#include "launcher/strays.h"
#include "node/jobs.h"

#define MAX_NAMES 100 /* names to try */

/* --- setting up --- */

/* "program arg arg", cut to `size`, for people to read. */
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
        .history = config->history,
        .endpoints = ftc_config_leaves_node(config),
        .bound_cores = job->command->bind_core ? ftc_process_cores() : 0,
        .node = job->agent.meeting.node,
        .nodes = job->agent.meeting.nodes,
        .cluster = job->agent.meeting.cluster,
        .secret = job->agent.meeting.secret,
        .members = job->agent.meeting.members,
        .heartbeat_period_ns = (uint64_t)config->heartbeat_period_ms * FTC_NS_PER_MS,
        .heartbeat_timeout_ns = (uint64_t)config->heartbeat_timeout_ms * FTC_NS_PER_MS,
    };
    int rc = ftc_segment_create(&job->segment, &spec);
    free(text);
    if (rc != FTC_SUCCESS)
        return rc;
    int count;
    job->next_rank = ftc_segment_local(job->segment, &count);
    job->end_rank = job->next_rank + count;
    return FTC_SUCCESS;
}

static void remove_place(struct ftc_job *job)
{
    ftc_jobs_remove(job->directory, job->directory_lock, job->segment);
    ftc_segment_detach(job->segment);
    if (job->directory_lock >= 0)
        close(job->directory_lock);
    job->directory_lock = -1;
    job->segment = NULL;
}

/* A job in another pid namespace may draw the same name at the same time. The second of the two
 * draws again. */
static int make_place(struct ftc_job *job)
{
    int rc = FTC_ERR_STATE;
    for (int tries = 0; tries < MAX_NAMES && rc == FTC_ERR_STATE; tries++) {
        remove_place(job);
        rc = ftc_jobs_new(job->name, job->directory, &job->directory_lock);
        if (rc == FTC_SUCCESS)
            rc = make_segment(job);
    }
    return rc;
}

static int make_environment(struct ftc_job *job, char *const environment[])
{
    char segment[64];
    int rc = ftc_environment_copy(&job->environment, environment);
    if (rc == FTC_SUCCESS) /* as in the server: each rank saves a dlopen() in PMIx_Init() */
        rc = ftc_environment_default(&job->environment, "PMIX_MCA_pcompress=^zlib");
    if (rc == FTC_SUCCESS) /* another user may block the server: then a rank goes on without it */
        rc = ftc_environment_default(&job->environment, "PMIX_MCA_ptl_base_handshake_wait_time=10");
    snprintf(segment, sizeof(segment), "FTCOLL_JOB_SEGMENT=%s", job->name);
    if (rc == FTC_SUCCESS)
        rc = ftc_environment_set(&job->environment, segment);
    for (int i = 0; rc == FTC_SUCCESS && i < job->command->variable_count; i++) {
        const char *variable = job->command->variables[i];
        if (strchr(variable, '=') != NULL)
            rc = ftc_environment_set(&job->environment, variable);
        else if (getenv(variable) == NULL)
            fprintf(stderr,
                    "ftrun: -x %s: the variable is not set here; give -x %s=VALUE to set it\n",
                    variable, variable);
    }
    return rc;
}

/* Ranks of ftcoll also start without the server: they inherit what they need. */
static void make_server(struct ftc_job *job)
{
    struct ftc_server_spec spec = {
        .job = job->name,
        .directory = job->directory,
        .segment = job->segment,
        .aborted = ftc_job_on_pmix_abort,
        .arg = job,
    };
    if (ftc_server_start(&job->server, &spec) != FTC_SUCCESS)
        fprintf(stderr, "ftrun: %s; going on without PMIx\n", ftc_last_error());
    job->server_ns = ftc_clock_now();
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
    if (rc == FTC_SUCCESS && command->trace != NULL)
        rc = ftc_trace_open(&job->trace, command->trace, job->segment, &job->ranks);
    if (rc != FTC_SUCCESS)
        return rc;
    job->verdict = (struct ftc_verdict){.ranks = &job->ranks,
                                        .segment = job->segment,
                                        .err = job->output.err_sink,
                                        .max_failures = command->max_failures};
    ftc_job_set_callbacks(job);
    return FTC_SUCCESS;
}

/* Do everything in which this node can fail. */
static int prepare_node(struct ftc_job *job, char *const environment[])
{
    const struct ftc_command *command = job->command;
    int rc = command->report != NULL ? ftc_job_report_open(command->report, &job->report_fd)
                                     : FTC_SUCCESS;
    const struct ftc_meeting *meeting = &job->agent.meeting;
    int nodes = job->several ? meeting->nodes : 1;
    int here = job->several ? (int)meeting->members[meeting->node].count : command->np;
    if (rc == FTC_SUCCESS)
        rc = ftc_limits_raise(here, nodes, command->output_directory != NULL, &job->spawn.files);
    if (job->agent.meeting.node == 0 && job->settings->value.log_level >= FTC_LOG_WARN)
        ftc_command_tell_idle(command, job->settings, nodes, stderr);
    job->settings->value.algorithm = ftc_config_algorithm(&job->settings->value, nodes);
    if (rc == FTC_SUCCESS)
        rc = make_place(job);
    if (rc == FTC_SUCCESS)
        ftc_bus_guard(&job->ranks, job->segment, job->directory, job->directory_lock);
    if (rc == FTC_SUCCESS)
        rc = ftc_bell_open(&job->bell, job->segment, FTC_BELL_LAUNCHER);
    if (rc == FTC_SUCCESS)
        rc = make_environment(job, environment);
    if (rc != FTC_SUCCESS)
        return rc;
    job->loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
    if (job->loop == NULL)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot make an event loop: %m; raise ulimit -n");
    ftc_job_init_watchers(job);
    ftc_job_init_spawner(job);
    return make_loop(job);
}

/* Do everything up to the first rank. */
static int prepare(struct ftc_job *job, char *const environment[])
{
    bool meets = ftc_job_meets(job);
    int rc = meets ? ftc_job_meet(job) : FTC_SUCCESS;
    bool met = job->agent.meeting.members != NULL; /* if so, the other nodes wait for this one */

    if (rc != FTC_SUCCESS)
        return job->adopts || met ? ftc_job_met(job, rc) : rc;
    rc = prepare_node(job, environment);
    if (rc == FTC_SUCCESS && job->adopts)
        rc = ftc_adopt_ranks(job);
    if (meets)
        rc = ftc_job_met(job, rc);
    if (rc == FTC_SUCCESS && !job->adopts)
        make_server(job);
    return rc == FTC_SUCCESS && job->several ? ftc_job_start_agent(job) : rc;
}

/* --- running --- */

static void run_loop(struct ftc_job *job)
{
    /* Adopted ranks get the signals of the launcher that started them. Their agent ends with the
     * last of them. */
    if (!job->adopts)
        ftc_signals_start(&job->signals, job->loop);
    ftc_guest_watch(job);
    ev_now_update(job->loop);
    if (job->command->timeout_s > 0)
        ev_timer_start(job->loop, &job->timeout);
    /* The priority is above output, and below news of deaths. */
    ev_set_priority(&job->spawner, 0);
    ftc_trace_start(&job->trace, job->loop);
    if (!job->several && !job->adopts) /* otherwise the first lease starts it */
        ev_idle_start(job->loop, &job->spawner);
    ev_run(job->loop, 0);
    ftc_signals_stop(&job->signals);
    ftc_guest_unwatch(job);
}

static int write_report(struct ftc_job *job, int code)
{
    struct ftc_job_report report = {
        .path = job->command->report,
        .fd = job->report_fd,
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

/* A host that does not know the end of the job leaves its part to the others. */
static int merge_trace(struct ftc_job *job, int code)
{
    struct ftc_trace_sum sum;
    const char *path = job->command->trace;

    if (path == NULL || (job->several && !ftc_agent_sums_up(&job->agent, job->ending)))
        return code;
    if (ftc_trace_merge(&job->trace, &sum) != FTC_SUCCESS) {
        fprintf(stderr, "ftrun: %s\n", ftc_last_error());
        return code != 0 ? code : 1;
    }
    if (sum.nodes > 0 && sum.missing >= 0)
        ftc_sink_say(job->verdict.err,
                     "the trace %s lacks hosts whose file is not here, such as %s.node%d of host "
                     "%s",
                     path, path, sum.missing, ftc_segment_node_at(job->segment, sum.missing)->host);
    if (sum.overwritten > 0)
        ftc_sink_say(job->verdict.err,
                     "the trace %s lacks %llu entries, of up to %d operations each: ranks "
                     "overwrote them before they could be copied",
                     path, (unsigned long long)sum.overwritten, (int)FTC_HISTORY_RUN);
    return code;
}

static void tell_refused(struct ftc_job *job)
{
    struct ftc_pmix_refused refused = ftc_pmix_listener_refused();
    if (refused.others + refused.unknown > 0)
        ftc_sink_say(
            job->verdict.err,
            "refused connections to the PMIx port: %llu of other users, %llu of which the kernel "
            "did not say whose they were%s",
            (unsigned long long)refused.others, (unsigned long long)refused.unknown,
            refused.unknown > 0 ? ": if they were of the job, load the kernel module tcp_diag"
                                : "");
}

static int code_of(const struct ftc_job *job)
{
    return job->exit_code >= 0 ? job->exit_code : ftc_verdict_code(&job->verdict);
}

/* This node has left before other ranks ended. If nobody can tell their ends, they have failed. */
static void tell_what_is_known(struct ftc_job *job)
{
    int unknown = ftc_mirror_give_up(&job->agent.mirror);

    ftc_job_tell_end(job, code_of(job), unknown);
}

static int conclude(struct ftc_job *job)
{
    tell_refused(job);
    ftc_trace_finish(&job->trace);
    atomic_store(&ftc_segment_header(job->segment)->state, FTC_JOB_ENDED);
    int code = code_of(job);
    if (job->agent.fenced || job->deserted)
        return code;
    if (!ftc_job_knows(job)) {
        if (!job->agent.apart)
            tell_what_is_known(job);
        return 0;
    }
    ftc_job_tell_end(job, code, 0);
    return merge_trace(job, write_report(job, code));
}

static void clean_up(struct ftc_job *job)
{
    if (job->report_fd >= 0)
        close(job->report_fd);
    ftc_server_stop(&job->server);
    ftc_trace_fini(&job->trace);
    ftc_agent_fini(&job->agent);
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
    ftc_bus_unguard();
    remove_place(job);
    free(job->program);
}

int ftc_job_run(const struct ftc_command *command, struct ftc_settings *settings,
                char *const environment[])
{
    struct ftc_job job = {
        .command = command,
        .settings = settings,
        .started_ns = ftc_clock_now(),
        .started_realtime_ns = ftc_clock_realtime(),
        .bell = {.fd = -1},
        .directory_lock = -1,
        .exit_code = -1,
        .adopts = command->engine == FTC_ENGINE_ADOPT,
        .leader = -1,
        .server = {.listener = -1},
        .report_fd = -1,
    };
    int code = 1;
    if (job.adopts) {
        if (ftc_adopt_detach(&job.leader) != FTC_SUCCESS) {
            fprintf(stderr, "ftrun: %s\n", ftc_last_error());
            return code;
        }
    } else if (ftc_program_find(command->program[0], command->working_directory, &job.program,
                                &code) != FTC_SUCCESS) {
        fprintf(stderr, "ftrun: %s\n", ftc_last_error());
        return code;
    }
    if (!job.adopts)
        ftc_strays_adopt();
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
    } else if (!job.adopts) { /* an adopting agent has told the rank instead */
        fprintf(stderr, "ftrun: %s\n", ftc_last_error());
    }
    clean_up(&job);
    return code;
}
