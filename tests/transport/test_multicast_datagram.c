/* Tests the envelope of a datagram, a group, and the list of interfaces. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tests/random.h"
#include "tests/suite.h"
#include "transport/multicast/interface.h"
#include "transport/multicast/multicast.h"

#define PAYLOAD 1000

static const struct ftc_datagram sent = {.source = 7,
                                         .broadcast = 1ull << 40,
                                         .operation = 12345678901234ull,
                                         .sequence = 3,
                                         .count = 4};
static unsigned char job_key[FTC_JOB_KEY_SIZE] = "of this job....";
static unsigned char bytes[FTC_DATAGRAM_HEAD + PAYLOAD + 1];

/* Encodes a datagram with that many bytes of payload, in two pieces. Returns its size. */
static size_t encode(const struct ftc_datagram *fields, size_t size)
{
    struct test_random random = test_random_start();
    unsigned char *payload = bytes + FTC_DATAGRAM_HEAD;
    struct iovec pieces[2] = {{payload, size / 3}, {payload + size / 3, size - size / 3}};
    for (size_t i = 0; i < size; i++)
        payload[i] = (unsigned char)test_random_bits(&random);
    ftc_datagram_encode(bytes, fields, job_key, pieces, 2);
    return FTC_DATAGRAM_HEAD + size;
}

static enum ftc_datagram_verdict decode(size_t size)
{
    struct ftc_datagram fields;
    struct iovec payload;
    return ftc_datagram_decode(&fields, &payload, bytes, size, job_key);
}

START_TEST(what_was_sent_comes_out)
{
    static const size_t sizes[] = {0, 1, 2, 999, PAYLOAD};
    struct ftc_datagram fields;
    struct iovec payload;
    size_t size = encode(&sent, sizes[_i]);
    ck_assert_int_eq(ftc_datagram_decode(&fields, &payload, bytes, size, job_key),
                     FTC_DATAGRAM_SOUND);
    ck_assert_uint_eq(fields.source, sent.source);
    ck_assert_uint_eq(fields.broadcast, sent.broadcast);
    ck_assert_uint_eq(fields.operation, sent.operation);
    ck_assert_uint_eq(fields.sequence, sent.sequence);
    ck_assert_uint_eq(fields.count, sent.count);
    ck_assert_uint_eq(payload.iov_len, sizes[_i]);
    ck_assert_ptr_eq(payload.iov_base, bytes + FTC_DATAGRAM_HEAD);
}
END_TEST

/* A flip in the identity makes the datagram foreign, and any other flip makes it corrupt. */
START_TEST(every_flipped_bit_is_found)
{
    size_t size = encode(&sent, 100);
    for (size_t bit = 0; bit < size * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        ck_assert_int_eq(decode(size), bit / 8 < FTC_DATAGRAM_KEY + FTC_JOB_KEY_SIZE
                                           ? FTC_DATAGRAM_FOREIGN
                                           : FTC_DATAGRAM_CORRUPT);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    ck_assert_int_eq(decode(size), FTC_DATAGRAM_SOUND);
}
END_TEST

START_TEST(every_other_length_is_found)
{
    size_t size = encode(&sent, 100);
    for (size_t length = 0; length < size; length++)
        ck_assert_int_eq(decode(length), length < FTC_DATAGRAM_KEY + FTC_JOB_KEY_SIZE
                                             ? FTC_DATAGRAM_FOREIGN
                                             : FTC_DATAGRAM_CORRUPT);
    ck_assert_int_eq(decode(size + 1), FTC_DATAGRAM_CORRUPT);
}
END_TEST

START_TEST(another_job_is_foreign)
{
    size_t size = encode(&sent, 100);
    for (int i = 0; i < FTC_JOB_KEY_SIZE; i++) {
        job_key[i] ^= 1;
        ck_assert_int_eq(decode(size), FTC_DATAGRAM_FOREIGN);
        job_key[i] ^= 1;
    }
}
END_TEST

START_TEST(a_group_is_made_of_all_that_was_drawn)
{
    struct test_random random = test_random_start();
    unsigned char drawn[FTC_MULTICAST_DRAWN];
    struct ftc_multicast_group first, second;
    for (size_t i = 0; i < sizeof(drawn); i++)
        drawn[i] = (unsigned char)test_random_bits(&random);
    ftc_multicast_group_make(&first, drawn);
    for (size_t i = 0; i < sizeof(drawn); i++) {
        drawn[i] ^= 1;
        ftc_multicast_group_make(&second, drawn);
        ck_assert_mem_ne(&first, &second, sizeof(first));
        ck_assert_uint_ge(second.port, 16384);
        ck_assert_uint_lt(second.port, 32768);
        drawn[i] ^= 1;
    }
}
END_TEST

START_TEST(nodes_with_a_secret_in_common_have_a_group_in_common)
{
    unsigned char one[FTC_MULTICAST_DRAWN], same[FTC_MULTICAST_DRAWN], other[FTC_MULTICAST_DRAWN];

    ftc_multicast_group_derive(one, (const unsigned char *)"a secret of 16 b", 16);
    ftc_multicast_group_derive(same, (const unsigned char *)"a secret of 16 b", 16);
    ftc_multicast_group_derive(other, (const unsigned char *)"a secret of 16 c", 16);
    ck_assert_mem_eq(one, same, sizeof(one));
    ck_assert_mem_ne(one, other, sizeof(one));
}
END_TEST

START_TEST(ranks_take_entries_in_turn)
{
    char entry[FTC_MULTICAST_ENTRY];
    static const char *const expected[] = {"eth0", "192.0.2.1", "fe80::1%eth0", "eth0",
                                           "192.0.2.1"};
    for (int rank = 0; rank < 5; rank++) {
        ck_assert_int_eq(ftc_multicast_entry(entry, "eth0,192.0.2.1,fe80::1%eth0", rank), 0);
        ck_assert_str_eq(entry, expected[rank]);
    }
    ck_assert_int_eq(ftc_multicast_entry(entry, NULL, 3), 0);
    ck_assert_str_eq(entry, "");
    ck_assert_int_eq(ftc_multicast_entry(entry, "", 3), 0);
    ck_assert_str_eq(entry, "");
    ck_assert_int_eq(ftc_multicast_entry(entry, "a,,b", 1), FTC_ERR_CONFIG);
    ck_assert_int_eq(ftc_multicast_entry(entry, "a,", 3), FTC_ERR_CONFIG);
    ck_assert_int_eq(
        ftc_multicast_entry(entry,
                            "0123456789012345678901234567890123456789012345678901234567890123", 0),
        FTC_ERR_CONFIG);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport/datagram");
    TCase *tcase = tcase_create("datagram");
    test_seed_announce();
    tcase_add_loop_test(tcase, what_was_sent_comes_out, 0, 5);
    tcase_add_test(tcase, every_flipped_bit_is_found);
    tcase_add_test(tcase, every_other_length_is_found);
    tcase_add_test(tcase, another_job_is_foreign);
    tcase_add_test(tcase, a_group_is_made_of_all_that_was_drawn);
    tcase_add_test(tcase, nodes_with_a_secret_in_common_have_a_group_in_common);
    tcase_add_test(tcase, ranks_take_entries_in_turn);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
