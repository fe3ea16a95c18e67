/* Ends of the TCP transport in one process, on loopback. */
#ifndef FTC_TEST_TCP_ENDS_H
#define FTC_TEST_TCP_ENDS_H

#include "tests/still_clock.h"
#include "tests/suite.h"
#include "transport/tcp/endpoint.h"
#include "transport/tcp/tcp.h"

#define TCP_RANKS   3 /* of the job of tcp_join() */
#define TCP_ENDS    128
#define TCP_LOST_NS (30 * FTC_NS_PER_S)

extern struct ftc_transport *tcp_end[TCP_ENDS]; /* by rank; NULL: not joined */
extern char tcp_endpoints[TCP_ENDS][FTC_TCP_ENDPOINT_SIZE];

struct ftc_tcp_setup tcp_usual(void);
void tcp_join_as(int rank, int ranks, const struct ftc_tcp_setup *tcp);
void tcp_join(int rank);
void tcp_join_two(void);
void tcp_leave_all(void);

/* Sends messages of `size` bytes that follow from their number. */
void tcp_must_send(int from, int to, uint64_t number, size_t size);
/* Takes the next message of `rank`, which must be this one. Returns false if there is none. */
bool tcp_take(int rank, int sender, uint64_t number, size_t size);
/* The same, but waits for the message. */
void tcp_expect(int rank, int sender, uint64_t number, size_t size);
/* Checks that 0 and 1 still talk. */
void tcp_assert_goes_on(void);
/* Makes all ends do what they can. */
void tcp_turn(void);

/* Since when a peer of the rank is unreachable (struct ftc_tcp_peer); 0: it is not. */
uint64_t tcp_broken_since(int rank, int peer);
/* The number of bytes that `sender` has sent and that wait in the kernel for rank 0. */
int tcp_unread(int sender);
/* Waits until there are so many. Rank 0, which would read them, gets no turn meanwhile. */
void tcp_until_unread(int sender, int bytes);

#define WAIT_UNTIL(condition)                                                                      \
    do {                                                                                           \
        uint64_t deadline_ = test_clock_now() + TCP_LOST_NS;                                       \
        while (!(condition)) {                                                                     \
            tcp_turn();                                                                            \
            ck_assert_msg(test_clock_now() < deadline_, "in vain: %s", #condition);                \
        }                                                                                          \
    } while (0)

#endif
