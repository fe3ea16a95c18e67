/* Ends of the verbs transport, for tests: each rank on another device, as far as there are. */
#ifndef FTC_TEST_VERBS_ENDS_H
#define FTC_TEST_VERBS_ENDS_H

#include <stdbool.h>

#include "transport/verbs/verbs.h"

/* Is there a device? Else say so; main() then exits with VERBS_SKIPPED. */
#define VERBS_SKIPPED 77
bool verbs_possible(void);

/* The device of a rank: FTC_TEST_INTERFACES lists them, a comma between two; NULL: any. Valid until
 * the next call. */
const char *verbs_interface(int rank);

/* Job and secret are those of tcp_ends.c; the caller adds how to find others. */
struct ftc_verbs_setup verbs_usual(int rank);

#endif
