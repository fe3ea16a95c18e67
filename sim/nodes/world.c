/* Virtual time and channels of several nodes. */
#include "sim/nodes/world.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/mix.h"

uint64_t ftc_world_below(struct ftc_world *w, uint64_t limit)
{
    return limit == 0 ? 0 : ftc_mix(w->random += 0x9e3779b97f4a7c15u) % limit;
}

void ftc_world_plan(struct ftc_world *w, uint64_t at_ns, enum ftc_world_event event, int actor,
                    int other)
{
    struct ftc_event planned = {.key = at_ns > w->now_ns ? at_ns : w->now_ns,
                                .rank = (uint32_t)actor,
                                .kind = (uint32_t)event & 0xf,
                                .other = (uint32_t)other & 0xfffffff};

    if (ftc_queue_push(&w->queue, &planned) != FTC_SUCCESS)
        ftc_cluster_no_memory(w->ranks);
}

uint64_t ftc_world_clock(const struct ftc_world *w, int node)
{
    int64_t now = (int64_t)w->now_ns;
    return (uint64_t)(now + w->story->offset_ns[node] + now * w->story->rate_ppm[node] / 1000000);
}

bool ftc_world_runs(const struct ftc_world *w, int actor)
{
    return w->actor[actor].alive && w->actor[actor].paused_ns <= w->now_ns;
}

bool ftc_world_broken(const struct ftc_world *w)
{
    return ftc_ledger_violation(w->ledger)[0] != '\0';
}

void ftc_world_say(struct ftc_world *w, const char *format, ...)
{
    va_list arguments;

    if (w->log == NULL)
        return;
    fprintf(w->log, "%10.6f  ", (double)w->now_ns / 1e9);
    va_start(arguments, format);
    vfprintf(w->log, format, arguments);
    va_end(arguments);
    fputc('\n', w->log);
}

/* --- channels --- */

struct ftc_packet *ftc_world_send(struct ftc_world *w, int from, int to, enum ftc_packet_kind kind)
{
    struct ftc_world_channel *channel = &w->channel[from][to];
    struct ftc_packet *packet = ftc_cluster_alloc(w->ranks, 1, sizeof(*packet));
    uint64_t at = w->now_ns + ftc_world_below(w, w->story->delay_ns);

    packet->kind = kind;
    packet->at_ns = channel->at_ns = at > channel->at_ns ? at : channel->at_ns;
    *(channel->first == NULL ? &channel->first : &channel->last->next) = packet;
    channel->last = packet;
    ftc_world_plan(w, packet->at_ns, FTC_WORLD_POLL, to, from);
    return packet;
}

void ftc_packet_free(struct ftc_packet *packet)
{
    ftc_buffer_unref(packet->bytes);
    free(packet);
}

static void keep_first(struct ftc_world_channel *channel, uint64_t keep)
{
    struct ftc_packet **link = &channel->first;

    channel->last = NULL;
    for (; *link != NULL && keep > 0; keep--) {
        channel->last = *link;
        link = &(*link)->next;
    }
    for (struct ftc_packet *packet = *link, *next; packet != NULL; packet = next) {
        next = packet->next;
        ftc_packet_free(packet);
    }
    *link = NULL;
}

static uint64_t count(const struct ftc_world_channel *channel)
{
    uint64_t count = 0;

    for (const struct ftc_packet *packet = channel->first; packet != NULL; packet = packet->next)
        count++;
    return count;
}

void ftc_world_cut_short(struct ftc_world *w, int actor)
{
    for (int to = 0; to < w->actors; to++) {
        struct ftc_world_channel *channel = &w->channel[actor][to];
        keep_first(channel, ftc_world_below(w, count(channel) + 1));
        keep_first(&w->channel[to][actor], 0);
    }
}

void ftc_world_drop_packets(struct ftc_world *w)
{
    for (int from = 0; from < w->actors; from++)
        for (int to = 0; to < w->actors; to++)
            keep_first(&w->channel[from][to], 0);
}

static uint64_t cut_until(const struct ftc_world *w, int from, int to)
{
    int a = w->actor[from].node, b = w->actor[to].node;
    return a == b ? 0 : w->cut_ns[a][b];
}

struct ftc_packet *ftc_world_take(struct ftc_world *w, int from, int to)
{
    struct ftc_world_channel *channel = &w->channel[from][to];
    struct ftc_packet *packet = channel->first;

    if (packet != NULL && packet->at_ns <= w->now_ns && ftc_world_runs(w, to) &&
        !ftc_world_broken(w)) {
        if (cut_until(w, from, to) > w->now_ns) {
            ftc_world_plan(w, cut_until(w, from, to), FTC_WORLD_POLL, to, from);
            return NULL;
        }
        channel->first = packet->next;
        return packet;
    }
    if (packet != NULL && w->actor[to].alive && w->actor[to].paused_ns > w->now_ns)
        ftc_world_plan(w, w->actor[to].paused_ns, FTC_WORLD_POLL, to, from);
    return NULL;
}

void ftc_world_poll_all(struct ftc_world *w)
{
    for (int from = 0; from < w->actors; from++)
        for (int to = 0; to < w->actors; to++)
            if (w->channel[from][to].first != NULL)
                ftc_world_plan(w, w->now_ns, FTC_WORLD_POLL, to, from);
}

void ftc_world_pause(struct ftc_world *w, int actor, uint64_t ns)
{
    struct ftc_world_actor *a = &w->actor[actor];

    if (!a->alive || w->now_ns + ns <= a->paused_ns)
        return;
    a->paused_ns = w->now_ns + ns;
    ftc_world_plan(w, a->paused_ns, FTC_WORLD_RESUME, actor, 0);
}
