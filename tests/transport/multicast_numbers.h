/* Datagrams of which all follows from a number: who receives one checks it to the last byte. */
#ifndef FTC_TEST_MULTICAST_NUMBERS_H
#define FTC_TEST_MULTICAST_NUMBERS_H

#include "base/clock.h"
#include "transport/multicast/multicast.h"

#define PATIENCE   (60 * FTC_NS_PER_S)
#define SMALL_SIZE 100

void send_sized(struct ftc_multicast *from, uint64_t number, size_t size);
void send_number(struct ftc_multicast *from, uint64_t number); /* of SMALL_SIZE */

/* The next datagram's number, checked to the last byte; -1: none. */
int64_t take_sized(struct ftc_multicast *at, uint32_t *source, size_t *size);
/* Wait for it. */
int64_t await_sized(struct ftc_multicast *at, uint32_t *source, size_t *size);
int64_t await_number(struct ftc_multicast *at); /* of SMALL_SIZE */
/* Sleep until something may be there; false: nothing came in time. The way that the header
 * names. */
bool sleep_until(struct ftc_multicast *at, uint64_t deadline);

#endif
