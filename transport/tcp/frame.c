/* Encoding of the header of a frame. */
#include "transport/tcp/frame.h"

#include <xxhash.h>

#include "base/error.h"
#include "base/wire.h"

#define MAGIC        0x54435446u /* "FTCT" */
#define CHECKED_SIZE (FTC_TCP_HEADER_SIZE - 4)

static uint32_t check_of(const unsigned char *bytes)
{
    return (uint32_t)XXH3_64bits(bytes, CHECKED_SIZE);
}

void ftc_tcp_header_encode(unsigned char bytes[FTC_TCP_HEADER_SIZE],
                           const struct ftc_tcp_header *header)
{
    struct ftc_writer w = {.data = bytes, .size = FTC_TCP_HEADER_SIZE};
    ftc_write_u32(&w, MAGIC);
    ftc_write_u16(&w, (uint16_t)header->flags);
    ftc_write_u16(&w, 0);
    ftc_write_u64(&w, header->sequence);
    ftc_write_u64(&w, header->expected);
    ftc_write_u32(&w, (uint32_t)header->head);
    ftc_write_u64(&w, header->value);
    ftc_write_u64(&w, header->offset);
    ftc_write_u32(&w, check_of(bytes));
}

static int check_sizes(const struct ftc_tcp_header *header)
{
    if (header->flags == 0)
        return header->sequence == 0 && header->head == 0 && header->value == 0 &&
               header->offset == 0;
    /* A message that has come completely is acknowledged and not sent again, so offset is less than
     * its size. */
    return header->flags == FTC_TCP_MESSAGE && header->head >= 1 &&
           header->head <= FTC_TCP_HEAD_MAX && header->value <= FTC_TCP_VALUE_MAX &&
           header->offset < header->head + header->value;
}

int ftc_tcp_header_decode(struct ftc_tcp_header *header,
                          const unsigned char bytes[FTC_TCP_HEADER_SIZE])
{
    struct ftc_reader r = {.data = bytes, .size = FTC_TCP_HEADER_SIZE};
    uint32_t magic = ftc_read_u32(&r);
    header->flags = ftc_read_u16(&r);
    unsigned reserved = ftc_read_u16(&r);
    header->sequence = ftc_read_u64(&r);
    header->expected = ftc_read_u64(&r);
    header->head = ftc_read_u32(&r);
    header->value = ftc_read_u64(&r);
    header->offset = ftc_read_u64(&r);
    if (magic != MAGIC || reserved != 0 || ftc_read_u32(&r) != check_of(bytes))
        return ftc_error_set(FTC_ERR_PROTO, "no frame begins where one should");
    if (!check_sizes(header))
        return ftc_error_set(FTC_ERR_PROTO, "a frame of %llu + %llu bytes is out of bounds",
                             (unsigned long long)header->head, (unsigned long long)header->value);
    return FTC_SUCCESS;
}
