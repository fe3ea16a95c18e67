/*
 * --format openmetrics: the counters of jobs for a monitoring system, as OpenMetrics 1.0 text.
 *
 * OpenMetrics forbids interleaved families. So each family is written for all jobs and ranks before
 * the next one. Collectors of the older Prometheus text format read this text too. They do not know
 * the type "info", so information is a gauge with the value 1.
 *
 * Each host reports the counters of its own ranks only. It has the counters of other ranks only
 * after these have ended, and a sum over the hosts would count them twice. But every host reports
 * every failure, because a lost host cannot report its own.
 */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/status.h"
#include "collectives/agreement/member.h"
#include "include/ftcoll.h"

enum scope { OF_JOB, OF_RANK, OF_LOCAL, OF_FAILED, OF_MULTICAST, OF_VOTE };

struct place {
    const struct metric *metric;
    const struct ftc_job_status *status;
    int rank; /* -1: none */
    FILE *out;
};

/* If `print` is set, it writes the samples. If not, they are the `count` words at `offset` in
 * struct ftc_status_rank. */
struct metric {
    const char *name, *unit, *help; /* name without "ftcoll_" and "_total"; unit NULL: none */
    bool counter;
    enum scope scope;
    void (*print)(const struct place *place);
    size_t offset;
    int count;                   /* 0: one word, without a label */
    const char *label;           /* the label that tells the words apart */
    const char *(*named)(int i); /* the value of that label for word i */
};

/* --- samples --- */

/* Print the value of a label. OpenMetrics escapes these three characters. */
static void put_value(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n')
            fputs("\\n", out);
        else if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

static void put_label(const char *label, const char *value, FILE *out)
{
    fprintf(out, ",%s=\"", label);
    put_value(value, out);
    fputc('"', out);
}

/* Print `name{job="...",rank="..."`. More labels may follow, and then close_sample(). */
static void open_sample(const struct place *place)
{
    fprintf(place->out, "ftcoll_%s%s{job=\"", place->metric->name,
            place->metric->counter ? "_total" : "");
    put_value(place->status->job, place->out);
    fputc('"', place->out);
    if (place->rank >= 0)
        fprintf(place->out, ",rank=\"%d\"", place->rank);
}

static void close_sample(const struct place *place, uint64_t value)
{
    fprintf(place->out, "} %" PRIu64 "\n", value);
}

/* Prints integers, because a double would lose digits. */
static void close_seconds(const struct place *place, uint64_t ns)
{
    fprintf(place->out, "} %llu.%09llu\n", ns / FTC_NS_PER_S, ns % FTC_NS_PER_S);
}

static void put_sample(const struct place *place, uint64_t value)
{
    open_sample(place);
    close_sample(place, value);
}

static const struct ftc_status_rank *rank_of(const struct place *place)
{
    return &place->status->rank[place->rank];
}

/* A value that makes no sense is left out; --json gives null for it. */
static void put_words(const struct place *place)
{
    const struct metric *metric = place->metric;
    const uint64_t *word = (const uint64_t *)((const char *)rank_of(place) + metric->offset);

    for (int i = 0; i < (metric->count > 0 ? metric->count : 1); i++) {
        if (word[i] > INT64_MAX)
            continue;
        open_sample(place);
        if (metric->count > 0)
            put_label(metric->label, metric->named(i), place->out);
        close_sample(place, word[i]);
    }
}

/* --- of a job --- */

static void put_version(const struct place *place)
{
    char version[32];
    snprintf(version, sizeof(version), "%d.%d.%d", FTC_VERSION_MAJOR, FTC_VERSION_MINOR,
             FTC_VERSION_PATCH);
    put_label("version", version, place->out);
}

static void print_job(const struct place *place)
{
    const struct ftc_job_status *status = place->status;
    char broadcast[FTC_STATUS_TEXT];

    open_sample(place);
    put_version(place);
    put_label("cluster", status->cluster, place->out);
    put_label("host", status->host, place->out);
    put_label("command", status->command, place->out);
    put_label("state", ftc_status_job_state(status), place->out);
    put_label("algorithm", status->algorithm, place->out);
    put_label("broadcast", ftc_status_broadcast(&status->broadcast, broadcast), place->out);
    put_label("scheme", status->scheme, place->out);
    put_label("share", status->share, place->out);
    put_label("integrity", status->integrity, place->out);
    close_sample(place, 1);
}

static void print_start(const struct place *place)
{
    if (place->status->started_realtime_ns > INT64_MAX)
        return;
    open_sample(place);
    close_seconds(place, place->status->started_realtime_ns);
}

static void print_ranks(const struct place *place)
{
    put_sample(place, (uint64_t)place->status->ranks);
}

static void print_tolerated(const struct place *place)
{
    if (place->status->f >= 0)
        put_sample(place, (uint64_t)place->status->f);
}

static void print_failures(const struct place *place)
{
    put_sample(place, (uint64_t)place->status->failures);
}

static void print_aborted(const struct place *place)
{
    put_sample(place, place->status->abort != 0);
}

/* --- of a rank --- */

static void print_rank(const struct place *place)
{
    open_sample(place);
    put_label("host", place->status->node[rank_of(place)->node].host, place->out);
    put_label("state", ftc_status_state_name(rank_of(place)->state), place->out);
    close_sample(place, 1);
}

static void print_failed(const struct place *place)
{
    put_sample(place, rank_of(place)->state == FTC_STATUS_FAILED);
}

static void print_failure(const struct place *place)
{
    const struct ftc_status_failure *failure = &rank_of(place)->failure;
    char by[24] = "?";

    if (failure->seen_by >= 0)
        snprintf(by, sizeof(by), "rank %d", failure->seen_by);
    else if (failure->seen_by == -1)
        snprintf(by, sizeof(by), "launcher");
    open_sample(place);
    put_label("cause", ftc_status_cause_name(failure->cause), place->out);
    put_label("seen_by", by, place->out);
    close_sample(place, 1);
}

static void print_detection(const struct place *place)
{
    uint64_t ns = rank_of(place)->failure.declared_after_ns;
    if (ns > INT64_MAX)
        return;
    open_sample(place);
    close_seconds(place, ns);
}

static void print_known(const struct place *place)
{
    put_sample(place, (uint64_t)ftc_set_count(&rank_of(place)->known));
}

static void print_agreed(const struct place *place)
{
    put_sample(place, (uint64_t)ftc_set_count(&rank_of(place)->agreed));
}

/* Prints only the carriers that are used. With shared memory alone that is one line for a rank. */
static void print_carriers(const struct place *place)
{
    for (int i = 0; i < FTC_CARRIERS; i++) {
        if (rank_of(place)->carriers[i] == 0)
            continue;
        open_sample(place);
        put_label("carrier", ftc_carrier_name((enum ftc_carrier)i), place->out);
        close_sample(place, rank_of(place)->carriers[i]);
    }
}

static const char *message_name(int i)
{
    return ftc_message_kind_name((enum ftc_message_kind)i);
}

static const char *written_off_name(int i)
{
    return i == 0 ? "group member" : "child";
}

static const char *piece_name(int i)
{
    return ftc_pieces_name((enum ftc_pieces_kind)i);
}

static const char *datagram_name(int i)
{
    return ftc_datagrams_name((enum ftc_datagrams)i);
}

/* --- the families --- */

_Static_assert(FTC_RULE_WRITE_OFF_CHILD == FTC_RULE_WRITE_OFF_GROUP + 1, "two words in a row");

#define PRINT(of, function) .scope = of, .print = (function)
#define WORD(field)                                                                                \
    .counter = true, .scope = OF_LOCAL, .offset = offsetof(struct ftc_status_rank, field)
#define WORDS(field, n, by, of)                                                                    \
    .counter = true, .offset = offsetof(struct ftc_status_rank, field), .count = (n),              \
    .label = (by), .named = (of)

static const struct metric metrics[] = {
    {"job_info", NULL, "What the job is, and its state; always 1.", PRINT(OF_JOB, print_job)},
    {"job_start_time_seconds", "seconds", "When it began, since the epoch.",
     PRINT(OF_JOB, print_start)},
    {"job_ranks", NULL, "Ranks it began with.", PRINT(OF_JOB, print_ranks)},
    {"job_maskable_failures", NULL,
     "Failures that a reduction by groups and trees masks without a second round (f).",
     PRINT(OF_JOB, print_tolerated)},
    {"job_failed_ranks", NULL, "Ranks declared failed.", PRINT(OF_JOB, print_failures)},
    {"job_aborted", NULL, "1 after ftc_abort().", PRINT(OF_JOB, print_aborted)},
    {"rank_info", NULL, "Where the rank is, and its state; always 1.", PRINT(OF_RANK, print_rank)},
    {"rank_failed", NULL, "1 if the rank was declared failed.", PRINT(OF_RANK, print_failed)},
    {"failure_info", NULL, "Why the rank was declared failed, and who saw it; always 1.",
     PRINT(OF_FAILED, print_failure)},
    {"failure_detection_seconds", "seconds",
     "From the first sign of the failure to its declaration.", PRINT(OF_FAILED, print_detection)},
    {"known_failed_ranks", NULL, "Failed ranks that this rank knows of (L).",
     PRINT(OF_LOCAL, print_known)},
    {"agreed_failed_ranks", NULL, "Failed ranks that all agree on, as this rank knows (G).",
     PRINT(OF_LOCAL, print_agreed)},
    {"rank_peers", NULL, "Ranks that it talks to, by what carries the messages.",
     PRINT(OF_LOCAL, print_carriers)},
    {"operations_called", NULL, "Operations called.", WORD(called)},
    {"operations_returned", NULL, "Operations that have returned.", WORD(returned)},
    {"heartbeats", NULL, "Beats of the rank's heart.", WORD(heartbeat_seen)},
    {"sent_bytes", "bytes", "Bytes of messages sent, headers included.", WORD(bytes)},
    {"sent_messages", NULL, "Messages of the agreement core sent, by kind.", .scope = OF_LOCAL,
     WORDS(sent, FTC_MESSAGES, "kind", message_name)},
    {"dropped_messages", NULL, "Messages dropped by rule: late, or of another history.",
     WORD(dropped)},
    {"ballots", NULL, "Ballots entered.", WORD(ballots)},
    {"retries", NULL, "Ballots that this rank began again as their coordinator.",
     WORD(rules[FTC_RULE_RETRY])},
    {"rotations", NULL, "Ballots that this rank began in the place of a failed coordinator.",
     WORD(rules[FTC_RULE_ROTATE])},
    {"masked_failures", NULL,
     "Failed ranks that this rank went on without in a reduction by messages.", .scope = OF_LOCAL,
     WORDS(rules[FTC_RULE_WRITE_OFF_GROUP], 2, "as", written_off_name)},
    {"suspicions", NULL, "Times that the detector suspected the rank.", WORD(suspicions)},
    {"fencings", NULL, "Times that the launcher killed the rank because it was suspected.",
     WORD(fencings)},
    {"multicast_pieces", NULL, "Pieces of multicast decisions, by how they came.",
     .scope = OF_MULTICAST, WORDS(pieces, FTC_PIECES_KINDS, "by", piece_name)},
    {"multicast_datagrams", NULL, "Datagrams of multicast, by what became of them.",
     .scope = OF_MULTICAST, WORDS(datagrams, FTC_DATAGRAMS, "kind", datagram_name)},
    {"compared_operations", NULL, "Operations whose results this rank compared.", .counter = true,
     .scope = OF_VOTE, .offset = offsetof(struct ftc_status_rank, compared)},
    {"corrected_operations", NULL, "Operations whose wrong results were outvoted.", .counter = true,
     .scope = OF_VOTE, .offset = offsetof(struct ftc_status_rank, corrected)},
    {"detected_operations", NULL, "Operations whose results differed, with no majority.",
     .counter = true, .scope = OF_VOTE, .offset = offsetof(struct ftc_status_rank, detected)},
};
#define METRIC_COUNT ((int)(sizeof(metrics) / sizeof(metrics[0])))

static bool applies(const struct metric *metric, const struct ftc_job_status *status, int rank)
{
    switch (metric->scope) {
    case OF_JOB:
        return false;
    case OF_RANK:
        return true;
    case OF_FAILED:
        return status->rank[rank].state == FTC_STATUS_FAILED;
    case OF_MULTICAST:
        if (!status->broadcast.known ||
            status->broadcast.dissemination != FTC_DISSEMINATION_MULTICAST)
            return false;
        break;
    case OF_VOTE:
        if (strcmp(status->integrity, "vote") != 0)
            return false;
        break;
    case OF_LOCAL:
        break;
    }
    return status->rank[rank].node == status->own_node;
}

static void put_samples(const struct metric *metric, const struct ftc_job_status *status, FILE *out)
{
    struct place place = {.metric = metric, .status = status, .rank = -1, .out = out};

    if (metric->scope == OF_JOB)
        metric->print(&place);
    for (int rank = 0; rank < status->ranks; rank++) {
        place.rank = rank;
        if (!applies(metric, status, rank))
            continue;
        if (metric->print != NULL)
            metric->print(&place);
        else
            put_words(&place);
    }
}

static void put_family(const struct metric *metric, struct ftc_job_status *const jobs[], int count,
                       FILE *out)
{
    fprintf(out, "# TYPE ftcoll_%s %s\n", metric->name, metric->counter ? "counter" : "gauge");
    if (metric->unit != NULL)
        fprintf(out, "# UNIT ftcoll_%s %s\n", metric->name, metric->unit);
    fprintf(out, "# HELP ftcoll_%s %s\n", metric->name, metric->help);
    for (int i = 0; i < count; i++)
        if (jobs[i] != NULL)
            put_samples(metric, jobs[i], out);
}

void ftc_status_openmetrics(struct ftc_job_status *const jobs[], int count, FILE *out)
{
    bool any = false;

    for (int i = 0; i < count; i++)
        any |= jobs[i] != NULL;
    for (int i = 0; any && i < METRIC_COUNT; i++)
        put_family(&metrics[i], jobs, count, out);
    fputs("# EOF\n", out);
}
