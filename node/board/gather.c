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

static size_t place_of(const struct ftc_board *b, int rank, size_t *at)
{
    return b->call->place(b->call->take_arg, rank, at);
}

static size_t bytes_of_places(const struct ftc_board *b)
{
    size_t bytes = 0, at;

    for (int rank = 0; rank < b->ranks; rank++)
        bytes += place_of(b, rank, &at);
    return bytes;
}

/* Copy the places of all ranks from the result to b->kept, or back. */
static void copy_places(struct ftc_board *b, bool back)
{
    unsigned char *kept = b->kept;

    for (int rank = 0; rank < b->ranks; rank++) {
        size_t at, size = place_of(b, rank, &at);
        if (size == 0)
            continue;
        memcpy(back ? b->receive + at : kept, back ? kept : b->receive + at, size);
        kept += size;
    }
}

static bool overlap(const void *a, size_t a_size, const void *b, size_t b_size)
{
    return (uintptr_t)a < (uintptr_t)b + b_size && (uintptr_t)b < (uintptr_t)a + a_size;
}

/* May a block that is taken overwrite a block of the input that is posted later? */
static bool is_in_place(const struct ftc_board *b)
{
    const struct ftc_call *call = b->call;

    if (b->receive == NULL || call->input_size == 0 || FTC_BOARD_MUTATED(OVERLAP_NOT_KEPT))
        return false;
    if (call->place == NULL)
        return overlap(call->input, call->input_size, b->receive, call->signature.size);
    for (int rank = 0; rank < b->ranks; rank++) {
        size_t at, size = place_of(b, rank, &at);
        if (overlap(call->input, call->input_size, b->receive + at, size))
            return true;
    }
    return false;
}

/* Keep what another start needs. Returns the input that no block overwrites. */
static const unsigned char *keep(struct ftc_board *b)
{
    const struct ftc_call *call = b->call;
    bool in_place = is_in_place(b), places = call->place != NULL && b->receive != NULL;
    size_t bytes = places ? bytes_of_places(b) : 0;

    ftc_board_make_room(b, bytes + (in_place ? call->input_size : 0));
    if (places)
        copy_places(b, false);
    if (!in_place)
        return call->input;
    return memcpy(b->kept + bytes, call->input, call->input_size);
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

void ftc_board_gather(struct ftc_board *b)
{
    const unsigned char *input = b->call->input;

    if (b->call->signature.size > b->apart_limit)
        input = keep(b);
    while (!gather_from_start(b, input) && !b->revoked) {
        b->restarts++;
        if (b->receive != NULL && b->call->place != NULL && !FTC_BOARD_MUTATED(PLACES_NOT_RESTORED))
            copy_places(b, true);
    }
}
