/* News between agents: the driver of detector/notices.h (nodes.md, "Notices"). The item of a news
 * is its message, as it came or as it was first sent. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/wire.h"
#include "launcher/agent/internal.h"
#include "transport/tcp/tcp.h"

void ftc_agent_announce(struct ftc_agent *agent, const struct ftc_agent_message *message)
{
    struct ftc_agent_message news = *message;

    news.number = ftc_notices_count(&agent->notices, agent->meeting.node) + 1;
    struct ftc_buffer *buffer = ftc_agent_encode(&news);
    if (buffer == NULL)
        FTC_LOG(&agent->log, FTC_LOG_ERROR,
                "cannot tell the other nodes what happened to rank %d: out of memory", news.rank);
    else
        (void)ftc_notices_tell(&agent->notices, buffer, ftc_clock_now());
}

static void send_vector(struct ftc_agent *agent, int node, bool asks)
{
    size_t size = 4 * (size_t)agent->meeting.nodes;
    unsigned char *bytes = malloc(size);
    struct ftc_writer w = {.data = bytes, .size = size};

    if (bytes == NULL) {
        FTC_LOG(&agent->log, FTC_LOG_ERROR, "cannot compare news with node %d: out of memory",
                node);
        return;
    }
    for (int origin = 0; origin < agent->meeting.nodes; origin++)
        ftc_write_u32(&w, ftc_notices_count(&agent->notices, origin));
    ftc_agent_send(agent, node,
                   &(struct ftc_agent_message){
                       .kind = FTC_AGENT_VECTOR, .value = asks, .bytes = bytes, .size = size});
    free(bytes);
}

void ftc_agent_pass_news(struct ftc_agent *agent)
{
    struct ftc_notices_output output;

    ftc_notices_tick(&agent->notices, ftc_clock_now());
    ftc_tcp_gather(agent->links, true);
    while (ftc_notices_next(&agent->notices, &output)) {
        if (agent->closed[output.to])
            continue;
        if (output.kind == FTC_NOTICES_VECTOR)
            send_vector(agent, output.to, output.asks);
        else
            ftc_agent_send_buffer(agent, output.to, output.item);
    }
    ftc_tcp_gather(agent->links, false);
    ftc_mirror_ring(&agent->mirror);
}

/* The leader tells LOST at once, since it may have left by its next beat. A node that has not
 * refused the lost node does not believe LOST. */
static void take_lost(struct ftc_agent *agent, int node)
{
    if (node >= 0 && node < agent->meeting.nodes &&
        ftc_set_has(ftc_lease_refused(agent->lease), node))
        ftc_agent_lose_node(agent, node);
}

/* Without the endpoint of the rank the ranks of this node would wait for it for ever. */
static void take_joined(struct ftc_agent *agent, const struct ftc_agent_message *message)
{
    if (agent->fenced || ftc_mirror_joined(&agent->mirror, message) == FTC_SUCCESS)
        return;
    FTC_LOG(&agent->log, FTC_LOG_ERROR, "this node cannot go on: %s", ftc_last_error());
    agent->fenced = true;
    agent->fence(agent->arg);
}

static void apply(struct ftc_agent *agent, const struct ftc_agent_message *message)
{
    if (message->kind == FTC_AGENT_JOINED)
        take_joined(agent, message);
    else if (message->kind == FTC_AGENT_MARKED)
        ftc_mirror_marked(&agent->mirror, message->rank);
    else if (message->kind == FTC_AGENT_ENDED)
        ftc_mirror_ended(&agent->mirror, message);
    else if (message->kind == FTC_AGENT_FAILED)
        (void)ftc_mirror_failed(&agent->mirror, message);
    else
        take_lost(agent, message->value);
}

void ftc_agent_take_news(struct ftc_agent *agent, int node, const struct ftc_agent_message *message,
                         struct ftc_buffer *buffer)
{
    int origin = ftc_segment_node_of(agent->mirror.segment, message->rank);

    if (!ftc_notices_take(&agent->notices, node, origin, message->number, buffer, ftc_clock_now()))
        return;
    (void)ftc_buffer_ref(buffer);
    apply(agent, message);
    ftc_agent_look_at_left(agent, origin);
}

void ftc_agent_take_vector(struct ftc_agent *agent, int node,
                           const struct ftc_agent_message *message)
{
    struct ftc_reader r = {.data = message->bytes, .size = message->size};
    size_t nodes = (size_t)agent->meeting.nodes;
    uint32_t *have = message->size == 4 * nodes ? malloc(4 * nodes) : NULL;

    if (have == NULL) {
        FTC_LOG(&agent->log, FTC_LOG_WARN,
                "a vector of node %d is malformed, or there is no memory for it", node);
        return;
    }
    for (size_t origin = 0; origin < nodes; origin++)
        have[origin] = ftc_read_u32(&r);
    ftc_notices_vector(&agent->notices, node, have, message->value != 0);
    free(have);
}

void ftc_agent_drop_news(struct ftc_agent *agent)
{
    for (int i = 0; i < agent->notices.logs; i++)
        for (uint32_t k = 0; k < agent->notices.log[i].count; k++)
            ftc_buffer_unref(agent->notices.log[i].item[k]);
    ftc_notices_fini(&agent->notices);
}
