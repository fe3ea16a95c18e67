/*
 * Numbers of communicators (docs/design/communicators.md, C1, C5 and C9). From the highest bit
 * down:
 *
 *   1 bit: temporary | 1 bit: agreements of the survivors | 38 bits: count | 24 bits: maker
 *
 * A temporary communicator has a digest in place of count and maker. The world has the count 0.
 */
#ifndef FTC_COLLECTIVES_COMMUNICATORS_NUMBER_H
#define FTC_COLLECTIVES_COMMUNICATORS_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/frame.h"

#define FTC_COMMUNICATOR_TEMPORARY  (UINT64_C(1) << 63)
#define FTC_COMMUNICATOR_REVOKED    (UINT64_C(1) << 62)
#define FTC_COMMUNICATOR_MAKER_BITS 24

/* Of two numbers, the one with the greater count is the greater; with equal counts, the one with
 * the greater maker. */
static inline uint64_t ftc_communicator_number(uint64_t count, int maker)
{
    return count << FTC_COMMUNICATOR_MAKER_BITS | (uint64_t)maker;
}

static inline uint64_t ftc_communicator_count(uint64_t number)
{
    return number >> FTC_COMMUNICATOR_MAKER_BITS;
}

static inline bool ftc_communicator_is_temporary(uint64_t number)
{
    return (number & FTC_COMMUNICATOR_TEMPORARY) != 0;
}

/* Is it the number in messages of agreements of the survivors (C9)? */
static inline bool ftc_communicator_is_after(uint64_t number)
{
    return !ftc_communicator_is_temporary(number) && (number & FTC_COMMUNICATOR_REVOKED) != 0;
}

#endif
