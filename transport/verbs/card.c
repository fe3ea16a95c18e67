/* Encoding of the card: little-endian, of fixed size, with a checksum. */
#include "transport/verbs/card.h"

#include <string.h>
#include <zlib.h>

#include "base/error.h"
#include "base/wire.h"

#define MAGIC        0x56435446u /* "FTCV" */
#define CHECKED_SIZE (FTC_VERBS_CARD_SIZE - 4)

void ftc_verbs_card_encode(unsigned char bytes[FTC_VERBS_CARD_SIZE],
                           const struct ftc_verbs_card *card)
{
    struct ftc_writer w = {.data = bytes, .size = FTC_VERBS_CARD_SIZE};
    ftc_write_u32(&w, MAGIC);
    ftc_write_u16(&w, card->ethernet);
    ftc_write_u16(&w, (uint16_t)card->mtu);
    ftc_write_u32(&w, card->queue_pair);
    ftc_write_u32(&w, card->first);
    ftc_write_u32(&w, card->receives);
    ftc_write_u32(&w, card->lid);
    ftc_write_u32(&w, FTC_VERBS_SLOT_SIZE);
    ftc_write_bytes(&w, card->gid, sizeof(card->gid));
    ftc_write_u32(&w, (uint32_t)crc32(0, bytes, CHECKED_SIZE));
}

int ftc_verbs_card_decode(struct ftc_verbs_card *card,
                          const unsigned char bytes[FTC_VERBS_CARD_SIZE])
{
    struct ftc_reader r = {.data = bytes, .size = FTC_VERBS_CARD_SIZE};
    uint32_t magic = ftc_read_u32(&r);
    unsigned ethernet = ftc_read_u16(&r);
    card->ethernet = ethernet == 1;
    card->mtu = ftc_read_u16(&r);
    card->queue_pair = ftc_read_u32(&r);
    card->first = ftc_read_u32(&r);
    card->receives = ftc_read_u32(&r);
    card->lid = ftc_read_u32(&r);
    uint32_t slot = ftc_read_u32(&r);
    memcpy(card->gid, ftc_read_bytes(&r, sizeof(card->gid)), sizeof(card->gid));
    if (magic != MAGIC || ftc_read_u32(&r) != (uint32_t)crc32(0, bytes, CHECKED_SIZE))
        return ftc_error_set(FTC_ERR_PROTO, "it does not describe a queue pair");
    if (ethernet > 1 || card->mtu < 1 || card->mtu > 5 || card->queue_pair >= 1u << 24 ||
        card->first >= 1u << 24 || card->lid >= 1u << 16 || slot != FTC_VERBS_SLOT_SIZE ||
        card->receives < FTC_VERBS_RECEIVES_MIN || card->receives > FTC_VERBS_RECEIVES_MAX)
        return ftc_error_set(FTC_ERR_PROTO, "it describes a queue pair that cannot be");
    return FTC_SUCCESS;
}
