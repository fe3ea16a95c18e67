/* Elements and operators once more, slow and written in another way, for comparison with the
 * combining loops. */
#ifndef FTC_TEST_TYPES_REFERENCE_H
#define FTC_TEST_TYPES_REFERENCE_H

#include "collectives/values/types.h"
#include "tests/random.h"

/* *inout := *in op *inout, for one element. Padding stays. */
void reference_combine(ftc_type type, int code, const void *in, void *inout);

/* Makes an element rich in awkward values: limits, ties, both zeros, infinities, NaNs. */
void reference_random(struct test_random *random, ftc_type type, void *to);

#endif
