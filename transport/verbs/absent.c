/* In the place of all other files of this folder, in a build without the headers of libibverbs and
 * librdmacm: no device can be opened. */
#include "base/error.h"
#include "transport/verbs/library.h"
#include "transport/verbs/verbs.h"

int ftc_verbs_library_load(void)
{
    return ftc_error_set(FTC_ERR_UNSUPPORTED,
                         "this build has no verbs, because the headers of libibverbs and librdmacm "
                         "were missing: install them (Debian: libibverbs-dev, librdmacm-dev) and "
                         "build ftcoll again, or use tcp");
}

/* A device that was asked for by name is an error of the settings, which is worth a warning. */
static int absent_open(struct ftc_transport **out, const struct ftc_transport_setup *setup)
{
    const char *wanted = setup->verbs->interface;
    int rc = ftc_verbs_library_load();

    *out = NULL;
    return wanted != NULL && wanted[0] != '\0' ? FTC_ERR_CONFIG : rc;
}

const struct ftc_transport_ops ftc_transport_verbs = {.name = "verbs", .open = absent_open};
