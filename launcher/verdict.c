/* Lines about failures, and the exit code. */
#include "launcher/verdict.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/set.h"

static const char *how_it_ended(int detail, char *text, size_t size)
{
    if (detail < 0)
        snprintf(text, size, "ended before ftc_finalize()");
    else
        snprintf(text, size, "exited with code %d before ftc_finalize()", detail);
    return text;
}

static const char *describe(enum ftc_failure_cause cause, int detail, char *text, size_t size)
{
    switch (cause) {
    case FTC_CAUSE_SIGNAL:
        snprintf(text, size, "killed by signal %d (%s)", detail, strsignal(detail));
        break;
    case FTC_CAUSE_STALLED:
        snprintf(text, size, "its heartbeat stood still, %s",
                 detail != 0 ? "killed" : "its process was gone");
        break;
    case FTC_CAUSE_STOPPED:
        snprintf(text, size, "stopped for too long (job control), killed");
        break;
    case FTC_CAUSE_ACCUSED:
        snprintf(text, size, "sent damaged data, killed");
        break;
    case FTC_CAUSE_DRILL:
        snprintf(text, size, "killed by --kill");
        break;
    case FTC_CAUSE_NODE:
        snprintf(text, size, "its node was lost");
        break;
    case FTC_CAUSE_LAUNCH:
        errno = detail;
        snprintf(text, size, "could not be started: %m");
        break;
    default:
        how_it_ended(detail, text, size);
        break;
    }
    return text;
}

bool ftc_verdict_failed(const struct ftc_verdict *verdict, int rank)
{
    const struct ftc_process *process = &verdict->ranks->at[rank];
    return process->failed && (!process->silent || verdict->ranks->any_joined);
}

uint64_t ftc_verdict_began(const struct ftc_verdict *verdict, int rank)
{
    const struct ftc_process *process = &verdict->ranks->at[rank];
    enum ftc_failure_cause cause = process->failure.cause;
    if (cause == FTC_CAUSE_STALLED && process->beat_ns != 0)
        return process->beat_ns;
    if (cause == FTC_CAUSE_STOPPED && process->stopped_ns != 0)
        return process->stopped_ns;
    return process->failure.suspected_ns;
}

void ftc_verdict_tell(struct ftc_verdict *verdict, int rank)
{
    struct ftc_process *process = &verdict->ranks->at[rank];
    if (process->told || !ftc_verdict_failed(verdict, rank))
        return;
    process->told = true;
    enum ftc_failure_cause cause = process->failure.cause;
    int detail = process->failure.detail, seen_by = process->failure.seen_by;
    if (verdict->forwarded != 0 && cause == FTC_CAUSE_SIGNAL && detail == verdict->forwarded)
        return;
    char what[128], who[32] = "ftrun";
    double after = (double)(process->failure.declared_ns - ftc_verdict_began(verdict, rank)) / 1e6;
    if (seen_by >= 0)
        snprintf(who, sizeof(who), "rank %d", seen_by);
    ftc_sink_say(verdict->err, "rank %d failed: %s, seen by %s after %.1f ms", rank,
                 describe(cause, detail, what, sizeof(what)), who, after);
}

void ftc_verdict_tell_all(struct ftc_verdict *verdict)
{
    if (verdict->told == verdict->ranks->failed)
        return;
    verdict->told = verdict->ranks->failed;
    for (int rank = 0; rank < verdict->ranks->count; rank++)
        ftc_verdict_tell(verdict, rank);
}

void ftc_verdict_tell_suspect(struct ftc_verdict *verdict, int rank)
{
    ftc_sink_say(
        verdict->err,
        "rank %d is suspected but not killed: detector.fence is off; others may wait for it", rank);
}

int ftc_verdict_failures(const struct ftc_verdict *verdict)
{
    int count = 0;
    if (verdict->ranks->any_joined || verdict->ranks->failed == 0)
        return verdict->ranks->failed; /* this is asked at each change */
    for (int rank = 0; rank < verdict->ranks->count; rank++)
        count += ftc_verdict_failed(verdict, rank);
    return count;
}

/* The failure of a rank of another node is told before its end, and its end may never be told. The
 * words of another node are not trusted: exit code 256 would mean success. */
static int code_of_failure(const struct ftc_verdict *verdict, int rank)
{
    const struct ftc_failure *failure = &verdict->ranks->at[rank].failure;
    int detail = failure->detail;
    switch (failure->cause) {
    case FTC_CAUSE_SIGNAL:
        return detail > 0 && detail < 128 ? 128 + detail : 1;
    case FTC_CAUSE_EXIT:
        return detail > 0 && detail < 256 ? detail : 1; /* -1: no process has seen the exit code */
    case FTC_CAUSE_STALLED:
    case FTC_CAUSE_STOPPED:
    case FTC_CAUSE_ACCUSED:
    case FTC_CAUSE_DRILL:
        return 128 + SIGKILL;
    default:
        return 1;
    }
}

int ftc_verdict_rank_code(const struct ftc_verdict *verdict, int rank)
{
    const struct ftc_process *process = &verdict->ranks->at[rank];
    bool failed = ftc_verdict_failed(verdict, rank);
    int code = 0;
    if (process->child_ended)
        code = WIFSIGNALED(process->status) ? 128 + WTERMSIG(process->status)
                                            : WEXITSTATUS(process->status);
    else if (failed)
        code = code_of_failure(verdict, rank);
    return code == 0 && failed ? 1 : code;
}

static int first_of(const struct ftc_verdict *verdict, bool failed)
{
    int first = -1;
    for (int rank = 0; rank < verdict->ranks->count; rank++) {
        const struct ftc_process *process = &verdict->ranks->at[rank];
        if (ftc_verdict_failed(verdict, rank) != failed ||
            ftc_verdict_rank_code(verdict, rank) == 0)
            continue;
        if (first < 0 || process->ended_ns < verdict->ranks->at[first].ended_ns)
            first = rank;
    }
    return first;
}

int ftc_verdict_first_failed(const struct ftc_verdict *verdict)
{
    int first = first_of(verdict, true);
    return first >= 0 ? first : first_of(verdict, false);
}

int ftc_verdict_code(const struct ftc_verdict *verdict)
{
    bool beyond = ftc_verdict_failures(verdict) > verdict->max_failures;
    int rank = first_of(verdict, beyond);
    return rank < 0 ? 0 : ftc_verdict_rank_code(verdict, rank);
}

bool ftc_verdict_summary(const struct ftc_verdict *verdict, int exit_code, char *text, size_t size)
{
    int count = ftc_verdict_failures(verdict);
    struct ftc_set failed;
    char list[256];
    if (count == 0 || ftc_set_init(&failed, verdict->ranks->count) != FTC_SUCCESS)
        return false;
    for (int rank = 0; rank < verdict->ranks->count; rank++)
        if (ftc_verdict_failed(verdict, rank))
            ftc_set_add(&failed, rank);
    snprintf(text, size, "%d of %d ranks failed (%s); --max-failures is %d; exit code %d", count,
             verdict->ranks->count, ftc_set_format(&failed, list, sizeof(list)),
             verdict->max_failures, exit_code);
    ftc_set_fini(&failed);
    return true;
}
