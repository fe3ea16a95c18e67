/* Spreading a decision, and asking for it (agreement.md, rules 5 and 6; docs/design/broadcast.md).
 * Private to this folder. */
#ifndef FTC_COLLECTIVES_AGREEMENT_SPREAD_H
#define FTC_COLLECTIVES_AGREEMENT_SPREAD_H

#include "collectives/agreement/internal.h"

/* How DECIDE(b) came to this process. */
struct ftc_arrival {
    int from; /* the sender; self: this process has decided */
    enum ftc_way way;
    bool correcting; /* the sender takes part in the correction */
    bool pieces;     /* it came in pieces, by multicast */
    uint32_t rounds; /* budget of rounds of gossip */
};

/* repair.c: rule 6 */
int ftc_repair_pull(struct ftc_member *m, struct ftc_operation *op);
int ftc_repair_asked(struct ftc_member *m, struct ftc_operation *op, int from);
int ftc_repair_prepare(struct ftc_member *m, struct ftc_operation *op);

/* spread.c: dissemination and correction, step by step */
void ftc_spread_reset(struct ftc_member *m, struct ftc_operation *op);
enum ftc_correction ftc_spread_correction(const struct ftc_member *m,
                                          const struct ftc_operation *op);
/* Waits for DECIDE(b), with patience. */
int ftc_spread_wait(struct ftc_member *m, struct ftc_operation *op);
void ftc_spread_colour(struct ftc_member *m, struct ftc_operation *op,
                       const struct ftc_arrival *arrival);
int ftc_spread_begin(struct ftc_member *m, struct ftc_operation *op);
/* A DECIDE(b) came: the first one or another one. */
int ftc_spread_heard(struct ftc_member *m, struct ftc_operation *op,
                     const struct ftc_arrival *arrival);
int ftc_spread_more(struct ftc_member *m); /* FTC_OUTPUT_MORE was answered */
/* So much time has passed, as far as waits of this operation can tell. */
int ftc_spread_tick(struct ftc_member *m, struct ftc_operation *op, uint64_t passed_ns);

#endif
