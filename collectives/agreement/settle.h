/* Settlements (agreement.md, rule 9). Private to this folder. */
#ifndef FTC_COLLECTIVES_AGREEMENT_SETTLE_H
#define FTC_COLLECTIVES_AGREEMENT_SETTLE_H

#include "collectives/agreement/internal.h"

void ftc_settling_init(struct ftc_member *m); /* the view must be there */
void ftc_settling_fini(struct ftc_settling *settling);

/* Makes the state of the open settlement, which has none yet. */
int ftc_settlement_open(struct ftc_member *m, struct ftc_operation **out);
/* To be called before this process contributes. */
int ftc_settlement_contribute(struct ftc_member *m, struct ftc_operation *op);
int ftc_settlement_deliver(struct ftc_member *m, struct ftc_operation *op,
                           struct ftc_decision *decision);

/* An operation has begun and has got its number. `reduces`: it is a plain reduce with this root. */
void ftc_settling_note_call(struct ftc_member *m, bool reduces);
/* Asks for a settlement, or takes in messages that were kept, if this is due. 1: the rules must be
 * applied to settlement *k. */
int ftc_settling_advance(struct ftc_member *m, uint64_t *k);

#endif
