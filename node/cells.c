/*
 * Cells. They rely on the memory orders of the byte ring (node/ring.c), with the mark in the place
 * of `written`, and `returned` in that of `consumed`.
 */
#include "node/cells.h"

#include <string.h>

#include "base/cpu.h"
#include "base/error.h"

_Static_assert(sizeof(struct ftc_cell) == FTC_CELL_LINE, "a cell is a cache line");
_Static_assert(FTC_CELLS * sizeof(struct ftc_cell) == FTC_RING_PAGE, "the cells are one page");

/* A mark: a bit that is set, the position, the bytes of the value, the bytes of the head. */
#define SIZE_BITS 10
#define SIZE_MASK ((1ull << SIZE_BITS) - 1)
#define SIZES     (2 * SIZE_BITS)
#define FULL      (1ull << 63)

_Static_assert(FTC_CELLS_MOST <= SIZE_MASK, "sizes fit into a mark");

/* In place of sizes: more cells are in use from here on. */
#define GROWN ((1ull << SIZES) - 1)

/* Cells are given back so many at a time. */
#define GROUP(count) ((count) / 4)

/* A producer clears so many marks at a time. */
#define CLEARED_AHEAD 16

/* A producer that starves for a message waits for less than what the consumer may keep to itself.
 */
_Static_assert((FTC_CELLS_MOST + 8) / FTC_CELL_LINE + 1 + GROUP(FTC_CELLS) <= FTC_CELLS,
               "no producer waits for ever");

static uint64_t mark_at(uint64_t position)
{
    return FULL | (position << SIZES & ~FULL);
}

_Static_assert((FTC_CELLS & (FTC_CELLS - 1)) == 0 && (FTC_CELLS_MANY & (FTC_CELLS_MANY - 1)) == 0,
               "a position is a place by a mask");

static struct ftc_cell *cell_at(const struct ftc_cells *cells, uint64_t position)
{
    return &cells->cell[(position - cells->origin) & (cells->count - 1)];
}

static unsigned cells_of(size_t bytes)
{
    return (unsigned)((bytes + sizeof(uint64_t) + FTC_CELL_LINE - 1) / FTC_CELL_LINE);
}

/* Where the bytes of the next message begin, in the area of all cells. */
static size_t begin_of(const struct ftc_cells *cells)
{
    return (size_t)((const char *)cell_at(cells, cells->position) - (const char *)cells->cell) +
           sizeof(uint64_t);
}

/* The bytes of a message of one cell. A call of memcpy() would take longer. */
static inline void copy_few(unsigned char *to, const void *from, size_t size)
{
    const unsigned char *bytes = from;
    size_t at = 0;

    for (; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t))
        memcpy(to + at, bytes + at, sizeof(uint64_t));
    for (; at < size; at++)
        to[at] = bytes[at];
}

/* Moves on to the cells behind the first pages, which are all empty. */
static void use_many(struct ftc_cells *cells)
{
    cells->cell = (struct ftc_cell *)(void *)((char *)cells->shared + FTC_RING_PAGES);
    cells->count = FTC_CELLS_MANY;
    cells->origin = cells->position;
    cells->cleared = cells->position + 1;
}

static int damaged(const struct ftc_cells *cells, const char *what, uint64_t value)
{
    return ftc_error_set(FTC_ERR_PROTO,
                         "damaged channel from rank %d to rank %d: %s is %llu at cell %llu",
                         cells->from, cells->to, what, (unsigned long long)value,
                         (unsigned long long)cells->position);
}

void ftc_cells_attach(struct ftc_cells *cells, const struct ftc_ring *ring)
{
    *cells = (struct ftc_cells){.shared = ring->shared,
                                .cell = ftc_ring_cells(ring->shared),
                                .count = FTC_CELLS,
                                .segment = ring->segment,
                                .cleared = 1,
                                .from = ring->from,
                                .to = ring->to};
}

/* --- the producer --- */

/* The cell behind the message must be free, too. Reads the word of the consumer only if what is
 * known of it does not do. */
FTC_HOT int ftc_cells_room(struct ftc_cells *cells, size_t bytes)
{
    uint64_t end = cells->position + cells_of(bytes) + 1;

    if (end - cells->returned <= cells->count)
        return 1;
    uint64_t returned = atomic_load_explicit(&cells->shared->returned, memory_order_acquire);
    if (returned > cells->position || returned < cells->returned)
        return damaged(cells, "returned", returned);
    cells->returned = returned;
    return end - returned <= cells->count;
}

static bool grow(struct ftc_cells *cells)
{
    if (cells->count == FTC_CELLS_MANY || cells->denied)
        return false;
    cells->denied = ftc_segment_ring_allocate(cells->segment, cells->from, cells->to,
                                              FTC_RING_PAGES, FTC_RING_CELLS) != 0;
    if (cells->denied)
        return false;
    atomic_store_explicit(&cell_at(cells, cells->position)->mark, mark_at(cells->position) | GROWN,
                          memory_order_release);
    use_many(cells);
    return true;
}

/* Returns where the bytes end. */
static inline size_t copy_in(const struct ftc_cells *cells, size_t at, const void *bytes,
                             size_t size)
{
    unsigned char *area = (unsigned char *)cells->cell;
    size_t area_size = (size_t)cells->count * FTC_CELL_LINE;
    size_t first = size < area_size - at ? size : area_size - at;

    memcpy(area + at, bytes, first);
    if (first == size)
        return at + size;
    memcpy(area, (const unsigned char *)bytes + first, size - first);
    return size - first;
}

/* Clears marks up to this cell, which is free. */
static inline void clear_to(struct ftc_cells *cells, uint64_t position)
{
    for (; cells->cleared <= position; cells->cleared++)
        atomic_store_explicit(&cell_at(cells, cells->cleared)->mark, 0, memory_order_relaxed);
}

/* Their lines come from another core. They come together, where one by one each message would wait
 * for one. */
static inline void clear_ahead(struct ftc_cells *cells)
{
    uint64_t end = cells->returned + cells->count - 1, ahead = cells->position + CLEARED_AHEAD;

    if (cells->cleared <= cells->position + 1)
        clear_to(cells, ahead < end ? ahead : end);
}

/* `shown` are the sizes that the consumer sees. Their sum is the same. */
static inline int put(struct ftc_cells *cells, struct ftc_cells_sizes sizes,
                      struct ftc_cells_sizes shown, const void *head, const void *value)
{
    size_t bytes = sizes.head + sizes.value;
    unsigned count = cells_of(bytes);
    int rc = ftc_cells_room(cells, bytes);

    if (rc == 0 && grow(cells))
        rc = ftc_cells_room(cells, bytes);
    if (rc != 1)
        return rc;
    struct ftc_cell *first = cell_at(cells, cells->position);
    clear_to(cells, cells->position + count);
    if (count == 1) {
        copy_few(first->bytes, head, sizes.head);
        copy_few(first->bytes + sizes.head, value, sizes.value);
    } else {
        size_t end = copy_in(cells, begin_of(cells), head, sizes.head);
        if (sizes.value > 0)
            copy_in(cells, end, value, sizes.value);
    }
    atomic_store_explicit(&first->mark,
                          mark_at(cells->position) | shown.value << SIZE_BITS | shown.head,
                          memory_order_release);
    cells->position += count;
    clear_ahead(cells);
    return 1;
}

FTC_HOT int ftc_cells_write(struct ftc_cells *cells, struct ftc_cells_sizes sizes, const void *head,
                            const void *value)
{
    return put(cells, sizes, sizes, head, value);
}

FTC_HOT int ftc_cells_write_head(struct ftc_cells *cells, struct ftc_cells_sizes pieces,
                                 const void *first, const void *second)
{
    struct ftc_cells_sizes shown = {pieces.head + pieces.value, 0};

    return put(cells, pieces, shown, first, second);
}

bool ftc_cells_starve(struct ftc_cells *cells, size_t bytes)
{
    atomic_store_explicit(&cells->shared->starved, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    if (ftc_cells_room(cells, bytes) == 0)
        return false;
    /* Also if the word is damaged, because the next write reports that. */
    atomic_store_explicit(&cells->shared->starved, 0, memory_order_relaxed);
    return true;
}

/* --- the consumer --- */

static uint64_t read_mark(const struct ftc_cells *cells)
{
    return atomic_load_explicit(&cell_at(cells, cells->position)->mark, memory_order_acquire);
}

FTC_HOT int ftc_cells_look(struct ftc_cells *cells, struct ftc_cells_sizes *sizes)
{
    uint64_t due = mark_at(cells->position);
    uint64_t mark = read_mark(cells);

    if (mark == (due | GROWN) && cells->count == FTC_CELLS) {
        use_many(cells);
        mark = read_mark(cells);
    }
    if (mark >> SIZES != due >> SIZES)
        return mark == 0 ? 0 : damaged(cells, "the mark", mark);
    sizes->head = mark & SIZE_MASK;
    sizes->value = mark >> SIZE_BITS & SIZE_MASK;
    if (sizes->head + sizes->value > FTC_CELLS_MOST || (sizes->head == 0 && sizes->value > 0))
        return damaged(cells, "the mark", mark);
    return 1;
}

/* As copy_in(). */
static inline size_t copy_out(const struct ftc_cells *cells, size_t at, void *bytes, size_t size)
{
    const unsigned char *area = (const unsigned char *)cells->cell;
    size_t area_size = (size_t)cells->count * FTC_CELL_LINE;
    size_t first = size < area_size - at ? size : area_size - at;

    memcpy(bytes, area + at, first);
    if (first == size)
        return at + size;
    memcpy((unsigned char *)bytes + first, area, size - first);
    return size - first;
}

/* Gives back what was read, if it is a group. */
static bool give_back(struct ftc_cells *cells)
{
    if (cells->position - cells->returned < GROUP(cells->count))
        return false;
    cells->returned = cells->position;
    atomic_store_explicit(&cells->shared->returned, cells->position, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&cells->shared->starved, memory_order_relaxed) != 0 &&
           atomic_exchange_explicit(&cells->shared->starved, 0, memory_order_relaxed) != 0;
}

FTC_HOT bool ftc_cells_read(struct ftc_cells *cells, struct ftc_cells_sizes sizes, void *head,
                            void *value)
{
    unsigned count = cells_of(sizes.head + sizes.value);

    if (count == 1) {
        const unsigned char *bytes = cell_at(cells, cells->position)->bytes;
        copy_few(head, bytes, sizes.head);
        copy_few(value, bytes + sizes.head, sizes.value);
    } else {
        size_t end = copy_out(cells, begin_of(cells), head, sizes.head);
        if (sizes.value > 0)
            copy_out(cells, end, value, sizes.value);
    }
    cells->position += count;
    return give_back(cells);
}
