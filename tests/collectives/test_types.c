/*
 * Element types and operators: every pair against a slow reference that is written another way, on random
 * data rich in awkward values; what is refused; user-defined operators.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collectives/types.h"
#include "tests/random.h"
#include "tests/suite.h"

#define ROOM  2048 /* bytes of each side */
#define GUARD 0xa5

enum { SUM = 1, PROD, MIN, MAX, LAND, LOR, BAND, BOR, BXOR, MINLOC, MAXLOC, OPERATORS };
enum { TYPES = FTC_DOUBLE_INT32 + 1 };

static ftc_op builtin(int code)
{
    return (ftc_op)(intptr_t)code;
}

static bool is_integer(ftc_type type)
{
    return type <= FTC_UINT64;
}

static bool is_pair(ftc_type type)
{
    return type >= FTC_INT32_INT32;
}

static bool is_valid(ftc_type type, int code)
{
    if (code >= MINLOC)
        return is_pair(type);
    return code >= LAND ? is_integer(type) : !is_pair(type);
}

/* --- one element, as numbers that hold every type --- */

/* An element taken apart: integers exactly, floating point as double, which holds every float. */
struct number {
    bool floating;
    __int128 integer;
    double real;
    int32_t index;
};

static double canonical_nan(void)
{
    return (double)NAN;
}

static __int128 load_integer(ftc_type type, const void *from)
{
    int64_t wide = 0;
    uint64_t bits = 0;
    size_t size = ftc_type_size(type);

    memcpy(&bits, from, size);
    if (type >= FTC_UINT8)
        return bits;
    int unused = 64 - 8 * (int)size;
    wide = (int64_t)(bits << unused) >> unused;
    return wide;
}

static struct number load(ftc_type type, const void *from)
{
    struct number n = {0};
    float single;

    switch (type) {
    case FTC_FLOAT:
    case FTC_FLOAT_INT32:
        memcpy(&single, from, sizeof(single));
        n.floating = true;
        n.real = (double)single;
        break;
    case FTC_DOUBLE:
    case FTC_DOUBLE_INT32:
        n.floating = true;
        memcpy(&n.real, from, sizeof(n.real));
        break;
    case FTC_INT32_INT32:
        n.integer = load_integer(FTC_INT32, from);
        break;
    case FTC_INT64_INT32:
        n.integer = load_integer(FTC_INT64, from);
        break;
    default:
        n.integer = load_integer(type, from);
    }
    if (is_pair(type)) {
        bool narrow = type == FTC_INT32_INT32 || type == FTC_FLOAT_INT32;
        memcpy(&n.index, (const char *)from + (narrow ? 4 : 8), sizeof(n.index));
    }
    return n;
}

/* -1, 0, 1 in the order of MIN and MAX without NaN: -0 before +0 */
static int compare(const struct number *a, const struct number *b)
{
    if (!a->floating)
        return (a->integer > b->integer) - (a->integer < b->integer);
    if (a->real == 0 && b->real == 0)
        return (signbit(a->real) == 0) - (signbit(b->real) == 0);
    return (a->real > b->real) - (a->real < b->real);
}

static struct number least_or_most(int sign, const struct number *a, const struct number *b)
{
    struct number r = compare(a, b) * sign <= 0 ? *a : *b;

    if (a->floating && (isnan(a->real) || isnan(b->real)))
        r.real = canonical_nan();
    return r;
}

static bool same_value(const struct number *a, const struct number *b)
{
    if (!a->floating)
        return a->integer == b->integer;
    return a->real == b->real || (isnan(a->real) && isnan(b->real));
}

static struct number located(int sign, const struct number *a, const struct number *b)
{
    struct number r = least_or_most(sign, a, b);
    bool from_a = same_value(a, &r), from_b = same_value(b, &r);

    if (from_a && from_b)
        r.index = a->index < b->index ? a->index : b->index;
    else
        r.index = from_a ? a->index : b->index;
    return r;
}

/* A sum or product of floats is rounded once: the double is exact, or its second rounding does no harm (2 *
 * 24 + 2 bits fit into a double). */
static struct number arithmetic(int code, const struct number *a, const struct number *b)
{
    struct number r = {.floating = a->floating};

    if (a->floating) {
        r.real = code == SUM ? a->real + b->real : a->real * b->real;
        if (isnan(r.real))
            r.real = canonical_nan();
    } else {
        unsigned __int128 x = (unsigned __int128)a->integer, y = (unsigned __int128)b->integer;
        r.integer = (__int128)(code == SUM ? x + y : x * y);
    }
    return r;
}

static struct number reference(int code, const struct number *a, const struct number *b)
{
    struct number r = {0};

    switch (code) {
    case SUM:
    case PROD:
        return arithmetic(code, a, b);
    case MIN:
    case MAX:
        return least_or_most(code == MIN ? 1 : -1, a, b);
    case MINLOC:
    case MAXLOC:
        return located(code == MINLOC ? 1 : -1, a, b);
    case LAND:
        r.integer = a->integer && b->integer ? 1 : 0;
        return r;
    case LOR:
        r.integer = a->integer || b->integer ? 1 : 0;
        return r;
    case BAND:
        r.integer = a->integer & b->integer;
        return r;
    case BOR:
        r.integer = a->integer | b->integer;
        return r;
    default:
        r.integer = a->integer ^ b->integer;
        return r;
    }
}

/* Put a number's fields where an element of that type is; padding stays. */
static void store(ftc_type type, void *to, const struct number *n)
{
    float single = (float)n->real;
    bool narrow = type == FTC_INT32_INT32 || type == FTC_FLOAT_INT32;
    size_t value_size = !is_pair(type) ? ftc_type_size(type) : narrow ? 4 : 8;
    uint64_t bits = (uint64_t)n->integer;

    if (n->floating && value_size == sizeof(single))
        memcpy(to, &single, sizeof(single));
    else if (n->floating)
        memcpy(to, &n->real, sizeof(n->real));
    else
        memcpy(to, &bits, value_size); /* little-endian: the low bytes */
    if (is_pair(type))
        memcpy((char *)to + value_size, &n->index, sizeof(n->index));
}

/* --- random elements --- */

/* Of the limits, small numbers (so that ties and zeros happen) and anything. */
static int64_t awkward_integer(struct test_random *random)
{
    static const int64_t limits[] = {INT8_MIN,  INT8_MAX,  UINT8_MAX,  INT16_MIN, INT16_MAX, UINT16_MAX,
                                     INT32_MIN, INT32_MAX, UINT32_MAX, INT64_MIN, INT64_MAX, -1};

    switch (test_random_between(random, 0, 2)) {
    case 0:
        return limits[test_random_between(random, 0, sizeof(limits) / sizeof(limits[0]) - 1)];
    case 1:
        return test_random_between(random, -3, 3);
    default:
        return (int64_t)test_random_bits(random);
    }
}

/* Also both zeros, infinities, NaNs of either sign with a payload, the smallest and largest numbers. */
static uint64_t awkward_bits(struct test_random *random, bool narrow)
{
    static const uint32_t singles[] = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
                                       0xffc12345, 0x7fd00001, 0x00000001, 0x7f7fffff};
    static const uint64_t doubles[] = {0x0000000000000000, 0x8000000000000000, 0x7ff0000000000000,
                                       0xfff0000000000000, 0x7ff8000000000000, 0xfff8000012345678,
                                       0x7ffa000000000001, 0x0000000000000001, 0x7fefffffffffffff};
    int i = (int)test_random_between(random, 0, 8);

    return narrow ? singles[i] : doubles[i];
}

static void random_element(struct test_random *random, ftc_type type, void *to)
{
    struct number n = {.index = (int32_t)test_random_between(random, -2, 2)};

    n.floating =
        type == FTC_FLOAT || type == FTC_DOUBLE || type == FTC_FLOAT_INT32 || type == FTC_DOUBLE_INT32;
    n.integer = awkward_integer(random);
    n.real = (double)(float)(n.integer / 3.0);
    store(type, to, &n);
    if (n.floating && test_random_chance(random, 40)) {
        bool narrow = type == FTC_FLOAT || type == FTC_FLOAT_INT32;
        uint64_t bits = awkward_bits(random, narrow);
        memcpy(to, &bits, narrow ? 4 : 8);
    }
}

struct sides {
    _Alignas(16) unsigned char in[ROOM];
    _Alignas(16) unsigned char inout[ROOM];
    _Alignas(16) unsigned char expected[ROOM];
};

static void fill(struct test_random *random, ftc_type type, size_t count, unsigned char side[ROOM])
{
    memset(side, GUARD, ROOM);
    for (size_t i = 0; i < count; i++)
        random_element(random, type, side + i * ftc_type_size(type));
}

static struct ftc_reduction reduction_of(ftc_type type, int code)
{
    struct ftc_reduction reduction;

    ck_assert_int_eq(ftc_reduction_init(&reduction, type, builtin(code)), FTC_SUCCESS);
    return reduction;
}

/* --- built-in operators --- */

static void check_pair(struct test_random *random, struct sides *s, ftc_type type, int code, size_t count)
{
    struct ftc_reduction reduction = reduction_of(type, code);
    size_t size = reduction.element_size;

    fill(random, type, count, s->in);
    fill(random, type, count, s->inout);
    memcpy(s->expected, s->inout, ROOM);
    for (size_t i = 0; i < count; i++) {
        struct number a = load(type, s->in + i * size), b = load(type, s->inout + i * size);
        struct number r = reference(code, &a, &b);
        store(type, s->expected + i * size, &r);
    }
    ftc_reduction_combine(&reduction, s->in, s->inout, count * size);
    ck_assert_msg(memcmp(s->inout, s->expected, ROOM) == 0, "%s of %zu %s", ftc_operator_name(code), count,
                  ftc_type_name(type));
}

START_TEST(every_operator_matches_the_reference)
{
    struct test_random random = test_random_start();
    struct sides s;
    ftc_type type = (ftc_type)_i;

    for (int code = SUM; code < OPERATORS; code++)
        for (size_t count = 0; count <= 67; count++)
            for (int round = 0; is_valid(type, code) && round < 5; round++)
                check_pair(&random, &s, type, code, count);
}
END_TEST

/* The same bits whichever side an operand is on; and, but for rounding, however three are grouped. */
START_TEST(the_order_of_operands_does_not_show)
{
    struct test_random random = test_random_start();
    ftc_type type = (ftc_type)_i;
    size_t count = 64, size = count * ftc_type_size(type);

    for (int code = SUM; code < OPERATORS; code++) {
        if (!is_valid(type, code))
            continue;
        struct ftc_reduction op = reduction_of(type, code);
        _Alignas(16) unsigned char a[ROOM] = {0}, b[ROOM] = {0}, c[ROOM] = {0}, left[ROOM] = {0},
                                   right[ROOM] = {0};
        for (size_t i = 0; i < count; i++) {
            random_element(&random, type, a + i * op.element_size);
            random_element(&random, type, b + i * op.element_size);
            random_element(&random, type, c + i * op.element_size);
        }
        memcpy(left, b, ROOM);
        ftc_reduction_combine(&op, a, left, size); /* a op b */
        memcpy(right, a, ROOM);
        ftc_reduction_combine(&op, b, right, size); /* b op a */
        ck_assert_msg(memcmp(left, right, ROOM) == 0, "%s of %s", ftc_operator_name(code),
                      ftc_type_name(type));
        if ((type == FTC_FLOAT || type == FTC_DOUBLE) && code <= PROD)
            continue;
        memcpy(right, c, ROOM);
        ftc_reduction_combine(&op, b, right, size);
        ftc_reduction_combine(&op, a, right, size); /* a op (b op c) */
        ftc_reduction_combine(&op, c, left, size);  /* c op (a op b) */
        ck_assert_msg(memcmp(left, right, ROOM) == 0, "%s of %s", ftc_operator_name(code),
                      ftc_type_name(type));
    }
}
END_TEST

/* Combine one element; the result replaces *b. */
static void one(ftc_type type, int code, const void *a, void *b)
{
    struct ftc_reduction reduction = reduction_of(type, code);
    _Alignas(16) unsigned char in[16], inout[16];

    memcpy(in, a, reduction.element_size);
    memcpy(inout, b, reduction.element_size);
    ftc_reduction_combine(&reduction, in, inout, reduction.element_size);
    memcpy(b, inout, reduction.element_size);
}

START_TEST(signed_arithmetic_wraps)
{
    int8_t tiny = INT8_MAX;
    one(FTC_INT8, SUM, &(int8_t){1}, &tiny);
    ck_assert_int_eq(tiny, INT8_MIN);

    uint16_t small = UINT16_MAX; /* as int: 65535 * 65535 overflows */
    one(FTC_UINT16, PROD, &(uint16_t){UINT16_MAX}, &small);
    ck_assert_int_eq(small, 1);

    int32_t medium = INT32_MIN;
    one(FTC_INT32, PROD, &(int32_t){-1}, &medium);
    ck_assert_int_eq(medium, INT32_MIN);

    int64_t large = INT64_MIN;
    one(FTC_INT64, SUM, &(int64_t){-1}, &large);
    ck_assert_int_eq(large, INT64_MAX);
}
END_TEST

START_TEST(a_nan_wins_and_minus_zero_is_less)
{
    double value = (double)NAN;
    one(FTC_DOUBLE, MIN, &(double){1}, &value);
    ck_assert_double_nan(value);
    value = 1;
    one(FTC_DOUBLE, MAX, &(double){(double)NAN}, &value);
    ck_assert_double_nan(value);

    value = 0.0;
    one(FTC_DOUBLE, MIN, &(double){-0.0}, &value);
    ck_assert(signbit(value));
    one(FTC_DOUBLE, MAX, &(double){0.0}, &value);
    ck_assert(!signbit(value));
}
END_TEST

START_TEST(ties_go_to_the_lower_index)
{
    ftc_int32_int32 pair = {7, 4};
    one(FTC_INT32_INT32, MAXLOC, &(ftc_int32_int32){7, 9}, &pair);
    ck_assert(pair.value == 7 && pair.index == 4);
    one(FTC_INT32_INT32, MINLOC, &(ftc_int32_int32){7, 2}, &pair);
    ck_assert(pair.value == 7 && pair.index == 2);
    one(FTC_INT32_INT32, MINLOC, &(ftc_int32_int32){8, 1}, &pair);
    ck_assert(pair.value == 7 && pair.index == 2);

    ftc_double_int32 zero = {0.0, 3}; /* zeros tie, whatever their signs */
    one(FTC_DOUBLE_INT32, MINLOC, &(ftc_double_int32){-0.0, 5}, &zero);
    ck_assert(signbit(zero.value) && zero.index == 3);

    ftc_float_int32 nan = {NAN, 6};
    one(FTC_FLOAT_INT32, MAXLOC, &(ftc_float_int32){INFINITY, 1}, &nan);
    ck_assert(isnan(nan.value) && nan.index == 6);
    one(FTC_FLOAT_INT32, MAXLOC, &(ftc_float_int32){NAN, 5}, &nan);
    ck_assert(isnan(nan.value) && nan.index == 5);
}
END_TEST

START_TEST(the_smallest_and_largest_vectors)
{
    struct ftc_reduction reduction = reduction_of(FTC_INT32, SUM);
    size_t count = 100003;
    int32_t *in = aligned_alloc(16, (count * sizeof(*in) + 15) / 16 * 16);
    int32_t *inout = aligned_alloc(16, (count * sizeof(*in) + 15) / 16 * 16);

    ck_assert(in != NULL && inout != NULL);
    for (size_t i = 0; i < count; i++) {
        in[i] = (int32_t)i;
        inout[i] = 2 * (int32_t)i;
    }
    ftc_reduction_combine(&reduction, NULL, NULL, 0);
    ftc_reduction_combine(&reduction, in, inout, count * sizeof(*in));
    for (size_t i = 0; i < count; i++)
        if (inout[i] != 3 * (int32_t)i)
            ck_abort_msg("element %zu is %d", i, inout[i]);
    free(in);
    free(inout);
}
END_TEST

/* --- what is refused --- */

static void check_refused(ftc_type type, ftc_op op, int error)
{
    struct ftc_reduction reduction = {.operator_code = 77};

    ck_assert_int_eq(ftc_reduction_init(&reduction, type, op), error);
    ck_assert_int_eq(reduction.operator_code, 77); /* outputs are set only on success */
}

START_TEST(operators_are_defined_for_their_types_only)
{
    int valid = 0;

    for (int type = FTC_INT8; type < TYPES; type++)
        for (int code = SUM; code < OPERATORS; code++)
            if (is_valid((ftc_type)type, code))
                valid += reduction_of((ftc_type)type, code).operator_code == code;
            else
                check_refused((ftc_type)type, builtin(code), FTC_ERR_TYPE);
    ck_assert_int_eq(valid, 8 * 9 + 2 * 4 + 4 * 2);
    check_refused(FTC_FLOAT, FTC_BXOR, FTC_ERR_TYPE);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "bxor is not defined for type float"));
}
END_TEST

START_TEST(what_is_no_type_or_operator_is_refused)
{
    static const struct ftc_operator empty = {NULL, NULL};
    static const int types[] = {0, TYPES, 255, -1, INT32_MIN, INT32_MAX};
    static const intptr_t handles[] = {0, OPERATORS, 255, 4095, -1, -8 + 1};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        check_refused((ftc_type)types[i], FTC_SUM, FTC_ERR_ARG);
        ck_assert_uint_eq(ftc_type_size((ftc_type)types[i]), 0);
        ck_assert_str_eq(ftc_type_name((ftc_type)types[i]), "?");
    }
    for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++)
        check_refused(FTC_INT32, (ftc_op)handles[i], FTC_ERR_ARG);
    check_refused(FTC_INT32, &empty, FTC_ERR_ARG);
}
END_TEST

START_TEST(names_and_sizes)
{
    ck_assert_str_eq(ftc_type_name(FTC_INT32), "int32");
    ck_assert_str_eq(ftc_type_name(FTC_DOUBLE_INT32), "double_int32");
    ck_assert_uint_eq(ftc_type_size(FTC_UINT16), 2);
    ck_assert_uint_eq(ftc_type_size(FTC_FLOAT_INT32), sizeof(ftc_float_int32));
    ck_assert_uint_eq(ftc_type_size(FTC_INT64_INT32), sizeof(ftc_int64_int32));
    ck_assert_str_eq(ftc_operator_name(0), "none");
    ck_assert_str_eq(ftc_operator_name(SUM), "sum");
    ck_assert_str_eq(ftc_operator_name(MAXLOC), "maxloc");
    ck_assert_str_eq(ftc_operator_name(255), "user-defined");
    ck_assert_str_eq(ftc_operator_name(12), "?");
    ck_assert_str_eq(ftc_operator_name(-1), "?");
}
END_TEST

/* --- user-defined operators --- */

struct seen {
    int calls;
    size_t count;
    ftc_type type;
};

/* Greatest common divisor: associative and commutative. */
static void gcd(const void *in, void *inout, size_t count, ftc_type type, void *arg)
{
    const uint32_t *from = in;
    uint32_t *to = inout;
    struct seen *seen = arg;

    for (size_t i = 0; i < count; i++) {
        uint32_t a = from[i];
        while (a != 0) {
            uint32_t rest = to[i] % a;
            to[i] = a;
            a = rest;
        }
    }
    *seen = (struct seen){seen->calls + 1, count, type};
}

START_TEST(a_user_defined_operator_gets_what_it_asked_for)
{
    struct seen seen = {0};
    const struct ftc_operator user = {gcd, &seen};
    struct ftc_reduction reduction;
    _Alignas(16) uint32_t in[3] = {12, 5, 0}, inout[3] = {18, 7, 9};

    ck_assert_int_eq(ftc_reduction_init(&reduction, FTC_UINT32, &user), FTC_SUCCESS);
    ck_assert_int_eq(reduction.operator_code, 255);
    ftc_reduction_combine(&reduction, in, inout, sizeof(in));
    ck_assert(inout[0] == 6 && inout[1] == 1 && inout[2] == 9);
    ck_assert(seen.calls == 1 && seen.count == 3 && seen.type == FTC_UINT32);
    ftc_reduction_combine(&reduction, in, inout, 0); /* nothing to combine: not called */
    ck_assert_int_eq(seen.calls, 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("types");
    tcase_add_loop_test(tc, every_operator_matches_the_reference, FTC_INT8, TYPES);
    tcase_add_loop_test(tc, the_order_of_operands_does_not_show, FTC_INT8, TYPES);
    tcase_add_test(tc, signed_arithmetic_wraps);
    tcase_add_test(tc, a_nan_wins_and_minus_zero_is_less);
    tcase_add_test(tc, ties_go_to_the_lower_index);
    tcase_add_test(tc, the_smallest_and_largest_vectors);
    tcase_add_test(tc, operators_are_defined_for_their_types_only);
    tcase_add_test(tc, what_is_no_type_or_operator_is_refused);
    tcase_add_test(tc, names_and_sizes);
    tcase_add_test(tc, a_user_defined_operator_gets_what_it_asked_for);
    tcase_set_timeout(tc, 60);
    Suite *suite = suite_create("types");
    suite_add_tcase(suite, tc);

    test_seed_announce();
    return test_suite_run(suite);
}
