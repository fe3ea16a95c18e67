/* Fuzzes the decoder of sets. A set that it accepts must have been encoded canonically: encoded
 * again, it must give the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct ftc_set *set, const uint8_t *data, size_t used)
{
    struct ftc_writer w = {.data = malloc(used), .size = used};
    if (w.data == NULL)
        abort();
    ftc_write_set(&w, set);
    if (w.failed || w.used != used || ftc_wire_set_size(set) != used ||
        memcmp(w.data, data, used) != 0)
        abort();
    free(w.data);
}

/* The first two bytes are the number of ranks. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ftc_reader r = {.data = data, .size = size};
    int ranks = ftc_read_u16(&r);
    struct ftc_set set;
    if (r.failed || ftc_set_init(&set, ranks) != 0)
        return 0;
    ftc_read_set(&r, &set);
    if (!r.failed)
        check_again(&set, data + 2, r.used - 2);
    else if (!ftc_set_empty(&set))
        abort();
    ftc_set_fini(&set);
    return 0;
}
