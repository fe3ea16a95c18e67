/* Sums of this node, on their way to the roots of reduces. */
#include "runtime/algorithms/sums.h"

#include <string.h>

#include "base/error.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/ranks.h"
#include "runtime/process/progress.h"

/* --- what is needed --- */

_Static_assert(FTC_LEVEL_PLACES == 64, "levels->needed has a bit for each place");

static uint64_t bit_of(uint64_t round)
{
    return (uint64_t)1 << round % FTC_LEVEL_PLACES;
}

/* The bits of levels->needed in the order of rounds: bit 0 is W rounds before the one under way, or
 * the one under way itself, once this rank has posted for it. */
static uint64_t needed_by_age(const struct ftc_levels *levels)
{
    unsigned shift = levels->round % FTC_LEVEL_PLACES;

    return shift == 0 ? levels->needed
                      : levels->needed >> shift | levels->needed << (FTC_LEVEL_PLACES - shift);
}

static struct ftc_sum *sum_of_age(struct ftc_levels *levels, int bit)
{
    return &levels->sum[(levels->round + (unsigned)bit) % FTC_LEVEL_PLACES];
}

/* Takes the oldest sum out of *ages. */
static struct ftc_sum *next_sum(struct ftc_levels *levels, uint64_t *ages)
{
    int bit = __builtin_ctzll(*ages);

    *ages &= *ages - 1;
    return sum_of_age(levels, bit);
}

/* S7. Once a sum is not needed it stays so. */
static bool is_needed(const struct ftc_comm *comm, const struct ftc_sum *sum)
{
    struct ftc_levels *levels = comm->levels;
    bool needed = !ftc_posts_knows_failed(comm, sum->signature.root);

    for (int rank = levels->first; needed && rank < levels->end; rank++)
        needed = !ftc_level_passed(levels->shared, sum->round, rank);
    if (!needed)
        levels->needed &= ~bit_of(sum->round);
    return needed;
}

static bool lies_in_block(const struct ftc_levels *levels, size_t size)
{
    return ftc_level_turns(levels->shared, FTC_LEVEL_POST, size) == FTC_LEVEL_BLOCKS;
}

/* The latest sum that is needed, before the rounds of the half that is W/2 rounds before this one.
 * blocks: of those whose posts lie in blocks, and with B in place of W. NULL: none is. */
static const struct ftc_sum *latest_needed(const struct ftc_comm *comm, bool blocks)
{
    const struct ftc_levels *levels = comm->levels;
    unsigned half = (blocks ? FTC_LEVEL_BLOCKS : FTC_LEVEL_PLACES) / 2;
    uint64_t begun = levels->round / half * half, end = begun > half ? begun - half : 0;

    for (uint64_t ages = needed_by_age(comm->levels); ages != 0;) {
        int bit = 63 - __builtin_clzll(ages);
        const struct ftc_sum *sum = sum_of_age(comm->levels, bit);
        if (sum->round < end && (!blocks || lies_in_block(levels, (size_t)sum->signature.size)) &&
            is_needed(comm, sum))
            return sum;
        ages &= ~((uint64_t)1 << bit);
    }
    return NULL;
}

/* S7b: the sum for which a post of `size` bytes waits; NULL: there is room. */
static const struct ftc_sum *sum_in_the_way(const struct ftc_comm *comm, size_t size)
{
    const struct ftc_sum *sum = latest_needed(comm, false);

    return sum == NULL && lies_in_block(comm->levels, size) ? latest_needed(comm, true) : sum;
}

bool ftc_sums_has_room(const struct ftc_comm *comm, size_t size)
{
    struct ftc_levels *levels = comm->levels;
    const struct ftc_sum *sum = sum_in_the_way(comm, size), *awaited = NULL;

    while (sum != NULL && sum != awaited) { /* the last look follows what was said */
        awaited = sum;
        ftc_level_await(levels->shared, sum->round);
        sum = sum_in_the_way(comm, size);
    }
    levels->wants = sum != NULL ? sum->signature.root : -1;
    return sum == NULL;
}

bool ftc_sums_must_answer(const struct ftc_levels *levels, size_t size)
{
    return (levels->round + 1) % (FTC_LEVEL_PLACES / 2) == 0 || lies_in_block(levels, size);
}

bool ftc_sums_is_delegate(const struct ftc_comm *comm)
{
    int rank = comm->levels->first;

    while (rank < comm->rank && ftc_posts_knows_failed(comm, rank))
        rank++;
    return rank == comm->rank;
}

/* S3, S4. */
static bool owes(const struct ftc_comm *comm, const struct ftc_sum *sum)
{
    const struct ftc_levels *levels = comm->levels;
    int root = sum->signature.root;

    return !sum->sent && (root < levels->first || root >= levels->end) &&
           ftc_sums_is_delegate(comm) && is_needed(comm, sum);
}

bool ftc_sums_owed(const struct ftc_comm *comm)
{
    for (uint64_t ages = needed_by_age(comm->levels); ages != 0;)
        if (owes(comm, next_sum(comm->levels, &ages)))
            return true;
    return false;
}

/* L is read before the mark (agreement.md, finality). */
static bool is_complete(const struct ftc_comm *comm, const struct ftc_sum *sum)
{
    const struct ftc_levels *levels = comm->levels;

    for (int rank = levels->first; rank < levels->end; rank++)
        if (!ftc_posts_knows_failed(comm, rank) &&
            !ftc_level_marked(levels->shared, FTC_LEVEL_POST, sum->round, rank))
            return false;
    return true;
}

bool ftc_sums_ready(const struct ftc_comm *comm)
{
    for (uint64_t ages = needed_by_age(comm->levels); ages != 0;) {
        const struct ftc_sum *sum = next_sum(comm->levels, &ages);
        if (owes(comm, sum) && is_complete(comm, sum))
            return true;
    }
    return false;
}

/* --- gathering --- */

enum found { FOUND, FOUND_NONE, FOUND_LATER };

/* Combines the post of `rank` into levels->input. S8: it looks at the mark again before it takes
 * what it has read for anything. */
static enum found add_post(struct ftc_comm *comm, struct ftc_sum *sum, int rank, bool first)
{
    struct ftc_levels *levels = comm->levels;
    struct ftc_level_record record;
    size_t size = (size_t)sum->signature.size;

    if (!ftc_level_marked(levels->shared, FTC_LEVEL_POST, sum->round, rank))
        return FOUND_NONE;
    bool read = ftc_level_read(levels->shared, FTC_LEVEL_POST, sum->round, rank, &record) == 0;
    bool fits = read && ftc_signature_equal(&record.signature, &sum->signature);
    bool same = read && ftc_epoch_equal(record.epoch, sum->epoch);
    if (fits && same && record.size == size) {
        if (first)
            memcpy(levels->input, record.data, size);
        else
            ftc_reduction_combine(&sum->reduction, record.data, levels->input, size);
    }
    atomic_thread_fence(memory_order_acquire);
    if (!ftc_level_stands(levels->shared, sum->round, rank))
        return FOUND_LATER;
    if (read && same && !fits)
        ftc_posts_mismatch(comm, sum->op, &sum->signature, rank, &record.signature);
    bool damaged = !read || (fits && record.size != size);
    if (damaged)
        ftc_posts_accuse(comm, rank);
    return same && !damaged ? FOUND : FOUND_NONE;
}

static void send_sum(struct ftc_comm *comm, struct ftc_sum *sum)
{
    struct ftc_levels *levels = comm->levels;
    bool first = true;

    ftc_set_clear(&levels->missing_of_sum);
    for (int rank = levels->first; rank < levels->end; rank++) {
        bool failed = ftc_posts_knows_failed(comm, rank);
        enum found found = add_post(comm, sum, rank, first);
        if (found == FOUND_LATER)
            levels->needed &= ~bit_of(sum->round);
        if (found == FOUND_LATER || (found == FOUND_NONE && !failed))
            return;
        if (found == FOUND)
            first = false;
        else
            ftc_set_add(&levels->missing_of_sum, rank);
    }
    struct ftc_call call = {
        .signature = sum->signature, .input = levels->input, .missing = &levels->missing_of_sum};
    sum->sent = true;
    ftc_progress_must(comm->process, ftc_member_sum(comm->member, sum->op, sum->epoch, &call));
    ftc_comm_outputs(comm);
}

void ftc_sums_send(struct ftc_comm *comm)
{
    for (uint64_t ages = needed_by_age(comm->levels); ages != 0;) {
        struct ftc_sum *sum = next_sum(comm->levels, &ages);
        if (owes(comm, sum) && is_complete(comm, sum))
            send_sum(comm, sum);
    }
}

/* --- what happens --- */

void ftc_sums_overwritten(struct ftc_levels *levels)
{
    levels->needed &= ~bit_of(levels->round);
}

void ftc_sums_posted(struct ftc_comm *comm, const struct ftc_call *call)
{
    struct ftc_levels *levels = comm->levels;

    levels->needed |= bit_of(levels->round);
    levels->sum[levels->round % FTC_LEVEL_PLACES] =
        (struct ftc_sum){.round = levels->round,
                         .op = ftc_member_next_op(comm->member),
                         .signature = call->signature,
                         .epoch = ftc_member_epoch(comm->member),
                         .reduction = *(const struct ftc_reduction *)call->combine_arg};
}

void ftc_sums_write_word(struct ftc_comm *comm, uint64_t round,
                         const struct ftc_signature *signature)
{
    struct ftc_levels *levels = comm->levels;
    struct ftc_level_record word = {.signature = *signature};

    if (levels->end - levels->first == 1)
        return;
    ftc_progress_must(comm->process, ftc_level_write(levels->shared, FTC_LEVEL_WORD, round, &word));
    atomic_thread_fence(memory_order_seq_cst);
    for (int rank = levels->first; rank < levels->end; rank++)
        if (ftc_level_awaits(levels->shared, round, rank))
            ftc_posts_ring(comm, rank, rank + 1);
}

void ftc_sums_taken(struct ftc_comm *comm, uint64_t op)
{
    struct ftc_levels *levels = comm->levels;
    uint64_t ages = levels != NULL ? needed_by_age(levels) : 0;

    while (ages != 0) {
        const struct ftc_sum *sum = next_sum(levels, &ages);
        if (sum->op > op)
            continue;
        levels->needed &= ~bit_of(sum->round);
        ftc_sums_write_word(comm, sum->round, &sum->signature);
    }
}

void ftc_sums_collected(struct ftc_comm *comm)
{
    comm->levels->needed = 0;
}
