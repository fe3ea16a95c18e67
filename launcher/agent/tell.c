/* What an agent tells the others about its node's ranks. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/wire.h"
#include "launcher/agent/activity.h"
#include "launcher/agent/internal.h"
#include "launcher/counters.h"
#include "node/segment/chain.h"

#define SHOWN_BYTES 65536 /* of one message */

enum told { TOLD_JOINED = 1, TOLD_MARKED = 2, TOLD_FAILED = 4, TOLD_ENDED = 8, TOLD_ACCUSED = 16 };

static void tell_joined(struct ftc_agent *agent, int rank)
{
    struct ftc_segment *segment = agent->mirror.segment;
    char endpoint[FTC_ENDPOINT_SIZE];
    struct ftc_agent_message message = {
        .kind = FTC_AGENT_JOINED,
        .rank = rank,
        .value =
            atomic_load_explicit(&ftc_segment_standing(segment, rank)->pid, memory_order_relaxed),
        .bytes = (const unsigned char *)endpoint};
    if (ftc_segment_endpoint(segment, rank, endpoint))
        message.size = strlen(endpoint);
    ftc_agent_announce(agent, &message);
}

static void tell_failed(struct ftc_agent *agent, int rank)
{
    const struct ftc_failure *failure = &agent->mirror.ranks->at[rank].failure;
    uint64_t suspected = failure->suspected_ns, declared = failure->declared_ns;
    struct ftc_agent_message message = {.kind = FTC_AGENT_FAILED,
                                        .rank = rank,
                                        .value = failure->detail,
                                        .cause = failure->cause,
                                        .seen_by = failure->seen_by,
                                        .took_ns = declared > suspected ? declared - suspected : 0};
    ftc_agent_announce(agent, &message);
}

static void tell_ended(struct ftc_agent *agent, int rank)
{
    const struct ftc_slot *slot = ftc_segment_slot(agent->mirror.segment, rank);
    unsigned char counters[FTC_COUNTERS_PACKED];
    struct ftc_agent_message message = {.kind = FTC_AGENT_ENDED,
                                        .rank = rank,
                                        .value = agent->mirror.ranks->at[rank].status,
                                        .bytes = counters,
                                        .size = ftc_counters_pack(&slot->counters, counters)};
    ftc_agent_announce(agent, &message);
}

/* Tell each of these once, and in this order. `ends`: its failure and its end, too. */
static void look_at(struct ftc_agent *agent, int rank, bool ends)
{
    const struct ftc_process *process = &agent->mirror.ranks->at[rank];
    const struct ftc_standing *standing = ftc_segment_standing(agent->mirror.segment, rank);
    uint32_t phase = atomic_load_explicit(&standing->phase, memory_order_acquire);
    unsigned char *told = &agent->told[rank];

    if (phase != FTC_PHASE_SPAWNED && !(*told & TOLD_JOINED)) {
        *told |= TOLD_JOINED;
        tell_joined(agent, rank);
    }
    if (!(*told & TOLD_MARKED) &&
        ftc_ranks_marked(agent->mirror.ranks, agent->mirror.segment, rank)) {
        *told |= TOLD_MARKED;
        ftc_agent_announce(agent,
                           &(struct ftc_agent_message){.kind = FTC_AGENT_MARKED, .rank = rank});
    }
    if (ends && process->failed && !(*told & TOLD_FAILED)) {
        *told |= TOLD_FAILED;
        tell_failed(agent, rank);
    }
    if (ends && process->ended && process->child_ended && !(*told & TOLD_ENDED)) {
        *told |= TOLD_ENDED;
        tell_ended(agent, rank);
    }
}

void ftc_agent_tell(struct ftc_agent *agent, bool ends)
{
    int count, first = ftc_segment_local(agent->mirror.segment, &count);

    for (int rank = first; rank < first + count; rank++)
        look_at(agent, rank, ends);
}

/* All messages of one time go to the same nodes: the next ones in the ring behind `before`. */
static void send_activities(struct ftc_agent *agent, const struct ftc_writer *w, int before)
{
    struct ftc_buffer *buffer =
        w->used > 0 ? ftc_agent_encode(&(struct ftc_agent_message){
                          .kind = FTC_AGENT_ACTIVITY, .bytes = w->data, .size = w->used})
                    : NULL;
    int nodes = agent->meeting.nodes, sent = 0;

    agent->shown = before;
    for (int step = 0; buffer != NULL && step < nodes && sent < FTC_SHOWN_NODES; step++) {
        agent->shown = (agent->shown + 1) % nodes;
        if (agent->shown == agent->meeting.node || agent->gone[agent->shown])
            continue;
        ftc_agent_send_buffer(agent, agent->shown, buffer);
        sent++;
    }
    ftc_buffer_unref(buffer);
}

/* One message has many ranks, since each message wakes another agent. A rank that does not join is
 * shown, too: ftcoll-status names it. */
static void show_ranks(struct ftc_agent *agent)
{
    int count, first = ftc_segment_local(agent->mirror.segment, &count), before = agent->shown;
    size_t room = ftc_agent_activity_room(agent->mirror.ranks->count);
    struct ftc_writer w = {.size = room > SHOWN_BYTES ? room : SHOWN_BYTES};

    w.data = malloc(w.size);
    if (w.data == NULL)
        return; /* they are shown at another time */
    for (int rank = first; rank < first + count; rank++) {
        if (!agent->mirror.ranks->at[rank].started || agent->told[rank] & TOLD_ENDED)
            continue;
        if (w.size - w.used < room) {
            send_activities(agent, &w, before);
            w.used = 0;
        }
        w.used += ftc_agent_activity_write(agent->mirror.segment, rank, w.data + w.used, room);
    }
    send_activities(agent, &w, before);
    free(w.data);
}

void ftc_agent_show(struct ftc_agent *agent)
{
    uint64_t now = ftc_clock_now();

    if (now - agent->shown_ns <
        ftc_shown_every_ns(agent->mirror.ranks->count, agent->meeting.nodes))
        return;
    agent->shown_ns = now;
    show_ranks(agent);
}

void ftc_agent_accuse(struct ftc_agent *agent, int rank, int accuser)
{
    int node = ftc_segment_node_of(agent->mirror.segment, rank);

    if (agent->gone[node] || agent->told[rank] & TOLD_ACCUSED)
        return;
    agent->told[rank] |= TOLD_ACCUSED;
    ftc_agent_send(
        agent, node,
        &(struct ftc_agent_message){.kind = FTC_AGENT_ACCUSED, .rank = rank, .value = accuser});
}

void ftc_agent_end(struct ftc_agent *agent, int code)
{
    ftc_agent_send_all(agent, &(struct ftc_agent_message){.kind = FTC_AGENT_END, .value = code});
}
