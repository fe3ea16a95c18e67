/* Channels, deaths and the order of events. */
#include "sim/large/world.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "collectives/frame.h"
#include "config/config.h"
#include "include/ftcoll.h"
#include "sim/model/cluster.h"

#define STEPS   20000 /* more steps than any sound run takes */
#define SOON    4     /* most outputs until the next doomed process dies */
#define SOURCES (FTC_LARGE_SIM_N * FTC_LARGE_SIM_N * 2 + FTC_LARGE_SIM_N * 3)

uint64_t ftc_large_below(struct ftc_large_world *w, uint64_t limit)
{
    return limit == 0 ? 0 : ftc_mix(w->random += 0x9e3779b97f4a7c15u) % limit;
}

void ftc_large_violate(struct ftc_large_world *w, const char *format, ...)
{
    va_list arguments;

    if (ftc_large_broken(w))
        return;
    va_start(arguments, format);
    vsnprintf(w->violation, sizeof(w->violation), format, arguments);
    va_end(arguments);
}

bool ftc_large_broken(const struct ftc_large_world *w)
{
    return w->violation[0] != '\0';
}

void ftc_large_say(struct ftc_large_world *w, const char *format, ...)
{
    va_list arguments;

    if (w->log == NULL)
        return;
    va_start(arguments, format);
    vfprintf(w->log, format, arguments);
    va_end(arguments);
    fputc('\n', w->log);
}

/* --- channels --- */

/* The message as a transport would deliver it: a copy of its own, with the head, padding and the
 * bytes of the value. */
static struct ftc_buffer *join(const struct ftc_large_world *w, const struct ftc_buffer *head,
                               const struct ftc_value *value)
{
    size_t size = value->buffer != NULL ? value->size : 0;
    struct ftc_buffer *bytes = ftc_value_new_message(head->size, size);

    if (bytes == NULL)
        ftc_cluster_no_memory(w->n);
    memcpy(bytes->data, head->data, head->size);
    if (size > 0)
        memcpy(bytes->data + ftc_value_offset(head->size), ftc_value_bytes(value), size);
    return bytes;
}

void ftc_large_send(struct ftc_large_world *w, int from, int to, struct ftc_buffer *head,
                    const struct ftc_value *value)
{
    struct ftc_large_packet **link = &w->first[from][to], *packet;

    ftc_large_say(w, "rank %d   sends %s to %d", from,
                  (ftc_frame_kind(head) == FTC_FRAME_RING) ? "a block" : "a message", to);
    if (!w->process[to].alive)
        return;
    packet = ftc_cluster_alloc(w->n, 1, sizeof(*packet));
    packet->bytes = join(w, head, value);
    while (*link != NULL)
        link = &(*link)->next;
    *link = packet;
}

static void drop_packets(struct ftc_large_packet **link)
{
    while (*link != NULL) {
        struct ftc_large_packet *packet = *link;
        *link = packet->next;
        ftc_buffer_unref(packet->bytes);
        free(packet);
    }
}

/* --- deaths --- */

static void lose_end(struct ftc_large_world *w, int from, int to)
{
    struct ftc_large_packet **link = &w->first[from][to];

    while (*link != NULL && ftc_large_below(w, 3) > 0)
        link = &(*link)->next;
    drop_packets(link);
}

static void bring_next(struct ftc_large_world *w)
{
    for (int r = 0; r < w->n; r++) {
        struct ftc_large_process *p = &w->process[r];
        if (!p->alive || p->doom <= p->outputs)
            continue;
        p->doom = p->outputs + 1 + (int)ftc_large_below(w, SOON);
        return;
    }
}

static void die(struct ftc_large_world *w, int rank)
{
    struct ftc_large_process *p = &w->process[rank];

    ftc_large_say(w, "rank %d DIES", rank);
    p->alive = false;
    w->sums->deaths++;
    for (int r = 0; r < w->n; r++) {
        w->notice[r][rank] = w->process[r].alive;
        drop_packets(&w->first[r][rank]);
        if (w->story->lossy)
            lose_end(w, rank, r);
    }
    if (w->story->chained)
        bring_next(w);
}

bool ftc_large_struck(struct ftc_large_world *w, int rank)
{
    struct ftc_large_process *p = &w->process[rank];

    if (++p->outputs != p->doom)
        return false;
    die(w, rank);
    return true;
}

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
    ftc_large_process_take(w, to, from, packet->bytes);
    ftc_buffer_unref(packet->bytes);
    free(packet);
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
        .block_most = (size_t)w->story->block_most * sizeof(uint64_t)};

    member.self = rank;
    p->alive = true;
    p->doom = w->story->doom[rank];
    if (ftc_member_create(&p->member, &member) != FTC_SUCCESS ||
        ftc_large_create(&p->large, &large) != FTC_SUCCESS)
        ftc_cluster_no_memory(w->n);
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
        drop_packets(&w->first[rank][r]);
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

/* --- drawing --- */

static int below(struct ftc_large_story *s, int limit)
{
    return (int)(ftc_mix(s->random += 0x9e3779b97f4a7c15u) % (uint64_t)limit);
}

static void draw_settings(struct ftc_large_story *s)
{
    int n = 2 + below(s, FTC_LARGE_SIM_RANKS - 1);
    struct ftc_member_settings *set = &s->settings;

    *set = ftc_cluster_settings(n, below(s, n < 3 ? n : 3));
    set->scheme = (enum ftc_scheme)below(s, 3);
    set->share = below(s, 4) == 0 ? FTC_SHARE_OFF : FTC_SHARE_PIGGYBACK;
    set->rotation = below(s, 2) == 0 ? FTC_ROTATION_SPREAD : FTC_ROTATION_FIRST;
    set->prepare = below(s, 2) == 0 ? FTC_PREPARE_TREE : FTC_PREPARE_DIRECT;
    s->elements = 1 + below(s, FTC_LARGE_SIM_ELEMENTS);
    s->block_least = 1 + below(s, 4);
    s->block_most = s->block_least + below(s, 4);
    s->attempts = 1 + below(s, 4);
}

static void draw_program(struct ftc_large_story *s)
{
    s->operations = 1 + below(s, FTC_LARGE_SIM_OPERATIONS);
    for (int i = 0; i < s->operations; i++) {
        int kind = below(s, 6);
        s->operation[i] = kind == 0   ? FTC_LARGE_SIM_BARRIER
                          : kind == 1 ? below(s, s->settings.ranks)
                                      : FTC_LARGE_SIM_REDUCES;
    }
}

static void draw_deaths(struct ftc_large_story *s)
{
    int deaths = below(s, s->settings.ranks), most = 8 + below(s, 60);

    for (int i = 0; i < deaths; i++)
        s->doom[below(s, s->settings.ranks)] = 1 + below(s, most);
    s->chained = below(s, 2) == 0;
    s->lossy = below(s, 2) == 0;
}

void ftc_large_draw(struct ftc_large_story *story, uint64_t seed)
{
    *story = (struct ftc_large_story){.seed = seed, .random = ftc_mix(seed + 1)};
    draw_settings(story);
    draw_program(story);
    draw_deaths(story);
    if (below(story, 4) > 0)
        story->lazy = ftc_mix(story->random) & ftc_mix(story->random + 1);
}
