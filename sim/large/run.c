/* A run: events in an order that is drawn. */
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "include/ftcoll.h"
#include "sim/large/world.h"
#include "sim/model/cluster.h"

#define STEPS   20000 /* more steps than any sound run takes */
#define SOURCES (FTC_LARGE_SIM_N * FTC_LARGE_SIM_N * 2 + FTC_LARGE_SIM_N * 3)

/* --- events --- */

/* Can the event of this source happen? Sources are numbered: channels, notices, calls, going on,
 * timers. */
static bool can_happen(const struct ftc_large_world *w, int source)
{
    int n = w->n, to = source / n % n, from = source % n;

    if (source < n * n)
        return w->process[to].alive && w->first[from][to] != NULL;
    if (source < 2 * n * n)
        return w->process[to].alive && w->notice[to][from];
    const struct ftc_large_process *p = &w->process[from];
    int kind = (source - 2 * n * n) / n;
    if (!p->alive)
        return false;
    if (kind == 0)
        return p->phase == FTC_LARGE_PHASE_OUTSIDE && p->at < w->story->operations;
    return kind == 1 ? p->more : p->timer;
}

static void arrive(struct ftc_large_world *w, int from, int to)
{
    struct ftc_large_packet *packet = w->first[from][to];

    w->first[from][to] = packet->next;
    ftc_large_say(w, "rank %d takes what %d sent", to, from);
    ftc_large_judge_bytes(w, from, to, packet);
    ftc_large_process_take(w, to, from, packet->bytes);
    ftc_large_free_packet(packet);
}

static void happen(struct ftc_large_world *w, int source)
{
    int n = w->n, to = source / n % n, from = source % n, kind = (source - 2 * n * n) / n;

    w->sums->events++;
    if (source < n * n) {
        arrive(w, from, to);
    } else if (source < 2 * n * n) {
        w->notice[to][from] = false;
        ftc_large_process_hear(w, to, from);
    } else if (kind == 0) {
        ftc_large_process_call(w, from);
    } else if (kind == 1) {
        ftc_large_process_more(w, from);
    } else {
        ftc_large_process_timer(w, from);
    }
}

/* Choose a source; -1: no event can happen any more. */
static int choose(struct ftc_large_world *w)
{
    int n = w->n, sources = 2 * n * n + 3 * n, ready[SOURCES], count = 0;

    for (int source = 0; source < sources; source++)
        if (can_happen(w, source))
            ready[count++] = source;
    if (count == 0)
        return -1;
    for (int tries = 0; tries < 20; tries++) {
        int source = ready[ftc_large_below(w, (uint64_t)count)];
        if ((w->story->lazy >> (source % 61) & 1) == 0 || ftc_large_below(w, 12) == 0)
            return source;
    }
    return ready[ftc_large_below(w, (uint64_t)count)];
}

static void run(struct ftc_large_world *w)
{
    int source, steps = 0;

    while (!ftc_large_broken(w) && (source = choose(w)) >= 0) {
        happen(w, source);
        if (++steps == STEPS)
            ftc_large_violate(w, "no end after %d events", STEPS);
    }
    if (!ftc_large_broken(w))
        ftc_large_judge_end(w);
}

/* --- life --- */

static void make_process(struct ftc_large_world *w, int rank)
{
    struct ftc_large_process *p = &w->process[rank];
    struct ftc_member_settings member = w->story->settings;
    struct ftc_large_settings large = {
        .self = rank,
        .ranks = w->n,
        .attempts = w->story->attempts,
        .block_least = (size_t)w->story->block_least * sizeof(uint64_t),
        .block_most = (size_t)w->story->block_most * sizeof(uint64_t),
        .part_most = (size_t)w->story->block_most * sizeof(uint64_t),
        .window = w->story->window};

    member.self = rank;
    p->alive = true;
    p->doom = w->story->doom[rank];
    if (ftc_member_create(&p->member, &member) != FTC_SUCCESS ||
        ftc_large_create(&p->large, &large) != FTC_SUCCESS)
        ftc_cluster_no_memory(w->n);
}

static int reserve(void *arg, size_t offset, size_t size)
{
    struct ftc_large_world *w = arg;

    if (size > w->story->room || offset % w->story->room != 0 || offset / w->story->room > 2)
        ftc_large_violate(w, "%zu bytes of an area are wanted, which has %zu", size,
                          w->story->room);
    return FTC_SUCCESS;
}

static void share_memory(struct ftc_large_world *w)
{
    w->nodes = (struct ftc_large_nodes){.first_ranks = w->story->first_ranks,
                                        .areas = w->area[0],
                                        .stride = sizeof(w->area[0]),
                                        .room = w->story->room,
                                        .apart = w->story->room,
                                        .reserve = reserve,
                                        .arg = w};
}

static void free_process(struct ftc_large_world *w, int rank)
{
    struct ftc_large_process *p = &w->process[rank];
    struct ftc_large_counters counters;

    ftc_large_counters(p->large, &counters);
    w->sums->again += counters.again;
    w->sums->fallbacks += counters.fallbacks;
    w->sums->early += counters.early;
    w->sums->late += counters.late;
    w->sums->foreign += counters.foreign;
    ftc_large_destroy(p->large);
    ftc_member_destroy(p->member);
    for (int r = 0; r < w->n; r++)
        ftc_large_drop_packets(&w->first[rank][r]);
}

bool ftc_large_run(const struct ftc_large_story *story, struct ftc_large_sums *sums, FILE *log,
                   char violation[FTC_LARGE_SIM_WORDS])
{
    struct ftc_large_world *w = ftc_cluster_alloc(story->settings.ranks, 1, sizeof(*w));

    w->story = story;
    w->sums = sums;
    w->log = log;
    w->n = story->settings.ranks;
    w->random = ftc_mix(story->seed + 0x6c61726765);
    share_memory(w);
    sums->runs++;
    for (int r = 0; r < w->n; r++)
        make_process(w, r);
    run(w);
    for (int r = 0; r < w->n; r++)
        free_process(w, r);
    snprintf(violation, FTC_LARGE_SIM_WORDS, "%s", w->violation);
    bool kept = !ftc_large_broken(w);
    free(w);
    return kept;
}
