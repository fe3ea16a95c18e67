/*
 * A job that exists only in its segment. It fills the slots as the launcher and the ranks would,
 * prints the name of the job, and keeps the heartbeats of the live ranks going. When standard input
 * ends, it removes everything. Lines on standard input change the job:
 *
 *   fail RANK CAUSE DETAIL SEEN_BY   declare a rank failed (cause as its number)
 *   call RANK KIND OP                rank is in an operation
 *   in RANK COUNT NAME               the communicator of its call; COUNT is that of its number,
 *                                    0: the world; with a minus sign: after a revoke
 *   enter RANK OP                    rank has called an operation and shows no more of it
 *   wait RANK ROLE FOR COUNT         what its call waits for
 *   message RANK KIND TAG BYTES      rank is in a send (0), receive (1), ... and waits for 2 s
 *   timeless RANK                    since when it waits is not known
 *   unsettled RANK SECONDS           it gossips, and has not been ready to agree for so long
 *   pieces RANK DATAGRAM RING OTHER  of multicast decisions
 *   datagrams RANK FOREIGN CORRUPT SENSELESS
 *   undelivered RANK COUNT       datagrams that the kernel dropped
 *   results RANK COMPARED CORRECTED DETECTED  operations that it coordinated
 *   sent RANK KIND COUNT             messages of a kind (as its number)
 *   traffic RANK BYTES BALLOTS DROPPED
 *   rule RANK RULE COUNT             how often it took a rule (as its number)
 *   suspect RANK TIMES FENCED        by the detector
 *   out RANK OP                      outside the library, having called OP operations
 *   carriers RANK SHM VERBS TCP      to how many ranks its messages go by each
 *   node RANK STATE                  its node is in this state, since now
 *   process RANK PID                 it is this process (must be there)
 *   freeze RANK                      its heartbeat stops
 *   finalize RANK | exit RANK STATUS
 *   tear RANK                        died while it wrote its activity
 *   junk RANK BYTE                   its slot's words are all that byte
 *   end                              the launcher says that the job has ended
 *
 * With FAKE_NODES=N the ranks are spread over N nodes, of which this one is the first.
 *
 * usage: fake_job NP F [COMMAND [SECTION.KEY=VALUE...]]
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "collectives/agreement/member.h"
#include "collectives/communicators/number.h"
#include "collectives/message.h"
#include "config/config.h"
#include "include/ftcoll.h"
#include "node/jobs.h"
#include "node/segment/history.h"
#include "node/segment/segment.h"

#define MOST_NAMES 100 /* that are tried for a job */
#define PERIOD_MS  20

struct fake {
    struct ftc_segment *segment;
    int ranks;
    bool *frozen;
};

/* The words of a rank, of this node or of another one. */
struct words {
    struct ftc_standing *standing;
    struct ftc_slot *slot; /* NULL: it is of another node */
    struct ftc_activity *activity;
    _Atomic uint64_t *called, *returned, *heartbeat;
};

static struct words words_of(struct fake *fake, int rank)
{
    struct words words = {.standing = ftc_segment_standing(fake->segment, rank)};
    struct ftc_shown *shown;

    if (ftc_segment_is_local(fake->segment, rank)) {
        words.slot = ftc_segment_slot(fake->segment, rank);
        words.called = &words.slot->called;
        words.returned = &words.slot->counters.operations;
        words.heartbeat = &words.slot->heartbeat;
    } else {
        if (ftc_segment_show(fake->segment, rank, &shown) != FTC_SUCCESS)
            exit(4);
        words.called = &shown->called;
        words.returned = &shown->operations;
        words.heartbeat = &shown->heartbeat;
    }
    words.activity = ftc_segment_activity(fake->segment, rank);
    return words;
}

static void join(struct fake *fake, int rank)
{
    struct words words = words_of(fake, rank);
    if (words.slot != NULL)
        words.slot->child_pid = getpid();
    words.standing->pid = getpid();
    words.standing->joined_ns = ftc_clock_now();
    words.activity->waits_for = words.activity->root = -1;
    words.activity->since_ns = ftc_clock_now();
    words.activity->communicator = FTC_COMMUNICATOR_WORLD;
    words.standing->phase = FTC_PHASE_JOINED;
}

static void fail(struct fake *fake, int rank, int cause, int detail, int seen_by)
{
    struct ftc_failure failure = {.cause = (enum ftc_failure_cause)cause,
                                  .detail = detail,
                                  .seen_by = seen_by,
                                  .suspected_ns = ftc_clock_now() - 1500000,
                                  .declared_ns = ftc_clock_now()};
    ftc_segment_declare(fake->segment, rank, &failure);
    for (int i = 0; i < fake->ranks; i++) {
        ftc_segment_known_row(fake->segment, i)[rank / 64] |= UINT64_C(1) << rank % 64;
        ftc_segment_activity(fake->segment, i)->known_failed++;
    }
}

/* Carries out a command that sets counters; false if the verb is another one. */
static bool obey_count(struct ftc_slot *slot, const char *verb, int a, int b, int c)
{
    if (strcmp(verb, "sent") == 0) {
        slot->counters.sent[a % FTC_MESSAGES] = (uint64_t)b;
    } else if (strcmp(verb, "traffic") == 0) {
        slot->counters.bytes = (uint64_t)a;
        slot->counters.ballots = (uint64_t)b;
        slot->counters.dropped = (uint64_t)c;
    } else if (strcmp(verb, "rule") == 0) {
        slot->counters.rules[a % FTC_RULES_COUNT] = (uint64_t)b;
    } else if (strcmp(verb, "suspect") == 0) {
        slot->suspicions = (uint32_t)a;
        slot->fencings = (uint32_t)b;
    } else if (strcmp(verb, "pieces") == 0) {
        slot->counters.pieces[FTC_PIECES_DATAGRAM] = (uint64_t)a;
        slot->counters.pieces[FTC_PIECES_RING] = (uint64_t)b;
        slot->counters.pieces[FTC_PIECES_OTHER] = (uint64_t)c;
    } else if (strcmp(verb, "datagrams") == 0) {
        slot->counters.datagrams[FTC_DATAGRAMS_FOREIGN] = (uint64_t)a;
        slot->counters.datagrams[FTC_DATAGRAMS_CORRUPT] = (uint64_t)b;
        slot->counters.datagrams[FTC_DATAGRAMS_SENSELESS] = (uint64_t)c;
    } else if (strcmp(verb, "undelivered") == 0) {
        slot->counters.datagrams[FTC_DATAGRAMS_DROPPED] = (uint64_t)a;
    } else if (strcmp(verb, "results") == 0) {
        slot->counters.rules[FTC_RULE_COMPARE] = (uint64_t)a;
        slot->counters.rules[FTC_RULE_OUTVOTE] = (uint64_t)b;
        slot->counters.rules[FTC_RULE_DETECT] = (uint64_t)c;
    } else {
        return false;
    }
    return true;
}

/* The same for the other words of a slot. */
static bool obey_slot(struct fake *fake, int rank, const char *verb, int a, int b, int c)
{
    struct ftc_slot *slot;

    if (!ftc_segment_is_local(fake->segment, rank))
        return false;
    slot = ftc_segment_slot(fake->segment, rank);
    if (obey_count(slot, verb, a, b, c))
        return true;
    if (strcmp(verb, "carriers") == 0) {
        slot->carriers[FTC_CARRIER_SHM] = (uint32_t)a;
        slot->carriers[FTC_CARRIER_VERBS] = (uint32_t)b;
        slot->carriers[FTC_CARRIER_TCP] = (uint32_t)c;
    } else if (strcmp(verb, "junk") == 0) {
        memset((void *)slot, a, sizeof(*slot));
        memset((void *)ftc_segment_standing(fake->segment, rank), a, sizeof(struct ftc_standing));
    } else {
        return false;
    }
    return true;
}

/* The same for what a rank waits for. */
static bool obey_wait(struct ftc_activity *activity, const char *verb, int a, int b, int c)
{
    if (strcmp(verb, "wait") == 0) {
        activity->role = (uint32_t)a;
        activity->waits_for = b;
        activity->waits = (uint32_t)c;
    } else if (strcmp(verb, "message") == 0) {
        activity->kind = FTC_HISTORY_SEND + (uint32_t)a;
        activity->op = UINT64_MAX;
        activity->tag = b;
        activity->bytes = c < 0 ? UINT64_MAX : (uint64_t)c;
        activity->since_ns = ftc_clock_now() - 2 * FTC_NS_PER_S;
    } else if (strcmp(verb, "timeless") == 0) {
        activity->since_ns = 0;
    } else if (strcmp(verb, "unsettled") == 0) {
        activity->unsettled_ns = ftc_clock_now() - (uint64_t)a * FTC_NS_PER_S;
    } else {
        return false;
    }
    return true;
}

static void name_communicator(struct ftc_activity *activity, int count, const char *line)
{
    char name[FTC_COMMUNICATOR_NAME] = "";
    sscanf(line, "%*s %*d %*d %31s", name);
    memcpy((void *)activity->name, name, sizeof(name));
    activity->communicator =
        count == 0  ? FTC_COMMUNICATOR_WORLD
        : count > 0 ? ftc_communicator_number((uint64_t)count, 0)
                    : ftc_communicator_number((uint64_t)-count, 0) | FTC_COMMUNICATOR_REVOKED;
}

static void change_node(struct fake *fake, int rank, uint32_t state)
{
    struct ftc_node *node =
        ftc_segment_node_at(fake->segment, ftc_segment_node_of(fake->segment, rank));

    node->changed_ns = ftc_clock_now();
    node->state = state;
}

/* Carries out one line. Numbers that are missing count as 0. An unknown command is a mistake in the
 * test, and ends the program. */
static void obey(struct fake *fake, const char *line)
{
    char verb[16] = "";
    int rank = 0, a = 0, b = 0, c = 0;

    sscanf(line, "%15s %d %d %d %d", verb, &rank, &a, &b, &c);
    if (rank < 0 || rank >= fake->ranks)
        exit(3);
    struct words words = words_of(fake, rank);
    struct ftc_activity *activity = words.activity;
    if (obey_slot(fake, rank, verb, a, b, c) || obey_wait(activity, verb, a, b, c))
        return;
    if (strcmp(verb, "fail") == 0) {
        fail(fake, rank, a, b, c);
    } else if (strcmp(verb, "call") == 0) {
        activity->kind = (uint32_t)a;
        activity->op = (uint64_t)b;
        *words.called = (uint64_t)b + 1;
        *words.returned = (uint64_t)b;
        activity->since_ns = ftc_clock_now();
    } else if (strcmp(verb, "in") == 0) {
        name_communicator(activity, a, line);
    } else if (strcmp(verb, "enter") == 0) {
        *words.called = (uint64_t)a + 1;
        *words.returned = (uint64_t)a;
    } else if (strcmp(verb, "out") == 0) {
        activity->kind = activity->role = 0;
        activity->waits_for = -1;
        *words.called = *words.returned = (uint64_t)a;
    } else if (strcmp(verb, "node") == 0) {
        change_node(fake, rank, (uint32_t)a);
    } else if (strcmp(verb, "process") == 0) {
        words.standing->pid = a;
        if (words.slot != NULL)
            words.slot->pid_start = ftc_process_start(a);
    } else if (strcmp(verb, "freeze") == 0) {
        fake->frozen[rank] = true;
    } else if (strcmp(verb, "finalize") == 0) {
        words.standing->phase = FTC_PHASE_FINALIZED;
    } else if (strcmp(verb, "exit") == 0) {
        words.standing->wait_status = a;
        words.standing->ended = 1;
    } else if (strcmp(verb, "tear") == 0) {
        activity->sequence |= 1;
    } else if (strcmp(verb, "end") == 0) {
        ftc_segment_header(fake->segment)->state = FTC_JOB_ENDED;
    } else {
        exit(3);
    }
}

static void beat(struct fake *fake)
{
    for (int i = 0; i < fake->ranks; i++)
        if (!fake->frozen[i])
            ++*words_of(fake, i).heartbeat;
}

/* Runs until standard input ends. It answers each line with "ok", so that a test knows when the
 * command is done. */
static void live(struct fake *fake)
{
    char text[4096];
    size_t used = 0;
    for (;;) {
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
        int ready = poll(&input, 1, PERIOD_MS / 2);
        beat(fake);
        if (ready <= 0)
            continue;
        ssize_t got = read(STDIN_FILENO, text + used, sizeof(text) - used - 1);
        if (got <= 0)
            return;
        used += (size_t)got;
        text[used] = '\0';
        char *end;
        while ((end = strchr(text, '\n')) != NULL) {
            *end = '\0';
            obey(fake, text);
            puts("ok");
            fflush(stdout);
            used -= (size_t)(end + 1 - text);
            memmove(text, end + 1, used + 1);
        }
    }
}

/* Each node gets ranks in a row, as evenly as possible. */
static void spread(struct ftc_segment_spec *spec, struct ftc_node *nodes)
{
    int first = 0;

    spec->nodes = getenv("FAKE_NODES") != NULL ? atoi(getenv("FAKE_NODES")) : 0;
    spec->cluster = spec->job;
    spec->members = nodes;
    for (int i = 0; i < spec->nodes; i++) {
        int end = spec->ranks * (i + 1) / spec->nodes;
        snprintf(nodes[i].host, sizeof(nodes[i].host), "testnode%d", i);
        nodes[i].first = (uint32_t)first;
        nodes[i].count = (uint32_t)(end - first);
        first = end;
    }
}

/* Returns the settings as a launcher hands them to its ranks. It returns NULL for a mistake in the
 * test. */
static char *make_text(int count, char **assignments)
{
    struct ftc_settings settings;
    int rc = ftc_settings_init(&settings);

    if (rc == 0)
        rc = ftc_settings_set(&settings, "collectives.algorithm=corrected", "test");
    for (int i = 0; rc == 0 && i < count; i++)
        rc = ftc_settings_set(&settings, assignments[i], "test");
    char *text = rc == 0 ? ftc_settings_dump(&settings) : NULL;
    ftc_settings_fini(&settings);
    return text;
}

/* As in the launcher: a collector may take the segment before it is locked. */
static int make_job(struct ftc_segment **segment, struct ftc_segment_spec *spec,
                    char job[FTC_JOB_NAME_SIZE], char directory[108], int *lock)
{
    int rc = FTC_ERR_STATE;
    for (int tries = 0; tries < MOST_NAMES && rc == FTC_ERR_STATE; tries++) {
        rc = ftc_jobs_new(job, directory, lock);
        rc = rc == 0 ? ftc_segment_create(segment, spec) : rc;
        if (rc == FTC_ERR_STATE) {
            ftc_jobs_remove(directory, *lock, NULL);
            close(*lock);
        }
    }
    return rc;
}

int main(int argc, char **argv)
{
    char job[FTC_JOB_NAME_SIZE], directory[108];
    int lock = -1;
    int ranks = argc > 2 ? atoi(argv[1]) : 0;
    if (ranks < 1 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return 2;
    struct ftc_segment_spec spec = {.job = job,
                                    .host = "testnode",
                                    .command = argc > 3 ? argv[3] : "./app",
                                    .directory = directory,
                                    .text = make_text(argc - 4, argv + 4),
                                    .ranks = ranks,
                                    .f = atoi(argv[2]),
                                    .heartbeat_period_ns = PERIOD_MS * FTC_NS_PER_MS,
                                    .heartbeat_timeout_ns = FTC_NS_PER_S};
    static struct ftc_node nodes[FTC_NODE_MAX_NODES];
    struct fake fake = {.ranks = ranks, .frozen = calloc((size_t)ranks, sizeof(bool))};
    if (spec.text == NULL)
        return 2;
    spread(&spec, nodes);
    if (fake.frozen == NULL || make_job(&fake.segment, &spec, job, directory, &lock) != 0) {
        fprintf(stderr, "fake_job: %s\n", ftc_last_error());
        return 1;
    }
    for (int i = 0; i < ranks; i++)
        join(&fake, i);
    ftc_segment_header(fake.segment)->state = FTC_JOB_RUNNING;
    puts(job);
    fflush(stdout);
    live(&fake);
    ftc_jobs_remove(directory, lock, fake.segment);
    ftc_segment_detach(fake.segment);
    free((char *)spec.text);
    free(fake.frozen);
    return 0;
}
