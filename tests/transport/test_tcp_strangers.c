/* Tests TCP among strangers: scanners, wrong secrets, other jobs and versions, crowds, no
 * descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "tcp_ends.h"
#include "tests/random.h"
#include "tests/suite.h"
#include "transport/tcp/internal.h"

static int call(int rank)
{
    struct ftc_tcp_endpoint endpoint;
    ck_assert_int_eq(ftc_tcp_endpoint_parse(&endpoint, tcp_endpoints[rank]), 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(
        connect(fd, (struct sockaddr *)&endpoint.address[0], sizeof(struct sockaddr_in)), 0);
    ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

/* Has the other end hung up? Anything it says before is thrown away. */
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
    ck_assert_uint_eq(ftc_tcp_count(tcp_end[0], event), 1);
    ck_assert_int_eq(ftc_tcp_half_open(tcp_end[0]), 0);
}

static struct ftc_tcp_hello sound_hello(void)
{
    return (struct ftc_tcp_hello){.versions = {FTC_TCP_WIRE_VERSION, FTC_TCP_WIRE_VERSION},
                                  .sender = 2,
                                  .target = 0,
                                  .job = "1234.1"};
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
    tcp_assert_goes_on();
}
END_TEST

START_TEST(one_wrong_byte_is_enough)
{
    assert_refused("\x16", 1, FTC_TCP_STRANGER);
    tcp_assert_goes_on();
}
END_TEST

START_TEST(another_version_is_refused)
{
    struct ftc_tcp_hello hello = sound_hello();
    hello.versions = (struct ftc_tcp_versions){7, 9};
    assert_hello_refused(&hello, FTC_TCP_VERSION);
    tcp_assert_goes_on();
}
END_TEST

/* Nothing is negotiated: both ends say what the other one has. */
START_TEST(another_seal_is_refused)
{
    static const enum ftc_tcp_seal others[] = {FTC_TCP_SEAL_AUTHENTICATE, FTC_TCP_SEAL_ENCRYPT};
    struct ftc_tcp_setup tcp = tcp_usual();
    tcp.seal = others[_i];
    tcp_join_as(2, TCP_RANKS, &tcp);
    tcp_must_send(2, 0, 1, 10);
    tcp_must_send(1, 2, 1, 10);
    WAIT_UNTIL(ftc_tcp_count(tcp_end[2], FTC_TCP_SEAL) >= 2 &&
               ftc_tcp_count(tcp_end[0], FTC_TCP_SEAL) >= 1 &&
               ftc_tcp_count(tcp_end[1], FTC_TCP_SEAL) >= 1);
    ck_assert(!tcp_take(0, 2, 1, 10) && !tcp_take(2, 1, 1, 10));
    tcp_assert_goes_on();
}
END_TEST

START_TEST(another_job_is_refused)
{
    struct ftc_tcp_hello hello = sound_hello();
    hello.job[0] = '9';
    assert_hello_refused(&hello, FTC_TCP_FOREIGN_JOB);
    tcp_assert_goes_on();
}
END_TEST

START_TEST(ranks_that_are_none_are_refused)
{
    static const uint32_t pairs[][2] = {{TCP_RANKS, 0}, {0xffffffff, 0}, {0, 0}, {2, 1}};
    struct ftc_tcp_hello hello = sound_hello();
    hello.sender = pairs[_i][0];
    hello.target = pairs[_i][1];
    assert_hello_refused(&hello, FTC_TCP_WRONG_RANK);
    tcp_assert_goes_on();
}
END_TEST

START_TEST(a_wrong_secret_is_refused_by_the_connector)
{
    struct ftc_tcp_setup tcp = tcp_usual();
    tcp.secret = (const unsigned char *)"another secret of those 32 bytes";
    tcp_join_as(2, TCP_RANKS, &tcp);
    tcp_must_send(2, 0, 1, 10);
    WAIT_UNTIL(ftc_tcp_count(tcp_end[2], FTC_TCP_SECRET) >= 2);
    ck_assert(!tcp_take(0, 2, 1, 10));
    ck_assert(!ftc_tcp_settled(tcp_end[2]));
    tcp_assert_goes_on();
}
END_TEST

/* Agent and rank have the same secret, job and numbers. One might be led to the endpoint of the
 * other. */
START_TEST(an_agent_is_refused_by_a_rank)
{
    struct ftc_tcp_setup tcp = tcp_usual();
    tcp.ends = FTC_TCP_AGENTS;
    tcp_join_as(2, TCP_RANKS, &tcp);
    tcp_must_send(2, 0, 1, 10);
    WAIT_UNTIL(ftc_tcp_count(tcp_end[2], FTC_TCP_SECRET) >= 1);
    ck_assert(!tcp_take(0, 2, 1, 10));
    tcp_assert_goes_on();
}
END_TEST

/* The connecting end must play a liar, which goes on after an answer without proof. */
START_TEST(a_wrong_secret_is_refused_by_the_listener)
{
    struct ftc_tcp_hello hello = sound_hello();
    unsigned char bytes[FTC_TCP_HELLO_SIZE + FTC_TCP_PROOF_BYTES] = {0};
    ftc_tcp_hello_encode(bytes, &hello);
    assert_refused(bytes, sizeof(bytes), FTC_TCP_SECRET);
    tcp_assert_goes_on();
}
END_TEST

/* Both ends connect. Rank 1 has dropped its own attempt for that of rank 0. The attempt is slow,
 * and its proof is sent again and again. */
START_TEST(a_proof_that_is_older_than_the_link_ends_nothing)
{
    struct ftc_tcp_setup tcp = tcp_usual();
    struct ftc_tcp_secret secret = {.ends = FTC_TCP_RANKS, .size = tcp.secret_size};
    struct ftc_tcp_hello hello = sound_hello();
    struct ftc_tcp_place nowhere = {0};
    unsigned char bytes[FTC_TCP_HELLO_SIZE], answer[FTC_TCP_ANSWER_SIZE],
        proof[FTC_TCP_PROOF_BYTES];
    int fd = call(0);

    memcpy(secret.bytes, tcp.secret, secret.size);
    hello.sender = 1;
    ftc_tcp_hello_encode(bytes, &hello);
    ck_assert_int_eq(send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
    WAIT_UNTIL(recv(fd, answer, sizeof(answer), 0) == sizeof(answer));
    tcp_assert_goes_on();
    WAIT_UNTIL(ftc_tcp_settled(tcp_end[0]) && ftc_tcp_settled(tcp_end[1]));
    ftc_tcp_proof_encode(proof, &nowhere, bytes, answer, &secret);
    ck_assert_int_eq(send(fd, proof, sizeof(proof), MSG_NOSIGNAL), sizeof(proof));
    WAIT_UNTIL(hung_up(fd));
    close(fd);
    tcp_assert_goes_on();
    ck_assert_uint_eq(ftc_tcp_count(tcp_end[0], FTC_TCP_BROKEN), 0);
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
        tcp_turn();
        ck_assert_int_le(ftc_tcp_half_open(tcp_end[0]), FTC_TCP_HALF_OPEN_ADDRESS);
    }
    tcp_assert_goes_on();
    /* All came. All but the last few were dropped, or are late by now. */
    WAIT_UNTIL(ftc_tcp_count(tcp_end[0], FTC_TCP_CROWD) + ftc_tcp_count(tcp_end[0], FTC_TCP_LATE) >=
               (uint64_t)(calls - FTC_TCP_HALF_OPEN_ADDRESS));
    for (int i = 0; i < calls; i++)
        close(fds[i]);
    WAIT_UNTIL(ftc_tcp_half_open(tcp_end[0]) == 0);
}
END_TEST

START_TEST(who_does_not_finish_has_a_deadline_and_a_sleeper_wakes)
{
    int fd = call(0);
    bool idle;
    ck_assert_int_eq(send(fd, "\xfc", 1, MSG_NOSIGNAL), 1);
    WAIT_UNTIL(ftc_tcp_half_open(tcp_end[0]) == 1);
    while (!hung_up(fd)) {
        struct pollfd wake = {.fd = ftc_transport_tcp.descriptor(tcp_end[0]), .events = POLLIN};
        ck_assert(!ftc_transport_tcp.ready(tcp_end[0]));
        if (hung_up(fd))
            break;
        ck_assert_int_eq(poll(&wake, 1, (int)(TCP_LOST_NS / FTC_NS_PER_MS)), 1);
        ftc_transport_tcp.flush(tcp_end[0], &idle);
    }
    close(fd);
    ck_assert_uint_eq(ftc_tcp_count(tcp_end[0], FTC_TCP_LATE), 1);
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
    while (count < 64 && (held[count] = dup(ftc_transport_tcp.descriptor(tcp_end[0]))) >= 0)
        count++;
    tcp_must_send(0, 1, 1, 10);
    WAIT_UNTIL(ftc_tcp_count(tcp_end[0], FTC_TCP_DESCRIPTORS) >= 1);
    while (count > 0)
        close(held[--count]);
    tcp_expect(1, 0, 1, 10);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}
END_TEST

/* They come from one address, and are more than may be half-open there. */
START_TEST(a_whole_host_of_ranks_connects_at_once)
{
    struct rlimit limit;
    struct ftc_tcp_setup tcp = tcp_usual();
    int got = 0, ranks = TCP_ENDS;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    tcp_leave_all();
    for (int rank = 0; rank < ranks; rank++)
        tcp_join_as(rank, ranks, &tcp);
    for (int rank = 1; rank < ranks; rank++)
        tcp_must_send(rank, 0, 5, 100);
    uint64_t deadline = test_clock_now() + TCP_LOST_NS;
    while (got < ranks - 1 && test_clock_now() < deadline) {
        struct ftc_buffer *message;
        int from;
        tcp_turn();
        while (ftc_transport_tcp.receive(tcp_end[0], &from, &message) == 1) {
            ftc_buffer_unref(message);
            got++;
        }
    }
    ck_assert_int_eq(got, ranks - 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport/tcp strangers");
    TCase *tcase = tcase_create("strangers");
    tcase_add_checked_fixture(tcase, tcp_join_two, tcp_leave_all);
    tcase_add_test(tcase, bytes_of_a_scanner_are_dropped);
    tcase_add_test(tcase, one_wrong_byte_is_enough);
    tcase_add_test(tcase, another_version_is_refused);
    tcase_add_loop_test(tcase, another_seal_is_refused, 0, 2);
    tcase_add_test(tcase, another_job_is_refused);
    tcase_add_loop_test(tcase, ranks_that_are_none_are_refused, 0, 4);
    tcase_add_test(tcase, a_wrong_secret_is_refused_by_the_connector);
    tcase_add_test(tcase, an_agent_is_refused_by_a_rank);
    tcase_add_test(tcase, a_wrong_secret_is_refused_by_the_listener);
    tcase_add_test(tcase, a_proof_that_is_older_than_the_link_ends_nothing);
    tcase_add_test(tcase, a_thousand_that_say_nothing_cost_little);
    tcase_add_test(tcase, who_does_not_finish_has_a_deadline_and_a_sleeper_wakes);
    tcase_add_test(tcase, without_descriptors_it_waits_for_some);
    tcase_add_test(tcase, a_whole_host_of_ranks_connects_at_once);
    suite_add_tcase(suite, tcase);
    test_seed_announce();
    return test_suite_run(suite);
}
