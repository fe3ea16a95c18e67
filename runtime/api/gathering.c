/* Taking contributions to their places, and combining them in the order of the ranks. */
#include "runtime/api/gathering.h"

#include <string.h>

#include "base/copy.h"
#include "base/error.h"

/* --- parts --- */

static size_t count_of(const struct ftc_parts *parts, int rank)
{
    return parts->counts != NULL ? parts->counts[rank] : parts->count;
}

size_t ftc_part_size(const struct ftc_parts *parts, int rank)
{
    return count_of(parts, rank) * parts->element;
}

size_t ftc_part_offset(const struct ftc_parts *parts, int rank)
{
    size_t elements = parts->counts != NULL ? parts->offsets[rank] : parts->count * (size_t)rank;

    return elements * parts->element;
}

static int check_same(const struct ftc_parts *parts)
{
    size_t bytes;

    if (__builtin_mul_overflow(parts->count, parts->element, &bytes) ||
        __builtin_mul_overflow(bytes, (size_t)parts->ranks, &bytes) || bytes > SIZE_MAX / 2)
        return ftc_error_set(
            FTC_ERR_ARG, "%zu elements of %zu bytes for each of %d ranks do not fit into memory",
            parts->count, parts->element, parts->ranks);
    return FTC_SUCCESS;
}

static int check_each(const struct ftc_parts *parts)
{
    size_t most = SIZE_MAX / 2 / parts->element, total = 0;

    for (int rank = 0; rank < parts->ranks; rank++) {
        size_t count = parts->counts[rank], offset = parts->offsets[rank];
        if (count > most - total || offset > most - count)
            return ftc_error_set(FTC_ERR_ARG,
                                 "%zu elements of %zu bytes, from element %zu on, for rank %d do "
                                 "not fit into memory",
                                 count, parts->element, offset, rank);
        total += count;
    }
    return FTC_SUCCESS;
}

size_t ftc_parts_greatest(const struct ftc_parts *parts)
{
    size_t greatest = 0;

    if (parts->counts == NULL)
        return ftc_part_size(parts, 0);
    for (int rank = 0; rank < parts->ranks; rank++)
        if (ftc_part_size(parts, rank) > greatest)
            greatest = ftc_part_size(parts, rank);
    return greatest;
}

size_t ftc_parts_end(const struct ftc_parts *parts)
{
    size_t end = 0;

    if (parts->counts == NULL)
        return ftc_part_size(parts, 0) * (size_t)parts->ranks;
    for (int rank = 0; rank < parts->ranks; rank++) {
        size_t size = ftc_part_size(parts, rank), here = ftc_part_offset(parts, rank) + size;
        if (size > 0 && here > end)
            end = here;
    }
    return end;
}

size_t ftc_parts_total(const struct ftc_parts *parts)
{
    size_t total = 0;

    if (parts->counts == NULL)
        return ftc_part_size(parts, 0) * (size_t)parts->ranks;
    for (int rank = 0; rank < parts->ranks; rank++)
        total += ftc_part_size(parts, rank);
    return total;
}

int ftc_parts_init(struct ftc_parts *parts, int ranks, ftc_type type, size_t count,
                   const size_t *counts, const size_t *offsets)
{
    *parts = (struct ftc_parts){.element = ftc_type_size(type),
                                .count = count,
                                .counts = counts,
                                .offsets = offsets,
                                .ranks = ranks};
    if (parts->element == 0)
        return ftc_error_set(FTC_ERR_ARG, "type %d does not exist", (int)type);
    return counts == NULL ? check_same(parts) : check_each(parts);
}

/* --- contributions with a table --- */

static size_t table_size(const struct ftc_parts *parts)
{
    return ((size_t)parts->ranks + 1) * sizeof(uint64_t);
}

size_t ftc_parts_packed(const struct ftc_parts *parts)
{
    return table_size(parts) + ftc_parts_total(parts);
}

void ftc_parts_pack(const struct ftc_parts *parts, const void *from, void *contribution)
{
    unsigned char *out = contribution;
    uint64_t at = table_size(parts);

    for (int rank = 0; rank < parts->ranks; rank++) {
        size_t size = ftc_part_size(parts, rank);
        memcpy(out + (size_t)rank * sizeof(at), &at, sizeof(at));
        if (size > 0)
            memcpy(out + at, (const unsigned char *)from + ftc_part_offset(parts, rank), size);
        at += size;
    }
    memcpy(out + (size_t)parts->ranks * sizeof(at), &at, sizeof(at));
}

/* Copies what the bytes from `offset` on have of this rank's two entries of the table. */
static void read_bounds(struct ftc_gathering *g, int rank, size_t offset, const unsigned char *data,
                        size_t size)
{
    unsigned char *bounds = (unsigned char *)&g->bounds[rank];
    size_t entry = (size_t)g->rank * sizeof(uint64_t);

    for (size_t i = 0; i < sizeof(g->bounds[rank]); i++)
        if (entry + i >= offset && entry + i - offset < size)
            bounds[i] = data[entry + i - offset];
}

/* --- pieces --- */

/* The common bytes of a piece and of what has come of the contribution. */
struct cut {
    size_t in_piece; /* where they begin */
    const unsigned char *data;
    size_t size;
};

static struct cut cut(size_t piece, size_t piece_size, size_t offset, const void *data, size_t size)
{
    size_t begin = piece > offset ? piece : offset;
    size_t end = piece + piece_size < offset + size ? piece + piece_size : offset + size;

    if (begin >= end)
        return (struct cut){0};
    return (struct cut){begin - piece, (const unsigned char *)data + (begin - offset), end - begin};
}

/* Where the piece of this rank begins in the contribution of `rank`. False: the piece has another
 * size than its place. What the contribution says is not trusted: it lies in shared memory. */
static bool find_piece(struct ftc_gathering *g, int rank, size_t place_size, size_t *begin)
{
    *begin = g->from;
    if (g->bounds != NULL) {
        struct ftc_bounds bounds = g->bounds[rank];
        *begin = (size_t)bounds.begin;
        return bounds.begin <= bounds.end && bounds.end - bounds.begin == place_size &&
               bounds.end <= SIZE_MAX / 2;
    }
    return true;
}

/* Results that are larger than a core's share of the caches are not in them when they are read. */
#define CACHED_MOST ((size_t)4 << 20)
#define PAST_LEAST  ((size_t)64 << 10) /* the size of such a piece that pays */

static void copy_piece(const struct ftc_parts *places, void *to, const void *from, size_t size)
{
    if (size >= PAST_LEAST && ftc_parts_total(places) >= CACHED_MOST)
        ftc_copy_past_caches(to, from, size);
    else
        memcpy(to, from, size);
}

void ftc_gathering_take(void *arg, int rank, size_t offset, const void *data, size_t size,
                        bool first, void *result)
{
    struct ftc_gathering *g = arg;
    size_t table = ((size_t)g->rank + 2) * sizeof(uint64_t), begin;

    (void)first;
    if (g->bounds != NULL && size > 0)
        read_bounds(g, rank, offset, data, size);
    if (result == NULL || (g->bounds != NULL && offset + size < table))
        return; /* there are no bounds yet, and no data */
    size_t place = ftc_part_offset(&g->places, rank), place_size = ftc_part_size(&g->places, rank);
    if (!find_piece(g, rank, place_size, &begin)) {
        g->mismatched = rank;
        return;
    }
    struct cut piece = cut(begin, place_size, offset, data, size);
    if (piece.size == 0 || (g->in_place && rank == g->rank))
        return;
    copy_piece(&g->places, (unsigned char *)result + place + piece.in_piece, piece.data,
               piece.size);
}

void ftc_gathering_combine(void *arg, int rank, size_t offset, const void *data, size_t size,
                           bool first, void *result)
{
    struct ftc_gathering *g = arg;

    if (first && offset == 0)
        g->base = -1;
    if (rank > g->highest || result == NULL)
        return;
    if (g->base < 0)
        g->base = rank;
    struct cut piece = cut(g->from, g->size, offset, data, size);
    unsigned char *out = (unsigned char *)result + piece.in_piece;
    if (piece.size == 0)
        return;
    if (rank != g->base)
        ftc_reduction_combine(g->reduction, piece.data, out, piece.size);
    else if (out != piece.data)
        memcpy(out, piece.data, piece.size);
}

/* --- places --- */

size_t ftc_gathering_place_of(void *arg, int rank, size_t *offset)
{
    const struct ftc_gathering *g = arg;

    *offset = ftc_part_offset(&g->places, rank);
    return ftc_part_size(&g->places, rank);
}

size_t ftc_gathering_result_of(void *arg, int rank, size_t *offset)
{
    const struct ftc_gathering *g = arg;

    *offset = 0;
    return rank == g->rank ? g->size : 0;
}
