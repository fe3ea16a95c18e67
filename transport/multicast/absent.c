/* In the place of verbs.c, in a build without the headers of libibverbs and librdmacm. */
#include "transport/multicast/internal.h"
#include "transport/verbs/library.h"

static int absent_open(struct ftc_multicast **out, const struct ftc_multicast_setup *setup)
{
    (void)setup;
    *out = NULL;
    return ftc_verbs_library_load();
}

const struct ftc_multicast_ops ftc_multicast_verbs = {.name = "verbs", .open = absent_open};
