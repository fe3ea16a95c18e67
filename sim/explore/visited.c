/* The set of 64-bit hashes, in parts with linear probing. */
#include "sim/explore/visited.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"

#define ROOM_FIRST 512
#define HUGE_PAGE  ((size_t)2 << 20)

/* Zeroed memory. Large memory is on huge pages, because each look goes to another place. */
static void *map_slots(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    if (bytes >= HUGE_PAGE)
        madvise(memory, bytes, MADV_HUGEPAGE); /* if this fails, the set still works */
    return memory;
}

static size_t bytes_of(uint32_t room)
{
    return room * sizeof(uint64_t);
}

/* The slot of the hash, or the slot where it belongs. The top bits of the hash have chosen the
 * part. */
static uint64_t *find(const struct ftc_visited_part *part, uint64_t hash)
{
    uint32_t at = (uint32_t)(((hash & UINT32_MAX) * part->room) >> 32);

    while (part->slot[at] != 0 && part->slot[at] != hash)
        at = at + 1 == part->room ? 0 : at + 1;
    return &part->slot[at];
}

static int resize(struct ftc_visited *visited, struct ftc_visited_part *part, uint32_t room)
{
    struct ftc_visited_part larger = {.room = room, .count = part->count};

    if (visited->bytes + bytes_of(room) - bytes_of(part->room) > visited->limit)
        return ftc_error_set(FTC_ERR_NOMEM, "more than %zu MiB of memory are needed",
                             visited->limit >> 20);
    larger.slot = map_slots(bytes_of(room));
    if (larger.slot == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for more states: %m");
    for (uint32_t at = 0; at < part->room; at++) {
        if (part->slot[at] != 0)
            *find(&larger, part->slot[at]) = part->slot[at];
    }
    if (part->slot != NULL)
        munmap(part->slot, bytes_of(part->room));
    visited->bytes += bytes_of(room) - bytes_of(part->room);
    *part = larger;
    return FTC_SUCCESS;
}

int ftc_visited_init(struct ftc_visited *visited, size_t bytes)
{
    int rc = FTC_SUCCESS;

    *visited = (struct ftc_visited){.limit = bytes};
    for (int p = 0; rc == FTC_SUCCESS && p < FTC_VISITED_PARTS; p++)
        rc = resize(visited, &visited->part[p], ROOM_FIRST);
    return rc;
}

void ftc_visited_fini(struct ftc_visited *visited)
{
    for (int p = 0; p < FTC_VISITED_PARTS; p++) {
        if (visited->part[p].slot != NULL)
            munmap(visited->part[p].slot, bytes_of(visited->part[p].room));
    }
    *visited = (struct ftc_visited){0};
}

int ftc_visited_add(struct ftc_visited *visited, uint64_t hash, bool *fresh)
{
    struct ftc_visited_part *part = &visited->part[hash >> 56];

    hash = hash != 0 ? hash : 1; /* 0 marks an empty slot */
    uint64_t *slot = find(part, hash);
    *fresh = *slot == 0;
    if (!*fresh)
        return FTC_SUCCESS;
    if (part->count >= part->room / 4 * 3) {
        int rc = resize(visited, part, part->room / 2 * 3);
        if (rc != FTC_SUCCESS)
            return rc;
        slot = find(part, hash);
    }
    *slot = hash;
    part->count++;
    visited->count++;
    return FTC_SUCCESS;
}

double ftc_visited_collisions(uint64_t states)
{
    return (double)states * (double)states / 36893488147419103232.0;
}
