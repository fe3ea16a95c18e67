/*
 * Operations that were started (agreement.md, "Ahead"). The first one is under way. This rank posts
 * for those behind it, too, in the rounds that they will have, so the ranks need not meet in each
 * round. Nothing here waits but ftc_board_wait().
 */
#include <assert.h>
#include <string.h>

#include "base/cpu.h"
#include "include/ftcoll.h"
#include "node/board/internal.h"

static const struct ftc_signature *signature_of(const struct ftc_board_operation *operation)
{
    return &operation->call->signature;
}

bool ftc_board_may_start(const struct ftc_board *b, const struct ftc_call *call)
{
    static const bool waits[FTC_CALL_KINDS] = {
        [FTC_CALL_BARRIER] = true, [FTC_CALL_ALLREDUCE] = true, [FTC_CALL_REDUCE] = true,
        [FTC_CALL_BCAST] = true,   [FTC_CALL_GATHER] = true,    [FTC_CALL_ALLGATHER] = true,
        [FTC_CALL_SCATTER] = true, [FTC_CALL_ALLTOALL] = true,  [FTC_CALL_REDUCE_SCATTER] = true,
        [FTC_CALL_SCAN] = true,    [FTC_CALL_EXSCAN] = true,    [FTC_CALL_SIZES] = true};
    const struct ftc_signature *s = &call->signature;

    if (!waits[s->kind])
        return false;
    if (ftc_call_from_root(s->kind))
        return s->size <= FTC_BOARD_WHOLE;
    if (ftc_call_to_root(s->kind) && call->take == NULL)
        return s->size <= FTC_BOARD_BLOCK;
    return s->size <= b->apart_limit;
}

/* --- posting --- */

/* Of a broadcast the root alone posts. The root of a reduce reads its own input in place, unless
 * the result goes there. */
static bool has_post(const struct ftc_board *b, const struct ftc_board_operation *operation)
{
    const struct ftc_signature *s = signature_of(operation);

    if (ftc_call_from_root(s->kind))
        return b->rank == s->root;
    return !ftc_call_to_root(s->kind) || b->rank != s->root ||
           operation->call->input == operation->receive;
}

static int reader_of(const struct ftc_signature *s)
{
    return ftc_call_to_root(s->kind) ? s->root : FTC_BOARD_EVERYBODY;
}

/* Data that fits into the post itself. There is room. */
FTC_HOT static void post_inline(struct ftc_board *b, const struct ftc_board_operation *operation)
{
    const struct ftc_call *call = operation->call;
    const struct ftc_signature *s = &call->signature;
    uint64_t round = b->unposted_round;
    struct ftc_board_post *post = ftc_board_post_ahead(b, round, b->rank);
    size_t own = call->take != NULL && call->input_size < s->size ? call->input_size : s->size;

    ftc_board_step();
    post->signature = operation->mine;
    b->place[round % FTC_BOARD_DEPTH] =
        (struct ftc_board_use){.end = round + 1, .reader = reader_of(s)};
    ftc_board_step();
    if (own == FTC_BOARD_INLINE) /* a store instead of a call */
        memcpy(post->data, call->input, FTC_BOARD_INLINE);
    else if (own > 0)
        memcpy(post->data, call->input, own);
    FTC_BOARD_STORE(post->mark, ftc_board_mark(round + 1, operation->check));
    b->set.host.pass(b->set.host.arg, FTC_BOARD_POSTED);
    ftc_board_ring_posted(b, round);
    ftc_cpu_own(post + 4); /* this rank may post in later rounds soon */
}

/* Post for the call that b->call is. It has one round, so its block is the whole value. */
static bool post_value(struct ftc_board *b)
{
    const struct ftc_call *call = b->call;
    const struct ftc_signature *s = &call->signature;
    size_t own = call->take != NULL ? ftc_board_own_bytes(b) : b->bytes;

    if (!ftc_board_post(b, own > 0 ? call->input : NULL, own, reader_of(s)))
        return false;
    ftc_board_ring_posted(b, b->round);
    return true;
}

/* Post in a later round than the one under way. There is room, so this does not wait. */
static void post_ahead(struct ftc_board *b, const struct ftc_board_operation *operation)
{
    const struct ftc_call *call = b->call;
    struct ftc_signature mine = b->mine;
    const unsigned char *source = b->source;
    uint64_t check = b->check, round = b->round;
    size_t offset = b->offset, bytes = b->bytes;

    b->call = operation->call;
    b->mine = operation->mine;
    b->check = operation->check;
    b->round = b->unposted_round;
    b->offset = 0;
    b->bytes = signature_of(operation)->size;
    (void)post_value(b);
    b->call = call;
    b->mine = mine;
    b->check = check;
    b->round = round;
    b->offset = offset;
    b->bytes = bytes;
    b->source = source;
}

static void is_posted(struct ftc_board *b)
{
    b->unposted = b->unposted->next;
    b->unposted_round++;
}

/* The round under way is not finished, so what this rank has still to read is not free. */
static bool has_room(struct ftc_board *b, const struct ftc_board_operation *operation)
{
    uint64_t round = b->round;
    size_t bytes = signature_of(operation)->size;

    if (FTC_BOARD_MUTATED(AHEAD_OWN_UNREAD))
        b->round = b->unposted_round;
    bool has = ftc_board_has_room(b, b->unposted_round, bytes);
    b->round = round;
    return has;
}

/* Post for all operations for which there is room. */
static void post_all(struct ftc_board *b)
{
    while (b->unposted != NULL && b->unposted_round - b->round < FTC_BOARD_DEPTH && !b->revoked) {
        const struct ftc_board_operation *operation = b->unposted;
        if (has_post(b, operation)) {
            if (!has_room(b, operation))
                return;
            if (signature_of(operation)->size <= FTC_BOARD_INLINE)
                post_inline(b, operation);
            else
                post_ahead(b, operation);
        }
        is_posted(b);
    }
}

/* --- the first one --- */

/* In place, the output of a merge may overlap this rank's own input, so a reduce_scatter reads this
 * from the post instead. */
static const struct ftc_call *call_of(struct ftc_board *b,
                                      const struct ftc_board_operation *operation)
{
    const struct ftc_call *call = operation->call;

    if (call->signature.kind != FTC_CALL_REDUCE_SCATTER || call->input != operation->receive)
        return call;
    b->sliced = *call;
    b->sliced.merge = NULL;
    return &b->sliced;
}

#define FETCHED 8 /* ranks whose posts are fetched early */

/* Others may be ahead, so fetch their later posts while this round ends. */
static void fetch_later_posts(const struct ftc_board *b)
{
    for (int i = 0; i < b->members && i < FETCHED; i++)
        __builtin_prefetch(ftc_board_post_of(b, b->round + 2, b->member[i]));
}

/* Once. Until then the report is that of the operation before. */
static void begin_first(struct ftc_board *b)
{
    const struct ftc_board_operation *operation = b->first;
    const struct ftc_signature *s = signature_of(operation);
    bool to_root = ftc_call_to_root(s->kind);

    if (b->call != NULL)
        return;
    b->call = call_of(b, operation);
    b->mine = operation->mine;
    b->check = operation->check;
    if (FTC_BOARD_MUTATED(AHEAD_DIGEST))
        ftc_board_sign(b, &b->mine, &b->check);
    b->receive = to_root && b->rank != s->root ? NULL : operation->receive;
    b->restarts = b->write_offs = 0;
    b->paired = false;
    b->begun = b->round;
    b->offset = 0;
    b->bytes = s->size;
    b->source = b->call->input;
    b->apart = to_root && !has_post(b, operation);
    ftc_board_begin_round(b);
    fetch_later_posts(b);
}

/* Is the round over for this rank? The roots of the others take their round, too, if they are in G,
 * so that the round of an operation does not depend on what is decided before it. */
static bool is_over(struct ftc_board *b)
{
    const struct ftc_signature *s = &b->call->signature;

    if (b->unposted != NULL)
        post_all(b);
    if (b->unposted == b->first)
        return false;
    if (ftc_call_table[s->kind].rooted && ftc_set_has(&b->agreed, s->root))
        return true;
    if (ftc_call_from_root(s->kind))
        return b->rank == s->root || ftc_board_root_is_heard(b);
    if (ftc_call_to_root(s->kind) && b->rank != s->root)
        return true;
    return ftc_board_round_is_over(b);
}

/* The round of the first operation is over, or the board is revoked. */
static struct ftc_board_operation *end_first(struct ftc_board *b)
{
    struct ftc_board_operation *operation = b->first;

    operation->status = b->revoked ? FTC_ERR_REVOKED : ftc_board_end_round(b);
    if (!b->revoked)
        b->set.host.pass(b->set.host.arg, FTC_BOARD_DELIVERED);
    b->apart = false;
    b->call = NULL;
    b->first = operation->next;
    if (b->unposted == operation)
        b->unposted = b->first;
    b->started--;
    return operation;
}

/* --- calls --- */

void ftc_board_start(struct ftc_board *b, struct ftc_board_operation *operation)
{
    bool first = b->started++ == 0;

    assert(!first || b->call == NULL);
    operation->next = NULL;
    operation->mine = *signature_of(operation);
    ftc_board_sign(b, &operation->mine, &operation->check);
    ftc_board_remember(b, signature_of(operation));
    b->op++;
    if (first) {
        b->first = operation;
        b->unposted_round = b->round;
    } else {
        b->last->next = operation;
    }
    b->last = operation;
    if (b->unposted == NULL)
        b->unposted = operation;
    post_all(b);
}

struct ftc_board_operation *ftc_board_advance(struct ftc_board *b)
{
    if (b->first == NULL)
        return NULL;
    begin_first(b);
    if (b->revoked || is_over(b))
        return end_first(b);
    ftc_board_look(b);
    return ftc_board_is_in_vain(b) ? end_first(b) : NULL;
}

struct ftc_board_operation *ftc_board_under_way(const struct ftc_board *b)
{
    return b->first;
}

struct ftc_board_operation *ftc_board_wait(struct ftc_board *b)
{
    if (b->first == NULL)
        return NULL;
    begin_first(b);
    post_all(b);
    /* There was no room. This waits for it. */
    if (b->unposted == b->first && has_post(b, b->first) && !b->revoked && post_value(b))
        is_posted(b);
    if (!b->revoked)
        ftc_board_until(b, is_over, true);
    return end_first(b);
}
