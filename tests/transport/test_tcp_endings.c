/* Tests how TCP links end: peers that go, that are closed, or that are cut off while nothing is
 * under way. Rank 0 is the one that stays. */
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/error.h"
#include "tcp_ends.h"
#include "tests/base/fail_alloc.h"
#include "tests/suite.h"
#include "transport/tcp/internal.h"

static const struct ftc_tcp_peer *peer_of_0(int rank)
{
    return ftc_tcp_known((struct ftc_tcp *)tcp_end[0], rank);
}

static void close_end(int rank)
{
    ftc_transport_tcp.close(tcp_end[rank]);
    tcp_end[rank] = NULL;
}

/* Rank 0, which gets no turn meanwhile, has a reset link. */
static void until_reset(int rank)
{
    struct pollfd link = {.fd = peer_of_0(rank)->link->fd};
    ck_assert_int_eq(poll(&link, 1, (int)(TCP_LOST_NS / FTC_NS_PER_MS)), 1);
}

/* A reset answers the first message to a peer that has gone. The messages that the peer sent before
 * still arrive. */
START_TEST(the_last_words_of_who_has_gone_are_heard)
{
    tcp_assert_goes_on();
    tcp_must_send(1, 0, 1, 60);
    tcp_must_send(1, 0, 2, 5000);
    tcp_until_unread(1, 60 + 5000);
    close_end(1);
    tcp_must_send(0, 1, 3, 10);
    until_reset(1);
    tcp_must_send(0, 1, 4, 10);
    tcp_expect(0, 1, 1, 60);
    tcp_expect(0, 1, 2, 5000);
    ck_assert_uint_ne(tcp_broken_since(0, 1), 0);
}
END_TEST

/* Rank 0 closes its peers one after the other, and the one that it met first comes last. There, its
 * acknowledgement finds the reset, and the last message is heard. */
START_TEST(last_words_that_are_heard_in_a_close_harm_nobody)
{
    struct linger reset = {.l_onoff = 1};
    ftc_tcp_acknowledge_after(tcp_end[0], 60000);
    tcp_must_send(1, 0, 1, 60);
    tcp_expect(0, 1, 1, 60);
    tcp_join(2);
    tcp_must_send(2, 0, 1, 60);
    WAIT_UNTIL(ftc_tcp_pending(tcp_end[0]));
    tcp_must_send(1, 0, 2, 60);
    tcp_until_unread(1, 60);
    int fd = ftc_tcp_known((struct ftc_tcp *)tcp_end[1], 0)->link->fd;
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
    close_end(1);
    until_reset(1);
    close_end(0);
}
END_TEST

/* A cut of a link that nobody uses is no reason to refuse a node: it counts only from the first
 * message on (nodes.md, rule 8). */
START_TEST(who_was_cut_off_while_nothing_waited_counts_as_unreachable_from_the_next_message)
{
    tcp_assert_goes_on();
    WAIT_UNTIL(ftc_tcp_settled(tcp_end[0]) && ftc_tcp_settled(tcp_end[1]));
    ck_assert(ftc_tcp_break(tcp_end[0], 1));
    WAIT_UNTIL(peer_of_0(1)->link == NULL);
    uint64_t cut = ftc_clock_now();
    ck_assert_int_eq(ftc_transport_tcp.unreachable(tcp_end[0], 0, UINT64_MAX), -1);
    tcp_must_send(0, 1, 1, 10);
    uint64_t first = ftc_clock_now();
    ck_assert_int_eq(ftc_transport_tcp.unreachable(tcp_end[0], 0, cut), -1);
    ck_assert_int_eq(ftc_transport_tcp.unreachable(tcp_end[0], 0, UINT64_MAX), 1);
    tcp_must_send(0, 1, 2, 10); /* does not begin anew */
    ck_assert_int_eq(ftc_transport_tcp.unreachable(tcp_end[0], 0, first), 1);
    tcp_expect(1, 0, 1, 10);
    tcp_expect(1, 0, 2, 10);
    WAIT_UNTIL(ftc_tcp_settled(tcp_end[0]));
    ck_assert_uint_eq(tcp_broken_since(0, 1), 0);
}
END_TEST

/* The kernel has more of the message than one turn reads. It has as much as it can; without
 * privileges its buffers grow by themselves. */
START_TEST(a_closed_peer_has_said_all_when_nothing_is_received)
{
    int turn_max = FTC_TCP_TURN_MAX, size = 4 * turn_max;
    bool idle;
    int from;
    struct ftc_buffer *message;
    tcp_assert_goes_on();
    setsockopt(peer_of_0(1)->link->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
    tcp_must_send(1, 0, 1, 16 << 20);
    tcp_expect(0, 1, 1, 16 << 20);
    tcp_must_send(1, 0, 2, 64 << 20);
    uint64_t full = ftc_clock_now() + FTC_NS_PER_S;
    while (tcp_unread(1) <= turn_max && ftc_clock_now() < full)
        ck_assert_int_eq(tcp_end[1]->ops->flush(tcp_end[1], &idle), 0);
    ftc_transport_tcp.close_peer(tcp_end[0], 1);
    ck_assert_int_eq(ftc_transport_tcp.receive(tcp_end[0], &from, &message), 0);
    ck_assert_ptr_null(peer_of_0(1)->link);
}
END_TEST

/* The message comes when there is memory again. No size of it is a reason to accuse its sender. */
START_TEST(a_message_for_which_there_is_no_memory_breaks_the_link_alone)
{
    size_t size = ((size_t)1 << 30) + 1;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct ftc_buffer *head = ftc_buffer_new(1), *message;
    struct ftc_value value = {.buffer = ftc_buffer_lend(bytes, size), .size = size};
    int from;
    ck_assert_ptr_ne(bytes, MAP_FAILED);
    tcp_assert_goes_on();
    WAIT_UNTIL(ftc_tcp_settled(tcp_end[0]) && ftc_tcp_settled(tcp_end[1]));
    head->data[0] = 0;
    ck_assert_int_eq(ftc_transport_tcp.send(tcp_end[1], 0, head, &value, true), 0);
    fail_alloc_at(1); /* the second one is that of the message */
    ck_assert_int_eq(ftc_transport_tcp.receive(tcp_end[0], &from, &message), 0);
    ck_assert(fail_alloc_stop());
    ck_assert_ptr_null(peer_of_0(1)->link);
    ck_assert_ptr_null(peer_of_0(1)->coming);
    WAIT_UNTIL(peer_of_0(1)->coming != NULL);
    ftc_buffer_unref(head);
    ftc_buffer_unref(value.buffer);
    tcp_leave_all();
    munmap(bytes, size);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport/tcp endings");
    TCase *tcase = tcase_create("endings");
    tcase_add_checked_fixture(tcase, tcp_join_two, tcp_leave_all);
    tcase_add_test(tcase, the_last_words_of_who_has_gone_are_heard);
    tcase_add_test(tcase, last_words_that_are_heard_in_a_close_harm_nobody);
    tcase_add_test(
        tcase, who_was_cut_off_while_nothing_waited_counts_as_unreachable_from_the_next_message);
    tcase_add_test(tcase, a_closed_peer_has_said_all_when_nothing_is_received);
    tcase_add_test(tcase, a_message_for_which_there_is_no_memory_breaks_the_link_alone);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
