/* Tests TCP links: meeting, breaking, floods, deaths. */
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "tcp_ends.h"
#include "tests/node/scratch.h"
#include "tests/random.h"
#include "tests/suite.h"
#include "transport/tcp/internal.h"

/* --- meeting --- */

/* The congestion control of a link that is up. */
static const char *congestion_of(int from, int to)
{
    static char name[FTC_TCP_CONGESTION_SIZE + 1];
    socklen_t size = FTC_TCP_CONGESTION_SIZE;
    const struct ftc_tcp *tcp = (const struct ftc_tcp *)tcp_end[from];

    ck_assert_int_eq(
        getsockopt(ftc_tcp_known(tcp, to)->link->fd, IPPROTO_TCP, TCP_CONGESTION, name, &size), 0);
    return name;
}

/* Both ends of a link have the control that was asked for: the system's own, one that any user may
 * use, and a chosen one. */
START_TEST(congestion_control_is_what_was_asked_for)
{
    static const char *const wanted[] = {NULL, "reno", ""};
    struct ftc_tcp_setup tcp = tcp_usual();
    tcp.congestion = wanted[_i];
    tcp_leave_all();
    for (int rank = 0; rank < 2; rank++)
        tcp_join_as(rank, 2, &tcp);
    tcp_must_send(0, 1, 1, 10);
    tcp_expect(1, 0, 1, 10);
    for (int rank = 0; rank < 2; rank++) {
        if (_i == 1)
            ck_assert_str_eq(congestion_of(rank, 1 - rank), "reno");
        if (_i == 2)
            ck_assert_int_ne(strncmp(congestion_of(rank, 1 - rank), "bbr", 3), 0);
    }
}
END_TEST

START_TEST(congestion_control_that_is_not_there_is_refused)
{
    static const char *const wanted[] = {"no-such-control", "a name that is longer than any"};
    struct ftc_transport *end = NULL;
    struct ftc_tcp_setup tcp = tcp_usual();
    tcp.congestion = wanted[_i];
    struct ftc_transport_setup setup = {.ranks = 2, .self = 0, .tcp = &tcp};
    ck_assert_int_eq(ftc_transport_tcp.open(&end, &setup), FTC_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), wanted[_i]));
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "tcp_allowed_congestion_control"));
}
END_TEST

START_TEST(both_connect_at_once)
{
    for (uint64_t round = 0; round < 30; round++) {
        tcp_leave_all();
        tcp_join_two();
        for (uint64_t number = 0; number < 5; number++) {
            tcp_must_send(0, 1, number, 1 + (size_t)number * 1000);
            tcp_must_send(1, 0, number, 1 + (size_t)number * 3000);
        }
        for (uint64_t number = 0; number < 5; number++) {
            tcp_expect(1, 0, number, 1 + (size_t)number * 1000);
            tcp_expect(0, 1, number, 1 + (size_t)number * 3000);
        }
        WAIT_UNTIL(ftc_tcp_settled(tcp_end[0]) && ftc_tcp_settled(tcp_end[1]));
        ck_assert(!tcp_take(0, 1, 0, 0) && !tcp_take(1, 0, 0, 0));
    }
}
END_TEST

START_TEST(an_endpoint_that_is_known_late_is_found)
{
    char known[FTC_TCP_ENDPOINT_SIZE];
    memcpy(known, tcp_endpoints[1], sizeof(known));
    tcp_endpoints[1][0] = '\0';
    tcp_must_send(0, 1, 1, 10);
    WAIT_UNTIL(ftc_tcp_count(tcp_end[0], FTC_TCP_UNREACHABLE) >= 2);
    ck_assert_uint_ne(tcp_broken_since(0, 1), 0);
    uint64_t since = tcp_broken_since(0, 1);
    ck_assert_int_eq(ftc_transport_tcp.unreachable(tcp_end[0], 0, since), 1);
    ck_assert_int_eq(ftc_transport_tcp.unreachable(tcp_end[0], 0, since - 1), -1);
    ck_assert_int_eq(ftc_transport_tcp.unreachable(tcp_end[0], 2, since), -1);
    memcpy(tcp_endpoints[1], known, sizeof(known));
    tcp_expect(1, 0, 1, 10);
    WAIT_UNTIL(tcp_broken_since(0, 1) == 0);
    ck_assert_int_eq(ftc_transport_tcp.unreachable(tcp_end[0], 0, UINT64_MAX), -1);
}
END_TEST

START_TEST(the_next_address_is_tried)
{
    char first[FTC_TCP_ENDPOINT_SIZE];
    const char *port = strrchr(tcp_endpoints[1], ';');
    snprintf(first, sizeof(first), "tcp:v1;127.0.0.77,127.0.0.1%s",
             port); /* no one listens at the first port */
    memcpy(tcp_endpoints[1], first, sizeof(first));
    tcp_must_send(0, 1, 1, 10);
    tcp_expect(1, 0, 1, 10);
    ck_assert_uint_eq(ftc_tcp_count(tcp_end[0], FTC_TCP_UNREACHABLE), 1);
}
END_TEST

START_TEST(ipv6_and_all_addresses_work)
{
    static const char *const addresses[] = {"::1", NULL, "lo"};
    struct ftc_tcp_setup tcp = tcp_usual();
    int probe = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool possible = probe >= 0 && bind(probe, (struct sockaddr *)&loopback, sizeof(loopback)) == 0;
    close(probe);
    if (_i == 0 && !possible)
        return; /* this machine has no IPv6 */
    tcp.address = addresses[_i];
    tcp_leave_all();
    tcp_join_as(0, TCP_RANKS, &tcp);
    tcp_join_as(1, TCP_RANKS, &tcp);
    tcp_assert_goes_on();
}
END_TEST

START_TEST(a_port_of_the_range_is_taken)
{
    struct ftc_tcp_endpoint first, second;
    ck_assert_int_eq(ftc_tcp_endpoint_parse(&first, tcp_endpoints[0]), 0);
    struct ftc_tcp_setup tcp = tcp_usual();
    tcp.port = ftc_tcp_address_port(&first.address[0]);
    tcp.port_last = tcp.port;
    struct ftc_transport_setup given = {.ranks = TCP_RANKS, .self = 2, .tcp = &tcp};
    ck_assert_int_eq(ftc_transport_tcp.open(&tcp_end[2], &given), FTC_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "wider range"));
    tcp.port_last = tcp.port + 100 < 65535 ? tcp.port + 100 : 65535;
    tcp_join_as(2, TCP_RANKS, &tcp);
    ck_assert_int_eq(ftc_tcp_endpoint_parse(&second, tcp_endpoints[2]), 0);
    ck_assert_uint_gt(ftc_tcp_address_port(&second.address[0]), tcp.port);
    ck_assert_uint_le(ftc_tcp_address_port(&second.address[0]), tcp.port_last);
}
END_TEST

START_TEST(a_setup_that_cannot_be_is_refused)
{
    struct ftc_tcp_setup tcp = tcp_usual();
    struct ftc_transport_setup given = {.ranks = TCP_RANKS, .self = 2, .tcp = &tcp};
    tcp.secret_size = 15;
    ck_assert_int_eq(ftc_transport_tcp.open(&tcp_end[2], &given), FTC_ERR_ARG);
    tcp = tcp_usual();
    tcp.job = "a name that is longer than a name of a job may be";
    ck_assert_int_eq(ftc_transport_tcp.open(&tcp_end[2], &given), FTC_ERR_ARG);
    tcp = tcp_usual();
    tcp.address = "no-such-interface";
    ck_assert_int_eq(ftc_transport_tcp.open(&tcp_end[2], &given), FTC_ERR_CONFIG);
    ck_assert_ptr_null(tcp_end[2]);
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
        tcp_must_send(stream->from, stream->to, stream->sent, stream->sizes[stream->sent]);
        stream->sent++;
    }
    if (stream->got < stream->sent &&
        tcp_take(stream->to, stream->from, stream->got, stream->sizes[stream->got]))
        stream->got++;
}

START_TEST(what_breaks_goes_on_where_it_was)
{
    struct test_random random = test_random_start();
    struct stream there = {.from = 0, .to = 1}, back = {.from = 1, .to = 0};
    uint64_t total = 2000, deadline = test_clock_now() + 3 * TCP_LOST_NS;
    int breaks = 0;
    random.state += (uint64_t)_i;
    while (there.got < total || back.got < total) {
        tcp_turn();
        stream_step(&there, &random, total);
        stream_step(&back, &random, total);
        int rank = test_random_chance(&random, 50);
        if (test_random_between(&random, 0, 60) == 0)
            breaks += ftc_tcp_break(tcp_end[rank], 1 - rank);
        ck_assert_msg(test_clock_now() < deadline, "%llu and %llu of %llu came",
                      (unsigned long long)there.got, (unsigned long long)back.got,
                      (unsigned long long)total);
    }
    WAIT_UNTIL(ftc_tcp_settled(tcp_end[0]) && ftc_tcp_settled(tcp_end[1]));
    ck_assert_int_gt(breaks, 10);
    ck_assert(!tcp_take(0, 1, 0, 0) && !tcp_take(1, 0, 0, 0));
}
END_TEST

START_TEST(a_message_that_is_cut_is_not_sent_from_its_start)
{
    struct ftc_tcp *receiver = (struct ftc_tcp *)tcp_end[1];
    tcp_must_send(0, 1, 0, 10);
    tcp_expect(1, 0, 0, 10);
    tcp_must_send(0, 1, 1, 64 << 20);
    WAIT_UNTIL(ftc_tcp_known(receiver, 0)->coming != NULL &&
               ftc_tcp_known(receiver, 0)->used > 8 << 20);
    uint64_t before = ftc_tcp_known(receiver, 0)->used;
    ck_assert(ftc_tcp_break(tcp_end[0], 1));
    WAIT_UNTIL(ftc_tcp_count(tcp_end[0], FTC_TCP_BROKEN) == 1);
    ck_assert_uint_ne(tcp_broken_since(0, 1), 0);
    WAIT_UNTIL(ftc_tcp_known(receiver, 0)->link != NULL &&
               ftc_tcp_known(receiver, 0)->link->payload);
    ck_assert(ftc_tcp_known(receiver, 0)->coming == NULL ||
              ftc_tcp_known(receiver, 0)->used >= before);
    tcp_expect(1, 0, 1, 64 << 20);
}
END_TEST

/* Makes a network namespace whose only link goes up and down. Returns false if that is not
 * permitted here. */
static bool own_network(void)
{
    uid_t user = getuid();
    if (user != 0 && unshare(CLONE_NEWUSER) != 0)
        return false;
    return unshare(CLONE_NEWNET) == 0;
}

static void set_link(bool up)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = up ? IFF_UP : 0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(ioctl(fd, SIOCSIFFLAGS, &request), 0);
    close(fd);
}

START_TEST(a_link_that_is_cut_and_healed_goes_on)
{
    struct ftc_tcp_setup tcp = tcp_usual();
    tcp.user_timeout_ms = 500;
    tcp_leave_all();
    if (!own_network()) {
        printf("skipped: no network namespace of our own is permitted\n");
        return;
    }
    set_link(true);
    tcp_join_as(0, TCP_RANKS, &tcp);
    tcp_join_as(1, TCP_RANKS, &tcp);
    tcp_assert_goes_on();
    set_link(false);
    tcp_must_send(0, 1, 1, 100000);
    tcp_must_send(1, 0, 2, 10);
    WAIT_UNTIL(tcp_broken_since(0, 1) != 0 && tcp_broken_since(1, 0) != 0);
    set_link(true);
    tcp_expect(1, 0, 1, 100000);
    tcp_expect(0, 1, 2, 10);
    WAIT_UNTIL(ftc_tcp_settled(tcp_end[0]) && ftc_tcp_settled(tcp_end[1]));
    ck_assert_uint_eq(tcp_broken_since(0, 1), 0);
}
END_TEST

START_TEST(a_peer_that_goes_on_at_nonsense_is_reported)
{
    int from = -1, rc = 0;
    struct ftc_buffer *message;
    tcp_assert_goes_on();
    WAIT_UNTIL(ftc_tcp_settled(tcp_end[0]));
    ftc_tcp_known((struct ftc_tcp *)tcp_end[0], 1)->expected = 99;
    ftc_tcp_break(tcp_end[0], 1);
    tcp_must_send(0, 1, 2, 10);
    uint64_t deadline = test_clock_now() + TCP_LOST_NS;
    while (rc == 0 && test_clock_now() < deadline) {
        tcp_turn();
        rc = ftc_transport_tcp.receive(tcp_end[1], &from, &message);
    }
    ck_assert_int_eq(rc, FTC_ERR_PROTO);
    ck_assert_int_eq(from, 0);
    ck_assert_int_eq(ftc_transport_tcp.receive(tcp_end[1], &from, &message), 0);
    tcp_must_send(1, 0, 3, 10); /* this message reaches nobody */
    ck_assert(ftc_tcp_settled(tcp_end[1]));
}
END_TEST

/* --- floods and deaths --- */

START_TEST(who_does_not_receive_holds_the_sender_back)
{
    struct ftc_tcp *receiver = (struct ftc_tcp *)tcp_end[1];
    struct ftc_buffer *head = ftc_buffer_new(100000);
    uint64_t total = 2000;
    memset(head->data, 1, head->size);
    for (uint64_t number = 0; number < total; number++)
        ck_assert_int_eq(ftc_transport_tcp.send(tcp_end[0], 1, head, NULL, true), 0);
    WAIT_UNTIL(ftc_tcp_known(receiver, 0) != NULL &&
               ftc_tcp_known(receiver, 0)->inbox_size >= FTC_TCP_INBOX_MAX);
    for (int i = 0; i < 1000; i++)
        tcp_turn();
    ck_assert_uint_le(ftc_tcp_known(receiver, 0)->inbox_size, FTC_TCP_INBOX_MAX + 2 * head->size);
    ck_assert_int_gt(head->references, 1000); /* the sender's queue is references, not copies */
    for (uint64_t number = 0; number < total; number++) {
        struct ftc_buffer *message = NULL;
        int from;
        WAIT_UNTIL(ftc_transport_tcp.receive(tcp_end[1], &from, &message) == 1);
        ftc_buffer_unref(message);
    }
    WAIT_UNTIL(ftc_tcp_settled(tcp_end[0]));
    ck_assert_int_eq(head->references, 1);
    ftc_buffer_unref(head);
}
END_TEST

static int live_and_send(void *arg)
{
    (void)arg;
    for (int rank = 0; rank < TCP_ENDS; rank++)
        tcp_end[rank] = NULL;
    tcp_join(2);
    for (uint64_t number = 0;; number++) {
        tcp_must_send(2, 0, number, 70000);
        for (int i = 0; i < 10; i++)
            tcp_turn();
    }
    return 0;
}

START_TEST(a_peer_that_is_killed_is_a_hint_until_it_is_closed)
{
    uint64_t next = 0, deadline = test_clock_now() + TCP_LOST_NS;
    int status;
    pid_t child = scratch_fork(live_and_send, NULL);
    while (next < 20 && test_clock_now() < deadline)
        next += tcp_take(0, 2, next, 70000);
    ck_assert_uint_eq(next, 20);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    while (tcp_broken_since(0, 2) == 0 && test_clock_now() < deadline)
        next += tcp_take(0, 2, next, 70000);
    ck_assert_uint_ne(tcp_broken_since(0, 2), 0);
    ck_assert_int_eq(ftc_transport_tcp.unreachable(tcp_end[0], 0, UINT64_MAX),
                     -1); /* no message waits for rank 2 */
    tcp_must_send(0, 2, 0, 10);
    ck_assert_int_eq(ftc_transport_tcp.unreachable(tcp_end[0], 0, UINT64_MAX), 2);
    ck_assert(!ftc_tcp_settled(tcp_end[0]));
    ftc_transport_tcp.close_peer(tcp_end[0], 2);
    ck_assert(ftc_tcp_settled(tcp_end[0]));
    ck_assert_uint_eq(tcp_broken_since(0, 2), 0);
    while (tcp_take(0, 2, next, 70000))
        next++;
    ck_assert(!ftc_transport_tcp.ready(tcp_end[0]));
    tcp_assert_goes_on();
}
END_TEST

START_TEST(a_closed_peer_is_not_let_in_again)
{
    tcp_assert_goes_on();
    ftc_transport_tcp.close_peer(tcp_end[0], 1);
    WAIT_UNTIL(!tcp_take(0, 1, 0, 0) &&
               ftc_tcp_known((struct ftc_tcp *)tcp_end[0], 1)->link == NULL);
    tcp_must_send(1, 0, 7, 10);
    WAIT_UNTIL(ftc_tcp_count(tcp_end[1], FTC_TCP_UNREACHABLE) >= 1);
    ck_assert(!tcp_take(0, 1, 7, 10));
}
END_TEST

/* A child of the program that has not called exec yet holds copies of all descriptors. epoll would
 * go on to watch a socket of which there is a copy. */
START_TEST(a_closed_socket_that_a_child_holds_is_not_watched)
{
    struct ftc_tcp *tcp = (struct ftc_tcp *)tcp_end[0];
    struct pollfd wake = {.fd = ftc_transport_tcp.descriptor(tcp_end[0]), .events = POLLIN};
    tcp_assert_goes_on();
    WAIT_UNTIL(ftc_tcp_settled(tcp_end[0]) && ftc_tcp_settled(tcp_end[1]) && tcp->timer_at == 0);
    struct pollfd copy = {.fd = dup(ftc_tcp_known(tcp, 1)->link->fd), .events = POLLIN};
    ftc_transport_tcp.close_peer(tcp_end[0], 1);
    ck_assert(!tcp_take(0, 1, 0, 0));
    ck_assert_ptr_null(ftc_tcp_known(tcp, 1)->link);
    tcp_must_send(1, 0, 7, 10);
    ck_assert_int_eq(poll(&copy, 1, (int)(TCP_LOST_NS / FTC_NS_PER_MS)), 1);
    ck_assert_int_eq(poll(&wake, 1, 0), 0);
    close(copy.fd);
}
END_TEST

/* A rank looks first, message by message, at the peer that its caller waits for. It forgets no
 * other peer, and waits for no peer that is not there. */
START_TEST(who_is_expected_is_heard_first_and_the_others_too)
{
    tcp_join(2);
    for (int sender = 1; sender <= 2; sender++) {
        tcp_must_send(sender, 0, 1, 60);
        tcp_expect(0, sender, 1, 60);
    }
    tcp_turn();
    for (uint64_t number = 2; number < 6; number++)
        tcp_must_send(1, 0, number, 60);
    tcp_must_send(2, 0, 2, 60);
    tcp_must_send(2, 0, 3, 5000); /* more bytes than one look reads */
    tcp_until_unread(1, 4 * 60);
    tcp_until_unread(2, 5000);
    ftc_transport_tcp.expect(tcp_end[0], 2);
    ck_assert(tcp_take(0, 2, 2, 60));
    ck_assert_int_ge(tcp_unread(2), 5000);
    tcp_expect(0, 2, 3, 5000);
    for (uint64_t number = 2; number < 6; number++)
        tcp_expect(0, 1, number, 60);
    ftc_transport_tcp.close_peer(tcp_end[0], 2);
    tcp_must_send(1, 0, 6, 60);
    tcp_expect(0, 1, 6, 60);
}
END_TEST

/* Rank 0 sends this many small messages at once, while rank 1 takes nothing. */
#define BURST 300

static void send_burst(uint64_t first)
{
    for (uint64_t number = first; number < first + BURST; number++)
        tcp_must_send(0, 1, number, 64);
}

/* Rank 1 takes all of it, and rank 0 does nothing more. */
static void expect_burst(uint64_t first)
{
    for (uint64_t number = first; number < first + BURST; number++)
        for (uint64_t end = test_clock_now() + TCP_LOST_NS; !tcp_take(1, 0, number, 64);)
            ck_assert_msg(test_clock_now() < end, "message %d did not come", (int)number);
}

START_TEST(a_burst_is_there_when_its_sender_waits)
{
    struct ftc_buffer *message;
    int from;

    tcp_must_send(0, 1, 0, 64);
    tcp_expect(1, 0, 0, 64);
    send_burst(1);
    for (int look = 0; look < 2; look++)
        ck_assert_int_eq(tcp_end[0]->ops->receive(tcp_end[0], &from, &message), 0);
    expect_burst(1);
}
END_TEST

/* Rank 1 has not acknowledged anything, so only a timer can wake rank 0. */
START_TEST(a_burst_is_there_when_its_sender_is_woken_by_the_descriptor)
{
    bool idle;

    tcp_must_send(0, 1, 0, 64);
    tcp_expect(1, 0, 0, 64);
    send_burst(1);
    struct pollfd own = {.fd = tcp_end[0]->ops->descriptor(tcp_end[0]), .events = POLLIN};
    while (poll(&own, 1, 50) > 0)
        ck_assert_int_eq(tcp_end[0]->ops->flush(tcp_end[0], &idle), 0);
    expect_burst(1);
}
END_TEST

START_TEST(gathered_messages_go_out_together)
{
    tcp_assert_goes_on();
    ftc_tcp_gather(tcp_end[0], true);
    tcp_must_send(0, 1, 1, 60);
    tcp_must_send(0, 1, 2, 60);
    ck_assert_ptr_ne(ftc_tcp_known((struct ftc_tcp *)tcp_end[0], 1)->out.unsent, NULL);
    ftc_tcp_gather(tcp_end[0], false);
    ck_assert_ptr_eq(ftc_tcp_known((struct ftc_tcp *)tcp_end[0], 1)->out.unsent, NULL);
    tcp_expect(1, 0, 1, 60);
    tcp_expect(1, 0, 2, 60);
}
END_TEST

/* --- */

int main(void)
{
    Suite *suite = suite_create("transport/tcp");
    TCase *tcase = tcase_create("links");
    tcase_add_checked_fixture(tcase, tcp_join_two, tcp_leave_all);
    tcase_add_test(tcase, both_connect_at_once);
    tcase_add_loop_test(tcase, congestion_control_is_what_was_asked_for, 0, 3);
    tcase_add_loop_test(tcase, congestion_control_that_is_not_there_is_refused, 0, 2);
    tcase_add_test(tcase, an_endpoint_that_is_known_late_is_found);
    tcase_add_test(tcase, the_next_address_is_tried);
    tcase_add_loop_test(tcase, ipv6_and_all_addresses_work, 0, 3);
    tcase_add_test(tcase, a_port_of_the_range_is_taken);
    tcase_add_test(tcase, a_setup_that_cannot_be_is_refused);
    tcase_add_loop_test(tcase, what_breaks_goes_on_where_it_was, 0, 4);
    tcase_add_test(tcase, a_message_that_is_cut_is_not_sent_from_its_start);
    tcase_add_test(tcase, a_link_that_is_cut_and_healed_goes_on);
    tcase_add_test(tcase, a_peer_that_goes_on_at_nonsense_is_reported);
    tcase_add_test(tcase, who_does_not_receive_holds_the_sender_back);
    tcase_add_test(tcase, a_peer_that_is_killed_is_a_hint_until_it_is_closed);
    tcase_add_test(tcase, a_closed_peer_is_not_let_in_again);
    tcase_add_test(tcase, a_closed_socket_that_a_child_holds_is_not_watched);
    tcase_add_test(tcase, who_is_expected_is_heard_first_and_the_others_too);
    tcase_add_test(tcase, a_burst_is_there_when_its_sender_waits);
    tcase_add_test(tcase, gathered_messages_go_out_together);
    tcase_add_test(tcase, a_burst_is_there_when_its_sender_is_woken_by_the_descriptor);
    suite_add_tcase(suite, tcase);
    return scratch_run(suite);
}
