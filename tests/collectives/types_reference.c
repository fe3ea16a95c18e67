/* See types_reference.h. */
#include "types_reference.h"

#include <math.h>
#include <string.h>

#include "collectives/values/loops.h"

static bool is_pair(ftc_type type)
{
    return type >= FTC_INT32_INT32;
}

/* --- one element, as numbers that hold every type --- */

/* An element taken apart: integers exactly, floating point as a double, which holds every float. */
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

/* returns -1, 0 or 1, in the order of MIN and MAX without NaN: -0 is before +0 */
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

/* The sum or product of two floats is rounded once: the double is exact, or its second rounding
 * does no harm (2 * 24 + 2 bits fit into a double). */
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

static struct number combine(int code, const struct number *a, const struct number *b)
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

/* Puts the fields of a number where an element of that type has them. Padding stays. */
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
        memcpy(to, &bits, value_size); /* little-endian: takes the low bytes */
    if (is_pair(type))
        memcpy((char *)to + value_size, &n->index, sizeof(n->index));
}

void reference_combine(ftc_type type, int code, const void *in, void *inout)
{
    struct number a = load(type, in), b = load(type, inout), r = combine(code, &a, &b);

    store(type, inout, &r);
}

/* --- random elements --- */

/* Draws from the limits, from small numbers (so that ties and zeros happen) and from all
 * numbers. */
static int64_t awkward_integer(struct test_random *random)
{
    static const int64_t limits[] = {INT8_MIN,   INT8_MAX,   UINT8_MAX, INT16_MIN,
                                     INT16_MAX,  UINT16_MAX, INT32_MIN, INT32_MAX,
                                     UINT32_MAX, INT64_MIN,  INT64_MAX, -1};

    switch (test_random_between(random, 0, 2)) {
    case 0:
        return limits[test_random_between(random, 0, sizeof(limits) / sizeof(limits[0]) - 1)];
    case 1:
        return test_random_between(random, -3, 3);
    default:
        return (int64_t)test_random_bits(random);
    }
}

/* The bits may also be either zero, an infinity, a NaN of either sign with a payload, or the
 * smallest or largest number. */
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

void reference_random(struct test_random *random, ftc_type type, void *to)
{
    struct number n = {.index = (int32_t)test_random_between(random, -2, 2)};

    n.floating = type == FTC_FLOAT || type == FTC_DOUBLE || type == FTC_FLOAT_INT32 ||
                 type == FTC_DOUBLE_INT32;
    n.integer = awkward_integer(random);
    n.real = (double)(float)(n.integer / 3.0);
    store(type, to, &n);
    if (n.floating && test_random_chance(random, 40)) {
        bool narrow = type == FTC_FLOAT || type == FTC_FLOAT_INT32;
        uint64_t bits = awkward_bits(random, narrow);
        memcpy(to, &bits, narrow ? 4 : 8);
    }
}
