/* An agent: its links, its lease, and what it takes in. It does all of this once before each sleep
 * of the loop, whatever woke the loop. */
#include "launcher/agent/agent.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "launcher/agent/activity.h"
#include "launcher/agent/internal.h"
#include "transport/tcp/tcp.h"

#define MESSAGES_PER_TURN 256
#define ACKNOWLEDGE_MS    50 /* later than news spread: each acknowledgement wakes an agent */

/* --- meeting --- */

static const char *endpoint_of(void *context, int node)
{
    const struct ftc_agent *agent = context;
    return agent->meeting.endpoints[node];
}

/* A firewall opens one range of ports on a host. Each rank that listens for TCP takes one port of
 * the range, and so does the agent. */
static int check_ports(const struct ftc_agent *agent, const struct ftc_config *config)
{
    int64_t first = config->tcp_port,
            last = config->tcp_port_last > first ? config->tcp_port_last : first;
    bool listen = ftc_config_goes_by(config, FTC_CARRIER_TCP);
    int64_t ranks = listen ? agent->meeting.members[agent->meeting.node].count : 0;

    if (first == 0 || last - first + 1 >= ranks + 1)
        return FTC_SUCCESS;
    return ftc_error_set(
        FTC_ERR_CONFIG,
        "transport.tcp_port %lld to %lld are too few ports for this host, which needs %lld: "
        "one for each of its %lld ranks and one for its agent; set transport.tcp_port_last to "
        "%lld or more, or transport.tcp_port to 0",
        (long long)first, (long long)last, (long long)ranks + 1, (long long)ranks,
        (long long)(first + ranks));
}

static int open_links(struct ftc_agent *agent, const struct ftc_config *config)
{
    bool own = config->agent_address[0] != '\0';
    /* A forged failure would end ranks. So the links of agents are always sealed. */
    enum ftc_tcp_seal seal =
        config->seal == FTC_TCP_SEAL_ENCRYPT ? FTC_TCP_SEAL_ENCRYPT : FTC_TCP_SEAL_AUTHENTICATE;
    struct ftc_tcp_setup tcp = {.job = agent->meeting.cluster,
                                .secret = agent->meeting.secret,
                                .secret_size = sizeof(agent->meeting.secret),
                                .ends = FTC_TCP_AGENTS,
                                .seal = seal,
                                .address = own ? config->agent_address : config->tcp_address,
                                .port = (unsigned)config->tcp_port,
                                .port_last = (unsigned)config->tcp_port_last,
                                .user_timeout_ms = (unsigned)(agent->timeout_ns / FTC_NS_PER_MS),
                                .acknowledge_ms = ACKNOWLEDGE_MS,
                                .endpoint = endpoint_of,
                                .context = agent};
    struct ftc_transport_setup setup = {.ranks = agent->meeting.nodes,
                                        .self = agent->meeting.node,
                                        .log = &agent->log,
                                        .tcp = &tcp};
    int rc = check_ports(agent, config);

    return rc == FTC_SUCCESS ? ftc_transport_tcp.open(&agent->links, &setup) : rc;
}

static int make_room(struct ftc_agent *agent, int ranks)
{
    size_t nodes = (size_t)agent->meeting.nodes;

    agent->told = calloc((size_t)ranks, 1);
    agent->gone = calloc(nodes, sizeof(*agent->gone));
    agent->left = calloc(nodes, sizeof(*agent->left));
    agent->left_ns = calloc(nodes, sizeof(*agent->left_ns));
    agent->heard = calloc(nodes, sizeof(*agent->heard));
    agent->agreed_ns = calloc(nodes, sizeof(*agent->agreed_ns));
    agent->last = calloc(nodes, sizeof(*agent->last));
    agent->closed = calloc(nodes, sizeof(*agent->closed));
    agent->awaited = calloc(nodes, sizeof(*agent->awaited));
    agent->owed = calloc(nodes, sizeof(*agent->owed));
    if (agent->last == NULL || agent->closed == NULL || agent->awaited == NULL ||
        agent->owed == NULL || agent->told == NULL || agent->gone == NULL || agent->left == NULL ||
        agent->left_ns == NULL || agent->heard == NULL || agent->agreed_ns == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for %zu nodes", nodes);
    ftc_notices_init(&agent->notices, agent->meeting.node, agent->meeting.nodes,
                     agent->period_ns / FTC_NOTICES_WAITS);
    return ftc_lease_box_init(&agent->box, agent->meeting.nodes);
}

int ftc_agent_prepare(struct ftc_agent *agent, int ranks, const struct ftc_config *config)
{
    struct ftc_lease_settings settings = {.self = agent->meeting.node,
                                          .nodes = agent->meeting.nodes,
                                          .timeout_ns = agent->timeout_ns,
                                          .period_ns = agent->period_ns};
    int rc = ftc_lease_create(&agent->lease, &settings);

    rc = rc == FTC_SUCCESS ? make_room(agent, ranks) : rc;
    return rc == FTC_SUCCESS ? open_links(agent, config) : rc;
}

int ftc_agent_meet(struct ftc_agent *agent, const char *host, int ranks,
                   const struct ftc_config *config, int leader,
                   const struct ftc_invitation *invitation)
{
    *agent =
        (struct ftc_agent){.timeout_ns = (uint64_t)config->heartbeat_timeout_ms * FTC_NS_PER_MS,
                           .period_ns = (uint64_t)config->heartbeat_period_ms * FTC_NS_PER_MS,
                           .log = {.level = (enum ftc_log_level)config->log_level}};
    int rc = ftc_meeting_begin(&agent->meeting, host, ranks, leader, invitation);
    if (rc != FTC_SUCCESS)
        return rc;
    snprintf(agent->log.who, sizeof(agent->log.who), "job %s agent of node %d",
             agent->meeting.cluster, agent->meeting.node);
    return ftc_agent_prepare(agent, ranks, config);
}

int ftc_agent_met(struct ftc_agent *agent, bool able)
{
    return ftc_meeting_end(&agent->meeting, able ? ftc_tcp_endpoint(agent->links) : NULL);
}

/* --- nodes that go --- */

static void declare_node(struct ftc_agent *agent, int node)
{
    ftc_agent_lose_node(agent, node);
    if (ftc_lease_leader(agent->lease) == agent->meeting.node)
        ftc_agent_announce(agent,
                           &(struct ftc_agent_message){
                               .kind = FTC_AGENT_LOST,
                               .rank = (int)agent->meeting.members[agent->meeting.node].first,
                               .value = node});
}

/* nodes.md, rule 8. The ranks write into shared memory which rank they cannot reach. */
static void look_at_reach(struct ftc_agent *agent)
{
    int count, first = ftc_segment_local(agent->mirror.segment, &count);

    for (int node = 0; node < agent->meeting.nodes; node++)
        ftc_lease_reach(agent->lease, node, true);
    for (int rank = first; rank < first + count; rank++) {
        const struct ftc_ranks *ranks = agent->mirror.ranks;
        int other = ftc_slot_names(
            atomic_load(&ftc_segment_slot(agent->mirror.segment, rank)->unreachable), ranks->count);
        if (other >= 0 && !ranks->at[rank].ended && !ranks->at[other].ended &&
            !ranks->at[other].failed)
            ftc_lease_reach(agent->lease, ftc_segment_node_of(agent->mirror.segment, other), false);
    }
}

/* A decision has all ranks of the node in G. The ranks that decided had the notices of their
 * failures, so these notices and the node's LEFT must come here, too. They do not come if the
 * node's agent died or was cut off while it sent them. The leader declares no node outside of the
 * base. So after a timeout this agent takes the node for lost. */
static void await_leave(struct ftc_agent *agent, int node, uint64_t now)
{
    if (agent->agreed_ns[node] == 0)
        agent->agreed_ns[node] = now;
    if (agent->gone[node] || now - agent->agreed_ns[node] < agent->timeout_ns)
        return;
    agent->links->ops->close_peer(agent->links, node);
    ftc_agent_lose_node(agent, node);
}

/* A node all of whose ranks are in G does not count any more (nodes.md, Base). */
static void look_at_base(struct ftc_agent *agent, uint64_t now)
{
    if (now - agent->base_looked_ns < agent->period_ns)
        return;
    agent->base_looked_ns = now;
    look_at_reach(agent);
    for (int node = 0; node < agent->meeting.nodes; node++) {
        if (node == agent->meeting.node || agent->left[node] ||
            !ftc_mirror_agreed_gone(&agent->mirror, node))
            continue;
        ftc_lease_left(agent->lease, node, now);
        await_leave(agent, node, now);
    }
}

/* --- receiving --- */

static void take_outputs(struct ftc_agent *agent);

/* What the lease puts out may point to the message. */
static void take_lease(struct ftc_agent *agent, int node, const struct ftc_agent_message *message)
{
    struct ftc_lease_message lease;

    if (ftc_lease_decode(&lease, &agent->box, message->bytes, message->size) != FTC_SUCCESS) {
        FTC_LOG(&agent->log, FTC_LOG_WARN, "node %d sent a malformed lease: %s", node,
                ftc_last_error());
        return;
    }
    ftc_lease_receive(agent->lease, node, &lease, ftc_clock_now());
    take_outputs(agent);
}

static void take_activity(struct ftc_agent *agent, int node,
                          const struct ftc_agent_message *message)
{
    if (!ftc_agent_activity_take(agent->mirror.segment, node, message->bytes, message->size))
        FTC_LOG(&agent->log, FTC_LOG_WARN, "node %d sent a malformed activity of its ranks", node);
}

/* A node has news of any rank but those of the receiver. It says what its own ranks do, and accuses
 * only ranks of the receiver's node. */
static bool may_say(const struct ftc_agent *agent, int node,
                    const struct ftc_agent_message *message)
{
    const struct ftc_segment *segment = agent->mirror.segment;

    switch (message->kind) {
    case FTC_AGENT_LEASE:
    case FTC_AGENT_END:
    case FTC_AGENT_LEFT:
    case FTC_AGENT_SEEN:
    case FTC_AGENT_WANT:
    case FTC_AGENT_VECTOR:
    case FTC_AGENT_ACTIVITY:
        return true;
    case FTC_AGENT_JOINED:
    case FTC_AGENT_MARKED:
    case FTC_AGENT_ENDED:
    case FTC_AGENT_FAILED:
    case FTC_AGENT_LOST:
        return !ftc_segment_is_local(segment, message->rank);
    case FTC_AGENT_ACCUSED:
        return ftc_segment_is_local(segment, message->rank) &&
               ftc_segment_node_of(segment, message->value) == node;
    default:
        return false;
    }
}

static void take(struct ftc_agent *agent, int node, const struct ftc_agent_message *message,
                 struct ftc_buffer *buffer)
{
    switch (message->kind) {
    case FTC_AGENT_LEASE:
        take_lease(agent, node, message);
        break;
    case FTC_AGENT_ACTIVITY:
        take_activity(agent, node, message);
        break;
    case FTC_AGENT_ACCUSED:
        ftc_watcher_accused(agent->watcher, message->rank, message->value);
        break;
    case FTC_AGENT_END:
        agent->end(agent->arg, node, message->value);
        break;
    case FTC_AGENT_LEFT:
        ftc_agent_take_left(agent, node, message->number);
        break;
    case FTC_AGENT_SEEN:
        agent->awaited[node] = false;
        break;
    case FTC_AGENT_WANT:
        ftc_notices_want(&agent->notices, node, message->number);
        break;
    case FTC_AGENT_VECTOR:
        ftc_agent_take_vector(agent, node, message);
        break;
    default:
        ftc_agent_take_news(agent, node, message, buffer);
        break;
    }
}

/* N8. */
static bool says_when_leaving(enum ftc_agent_kind kind)
{
    return ftc_agent_is_news(kind) || kind == FTC_AGENT_SEEN || kind == FTC_AGENT_WANT ||
           kind == FTC_AGENT_VECTOR;
}

static void take_message(struct ftc_agent *agent, int node, struct ftc_buffer *buffer)
{
    struct ftc_agent_message message;

    if (agent->closed[node])
        return;
    if (ftc_agent_decode(&message, buffer, agent->mirror.ranks->count) != FTC_SUCCESS)
        FTC_LOG(&agent->log, FTC_LOG_WARN, "node %d: %s", node, ftc_last_error());
    else if (!may_say(agent, node, &message))
        FTC_LOG(&agent->log, FTC_LOG_WARN, "node %d speaks for rank %d, which is not its own", node,
                message.rank);
    else if (!agent->gone[node] || says_when_leaving(message.kind))
        take(agent, node, &message, buffer);
}

static void receive(struct ftc_agent *agent)
{
    for (int i = 0; i < MESSAGES_PER_TURN && ftc_tcp_pending(agent->links); i++) {
        struct ftc_buffer *buffer = NULL;
        int node = -1, rc = agent->links->ops->receive(agent->links, &node, &buffer);
        if (rc == 0)
            break;
        if (rc == 1)
            take_message(agent, node, buffer);
        else
            FTC_LOG(&agent->log, FTC_LOG_WARN, "a link between agents is damaged: %s",
                    ftc_last_error());
        ftc_buffer_unref(buffer);
    }
}

/* --- the lease --- */

static void send_lease(struct ftc_agent *agent, const struct ftc_lease_output *output)
{
    size_t room = ftc_lease_size(&output->message);
    unsigned char *bytes = malloc(room);

    if (bytes != NULL && !agent->gone[output->node] &&
        agent->leaving_ns == 0) { /* LEFT is the last message that others take */
        struct ftc_agent_message message = {.kind = FTC_AGENT_LEASE,
                                            .bytes = bytes,
                                            .size =
                                                ftc_lease_encode(&output->message, bytes, room)};
        ftc_agent_send(agent, output->node, &message);
    }
    free(bytes);
}

/* When the outcome of every rank is settled, a cut cannot make results differ. */
static void lose_lease(struct ftc_agent *agent)
{
    if (ftc_mirror_settled(&agent->mirror)) {
        agent->apart = true;
        return;
    }
    agent->fenced = true;
    agent->fence(agent->arg);
}

static void take_outputs(struct ftc_agent *agent)
{
    struct ftc_lease_output output;

    while (!agent->apart && !agent->fenced && ftc_lease_next_output(agent->lease, &output)) {
        switch (output.kind) {
        case FTC_LEASE_SEND:
            send_lease(agent, &output);
            break;
        case FTC_LEASE_FENCE:
            lose_lease(agent);
            break;
        case FTC_LEASE_REFUSE:
            ftc_agent_refuse_node(agent, output.node);
            break;
        case FTC_LEASE_DECLARE:
            declare_node(agent, output.node);
            break;
        }
    }
}

/* Ranks look at the lease before they return from a call. */
static void publish_lease(struct ftc_agent *agent)
{
    struct ftc_segment_header *header = ftc_segment_header(agent->mirror.segment);
    uint64_t until = agent->apart || ftc_mirror_settled(&agent->mirror)
                         ? UINT64_MAX
                         : ftc_lease_until(agent->lease);

    atomic_store_explicit(&header->lease_ns, until, memory_order_release);
    if (until != 0 && !agent->has_lease) {
        agent->has_lease = true;
        agent->granted(agent->arg);
    }
}

void ftc_agent_keep_lease(struct ftc_agent *agent)
{
    uint64_t now = ftc_clock_now();

    if (agent->apart || agent->fenced)
        return;
    look_at_base(agent, now);
    ftc_lease_tick(agent->lease, now);
    take_outputs(agent);
    publish_lease(agent);
}

/* --- a turn --- */

/* When all ranks of this node have ended, the node leaves its own base before other nodes can learn
 * of it. Once they know, this node may not be in their base any more, and it must not count
 * itself. */
static void leave_base(struct ftc_agent *agent)
{
    if (agent->idle || !ftc_mirror_ended_here(&agent->mirror))
        return;
    /* This process may have been stopped so long that its lease has run out, and that the others
     * have left. Then it cannot tell how the job ended. */
    ftc_agent_keep_lease(agent);
    if (agent->apart || agent->fenced)
        return;
    agent->idle = true;
    ftc_lease_left(agent->lease, agent->meeting.node, ftc_clock_now());
}

bool ftc_agent_leads_on(const struct ftc_agent *agent)
{
    return !agent->idle && !agent->apart && !agent->fenced && !agent->ending &&
           ftc_mirror_ended_here(&agent->mirror) &&
           ftc_lease_awaited(agent->lease, ftc_clock_now());
}

void ftc_agent_look(struct ftc_agent *agent)
{
    bool leads_on = ftc_agent_leads_on(agent);

    if (!leads_on)
        leave_base(agent);
    ftc_agent_tell(agent, !leads_on);
    ftc_agent_pass_news(agent);
}

static void set_due(struct ftc_agent *agent, bool more)
{
    uint64_t now = ftc_clock_now(), due = more ? now : now + agent->period_ns;

    if (!more && !agent->apart && !agent->fenced && ftc_lease_due(agent->lease) < due)
        due = ftc_lease_due(agent->lease);
    if (ftc_notices_due(&agent->notices) < due)
        due = ftc_notices_due(&agent->notices);
    ev_now_update(agent->loop);
    ev_timer_stop(agent->loop, &agent->due);
    ev_timer_set(&agent->due, due > now ? (double)(due - now) / 1e9 : 0., 0.);
    ev_timer_start(agent->loop, &agent->due);
}

/* Receive, keep the lease, send. `changed` comes last, since it may end the loop. */
static void on_before_sleep(struct ev_loop *loop, struct ev_prepare *prepare, int events)
{
    struct ftc_agent *agent = prepare->data;

    (void)loop;
    (void)events;
    if (agent->links->ops->ready(agent->links))
        receive(agent);
    ftc_agent_keep_lease(agent);
    ftc_agent_care_for_left(agent);
    ftc_agent_look(agent);
    ftc_agent_give_seen(agent);
    ftc_agent_show(agent);
    set_due(agent, agent->links->ops->ready(agent->links));
    agent->changed(agent->arg);
}

static void on_readable(struct ev_loop *loop, struct ev_io *io, int events)
{
    (void)loop;
    (void)io;
    (void)events;
}

static void on_due(struct ev_loop *loop, struct ev_timer *timer, int events)
{
    (void)loop;
    (void)timer;
    (void)events;
}

/* --- life --- */

int ftc_agent_start(struct ftc_agent *agent, struct ev_loop *loop, const struct ftc_mirror *mirror,
                    struct ftc_watcher *watcher)
{
    agent->mirror = *mirror;
    agent->watcher = watcher;
    agent->loop = loop;
    agent->shown = agent->meeting.node;
    ev_io_init(&agent->readable, on_readable, agent->links->ops->descriptor(agent->links), EV_READ);
    ev_prepare_init(&agent->before_sleep, on_before_sleep);
    ev_timer_init(&agent->due, on_due, 0., 0.);
    ev_set_priority(&agent->readable, EV_MAXPRI);
    agent->readable.data = agent->before_sleep.data = agent->due.data = agent;
    ev_io_start(loop, &agent->readable);
    ev_prepare_start(loop, &agent->before_sleep);
    ftc_lease_start(agent->lease, ftc_clock_now());
    return FTC_SUCCESS;
}

void ftc_agent_fini(struct ftc_agent *agent)
{
    if (agent->loop != NULL) {
        ev_io_stop(agent->loop, &agent->readable);
        ev_prepare_stop(agent->loop, &agent->before_sleep);
        ev_timer_stop(agent->loop, &agent->due);
    }
    if (agent->links != NULL)
        agent->links->ops->close(agent->links);
    ftc_lease_destroy(agent->lease);
    ftc_agent_drop_news(agent);
    ftc_lease_box_fini(&agent->box);
    free(agent->told);
    free(agent->gone);
    free(agent->closed);
    free(agent->awaited);
    free(agent->owed);
    free(agent->last);
    free(agent->left);
    free(agent->left_ns);
    free(agent->heard);
    free(agent->agreed_ns);
    ftc_meeting_fini(&agent->meeting);
    *agent = (struct ftc_agent){0};
}
