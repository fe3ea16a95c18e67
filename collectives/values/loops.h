/* The combining loops: one for each element type and operator that fit together, once for each
 * instruction set. */
#ifndef FTC_COLLECTIVES_VALUES_LOOPS_H
#define FTC_COLLECTIVES_VALUES_LOOPS_H

#include <stddef.h>

#include "collectives/values/types.h"

/* The numbers of the built-in operators, as in ftcoll.h. Messages carry them. */
enum ftc_code { SUM = 1, PROD, MIN, MAX, LAND, LOR, BAND, BOR, BXOR, MINLOC, MAXLOC, CODES };

#define FTC_TYPES (FTC_DOUBLE_INT32 + 1)

/* Constant, suffix, element type, and the type to calculate in. That type is unsigned, so that it
 * wraps. It is at least as wide as an int, since the product of two uint16 would overflow an
 * int. */
#define INTEGER_TYPES(X)                                                                           \
    X(FTC_INT8, int8, int8_t, uint32_t)                                                            \
    X(FTC_INT16, int16, int16_t, uint32_t)                                                         \
    X(FTC_INT32, int32, int32_t, uint32_t)                                                         \
    X(FTC_INT64, int64, int64_t, uint64_t)                                                         \
    X(FTC_UINT8, uint8, uint8_t, uint32_t)                                                         \
    X(FTC_UINT16, uint16, uint16_t, uint32_t)                                                      \
    X(FTC_UINT32, uint32, uint32_t, uint32_t)                                                      \
    X(FTC_UINT64, uint64, uint64_t, uint64_t)

/* Constant, suffix, element type, and an unsigned type of the same size. */
#define FLOAT_TYPES(X)                                                                             \
    X(FTC_FLOAT, float, float, uint32_t)                                                           \
    X(FTC_DOUBLE, double, double, uint64_t)

/* Constant, suffix, element type, and the suffix of its value. */
#define PAIR_TYPES(X)                                                                              \
    X(FTC_INT32_INT32, int32_int32, ftc_int32_int32, int32)                                        \
    X(FTC_INT64_INT32, int64_int32, ftc_int64_int32, int64)                                        \
    X(FTC_FLOAT_INT32, float_int32, ftc_float_int32, float)                                        \
    X(FTC_DOUBLE_INT32, double_int32, ftc_double_int32, double)

/* Indexed by type and code. NULL: the operator is not defined for the type. */
typedef ftc_loop *const ftc_loops[FTC_TYPES][CODES];
extern ftc_loops ftc_loops_baseline;
#ifdef FTC_LOOPS_X86
extern ftc_loops ftc_loops_v3; /* AVX2 */
extern ftc_loops ftc_loops_v4; /* AVX-512 */
#endif

#endif
