/* The messages between agents, as bytes. A message that is written is read back the same. Nonsense
 * is refused. */
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "launcher/agent/wire.h"
#include "launcher/counters.h"
#include "tests/random.h"
#include "tests/suite.h"

#define RANKS 12

static struct ftc_agent_message through(const struct ftc_agent_message *message,
                                        struct ftc_buffer **buffer)
{
    struct ftc_agent_message out;

    *buffer = ftc_agent_encode(message);
    ck_assert_ptr_nonnull(*buffer);
    ck_assert_msg(ftc_agent_decode(&out, *buffer, RANKS) == FTC_SUCCESS, "%s", ftc_last_error());
    return out;
}

START_TEST(a_notice_comes_as_it_went)
{
    struct ftc_buffer *buffer;
    struct ftc_agent_message notice = {.kind = FTC_AGENT_FAILED,
                                       .rank = 11,
                                       .number = 4000000000u,
                                       .value = 9,
                                       .cause = FTC_CAUSE_SIGNAL,
                                       .seen_by = -1,
                                       .took_ns = 1234567890123};
    struct ftc_agent_message out = through(&notice, &buffer);

    ck_assert_int_eq(out.kind, FTC_AGENT_FAILED);
    ck_assert_int_eq(out.rank, 11);
    ck_assert_uint_eq(out.number, 4000000000u);
    ck_assert_int_eq(out.value, 9);
    ck_assert_int_eq(out.cause, FTC_CAUSE_SIGNAL);
    ck_assert_int_eq(out.seen_by, -1);
    ck_assert_uint_eq(out.took_ns, 1234567890123);
    ftc_buffer_unref(buffer);
}
END_TEST

START_TEST(a_rank_that_joined_has_its_endpoints)
{
    static const char endpoint[] = "tcp:v1;10.0.0.1;4711 verbs:v1;x";
    struct ftc_buffer *buffer;
    struct ftc_agent_message joined = {.kind = FTC_AGENT_JOINED,
                                       .rank = 3,
                                       .number = 1,
                                       .value = 999,
                                       .bytes = (const unsigned char *)endpoint,
                                       .size = strlen(endpoint)};
    struct ftc_agent_message out = through(&joined, &buffer);

    ck_assert_uint_eq(out.size, strlen(endpoint));
    ck_assert_mem_eq(out.bytes, endpoint, strlen(endpoint));
    ftc_buffer_unref(buffer);
}
END_TEST

START_TEST(an_end_brings_the_counters)
{
    static struct ftc_counters counters, got;
    struct ftc_buffer *buffer;

    atomic_store(&counters.sent[0], 5);
    atomic_store(&counters.datagrams[FTC_DATAGRAMS - 1], UINT64_MAX);
    unsigned char bytes[FTC_COUNTERS_PACKED];
    struct ftc_agent_message ended = {.kind = FTC_AGENT_ENDED,
                                      .rank = 0,
                                      .number = 3,
                                      .value = 0x0900,
                                      .bytes = bytes,
                                      .size = ftc_counters_pack(&counters, bytes)};
    ck_assert_uint_eq(ended.size, 18); /* two that are not 0 */
    struct ftc_agent_message out = through(&ended, &buffer);
    ck_assert(ftc_counters_unpack(&got, out.bytes, out.size));
    ck_assert_mem_eq(&got, &counters, sizeof(got));
    ftc_buffer_unref(buffer);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
    static const unsigned char none[1];
    static const struct ftc_agent_message wrong[] = {
        {.kind = FTC_AGENT_KINDS},
        {.kind = FTC_AGENT_LEASE}, /* empty */
        {.kind = FTC_AGENT_MARKED, .number = 1, .rank = RANKS},
        {.kind = FTC_AGENT_MARKED, .number = 1, .rank = -1},
        {.kind = FTC_AGENT_MARKED,
         .number = 1,
         .bytes = none,
         .size = 1}, /* this kind has no bytes */
        {.kind = FTC_AGENT_FAILED, .number = 1, .cause = FTC_CAUSE_NONE, .seen_by = -1},
        {.kind = FTC_AGENT_FAILED, .number = 1, .cause = FTC_CAUSES, .seen_by = -1},
        {.kind = FTC_AGENT_FAILED, .number = 1, .cause = FTC_CAUSE_EXIT, .seen_by = RANKS},
        {.kind = FTC_AGENT_ACCUSED, .value = RANKS},
        {.kind = FTC_AGENT_END, .value = 256},
        {.kind = FTC_AGENT_LEFT, .bytes = none, .size = 1},
        {.kind = FTC_AGENT_MARKED}, /* news without a number */
        {.kind = FTC_AGENT_VECTOR}, /* empty */
    };
    struct ftc_buffer *buffer = ftc_agent_encode(&wrong[_i]);
    struct ftc_agent_message out;

    ck_assert_int_eq(ftc_agent_decode(&out, buffer, RANKS), FTC_ERR_PROTO);
    ftc_buffer_unref(buffer);
}
END_TEST
#define WRONG 13

START_TEST(counters_that_do_not_ascend_are_none)
{
    unsigned char bytes[18] = {[0] = 7, [9] = 7};
    struct ftc_counters got;

    ck_assert(!ftc_counters_unpack(&got, bytes, sizeof(bytes)));
    bytes[9] = 8;
    ck_assert(ftc_counters_unpack(&got, bytes, sizeof(bytes)));
    ck_assert(!ftc_counters_unpack(&got, bytes, sizeof(bytes) - 1));
    bytes[9] = 255;
    ck_assert(!ftc_counters_unpack(&got, bytes, sizeof(bytes)));
    ck_assert(ftc_counters_unpack(&got, NULL, 0));
}
END_TEST

START_TEST(an_endpoint_that_is_too_long_is_refused)
{
    static unsigned char bytes[FTC_ENDPOINT_SIZE];
    struct ftc_agent_message joined = {.kind = FTC_AGENT_JOINED,
                                       .number = 1,
                                       .bytes = bytes,
                                       .size = sizeof(bytes)},
                             out;
    struct ftc_buffer *buffer = ftc_agent_encode(&joined);

    ck_assert_int_eq(ftc_agent_decode(&out, buffer, RANKS), FTC_ERR_PROTO);
    ftc_buffer_unref(buffer);
}
END_TEST

START_TEST(what_is_cut_short_is_refused)
{
    struct ftc_agent_message marked = {.kind = FTC_AGENT_MARKED, .number = 1, .rank = 1}, out;
    struct ftc_buffer *buffer = ftc_agent_encode(&marked);

    for (size_t size = buffer->size; size-- > 0;) {
        buffer->size = size;
        ck_assert_int_eq(ftc_agent_decode(&out, buffer, RANKS), FTC_ERR_PROTO);
    }
    ftc_buffer_unref(buffer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_wire");
    TCase *tests = tcase_create("agent_wire");

    tcase_add_test(tests, a_notice_comes_as_it_went);
    tcase_add_test(tests, a_rank_that_joined_has_its_endpoints);
    tcase_add_test(tests, an_end_brings_the_counters);
    tcase_add_test(tests, counters_that_do_not_ascend_are_none);
    tcase_add_loop_test(tests, what_makes_no_sense_is_refused, 0, WRONG);
    tcase_add_test(tests, an_endpoint_that_is_too_long_is_refused);
    tcase_add_test(tests, what_is_cut_short_is_refused);
    suite_add_tcase(suite, tests);
    return test_suite_run(suite);
}
