/* The order of stores is that of a rank itself: what a phase or a flag promises is written before
 * the phase or the flag. */
#include "launcher/agent/mirror.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "node/board/board.h"

static struct ftc_standing *standing_of(const struct ftc_mirror *mirror, int rank)
{
    return ftc_segment_standing(mirror->segment, rank);
}

static bool marked(const struct ftc_mirror *mirror, int rank)
{
    return ftc_ranks_marked(mirror->ranks, mirror->segment, rank);
}

int ftc_mirror_joined(struct ftc_mirror *mirror, const struct ftc_agent_message *message)
{
    struct ftc_standing *standing = standing_of(mirror, message->rank);

    if (mirror->ranks->at[message->rank].joined)
        return FTC_SUCCESS;
    int rc =
        ftc_segment_keep_endpoint(mirror->segment, message->rank, message->bytes, message->size);
    if (rc != FTC_SUCCESS)
        return rc;
    atomic_store_explicit(&standing->pid, message->value, memory_order_relaxed);
    atomic_store_explicit(&standing->joined_ns, ftc_clock_now(), memory_order_relaxed);
    atomic_store_explicit(&standing->phase, FTC_PHASE_JOINED, memory_order_release);
    mirror->ranks->at[message->rank].joined = true;
    mirror->ranks->any_joined = true;
    mirror->rings = true;
    return FTC_SUCCESS;
}

void ftc_mirror_ring(struct ftc_mirror *mirror)
{
    if (!mirror->rings)
        return;
    ftc_bell_ring_all(mirror->bell);
    if (mirror->rings_boards)
        ftc_board_ring_all(mirror->segment);
    mirror->rings = mirror->rings_boards = false;
}

void ftc_mirror_marked(struct ftc_mirror *mirror, int rank)
{
    struct ftc_segment_header *header = ftc_segment_header(mirror->segment);

    if (marked(mirror, rank))
        return;
    mirror->ranks->at[rank].marked = true;
    atomic_store_explicit(&standing_of(mirror, rank)->phase, FTC_PHASE_FINALIZED,
                          memory_order_release);
    uint32_t marks = atomic_fetch_add(&header->finalized, 1) + 1;
    if (marks + atomic_load(&header->failures) >= (uint32_t)mirror->ranks->count)
        ftc_bell_ring_all(mirror->bell);
}

/* The report reads them. Without memory it has zeroes. */
static void keep_counters(struct ftc_process *process, const struct ftc_agent_message *message)
{
    process->counters = message->size > 0 ? malloc(message->size) : NULL;
    if (process->counters == NULL)
        return;
    memcpy(process->counters, message->bytes, message->size);
    process->counters_size = (uint32_t)message->size;
}

void ftc_mirror_ended(struct ftc_mirror *mirror, const struct ftc_agent_message *message)
{
    struct ftc_process *process = &mirror->ranks->at[message->rank];
    struct ftc_standing *standing = standing_of(mirror, message->rank);

    if (process->ended)
        return;
    process->child_ended = process->ended = true;
    process->status = message->value;
    process->silent =
        !process->joined && WIFEXITED(message->value) && WEXITSTATUS(message->value) == 0;
    process->ended_ns = ftc_clock_now();
    keep_counters(process, message);
    atomic_store_explicit(&standing->wait_status, message->value, memory_order_relaxed);
    atomic_store_explicit(&standing->ended, 1, memory_order_release);
}

/* The times of the failure are those of this node's clock. The first sign is the arrival of the
 * notice, less the time that the agent of the rank took. */
bool ftc_mirror_failed(struct ftc_mirror *mirror, const struct ftc_agent_message *message)
{
    struct ftc_process *process = &mirror->ranks->at[message->rank];
    uint64_t now = ftc_clock_now();
    struct ftc_failure failure = {.cause = message->cause,
                                  .detail = message->value,
                                  .seen_by = message->seen_by,
                                  .suspected_ns =
                                      message->took_ns < now ? now - message->took_ns : now,
                                  .declared_ns = now};

    if (process->failed)
        return false;
    ftc_segment_declare(mirror->segment, message->rank, &failure);
    mirror->rings = mirror->rings_boards = true;
    process->failed = true;
    mirror->ranks->failed++;
    process->failure = failure;
    process->told = true; /* the agent of its node has printed it */
    process->suspected_ns = failure.suspected_ns;
    if (process->ended_ns == 0)
        process->ended_ns = now;
    return true;
}

/* --- nodes --- */

static void set_state(struct ftc_mirror *mirror, int node, enum ftc_node_state state)
{
    struct ftc_node *entry = ftc_segment_node_at(mirror->segment, node);

    atomic_store_explicit(&entry->changed_ns, ftc_clock_now(), memory_order_relaxed);
    atomic_store_explicit(&entry->state, state, memory_order_release);
}

/* The ranks of a node are *first to *end - 1. */
static void ranks_of(const struct ftc_mirror *mirror, int node, int *first, int *end)
{
    *first = ftc_segment_ranks_of(mirror->segment, node, end);
    *end += *first;
}

/* nodes.md, rule 6. A rank looks at this word after a message has come. So whatever the rank still
 * takes in was sent before the refusal. */
void ftc_mirror_refuse(struct ftc_mirror *mirror, int node)
{
    int rank, end;

    for (ranks_of(mirror, node, &rank, &end); rank < end; rank++)
        atomic_store_explicit(&standing_of(mirror, rank)->refused, 1, memory_order_seq_cst);
    set_state(mirror, node, FTC_NODE_REFUSED);
}

/* Has the agent of the rank told an end that is no failure? */
static bool departed(const struct ftc_mirror *mirror, int rank)
{
    return mirror->ranks->at[rank].ended && marked(mirror, rank);
}

/* The node is gone. Each of its ranks that has not departed has failed. */
static int fail_rest(struct ftc_mirror *mirror, int node)
{
    int rank, end, count = 0;

    for (ranks_of(mirror, node, &rank, &end); rank < end; rank++) {
        struct ftc_agent_message message = {.kind = FTC_AGENT_FAILED,
                                            .rank = rank,
                                            .cause = FTC_CAUSE_NODE,
                                            .value = node,
                                            .seen_by = -1};
        if (departed(mirror, rank))
            continue;
        count += ftc_mirror_failed(mirror, &message);
        mirror->ranks->at[rank].ended = true;
    }
    return count;
}

int ftc_mirror_lost(struct ftc_mirror *mirror, int node)
{
    set_state(mirror, node, FTC_NODE_LOST);
    return fail_rest(mirror, node);
}

void ftc_mirror_left(struct ftc_mirror *mirror, int node)
{
    (void)fail_rest(mirror, node);
    set_state(mirror, node, FTC_NODE_LEFT);
}

int ftc_mirror_give_up(struct ftc_mirror *mirror)
{
    int count = 0;

    for (int rank = 0; rank < mirror->ranks->count; rank++)
        count += !mirror->ranks->at[rank].ended;
    for (int node = 0; node < ftc_segment_nodes(mirror->segment); node++)
        (void)fail_rest(mirror, node);
    return count;
}

/* --- how far the job is --- */

bool ftc_mirror_settled(struct ftc_mirror *mirror)
{
    for (; mirror->settled < mirror->ranks->count; mirror->settled++) {
        const struct ftc_process *process = &mirror->ranks->at[mirror->settled];
        if (!process->ended && !process->failed && !marked(mirror, mirror->settled))
            return false;
    }
    return true;
}

bool ftc_mirror_all_failed(const struct ftc_mirror *mirror, int node)
{
    int rank, end;

    for (ranks_of(mirror, node, &rank, &end); rank < end; rank++)
        if (!mirror->ranks->at[rank].failed)
            return false;
    return true;
}

static bool ended(const struct ftc_mirror *mirror, int from, int count)
{
    for (int rank = from; rank < from + count; rank++)
        if (!mirror->ranks->at[rank].ended)
            return false;
    return true;
}

bool ftc_mirror_over(const struct ftc_mirror *mirror)
{
    return ended(mirror, 0, mirror->ranks->count);
}

bool ftc_mirror_ended_here(const struct ftc_mirror *mirror)
{
    int count, first = ftc_segment_local(mirror->segment, &count);

    return ended(mirror, first, count);
}

static bool agreed_failed(const struct ftc_mirror *mirror, int rank)
{
    int count, first = ftc_segment_local(mirror->segment, &count);
    uint64_t bit = 1ull << rank % 64;

    for (int local = first; local < first + count; local++) {
        _Atomic uint64_t *row = ftc_segment_agreed_row(mirror->segment, local);
        if (atomic_load_explicit(&row[rank / 64], memory_order_relaxed) & bit)
            return true;
    }
    return false;
}

bool ftc_mirror_agreed_gone(const struct ftc_mirror *mirror, int node)
{
    int rank, end;

    for (ranks_of(mirror, node, &rank, &end); rank < end; rank++)
        if (!agreed_failed(mirror, rank))
            return false;
    return true;
}
