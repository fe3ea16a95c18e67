/* The header of a frame (docs/design/tcp.md, "Frames"): little-endian, of fixed size, with a
 * checksum. No I/O. */
#ifndef FTC_TRANSPORT_TCP_FRAME_H
#define FTC_TRANSPORT_TCP_FRAME_H

#include <stdint.h>

#define FTC_TCP_HEADER_SIZE 48
#define FTC_TCP_HEAD_MAX    (1ull << 20) /* bytes; both bounds are those of shared memory */
#define FTC_TCP_VALUE_MAX   (1ull << 40)

#define FTC_TCP_MESSAGE 1u /* a message follows; without this flag the frame only acknowledges */

struct ftc_tcp_header {
    unsigned flags;
    uint64_t sequence;    /* number of the message, from 0 in each direction of a pair */
    uint64_t expected;    /* cumulative acknowledgement: all messages below this number have come */
    uint64_t head, value; /* bytes of each in the whole message */
    uint64_t offset;      /* bytes of head and value that came on earlier connections */
};

void ftc_tcp_header_encode(unsigned char bytes[FTC_TCP_HEADER_SIZE],
                           const struct ftc_tcp_header *header);

/* FTC_ERR_PROTO: the header is damaged, or a length is out of bounds. */
int ftc_tcp_header_decode(struct ftc_tcp_header *header,
                          const unsigned char bytes[FTC_TCP_HEADER_SIZE]);

#endif
