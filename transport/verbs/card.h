/* The card: what the two ends of a new link tell each other of their queue pairs
 * (docs/design/verbs.md, "Meeting over TCP"). No I/O. */
#ifndef FTC_TRANSPORT_VERBS_CARD_H
#define FTC_TRANSPORT_VERBS_CARD_H

#include <stdbool.h>
#include <stdint.h>

#define FTC_VERBS_CARD_SIZE    48
#define FTC_VERBS_RECEIVES_MIN 4
#define FTC_VERBS_RECEIVES_MAX 4096
#define FTC_VERBS_SLOT_SIZE    4096 /* bytes of each receive; fixed by the protocol */

struct ftc_verbs_card {
    bool ethernet;
    unsigned mtu;        /* as in enum ibv_mtu */
    uint32_t queue_pair; /* 24 bits */
    uint32_t first;      /* number of the first packet, 24 bits */
    uint32_t receives;   /* how many receives are posted */
    uint32_t lid;        /* 16 bits; for InfiniBand */
    unsigned char gid[16];
};

void ftc_verbs_card_encode(unsigned char bytes[FTC_VERBS_CARD_SIZE],
                           const struct ftc_verbs_card *card);
/* FTC_ERR_PROTO: the card is damaged, or one of its numbers is out of bounds. */
int ftc_verbs_card_decode(struct ftc_verbs_card *card,
                          const unsigned char bytes[FTC_VERBS_CARD_SIZE]);

#endif
