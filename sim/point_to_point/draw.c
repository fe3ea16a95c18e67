/* Draws a story from its seed. */
#include "base/mix.h"
#include "collectives/point_to_point/matching.h"
#include "sim/point_to_point/messages.h"

#define TAGS     3
#define CONTEXTS 2

static int below(struct ftc_messages_story *s, int limit)
{
    return (int)(ftc_mix(s->random += 0x9e3779b97f4a7c15u) % (uint64_t)limit);
}

static void draw_settings(struct ftc_messages_story *s)
{
    s->ranks = 1 + below(s, FTC_MESSAGES_RANKS);
    s->eager = below(s, 24);
    s->credit = s->eager + FTC_MATCHING_OVERHEAD * (1 + below(s, 4));
    s->piece = 1 + below(s, 24);
    s->fragment = 1 + below(s, 12);
    s->window = s->fragment * (2 + below(s, 3));
    s->copies = (enum ftc_messages_copies)below(s, 3);
}

static struct ftc_messages_transfer *add(struct ftc_messages_story *s, int rank)
{
    if (s->transfers[rank] == FTC_MESSAGES_TRANSFERS)
        return NULL;
    return &s->transfer[rank][s->transfers[rank]++];
}

static void add_send(struct ftc_messages_story *s, int from, const struct ftc_messages_transfer *m)
{
    struct ftc_messages_transfer *send = add(s, from);

    if (send == NULL)
        return;
    *send = *m;
    send->sends = true;
    send->synchronous = below(s, 5) == 0;
}

static void add_receive(struct ftc_messages_story *s, int rank, int from,
                        const struct ftc_messages_transfer *m)
{
    struct ftc_messages_transfer *receive = add(s, rank);

    if (receive == NULL)
        return;
    *receive = *m;
    receive->rank = below(s, 3) == 0 ? FTC_MATCHING_ANY : from;
    receive->tag = below(s, 4) == 0 ? FTC_MATCHING_ANY : m->tag;
    receive->matched = below(s, 4) == 0;
    if (below(s, 4) == 0)
        receive->size = below(s, FTC_MESSAGES_BYTES + 1);
}

/* Most messages have a send and a receive. */
static void draw_message(struct ftc_messages_story *s)
{
    int from = below(s, s->ranks), to = below(s, s->ranks), what = below(s, 10);
    struct ftc_messages_transfer m = {.rank = to,
                                      .tag = below(s, TAGS),
                                      .context = below(s, 4) == 0 ? below(s, CONTEXTS) : 0,
                                      .size = below(s, FTC_MESSAGES_BYTES + 1)};

    if (below(s, 8) == 0)
        m.size = 0;
    if (what != 0)
        add_send(s, from, &m);
    if (what != 1)
        add_receive(s, to, from, &m);
}

static void shuffle(struct ftc_messages_story *s, int rank)
{
    for (int i = s->transfers[rank] - 1; i > 0; i--) {
        int j = below(s, i + 1);
        struct ftc_messages_transfer other = s->transfer[rank][i];
        s->transfer[rank][i] = s->transfer[rank][j];
        s->transfer[rank][j] = other;
    }
}

static void draw_program(struct ftc_messages_story *s)
{
    int messages = 1 + below(s, FTC_MESSAGES_TRANSFERS);

    for (int i = 0; i < messages; i++)
        draw_message(s);
    for (int rank = 0; rank < s->ranks; rank++)
        if (below(s, 2) == 0)
            shuffle(s, rank);
}

static void draw_faults(struct ftc_messages_story *s)
{
    int deaths = below(s, s->ranks), most = 2 + below(s, 30);

    for (int i = 0; i < deaths; i++)
        s->doom[below(s, s->ranks)] = 1 + below(s, most);
    s->lossy = below(s, 2) == 0;
    s->revoke = below(s, 4) == 0 ? 1 + below(s, 100) : 0;
    s->cancels = below(s, 3) == 0;
    s->leaves = below(s, 3) == 0;
}

void ftc_messages_draw(struct ftc_messages_story *story, uint64_t seed)
{
    *story = (struct ftc_messages_story){.seed = seed, .random = ftc_mix(seed + 1)};
    draw_settings(story);
    draw_program(story);
    draw_faults(story);
    if (below(story, 4) > 0)
        story->lazy = ftc_mix(story->random) & ftc_mix(story->random + 1);
}
