/* The blocks of rings, and the areas of a node. */
#include "collectives/large/ring_plan.h"

#include <stdlib.h>

#include "base/error.h"

#define ALIGNMENT ((size_t)64) /* of a result in an area */

/* --- the way of a block --- */

/* On a ring: how many rows this one is behind the row that is right of the home of the block. */
static int behind(const struct ftc_ring_reduce *ring, const struct ftc_large_ring_block *block)
{
    int rows = ring->grid.rows;
    return (ring->grid.row - block->home - 1 + 2 * rows) % rows;
}

static int last_row(const struct ftc_ring_reduce *ring)
{
    return ring->grid.rows - 1;
}

static struct ftc_large_hop left(const struct ftc_ring_reduce *ring, int hop)
{
    return (struct ftc_large_hop){ring->grid.row > 0 ? ring->grid.row - 1 : last_row(ring),
                                  (uint32_t)hop};
}

static struct ftc_large_hop right(const struct ftc_ring_reduce *ring, int hop)
{
    return (struct ftc_large_hop){ring->grid.row < last_row(ring) ? ring->grid.row + 1 : 0,
                                  (uint32_t)hop};
}

/* On a tree: the first step, from the highest bit of a row's number on, in which this row and the
 * home of the block differ. ring->steps: in none. */
static int depth(const struct ftc_ring_reduce *ring, const struct ftc_large_ring_block *block)
{
    unsigned differs = (unsigned)(ring->grid.row ^ block->home);
    int step = 0;

    while (step < ring->steps && (differs >> (ring->steps - 1 - step) & 1) == 0)
        step++;
    return step;
}

static struct ftc_large_hop across(const struct ftc_ring_reduce *ring, int step, int hop)
{
    return (struct ftc_large_hop){ring->grid.row ^ 1 << (ring->steps - 1 - step), (uint32_t)hop};
}

static const struct ftc_large_hop none = {.row = -1};

int ftc_large_ring_gathers(const struct ftc_ring_reduce *ring,
                           const struct ftc_large_ring_block *block)
{
    if (!ring->reduces)
        return 0;
    return ring->steps > 0 ? depth(ring, block) : behind(ring, block) > 0;
}

struct ftc_large_hop ftc_large_ring_gather(const struct ftc_ring_reduce *ring,
                                           const struct ftc_large_ring_block *block, int i)
{
    return ring->steps > 0 ? across(ring, i, i) : left(ring, behind(ring, block) - 1);
}

struct ftc_large_hop ftc_large_ring_pass(const struct ftc_ring_reduce *ring,
                                         const struct ftc_large_ring_block *block)
{
    if (!ring->reduces || ring->grid.row == block->home)
        return none;
    if (ring->steps > 0)
        return across(ring, depth(ring, block), depth(ring, block));
    return right(ring, behind(ring, block));
}

struct ftc_large_hop ftc_large_ring_result(const struct ftc_ring_reduce *ring,
                                           const struct ftc_large_ring_block *block)
{
    if (!ring->spreads || ring->grid.row == block->home)
        return none;
    if (ring->steps > 0)
        return across(ring, depth(ring, block), 2 * ring->steps - 1 - depth(ring, block));
    return left(ring, last_row(ring) + behind(ring, block));
}

int ftc_large_ring_spreads(const struct ftc_ring_reduce *ring,
                           const struct ftc_large_ring_block *block)
{
    if (!ring->spreads)
        return 0;
    if (ring->steps > 0)
        return depth(ring, block);
    return last_row(ring) > 0 && behind(ring, block) != last_row(ring) - 1;
}

struct ftc_large_hop ftc_large_ring_spread(const struct ftc_ring_reduce *ring,
                                           const struct ftc_large_ring_block *block, int i)
{
    if (ring->steps > 0) {
        int step = depth(ring, block) - 1 - i;
        return across(ring, step, 2 * ring->steps - 1 - step);
    }
    bool home = ring->grid.row == block->home;
    return right(ring, last_row(ring) + (home ? 0 : behind(ring, block) + 1));
}

/* --- blocks --- */

static bool scatters(const struct ftc_ring_reduce *ring)
{
    return ring->reduces && !ring->spreads && ring->root < 0;
}

/* Does the rings' result of the block come to this rank? In a broadcast the row of the root has it
 * before. */
static bool gets(const struct ftc_ring_reduce *ring, const struct ftc_large_ring_block *block)
{
    return ring->grid.row == block->home ? ring->reduces : ring->spreads;
}

static int add_block(struct ftc_ring_reduce *ring, size_t offset, size_t size, int home)
{
    size_t room = ring->blocks == 0 ? 8 : 2 * (size_t)ring->blocks;

    if (ring->blocks == 0 || (ring->blocks >= 8 && (ring->blocks & (ring->blocks - 1)) == 0)) {
        struct ftc_large_ring_block *grown = realloc(ring->block, room * sizeof(*grown));
        if (grown == NULL)
            return ftc_error_set(FTC_ERR_NOMEM, "no memory for a large value of %u blocks",
                                 ring->blocks);
        ring->block = grown;
    }
    struct ftc_large_ring_block *block = &ring->block[ring->blocks++];
    *block = (struct ftc_large_ring_block){.offset = offset, .size = size, .home = home};
    ring->left += gets(ring, block);
    ring->missing += (uint64_t)ftc_large_ring_gathers(ring, block);
    ring->missing += ftc_large_ring_result(ring, block).row >= 0;
    return FTC_SUCCESS;
}

/* There is one block for each row. There are fewer if blocks would become too small, and more if
 * they would become too large. */
static uint64_t count_blocks(const struct ftc_ring_reduce *ring, size_t size)
{
    const struct ftc_large_exchange_settings *set = &ring->base.set;
    uint64_t rows = (uint64_t)ring->grid.rows, most = size / set->block_least;
    uint64_t least = (size + set->block_most - 1) / set->block_most;
    uint64_t blocks = most < rows ? most : rows;

    blocks = blocks < least ? least : blocks;
    blocks = blocks > size / set->element ? size / set->element : blocks;
    return blocks > 0 ? blocks : 1;
}

/* Share `index` of `shares` of some bytes, in whole elements. */
static void share_of(const struct ftc_ring_reduce *ring, size_t bytes, uint64_t shares,
                     uint64_t index, size_t *offset, size_t *size)
{
    size_t element = ring->base.set.element, elements = bytes / element;
    size_t each = elements / shares, more = elements % shares;

    *offset = (each * index + (index < more ? index : more)) * element;
    *size = (each + (index < more)) * element;
}

void ftc_large_ring_part(const struct ftc_ring_reduce *ring, int column, size_t *offset,
                         size_t *size)
{
    share_of(ring, ring->base.set.call->signature.size, (uint64_t)ring->grid.columns,
             (uint64_t)column, offset, size);
}

/* The part of this column, where it is not scattered. */
static int plan_part(struct ftc_ring_reduce *ring)
{
    size_t from, all, offset, size;
    int rc = FTC_SUCCESS;

    ftc_large_ring_part(ring, ring->grid.column, &from, &all);
    uint64_t blocks = count_blocks(ring, all);
    for (uint64_t b = 0; b < blocks && rc == FTC_SUCCESS; b++) {
        share_of(ring, all, blocks, b, &offset, &size);
        int home = (int)(b * (uint64_t)ring->grid.rows / blocks);
        rc = add_block(ring, from + offset, size, ring->root >= 0 ? ring->root_row : home);
    }
    return rc;
}

/* The slice of the place of this column in a row, in a reduce_scatter. */
static int plan_slice(struct ftc_ring_reduce *ring, int row)
{
    const struct ftc_large_exchange_settings *set = &ring->base.set;
    size_t offset, size, most = ftc_large_block_size(set, set->block_most);
    int rc = FTC_SUCCESS;

    ftc_call_part(set->call, set->ranks, set->rank[ring->grid.first[row] + ring->grid.column],
                  &offset, &size);
    for (size_t at = 0; at < size && rc == FTC_SUCCESS; at += most)
        rc = add_block(ring, offset + at, size - at < most ? size - at : most, row);
    return rc;
}

static int plan(struct ftc_ring_reduce *ring)
{
    int rc = FTC_SUCCESS;

    if (!ftc_large_ring_has_column(ring))
        return rc;
    if (!scatters(ring))
        return plan_part(ring);
    for (int row = 0; row < ring->grid.rows && rc == FTC_SUCCESS; row++)
        rc = plan_slice(ring, row);
    return rc;
}

/* A tree has few steps, those of recursive halving and doubling. Each rank sends as many bytes as
 * on a ring. */
static int count_steps(const struct ftc_ring_reduce *ring)
{
    int steps = 0;

    while (1 << steps < ring->grid.rows)
        steps++;
    return ring->reduces && ring->spreads && 1 << steps == ring->grid.rows ? steps : 0;
}

static int make_early(struct ftc_ring_reduce *ring)
{
    size_t places = (size_t)ring->blocks * (size_t)ftc_large_ring_steps(ring);

    ring->early = calloc(places > 0 ? places : 1, sizeof(ring->early[0]));
    if (ring->early == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a large value of %u blocks",
                             ring->blocks);
    return FTC_SUCCESS;
}

/* --- areas --- */

size_t ftc_large_ring_result_offset(const struct ftc_ring_reduce *ring)
{
    return (ring->base.set.call->signature.size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Bytes of an area that a rank uses at most. It is the same number at all ranks. */
static size_t area_size(const struct ftc_ring_reduce *ring)
{
    size_t offset, part = 0;

    if (!scatters(ring))
        ftc_large_ring_part(ring, 0, &offset, &part);
    return ftc_large_ring_result_offset(ring) + part;
}

unsigned char *ftc_large_ring_area(const struct ftc_ring_reduce *ring, int member)
{
    return ftc_large_area(&ring->base.set, ring->grid.first[ring->grid.row] + member);
}

const unsigned char *ftc_large_ring_input(const struct ftc_ring_reduce *ring, int member)
{
    return member == ring->grid.column ? ring->base.set.call->input
                                       : ftc_large_ring_area(ring, member);
}

bool ftc_large_ring_shares_result(const struct ftc_ring_reduce *ring)
{
    bool has_root = ring->root >= 0 && ring->root_row == ring->grid.row;

    if (ring->spreads)
        return ring->grid.members > 1 && !has_root;
    return has_root && ring->root != ring->base.set.self;
}

/* --- life --- */

/* Values that do not fit into the areas go round a ring of all places. So do the slices of a
 * reduce_scatter whose nodes have different numbers of ranks. */
static int open_grid(struct ftc_ring_reduce *ring)
{
    const struct ftc_large_exchange_settings *set = &ring->base.set;
    size_t elements = set->call->signature.size / set->element;
    int rc = ftc_large_grid_open(&ring->grid, set, false);

    if (rc != FTC_SUCCESS || ring->grid.rows == set->places)
        return rc;
    if (!scatters(ring) && elements < (size_t)ring->grid.columns)
        ring->grid.columns = (int)elements;
    if (area_size(ring) > set->nodes->room || (scatters(ring) && !ring->grid.even))
        return ftc_large_grid_open(&ring->grid, set, true);
    return ring->grid.members > 1 ? set->nodes->reserve(set->nodes->arg, 0, area_size(ring)) : rc;
}

static int set_kind(struct ftc_ring_reduce *ring)
{
    const struct ftc_signature *signature = &ring->base.set.call->signature;
    enum ftc_call_kind kind = (enum ftc_call_kind)signature->kind;

    ring->reduces = kind != FTC_CALL_BCAST;
    ring->spreads = kind == FTC_CALL_ALLREDUCE || kind == FTC_CALL_BCAST;
    ring->root = ftc_large_place_of(&ring->base.set, signature->root);
    if (signature->root >= 0 && ring->root < 0)
        return ftc_error_set(FTC_ERR_ARG, "root %d has no place in a large value",
                             (int)signature->root);
    return FTC_SUCCESS;
}

/* Nothing of a broadcast is written before it is committed: its root may fail. */
static void place_result(struct ftc_ring_reduce *ring)
{
    struct ftc_large_exchange_settings *set = &ring->base.set;

    if (scatters(ring))
        ftc_call_part(set->call, set->ranks, set->rank[set->self], &ring->own_offset,
                      &ring->own_size);
    else if (ring->root < 0 || (ring->root == set->self) == ring->reduces)
        ring->own_size = set->call->signature.size;
    if (ring->own_size == 0 || !ring->reduces)
        set->result = NULL;
}

static void count_row(struct ftc_ring_reduce *ring)
{
    bool has_root = ring->root >= 0 && ring->root_row == ring->grid.row;
    bool gets_parts = ring->own_size > 0 && !scatters(ring);

    if (ring->reduces)
        ring->unposted = ftc_large_ring_has_column(ring) ? ring->grid.members - 1 : 0;
    else
        ring->unposted = has_root && ring->root != ring->base.set.self;
    if (gets_parts && (ring->reduces || !has_root))
        ring->unready = ring->grid.columns - ftc_large_ring_has_column(ring);
}

int ftc_large_ring_create(struct ftc_large_exchange **out,
                          const struct ftc_large_exchange_settings *settings)
{
    struct ftc_ring_reduce *ring = ftc_large_exchange_new(
        sizeof(*ring) + (size_t)settings->places * sizeof(ring->mate[0]), settings);

    if (ring == NULL)
        return FTC_ERR_NOMEM;
    *out = &ring->base;
    int rc = set_kind(ring);
    if (rc == FTC_SUCCESS)
        rc = open_grid(ring);
    if (rc != FTC_SUCCESS)
        return rc;
    ring->root_row = ring->root < 0 ? -1 : ftc_large_grid_row_of(&ring->grid, ring->root);
    place_result(ring);
    ring->steps = count_steps(ring);
    count_row(ring);
    rc = plan(ring);
    return rc == FTC_SUCCESS ? make_early(ring) : rc;
}

void ftc_large_ring_destroy(struct ftc_large_exchange *exchange)
{
    struct ftc_ring_reduce *ring = (struct ftc_ring_reduce *)exchange;

    for (uint32_t b = 0; b < ring->blocks; b++) {
        ftc_value_drop(&ring->block[b].result);
        ftc_value_drop(&ring->block[b].sum);
        for (int i = 0; i < ftc_large_ring_steps(ring) && ring->early != NULL; i++)
            ftc_value_drop(&ring->early[(int)b * ftc_large_ring_steps(ring) + i]);
    }
    for (int place = 0; place < exchange->set.places; place++)
        ftc_value_drop(&ring->mate[place].copy);
    ftc_large_grid_close(&ring->grid);
    free(ring->early);
    free(ring->block);
}
