/* Predefined operators: each on each datatype gives what C computes, or is refused. */
#include <mpi.h>

#include "tests/mpi/alone.h"
#include "tests/random.h"
#include "tests/suite.h"

#include <complex.h>
#include <string.h>
#include <wchar.h>

#define COUNT 17

/* Whether a op b is defined for the kinds of numbers, and what it is. */
#define INTEGER_RESULT(op, a, b)                                                                   \
    ((op) == MPI_SUM    ? (a) + (b)                                                                \
     : (op) == MPI_PROD ? (a) * (b)                                                                \
     : (op) == MPI_MIN  ? ((a) < (b) ? (a) : (b))                                                  \
     : (op) == MPI_MAX  ? ((a) > (b) ? (a) : (b))                                                  \
     : (op) == MPI_BAND ? ((a) & (b))                                                              \
     : (op) == MPI_BOR  ? ((a) | (b))                                                              \
     : (op) == MPI_BXOR ? ((a) ^ (b))                                                              \
     : (op) == MPI_LAND ? ((a) && (b))                                                             \
     : (op) == MPI_LOR  ? ((a) || (b))                                                             \
                        : (!(a) != !(b)))

#define FLOATING_RESULT(op, a, b)                                                                  \
    ((op) == MPI_SUM    ? (a) + (b)                                                                \
     : (op) == MPI_PROD ? (a) * (b)                                                                \
     : (op) == MPI_MIN  ? ((a) < (b) ? (a) : (b))                                                  \
     : (op) == MPI_MAX  ? ((a) > (b) ? (a) : (b))                                                  \
     : (op) == MPI_LAND ? ((a) && (b))                                                             \
     : (op) == MPI_LOR  ? ((a) || (b))                                                             \
                        : (!(a) != !(b)))

#define COMPLEX_RESULT(op, a, b) ((op) == MPI_SUM ? (a) + (b) : (a) * (b))

static const MPI_Op operators[] = {MPI_SUM, MPI_PROD, MPI_MIN,  MPI_MAX, MPI_BAND,
                                   MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR};

/* Which operators are defined: bits, in the order of the array. */
#define ALL        0x3ff
#define ARITHMETIC 0xf
#define BITS       0x70
#define TRUTHS     0x380
#define SUMS       0x3

/* Those are defined for the datatype, and the others are not. */
#define CHECK(handle, type, result, which)                                                         \
    for (int o = 0; o < 10; o++) {                                                                 \
        type a[COUNT], b[COUNT], c[COUNT];                                                         \
        for (int i = 0; i < COUNT; i++) {                                                          \
            a[i] = (type)test_random_between(&random, -9, 9);                                      \
            b[i] = c[i] = (type)test_random_between(&random, -9, 9);                               \
        }                                                                                          \
        bool defined = (which) >> o & 1;                                                           \
        ck_assert_int_eq(MPI_Reduce_local(a, b, COUNT, handle, operators[o]),                      \
                         defined ? MPI_SUCCESS : MPI_ERR_OP);                                      \
        for (int i = 0; defined && i < COUNT; i++)                                                 \
            ck_assert(b[i] == (type)(result(operators[o], a[i], c[i])));                           \
    }

START_TEST(numbers)
{
    struct test_random random = test_random_start();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_INT, int, INTEGER_RESULT, ALL)
    CHECK(MPI_SHORT, short, INTEGER_RESULT, ALL)
    CHECK(MPI_LONG, long, INTEGER_RESULT, ALL)
    CHECK(MPI_SIGNED_CHAR, signed char, INTEGER_RESULT, ALL)
    CHECK(MPI_UNSIGNED_CHAR, unsigned char, INTEGER_RESULT, ALL)
    CHECK(MPI_UNSIGNED_SHORT, unsigned short, INTEGER_RESULT, ALL)
    CHECK(MPI_UNSIGNED, unsigned, INTEGER_RESULT, ALL)
    CHECK(MPI_UNSIGNED_LONG_LONG, unsigned long long, INTEGER_RESULT, ALL)
    CHECK(MPI_AINT, MPI_Aint, INTEGER_RESULT, ALL)
    CHECK(MPI_INTEGER8, int64_t, INTEGER_RESULT, ALL)
    CHECK(MPI_FLOAT, float, FLOATING_RESULT, ARITHMETIC | TRUTHS)
    CHECK(MPI_DOUBLE, double, FLOATING_RESULT, ARITHMETIC | TRUTHS)
    CHECK(MPI_LONG_DOUBLE, long double, FLOATING_RESULT, ARITHMETIC | TRUTHS)
    CHECK(MPI_C_FLOAT_COMPLEX, float complex, COMPLEX_RESULT, SUMS)
    CHECK(MPI_C_DOUBLE_COMPLEX, double complex, COMPLEX_RESULT, SUMS)
    CHECK(MPI_C_LONG_DOUBLE_COMPLEX, long double complex, COMPLEX_RESULT, SUMS)
    CHECK(MPI_BYTE, unsigned char, INTEGER_RESULT, BITS)
    CHECK(MPI_C_BOOL, bool, INTEGER_RESULT, TRUTHS)
    CHECK(MPI_LOGICAL, int, INTEGER_RESULT, TRUTHS)
    CHECK(MPI_CHAR, char, INTEGER_RESULT, ALL)
    CHECK(MPI_WCHAR, wchar_t, INTEGER_RESULT, 0)
}
END_TEST

#define CHECK_PAIRS(handle, value_type, index_type)                                                \
    for (int o = 0; o < 2; o++) {                                                                  \
        struct {                                                                                   \
            value_type value;                                                                      \
            index_type index;                                                                      \
        } a[COUNT], b[COUNT], c[COUNT];                                                            \
        for (int i = 0; i < COUNT; i++) {                                                          \
            a[i].value = (value_type)test_random_between(&random, 0, 3);                           \
            b[i].value = (value_type)test_random_between(&random, 0, 3);                           \
            a[i].index = (index_type)test_random_between(&random, 0, 9);                           \
            b[i].index = (index_type)test_random_between(&random, 0, 9);                           \
        }                                                                                          \
        memcpy(c, b, sizeof c);                                                                    \
        ck_assert_int_eq(MPI_Reduce_local(a, b, COUNT, handle, o == 0 ? MPI_MINLOC : MPI_MAXLOC),  \
                         MPI_SUCCESS);                                                             \
        for (int i = 0; i < COUNT; i++) {                                                          \
            bool first = o == 0 ? a[i].value < c[i].value : a[i].value > c[i].value;               \
            bool take = first || (a[i].value == c[i].value && a[i].index < c[i].index);            \
            ck_assert(b[i].value == (take ? a[i].value : c[i].value));                             \
            ck_assert(b[i].index == (take ? a[i].index : c[i].index));                             \
        }                                                                                          \
    }

START_TEST(pairs)
{
    struct test_random random = test_random_start();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK_PAIRS(MPI_FLOAT_INT, float, int)
    CHECK_PAIRS(MPI_DOUBLE_INT, double, int)
    CHECK_PAIRS(MPI_LONG_INT, long, int)
    CHECK_PAIRS(MPI_2INT, int, int)
    CHECK_PAIRS(MPI_SHORT_INT, short, int)
    CHECK_PAIRS(MPI_LONG_DOUBLE_INT, long double, int)
    CHECK_PAIRS(MPI_2DOUBLE_PRECISION, double, double)
    int pair[2] = {0, 0}, other[2] = {0, 0};
    ck_assert_int_eq(MPI_Reduce_local(pair, other, 1, MPI_2INT, MPI_SUM), MPI_ERR_OP);
    ck_assert_int_eq(MPI_Reduce_local(pair, other, 1, MPI_INT, MPI_MINLOC), MPI_ERR_OP);
}
END_TEST

/* b := a * 10 + b in every other int of a struct of two. */
static void join(void *in, void *inout, int *count, MPI_Datatype *type)
{
    MPI_Aint lb, extent;
    MPI_Type_get_extent(*type, &lb, &extent);
    for (int i = 0; i < *count; i++) {
        int *a = (int *)((char *)in + i * extent), *b = (int *)((char *)inout + i * extent);
        *b = *a * 10 + *b;
    }
}

START_TEST(an_operator_of_the_program_sees_the_layout)
{
    int a[4] = {1, -1, 2, -1}, b[4] = {3, 77, 4, 88}, commutes;
    MPI_Datatype gaps;
    MPI_Op op;
    MPI_Type_create_resized(MPI_INT, 0, 8, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Op_create(join, 0, &op);
    MPI_Op_commutative(op, &commutes);
    ck_assert_int_eq(commutes, 0);
    MPI_Reduce_local(a, b, 2, gaps, op);
    ck_assert(b[0] == 13 && b[1] == 77 && b[2] == 24 && b[3] == 88);
    int result[4] = {0, 55, 0, 66};
    MPI_Allreduce(b, result, 2, gaps, op, MPI_COMM_WORLD);
    ck_assert(result[0] == 13 && result[1] == 55 && result[2] == 24 && result[3] == 66);
    MPI_Op_free(&op);
    ck_assert_ptr_eq(op, MPI_OP_NULL);
    MPI_Type_free(&gaps);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mpi_operators");
    TCase *tc = tcase_create("operators");
    test_seed_announce();
    tcase_add_checked_fixture(tc, start_mpi, stop_mpi);
    tcase_add_test(tc, numbers);
    tcase_add_test(tc, pairs);
    tcase_add_test(tc, an_operator_of_the_program_sees_the_layout);
    suite_add_tcase(suite, tc);
    return test_suite_run(suite);
}
