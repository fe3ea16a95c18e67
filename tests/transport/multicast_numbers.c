/* Makes datagrams whose whole content follows from a number, for tests of a multicast transport. */
#include "multicast_numbers.h"

#include <poll.h>

#include "base/error.h"
#include "tests/suite.h"

static unsigned char byte_of(uint64_t number, size_t at)
{
    return (unsigned char)((number + at) * 0x9e3779b97f4a7c15ull >> 56);
}

void send_sized(struct ftc_multicast *from, uint64_t number, size_t size)
{
    static unsigned char payload[65536];
    struct ftc_datagram fields = {
        .broadcast = number, .operation = ~number, .sequence = number % 7, .count = number % 7 + 1};
    struct iovec pieces[2] = {{payload, size / 4}, {payload + size / 4, size - size / 4}};
    for (size_t i = 0; i < size; i++)
        payload[i] = byte_of(number, i);
    ftc_multicast_send(from, &fields, pieces, 2);
}

void send_number(struct ftc_multicast *from, uint64_t number)
{
    send_sized(from, number, SMALL_SIZE);
}

int64_t take_sized(struct ftc_multicast *at, uint32_t *source, size_t *size)
{
    struct ftc_datagram fields;
    struct ftc_buffer *payload;
    int rc = ftc_multicast_receive(at, &fields, &payload);
    if (rc == 0)
        return -1;
    /* The check comes first because there are many thousands of datagrams, and even a ck_assert
     * that holds writes. */
    if (rc < 0)
        ck_abort_msg("%s", ftc_last_error());
    if (fields.operation != ~fields.broadcast || fields.sequence != fields.broadcast % 7 ||
        fields.count != fields.broadcast % 7 + 1)
        ck_abort_msg("the fields of datagram %llu are another's",
                     (unsigned long long)fields.broadcast);
    for (size_t i = 0; i < payload->size; i++)
        if (payload->data[i] != byte_of(fields.broadcast, i))
            ck_abort_msg("datagram %llu differs at byte %zu", (unsigned long long)fields.broadcast,
                         i);
    *source = fields.source;
    *size = payload->size;
    ftc_buffer_unref(payload);
    return (int64_t)fields.broadcast;
}

bool sleep_until(struct ftc_multicast *at, uint64_t deadline)
{
    uint64_t now = ftc_clock_now();
    ck_assert_msg(ftc_multicast_arm(at) == 0, "%s", ftc_last_error());
    if (ftc_multicast_ready(at))
        return true;
    struct pollfd item = {.fd = ftc_multicast_fd(at), .events = POLLIN};
    return now < deadline && poll(&item, 1, (int)((deadline - now) / FTC_NS_PER_MS) + 1) > 0;
}

int64_t await_sized(struct ftc_multicast *at, uint32_t *source, size_t *size)
{
    uint64_t deadline = ftc_clock_now() + PATIENCE;
    int64_t number;
    while ((number = take_sized(at, source, size)) < 0)
        ck_assert_msg(sleep_until(at, deadline), "waited in vain for a datagram");
    return number;
}

int64_t await_number(struct ftc_multicast *at)
{
    uint32_t source;
    size_t size;
    int64_t number = await_sized(at, &source, &size);
    ck_assert_uint_eq(size, SMALL_SIZE);
    return number;
}
