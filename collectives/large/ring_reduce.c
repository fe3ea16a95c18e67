/*
 * Allreduce, reduce, reduce_scatter and broadcast over two levels. The ranks of a node share
 * memory, and each of them works on a part of the value: it combines this part of all inputs of the
 * node. Then a ring between the nodes combines the parts of each column (grid.h): rank j of each
 * node takes part in the ring of part j. So a node sends what one rank would send, and all of its
 * ranks work. Ranks that share no memory are rows of one place each.
 *
 * A part is cut into blocks, and each block travels round its ring: on the first round each node
 * adds its inputs, on the second one the result is spread. An allreduce has both rounds. A reduce
 * has the first, which ends at the node of the root, and so has a reduce_scatter, whose slices end
 * at the nodes of their ranks. A broadcast has the second, from the node of the root on. N is the
 * number of nodes and l the bytes of the value; a message costs alpha, sending a byte beta, and
 * combining a byte gamma. With N blocks a ring of an allreduce takes (Patarasuk, Yuan 2009)
 *
 *   2 (N-1) alpha + 2 (N-1)/N l beta + (N-1)/N l gamma
 *
 * and a reduce_scatter half of the first two terms. A link carries each byte at most twice, or
 * once, whatever N is. The rings of reduces and broadcasts are pipelined chains.
 *
 * Block b of B of an allreduce begins at row s = floor(b N / B). Those of a slice of a
 * reduce_scatter begin at the row behind that of its rank, and all blocks of a call with a root at
 * the row behind the root's. Hop h of a block goes from row s + h to row s + h + 1 (modulo N). The
 * receiver of a hop below N-1 combines; the receiver of hop N-2 or a later one has the result. The
 * last hop is 2N-3, or N-2 where nothing is spread; that of a broadcast, whose first one is N-1, is
 * 2N-3. Each block is combined along one chain only, so all ranks get the same bits.
 *
 * In a node (docs/design/nodes.md, "Large values") a rank that gives an input writes it into its
 * area, and says so (HOP_POSTED). A rank begins with its part when all that it needs was posted. It
 * writes the result of its part behind its own input, and says so (HOP_READY); the others copy it.
 * An area is written again in another attempt only, when all have called the commit of this one.
 *
 * A tag has the number of the block, and its hop. A value is not copied on its way.
 */
#include <string.h>

#include "base/error.h"
#include "collectives/large/mutation.h"
#include "collectives/large/ring_plan.h"

enum { HOP_POSTED = INT32_MAX - 1, HOP_READY };

static const struct ftc_ring_reduce *ring_of(const struct ftc_large_exchange *exchange)
{
    return (const struct ftc_ring_reduce *)exchange;
}

/* --- out --- */

static int send_on(struct ftc_ring_reduce *ring, uint32_t b, uint32_t hop,
                   const struct ftc_value *value)
{
    int to = ring->grid.first[ftc_large_ring_row_behind(ring, ring->grid.row)] + ring->grid.column;

    return ftc_large_put(&ring->base, to, (struct ftc_large_tag){.block = b, .hop = hop}, value);
}

/* Says something to the first `members` of this row but itself. */
static int say(struct ftc_ring_reduce *ring, int members, uint32_t hop)
{
    static const struct ftc_value nothing;
    const struct ftc_large_tag tag = {.hop = hop};
    int rc = FTC_SUCCESS, first = ring->grid.first[ring->grid.row];

    for (int place = first; place < first + members && rc == FTC_SUCCESS; place++)
        if (place != ring->base.set.self)
            rc = ftc_large_put(&ring->base, place, tag, &nothing);
    return rc;
}

static int say_ready(struct ftc_ring_reduce *ring)
{
    static const struct ftc_value nothing;

    if (ring->spreads)
        return say(ring, ring->grid.members, HOP_READY);
    return ftc_large_put(&ring->base, ring->root, (struct ftc_large_tag){.hop = HOP_READY},
                         &nothing);
}

/* Keeps the result of a block. Writes it to the caller's memory while its bytes are in the
 * cache. */
static int keep(struct ftc_ring_reduce *ring, struct ftc_large_ring_block *block,
                const struct ftc_value *value)
{
    const void *bytes = ftc_value_bytes(value);
    bool shares = ftc_large_ring_shares_result(ring);
    size_t part, size;

    block->whole = true;
    ring->left--;
    if (shares) {
        ftc_large_ring_part(ring, ring->grid.column, &part, &size);
        memcpy(ftc_large_ring_area(ring, ring->grid.column) + ftc_large_ring_result_offset(ring) +
                   (block->offset - part),
               bytes, value->size);
    }
    if (ring->base.set.result != NULL)
        memcpy((unsigned char *)ring->base.set.result + (block->offset - ring->own_offset), bytes,
               value->size);
    else if (ring->own_size > 0)
        ftc_value_set(&block->result, value);
    return ring->left == 0 && shares && !FTC_LARGE_MUTATED(READY_EARLY) ? say_ready(ring)
                                                                        : FTC_SUCCESS;
}

/* Combines the inputs of this row from `member` on with the bytes of a block. */
static void combine(const struct ftc_ring_reduce *ring, const struct ftc_large_ring_block *block,
                    int member, void *bytes)
{
    const struct ftc_call *call = ring->base.set.call;

    for (; member < ring->grid.members; member++)
        call->combine(call->combine_arg, ftc_large_ring_input(ring, member) + block->offset, bytes,
                      block->size);
}

static int begin_block(struct ftc_ring_reduce *ring, uint32_t b)
{
    struct ftc_large_ring_block *block = &ring->block[b];
    int first = ring->reduces ? 0 : ring->root - ring->grid.first[ring->grid.row];
    struct ftc_value sum = {0};
    int rc = ftc_large_copy(&ring->base, ftc_large_ring_input(ring, first) + block->offset,
                            block->size, &sum);

    if (rc == FTC_SUCCESS && ring->reduces)
        combine(ring, block, 1, sum.buffer->data);
    if (rc == FTC_SUCCESS && ftc_large_ring_last(ring) > 0)
        rc = send_on(ring, b, ring->reduces ? 0 : ftc_large_ring_last(ring), &sum);
    else if (rc == FTC_SUCCESS && ring->reduces)
        rc = keep(ring, block, &sum);
    ftc_value_drop(&sum);
    return rc;
}

/* --- in --- */

/* Is this hop of the block, to this rank, still to come? */
static bool awaits(const struct ftc_ring_reduce *ring, const struct ftc_large_ring_block *block,
                   uint32_t hop)
{
    uint32_t behind = ftc_large_ring_distance(ring, block), last = ftc_large_ring_last(ring);

    if (!block->passed)
        return behind > 0 && hop == behind - 1 && block->early.buffer == NULL;
    return ring->spreads && behind < last && hop == last + behind && !block->whole;
}

static int take(struct ftc_ring_reduce *ring, uint32_t b, uint32_t hop,
                const struct ftc_value *value)
{
    uint32_t last = ftc_large_ring_last(ring); /* the distance of the last row that combines */
    struct ftc_large_ring_block *block = &ring->block[b];
    int rc = FTC_SUCCESS;

    block->passed = true;
    ring->missing--;
    if (hop < last)
        combine(ring, block, 0, ftc_value_bytes(value));
    if (hop + 1 >= last)
        rc = keep(ring, block, value);
    if (rc != FTC_SUCCESS || hop + 1 == (ring->spreads ? 2 * last : last))
        return rc;
    return send_on(ring, b, hop + 1, value);
}

/* Does the block begin here? In a broadcast that is its second round. */
static bool begins_here(const struct ftc_ring_reduce *ring,
                        const struct ftc_large_ring_block *block)
{
    return ring->reduces ? block->first == ring->grid.row : ring->root_row == ring->grid.row;
}

/* All inputs that this rank needs of its row are there. */
static int begin_ring(struct ftc_ring_reduce *ring)
{
    bool early = FTC_LARGE_MUTATED(READY_EARLY) && ftc_large_ring_shares_result(ring);
    int rc = early ? say_ready(ring) : FTC_SUCCESS;

    for (uint32_t b = 0; b < ring->blocks && rc == FTC_SUCCESS; b++)
        if (begins_here(ring, &ring->block[b]))
            rc = begin_block(ring, b);
    for (uint32_t b = 0; b < ring->blocks && rc == FTC_SUCCESS; b++) {
        struct ftc_large_ring_block *block = &ring->block[b];
        if (block->early.buffer != NULL)
            rc = take(ring, b, block->early_hop, &block->early);
        ftc_value_drop(&block->early);
    }
    return rc;
}

/* Writes the input of this rank where its row can read it. Those of the row that combine a part get
 * to know; or all, if they want the whole input. */
static int post(struct ftc_ring_reduce *ring)
{
    const struct ftc_call *call = ring->base.set.call;
    bool gives = ring->reduces || ring->root == ring->base.set.self;

    if (ring->grid.members == 1 || !gives)
        return FTC_SUCCESS;
    memcpy(ftc_large_ring_area(ring, ring->grid.column), call->input, call->signature.size);
    return say(ring, ring->reduces ? ring->grid.columns : ring->grid.members, HOP_POSTED);
}

static int start(struct ftc_large_exchange *exchange)
{
    struct ftc_ring_reduce *ring = (struct ftc_ring_reduce *)exchange;
    int rc = post(ring);

    if (rc == FTC_SUCCESS && (ring->unposted == 0 || FTC_LARGE_MUTATED(UNPOSTED)))
        rc = begin_ring(ring);
    return rc;
}

/* Copies bytes of an area that belong to the result of this rank. */
static int copy(struct ftc_ring_reduce *ring, int member, const unsigned char *bytes, size_t offset,
                size_t size)
{
    const struct ftc_large_exchange_settings *set = &ring->base.set;

    ring->mate[member].offset = offset;
    if (set->result == NULL)
        return ftc_large_copy(&ring->base, bytes, size, &ring->mate[member].copy);
    memcpy((unsigned char *)set->result + offset, bytes, size);
    return FTC_SUCCESS;
}

static int take_posted(struct ftc_ring_reduce *ring, int member)
{
    int rc = FTC_SUCCESS;

    ring->mate[member].posted = true;
    ring->unposted--;
    if (!ring->reduces)
        rc = copy(ring, member, ftc_large_ring_area(ring, member), 0,
                  ring->base.set.call->signature.size);
    if (rc != FTC_SUCCESS || ring->unposted > 0 || FTC_LARGE_MUTATED(UNPOSTED))
        return rc;
    return begin_ring(ring);
}

static int take_ready(struct ftc_ring_reduce *ring, int member)
{
    const unsigned char *result =
        ftc_large_ring_area(ring, member) + ftc_large_ring_result_offset(ring);
    size_t offset, size;

    ring->mate[member].ready = true;
    ring->unready--;
    ftc_large_ring_part(ring, member, &offset, &size);
    return copy(ring, member, result, offset, size);
}

/* The place in the column of this rank, in the row before this one. */
static int left_of(const struct ftc_ring_reduce *ring)
{
    int row = ring->grid.row > 0 ? ring->grid.row - 1 : ring->grid.rows - 1;
    return ring->grid.first[row] + ring->grid.column;
}

static bool expects_block(const struct ftc_ring_reduce *ring, int from,
                          const struct ftc_large_tag *tag, const struct ftc_value *value)
{
    return ftc_large_ring_has_column(ring) && from == left_of(ring) && tag->block < ring->blocks &&
           value->buffer != NULL && value->size == ring->block[tag->block].size &&
           awaits(ring, &ring->block[tag->block], tag->hop);
}

/* Does this rank wait for the input of a member of its row? */
static bool expects_posted(const struct ftc_ring_reduce *ring, int member)
{
    return ring->unposted > 0 && !ring->mate[member].posted &&
           (ring->reduces || ring->grid.first[ring->grid.row] + member == ring->root);
}

static bool expects_ready(const struct ftc_ring_reduce *ring, int member)
{
    return ring->unready > 0 && member < ring->grid.columns && !ring->mate[member].ready;
}

static int receive(struct ftc_large_exchange *exchange, int from, const struct ftc_large_tag *tag,
                   const struct ftc_value *value)
{
    struct ftc_ring_reduce *ring = (struct ftc_ring_reduce *)exchange;
    int member = from - ring->grid.first[ring->grid.row];
    bool mates = member >= 0 && member < ring->grid.members;

    if (tag->hop == HOP_POSTED && mates && expects_posted(ring, member))
        return take_posted(ring, member);
    if (tag->hop == HOP_READY && mates && expects_ready(ring, member))
        return take_ready(ring, member);
    if (!expects_block(ring, from, tag, value))
        return ftc_large_unawaited(from, tag, value);
    if (ring->unposted == 0 || FTC_LARGE_MUTATED(UNPOSTED))
        return take(ring, tag->block, tag->hop, value);
    ring->block[tag->block].early_hop = tag->hop;
    ftc_value_set(&ring->block[tag->block].early, value);
    return FTC_SUCCESS;
}

static bool whole(const struct ftc_large_exchange *exchange)
{
    const struct ftc_ring_reduce *ring = ring_of(exchange);
    return ring->missing == 0 && ring->unposted == 0 && ring->unready == 0;
}

/* The first rank of this row that has not posted; or the rank before it in its ring; or the first
 * one whose part is not ready. */
static int awaited(const struct ftc_large_exchange *exchange)
{
    const struct ftc_ring_reduce *ring = ring_of(exchange);
    int member = 0;

    if (ring->unposted == 0 && ring->missing > 0)
        return left_of(ring);
    while (member == ring->grid.column ||
           !(ring->unposted > 0 ? expects_posted(ring, member) : expects_ready(ring, member)))
        member++;
    return ring->grid.first[ring->grid.row] + member;
}

/* --- the result --- */

/* Copies what was kept because the caller gave no memory. */
static void copy_kept(const struct ftc_ring_reduce *ring, unsigned char *to)
{
    for (uint32_t b = 0; b < ring->blocks; b++) {
        const struct ftc_large_ring_block *block = &ring->block[b];
        if (block->result.buffer != NULL)
            memcpy(to + (block->offset - ring->own_offset), ftc_value_bytes(&block->result),
                   block->size);
    }
    for (int member = 0; member < ring->grid.members; member++) {
        const struct ftc_value *value = &ring->mate[member].copy;
        if (value->buffer != NULL)
            memcpy(to + ring->mate[member].offset, ftc_value_bytes(value), value->size);
    }
}

/* The input of a failed rank is in all results, or in none. */
static void finish(const struct ftc_large_exchange *exchange, const struct ftc_set *failed,
                   void *to)
{
    const struct ftc_ring_reduce *ring = ring_of(exchange);
    const struct ftc_large_exchange_settings *set = &exchange->set;

    (void)failed;
    if (ring->own_size == 0)
        return;
    if (set->places == 1)
        memmove(to, (const unsigned char *)set->call->input + ring->own_offset, ring->own_size);
    else if (set->result == NULL)
        copy_kept(ring, to);
    else if (to != set->result)
        memcpy(to, set->result, ring->own_size);
}

const struct ftc_large_exchange_ops ftc_ring_reduce_ops = {.create = ftc_large_ring_create,
                                                           .destroy = ftc_large_ring_destroy,
                                                           .start = start,
                                                           .receive = receive,
                                                           .whole = whole,
                                                           .awaited = awaited,
                                                           .finish = finish};
