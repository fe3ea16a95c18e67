/*
 * Contributions that stay apart (agreement.md, "Node board", "Gathering"): the call takes the posts
 * of a round one by one, so the board combines nothing and keeps no result. A rank may have fewer
 * bytes than the greatest contribution, and then posts less, or nothing, in the last blocks.
 */
#include <string.h>

#include "node/board/internal.h"

size_t ftc_board_own_bytes(const struct ftc_board *b)
{
    size_t size = b->call->input_size;

    if (size <= b->offset)
        return 0;
    return size - b->offset < b->bytes ? size - b->offset : b->bytes;
}

/* --- what is kept for another start --- */

static size_t bytes_of_places(const struct ftc_board *b)
{
    size_t bytes = 0, at;

    for (int rank = 0; rank < b->ranks; rank++)
        bytes += ftc_board_place_of(b, rank, &at);
    return bytes;
}

/* Copy the places of all ranks from the result to b->kept, or back. */
static void copy_places(struct ftc_board *b, bool back)
{
    unsigned char *kept = b->kept + b->kept_input;

    for (int rank = 0; rank < b->ranks; rank++) {
        size_t at, size = ftc_board_place_of(b, rank, &at);
        if (size == 0)
            continue;
        memcpy(back ? b->receive + at : kept, back ? kept : b->receive + at, size);
        kept += size;
    }
}

/* Keep what another start needs. */
static void keep(struct ftc_board *b)
{
    bool places = b->call->place != NULL && b->receive != NULL;

    ftc_board_keep_input(b, places ? bytes_of_places(b) : 0);
    if (places)
        copy_places(b, false);
}

/* --- a call --- */

static bool gather_from_start(struct ftc_board *b, const unsigned char *input)
{
    size_t size = b->call->signature.size;

    b->offset = 0;
    do {
        b->bytes = ftc_board_block_size(b, size - b->offset, b->apart_limit);
        size_t own = ftc_board_own_bytes(b);
        if (!ftc_board_collect_apart(b, own > 0 ? input + b->offset : NULL, own))
            return false;
        b->offset += b->bytes;
    } while (b->offset < size);
    return true;
}

static void gather_in_blocks(struct ftc_board *b)
{
    if (b->call->signature.size > b->apart_limit)
        keep(b);
    while (!gather_from_start(b, ftc_board_kept_input(b)) && !b->revoked) {
        b->restarts++;
        if (b->receive != NULL && b->call->place != NULL && !FTC_BOARD_MUTATED(PLACES_NOT_RESTORED))
            copy_places(b, true);
    }
}

void ftc_board_gather(struct ftc_board *b)
{
    b->kept_input = 0;
    if (ftc_board_is_direct(b) && (ftc_board_gather_directly(b) || b->revoked))
        return;
    gather_in_blocks(b);
}
