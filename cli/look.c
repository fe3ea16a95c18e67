/*
 * Copies a node segment while other processes write to it.
 *
 * Every word is loaded once, and checked before it is used. Words that the layout publishes by a
 * release store (phase, ended, failed) are loaded with acquire, so that the fields that they cover
 * are there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/status.h"
#include "collectives/agreement/member.h"
#include "collectives/values/flip.h"
#include "config/config.h"
#include "node/jobs.h"
#include "runtime/choice/choice.h"

#define LONGEST_SAMPLE_NS (600 * FTC_NS_PER_MS)
#define ACTIVITY_TRIES    64

int ftc_status_init(struct ftc_job_status *status, int ranks, int nodes)
{
    memset(status, 0, sizeof(*status));
    status->rank = calloc((size_t)ranks, sizeof(*status->rank));
    status->link = calloc((size_t)ranks, sizeof(*status->link));
    status->beat = calloc((size_t)ranks, sizeof(*status->beat));
    status->failed = calloc((size_t)ranks, sizeof(*status->failed));
    status->node = calloc((size_t)nodes, sizeof(*status->node));
    if (status->rank == NULL || status->beat == NULL || status->failed == NULL ||
        status->node == NULL || status->link == NULL)
        goto err_fini;
    status->ranks = ranks;
    status->nodes = nodes;
    for (int i = 0; i < ranks; i++)
        if (ftc_set_init(&status->rank[i].known, ranks) != 0 ||
            ftc_set_init(&status->rank[i].agreed, ranks) != 0)
            goto err_fini;
    return 0;

err_fini:
    ftc_status_fini(status);
    return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
}

void ftc_status_fini(struct ftc_job_status *status)
{
    for (int i = 0; i < status->ranks && status->rank != NULL; i++) {
        ftc_set_fini(&status->rank[i].known);
        ftc_set_fini(&status->rank[i].agreed);
    }
    for (int i = 0; i < status->ranks && status->stack != NULL; i++)
        free(status->stack[i].text);
    for (int i = 0; i < status->ranks && status->history != NULL; i++)
        free(status->history[i].operation);
    free(status->history);
    free(status->stack);
    free(status->rank);
    free(status->link);
    free(status->beat);
    free(status->failed);
    free(status->node);
    memset(status, 0, sizeof(*status));
}

/* Copy the value of "key=" from the configuration text, cleaned, or "?" if there is none. */
static void setting(const char *text, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);
    for (const char *line = text; line != NULL && *line != '\0';) {
        const char *end = strchrnul(line, '\n');
        if (strncmp(line, key, length) == 0 && line[length] == '=') {
            line += length + 1;
            ftc_text_clean(value, size, line, (size_t)(end - line));
            return;
        }
        line = *end != '\0' ? end + 1 : NULL;
    }
    ftc_text_clean(value, size, "?", 1);
}

/* A time after `now` is from an event during this look, or makes no sense. */
static uint64_t age(uint64_t now_ns, uint64_t then_ns)
{
    if (then_ns > now_ns)
        return then_ns - now_ns < FTC_NS_PER_S ? 0 : FTC_STATUS_NEVER;
    return then_ns != 0 ? now_ns - then_ns : FTC_STATUS_NEVER;
}

/* Check a rank that was read from the segment. Returns it, -1 for none, or FTC_STATUS_BAD. */
static int rank_or_bad(const struct ftc_job_status *status, int32_t rank)
{
    return rank >= -1 && rank < status->ranks ? rank : FTC_STATUS_BAD;
}

static int enum_or_bad(uint32_t value, uint32_t count)
{
    return value < count ? (int)value : FTC_STATUS_BAD;
}

#define LOAD(word) atomic_load_explicit(&(word), memory_order_relaxed)

static void copy_activity(const struct ftc_job_status *status, struct ftc_activity *from,
                          struct ftc_status_activity *to)
{
    to->kind = enum_or_bad(LOAD(from->kind), FTC_HISTORY_KINDS);
    ftc_chain_look(from, &to->message);
    to->op = LOAD(from->op);
    to->communicator = LOAD(from->communicator);
    ftc_chain_communicator(from, to->communicator, to->communicator_name);
    to->algorithm = ftc_choice_name((int)(LOAD(from->algorithm) - 1u));
    to->age_ns = age(status->now_ns, LOAD(from->since_ns));
    to->ballot_i = LOAD(from->ballot_i);
    to->ballot_s = LOAD(from->ballot_s);
    to->wait = enum_or_bad(LOAD(from->role), FTC_WAITS);
    to->waits_for = rank_or_bad(status, LOAD(from->waits_for));
    to->waits = LOAD(from->waits);
    to->root = rank_or_bad(status, LOAD(from->root));
    to->epoch_op = LOAD(from->epoch_op);
    to->epoch_i = LOAD(from->epoch_i);
    to->epoch_s = LOAD(from->epoch_s);
    to->known_failed = LOAD(from->known_failed);
    to->agreed_failed = LOAD(from->agreed_failed);
    /* Only gossip sets this word, and the word keeps its value after the gossip has ended. */
    bool gossips = to->kind == FTC_CALL_GOSSIP && to->wait == FTC_WAIT_GOSSIP;
    to->unsettled_ns = gossips ? age(status->now_ns, LOAD(from->unsettled_ns)) : FTC_STATUS_NEVER;
}

/* The sequence count is odd while its rank writes. If the rank dies then, it stays odd. */
static void look_activity(const struct ftc_job_status *status, struct ftc_activity *from,
                          struct ftc_status_activity *to)
{
    for (int try = 0; try < ACTIVITY_TRIES; try++) {
        uint32_t before = atomic_load_explicit(&from->sequence, memory_order_acquire);
        copy_activity(status, from, to);
        atomic_thread_fence(memory_order_acquire);
        to->certain = before % 2 == 0 && LOAD(from->sequence) == before;
        if (to->certain)
            return;
    }
}

/* A rank publishes its activity when it goes to sleep. Before that, or in a long operator, only the
 * counters tell that it is in a call. `called` was loaded before `returned`, so a call that has
 * ended meanwhile does not count as one. The last that was told of a rank of another node may be
 * older than its end. */
static void infer_call(struct ftc_status_rank *rank)
{
    if (!ftc_status_live(rank) || rank->activity.kind != FTC_CALL_NONE ||
        rank->called <= rank->returned)
        return;
    rank->activity.kind = FTC_STATUS_CALL;
    rank->activity.op = rank->called - 1;
    rank->activity.communicator = FTC_COMMUNICATOR_WORLD; /* these are its counters */
    strcpy(rank->activity.communicator_name, "world");
    rank->activity.wait = FTC_WAIT_NOTHING;
    rank->activity.waits_for = -1;
}

/* Is this the wait that the look before saw? */
static bool same_wait(const struct ftc_status_activity *a, const struct ftc_status_activity *b)
{
    return a->kind == b->kind && a->communicator == b->communicator && a->op == b->op &&
           a->waits_for == b->waits_for;
}

static void look_wait(const struct ftc_job_status *status, struct ftc_status_rank *rank,
                      const struct ftc_status_activity *before)
{
    const struct ftc_status_activity *now = &rank->activity;
    if (now->kind <= FTC_CALL_NONE || now->waits_for < 0 || !now->certain)
        rank->wait_seen_ns = 0;
    else if (rank->wait_seen_ns == 0 || !same_wait(before, now))
        rank->wait_seen_ns = status->now_ns;
}

static void look_set(struct ftc_set *set, _Atomic uint64_t *row)
{
    ftc_set_clear(set);
    for (int i = 0; i < ftc_set_words(set->size); i++)
        ftc_set_add_word(set, i, LOAD(row[i]));
}

static void look_failure(const struct ftc_job_status *status, struct ftc_standing *standing,
                         struct ftc_status_failure *failure)
{
    uint64_t declared = LOAD(standing->declared_ns), suspected = LOAD(standing->suspected_ns);
    failure->cause = enum_or_bad(LOAD(standing->cause), FTC_CAUSES);
    failure->detail = LOAD(standing->detail);
    failure->seen_by = rank_or_bad(status, LOAD(standing->seen_by));
    failure->age_ns = age(status->now_ns, declared);
    failure->declared_after_ns = age(declared, suspected);
}

/* Was it started? Of a rank of another node that is known from what it shows. */
static bool is_spawned(struct ftc_segment *segment, int rank)
{
    struct ftc_shown *shown;

    if (ftc_segment_is_local(segment, rank))
        return LOAD(ftc_segment_slot(segment, rank)->child_pid) != 0;
    shown = ftc_segment_shown(segment, rank);
    return shown != NULL && LOAD(shown->spawned_ns) != 0;
}

static enum ftc_status_state look_state(struct ftc_segment *segment, int rank)
{
    struct ftc_standing *standing = ftc_segment_standing(segment, rank);
    if (ftc_segment_failed(segment, rank))
        return FTC_STATUS_FAILED;
    if (atomic_load_explicit(&standing->ended, memory_order_acquire) != 0)
        return FTC_STATUS_ENDED;
    switch (atomic_load_explicit(&standing->phase, memory_order_acquire)) {
    case FTC_PHASE_SPAWNED:
        return is_spawned(segment, rank) ? FTC_STATUS_SPAWNED : FTC_STATUS_WAITING;
    case FTC_PHASE_JOINED:
        return FTC_STATUS_JOINED;
    case FTC_PHASE_FINALIZED:
        return FTC_STATUS_FINALIZED;
    default:
        return FTC_STATUS_ODD;
    }
}

static void look_beat(struct ftc_status_beat *beat, struct ftc_slot *slot, uint64_t now_ns)
{
    uint64_t heartbeat = LOAD(slot->heartbeat);
    if (beat->first_ns == 0) {
        beat->first_ns = beat->changed_ns = now_ns;
    } else if (heartbeat != beat->heartbeat) {
        beat->changed_ns = now_ns;
        beat->moved = true;
    }
    beat->heartbeat = heartbeat;
}

/* A heartbeat moves if a look has seen it change within two periods. A heartbeat that was seen to
 * move stands still after two periods without a change, any other after one. */
static enum ftc_status_pulse judge_beat(const struct ftc_job_status *status,
                                        const struct ftc_status_beat *beat)
{
    uint64_t still = status->now_ns - beat->changed_ns;
    if (beat->moved && still / 2 < status->period_ns)
        return FTC_PULSE_MOVING;
    return still >= status->period_ns && still > 0 ? FTC_PULSE_STILL : FTC_PULSE_UNKNOWN;
}

static void look_counters(struct ftc_status_rank *rank, struct ftc_counters *counters)
{
    rank->returned = LOAD(counters->operations);
    rank->bytes = LOAD(counters->bytes);
    rank->ballots = LOAD(counters->ballots);
    rank->dropped = LOAD(counters->dropped);
    for (int i = 0; i < FTC_MESSAGE_KINDS; i++)
        rank->sent[i] = LOAD(counters->sent[i]);
    for (int i = 0; i < FTC_RULES; i++)
        rank->rules[i] = LOAD(counters->rules[i]);
    for (int i = 0; i < FTC_PIECES; i++)
        rank->pieces[i] = LOAD(counters->pieces[i]);
    for (int i = 0; i < FTC_DATAGRAMS; i++)
        rank->datagrams[i] = LOAD(counters->datagrams[i]);
    rank->compared = rank->rules[FTC_RULE_COMPARE];
    rank->corrected = rank->rules[FTC_RULE_OUTVOTE];
    rank->detected = rank->rules[FTC_RULE_DETECT];
}

static void look_carriers(struct ftc_job_status *status, struct ftc_status_rank *rank,
                          struct ftc_slot *slot)
{
    for (int i = 0; i < FTC_CARRIERS; i++) {
        uint32_t count = LOAD(slot->carriers[i]);
        rank->carriers[i] = count < (uint32_t)status->ranks ? count : 0;
        status->carried |= i != FTC_CARRIER_SHM && rank->carriers[i] > 0;
    }
}

/* Take the process that joined, or else the child of the launcher. */
static void look_process(struct ftc_status_rank *rank, struct ftc_standing *standing,
                         struct ftc_slot *slot)
{
    int32_t joined = LOAD(standing->pid), child = LOAD(slot->child_pid);

    rank->pid = joined > 0 ? joined : child > 0 ? child : 0;
    rank->pid_start = joined > 0 ? LOAD(slot->pid_start) : LOAD(slot->child_start);
}

/* Reads the words that ranks of this node alone have: those of the slot. */
static void look_slot(struct ftc_job_status *status, struct ftc_segment *segment, int i)
{
    struct ftc_slot *slot = ftc_segment_slot(segment, i);
    struct ftc_status_rank *rank = &status->rank[i];

    look_carriers(status, rank, slot);
    look_process(rank, ftc_segment_standing(segment, i), slot);
    rank->called = atomic_load_explicit(&slot->called, memory_order_acquire);
    look_counters(rank, &slot->counters);
    rank->suspicions = LOAD(slot->suspicions);
    rank->fencings = LOAD(slot->fencings);
    rank->heartbeat_seen = LOAD(slot->heartbeat);
}

/* Reads the words that the agent of another node has told of its rank. */
static void look_shown(struct ftc_segment *segment, int i, struct ftc_status_rank *rank)
{
    struct ftc_shown *shown = ftc_segment_shown(segment, i);
    int32_t joined = LOAD(ftc_segment_standing(segment, i)->pid);

    rank->pid = joined > 0 ? joined : 0;
    if (shown == NULL)
        return;
    rank->called = atomic_load_explicit(&shown->called, memory_order_acquire);
    rank->returned = LOAD(shown->operations);
    rank->heartbeat_seen = LOAD(shown->heartbeat);
}

/* A rank of which nothing has been told does nothing, as far as is known. */
static void look_calls(struct ftc_job_status *status, struct ftc_segment *segment, int i)
{
    struct ftc_status_rank *rank = &status->rank[i];
    struct ftc_status_activity before = rank->activity;
    struct ftc_activity nothing = {.waits_for = -1, .root = -1},
                        *activity = ftc_segment_activity(segment, i);

    look_activity(status, activity != NULL ? activity : &nothing, &rank->activity);
    infer_call(rank);
    look_wait(status, rank, &before);
    /* Each row is found once: a word of the segment says where it is. */
    _Atomic uint64_t *known = ftc_segment_known_row(segment, i),
                     *agreed = ftc_segment_agreed_row(segment, i);
    rank->has_sets = known != NULL && agreed != NULL;
    if (!rank->has_sets)
        return;
    look_set(&rank->known, known);
    look_set(&rank->agreed, agreed);
}

static void look_rank(struct ftc_job_status *status, struct ftc_segment *segment, int i)
{
    struct ftc_standing *standing = ftc_segment_standing(segment, i);
    struct ftc_status_rank *rank = &status->rank[i];

    rank->state = look_state(segment, i);
    rank->listed = false;
    rank->node = ftc_segment_node_of(segment, i);
    rank->wait_status = LOAD(standing->wait_status);
    rank->joined_age_ns = age(status->now_ns, LOAD(standing->joined_ns));
    if (rank->node == status->own_node)
        look_slot(status, segment, i);
    else
        look_shown(segment, i, rank);
    look_calls(status, segment, i);
    if (rank->state == FTC_STATUS_FAILED)
        look_failure(status, standing, &rank->failure);

    rank->pulse = FTC_PULSE_NONE;
    /* Heartbeats of other nodes arrive too rarely to say anything. */
    if (ftc_status_live(rank) && rank->node == status->own_node) {
        look_beat(&status->beat[i], ftc_segment_slot(segment, i), status->now_ns);
        rank->heartbeat = status->beat[i].heartbeat;
        rank->still_ns = status->now_ns - status->beat[i].changed_ns;
        rank->pulse = judge_beat(status, &status->beat[i]);
    }
}

/* List it once, and not if it was declared after this look had read its standing. */
static void list_failure(struct ftc_job_status *status, int rank)
{
    struct ftc_status_rank *at = &status->rank[rank];

    if (at->state == FTC_STATUS_FAILED && !at->listed)
        status->failed[status->failures++] = rank;
    at->listed = true;
}

/* The log has the order of the declarations. A launcher that died after it had written the standing
 * and before it wrote the log leaves a failure out of the log. Such failures are added at the
 * end. */
static void look_failures(struct ftc_job_status *status, struct ftc_segment *segment)
{
    uint32_t cursor = 0;
    status->failures = 0;
    for (int steps = 0; steps < status->ranks; steps++) {
        int rank = ftc_segment_next_failure(segment, &cursor);
        if (rank < 0 || rank >= status->ranks)
            break;
        list_failure(status, rank);
    }
    for (int rank = 0; rank < status->ranks; rank++)
        list_failure(status, rank);
}

static void look_nodes(struct ftc_job_status *status, struct ftc_segment *segment)
{
    status->own_node = ftc_segment_node(segment);
    for (int i = 0; i < status->nodes; i++) {
        struct ftc_node *from = ftc_segment_node_at(segment, i);
        struct ftc_status_node *to = &status->node[i];
        uint64_t changed = LOAD(from->changed_ns);
        ftc_text_clean(to->host, sizeof(to->host), from->host, sizeof(from->host));
        to->state = enum_or_bad(atomic_load_explicit(&from->state, memory_order_acquire),
                                FTC_NODE_LOST + 1);
        to->age_ns = changed == 0 ? status->age_ns : age(status->now_ns, changed);
        to->first = to->count = 0;
    }
    for (int rank = status->ranks - 1; rank >= 0; rank--) {
        struct ftc_status_node *node = &status->node[ftc_segment_node_of(segment, rank)];
        node->first = rank;
        node->count++;
    }
}

/* The algorithm that a barrier of this job takes, and how its decision is spread. */
static void look_choice(struct ftc_job_status *status, const struct ftc_config *config)
{
    static const struct ftc_signature barrier = {.kind = FTC_CALL_BARRIER, .root = -1};
    struct ftc_flips flips;
    bool any = ftc_flips_parse(config->drill_flip, &flips) == FTC_SUCCESS && ftc_flips_any(&flips);
    struct ftc_choice_job job = {
        .config = config,
        .nodes = status->nodes,
        .member = ftc_choice_member(config, status->ranks, status->nodes, 0, any ? &flips : NULL)};
    enum ftc_choice_id id = ftc_choice_of(&job, &barrier, FTC_CHOICE_BOARD);

    snprintf(status->algorithm, sizeof(status->algorithm), "%s", ftc_choice_name((int)id));
    status->broadcast =
        (struct ftc_status_broadcast){.known = id != FTC_CHOICE_BOARD,
                                      .exchange = ftc_choice_exchanges(&job, &barrier, id),
                                      .dissemination = job.member.dissemination,
                                      .tree = job.member.tree.tree,
                                      .correction = job.member.correction};
}

/* The settings cannot be read if another version wrote them, or if none were written. */
static void look_algorithm(struct ftc_job_status *status)
{
    struct ftc_settings settings = {0};

    status->broadcast = (struct ftc_status_broadcast){0};
    strcpy(status->algorithm, "?");
    if (ftc_settings_load(&settings, status->text) == FTC_SUCCESS)
        look_choice(status, &settings.value);
    ftc_settings_fini(&settings);
}

static void look_header(struct ftc_job_status *status, struct ftc_segment *segment)
{
    struct ftc_segment_header *header = ftc_segment_header(segment);

    ftc_text_clean(status->job, sizeof(status->job), header->job, sizeof(header->job));
    ftc_text_clean(status->cluster, sizeof(status->cluster), header->cluster,
                   sizeof(header->cluster));
    ftc_text_clean(status->host, sizeof(status->host), header->host, sizeof(header->host));
    ftc_text_clean(status->command, sizeof(status->command), header->command,
                   sizeof(header->command));
    ftc_text_clean(status->directory, sizeof(status->directory), header->directory,
                   sizeof(header->directory));
    status->text = ftc_segment_text(segment);
    setting(status->text, "failure_info.scheme", status->scheme, sizeof(status->scheme));
    setting(status->text, "failure_info.share", status->share, sizeof(status->share));
    setting(status->text, "transport.seal", status->seal, sizeof(status->seal));
    setting(status->text, "integrity.mode", status->integrity, sizeof(status->integrity));
    look_algorithm(status);
    status->uid = header->uid;
    status->pid_namespace = header->pid_namespace;
    status->f = header->f;
    status->launcher_pid = header->launcher_pid > 0 ? header->launcher_pid : 0;
    status->launcher_alive =
        header->launcher_pid > 0 && ftc_segment_launcher(segment) != FTC_LIFE_GONE;
    status->launcher_stopped =
        status->launcher_alive && ftc_process_stopped(header->launcher_pid, header->launcher_start);
    status->state =
        enum_or_bad(atomic_load_explicit(&header->state, memory_order_acquire), FTC_JOB_ENDED + 1);
    status->age_ns = age(status->now_ns, header->started_ns);
    status->started_realtime_ns = header->started_realtime_ns;
    status->period_ns = header->heartbeat_period_ns;
    status->timeout_ns = header->heartbeat_timeout_ns;
    status->abort = LOAD(header->abort);
}

void ftc_status_look(struct ftc_job_status *status, struct ftc_segment *segment)
{
    status->now_ns = ftc_clock_now();
    status->realtime_ns = ftc_clock_realtime();
    look_header(status, segment);
    look_nodes(status, segment);
    status->carried = false;
    for (int i = 0; i < status->ranks; i++)
        look_rank(status, segment, i);
    look_failures(status, segment);
    ftc_status_blame(status);
}

void ftc_status_sample(struct ftc_job_status *status, struct ftc_segment *segment)
{
    ftc_status_look(status, segment);
    uint64_t window =
        status->period_ns < LONGEST_SAMPLE_NS ? status->period_ns * 3 / 2 : LONGEST_SAMPLE_NS;
    if (window > LONGEST_SAMPLE_NS)
        window = LONGEST_SAMPLE_NS;
    if (window < FTC_CHAIN_PAUSE_NS)
        window = FTC_CHAIN_PAUSE_NS;
    struct timespec step = {.tv_nsec = (long)(window / 12 + 1)};
    uint64_t start = ftc_clock_now();
    for (bool done = false; !done && ftc_clock_now() - start < window;) {
        nanosleep(&step, NULL);
        done = ftc_clock_now() - start >= FTC_CHAIN_PAUSE_NS;
        for (int i = 0; i < status->ranks; i++) {
            if (status->rank[i].pulse == FTC_PULSE_NONE)
                continue;
            look_beat(&status->beat[i], ftc_segment_slot(segment, i), ftc_clock_now());
            done &= status->beat[i].moved;
        }
    }
    ftc_status_look(status, segment);
}

bool ftc_status_over(const struct ftc_job_status *status)
{
    return status->state == FTC_JOB_ENDED || !status->launcher_alive;
}
