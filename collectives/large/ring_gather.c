/*
 * Allgather over two levels. Each contribution, cut into blocks, travels from its node to the
 * right, past all other nodes. A node of c columns (grid.h) takes part in c rings: the ring of
 * column j carries the contributions of the members j, j + c, ... of each row. So each byte comes
 * to a node once, and all ranks of the node work. Ranks that share no memory are rows of one place
 * each, and there is one ring of all. With N rows and l bytes of each row it takes (N-1) alpha +
 * (N-1) l beta (Thakur, Rabenseifner, Gropp 2005, "ring algorithm"), and somewhat more if
 * contributions differ in size.
 *
 * In a node (docs/design/nodes.md, "Large values") a rank writes its contribution into its area,
 * and behind it the contributions that its ring brings. When one is complete there, the rank says
 * so (HOP_READY). Nobody copies it before the attempt is committed: the next attempt writes into
 * the other half of the area.
 *
 * A tag of a block has its number, in `hop` the place of the contribution, and in `size` the bytes
 * of all the contribution, since only its rank knows them. A tag of HOP_READY has the place in
 * `block`, and the size.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collectives/large/grid.h"
#include "collectives/large/internal.h"
#include "collectives/large/mutation.h"
#include "include/ftcoll.h"

#define HOP_READY ((uint32_t)INT32_MAX)
#define ALIGNMENT ((size_t)64) /* of a contribution in an area */

struct ftc_ring_gather {
    struct ftc_large_exchange base;
    struct ftc_large_grid grid;
    /* Of column c, before[c * (rows + 1) + r] contributions of the rows before r come to this node:
     * those of its own row do not. NULL: this row shares no memory. */
    int *before;
    int missing;                    /* contributions that are not all here */
    struct ftc_large_blocks from[]; /* the contribution of each place but this one */
};

/* --- who carries what --- */

static bool in_row(const struct ftc_ring_gather *ring, int place)
{
    return place >= ring->grid.first[ring->grid.row] &&
           place < ring->grid.first[ring->grid.row + 1];
}

/* The column in whose ring a contribution travels. */
static int column_of(const struct ftc_ring_gather *ring, int place)
{
    int row = ftc_large_grid_row_of(&ring->grid, place);
    return (place - ring->grid.first[row]) % ring->grid.columns;
}

/* Does the contribution come to this rank by its ring, or go out from here? */
static bool carries(const struct ftc_ring_gather *ring, int place)
{
    return column_of(ring, place) == ring->grid.column;
}

/* The place of this column in the next row, or in the one before. */
static int neighbour(const struct ftc_ring_gather *ring, int step)
{
    const struct ftc_large_grid *grid = &ring->grid;
    return grid->first[(grid->row + step + grid->rows) % grid->rows] + grid->column;
}

/* --- areas --- */

static size_t slot_size(const struct ftc_ring_gather *ring)
{
    size_t size = ring->base.set.call->signature.size;
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Bytes of half an area that a rank uses at most. It is the same number at all ranks. The ring of
 * column 0 has the most contributions. */
static size_t area_size(const struct ftc_ring_gather *ring)
{
    const struct ftc_large_grid *grid = &ring->grid;
    size_t slots = 0;

    for (int row = 0; row < grid->rows; row++)
        slots += (size_t)((grid->first[row + 1] - grid->first[row] - 1) / grid->columns + 1);
    return slots * slot_size(ring);
}

static int count_before(struct ftc_ring_gather *ring)
{
    const struct ftc_large_grid *grid = &ring->grid;
    int *before = calloc((size_t)grid->columns * ((size_t)grid->rows + 1), sizeof(*before));

    ring->before = before;
    if (before == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a large value among %d ranks",
                             ring->base.set.places);
    for (int column = 0; column < grid->columns; column++, before += grid->rows + 1)
        for (int row = 0; row < grid->rows; row++) {
            int members = grid->first[row + 1] - grid->first[row];
            before[row + 1] =
                before[row] + (row == grid->row ? 0 : (members - 1 - column) / grid->columns + 1);
        }
    return FTC_SUCCESS;
}

/* Both halves at once, so that no later attempt fails for lack of memory. */
static int reserve_halves(const struct ftc_ring_gather *ring)
{
    const struct ftc_large_nodes *nodes = ring->base.set.nodes;
    const struct ftc_large_grid *grid = &ring->grid;
    int others = grid->column < grid->columns
                     ? ring->before[grid->column * (grid->rows + 1) + grid->rows]
                     : 0;

    return ftc_large_reserve_halves(nodes, ((size_t)others + 1) * slot_size(ring));
}

/* Where the contribution of a place lies in the area of the member of this row that has it: its own
 * one first, and then those of other rows, in the order of places. */
static unsigned char *slot(const struct ftc_ring_gather *ring, int member, int place)
{
    const struct ftc_large_exchange_settings *set = &ring->base.set;
    const struct ftc_large_grid *grid = &ring->grid;
    int row = ftc_large_grid_row_of(grid, place), number = 0;

    if (row != grid->row)
        number = 1 + ring->before[member * (grid->rows + 1) + row] +
                 (place - grid->first[row]) / grid->columns;
    return ftc_large_half(set, grid->first[grid->row] + member) + (size_t)number * slot_size(ring);
}

/* --- life --- */

/* Contributions that do not fit into the areas go round a ring of all places. */
static int open_grid(struct ftc_ring_gather *ring)
{
    const struct ftc_large_exchange_settings *set = &ring->base.set;
    int rc = ftc_large_grid_open(&ring->grid, set, false);

    if (rc != FTC_SUCCESS || ring->grid.rows == set->places)
        return rc;
    if (area_size(ring) > set->nodes->apart)
        return ftc_large_grid_open(&ring->grid, set, true);
    if (ring->grid.members > 1)
        rc = count_before(ring);
    return rc == FTC_SUCCESS && ring->before != NULL ? reserve_halves(ring) : rc;
}

static int create(struct ftc_large_exchange **out,
                  const struct ftc_large_exchange_settings *settings)
{
    struct ftc_ring_gather *ring = ftc_large_exchange_new(
        sizeof(*ring) + (size_t)settings->places * sizeof(ring->from[0]), settings);

    if (ring == NULL)
        return FTC_ERR_NOMEM;
    ring->missing = settings->places - 1;
    *out = &ring->base;
    return open_grid(ring);
}

static void destroy(struct ftc_large_exchange *exchange)
{
    struct ftc_ring_gather *ring = (struct ftc_ring_gather *)exchange;

    for (int place = 0; place < exchange->set.places; place++)
        ftc_large_blocks_close(&ring->from[place]);
    free(ring->before);
    ftc_large_grid_close(&ring->grid);
}

/* --- out --- */

/* Sends a contribution of this row to the right. */
static int send_out(struct ftc_ring_gather *ring, int place, const void *bytes, size_t size)
{
    struct ftc_large_exchange *exchange = &ring->base;
    size_t most = exchange->set.block_most;
    uint32_t blocks = ftc_large_blocks_count(size, most);
    struct ftc_value all = {0};

    if (ring->grid.rows == 1)
        return FTC_SUCCESS;
    int rc = ftc_large_lend(exchange, bytes, size, &all);
    for (uint32_t b = 0; b < blocks && rc == FTC_SUCCESS; b++) {
        size_t offset = (size_t)b * most;
        struct ftc_value block = {.buffer = all.buffer,
                                  .offset = offset,
                                  .size = size - offset < most ? size - offset : most};
        struct ftc_large_tag tag = {.block = b, .hop = (uint32_t)place, .size = size};
        rc = ftc_large_put(exchange, neighbour(ring, 1), tag, &block);
    }
    ftc_value_drop(&all);
    return rc;
}

/* Tells the others of this row that a contribution is in the area of this rank. */
static int say_ready(struct ftc_ring_gather *ring, int place, size_t size)
{
    static const struct ftc_value nothing;
    const struct ftc_large_tag tag = {.block = (uint32_t)place, .hop = HOP_READY, .size = size};
    const int *first = &ring->grid.first[ring->grid.row];
    int rc = FTC_SUCCESS;

    for (int to = first[0]; to < first[1] && rc == FTC_SUCCESS; to++)
        if (to != ring->base.set.self)
            rc = ftc_large_put(&ring->base, to, tag, &nothing);
    return rc;
}

static int start(struct ftc_large_exchange *exchange)
{
    struct ftc_ring_gather *ring = (struct ftc_ring_gather *)exchange;
    const struct ftc_call *call = exchange->set.call;
    int self = exchange->set.self, rc = FTC_SUCCESS;

    if (ring->grid.column < ring->grid.columns)
        rc = send_out(ring, self, call->input, call->input_size);
    if (rc != FTC_SUCCESS || ring->grid.members == 1)
        return rc;
    if (call->input_size > 0)
        memcpy(slot(ring, ring->grid.column, self), call->input, call->input_size);
    return say_ready(ring, self, call->input_size);
}

/* --- in --- */

/* Can the contribution be of this size? That is so if its size is known already, too. */
static int open(struct ftc_ring_gather *ring, int from, const struct ftc_large_tag *tag,
                const struct ftc_value *value)
{
    const struct ftc_large_exchange_settings *set = &ring->base.set;
    bool known = tag->hop < (uint32_t)set->places && !in_row(ring, (int)tag->hop) &&
                 carries(ring, (int)tag->hop);

    if (!known || tag->size > set->call->signature.size)
        return ftc_large_unawaited(from, tag, value);
    struct ftc_large_blocks *blocks = &ring->from[tag->hop];
    if (blocks->count > 0)
        return blocks->size == tag->size ? 0 : ftc_large_unawaited(from, tag, value);
    if (ring->grid.members > 1)
        blocks->memory = slot(ring, ring->grid.column, (int)tag->hop);
    return ftc_large_blocks_open(blocks, (size_t)tag->size, set->block_most);
}

static int take_block(struct ftc_ring_gather *ring, int from, const struct ftc_large_tag *tag,
                      const struct ftc_value *value)
{
    if (ring->grid.column >= ring->grid.columns || from != neighbour(ring, -1))
        return ftc_large_unawaited(from, tag, value);
    int rc = open(ring, from, tag, value), right = neighbour(ring, 1), place = (int)tag->hop;
    if (rc != 0)
        return rc;
    struct ftc_large_blocks *blocks = &ring->from[place];
    if (!ftc_large_blocks_add(blocks, tag->block, value))
        return ftc_large_unawaited(from, tag, value);
    bool complete = ftc_large_blocks_complete(blocks);
    bool tells = FTC_LARGE_MUTATED(READY_EARLY) ? tag->block == 0 : complete;
    ring->missing -= complete;
    if (ftc_large_grid_row_of(&ring->grid, place) != ftc_large_grid_row_of(&ring->grid, right))
        rc = ftc_large_put(&ring->base, right, *tag, value);
    return rc == FTC_SUCCESS && tells && ring->grid.members > 1
               ? say_ready(ring, place, blocks->size)
               : rc;
}

/* A member of this row has a contribution in its area. One without a column has nobody else to send
 * it out. */
static int take_ready(struct ftc_ring_gather *ring, int from, const struct ftc_large_tag *tag,
                      const struct ftc_value *value)
{
    int place = (int)tag->block, member = from - ring->grid.first[ring->grid.row];
    bool possible = in_row(ring, from) && tag->block < (uint32_t)ring->base.set.places &&
                    (place == from || (!in_row(ring, place) && column_of(ring, place) == member)) &&
                    tag->size <= ring->base.set.call->signature.size;

    if (!possible || ring->from[place].count > 0 || value->size > 0)
        return ftc_large_unawaited(from, tag, value);
    ring->from[place] = (struct ftc_large_blocks){
        .size = (size_t)tag->size, .count = 1, .memory = slot(ring, member, place)};
    ring->missing--;
    bool sends = place == from && member >= ring->grid.columns && carries(ring, place);
    return sends ? send_out(ring, place, ring->from[place].memory, (size_t)tag->size) : FTC_SUCCESS;
}

static int receive(struct ftc_large_exchange *exchange, int from, const struct ftc_large_tag *tag,
                   const struct ftc_value *value)
{
    struct ftc_ring_gather *ring = (struct ftc_ring_gather *)exchange;

    return tag->hop == HOP_READY ? take_ready(ring, from, tag, value)
                                 : take_block(ring, from, tag, value);
}

static bool whole(const struct ftc_large_exchange *exchange)
{
    return ((const struct ftc_ring_gather *)exchange)->missing == 0;
}

/* The place from which the first contribution will come that is not here. */
static int awaited(const struct ftc_large_exchange *exchange)
{
    const struct ftc_ring_gather *ring = (const struct ftc_ring_gather *)exchange;
    int place = 0;

    while (place == exchange->set.self || ftc_large_blocks_complete(&ring->from[place]))
        place++;
    if (in_row(ring, place))
        return place;
    return carries(ring, place) ? neighbour(ring, -1)
                                : ring->grid.first[ring->grid.row] + column_of(ring, place);
}

static void finish(const struct ftc_large_exchange *exchange, const struct ftc_set *failed,
                   void *to)
{
    const struct ftc_ring_gather *ring = (const struct ftc_ring_gather *)exchange;

    ftc_large_take_all(exchange, failed, ring->from, to);
}

const struct ftc_large_exchange_ops ftc_ring_gather_ops = {.create = create,
                                                           .destroy = destroy,
                                                           .start = start,
                                                           .receive = receive,
                                                           .whole = whole,
                                                           .awaited = awaited,
                                                           .finish = finish};
