/* A run: events in an order that is drawn. */
#include <stdlib.h>

#include "base/mix.h"
#include "include/ftcoll.h"
#include "sim/communicators/world.h"
#include "sim/model/cluster.h"

#define STEPS   60000 /* more steps than any sound run takes */
#define SOURCES (FTC_COMMS_N * FTC_COMMS_N * 2 + FTC_COMMS_N * FTC_COMMS_OWNS)

/* --- events --- */

static bool own_can_happen(const struct ftc_comms_world *w, int rank, int kind)
{
    const struct ftc_comms_process *p = &w->process[rank];

    if (kind < FTC_COMMS_THREADS)
        return kind < w->story->threads && ftc_comms_can_step(w, rank, kind);
    switch (kind) {
    case FTC_COMMS_OWN_END:
        return ftc_comms_can_end(w, rank);
    case FTC_COMMS_OWN_OPEN:
        return p->openings > 0;
    case FTC_COMMS_OWN_MORE:
        return p->more;
    case FTC_COMMS_OWN_TIMER:
        return p->timer;
    default:
        return ftc_comms_engine_can_look(p->engine);
    }
}

/* Sources are numbered: channels, notices, those of a process. */
int ftc_comms_source_arrival(const struct ftc_comms_world *w, int from, int to)
{
    return to * w->n + from;
}

int ftc_comms_source_notice(const struct ftc_comms_world *w, int rank, int dead)
{
    return (w->n + rank) * w->n + dead;
}

int ftc_comms_source_own(const struct ftc_comms_world *w, int rank, int own)
{
    return (2 * w->n + own) * w->n + rank;
}

bool ftc_comms_can_happen(const struct ftc_comms_world *w, int source)
{
    int n = w->n, to = source / n % n, from = source % n;

    if (source < n * n)
        return w->process[to].alive && w->first[from][to] != NULL;
    if (source < 2 * n * n)
        return w->process[to].alive && w->notice[to][from];
    return w->process[from].alive && own_can_happen(w, from, (source - 2 * n * n) / n);
}

static void arrive(struct ftc_comms_world *w, int from, int to)
{
    struct ftc_buffer *bytes = ftc_comms_take_packet(w, from, to);

    ftc_comms_say(w, "rank %d takes what %d sent", to, from);
    ftc_comms_judge_arrival(w, to, from, bytes);
    ftc_buffer_unref(bytes);
    ftc_comms_outputs(w, to);
}

static void hear(struct ftc_comms_world *w, int rank, int dead)
{
    w->notice[rank][dead] = false;
    ftc_comms_say(w, "rank %d hears of the death of %d", rank, dead);
    ftc_comms_check(w, rank, "a notice", ftc_comms_engine_notice(w->process[rank].engine, dead));
    ftc_comms_outputs(w, rank);
}

/* The memory of a child is opened, or cannot be. */
static void open_memory(struct ftc_comms_world *w, int rank)
{
    struct ftc_comms_process *p = &w->process[rank];
    uint64_t number = p->opening[--p->openings];
    bool sound = ftc_comms_below(w, 64) >= (uint64_t)w->story->refusing;

    ftc_comms_check(w, rank, "opening",
                    ftc_communicators_opened(ftc_comms_engine_set(p->engine), number, sound));
    ftc_comms_outputs(w, rank);
}

static void own_happens(struct ftc_comms_world *w, int rank, int kind)
{
    struct ftc_comms_process *p = &w->process[rank];

    if (kind < FTC_COMMS_THREADS) {
        ftc_comms_step(w, rank, kind);
    } else if (kind == FTC_COMMS_OWN_END) {
        ftc_comms_end(w, rank);
    } else if (kind == FTC_COMMS_OWN_OPEN) {
        open_memory(w, rank);
    } else if (kind == FTC_COMMS_OWN_MORE) {
        p->more = false;
        ftc_comms_check(w, rank, "going on", ftc_comms_engine_more(p->engine));
        ftc_comms_outputs(w, rank);
    } else if (kind == FTC_COMMS_OWN_TIMER) {
        p->timer = false;
        ftc_comms_check(w, rank, "a timer", ftc_comms_engine_timer(p->engine));
        ftc_comms_outputs(w, rank);
    } else {
        ftc_comms_check(w, rank, "a look at boards", ftc_comms_engine_look(p->engine));
        ftc_comms_outputs(w, rank);
    }
}

void ftc_comms_happen(struct ftc_comms_world *w, int source)
{
    int n = w->n, to = source / n % n, from = source % n;

    w->sums->events++;
    if (source < n * n)
        arrive(w, from, to);
    else if (source < 2 * n * n)
        hear(w, to, from);
    else
        own_happens(w, from, (source - 2 * n * n) / n);
}

/* Choose a source; -1: no event can happen any more. */
static int choose(struct ftc_comms_world *w)
{
    int n = w->n, sources = 2 * n * n + FTC_COMMS_OWNS * n, ready[SOURCES], count = 0;

    for (int source = 0; source < sources; source++)
        if (ftc_comms_can_happen(w, source))
            ready[count++] = source;
    if (count == 0)
        return -1;
    for (int tries = 0; tries < 20; tries++) {
        int source = ready[ftc_comms_below(w, (uint64_t)count)];
        if ((w->story->lazy >> (source % 61) & 1) == 0 || ftc_comms_below(w, 12) == 0)
            return source;
    }
    return ready[ftc_comms_below(w, (uint64_t)count)];
}

static void run(struct ftc_comms_world *w)
{
    int source, steps = 0;

    while (!ftc_comms_broken(w) && (source = choose(w)) >= 0) {
        ftc_comms_happen(w, source);
        if (++steps == STEPS)
            ftc_comms_violate(w, "no end after %d events", STEPS);
    }
    if (!ftc_comms_broken(w))
        ftc_comms_judge_end(w);
}

/* --- life --- */

struct ftc_comms_world *ftc_comms_world_new(const struct ftc_comms_story *story,
                                            struct ftc_comms_sums *sums, FILE *log)
{
    struct ftc_comms_world *w = ftc_cluster_alloc(story->settings.ranks, 1, sizeof(*w));

    w->story = story;
    w->sums = sums;
    w->log = log;
    w->n = story->settings.ranks;
    w->random = ftc_mix(story->seed + 0x636f6d6d73);
    return w;
}

void ftc_comms_process_new(struct ftc_comms_world *w, int rank)
{
    struct ftc_comms_process *p = &w->process[rank];
    struct ftc_member_settings settings = w->story->settings;

    settings.self = rank;
    p->alive = true;
    p->doom = w->story->doom[rank];
    if (ftc_comms_engine_new(&p->engine, &settings) != FTC_SUCCESS)
        ftc_cluster_no_memory(w->n);
    if (w->story->boards)
        ftc_comms_engine_use_boards(p->engine, &w->boards);
    p->slot[0] = (struct ftc_comms_slot){
        .state = FTC_COMMS_SLOT_LIVE,
        .communicator = ftc_communicators_world(ftc_comms_engine_set(p->engine))};
}

void ftc_comms_process_free(struct ftc_comms_world *w, int rank)
{
    struct ftc_comms_process *p = &w->process[rank];

    for (int event = 0; event < FTC_COMMUNICATORS_EVENTS; event++)
        w->sums->event[event] += ftc_communicators_events(ftc_comms_engine_set(p->engine))[event];
    ftc_comms_engine_free(p->engine);
    for (int to = 0; to < w->n; to++)
        while (w->first[rank][to] != NULL)
            ftc_buffer_unref(ftc_comms_take_packet(w, rank, to));
}

bool ftc_comms_run(const struct ftc_comms_story *story, struct ftc_comms_sums *sums, FILE *log,
                   char violation[FTC_COMMS_WORDS])
{
    struct ftc_comms_world *w = ftc_comms_world_new(story, sums, log);

    sums->runs++;
    for (int rank = 0; rank < w->n; rank++)
        ftc_comms_process_new(w, rank);
    run(w);
    for (int rank = 0; rank < w->n; rank++)
        ftc_comms_process_free(w, rank);
    snprintf(violation, FTC_COMMS_WORDS, "%s", w->violation);
    bool kept = !ftc_comms_broken(w);
    free(w);
    return kept;
}
