#include "mpi/type/basic.h"

#include <complex.h>
#include <stddef.h>
#include <wchar.h>

/* clang-format off */
#define SIGNED_OF(type) \
    (sizeof(type) == 1 ? FTC_MPI_I8 : sizeof(type) == 2 ? FTC_MPI_I16 : \
    sizeof(type) == 4 ? FTC_MPI_I32 : FTC_MPI_I64)
#define NATIVE_OF(number) \
    ((number) == FTC_MPI_I8 ? FTC_INT8 : (number) == FTC_MPI_I16 ? FTC_INT16 : \
    (number) == FTC_MPI_I32 ? FTC_INT32 : (number) == FTC_MPI_I64 ? FTC_INT64 : \
    (number) == FTC_MPI_U8 ? FTC_UINT8 : (number) == FTC_MPI_U16 ? FTC_UINT16 : \
    (number) == FTC_MPI_U32 ? FTC_UINT32 : (number) == FTC_MPI_U64 ? FTC_UINT64 : \
    (number) == FTC_MPI_F32 ? FTC_FLOAT : (number) == FTC_MPI_F64 ? FTC_DOUBLE : 0)
#define ROW(handle, name, type, class, number, external) \
    { handle, name, sizeof(type), _Alignof(type), class, number, \
      NATIVE_OF(number), 0, 0, 0, external }
#define INTEGER(handle, name, type) ROW(handle, name, type, FTC_MPI_INTEGER, SIGNED_OF(type), 0)
#define UNSIGNED(handle, name, type) \
    ROW(handle, name, type, FTC_MPI_INTEGER, SIGNED_OF(type) + 4, 0)
#define FLOATING(handle, name, type, number) ROW(handle, name, type, FTC_MPI_FLOATING, number, 0)
#define COMPLEX(handle, name, type, number) ROW(handle, name, type, FTC_MPI_COMPLEX, number, 0)
#define OPAQUE(handle, name, type) ROW(handle, name, type, FTC_MPI_OPAQUE, FTC_MPI_NO_NUMBER, 0)
#define LOGICAL(handle, name, type) ROW(handle, name, type, FTC_MPI_LOGICAL, SIGNED_OF(type), 0)
#define PAIR(handle, name, type, number, native, value_handle, index_handle) \
    { handle, name, sizeof(type), _Alignof(type), FTC_MPI_PAIR, number, native, \
      value_handle, index_handle, offsetof(type, index), 0 }

struct float_int { float value; int index; };
struct double_int { double value; int index; };
struct long_int { long value; int index; };
struct two_int { int value; int index; };
struct short_int { short value; int index; };
struct long_double_int { long double value; int index; };
struct two_float { float value; float index; };
struct two_quad { __float128 real, imaginary; };
struct two_double { double value; double index; };

const struct ftc_mpi_basic ftc_mpi_basics[] = {
    INTEGER(0x201, "MPI_AINT", MPI_Aint),
    INTEGER(0x202, "MPI_COUNT", MPI_Count),
    INTEGER(0x203, "MPI_OFFSET", MPI_Offset),
    OPAQUE(0x207, "MPI_PACKED", char),
    INTEGER(0x208, "MPI_SHORT", short),
    INTEGER(0x209, "MPI_INT", int),
    ROW(0x20a, "MPI_LONG", long, FTC_MPI_INTEGER, SIGNED_OF(long), 4),
    INTEGER(0x20b, "MPI_LONG_LONG_INT", long long),
    UNSIGNED(0x20c, "MPI_UNSIGNED_SHORT", short),
    UNSIGNED(0x20d, "MPI_UNSIGNED", int),
    ROW(0x20e, "MPI_UNSIGNED_LONG", long, FTC_MPI_INTEGER, SIGNED_OF(long) + 4, 4),
    UNSIGNED(0x20f, "MPI_UNSIGNED_LONG_LONG", long long),
    FLOATING(0x210, "MPI_FLOAT", float, FTC_MPI_F32),
    COMPLEX(0x212, "MPI_C_COMPLEX", float complex, FTC_MPI_C32),
    COMPLEX(0x213, "MPI_CXX_FLOAT_COMPLEX", float complex, FTC_MPI_C32),
    FLOATING(0x214, "MPI_DOUBLE", double, FTC_MPI_F64),
    COMPLEX(0x216, "MPI_C_DOUBLE_COMPLEX", double complex, FTC_MPI_C64),
    COMPLEX(0x217, "MPI_CXX_DOUBLE_COMPLEX", double complex, FTC_MPI_C64),
    LOGICAL(0x218, "MPI_LOGICAL", int),
    INTEGER(0x219, "MPI_INTEGER", int),
    FLOATING(0x21a, "MPI_REAL", float, FTC_MPI_F32),
    COMPLEX(0x21b, "MPI_COMPLEX", float complex, FTC_MPI_C32),
    FLOATING(0x21c, "MPI_DOUBLE_PRECISION", double, FTC_MPI_F64),
    COMPLEX(0x21d, "MPI_DOUBLE_COMPLEX", double complex, FTC_MPI_C64),
    OPAQUE(0x21e, "MPI_CHARACTER", char),
    FLOATING(0x220, "MPI_LONG_DOUBLE", long double, FTC_MPI_F80),
    COMPLEX(0x224, "MPI_C_LONG_DOUBLE_COMPLEX", long double complex, FTC_MPI_C80),
    COMPLEX(0x225, "MPI_CXX_LONG_DOUBLE_COMPLEX", long double complex, FTC_MPI_C80),
    PAIR(0x228, "MPI_FLOAT_INT", struct float_int, FTC_MPI_F32, FTC_FLOAT_INT32, 0x210, 0x209),
    PAIR(0x229, "MPI_DOUBLE_INT", struct double_int, FTC_MPI_F64, FTC_DOUBLE_INT32, 0x214, 0x209),
    PAIR(0x22a, "MPI_LONG_INT", struct long_int, FTC_MPI_I64, FTC_INT64_INT32, 0x20a, 0x209),
    PAIR(0x22b, "MPI_2INT", struct two_int, FTC_MPI_I32, FTC_INT32_INT32, 0x209, 0x209),
    PAIR(0x22c, "MPI_SHORT_INT", struct short_int, FTC_MPI_I16, 0, 0x208, 0x209),
    PAIR(0x22d, "MPI_LONG_DOUBLE_INT", struct long_double_int, FTC_MPI_F80, 0, 0x220, 0x209),
    PAIR(0x230, "MPI_2REAL", struct two_float, FTC_MPI_F32, 0, 0x21a, 0x21a),
    PAIR(0x231, "MPI_2DOUBLE_PRECISION", struct two_double, FTC_MPI_F64, 0, 0x21c, 0x21c),
    PAIR(0x232, "MPI_2INTEGER", struct two_int, FTC_MPI_I32, FTC_INT32_INT32, 0x219, 0x219),
    ROW(0x238, "MPI_C_BOOL", _Bool, FTC_MPI_LOGICAL, FTC_MPI_U8, 0),
    ROW(0x239, "MPI_CXX_BOOL", _Bool, FTC_MPI_LOGICAL, FTC_MPI_U8, 0),
    ROW(0x23c, "MPI_WCHAR", wchar_t, FTC_MPI_OPAQUE, SIGNED_OF(wchar_t), 2),
    INTEGER(0x240, "MPI_INT8_T", int8_t),
    UNSIGNED(0x241, "MPI_UINT8_T", int8_t),
    INTEGER(0x243, "MPI_CHAR", char),
    INTEGER(0x244, "MPI_SIGNED_CHAR", signed char),
    UNSIGNED(0x245, "MPI_UNSIGNED_CHAR", signed char),
    ROW(0x247, "MPI_BYTE", char, FTC_MPI_BYTES, FTC_MPI_U8, 0),
    INTEGER(0x248, "MPI_INT16_T", int16_t),
    UNSIGNED(0x249, "MPI_UINT16_T", int16_t),
    INTEGER(0x250, "MPI_INT32_T", int32_t),
    UNSIGNED(0x251, "MPI_UINT32_T", int32_t),
    INTEGER(0x258, "MPI_INT64_T", int64_t),
    UNSIGNED(0x259, "MPI_UINT64_T", int64_t),
    LOGICAL(0x2c0, "MPI_LOGICAL1", int8_t),
    INTEGER(0x2c1, "MPI_INTEGER1", int8_t),
    LOGICAL(0x2c8, "MPI_LOGICAL2", int16_t),
    INTEGER(0x2c9, "MPI_INTEGER2", int16_t),
    LOGICAL(0x2d0, "MPI_LOGICAL4", int32_t),
    INTEGER(0x2d1, "MPI_INTEGER4", int32_t),
    FLOATING(0x2d2, "MPI_REAL4", float, FTC_MPI_F32),
    LOGICAL(0x2d8, "MPI_LOGICAL8", int64_t),
    INTEGER(0x2d9, "MPI_INTEGER8", int64_t),
    FLOATING(0x2da, "MPI_REAL8", double, FTC_MPI_F64),
    COMPLEX(0x2db, "MPI_COMPLEX8", float complex, FTC_MPI_C32),
    COMPLEX(0x2e3, "MPI_COMPLEX16", double complex, FTC_MPI_C64),
    OPAQUE(0x2ca, "MPI_REAL2", int16_t),
    OPAQUE(0x2d3, "MPI_COMPLEX4", int32_t),
    OPAQUE(0x2e0, "MPI_LOGICAL16", __float128),
    OPAQUE(0x2e1, "MPI_INTEGER16", __float128),
    OPAQUE(0x2e2, "MPI_REAL16", __float128),
    OPAQUE(0x2eb, "MPI_COMPLEX32", struct two_quad),
};
/* clang-format on */

const int ftc_mpi_basics_count = sizeof ftc_mpi_basics / sizeof *ftc_mpi_basics;
