/* Conformance of a transport: every size, order, queues, closed peers, a truthful ready(), deaths,
 * sleeping. */
#include "transport_suite.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "tests/node/scratch.h"
#include "tests/random.h"
#include "tests/suite.h"

#define RANKS   8
#define LOST_NS (20 * FTC_NS_PER_S)

static const struct transport_kit *kit;
static const struct ftc_transport_ops *tested;
static struct scratch_job job;

/* The end of one rank. Several ends may live in one process. */
struct end {
    struct ftc_segment *segment;
    struct ftc_bell bell;
    struct ftc_transport *transport;
};
static struct end ends[RANKS];

static void join(int rank)
{
    struct end *end = &ends[rank];
    ck_assert_msg(ftc_segment_attach(&end->segment, job.name, true) == 0, "%s", ftc_last_error());
    ck_assert_msg(ftc_bell_open(&end->bell, end->segment, rank) == 0, "%s", ftc_last_error());
    struct ftc_transport_setup setup = {
        .ranks = RANKS, .self = rank, .segment = end->segment, .bell = &end->bell};
    int rc = kit->open != NULL ? kit->open(&end->transport, &setup, job.directory)
                               : tested->open(&end->transport, &setup);
    ck_assert_msg(rc == 0, "%s", ftc_last_error());
}

static void leave(int rank)
{
    struct end *end = &ends[rank];
    if (end->transport == NULL)
        return;
    tested->close(end->transport);
    ftc_bell_close(&end->bell);
    ftc_segment_detach(end->segment);
    *end = (struct end){.bell = {.fd = -1}};
}

static void setup_job(void)
{
    const struct ftc_segment_spec spec = {.ranks = RANKS, .endpoints = true};
    if (kit->endpoints)
        scratch_job_make_as(&job, &spec);
    else
        scratch_job_make(&job, RANKS);
}

static void setup_all(void)
{
    setup_job();
    for (int rank = 0; rank < RANKS; rank++)
        join(rank);
}

static void teardown(void)
{
    for (int rank = 0; rank < RANKS; rank++)
        leave(rank);
    scratch_job_remove(&job);
}

/* --- messages: 8 bytes of number, 8 of length, then bytes that follow from the number --- */

#define HEAD_BYTES 16

static unsigned char byte_of(uint64_t number, size_t at)
{
    return (unsigned char)((number + at) * 0x9e3779b97f4a7c15ull >> 56);
}

static struct ftc_buffer *make_part(uint64_t number, size_t total, size_t from, size_t size)
{
    struct ftc_buffer *part = ftc_buffer_new(size);
    ck_assert_ptr_nonnull(part);
    for (size_t i = 0; i < size; i++)
        part->data[i] = byte_of(number, from + i);
    if (from == 0) {
        uint64_t words[2] = {number, total};
        memcpy(part->data, words, sizeof(words));
    }
    return part;
}

/* Half of the short messages try this way. */
static bool send_in_pieces(int from, int to, uint64_t number, size_t size, bool urgent)
{
    if (tested->send_pieces == NULL || number % 2 == 0 || size > 300)
        return false;
    struct ftc_buffer *bytes = make_part(number, size, 0, size);
    size_t first = (size_t)number % size;
    struct ftc_pieces pieces = {bytes->data, bytes->data + first, first, size - first};
    bool sent = tested->send_pieces(ends[from].transport, to, &pieces, urgent);
    ftc_buffer_unref(bytes);
    return sent;
}

/* Sends a message of `size` bytes. The bytes past the first 64 go as a value inside a larger
 * buffer. */
static int send_message(int from, int to, uint64_t number, size_t size, bool urgent)
{
    size_t head_size = size < 64 ? size : 64;
    if (send_in_pieces(from, to, number, size, urgent))
        return 0;
    struct ftc_buffer *head = make_part(number, size, 0, head_size);
    struct ftc_value value = {0};
    if (size > head_size) {
        value.buffer = make_part(number, size, head_size - 3, size - head_size + 3);
        value.offset = 3;
        value.size = size - head_size;
    }
    int rc = tested->send(ends[from].transport, to, head, &value, urgent);
    ftc_buffer_unref(head);
    ftc_buffer_unref(value.buffer);
    return rc;
}

static void must_send(int from, int to, uint64_t number, size_t size)
{
    ck_assert_msg(send_message(from, to, number, size, true) == 0, "%s", ftc_last_error());
}

/* Checks a message and frees it. Returns its number. */
static uint64_t open_message(struct ftc_buffer *message)
{
    uint64_t words[2];
    ck_assert_uint_ge(message->size, HEAD_BYTES);
    memcpy(words, message->data, sizeof(words));
    ck_assert_uint_eq(words[1], message->size);
    for (size_t i = HEAD_BYTES; i < message->size; i++)
        if (message->data[i] != byte_of(words[0], i))
            ck_abort_msg("message %llu differs at byte %zu", (unsigned long long)words[0], i);
    ftc_buffer_unref(message);
    return words[0];
}

/* Takes one message, or returns -1 if there is none. */
static int64_t take(int rank, int *from)
{
    struct ftc_buffer *message;
    int rc = tested->receive(ends[rank].transport, from, &message);
    ck_assert_msg(rc >= 0, "%s", ftc_last_error());
    return rc == 1 ? (int64_t)open_message(message) : -1;
}

static bool flush(int rank)
{
    bool idle = false;
    ck_assert_int_eq(tested->flush(ends[rank].transport, &idle), 0);
    return idle;
}

/* Flushes both until nothing of `sender` is queued. */
static void until_idle(int sender, int receiver)
{
    uint64_t deadline = ftc_clock_now() + LOST_NS;
    while (!flush(sender)) {
        flush(receiver);
        ck_assert_msg(ftc_clock_now() < deadline, "what is queued does not go out");
    }
}

/* The same, and then, where that is not enough, until `receiver` has it. */
static void until_there(int sender, int receiver)
{
    uint64_t deadline = ftc_clock_now() + LOST_NS;
    until_idle(sender, receiver);
    while (kit->settled != NULL && !kit->settled(ends[sender].transport)) {
        flush(sender);
        flush(receiver);
        ck_assert_msg(ftc_clock_now() < deadline, "what went out does not arrive");
    }
}

/* Flushes `sender` and takes from `receiver` until a message is complete. */
static uint64_t pump(int sender, int receiver)
{
    int from = -1;
    uint64_t deadline = ftc_clock_now() + LOST_NS;
    for (;;) {
        int64_t number = take(receiver, &from);
        if (number >= 0) {
            ck_assert_int_eq(from, sender);
            return (uint64_t)number;
        }
        flush(sender);
        ck_assert_msg(ftc_clock_now() < deadline, "the message does not come");
    }
}

/* --- stories --- */

START_TEST(every_size_arrives_whole)
{
    static const size_t sizes[] = {16,    64,    65,    100,    3900,    3951,
                                   3952,  3953,  3968,  4096,   10000,   61423,
                                   61424, 61425, 65536, 200000, 1 << 20, 4 << 20};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (uint64_t again = 0; again < 3; again++) {
            must_send(0, 1, 10 * i + again, sizes[i]);
            ck_assert_uint_eq(pump(0, 1), 10 * i + again);
        }
    ck_assert(flush(0));
}
END_TEST

START_TEST(messages_stay_in_order)
{
    struct test_random random = test_random_start();
    uint64_t sent = 0, got = 0;
    while (got < 3000) {
        for (int64_t burst = test_random_between(&random, 0, 20); burst > 0 && sent < 3000;
             burst--) {
            int64_t most = test_random_chance(&random, 5) ? 100000 : 300;
            must_send(2, 5, sent++, (size_t)test_random_between(&random, HEAD_BYTES, most));
        }
        for (int64_t burst = test_random_between(&random, 0, 20); burst > 0 && got < sent; burst--)
            ck_assert_uint_eq(pump(2, 5), got++);
    }
}
END_TEST

START_TEST(all_pairs_talk_at_once)
{
    uint64_t next[RANKS][RANKS] = {0};
    int missing = RANKS * (RANKS - 1) * 10;
    for (uint64_t number = 0; number < 10; number++)
        for (int from = 0; from < RANKS; from++)
            for (int to = 0; to < RANKS; to++)
                if (from != to)
                    must_send(from, to, number, 64 + (size_t)(number * 2000));
    uint64_t deadline = ftc_clock_now() + LOST_NS;
    while (missing > 0 && ftc_clock_now() < deadline)
        for (int rank = 0; rank < RANKS; rank++) {
            int from;
            flush(rank);
            for (int64_t number = take(rank, &from); number >= 0; number = take(rank, &from)) {
                ck_assert_uint_eq((uint64_t)number, next[from][rank]++);
                missing--;
            }
        }
    ck_assert_int_eq(missing, 0);
    for (int rank = 0; rank < RANKS; rank++)
        ck_assert(flush(rank));
}
END_TEST

START_TEST(what_finds_no_room_waits_in_order)
{
    for (uint64_t number = 0; number < 500; number++)
        must_send(0, 1, number, 3000);
    ck_assert(!flush(0));
    ck_assert(!tested->ready(ends[0].transport));     /* no room, so nothing to do */
    ck_assert(!send_in_pieces(0, 1, 501, 100, true)); /* nothing overtakes what waits */
    for (uint64_t number = 0; number < 500; number++)
        ck_assert_uint_eq(pump(0, 1), number);
    ck_assert(flush(0));
    int from;
    ck_assert_int_eq(take(1, &from), -1);
}
END_TEST

START_TEST(nobody_is_starved_by_a_loud_peer)
{
    int from, first = -1, quiet = -1;
    for (uint64_t number = 0; number < 20; number++)
        must_send(0, 2, number, 100);
    must_send(1, 2, 0, 100);
    until_there(0, 2);
    until_there(1, 2);
    for (int taken = 0; taken < 21; taken++) {
        ck_assert_int_ge(take(2, &from), 0);
        if (taken == 0)
            first = from;
        if (from == 1)
            quiet = taken;
    }
    ck_assert_int_ge(first, 0);
    ck_assert_int_le(quiet, 1);
}
END_TEST

START_TEST(a_closed_peer_costs_nothing_more)
{
    int from;
    must_send(1, 0, 77, 100);
    until_there(1, 0);
    for (uint64_t number = 0; number < 100; number++)
        must_send(0, 1, number, 10000);
    must_send(0, 2, 5, 100);
    ck_assert(!kit->rings || !flush(0));
    tested->close_peer(ends[0].transport, 1);
    tested->close_peer(ends[0].transport, 1);
    tested->close_peer(ends[0].transport, 3); /* the two ranks never met */
    until_idle(0, 2);
    ck_assert(!send_in_pieces(0, 1, 1001, 100, true));
    must_send(0, 1, 1000, 1 << 20);
    must_send(0, 3, 1000, 1 << 20);
    ck_assert(flush(0));
    ck_assert_int_eq(take(0, &from), 77); /* it was sent before */
    ck_assert_uint_eq(pump(0, 2), 5);     /* the other ranks are not touched */
}
END_TEST

START_TEST(ready_tells_the_truth)
{
    int from;
    struct ftc_transport *sender = ends[0].transport, *receiver = ends[1].transport;
    ck_assert(!tested->ready(sender) && !tested->ready(receiver));
    must_send(0, 1, 1, 100);
    ck_assert(!tested->ready(sender) && tested->ready(receiver));
    ck_assert_int_eq(take(1, &from), 1);
    ck_assert_int_eq(take(1, &from), -1);
    ck_assert(!tested->ready(receiver));
    must_send(0, 1, 2, 1 << 20);
    must_send(0, 1, 3, 100);
    ck_assert(!tested->ready(sender));
    ck_assert(tested->ready(receiver));
    ck_assert_int_eq(take(1, &from), -1); /* only a part, but taking it made room */
    ck_assert(tested->ready(sender) && !tested->ready(receiver));
    ck_assert_uint_eq(pump(0, 1), 2);
    ck_assert_uint_eq(pump(0, 1), 3);
    flush(0);
    ck_assert_int_eq(take(1, &from), -1);
    ck_assert(!tested->ready(sender) && !tested->ready(receiver));
}
END_TEST

START_TEST(the_caller_may_drop_his_references_and_overwrite_nothing)
{
    struct ftc_buffer *head = make_part(9, 300000, 0, 300000);
    ck_assert_int_eq(tested->send(ends[0].transport, 1, head, NULL, false), 0);
    ck_assert_int_eq(head->references, 2); /* the message is queued */
    ck_assert_int_eq(tested->send(ends[0].transport, 2, head, NULL, false), 0);
    ck_assert_int_eq(head->references, 3);
    ck_assert_uint_eq(pump(0, 1), 9);
    uint64_t deadline = ftc_clock_now() + LOST_NS;
    while (head->references > 2 && ftc_clock_now() < deadline) {
        flush(0);
        flush(1);
    }
    ck_assert_int_eq(head->references, 2);
    tested->close_peer(ends[0].transport, 2);
    ck_assert_int_eq(head->references, 1);
    ftc_buffer_unref(head);
}
END_TEST

/* --- processes of their own --- */

/* Sleeps until there is something to do. Returns false if a wake-up was lost. */
static bool doze(int rank)
{
    struct end *end = &ends[rank];
    uint64_t before = ftc_clock_now();
    uint32_t expected = ftc_bell_prepare(&end->bell);
    int fd = tested->descriptor(end->transport);
    bool ready = tested->ready(end->transport);
    if (!ready && fd >= 0)
        poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, (int)(LOST_NS / FTC_NS_PER_MS));
    else if (!ready)
        ftc_bell_sleep(&end->bell, expected, LOST_NS, -1, -1);
    ftc_bell_awake(&end->bell);
    return ftc_clock_now() - before < LOST_NS;
}

/* Is nothing queued, so that the end may leave? */
static bool settled(int rank)
{
    return flush(rank) && (kit->settled == NULL || kit->settled(ends[rank].transport));
}

#define TALK 3000

/* Sends TALK messages to the other end and takes as many, asleep in between. */
static int talk(void *arg)
{
    int self = *(int *)arg, other = 1 - self, from;
    struct test_random random = test_random_start();
    random.state += (uint64_t)self;
    join(self);
    uint64_t sent = 0, got = 0;
    while (sent < TALK || got < TALK || !settled(self)) {
        bool moved = false;
        if (sent < TALK && sent < got + 8) {
            int64_t most = test_random_chance(&random, 3) ? 1 << 20 : 500;
            if (send_message(self, other, sent++,
                             (size_t)test_random_between(&random, HEAD_BYTES, most), false) != 0)
                return 1;
            moved = true;
        }
        flush(self);
        int64_t number = take(self, &from);
        if (number >= 0 && (uint64_t)number != got++)
            return 2;
        if (number < 0 && !moved && (sent < TALK || got < TALK || !settled(self)) && !doze(self))
            return 3;
    }
    leave(self);
    return 0;
}

START_TEST(two_processes_talk_and_sleep)
{
    int ranks[2] = {0, 1};
    pid_t one = scratch_fork(talk, &ranks[0]), other = scratch_fork(talk, &ranks[1]);
    scratch_wait_success(one);
    scratch_wait_success(other);
}
END_TEST

static int flood(void *arg)
{
    (void)arg;
    join(1);
    for (uint64_t number = 0;; number++) {
        if (send_message(1, 0, number, number % 3 == 0 ? 4 << 20 : 1000, true) != 0)
            return 1;
        while (!flush(1))
            if (!doze(1))
                return 2;
    }
}

START_TEST(a_peer_killed_in_a_message_leaves_whole_ones)
{
    struct test_random random = test_random_start();
    random.state += (uint64_t)_i;
    int from, status = 0;
    uint64_t next = 0;
    join(0);
    pid_t child = scratch_fork(flood, NULL);
    uint64_t moment = ftc_clock_now() + (uint64_t)test_random_between(&random, 0, 30000000);
    bool killed = false;
    while (waitpid(child, &status, WNOHANG) == 0) {
        int64_t number = take(0, &from);
        if (number >= 0)
            ck_assert_uint_eq((uint64_t)number, next++);
        if (!killed && ftc_clock_now() >= moment)
            killed = kill(child, SIGKILL) == 0;
    }
    ck_assert(WIFSIGNALED(status));
    tested->close_peer(ends[0].transport, 1);
    do {
        for (int64_t number = take(0, &from); number >= 0; number = take(0, &from))
            ck_assert_uint_eq((uint64_t)number, next++);
    } while (tested->ready(ends[0].transport));
    must_send(0, 1, 0, 100);
    ck_assert(flush(0));
}
END_TEST

int transport_suite_run(const struct transport_kit *given)
{
    kit = given;
    tested = given->ops;
    for (int rank = 0; rank < RANKS; rank++)
        ends[rank].bell.fd = -1;
    Suite *suite = suite_create(tested->name);
    TCase *local = tcase_create("in one process");
    tcase_set_timeout(local, 300);
    tcase_add_checked_fixture(local, setup_all, teardown);
    tcase_add_test(local, every_size_arrives_whole);
    tcase_add_test(local, messages_stay_in_order);
    tcase_add_test(local, all_pairs_talk_at_once);
    if (kit->rings) {
        tcase_add_test(local, what_finds_no_room_waits_in_order);
        tcase_add_test(local, ready_tells_the_truth);
    }
    tcase_add_test(local, nobody_is_starved_by_a_loud_peer);
    tcase_add_test(local, a_closed_peer_costs_nothing_more);
    tcase_add_test(local, the_caller_may_drop_his_references_and_overwrite_nothing);
    suite_add_tcase(suite, local);
    TCase *forked = tcase_create("processes");
    tcase_set_timeout(forked, 300);
    tcase_add_checked_fixture(forked, setup_job, teardown);
    tcase_add_test(forked, two_processes_talk_and_sleep);
    tcase_add_loop_test(forked, a_peer_killed_in_a_message_leaves_whole_ones, 0, 20);
    suite_add_tcase(suite, forked);
    return scratch_run(suite);
}
