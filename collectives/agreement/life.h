/* The life of an operation, from the call to the delivery and after it. Private to this folder. */
#ifndef FTC_COLLECTIVES_AGREEMENT_LIFE_H
#define FTC_COLLECTIVES_AGREEMENT_LIFE_H

#include "collectives/agreement/internal.h"
#include "collectives/agreement/spread.h"

/* deliver.c: rule 5 */
int ftc_member_deliver(struct ftc_member *m, struct ftc_operation *op, int status,
                       struct ftc_decision *decision, const struct ftc_value *result);
/* Two levels: delivers what the decision word of the node says; or the decision that came before
 * the call, if one has. */
int ftc_member_deliver_word(struct ftc_member *m, struct ftc_operation *op,
                            struct ftc_decision *decision);
int ftc_member_deliver_kept_word(struct ftc_member *m, struct ftc_operation *op);

/* broadcast.c: rule 5 */
int ftc_broadcast_hold(struct ftc_member *m, struct ftc_operation *op,
                       struct ftc_decision *decision, const struct ftc_arrival *arrival);
/* A piece came, by datagram or along the ring. *complete: it was the last one, and m->scratch holds
 * the message that the pieces make. FTC_ERR_PROTO: the piece contradicts others, or the pieces make
 * no message. */
int ftc_broadcast_piece(struct ftc_member *m, struct ftc_operation *op, bool datagram,
                        bool *complete);
/* The pieces that came are worthless: drops them, and asks by PULL. */
int ftc_broadcast_drop_pieces(struct ftc_member *m, struct ftc_operation *op);

/* ballot.c: entering and starting ballots (rules 1, 3 and 7) */
int ftc_ballot_enter(struct ftc_member *m, struct ftc_operation *op, struct ftc_ballot_id id,
                     struct ftc_view *participants);
int ftc_ballot_start(struct ftc_member *m, struct ftc_operation *op, struct ftc_ballot_id id);
int ftc_ballot_rotate(struct ftc_member *m, struct ftc_operation *op); /* rule 7; 1: changed */

/* collect.c: rules 2, 3, 4 */
int ftc_collect_advance(struct ftc_member *m, struct ftc_operation *op); /* 1: changed */
/* This process decides, and holds DECIDE(b). */
int ftc_collect_decide(struct ftc_member *m, struct ftc_operation *op);
/* Rule 2, "Exchange": asks for (0,1) or, as c_0, starts it, if this is due. 1: changed. */
int ftc_collect_give_up(struct ftc_member *m, struct ftc_operation *op);

/* receive.c: rule 0 */
/* Judges the message in m->scratch. Error: also FTC_ERR_PROTO. */
int ftc_receive_judge(struct ftc_member *m, struct ftc_operation *op, int from, bool datagram);
/* Judges the messages that were kept for operation k. `op` is NULL if it has no state, since its
 * root is in G. */
int ftc_receive_kept(struct ftc_member *m, uint64_t k, struct ftc_operation *op);
bool ftc_receive_has_kept(const struct ftc_member *m, uint64_t k);
/* Keeps a message of operation k, which is `ahead` operations after the next one. */
int ftc_receive_keep(struct ftc_member *m, uint64_t k, uint64_t ahead, int from, bool datagram,
                     struct ftc_buffer *buffer);
void ftc_receive_drop_kept(struct ftc_member *m);
void ftc_receive_digest(const struct ftc_member *m, ftc_digest_sink *sink, void *arg);

/* call.c */
/* May this call be made now? Errors: FTC_ERR_ARG, FTC_ERR_STATE. */
int ftc_member_check_call(const struct ftc_member *m, const struct ftc_call *call);
/* Begins the operation that has just got its number. */
int ftc_member_begin_call(struct ftc_member *m, const struct ftc_call *call);

#endif
