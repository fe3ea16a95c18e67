/* What the two ends of a new link tell each other of their queue pairs. No I/O. */
#ifndef FTC_TRANSPORT_VERBS_CARD_H
#define FTC_TRANSPORT_VERBS_CARD_H

#include <stdbool.h>
#include <stdint.h>

#define FTC_VERBS_CARD_SIZE    48
#define FTC_VERBS_RECEIVES_MIN 4
#define FTC_VERBS_RECEIVES_MAX 4096
#define FTC_VERBS_SLOT_SIZE                                                                        \
    4096 /* bytes of a receive, at least and at most: part of the protocol's version 1 */

struct ftc_verbs_card {
    bool ethernet;
    unsigned mtu;        /* as in enum ibv_mtu */
    uint32_t queue_pair; /* 24 bits */
    uint32_t first;      /* packet number, 24 bits */
    uint32_t receives;   /* that are posted */
    uint32_t lid;        /* 16 bits; InfiniBand */
    unsigned char gid[16];
};

void ftc_verbs_card_encode(unsigned char bytes[FTC_VERBS_CARD_SIZE],
                           const struct ftc_verbs_card *card);
/* FTC_ERR_PROTO: damaged, or something out of bounds. */
int ftc_verbs_card_decode(struct ftc_verbs_card *card,
                          const unsigned char bytes[FTC_VERBS_CARD_SIZE]);

#endif
