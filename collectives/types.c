/*
 * Element types and operators: one loop for each valid pair, in a table.
 *
 * The loops are written for the compiler's vectoriser: no branches, no aliasing, one element at a time. Both
 * sides start on a 16-byte boundary (base/buffer.h) and do not overlap: the caller's part of the contract.
 *
 * Every built-in operator gives the same bits whichever side an operand is on. Floating point needs care for
 * that: a NaN on either side makes the result the one quiet, positive NaN, and MIN and MAX know that -0 is
 * less than +0. (Sums and products of several are still rounded in the order of combining: the protocol fixes
 * that order.)
 */
#include "collectives/types.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

/* The built-in operators' numbers, as in ftcoll.h: they travel in messages. */
enum code { SUM = 1, PROD, MIN, MAX, LAND, LOR, BAND, BOR, BXOR, MINLOC, MAXLOC, CODES };

#define CODE_USER 255
#define TYPES     (FTC_DOUBLE_INT32 + 1)
#define PAGE_ZERO 4096 /* no object lives below: such a handle is a number that is no operator */

typedef void loop_fn(const void *in, void *inout, size_t count);

/* constant, suffix, element type, unsigned type to calculate in: it wraps, and is wide enough that int takes
 * no part (the product of two uint16 overflows an int) */
#define INTEGER_TYPES(X)                                                                                     \
    X(FTC_INT8, int8, int8_t, uint32_t)                                                                      \
    X(FTC_INT16, int16, int16_t, uint32_t)                                                                   \
    X(FTC_INT32, int32, int32_t, uint32_t)                                                                   \
    X(FTC_INT64, int64, int64_t, uint64_t)                                                                   \
    X(FTC_UINT8, uint8, uint8_t, uint32_t)                                                                   \
    X(FTC_UINT16, uint16, uint16_t, uint32_t)                                                                \
    X(FTC_UINT32, uint32, uint32_t, uint32_t)                                                                \
    X(FTC_UINT64, uint64, uint64_t, uint64_t)

/* constant, suffix, element type, unsigned type of the same size */
#define FLOAT_TYPES(X)                                                                                       \
    X(FTC_FLOAT, float, float, uint32_t)                                                                     \
    X(FTC_DOUBLE, double, double, uint64_t)

/* constant, suffix, element type, suffix of its value */
#define PAIR_TYPES(X)                                                                                        \
    X(FTC_INT32_INT32, int32_int32, ftc_int32_int32, int32)                                                  \
    X(FTC_INT64_INT32, int64_int32, ftc_int64_int32, int64)                                                  \
    X(FTC_FLOAT_INT32, float_int32, ftc_float_int32, float)                                                  \
    X(FTC_DOUBLE_INT32, double_int32, ftc_double_int32, double)

/* --- two elements --- */

#define INTEGER_ELEMENTS(constant, suffix, T, U)                                                             \
    static inline T sum2_##suffix(T a, T b)                                                                  \
    {                                                                                                        \
        return (T)((U)a + (U)b);                                                                             \
    }                                                                                                        \
    static inline T prod2_##suffix(T a, T b)                                                                 \
    {                                                                                                        \
        return (T)((U)a * (U)b);                                                                             \
    }                                                                                                        \
    static inline T min2_##suffix(T a, T b)                                                                  \
    {                                                                                                        \
        return a < b ? a : b;                                                                                \
    }                                                                                                        \
    static inline T max2_##suffix(T a, T b)                                                                  \
    {                                                                                                        \
        return a > b ? a : b;                                                                                \
    }
INTEGER_TYPES(INTEGER_ELEMENTS)

/* Where a == b the bits differ in the sign of zero at most: OR gives -0 if there is one, AND gives +0. */
#define FLOAT_ELEMENTS(constant, suffix, T, U)                                                               \
    static inline U bits_##suffix(T value)                                                                   \
    {                                                                                                        \
        U bits;                                                                                              \
        memcpy(&bits, &value, sizeof(bits));                                                                 \
        return bits;                                                                                         \
    }                                                                                                        \
    static inline T choose_##suffix(U bits, T a, T b)                                                        \
    {                                                                                                        \
        T value;                                                                                             \
        memcpy(&value, &bits, sizeof(value));                                                                \
        return isunordered(a, b) ? (T)NAN : value;                                                           \
    }                                                                                                        \
    static inline T sum2_##suffix(T a, T b)                                                                  \
    {                                                                                                        \
        T sum = a + b;                                                                                       \
        return isnan(sum) ? (T)NAN : sum;                                                                    \
    }                                                                                                        \
    static inline T prod2_##suffix(T a, T b)                                                                 \
    {                                                                                                        \
        T product = a * b;                                                                                   \
        return isnan(product) ? (T)NAN : product;                                                            \
    }                                                                                                        \
    static inline T min2_##suffix(T a, T b)                                                                  \
    {                                                                                                        \
        U bits = a < b ? bits_##suffix(a) : bits_##suffix(b);                                                \
        return choose_##suffix(a == b ? bits_##suffix(a) | bits_##suffix(b) : bits, a, b);                   \
    }                                                                                                        \
    static inline T max2_##suffix(T a, T b)                                                                  \
    {                                                                                                        \
        U bits = a > b ? bits_##suffix(a) : bits_##suffix(b);                                                \
        return choose_##suffix(a == b ? bits_##suffix(a) & bits_##suffix(b) : bits, a, b);                   \
    }
FLOAT_TYPES(FLOAT_ELEMENTS)

/* --- loops --- */

/* inout[i] := expression, in which a is in[i] and b is inout[i] */
#define LOOP(name, T, expression)                                                                            \
    static void name(const void *restrict in, void *restrict inout, size_t count)                            \
    {                                                                                                        \
        const T *from = in;                                                                                  \
        T *to = inout;                                                                                       \
        for (size_t i = 0; i < count; i++) {                                                                 \
            T a = from[i], b = to[i];                                                                        \
            to[i] = (T)(expression);                                                                         \
        }                                                                                                    \
    }

#define ARITHMETIC_LOOPS(constant, suffix, T, U)                                                             \
    LOOP(sum_##suffix, T, sum2_##suffix(a, b))                                                               \
    LOOP(prod_##suffix, T, prod2_##suffix(a, b))                                                             \
    LOOP(min_##suffix, T, min2_##suffix(a, b))                                                               \
    LOOP(max_##suffix, T, max2_##suffix(a, b))
INTEGER_TYPES(ARITHMETIC_LOOPS)
FLOAT_TYPES(ARITHMETIC_LOOPS)

#define INTEGER_LOOPS(constant, suffix, T, U)                                                                \
    LOOP(land_##suffix, T, (a != 0) & (b != 0))                                                              \
    LOOP(lor_##suffix, T, (a != 0) | (b != 0))                                                               \
    LOOP(band_##suffix, T, a &b)                                                                             \
    LOOP(bor_##suffix, T, a | b)                                                                             \
    LOOP(bxor_##suffix, T, a ^ b)
INTEGER_TYPES(INTEGER_LOOPS)

/* Equal as operands of MINLOC and MAXLOC: a NaN is equal to a NaN, -0 to +0. */
#define SAME(x, y) ((x) == (y) || ((x) != (x) && (y) != (y)))

/* The value is that of MIN or MAX, the index the lowest one whose value is the same. Only the two fields are
 * assigned: padding stays what it was in inout. */
#define PAIR_LOOP(name, T, best2)                                                                            \
    static void name(const void *restrict in, void *restrict inout, size_t count)                            \
    {                                                                                                        \
        const T *from = in;                                                                                  \
        T *to = inout;                                                                                       \
        for (size_t i = 0; i < count; i++) {                                                                 \
            T a = from[i], b = to[i];                                                                        \
            to[i].value = best2(a.value, b.value);                                                           \
            bool keep = !SAME(a.value, to[i].value) || (SAME(b.value, to[i].value) && b.index <= a.index);   \
            to[i].index = keep ? b.index : a.index;                                                          \
        }                                                                                                    \
    }
#define PAIR_LOOPS(constant, suffix, T, value)                                                               \
    PAIR_LOOP(minloc_##suffix, T, min2_##value)                                                              \
    PAIR_LOOP(maxloc_##suffix, T, max2_##value)
PAIR_TYPES(PAIR_LOOPS)

/* --- tables --- */

#define ARITHMETIC_ROW(s) [SUM] = sum_##s, [PROD] = prod_##s, [MIN] = min_##s, [MAX] = max_##s
#define INTEGER_ROW(constant, s, T, U)                                                                       \
    [constant] = {ARITHMETIC_ROW(s), [LAND] = land_##s, [LOR] = lor_##s,                                     \
                  [BAND] = band_##s, [BOR] = bor_##s,   [BXOR] = bxor_##s},
#define FLOAT_ROW(constant, s, T, U)    [constant] = {ARITHMETIC_ROW(s)},
#define PAIR_ROW(constant, s, T, value) [constant] = {[MINLOC] = minloc_##s, [MAXLOC] = maxloc_##s},

/* NULL: the operator is not defined for the type. */
static loop_fn *const loops[TYPES][CODES] = {INTEGER_TYPES(INTEGER_ROW) FLOAT_TYPES(FLOAT_ROW)
                                                 PAIR_TYPES(PAIR_ROW)};

struct type_info {
    const char *name; /* NULL: no such type */
    size_t size;
};

#define INFO_ROW(constant, suffix, T, unused) [constant] = {#suffix, sizeof(T)},
static const struct type_info infos[TYPES] = {INTEGER_TYPES(INFO_ROW) FLOAT_TYPES(INFO_ROW)
                                                  PAIR_TYPES(INFO_ROW)};

static const struct type_info *info_of(ftc_type type)
{
    static const struct type_info none = {NULL, 0};
    return (unsigned)type < TYPES ? &infos[type] : &none;
}

size_t ftc_type_size(ftc_type type)
{
    return info_of(type)->size;
}

const char *ftc_type_name(ftc_type type)
{
    const char *name = info_of(type)->name;
    return name != NULL ? name : "?";
}

const char *ftc_operator_name(int operator_code)
{
    static const char *const names[CODES] = {"none", "sum",  "prod", "min",  "max",    "land",
                                             "lor",  "band", "bor",  "bxor", "minloc", "maxloc"};

    if (operator_code == CODE_USER)
        return "user-defined";
    return operator_code >= 0 && operator_code < CODES ? names[operator_code] : "?";
}

/* --- reductions --- */

/* What the operators that exclude a type do take: the remedy in the message. */
static const char *types_of(int operator_code)
{
    if (operator_code >= MINLOC)
        return "a value-index pair type";
    return operator_code >= LAND ? "an integer type" : "an integer or floating-point type";
}

/* A handle that is no built-in operator: from ftc_op_create(), or garbage as far as that can be told. */
static bool is_user_handle(ftc_op op)
{
    uintptr_t handle = (uintptr_t)op;
    return handle >= PAGE_ZERO && handle % _Alignof(struct ftc_operator) == 0 && op->function != NULL;
}

int ftc_reduction_init(struct ftc_reduction *reduction, ftc_type type, ftc_op op)
{
    struct ftc_reduction r = {.type = type, .element_size = ftc_type_size(type)};
    uintptr_t code = (uintptr_t)op;

    if (r.element_size == 0)
        return ftc_error_set(FTC_ERR_ARG, "%d is no element type: pass one of FTC_INT8 ... FTC_DOUBLE_INT32",
                             (int)type);
    if (code >= SUM && code < CODES) {
        r.operator_code = (int)code;
        r.builtin = loops[type][code];
        if (r.builtin == NULL)
            return ftc_error_set(FTC_ERR_TYPE, "operator %s is not defined for type %s: pass %s",
                                 ftc_operator_name(r.operator_code), ftc_type_name(type),
                                 types_of(r.operator_code));
    } else if (is_user_handle(op)) {
        r.operator_code = CODE_USER;
        r.user = op;
    } else {
        return ftc_error_set(FTC_ERR_ARG,
                             "%p is no operator: pass a built-in one or one from ftc_op_create()",
                             (const void *)op);
    }
    *reduction = r;
    return FTC_SUCCESS;
}

void ftc_reduction_combine(void *arg, const void *in, void *inout, size_t size)
{
    const struct ftc_reduction *reduction = arg;
    size_t count = size / reduction->element_size;

    assert(size % reduction->element_size == 0);
    if (count == 0) /* the sides may be NULL then; a user's function need not know */
        return;
    assert((uintptr_t)in % 16 == 0 && (uintptr_t)inout % 16 == 0);
    if (reduction->builtin != NULL)
        reduction->builtin(in, inout, count);
    else
        reduction->user->function(in, inout, count, reduction->type, reduction->user->arg);
}
