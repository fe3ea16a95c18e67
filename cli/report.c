/* The page of one job, and the list of jobs. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/status.h"
#include "collectives/agreement/member.h"

#define SET_TEXT       128
#define MOST_CULPRITS  3
#define MOST_DEADLOCKS 8 /* --json has all */
#define MOST_SETS      8 /* at most so many lines for sets that differ */

static void print_abort(const struct ftc_job_status *status, FILE *out)
{
    if (status->abort == 0)
        return;
    int rank = FTC_ABORT_RANK(status->abort);
    if (rank >= 0 && rank < status->ranks)
        fprintf(out, "aborted by rank %d with code %d\n", rank, FTC_ABORT_CODE(status->abort));
    else
        fprintf(out, "aborted with code %d\n", FTC_ABORT_CODE(status->abort));
}

/* Print, for the whole job, how the pieces of decisions arrived, and which other datagrams came. */
static void print_multicast(const struct ftc_job_status *status, FILE *out)
{
    double pieces[FTC_PIECES] = {0}, all = 0, datagrams[FTC_DATAGRAMS] = {0};

    if (!status->broadcast.known || status->broadcast.dissemination != FTC_DISSEMINATION_MULTICAST)
        return;
    for (int rank = 0; rank < status->ranks; rank++) {
        for (int i = 0; i < FTC_PIECES; i++)
            pieces[i] += (double)status->rank[rank].pieces[i];
        for (int i = 0; i < FTC_DATAGRAMS; i++)
            datagrams[i] += (double)status->rank[rank].datagrams[i];
    }
    all = pieces[FTC_PIECES_DATAGRAM] + pieces[FTC_PIECES_RING] + pieces[FTC_PIECES_OTHER];
    fprintf(out, "multicast %.0f pieces", all);
    if (all > 0)
        fprintf(out, ": %.1f %% by datagram, %.1f %% by ring",
                100 * pieces[FTC_PIECES_DATAGRAM] / all, 100 * pieces[FTC_PIECES_RING] / all);
    if (pieces[FTC_PIECES_OTHER] > 0)
        fprintf(out, ", %.1f %% otherwise", 100 * pieces[FTC_PIECES_OTHER] / all);
    fprintf(out,
            "; %.0f datagrams foreign, %.0f corrupt, %.0f senseless, %.0f dropped by kernel or "
            "device\n",
            datagrams[FTC_DATAGRAMS_FOREIGN], datagrams[FTC_DATAGRAMS_CORRUPT],
            datagrams[FTC_DATAGRAMS_SENSELESS], datagrams[FTC_DATAGRAMS_DROPPED]);
}

/* Print, for the whole job, what the checks of results found. */
static void print_integrity(const struct ftc_job_status *status, FILE *out)
{
    double compared = 0, corrected = 0, detected = 0;

    if (strcmp(status->integrity, "checksum") == 0)
        fprintf(out, "integrity checksum\n");
    if (strcmp(status->integrity, "vote") != 0)
        return;
    for (int rank = 0; rank < status->ranks; rank++) {
        compared += (double)status->rank[rank].compared;
        corrected += (double)status->rank[rank].corrected;
        detected += (double)status->rank[rank].detected;
    }
    fprintf(out, "integrity vote: %.0f operations compared, %.0f corrected, %.0f only detected\n",
            compared, corrected, detected);
}

static void print_settings(const struct ftc_job_status *status, FILE *out)
{
    char broadcast[FTC_STATUS_TEXT], period[FTC_STATUS_TEXT], timeout[FTC_STATUS_TEXT];

    fprintf(out, "algorithm %s  ", status->algorithm);
    if (status->broadcast.known)
        fprintf(out, "broadcast %s\n", ftc_status_broadcast(&status->broadcast, broadcast));
    fprintf(out, "scheme %s  share %s  heartbeat %s  timeout %s", status->scheme, status->share,
            ftc_status_age(status->period_ns, period), ftc_status_age(status->timeout_ns, timeout));
    if (status->nodes > 1)
        fprintf(out, "  seal %s", status->seal);
    fputc('\n', out);
}

static void print_nodes(const struct ftc_job_status *status, FILE *out)
{
    if (status->nodes == 1)
        return;
    fprintf(out, "%-5s  %-20s  %-11s  %-8s  %s\n", "NODE", "HOST", "RANKS", "STATE", "FOR");
    for (int i = 0; i < status->nodes; i++) {
        const struct ftc_status_node *node = &status->node[i];
        char ranks[32], age[FTC_STATUS_TEXT];
        if (node->count > 1)
            snprintf(ranks, sizeof(ranks), "%d-%d", node->first, node->first + node->count - 1);
        else
            snprintf(ranks, sizeof(ranks), "%d", node->first);
        fprintf(out, "%-5d  %-20s  %-11s  %-8s  %s\n", i, node->host, ranks,
                ftc_status_node_state(node->state), ftc_status_age(node->age_ns, age));
    }
    fputc('\n', out);
}

static const char *launcher_word(const struct ftc_job_status *status)
{
    if (!status->launcher_alive)
        return " (gone)";
    return status->launcher_stopped ? " (stopped)" : "";
}

static void print_head(const struct ftc_job_status *status, FILE *out)
{
    char clock[FTC_STATUS_TEXT], since[FTC_STATUS_TEXT];
    fprintf(out, "job %s  %s  np %d  f %d  failed %d\n", status->job, ftc_status_job_state(status),
            status->ranks, status->f, status->failures);
    fprintf(out, "command: %s\n", status->command);
    fprintf(out, "node %s  launcher pid %d%s  since %s (%s)\n", status->host, status->launcher_pid,
            launcher_word(status), ftc_status_clock(status, status->age_ns, clock),
            ftc_status_age(status->age_ns, since));
    print_settings(status, out);
    print_multicast(status, out);
    print_integrity(status, out);
    print_abort(status, out);
    if (!status->launcher_alive && status->state != FTC_JOB_ENDED)
        fprintf(out, "the launcher is gone: ftcoll-status --gc removes what it left\n");
    if (status->launcher_stopped)
        fprintf(out,
                "the launcher is stopped: no death is noticed until it goes on (kill -CONT %d)\n",
                status->launcher_pid);
}

/* --- which rank the others wait for --- */

/* Print what a rank does for which the others wait. */
static void print_culprit(const struct ftc_job_status *status, int culprit, FILE *out)
{
    const struct ftc_status_rank *rank = &status->rank[culprit];
    const struct ftc_status_activity *activity = &rank->activity;
    bool elsewhere = ftc_status_elsewhere(rank);
    char age[FTC_STATUS_TEXT], cause[FTC_STATUS_TEXT], call[FTC_STATUS_CALL_TEXT];

    if (rank->state == FTC_STATUS_FAILED)
        fprintf(out, "it failed (%s)", ftc_status_cause(&rank->failure, cause));
    else if (!ftc_status_live(rank))
        fprintf(out, "it is %s", ftc_status_state_name(rank->state));
    else if (activity->kind == FTC_CALL_NONE)
        fprintf(out, "outside for %s", ftc_status_age(activity->age_ns, age));
    else
        fprintf(out, "in %s%s%s for %s", ftc_status_call(activity, call), elsewhere ? " in " : "",
                elsewhere ? activity->communicator_name : "",
                ftc_status_age(activity->age_ns, age));
    if (rank->lag > 0)
        fprintf(out, ", lags by %" PRIu64, rank->lag);
    if (rank->pulse == FTC_PULSE_STILL)
        fprintf(out, ", heartbeat still %s", ftc_status_age(rank->still_ns, age));
}

static void print_cycle(const struct ftc_job_status *status, int lowest, FILE *out)
{
    fprintf(out, "ranks %d", lowest);
    int next = status->link[lowest].next;
    for (int shown = 1; next != lowest && next >= 0 && shown < 8; shown++) {
        fprintf(out, " -> %d", next);
        next = status->link[next].next;
    }
    fprintf(out, " -> %s%d wait for each other", next == lowest ? "" : "... -> ", lowest);
}

/* Returns the rank after `before` in the order of `waiters` (descending), then of the rank
 * (ascending). `before` is -1 for the first one. */
static int next_culprit(const struct ftc_job_status *status, int before)
{
    int best = -1;
    for (int i = 0; i < status->ranks; i++) {
        int waiters = status->link[i].waiters;
        bool later = before < 0 || waiters < status->link[before].waiters ||
                     (waiters == status->link[before].waiters && i > before);
        if (waiters > 0 && later && (best < 0 || waiters > status->link[best].waiters))
            best = i;
    }
    return best;
}

static void print_blame(const struct ftc_job_status *status, FILE *out)
{
    int waiting = 0;
    for (int i = 0; i < status->ranks; i++)
        waiting += status->link[i].end >= 0;
    int culprit = next_culprit(status, -1);
    for (int shown = 0; culprit >= 0 && shown < MOST_CULPRITS;
         shown++, culprit = next_culprit(status, culprit)) {
        const struct ftc_chain_link *link = &status->link[culprit];
        if (shown > 0)
            fprintf(out, "; %d for rank %d", link->waiters, culprit);
        else if (link->cycle > 0 && !link->deadlock)
            print_cycle(status, culprit, out);
        else if (link->waiters == waiting)
            fprintf(out, "all finally wait for rank %d: ", culprit);
        else
            fprintf(out, "%d of %d waiting finally wait for rank %d: ", link->waiters, waiting,
                    culprit);
        if (shown == 0 && (link->cycle == 0 || link->deadlock))
            print_culprit(status, culprit, out);
    }
    if (waiting > 0)
        fprintf(out, culprit >= 0 ? "; the rest for others\n" : "\n");
}

/* Each deadlock has a line of its own, below the line of those that finally wait for it. */
static void print_deadlocks(const struct ftc_job_status *status, FILE *out)
{
    char words[FTC_CHAIN_TEXT];
    for (int i = 0, shown = 0; i < status->ranks && shown < MOST_DEADLOCKS; i++)
        if (status->link[i].deadlock) {
            fprintf(out, "%s\n", ftc_chain_words(status->link, i, words));
            shown++;
        }
}

/* --- failed sets --- */

/* The sets of a rank that has ended well stay valid. Those of a failed rank are of no use. */
static bool has_sets(const struct ftc_status_rank *rank)
{
    return rank->has_sets && (ftc_status_live(rank) || rank->state == FTC_STATUS_ENDED);
}

/* Collect in `who` the ranks from `rank` on that publish its set, and mark them in `done`. */
static void collect_same(const struct ftc_job_status *status, int rank, bool agreed,
                         struct ftc_set *who, struct ftc_set *done)
{
    const struct ftc_status_rank *first = &status->rank[rank];
    ftc_set_clear(who);
    for (int i = rank; i < status->ranks; i++) {
        const struct ftc_status_rank *other = &status->rank[i];
        bool same = has_sets(other) && (agreed ? ftc_set_equal(&first->agreed, &other->agreed)
                                               : ftc_set_equal(&first->known, &other->known));
        if (same) {
            ftc_set_add(who, i);
            ftc_set_add(done, i);
        }
    }
}

static int print_sets(const struct ftc_job_status *status, bool agreed, FILE *out)
{
    struct ftc_set who = {0}, done = {0};
    int rc = ftc_set_init(&who, status->ranks);
    if (rc == 0)
        rc = ftc_set_init(&done, status->ranks);
    const char *name = agreed ? "agreed (G): " : "known (L):  ";
    for (int i = 0, lines = 0; rc == 0 && i < status->ranks; i++) {
        char set[SET_TEXT], ranks[SET_TEXT];
        if (!has_sets(&status->rank[i]) || ftc_set_has(&done, i))
            continue;
        if (lines++ == MOST_SETS) {
            fprintf(out, "%sand others (--json has all)\n", name);
            break;
        }
        collect_same(status, i, agreed, &who, &done);
        const struct ftc_status_rank *rank = &status->rank[i];
        ftc_set_format(agreed ? &rank->agreed : &rank->known, set, sizeof(set));
        fprintf(out, "%s%s  at rank%s %s\n", name, set, ftc_set_count(&who) > 1 ? "s" : "",
                ftc_set_format(&who, ranks, sizeof(ranks)));
    }
    ftc_set_fini(&who);
    ftc_set_fini(&done);
    return rc == 0 ? 0 : ftc_error_set(FTC_ERR_NOMEM, "out of memory");
}

static void print_failures(const struct ftc_job_status *status, FILE *out)
{
    fprintf(out, "%-6s  %-22s  %-8s  %-10s  %s\n", "FAILED", "CAUSE", "AT", "SEEN BY",
            "DECLARED AFTER");
    for (int i = 0; i < status->failures; i++) {
        const struct ftc_status_failure *failure = &status->rank[status->failed[i]].failure;
        char cause[FTC_STATUS_TEXT], clock[FTC_STATUS_TEXT], after[FTC_STATUS_TEXT], by[24];
        if (failure->seen_by >= 0)
            snprintf(by, sizeof(by), "rank %d", failure->seen_by);
        else
            snprintf(by, sizeof(by), "%s", failure->seen_by == -1 ? "launcher" : "?");
        fprintf(out, "%-6d  %-22s  %-8s  %-10s  %s\n", status->failed[i],
                ftc_status_cause(failure, cause), ftc_status_clock(status, failure->age_ns, clock),
                by, ftc_status_age(failure->declared_after_ns, after));
    }
}

static int print_failed_sets(const struct ftc_job_status *status, FILE *out)
{
    if (status->failures == 0) {
        fprintf(out, "no failed ranks\n");
        return 0;
    }
    print_failures(status, out);
    int rc = print_sets(status, true, out);
    return rc != 0 ? rc : print_sets(status, false, out);
}

static void print_stacks(const struct ftc_job_status *status, FILE *out)
{
    if (status->no_stacks[0] != '\0')
        fprintf(out, "\nno stacks: %s\n", status->no_stacks);
    for (int rank = 0;
         status->stack != NULL && status->no_stacks[0] == '\0' && rank < status->ranks; rank++) {
        const struct ftc_status_stack *stack = &status->stack[rank];
        if (!stack->taken)
            continue;
        fprintf(out, "\nSTACK of rank %d, process %d\n", rank, status->rank[rank].pid);
        if (stack->error[0] != '\0')
            fprintf(out, "%s\n", stack->error);
        if (stack->text != NULL)
            fputs(stack->text, out);
    }
}

int ftc_status_page(const struct ftc_job_status *status, const struct ftc_status_view *view,
                    FILE *out)
{
    if (view->failed) {
        fprintf(out, "job %s  %s  np %d  f %d  failed %d\n", status->job,
                ftc_status_job_state(status), status->ranks, status->f, status->failures);
        return print_failed_sets(status, out);
    }
    print_head(status, out);
    fputc('\n', out);
    print_nodes(status, out);
    int rc = ftc_status_table(status, view, out);
    if (rc != 0)
        return rc;
    print_blame(status, out);
    print_deadlocks(status, out);
    fputc('\n', out);
    rc = print_failed_sets(status, out);
    print_stacks(status, out);
    ftc_status_print_history(status, out);
    return rc;
}

/* --- the list --- */

/* Print `width` columns of `text`, in whole characters: UTF-8 continuation bytes take no column. */
static void print_cut(const char *text, int width, FILE *out)
{
    for (int used = 0; *text != '\0'; text++) {
        used += ((unsigned char)*text & 0xc0) != 0x80;
        if (width > 0 && used > width)
            break;
        fputc(*text, out);
    }
    fputc('\n', out);
}

void ftc_status_list(struct ftc_job_status *const jobs[], const char (*names)[FTC_JOB_NAME_SIZE],
                     int count, const struct ftc_status_view *view, FILE *out)
{
    const char *const format = "%-12s %5s %4s  %-9s %-16s %6s  ";
    int before = fprintf(out, format, "JOB", "NP", "F", "STATE", "SINCE", "FAILED");
    fputs("COMMAND\n", out);
    for (int i = 0; i < count; i++) {
        char np[16], f[16], failed[16], clock[FTC_STATUS_TEXT], name[FTC_JOB_NAME_SIZE];
        if (jobs[i] == NULL) {
            ftc_text_clean(name, sizeof(name), names[i], sizeof(names[i]));
            fprintf(out, format, name, "-", "-", "damaged", "-", "-");
            fputs("-\n", out);
            continue;
        }
        snprintf(np, sizeof(np), "%d", jobs[i]->ranks);
        snprintf(f, sizeof(f), "%d", jobs[i]->f);
        snprintf(failed, sizeof(failed), "%d", jobs[i]->failures);
        fprintf(out, format, jobs[i]->job, np, f, ftc_status_job_state(jobs[i]),
                ftc_status_clock(jobs[i], jobs[i]->age_ns, clock), failed);
        print_cut(jobs[i]->command, view->width > before + 8 ? view->width - before : view->width,
                  out);
    }
}
