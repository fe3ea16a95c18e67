/*
 * The head with which all messages between ranks begin, and the list of their kinds:
 *
 *   u8 version | u8 kind | u16 of the kind's own | u64 number of the communicator
 *
 * The rest depends on the kind. Messages of the agreement core have the kinds of
 * enum ftc_message_kind; the others are listed here. All that is read is untrusted.
 */
#ifndef FTC_COLLECTIVES_FRAME_H
#define FTC_COLLECTIVES_FRAME_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/wire.h"

#define FTC_FRAME_HEAD 12 /* bytes */

/* Of all messages but those of gossip aggregation, which have one of their own (gossip/wire.h). */
#define FTC_FRAME_VERSION 16

/* The communicator of all ranks of a job. 0 is the number of none. */
#define FTC_COMMUNICATOR_WORLD 1

/* The kinds of messages that are not of the agreement core. Its kinds are small numbers. */
enum ftc_frame_kind {
    FTC_FRAME_POINT_TO_POINT = 251, /* sends and receives: point_to_point/matching.h */
    FTC_FRAME_COMMUNICATOR = 252,   /* words about a communicator: communicators/internal.h */
    FTC_FRAME_RING = 253,           /* blocks of large values: large/large.h */
    FTC_FRAME_FLOW = 254,           /* flow control: runtime/comm/flow.h */
    FTC_FRAME_BASELINE = 255        /* allreduces without tolerance: cli/perf/baseline/baseline.h */
};

/* The kind of a message; -1: it is too short for a head. */
static inline int ftc_frame_kind(const struct ftc_buffer *message)
{
    return message->size >= FTC_FRAME_HEAD ? message->data[1] : -1;
}

/* The number of the communicator that a message names; 0: it is too short for a head. */
static inline uint64_t ftc_frame_communicator(const struct ftc_buffer *message)
{
    return message->size >= FTC_FRAME_HEAD ? ftc_load_u64(message->data + 4) : 0;
}

/* Writes a head to a place that has room for it. */
static inline void ftc_frame_put(unsigned char *at, int kind, uint16_t own, uint64_t communicator)
{
    at[0] = FTC_FRAME_VERSION;
    at[1] = (unsigned char)kind;
    ftc_store_u16(at + 2, own);
    ftc_store_u64(at + 4, communicator);
}

static inline void ftc_frame_write(struct ftc_writer *writer, int kind, uint16_t own,
                                   uint64_t communicator)
{
    unsigned char *at = ftc_write_room(writer, FTC_FRAME_HEAD);

    if (at != NULL)
        ftc_frame_put(at, kind, own, communicator);
}

/* Reads a head that is there. False: the version is another one. */
static inline bool ftc_frame_get(const unsigned char *at, int *kind, uint16_t *own,
                                 uint64_t *communicator)
{
    *kind = at[1];
    *own = ftc_load_u16(at + 2);
    *communicator = ftc_load_u64(at + 4);
    return at[0] == FTC_FRAME_VERSION;
}

/* Reads a head. False: the version is another one, or the message is too short. */
static inline bool ftc_frame_read(struct ftc_reader *reader, int *kind, uint16_t *own,
                                  uint64_t *communicator)
{
    const unsigned char *at = ftc_read_bytes(reader, FTC_FRAME_HEAD);

    *kind = *own = 0;
    *communicator = 0;
    return at != NULL && ftc_frame_get(at, kind, own, communicator);
}

#endif
