/*
 * The combining loops, written so that the compiler can vectorise them: no branches, one element at
 * a time. This file is compiled once for each instruction set, and FTC_LOOPS is the name of the
 * table. All give the same bits, since multiplications and additions are not fused
 * (-ffp-contract=off).
 *
 * A built-in operator gives the same bits for (a, b) and (b, a). In floating point that needs care.
 * If either side is a NaN, the result is the one quiet, positive NaN. And MIN and MAX treat -0 as
 * less than +0. (A sum or product of more than two is still rounded in the order of combination,
 * which the protocol fixes.)
 */
#include "collectives/values/loops.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* --- two elements --- */

#define INTEGER_ELEMENTS(constant, suffix, T, U)                                                   \
    static inline T sum2_##suffix(T a, T b)                                                        \
    {                                                                                              \
        return (T)((U)a + (U)b);                                                                   \
    }                                                                                              \
    static inline T prod2_##suffix(T a, T b)                                                       \
    {                                                                                              \
        return (T)((U)a * (U)b);                                                                   \
    }                                                                                              \
    static inline T min2_##suffix(T a, T b)                                                        \
    {                                                                                              \
        return a < b ? a : b;                                                                      \
    }                                                                                              \
    static inline T max2_##suffix(T a, T b)                                                        \
    {                                                                                              \
        return a > b ? a : b;                                                                      \
    }
INTEGER_TYPES(INTEGER_ELEMENTS)

/* If a == b, their bits differ in the sign of a zero at most. OR then gives -0 if one of them is
 * -0, and AND gives +0. */
#define FLOAT_ELEMENTS(constant, suffix, T, U)                                                     \
    static inline U bits_##suffix(T value)                                                         \
    {                                                                                              \
        U bits;                                                                                    \
        memcpy(&bits, &value, sizeof(bits));                                                       \
        return bits;                                                                               \
    }                                                                                              \
    static inline T choose_##suffix(U bits, T a, T b)                                              \
    {                                                                                              \
        T value;                                                                                   \
        memcpy(&value, &bits, sizeof(value));                                                      \
        return isunordered(a, b) ? (T)NAN : value;                                                 \
    }                                                                                              \
    static inline T sum2_##suffix(T a, T b)                                                        \
    {                                                                                              \
        T sum = a + b;                                                                             \
        return isnan(sum) ? (T)NAN : sum;                                                          \
    }                                                                                              \
    static inline T prod2_##suffix(T a, T b)                                                       \
    {                                                                                              \
        T product = a * b;                                                                         \
        return isnan(product) ? (T)NAN : product;                                                  \
    }                                                                                              \
    static inline T min2_##suffix(T a, T b)                                                        \
    {                                                                                              \
        U bits = a < b ? bits_##suffix(a) : bits_##suffix(b);                                      \
        return choose_##suffix(a == b ? bits_##suffix(a) | bits_##suffix(b) : bits, a, b);         \
    }                                                                                              \
    static inline T max2_##suffix(T a, T b)                                                        \
    {                                                                                              \
        U bits = a > b ? bits_##suffix(a) : bits_##suffix(b);                                      \
        return choose_##suffix(a == b ? bits_##suffix(a) & bits_##suffix(b) : bits, a, b);         \
    }
FLOAT_TYPES(FLOAT_ELEMENTS)

/* --- loops --- */

/* `out` may be `in` or `with`. The vectoriser need not care: each element is read before it is
 * written. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* Sets out[i] to the expression, in which a is in[i] and b is with[i]. */
#define LOOP(name, T, expression)                                                                  \
    static void name(const void *in, const void *with, void *out, size_t count)                    \
    {                                                                                              \
        const T *left = in, *right = with;                                                         \
        T *to = out;                                                                               \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < count; i++) {                                                       \
            T a = left[i], b = right[i];                                                           \
            to[i] = (T)(expression);                                                               \
        }                                                                                          \
    }

#define ARITHMETIC_LOOPS(constant, suffix, T, U)                                                   \
    LOOP(sum_##suffix, T, sum2_##suffix(a, b))                                                     \
    LOOP(prod_##suffix, T, prod2_##suffix(a, b))                                                   \
    LOOP(min_##suffix, T, min2_##suffix(a, b))                                                     \
    LOOP(max_##suffix, T, max2_##suffix(a, b))
INTEGER_TYPES(ARITHMETIC_LOOPS)
FLOAT_TYPES(ARITHMETIC_LOOPS)

#define INTEGER_LOOPS(constant, suffix, T, U)                                                      \
    LOOP(land_##suffix, T, (a != 0) & (b != 0))                                                    \
    LOOP(lor_##suffix, T, (a != 0) | (b != 0))                                                     \
    LOOP(band_##suffix, T, a &b)                                                                   \
    LOOP(bor_##suffix, T, a | b)                                                                   \
    LOOP(bxor_##suffix, T, a ^ b)
INTEGER_TYPES(INTEGER_LOOPS)

/* Equal as operands of MINLOC and MAXLOC: a NaN equals a NaN, and -0 equals +0. */
#define SAME(x, y) ((x) == (y) || ((x) != (x) && (y) != (y)))

/* The value is that of MIN or MAX. The index is the lowest one whose value is the same. Only the
 * two fields are assigned: the padding in `out` stays as it is. */
#define PAIR_LOOP(name, T, best2)                                                                  \
    static void name(const void *in, const void *with, void *out, size_t count)                    \
    {                                                                                              \
        const T *left = in, *right = with;                                                         \
        T *to = out;                                                                               \
        for (size_t i = 0; i < count; i++) {                                                       \
            T a = left[i], b = right[i];                                                           \
            T best = {.value = best2(a.value, b.value)};                                           \
            bool keep =                                                                            \
                !SAME(a.value, best.value) || (SAME(b.value, best.value) && b.index <= a.index);   \
            to[i].value = best.value;                                                              \
            to[i].index = keep ? b.index : a.index;                                                \
        }                                                                                          \
    }
#define PAIR_LOOPS(constant, suffix, T, value)                                                     \
    PAIR_LOOP(minloc_##suffix, T, min2_##value)                                                    \
    PAIR_LOOP(maxloc_##suffix, T, max2_##value)
PAIR_TYPES(PAIR_LOOPS)

/* --- tables --- */

#define ARITHMETIC_ROW(s) [SUM] = sum_##s, [PROD] = prod_##s, [MIN] = min_##s, [MAX] = max_##s
#define INTEGER_ROW(constant, s, T, U)                                                             \
    [constant] = {ARITHMETIC_ROW(s), [LAND] = land_##s, [LOR] = lor_##s,                           \
                  [BAND] = band_##s, [BOR] = bor_##s,   [BXOR] = bxor_##s},
#define FLOAT_ROW(constant, s, T, U)    [constant] = {ARITHMETIC_ROW(s)},
#define PAIR_ROW(constant, s, T, value) [constant] = {[MINLOC] = minloc_##s, [MAXLOC] = maxloc_##s},

ftc_loops FTC_LOOPS = {INTEGER_TYPES(INTEGER_ROW) FLOAT_TYPES(FLOAT_ROW) PAIR_TYPES(PAIR_ROW)};
