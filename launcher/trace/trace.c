/* Copies the histories of this node's ranks to a file. All that is read in the segment may be
 * nonsense: names come from tables, and numbers are only printed. */
#include "launcher/trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "collectives/frame.h"
#include "runtime/choice/choice.h"

#define DRAIN_SECONDS 0.01
#define SPARED        16 /* the oldest entries, which may be overwritten while others are copied */
#define MOST_READS    (2 * FTC_HISTORY_ENTRIES)
#define MOST_TRACKS   1000 /* of a rank; what is beyond them is on the first one */

/* A line of a rank in the viewer. */
struct ftc_trace_track {
    uint64_t communicator; /* of blocking calls */
    char name[FTC_COMMUNICATOR_NAME];
    int request; /* the lane of requests; -1: they are blocking calls */
};

/* What was copied of one rank. */
struct ftc_trace_rank {
    uint32_t next; /* index of the next entry in the ring */
    int track_count;
    struct ftc_trace_track *tracks;
    bool finished;             /* all is written */
    uint32_t noticed, ballots; /* what the slot said at the last look */
    bool dead;                 /* its death is written */
};

#define LOAD(word) atomic_load_explicit(&(word), memory_order_relaxed)

void ftc_trace_part(const char *path, int node, char part[FTC_TRACE_PATH])
{
    snprintf(part, FTC_TRACE_PATH, "%s.node%d", path, node);
}

/* --- events --- */

static double us(const struct ftc_trace *trace, uint64_t ns)
{
    return ((double)ns - (double)trace->started_ns) / 1e3;
}

/* The beginning of an event. merge.c reads the time, which is first in the line. `track` is one of
 * the rank. */
static void begin(struct ftc_trace *trace, uint64_t ns, const char *phase, int rank, int track,
                  const char *name)
{
    fprintf(trace->file, "{\"ts\":%.3f,\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"name\":\"%s\"",
            us(trace, ns), phase, rank, track, name);
}

/* `text` is clean. */
static void write_quoted(struct ftc_trace *trace, const char *text)
{
    putc('"', trace->file);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', trace->file);
        putc(*text, trace->file);
    }
    putc('"', trace->file);
}

/* merge.c reads when the node has started. */
static void name_rank(struct ftc_trace *trace, int rank, const char *host)
{
    char label[96];

    snprintf(label, sizeof(label), "node %d (%s)", trace->node, host);
    begin(trace, trace->started_ns, "M", rank, 0, "process_labels");
    fprintf(trace->file, ",\"args\":{\"started_realtime_ns\":\"%" PRIu64 "\",\"labels\":",
            ftc_segment_header(trace->segment)->started_realtime_ns);
    write_quoted(trace, label);
    fputs("}},\n", trace->file);
    begin(trace, trace->started_ns, "M", rank, 0, "process_name");
    fprintf(trace->file, ",\"args\":{\"name\":\"rank %d\"}},\n", rank);
    begin(trace, trace->started_ns, "M", rank, 0, "process_sort_index");
    fprintf(trace->file, ",\"args\":{\"sort_index\":%d}},\n", rank);
}

static void name_track(struct ftc_trace *trace, int rank, int track)
{
    const struct ftc_trace_track *of = &trace->at[rank].tracks[track];
    char name[48];

    if (of->request < 0)
        snprintf(name, sizeof(name), "%s", of->name);
    else
        snprintf(name, sizeof(name), "requests %d", of->request - (int)FTC_HISTORY_OWN_LANES);
    begin(trace, trace->started_ns, "M", rank, track, "thread_name");
    fputs(",\"args\":{\"name\":", trace->file);
    write_quoted(trace, name);
    fputs("}},\n", trace->file);
    begin(trace, trace->started_ns, "M", rank, track, "thread_sort_index");
    fprintf(trace->file, ",\"args\":{\"sort_index\":%d}},\n", track);
}

/* Blocking calls have the track of their communicator, and requests that of their lane, so that the
 * operations of a track follow each other. */
static int track_of(struct ftc_trace *trace, int rank,
                    const struct ftc_history_operation *operation)
{
    struct ftc_trace_rank *of = &trace->at[rank];
    struct ftc_trace_track track = {.request = operation->request};
    int i = 0;

    if (operation->request < 0) {
        track.communicator = operation->communicator;
        memcpy(track.name, operation->name, sizeof(track.name));
    }
    while (i < of->track_count && (of->tracks[i].communicator != track.communicator ||
                                   of->tracks[i].request != track.request))
        i++;
    if (i < of->track_count && strcmp(of->tracks[i].name, track.name) == 0)
        return i;
    if (i == of->track_count) {
        if (i == MOST_TRACKS)
            return 0;
        struct ftc_trace_track *tracks = realloc(of->tracks, (size_t)(i + 1) * sizeof(*of->tracks));
        if (tracks == NULL)
            return 0;
        of->tracks = tracks;
        of->track_count++;
    }
    of->tracks[i] = track; /* it may have another name by now */
    name_track(trace, rank, i);
    return i;
}

static void name_node(struct ftc_trace *trace)
{
    static const struct ftc_history_operation of_world = {
        .request = -1, .communicator = FTC_COMMUNICATOR_WORLD, .name = "world"};
    char host[64];
    int count, first = ftc_segment_local(trace->segment, &count);
    const struct ftc_node *node = ftc_segment_node_at(trace->segment, trace->node);

    ftc_text_clean(host, sizeof(host), node->host, strnlen(node->host, sizeof(node->host)));
    fprintf(trace->file, "{\"traceEvents\":[\n");
    for (int rank = first; rank < first + count; rank++) {
        name_rank(trace, rank, host);
        (void)track_of(trace, rank, &of_world); /* the first one, where instants are */
    }
}

static void write_wait(struct ftc_trace *trace, const struct ftc_history_operation *operation)
{
    if (operation->waits_for < 0)
        return;
    fprintf(trace->file, ",\"waited_for\":%d", operation->waits_for);
    if (operation->waited_ns != 0)
        fprintf(trace->file, ",\"waited_since_us\":%.3f", us(trace, operation->waited_ns));
}

static void write_steps(struct ftc_trace *trace, const struct ftc_history_operation *operation)
{
    if (operation->started_ns != 0)
        fprintf(trace->file, ",\"started_us\":%.3f", us(trace, operation->started_ns));
    if (operation->decided_ns != 0)
        fprintf(trace->file, ",\"decided_us\":%.3f", us(trace, operation->decided_ns));
}

static void write_outcome(struct ftc_trace *trace, const struct ftc_history_operation *operation)
{
    const char *algorithm = ftc_choice_name(operation->algorithm);

    if (operation->returned == 0)
        return;
    if (algorithm != NULL)
        fprintf(trace->file, ",\"algorithm\":\"%s\"", algorithm);
    fprintf(trace->file, ",\"status\":%d,\"failed\":%d", operation->status, operation->failed);
}

/* An entry that lasted until `end_ns`, or not longer. */
static void write_operation(struct ftc_trace *trace, int rank,
                            const struct ftc_history_operation *operation, uint64_t end_ns)
{
    char number[24], what[FTC_HISTORY_CALL];
    uint64_t called = operation->called_ns, end = end_ns > called ? end_ns : called;

    begin(trace, called, "X", rank, track_of(trace, rank, operation),
          ftc_history_what(operation, what));
    fprintf(trace->file, ",\"dur\":%.3f,\"cat\":\"operation\",\"args\":{",
            (double)(end - called) / 1e3);
    if (operation->number != FTC_HISTORY_UNNUMBERED)
        fprintf(trace->file, "\"number\":%" PRIu64 ",", operation->number);
    fprintf(trace->file,
            "\"count\":%d,\"returned\":%d,\"request\":%s,\"communicator\":\"%s\",\"bytes\":%" PRIu64
            ",\"communicator_name\":",
            operation->count, operation->returned, operation->request >= 0 ? "true" : "false",
            ftc_history_communicator(operation->communicator, number), operation->size);
    write_quoted(trace, operation->name);
    write_steps(trace, operation);
    write_wait(trace, operation);
    write_outcome(trace, operation);
    fputs("}},\n", trace->file);
}

static void write_overwritten(struct ftc_trace *trace, int rank, uint32_t entries)
{
    begin(trace, trace->clock.now_ns, "i", rank, 0, "overwritten");
    fprintf(trace->file,
            ",\"s\":\"t\",\"cat\":\"overwritten\",\"args\":{\"entries\":%" PRIu32 "}},\n", entries);
}

static void write_death(struct ftc_trace *trace, int rank)
{
    const struct ftc_failure *failure = &trace->ranks->at[rank].failure;
    uint64_t seen = failure->suspected_ns != 0 ? failure->suspected_ns : failure->declared_ns;

    begin(trace, seen, "i", rank, 0, "death");
    fprintf(trace->file,
            ",\"s\":\"g\",\"cat\":\"death\",\"args\":{\"cause\":\"%s\",\"detail\":%d,"
            "\"seen_by\":%d,\"declared_us\":%.3f}},\n",
            ftc_failure_cause_name(failure->cause), failure->detail, failure->seen_by,
            us(trace, failure->declared_ns));
}

/* --- copying --- */

/* The next entry was overwritten. */
static void skip(struct ftc_trace *trace, int rank)
{
    struct ftc_trace_rank *of = &trace->at[rank];
    uint32_t oldest =
        ftc_history_end(trace->segment, rank) - (uint32_t)(FTC_HISTORY_ENTRIES - SPARED);

    if ((int32_t)(2 * (oldest - of->next)) <= 0) /* an index has 31 bits */
        oldest = of->next + 1;
    write_overwritten(trace, rank, oldest - of->next);
    of->next = oldest;
}

/* The next entry is not there. If so many later ones are, or if no other will come, its writer has
 * died or has been overtaken. Otherwise its writer may stand still between two instructions. */
static bool is_lost(const struct ftc_trace *trace, int rank, bool all)
{
    uint32_t later = 2 * (ftc_history_end(trace->segment, rank) - trace->at[rank].next);

    return (int32_t)later > 0 && (all || later >= FTC_HISTORY_ENTRIES);
}

static void drain_operations(struct ftc_trace *trace, int rank, bool all)
{
    struct ftc_trace_rank *of = &trace->at[rank];
    struct ftc_history_operation operation;

    for (unsigned reads = 0; reads < MOST_READS; reads++) {
        switch (ftc_history_read(trace->segment, rank, of->next, &trace->clock, &operation)) {
        case FTC_HISTORY_FOUND:
            of->next = operation.index + 1;
            write_operation(trace, rank, &operation,
                            operation.returned_ns != 0 ? operation.returned_ns
                                                       : operation.until_ns);
            break;
        case FTC_HISTORY_LATER:
            skip(trace, rank);
            break;
        case FTC_HISTORY_NOT_YET:
            if (!is_lost(trace, rank, all))
                return;
            write_overwritten(trace, rank, 1);
            of->next++;
        }
    }
}

/* An operation in which a rank died lasted until then. One that has returned without a time was
 * short. */
static uint64_t end_of(const struct ftc_trace *trace, int rank,
                       const struct ftc_history_operation *operation)
{
    uint64_t ended_ns = trace->ranks->at[rank].ended_ns;

    if (operation->returned_ns != 0)
        return operation->returned_ns;
    if (operation->returned == operation->count)
        return operation->called_ns;
    return ended_ns != 0 ? ended_ns : trace->clock.now_ns;
}

/* The rank has ended: what its lanes have will not go to the ring any more. */
static void write_lanes(struct ftc_trace *trace, int rank)
{
    struct ftc_history_operation last[FTC_HISTORY_MOST];

    if (trace->at[rank].finished)
        return;
    trace->at[rank].finished = true;
    int count = ftc_history_last(trace->segment, rank, &trace->clock, last, (int)FTC_HISTORY_MOST);
    for (int i = 0; i < count; i++)
        if (last[i].live)
            write_operation(trace, rank, &last[i], end_of(trace, rank, &last[i]));
}

static void drain_notices(struct ftc_trace *trace, int rank, const struct ftc_slot *slot)
{
    struct ftc_trace_rank *of = &trace->at[rank];
    uint32_t noticed = atomic_load_explicit(&slot->noticed, memory_order_acquire);

    if (noticed == of->noticed || noticed > (uint32_t)trace->ranks->count)
        return;
    of->noticed = noticed;
    begin(trace, LOAD(slot->noticed_ns), "i", rank, 0, "notice");
    fprintf(trace->file,
            ",\"s\":\"t\",\"cat\":\"notice\",\"args\":{\"failures_known\":%" PRIu32 "}},\n",
            noticed);
}

/* If the rank entered several ballots since the last look, only the last one is known. */
static void drain_ballots(struct ftc_trace *trace, int rank, const struct ftc_slot *slot)
{
    struct ftc_trace_rank *of = &trace->at[rank];
    const struct ftc_ballot_mark *mark = &slot->ballot;
    uint32_t sequence = atomic_load_explicit(&mark->sequence, memory_order_acquire);
    uint32_t i = LOAD(mark->i), s = LOAD(mark->s);
    uint64_t op = LOAD(mark->op), at_ns = LOAD(mark->at_ns);

    atomic_thread_fence(memory_order_acquire);
    if (sequence == of->ballots || sequence % 2 != 0 || LOAD(mark->sequence) != sequence)
        return;
    begin(trace, at_ns, "i", rank, 0, "ballot");
    fprintf(trace->file,
            ",\"s\":\"t\",\"cat\":\"ballot\",\"args\":{\"number\":%" PRIu64 ",\"i\":%" PRIu32
            ",\"s\":%" PRIu32 ",\"ballots\":%" PRIu32 "}},\n",
            op, i, s, (sequence - of->ballots) / 2);
    of->ballots = sequence;
}

/* The deaths of this node's ranks. Those of a lost node are told by one of the others. */
static void drain_death(struct ftc_trace *trace, int rank)
{
    const struct ftc_process *process = &trace->ranks->at[rank];
    bool mine = ftc_segment_is_local(trace->segment, rank) ||
                (trace->speaks && process->failure.cause == FTC_CAUSE_NODE);

    if (!process->failed || !mine || trace->at[rank].dead)
        return;
    trace->at[rank].dead = true;
    write_death(trace, rank);
}

static void drain(struct ftc_trace *trace, bool all)
{
    int count, first = ftc_segment_local(trace->segment, &count);

    ftc_history_look(&trace->clock, trace->segment);
    for (int rank = first; rank < first + count; rank++) {
        const struct ftc_slot *slot = ftc_segment_slot(trace->segment, rank);
        const struct ftc_process *process = &trace->ranks->at[rank];
        drain_operations(trace, rank, all || process->ended);
        if (all || process->ended)
            write_lanes(trace, rank);
        drain_notices(trace, rank, slot);
        drain_ballots(trace, rank, slot);
    }
    for (int rank = 0; rank < trace->ranks->count; rank++)
        drain_death(trace, rank);
    (void)fflush(trace->file);
}

static void on_tick(struct ev_loop *loop, struct ev_timer *timer, int events)
{
    (void)loop;
    (void)events;
    ftc_trace_drain(timer->data);
}

/* --- interface --- */

static int refuse(const char *path, const char *why)
{
    return ftc_error_set(FTC_ERR_SYSTEM, "cannot write the trace %s: %s; give another --trace",
                         path, why);
}

static int make_file(struct ftc_trace *trace)
{
    char part[FTC_TRACE_PATH];
    struct stat info;

    if (strlen(trace->path) > FTC_TRACE_PATH - 32)
        return refuse(trace->path, strerror(ENAMETOOLONG));
    if (lstat(trace->path, &info) == 0 && !S_ISREG(info.st_mode))
        return refuse(trace->path, "it is no regular file");
    ftc_trace_part(trace->path, trace->node, part);
    char fresh[FTC_TRACE_PATH];
    snprintf(fresh, sizeof(fresh), "%s.merge", trace->path);
    (void)unlink(part); /* a job that was killed may have left them */
    (void)unlink(fresh);
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return refuse(part, strerror(errno));
    trace->file = fdopen(fd, "w");
    if (trace->file != NULL)
        return FTC_SUCCESS;
    close(fd);
    return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the trace");
}

int ftc_trace_open(struct ftc_trace *trace, const char *path, struct ftc_segment *segment,
                   const struct ftc_ranks *ranks)
{
    *trace = (struct ftc_trace){.path = path,
                                .node = ftc_segment_node(segment),
                                .segment = segment,
                                .ranks = ranks,
                                .started_ns = ftc_segment_header(segment)->started_ns,
                                .speaks = true};
    trace->at = calloc((size_t)ftc_segment_ranks(segment), sizeof(*trace->at));
    if (trace->at == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the trace");
    int rc = make_file(trace);
    if (rc == FTC_SUCCESS)
        name_node(trace);
    return rc;
}

void ftc_trace_start(struct ftc_trace *trace, struct ev_loop *loop)
{
    if (trace->file == NULL)
        return;
    trace->loop = loop;
    ev_timer_init(&trace->tick, on_tick, DRAIN_SECONDS, DRAIN_SECONDS);
    trace->tick.data = trace;
    ev_timer_start(loop, &trace->tick);
}

void ftc_trace_drain(struct ftc_trace *trace)
{
    if (trace->file != NULL)
        drain(trace, false);
}

void ftc_trace_finish(struct ftc_trace *trace)
{
    if (trace->file == NULL)
        return;
    drain(trace, true);
    if (trace->loop != NULL)
        ev_timer_stop(trace->loop, &trace->tick);
    int count, first = ftc_segment_local(trace->segment, &count);
    begin(trace, trace->clock.now_ns, "i", first, 0, "end");
    fputs(",\"s\":\"p\",\"cat\":\"job\"}\n],\"displayTimeUnit\":\"ns\"}\n", trace->file);
    (void)fclose(trace->file);
    trace->file = NULL;
}

void ftc_trace_fini(struct ftc_trace *trace)
{
    char part[FTC_TRACE_PATH];

    if (trace->file != NULL && trace->loop == NULL) { /* no rank was started */
        ftc_trace_part(trace->path, trace->node, part);
        (void)unlink(part);
    }
    if (trace->loop != NULL)
        ev_timer_stop(trace->loop, &trace->tick);
    if (trace->file != NULL)
        (void)fclose(trace->file);
    for (int rank = 0; trace->at != NULL && rank < ftc_segment_ranks(trace->segment); rank++)
        free(trace->at[rank].tracks);
    free(trace->at);
    *trace = (struct ftc_trace){0};
}
