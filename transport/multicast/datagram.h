/*
 * The envelope of a multicast datagram. A datagram holds one fragment of a broadcast. Hoefler,
 * Siebert, Rehm 2007 have sequence number, broadcast id, CRC-32 and payload; job key, source and
 * operation are added here.
 *
 *     u32 magic and version, u8[16] job key, u32 source, u64 broadcast, u64 operation,
 *     u32 sequence, u32 count, u32 payload bytes, u32 CRC-32 (zlib's) over all the rest;
 *     then the payload, up to the end of the datagram
 *
 * Anybody on the network can send anything to a group, so everything is checked.
 */
#ifndef FTC_TRANSPORT_MULTICAST_DATAGRAM_H
#define FTC_TRANSPORT_MULTICAST_DATAGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define FTC_DATAGRAM_HEAD 56 /* bytes before the payload */
#define FTC_DATAGRAM_KEY  4  /* offset of the job key */
#define FTC_JOB_KEY_SIZE  16

struct ftc_datagram {
    uint32_t source;          /* rank; the caller checks its range */
    uint64_t broadcast;       /* number of the broadcast at the source */
    uint64_t operation;       /* number of the operation of the communicator */
    uint32_t sequence, count; /* which fragment of how many: sequence < count */
};

enum ftc_datagram_verdict {
    FTC_DATAGRAM_SOUND,
    /* Magic, version or job key differ: it is of another job, or not of ftcoll at all. */
    FTC_DATAGRAM_FOREIGN,
    /* It is of this job, but checksum, length or fragment number are wrong. */
    FTC_DATAGRAM_CORRUPT,
};

/* Write the head of a datagram. Its payload is these pieces, one after the other, less than 4 GiB
 * together. */
void ftc_datagram_encode(unsigned char head[FTC_DATAGRAM_HEAD], const struct ftc_datagram *fields,
                         const unsigned char *job_key, const struct iovec *pieces, int count);

/* Judge what came. If it is sound: *fields are its fields, and *payload says where in `bytes` its
 * payload is. */
enum ftc_datagram_verdict ftc_datagram_decode(struct ftc_datagram *fields, struct iovec *payload,
                                              void *bytes, size_t size,
                                              const unsigned char *job_key);

#endif
