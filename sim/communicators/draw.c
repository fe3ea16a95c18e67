/* Draws a story from its seed. */
#include "base/mix.h"
#include "config/config.h"
#include "sim/communicators/communicators.h"
#include "sim/model/cluster.h"

struct drawing {
    struct ftc_comms_story *story;
    bool live[FTC_COMMS_SLOTS]; /* no item has freed it so far */
    bool revoked[FTC_COMMS_SLOTS];
};

static int below(struct ftc_comms_story *s, int limit)
{
    return (int)(ftc_mix(s->random += 0x9e3779b97f4a7c15u) % (uint64_t)limit);
}

static void draw_settings(struct ftc_comms_story *s)
{
    int n = below(s, 8) == 0 ? 2 + below(s, FTC_COMMS_RANKS - 1) : 2 + below(s, 5);
    struct ftc_member_settings *set = &s->settings;

    *set = ftc_cluster_settings(n, below(s, 3));
    set->communicator = FTC_COMMUNICATOR_WORLD;
    set->scheme = below(s, 2) == 0 ? FTC_SCHEME_LIST : (enum ftc_scheme)below(s, 3);
    set->share = below(s, 5) == 0 ? FTC_SHARE_OFF : FTC_SHARE_PIGGYBACK;
    set->rotation = below(s, 2) == 0 ? FTC_ROTATION_SPREAD : FTC_ROTATION_FIRST;
    set->prepare = below(s, 2) == 0 ? FTC_PREPARE_TREE : FTC_PREPARE_DIRECT;
    set->direct = below(s, 3) == 0 ? 0 : FTC_COMMS_RANKS;
    set->doubling = below(s, 2) == 0 ? FTC_COMMS_RANKS : 0;
    set->take = (enum ftc_take)below(s, 3);
    set->settle_every = below(s, 2) == 0 ? 1 + (uint32_t)below(s, 3) : 0;
    s->refusing = below(s, 3) == 0 ? 1 + below(s, 16) : 0;
}

/* A slot that is in use. */
static int draw_slot(struct drawing *d)
{
    int slot = below(d->story, d->story->slots);

    return d->live[slot] ? slot : 0;
}

/* What each process gives to a creation. */
static void draw_places(struct ftc_comms_item *item, uint64_t seed)
{
    item->first = seed;
    for (uint64_t rank = 0; rank < FTC_COMMS_RANKS; rank++) {
        int color = (int)(ftc_mix(seed + rank) % 4);
        item->color[rank] = color == 3 ? FTC_COLOR_UNDEFINED : color - 1;
        item->key[rank] = (int)(ftc_mix(seed + 77 * rank) % 3) - 1;
        item->listed[rank] = ftc_mix(seed ^ rank) % 4 != 0;
    }
}

static struct ftc_comms_item *add(struct drawing *d, enum ftc_comms_kind kind, int slot)
{
    struct ftc_comms_story *s = d->story;
    struct ftc_comms_item *item = &s->item[s->items++];
    int who = below(s, FTC_COMMS_RANKS);
    uint64_t seed = ftc_mix(s->random + 5);

    *item =
        (struct ftc_comms_item){.kind = kind, .slot = slot, .who = who, .waits = below(s, 3) > 0};
    draw_places(item, seed);
    return item;
}

static void add_operation(struct drawing *d, int slot)
{
    static const int calls[] = {FTC_CALL_ALLREDUCE, FTC_CALL_ALLREDUCE, FTC_CALL_BCAST,
                                FTC_CALL_REDUCE,    FTC_CALL_BARRIER,   FTC_CALL_VALIDATE};

    add(d, FTC_COMMS_OPERATE, slot)->call = calls[below(d->story, 6)];
}

static void add_creation(struct drawing *d, int slot, enum ftc_creation creation, bool recovers)
{
    struct ftc_comms_story *s = d->story;

    if (s->slots == FTC_COMMS_SLOTS)
        return;
    struct ftc_comms_item *item = add(d, FTC_COMMS_CREATE, slot);
    item->creation = creation;
    item->child = s->slots;
    item->recovers = recovers;
    d->live[s->slots] = true;
    s->owner[s->slots++] = below(s, s->threads);
}

/* What those do that know of a revoke, before the communicator is freed. */
static void add_recovery(struct drawing *d, int slot)
{
    struct ftc_comms_story *s = d->story;

    if (!s->revokes || below(s, 3) == 0)
        return;
    if (below(s, 2) == 0) {
        struct ftc_comms_item *item = add(d, FTC_COMMS_OPERATE, slot);
        item->call = FTC_CALL_VALIDATE;
        item->recovers = true;
    }
    if (below(s, 2) == 0)
        add_creation(d, slot, FTC_CREATION_SHRINK, true);
}

static void add_free(struct drawing *d, int slot)
{
    add_recovery(d, slot);
    if (slot == 0)
        return;
    add(d, FTC_COMMS_FREE, slot);
    d->live[slot] = false;
}

static void add_item(struct drawing *d)
{
    struct ftc_comms_story *s = d->story;
    int slot = draw_slot(d), kind = below(s, 20);

    if (kind < 10)
        add_operation(d, slot);
    else if (kind < 15)
        add_creation(d, slot, (enum ftc_creation)below(s, 4), false);
    else if (kind < 17 && slot > 0)
        add_free(d, slot);
    else if (kind == 18 && s->revokes)
        add(d, FTC_COMMS_OPERATE, slot)->call = FTC_CALL_AGREE;
    else if (kind == 17 && s->revokes && !d->revoked[slot] && (slot > 0 || below(s, 4) == 0)) {
        add(d, FTC_COMMS_REVOKE, slot)->who = below(s, s->settings.ranks);
        d->revoked[slot] = true;
    }
}

static void draw_program(struct ftc_comms_story *s)
{
    struct drawing d = {.story = s, .live = {true}};
    int length = below(s, 3) == 0 ? below(s, 4) : 3 + below(s, 16);

    s->threads = 1 + below(s, FTC_COMMS_THREADS);
    s->revokes = below(s, 2) == 0;
    s->slots = 1;
    for (int i = 0; i < length; i++)
        add_item(&d);
    for (int slot = s->slots - 1; slot >= 0; slot--)
        if (d.live[slot] && (slot == 0 || below(s, 2) == 0))
            add_free(&d, slot);
}

static void draw_deaths(struct ftc_comms_story *s)
{
    int deaths = below(s, 3) == 0 ? 0 : below(s, s->settings.ranks), most = 10 + below(s, 150);

    for (int i = 0; i < deaths; i++)
        s->doom[below(s, s->settings.ranks)] = 1 + below(s, most);
    s->struck = s->revokes && below(s, 2) == 0 ? 1 + below(s, 24) : 0;
    s->chained = below(s, 2) == 0;
    s->lossy = below(s, 2) == 0;
}

void ftc_comms_draw(struct ftc_comms_story *story, uint64_t seed)
{
    *story = (struct ftc_comms_story){.seed = seed, .random = ftc_mix(seed + 1)};
    draw_settings(story);
    draw_program(story);
    draw_deaths(story);
    if (below(story, 4) > 0)
        story->lazy = ftc_mix(story->random) & ftc_mix(story->random + 1);
    story->boards = below(story, 2) == 0;
}
