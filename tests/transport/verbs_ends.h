/* Ends of the verbs transport, for tests. Each rank is on another device, as far as there are
 * devices. */
#ifndef FTC_TEST_VERBS_ENDS_H
#define FTC_TEST_VERBS_ENDS_H

#include <stdbool.h>

#include "transport/verbs/verbs.h"

/* Is there a device? If not, prints so; main() then exits with VERBS_SKIPPED. */
#define VERBS_SKIPPED 77
bool verbs_possible(void);

/* The device of a rank. FTC_TEST_INTERFACES lists them, with a comma between two. NULL: any device.
 * The string is valid until the next call. */
const char *verbs_interface(int rank);

/* A setup with the job and secret of tcp_ends.c. The caller adds how to find others. */
struct ftc_verbs_setup verbs_usual(int rank);

#endif
