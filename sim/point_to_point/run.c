/* A run: events in an order that is drawn. */
#include <stdlib.h>

#include "base/mix.h"
#include "include/ftcoll.h"
#include "sim/model/cluster.h"
#include "sim/point_to_point/world.h"

#define STEPS 5000 /* more steps than any sound run takes */

/* The events of a process beside messages and notices. */
enum { START, COPY, LEARN, LEAVE, CALL, KINDS };

#define SOURCES (FTC_MESSAGES_N * FTC_MESSAGES_N * 2 + FTC_MESSAGES_N * KINDS)

static bool can_act(const struct ftc_messages_world *w, int rank, int kind)
{
    const struct ftc_messages_process *p = &w->process[rank];

    if (!p->alive)
        return false;
    switch (kind) {
    case START:
        return p->at < w->story->transfers[rank];
    case COPY:
        return ftc_matching_has_copies(p->matching);
    case LEARN:
        return w->revoked && !p->knows;
    case LEAVE:
        return ftc_messages_may_leave(w, rank);
    default:
        return false; /* calls alone are no progress */
    }
}

/* Can the event of this source happen? Sources are numbered: channels, notices, acts. A notice
 * comes when the channel is empty (P7). */
static bool can_happen(const struct ftc_messages_world *w, int source)
{
    int n = w->n, to = source / n % n, from = source % n;

    if (source < n * n)
        return w->process[to].alive && w->first[from][to] != NULL;
    if (source < 2 * n * n)
        return w->process[to].alive && w->notice[to][from] && w->first[from][to] == NULL;
    return can_act(w, from, (source - 2 * n * n) / n);
}

static void arrive(struct ftc_messages_world *w, int from, int to)
{
    struct ftc_messages_packet *packet = w->first[from][to];

    w->first[from][to] = packet->next;
    ftc_messages_take(w, to, from, packet->bytes);
    ftc_buffer_unref(packet->bytes);
    free(packet);
}

static void act(struct ftc_messages_world *w, int rank, int kind)
{
    if (kind == START)
        ftc_messages_start(w, rank);
    else if (kind == COPY)
        ftc_messages_copy(w, rank);
    else if (kind == LEARN)
        ftc_messages_learn(w, rank);
    else
        ftc_messages_leave(w, rank);
}

static void happen(struct ftc_messages_world *w, int source)
{
    int n = w->n, to = source / n % n, from = source % n;

    w->sums->events++;
    if (source < n * n) {
        arrive(w, from, to);
    } else if (source < 2 * n * n) {
        w->notice[to][from] = false;
        ftc_messages_hear(w, to, from);
    } else {
        act(w, from, (source - 2 * n * n) / n);
    }
}

/* Choose a source; -1: no event can happen any more. */
static int choose(struct ftc_messages_world *w)
{
    int n = w->n, sources = 2 * n * n + KINDS * n, ready[SOURCES], count = 0;

    for (int source = 0; source < sources; source++)
        if (can_happen(w, source))
            ready[count++] = source;
    if (count == 0)
        return -1;
    for (int tries = 0; tries < 20; tries++) {
        int source = ready[ftc_messages_below(w, (uint64_t)count)];
        if ((w->story->lazy >> (source % 61) & 1) == 0 || ftc_messages_below(w, 12) == 0)
            return source;
    }
    return ready[ftc_messages_below(w, (uint64_t)count)];
}

/* Between two events a caller may look at its transfers. */
static void look(struct ftc_messages_world *w)
{
    int rank = (int)ftc_messages_below(w, (uint64_t)w->n);

    if (w->process[rank].alive && w->process[rank].at > 0)
        ftc_messages_call(w, rank);
}

/* Until nothing more can happen. */
static void go_on(struct ftc_messages_world *w, int steps)
{
    int source;

    while (!ftc_messages_broken(w) && (source = choose(w)) >= 0) {
        happen(w, source);
        if (!ftc_messages_broken(w) && ftc_messages_below(w, 2) == 0)
            look(w);
        if (++steps == w->story->revoke) {
            w->revoked = true;
            w->sums->revokes++;
        }
        if (steps == STEPS)
            ftc_messages_violate(w, "no end after %d events", STEPS);
    }
}

static void run(struct ftc_messages_world *w)
{
    go_on(w, 0);
    for (int i = 0; i < 4 * w->n && !ftc_messages_broken(w); i++)
        look(w);
    go_on(w, STEPS / 2); /* a cancel wants its answer; it is too late for a revoke */
    if (!ftc_messages_broken(w))
        ftc_messages_judge_end(w);
}

/* --- life --- */

static void make_process(struct ftc_messages_world *w, int rank)
{
    const struct ftc_messages_story *s = w->story;
    struct ftc_messages_process *p = &w->process[rank];
    struct ftc_matching_settings settings = {.communicator = 7,
                                             .self = rank,
                                             .ranks = w->n,
                                             .eager = (size_t)s->eager,
                                             .credit = (size_t)s->credit,
                                             .piece = (size_t)s->piece,
                                             .fragment = (size_t)s->fragment,
                                             .window = (size_t)s->window};

    p->alive = true;
    p->doom = s->doom[rank];
    if (ftc_matching_create(&p->matching, &settings) != FTC_SUCCESS)
        ftc_cluster_no_memory(w->n);
}

bool ftc_messages_run(const struct ftc_messages_story *story, struct ftc_messages_sums *sums,
                      FILE *log, char violation[FTC_MESSAGES_WORDS])
{
    struct ftc_messages_world *w = ftc_cluster_alloc(story->ranks, 1, sizeof(*w));

    w->story = story;
    w->sums = sums;
    w->log = log;
    w->n = story->ranks;
    w->random = ftc_mix(story->seed + 0x6d657373);
    sums->runs++;
    for (int r = 0; r < w->n; r++)
        make_process(w, r);
    run(w);
    for (int r = 0; r < w->n; r++) {
        ftc_matching_destroy(w->process[r].matching);
        for (int to = 0; to < w->n; to++)
            ftc_messages_drop_packets(&w->first[r][to]);
    }
    snprintf(violation, FTC_MESSAGES_WORDS, "%s", w->violation);
    bool kept = !ftc_messages_broken(w);
    free(w);
    return kept;
}
