/*
 * The set of states that an exploration has visited, as 64-bit hashes of eight bytes each. Two
 * states with the same hash count as one, so the second one would not be explored. Among N states
 * about N^2 / 2^65 such pairs are expected.
 *
 * The hashes are spread over parts, and each part grows by itself. So growing never needs much more
 * memory than is in use. A part is between half and three quarters full.
 */
#ifndef FTC_SIM_EXPLORE_VISITED_H
#define FTC_SIM_EXPLORE_VISITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FTC_VISITED_PARTS 256

struct ftc_visited_part {
    uint64_t *slot; /* 0: empty */
    uint32_t room, count;
};

struct ftc_visited {
    struct ftc_visited_part part[FTC_VISITED_PARTS];
    uint64_t count;
    size_t bytes, limit; /* memory in use; most memory allowed */
};

/* The set takes at most `bytes` of memory. FTC_ERR_NOMEM. */
int ftc_visited_init(struct ftc_visited *visited, size_t bytes);
void ftc_visited_fini(struct ftc_visited *visited);

/* Add the hash. *fresh: it is new. FTC_ERR_NOMEM: no room below the limit, or no memory. */
int ftc_visited_add(struct ftc_visited *visited, uint64_t hash, bool *fresh);

/* Bring the slot of a hash that will be added soon into the cache. */
static inline void ftc_visited_prefetch(const struct ftc_visited *visited, uint64_t hash)
{
    const struct ftc_visited_part *part = &visited->part[hash >> 56];
    __builtin_prefetch(&part->slot[((hash & UINT32_MAX) * part->room) >> 32]);
}

/* Expected number of pairs of different states with the same hash. */
double ftc_visited_collisions(uint64_t states);

#endif
