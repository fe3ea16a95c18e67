/* The ends of TCP transports that the tests are about, all in one process, and their messages. */
#include "tcp_ends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/error.h"
#include "transport/tcp/internal.h"

struct ftc_transport *tcp_end[TCP_ENDS];
char tcp_endpoints[TCP_ENDS][FTC_TCP_ENDPOINT_SIZE];
static const unsigned char secret[] = "a secret of 32 bytes, or nearly.";

static const char *look_up(void *context, int rank)
{
    (void)context;
    return tcp_endpoints[rank][0] != '\0' ? tcp_endpoints[rank] : NULL;
}

/* FTC_TEST_SEAL is the number of a seal; without it there is none. */
static enum ftc_tcp_seal tcp_seal(void)
{
    const char *seal = getenv("FTC_TEST_SEAL");
    return seal != NULL ? (enum ftc_tcp_seal)atoi(seal) : FTC_TCP_SEAL_OFF;
}

struct ftc_tcp_setup tcp_usual(void)
{
    return (struct ftc_tcp_setup){.job = "1234.1",
                                  .secret = secret,
                                  .secret_size = 32,
                                  .seal = tcp_seal(),
                                  .address = "127.0.0.1",
                                  .endpoint = look_up};
}

void tcp_join_as(int rank, int ranks, const struct ftc_tcp_setup *tcp)
{
    struct ftc_transport_setup setup = {.ranks = ranks, .self = rank, .tcp = tcp};
    ck_assert_msg(ftc_transport_tcp.open(&tcp_end[rank], &setup) == 0, "%s", ftc_last_error());
    snprintf(tcp_endpoints[rank], sizeof(tcp_endpoints[rank]), "%s",
             ftc_tcp_endpoint(tcp_end[rank]));
}

void tcp_join(int rank)
{
    struct ftc_tcp_setup tcp = tcp_usual();
    tcp_join_as(rank, TCP_RANKS, &tcp);
}

static void leave(int rank)
{
    if (tcp_end[rank] != NULL)
        tcp_end[rank]->ops->close(tcp_end[rank]);
    tcp_end[rank] = NULL;
}

void tcp_join_two(void)
{
    tcp_join(0);
    tcp_join(1);
}

void tcp_leave_all(void)
{
    for (int rank = 0; rank < TCP_ENDS; rank++)
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
    int rc = tcp_end[from]->ops->send(tcp_end[from], to, head, &value, true);
    ftc_buffer_unref(head);
    ftc_buffer_unref(rest);
    return rc;
}

void tcp_must_send(int from, int to, uint64_t number, size_t size)
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

/* Takes the next message of `rank`, which must be this one. Returns false if there is none. */
bool tcp_take(int rank, int sender, uint64_t number, size_t size)
{
    struct ftc_buffer *message;
    int from = -1, rc = tcp_end[rank]->ops->receive(tcp_end[rank], &from, &message);
    ck_assert_msg(rc >= 0, "%s", ftc_last_error());
    if (rc == 0)
        return false;
    ck_assert_int_eq(from, sender);
    assert_message(message, number, size);
    ftc_buffer_unref(message);
    return true;
}

void tcp_turn(void)
{
    bool idle;
    for (int rank = 0; rank < TCP_ENDS; rank++)
        if (tcp_end[rank] != NULL)
            ck_assert_int_eq(tcp_end[rank]->ops->flush(tcp_end[rank], &idle), 0);
}

void tcp_expect(int rank, int sender, uint64_t number, size_t size)
{
    WAIT_UNTIL(tcp_take(rank, sender, number, size));
}

/* Checks that the job goes on: 0 and 1 send to each other both ways. */
void tcp_assert_goes_on(void)
{
    tcp_must_send(0, 1, 1001, 5000);
    tcp_must_send(1, 0, 1002, 50);
    tcp_expect(1, 0, 1001, 5000);
    tcp_expect(0, 1, 1002, 50);
}

uint64_t tcp_broken_since(int rank, int peer)
{
    const struct ftc_tcp_peer *known = ftc_tcp_known((struct ftc_tcp *)tcp_end[rank], peer);
    return known != NULL ? known->broken_since : 0;
}

int tcp_unread(int sender)
{
    int bytes = 0;
    const struct ftc_tcp *tcp = (const struct ftc_tcp *)tcp_end[0];
    ck_assert_int_eq(ioctl(ftc_tcp_known(tcp, sender)->link->fd, FIONREAD, &bytes), 0);
    return bytes;
}

void tcp_until_unread(int sender, int bytes)
{
    uint64_t deadline = test_clock_now() + TCP_LOST_NS;
    while (tcp_unread(sender) < bytes)
        ck_assert_msg(test_clock_now() < deadline, "rank %d sent nothing", sender);
}
