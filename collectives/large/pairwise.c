/*
 * Gather, scatter and alltoall: each part goes straight from its sender to its receiver, block by
 * block. Each rank sends and receives the bytes of its own parts, and nothing else but heads. The
 * pairs of an alltoall are those of the pairwise exchange (Thakur, Rabenseifner, Gropp 2005): place
 * p receives from p-1, p-2, ... (modulo N) in this order, while p+1, p+2, ... receive from p. So in
 * each round every rank has another partner.
 *
 * Receivers ask. A receiver has at most `window` blocks that it asked for and that have not come,
 * so N-1 senders do not flood it; if no part fills a block, it has as many as have no more bytes.
 * It takes the first blocks of its first senders for asked for, and they are sent at once.
 * Otherwise it asks for each block: for the next one of the first sender whose part is of known
 * size and not all asked for; if there is none, for the first block of the next sender. A rank that
 * has begun answers at once. So no chain of ranks waits in a circle.
 *
 * In a node (docs/design/nodes.md, "Large values") a rank writes its parts for the others into its
 * area, and tells each of them where (HOP_READY). Nobody asks for these, and nobody copies them
 * before the attempt is committed: the next attempt writes into the other half of the area.
 *
 * A rank is whole when it has got all, and has sent all that its receivers will ask for: a rank
 * that has called the commit answers no more.
 *
 * Tags: hop 0 is a block: its number, and where the part begins in the contribution of its rank (or
 * in the value of the root), and its size. Hop 1 asks for the next block. Hop 2 tells of a part in
 * an area: where it begins in the contribution, its size, and in `block` where it lies in the half,
 * in units of ALIGNMENT. Hops 1 and 2 have no value.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collectives/large/grid.h"
#include "collectives/large/internal.h"
#include "collectives/large/mutation.h"

#define ALIGNMENT ((size_t)64) /* of a part in an area */

enum { HOP_BLOCK, HOP_ASK, HOP_READY };

struct peer {
    uint32_t asked; /* blocks of its part for this rank that were asked for */
    uint32_t sent;  /* blocks of this rank's part for it that were sent */
};

struct ftc_pairwise {
    struct ftc_large_exchange base;
    struct ftc_large_grid grid;    /* the places of a row share their parts in areas */
    int root;                      /* its place; -1: all send to all */
    int window;                    /* most blocks that are under way to a receiver */
    int sources;                   /* senders of this rank that it asks */
    int next;                      /* sources before this one were asked */
    int low;                       /* the first source whose part is not all here */
    int underway;                  /* blocks that were asked for, and have not come */
    int in, out;                   /* parts that are not all here, or not all sent */
    struct ftc_large_blocks *part; /* from each place, for this rank */
    struct peer peer[];            /* at each place */
};

static const struct ftc_pairwise *pairwise_of(const struct ftc_large_exchange *exchange)
{
    return (const struct ftc_pairwise *)exchange;
}

/* --- who sends to whom --- */

static enum ftc_call_kind kind_of(const struct ftc_pairwise *p)
{
    return (enum ftc_call_kind)p->base.set.call->signature.kind;
}

static bool sends(const struct ftc_pairwise *p, int from, int to)
{
    if (from == to)
        return false;
    if (kind_of(p) == FTC_CALL_GATHER)
        return to == p->root;
    return kind_of(p) == FTC_CALL_ALLTOALL || from == p->root;
}

static bool shares(const struct ftc_pairwise *p, int one, int other)
{
    return ftc_large_grid_row_of(&p->grid, one) == ftc_large_grid_row_of(&p->grid, other);
}

/* Does the part go by messages? */
static bool travels(const struct ftc_pairwise *p, int from, int to)
{
    return sends(p, from, to) && !shares(p, from, to);
}

/* Place `to` takes from all places before its row, backwards and round to those behind it. Its
 * first sender is as far before the row as `to` is from the row's begin. */
struct order {
    int first, column, others; /* of the row of `to`: its first place; and the places elsewhere */
};

static struct order order_of(const struct ftc_pairwise *p, int to)
{
    const int *first = &p->grid.first[ftc_large_grid_row_of(&p->grid, to)];
    return (struct order){first[0], to - first[0], p->base.set.places - (first[1] - first[0])};
}

/* The place of the i-th sender to place `to`, which is in another row. */
static int source(const struct ftc_pairwise *p, int to, int i)
{
    struct order order = order_of(p, to);
    int places = p->base.set.places, back = 1 + (i + order.column) % order.others;

    return kind_of(p) == FTC_CALL_SCATTER ? p->root : (order.first - back + places) % places;
}

/* The i for which `from` is the i-th sender to place `to`. */
static int source_number(const struct ftc_pairwise *p, int to, int from)
{
    struct order order = order_of(p, to);
    int places = p->base.set.places, back = (order.first - from + places) % places;
    int i = (back - 1 - order.column) % order.others;

    return kind_of(p) == FTC_CALL_SCATTER ? 0 : i < 0 ? i + order.others : i;
}

/* This rank's part for a place. */
static void part_for(const struct ftc_pairwise *p, int to, size_t *begin, size_t *size)
{
    const struct ftc_large_exchange_settings *set = &p->base.set;

    if (kind_of(p) == FTC_CALL_GATHER) {
        *begin = 0;
        *size = set->call->input_size;
    } else {
        ftc_call_part(set->call, set->ranks, set->rank[to], begin, size);
    }
}

static uint32_t blocks_for(const struct ftc_pairwise *p, int to)
{
    size_t begin, size;

    part_for(p, to, &begin, &size);
    return ftc_large_blocks_count(size, p->base.set.part_most);
}

/* No part is larger. Alike at all ranks. */
static size_t part_bound(const struct ftc_pairwise *p)
{
    const struct ftc_call *call = p->base.set.call;
    size_t begin, size = (size_t)call->signature.size;

    if (kind_of(p) == FTC_CALL_ALLTOALL && call->parts == NULL)
        ftc_call_part(call, p->base.set.ranks, 0, &begin, &size);
    return size;
}

/* --- areas --- */

static size_t aligned(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Bytes of half an area that a rank uses at most. Alike at all ranks. */
static size_t area_bound(const struct ftc_pairwise *p)
{
    size_t size = (size_t)p->base.set.call->signature.size, part = aligned(part_bound(p));
    size_t members = 0;

    for (int row = 0; row < p->grid.rows; row++) {
        size_t here = (size_t)(p->grid.first[row + 1] - p->grid.first[row]);
        members = here > members ? here : members;
    }
    return part < size ? members * part : aligned(size) + members * ALIGNMENT;
}

/* What this rank shares. Both halves at once, so that no later attempt fails for lack of memory. */
static int reserve_halves(const struct ftc_pairwise *p)
{
    const struct ftc_large_nodes *nodes = p->base.set.nodes;
    size_t begin, size, all = 0;

    for (int to = 0; to < p->base.set.places; to++) {
        if (!sends(p, p->base.set.self, to) || !shares(p, p->base.set.self, to))
            continue;
        part_for(p, to, &begin, &size);
        all += aligned(size);
    }
    return all > 0 ? ftc_large_reserve_halves(nodes, all) : FTC_SUCCESS;
}

/* Parts that do not fit into the areas go by messages, too. */
static int open_grid(struct ftc_pairwise *p)
{
    const struct ftc_large_exchange_settings *set = &p->base.set;
    int rc = ftc_large_grid_open(&p->grid, set, false);

    if (rc != FTC_SUCCESS || p->grid.rows == set->places)
        return rc;
    return area_bound(p) > set->nodes->apart ? ftc_large_grid_open(&p->grid, set, true)
                                             : reserve_halves(p);
}

/* --- life --- */

#define TIMES_MOST 8

/* As many blocks as there can be in the bytes of the window, and a few times its number at most: a
 * rank that has not met its senders yet cannot take in a connection from hundreds at once. */
static void set_window(struct ftc_pairwise *p)
{
    const struct ftc_large_exchange_settings *set = &p->base.set;
    size_t bound = part_bound(p), times = bound > 0 ? set->part_most / bound : 1;

    p->window = set->window;
    if (times > 1)
        p->window *= times < TIMES_MOST ? (int)times : TIMES_MOST;
}

static int create(struct ftc_large_exchange **out,
                  const struct ftc_large_exchange_settings *settings)
{
    struct ftc_pairwise *p = ftc_large_exchange_new(
        sizeof(*p) + (size_t)settings->places * sizeof(p->peer[0]), settings);

    if (p == NULL)
        return FTC_ERR_NOMEM;
    *out = &p->base;
    p->part = calloc((size_t)settings->places, sizeof(p->part[0]));
    if (p->part == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a large value among %d ranks",
                             settings->places);
    p->root = ftc_large_place_of(settings, settings->call->signature.root);
    if (kind_of(p) != FTC_CALL_ALLTOALL && p->root < 0)
        return ftc_error_set(FTC_ERR_ARG, "root %d has no place in a large value",
                             (int)settings->call->signature.root);
    set_window(p);
    int rc = open_grid(p);
    for (int place = 0; place < settings->places && rc == FTC_SUCCESS; place++) {
        p->sources += travels(p, place, settings->self);
        p->in += sends(p, place, settings->self);
        p->out += travels(p, settings->self, place);
    }
    return rc;
}

static void destroy(struct ftc_large_exchange *exchange)
{
    struct ftc_pairwise *p = (struct ftc_pairwise *)exchange;

    for (int place = 0; place < exchange->set.places && p->part != NULL; place++)
        ftc_large_blocks_close(&p->part[place]);
    free(p->part);
    ftc_large_grid_close(&p->grid);
}

/* --- out --- */

static int send_block(struct ftc_pairwise *p, int to)
{
    struct peer *peer = &p->peer[to];
    size_t begin, size, most = p->base.set.part_most, offset = (size_t)peer->sent * most;
    struct ftc_value block = {0};

    part_for(p, to, &begin, &size);
    struct ftc_large_tag tag = {
        .block = peer->sent, .hop = HOP_BLOCK, .begin = begin, .size = size};
    const unsigned char *input = p->base.set.call->input;
    int rc = ftc_large_lend(&p->base, size > 0 ? input + begin + offset : NULL,
                            size - offset < most ? size - offset : most, &block);
    if (rc == FTC_SUCCESS)
        rc = ftc_large_put(&p->base, to, tag, &block);
    ftc_value_drop(&block);
    p->out -= ++peer->sent == ftc_large_blocks_count(size, most);
    return rc;
}

static int ask(struct ftc_pairwise *p, int from)
{
    struct ftc_large_tag tag = {.hop = HOP_ASK};

    p->peer[from].asked++;
    p->underway++;
    return ftc_large_put(&p->base, from, tag, &(struct ftc_value){0});
}

/* The place to ask next; -1: all was asked for that can be. */
static int next_to_ask(struct ftc_pairwise *p)
{
    for (int i = p->low; i < p->next; i++) {
        int place = source(p, p->base.set.self, i);
        if (p->peer[place].asked < p->part[place].count)
            return place;
    }
    return p->next < p->sources ? source(p, p->base.set.self, p->next++) : -1;
}

static bool may_ask(const struct ftc_pairwise *p)
{
    return p->underway < p->window + FTC_LARGE_MUTATED(WIDE_WINDOW) || FTC_LARGE_MUTATED(NO_WINDOW);
}

static int ask_more(struct ftc_pairwise *p)
{
    int rc = FTC_SUCCESS, place;

    while (rc == FTC_SUCCESS && may_ask(p) && (place = next_to_ask(p)) >= 0)
        rc = ask(p, place);
    return rc;
}

/* Writes this rank's parts for the others of its row, and tells them. */
static int share(struct ftc_pairwise *p)
{
    const struct ftc_large_exchange_settings *set = &p->base.set;
    const unsigned char *input = set->call->input;
    size_t begin, size, offset = 0;
    int rc = FTC_SUCCESS;

    for (int to = 0; to < set->places && rc == FTC_SUCCESS; to++) {
        if (!sends(p, set->self, to) || !shares(p, set->self, to))
            continue;
        part_for(p, to, &begin, &size);
        if (size > 0)
            memcpy(ftc_large_half(set, set->self) + offset, input + begin, size);
        struct ftc_large_tag tag = {.block = (uint32_t)(offset / ALIGNMENT),
                                    .hop = HOP_READY,
                                    .begin = begin,
                                    .size = size};
        rc = ftc_large_put(&p->base, to, tag, &(struct ftc_value){0});
        offset += aligned(size);
    }
    return rc;
}

static int start(struct ftc_large_exchange *exchange)
{
    struct ftc_pairwise *p = (struct ftc_pairwise *)exchange;
    int self = exchange->set.self, rc = share(p);

    for (int i = 1; i < exchange->set.places && rc == FTC_SUCCESS; i++) {
        int to = (self + i) % exchange->set.places;
        if (travels(p, self, to) && source_number(p, to, self) < p->window)
            rc = send_block(p, to);
    }
    p->next = p->sources < p->window ? p->sources : p->window;
    p->underway = p->next;
    for (int i = 0; i < p->next; i++)
        p->peer[source(p, self, i)].asked = 1;
    return rc;
}

/* --- in --- */

static int answer(struct ftc_pairwise *p, int from, const struct ftc_large_tag *tag,
                  const struct ftc_value *value)
{
    if (!travels(p, p->base.set.self, from) || value->size > 0 ||
        p->peer[from].sent >= blocks_for(p, from))
        return ftc_large_unawaited(from, tag, value);
    return send_block(p, from);
}

/* Can this be where the part begins, and its size? */
static bool possible(const struct ftc_pairwise *p, const struct ftc_large_tag *tag)
{
    const struct ftc_call *call = p->base.set.call;
    uint64_t most = call->signature.size;

    return tag->begin <= most && tag->size <= most - tag->begin &&
           (kind_of(p) != FTC_CALL_SCATTER || tag->size == call->slice_size);
}

/* Learns the size of a part from its first block. */
static int open(struct ftc_pairwise *p, int from, const struct ftc_large_tag *tag,
                const struct ftc_value *value)
{
    struct ftc_large_blocks *in = &p->part[from];

    if (in->count > 0)
        return in->begin == tag->begin && in->size == tag->size
                   ? 0
                   : ftc_large_unawaited(from, tag, value);
    if (tag->block != 0 || !possible(p, tag))
        return ftc_large_unawaited(from, tag, value);
    in->begin = (size_t)tag->begin;
    return ftc_large_blocks_open(in, (size_t)tag->size, p->base.set.part_most);
}

static int take_block(struct ftc_pairwise *p, int from, const struct ftc_large_tag *tag,
                      const struct ftc_value *value)
{
    struct ftc_large_blocks *part = &p->part[from];

    if (!travels(p, from, p->base.set.self) || tag->block >= p->peer[from].asked)
        return ftc_large_unawaited(from, tag, value);
    int rc = open(p, from, tag, value);
    if (rc != 0)
        return rc;
    if (!ftc_large_blocks_add(part, tag->block, value))
        return ftc_large_unawaited(from, tag, value);
    p->underway--;
    p->in -= ftc_large_blocks_complete(part);
    while (p->low < p->next &&
           ftc_large_blocks_complete(&p->part[source(p, p->base.set.self, p->low)]))
        p->low++;
    return ask_more(p);
}

/* The part lies in the area of its sender. */
static int take_ready(struct ftc_pairwise *p, int from, const struct ftc_large_tag *tag,
                      const struct ftc_value *value)
{
    int self = p->base.set.self;
    uint64_t offset = tag->block * (uint64_t)ALIGNMENT;

    if (!sends(p, from, self) || !shares(p, from, self) || !possible(p, tag) ||
        offset + tag->size > p->base.set.nodes->apart || p->part[from].count > 0 || value->size > 0)
        return ftc_large_unawaited(from, tag, value);
    p->part[from] =
        (struct ftc_large_blocks){.begin = (size_t)tag->begin,
                                  .size = (size_t)tag->size,
                                  .count = 1,
                                  .memory = ftc_large_half(&p->base.set, from) + offset};
    p->in--;
    return FTC_SUCCESS;
}

static int receive(struct ftc_large_exchange *exchange, int from, const struct ftc_large_tag *tag,
                   const struct ftc_value *value)
{
    struct ftc_pairwise *p = (struct ftc_pairwise *)exchange;

    switch (tag->hop) {
    case HOP_BLOCK:
        return take_block(p, from, tag, value);
    case HOP_ASK:
        return answer(p, from, tag, value);
    case HOP_READY:
        return take_ready(p, from, tag, value);
    default:
        return ftc_large_unawaited(from, tag, value);
    }
}

static bool whole(const struct ftc_large_exchange *exchange)
{
    const struct ftc_pairwise *p = pairwise_of(exchange);
    return p->in == 0 && (p->out == 0 || FTC_LARGE_MUTATED(WHOLE_EARLY));
}

/* The first sender that has not sent all, one of another row before those of this one; or the
 * first receiver that has not asked for all. */
static int awaited(const struct ftc_large_exchange *exchange)
{
    const struct ftc_pairwise *p = pairwise_of(exchange);
    int self = exchange->set.self, place = self;
    bool here, sent;

    if (p->low < p->sources)
        return source(p, self, p->low);
    do {
        place = (place + 1) % exchange->set.places;
        here = !sends(p, place, self) || ftc_large_blocks_complete(&p->part[place]);
        sent = !travels(p, self, place) || p->peer[place].sent >= blocks_for(p, place);
    } while (place != self && here && (sent || p->in > 0));
    return place;
}

/* --- the result --- */

static void take_slice(const struct ftc_pairwise *p, void *to)
{
    const struct ftc_call *call = p->base.set.call;
    size_t begin, size;

    if (p->base.set.self != p->root) {
        ftc_large_blocks_copy(&p->part[p->root], to);
        return;
    }
    part_for(p, p->root, &begin, &size);
    if (size > 0)
        memmove(to, (const unsigned char *)call->input + begin, size);
}

/* The other ranks of a gather get nothing. The root of a scatter may have its part already. */
static void finish(const struct ftc_large_exchange *exchange, const struct ftc_set *failed,
                   void *to)
{
    const struct ftc_pairwise *p = pairwise_of(exchange);

    if (kind_of(p) == FTC_CALL_SCATTER) {
        if (to != NULL)
            take_slice(p, to);
        return;
    }
    if (kind_of(p) == FTC_CALL_ALLTOALL || exchange->set.self == p->root)
        ftc_large_take_all(exchange, failed, p->part, to);
}

const struct ftc_large_exchange_ops ftc_pairwise_ops = {.create = create,
                                                        .destroy = destroy,
                                                        .start = start,
                                                        .receive = receive,
                                                        .whole = whole,
                                                        .awaited = awaited,
                                                        .finish = finish};
