/* Stories of the TCP transport: meeting, breaking, strangers, floods, deaths. All over loopback. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/error.h"
#include "tests/node/scratch.h"
#include "tests/random.h"
#include "tests/suite.h"
#include "transport/tcp_inside.h"

#define RANKS   3
#define LOST_NS (30 * FTC_NS_PER_S)

static const struct ftc_transport_ops *ops = &ftc_transport_tcp;
static const unsigned char secret[] = "a secret of 32 bytes, or nearly.";
static struct ftc_transport *end[RANKS];
static char endpoints[RANKS][FTC_TCP_ENDPOINT_SIZE];

static const char *look_up(void *context, int rank)
{
    (void)context;
    return endpoints[rank][0] != '\0' ? endpoints[rank] : NULL;
}

static struct ftc_tcp_setup usual(void)
{
    return (struct ftc_tcp_setup){
        .job = "1234.1", .secret = secret, .secret_size = 32, .address = "127.0.0.1", .endpoint = look_up};
}

static void join_as(int rank, const struct ftc_tcp_setup *tcp)
{
    struct ftc_transport_setup setup = {.ranks = RANKS, .self = rank, .tcp = tcp};
    ck_assert_msg(ops->open(&end[rank], &setup) == 0, "%s", ftc_last_error());
    snprintf(endpoints[rank], sizeof(endpoints[rank]), "%s", ftc_tcp_endpoint(end[rank]));
}

static void join(int rank)
{
    struct ftc_tcp_setup tcp = usual();
    join_as(rank, &tcp);
}

static void leave(int rank)
{
    if (end[rank] != NULL)
        ops->close(end[rank]);
    end[rank] = NULL;
}

static void setup(void)
{
    join(0);
    join(1);
}

static void teardown(void)
{
    for (int rank = 0; rank < RANKS; rank++)
        leave(rank);
}

/* --- messages: 8 bytes of number, then bytes that follow from it; shorter ones are cut --- */

static unsigned char byte_of(uint64_t number, size_t at)
{
    return (unsigned char)(number * 31 + at * 7 + (at >> 8));
}

static int try_send(int from, int to, uint64_t number, size_t size)
{
    size_t head_size = size < 100 ? size : 100;
    struct ftc_buffer *head = ftc_buffer_new(head_size), *rest = ftc_buffer_new(size - head_size);
    for (size_t i = 0; i < head_size; i++)
        head->data[i] = byte_of(number, i);
    for (size_t i = head_size; i < size; i++)
        rest->data[i - head_size] = byte_of(number, i);
    struct ftc_value value = {.buffer = rest, .size = size - head_size};
    int rc = ops->send(end[from], to, head, &value, true);
    ftc_buffer_unref(head);
    ftc_buffer_unref(rest);
    return rc;
}

static void must_send(int from, int to, uint64_t number, size_t size)
{
    ck_assert_msg(try_send(from, to, number, size) == 0, "%s", ftc_last_error());
}

static void assert_message(const struct ftc_buffer *message, uint64_t number, size_t size)
{
    size_t head = size < 100 ? size : 100, gap = size > head ? ftc_value_offset(head) - head : 0;
    ck_assert_uint_eq(message->size, size + gap);
    for (size_t i = 0; i < size; i++)
        if (message->data[i < head ? i : i + gap] != byte_of(number, i))
            ck_abort_msg("message %llu differs at byte %zu", (unsigned long long)number, i);
}

/* The next message of `rank` must be this one, if there is any. */
static bool take(int rank, int sender, uint64_t number, size_t size)
{
    struct ftc_buffer *message;
    int from = -1, rc = ops->receive(end[rank], &from, &message);
    ck_assert_msg(rc >= 0, "%s", ftc_last_error());
    if (rc == 0)
        return false;
    ck_assert_int_eq(from, sender);
    assert_message(message, number, size);
    ftc_buffer_unref(message);
    return true;
}

static void turn(void)
{
    bool idle;
    for (int rank = 0; rank < RANKS; rank++)
        if (end[rank] != NULL)
            ck_assert_int_eq(ops->flush(end[rank], &idle), 0);
}

#define WAIT_UNTIL(condition)                                                                                \
    do {                                                                                                     \
        uint64_t deadline_ = ftc_clock_now() + LOST_NS;                                                      \
        while (!(condition)) {                                                                               \
            turn();                                                                                          \
            ck_assert_msg(ftc_clock_now() < deadline_, "in vain: %s", #condition);                           \
        }                                                                                                    \
    } while (0)

static void expect(int rank, int sender, uint64_t number, size_t size)
{
    WAIT_UNTIL(take(rank, sender, number, size));
}

/* The job goes on: both ways, between 0 and 1. */
static void assert_goes_on(void)
{
    must_send(0, 1, 1001, 5000);
    must_send(1, 0, 1002, 50);
    expect(1, 0, 1001, 5000);
    expect(0, 1, 1002, 50);
}

/* --- meeting --- */

START_TEST(both_connect_at_once)
{
    for (uint64_t round = 0; round < 30; round++) {
        teardown();
        setup();
        for (uint64_t number = 0; number < 5; number++) {
            must_send(0, 1, number, 1 + (size_t)number * 1000);
            must_send(1, 0, number, 1 + (size_t)number * 3000);
        }
        for (uint64_t number = 0; number < 5; number++) {
            expect(1, 0, number, 1 + (size_t)number * 1000);
            expect(0, 1, number, 1 + (size_t)number * 3000);
        }
        WAIT_UNTIL(ftc_tcp_settled(end[0]) && ftc_tcp_settled(end[1]));
        ck_assert(!take(0, 1, 0, 0) && !take(1, 0, 0, 0));
    }
}
END_TEST

START_TEST(an_endpoint_that_is_known_late_is_found)
{
    char known[FTC_TCP_ENDPOINT_SIZE];
    memcpy(known, endpoints[1], sizeof(known));
    endpoints[1][0] = '\0';
    must_send(0, 1, 1, 10);
    WAIT_UNTIL(ftc_tcp_count(end[0], FTC_TCP_UNREACHABLE) >= 2);
    ck_assert_uint_ne(ftc_tcp_broken_since(end[0], 1), 0);
    memcpy(endpoints[1], known, sizeof(known));
    expect(1, 0, 1, 10);
    ck_assert_uint_eq(ftc_tcp_broken_since(end[0], 1), 0);
}
END_TEST

START_TEST(the_next_address_is_tried)
{
    char first[FTC_TCP_ENDPOINT_SIZE];
    const char *port = strrchr(endpoints[1], ';');
    snprintf(first, sizeof(first), "tcp:v1;127.0.0.77,127.0.0.1%s", port); /* nobody listens at the first */
    memcpy(endpoints[1], first, sizeof(first));
    must_send(0, 1, 1, 10);
    expect(1, 0, 1, 10);
    ck_assert_uint_eq(ftc_tcp_count(end[0], FTC_TCP_UNREACHABLE), 1);
}
END_TEST

START_TEST(ipv6_and_all_addresses_work)
{
    static const char *const addresses[] = {"::1", NULL, "lo"};
    struct ftc_tcp_setup tcp = usual();
    int probe = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool possible = probe >= 0 && bind(probe, (struct sockaddr *)&loopback, sizeof(loopback)) == 0;
    close(probe);
    if (_i == 0 && !possible)
        return; /* this machine has no IPv6 */
    tcp.address = addresses[_i];
    teardown();
    join_as(0, &tcp);
    join_as(1, &tcp);
    assert_goes_on();
}
END_TEST

START_TEST(a_port_of_the_range_is_taken)
{
    struct ftc_tcp_endpoint first, second;
    ck_assert_int_eq(ftc_tcp_endpoint_parse(&first, endpoints[0]), 0);
    struct ftc_tcp_setup tcp = usual();
    tcp.port = ftc_tcp_address_port(&first.address[0]);
    tcp.port_last = tcp.port;
    struct ftc_transport_setup given = {.ranks = RANKS, .self = 2, .tcp = &tcp};
    ck_assert_int_eq(ops->open(&end[2], &given), FTC_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "wider range"));
    tcp.port_last = tcp.port + 100 < 65535 ? tcp.port + 100 : 65535;
    join_as(2, &tcp);
    ck_assert_int_eq(ftc_tcp_endpoint_parse(&second, endpoints[2]), 0);
    ck_assert_uint_gt(ftc_tcp_address_port(&second.address[0]), tcp.port);
    ck_assert_uint_le(ftc_tcp_address_port(&second.address[0]), tcp.port_last);
}
END_TEST

START_TEST(a_setup_that_cannot_be_is_refused)
{
    struct ftc_tcp_setup tcp = usual();
    struct ftc_transport_setup given = {.ranks = RANKS, .self = 2, .tcp = &tcp};
    tcp.secret_size = 15;
    ck_assert_int_eq(ops->open(&end[2], &given), FTC_ERR_ARG);
    tcp = usual();
    tcp.job = "a name that is longer than a name of a job may be";
    ck_assert_int_eq(ops->open(&end[2], &given), FTC_ERR_ARG);
    tcp = usual();
    tcp.address = "no-such-interface";
    ck_assert_int_eq(ops->open(&end[2], &given), FTC_ERR_CONFIG);
    ck_assert_ptr_null(end[2]);
}
END_TEST

/* --- breaking --- */

struct stream {
    int from, to;
    uint64_t sent, got;
    size_t sizes[2000];
};

static void stream_step(struct stream *stream, struct test_random *random, uint64_t total)
{
    if (stream->sent < total && stream->sent < stream->got + 40) {
        int64_t most = test_random_chance(random, 2) ? 4 << 20 : 3000;
        stream->sizes[stream->sent] = (size_t)test_random_between(random, 1, most);
        must_send(stream->from, stream->to, stream->sent, stream->sizes[stream->sent]);
        stream->sent++;
    }
    if (stream->got < stream->sent && take(stream->to, stream->from, stream->got, stream->sizes[stream->got]))
        stream->got++;
}

START_TEST(what_breaks_goes_on_where_it_was)
{
    struct test_random random = test_random_start();
    struct stream there = {.from = 0, .to = 1}, back = {.from = 1, .to = 0};
    uint64_t total = 2000, deadline = ftc_clock_now() + 3 * LOST_NS;
    int breaks = 0;
    random.state += (uint64_t)_i;
    while (there.got < total || back.got < total) {
        turn();
        stream_step(&there, &random, total);
        stream_step(&back, &random, total);
        int rank = test_random_chance(&random, 50);
        if (test_random_between(&random, 0, 60) == 0)
            breaks += ftc_tcp_break(end[rank], 1 - rank);
        ck_assert_msg(ftc_clock_now() < deadline, "%llu and %llu of %llu came", (unsigned long long)there.got,
                      (unsigned long long)back.got, (unsigned long long)total);
    }
    WAIT_UNTIL(ftc_tcp_settled(end[0]) && ftc_tcp_settled(end[1]));
    ck_assert_int_gt(breaks, 10);
    ck_assert(!take(0, 1, 0, 0) && !take(1, 0, 0, 0));
}
END_TEST

START_TEST(a_message_that_is_cut_is_not_sent_from_its_start)
{
    struct ftc_tcp *receiver = (struct ftc_tcp *)end[1];
    must_send(0, 1, 0, 10);
    expect(1, 0, 0, 10);
    must_send(0, 1, 1, 64 << 20);
    WAIT_UNTIL(receiver->peer[0]->coming != NULL && receiver->peer[0]->used > 8 << 20);
    uint64_t before = receiver->peer[0]->used;
    ck_assert(ftc_tcp_break(end[0], 1));
    WAIT_UNTIL(ftc_tcp_count(end[0], FTC_TCP_BROKEN) == 1);
    ck_assert_uint_ne(ftc_tcp_broken_since(end[0], 1), 0);
    WAIT_UNTIL(receiver->peer[0]->link != NULL && receiver->peer[0]->link->payload);
    ck_assert(receiver->peer[0]->coming == NULL || receiver->peer[0]->used >= before);
    expect(1, 0, 1, 64 << 20);
}
END_TEST

START_TEST(a_peer_that_goes_on_at_nonsense_is_reported)
{
    int from = -1, rc = 0;
    struct ftc_buffer *message;
    assert_goes_on();
    WAIT_UNTIL(ftc_tcp_settled(end[0]));
    ((struct ftc_tcp *)end[0])->peer[1]->expected = 99;
    ftc_tcp_break(end[0], 1);
    must_send(0, 1, 2, 10);
    uint64_t deadline = ftc_clock_now() + LOST_NS;
    while (rc == 0 && ftc_clock_now() < deadline) {
        turn();
        rc = ops->receive(end[1], &from, &message);
    }
    ck_assert_int_eq(rc, FTC_ERR_PROTO);
    ck_assert_int_eq(from, 0);
    ck_assert_int_eq(ops->receive(end[1], &from, &message), 0);
    must_send(1, 0, 3, 10); /* goes nowhere */
    ck_assert(ftc_tcp_settled(end[1]));
}
END_TEST

/* --- strangers --- */

static int call(int rank)
{
    struct ftc_tcp_endpoint endpoint;
    ck_assert_int_eq(ftc_tcp_endpoint_parse(&endpoint, endpoints[rank]), 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&endpoint.address[0], sizeof(struct sockaddr_in)), 0);
    ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

/* Has the other end hung up? What it says before is thrown away. */
static bool hung_up(int fd)
{
    char bytes[256];
    ssize_t got;
    do
        got = recv(fd, bytes, sizeof(bytes), 0);
    while (got > 0);
    return got == 0 || errno == ECONNRESET;
}

static void assert_refused(const void *bytes, size_t size, enum ftc_tcp_event event)
{
    int fd = call(0);
    ck_assert_int_eq(send(fd, bytes, size, MSG_NOSIGNAL), (ssize_t)size);
    WAIT_UNTIL(hung_up(fd));
    close(fd);
    ck_assert_uint_eq(ftc_tcp_count(end[0], event), 1);
    ck_assert_int_eq(ftc_tcp_half_open(end[0]), 0);
}

static struct ftc_tcp_hello sound_hello(void)
{
    return (struct ftc_tcp_hello){.versions = {1, 1}, .sender = 2, .target = 0, .job = "1234.1"};
}

static void assert_hello_refused(const struct ftc_tcp_hello *hello, enum ftc_tcp_event event)
{
    unsigned char bytes[FTC_TCP_HELLO_SIZE];
    ftc_tcp_hello_encode(bytes, hello);
    assert_refused(bytes, sizeof(bytes), event);
}

START_TEST(bytes_of_a_scanner_are_dropped)
{
    assert_refused("GET / HTTP/1.0\r\n\r\n", 18, FTC_TCP_STRANGER);
    assert_goes_on();
}
END_TEST

START_TEST(one_wrong_byte_is_enough)
{
    assert_refused("\x16", 1, FTC_TCP_STRANGER);
    assert_goes_on();
}
END_TEST

START_TEST(another_version_is_refused)
{
    struct ftc_tcp_hello hello = sound_hello();
    hello.versions = (struct ftc_tcp_versions){7, 9};
    assert_hello_refused(&hello, FTC_TCP_VERSION);
    assert_goes_on();
}
END_TEST

START_TEST(another_job_is_refused)
{
    struct ftc_tcp_hello hello = sound_hello();
    hello.job[0] = '9';
    assert_hello_refused(&hello, FTC_TCP_FOREIGN_JOB);
    assert_goes_on();
}
END_TEST

START_TEST(ranks_that_are_none_are_refused)
{
    static const uint32_t pairs[][2] = {{RANKS, 0}, {0xffffffff, 0}, {0, 0}, {2, 1}};
    struct ftc_tcp_hello hello = sound_hello();
    hello.sender = pairs[_i][0];
    hello.target = pairs[_i][1];
    assert_hello_refused(&hello, FTC_TCP_WRONG_RANK);
    assert_goes_on();
}
END_TEST

START_TEST(a_wrong_secret_is_refused_by_the_connector)
{
    struct ftc_tcp_setup tcp = usual();
    tcp.secret = (const unsigned char *)"another secret of those 32 bytes";
    join_as(2, &tcp);
    must_send(2, 0, 1, 10);
    WAIT_UNTIL(ftc_tcp_count(end[2], FTC_TCP_SECRET) >= 2);
    ck_assert(!take(0, 2, 1, 10));
    ck_assert(!ftc_tcp_settled(end[2]));
    assert_goes_on();
}
END_TEST

/* It would have to be a liar, who goes on after an answer without proof. */
START_TEST(a_wrong_secret_is_refused_by_the_listener)
{
    struct ftc_tcp_hello hello = sound_hello();
    unsigned char bytes[FTC_TCP_HELLO_SIZE + FTC_TCP_PROOF_BYTES] = {0};
    ftc_tcp_hello_encode(bytes, &hello);
    assert_refused(bytes, sizeof(bytes), FTC_TCP_SECRET);
    assert_goes_on();
}
END_TEST

START_TEST(a_thousand_that_say_nothing_cost_little)
{
    enum { CALLS = 1000 };
    struct rlimit limit;
    static int fds[CALLS];
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    int calls = limit.rlim_cur >= CALLS + 300 ? CALLS : 500;
    for (int i = 0; i < calls; i++) {
        fds[i] = call(0);
        turn();
        ck_assert_int_le(ftc_tcp_half_open(end[0]), FTC_TCP_HALF_OPEN_ADDRESS);
    }
    assert_goes_on();
    /* All came, and all but the last few were dropped, or are late by now. */
    WAIT_UNTIL(ftc_tcp_count(end[0], FTC_TCP_CROWD) + ftc_tcp_count(end[0], FTC_TCP_LATE) >=
               (uint64_t)(calls - FTC_TCP_HALF_OPEN_ADDRESS));
    for (int i = 0; i < calls; i++)
        close(fds[i]);
    WAIT_UNTIL(ftc_tcp_half_open(end[0]) == 0);
}
END_TEST

START_TEST(who_does_not_finish_has_a_deadline_and_a_sleeper_wakes)
{
    int fd = call(0);
    bool idle;
    ck_assert_int_eq(send(fd, "\xfc", 1, MSG_NOSIGNAL), 1);
    WAIT_UNTIL(ftc_tcp_half_open(end[0]) == 1);
    while (!hung_up(fd)) {
        struct pollfd wake = {.fd = ops->descriptor(end[0]), .events = POLLIN};
        ck_assert(!ops->ready(end[0]));
        if (hung_up(fd))
            break;
        ck_assert_int_eq(poll(&wake, 1, (int)(LOST_NS / FTC_NS_PER_MS)), 1);
        ops->flush(end[0], &idle);
    }
    close(fd);
    ck_assert_uint_eq(ftc_tcp_count(end[0], FTC_TCP_LATE), 1);
}
END_TEST

START_TEST(without_descriptors_it_waits_for_some)
{
    struct rlimit limit, less;
    int held[64], count = 0;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    less = limit;
    less.rlim_cur = 64;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &less), 0);
    while (count < 64 && (held[count] = dup(ops->descriptor(end[0]))) >= 0)
        count++;
    must_send(0, 1, 1, 10);
    WAIT_UNTIL(ftc_tcp_count(end[0], FTC_TCP_DESCRIPTORS) >= 1);
    while (count > 0)
        close(held[--count]);
    expect(1, 0, 1, 10);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}
END_TEST

/* --- floods and deaths --- */

START_TEST(who_does_not_receive_holds_the_sender_back)
{
    struct ftc_tcp *receiver = (struct ftc_tcp *)end[1];
    struct ftc_buffer *head = ftc_buffer_new(100000);
    uint64_t total = 2000;
    memset(head->data, 1, head->size);
    for (uint64_t number = 0; number < total; number++)
        ck_assert_int_eq(ops->send(end[0], 1, head, NULL, true), 0);
    WAIT_UNTIL(receiver->peer[0] != NULL && receiver->peer[0]->inbox_size >= FTC_TCP_INBOX_MAX);
    for (int i = 0; i < 1000; i++)
        turn();
    ck_assert_uint_le(receiver->peer[0]->inbox_size, FTC_TCP_INBOX_MAX + 2 * head->size);
    ck_assert_int_gt(head->references, 1000); /* the sender's queue is references, not copies */
    for (uint64_t number = 0; number < total; number++) {
        struct ftc_buffer *message = NULL;
        int from;
        WAIT_UNTIL(ops->receive(end[1], &from, &message) == 1);
        ftc_buffer_unref(message);
    }
    WAIT_UNTIL(ftc_tcp_settled(end[0]));
    ck_assert_int_eq(head->references, 1);
    ftc_buffer_unref(head);
}
END_TEST

static int live_and_send(void *arg)
{
    (void)arg;
    for (int rank = 0; rank < RANKS; rank++)
        end[rank] = NULL;
    join(2);
    for (uint64_t number = 0;; number++) {
        must_send(2, 0, number, 70000);
        for (int i = 0; i < 10; i++)
            turn();
    }
    return 0;
}

START_TEST(a_peer_that_is_killed_is_a_hint_until_it_is_closed)
{
    uint64_t next = 0, deadline = ftc_clock_now() + LOST_NS;
    int status;
    pid_t child = scratch_fork(live_and_send, NULL);
    while (next < 20 && ftc_clock_now() < deadline)
        next += take(0, 2, next, 70000);
    ck_assert_uint_eq(next, 20);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    while (ftc_tcp_broken_since(end[0], 2) == 0 && ftc_clock_now() < deadline)
        next += take(0, 2, next, 70000);
    ck_assert_uint_ne(ftc_tcp_broken_since(end[0], 2), 0);
    must_send(0, 2, 0, 10);
    ck_assert(!ftc_tcp_settled(end[0]));
    ops->close_peer(end[0], 2);
    ck_assert(ftc_tcp_settled(end[0]));
    ck_assert_uint_eq(ftc_tcp_broken_since(end[0], 2), 0);
    while (take(0, 2, next, 70000))
        next++;
    ck_assert(!ops->ready(end[0]));
    assert_goes_on();
}
END_TEST

START_TEST(a_closed_peer_is_not_let_in_again)
{
    assert_goes_on();
    ops->close_peer(end[0], 1);
    WAIT_UNTIL(!take(0, 1, 0, 0) && ((struct ftc_tcp *)end[0])->peer[1]->link == NULL);
    must_send(1, 0, 7, 10);
    WAIT_UNTIL(ftc_tcp_count(end[1], FTC_TCP_UNREACHABLE) >= 1);
    ck_assert(!take(0, 1, 7, 10));
}
END_TEST

/* --- */

static void add_strangers(Suite *suite)
{
    TCase *tcase = tcase_create("strangers");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, bytes_of_a_scanner_are_dropped);
    tcase_add_test(tcase, one_wrong_byte_is_enough);
    tcase_add_test(tcase, another_version_is_refused);
    tcase_add_test(tcase, another_job_is_refused);
    tcase_add_loop_test(tcase, ranks_that_are_none_are_refused, 0, 4);
    tcase_add_test(tcase, a_wrong_secret_is_refused_by_the_connector);
    tcase_add_test(tcase, a_wrong_secret_is_refused_by_the_listener);
    tcase_add_test(tcase, a_thousand_that_say_nothing_cost_little);
    tcase_add_test(tcase, who_does_not_finish_has_a_deadline_and_a_sleeper_wakes);
    tcase_add_test(tcase, without_descriptors_it_waits_for_some);
    suite_add_tcase(suite, tcase);
}

int main(void)
{
    Suite *suite = suite_create("transport/tcp");
    TCase *tcase = tcase_create("links");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, both_connect_at_once);
    tcase_add_test(tcase, an_endpoint_that_is_known_late_is_found);
    tcase_add_test(tcase, the_next_address_is_tried);
    tcase_add_loop_test(tcase, ipv6_and_all_addresses_work, 0, 3);
    tcase_add_test(tcase, a_port_of_the_range_is_taken);
    tcase_add_test(tcase, a_setup_that_cannot_be_is_refused);
    tcase_add_loop_test(tcase, what_breaks_goes_on_where_it_was, 0, 4);
    tcase_add_test(tcase, a_message_that_is_cut_is_not_sent_from_its_start);
    tcase_add_test(tcase, a_peer_that_goes_on_at_nonsense_is_reported);
    tcase_add_test(tcase, who_does_not_receive_holds_the_sender_back);
    tcase_add_test(tcase, a_peer_that_is_killed_is_a_hint_until_it_is_closed);
    tcase_add_test(tcase, a_closed_peer_is_not_let_in_again);
    suite_add_tcase(suite, tcase);
    add_strangers(suite);
    return scratch_run(suite);
}
