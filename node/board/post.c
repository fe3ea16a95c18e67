/* Posting. A post needs a place, and a buffer if its data does not fit into the post. Neither may
 * have a reader of an older post left ("Reuse"). */
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "node/board/internal.h"

#define PAGE_BYTES 4096u
#define NO_BUFFER  UINT32_MAX

_Static_assert(FTC_BOARD_LINE *FTC_BOARD_DEPTH <= FTC_BOARD_LINES_BYTES &&
                   FTC_BOARD_LINES_OFFSET % PAGE_BYTES == 0,
               "each place has a line");

/* --- reuse --- */

static bool rank_finished(struct ftc_board *b, int rank, uint64_t end)
{
    return b->finished[rank] >= end || ftc_set_has(&b->known, rank);
}

/* Does this rank know, without looking, that nobody reads the old post any more? */
FTC_HOT static bool is_free(struct ftc_board *b, const struct ftc_board_use *use)
{
    return use->end <= b->settled ||
           (use->reader != FTC_BOARD_EVERYBODY && rank_finished(b, use->reader, use->end));
}

/* Wait for all members, and remember how far all have come, which spares the next looks. */
static void until_all_finished(struct ftc_board *b, uint64_t end)
{
    uint64_t settled = UINT64_MAX;

    for (int i = 0; i < b->members; i++) {
        int rank = b->member[i];
        if (rank == b->rank)
            continue;
        if (b->finished[rank] < end)
            ftc_board_until_finished(b, rank, end);
        if (b->revoked)
            return;
        if (!ftc_set_has(&b->known, rank) && b->finished[rank] < settled)
            settled = b->finished[rank];
    }
    b->settled = settled < b->round ? settled : b->round;
}

/* False: the board was revoked meanwhile. */
FTC_HOT static bool until_free(struct ftc_board *b, const struct ftc_board_use *use)
{
    if (is_free(b, use) || FTC_BOARD_MUTATED(NO_WAIT_FOR_READERS))
        return true;
    if (use->reader == FTC_BOARD_EVERYBODY)
        until_all_finished(b, use->end);
    else
        ftc_board_until_finished(b, use->reader, use->end);
    return !b->revoked || FTC_BOARD_MUTATED(REVOKED_POSTS);
}

/* --- buffers --- */

/* Buffers of one size. */
struct size_class {
    struct ftc_board_use *use;
    uint32_t count, size, offset;
    uint32_t *latest; /* the buffer that was taken last */
};

static struct size_class size_class_of(struct ftc_board *b, size_t bytes)
{
    if (bytes <= FTC_BOARD_SMALL)
        return (struct size_class){b->small, FTC_BOARD_SMALL_COUNT, FTC_BOARD_SMALL,
                                   FTC_BOARD_SMALL_OFFSET, &b->latest[0]};
    if (bytes <= FTC_BOARD_BLOCK)
        return (struct size_class){b->block, FTC_BOARD_BLOCK_COUNT, FTC_BOARD_BLOCK,
                                   FTC_BOARD_BLOCK_OFFSET, &b->latest[1]};
    return (struct size_class){b->whole, FTC_BOARD_WHOLE_COUNT, FTC_BOARD_WHOLE,
                               FTC_BOARD_WHOLE_OFFSET, &b->latest[2]};
}

/* Take the first free buffer, so that only few are ever used, and these stay in the caches. A rank
 * that runs ahead takes one after the other, so it looks at the next one before all others. If none
 * is free, wait for the one that was used longest ago. NO_BUFFER: the board was revoked. */
static uint32_t choose_buffer(struct ftc_board *b, const struct size_class *size_class)
{
    uint32_t oldest = 0, next = (*size_class->latest + 1) % size_class->count;

    if (!is_free(b, &size_class->use[0]) && is_free(b, &size_class->use[next]))
        return next;
    for (uint32_t i = 0; i < size_class->count; i++) {
        if (is_free(b, &size_class->use[i]))
            return i;
        if (size_class->use[i].end < size_class->use[oldest].end)
            oldest = i;
    }
    return until_free(b, &size_class->use[oldest]) ? oldest : NO_BUFFER;
}

/* Allocate memory of this rank's area, so that a full /dev/shm is an error here and not a SIGBUS
 * later. */
static void allocate(struct ftc_board *b, size_t offset, size_t bytes)
{
    int rc = ftc_board_allocate(&b->memory, b->rank, offset, bytes);

    if (rc != 0)
        b->set.host.exhausted(b->set.host.arg, rc);
}

/* Only the needed part of a buffer is allocated, because /dev/shm may be small and ranks may be
 * many. */
static void populate(struct ftc_board *b, struct ftc_board_use *use, uint32_t offset, size_t bytes)
{
    uint32_t from = offset / PAGE_BYTES * PAGE_BYTES; /* small buffers share pages */
    size_t to = (offset + bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;

    allocate(b, from, to - from);
    use->populated = (uint32_t)(to - offset);
}

/* Its offset in the area of this rank, or NO_BUFFER. */
static uint64_t new_buffer(struct ftc_board *b, size_t bytes, int reader)
{
    struct size_class size_class = size_class_of(b, bytes);
    uint32_t index = choose_buffer(b, &size_class);
    if (index == NO_BUFFER)
        return NO_BUFFER;
    *size_class.latest = index;

    struct ftc_board_use *use = &size_class.use[index];
    uint32_t offset = size_class.offset + index * size_class.size;

    if (bytes > use->populated)
        populate(b, use, offset, bytes);
    use->end = b->round + 1;
    use->reader = reader;
    return offset;
}

/* --- room --- */

/* The same as until_free(), without waiting. A rank counts as one that has not finished the round
 * under way, so a post that it has still to read itself is not free. */
static bool becomes_free(struct ftc_board *b, const struct ftc_board_use *use)
{
    if (is_free(b, use) || FTC_BOARD_MUTATED(NO_WAIT_FOR_READERS))
        return true;
    if (use->reader == FTC_BOARD_EVERYBODY)
        return ftc_board_settled(b, use->end);
    b->finished[use->reader] = FTC_BOARD_LOAD(b->memory.progress[use->reader].finished);
    return is_free(b, use);
}

bool ftc_board_has_room(struct ftc_board *b, uint64_t round, size_t bytes)
{
    struct size_class size_class = size_class_of(b, bytes);

    if (!becomes_free(b, &b->place[round % FTC_BOARD_DEPTH]))
        return false;
    if (bytes <= FTC_BOARD_LINE)
        return true;
    for (uint32_t i = 0; i < size_class.count; i++)
        if (becomes_free(b, &size_class.use[i]))
            return true;
    return false;
}

/* --- posting --- */

static unsigned char *own_line(struct ftc_board *b)
{
    if (!b->lines)
        allocate(b, FTC_BOARD_LINES_OFFSET, FTC_BOARD_LINES_BYTES);
    b->lines = true;
    return ftc_board_line(b, b->round, b->rank);
}

/* Where the data goes. NULL: the board was revoked. */
FTC_HOT static unsigned char *begin_post(struct ftc_board *b, struct ftc_board_post *post,
                                         size_t own, int reader)
{
    /* Readers know the size of the block, and not of this rank's part of it. */
    size_t bytes = FTC_BOARD_MUTATED(SHORT_BUFFER) ? own : b->bytes;
    struct ftc_board_use *use = &b->place[b->round % FTC_BOARD_DEPTH];
    bool alone = ftc_call_table[b->call->signature.kind].rooted;

    if (!until_free(b, use))
        return NULL;
    ftc_cpu_own(post);
    ftc_board_step();
    /* In a collecting round other ranks write to the same cache line, and may take it away between
     * two stores. So an unchanged signature is not stored again. In other rounds they do not, and
     * a store is cheaper than this comparison, which would wait for the line. */
    if (alone || !ftc_board_same_call(&post->signature, &b->mine))
        post->signature = b->mine;
    use->end = b->round + 1;
    use->reader = reader;
    if (bytes <= FTC_BOARD_INLINE)
        return post->data;
    if (bytes <= FTC_BOARD_LINE)
        return own_line(b);
    uint64_t offset = new_buffer(b, bytes, reader);
    if (offset == NO_BUFFER)
        return NULL;
    post->offset = offset;
    return b->memory.areas + (size_t)b->rank * FTC_BOARD_AREA + post->offset;
}

FTC_HOT bool ftc_board_post(struct ftc_board *b, const void *data, size_t bytes, int reader)
{
    struct ftc_board_post *post = ftc_board_post_of(b, b->round, b->rank);
    unsigned char *buffer = begin_post(b, post, bytes, reader);

    if (buffer == NULL)
        return false;
    b->source = data;
    ftc_board_step();
    if (bytes == FTC_BOARD_INLINE) /* a store instead of a call */
        memcpy(buffer, data, FTC_BOARD_INLINE);
    else if (bytes > 0)
        memcpy(buffer, data, bytes);
    FTC_BOARD_STORE(post->mark, ftc_board_mark(b->round + 1, b->check));
    b->set.host.pass(b->set.host.arg, FTC_BOARD_POSTED);
    return true;
}

/* --- reading --- */

FTC_HOT const unsigned char *ftc_board_data(struct ftc_board *b, uint64_t round, int rank,
                                            size_t bytes)
{
    const struct ftc_board_post *post = ftc_board_post_of(b, round, rank);

    ftc_board_step();
    if (bytes <= FTC_BOARD_INLINE)
        return post->data;
    if (bytes <= FTC_BOARD_LINE)
        return ftc_board_line(b, round, rank);
    uint64_t offset = post->offset; /* read once, so that the checked value is the one used */
    if (FTC_BOARD_CHECKS && !ftc_board_readable(b, offset))
        b->set.host.damaged(b->set.host.arg, "a post lies outside of its rank's area");
    return b->memory.areas + (size_t)rank * FTC_BOARD_AREA + offset;
}
