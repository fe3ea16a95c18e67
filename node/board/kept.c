/* What another start needs again: the input, if the result overwrites it, and places. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "node/board/internal.h"

void ftc_board_make_room(struct ftc_board *b, size_t bytes)
{
    if (bytes <= b->kept_room)
        return;
    unsigned char *kept = realloc(b->kept, bytes);
    if (kept == NULL)
        b->set.host.exhausted(
            b->set.host.arg,
            ftc_error_set(FTC_ERR_NOMEM, "no memory for a copy of %zu bytes", bytes));
    b->kept = kept;
    b->kept_room = bytes;
}

static bool overlap(const void *a, size_t a_size, const void *b, size_t b_size)
{
    return (uintptr_t)a < (uintptr_t)b + b_size && (uintptr_t)b < (uintptr_t)a + a_size;
}

/* May a contribution that is taken overwrite bytes of the input that others need later? It does not
 * where this rank's own piece goes, if that is where it is. */
static bool is_in_place(const struct ftc_board *b)
{
    const struct ftc_call *call = b->call;
    const unsigned char *input = call->input;

    if (b->receive == NULL || call->input_size == 0 || FTC_BOARD_MUTATED(OVERLAP_NOT_KEPT))
        return false;
    if (call->place == NULL)
        return overlap(input, call->input_size, b->receive, call->signature.size);
    for (int rank = 0; rank < b->ranks; rank++) {
        size_t at, size = ftc_board_place_of(b, rank, &at);
        bool own = rank == b->rank && ftc_board_has_places(b) &&
                   b->receive + at == input + ftc_board_own_piece(b);
        if (!own && overlap(input, call->input_size, b->receive + at, size))
            return true;
    }
    return false;
}

void ftc_board_keep_input(struct ftc_board *b, size_t more)
{
    size_t size = is_in_place(b) ? b->call->input_size : 0;

    ftc_board_make_room(b, size + more);
    if (size > 0 && b->kept_input == 0)
        memcpy(b->kept, b->call->input, size);
    b->kept_input = size;
}

const unsigned char *ftc_board_kept_input(const struct ftc_board *b)
{
    return b->kept_input > 0 ? b->kept : b->call->input;
}

size_t ftc_board_own_piece(const struct ftc_board *b)
{
    size_t offset = 0, size;

    if (b->call->signature.kind == FTC_CALL_ALLTOALL)
        ftc_call_part(b->call, b->ranks, b->rank, &offset, &size);
    return offset;
}
