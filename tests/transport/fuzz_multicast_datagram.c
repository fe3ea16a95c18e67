/* Fuzzes the judgement of datagrams. The input is a datagram: once as it is, and once with
 * identity, length and checksum made right. A sound datagram must be the same when it is encoded
 * again. */
#include <stdlib.h>
#include <string.h>

#include "transport/multicast/datagram.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const unsigned char job_key[FTC_JOB_KEY_SIZE] = "of this job....";

static enum ftc_datagram_verdict judge(unsigned char *bytes, size_t size)
{
    struct ftc_datagram fields;
    struct iovec payload;
    unsigned char head[FTC_DATAGRAM_HEAD];
    enum ftc_datagram_verdict verdict =
        ftc_datagram_decode(&fields, &payload, bytes, size, job_key);
    if (verdict != FTC_DATAGRAM_SOUND)
        return verdict;
    if (fields.sequence >= fields.count || payload.iov_len != size - FTC_DATAGRAM_HEAD)
        abort();
    ftc_datagram_encode(head, &fields, job_key, &payload, 1);
    if (memcmp(head, bytes, sizeof(head)) != 0)
        abort();
    return verdict;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    judge((void *)(uintptr_t)data, size);
    if (size >= 8) {
        unsigned char *bytes = malloc(size + FTC_DATAGRAM_HEAD);
        struct ftc_datagram fields = {0};
        if (bytes == NULL)
            abort();
        struct iovec payload = {(void *)(uintptr_t)data, size};
        memcpy(&fields.source, data, 4);
        fields.sequence = data[4];
        fields.count = data[4] + 1u;
        ftc_datagram_encode(bytes, &fields, job_key, &payload, 1);
        memcpy(bytes + FTC_DATAGRAM_HEAD, data, size);
        if (judge(bytes, size + FTC_DATAGRAM_HEAD) != FTC_DATAGRAM_SOUND)
            abort();
        bytes[data[5] % FTC_DATAGRAM_HEAD] ^= (unsigned char)(data[6] | 1);
        if (judge(bytes, size + FTC_DATAGRAM_HEAD) == FTC_DATAGRAM_SOUND)
            abort();
        free(bytes);
    }
    return 0;
}
