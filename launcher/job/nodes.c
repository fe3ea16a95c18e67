/* A job of several nodes, seen from one of them: what the news of the agent means for the job, and
 * how the end of the job is told. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "launcher/engine.h"
#include "launcher/job/internal.h"

bool ftc_job_meets(const struct ftc_job *job)
{
    return job->adopts || job->command->engine == FTC_ENGINE_PMIX ||
           job->command->invitation != NULL;
}

int ftc_job_meet(struct ftc_job *job)
{
    int rc = ftc_agent_meet(&job->agent, job->host, job->command->np, &job->settings->value,
                            job->leader, job->command->invitation);

    job->several = job->agent.meeting.nodes > 1;
    return rc;
}

/* End the meeting even if this node cannot take part: the other nodes wait for it. */
int ftc_job_met(struct ftc_job *job, int rc)
{
    char why[512];

    snprintf(job->agent.meeting.job, sizeof(job->agent.meeting.job), "%s", job->name);
    snprintf(why, sizeof(why), "%s", ftc_last_error());
    int met = ftc_agent_met(&job->agent, rc == FTC_SUCCESS);
    return rc == FTC_SUCCESS ? met : ftc_error_set(rc, "%s", why);
}

/* --- news --- */

static void on_granted(void *arg)
{
    struct ftc_job *job = arg;

    if (ftc_job_spawning(job))
        ev_idle_start(job->loop, &job->spawner);
}

static void on_fence(void *arg)
{
    struct ftc_job *job = arg;

    ftc_sink_say(
        job->verdict.err,
        "node %d (%s) cannot reach most of the job's nodes any more, or one that the others reach; "
        "killing its ranks, since the others go on without them",
        job->agent.meeting.node, job->host);
    ftc_job_fence(job);
    ftc_job_look_for_end(job);
}

static void on_lost(void *arg, int node, int ranks, bool heard)
{
    struct ftc_job *job = arg;
    const struct ftc_node *lost = &job->agent.meeting.members[node];

    if (ranks > 0 && ftc_agent_speaks(&job->agent))
        ftc_sink_say(job->verdict.err,
                     "node %d (%s) is lost: %s for %.1f s; ranks %u-%u have failed with it", node,
                     lost->host,
                     heard ? "it and others could not reach each other" : "nothing came from it",
                     (double)job->settings->value.heartbeat_timeout_ms / 1e3, lost->first,
                     lost->first + lost->count - 1);
}

static void on_end(void *arg, int node, int code)
{
    struct ftc_job *job = arg;

    (void)node; /* that node has said why */
    ftc_job_end_here(job, code);
}

static void on_change(void *arg)
{
    struct ftc_job *job = arg;

    job->watcher.changed(job);
}

int ftc_job_start_agent(struct ftc_job *job)
{
    struct ftc_mirror mirror = {.segment = job->segment, .ranks = &job->ranks, .bell = &job->bell};

    job->agent.granted = on_granted;
    job->agent.fence = on_fence;
    job->agent.lost = on_lost;
    job->agent.end = on_end;
    job->agent.changed = on_change;
    job->agent.arg = job;
    return ftc_agent_start(&job->agent, job->loop, &mirror, &job->watcher);
}

/* --- the end --- */

bool ftc_job_knows(const struct ftc_job *job)
{
    return !job->several || job->ending || ftc_mirror_over(&job->agent.mirror);
}

void ftc_job_tell_end(struct ftc_job *job, int code, int unknown)
{
    char text[512] = "", line[640];
    const char *token = ftc_job_meets(job) ? getenv(FTC_ENGINE_TOKEN) : NULL;
    bool failed = ftc_verdict_summary(&job->verdict, code, text, sizeof(text));

    if (token == NULL) {
        if (failed && unknown == 0 &&
            (!job->several || ftc_agent_sums_up(&job->agent, job->ending)))
            ftc_sink_say(job->verdict.err, "%s", text);
        return;
    }
    struct ftc_engine_end end = {
        .code = code,
        .unknown = unknown,
        .wait_ms = (unsigned)(ftc_agent_longest_end(&job->agent, ftc_clock_now()) / FTC_NS_PER_MS),
        .text = text};
    ftc_engine_format_end(line, sizeof(line), token, &end);
    ftc_sink_put(job->verdict.err, line, strlen(line));
    ftc_sink_flush(job->verdict.err);
}
