/*
 * Gather, scatter and alltoall: each part goes straight from its sender to its receiver, block by
 * block. Each rank sends and receives the bytes of its own parts, and nothing else but heads. The
 * pairs of an alltoall are those of the pairwise exchange (Thakur, Rabenseifner, Gropp 2005): place
 * p receives from p-1, p-2, ... (modulo N) in this order, while p+1, p+2, ... receive from p. So in
 * each round every rank has another partner.
 *
 * Receivers ask. A receiver has at most `window` blocks that it asked for and that have not come,
 * so N-1 senders do not flood it. It takes the first blocks of its first `window` senders for asked
 * for, and they are sent at once. Otherwise it asks for each block: for the next one of the first
 * sender whose part is of known size and not all asked for; if there is none, for the first block
 * of the next sender. A rank that has begun answers at once. So no chain of ranks waits in a
 * circle.
 *
 * A rank is whole when it has got all, and has sent all that its receivers will ask for: a rank
 * that has called the commit answers no more.
 *
 * Tags: hop 0 is a block: its number, and where the part begins in the contribution of its rank (or
 * in the value of the root), and its size. Hop 1 asks for the next block; it has no value.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collectives/large/internal.h"
#include "collectives/large/mutation.h"

enum { HOP_BLOCK, HOP_ASK };

struct peer {
    uint32_t asked; /* blocks of its part for this rank that were asked for */
    uint32_t sent;  /* blocks of this rank's part for it that were sent */
};

struct ftc_pairwise {
    struct ftc_large_exchange base;
    int root;                      /* its place; -1: all send to all */
    int sources;                   /* senders of this rank */
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

/* The place of the i-th sender to place `to`. */
static int source(const struct ftc_pairwise *p, int to, int i)
{
    int places = p->base.set.places;
    return kind_of(p) == FTC_CALL_SCATTER ? p->root : (to - 1 - i + places) % places;
}

/* The i for which `from` is the i-th sender to place `to`. */
static int source_number(const struct ftc_pairwise *p, int to, int from)
{
    int places = p->base.set.places;
    return kind_of(p) == FTC_CALL_SCATTER ? 0 : (to - 1 - from + places) % places;
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
    return ftc_large_blocks_count(size, p->base.set.block_most);
}

/* --- life --- */

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
    for (int place = 0; place < settings->places; place++) {
        p->sources += sends(p, place, settings->self);
        p->out += sends(p, settings->self, place);
    }
    p->in = p->sources;
    return FTC_SUCCESS;
}

static void destroy(struct ftc_large_exchange *exchange)
{
    struct ftc_pairwise *p = (struct ftc_pairwise *)exchange;

    for (int place = 0; place < exchange->set.places && p->part != NULL; place++)
        ftc_large_blocks_close(&p->part[place]);
    free(p->part);
}

/* --- out --- */

static int send_block(struct ftc_pairwise *p, int to)
{
    struct peer *peer = &p->peer[to];
    size_t begin, size, most = p->base.set.block_most, offset = (size_t)peer->sent * most;
    struct ftc_value copy = {0};

    part_for(p, to, &begin, &size);
    struct ftc_large_tag tag = {
        .block = peer->sent, .hop = HOP_BLOCK, .begin = begin, .size = size};
    int rc = ftc_large_copy_input(&p->base, begin + offset,
                                  size - offset < most ? size - offset : most, &copy);
    if (rc == FTC_SUCCESS)
        rc = ftc_large_put(&p->base, to, tag, &copy);
    ftc_value_drop(&copy);
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

static int ask_more(struct ftc_pairwise *p)
{
    int rc = FTC_SUCCESS, place;

    while (rc == FTC_SUCCESS &&
           (p->underway < p->base.set.window || FTC_LARGE_MUTATED(NO_WINDOW)) &&
           (place = next_to_ask(p)) >= 0)
        rc = ask(p, place);
    return rc;
}

static int start(struct ftc_large_exchange *exchange)
{
    struct ftc_pairwise *p = (struct ftc_pairwise *)exchange;
    int self = exchange->set.self, rc = FTC_SUCCESS;

    for (int i = 1; i < exchange->set.places && rc == FTC_SUCCESS; i++) {
        int to = (self + i) % exchange->set.places;
        if (sends(p, self, to) && source_number(p, to, self) < exchange->set.window)
            rc = send_block(p, to);
    }
    p->next = p->sources < exchange->set.window ? p->sources : exchange->set.window;
    p->underway = p->next;
    for (int i = 0; i < p->next; i++)
        p->peer[source(p, self, i)].asked = 1;
    return rc;
}

/* --- in --- */

static int answer(struct ftc_pairwise *p, int from, const struct ftc_large_tag *tag,
                  const struct ftc_value *value)
{
    if (!sends(p, p->base.set.self, from) || value->size > 0 ||
        p->peer[from].sent >= blocks_for(p, from))
        return ftc_large_unawaited(from, tag, value);
    return send_block(p, from);
}

/* Learns the size of a part from its first block. */
static int open(struct ftc_pairwise *p, int from, const struct ftc_large_tag *tag,
                const struct ftc_value *value)
{
    const struct ftc_call *call = p->base.set.call;
    struct ftc_large_blocks *in = &p->part[from];
    uint64_t most = call->signature.size;

    if (in->count > 0)
        return in->begin == tag->begin && in->size == tag->size
                   ? 0
                   : ftc_large_unawaited(from, tag, value);
    if (tag->block != 0 || tag->begin > most || tag->size > most - tag->begin ||
        (kind_of(p) == FTC_CALL_SCATTER && tag->size != call->slice_size))
        return ftc_large_unawaited(from, tag, value);
    in->begin = (size_t)tag->begin;
    return ftc_large_blocks_open(in, (size_t)tag->size, p->base.set.block_most);
}

static int take_block(struct ftc_pairwise *p, int from, const struct ftc_large_tag *tag,
                      const struct ftc_value *value)
{
    struct ftc_large_blocks *part = &p->part[from];

    if (!sends(p, from, p->base.set.self) || tag->block >= p->peer[from].asked)
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

static int receive(struct ftc_large_exchange *exchange, int from, const struct ftc_large_tag *tag,
                   const struct ftc_value *value)
{
    struct ftc_pairwise *p = (struct ftc_pairwise *)exchange;

    if (tag->hop == HOP_ASK)
        return answer(p, from, tag, value);
    return tag->hop == HOP_BLOCK ? take_block(p, from, tag, value)
                                 : ftc_large_unawaited(from, tag, value);
}

static bool whole(const struct ftc_large_exchange *exchange)
{
    const struct ftc_pairwise *p = pairwise_of(exchange);
    return p->in == 0 && (p->out == 0 || FTC_LARGE_MUTATED(WHOLE_EARLY));
}

/* The first sender that has not sent all; or the first receiver that has not asked for all. */
static int awaited(const struct ftc_large_exchange *exchange)
{
    const struct ftc_pairwise *p = pairwise_of(exchange);
    int self = exchange->set.self, to = self;

    if (p->in > 0)
        return source(p, self, p->low);
    do {
        to = (to + 1) % exchange->set.places;
    } while (to != self && !(sends(p, self, to) && p->peer[to].sent < blocks_for(p, to)));
    return to;
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
