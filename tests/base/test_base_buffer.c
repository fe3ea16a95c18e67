/* The pool of buffers, which are used again. */
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/copy.h"
#include "base/value.h"
#include "fail_alloc.h"
#include "tests/suite.h"

#define KIB 1024u

static struct ftc_buffer_pool *pool;

static void open_pool(void)
{
    pool = ftc_buffer_pool_new(256 * KIB);
    ck_assert_ptr_nonnull(pool);
}

static void close_pool(void)
{
    ftc_buffer_pool_close(pool);
}

/* Takes a buffer. It must have the requested length and alignment, and the test may write it. */
static struct ftc_buffer *take(size_t size)
{
    struct ftc_buffer *buffer = ftc_buffer_pool_take(pool, size);

    ck_assert_ptr_nonnull(buffer);
    ck_assert_uint_eq(buffer->size, size);
    ck_assert_int_eq(buffer->references, 1);
    ck_assert_uint_eq((uintptr_t)buffer->data % FTC_VALUE_ALIGNMENT, 0);
    memset(buffer->data, 0x5a, size);
    return buffer;
}

START_TEST(what_was_used_is_used_again_for_sizes_like_it)
{
    struct ftc_buffer *first = take(64 * KIB);
    struct ftc_buffer *other = take(64 * KIB);

    ck_assert_ptr_ne(first, other);
    ftc_buffer_unref(first);
    ck_assert_ptr_eq(take(40 * KIB), first);
    ftc_buffer_unref(first);
    struct ftc_buffer *longer = take(65 * KIB); /* it has the size of the next power of two */
    ck_assert_ptr_ne(longer, first);
    ftc_buffer_unref(longer);
    ftc_buffer_unref(other);
}
END_TEST

START_TEST(who_refers_to_a_buffer_keeps_it)
{
    struct ftc_buffer *buffer = take(64 * KIB);

    ftc_buffer_ref(buffer);
    ftc_buffer_unref(buffer);
    struct ftc_buffer *next = take(64 * KIB);
    ck_assert_ptr_ne(next, buffer);
    ftc_buffer_unref(next);
    ftc_buffer_unref(buffer);
}
END_TEST

START_TEST(it_keeps_no_more_than_it_may)
{
    struct ftc_buffer *buffer[8];

    for (int i = 0; i < 8; i++)
        buffer[i] = take(64 * KIB);
    for (int i = 0; i < 8; i++)
        ftc_buffer_unref(buffer[i]); /* the pool keeps the first four, last in, first out */
    for (int i = 3; i >= 0; i--)
        ck_assert_ptr_eq(take(64 * KIB), buffer[i]);
    struct ftc_buffer *more = take(64 * KIB);
    ftc_buffer_unref(more);
    for (int i = 0; i < 4; i++)
        ftc_buffer_unref(buffer[i]);
}
END_TEST

/* The pages that its longer use touched are still there. */
START_TEST(a_buffer_counts_by_its_longest_use)
{
    struct ftc_buffer *buffer[4], *more;

    for (int i = 0; i < 4; i++)
        buffer[i] = take(64 * KIB);
    for (int i = 0; i < 4; i++)
        ftc_buffer_unref(buffer[i]);
    for (int i = 3; i >= 0; i--)
        ck_assert_ptr_eq(take(33 * KIB), buffer[i]);
    more = take(64 * KIB);
    for (int i = 0; i < 4; i++)
        ftc_buffer_unref(buffer[i]);
    ftc_buffer_unref(more); /* the pool is full */
    for (int i = 3; i >= 0; i--)
        ck_assert_ptr_eq(take(64 * KIB), buffer[i]);
    for (int i = 0; i < 4; i++)
        ftc_buffer_unref(buffer[i]);
}
END_TEST

START_TEST(small_and_huge_ones_are_not_its_own)
{
    static const size_t sizes[] = {0, 1, 16 * KIB - 1, (16 << 10) * KIB + 1};
    struct ftc_buffer *buffer = ftc_buffer_pool_take(pool, sizes[_i]);

    ck_assert_ptr_nonnull(buffer);
    ck_assert_ptr_null(buffer->pool);
    ck_assert_uint_eq(buffer->size, sizes[_i]);
    ftc_buffer_unref(buffer);
}
END_TEST

START_TEST(the_ends_of_its_range_are)
{
    struct ftc_buffer *least = take(16 * KIB), *most = take((16 << 10) * KIB);

    ck_assert_ptr_eq(least->pool, pool);
    ck_assert_ptr_eq(most->pool, pool);
    ftc_buffer_unref(least);
    ftc_buffer_unref(most); /* this is more than the pool may keep */
    ck_assert_ptr_eq(take(16 * KIB), least);
    ftc_buffer_unref(least);
}
END_TEST

/* AddressSanitizer must find no use after free and no leak. */
START_TEST(a_buffer_may_outlive_its_pool)
{
    struct ftc_buffer *one = take(64 * KIB), *other = take(32 * KIB), *kept = take(16 * KIB);

    ftc_buffer_unref(kept);
    ftc_buffer_pool_close(pool);
    pool = NULL;
    memset(one->data, 1, one->size);
    ftc_buffer_unref(one);
    memset(other->data, 1, other->size);
    ftc_buffer_unref(other);
}
END_TEST

START_TEST(without_a_pool_there_are_buffers_all_the_same)
{
    struct ftc_buffer *buffer = ftc_value_take_message(NULL, 5, 64 * KIB);

    ck_assert_ptr_nonnull(buffer);
    ck_assert_uint_eq(buffer->size, 16 + 64 * KIB);
    ftc_buffer_unref(buffer);
}
END_TEST

START_TEST(lent_bytes_are_copied_for_those_who_need_them_longer)
{
    unsigned char bytes[20 * KIB] = {0};
    struct ftc_buffer *alone = ftc_buffer_lend(bytes, sizeof(bytes)),
                      *shared = ftc_buffer_lend(bytes, sizeof(bytes));

    memset(bytes, 1, sizeof(bytes));
    ck_assert_ptr_eq(alone->data, bytes);
    ck_assert(ftc_buffer_keep(alone, pool)); /* it is gone */
    ck_assert_ptr_eq(ftc_buffer_ref(shared)->data, bytes);
    ck_assert(ftc_buffer_keep(shared, pool));
    memset(bytes, 2, sizeof(bytes));
    ck_assert_uint_eq(shared->size, sizeof(bytes));
    ck_assert_int_eq(shared->data[0], 1);
    ck_assert_int_eq(shared->data[sizeof(bytes) - 1], 1);
    ck_assert_int_eq(shared->references, 1);
    ftc_buffer_unref(shared);
}
END_TEST

START_TEST(without_memory_lent_bytes_stay_lent)
{
    unsigned char bytes[20 * KIB] = {0};
    struct ftc_buffer *buffer = ftc_buffer_lend(bytes, sizeof(bytes));

    ftc_buffer_ref(buffer);
    fail_alloc_at(0); /* no assertion meanwhile: Check allocates */
    bool kept = ftc_buffer_keep(buffer, pool);
    fail_alloc_at(-1);
    ck_assert(!kept);
    ck_assert_int_eq(buffer->references, 2);
    ck_assert_ptr_eq(buffer->data, bytes);
    ftc_buffer_unref(buffer);
    ftc_buffer_unref(buffer);
}
END_TEST

START_TEST(a_copy_past_the_caches_is_a_copy)
{
    unsigned char from[400], to[400];

    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (unsigned char)(i * 7 + 1);
    for (size_t begin = 0; begin < 70; begin++)
        for (size_t size = 0; size <= 200; size++) {
            memset(to, 0, sizeof(to));
            ftc_copy_past_caches(to + begin, from + size % 17, size);
            ck_assert_mem_eq(to + begin, from + size % 17, size);
            ck_assert_int_eq(to[begin + size], 0);
            ck_assert(begin == 0 || to[begin - 1] == 0);
        }
}
END_TEST

START_TEST(out_of_memory_there_is_none_but_what_was_kept)
{
    struct ftc_buffer *kept = take(64 * KIB);

    ftc_buffer_unref(kept);
    fail_alloc_at(0); /* no assertion meanwhile: Check allocates */
    struct ftc_buffer *again = ftc_buffer_pool_take(pool, 64 * KIB);
    struct ftc_buffer *none = ftc_buffer_pool_take(pool, 64 * KIB);
    ck_assert(fail_alloc_stop());
    ck_assert_ptr_eq(again, kept);
    ck_assert_ptr_null(none);
    ftc_buffer_unref(kept);
    fail_alloc_at(0);
    struct ftc_buffer_pool *other = ftc_buffer_pool_new(1);
    ck_assert(fail_alloc_stop());
    ck_assert_ptr_null(other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base: buffers");
    TCase *tcase = tcase_create("pool");
    tcase_add_checked_fixture(tcase, open_pool, close_pool);
    tcase_add_test(tcase, what_was_used_is_used_again_for_sizes_like_it);
    tcase_add_test(tcase, who_refers_to_a_buffer_keeps_it);
    tcase_add_test(tcase, it_keeps_no_more_than_it_may);
    tcase_add_test(tcase, a_buffer_counts_by_its_longest_use);
    tcase_add_loop_test(tcase, small_and_huge_ones_are_not_its_own, 0, 4);
    tcase_add_test(tcase, the_ends_of_its_range_are);
    tcase_add_test(tcase, a_buffer_may_outlive_its_pool);
    tcase_add_test(tcase, without_a_pool_there_are_buffers_all_the_same);
    tcase_add_test(tcase, lent_bytes_are_copied_for_those_who_need_them_longer);
    tcase_add_test(tcase, without_memory_lent_bytes_stay_lent);
    tcase_add_test(tcase, a_copy_past_the_caches_is_a_copy);
    tcase_add_test(tcase, out_of_memory_there_is_none_but_what_was_kept);
    suite_add_tcase(suite, tcase);

    return test_suite_run(suite);
}
