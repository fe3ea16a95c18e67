/*
 * Allreduce, reduce, reduce_scatter and broadcast over two levels. The ranks of a node share
 * memory, and each of them works on a part of the value: it combines this part of all inputs of the
 * node. Then a ring between the nodes combines the parts of each column (grid.h): rank j of each
 * node takes part in the ring of part j. So a node sends what one rank would send, and all of its
 * ranks work. Ranks that share no memory are rows of one place each.
 *
 * A part is cut into blocks, and each block has a *home*, the row that has its result first. On its
 * first round the block travels home, and each node adds its inputs. On the second one the result
 * is spread. An allreduce has both rounds. A reduce has the first, with the row of the root as home
 * of all blocks, and so has a reduce_scatter, where the blocks of a slice go home to the row of its
 * rank. A broadcast has the second, from the row of the root on. N is the number of nodes and l the
 * bytes of the value; a message costs alpha, sending a byte beta, and combining a byte gamma. The
 * ways of blocks (ring_plan.c):
 *
 * - On a ring a block begins right of its home, and goes round once or twice. With N blocks an
 *   allreduce takes 2 (N-1) alpha + 2 (N-1)/N l beta + (N-1)/N l gamma (Patarasuk, Yuan 2009), and
 *   a reduce_scatter half of the first two terms. A link carries each byte at most twice, or once,
 *   whatever N is. Reduces and broadcasts are pipelined chains.
 * - If N is a power of two, the blocks of an allreduce go on binomial trees: at step i, a row that
 *   differs from the home first in bit i from the left passes its sum to the row that has this bit
 *   as the home has it. All blocks together are recursive halving and doubling (Thakur,
 *   Rabenseifner, Gropp 2005, section 4.5): 2 log2(N) alpha in place of 2 (N-1) alpha.
 *
 * Each block is combined along one way and in one order only, so all ranks get the same bits.
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

static int send_on(struct ftc_ring_reduce *ring, uint32_t b, struct ftc_large_hop to,
                   const struct ftc_value *value)
{
    return ftc_large_put(&ring->base, ring->grid.first[to.row] + ring->grid.column,
                         (struct ftc_large_tag){.block = b, .hop = to.hop}, value);
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

static int spread(struct ftc_ring_reduce *ring, uint32_t b, const struct ftc_value *value)
{
    const struct ftc_large_ring_block *block = &ring->block[b];
    int rows = ftc_large_ring_spreads(ring, block), rc = FTC_SUCCESS;

    for (int i = 0; i < rows && rc == FTC_SUCCESS; i++)
        rc = send_on(ring, b, ftc_large_ring_spread(ring, block, i), value);
    return rc;
}

/* The sum of the block has all that comes to this rank on the first round. */
static int pass(struct ftc_ring_reduce *ring, uint32_t b)
{
    struct ftc_large_ring_block *block = &ring->block[b];
    struct ftc_large_hop to = ftc_large_ring_pass(ring, block);
    int rc = FTC_SUCCESS;

    if (to.row >= 0) {
        rc = send_on(ring, b, to, &block->sum);
    } else {
        if (ring->reduces)
            rc = keep(ring, block, &block->sum);
        if (rc == FTC_SUCCESS)
            rc = spread(ring, b, &block->sum);
    }
    ftc_value_drop(&block->sum);
    return rc;
}

/* The block begins here: its sum is that of the inputs of this row, or the input of the root. */
static int begin_block(struct ftc_ring_reduce *ring, uint32_t b)
{
    struct ftc_large_ring_block *block = &ring->block[b];
    int first = ring->reduces ? 0 : ring->root - ring->grid.first[ring->grid.row];
    int rc = ftc_large_copy(&ring->base, ftc_large_ring_input(ring, first) + block->offset,
                            block->size, &block->sum);

    if (rc != FTC_SUCCESS)
        return rc;
    if (ring->reduces)
        combine(ring, block, 1, block->sum.buffer->data);
    return pass(ring, b);
}

/* --- in --- */

static struct ftc_value *early(struct ftc_ring_reduce *ring, uint32_t b, int step)
{
    return &ring->early[(size_t)b * (size_t)ftc_large_ring_steps(ring) + (size_t)step];
}

/* The inputs of this row are there. Combines the messages of the first round of a block that have
 * come, each when those before it have. */
static int gather(struct ftc_ring_reduce *ring, uint32_t b)
{
    const struct ftc_call *call = ring->base.set.call;
    struct ftc_large_ring_block *block = &ring->block[b];
    int count = ftc_large_ring_gathers(ring, block);

    while (block->gathered < count) {
        struct ftc_value *next = early(ring, b, block->gathered);
        if (next->buffer == NULL)
            return FTC_SUCCESS;
        if (block->gathered == 0) {
            combine(ring, block, 0, ftc_value_bytes(next));
            ftc_value_set(&block->sum, next);
        } else {
            call->combine(call->combine_arg, ftc_value_bytes(next), ftc_value_bytes(&block->sum),
                          block->size);
        }
        ftc_value_drop(next);
        block->gathered++;
        ring->missing--;
    }
    return pass(ring, b);
}

static int take_result(struct ftc_ring_reduce *ring, uint32_t b, const struct ftc_value *value)
{
    int rc = keep(ring, &ring->block[b], value);

    ring->missing--;
    return rc == FTC_SUCCESS ? spread(ring, b, value) : rc;
}

/* Does the block begin here? In a broadcast that is its second round. */
static bool begins_here(const struct ftc_ring_reduce *ring,
                        const struct ftc_large_ring_block *block)
{
    return ring->reduces ? ftc_large_ring_gathers(ring, block) == 0 : block->home == ring->grid.row;
}

/* All inputs that this rank needs of its row are there. */
static int begin_ring(struct ftc_ring_reduce *ring)
{
    bool early = FTC_LARGE_MUTATED(READY_EARLY) && ftc_large_ring_shares_result(ring);
    int rc = early ? say_ready(ring) : FTC_SUCCESS;

    for (uint32_t b = 0; b < ring->blocks && rc == FTC_SUCCESS; b++)
        if (begins_here(ring, &ring->block[b]))
            rc = begin_block(ring, b);
        else if (ring->reduces)
            rc = gather(ring, b);
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

static int place_in(const struct ftc_ring_reduce *ring, int row)
{
    return ring->grid.first[row] + ring->grid.column;
}

static bool is_hop(const struct ftc_ring_reduce *ring, struct ftc_large_hop hop, int from,
                   uint32_t number)
{
    return hop.row >= 0 && place_in(ring, hop.row) == from && hop.hop == number;
}

/* The step of the first round whose message this is; -1: it is none that is still to come. */
static int step_of(struct ftc_ring_reduce *ring, int from, const struct ftc_large_tag *tag)
{
    const struct ftc_large_ring_block *block = &ring->block[tag->block];
    int count = ftc_large_ring_gathers(ring, block);

    for (int i = block->gathered; i < count; i++)
        if (early(ring, tag->block, i)->buffer == NULL &&
            is_hop(ring, ftc_large_ring_gather(ring, block, i), from, tag->hop))
            return i;
    return -1;
}

static int take_block(struct ftc_ring_reduce *ring, int from, const struct ftc_large_tag *tag,
                      const struct ftc_value *value)
{
    struct ftc_large_ring_block *block = &ring->block[tag->block];
    bool ready = ring->unposted == 0 || FTC_LARGE_MUTATED(UNPOSTED);

    bool passed = ready && block->gathered == ftc_large_ring_gathers(ring, block);

    if (passed && !block->whole && is_hop(ring, ftc_large_ring_result(ring, block), from, tag->hop))
        return take_result(ring, tag->block, value);
    int step = step_of(ring, from, tag);
    if (step < 0)
        return ftc_large_unawaited(from, tag, value);
    ftc_value_set(early(ring, tag->block, step), value);
    return ready ? gather(ring, tag->block) : FTC_SUCCESS;
}

static bool is_block(const struct ftc_ring_reduce *ring, const struct ftc_large_tag *tag,
                     const struct ftc_value *value)
{
    return ftc_large_ring_has_column(ring) && tag->block < ring->blocks && value->buffer != NULL &&
           value->size == ring->block[tag->block].size;
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
    return is_block(ring, tag, value) ? take_block(ring, from, tag, value)
                                      : ftc_large_unawaited(from, tag, value);
}

static bool whole(const struct ftc_large_exchange *exchange)
{
    const struct ftc_ring_reduce *ring = ring_of(exchange);
    return ring->missing == 0 && ring->unposted == 0 && ring->unready == 0;
}

/* The row from which the first block that is not complete will come. */
static int awaited_row(const struct ftc_ring_reduce *ring)
{
    uint32_t b = 0;

    for (;; b++) {
        const struct ftc_large_ring_block *block = &ring->block[b];
        struct ftc_large_hop result = ftc_large_ring_result(ring, block);
        if (block->gathered < ftc_large_ring_gathers(ring, block))
            return ftc_large_ring_gather(ring, block, block->gathered).row;
        if (result.row >= 0 && !block->whole)
            return result.row;
    }
}

/* The first rank of this row that has not posted; or a rank from which a block will come; or the
 * first one of this row whose part is not ready. */
static int awaited(const struct ftc_large_exchange *exchange)
{
    const struct ftc_ring_reduce *ring = ring_of(exchange);
    int member = 0;

    if (ring->unposted == 0 && ring->missing > 0)
        return place_in(ring, awaited_row(ring));
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
