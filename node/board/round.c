/*
 * Collecting rounds: which members have posted, and the combined value.
 *
 * With few members and little data each member waits for the marks in rank order and combines for
 * itself. Otherwise a member that finds the round over claims the chunks that nobody has claimed,
 * combines them and sets them done; the others copy the result. Usually this is the member that
 * arrives last. When a claimer dies, a member that finds it in L claims the chunk instead.
 */
#include <string.h>

#include "base/cpu.h"
#include "node/board/internal.h"

/* --- posts --- */

/* agreement.md, "Deciding". L is read before the mark. True: the post of each member is sound or
 * missing. */
FTC_HOT static bool look_at_marks(struct ftc_board *b)
{
    if (b->cursor == 0)
        b->judged = b->failures;
    while (b->cursor < b->members) {
        int rank = b->member[b->cursor];
        bool failed = FTC_BOARD_CHECKS && b->live < b->members && ftc_set_has(&b->known, rank);
        if ((b->apart && rank == b->rank) || (b->leaving > 0 && ftc_set_has(&b->left_out, rank))) {
            b->cursor++; /* its post is not needed, or is known to be missing */
            continue;
        }
        enum ftc_board_standing standing = ftc_board_standing(b, rank, failed);
        if (standing == FTC_POST_AWAITED)
            return false;
        if (standing == FTC_POST_MISSING) {
            ftc_set_add(&b->left_out, rank);
            b->leaving++;
            b->missing++;
        }
        b->cursor++;
    }
    return true;
}

FTC_HOT static bool is_over(struct ftc_board *b)
{
    if (b->over || !look_at_marks(b))
        return b->over;
    b->over = !FTC_BOARD_CHECKS || ftc_board_decide_posts(b);
    if (!b->over)
        b->cursor = 0;
    return b->over;
}

/* Is the wait for this block in vain? An operation of several blocks starts again when a member is
 * missing in a later block than the first. After a revoke this call ends. */
static bool is_torn(const struct ftc_board *b)
{
    return (b->revoked && !FTC_BOARD_MUTATED(REVOKED_GOES_ON)) || (b->offset > 0 && b->missing > 0);
}

/* --- combining --- */

struct ftc_board_part ftc_board_slice(const struct ftc_board *b)
{
    size_t from = b->offset, to = b->offset + b->bytes;
    size_t start = b->call->slice_offset, end = start + b->call->slice_size;

    from = from > start ? from : start;
    to = to < end ? to : end;
    if (from >= to)
        return (struct ftc_board_part){0, 0, 0};
    return (struct ftc_board_part){from - b->offset, from - start, to - from};
}

static bool posted(const struct ftc_board *b, int rank)
{
    return !FTC_BOARD_CHECKS || b->missing == 0 || FTC_BOARD_MUTATED(MISSING_COMBINED) ||
           !ftc_set_has(&b->left_out, rank);
}

FTC_HOT static void copy(unsigned char *out, const unsigned char *data, size_t size)
{
    if (size == FTC_BOARD_INLINE) /* a constant size makes it a move instead of a call */
        memcpy(out, data, FTC_BOARD_INLINE);
    else
        memcpy(out, data, size);
}

FTC_HOT void ftc_board_combine_two(const struct ftc_call *call, const unsigned char *first,
                                   const unsigned char *second, unsigned char *out, size_t size)
{
    if (call->merge != NULL) {
        call->merge(call->combine_arg, second, first, out, size);
        return;
    }
    copy(out, first, size);
    call->combine(call->combine_arg, second, out, size);
}

/* With two members the other one reads this rank's post now. So this rank reads its own data from
 * the source, and does not touch the cache lines of the post. */
FTC_HOT static const unsigned char *data_of(struct ftc_board *b, int rank)
{
    if (rank == b->rank && (b->apart || (b->members == 2 && b->call->merge != NULL)))
        return b->source;
    return ftc_board_data(b, b->round, rank, b->bytes);
}

/* Combine the posts in rank order (agreement.md, "Deciding"). `from` counts from the start of the
 * block. */
FTC_HOT static void combine(struct ftc_board *b, size_t from, size_t size, unsigned char *out)
{
    const struct ftc_call *call = b->call;
    const unsigned char *first = NULL;
    int combined = 0;

    for (int i = 0; i < b->members; i++) {
        int rank = b->member[i];
        if (!posted(b, rank))
            continue;
        const unsigned char *data = data_of(b, rank) + from;
        if (combined == 0)
            first = data;
        else if (combined == 1)
            ftc_board_combine_two(call, first, data, out, size);
        else
            call->combine(call->combine_arg, data, out, size);
        combined++;
    }
    if (combined == 1 && out != first) /* equal if this rank alone combines in place */
        copy(out, first, size);
}

/* A chunk has whole elements, and is no smaller than FTC_BOARD_CHUNK, so that a block has no more
 * chunks than claims. */
static size_t chunk_size(const struct ftc_board *b)
{
    size_t element = b->call->element;

    if (element <= 1 || FTC_BOARD_MUTATED(CHUNK_SPLIT))
        return FTC_BOARD_CHUNK;
    return (FTC_BOARD_CHUNK + element - 1) / element * element;
}

static void combine_part(struct ftc_board *b, size_t from, size_t size, unsigned char *out)
{
    if (size <= FTC_BOARD_CHUNK) {
        combine(b, from, size, out);
        return;
    }
    size_t chunk = chunk_size(b);

    for (size_t done = 0; done < size; done += chunk) {
        size_t left = size - done;
        combine(b, from + done, left < chunk ? left : chunk, out + done);
    }
}

/* Let the call take the posts one by one (agreement.md, "Gathering"). */
static void take_posts(struct ftc_board *b)
{
    const struct ftc_call *call = b->call;
    bool first = true, upwards = FTC_BOARD_MUTATED(TAKEN_UPWARDS);

    for (int i = 0; i < b->members && b->bytes > 0; i++) {
        int rank = b->member[upwards ? i : b->members - 1 - i];
        if (!posted(b, rank))
            continue;
        call->take(call->take_arg, rank, b->offset, data_of(b, rank), b->bytes, first, b->receive);
        first = false;
    }
}

/* --- chunks --- */

static unsigned chunks(const struct ftc_board *b)
{
    size_t chunk = chunk_size(b);

    if (b->bytes <= FTC_BOARD_CHUNK)
        return 1; /* a barrier's only chunk is empty */
    return (unsigned)((b->bytes + chunk - 1) / chunk);
}

static unsigned char *result(const struct ftc_board *b)
{
    return b->memory.results + (b->round % FTC_BOARD_RESULTS) * FTC_BOARD_BLOCK;
}

/* A claim is free if it is of another round, or if its holder is in L and so has stopped writing.
 * An impossible claim is damaged; it is free, too, and the chunk is combined again. A claim of this
 * rank is impossible, because this rank holds none while it looks. */
static bool may_claim(struct ftc_board *b, uint64_t word)
{
    int holder = (int)(FTC_BOARD_VALUE(word) >> 2);

    if ((word & ~(uint64_t)0xffff) != FTC_BOARD_TAG(b->round))
        return true;
    if ((word & 3) == FTC_CLAIM_NONE)
        return true;
    return (word & 3) == FTC_CLAIM_TAKEN &&
           (holder >= b->ranks || holder == b->rank || ftc_set_has(&b->known, holder) ||
            FTC_BOARD_MUTATED(CLAIM_STOLEN));
}

static bool is_done(const struct ftc_board *b, uint64_t word)
{
    return (word & ~(uint64_t)0xffff) == FTC_BOARD_TAG(b->round) && (word & 3) >= FTC_CLAIM_DONE;
}

static uint64_t claim_word(const struct ftc_board *b, enum ftc_board_claim state)
{
    return FTC_BOARD_WORD(b->round, (unsigned)b->rank << 2 | state);
}

/* Claim a chunk if it is free, and combine it. If its dead holder had set it done after `word` was
 * read, the compare-and-swap fails. */
static void try_chunk(struct ftc_board *b, unsigned index)
{
    _Atomic uint64_t *claim = &ftc_board_place(b, b->round)->claim[index];
    uint64_t word = FTC_BOARD_LOAD(*claim);
    size_t chunk = chunk_size(b), from = index * chunk, left = b->bytes - from;

    if (!may_claim(b, word) || !FTC_BOARD_SWAP(*claim, &word, claim_word(b, FTC_CLAIM_TAKEN)))
        return;
    if (b->bytes > 0)
        combine(b, from, left < chunk ? left : chunk, result(b) + from);
    bool short_of = b->missing > 0 && !FTC_BOARD_MUTATED(SHORT_FORGOTTEN);
    FTC_BOARD_STORE(*claim, claim_word(b, short_of ? FTC_CLAIM_DONE_SHORT : FTC_CLAIM_DONE));
}

/* True if all chunks are done; else b->chunk is the first one that is not. If a chunk was combined
 * without missing members, these are declared, and this rank will find the same ones missing. */
FTC_HOT static bool all_done(struct ftc_board *b)
{
    struct ftc_board_place *place = ftc_board_place(b, b->round);

    for (; b->chunk < b->chunks; b->chunk++) {
        uint64_t word = FTC_BOARD_LOAD(place->claim[b->chunk]);
        if (!is_done(b, word))
            return false;
        if ((word & 3) == FTC_CLAIM_DONE_SHORT)
            b->short_of_members = true;
    }
    return true;
}

/* --- arrival --- */

FTC_HOT static void arrive(struct ftc_board *b)
{
    struct ftc_board_place *place = ftc_board_place(b, b->round);
    uint64_t tag = FTC_BOARD_TAG(b->round), word = FTC_BOARD_LOAD(place->arrived);

    while (!FTC_BOARD_SWAP(place->arrived, &word,
                           (word & ~(uint64_t)0xffff) == tag ? word + 1 : tag + 1))
        ;
}

/* A hint, because members that died after their arrival are counted. */
FTC_HOT static bool all_arrived(struct ftc_board *b)
{
    uint64_t word = FTC_BOARD_LOAD(ftc_board_place(b, b->round)->arrived);

    return (word & ~(uint64_t)0xffff) == FTC_BOARD_TAG(b->round) &&
           (int)FTC_BOARD_VALUE(word) >= b->live;
}

FTC_HOT static bool done_together(struct ftc_board *b)
{
    if (!all_done(b)) {
        if (!b->over && !b->suspicious && !all_arrived(b))
            return false;
        b->suspicious = false;
        if (!is_over(b))
            return false;
        if (is_torn(b))
            return true;
        for (unsigned index = b->chunk; index < b->chunks; index++)
            try_chunk(b, index);
        if (!all_done(b))
            return false;
    }
    return !b->short_of_members || is_over(b);
}

/* --- a round --- */

static bool each_for_itself(const struct ftc_board *b)
{
    return b->members <= 2 ||
           (size_t)b->members * (b->bytes + sizeof(struct ftc_board_post)) <= FTC_BOARD_SELF;
}

static void begin(struct ftc_board *b)
{
    b->cursor = 0;
    b->over = b->suspicious = b->short_of_members = false;
    b->missing = 0;
}

FTC_HOT static void wait_for_posts(struct ftc_board *b)
{
    bool to_root = ftc_call_to_root(b->call->signature.kind);

    begin(b);
    bool ahead = ftc_board_until(b, is_over, to_root) && to_root;
    for (int i = 0; i < b->members && ahead; i++)
        ftc_board_fetch_ahead(b, b->member[i]);
}

FTC_HOT void ftc_board_collect_for_itself(struct ftc_board *b, unsigned char *out)
{
    wait_for_posts(b);
    if (out == NULL || is_torn(b))
        return;
    if (b->bytes > FTC_BOARD_CHUNK)
        combine_part(b, 0, b->bytes, out);
    else if (b->bytes > 0)
        combine(b, 0, b->bytes, out);
}

void ftc_board_collect_and_take(struct ftc_board *b)
{
    wait_for_posts(b);
    if (b->receive != NULL && !is_torn(b))
        take_posts(b);
}

/* This rank may be the one that combines. In a file of its own only what is needed is allocated. */
FTC_HOT static void allocate_result(struct ftc_board *b)
{
    uint32_t index = (uint32_t)(b->round % FTC_BOARD_RESULTS), *allocated = &b->results[index];

    if (b->bytes <= *allocated)
        return;
    int rc = ftc_board_allocate_result(&b->memory, (size_t)index * FTC_BOARD_BLOCK, b->bytes);
    if (rc != 0)
        b->set.host.exhausted(b->set.host.arg, rc);
    *allocated = (uint32_t)b->bytes;
}

/* --- the round of a started operation --- */

void ftc_board_begin_round(struct ftc_board *b)
{
    begin(b);
}

FTC_HOT bool ftc_board_round_is_over(struct ftc_board *b)
{
    return is_over(b);
}

FTC_HOT void ftc_board_take_round(struct ftc_board *b)
{
    struct ftc_board_part part = {0, 0, b->bytes};

    if (b->receive == NULL)
        return;
    if (b->call->take != NULL) {
        take_posts(b);
        return;
    }
    if (b->call->signature.kind == FTC_CALL_REDUCE_SCATTER)
        part = ftc_board_slice(b);
    if (part.size > 0)
        combine_part(b, part.from, part.size, b->receive + part.at);
}

/* --- a round of all --- */

FTC_HOT static void collect_together(struct ftc_board *b)
{
    allocate_result(b);
    begin(b);
    b->chunk = 0;
    b->chunks = chunks(b);
    arrive(b);
    ftc_board_until(b, done_together, false);
}

FTC_HOT static bool end_block(struct ftc_board *b)
{
    bool whole = !is_torn(b) || FTC_BOARD_MUTATED(NO_RESTART);

    ftc_board_finish(b, true);
    if (b->missing > 0)
        ftc_board_list_members(b);
    return whole;
}

FTC_HOT bool ftc_board_collect_block(struct ftc_board *b, const unsigned char *input,
                                     unsigned char *out)
{
    if (!ftc_board_post(b, input, b->bytes, FTC_BOARD_EVERYBODY))
        return false;
    if (each_for_itself(b)) {
        ftc_board_collect_for_itself(b, out);
        return end_block(b);
    }
    collect_together(b);
    if (out != NULL && b->bytes > 0 && !is_torn(b))
        copy(out, result(b), b->bytes);
    return end_block(b);
}

bool ftc_board_collect_slice(struct ftc_board *b, const unsigned char *input)
{
    struct ftc_board_part part = ftc_board_slice(b);
    /* No two ranks combine the same byte of a single block, so no result is shared. */
    bool alone = b->bytes == b->call->signature.size || each_for_itself(b);

    if (!ftc_board_post(b, input, b->bytes, FTC_BOARD_EVERYBODY))
        return false;
    if (alone)
        wait_for_posts(b);
    else
        collect_together(b);
    if (part.size > 0 && !is_torn(b)) {
        if (alone)
            combine_part(b, part.from, part.size, b->receive + part.at);
        else
            memcpy(b->receive + part.at, result(b) + part.from, part.size);
    }
    return end_block(b);
}

bool ftc_board_collect_apart(struct ftc_board *b, const unsigned char *input, size_t own)
{
    if (!ftc_board_post(b, input, own, FTC_BOARD_EVERYBODY))
        return false;
    ftc_board_collect_and_take(b);
    return end_block(b);
}
