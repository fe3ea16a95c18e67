/*
 * Element types and operators. Every pair is compared with a slow reference that is written in
 * another way, on random data rich in awkward values. The loops for each instruction set of this
 * processor take part. Further tests: what is refused, and user-defined operators.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collectives/values/loops.h"
#include "tests/suite.h"
#include "types_reference.h"

#define LONGEST 1023                 /* elements */
#define ROOM    ((LONGEST + 3) * 16) /* bytes of each side */
#define GUARD   0xa5
#define ROUNDS  (TEST_SANITIZED ? 1 : 5)

/* The instruction sets for which loops are built, and whether this processor has them. */
struct set {
    const char *name;
    ftc_loops *loops;
    bool usable;
};

#ifdef FTC_LOOPS_X86
#define SETS 3
#else
#define SETS 1
#endif

static struct set set_of(int index)
{
    struct set set = {"baseline", &ftc_loops_baseline, true};

    (void)index;
#ifdef FTC_LOOPS_X86
    if (index == 1)
        set = (struct set){"v3", &ftc_loops_v3,
                           __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                               __builtin_cpu_supports("bmi2")};
    if (index == 2)
        set = (struct set){
            "v4", &ftc_loops_v4,
            __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512cd")};
#endif
    return set;
}

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

struct sides {
    unsigned char in[ROOM], inout[ROOM], expected[ROOM];
};

/* Returns the bytes of the elements and of two more, which must stay as they are. */
static size_t span(ftc_type type, size_t count)
{
    return (count + 2) * ftc_type_size(type);
}

static void fill(struct test_random *random, ftc_type type, size_t count, unsigned char side[ROOM])
{
    memset(side, GUARD, span(type, count));
    for (size_t i = 0; i < count; i++)
        reference_random(random, type, side + i * ftc_type_size(type));
}

static struct ftc_reduction reduction_of(ftc_type type, int code)
{
    struct ftc_reduction reduction;

    ck_assert_int_eq(ftc_reduction_init(&reduction, type, builtin(code)), FTC_SUCCESS);
    return reduction;
}

/* --- built-in operators --- */

/* Uses the loops of that set instead of the best one. */
static struct ftc_reduction reduction_in(const struct set *set, ftc_type type, int code)
{
    struct ftc_reduction reduction = reduction_of(type, code);

    reduction.builtin = (*set->loops)[type][code];
    ck_assert_ptr_nonnull(reduction.builtin);
    return reduction;
}

/* The input of one check, and its results. Each side has the elements, and GUARD behind them. */
static void make_sides(struct test_random *random, struct sides *s, ftc_type type, int code,
                       size_t count)
{
    size_t size = ftc_type_size(type);

    fill(random, type, count, s->in);
    fill(random, type, count, s->inout);
    memcpy(s->expected, s->inout, span(type, count));
    for (size_t i = 0; i < count; i++)
        reference_combine(type, code, s->in + i * size, s->expected + i * size);
}

/* The bits of `shift` say which sides begin one element after the aligned one. */
static void check_combine(const struct ftc_reduction *op, const struct sides *s, size_t count,
                          unsigned shift, const char *set)
{
    _Alignas(64) unsigned char in[ROOM], inout[ROOM];
    size_t size = op->element_size, bytes = span(op->type, count);
    unsigned char *from = in + (shift & 1) * size, *to = inout + (shift >> 1 & 1) * size;

    memcpy(from, s->in, bytes);
    memcpy(to, s->inout, bytes);
    ftc_reduction_combine((void *)op, from, to, count * size);
    ck_assert_msg(memcmp(to, s->expected, bytes) == 0, "%s of %zu %s, shift %u, loops %s",
                  ftc_operator_name(op->operator_code), count, ftc_type_name(op->type), shift, set);
}

static void check_merge(const struct ftc_reduction *op, const struct sides *s, size_t count,
                        unsigned shift, const char *set)
{
    _Alignas(64) unsigned char in[ROOM], with[ROOM], out[ROOM];
    size_t size = op->element_size, bytes = span(op->type, count);
    unsigned char *from = in + (shift & 1) * size, *side = with + (shift >> 1 & 1) * size,
                  *to = out + (shift >> 2 & 1) * size;

    memcpy(from, s->in, bytes);
    memcpy(side, s->inout, bytes);
    memset(to, GUARD, bytes);
    ftc_reduction_merge((void *)op, from, side, to, count * size);
    ck_assert_msg(memcmp(to, s->expected, bytes) == 0 && memcmp(side, s->inout, bytes) == 0,
                  "merge: %s of %zu %s, shift %u, loops %s", ftc_operator_name(op->operator_code),
                  count, ftc_type_name(op->type), shift, set);
    ftc_reduction_merge((void *)op, from, side, side, count * size);
    ck_assert_msg(memcmp(side, s->expected, bytes) == 0,
                  "merge in place: %s of %zu %s, shift %u, loops %s",
                  ftc_operator_name(op->operator_code), count, ftc_type_name(op->type), shift, set);
}

/* All instruction sets are compared with one reference, so they give the same bits. */
static void check_sets(const struct sides *s, ftc_type type, int code, size_t count)
{
    for (int i = 0; i < SETS; i++) {
        struct set set = set_of(i);
        if (!set.usable)
            continue;
        struct ftc_reduction op = reduction_in(&set, type, code);
        ck_assert_int_eq(ftc_reduction_merges(&op), !is_pair(type));
        for (unsigned shift = 0; shift < 4; shift++)
            check_combine(&op, s, count, shift, set.name);
        for (unsigned shift = 0; shift < 8 && !is_pair(type); shift++)
            check_merge(&op, s, count, shift, set.name);
    }
}

START_TEST(every_operator_matches_the_reference)
{
    struct test_random random = test_random_start();
    static struct sides s;
    ftc_type type = (ftc_type)_i;

    for (int code = SUM; code < CODES; code++)
        for (size_t count = 0; is_valid(type, code) && count <= 67; count++)
            for (int round = 0; round < ROUNDS; round++) {
                make_sides(&random, &s, type, code, count);
                check_sets(&s, type, code, count);
            }
}
END_TEST

/* The lengths are many vectors of any width, and a rest. */
START_TEST(long_vectors_match_the_reference)
{
    struct test_random random = test_random_start();
    static struct sides s;
    ftc_type type = (ftc_type)_i;

    for (int code = SUM; code < CODES; code++)
        for (int round = 0; is_valid(type, code) && round < 2 * ROUNDS; round++) {
            size_t count = (size_t)test_random_between(&random, 68, LONGEST) | 1;
            make_sides(&random, &s, type, code, count);
            check_sets(&s, type, code, count);
        }
}
END_TEST

START_TEST(the_best_loops_of_this_processor_are_taken)
{
    int best = 0;

    for (int i = 0; i < SETS; i++)
        best = set_of(i).usable ? i : best;
    struct set set = set_of(best);
    for (int type = FTC_INT8; type < FTC_TYPES; type++)
        for (int code = SUM; code < CODES; code++)
            if (is_valid((ftc_type)type, code))
                ck_assert_msg(reduction_of((ftc_type)type, code).builtin ==
                                  (*set.loops)[type][code],
                              "%s of %s is not that of %s", ftc_operator_name(code),
                              ftc_type_name((ftc_type)type), set.name);
}
END_TEST

/* The result has the same bits whichever side an operand is on. However three operands are grouped,
 * results differ by rounding at most. */
START_TEST(the_order_of_operands_does_not_show)
{
    struct test_random random = test_random_start();
    ftc_type type = (ftc_type)_i;
    size_t count = 64, size = count * ftc_type_size(type);

    for (int code = SUM; code < CODES; code++) {
        if (!is_valid(type, code))
            continue;
        struct ftc_reduction op = reduction_of(type, code);
        _Alignas(16) unsigned char a[ROOM] = {0}, b[ROOM] = {0}, c[ROOM] = {0}, left[ROOM] = {0},
                                   right[ROOM] = {0};
        for (size_t i = 0; i < count; i++) {
            reference_random(&random, type, a + i * op.element_size);
            reference_random(&random, type, b + i * op.element_size);
            reference_random(&random, type, c + i * op.element_size);
        }
        memcpy(left, b, ROOM);
        ftc_reduction_combine(&op, a, left, size); /* a op b */
        memcpy(right, a, ROOM);
        ftc_reduction_combine(&op, b, right, size); /* b op a */
        ck_assert_msg(memcmp(left, right, ROOM) == 0, "%s of %s", ftc_operator_name(code),
                      ftc_type_name(type));
        bool rounds = (type == FTC_FLOAT || type == FTC_DOUBLE) && code <= PROD;
        ck_assert(ftc_operator_exact(type, code) == !rounds);
        if (rounds)
            continue;
        memcpy(right, c, ROOM);
        ftc_reduction_combine(&op, b, right, size);
        ftc_reduction_combine(&op, a, right, size); /* a op (b op c) */
        ftc_reduction_combine(&op, c, left, size);  /* c op (a op b) */
        ck_assert_msg(memcmp(left, right, ROOM) == 0, "%s of %s", ftc_operator_name(code),
                      ftc_type_name(type));
    }
    ck_assert(!ftc_operator_exact(type, 255)); /* user-defined */
}
END_TEST

/* Combines one element. The result replaces *b. */
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

    for (int type = FTC_INT8; type < FTC_TYPES; type++)
        for (int code = SUM; code < CODES; code++)
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
    static const struct ftc_operator empty = {0};
    static const int types[] = {0, FTC_TYPES, 255, -1, INT32_MIN, FTC_TYPE_CREATED};
    static const intptr_t handles[] = {0, CODES, 255, 4095, -1, -8 + 1};

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
    ck_assert_str_eq(ftc_operator_name(254), "ordered user-defined");
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

/* The greatest common divisor is associative and commutative. */
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

START_TEST(created_types_have_a_size_and_take_user_defined_operators_alone)
{
    const ftc_type type = (ftc_type)(FTC_TYPE_CREATED + 24),
                   large = (ftc_type)(FTC_TYPE_CREATED + FTC_ELEMENT_MAX + 1);
    const struct ftc_operator user = {.function = gcd},
                              ordered = {.function = gcd, .ordered = true};
    struct ftc_reduction reduction;

    ck_assert_uint_eq(ftc_type_size(type), 24);
    ck_assert_uint_eq(ftc_type_size((ftc_type)INT32_MAX), 0x3fffffff);
    ck_assert_str_eq(ftc_type_name(type), "a created type");
    ck_assert_str_eq(ftc_type_code_name(ftc_type_code(type)), "a created type");
    ck_assert_str_eq(ftc_type_code_name(ftc_type_code(FTC_INT8)), "int8");
    check_refused(type, FTC_SUM, FTC_ERR_TYPE);
    check_refused(type, FTC_MAXLOC, FTC_ERR_TYPE);
    check_refused(large, &user, FTC_ERR_TYPE);
    ck_assert_int_eq(ftc_reduction_init(&reduction, type, &user), FTC_SUCCESS);
    ck_assert_int_eq(reduction.operator_code, FTC_OPERATOR_USER);
    ck_assert(!ftc_reduction_merges(&reduction));
    ck_assert_int_eq(ftc_reduction_init(&reduction, type, &ordered), FTC_SUCCESS);
    ck_assert_int_eq(reduction.operator_code, FTC_OPERATOR_ORDERED);
    ck_assert_uint_eq(reduction.element_size, 24);
}
END_TEST

START_TEST(a_user_defined_operator_gets_what_it_asked_for)
{
    struct seen seen = {0};
    const struct ftc_operator user = {.function = gcd, .arg = &seen};
    struct ftc_reduction reduction;
    _Alignas(16) uint32_t in[3] = {12, 5, 0}, inout[3] = {18, 7, 9};

    ck_assert_int_eq(ftc_reduction_init(&reduction, FTC_UINT32, &user), FTC_SUCCESS);
    ck_assert_int_eq(reduction.operator_code, 255);
    ftc_reduction_combine(&reduction, in, inout, sizeof(in));
    ck_assert(inout[0] == 6 && inout[1] == 1 && inout[2] == 9);
    ck_assert(seen.calls == 1 && seen.count == 3 && seen.type == FTC_UINT32);
    ftc_reduction_combine(&reduction, in, inout, 0); /* nothing to combine: it is not called */
    ck_assert_int_eq(seen.calls, 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("types");
    tcase_add_loop_test(tc, every_operator_matches_the_reference, FTC_INT8, FTC_TYPES);
    tcase_add_loop_test(tc, long_vectors_match_the_reference, FTC_INT8, FTC_TYPES);
    tcase_add_test(tc, the_best_loops_of_this_processor_are_taken);
    tcase_add_loop_test(tc, the_order_of_operands_does_not_show, FTC_INT8, FTC_TYPES);
    tcase_add_test(tc, signed_arithmetic_wraps);
    tcase_add_test(tc, a_nan_wins_and_minus_zero_is_less);
    tcase_add_test(tc, ties_go_to_the_lower_index);
    tcase_add_test(tc, the_smallest_and_largest_vectors);
    tcase_add_test(tc, operators_are_defined_for_their_types_only);
    tcase_add_test(tc, what_is_no_type_or_operator_is_refused);
    tcase_add_test(tc, names_and_sizes);
    tcase_add_test(tc, created_types_have_a_size_and_take_user_defined_operators_alone);
    tcase_add_test(tc, a_user_defined_operator_gets_what_it_asked_for);
    tcase_set_timeout(tc, 300);
    Suite *suite = suite_create("types");
    suite_add_tcase(suite, tc);

    test_seed_announce();
    return test_suite_run(suite);
}
