/* Hops on a torus and in a fat tree. */
#include "sim/timed/distance.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mix.h"
#include "sim/options.h"

#define RADIX_DEFAULT 32
#define RADIX_MAX     4096

static const char *const names[] = {"flat", "torus", "fat-tree"};

const char *ftc_distance_name(enum ftc_distance_kind kind)
{
    return names[kind];
}

int ftc_distance_parse(struct ftc_distance_settings *settings, const char *text)
{
    uint64_t radix = RADIX_DEFAULT;

    if (strncmp(text, "fat-tree:", 9) == 0) {
        int rc = ftc_option_number("--topology fat-tree", text + 9, 2, RADIX_MAX, &radix);
        if (rc != 0)
            return rc;
        text = names[FTC_DISTANCE_FAT_TREE];
    }
    for (int kind = FTC_DISTANCE_FLAT; kind <= FTC_DISTANCE_FAT_TREE; kind++)
        if (strcmp(text, names[kind]) == 0) {
            settings->kind = kind;
            settings->radix = (int)radix;
            return 0;
        }
    return ftc_error_set(FTC_ERR_ARG,
                         "--topology %s: not known; give flat, torus, fat-tree or fat-tree:RADIX",
                         text);
}

/* The smallest sides that hold all ranks. Each side is as near as possible to the root of what is
 * left. */
static void choose_sides(int side[3], int ranks)
{
    int x = 1, y = 1;

    while ((long)x * x * x < ranks)
        x++;
    int rest = (ranks + x - 1) / x;
    while ((long)y * y < rest)
        y++;
    side[0] = x;
    side[1] = y;
    side[2] = (rest + y - 1) / y;
}

/* A random placement: shuffle the nodes (Fisher, Yates), and put rank r on the r-th one. */
static void shuffle(uint32_t *node, uint32_t nodes, uint64_t seed)
{
    for (uint32_t i = 0; i < nodes; i++)
        node[i] = i;
    for (uint32_t i = nodes - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(ftc_mix(seed + i * UINT64_C(0x9e3779b97f4a7c15)) % (i + 1));
        uint32_t kept = node[i];
        node[i] = node[j];
        node[j] = kept;
    }
}

int ftc_distance_init(struct ftc_distance *distance, const struct ftc_distance_settings *settings,
                      int ranks, uint64_t seed)
{
    *distance = (struct ftc_distance){.settings = *settings};
    if (settings->kind != FTC_DISTANCE_TORUS)
        return 0;
    choose_sides(distance->side, ranks);
    uint32_t nodes = (uint32_t)(distance->side[0] * distance->side[1] * distance->side[2]);
    distance->node = malloc(nodes * sizeof(*distance->node));
    if (distance->node == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the places of %d ranks", ranks);
    shuffle(distance->node, nodes, ftc_mix(seed ^ 0x70727573));
    return 0;
}

void ftc_distance_fini(struct ftc_distance *distance)
{
    free(distance->node);
    distance->node = NULL;
}

static int ring(int a, int b, int side)
{
    int straight = abs(a - b);

    return straight < side - straight ? straight : side - straight;
}

static int torus_hops(const struct ftc_distance *distance, uint32_t a, uint32_t b)
{
    int hops = 0;

    for (int d = 0; d < 3; d++) {
        uint32_t side = (uint32_t)distance->side[d];
        hops += ring((int)(a % side), (int)(b % side), (int)side);
        a /= side;
        b /= side;
    }
    return hops;
}

static int tree_hops(int radix, int a, int b)
{
    int hops = 1;

    for (a /= radix, b /= radix; a != b; a /= radix, b /= radix)
        hops += 2;
    return hops;
}

int ftc_distance_hops(const struct ftc_distance *distance, int a, int b)
{
    switch (distance->settings.kind) {
    case FTC_DISTANCE_FLAT:
        break;
    case FTC_DISTANCE_TORUS:
        return torus_hops(distance, distance->node[a], distance->node[b]);
    case FTC_DISTANCE_FAT_TREE:
        return tree_hops(distance->settings.radix, a, b);
    }
    return 1;
}

uint64_t ftc_distance_extra(const struct ftc_distance *distance, int a, int b)
{
    return (uint64_t)(ftc_distance_hops(distance, a, b) - 1) * distance->settings.hop_ns;
}
