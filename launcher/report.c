/* Writes the report. Values of the segment may be nonsense if a rank has damaged them. They are
 * only printed. */
#include "launcher/report.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "collectives/agreement/member.h"
#include "collectives/message.h"
#include "launcher/counters.h"
#include "node/segment/chain.h"
#include "node/segment/history.h"
#include "runtime/choice/choice.h"

#define LAST_OPERATIONS 16

_Static_assert(FTC_MESSAGES <= FTC_MESSAGE_KINDS && FTC_RULES_COUNT <= FTC_RULES &&
                   FTC_PIECES_KINDS <= FTC_PIECES,
               "the slot holds all counters");

/* Milliseconds from `from` to `to`; null if one of them is missing. */
static json_t *span(uint64_t from_ns, uint64_t to_ns)
{
    if (from_ns == 0 || to_ns == 0)
        return json_null();
    return json_real(((double)to_ns - (double)from_ns) / 1e6);
}

static json_t *wall(uint64_t realtime_ns)
{
    return json_real((double)realtime_ns / 1e9);
}

static json_t *number(const _Atomic uint64_t *counter)
{
    return json_integer((json_int_t)atomic_load_explicit(counter, memory_order_relaxed));
}

static json_t *make_pieces(const struct ftc_counters *counters)
{
    json_t *pieces = json_object();
    for (int kind = 0; kind < FTC_PIECES_KINDS; kind++)
        json_object_set_new(pieces, ftc_pieces_name((enum ftc_pieces_kind)kind),
                            number(&counters->pieces[kind]));
    return pieces;
}

static json_t *make_datagrams(const struct ftc_counters *counters)
{
    json_t *datagrams = json_object();
    for (int kind = 0; kind < FTC_DATAGRAMS; kind++)
        json_object_set_new(datagrams, ftc_datagrams_name((enum ftc_datagrams)kind),
                            number(&counters->datagrams[kind]));
    return datagrams;
}

/* The failures that were hidden from the program of a rank: the first ranks of them. */
static json_t *make_masked(const struct ftc_counters *counters)
{
    json_t *ranks = json_array();
    for (int i = 0; i < FTC_MASKED_RANKS; i++) {
        uint64_t next = atomic_load_explicit(&counters->masked_ranks[i], memory_order_relaxed);
        if (next != 0)
            json_array_append_new(ranks, json_integer((json_int_t)next - 1));
    }
    return ranks;
}

static json_t *make_counters(const struct ftc_counters *counters)
{
    json_t *sent = json_object(), *rules = json_object(), *all = json_object();
    for (int kind = 0; kind < FTC_MESSAGES; kind++)
        json_object_set_new(sent, ftc_message_kind_name((enum ftc_message_kind)kind),
                            number(&counters->sent[kind]));
    for (int rule = 0; rule < FTC_RULES_COUNT; rule++)
        json_object_set_new(rules, ftc_rule_name((enum ftc_rule)rule),
                            number(&counters->rules[rule]));
    json_object_set_new(all, "sent", sent);
    json_object_set_new(all, "bytes", number(&counters->bytes));
    json_object_set_new(all, "operations", number(&counters->operations));
    json_object_set_new(all, "ballots", number(&counters->ballots));
    json_object_set_new(all, "dropped", number(&counters->dropped));
    json_object_set_new(all, "rules", rules);
    json_object_set_new(all, "pieces", make_pieces(counters));
    json_object_set_new(all, "datagrams", make_datagrams(counters));
    return all;
}

static const char *phase_name(uint32_t phase)
{
    static const char *const names[] = {"spawned", "joined", "finalized"};
    return phase < sizeof(names) / sizeof(names[0]) ? names[phase] : "damaged";
}

static void add_end(json_t *object, const struct ftc_process *process)
{
    if (!process->child_ended) {
        json_object_set_new(object, "end", json_null());
    } else if (WIFSIGNALED(process->status)) {
        json_object_set_new(object, "end", json_string("signaled"));
        json_object_set_new(object, "signal", json_integer(WTERMSIG(process->status)));
    } else {
        json_object_set_new(object, "end", json_string("exited"));
        json_object_set_new(object, "code", json_integer(WEXITSTATUS(process->status)));
    }
}

/* The last operations of a failed rank. null: they are not here, as for a rank of another host. */
static json_t *make_history(const struct ftc_job_report *report, int rank)
{
    struct ftc_segment *segment = report->verdict->segment;
    struct ftc_history_operation last[LAST_OPERATIONS];
    struct ftc_history_clock clock;
    char text[24];

    if (!ftc_history_kept(segment, rank))
        return json_null();
    ftc_history_look(&clock, segment);
    int count = ftc_history_last(segment, rank, &clock, last, LAST_OPERATIONS);
    json_t *history = json_array();
    for (int i = 0; i < count; i++) {
        const struct ftc_history_operation *o = &last[i];
        json_array_append_new(
            history,
            json_pack("{s:s, s:b, s:o, s:i, s:i, s:s, s:s, s:I, s:s?, s:o, s:o, s:o, s:o, s:o, "
                      "s:o, s:o}", //
                      "operation", //
                      ftc_history_kind_name(o->kind), "request", o->request >= 0, "number",
                      o->number == FTC_HISTORY_UNNUMBERED ? json_null()
                                                          : json_integer((json_int_t)o->number),
                      "count", o->count, "returned",
                      o->returned, //
                      "communicator", ftc_history_communicator(o->communicator, text),
                      "communicator_name", o->name, "bytes", (json_int_t)o->size, "algorithm",
                      ftc_choice_name(o->algorithm),                               //
                      "called_ms", span(report->started_ns, o->called_ns),         //
                      "decided_ms", span(report->started_ns, o->decided_ns),       //
                      "returned_ms", span(report->started_ns, o->returned_ns),     //
                      "waits_for",                                                 //
                      o->waits_for < 0 ? json_null() : json_integer(o->waits_for), //
                      "waits_since_ms", span(report->started_ns, o->waited_ns),    //
                      "status", o->returned > 0 ? json_integer(o->status) : json_null(),
                      "agreed_failed", o->returned > 0 ? json_integer(o->failed) : json_null()));
    }
    return history;
}

/* The communicator of the last call in which the rank was seen. null: it was seen in none. */
static json_t *make_communicator(const struct ftc_activity *activity)
{
    uint64_t number =
        activity == NULL ? 0 : atomic_load_explicit(&activity->communicator, memory_order_relaxed);
    char digits[24], name[FTC_COMMUNICATOR_NAME];

    if (number == 0)
        return json_null();
    return json_pack("{s:s, s:s}", "number", ftc_history_communicator(number, digits), "name",
                     ftc_chain_communicator(activity, number, name));
}

static void add_failure(json_t *object, const struct ftc_job_report *report, int rank)
{
    const struct ftc_failure *failure = &report->verdict->ranks->at[rank].failure;
    bool failed = ftc_verdict_failed(report->verdict, rank);
    json_object_set_new(object, "failed", json_boolean(failed));
    if (!failed)
        return;
    json_object_set_new(object, "cause", json_string(ftc_failure_cause_name(failure->cause)));
    json_object_set_new(object, "detail", json_integer(failure->detail));
    json_object_set_new(object, "seen_by",
                        failure->seen_by < 0 ? json_string("ftrun")
                                             : json_integer(failure->seen_by));
    json_object_set_new(object, "suspected_ms", span(report->started_ns, failure->suspected_ns));
    json_object_set_new(object, "declared_ms", span(report->started_ns, failure->declared_ns));
    json_object_set_new(object, "detection_ms",
                        span(ftc_verdict_began(report->verdict, rank), failure->declared_ns));
    json_object_set_new(object, "communicator",
                        make_communicator(ftc_segment_activity(report->verdict->segment, rank)));
    json_object_set_new(object, "history", make_history(report, rank));
}

/* The words of a rank of this node; NULL: it is of another one. */
static struct ftc_slot *slot_of(const struct ftc_job_report *report, int rank)
{
    struct ftc_segment *segment = report->verdict->segment;

    return ftc_segment_is_local(segment, rank) ? ftc_segment_slot(segment, rank) : NULL;
}

static int pid_of(const struct ftc_job_report *report, int rank, uint32_t phase)
{
    struct ftc_slot *slot = slot_of(report, rank);

    if (phase == FTC_PHASE_SPAWNED)
        return slot != NULL ? atomic_load(&slot->child_pid) : 0;
    return atomic_load(&ftc_segment_standing(report->verdict->segment, rank)->pid);
}

/* `unpacked` holds those of a rank of another node, as its agent has told them. */
static const struct ftc_counters *counters_of(const struct ftc_job_report *report, int rank,
                                              struct ftc_counters *unpacked)
{
    const struct ftc_process *process = &report->verdict->ranks->at[rank];
    struct ftc_slot *slot = slot_of(report, rank);

    if (slot != NULL)
        return &slot->counters;
    if (!ftc_counters_unpack(unpacked, process->counters, process->counters_size))
        memset(unpacked, 0, sizeof(*unpacked));
    return unpacked;
}

static uint64_t first_result_of(const struct ftc_job_report *report, int rank)
{
    struct ftc_slot *slot = slot_of(report, rank);

    return slot != NULL ? atomic_load(&slot->first_result_ns) : 0;
}

static json_t *make_rank(const struct ftc_job_report *report, int rank)
{
    const struct ftc_process *process = &report->verdict->ranks->at[rank];
    struct ftc_standing *standing = ftc_segment_standing(report->verdict->segment, rank);
    uint32_t phase = atomic_load_explicit(&standing->phase, memory_order_acquire);
    struct ftc_counters unpacked;
    const struct ftc_counters *counters = counters_of(report, rank, &unpacked);
    int pid = pid_of(report, rank, phase);
    json_t *object = json_object();
    json_object_set_new(object, "rank", json_integer(rank));
    json_object_set_new(object, "pid", json_integer(pid));
    json_object_set_new(object, "phase", json_string(phase_name(phase)));
    add_end(object, process);
    add_failure(object, report, rank);
    json_object_set_new(object, "joined_ms",
                        span(report->started_ns, atomic_load(&standing->joined_ns)));
    json_object_set_new(object, "first_result_ms",
                        span(report->started_ns, first_result_of(report, rank)));
    json_object_set_new(object, "masked_failures", number(&counters->masked));
    json_object_set_new(object, "masked", make_masked(counters));
    json_object_set_new(object, "counters", make_counters(counters));
    return object;
}

static json_t *make_startup(const struct ftc_job_report *report)
{
    uint64_t joined = 0, first = 0;
    for (int rank = 0; rank < report->verdict->ranks->count; rank++) {
        struct ftc_standing *standing = ftc_segment_standing(report->verdict->segment, rank);
        uint64_t own_joined = atomic_load(&standing->joined_ns),
                 own_first = first_result_of(report, rank);
        joined = own_joined > joined ? own_joined : joined;
        first = own_first > first ? own_first : first;
    }
    json_t *object = json_object();
    json_object_set_new(object, "server_ms", span(report->started_ns, report->server_ns));
    json_object_set_new(object, "spawned_ms", span(report->started_ns, report->spawned_ns));
    json_object_set_new(object, "joined_ms", span(report->started_ns, joined));
    json_object_set_new(object, "first_result_ms", span(report->started_ns, first));
    return object;
}

static json_t *make_report(const struct ftc_job_report *report)
{
    json_t *ranks = json_array(), *object = json_object();
    for (int rank = 0; rank < report->verdict->ranks->count; rank++)
        json_array_append_new(ranks, make_rank(report, rank));
    json_object_set_new(object, "schema", json_integer(1));
    json_object_set_new(object, "job", json_string(report->job));
    json_object_set_new(object, "np", json_integer(report->verdict->ranks->count));
    json_object_set_new(object, "f", json_integer(report->f));
    json_object_set_new(object, "exit_code", json_integer(report->exit_code));
    json_object_set_new(object, "failures", json_integer(ftc_verdict_failures(report->verdict)));
    json_object_set_new(object, "max_failures", json_integer(report->verdict->max_failures));
    json_object_set_new(object, "start", wall(report->started_realtime_ns));
    json_object_set_new(object, "end", wall(report->ended_realtime_ns));
    json_object_set_new(object, "startup", make_startup(report));
    if (json_object_set_new(object, "ranks", ranks) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* --- where it goes --- */

/* The descriptor that a name such as "/dev/stdout" or "/dev/fd/63" (a process substitution) stands
 * for. -1: the name stands for no descriptor. */
static int named_descriptor(const char *path)
{
    static const char *const standard[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    int fd, end = 0;

    if (strcmp(path, "-") == 0)
        return STDOUT_FILENO;
    for (int i = 0; i < 3; i++)
        if (strcmp(path, standard[i]) == 0)
            return i;
    for (int i = 0; i < 2; i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0 &&
            sscanf(path + strlen(folders[i]), "%d%n", &fd, &end) == 1 &&
            path[strlen(folders[i]) + (size_t)end] == '\0')
            return fd;
    return -1;
}

static int refuse(const char *path, const char *why)
{
    return ftc_error_set(FTC_ERR_SYSTEM, "cannot write the report %s: %s; give another --report",
                         path, why);
}

/* *fd becomes a copy of the descriptor, so that it is still open at the end. A socket above
 * standard error is refused: ftrun itself has opened it, so the user cannot mean it. */
static int take_descriptor(int *fd, const char *path, int named)
{
    struct stat info;
    int flags = fcntl(named, F_GETFL);

    if (flags < 0 || fstat(named, &info) != 0 || (S_ISSOCK(info.st_mode) && named > STDERR_FILENO))
        return refuse(path, "there is no such descriptor");
    if ((flags & O_ACCMODE) == O_RDONLY)
        return refuse(path, "it is open for reading alone");
    *fd = fcntl(named, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return *fd >= 0 ? FTC_SUCCESS : refuse(path, strerror(errno));
}

/* A file that does not exist yet is made at the end. Will that be possible? */
static int check_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    char directory[4096] = ".";

    if (strlen(path) > sizeof(directory) - 16) /* leaves room for a pid */
        return refuse(path, strerror(ENAMETOOLONG));
    if (slash != NULL)
        snprintf(directory, sizeof(directory), "%.*s", slash > path ? (int)(slash - path) : 1,
                 path);
    return access(directory, W_OK | X_OK) == 0 ? FTC_SUCCESS : refuse(path, strerror(errno));
}

/* O_NONBLOCK: a FIFO may have the name by now, and open() would wait for its reader. */
static int open_device(int *fd, const char *path)
{
    struct stat info;

    *fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0)
        return refuse(path, strerror(errno));
    if (fstat(*fd, &info) == 0 && S_ISCHR(info.st_mode)) {
        (void)fcntl(*fd, F_SETFL, 0);
        return FTC_SUCCESS;
    }
    close(*fd);
    *fd = -1;
    return refuse(path, strerror(ENXIO));
}

int ftc_job_report_open(const char *path, int *fd)
{
    struct stat info;
    int named = named_descriptor(path);

    *fd = -1;
    if (named >= 0)
        return take_descriptor(fd, path, named);
    bool there = lstat(path, &info) == 0;
    if (there && S_ISLNK(info.st_mode))
        return refuse(path, "it is a symbolic link, and links are not followed");
    if (!there || S_ISREG(info.st_mode))
        return check_directory(path);
    if (S_ISCHR(info.st_mode))
        return open_device(fd, path);
    return refuse(path, "it is neither a file nor a device of characters");
}

/* --- writing --- */

/* Waits for the descriptor where needed: another process that shares it may have made it
 * non-blocking. */
static bool put_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EAGAIN)
            (void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        else if (written < 0 && errno != EINTR)
            return false;
        size -= written > 0 ? (size_t)written : 0;
        bytes += written > 0 ? written : 0;
    }
    return true;
}

static int write_json(json_t *object, int fd, const char *path)
{
    char *text = json_dumps(object, JSON_INDENT(1));

    if (text == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the report");
    bool written = put_all(fd, text, strlen(text)) && put_all(fd, "\n", 1);
    int saved = errno;
    free(text);
    errno = saved;
    if (written)
        return FTC_SUCCESS;
    return ftc_error_set(FTC_ERR_SYSTEM, "writing the report %s: %m; it is incomplete", path);
}

/* The file is replaced as a whole, since two nodes may write it at once. O_EXCL: ftrun does not
 * write to a file that another user has put at that name. */
static int write_file(json_t *object, const char *path)
{
    char fresh[4096];
    int length = snprintf(fresh, sizeof(fresh), "%s.%d", path, (int)getpid());

    if (length >= (int)sizeof(fresh))
        return refuse(path, strerror(ENAMETOOLONG));
    (void)unlink(fresh); /* a killed process with the same pid may have left it */
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return refuse(path, strerror(errno));
    int rc = write_json(object, fd, path);
    if (close(fd) != 0 && rc == FTC_SUCCESS)
        rc = refuse(path, strerror(errno));
    if (rc == FTC_SUCCESS && rename(fresh, path) != 0)
        rc = refuse(path, strerror(errno));
    if (rc != FTC_SUCCESS)
        (void)unlink(fresh);
    return rc;
}

int ftc_job_report_write(const struct ftc_job_report *report)
{
    json_t *object = make_report(report);

    if (object == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the report");
    int rc = report->fd >= 0 ? write_json(object, report->fd, report->path)
                             : write_file(object, report->path);
    json_decref(object);
    return rc;
}
