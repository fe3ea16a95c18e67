/* Sets and buffers. Random operations on a set are compared with a plain array of flags.
 * Allocations fail on request. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/set.h"
#include "include/ftcoll.h"
#include "tests/base/fail_alloc.h"
#include "tests/random.h"
#include "tests/suite.h"

#define MAX_SIZE     (FTC_SET_DENSE_MAX + 300)
#define ROUNDS(size) ((size) > 1000 ? 40 : 400)

static struct test_random random_bits;

/* A set, and its model: the flags that it must agree with. */
struct pair {
    struct ftc_set set;
    bool member[MAX_SIZE];
};

static void pair_init(struct pair *pair, int size)
{
    memset(pair, 0, sizeof(*pair));
    ck_assert_int_eq(ftc_set_init(&pair->set, size), FTC_SUCCESS);
}

static void pair_fill(struct pair *pair, int percent)
{
    for (int rank = 0; rank < pair->set.size; rank++)
        if (test_random_chance(&random_bits, percent)) {
            ftc_set_add(&pair->set, rank);
            pair->member[rank] = true;
        }
}

/* Counts from the last rank down, so that the model knows the next rank without a search. An
 * assertion of Check writes to its parent process: one for each rank would take minutes under a
 * sanitizer. */
static int disagreements(const struct pair *pair)
{
    int wrong = 0, next = -1, missing = -1;

    for (int rank = pair->set.size - 1; rank >= 0; rank--) {
        bool member = pair->member[rank];
        next = member ? rank : next;
        missing = member ? missing : rank;
        wrong += ftc_set_has(&pair->set, rank) != member;
        wrong += ftc_set_next(&pair->set, rank) != next;
        wrong += ftc_set_next_missing(&pair->set, rank) != missing;
    }
    return wrong;
}

static int listed_wrongly(const struct pair *pair)
{
    int ranks[MAX_SIZE + 1], count = 0, wrong = 0;
    ranks[MAX_SIZE] = 0;
    int listed = ftc_set_list(&pair->set, ranks);
    for (int rank = 0; rank < pair->set.size; rank++)
        if (pair->member[rank])
            wrong += count >= listed || ranks[count++] != rank;
    ck_assert_int_eq(listed, count);
    ck_assert_int_eq(ftc_set_count(&pair->set), count);
    ck_assert_int_eq(ftc_set_empty(&pair->set), count == 0);
    return wrong;
}

static void assert_agree(const struct pair *pair)
{
    ck_assert_int_eq(disagreements(pair), 0);
    ck_assert_int_eq(listed_wrongly(pair), 0);
    ck_assert_int_eq(ftc_set_next(&pair->set, pair->set.size), -1);
}

static void assert_words(const struct pair *pair)
{
    int words = ftc_set_words(pair->set.size);
    for (int i = 0; i < words; i++) {
        uint64_t word = 0;
        for (int bit = 0; bit < 64 && 64 * i + bit < pair->set.size; bit++)
            word |= (uint64_t)pair->member[64 * i + bit] << bit;
        ck_assert_uint_eq(ftc_set_word(&pair->set, i), word);
    }
}

static void assert_relations(const struct pair *a, const struct pair *b)
{
    bool equal = true, subset = true, intersects = false;
    for (int rank = 0; rank < a->set.size; rank++) {
        equal = equal && a->member[rank] == b->member[rank];
        subset = subset && (!a->member[rank] || b->member[rank]);
        intersects = intersects || (a->member[rank] && b->member[rank]);
    }
    ck_assert_int_eq(ftc_set_equal(&a->set, &b->set), equal);
    ck_assert_int_eq(ftc_set_subset(&a->set, &b->set), subset);
    ck_assert_int_eq(ftc_set_intersects(&a->set, &b->set), intersects);
}

static void unite(struct pair *to, const struct pair *from)
{
    bool changed = false;
    for (int rank = 0; rank < to->set.size; rank++) {
        changed = changed || (from->member[rank] && !to->member[rank]);
        to->member[rank] = to->member[rank] || from->member[rank];
    }
    ck_assert_int_eq(ftc_set_unite(&to->set, &from->set), changed);
}

static void subtract(struct pair *to, const struct pair *from)
{
    for (int rank = 0; rank < to->set.size; rank++)
        to->member[rank] = to->member[rank] && !from->member[rank];
    ftc_set_subtract(&to->set, &from->set);
}

static void copy(struct pair *to, const struct pair *from)
{
    memcpy(to->member, from->member, sizeof(to->member));
    ftc_set_copy(&to->set, &from->set);
}

static void remove_some(struct pair *pair)
{
    for (int i = 0; i < pair->set.size; i++) {
        int rank = (int)test_random_between(&random_bits, 0, pair->set.size - 1);
        ftc_set_remove(&pair->set, rank);
        pair->member[rank] = false;
    }
}

/* The set must ignore bits past its size. */
static void add_a_word(struct pair *pair)
{
    int index = (int)test_random_between(&random_bits, 0, ftc_set_words(pair->set.size) - 1);
    uint64_t word = test_random_bits(&random_bits);
    ftc_set_add_word(&pair->set, index, word);
    for (int bit = 0; bit < 64 && 64 * index + bit < pair->set.size; bit++)
        if ((word >> bit & 1) != 0)
            pair->member[64 * index + bit] = true;
}

/* The same, with b as bytes. */
static void unite_bytes(struct pair *a, const struct pair *b)
{
    unsigned char from[(MAX_SIZE + 7) / 8], to[(MAX_SIZE + 7) / 8];
    size_t bytes = ftc_set_bytes(a->set.size);

    ftc_set_to_bytes(&a->set, to);
    ftc_set_to_bytes(&b->set, from);
    ftc_set_unite_bytes(NULL, from, to, bytes);
    if (a->set.size % 8 != 0)
        to[bytes - 1] |= 0x80; /* past the size */
    ftc_set_add_bytes(&a->set, to);
    for (int rank = 0; rank < a->set.size; rank++)
        a->member[rank] |= b->member[rank];
}

static void step(struct pair *a, struct pair *b)
{
    switch (test_random_between(&random_bits, 0, 8)) {
    case 0:
        pair_fill(a, (int)test_random_between(&random_bits, 0, 100));
        break;
    case 1:
        remove_some(a);
        break;
    case 2:
        unite(a, b);
        break;
    case 3:
        subtract(a, b);
        break;
    case 4:
        copy(b, a);
        break;
    case 5:
        memset(a->member, 0, sizeof(a->member));
        ftc_set_clear(&a->set);
        break;
    case 6:
        for (int rank = 0; rank < a->set.size; rank++)
            a->member[rank] = true;
        ftc_set_fill(&a->set);
        break;
    case 7:
        add_a_word(a);
        break;
    case 8:
        unite_bytes(a, b);
        break;
    }
}

START_TEST(agrees_with_an_array_of_flags)
{
    static const int sizes[] = {
        1, 2, 63, 64, 65, 127, 128, 129, 300, FTC_SET_DENSE_MAX, FTC_SET_DENSE_MAX + 1, MAX_SIZE};
    int size = sizes[_i];
    struct pair a, b;
    pair_init(&a, size);
    pair_init(&b, size);
    for (int round = 0; round < ROUNDS(size); round++) {
        step(&a, &b);
        step(&b, &a);
        assert_agree(&a);
        assert_agree(&b);
        assert_words(&a);
        assert_relations(&a, &b);
    }
    ftc_set_fini(&a.set);
    ftc_set_fini(&b.set);
}
END_TEST

START_TEST(a_set_of_nothing_works)
{
    struct ftc_set set;
    char text[8];
    ck_assert_int_eq(ftc_set_init(&set, 0), FTC_SUCCESS);
    ck_assert_int_eq(ftc_set_words(0), 0);
    ck_assert_int_eq(ftc_set_count(&set), 0);
    ck_assert(ftc_set_empty(&set));
    ck_assert(ftc_set_equal(&set, &set));
    ck_assert(!ftc_set_unite(&set, &set));
    ck_assert_int_eq(ftc_set_next(&set, 0), -1);
    ck_assert_str_eq(ftc_set_format(&set, text, sizeof(text)), "none");
    ftc_set_clear(&set);
    ftc_set_fini(&set);
}
END_TEST

START_TEST(fini_of_a_zeroed_set_and_twice_is_legal)
{
    struct ftc_set set = {0};
    ftc_set_fini(&set);
    ck_assert_int_eq(ftc_set_init(&set, 10), FTC_SUCCESS);
    ftc_set_fini(&set);
    ftc_set_fini(&set);
}
END_TEST

static struct ftc_set set_of(int size, const int ranks[], int count)
{
    struct ftc_set set;
    ck_assert_int_eq(ftc_set_init(&set, size), FTC_SUCCESS);
    for (int i = 0; i < count; i++)
        ftc_set_add(&set, ranks[i]);
    return set;
}

/* This is what the set is for: a million ranks, of which few, or all but few, are in it. */
START_TEST(a_set_over_a_million_ranks_takes_what_is_in_it)
{
    enum { MILLION = 1 << 20 };
    struct ftc_set few, many;
    char text[64];
    ck_assert_int_eq(ftc_set_init(&few, MILLION), FTC_SUCCESS);
    ck_assert_int_eq(ftc_set_init(&many, MILLION), FTC_SUCCESS);
    ftc_set_add(&few, 7);
    ftc_set_add(&few, MILLION - 1);
    ftc_set_fill(&many);
    ftc_set_subtract(&many, &few);
    ck_assert_int_eq(few.runs.count, 2);
    ck_assert_int_eq(many.runs.count, 2);
    ck_assert_int_eq(ftc_set_count(&many), MILLION - 2);
    ck_assert(!ftc_set_intersects(&few, &many));
    ck_assert_str_eq(ftc_set_format(&many, text, sizeof(text)), "0-6,8-1048574");
    ck_assert(ftc_set_unite(&many, &few));
    ck_assert_int_eq(many.runs.count, 1);
    ck_assert_int_eq(ftc_set_next_missing(&many, 0), -1);
    ftc_set_fini(&few);
    ftc_set_fini(&many);
}
END_TEST

START_TEST(format_joins_runs)
{
    static const int ranks[] = {1, 2, 3, 7, 63, 64, 99};
    struct ftc_set set = set_of(100, ranks, 7);
    char text[64];
    ck_assert_str_eq(ftc_set_format(&set, text, sizeof(text)), "1-3,7,63-64,99");
    ftc_set_fini(&set);
}
END_TEST

/* At every length the text is terminated and has whole items only. A mark shows that items are
 * missing. */
START_TEST(format_cuts_between_items)
{
    static const int ranks[] = {1, 2, 3, 7, 63, 64, 99};
    static const char *const whole[] = {
        "1-3,7,63-64,99", "1-3,7,63-64,...", "1-3,7,...", "1-3,...", "...", "..", ".", ""};
    struct ftc_set set = set_of(100, ranks, 7);
    for (size_t length = 1; length < 32; length++) {
        char text[33];
        bool known = false;
        memset(text, 'x', sizeof(text));
        ftc_set_format(&set, text, length);
        ck_assert_uint_lt(strnlen(text, length), length);
        ck_assert_int_eq(text[length], 'x');
        for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
            known = known || strcmp(text, whole[i]) == 0;
        ck_assert_msg(known, "length %zu gives \"%s\"", length, text);
        ck_assert_int_eq(strcmp(text, whole[0]) == 0, length > strlen(whole[0]));
    }
    ftc_set_fini(&set);
}
END_TEST

START_TEST(format_into_no_room_writes_nothing)
{
    static const int ranks[] = {1};
    struct ftc_set set = set_of(2, ranks, 1);
    char text[1] = {'x'};
    ftc_set_format(&set, text, 0);
    ck_assert_int_eq(text[0], 'x');
    ftc_set_fini(&set);
}
END_TEST

START_TEST(a_failed_allocation_is_reported)
{
    struct ftc_set set = {0};
    fail_alloc_at(0);
    ck_assert_int_eq(ftc_set_init(&set, 100), FTC_ERR_NOMEM);
    ck_assert(fail_alloc_stop());
    ck_assert_int_eq(set.size, 0);
    fail_alloc_at(0);
    ck_assert_ptr_null(ftc_buffer_new(100));
    ck_assert(fail_alloc_stop());
}
END_TEST

START_TEST(a_buffer_lives_until_the_last_reference)
{
    struct ftc_buffer *buffer = ftc_buffer_new(1000);
    ck_assert_ptr_nonnull(buffer);
    ck_assert_uint_eq(buffer->size, 1000);
    ck_assert_uint_eq((uintptr_t)buffer->data % 16, 0);
    ck_assert_ptr_eq(ftc_buffer_ref(buffer), buffer);
    ftc_buffer_unref(buffer);
    memset(buffer->data, 1, buffer->size); /* a sanitizer reports if it was freed */
    ck_assert_int_eq(buffer->references, 1);
    ftc_buffer_unref(buffer);
}
END_TEST

START_TEST(buffers_of_no_size_and_of_impossible_size)
{
    struct ftc_buffer *buffer = ftc_buffer_new(0);
    ck_assert_ptr_nonnull(buffer);
    ftc_buffer_unref(buffer);
    ck_assert_ptr_null(ftc_buffer_new(SIZE_MAX));
    ck_assert_ptr_null(ftc_buffer_new(SIZE_MAX - sizeof(struct ftc_buffer) + 1));
    ck_assert_ptr_null(ftc_buffer_ref(NULL));
    ftc_buffer_unref(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base: sets and buffers");
    TCase *sets = tcase_create("sets");
    tcase_add_loop_test(sets, agrees_with_an_array_of_flags, 0, 12);
    tcase_add_test(sets, a_set_of_nothing_works);
    tcase_add_test(sets, fini_of_a_zeroed_set_and_twice_is_legal);
    tcase_add_test(sets, a_set_over_a_million_ranks_takes_what_is_in_it);
    tcase_add_test(sets, format_joins_runs);
    tcase_add_test(sets, format_cuts_between_items);
    tcase_add_test(sets, format_into_no_room_writes_nothing);
    tcase_add_test(sets, a_failed_allocation_is_reported);
    suite_add_tcase(suite, sets);
    TCase *buffers = tcase_create("buffers");
    tcase_add_test(buffers, a_buffer_lives_until_the_last_reference);
    tcase_add_test(buffers, buffers_of_no_size_and_of_impossible_size);
    suite_add_tcase(suite, buffers);

    test_seed_announce();
    random_bits = test_random_start();
    return test_suite_run(suite);
}
