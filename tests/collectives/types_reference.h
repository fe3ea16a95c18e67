/* Elements and operators once more, slowly and written another way, to compare the combining loops
 * with. */
#ifndef FTC_TEST_TYPES_REFERENCE_H
#define FTC_TEST_TYPES_REFERENCE_H

#include "collectives/values/types.h"
#include "tests/random.h"

/* *inout := *in op *inout, one element; padding stays. */
void reference_combine(ftc_type type, int code, const void *in, void *inout);

/* An element rich in awkward values: limits, ties, both zeros, infinities, NaNs. */
void reference_random(struct test_random *random, ftc_type type, void *to);

#endif
