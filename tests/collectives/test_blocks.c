/* Lists of blocks (values/blocks.h): what is put side by side comes out again, and what is no list
 * is refused. */
#include "collectives/values/blocks.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/mutation.h"
#include "include/ftcoll.h"
#include "tests/suite.h"

#define RANKS 8
#define MOST  40 /* bytes of the greatest block */

enum ftc_mutation ftc_mutation;

static struct ftc_set everyone, nobody;

static void setup(void)
{
    ck_assert_int_eq(ftc_set_init(&everyone, RANKS), FTC_SUCCESS);
    ck_assert_int_eq(ftc_set_init(&nobody, RANKS), FTC_SUCCESS);
    ftc_set_fill(&everyone);
    ftc_mutation = FTC_MUTATION_NONE;
}

static void teardown(void)
{
    ftc_set_fini(&everyone);
    ftc_set_fini(&nobody);
}

/* What a rank gives: `size` bytes that all are 16 * rank + size. */
static struct ftc_value block_of(int rank, size_t size)
{
    unsigned char bytes[MOST];
    struct ftc_value list;

    memset(bytes, 16 * rank + (int)size, sizeof(bytes));
    ck_assert_int_eq(
        ftc_blocks_make(&list, &(struct ftc_block){rank, size, size > 0 ? bytes : NULL}, 1),
        FTC_SUCCESS);
    return list;
}

/* Merges b into a. */
static void merge(struct ftc_value *a, struct ftc_value b)
{
    struct ftc_value merged;

    ck_assert_int_eq(ftc_blocks_merge(&merged, a, &b), FTC_SUCCESS);
    ftc_value_drop(a);
    ftc_value_drop(&b);
    *a = merged;
}

/* The list of these ranks, merged in this order. -1 ends them. Rank r gives 5 * r bytes. */
static struct ftc_value list_of(const int ranks[])
{
    struct ftc_value list = block_of(ranks[0], 5 * (size_t)ranks[0]);

    for (int r = 1; ranks[r] >= 0; r++)
        merge(&list, block_of(ranks[r], 5 * (size_t)ranks[r]));
    return list;
}

/* --- what is taken --- */

struct taken {
    char ranks[RANKS + 1];
    int count;
};

static void note(void *arg, int rank, size_t offset, const void *data, size_t size, bool first,
                 void *result)
{
    struct taken *taken = arg;
    const unsigned char *bytes = data;

    ck_assert_int_eq(first, taken->count == 0);
    ck_assert_uint_eq(offset, 0);
    ck_assert_ptr_eq(result, &everyone);
    ck_assert_uint_eq(size, 5 * (size_t)rank);
    for (size_t b = 0; b < size; b++)
        ck_assert_uint_eq(bytes[b], (unsigned)(16 * rank + (int)size) % 256);
    if (size > 0)
        ck_assert_uint_eq((uintptr_t)data % (size & (~size + 1)), 0);
    taken->ranks[taken->count++] = (char)('0' + rank);
}

static void expect_taken(const struct ftc_value *list, const struct ftc_set *failed,
                         const char *ranks)
{
    struct taken taken = {.count = 0};
    struct ftc_call call = {.take = note, .take_arg = &taken};

    ck_assert(ftc_blocks_sound(list, &everyone, MOST));
    ck_assert_int_eq(ftc_blocks_take(list, failed, &call, &everyone), FTC_SUCCESS);
    ck_assert_str_eq(taken.ranks, ranks);
}

START_TEST(blocks_are_taken_from_the_highest_rank_to_the_lowest)
{
    struct ftc_value list = list_of((const int[]){3, 0, 6, 5, 1, -1});

    expect_taken(&list, &nobody, "65310");
    ck_assert_int_eq(ftc_blocks_count(&list), 5);
    ftc_value_drop(&list);
}
END_TEST

START_TEST(the_order_of_merging_changes_no_bit)
{
    struct ftc_value a = list_of((const int[]){3, 0, 6, 5, 1, -1}),
                     b = list_of((const int[]){1, 6, -1});

    merge(&b, list_of((const int[]){5, 0, 3, -1}));
    ck_assert_uint_eq(a.size, b.size);
    ck_assert_mem_eq(ftc_value_bytes(&a), ftc_value_bytes(&b), a.size);
    ftc_value_drop(&a);
    ftc_value_drop(&b);
}
END_TEST

START_TEST(a_rank_that_both_lists_have_comes_once)
{
    struct ftc_value list = list_of((const int[]){2, 4, -1});

    merge(&list, list_of((const int[]){4, 3, 2, -1}));
    expect_taken(&list, &nobody, "432");
    ftc_value_drop(&list);
}
END_TEST

START_TEST(blocks_of_failed_ranks_are_not_taken)
{
    struct ftc_value list = list_of((const int[]){6, 4, 1, -1});

    ftc_set_add(&nobody, 6);
    ftc_set_add(&nobody, 3);
    expect_taken(&list, &nobody, "41"); /* rank 4 is the first that comes */
    ftc_value_drop(&list);
}
END_TEST

START_TEST(an_empty_block_is_a_block)
{
    struct ftc_value list = list_of((const int[]){0, -1}), none = {0};

    expect_taken(&list, &nobody, "0");
    ftc_value_drop(&list);
    ck_assert(!ftc_blocks_sound(&none, &everyone, MOST)); /* but no list is none */
    ck_assert_int_eq(ftc_blocks_take(&none, &nobody, NULL, NULL), FTC_SUCCESS);
}
END_TEST

START_TEST(equal_blocks_have_nothing_between_them)
{
    struct ftc_value list = block_of(0, 8);

    for (int rank = 1; rank < RANKS; rank++)
        merge(&list, block_of(rank, 8));
    ck_assert_uint_eq(list.size, 8 + RANKS * (8 + 8)); /* 4 for the count, and 4 once */
    ck_assert_uint_le(list.size, ftc_blocks_most(RANKS, 8));
    ck_assert_uint_eq(ftc_blocks_head(&list), 8 + RANKS * 8);
    ftc_value_drop(&list);
}
END_TEST

/* --- what is no list --- */

/* Words of a list, and whether it is one. Each block that has bytes has four, and these are one
 * word. */
static const struct {
    uint32_t words[8];
    size_t size;
    bool sound;
} lists[] = {
    {{1, 3, 4, 9}, 16, true},
    {{2, 3, 4, 1, 4, 9, 9}, 28, true},
    {{2, 3, 0, 1, 4, 9}, 24, true},
    {{1, 3, 2, 0}, 14, true},
    {{0}, 4, false},                         /* no block */
    {{1, 3, 4}, 12, false},                  /* the bytes are missing */
    {{1, 3, 4, 9}, 15, false},               /* one of them is */
    {{1, 3, 4, 9, 9}, 20, false},            /* there is more */
    {{3, 3, 4, 1, 4, 9, 9}, 28, false},      /* the table runs into the bytes */
    {{UINT32_MAX, 3, 4, 9}, 16, false},      /* it would be larger than memory */
    {{2, 1, 4, 3, 4, 9, 9}, 28, false},      /* ascending */
    {{2, 3, 4, 3, 4, 9, 9}, 28, false},      /* one rank twice */
    {{1, RANKS, 4, 9}, 16, false},           /* no such rank */
    {{1, UINT32_MAX, 4, 9}, 16, false},      /* nor this one */
    {{1, 3, UINT32_MAX, 9}, 16, false},      /* larger than the list */
    {{1, 3, MOST + 4, 9}, 12 + MOST, false}, /* the same, and larger than allowed */
    {{2, 3, 1, 1, 4, 0x100, 9}, 28, false},  /* padding that is not zero */
    {{1}, 2, false},                         /* half a count */
};
#define LISTS (int)(sizeof(lists) / sizeof(lists[0]))

static struct ftc_value list_number(int which)
{
    struct ftc_value list = {.buffer = ftc_buffer_new(lists[which].size),
                             .size = lists[which].size};
    size_t written =
        list.size < sizeof(lists[which].words) ? list.size : sizeof(lists[which].words);

    ck_assert_ptr_nonnull(list.buffer);
    memset(list.buffer->data, 0, list.size);
    memcpy(list.buffer->data, lists[which].words, written);
    return list;
}

START_TEST(what_is_no_list_is_refused)
{
    struct ftc_value list = list_number(_i);

    ck_assert_int_eq(ftc_blocks_sound(&list, &everyone, MOST), lists[_i].sound);
    ftc_value_drop(&list);
}
END_TEST

START_TEST(a_block_of_a_rank_that_takes_no_part_is_refused)
{
    struct ftc_value list = list_of((const int[]){6, 4, -1});

    ftc_set_remove(&everyone, 4);
    ck_assert(!ftc_blocks_sound(&list, &everyone, MOST));
    ftc_set_add(&everyone, 4);
    ck_assert(!ftc_blocks_sound(&list, &everyone, 29)); /* rank 6 gives 30 bytes */
    ftc_value_drop(&list);
}
END_TEST

/* The mutation shows that only the check keeps malformed lists out. */
START_TEST(without_the_check_malformed_lists_are_taken)
{
    int taken = 0;

    ftc_mutation = FTC_MUTATION_BLOCKS_UNCHECKED;
    for (int which = 0; which < LISTS; which++) {
        struct ftc_value list = list_number(which);
        taken += ftc_blocks_sound(&list, &everyone, MOST) && !lists[which].sound;
        ftc_value_drop(&list);
    }
    ck_assert_int_gt(taken, 10);
}
END_TEST

/* --- slices --- */

START_TEST(a_slice_is_a_part_of_the_value)
{
    struct ftc_value value = list_number(1);
    struct ftc_call call = {.slice_offset = 4, .slice_size = 8};
    uint32_t got[2] = {0};

    ck_assert_int_eq(ftc_slice_take(&value, &call, got), FTC_SUCCESS);
    ck_assert_uint_eq(got[0], 3);
    ck_assert_uint_eq(got[1], 4);
    call.slice_offset = value.size - 7;
    ck_assert_int_eq(ftc_slice_take(&value, &call, got), FTC_ERR_PROTO);
    call.slice_offset = SIZE_MAX;
    ck_assert_int_eq(ftc_slice_take(&value, &call, got), FTC_ERR_PROTO);
    ck_assert_uint_eq(got[0], 3);
    call = (struct ftc_call){.slice_offset = value.size};
    ck_assert_int_eq(ftc_slice_take(&value, &call, NULL), FTC_SUCCESS);
    ftc_value_drop(&value);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("blocks");
    TCase *tcase = tcase_create("blocks");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, blocks_are_taken_from_the_highest_rank_to_the_lowest);
    tcase_add_test(tcase, the_order_of_merging_changes_no_bit);
    tcase_add_test(tcase, a_rank_that_both_lists_have_comes_once);
    tcase_add_test(tcase, blocks_of_failed_ranks_are_not_taken);
    tcase_add_test(tcase, an_empty_block_is_a_block);
    tcase_add_test(tcase, equal_blocks_have_nothing_between_them);
    tcase_add_loop_test(tcase, what_is_no_list_is_refused, 0, LISTS);
    tcase_add_test(tcase, a_block_of_a_rank_that_takes_no_part_is_refused);
    tcase_add_test(tcase, without_the_check_malformed_lists_are_taken);
    tcase_add_test(tcase, a_slice_is_a_part_of_the_value);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
