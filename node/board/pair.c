/*
 * Two members with a large value (agreement.md, "Pairs"). Each member combines half of the value.
 * It reads the input of the other one, and writes the result of the other one, directly in the
 * memory of the other process. So each byte is copied once instead of twice, and each member
 * combines only half.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "node/board/internal.h"

static int partner(const struct ftc_board *b)
{
    return b->member[0] == b->rank ? b->member[1] : b->member[0];
}

bool ftc_board_is_pair(const struct ftc_board *b, size_t size)
{
    return size >= FTC_BOARD_DIRECT && b->members == 2 && b->met && !b->refused;
}

/* Exchange words with the other member. False: it died before it posted, or the board was
 * revoked. */
static bool exchange(struct ftc_board *b, const void *mine, void *theirs, size_t size)
{
    int rank = partner(b);

    if (!ftc_board_exchange(b, mine, size) || b->members < 2)
        return false;
    memcpy(theirs, ftc_board_exchanged(b, rank), size);
    return true;
}

/* --- this rank's half --- */

struct half {
    size_t from, to;
};

/* The lower rank combines the first half. */
static struct half half_of(const struct ftc_board *b)
{
    size_t size = b->call->signature.size, element = b->call->element,
           middle = size / 2 / FTC_BOARD_PAIR_UNIT * FTC_BOARD_PAIR_UNIT;

    if (element > 1)
        middle -= middle % element;
    if (b->rank < partner(b))
        return (struct half){0, middle};
    return (struct half){middle, size};
}

/* Does the other member still live? And may it still be in the call? After a revoke its caller may
 * use the buffers for something else. The fence of the first look lies in ftc_board_decide_posts(),
 * after this rank has posted its offer. */
static bool still_there(struct ftc_board *b)
{
    if (!FTC_BOARD_MUTATED(PAIR_COPIES_REVOKED) && ftc_board_is_revoked(b))
        return false;
    return ftc_board_may_copy(b, partner(b));
}

/* Room for two pieces: one of the other member's input, and one of a result that only the other
 * member wants. */
static unsigned char *scratch(struct ftc_board *b)
{
    if (b->scratch == NULL)
        b->scratch = malloc(2 * (size_t)FTC_BOARD_PIECE);
    if (b->scratch == NULL)
        b->set.host.exhausted(b->set.host.arg,
                              ftc_error_set(FTC_ERR_NOMEM, "no memory to combine in"));
    return b->scratch;
}

/* Read a piece of their input, combine it with ours in rank order, and write the result where it is
 * wanted. Their piece is read directly to the place of the result if the call has a merge
 * function, which can combine in place. */
static bool combine_piece(struct ftc_board *b, const unsigned char *input, unsigned char *output,
                          const struct ftc_board_offer *theirs, size_t at, size_t size)
{
    const struct ftc_board_host *host = &b->set.host;
    unsigned char *out = output != NULL ? output + at : scratch(b) + FTC_BOARD_PIECE;
    unsigned char *read = output != NULL && b->call->merge != NULL ? out : scratch(b);
    bool lower = b->rank < partner(b);

    if (!still_there(b) ||
        host->copy_from(host->arg, partner(b), read, theirs->input + at, size) != FTC_COPIED ||
        ftc_board_copied_dead(b, partner(b)))
        return false;
    ftc_board_combine_two(b->call, lower ? input + at : read, lower ? read : input + at, out, size);
    if (theirs->output == 0)
        return true;
    return still_there(b) &&
           host->copy_to(host->arg, partner(b), theirs->output + at, out, size) == FTC_COPIED;
}

static bool combine_half(struct ftc_board *b, const unsigned char *input, unsigned char *output,
                         const struct ftc_board_offer *theirs)
{
    struct half half = half_of(b);

    for (size_t at = half.from, piece; at < half.to; at += piece) {
        piece = ftc_board_block_size(b, half.to - at, FTC_BOARD_PIECE);
        if (!combine_piece(b, input, output, theirs, at, piece))
            return false;
    }
    return true;
}

/* --- revoked --- */

static bool has_posted(const struct ftc_board *b, uint64_t round)
{
    uint64_t mark = FTC_BOARD_LOAD(ftc_board_post_of(b, round, partner(b))->mark);

    return (mark & FTC_BOARD_ROUND_MASK) == round + 1;
}

/* May the other member copy from or to this process, or do so soon? `first`: the round of the
 * offers. */
static bool may_copy(struct ftc_board *b, uint64_t first)
{
    ftc_board_look(b);
    return !ftc_set_has(&b->known, partner(b)) && has_posted(b, first) &&
           !has_posted(b, first + 1) &&
           !ftc_board_says_left(b, FTC_BOARD_LOAD(b->memory.progress[partner(b)].left));
}

/* This rank found the board revoked. It copies no more, and waits until the other member copies no
 * more either (agreement.md, "Revoked"). */
static void withdraw(struct ftc_board *b, uint64_t first)
{
    ftc_board_leave(b);
    ftc_board_fence_others(b);
    while (may_copy(b, first) && !FTC_BOARD_MUTATED(PAIR_NOT_AWAITED))
        ftc_board_nap(b);
}

/* --- a call --- */

static bool is_fenced(struct ftc_board *b)
{
    return ftc_set_has(&b->known, partner(b));
}

/* Exchange offers. False: the other member died before, or its offer was damaged and it was
 * fenced. */
static bool exchange_offers(struct ftc_board *b, struct ftc_board_offer *mine,
                            struct ftc_board_offer *theirs)
{
    int rank = partner(b);

    if (!ftc_board_exchange_offers(b, mine) || b->members < 2)
        return false;
    memcpy(theirs, ftc_board_exchanged(b, rank), sizeof(*theirs));
    if (ftc_board_is_offer(b, rank, theirs))
        return true;
    ftc_board_until(b, is_fenced, false);
    return false;
}

/* Exchange whether the copies succeeded. The two words differ in all bits, so a damaged
 * word is neither. False: the other member died before, or was fenced. */
static bool exchange_success(struct ftc_board *b, bool here, bool *there)
{
    uint64_t mine = here ? FTC_COPY_SUCCEEDED : FTC_COPY_REFUSED, theirs;

    if (!exchange(b, &mine, &theirs, sizeof(mine))) {
        b->restarts++;
        return false;
    }
    *there = theirs == FTC_COPY_SUCCEEDED;
    if (*there || theirs == FTC_COPY_REFUSED)
        return true;
    b->set.host.accuse(b->set.host.arg, partner(b),
                       "says neither that its copy succeeded nor that it was refused");
    ftc_board_until(b, is_fenced, false);
    return false;
}

static enum ftc_board_pair together(struct ftc_board *b, const void *input, void *output)
{
    struct ftc_board_offer mine = {.input = (uintptr_t)input, .output = (uintptr_t)output}, theirs;
    bool early = FTC_BOARD_MUTATED(PAIR_EARLY);
    bool succeeded, theirs_succeeded;

    if (!exchange_offers(b, &mine, &theirs))
        return FTC_PAIR_ALONE;
    succeeded =
        mine.allowed && theirs.allowed && (early || combine_half(b, input, output, &theirs));
    if (!exchange_success(b, succeeded, &theirs_succeeded))
        return FTC_BOARD_MUTATED(PAIR_HALF) && succeeded ? FTC_PAIR_DONE : FTC_PAIR_ALONE;
    if (early)
        (void)combine_half(b, input, output, &theirs);
    b->refused = !succeeded || (!theirs_succeeded && !FTC_BOARD_MUTATED(PAIR_REFUSED_ALONE));
    return b->refused ? FTC_PAIR_REFUSED : FTC_PAIR_DONE;
}

enum ftc_board_pair ftc_board_pair_combine(struct ftc_board *b, const void **input)
{
    size_t size = b->call->signature.size;

    *input = b->call->input;
    if (*input == b->receive) {
        ftc_board_make_room(b, size);
        memcpy(b->kept, *input, size);
        *input = b->kept;
    }
    uint64_t first = b->round;
    enum ftc_board_pair end = together(b, *input, b->receive);
    if (b->revoked)
        withdraw(b, first);
    if (FTC_BOARD_MUTATED(PAIR_INPUT_NOT_KEPT))
        *input = b->call->input;
    if (end == FTC_PAIR_ALONE && b->receive != NULL && !FTC_BOARD_MUTATED(PAIR_NOT_DELIVERED))
        memmove(b->receive, *input, size);
    return end;
}
