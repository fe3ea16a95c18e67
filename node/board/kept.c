/* The copy of an input that its result overwrites: another start needs the input again. */
#include <stdlib.h>

#include "base/error.h"
#include "node/board/internal.h"

void ftc_board_make_room(struct ftc_board *b, size_t bytes)
{
    if (bytes <= b->kept_room)
        return;
    free(b->kept);
    b->kept = malloc(bytes);
    b->kept_room = b->kept == NULL ? 0 : bytes;
    if (b->kept == NULL)
        b->set.host.exhausted(
            b->set.host.arg,
            ftc_error_set(FTC_ERR_NOMEM, "no memory for a copy of %zu bytes", bytes));
}
