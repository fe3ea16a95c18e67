/*
 * The distance between two ranks. L is the latency between neighbours, and each further hop adds to
 * it. There is no contention.
 * - flat: all ranks are neighbours.
 * - torus: a 3-d torus, as near to a cube as n allows. Each node has one rank, placed at random by
 *   the seed. Messages take the shortest way round.
 * - fat-tree: `radix` ranks are under a leaf switch, `radix` switches are under one of the next
 *   level, and so on. Ranks are placed in order. One more level means two more hops, one up and one
 *   down.
 */
#ifndef FTC_SIM_TIMED_DISTANCE_H
#define FTC_SIM_TIMED_DISTANCE_H

#include <stdint.h>

enum ftc_distance_kind { FTC_DISTANCE_FLAT, FTC_DISTANCE_TORUS, FTC_DISTANCE_FAT_TREE };

struct ftc_distance_settings {
    enum ftc_distance_kind kind;
    int radix;       /* fat-tree: 2 or more */
    uint64_t hop_ns; /* time of each hop except the first */
};

/* Parse "flat", "torus", "fat-tree" or "fat-tree:RADIX". hop_ns stays as it is. FTC_ERR_ARG. */
int ftc_distance_parse(struct ftc_distance_settings *settings, const char *text);
const char *ftc_distance_name(enum ftc_distance_kind kind); /* "torus" */

struct ftc_distance {
    struct ftc_distance_settings settings;
    int side[3];    /* torus */
    uint32_t *node; /* torus: the place of each rank, x + side[0] * (y + side[1] * z) */
};

/* FTC_ERR_NOMEM. fini() of a zeroed struct is legal. */
int ftc_distance_init(struct ftc_distance *distance, const struct ftc_distance_settings *settings,
                      int ranks, uint64_t seed);
void ftc_distance_fini(struct ftc_distance *distance);
/* At least 1 for different ranks. */
int ftc_distance_hops(const struct ftc_distance *distance, int a, int b);
uint64_t ftc_distance_extra(const struct ftc_distance *distance, int a, int b); /* ns on top of L */

#endif
