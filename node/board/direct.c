/*
 * Large values that stay apart and go to places (agreement.md, "Direct copies"): each rank copies
 * what it wants from the memory of the others, directly to its place in the result. So each byte is
 * copied once instead of twice, and only where it is wanted.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "node/board/internal.h"

/* The ranks from which all copy before they exchange how it went. */
struct phase {
    int rank[FTC_BOARD_PHASE / FTC_BOARD_DIRECT];
    int ranks;
    size_t kept; /* bytes that this rank has kept of what it overwrites, in the order of copying */
};

/* The most bytes that a rank takes from another one, as far as all know. */
static size_t most_of_one(const struct ftc_board *b)
{
    size_t size = b->call->signature.size;

    return b->call->signature.kind == FTC_CALL_ALLTOALL ? size / (size_t)b->ranks : size;
}

/* Two members find all that they want of an alltoall in the first block. */
bool ftc_board_is_direct(const struct ftc_board *b)
{
    const struct ftc_signature *s = &b->call->signature;
    bool several = s->size > b->apart_limit;

    return ftc_board_has_places(b) && most_of_one(b) >= FTC_BOARD_DIRECT && b->met && !b->refused &&
           b->members > 1 && (several || (s->kind == FTC_CALL_ALLTOALL && b->members > 2));
}

/* --- phases --- */

static int ranks_of_phase(const struct ftc_board *b)
{
    size_t ranks = FTC_BOARD_PHASE / most_of_one(b);

    if (ranks < 1)
        return 1;
    return ranks < (size_t)b->ranks ? (int)ranks : b->ranks;
}

/* The next members, from rank *next on. Sets *next behind them. False: there are none. */
static bool next_phase(const struct ftc_board *b, int *next, struct phase *phase)
{
    int most = ranks_of_phase(b);

    phase->ranks = 0;
    phase->kept = 0;
    for (int i = 0; i < b->members && phase->ranks < most; i++)
        if (b->member[i] >= *next)
            phase->rank[phase->ranks++] = b->member[i];
    if (phase->ranks > 0)
        *next = phase->rank[phase->ranks - 1] + 1;
    return phase->ranks > 0;
}

/* Each rank begins with another one, so that not all copy from one process at a time. */
static int rank_at(const struct ftc_board *b, const struct phase *phase, int index)
{
    return phase->rank[(b->rank + 1 + index) % phase->ranks];
}

/* Room for the input, if the result overwrites it, and for what a phase overwrites. */
static void make_room(struct ftc_board *b)
{
    size_t ranks = (size_t)ranks_of_phase(b), most = 0, all = 0, at;

    for (int rank = 0; b->receive != NULL && rank < b->ranks; rank++) {
        size_t size = rank == b->rank ? 0 : ftc_board_place_of(b, rank, &at);
        most = size > most ? size : most;
        all += size;
    }
    ftc_board_keep_input(b, most < all / ranks ? most * ranks : all);
}

/* Put back what this phase has overwritten. */
static void restore(struct ftc_board *b, const struct phase *phase)
{
    const unsigned char *kept = b->kept + b->kept_input;
    size_t left = FTC_BOARD_MUTATED(DIRECT_NOT_RESTORED) ? 0 : phase->kept;

    for (int i = 0; i < phase->ranks && left > 0; i++) {
        int rank = rank_at(b, phase, i);
        size_t at, size = rank == b->rank ? 0 : ftc_board_place_of(b, rank, &at);
        if (size == 0)
            continue;
        size = size < left ? size : left;
        memcpy(b->receive + at, kept, size);
        kept += size;
        left -= size;
    }
}

/* --- copies --- */

/* How a copy went. Any two of these words differ in half of their bits or more. */
static uint64_t copy(struct ftc_board *b, int rank, void *to, uint64_t address, size_t size)
{
    const struct ftc_board_host *host = &b->set.host;

    if (!ftc_board_may_copy(b, rank))
        return FTC_COPY_FAILED;
    switch (host->copy_from(host->arg, rank, to, address, size)) {
    case FTC_COPIED:
        return FTC_COPY_SUCCEEDED;
    case FTC_NOBODY_THERE:
        return FTC_COPY_FAILED;
    default:
        return FTC_COPY_REFUSED;
    }
}

/* Find where this rank's piece of `size` bytes begins in the contribution of `rank`. The words of
 * `rank` are not trusted: if the sizes do not fit, the call goes on by blocks, and these find the
 * error. */
static uint64_t find_piece(struct ftc_board *b, int rank, size_t size, uint64_t *from)
{
    const struct ftc_board_offer *offer = &b->offers[rank];
    uint64_t bounds[2] = {0, size}, entry = (uint64_t)b->rank * sizeof(bounds[0]);
    uint64_t word = FTC_COPY_SUCCEEDED;

    if (b->call->signature.kind == FTC_CALL_ALLTOALL && b->call->parts != NULL) {
        if (offer->size < entry + sizeof(bounds))
            return FTC_COPY_FAILED;
        word = copy(b, rank, bounds, offer->input + entry, sizeof(bounds));
    } else {
        bounds[0] = ftc_board_own_piece(b);
        bounds[1] = bounds[0] + size;
    }
    *from = bounds[0];
    if (word == FTC_COPY_SUCCEEDED &&
        (bounds[0] > bounds[1] || bounds[1] > offer->size || bounds[1] - bounds[0] != size))
        return FTC_COPY_FAILED;
    return word;
}

/* Copy what this rank wants of `rank` in pieces, and keep what each piece overwrites. */
static uint64_t copy_place(struct ftc_board *b, int rank, size_t place, size_t size,
                           struct phase *phase)
{
    uint64_t from, word = find_piece(b, rank, size, &from);

    for (size_t at = 0, piece; at < size && word == FTC_COPY_SUCCEEDED; at += piece) {
        unsigned char *to = b->receive + place + at;
        piece = size - at < FTC_BOARD_PIECE ? size - at : FTC_BOARD_PIECE;
        memcpy(b->kept + b->kept_input + phase->kept, to, piece);
        phase->kept += piece;
        word = copy(b, rank, to, b->offers[rank].input + from + at, piece);
    }
    return word;
}

/* The input is elsewhere, or it is this very place. */
static void copy_own(struct ftc_board *b, size_t place, size_t size)
{
    const unsigned char *own = ftc_board_kept_input(b) + ftc_board_own_piece(b);

    if (own != b->receive + place)
        memcpy(b->receive + place, own, size);
}

static bool has_died(struct ftc_board *b, const struct phase *phase)
{
    for (int i = 0; i < phase->ranks; i++)
        if (ftc_board_copied_dead(b, phase->rank[i]))
            return true;
    return false;
}

static uint64_t copy_phase(struct ftc_board *b, struct phase *phase)
{
    uint64_t word = FTC_COPY_SUCCEEDED;

    for (int i = 0; i < phase->ranks && b->receive != NULL && word == FTC_COPY_SUCCEEDED; i++) {
        int rank = rank_at(b, phase, i);
        size_t place, size = ftc_board_place_of(b, rank, &place);
        if (size > 0 && rank != b->rank)
            word = copy_place(b, rank, place, size, phase);
        else if (size > 0)
            copy_own(b, place, size);
    }
    return word == FTC_COPY_SUCCEEDED && has_died(b, phase) ? FTC_COPY_FAILED : word;
}

/* After a revoke the callers of others may have changed what this rank has copied. The copies are
 * made before this look. */
static bool is_revoked(struct ftc_board *b)
{
    atomic_thread_fence(memory_order_acquire);
    return !FTC_BOARD_MUTATED(DIRECT_REVOKE_UNSEEN) && ftc_board_is_revoked(b);
}

/* --- a call --- */

static void make_offers(struct ftc_board *b)
{
    if (b->offers == NULL)
        b->offers = calloc((size_t)b->ranks, sizeof(*b->offers));
    if (b->offers == NULL)
        b->set.host.exhausted(
            b->set.host.arg,
            ftc_error_set(FTC_ERR_NOMEM, "no memory for the offers of %d ranks", b->ranks));
}

/* Sets *word to what this rank says if it copies nothing. False: the board was revoked. */
static bool exchange_offers(struct ftc_board *b, uint64_t *word)
{
    struct ftc_board_offer mine = {.input = (uintptr_t)ftc_board_kept_input(b),
                                   .size = b->call->input_size};

    make_offers(b);
    if (!ftc_board_exchange_offers(b, &mine))
        return false;
    *word = FTC_COPY_SUCCEEDED;
    for (int i = 0; i < b->members; i++) {
        int rank = b->member[i];
        struct ftc_board_offer *offer = &b->offers[rank];
        memcpy(offer, ftc_board_exchanged(b, rank), sizeof(*offer));
        if (!ftc_board_is_offer(b, rank, offer))
            *word = *word == FTC_COPY_REFUSED ? *word : FTC_COPY_FAILED;
        else if (!offer->allowed)
            *word = FTC_COPY_REFUSED;
    }
    return true;
}

/* Exchange how the copies went. Sets *word to what holds for all. False: the board was revoked. */
static bool exchange_words(struct ftc_board *b, uint64_t *word)
{
    uint64_t mine = *word;

    if (!ftc_board_exchange(b, &mine, sizeof(mine)))
        return false;
    for (int i = 0; i < b->members && !FTC_BOARD_MUTATED(DIRECT_FAILED_ALONE); i++) {
        uint64_t theirs;
        memcpy(&theirs, ftc_board_exchanged(b, b->member[i]), sizeof(theirs));
        if (theirs == FTC_COPY_REFUSED || (theirs == FTC_COPY_FAILED && *word != FTC_COPY_REFUSED))
            *word = theirs;
        else if (theirs != FTC_COPY_SUCCEEDED && theirs != FTC_COPY_FAILED)
            b->set.host.damaged(b->set.host.arg,
                                "a rank does not say how its copies went, and others go by it");
    }
    return true;
}

/* The contributions of these ranks are entire at all members, whoever dies from now on. */
static void add_taken(struct ftc_board *b, const struct phase *phase)
{
    for (int i = 0; i < phase->ranks; i++)
        ftc_set_add(&b->taken, phase->rank[i]);
}

/* False: a copy was not made everywhere, or the board was revoked. */
static bool run_phase(struct ftc_board *b, struct phase *phase, uint64_t word)
{
    bool early = FTC_BOARD_MUTATED(DIRECT_EARLY);

    if (word == FTC_COPY_SUCCEEDED && !early)
        word = copy_phase(b, phase);
    if (is_revoked(b) || !exchange_words(b, &word))
        return false;
    if (word == FTC_COPY_SUCCEEDED && early)
        (void)copy_phase(b, phase);
    if (word == FTC_COPY_SUCCEEDED) {
        add_taken(b, phase);
        return true;
    }
    restore(b, phase);
    b->refused = word == FTC_COPY_REFUSED;
    b->restarts += word != FTC_COPY_REFUSED;
    return false;
}

bool ftc_board_gather_directly(struct ftc_board *b)
{
    struct phase phase;
    uint64_t word;
    int next = 0;

    make_room(b);
    if (!exchange_offers(b, &word))
        return false;
    while (next_phase(b, &next, &phase))
        if (!run_phase(b, &phase, word))
            return false;
    return true;
}
