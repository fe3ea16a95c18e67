/* Fuzzes cards of queue pairs. Any bytes are refused, or encode to the same bytes again. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "transport/verbs/card.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    unsigned char bytes[FTC_VERBS_CARD_SIZE] = {0}, again[FTC_VERBS_CARD_SIZE];
    struct ftc_verbs_card card;
    memcpy(bytes, data, size < sizeof(bytes) ? size : sizeof(bytes));
    /* The checksum is made right, because otherwise nothing gets past it. */
    uint32_t sum = (uint32_t)crc32(0, bytes, sizeof(bytes) - 4);
    for (size_t i = 0; i < 4; i++)
        bytes[sizeof(bytes) - 4 + i] = (unsigned char)(sum >> 8 * i);
    if (ftc_verbs_card_decode(&card, bytes) != 0)
        return 0;
    ftc_verbs_card_encode(again, &card);
    if (memcmp(bytes, again, sizeof(bytes)) != 0)
        abort();
    return 0;
}
