/* Tests the records of sealed links. */
#include <string.h>

#include "base/wire.h"
#include "tests/random.h"
#include "tests/suite.h"
#include "transport/tcp/seal.h"

static const unsigned char key[FTC_SEAL_KEY_SIZE] = "a key of thirty-two bytes, or so";
static const enum ftc_tcp_seal kinds[] = {FTC_TCP_SEAL_AUTHENTICATE, FTC_TCP_SEAL_ENCRYPT};

static struct ftc_seal out, in;
static unsigned char value[FTC_SEAL_CONTENT_MAX], record[3][FTC_SEAL_RECORD_MAX];
static size_t size[3];

static void start(enum ftc_tcp_seal kind)
{
    ftc_seal_start(&out, kind, key);
    ftc_seal_start(&in, kind, key);
}

/* Seals `content` bytes of value `byte`. */
static void seal_one(int which, unsigned char byte, size_t content)
{
    memset(value, byte, content);
    size[which] = ftc_seal_close(&out, record[which], content, &(struct iovec){value, content});
    ck_assert_uint_eq(size[which], content + FTC_SEAL_OVERHEAD);
    ck_assert_uint_eq(ftc_seal_size(out.kind, record[which]), size[which]);
}

static bool opens_bytes(unsigned char *bytes, size_t whole)
{
    size_t content = whole - FTC_SEAL_OVERHEAD;
    return ftc_seal_open(&in, bytes + FTC_SEAL_LENGTH_SIZE, content,
                         bytes + FTC_SEAL_LENGTH_SIZE + content);
}

static bool opens(int which)
{
    return opens_bytes(record[which], size[which]);
}

static void assert_content(int which, unsigned char byte)
{
    for (size_t i = FTC_SEAL_LENGTH_SIZE; i < size[which] - FTC_SEAL_TAG_SIZE; i++)
        ck_assert_uint_eq(record[which][i], byte);
}

START_TEST(what_was_sealed_comes_out)
{
    const size_t contents[] = {1, 15, 16, 17, 4096, ftc_seal_content_max(kinds[_i])};
    start(kinds[_i]);
    for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
        seal_one(0, (unsigned char)i, contents[i]);
        ck_assert(opens(0));
        assert_content(0, (unsigned char)i);
    }
}
END_TEST

/* Pieces on both sides of what is encrypted together, and of the blocks of the cipher. */
START_TEST(pieces_make_the_same_record_as_one)
{
    static unsigned char whole[FTC_SEAL_RECORD_MAX];
    struct test_random random_state = test_random_start();
    for (int round = 0; round < 200; round++) {
        struct iovec pieces[8];
        size_t content = 0;
        for (int i = 0; i < 8; i++) {
            size_t most = test_random_chance(&random_state, 50) ? 40 : 6000;
            size_t piece = (size_t)test_random_between(&random_state, 0, (int64_t)most);
            memset(value + content, 'a' + i, piece);
            pieces[i] = (struct iovec){value + content, piece};
            content += piece;
        }
        content -= content > 1 ? (size_t)test_random_between(&random_state, 0, 1) : 0;
        if (content == 0)
            continue;
        start(kinds[_i]);
        size[0] = ftc_seal_close(&out, record[0], content, pieces);
        start(kinds[_i]);
        ftc_seal_close(&out, whole, content, &(struct iovec){value, content});
        ck_assert_mem_eq(record[0], whole, size[0]);
        ck_assert(opens(0));
        ck_assert_mem_eq(record[0] + FTC_SEAL_LENGTH_SIZE, value, content);
    }
}
END_TEST

START_TEST(a_record_around_its_content_is_the_same)
{
    unsigned char length[FTC_SEAL_LENGTH_SIZE], tag[FTC_SEAL_TAG_SIZE];
    start(FTC_TCP_SEAL_AUTHENTICATE);
    seal_one(0, 'x', FTC_SEAL_CONTENT_MAX);
    start(FTC_TCP_SEAL_AUTHENTICATE);
    ftc_seal_close_around(&out, length, value, FTC_SEAL_CONTENT_MAX, tag);
    ck_assert_mem_eq(length, record[0], sizeof(length));
    ck_assert_mem_eq(tag, record[0] + size[0] - sizeof(tag), sizeof(tag));
}
END_TEST

START_TEST(only_encrypted_content_is_hidden)
{
    start(kinds[_i]);
    seal_one(0, 'x', 64);
    bool hidden =
        record[0][FTC_SEAL_LENGTH_SIZE] != 'x' || record[0][FTC_SEAL_LENGTH_SIZE + 1] != 'x';
    ck_assert(hidden == (kinds[_i] == FTC_TCP_SEAL_ENCRYPT));
}
END_TEST

START_TEST(every_changed_bit_is_found)
{
    enum { CONTENT = 40 };
    for (size_t bit = 0; bit < (CONTENT + FTC_SEAL_OVERHEAD) * 8; bit++) {
        start(kinds[_i]);
        seal_one(0, 'x', CONTENT);
        record[0][bit / 8] ^= (unsigned char)(1u << bit % 8);
        size_t claimed = ftc_seal_size(out.kind, record[0]);
        if (claimed != 0)
            ck_assert(!opens_bytes(record[0], claimed));
    }
}
END_TEST

START_TEST(records_out_of_turn_are_found)
{
    static const int orders[][3] = {{0, 0, 1}, {0, 2, 1}, {1, 0, 2}, {0, 1, 0}, {2, 1, 0}};
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        static unsigned char kept[FTC_SEAL_RECORD_MAX];
        int opened = 0;
        start(kinds[_i]);
        for (int which = 0; which < 3; which++)
            seal_one(which, (unsigned char)which, 30);
        for (; opened < 3; opened++) {
            memcpy(kept, record[orders[i][opened]], 30 + FTC_SEAL_OVERHEAD);
            if (!opens_bytes(kept, 30 + FTC_SEAL_OVERHEAD))
                break;
        }
        ck_assert_int_lt(opened, 3);
        for (int before = 0; before < opened; before++)
            ck_assert_int_eq(orders[i][before], before);
    }
}
END_TEST

START_TEST(lengths_out_of_bounds_begin_no_record)
{
    static const uint32_t most[] = {262144, 65536}; /* rule S4 */
    const uint32_t wrong[] = {0, most[_i] + 1, 2 * most[_i], UINT32_MAX};
    unsigned char length[FTC_SEAL_LENGTH_SIZE];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ftc_store_u32(length, wrong[i]);
        ck_assert_uint_eq(ftc_seal_size(kinds[_i], length), 0);
    }
    ftc_store_u32(length, most[_i]);
    ck_assert_uint_eq(ftc_seal_size(kinds[_i], length), most[_i] + FTC_SEAL_OVERHEAD);
}
END_TEST

START_TEST(keys_change_at_both_ends_at_once)
{
    start(kinds[_i]);
    out.rekey_every = in.rekey_every = 3;
    for (int i = 0; i < 20; i++) {
        unsigned char before[FTC_SEAL_KEY_SIZE];
        memcpy(before, out.chain, sizeof(before));
        seal_one(0, (unsigned char)i, 100);
        ck_assert((memcmp(before, out.chain, sizeof(before)) != 0) == (i % 3 == 0));
        ck_assert(opens(0));
        assert_content(0, (unsigned char)i);
    }
}
END_TEST

START_TEST(a_key_that_is_old_opens_nothing)
{
    start(kinds[_i]);
    out.rekey_every = 2;
    for (int i = 0; i < 2; i++) {
        seal_one(0, 'x', 10);
        ck_assert(opens(0));
    }
    seal_one(0, 'x', 10);
    ck_assert(!opens(0));
}
END_TEST

START_TEST(another_key_or_kind_opens_nothing)
{
    unsigned char other[FTC_SEAL_KEY_SIZE];
    memcpy(other, key, sizeof(other));
    other[31] ^= 1;
    start(kinds[_i]);
    ftc_seal_start(&in, kinds[_i], other);
    seal_one(0, 'x', 10);
    ck_assert(!opens(0));
    start(kinds[_i]);
    ftc_seal_start(&in, kinds[1 - _i], key);
    seal_one(0, 'x', 10);
    ck_assert(!opens(0));
}
END_TEST

START_TEST(an_erased_seal_holds_no_key)
{
    static const struct ftc_seal nothing;
    start(kinds[_i]);
    ftc_seal_erase(&out);
    ck_assert_mem_eq(&out, &nothing, sizeof(nothing));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport/tcp seal");
    TCase *tcase = tcase_create("records");
    tcase_add_loop_test(tcase, what_was_sealed_comes_out, 0, 2);
    tcase_add_loop_test(tcase, pieces_make_the_same_record_as_one, 0, 2);
    tcase_add_test(tcase, a_record_around_its_content_is_the_same);
    tcase_add_loop_test(tcase, only_encrypted_content_is_hidden, 0, 2);
    tcase_add_loop_test(tcase, every_changed_bit_is_found, 0, 2);
    tcase_add_loop_test(tcase, records_out_of_turn_are_found, 0, 2);
    tcase_add_loop_test(tcase, lengths_out_of_bounds_begin_no_record, 0, 2);
    tcase_add_loop_test(tcase, keys_change_at_both_ends_at_once, 0, 2);
    tcase_add_loop_test(tcase, a_key_that_is_old_opens_nothing, 0, 2);
    tcase_add_loop_test(tcase, another_key_or_kind_opens_nothing, 0, 2);
    tcase_add_loop_test(tcase, an_erased_seal_holds_no_key, 0, 2);
    suite_add_tcase(suite, tcase);
    test_seed_announce();
    return test_suite_run(suite);
}
