/* The matching engine (collectives/point_to_point/matching.h): stories of rank 0, whose other ranks
 * are engines, too, or played by hand. */
#include <string.h>

#include "base/wire.h"
#include "collectives/frame.h"
#include "collectives/point_to_point/internal.h"
#include "include/ftcoll.h"
#include "tests/suite.h"

#define RANKS  3
#define EAGER  64
#define CREDIT 512

static struct ftc_matching *engine[RANKS];
static enum ftc_copied copies = FTC_COPY_DONE;
static int sent[FTC_MATCHING_WHATS];

static void begin(void)
{
    for (int rank = 0; rank < RANKS; rank++) {
        struct ftc_matching_settings settings = {.communicator = 5,
                                                 .self = rank,
                                                 .ranks = RANKS,
                                                 .eager = EAGER,
                                                 .credit = CREDIT,
                                                 .piece = 1000,
                                                 .fragment = 100,
                                                 .window = 400};
        ck_assert_int_eq(ftc_matching_create(&engine[rank], &settings), FTC_SUCCESS);
    }
}

static void end(void)
{
    for (int rank = 0; rank < RANKS; rank++)
        ftc_matching_destroy(engine[rank]);
}

static struct ftc_buffer *join(const struct ftc_matching_output *output)
{
    size_t head = output->head_size;
    struct ftc_buffer *message = ftc_value_new_message(head, output->size);

    ck_assert_ptr_nonnull(message);
    memcpy(message->data, output->head, head);
    if (output->size > 0)
        memcpy(message->data + ftc_value_offset(head), output->bytes, output->size);
    return message;
}

static bool move_one(int rank)
{
    const struct ftc_matching_output *output = ftc_matching_next_output(engine[rank]);

    if (output == NULL)
        return false;
    struct ftc_buffer *message = join(output);
    sent[message->data[2]]++;
    ck_assert_int_eq(ftc_matching_receive(engine[output->to], rank, message), FTC_SUCCESS);
    ftc_buffer_unref(message);
    return true;
}

static bool copy_one(int rank)
{
    struct ftc_matching_copy copy;

    if (!ftc_matching_next_copy(engine[rank], &copy))
        return false;
    enum ftc_copied result =
        copies == FTC_COPY_MARKED && copy.mark == NULL ? FTC_COPY_DONE : copies;
    if (result == FTC_COPY_DONE || result == FTC_COPY_MARKED)
        memcpy(copy.to, (const void *)(uintptr_t)copy.address, copy.size);
    if (result == FTC_COPY_MARKED)
        memcpy(copy.mark, (const void *)(uintptr_t)copy.mark_address, sizeof(*copy.mark));
    ck_assert_int_eq(ftc_matching_copied(engine[rank], copy.transfer, result), FTC_SUCCESS);
    return true;
}

/* All messages and copies, until there are none. */
static void settle(void)
{
    for (bool any = true; any;) {
        any = false;
        for (int rank = 0; rank < RANKS; rank++)
            any = move_one(rank) || copy_one(rank) || any;
    }
}

static struct ftc_transfer transfer(bool sends, int rank, int tag, void *buffer, size_t size)
{
    return (struct ftc_transfer){
        .sends = sends, .rank = rank, .tag = tag, .buffer = buffer, .size = size};
}

static void start(int rank, struct ftc_transfer *t)
{
    ck_assert_int_eq(ftc_matching_start(engine[rank], t), FTC_SUCCESS);
}

static void ended(const struct ftc_transfer *t, int status)
{
    ck_assert(ftc_transfer_has_ended(t));
    ck_assert_int_eq(t->status, status);
}

START_TEST(an_expected_message_goes_to_its_receive)
{
    char from[8] = "message", to[8] = "";
    struct ftc_transfer receive = transfer(false, 1, 3, to, sizeof(to));
    struct ftc_transfer send = transfer(true, 0, 3, from, sizeof(from));

    start(0, &receive);
    start(1, &send);
    ended(&send, FTC_SUCCESS);
    settle();
    ended(&receive, FTC_SUCCESS);
    ck_assert_str_eq(to, "message");
    ck_assert_int_eq(receive.from, 1);
    ck_assert_int_eq(receive.got, 3);
    ck_assert_uint_eq(receive.bytes, 8);
}
END_TEST

START_TEST(an_eager_message_goes_out_of_the_buffer_of_its_send)
{
    char from[8] = "message";
    struct ftc_transfer send = transfer(true, 0, 3, from, sizeof(from));

    start(1, &send);
    const struct ftc_matching_output *output = ftc_matching_next_output(engine[1]);
    ck_assert_ptr_eq(output->bytes, from);
    ck_assert_ptr_null(output->buffer);
    ck_assert_uint_eq(output->size, sizeof(from));
    ck_assert_uint_eq(output->head_size % FTC_VALUE_ALIGNMENT, 0);
    ck_assert_ptr_null(ftc_matching_next_output(engine[1]));
}
END_TEST

static void take_output(const struct ftc_matching_output *output, int from)
{
    struct ftc_buffer *message = join(output);

    ck_assert_int_eq(ftc_matching_receive(engine[output->to], from, message), FTC_SUCCESS);
    ftc_buffer_unref(message);
}

START_TEST(what_wants_an_answer_is_urgent)
{
    char byte = 'x', got = 0;
    struct ftc_transfer send = transfer(true, 0, 0, &byte, 1);
    struct ftc_transfer receive = transfer(false, 1, 0, &got, 1);

    send.synchronous = true;
    start(1, &send);
    const struct ftc_matching_output *ready = ftc_matching_next_output(engine[1]);
    ck_assert(ready->ready && ready->urgent);
    take_output(ready, 1);
    copies = FTC_COPY_MARKED;
    start(0, &receive);
    ck_assert(copy_one(0));
    const struct ftc_matching_output *end = ftc_matching_next_output(engine[0]);
    ck_assert(!end->ready && !end->urgent);
    take_output(end, 0);
    ended(&send, FTC_SUCCESS);
    ended(&receive, FTC_SUCCESS);
}
END_TEST

START_TEST(unexpected_messages_are_taken_in_their_order)
{
    char a = 'a', b = 'b', c = 'c', got[3] = "";
    struct ftc_transfer sends[] = {transfer(true, 0, 1, &a, 1), transfer(true, 0, 2, &b, 1),
                                   transfer(true, 0, 1, &c, 1)};
    struct ftc_transfer any = transfer(false, FTC_MATCHING_ANY, 2, &got[0], 1);
    struct ftc_transfer one = transfer(false, 1, FTC_MATCHING_ANY, &got[1], 1);
    struct ftc_transfer two = transfer(false, 1, 1, &got[2], 1);
    struct ftc_envelope found;

    for (int i = 0; i < 3; i++)
        start(1, &sends[i]);
    settle();
    ck_assert(ftc_matching_probe(engine[0], FTC_MATCHING_ANY, FTC_MATCHING_ANY, 0, &found));
    ck_assert_int_eq(found.tag, 1);
    ck_assert(!ftc_matching_probe(engine[0], 2, FTC_MATCHING_ANY, 0, &found));
    ck_assert(!ftc_matching_probe(engine[0], 1, 1, 7, &found)); /* another context */
    start(0, &any);
    start(0, &one);
    start(0, &two);
    ended(&two, FTC_SUCCESS);
    ck_assert_mem_eq(got, "bac", 3);
}
END_TEST

START_TEST(the_receive_that_was_started_first_takes)
{
    char byte = 'x', got[2] = "";
    struct ftc_transfer any = transfer(false, FTC_MATCHING_ANY, FTC_MATCHING_ANY, &got[0], 1);
    struct ftc_transfer one = transfer(false, 2, 4, &got[1], 1);
    struct ftc_transfer send = transfer(true, 0, 4, &byte, 1);

    start(0, &any);
    start(0, &one);
    start(2, &send);
    settle();
    ended(&any, FTC_SUCCESS);
    ck_assert(!ftc_transfer_has_ended(&one));
    ck_assert(ftc_matching_cancel(engine[0], &one));
    ended(&one, FTC_ERR_CANCELLED);
}
END_TEST

static const enum ftc_copied ways[] = {FTC_COPY_DONE, FTC_COPY_REFUSED, FTC_COPY_MARKED};

/* _i: are copies refused, or is the mark read with the last bytes? */
START_TEST(a_large_message_comes_whole)
{
    static char from[3333], to[sizeof(from)];
    struct ftc_transfer send = transfer(true, 0, 0, from, sizeof(from));
    struct ftc_transfer receive = transfer(false, 1, 0, to, sizeof(to));

    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (char)(i * 7);
    copies = ways[_i];
    start(1, &send);
    settle();
    ck_assert(!ftc_transfer_has_ended(&send));
    start(0, &receive);
    settle();
    ended(&send, FTC_SUCCESS);
    ended(&receive, FTC_SUCCESS);
    ck_assert_mem_eq(from, to, sizeof(from));
    ck_assert_int_eq(sent[FTC_MATCHING_DATA], _i == 1 ? 34 : 0);
    ck_assert_int_eq(sent[FTC_MATCHING_END], _i != 1);
}
END_TEST

START_TEST(a_message_that_is_too_long_is_cut)
{
    static char from[333], to[100];
    struct ftc_transfer send = transfer(true, 0, 0, from, sizeof(from));
    struct ftc_transfer receive = transfer(false, 1, 0, to, sizeof(to));

    memset(from, 'x', sizeof(from));
    copies = ways[_i];
    start(1, &send);
    start(0, &receive);
    settle();
    ended(&send, FTC_SUCCESS);
    ended(&receive, FTC_ERR_TRUNCATED);
    ck_assert_mem_eq(from, to, sizeof(to));
    ck_assert_uint_eq(receive.bytes, sizeof(from));
}
END_TEST

START_TEST(a_synchronous_send_waits_for_its_receive)
{
    char byte = 'x', got = 0;
    struct ftc_transfer send = transfer(true, 0, 0, &byte, 1);
    struct ftc_transfer receive = transfer(false, 1, 0, &got, 1);

    send.synchronous = true;
    start(1, &send);
    settle();
    ck_assert(!ftc_transfer_has_ended(&send));
    start(0, &receive);
    settle();
    ended(&send, FTC_SUCCESS);
    ck_assert_int_eq(got, 'x');
}
END_TEST

START_TEST(a_rank_sends_to_itself)
{
    static char from[1000], to[sizeof(from)], small[2] = "s";
    struct ftc_transfer send = transfer(true, 0, 1, from, sizeof(from));
    struct ftc_transfer receive = transfer(false, FTC_MATCHING_ANY, 1, to, sizeof(to));
    struct ftc_transfer eager = transfer(true, 0, 2, small, 1), other;

    memset(from, 'y', sizeof(from));
    start(0, &eager);
    ended(&eager, FTC_SUCCESS);
    start(0, &send);
    start(0, &receive);
    settle();
    ended(&send, FTC_SUCCESS);
    ended(&receive, FTC_SUCCESS);
    ck_assert_mem_eq(from, to, sizeof(from));
    other = transfer(false, 0, 2, to, 1);
    start(0, &other);
    ended(&other, FTC_SUCCESS);
    ck_assert_int_eq(to[0], 's');
    ck_assert_int_eq(sent[FTC_MATCHING_EAGER] + sent[FTC_MATCHING_READY], 0);
}
END_TEST

START_TEST(a_matched_message_goes_to_its_receive_alone)
{
    static char large[1000], to[sizeof(large)], got[3];
    char a = 'a', b = 'b';
    struct ftc_transfer first = transfer(true, 0, 1, &a, 1), second = transfer(true, 0, 1, &b, 1);
    struct ftc_transfer lost = transfer(true, 0, 2, large, sizeof(large));
    struct ftc_transfer one = transfer(false, 1, 1, &got[0], 1), other = one, third = one;
    struct ftc_transfer receive = transfer(false, FTC_MATCHING_ANY, FTC_MATCHING_ANY, to, 1000);

    start(1, &first);
    start(1, &second);
    start(1, &lost);
    settle();
    one.matched = ftc_matching_match(engine[0], FTC_MATCHING_ANY, 1, 0);
    receive.matched = ftc_matching_match(engine[0], 1, 2, 0);
    third.matched = ftc_matching_match(engine[0], 2, FTC_MATCHING_ANY, 0);
    ck_assert_ptr_null(third.matched);
    start(0, &other); /* takes the second one */
    ended(&other, FTC_SUCCESS);
    ck_assert_int_eq(got[0], b);
    ck_assert_int_eq(ftc_matching_notice(engine[0], 1), FTC_SUCCESS);
    ftc_matching_recognize(engine[0], 1);
    start(0, &one);
    ended(&one, FTC_SUCCESS);
    ck_assert_int_eq(got[0], a);
    start(0, &receive);
    ended(&receive, FTC_ERR_RANK_FAILED);
}
END_TEST

/* What is left is freed with the engine. */
START_TEST(a_revoke_ends_the_receive_of_a_matched_message)
{
    char byte = 'a', got = 0;
    struct ftc_transfer sends[2] = {transfer(true, 0, 1, &byte, 1), transfer(true, 0, 1, &byte, 1)};
    struct ftc_transfer receive = transfer(false, 1, 1, &got, 1);

    start(1, &sends[0]);
    start(1, &sends[1]);
    settle();
    receive.matched = ftc_matching_match(engine[0], 1, 1, 0);
    ck_assert_ptr_nonnull(ftc_matching_match(engine[0], 1, 1, 0));
    ftc_matching_revoke(engine[0]);
    start(0, &receive);
    ended(&receive, FTC_ERR_REVOKED);
    ck_assert_int_eq(got, 0);
}
END_TEST

START_TEST(a_matched_message_of_this_rank_is_not_withdrawn)
{
    static char from[1000], to[sizeof(from)];
    struct ftc_transfer send = transfer(true, 0, 1, from, sizeof(from));
    struct ftc_transfer receive = transfer(false, 0, 1, to, sizeof(to));

    start(0, &send);
    receive.matched = ftc_matching_match(engine[0], 0, 1, 0);
    ck_assert(ftc_matching_waits_for_self(engine[0], &send));
    ck_assert(!ftc_matching_cancel(engine[0], &send));
    start(0, &receive);
    ck_assert(!ftc_matching_waits_for_self(engine[0], &send));
    settle();
    ended(&send, FTC_SUCCESS);
    ended(&receive, FTC_SUCCESS);
}
END_TEST

#define MANY 40

START_TEST(a_sender_has_credit_for_so_much)
{
    static struct ftc_transfer sends[MANY], last, receives[MANY];
    char byte = 'x', tag = 't', got[MANY] = "", other = 0;
    size_t ready = 0;
    int under_way = 0;

    for (int i = 0; i < MANY; i++) {
        sends[i] = transfer(true, 0, 1, &byte, 1);
        start(1, &sends[i]);
    }
    last = transfer(true, 0, 2, &tag, 1);
    start(1, &last);
    settle();
    ck_assert_uint_le(ftc_matching_kept(engine[0], 1, &ready), CREDIT);
    for (int i = 0; i < MANY; i++)
        under_way += !ftc_transfer_has_ended(&sends[i]);
    ck_assert_int_eq(under_way + 1, (int)ready);
    ck_assert_int_eq(under_way, MANY - CREDIT / (1 + FTC_MATCHING_OVERHEAD));
    /* what is behind the others is there */
    receives[0] = transfer(false, 1, 2, &other, 1);
    start(0, &receives[0]);
    settle();
    ended(&last, FTC_SUCCESS);
    ck_assert_int_eq(other, 't');
    for (int i = 0; i < MANY; i++) {
        receives[i] = transfer(false, 1, FTC_MATCHING_ANY, &got[i], 1);
        start(0, &receives[i]);
        settle();
        ended(&receives[i], FTC_SUCCESS);
    }
    last = transfer(true, 0, 2, &tag, 1); /* the credit has come back */
    start(1, &last);
    ended(&last, FTC_SUCCESS);
}
END_TEST

/* P6 */
START_TEST(bytes_of_a_send_that_has_ended_are_void)
{
    static char from[1500], to[sizeof(from)];
    struct ftc_transfer send = transfer(true, 0, 0, from, sizeof(from));
    struct ftc_transfer receive = transfer(false, 1, 0, to, sizeof(to));

    start(0, &receive);
    start(1, &send);
    ck_assert(move_one(1));
    ck_assert(copy_one(0)); /* a piece of two */
    ftc_matching_revoke(engine[1]);
    ended(&send, FTC_ERR_REVOKED);
    settle();
    ck_assert(!ftc_transfer_has_ended(&receive));
    ftc_matching_revoke(engine[0]);
    ended(&receive, FTC_ERR_REVOKED);
    start(0, &receive);
    ended(&receive, FTC_ERR_REVOKED);
}
END_TEST

START_TEST(a_failure_ends_what_waits_for_the_rank)
{
    static char large[1000], got[sizeof(large)];
    char byte = 'x';
    struct ftc_transfer whole = transfer(true, 0, 1, &byte, 1);
    struct ftc_transfer lost = transfer(true, 0, 2, large, sizeof(large));
    struct ftc_transfer after = transfer(true, 0, 2, &byte, 1);
    struct ftc_transfer send = transfer(true, 1, 0, large, sizeof(large));
    struct ftc_transfer posted = transfer(false, 1, 7, got, 1);
    struct ftc_transfer receive;

    start(1, &whole);
    start(1, &lost);
    start(1, &after);
    start(0, &send);
    start(0, &posted);
    while (move_one(1))
        ;
    ck_assert_int_eq(ftc_matching_notice(engine[0], 1), FTC_SUCCESS);
    ended(&send, FTC_ERR_RANK_FAILED);
    ended(&posted, FTC_ERR_RANK_FAILED);
    /* the first of tag 2 is lost, and the second one is not taken in its place */
    receive = transfer(false, 1, 2, got, sizeof(got));
    start(0, &receive);
    ended(&receive, FTC_ERR_RANK_FAILED);
    start(0, &receive);
    ended(&receive, FTC_SUCCESS);
    receive = transfer(false, 1, 1, got, sizeof(got));
    start(0, &receive);
    ended(&receive, FTC_SUCCESS);
    start(0, &receive);
    ended(&receive, FTC_ERR_RANK_FAILED);
    send = transfer(true, 1, 0, &byte, 1);
    start(0, &send);
    ended(&send, FTC_ERR_RANK_FAILED);
}
END_TEST

START_TEST(a_failure_interrupts_a_wait_of_any_rank_once)
{
    char got;
    struct ftc_transfer any = transfer(false, FTC_MATCHING_ANY, 0, &got, 1);

    start(0, &any);
    ck_assert(!ftc_matching_interrupts(engine[0], &any));
    ck_assert_int_eq(ftc_matching_notice(engine[0], 1), FTC_SUCCESS);
    ck_assert(ftc_matching_interrupts(engine[0], &any));
    ck_assert(!ftc_matching_interrupts(engine[0], &any));
    ck_assert(ftc_matching_interrupts_probe(engine[0]));
    ftc_matching_recognize(engine[0], 1);
    ck_assert(!ftc_matching_interrupts_probe(engine[0]));
    ck_assert_int_eq(ftc_matching_notice(engine[0], 2), FTC_SUCCESS);
    ftc_matching_recognize(engine[0], 2);
    ck_assert(ftc_matching_interrupts(engine[0], &any)); /* nobody is left */
    ck_assert(ftc_matching_interrupts(engine[0], &any));
    ck_assert(ftc_matching_cancel(engine[0], &any));
}
END_TEST

/* --- what others send is not trusted --- */

static struct ftc_buffer *message(int what, uint64_t number, uint64_t taken, uint64_t field)
{
    struct ftc_buffer *buffer = ftc_buffer_new(256);
    struct ftc_writer writer = {.data = buffer->data, .size = 256};

    ftc_frame_write(&writer, FTC_FRAME_POINT_TO_POINT, (uint16_t)what, 5);
    ftc_write_u32(&writer, 0);
    ftc_write_u64(&writer, number);
    ftc_write_u64(&writer, taken);
    if (what == FTC_MATCHING_READY || what == FTC_MATCHING_PULL || what == FTC_MATCHING_DATA)
        ftc_write_u64(&writer, field);
    for (int i = 0; what == FTC_MATCHING_READY && i < 3; i++)
        ftc_write_u64(&writer, 0);
    if (what == FTC_MATCHING_DATA) {
        ftc_write_align(&writer, FTC_VALUE_ALIGNMENT);
        ftc_write_bytes(&writer, "8 bytes.", 8);
    }
    buffer->size = writer.used;
    return buffer;
}

static void refused(struct ftc_buffer *buffer)
{
    ck_assert_int_eq(ftc_matching_receive(engine[0], 1, buffer), FTC_ERR_PROTO);
    ftc_buffer_unref(buffer);
}

static void taken(struct ftc_buffer *buffer)
{
    ck_assert_int_eq(ftc_matching_receive(engine[0], 1, buffer), FTC_SUCCESS);
    ftc_buffer_unref(buffer);
}

START_TEST(a_broken_message_is_refused)
{
    static char large[1000], got[1000];
    struct ftc_transfer send = transfer(true, 1, 0, large, sizeof(large));
    struct ftc_transfer receive = transfer(false, 1, 0, got, sizeof(got));
    struct ftc_buffer *cut = message(FTC_MATCHING_END, 0, 0, 0);

    start(0, &send); /* number 0 */
    start(0, &receive);
    refused(message(FTC_MATCHING_WHATS, 0, 0, 0));
    refused(message(FTC_MATCHING_EAGER, 1, 0, 0));  /* 0 comes first */
    refused(message(FTC_MATCHING_CREDIT, 0, 1, 0)); /* it has taken nothing */
    refused(message(FTC_MATCHING_PULL, 1, 0, 100));
    refused(message(FTC_MATCHING_PULL, 0, 0, 1001));
    refused(message(FTC_MATCHING_PULL, 0, 0, 0));
    refused(message(FTC_MATCHING_END, 1, 0, 0));
    refused(message(FTC_MATCHING_DATA, 0, 0, 0));
    refused(message(FTC_MATCHING_READY, 0, 0, UINT64_MAX));
    cut->size--;
    refused(cut);
    taken(message(FTC_MATCHING_READY, 0, 0, 500));
    copies = FTC_COPY_REFUSED;
    ck_assert(copy_one(0));
    refused(message(FTC_MATCHING_DATA, 0, 0, 8)); /* not where it should begin */
    taken(message(FTC_MATCHING_DATA, 0, 0, 0));
    refused(message(FTC_MATCHING_DATA, 0, 0, 0));
    while (ftc_matching_next_output(engine[0]) != NULL)
        ;
    ftc_matching_revoke(engine[0]);
}
END_TEST

START_TEST(a_sender_without_credit_is_refused)
{
    int number = 0;

    for (; number < CREDIT / FTC_MATCHING_OVERHEAD; number++)
        taken(message(FTC_MATCHING_EAGER, (uint64_t)number, 0, 0));
    refused(message(FTC_MATCHING_EAGER, (uint64_t)number, 0, 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("matching");
    TCase *tcase = tcase_create("matching");

    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, an_expected_message_goes_to_its_receive);
    tcase_add_test(tcase, an_eager_message_goes_out_of_the_buffer_of_its_send);
    tcase_add_test(tcase, what_wants_an_answer_is_urgent);
    tcase_add_test(tcase, unexpected_messages_are_taken_in_their_order);
    tcase_add_test(tcase, the_receive_that_was_started_first_takes);
    tcase_add_loop_test(tcase, a_large_message_comes_whole, 0, 3);
    tcase_add_loop_test(tcase, a_message_that_is_too_long_is_cut, 0, 3);
    tcase_add_test(tcase, a_synchronous_send_waits_for_its_receive);
    tcase_add_test(tcase, a_rank_sends_to_itself);
    tcase_add_test(tcase, a_matched_message_goes_to_its_receive_alone);
    tcase_add_test(tcase, a_revoke_ends_the_receive_of_a_matched_message);
    tcase_add_test(tcase, a_matched_message_of_this_rank_is_not_withdrawn);
    tcase_add_test(tcase, a_sender_has_credit_for_so_much);
    tcase_add_test(tcase, bytes_of_a_send_that_has_ended_are_void);
    tcase_add_test(tcase, a_failure_ends_what_waits_for_the_rank);
    tcase_add_test(tcase, a_failure_interrupts_a_wait_of_any_rank_once);
    tcase_add_test(tcase, a_broken_message_is_refused);
    tcase_add_test(tcase, a_sender_without_credit_is_refused);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
