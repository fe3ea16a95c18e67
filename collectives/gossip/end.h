/*
 * The end of a gossip aggregation: when it is over, and with what result. All survivors get the
 * same bits. Wimmer 2016 leaves open how a process knows that gossip is over (section 2.2). Here
 * each rank judges for itself, and then the agreement core decides for all.
 *
 * One *attempt* has two agreements of the communicator:
 * 1. A barrier. A rank calls it when it has settled (ftc_gossip_settled()) and all that it pushed
 *    before was answered, or when it gives up. Gossip goes on meanwhile: a rank that has settled
 *    must still answer the others.
 * 2. An agreement that combines by maximum. A rank that returns from the barrier first takes in
 *    what has arrived; without turns it waits for the marks. Then it freezes: it takes in no
 *    message and sends none. It contributes the least and the greatest estimate since it settled,
 *    element by element, a digest of the ranks that it has removed, whether its estimate has stood
 *    still since before the barrier, the cause if it gives up, its weight, the weight that it
 *    holds now, and the greatest of its inputs times its weight.
 *
 * The decision of the second agreement says what follows. Its value and its failed set are all that
 * this depends on, so it is the same at every rank:
 * - Give up, if the weights of all ranks are 0.
 * - Success, if no estimate has moved since before the barrier, all have removed exactly the failed
 *   set of the decision, and greatest - least <= accuracy * |middle|, or <= 2^-47 of the
 *   greatest input (docs/design/gossip.md, rules 7 and 9). |middle| is the largest magnitude of
 *   all elements. The result is the middle.
 * - Anew, if all this holds but the distance, and ranks have died since the beginning. Then there
 *   may be no path between two survivors. Gossip begins anew, from the same initial values, in a
 *   neighbourhood of the living.
 * - Give up, if a rank gives up, or if most_attempts were in vain; and always if a rank has died
 *   and the algorithm does not survive that.
 * - Otherwise the ranks thaw, take in what came, settle afresh and try again.
 *
 * Guarantee: the result is off by half the accuracy at most. Mass is conserved. So the average of
 * the survivors is a convex combination of their estimates, and of the estimates in pushes that the
 * other end has not taken in. If each of these was made after its rank had settled, all of them lie
 * between least and greatest, and so does the average.
 * - In turns this holds whatever is lost or late: the other end has answered all earlier pushes.
 * - Without turns it holds if channels are FIFO. A rank freezes when it has the marks of its
 *   neighbours, and a mark comes after all that its sender sent before the barrier
 *   (ftc_gossip_end_complete()). The flow in a mark restores what a channel has lost. With push-sum
 *   a mark carries no flow.
 *
 * The guarantee covers neither rounding nor flips too small for a checksum, nor an initial value
 * that was corrupt before its checksum was made. An initial value that is found corrupt later makes
 * the attempt fail, and the last attempt, too, if it cannot be repaired. Nothing reads the true
 * result.
 *
 * It does no I/O and reads no clock. Not thread-safe.
 */
#ifndef FTC_COLLECTIVES_GOSSIP_END_H
#define FTC_COLLECTIVES_GOSSIP_END_H

#include "base/set.h"
#include "collectives/gossip/gossip.h"

struct ftc_gossip_end_settings {
    size_t count;    /* number of values, at least 1 */
    double accuracy; /* relative */
    bool survives;   /* there is a result though a rank dies; false: its death ends the operation */
    uint64_t most_messages; /* this rank gives up when it has sent so many; 0: never */
    int most_attempts;      /* then all give up; must be the same at every rank */
    /* The ranks that had failed before the operation; the same at every rank. The set is copied. */
    const struct ftc_set *removed;
};

struct ftc_gossip_end;

/* Why there is no result. If ranks have several causes, the greatest is told. The last one is the
 * one that no setting cures. */
enum ftc_gossip_cause {
    FTC_GOSSIP_CAUSE_ATTEMPTS, /* most_attempts were in vain */
    FTC_GOSSIP_CAUSE_MESSAGES, /* a rank has sent most_messages */
    FTC_GOSSIP_CAUSE_TIME,     /* a rank was told ftc_gossip_end_late() */
    /* A rank was told ftc_gossip_end_give_up(), or a rank died and the algorithm does not survive
     * that. */
    FTC_GOSSIP_CAUSE_HOPELESS,
    FTC_GOSSIP_CAUSE_WEIGHTLESS, /* the weights of all survivors are 0 */
    FTC_GOSSIP_CAUSES
};

/* `gossip` has not started; it is used, not owned. Error: FTC_ERR_NOMEM. */
int ftc_gossip_end_create(struct ftc_gossip_end **out,
                          const struct ftc_gossip_end_settings *settings,
                          struct ftc_gossip *gossip);
void ftc_gossip_end_destroy(struct ftc_gossip_end *end); /* NULL is legal */

/* To be called after each input of the gossip. */
void ftc_gossip_end_look(struct ftc_gossip_end *end);
/* `rank` has failed. ftc_gossip_notice() must have been told before. */
void ftc_gossip_end_removed(struct ftc_gossip_end *end, int rank);
/* This rank knows that the result cannot become right. It gives up, and all give up with it. */
void ftc_gossip_end_give_up(struct ftc_gossip_end *end);

/* This rank has gossiped for as long as it may. It gives up. */
void ftc_gossip_end_late(struct ftc_gossip_end *end);

/* May this rank call the barrier? It has sent `sent` messages. */
bool ftc_gossip_end_ready(const struct ftc_gossip_end *end, uint64_t sent);
/* This rank calls the barrier now. Take the outputs of the gossip before that. */
void ftc_gossip_end_enter(struct ftc_gossip_end *end, uint64_t sent);

/* This rank has returned from the barrier. Has it taken in all that others sent before they came to
 * it? If not, it must go on (docs/design/gossip.md, rule 5). */
bool ftc_gossip_end_complete(const struct ftc_gossip_end *end);
/* The number of doubles that a rank contributes to the second agreement. */
size_t ftc_gossip_end_contributes(size_t count);
/* This rank has returned from the barrier, and takes in no message from now on. Returns its
 * contribution to the second agreement, which combines by FTC_MAX. Valid until the next call. */
const double *ftc_gossip_end_freeze(struct ftc_gossip_end *end);

enum ftc_gossip_verdict {
    FTC_GOSSIP_AGREED, /* success: `average` has count doubles */
    FTC_GOSSIP_AGAIN,  /* take in what has come, and go on */
    /* Deaths have parted the survivors: destroy this object and the gossip, and begin anew with the
     * living alone. */
    FTC_GOSSIP_ANEW,
    FTC_GOSSIP_GIVEN_UP,
};
/* `decided` and `failed`: the value and the failed set of the second agreement's decision. */
enum ftc_gossip_verdict ftc_gossip_end_decide(struct ftc_gossip_end *end, const double *decided,
                                              const struct ftc_set *failed, double *average);

/* After FTC_GOSSIP_AGREED: no element of the average is off by more, the same at every rank. It is
 * half the accuracy of the largest element, or more where inputs cancel (gossip.md, rule 7). */
double ftc_gossip_end_error(const struct ftc_gossip_end *end);
/* After FTC_GOSSIP_GIVEN_UP: the cause, the same at every rank. */
enum ftc_gossip_cause ftc_gossip_end_cause(const struct ftc_gossip_end *end);
int ftc_gossip_end_attempts(const struct ftc_gossip_end *end); /* number of attempts so far */

#endif
