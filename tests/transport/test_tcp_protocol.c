/* Tests the parts of the TCP transport that do no I/O: frames, handshake, endpoints, and what is
 * sent again. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tests/random.h"
#include "tests/suite.h"
#include "transport/tcp/endpoint.h"
#include "transport/tcp/frame.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/queue.h"

/* --- frames --- */

static const struct ftc_tcp_header sent = {.flags = FTC_TCP_MESSAGE,
                                           .sequence = 7,
                                           .expected = 1ull << 40,
                                           .head = 100,
                                           .value = 1 << 20,
                                           .offset = 3};

START_TEST(a_header_comes_out_as_it_went_in)
{
    unsigned char bytes[FTC_TCP_HEADER_SIZE];
    struct ftc_tcp_header got;
    ftc_tcp_header_encode(bytes, &sent);
    ck_assert_int_eq(ftc_tcp_header_decode(&got, bytes), 0);
    ck_assert_uint_eq(got.flags, sent.flags);
    ck_assert_uint_eq(got.sequence, sent.sequence);
    ck_assert_uint_eq(got.expected, sent.expected);
    ck_assert_uint_eq(got.head, sent.head);
    ck_assert_uint_eq(got.value, sent.value);
    ck_assert_uint_eq(got.offset, sent.offset);
}
END_TEST

START_TEST(every_flipped_bit_is_found)
{
    unsigned char bytes[FTC_TCP_HEADER_SIZE];
    struct ftc_tcp_header got;
    ftc_tcp_header_encode(bytes, &sent);
    for (size_t bit = 0; bit < sizeof(bytes) * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        ck_assert_int_eq(ftc_tcp_header_decode(&got, bytes), FTC_ERR_PROTO);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}
END_TEST

START_TEST(lengths_out_of_bounds_are_refused)
{
    static const struct ftc_tcp_header bad[] = {
        {.flags = 1, .head = 0, .value = 5},
        {.flags = 1, .head = FTC_TCP_HEAD_MAX + 1},
        {.flags = 1, .head = 1, .value = FTC_TCP_VALUE_MAX + 1},
        {.flags = 1, .head = 1, .value = UINT64_MAX},
        {.flags = 1, .head = 4, .value = 4, .offset = 8},
        {.flags = 2, .head = 4},
        {.flags = 0, .head = 4},
        {.flags = 0, .sequence = 1},
    };
    unsigned char bytes[FTC_TCP_HEADER_SIZE];
    struct ftc_tcp_header got;
    ftc_tcp_header_encode(bytes, &bad[_i]);
    ck_assert_int_eq(ftc_tcp_header_decode(&got, bytes), FTC_ERR_PROTO);
}
END_TEST

/* --- the handshake --- */

static const struct ftc_tcp_secret secret = {.size = 16, .bytes = "sixteen bytes..."};
static struct ftc_tcp_hello hello;
static struct ftc_tcp_answer answer;
static struct ftc_tcp_place place;
static unsigned char hello_bytes[FTC_TCP_HELLO_SIZE], answer_bytes[FTC_TCP_ANSWER_SIZE],
    proof_bytes[FTC_TCP_PROOF_BYTES];

static void shake(void)
{
    hello = (struct ftc_tcp_hello){.versions = {1, 3},
                                   .sender = 5,
                                   .target = 9,
                                   .seal = FTC_TCP_SEAL_ENCRYPT,
                                   .job = "1234.1",
                                   .challenge = "by the connector"};
    answer = (struct ftc_tcp_answer){.versions = {2, 4},
                                     .version = 3,
                                     .seal = FTC_TCP_SEAL_ENCRYPT,
                                     .challenge = "by the listener"};
    place = (struct ftc_tcp_place){77, 1000};
    ftc_tcp_hello_encode(hello_bytes, &hello);
    ftc_tcp_answer_encode(answer_bytes, &answer, hello_bytes, &secret);
    ftc_tcp_proof_encode(proof_bytes, &place, hello_bytes, answer_bytes, &secret);
}

START_TEST(two_that_know_the_secret_believe_each_other)
{
    ck_assert(ftc_tcp_hello_decode(&hello, hello_bytes));
    ck_assert_uint_eq(hello.sender, 5);
    ck_assert_uint_eq(hello.target, 9);
    ck_assert_int_eq(hello.seal, FTC_TCP_SEAL_ENCRYPT);
    ck_assert_str_eq(hello.job, "1234.1");
    ck_assert(ftc_tcp_answer_decode(&answer, answer_bytes));
    ck_assert_uint_eq(answer.version, 3);
    ck_assert_int_eq(answer.seal, FTC_TCP_SEAL_ENCRYPT);
    ck_assert(ftc_tcp_answer_proven(answer_bytes, hello_bytes, &secret));
    place = (struct ftc_tcp_place){0};
    ck_assert(ftc_tcp_proof_decode(&place, proof_bytes, hello_bytes, answer_bytes, &secret));
    ck_assert_uint_eq(place.expected, 77);
    ck_assert_uint_eq(place.offset, 1000);
}
END_TEST

START_TEST(another_secret_proves_nothing)
{
    struct ftc_tcp_secret other = secret;
    other.bytes[15] ^= 1;
    ck_assert(!ftc_tcp_answer_proven(answer_bytes, hello_bytes, &other));
    ck_assert(!ftc_tcp_proof_decode(&place, proof_bytes, hello_bytes, answer_bytes, &other));
}
END_TEST

/* So neither a version nor a seal can be talked down. */
START_TEST(no_bit_of_hello_or_answer_can_be_changed)
{
    for (size_t bit = 0; bit < sizeof(hello_bytes) * 8; bit++) {
        hello_bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        ck_assert(!ftc_tcp_answer_proven(answer_bytes, hello_bytes, &secret));
        ck_assert(!ftc_tcp_proof_decode(&place, proof_bytes, hello_bytes, answer_bytes, &secret));
        hello_bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    for (size_t bit = 0; bit < sizeof(answer_bytes) * 8; bit++) {
        answer_bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        ck_assert(!ftc_tcp_answer_proven(answer_bytes, hello_bytes, &secret));
        ck_assert(!ftc_tcp_proof_decode(&place, proof_bytes, hello_bytes, answer_bytes, &secret));
        answer_bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}
END_TEST

START_TEST(a_proof_sent_back_proves_nothing)
{
    unsigned char mirrored[FTC_TCP_PROOF_BYTES] = {0};
    memcpy(mirrored, answer_bytes + FTC_TCP_ANSWER_SIZE - FTC_TCP_PROOF_SIZE, FTC_TCP_PROOF_SIZE);
    ck_assert(!ftc_tcp_proof_decode(&place, mirrored, hello_bytes, answer_bytes, &secret));
}
END_TEST

START_TEST(what_ranks_prove_is_worth_nothing_to_agents)
{
    struct ftc_tcp_secret agents = secret;
    unsigned char theirs[FTC_TCP_PROOF_BYTES];
    agents.ends = FTC_TCP_AGENTS;
    ck_assert(!ftc_tcp_answer_proven(answer_bytes, hello_bytes, &agents));
    ck_assert(!ftc_tcp_proof_decode(&place, proof_bytes, hello_bytes, answer_bytes, &agents));
    ftc_tcp_proof_encode(theirs, &place, hello_bytes, answer_bytes, &agents);
    ck_assert(ftc_tcp_proof_decode(&place, theirs, hello_bytes, answer_bytes, &agents));
    ck_assert(!ftc_tcp_proof_decode(&place, theirs, hello_bytes, answer_bytes, &secret));
}
END_TEST

START_TEST(no_place_can_be_changed)
{
    for (size_t bit = 0; bit < sizeof(proof_bytes) * 8; bit++) {
        proof_bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        ck_assert(!ftc_tcp_proof_decode(&place, proof_bytes, hello_bytes, answer_bytes, &secret));
        proof_bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}
END_TEST

/* A bit of the word of the refusal may make a refusal of it, which proves nothing. */
START_TEST(a_verdict_that_was_changed_accepts_nothing)
{
    unsigned char verdict[FTC_TCP_VERDICT_SIZE];
    enum ftc_tcp_refusal refusal;
    ftc_tcp_verdict_encode(verdict, FTC_TCP_ACCEPTED, &place, hello_bytes, answer_bytes, &secret);
    ck_assert(
        ftc_tcp_verdict_decode(&refusal, &place, verdict, hello_bytes, answer_bytes, &secret));
    ck_assert_uint_eq(place.expected, 77);
    for (size_t bit = 0; bit < sizeof(verdict) * 8; bit++) {
        verdict[bit / 8] ^= (unsigned char)(1u << bit % 8);
        ck_assert(!ftc_tcp_verdict_decode(&refusal, &place, verdict, hello_bytes, answer_bytes,
                                          &secret) ||
                  refusal != FTC_TCP_ACCEPTED);
        verdict[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}
END_TEST

/* Kind of ends, direction and both challenges are in the key. */
START_TEST(no_two_directions_have_one_key)
{
    unsigned char keys[4][FTC_TCP_PROOF_SIZE];
    struct ftc_tcp_secret agents = secret;
    agents.ends = FTC_TCP_AGENTS;
    ftc_tcp_seal_key(keys[0], true, hello_bytes, answer_bytes, &secret);
    ftc_tcp_seal_key(keys[1], false, hello_bytes, answer_bytes, &secret);
    ftc_tcp_seal_key(keys[2], true, hello_bytes, answer_bytes, &agents);
    answer_bytes[FTC_TCP_ANSWER_SIZE - FTC_TCP_PROOF_SIZE - 1] ^= 1;
    ftc_tcp_seal_key(keys[3], true, hello_bytes, answer_bytes, &secret);
    for (int one = 0; one < 4; one++)
        for (int other = 0; other < one; other++)
            ck_assert_mem_ne(keys[one], keys[other], FTC_TCP_PROOF_SIZE);
}
END_TEST

START_TEST(both_take_the_highest_common_version)
{
    static const struct {
        struct ftc_tcp_versions one, other;
        unsigned common;
    } cases[] = {{{1, 1}, {1, 1}, 1}, {{1, 3}, {2, 5}, 3}, {{2, 5}, {1, 3}, 3},
                 {{1, 9}, {4, 4}, 4}, {{1, 2}, {3, 4}, 0}, {{3, 4}, {1, 2}, 0}};
    ck_assert_uint_eq(ftc_tcp_common_version(&cases[_i].one, &cases[_i].other), cases[_i].common);
}
END_TEST

START_TEST(a_refusal_says_why_and_proves_nothing)
{
    answer.refusal = FTC_TCP_REFUSED_VERSION;
    ftc_tcp_answer_encode(answer_bytes, &answer, hello_bytes, &secret);
    ck_assert(ftc_tcp_answer_decode(&answer, answer_bytes));
    ck_assert_int_eq(answer.refusal, FTC_TCP_REFUSED_VERSION);
    ck_assert_uint_eq(answer.versions.lowest, 2);
    ck_assert_uint_eq(answer.versions.highest, 4);
    ck_assert(!ftc_tcp_answer_proven(answer_bytes, hello_bytes, &secret));
}
END_TEST

START_TEST(strangers_are_known_by_their_first_byte)
{
    ck_assert(ftc_tcp_magic_begins(FTC_TCP_PROTOCOL_SOCKET, hello_bytes, 0));
    for (size_t size = 1; size < sizeof(hello_bytes); size++)
        ck_assert(ftc_tcp_magic_begins(FTC_TCP_PROTOCOL_SOCKET, hello_bytes, size));
    ck_assert(!ftc_tcp_magic_begins(FTC_TCP_PROTOCOL_SOCKET, (const unsigned char *)"G", 1));
    hello_bytes[7] ^= 1;
    ck_assert(ftc_tcp_magic_begins(FTC_TCP_PROTOCOL_SOCKET, hello_bytes, 7));
    ck_assert(!ftc_tcp_magic_begins(FTC_TCP_PROTOCOL_SOCKET, hello_bytes, 8));
}
END_TEST

/* --- endpoints --- */

START_TEST(an_endpoint_survives_its_text)
{
    static const char *const texts[] = {
        "tcp:v1;10.0.0.1;1", "tcp:v1;10.0.0.1,fe00::1,::1;65535",
        "tcp:v1;1.1.1.1,2.2.2.2,3.3.3.3,4.4.4.4,5.5.5.5,6::6,7::7,8::8;80"};
    struct ftc_tcp_endpoint endpoint;
    char text[FTC_TCP_ENDPOINT_SIZE];
    ck_assert_int_eq(ftc_tcp_endpoint_parse(&endpoint, texts[_i]), 0);
    ftc_tcp_endpoint_format(text, &endpoint);
    ck_assert_str_eq(text, texts[_i]);
}
END_TEST

START_TEST(a_malformed_endpoint_is_refused)
{
    static const char *const texts[] = {
        "",
        "tcp:v1;",
        "tcp:v1;10.0.0.1",
        "tcp:v1;;80",
        "tcp:v1;10.0.0.1;",
        "tcp:v1;10.0.0.1;0",
        "tcp:v1;10.0.0.1;65536",
        "tcp:v1;10.0.0.1;-1",
        "tcp:v1;10.0.0.1;80x",
        "tcp:v1;10.0.0.1;000080",
        "tcp:v2;10.0.0.1;80",
        "tcp:v1;10.0.0.1,;80",
        "tcp:v1;host.example;80",
        "tcp:v1;fe80::1%eth0;80",
        "tcp:v1;1234:1234:1234:1234:1234:1234:1234:1234:1234:1234:1234;80",
        "tcp:v1;1.1.1.1,2.2.2.2,3.3.3.3,4.4.4.4,5.5.5.5,6.6.6.6,7.7.7.7,8.8.8.8,9.9.9.9;80",
    };
    struct ftc_tcp_endpoint endpoint;
    ck_assert_int_eq(ftc_tcp_endpoint_parse(&endpoint, texts[_i]), FTC_ERR_PROTO);
}
END_TEST

/* --- what is sent again --- */

static struct ftc_tcp_queue queue;

static void append(size_t head_size, size_t value_size)
{
    struct ftc_buffer *head = ftc_buffer_new(head_size), *rest = ftc_buffer_new(value_size);
    struct ftc_value value = {.buffer = rest, .size = value_size};
    memset(head->data, (int)queue.next_sequence, head_size);
    memset(rest->data, (int)queue.next_sequence, value_size);
    ck_assert(ftc_tcp_queue_append(&queue, head, &value));
    ftc_buffer_unref(head);
    ftc_buffer_unref(rest);
}

static void three(void)
{
    append(10, 0);
    append(10, 90);
    append(1, 9);
}

static void drop(void)
{
    ftc_tcp_queue_drop(&queue);
    queue = (struct ftc_tcp_queue){0};
}

static size_t gathered(void)
{
    struct iovec pieces[16];
    size_t bytes = 0;
    for (int i = 0, count = ftc_tcp_queue_gather(&queue, pieces, 16, 0); i < count; i++)
        bytes += pieces[i].iov_len;
    return bytes;
}

#define HEADER ((size_t)FTC_TCP_HEADER_SIZE)

START_TEST(small_messages_go_together)
{
    ck_assert_uint_eq(gathered(), 3 * HEADER + 120);
    ck_assert(!ftc_tcp_queue_amid(&queue));
    ftc_tcp_queue_advance(&queue, HEADER + 10 + 5);
    ck_assert(ftc_tcp_queue_amid(&queue));
    ck_assert_uint_eq(gathered(), 2 * HEADER + 110 - 5);
    ftc_tcp_queue_advance(&queue, 2 * HEADER + 110 - 5);
    ck_assert_uint_eq(gathered(), 0);
    ck_assert_ptr_nonnull(queue.first); /* messages stay until they are acknowledged */
}
END_TEST

START_TEST(acknowledged_messages_are_gone)
{
    ftc_tcp_queue_advance(&queue, 2 * HEADER + 110);
    ck_assert(ftc_tcp_queue_acknowledge(&queue, 1));
    ck_assert_uint_eq(queue.first->sequence, 1);
    ck_assert(ftc_tcp_queue_acknowledge(&queue, 0));  /* an older acknowledgement, made earlier */
    ck_assert(!ftc_tcp_queue_acknowledge(&queue, 3)); /* frame 3 is not out yet */
    ck_assert(ftc_tcp_queue_acknowledge(&queue, 2));
    ck_assert_uint_eq(gathered(), HEADER + 10);
}
END_TEST

START_TEST(a_new_connection_goes_on_where_the_old_one_ended)
{
    struct ftc_tcp_header header;
    ftc_tcp_queue_advance(&queue, 3 * HEADER + 120);
    ck_assert(ftc_tcp_queue_resume(&queue, 1, 60));
    ck_assert_uint_eq(gathered(), 2 * HEADER + 40 + 10);
    ck_assert_int_eq(ftc_tcp_header_decode(&header, queue.first->header), 0);
    ck_assert_uint_eq(header.sequence, 1);
    ck_assert_uint_eq(header.offset, 60);
    ck_assert_uint_eq(header.value, 90);
}
END_TEST

START_TEST(nonsense_is_no_place_to_go_on)
{
    static const uint64_t places[][2] = {{4, 0}, {3, 1}, {2, 10}, {0, UINT64_MAX}, {UINT64_MAX, 0}};
    ftc_tcp_queue_advance(&queue, 3 * HEADER + 120);
    ck_assert(!ftc_tcp_queue_resume(&queue, places[_i][0], places[_i][1]));
}
END_TEST

START_TEST(what_was_acknowledged_cannot_be_asked_for)
{
    ftc_tcp_queue_advance(&queue, 3 * HEADER + 120);
    ck_assert(ftc_tcp_queue_acknowledge(&queue, 2));
    ck_assert(!ftc_tcp_queue_resume(&queue, 1, 0));
    ck_assert(ftc_tcp_queue_resume(&queue, 3, 0));
    ck_assert_ptr_null(queue.first);
}
END_TEST

/* A receiver that learns of frames as they go out, with breaks anywhere, gets every byte exactly
 * once. */
START_TEST(any_breaks_anywhere_give_every_byte_once)
{
    struct test_random random = test_random_start();
    static const uint64_t totals[] = {10, 100, 10};
    for (int round = 0; round < 1000; round++) {
        uint64_t expected = 0, offset = 0;
        drop();
        three();
        while (queue.first != NULL) {
            size_t step = (size_t)test_random_between(&random, 0, 80), there = gathered();
            ftc_tcp_queue_advance(&queue, step < there ? step : there);
            /* What arrives before the break is the sender's own record, up to a cut. */
            const struct ftc_tcp_message *m = queue.first;
            for (; m != NULL && m->sent == totals[m->sequence] && m->header_sent == HEADER;
                 m = m->next)
                if (m->sequence == expected) {
                    ck_assert_uint_ge(m->sent, offset);
                    expected++;
                    offset = 0;
                }
            if (m != NULL && m->sequence == expected && m->header_sent == HEADER)
                offset = (uint64_t)test_random_between(&random, (int64_t)offset, (int64_t)m->sent);
            if (test_random_chance(&random, 30) || gathered() == 0)
                ck_assert(ftc_tcp_queue_resume(&queue, expected, offset));
        }
        ck_assert_uint_eq(expected, 3);
    }
}
END_TEST

static void add_queue(Suite *suite)
{
    TCase *tcase = tcase_create("queue");
    tcase_add_checked_fixture(tcase, three, drop);
    tcase_add_test(tcase, small_messages_go_together);
    tcase_add_test(tcase, acknowledged_messages_are_gone);
    tcase_add_test(tcase, a_new_connection_goes_on_where_the_old_one_ended);
    tcase_add_loop_test(tcase, nonsense_is_no_place_to_go_on, 0, 5);
    tcase_add_test(tcase, what_was_acknowledged_cannot_be_asked_for);
    tcase_add_test(tcase, any_breaks_anywhere_give_every_byte_once);
    suite_add_tcase(suite, tcase);
}

static void add_handshake(Suite *suite)
{
    TCase *tcase = tcase_create("handshake");
    tcase_add_checked_fixture(tcase, shake, NULL);
    tcase_add_test(tcase, two_that_know_the_secret_believe_each_other);
    tcase_add_test(tcase, another_secret_proves_nothing);
    tcase_add_test(tcase, no_bit_of_hello_or_answer_can_be_changed);
    tcase_add_test(tcase, a_proof_sent_back_proves_nothing);
    tcase_add_test(tcase, what_ranks_prove_is_worth_nothing_to_agents);
    tcase_add_test(tcase, no_place_can_be_changed);
    tcase_add_test(tcase, a_verdict_that_was_changed_accepts_nothing);
    tcase_add_test(tcase, no_two_directions_have_one_key);
    tcase_add_loop_test(tcase, both_take_the_highest_common_version, 0, 6);
    tcase_add_test(tcase, a_refusal_says_why_and_proves_nothing);
    tcase_add_test(tcase, strangers_are_known_by_their_first_byte);
    suite_add_tcase(suite, tcase);
}

int main(void)
{
    Suite *suite = suite_create("transport/tcp protocol");
    TCase *tcase = tcase_create("frames and endpoints");
    tcase_add_test(tcase, a_header_comes_out_as_it_went_in);
    tcase_add_test(tcase, every_flipped_bit_is_found);
    tcase_add_loop_test(tcase, lengths_out_of_bounds_are_refused, 0, 8);
    tcase_add_loop_test(tcase, an_endpoint_survives_its_text, 0, 3);
    tcase_add_loop_test(tcase, a_malformed_endpoint_is_refused, 0, 16);
    suite_add_tcase(suite, tcase);
    add_handshake(suite);
    add_queue(suite);
    test_seed_announce();
    return test_suite_run(suite);
}
