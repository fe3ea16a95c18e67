/* Allocations that fail on request. Link fail_alloc.c and pass -Wl,--wrap=NAME for each function of
 * interest: malloc, calloc, strdup, strndup, asprintf, open_memstream. */
#ifndef FTC_TEST_FAIL_ALLOC_H
#define FTC_TEST_FAIL_ALLOC_H

#include <stdbool.h>

/* Let the n-th allocation from now fail (from 0), and only that. */
void fail_alloc_at(int n);
/* Stop that; true if one failed, so that a test can raise n until none does. */
bool fail_alloc_stop(void);

#endif
