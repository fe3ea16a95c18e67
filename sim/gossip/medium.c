/* The messages of a simulated aggregation on their way. */
#include "sim/gossip/medium.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sim/gossip/inputs.h"
#include "sim/options.h"

#define RADIX_DEFAULT 32
#define RADIX_MAX     4096
#define TIME_MAX      1e6

/* --- costs --- */

/* "16=2.9" or "all=5" */
static int take_class(struct ftc_gossip_cost *cost, const char *word)
{
    int used = 0, size = INT_MAX, last = cost->classes > 0 ? cost->size[cost->classes - 1] : 0;
    double time = 0;
    bool all = strncmp(word, "all=", 4) == 0;

    if ((all ? sscanf(word, "all=%lf%n", &time, &used)
             : sscanf(word, "%9d=%lf%n", &size, &time, &used)) < (all ? 1 : 2) ||
        word[used] != '\0' || size < 2 || !(time > 0 && time <= TIME_MAX))
        return ftc_error_set(FTC_ERR_ARG,
                             "--cost %s: not known; give constant, random, hops, fat-tree, "
                             "fat-tree:RADIX, or classes, as 16=2.9,256=3.9,all=5",
                             word);
    if (size <= last || cost->classes == FTC_GOSSIP_CLASSES)
        return ftc_error_set(FTC_ERR_ARG, "--cost %s: classes ascend, and are %d at most", word,
                             FTC_GOSSIP_CLASSES);
    cost->size[cost->classes] = size;
    cost->time[cost->classes++] = time;
    return 0;
}

static int read_classes(struct ftc_gossip_cost *cost, const char *text)
{
    char copy[256], *rest = copy, *word;
    int rc = 0;

    snprintf(copy, sizeof(copy), "%s", text);
    cost->kind = FTC_GOSSIP_MEASURED;
    while (rc == 0 && (word = strsep(&rest, ",")) != NULL)
        rc = take_class(cost, word);
    if (rc == 0 && cost->size[cost->classes - 1] != INT_MAX)
        rc = ftc_error_set(FTC_ERR_ARG, "--cost %s: end with the time of all others, as all=5",
                           text);
    return rc;
}

int ftc_gossip_cost_parse(struct ftc_gossip_cost *cost, const char *text)
{
    static const char *const names[] = {"constant", "random", "hops", "fat-tree"};
    uint64_t radix = RADIX_DEFAULT;

    *cost = (struct ftc_gossip_cost){0};
    if (strncmp(text, "fat-tree:", 9) == 0) {
        int rc = ftc_option_number("--cost fat-tree", text + 9, 2, RADIX_MAX, &radix);
        if (rc != 0)
            return rc;
        text = names[FTC_GOSSIP_FAT_TREE];
    }
    cost->radix = (int)radix;
    for (int kind = FTC_GOSSIP_CONSTANT; kind <= FTC_GOSSIP_FAT_TREE; kind++) {
        cost->kind = (enum ftc_gossip_cost_kind)kind;
        if (strcmp(text, names[kind]) == 0)
            return 0;
    }
    return read_classes(cost, text);
}

static double time_of_class(const struct ftc_gossip_cost *cost, int from, int to)
{
    int i = 0;

    while (from / cost->size[i] != to / cost->size[i])
        i++;
    return cost->time[i];
}

/* Of a random cost: the mean. */
static uint64_t cost_between(const struct ftc_medium *medium, int from, int to)
{
    if (medium->cost.kind == FTC_GOSSIP_MEASURED)
        return (uint64_t)(time_of_class(&medium->cost, from, to) * FTC_GOSSIP_TICKS);
    return (uint64_t)ftc_distance_hops(&medium->distance, from, to) * FTC_GOSSIP_TICKS;
}

static uint64_t draw_cost(struct ftc_medium *medium, int from, int to)
{
    if (medium->cost.kind == FTC_GOSSIP_RANDOM)
        return (uint64_t)(ftc_gossip_random_exponential(medium->random) * FTC_GOSSIP_TICKS);
    return cost_between(medium, from, to);
}

uint64_t ftc_medium_most(const struct ftc_medium *medium, int ranks)
{
    const int *side = medium->distance.side;
    double time = 0;

    if (medium->distance.settings.kind == FTC_DISTANCE_TORUS)
        return (uint64_t)(side[0] / 2 + side[1] / 2 + side[2] / 2) * FTC_GOSSIP_TICKS;
    if (medium->cost.kind != FTC_GOSSIP_MEASURED)
        return cost_between(medium, 0, ranks - 1); /* ranks are in order, these are farthest */
    for (int i = 0; i < medium->cost.classes; i++)
        time = medium->cost.time[i] > time ? medium->cost.time[i] : time;
    return (uint64_t)(time * FTC_GOSSIP_TICKS);
}

/* --- life --- */

int ftc_medium_init(struct ftc_medium *medium, const struct ftc_gossip_cost *cost, bool near,
                    int ranks, uint64_t seed)
{
    struct ftc_distance_settings distance = {.kind = FTC_DISTANCE_FLAT, .radix = cost->radix};

    if (cost->kind == FTC_GOSSIP_HOPS && !near)
        distance.kind = FTC_DISTANCE_TORUS;
    else if (cost->kind == FTC_GOSSIP_FAT_TREE)
        distance.kind = FTC_DISTANCE_FAT_TREE;
    medium->cost = *cost;
    ftc_queue_init(&medium->queue);
    return ftc_distance_init(&medium->distance, &distance, ranks, seed);
}

void ftc_medium_fini(struct ftc_medium *medium)
{
    struct ftc_event event;

    while (ftc_queue_pop(&medium->queue, &event))
        free(event.item);
    ftc_queue_fini(&medium->queue);
    ftc_distance_fini(&medium->distance);
}

/* --- messages --- */

static bool draw_loss(struct ftc_medium *medium)
{
    return medium->loss > 0 && ftc_gossip_random_real(medium->random) < medium->loss;
}

/* When does a message that is sent now arrive? */
static uint64_t charge(struct ftc_medium *medium, int from, int to)
{
    uint64_t cost = draw_cost(medium, from, to);

    if (!medium->rounds)
        return medium->now + cost;
    medium->longest = cost > medium->longest ? cost : medium->longest;
    return medium->now + FTC_GOSSIP_TICKS;
}

bool ftc_medium_loses(struct ftc_medium *medium, int from, int to)
{
    charge(medium, from, to);
    return draw_loss(medium);
}

static void advance(struct ftc_medium *medium, uint64_t now)
{
    if (!medium->rounds) {
        medium->elapsed = now;
    } else if (now > medium->now) {
        medium->elapsed += medium->longest;
        medium->longest = 0;
    }
    medium->now = now;
}

void ftc_medium_end_round(struct ftc_medium *medium)
{
    advance(medium, medium->now + FTC_GOSSIP_TICKS);
}

static struct ftc_packet *pack(const void *bytes, size_t size)
{
    struct ftc_packet *packet = malloc(sizeof(*packet) + size);

    if (packet == NULL) {
        ftc_error_set(FTC_ERR_NOMEM, "no memory for a message");
        return NULL;
    }
    packet->size = size;
    memcpy(packet->bytes, bytes, size);
    return packet;
}

int ftc_medium_send(struct ftc_medium *medium, int kind, int from, int to, const void *bytes,
                    size_t size, uint64_t *earliest)
{
    bool lost = draw_loss(medium);

    if (lost && !medium->announce && !medium->rounds)
        return 0;
    uint64_t at = charge(medium, from, to);
    if (lost && !medium->announce)
        return 0;
    struct ftc_packet *packet = lost ? NULL : pack(bytes, size);
    if (packet == NULL && !lost)
        return FTC_ERR_NOMEM;
    if (earliest != NULL)
        at = *earliest = at > *earliest ? at : *earliest;
    int rc = ftc_queue_push(&medium->queue, &(struct ftc_event){.key = at,
                                                                .rank = (uint32_t)to,
                                                                .other = (uint32_t)from,
                                                                .kind = (uint32_t)kind & 15,
                                                                .item = packet});
    if (rc != 0)
        free(packet);
    return rc;
}

int ftc_medium_wait(struct ftc_medium *medium, int kind, int rank, uint64_t until)
{
    return ftc_queue_push(
        &medium->queue,
        &(struct ftc_event){.key = until, .rank = (uint32_t)rank, .kind = (uint32_t)kind & 15});
}

bool ftc_medium_next(struct ftc_medium *medium, struct ftc_event *event)
{
    bool any = ftc_queue_pop(&medium->queue, event);

    if (any)
        advance(medium, event->key);
    return any;
}
