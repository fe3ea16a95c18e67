/* Allocations that fail on request. Link fail_alloc.c and pass -Wl,--wrap=NAME for each function
 * that shall fail: malloc, calloc, strdup, strndup, asprintf, open_memstream. */
#ifndef FTC_TEST_FAIL_ALLOC_H
#define FTC_TEST_FAIL_ALLOC_H

#include <stdbool.h>

/* Lets the n-th allocation from now on fail, counted from 0, and no other. */
void fail_alloc_at(int n);
/* Ends that. Returns true if an allocation failed, so that a test can raise n until none fails. */
bool fail_alloc_stop(void);

#endif
