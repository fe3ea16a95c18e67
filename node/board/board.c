/*
 * The board: its life, and operations as sequences of rounds.
 *
 *   allreduce, barrier, validate, finalize   a collecting round for each block of the value
 *   allgather, alltoall, scans               the same; each post is taken by itself (gather.c)
 *   reduce_scatter                           the same; each rank combines or copies its slice
 *   large allgather, gather, alltoall        collecting rounds, and direct copies (direct.c)
 *   plain reduce and gather of one block     a round in which only the root waits
 *   the same of several blocks               collecting rounds; only the root has the result
 *   broadcast, scatter                       rounds in which only the root posts
 */
#include "node/board/board.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "node/board/internal.h"

_Static_assert(FTC_BOARD_CHUNKS * sizeof(uint64_t) == 128, "the claims of a round take two lines");
_Static_assert(FTC_NODE_MAX_LOCAL / 8 <= FTC_BOARD_BLOCK, "a set of ranks fits into a block");
#ifndef FTC_BOARD_STEP
_Static_assert(FTC_ELEMENT_MAX <= FTC_BOARD_BLOCK, "an element fits into a block");
#endif
_Static_assert(FTC_NODE_MAX_LOCAL << 2 <= 0x10000, "a claim fits below the tag");

#define KEPT_MAX (8u << 20) /* most bytes of b->kept after a call */

/* --- life --- */

static size_t apart_limit(int ranks)
{
    size_t each = FTC_BOARD_APART / (size_t)ranks / 64 * 64;

    if (each < FTC_BOARD_BLOCK)
        return FTC_BOARD_BLOCK;
    return each < FTC_BOARD_WHOLE ? each : FTC_BOARD_WHOLE;
}

static void release(struct ftc_board *b)
{
    ftc_set_fini(&b->agreed);
    ftc_set_fini(&b->known);
    ftc_set_fini(&b->failed);
    ftc_set_fini(&b->accused);
    ftc_set_fini(&b->gone);
    ftc_set_fini(&b->left_out);
    ftc_set_fini(&b->taken);
    free(b->member);
    free(b->finished);
    free(b->kept);
    free(b->scratch);
    free(b->offers);
    free(b);
}

int ftc_board_open(struct ftc_board **out, const struct ftc_board_setup *setup)
{
    int ranks = setup->file != NULL ? setup->ranks : ftc_segment_ranks(setup->segment);
    struct ftc_board *b = calloc(1, sizeof(*b));

    if (b == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator of %d ranks", ranks);
    b->set = *setup;
    b->memory = setup->file != NULL ? *ftc_board_file_memory(setup->file)
                                    : ftc_segment_board(setup->segment);
    b->header = ftc_segment_header(setup->segment);
    b->rank = setup->rank;
    b->ranks = ranks;
    b->apart_limit = apart_limit(ranks);
    b->member = calloc((size_t)ranks, sizeof(*b->member));
    b->finished = calloc((size_t)ranks, sizeof(*b->finished));
    if (b->member == NULL || b->finished == NULL || ftc_set_init(&b->agreed, ranks) != 0 ||
        ftc_set_init(&b->known, ranks) != 0 || ftc_set_init(&b->failed, ranks) != 0 ||
        ftc_set_init(&b->accused, ranks) != 0 || ftc_set_init(&b->gone, ranks) != 0 ||
        ftc_set_init(&b->left_out, ranks) != 0 || ftc_set_init(&b->taken, ranks) != 0) {
        release(b);
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator of %d ranks", ranks);
    }
    ftc_board_list_members(b);
    *out = b;
    return 0;
}

void ftc_board_close(struct ftc_board *b)
{
    if (b == NULL)
        return;
    if (b->set.file != NULL) {
        ftc_board_check_own(b);
        ftc_board_give_up(b);
        ftc_board_file_leave(b->set.file, b->rank);
    }
    release(b);
}

/* --- decisions --- */

/* Name the members that were missing, but for those whose contributions all have. */
static void name_left_out(struct ftc_board *b)
{
    if (!FTC_BOARD_MUTATED(DIRECT_TAKEN_NAMED))
        ftc_set_subtract(&b->left_out, &b->taken);
    ftc_set_unite(&b->failed, &b->left_out);
}

static void all_back(struct ftc_board *b)
{
    b->write_offs = (unsigned)b->leaving;
    ftc_set_clear(&b->left_out);
    b->leaving = 0;
    ftc_board_list_members(b);
}

/* agreement.md, rule 5: G := D's failed set, L := L ∪ G. The failed set is G, the missing members,
 * and the ranks of `more`, which may be NULL. Every rank that decides finds the same set. */
FTC_HOT static void decide(struct ftc_board *b, const struct ftc_set *more)
{
    if (b->leaving == 0 && more == NULL && b->nothing_new)
        return;
    b->nothing_new = b->leaving == 0 && more == NULL;
    ftc_set_copy(&b->failed, &b->agreed);
    if (b->nothing_new)
        return;
    ftc_set_unite(&b->gone, &b->left_out);
    name_left_out(b);
    if (more != NULL)
        ftc_set_unite(&b->failed, more);
    ftc_set_unite(&b->known, &b->failed);
    if (b->set.share != FTC_SHARE_OFF)
        ftc_set_copy(&b->agreed, &b->failed);
    all_back(b);
}

/* --- collecting operations --- */

/* Collect all blocks. If input and result are the same buffer, the input of a block is kept before
 * its result overwrites it, because another start needs it again. A slice of the result goes to the
 * start of the buffer, so it overwrites no later block either. */
FTC_HOT static bool collect_from_start(struct ftc_board *b, size_t limit, size_t *kept)
{
    const unsigned char *input = b->call->input;
    size_t size = b->call->signature.size;
    bool in_place = input == b->receive && size > limit;
    bool slices = b->call->signature.kind == FTC_CALL_REDUCE_SCATTER;

    for (b->offset = 0; b->offset < size; b->offset += b->bytes) {
        b->bytes = ftc_board_block_size(b, size - b->offset, limit);
        const unsigned char *from = (b->offset < *kept ? b->kept : input) + b->offset;
        if (in_place && b->offset >= *kept && !FTC_BOARD_MUTATED(INPUT_NOT_KEPT)) {
            memcpy(b->kept + b->offset, from, b->bytes);
            *kept = b->offset + b->bytes;
        }
        unsigned char *out = b->receive == NULL ? NULL : b->receive + b->offset;
        if (!(slices ? ftc_board_collect_slice(b, from) : ftc_board_collect_block(b, from, out)))
            return false;
    }
    return true;
}

FTC_HOT static void collect_in_blocks(struct ftc_board *b, size_t limit)
{
    size_t size = b->call->signature.size, kept = 0;

    if (size > limit && b->call->input == b->receive)
        ftc_board_make_room(b, size);
    if (size == 0) {
        b->offset = b->bytes = 0;
        (void)ftc_board_collect_block(b, NULL, NULL);
        return;
    }
    while (!collect_from_start(b, limit, &kept) && !b->revoked)
        b->restarts++;
}

static void collect_as_pair(struct ftc_board *b)
{
    struct ftc_call again = *b->call;

    b->paired = ftc_board_pair_combine(b, &again.input) != FTC_PAIR_REFUSED;
    if (b->paired || b->revoked)
        return;
    const struct ftc_call *call = b->call;
    b->call = &again;
    collect_in_blocks(b, FTC_BOARD_BLOCK);
    b->call = call;
}

FTC_HOT static void collect(struct ftc_board *b)
{
    if (b->call->take != NULL)
        ftc_board_gather(b);
    else if (ftc_board_is_pair(b, b->call->signature.size))
        collect_as_pair(b);
    else
        collect_in_blocks(b, FTC_BOARD_BLOCK);
}

/* A value that fits is combined in one round, each slice by its rank. If it does not fit, all
 * combine the blocks, because each would be in the slice of one or two ranks. In place, the output
 * of a merge may overlap this rank's own input, so this is read from the post instead. */
static void reduce_scatter(struct ftc_board *b)
{
    const struct ftc_call *call = b->call;
    struct ftc_call copy = *call;

    if (call->take != NULL) {
        ftc_board_gather(b);
        return;
    }
    if (call->input == b->receive && !FTC_BOARD_MUTATED(SLICE_MERGED_IN_PLACE))
        copy.merge = NULL;
    b->call = &copy;
    collect_in_blocks(b, call->signature.size <= b->apart_limit ? b->apart_limit : FTC_BOARD_BLOCK);
    b->call = call;
}

/* The input is L as a bit set, and inputs are combined by union (agreement.md, "Operations"). */
static void validate(struct ftc_board *b)
{
    struct ftc_call call = {.signature = b->call->signature, .combine = ftc_set_unite_bytes};
    struct ftc_set more = {0};

    if (ftc_set_init(&more, b->ranks) != 0)
        b->set.host.exhausted(b->set.host.arg,
                              ftc_error_set(FTC_ERR_NOMEM, "no memory for a set of ranks"));
    b->call = &call;
    ftc_board_look(b);
    ftc_set_to_bytes(&b->known, b->bits);
    b->offset = 0;
    b->bytes = ftc_set_bytes(b->ranks);
    (void)ftc_board_collect_block(b, b->bits, b->bits);
    ftc_set_add_bytes(&more, b->bits);
    decide(b, &more);
    ftc_set_fini(&more);
}

/* --- plain reduce, gather --- */

/* The root does not post. It reads its own input in place, unless the result goes there. */
FTC_HOT static void reduce_one_block(struct ftc_board *b, int root)
{
    b->offset = 0;
    b->bytes = b->call->signature.size;
    b->apart = b->rank == root && b->call->input != b->receive;
    bool take = b->call->take != NULL;
    if (b->apart)
        b->source = b->call->input;
    else if (!ftc_board_post(b, b->call->input, take ? ftc_board_own_bytes(b) : b->bytes, root))
        return;
    if (b->rank == root && take)
        ftc_board_collect_and_take(b);
    else if (b->rank == root)
        ftc_board_collect_for_itself(b, b->receive);
    b->apart = false;
    ftc_board_finish(b, false);
}

/* There is no decision. The missing ranks are in L, and a later decision will name them. The root
 * of a gather has contributions of dead ranks, too, so it names those that it has nothing of. */
static void name_missing(struct ftc_board *b)
{
    const struct ftc_signature *s = &b->call->signature;

    if (s->kind != FTC_CALL_GATHER || b->rank != s->root || FTC_BOARD_MUTATED(GATHER_NAMES_ALL)) {
        ftc_set_copy(&b->failed, &b->known);
        return;
    }
    ftc_set_copy(&b->failed, &b->agreed);
    if (b->leaving > 0)
        name_left_out(b);
}

FTC_HOT static void reduce(struct ftc_board *b)
{
    const struct ftc_signature *s = &b->call->signature;
    bool several = s->size > ftc_board_limit(b);

    ftc_board_look(b); /* the report of a reduce has L as its failed set, so bring L up to date */
    b->nothing_new = false;
    ftc_set_copy(&b->failed, &b->known);
    if (ftc_set_has(&b->agreed, s->root))
        return;
    if (b->rank != s->root)
        b->receive = NULL;
    if (several)
        collect(b);
    else
        reduce_one_block(b, s->root);
    if (b->leaving == 0 && (s->kind == FTC_CALL_REDUCE || b->live == b->members))
        return;  /* where all members live, L is G */
    if (several) /* all members have waited, and found the same ones missing */
        ftc_set_unite(&b->gone, &b->left_out);
    name_missing(b);
    if (b->leaving > 0)
        all_back(b);
}

/* --- broadcast, scatter --- */

/* Finality: if the root is in L, and after that its post is found missing, it will never be there
 * for anybody. */
FTC_HOT static bool root_posted_or_failed(struct ftc_board *b)
{
    int root = b->call->signature.root;
    bool failed = FTC_BOARD_CHECKS && ftc_set_has(&b->known, root);
    enum ftc_board_standing standing = ftc_board_standing(b, root, failed);

    b->judged = b->failures; /* L was read before the mark, and has not changed since */
    if (standing == FTC_POST_SOUND)
        return !FTC_BOARD_CHECKS || ftc_board_decide_posts(b);
    if (standing == FTC_POST_MISSING) {
        ftc_set_add(&b->left_out, root);
        b->leaving = 1;
    }
    return standing == FTC_POST_MISSING;
}

FTC_HOT static int broadcast_from(struct ftc_board *b)
{
    const unsigned char *input = b->call->input;
    size_t size = b->call->signature.size;

    b->offset = 0;
    do {
        b->bytes = ftc_board_block_size(b, size - b->offset, FTC_BOARD_WHOLE);
        if (!ftc_board_post(b, size == 0 ? NULL : input + b->offset, b->bytes, FTC_BOARD_EVERYBODY))
            return FTC_ERR_REVOKED;
        ftc_board_finish(b, false);
        b->offset += b->bytes;
    } while (b->offset < size);
    return FTC_SUCCESS;
}

/* Copy what this rank wants of this block. If another block follows, keep what this overwrites, so
 * that the buffer can be restored if the root dies. *kept: how much is kept. */
FTC_HOT static void copy_block(struct ftc_board *b, int root, bool last, size_t *kept)
{
    struct ftc_board_part part = {0, b->offset, b->bytes};

    if (b->call->signature.kind == FTC_CALL_SCATTER)
        part = ftc_board_slice(b);
    if (part.size == 0)
        return;
    unsigned char *to = b->receive + part.at;
    if (!last) {
        memcpy(b->kept + part.at, to, part.size);
        *kept = part.at + part.size;
    }
    memcpy(to, ftc_board_data(b, b->round, root, b->bytes) + part.from, part.size);
}

FTC_HOT static int broadcast_to(struct ftc_board *b)
{
    size_t size = b->call->signature.size, kept = 0;
    int root = b->call->signature.root;

    if (size > FTC_BOARD_WHOLE)
        ftc_board_make_room(b,
                            b->call->signature.kind == FTC_CALL_BCAST ? size : b->call->slice_size);
    b->offset = 0;
    do {
        b->bytes = ftc_board_block_size(b, size - b->offset, FTC_BOARD_WHOLE);
        if (ftc_board_until(b, root_posted_or_failed, true))
            ftc_board_fetch_ahead(b, root);
        if (b->revoked)
            return FTC_ERR_REVOKED;
        bool came = b->leaving == 0;
        if (FTC_BOARD_MUTATED(EARLY_FINISH))
            FTC_BOARD_STORE(b->memory.progress[b->rank].finished, b->round + 1);
        if (came)
            copy_block(b, root, b->offset + b->bytes == size, &kept);
        ftc_board_finish(b, false);
        if (!came) {
            if (kept > 0 && !FTC_BOARD_MUTATED(NOT_RESTORED))
                memcpy(b->receive, b->kept, kept);
            return FTC_ERR_ROOT_FAILED;
        }
        b->offset += b->bytes;
    } while (b->offset < size);
    return FTC_SUCCESS;
}

FTC_HOT static int broadcast(struct ftc_board *b)
{
    int root = b->call->signature.root;
    int status = FTC_ERR_ROOT_FAILED;

    if (!ftc_set_has(&b->agreed, root))
        status = b->rank == root ? broadcast_from(b) : broadcast_to(b);
    decide(b, NULL);
    return status;
}

/* --- the round of a started operation --- */

bool ftc_board_root_is_heard(struct ftc_board *b)
{
    return root_posted_or_failed(b);
}

static int end_broadcast(struct ftc_board *b)
{
    int root = b->call->signature.root;
    bool came = b->leaving == 0 && !ftc_set_has(&b->agreed, root);

    if (came && b->rank != root)
        copy_block(b, root, true, NULL);
    ftc_board_finish(b, false);
    decide(b, NULL);
    return came ? FTC_SUCCESS : FTC_ERR_ROOT_FAILED;
}

static void end_reduce(struct ftc_board *b)
{
    const struct ftc_signature *s = &b->call->signature;

    ftc_board_look(b);
    b->nothing_new = false;
    if (b->rank == s->root)
        ftc_board_take_round(b);
    ftc_board_finish(b, false);
    name_missing(b);
    if (b->leaving > 0)
        all_back(b);
}

/* Each member says in its word that it has finished the round, because its next post may have been
 * made before. */
static void end_collecting(struct ftc_board *b)
{
    ftc_board_take_round(b);
    if (FTC_BOARD_MUTATED(AHEAD_UNFINISHED))
        b->round++;
    else
        ftc_board_finish(b, FTC_BOARD_MUTATED(AHEAD_SETTLED));
    b->met = true;
    decide(b, NULL);
}

int ftc_board_end_round(struct ftc_board *b)
{
    const struct ftc_signature *s = &b->call->signature;

    if (FTC_BOARD_MUTATED(AHEAD_ROOT_SKIPPED) && s->root >= 0 && ftc_set_has(&b->agreed, s->root))
        b->round--; /* ends where it began */
    if (ftc_board_root_posts(b))
        return end_broadcast(b);
    if (ftc_call_table[s->kind].rooted)
        end_reduce(b);
    else
        end_collecting(b);
    return FTC_SUCCESS;
}

/* --- calls --- */

FTC_HOT static int run(struct ftc_board *b)
{
    switch (b->call->signature.kind) {
    case FTC_CALL_BCAST:
    case FTC_CALL_SCATTER:
        return broadcast(b);
    case FTC_CALL_REDUCE:
    case FTC_CALL_GATHER:
        reduce(b);
        return FTC_SUCCESS;
    case FTC_CALL_VALIDATE:
        validate(b);
        return FTC_SUCCESS;
    case FTC_CALL_REDUCE_SCATTER:
        reduce_scatter(b);
        decide(b, NULL);
        return FTC_SUCCESS;
    default:
        collect(b);
        decide(b, NULL);
        return FTC_SUCCESS;
    }
}

/* A sender in a broadcast or a plain reduce waits for nobody, so perhaps nobody ever compares the
 * call that it posted. So a digest of such calls is part of its later posts. Ranks that called
 * different things are found by the next post that is read, except with a chance of 1 in 256. */
FTC_HOT void ftc_board_remember(struct ftc_board *b, const struct ftc_signature *s)
{
    uint64_t word = (uint64_t)s->kind << 48 ^ (uint64_t)s->type << 40 ^
                    (uint64_t)s->operator_code << 32 ^ (uint64_t)(uint32_t)s->root;

    if (!ftc_call_table[s->kind].rooted)
        return;
    b->earlier = (b->earlier ^ word) * FTC_BOARD_GOLDEN;
    b->earlier = (b->earlier ^ s->size) * FTC_BOARD_GOLDEN;
}

FTC_HOT void ftc_board_sign(const struct ftc_board *b, struct ftc_signature *mine, uint64_t *check)
{
    mine->earlier = (uint8_t)(b->earlier >> 56);
    *check = ftc_board_check_of(b, mine);
}

/* Free a large copy, because no later call may need it. */
FTC_HOT static void forget_kept(struct ftc_board *b)
{
    if (b->kept_room <= KEPT_MAX)
        return;
    free(b->kept);
    b->kept = NULL;
    b->kept_room = 0;
}

FTC_HOT int ftc_board_call(struct ftc_board *b, const struct ftc_call *call, void *receive)
{
    assert(b->call == NULL && !b->revoked);
    b->call = call;
    b->mine = call->signature;
    ftc_board_sign(b, &b->mine, &b->check);
    b->receive = receive;
    b->restarts = b->write_offs = 0;
    b->paired = false;
    b->begun = b->round;
    b->op++;
    int status = run(b);
    if (b->offers != NULL)
        ftc_set_clear(&b->taken);
    ftc_board_remember(b, &call->signature);
    forget_kept(b);
    b->call = NULL;
    return b->revoked ? FTC_ERR_REVOKED : status;
}

void ftc_board_decided(struct ftc_board *b, uint64_t op, const struct ftc_set *failed)
{
    assert(b->call == NULL && op >= b->op);
    b->op = op;
    b->begun = b->round;
    b->restarts = 0;
    b->paired = false;
    decide(b, failed);
}

/* --- looking in --- */

uint64_t ftc_board_operations(const struct ftc_board *b)
{
    return b->op;
}

const struct ftc_set *ftc_board_agreed(const struct ftc_board *b)
{
    return &b->agreed;
}

const struct ftc_set *ftc_board_known(const struct ftc_board *b)
{
    return &b->known;
}

bool ftc_board_is_small(const struct ftc_board *b)
{
    bool small = true;

    for (unsigned i = 0; i < FTC_BOARD_RESULTS; i++)
        small &= b->results[i] <= FTC_BOARD_SMALL;
    for (unsigned i = 0; i < FTC_BOARD_BLOCK_COUNT; i++)
        small &= b->block[i].populated == 0;
    for (unsigned i = 0; i < FTC_BOARD_WHOLE_COUNT; i++)
        small &= b->whole[i].populated == 0;
    return small;
}

FTC_HOT const struct ftc_set *ftc_board_failed(const struct ftc_board *b)
{
    return &b->failed;
}

void ftc_board_report(const struct ftc_board *b, struct ftc_board_report *report)
{
    *report = (struct ftc_board_report){.failed = &b->failed,
                                        .restarts = b->restarts,
                                        .write_offs = b->write_offs,
                                        .signature = b->mine,
                                        .paired = b->paired,
                                        .starts = b->round == b->begun ? 0 : b->restarts + 1};
}
