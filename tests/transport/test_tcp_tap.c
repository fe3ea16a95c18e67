/*
 * Tests sealed links with a tap between their ends. The tap is a proxy. It changes, drops, inserts,
 * repeats and swaps bytes at any place, and cuts connections. No changed message may come out, and
 * all must get through when the tap only passes bytes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "tcp_ends.h"
#include "tests/random.h"
#include "tests/suite.h"
#include "transport/tcp/internal.h"

#define TAP_LINKS 512
#define TAP_BYTES 8192

enum fault { FLIP, DROP, INSERT, REPEAT, SWAP, CUT, FAULTS };

/* The bytes of one direction that are not passed on yet. */
struct way {
    size_t begin, end;
    int64_t calm;  /* bytes until the next fault */
    size_t passed; /* bytes */
    unsigned char bytes[2 * TAP_BYTES];
};

struct tap_link {
    int fd[2]; /* of the connector and of the listener; -1: closed */
    struct way way[2];
};

static struct tap_link *links[TAP_LINKS];
static int link_count, listeners[2];
static struct ftc_tcp_endpoint true_endpoint[2];
static bool faulty;
static int64_t longest_calm;
/* Bytes of each direction of a connection that the tap passes on. It keeps the rest. */
static size_t limit[2];
static unsigned done[FAULTS];
static struct test_random random_state;

/* --- the tap --- */

static void set_nonblocking(int fd)
{
    ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

/* The tap listens in place of the rank. */
static void tap_in_front_of(int rank)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    ck_assert_int_eq(ftc_tcp_endpoint_parse(&true_endpoint[rank], tcp_endpoints[rank]), 0);
    listeners[rank] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listeners[rank], (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(listeners[rank], 64), 0);
    set_nonblocking(listeners[rank]);
    ck_assert_int_eq(getsockname(listeners[rank], (struct sockaddr *)&address, &size), 0);
    snprintf(tcp_endpoints[rank], sizeof(tcp_endpoints[rank]), "tcp:v1;127.0.0.1;%u",
             ntohs(address.sin_port));
}

static void tap_accept(int rank)
{
    int fd = accept(listeners[rank], NULL, NULL), on = 1;
    if (fd < 0)
        return;
    ck_assert_int_lt(link_count, TAP_LINKS);
    struct tap_link *link = links[link_count++] = calloc(1, sizeof(*link));
    link->fd[0] = fd;
    link->fd[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(link->fd[1], (struct sockaddr *)&true_endpoint[rank].address[0],
                             sizeof(struct sockaddr_in)),
                     0);
    for (int side = 0; side < 2; side++) {
        set_nonblocking(link->fd[side]);
        setsockopt(link->fd[side], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        link->way[side].calm = test_random_between(&random_state, 0, longest_calm);
    }
}

static void tap_cut(struct tap_link *link)
{
    for (int side = 0; side < 2; side++) {
        if (link->fd[side] >= 0)
            close(link->fd[side]);
        link->fd[side] = -1;
    }
}

/* Does one fault to the bytes that are under way, of which there are some. */
static void do_fault(struct tap_link *link, struct way *way)
{
    size_t there = way->end - way->begin;
    unsigned char *at = way->bytes + way->begin;
    size_t first = (size_t)test_random_between(&random_state, 0, (int64_t)there - 1);
    size_t count = (size_t)test_random_between(&random_state, 1, (int64_t)(there - first));
    enum fault fault = (enum fault)test_random_between(&random_state, 0, FAULTS - 1);
    done[fault]++;
    if (fault == FLIP) {
        at[first] ^= (unsigned char)(1u << test_random_between(&random_state, 0, 7));
    } else if (fault == DROP) {
        memmove(at + first, at + first + count, there - first - count);
        way->end -= count;
    } else if (fault == INSERT || fault == REPEAT) { /* there is room for as much again */
        memmove(at + first + count, at + first, there - first);
        if (fault == INSERT)
            memset(at + first, 0x5a, count);
        way->end += count;
    } else if (fault == SWAP && there >= 2) {
        unsigned char half[TAP_BYTES];
        memcpy(half, at, there / 2);
        memmove(at, at + there / 2, there - there / 2);
        memcpy(at + there - there / 2, half, there / 2);
    } else {
        tap_cut(link);
    }
}

static void tap_send(struct tap_link *link, int side)
{
    struct way *way = &link->way[side];
    size_t there = way->end - way->begin, left = limit[side] - way->passed;
    if (left == 0)
        return;
    ssize_t sent = send(link->fd[1 - side], way->bytes + way->begin, there < left ? there : left,
                        MSG_NOSIGNAL);
    if (sent > 0) {
        way->begin += (size_t)sent;
        way->passed += (size_t)sent;
    } else if (errno != EAGAIN) {
        tap_cut(link);
    }
}

static void tap_pass(struct tap_link *link, int side)
{
    struct way *way = &link->way[side];
    if (link->fd[0] < 0)
        return;
    if (way->begin == way->end) {
        way->begin = way->end = 0;
        ssize_t got = recv(link->fd[side], way->bytes, TAP_BYTES, 0);
        if (got == 0 || (got < 0 && errno != EAGAIN)) {
            tap_cut(link);
            return;
        }
        way->end = got > 0 ? (size_t)got : 0;
        way->calm -= got > 0 ? got : 0;
        if (got > 0 && faulty && way->calm < 0) {
            way->calm = test_random_between(&random_state, 0, longest_calm);
            do_fault(link, way);
        }
    }
    if (link->fd[0] >= 0 && way->begin < way->end)
        tap_send(link, side);
}

static void tap_turn(void)
{
    for (int rank = 0; rank < 2; rank++)
        tap_accept(rank);
    for (int i = 0; i < link_count; i++)
        for (int side = 0; side < 2; side++)
            tap_pass(links[i], side);
    if (link_count > 0 && links[link_count - 1]->fd[0] < 0)
        free(links[--link_count]);
}

/* --- the stories --- */

struct stream {
    int from, to;
    uint64_t sent, got;
    size_t sizes[600];
};

static void begin_with(enum ftc_tcp_seal seal)
{
    struct ftc_tcp_setup tcp = tcp_usual();
    tcp.seal = seal;
    tcp.user_timeout_ms = 400; /* for what was dropped at the end of a record */
    limit[0] = limit[1] = SIZE_MAX;
    random_state = test_random_start();
    for (int rank = 0; rank < 2; rank++) {
        tcp_join_as(rank, 2, &tcp);
        tap_in_front_of(rank);
    }
}

static void end(void)
{
    while (link_count > 0) {
        tap_cut(links[--link_count]);
        free(links[link_count]);
    }
    for (int rank = 0; rank < 2; rank++)
        close(listeners[rank]);
    tcp_leave_all();
}

static void stream_step(struct stream *stream, uint64_t total)
{
    if (stream->sent < total && stream->sent < stream->got + 10) {
        int64_t most = test_random_chance(&random_state, 10) ? 1 << 18 : 2000;
        stream->sizes[stream->sent] = (size_t)test_random_between(&random_state, 1, most);
        tcp_must_send(stream->from, stream->to, stream->sent, stream->sizes[stream->sent]);
        stream->sent++;
    }
    if (stream->got < stream->sent &&
        tcp_take(stream->to, stream->from, stream->got, stream->sizes[stream->got]))
        stream->got++;
}

static void turn_both(uint64_t deadline, const char *hope)
{
    tap_turn();
    tcp_turn();
    ck_assert_msg(test_clock_now() < deadline, "in vain: %s", hope);
}

static void turn_until_settled(void)
{
    uint64_t deadline = test_clock_now() + TCP_LOST_NS;
    while (!ftc_tcp_settled(tcp_end[0]) || !ftc_tcp_settled(tcp_end[1]))
        turn_both(deadline, "all is acknowledged");
}

static void take_from_0(uint64_t number, size_t size)
{
    uint64_t deadline = test_clock_now() + TCP_LOST_NS;
    while (!tcp_take(1, 0, number, size))
        turn_both(deadline, "the message comes");
}

/* Rank 0 connects, so its bytes go the way 0 of the tap's first link. */
static void connect_from_0(void)
{
    tcp_must_send(0, 1, 0, 100);
    take_from_0(0, 100);
    turn_until_settled();
}

/* Sends `total` messages each way. tcp_take() compares each byte. */
static void send_both_ways(uint64_t total, bool until_done)
{
    struct stream there = {.from = 0, .to = 1}, back = {.from = 1, .to = 0};
    uint64_t deadline = test_clock_now() + 3 * TCP_LOST_NS;
    while (there.got < total || back.got < total) {
        tap_turn();
        tcp_turn();
        stream_step(&there, total);
        stream_step(&back, total);
        if (!until_done && there.sent == total && back.sent == total)
            faulty = false;
        ck_assert_msg(test_clock_now() < deadline, "%llu and %llu of %llu came",
                      (unsigned long long)there.got, (unsigned long long)back.got,
                      (unsigned long long)total);
    }
    turn_until_settled();
    ck_assert(!tcp_take(0, 1, 0, 0) && !tcp_take(1, 0, 0, 0));
}

static const enum ftc_tcp_seal kinds[] = {FTC_TCP_SEAL_AUTHENTICATE, FTC_TCP_SEAL_ENCRYPT};

START_TEST(no_fault_changes_a_message_and_all_get_through)
{
    begin_with(kinds[_i]);
    faulty = true;
    longest_calm = 200000;
    send_both_ways(600, false);
    for (int fault = 0; fault < FAULTS; fault++)
        ck_assert_msg(done[fault] > 0, "no fault of kind %d was drawn", fault);
    ck_assert_uint_gt(
        ftc_tcp_count(tcp_end[0], FTC_TCP_FORGED) + ftc_tcp_count(tcp_end[1], FTC_TCP_FORGED), 0);
    end();
}
END_TEST

/* Most connections end in their handshake or at their first record. */
START_TEST(faults_at_every_few_bytes_are_a_cut)
{
    begin_with(kinds[_i]);
    faulty = true;
    longest_calm = 300;
    struct stream there = {.from = 0, .to = 1};
    uint64_t until = test_clock_now() + 2 * FTC_NS_PER_S;
    while (test_clock_now() < until) {
        tap_turn();
        tcp_turn();
        stream_step(&there, 10);
    }
    faulty = false;
    while (there.got < 10) {
        tap_turn();
        tcp_turn();
        stream_step(&there, 10);
        ck_assert_msg(test_clock_now() < until + TCP_LOST_NS, "%llu came",
                      (unsigned long long)there.got);
    }
    end();
}
END_TEST

/* Without a seal such a tap closes the channel for good, or worse. So it is the seal that helps. */
START_TEST(a_tap_that_only_passes_on_breaks_nothing)
{
    begin_with(_i < 2 ? kinds[_i] : FTC_TCP_SEAL_OFF);
    faulty = false;
    longest_calm = 1;
    send_both_ways(100, true);
    ck_assert_uint_eq(ftc_tcp_count(tcp_end[0], FTC_TCP_BROKEN), 0);
    ck_assert_uint_eq(ftc_tcp_count(tcp_end[1], FTC_TCP_BROKEN), 0);
    end();
}
END_TEST

/* A peer whose first record never comes through is as unreachable as one that is cut off. */
START_TEST(a_peer_whose_records_are_changed_is_unreachable)
{
    begin_with(kinds[_i]);
    faulty = true;
    longest_calm = 0;
    uint64_t deadline = test_clock_now() + TCP_LOST_NS;
    tcp_must_send(0, 1, 1, 100);
    while (tcp_broken_since(0, 1) == 0 || ftc_clock_now() - tcp_broken_since(0, 1) < FTC_NS_PER_S) {
        tap_turn();
        tcp_turn();
        ck_assert_msg(test_clock_now() < deadline, "it never counted as unreachable");
    }
    end();
}
END_TEST

/* No byte counts before the tag of its record was checked, also where the record is read to the
 * place of its message (rule S7). */
START_TEST(bytes_without_their_tag_do_not_count)
{
    enum {
        HEAD = 100,
        FIRST = FTC_TCP_HEADER_SIZE + HEAD,
        FRAME = 16,
        RECORD = 65536,
        PART = 30000
    };
    begin_with(kinds[_i]);
    connect_from_0();
    uint64_t deadline = test_clock_now() + TCP_LOST_NS;
    const struct ftc_tcp_peer *sender = ftc_tcp_known((struct ftc_tcp *)tcp_end[1], 0);
    struct way *way = &links[0]->way[0];
    limit[0] = way->passed + FIRST + FRAME + RECORD + FRAME + PART;
    tcp_must_send(0, 1, 1, 1 << 20);
    while (way->passed < limit[0] || sender->coming == NULL || sender->used < HEAD + RECORD)
        turn_both(deadline, "a record and a half come");
    for (int i = 0; i < 100; i++)
        turn_both(deadline, "");
    ck_assert_uint_eq(sender->used, HEAD + RECORD);
    way->bytes[way->begin] ^= 1;
    limit[0] = SIZE_MAX;
    take_from_0(1, 1 << 20);
    ck_assert_uint_eq(ftc_tcp_count(tcp_end[1], FTC_TCP_FORGED), 1);
    end();
}
END_TEST

/* The part came with the record before it, in one read (rule S9). */
START_TEST(the_rest_of_a_record_is_awaited_only_for_a_time)
{
    begin_with(kinds[_i]);
    connect_from_0();
    uint64_t deadline = test_clock_now() + TCP_LOST_NS;
    struct way *way = &links[0]->way[0];
    limit[0] = way->passed;
    tcp_must_send(0, 1, 1, 100);
    tcp_must_send(0, 1, 2, 100);
    tap_turn();
    limit[0] += (way->end - way->begin) / 2 + 20;
    while (tcp_broken_since(1, 0) == 0)
        turn_both(deadline, "the link is given up");
    limit[0] = SIZE_MAX;
    take_from_0(1, 100);
    take_from_0(2, 100);
    end();
}
END_TEST

/* So it is where a rank reads the messages of one peer one by one, and leaves the rest. */
START_TEST(the_rest_of_a_record_behind_an_expected_one_is_awaited_only_for_a_time)
{
    enum { MORE = FTC_TCP_HEADER_SIZE + 16 }; /* bytes of a record with one message */
    begin_with(kinds[_i]);
    connect_from_0();
    tcp_must_send(0, 1, 1, 400);
    take_from_0(1, 400);
    turn_until_settled();
    uint64_t deadline = ftc_clock_now() + TCP_LOST_NS;
    const struct way *way = &links[0]->way[0];
    limit[0] = way->passed + 100 + MORE + 100;
    tcp_must_send(0, 1, 2, 100);
    tcp_must_send(0, 1, 3, 1000); /* of which some bytes come */
    while (way->passed < limit[0]) {
        tap_turn();
        ck_assert_msg(ftc_clock_now() < deadline, "the tap passes nothing on");
    }
    ftc_transport_tcp.expect(tcp_end[1], 0);
    while (!tcp_take(1, 0, 2, 100))
        ck_assert_msg(ftc_clock_now() < deadline, "the message does not come");
    ftc_transport_tcp.expect(tcp_end[1], -1);
    while (tcp_broken_since(1, 0) == 0)
        turn_both(deadline, "the link is given up");
    limit[0] = SIZE_MAX;
    take_from_0(3, 1000);
    end();
}
END_TEST

/* The tap passes the handshake and the listener's first record, so the link is proven each time.
 * Nothing that waits gets through (rule S8). */
START_TEST(a_peer_whose_links_break_after_their_first_record_is_unreachable)
{
    begin_with(kinds[_i]);
    limit[0] = FTC_TCP_HELLO_SIZE + FTC_TCP_PROOF_BYTES;
    limit[1] = FTC_TCP_ANSWER_SIZE + FTC_TCP_VERDICT_SIZE + 16 + FTC_TCP_HEADER_SIZE;
    uint64_t deadline = test_clock_now() + TCP_LOST_NS;
    tcp_must_send(0, 1, 0, 100);
    while (ftc_transport_tcp.unreachable(tcp_end[0], 0, ftc_clock_now() - FTC_NS_PER_S) < 0) {
        turn_both(deadline, "it counts as unreachable");
        for (int i = 0; i < link_count; i++)
            if (links[i]->fd[0] >= 0 && links[i]->way[1].passed == limit[1]) {
                tcp_turn(); /* rank 0 opens the record */
                tap_cut(links[i]);
            }
    }
    limit[0] = limit[1] = SIZE_MAX;
    take_from_0(0, 100);
    turn_until_settled();
    ck_assert_uint_eq(tcp_broken_since(0, 1), 0);
    end();
}
END_TEST

static void swallow(struct way *way, size_t bytes)
{
    uint64_t deadline = test_clock_now() + TCP_LOST_NS;
    while (bytes > 0) {
        size_t there = way->end - way->begin, step = there < bytes ? there : bytes;
        way->begin += step;
        bytes -= step;
        turn_both(deadline, "the tap gets the bytes that it swallows");
    }
}

/* The socket of the sender is full amid the last record, so no record follows it at once. The tap
 * swallows the whole of this record (rule S9). */
START_TEST(a_last_record_that_is_swallowed_is_noticed_by_the_next_one)
{
    enum {
        SIZE = 60000,
        HEAD = 100,
        FRAME = 16,
        VALUE = SIZE - HEAD + FRAME,
        BYTES = FTC_TCP_HEADER_SIZE + HEAD + FRAME + VALUE
    };
    begin_with(kinds[_i]);
    connect_from_0();
    const struct ftc_tcp_peer *receiver = ftc_tcp_known((struct ftc_tcp *)tcp_end[0], 1);
    struct way *way = &links[0]->way[0];
    uint64_t last = 0;
    limit[0] = way->passed;
    while (!receiver->link->blocked)
        tcp_must_send(0, 1, ++last, SIZE);
    tcp_turn();
    ck_assert(receiver->link->blocked);
    limit[0] += last * BYTES - VALUE;
    for (uint64_t number = 1; number < last; number++)
        take_from_0(number, SIZE);
    uint64_t deadline = test_clock_now() + TCP_LOST_NS;
    while (way->passed < limit[0])
        turn_both(deadline, "the tap passes all but the last record");
    swallow(way, VALUE);
    limit[0] = SIZE_MAX;
    take_from_0(last, SIZE);
    ck_assert_uint_eq(ftc_tcp_count(tcp_end[1], FTC_TCP_FORGED), 1);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport/tcp tap");
    TCase *tcase = tcase_create("tap");
    tcase_add_loop_test(tcase, no_fault_changes_a_message_and_all_get_through, 0, 2);
    tcase_add_loop_test(tcase, faults_at_every_few_bytes_are_a_cut, 0, 2);
    tcase_add_loop_test(tcase, a_tap_that_only_passes_on_breaks_nothing, 0, 3);
    tcase_add_loop_test(tcase, a_peer_whose_records_are_changed_is_unreachable, 0, 2);
    tcase_add_loop_test(tcase, bytes_without_their_tag_do_not_count, 0, 2);
    tcase_add_loop_test(tcase, the_rest_of_a_record_is_awaited_only_for_a_time, 0, 2);
    tcase_add_loop_test(
        tcase, the_rest_of_a_record_behind_an_expected_one_is_awaited_only_for_a_time, 0, 2);
    tcase_add_loop_test(tcase, a_peer_whose_links_break_after_their_first_record_is_unreachable, 0,
                        2);
    tcase_add_loop_test(tcase, a_last_record_that_is_swallowed_is_noticed_by_the_next_one, 0, 2);
    suite_add_tcase(suite, tcase);
    test_seed_announce();
    return test_suite_run(suite);
}
