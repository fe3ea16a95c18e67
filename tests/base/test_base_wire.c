/* The wire format: exact bytes, round trips, and everything that a decoder must refuse. */
#include <stdlib.h>
#include <string.h>

#include "base/wire.h"
#include "include/ftcoll.h"
#include "tests/random.h"
#include "tests/suite.h"

#define ROOM 1024

static struct test_random random_bits;

START_TEST(numbers_are_little_endian)
{
    static const unsigned char expected[] = {0x01, 0x03, 0x02, 0x07, 0x06, 0x05, 0x04, 0x0f, 0x0e,
                                             0x0d, 0x0c, 0x0b, 0x0a, 0x09, 0x08, 'a',  'b'};
    unsigned char data[sizeof(expected)];
    struct ftc_writer w = {.data = data, .size = sizeof(data)};
    ftc_write_u8(&w, 0x01);
    ftc_write_u16(&w, 0x0203);
    ftc_write_u32(&w, 0x04050607);
    ftc_write_u64(&w, 0x08090a0b0c0d0e0f);
    ftc_write_bytes(&w, "ab", 2);
    ck_assert(!w.failed);
    ck_assert_uint_eq(w.used, sizeof(expected));
    ck_assert_mem_eq(data, expected, sizeof(expected));

    struct ftc_reader r = {.data = data, .size = sizeof(data)};
    ck_assert_uint_eq(ftc_read_u8(&r), 0x01);
    ck_assert_uint_eq(ftc_read_u16(&r), 0x0203);
    ck_assert_uint_eq(ftc_read_u32(&r), 0x04050607);
    ck_assert_uint_eq(ftc_read_u64(&r), 0x08090a0b0c0d0e0f);
    ck_assert_mem_eq(ftc_read_bytes(&r, 2), "ab", 2);
    ck_assert(!r.failed);
    ck_assert_uint_eq(r.used, r.size);
}
END_TEST

START_TEST(a_full_writer_stays_failed_and_writes_nothing_more)
{
    unsigned char data[8];
    memset(data, 0xee, sizeof(data));
    struct ftc_writer w = {.data = data, .size = 5};
    ftc_write_u32(&w, 1);
    ftc_write_u32(&w, 2);
    ck_assert(w.failed);
    ftc_write_u8(&w, 3); /* it would fit */
    ftc_write_align(&w, 1);
    ck_assert_uint_eq(w.used, 4);
    for (size_t i = 4; i < sizeof(data); i++)
        ck_assert_uint_eq(data[i], 0xee);
}
END_TEST

START_TEST(an_overrun_reader_stays_failed_and_gives_zeros)
{
    static const unsigned char data[5] = {1, 1, 1, 1, 1};
    struct ftc_reader r = {.data = data, .size = sizeof(data)};
    ck_assert_uint_eq(ftc_read_u64(&r), 0);
    ck_assert(r.failed);
    ck_assert_uint_eq(ftc_read_u8(&r), 0);
    ck_assert_ptr_null(ftc_read_bytes(&r, 1));
    ck_assert_ptr_null(ftc_read_bytes(&r, 0));
    ck_assert(r.failed);
}
END_TEST

START_TEST(a_size_that_wraps_around_is_refused)
{
    unsigned char data[8] = {0};
    struct ftc_reader r = {.data = data, .size = sizeof(data), .used = 4};
    ck_assert_ptr_null(ftc_read_bytes(&r, SIZE_MAX - 2));
    ck_assert(r.failed);
    struct ftc_writer w = {.data = data, .size = sizeof(data), .used = 4};
    ftc_write_bytes(&w, data, SIZE_MAX - 2);
    ck_assert(w.failed);
}
END_TEST

START_TEST(padding_is_zero_and_checked)
{
    unsigned char data[32];
    memset(data, 0xee, sizeof(data));
    struct ftc_writer w = {.data = data, .size = sizeof(data)};
    ftc_write_u8(&w, 1);
    ftc_write_align(&w, 16);
    ftc_write_align(&w, 16); /* already aligned */
    ck_assert_uint_eq(w.used, 16);
    struct ftc_reader good = {.data = data, .size = w.used};
    ftc_read_u8(&good);
    ftc_read_align(&good, 16);
    ck_assert(!good.failed && good.used == 16);

    data[9] = 1;
    struct ftc_reader bad = {.data = data, .size = w.used, .used = 1};
    ftc_read_align(&bad, 16);
    ck_assert(bad.failed);
    struct ftc_reader cut = {.data = data, .size = 12, .used = 1};
    ftc_read_align(&cut, 16);
    ck_assert(cut.failed);
}
END_TEST

/* --- sets --- */

static struct ftc_set random_set(int size, int percent)
{
    struct ftc_set set;
    ck_assert_int_eq(ftc_set_init(&set, size), FTC_SUCCESS);
    for (int rank = 0; rank < size; rank++)
        if (test_random_chance(&random_bits, percent))
            ftc_set_add(&set, rank);
    return set;
}

static size_t encode(const struct ftc_set *set, unsigned char data[ROOM])
{
    struct ftc_writer w = {.data = data, .size = ROOM};
    ftc_write_set(&w, set);
    ck_assert(!w.failed);
    ck_assert_uint_eq(w.used, ftc_wire_set_size(set));
    return w.used;
}

/* Decodes into a set that held other ranks before. */
static bool decode(const unsigned char *data, size_t size, struct ftc_set *set, size_t *used)
{
    struct ftc_reader r = {.data = data, .size = size};
    ftc_read_set(&r, set);
    ck_assert(!r.failed || ftc_set_empty(set));
    *used = r.used;
    return !r.failed;
}

static void check_round_trip(const struct ftc_set *set)
{
    unsigned char data[ROOM];
    size_t size = encode(set, data), used;
    struct ftc_set back = random_set(set->size, 50);
    ck_assert(decode(data, size, &back, &used));
    ck_assert_uint_eq(used, size);
    ck_assert(ftc_set_equal(set, &back));
    for (size_t cut = 0; cut < size; cut++)
        ck_assert(!decode(data, cut, &back, &used));
    ftc_set_fini(&back);
}

static void check_writer_room(const struct ftc_set *set)
{
    unsigned char data[ROOM];
    for (size_t room = 0; room < ftc_wire_set_size(set); room++) {
        memset(data, 0xee, sizeof(data));
        struct ftc_writer w = {.data = data, .size = room};
        ftc_write_set(&w, set);
        ck_assert(w.failed);
        ck_assert_uint_eq(data[room], 0xee);
    }
}

START_TEST(sets_come_back_and_every_truncation_is_refused)
{
    static const int sizes[] = {0, 1, 2, 31, 63, 64, 65, 128, 129, 1000};
    int size = sizes[_i];
    for (int percent = 0; percent <= 100; percent += 4) {
        struct ftc_set set = random_set(size, percent);
        check_round_trip(&set);
        check_writer_room(&set);
        ftc_set_fini(&set);
    }
}
END_TEST

START_TEST(the_shortest_form_is_taken)
{
    enum { LIST = 0, MISSING = 0x40, BITS = 0x80 };
    struct ftc_set set = random_set(128, 0); /* as bits: 16 bytes, as many as 4 ranks in a list */
    unsigned char data[ROOM];
    for (int count = 0; count <= 128; count++) {
        int form = count <= 4 ? LIST : 128 - count <= 4 ? MISSING : BITS;
        int ranks = form == LIST ? count : form == MISSING ? 128 - count : 4;
        ck_assert_uint_eq(encode(&set, data), 4 + (size_t)ranks * 4);
        ck_assert_int_eq(data[3], form);
        ck_assert_int_eq(data[0], count);
        if (count < 128)
            ftc_set_add(&set, count);
    }
    ftc_set_fini(&set);
}
END_TEST

static void put32(unsigned char *data, size_t index, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        data[index * 4 + (size_t)i] = (unsigned char)(value >> (8 * i));
}

static void expect_words(int size, const uint32_t words[], size_t count, bool accepted)
{
    unsigned char data[ROOM];
    struct ftc_set set = random_set(size, 50);
    size_t used;
    for (size_t i = 0; i < count; i++)
        put32(data, i, words[i]);
    ck_assert_int_eq(decode(data, count * 4, &set, &used), accepted);
    ftc_set_fini(&set);
}
#define EXPECT(size, accepted, ...)                                                                \
    expect_words((size), (const uint32_t[]){__VA_ARGS__},                                          \
                 sizeof((const uint32_t[]){__VA_ARGS__}) / 4, (accepted))

START_TEST(lists_that_are_no_sets_are_refused)
{
    EXPECT(70, true, 2, 3, 69);
    EXPECT(70, false, 2, 3, 70);         /* out of range */
    EXPECT(70, false, 2, 3, UINT32_MAX); /* negative as an int */
    EXPECT(70, false, 2, 3, 3);          /* twice */
    EXPECT(70, false, 2, 3, 2);          /* descending */
    EXPECT(70, false, 71, 0, 1, 2);      /* more members than ranks */
    EXPECT(70, false, 0x3fffffff, 0, 1); /* far more */
    EXPECT(70, false, 5, 0, 1, 2, 3, 4); /* bits would be shorter */
    EXPECT(0, true, 0);
    EXPECT(0, false, 1, 0);
}
END_TEST

START_TEST(bits_that_are_no_sets_are_refused)
{
    enum { BITS = 0x80000000 };
    EXPECT(70, true, BITS | 5u, 0x1f, 0, 0, 0);
    EXPECT(70, true, BITS | 5u, 0xf, 0, 1u << 5, 0);  /* rank 69 */
    EXPECT(70, false, BITS | 5u, 0xf, 0, 1u << 6, 0); /* rank 70 */
    EXPECT(70, false, BITS | 5u, 0xf, 0, 0, 1u);      /* rank 96 */
    EXPECT(70, false, BITS | 6u, 0x1f, 0, 0, 0);      /* a wrong number of members */
    EXPECT(70, false, BITS | 4u, 0xf, 0, 0, 0);       /* a list would not be longer */
    EXPECT(70, false, BITS | 71u, 0xff, 0, 0, 0);
    EXPECT(70, false, BITS, 0, 0, 0, 0);
    EXPECT(70, false, BITS | 70u, ~0u, ~0u, 0x3f, 0); /* a list of missing ranks is shorter */
    EXPECT(0, false, BITS);
}
END_TEST

START_TEST(missing_ranks_that_are_no_set_are_refused)
{
    enum { MISSING = 0x40000000 };
    EXPECT(70, true, MISSING | 70u);
    EXPECT(70, true, MISSING | 68u, 0, 69);
    EXPECT(70, false, MISSING | 68u, 0, 70);         /* out of range */
    EXPECT(70, false, MISSING | 68u, 3, 3);          /* twice */
    EXPECT(70, false, MISSING | 68u, 4, 3);          /* descending */
    EXPECT(70, false, MISSING | 68u, 3);             /* one rank too few */
    EXPECT(70, false, MISSING | 65u, 0, 1, 2, 3, 4); /* bits would be shorter */
    EXPECT(70, false, MISSING | 71u);                /* more members than ranks */
    EXPECT(70, false, 0xc0000000u | 70u);            /* not one of the three forms */
    EXPECT(1, true, MISSING | 1u);
    EXPECT(0, false, MISSING); /* an empty list would be as short */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base: wire");
    TCase *numbers = tcase_create("numbers");
    tcase_add_test(numbers, numbers_are_little_endian);
    tcase_add_test(numbers, a_full_writer_stays_failed_and_writes_nothing_more);
    tcase_add_test(numbers, an_overrun_reader_stays_failed_and_gives_zeros);
    tcase_add_test(numbers, a_size_that_wraps_around_is_refused);
    tcase_add_test(numbers, padding_is_zero_and_checked);
    suite_add_tcase(suite, numbers);
    TCase *sets = tcase_create("sets");
    tcase_set_timeout(sets, 300);
    tcase_add_loop_test(sets, sets_come_back_and_every_truncation_is_refused, 0, 10);
    tcase_add_test(sets, the_shortest_form_is_taken);
    tcase_add_test(sets, lists_that_are_no_sets_are_refused);
    tcase_add_test(sets, bits_that_are_no_sets_are_refused);
    tcase_add_test(sets, missing_ranks_that_are_no_set_are_refused);
    suite_add_tcase(suite, sets);

    test_seed_announce();
    random_bits = test_random_start();
    return test_suite_run(suite);
}
