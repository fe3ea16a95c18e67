/*
 * The end of a gossip aggregation: when it is over, and with what result, the same bits at every
 * survivor. Wimmer 2016 leaves open how a process knows (section 2.2); here each judges for itself,
 * and the agreement core decides for all.
 *
 * One attempt, in two agreements of the communicator:
 *   1. a barrier, called by a rank when its own estimate stands still (ftc_gossip_settled()) and
 *      what it pushed before that has been answered, or when it gives up. Gossip goes on meanwhile:
 *      who has settled must answer, or the others starve.
 *   2. a rank that returns from it freezes, without turns after the marks: it takes in no message
 *      and sends none. It contributes what its estimates have been at least and at most since it
 *      settled, element by element, and the ranks that it has removed, as a digest; all are
 *      combined by maximum.
 * The attempt succeeds if all had stood still since before the barrier, everyone has removed
 * exactly the failed set of the decision,
 * and greatest - least <= accuracy * |middle|, the largest magnitude of all elements, or the rounding of the initial values. The result is the
 * middle. Where all have stood still and removed the same, but lie apart, and ranks have died since
 * the beginning, no path may be left between two survivors: then gossip begins anew, from the same
 * initial values, with a neighbourhood of the living. Otherwise ranks thaw, take in what came,
 * settle afresh and try again.
 *
 * What that guarantees. Mass is conserved: the average of the survivors is a convex combination of
 * their estimates and of those that pushes carry which the other end has not taken in. Where each
 * of these was made since its rank settled, all lie between least and greatest, and the result is
 * off by no more than half the accuracy (rounding and flips too small for a checksum apart). In
 * turns that holds whatever is lost or late: the other end has answered all earlier ones. Without
 * turns it holds where channels are FIFO: a rank freezes when it has the marks of its neighbours,
 * which follow all that these sent before they came to the barrier (ftc_gossip_end_complete()).
 * What a channel loses the flow of a mark restores, but for push-sum, which has none. An initial
 * value that was corrupt before its checksum was made is outside of it; one that is found corrupt
 * then stops the attempt, and the last one too if it cannot be repaired. Nothing reads the true
 * result.
 *
 * All is decided from the decision's value and failed set alone, so that success, another attempt
 * and giving up are the same everywhere. Does no I/O, reads no clock. Not thread-safe.
 */
#ifndef FTC_COLLECTIVES_GOSSIP_END_H
#define FTC_COLLECTIVES_GOSSIP_END_H

#include "base/set.h"
#include "collectives/gossip/gossip.h"

struct ftc_gossip_end_settings {
    size_t count;           /* of values; at least 1 */
    double accuracy;        /* relative */
    bool survives;          /* a death during the operation leaves a result; else it ends it */
    uint64_t most_messages; /* sent by this rank: then it gives up; 0: never */
    int most_attempts;      /* then all give up; the same at every rank */
    const struct ftc_set
        *removed; /* the failed before the operation, the same at every rank; copied */
};

struct ftc_gossip_end;

/* Why there is no result. Of the causes of several ranks the greatest is told: last is the one that
 * no setting cures. */
enum ftc_gossip_cause {
    FTC_GOSSIP_CAUSE_ATTEMPTS, /* most_attempts were in vain */
    FTC_GOSSIP_CAUSE_MESSAGES, /* a rank has sent most_messages */
    FTC_GOSSIP_CAUSE_TIME,     /* a rank was told ftc_gossip_end_late() */
    /* A rank was told ftc_gossip_end_give_up(), or one died and the algorithm does not survive
     * that. */
    FTC_GOSSIP_CAUSE_HOPELESS,
    FTC_GOSSIP_CAUSES
};

/* `values`: this rank's input, count doubles; `gossip` is used, not owned. FTC_ERR_NOMEM. */
int ftc_gossip_end_create(struct ftc_gossip_end **out,
                          const struct ftc_gossip_end_settings *settings, struct ftc_gossip *gossip,
                          const double *values);
void ftc_gossip_end_destroy(struct ftc_gossip_end *end); /* NULL is legal */

/* After each input of the gossip. */
void ftc_gossip_end_look(struct ftc_gossip_end *end);
/* A rank has failed, and ftc_gossip_notice() was told so. */
void ftc_gossip_end_removed(struct ftc_gossip_end *end, int rank);
/* This rank knows that the result cannot become right: all give up with it. */
void ftc_gossip_end_give_up(struct ftc_gossip_end *end);

/* This rank has gossiped for as long as it may: it gives up. */
void ftc_gossip_end_late(struct ftc_gossip_end *end);

/* May this rank, which has sent so many messages, call the first agreement? */
bool ftc_gossip_end_ready(const struct ftc_gossip_end *end, uint64_t sent);
/* It calls it now: before that, take the outputs of the gossip. */
void ftc_gossip_end_enter(struct ftc_gossip_end *end, uint64_t sent);

/* It has returned from it: has it taken in all that others sent before they called? Until then it
 * goes on (docs/design/gossip.md, rule 5). */
bool ftc_gossip_end_complete(const struct ftc_gossip_end *end);
/* It has returned from it, and takes in no message from here on: this rank's contribution to the
 * second agreement, so many doubles, to be combined by FTC_MAX; valid until the next call. */
size_t ftc_gossip_end_contributes(size_t count);
const double *ftc_gossip_end_freeze(struct ftc_gossip_end *end);

enum ftc_gossip_verdict {
    FTC_GOSSIP_AGREED, /* `average` has count doubles */
    FTC_GOSSIP_AGAIN,  /* take in what has come, and go on */
    FTC_GOSSIP_ANEW, /* deaths have parted the survivors: destroy this and gossip, and begin with the living alone */
    FTC_GOSSIP_GIVEN_UP,
};
/* What the second agreement has decided: its value and its failed set. */
enum ftc_gossip_verdict ftc_gossip_end_decide(struct ftc_gossip_end *end, const double *decided,
                                              const struct ftc_set *failed, double *average);

/* After FTC_GOSSIP_GIVEN_UP: the same at every rank. */
enum ftc_gossip_cause ftc_gossip_end_cause(const struct ftc_gossip_end *end);
int ftc_gossip_end_attempts(const struct ftc_gossip_end *end); /* so far */

#endif
