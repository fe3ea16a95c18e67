/* Encoding and judging the envelope: see multicast/datagram.h. */
#include "transport/multicast/datagram.h"

#include <assert.h>
#include <string.h>
#include <zlib.h>

#include "base/wire.h"

#define MAGIC 0x66744d01u /* "ftM", version 1 */
#define SUMMED                                                                                     \
    (FTC_DATAGRAM_HEAD - 4) /* bytes of the head that the checksum covers: all but itself */

static uint32_t checksum(const unsigned char *head, const struct iovec *pieces, int count)
{
    uLong sum = crc32_z(crc32_z(0, NULL, 0), head, SUMMED);
    for (int i = 0; i < count; i++)
        if (pieces[i].iov_len > 0) /* NULL would start the sum anew */
            sum = crc32_z(sum, pieces[i].iov_base, pieces[i].iov_len);
    return (uint32_t)sum;
}

void ftc_datagram_encode(unsigned char head[FTC_DATAGRAM_HEAD], const struct ftc_datagram *fields,
                         const unsigned char *job_key, const struct iovec *pieces, int count)
{
    struct ftc_writer w = {.data = head, .size = FTC_DATAGRAM_HEAD};
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size += pieces[i].iov_len;
    assert(fields->sequence < fields->count && size <= UINT32_MAX);
    ftc_write_u32(&w, MAGIC);
    ftc_write_bytes(&w, job_key, FTC_JOB_KEY_SIZE);
    ftc_write_u32(&w, fields->source);
    ftc_write_u64(&w, fields->broadcast);
    ftc_write_u64(&w, fields->operation);
    ftc_write_u32(&w, fields->sequence);
    ftc_write_u32(&w, fields->count);
    ftc_write_u32(&w, (uint32_t)size);
    assert(w.used == SUMMED);
    ftc_write_u32(&w, checksum(head, pieces, count));
    assert(!w.failed);
}

enum ftc_datagram_verdict ftc_datagram_decode(struct ftc_datagram *fields, struct iovec *payload,
                                              void *bytes, size_t size,
                                              const unsigned char *job_key)
{
    struct ftc_reader r = {.data = bytes, .size = size};
    uint32_t magic = ftc_read_u32(&r);
    const void *key = ftc_read_bytes(&r, FTC_JOB_KEY_SIZE);
    if (key == NULL || magic != MAGIC || memcmp(key, job_key, FTC_JOB_KEY_SIZE) != 0)
        return FTC_DATAGRAM_FOREIGN;
    fields->source = ftc_read_u32(&r);
    fields->broadcast = ftc_read_u64(&r);
    fields->operation = ftc_read_u64(&r);
    fields->sequence = ftc_read_u32(&r);
    fields->count = ftc_read_u32(&r);
    uint32_t length = ftc_read_u32(&r), sum = ftc_read_u32(&r);
    if (r.failed || length != size - FTC_DATAGRAM_HEAD || fields->sequence >= fields->count)
        return FTC_DATAGRAM_CORRUPT;
    *payload = (struct iovec){(unsigned char *)bytes + FTC_DATAGRAM_HEAD, length};
    return sum == checksum(bytes, payload, 1) ? FTC_DATAGRAM_SOUND : FTC_DATAGRAM_CORRUPT;
}
