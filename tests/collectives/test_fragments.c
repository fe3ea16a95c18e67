/* A value in pieces. In whatever order they come, the value is complete or not there at all. */
#include <string.h>

#include "collectives/spread/fragments.h"
#include "include/ftcoll.h"
#include "tests/random.h"
#include "tests/suite.h"

static struct ftc_buffer *whole_of(size_t size)
{
    struct ftc_buffer *whole = ftc_buffer_new(size);

    ck_assert_ptr_nonnull(whole);
    for (size_t i = 0; i < size; i++)
        whole->data[i] = (unsigned char)(i * 7 + i / 251);
    return whole;
}

static int add(struct ftc_fragments *fragments, struct ftc_buffer *whole, uint32_t size,
               uint32_t number)
{
    struct ftc_value bytes = {.buffer = whole};
    struct ftc_piece piece;

    ftc_fragments_cut(whole->size, size, number, &piece, &bytes.offset, &bytes.size);
    return ftc_fragments_add(fragments, &piece, &bytes);
}

START_TEST(pieces_in_any_order_and_twice)
{
    struct test_random random = test_random_start();

    for (int round = 0; round < 40; round++) {
        struct ftc_fragments fragments = {0};
        size_t length = (size_t)test_random_between(&random, 1, 1500);
        uint32_t size = (uint32_t)test_random_between(&random, 1, 600);
        struct ftc_buffer *whole = whole_of(length);
        uint32_t count = ftc_fragments_count(length, size), there = 0;
        while (there < count) {
            ck_assert(!ftc_fragments_complete(&fragments));
            int rc =
                add(&fragments, whole, size, (uint32_t)test_random_between(&random, 0, count - 1));
            ck_assert_int_ge(rc, 0);
            there += (uint32_t)rc;
        }
        ck_assert(ftc_fragments_complete(&fragments));
        ck_assert_uint_eq(fragments.whole->size, length);
        ck_assert_mem_eq(fragments.whole->data, whole->data, length);
        ftc_fragments_drop(&fragments);
        ftc_buffer_unref(whole);
    }
}
END_TEST

/* Whatever the numbers of a piece say, nothing is written outside the value. */
START_TEST(lies_are_refused)
{
    struct ftc_buffer *whole = whole_of(100);
    struct ftc_value ten = {.buffer = whole, .size = 10};
    const struct ftc_piece lies[] = {
        {0, 0, 100},          /* no pieces at all */
        {10, 10, 100},        /* its number is past the last piece */
        {0, 11, 100},         /* more pieces than this size can have */
        {0, 9, 100},          /* fewer pieces than this size takes */
        {0, 1, 100},          /* a single piece that is too short */
        {0, 2, 9},            /* a piece longer than the whole value */
        {0, 10, 0},           /* no bytes */
        {0, UINT32_MAX, 100}, /* the number is far too large */
        {4, 5, UINT32_MAX},   /* more bytes than may go in pieces */
        {1, 2, 15},           /* a last piece that is longer than the first */
    };

    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct ftc_fragments fragments = {0};
        ck_assert_msg(ftc_fragments_add(&fragments, &lies[i], &ten) == FTC_ERR_PROTO, "lie %zu", i);
        ck_assert_ptr_null(fragments.whole);
    }
    ftc_buffer_unref(whole);
}
END_TEST

START_TEST(pieces_that_contradict_each_other)
{
    struct ftc_buffer *whole = whole_of(100), *longer = whole_of(110);
    struct ftc_fragments fragments = {0};

    ck_assert_int_eq(add(&fragments, whole, 10, 3), 1);
    ck_assert_int_eq(add(&fragments, longer, 10, 4), FTC_ERR_PROTO);
    ck_assert_int_eq(add(&fragments, whole, 20, 1), FTC_ERR_PROTO);
    ck_assert_int_eq(add(&fragments, whole, 10, 3), 0);
    ck_assert_uint_eq(fragments.there, 1);
    ftc_fragments_drop(&fragments);
    ftc_buffer_unref(whole);
    ftc_buffer_unref(longer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fragments");
    TCase *tcase = tcase_create("fragments");

    test_seed_announce();
    tcase_add_test(tcase, pieces_in_any_order_and_twice);
    tcase_add_test(tcase, lies_are_refused);
    tcase_add_test(tcase, pieces_that_contradict_each_other);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
