/* Makes datagrams whose whole content follows from a number, so that a receiver checks each one to
 * the last byte. */
#ifndef FTC_TEST_MULTICAST_NUMBERS_H
#define FTC_TEST_MULTICAST_NUMBERS_H

#include "base/clock.h"
#include "transport/multicast/multicast.h"

#define PATIENCE   (60 * FTC_NS_PER_S)
#define SMALL_SIZE 100

void send_sized(struct ftc_multicast *from, uint64_t number, size_t size);
void send_number(struct ftc_multicast *from, uint64_t number); /* a datagram of SMALL_SIZE */

/* The number of the next datagram, checked to the last byte; -1 if there is none. */
int64_t take_sized(struct ftc_multicast *at, uint32_t *source, size_t *size);
/* The same, but waits for the datagram. */
int64_t await_sized(struct ftc_multicast *at, uint32_t *source, size_t *size);
int64_t await_number(struct ftc_multicast *at); /* a datagram of SMALL_SIZE */
/* Sleeps until there may be something, in the way that the transport's header describes. Returns
 * false if nothing came in time. */
bool sleep_until(struct ftc_multicast *at, uint64_t deadline);

#endif
