/* Words for what a job's segment says. */
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "cli/status.h"
#include "collectives/agreement/member.h"

const char *ftc_status_state_name(enum ftc_status_state state)
{
    static const char *const names[FTC_STATUS_STATES] = {
        "not started", "spawned", "joined", "finalized", "ended", "failed", "?"};
    return (unsigned)state < FTC_STATUS_STATES ? names[state] : "?";
}

const char *ftc_status_pulse_name(enum ftc_status_pulse pulse)
{
    static const char *const names[FTC_PULSES] = {"none", "unknown", "moving", "still"};
    return (unsigned)pulse < FTC_PULSES ? names[pulse] : "?";
}

const char *ftc_status_job_state(const struct ftc_job_status *status)
{
    static const char *const names[] = {"starting", "running", "ended"};
    if (status->state < 0)
        return "?";
    return status->state != FTC_JOB_ENDED && !status->launcher_alive ? "orphaned"
                                                                     : names[status->state];
}

const char *ftc_status_kind_name(int kind)
{
    if (kind == FTC_STATUS_CALL)
        return "call";
    return kind < 0 ? "?" : ftc_history_kind_name(kind);
}

char *ftc_status_call(const struct ftc_status_activity *activity, char text[FTC_STATUS_CALL_TEXT])
{
    const char *name = ftc_status_kind_name(activity->kind);
    char message[FTC_CHAIN_MESSAGE];

    if (activity->message.kind != 0)
        snprintf(text, FTC_STATUS_CALL_TEXT, "%s %s", name,
                 ftc_chain_message_words(&activity->message, message));
    else
        snprintf(text, FTC_STATUS_CALL_TEXT, "%s %" PRIu64, name, activity->op);
    return text;
}

const char *ftc_status_wait_name(int wait)
{
    return wait < 0 ? "?" : ftc_wait_name((enum ftc_wait)wait);
}

const char *ftc_status_cause_name(int cause)
{
    return cause < 0 ? "?" : ftc_failure_cause_name((enum ftc_failure_cause)cause);
}

char *ftc_status_age(uint64_t ns, char text[FTC_STATUS_TEXT])
{
    uint64_t s = ns / FTC_NS_PER_S;
    if (ns == FTC_STATUS_NEVER)
        snprintf(text, FTC_STATUS_TEXT, "?");
    else if (ns < FTC_NS_PER_MS)
        snprintf(text, FTC_STATUS_TEXT, "%" PRIu64 " us", ns / 1000);
    else if (ns < FTC_NS_PER_S)
        snprintf(text, FTC_STATUS_TEXT, "%" PRIu64 " ms", ns / 1000000);
    else if (s < 60)
        snprintf(text, FTC_STATUS_TEXT, "%.1f s", (double)(ns / 100000000) / 10);
    else if (s < 3600)
        snprintf(text, FTC_STATUS_TEXT, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
    else if (s < 48 * 3600)
        snprintf(text, FTC_STATUS_TEXT, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
    else
        snprintf(text, FTC_STATUS_TEXT, "%" PRIu64 " days", s / 86400);
    return text;
}

char *ftc_status_clock(const struct ftc_job_status *status, uint64_t age_ns,
                       char text[FTC_STATUS_TEXT])
{
    bool known = age_ns != FTC_STATUS_NEVER && age_ns <= status->realtime_ns;
    time_t then = known ? (time_t)((status->realtime_ns - age_ns) / FTC_NS_PER_S) : 0;
    time_t now = (time_t)(status->realtime_ns / FTC_NS_PER_S);
    struct tm tm, today;
    if (!known || localtime_r(&then, &tm) == NULL || localtime_r(&now, &today) == NULL) {
        snprintf(text, FTC_STATUS_TEXT, "?");
        return text;
    }
    bool same_day = tm.tm_year == today.tm_year && tm.tm_yday == today.tm_yday;
    strftime(text, FTC_STATUS_TEXT, same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M", &tm);
    return text;
}

/* Print "9 (KILL)", or only the number if there is no such signal. */
static void signal_text(int number, char *text, size_t size)
{
    const char *name = sigabbrev_np(number);
    if (name != NULL)
        snprintf(text, size, "%d (%s)", number, name);
    else
        snprintf(text, size, "%d", number);
}

char *ftc_status_cause(const struct ftc_status_failure *failure, char text[FTC_STATUS_TEXT])
{
    const char *name = ftc_status_cause_name(failure->cause);
    int used = snprintf(text, FTC_STATUS_TEXT, "%.24s", name);
    char *rest = text + used;
    size_t room = FTC_STATUS_TEXT - (size_t)used;

    if (failure->cause == FTC_CAUSE_SIGNAL ||
        (failure->cause == FTC_CAUSE_DRILL && failure->detail > 0)) {
        snprintf(rest, room, " ");
        signal_text(failure->detail, rest + 1, room - 1);
    } else if (failure->cause == FTC_CAUSE_EXIT) {
        snprintf(rest, room, " %d", failure->detail);
    } else if (failure->cause == FTC_CAUSE_LAUNCH) {
        snprintf(rest, room, ": %.30s",
                 strerrordesc_np(failure->detail) != NULL ? strerrordesc_np(failure->detail) : "?");
    }
    return text;
}

const char *ftc_status_node_state(int state)
{
    static const char *const names[] = {[FTC_NODE_PRESENT] = "present",
                                        [FTC_NODE_LEFT] = "left",
                                        [FTC_NODE_REFUSED] = "refused",
                                        [FTC_NODE_LOST] = "lost"};
    return state >= 0 && state <= FTC_NODE_LOST ? names[state] : "?";
}

char *ftc_status_carriers(const struct ftc_status_rank *rank, char text[FTC_STATUS_TEXT])
{
    size_t used = 0;
    snprintf(text, FTC_STATUS_TEXT, "-");
    for (int i = 0; i < FTC_CARRIERS; i++)
        if (rank->carriers[i] > 0)
            used += (size_t)snprintf(text + used, FTC_STATUS_TEXT - used, "%s%s %u",
                                     used > 0 ? ", " : "", ftc_carrier_name((enum ftc_carrier)i),
                                     rank->carriers[i]);
    return text;
}

char *ftc_status_ended(int wait_status, char text[FTC_STATUS_TEXT])
{
    if (WIFSIGNALED(wait_status)) {
        snprintf(text, FTC_STATUS_TEXT, "signal ");
        signal_text(WTERMSIG(wait_status), text + strlen("signal "),
                    FTC_STATUS_TEXT - strlen("signal "));
    } else if (WIFEXITED(wait_status)) {
        snprintf(text, FTC_STATUS_TEXT, "exit %d", WEXITSTATUS(wait_status));
    } else {
        snprintf(text, FTC_STATUS_TEXT, "?");
    }
    return text;
}

char *ftc_status_broadcast(const struct ftc_status_broadcast *broadcast, char text[FTC_STATUS_TEXT])
{
    const char *name = ftc_combination_name(broadcast->dissemination, broadcast->correction);
    bool tree = broadcast->dissemination == FTC_DISSEMINATION_TREE;

    text[0] = '\0';
    if (broadcast->exchange)
        snprintf(text, FTC_STATUS_TEXT, "exchange");
    else if (broadcast->known)
        snprintf(text, FTC_STATUS_TEXT, "%s%s%s%s%s + %s%s", name != NULL ? name : "",
                 name != NULL ? " (" : "", tree ? ftc_tree_name(broadcast->tree) : "",
                 tree ? " " : "", ftc_dissemination_name(broadcast->dissemination),
                 ftc_correction_name(broadcast->correction), name != NULL ? ")" : "");
    return text;
}
