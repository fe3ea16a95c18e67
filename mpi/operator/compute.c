/*
 * What the predefined operators compute. Each operator is a function, with a loop for each kind of
 * number that MPI defines it for. Signed numbers wrap: this file is compiled with -fwrapv.
 */
#include "mpi/operator/operator.h"

#include <complex.h>

/* One loop: `expression` of a (of `in`) and b (of `inout`). */
#define LOOP(number, type, expression)                                                             \
    case number: {                                                                                 \
        const type *from = in;                                                                     \
        type *to = inout;                                                                          \
        for (MPI_Count i = 0; i < count; i++) {                                                    \
            const type a = from[i], b = to[i];                                                     \
            to[i] = (type)(expression);                                                            \
        }                                                                                          \
        return;                                                                                    \
    }

#define INTEGERS(expression)                                                                       \
    LOOP(FTC_MPI_I8, int8_t, expression)                                                           \
    LOOP(FTC_MPI_I16, int16_t, expression)                                                         \
    LOOP(FTC_MPI_I32, int32_t, expression)                                                         \
    LOOP(FTC_MPI_I64, int64_t, expression)                                                         \
    LOOP(FTC_MPI_U8, uint8_t, expression)                                                          \
    LOOP(FTC_MPI_U16, uint16_t, expression)                                                        \
    LOOP(FTC_MPI_U32, uint32_t, expression)                                                        \
    LOOP(FTC_MPI_U64, uint64_t, expression)

#define FLOATS(expression)                                                                         \
    LOOP(FTC_MPI_F32, float, expression)                                                           \
    LOOP(FTC_MPI_F64, double, expression)                                                          \
    LOOP(FTC_MPI_F80, long double, expression)

#define COMPLEXES(expression)                                                                      \
    LOOP(FTC_MPI_C32, float complex, expression)                                                   \
    LOOP(FTC_MPI_C64, double complex, expression)                                                  \
    LOOP(FTC_MPI_C80, long double complex, expression)

#define OPERATOR(name, loops)                                                                      \
    static void name(enum ftc_mpi_number number, const void *in, void *inout, MPI_Count count)     \
    {                                                                                              \
        switch (number) {                                                                          \
            loops default : return;                                                                \
        }                                                                                          \
    }

/* clang-format off */
OPERATOR(sum, INTEGERS(a + b) FLOATS(a + b) COMPLEXES(a + b))
OPERATOR(product, INTEGERS(a * b) FLOATS(a * b) COMPLEXES(a * b))
OPERATOR(minimum, INTEGERS(a < b ? a : b) FLOATS(a < b ? a : b))
OPERATOR(maximum, INTEGERS(a > b ? a : b) FLOATS(a > b ? a : b))
OPERATOR(bitwise_and, INTEGERS(a & b))
OPERATOR(bitwise_or, INTEGERS(a | b))
OPERATOR(bitwise_xor, INTEGERS(a ^ b))
OPERATOR(logical_and, INTEGERS(a && b) FLOATS(a && b))
OPERATOR(logical_or, INTEGERS(a || b) FLOATS(a || b))
OPERATOR(logical_xor, INTEGERS(!a != !b) FLOATS(!a != !b))
/* clang-format on */

/* A loop over pairs; of equal values the lower index is taken. */
#define PAIRS(handle, value_type, index_type, better)                                              \
    case handle: {                                                                                 \
        const struct {                                                                             \
            value_type value;                                                                      \
            index_type index;                                                                      \
        } *from = in;                                                                              \
        struct {                                                                                   \
            value_type value;                                                                      \
            index_type index;                                                                      \
        } *to = inout;                                                                             \
        for (MPI_Count i = 0; i < count; i++) {                                                    \
            const value_type a = from[i].value, b = to[i].value;                                   \
            if (a == b && from[i].index < to[i].index)                                             \
                to[i].index = from[i].index;                                                       \
            else if (better) {                                                                     \
                to[i].value = from[i].value;                                                       \
                to[i].index = from[i].index;                                                       \
            }                                                                                      \
        }                                                                                          \
        return;                                                                                    \
    }

#define LOCATOR(name, better)                                                                      \
    static void name(int handle, const void *in, void *inout, MPI_Count count)                     \
    {                                                                                              \
        switch (handle) {                                                                          \
            PAIRS(0x228, float, int, better)                                                       \
            PAIRS(0x229, double, int, better)                                                      \
            PAIRS(0x22a, long, int, better)                                                        \
            PAIRS(0x22b, int, int, better)                                                         \
            PAIRS(0x22c, short, int, better)                                                       \
            PAIRS(0x22d, long double, int, better)                                                 \
            PAIRS(0x230, float, float, better)                                                     \
            PAIRS(0x231, double, double, better)                                                   \
            PAIRS(0x232, int, int, better)                                                         \
        }                                                                                          \
    }

LOCATOR(minimum_location, a < b)
LOCATOR(maximum_location, a > b)

typedef void compute_numbers(enum ftc_mpi_number, const void *, void *, MPI_Count);

static compute_numbers *const operators[] = {
    [0x21] = sum,         [0x22] = minimum,     [0x23] = maximum,     [0x24] = product,
    [0x28] = bitwise_and, [0x29] = bitwise_or,  [0x2a] = bitwise_xor, [0x30] = logical_and,
    [0x31] = logical_or,  [0x32] = logical_xor,
};

void ftc_mpi_op_compute(int handle, const struct ftc_mpi_basic *basic, const void *in, void *inout,
                        MPI_Count count)
{
    if (handle == 0x38)
        minimum_location(basic->handle, in, inout, count);
    else if (handle == 0x39)
        maximum_location(basic->handle, in, inout, count);
    else
        operators[handle](basic->number, in, inout, count);
}
