/* The list of peers to which something waits: flush() looks at these alone, whatever their sockets
 * take (docs/design/tcp.md, "Frames"). Rank 0 sends; the others receive. */
#include "base/error.h"
#include "tcp_ends.h"
#include "tests/suite.h"
#include "transport/tcp/internal.h"

#define RANKS 4
#define LARGE 100000      /* bytes of the messages that fill a socket */
#define SMALL 600         /* bytes; a smaller message may be held back */
#define HUGE  (32u << 20) /* bytes that no socket takes at once */
#define MOST  2000        /* messages that no socket takes */

static struct ftc_tcp *sender(void)
{
    return (struct ftc_tcp *)tcp_end[0];
}

static bool flush(void)
{
    bool idle;

    ck_assert_int_eq(tcp_end[0]->ops->flush(tcp_end[0], &idle), 0);
    return idle;
}

static const struct ftc_tcp_connection *link_to(int rank)
{
    return ftc_tcp_known(sender(), rank)->link;
}

static void setup(void)
{
    const struct ftc_tcp_setup tcp = tcp_usual();

    for (int rank = 0; rank < RANKS; rank++)
        tcp_join_as(rank, RANKS, &tcp);
    for (int rank = 1; rank < RANKS; rank++) {
        tcp_must_send(0, rank, 1, SMALL);
        tcp_expect(rank, 0, 1, SMALL);
    }
    WAIT_UNTIL(ftc_tcp_settled(tcp_end[0]) && flush());
}

/* Sends until the socket is full, since this rank takes nothing. Returns the number of the last
 * message. */
static uint64_t fill(int rank)
{
    uint64_t number = 1;

    while (!link_to(rank)->blocked) {
        ck_assert_uint_lt(number, MOST);
        tcp_must_send(0, rank, ++number, LARGE);
    }
    return number;
}

/* Rank 0 and this one do what they can until the message is here. The others do nothing. */
static void expect_alone(int rank, uint64_t number)
{
    uint64_t deadline = ftc_clock_now() + TCP_LOST_NS;

    while (!tcp_take(rank, 0, number, SMALL)) {
        flush();
        ck_assert_msg(ftc_clock_now() < deadline, "rank %d gets nothing", rank);
    }
}

static void assert_waits_alone(int rank)
{
    const struct ftc_tcp *tcp = sender();

    ck_assert(!flush());
    ck_assert_ptr_eq(tcp->waiting, ftc_tcp_known(tcp, rank));
    ck_assert_ptr_null(tcp->waiting->next_waiting);
    ck_assert_ptr_eq(tcp->waiting_end, &tcp->waiting->next_waiting);
    for (int other = 1; other < RANKS; other++)
        ck_assert_int_eq(ftc_tcp_known(tcp, other)->waiting, other == rank);
}

/* Its peer comes first, amid or last in the list. */
START_TEST(a_full_socket_holds_up_its_own_peer_alone)
{
    int full = _i;
    uint64_t last = 0;

    for (int rank = 1; rank < RANKS; rank++)
        if (rank == full)
            last = fill(rank);
        else
            tcp_must_send(0, rank, 2, SMALL);
    assert_waits_alone(full);
    for (uint64_t number = 2; number < 5; number++)
        for (int rank = 1; rank < RANKS; rank++) {
            if (rank == full)
                continue;
            expect_alone(rank, number);
            tcp_must_send(0, rank, number + 1, SMALL);
            assert_waits_alone(full);
        }
    ck_assert(link_to(full)->blocked);

    for (uint64_t number = 2; number <= last; number++)
        tcp_expect(full, 0, number, LARGE);
    WAIT_UNTIL(flush());
    ck_assert_ptr_null(sender()->waiting);
    ck_assert_ptr_eq(sender()->waiting_end, &sender()->waiting);
}
END_TEST

START_TEST(two_full_sockets_are_filled_again_each_when_its_peer_receives)
{
    uint64_t one = fill(1), three = fill(3);

    tcp_must_send(0, 2, 2, SMALL);
    expect_alone(2, 2);
    ck_assert(!flush() && ftc_tcp_known(sender(), 1)->waiting);
    for (uint64_t number = 2; number <= one; number++)
        tcp_expect(1, 0, number, LARGE);
    for (uint64_t number = 2; number <= three; number++)
        tcp_expect(3, 0, number, LARGE);
    WAIT_UNTIL(flush());
    ck_assert_ptr_null(sender()->waiting);
}
END_TEST

/* Its acknowledgement has no message to ride on, and is due only when the socket has room again. */
START_TEST(a_message_that_came_while_the_socket_was_full_is_acknowledged)
{
    ftc_tcp_acknowledge_after(tcp_end[0], 500);
    tcp_must_send(0, 1, 2, HUGE);
    ck_assert(link_to(1)->blocked);
    tcp_must_send(1, 0, 1, SMALL);
    tcp_expect(0, 1, 1, SMALL);
    tcp_expect(1, 0, 2, HUGE);
    WAIT_UNTIL(ftc_tcp_settled(tcp_end[1]));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport/tcp waiting");
    TCase *tcase = tcase_create("waiting");

    tcase_add_checked_fixture(tcase, setup, tcp_leave_all);
    tcase_add_loop_test(tcase, a_full_socket_holds_up_its_own_peer_alone, 1, RANKS);
    tcase_add_test(tcase, two_full_sockets_are_filled_again_each_when_its_peer_receives);
    tcase_add_test(tcase, a_message_that_came_while_the_socket_was_full_is_acknowledged);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
