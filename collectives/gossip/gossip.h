/*
 * Gossip aggregation: one process's part in computing the average of all processes' vectors, by
 * messages to random neighbours that none waits for (docs/design/gossip.md). Approximate, for
 * doubles; what heals by itself is the algorithm's:
 *
 *   push-sum          (value, weight) pairs; half of it goes to a neighbour. Nothing heals.       Wimmer 2016, algorithms 2 and 8
 *   push-flow         what went to each neighbour is kept as a flow and sent whole: lost messages heal with the
 *                     next one, and so do flips that are small enough.                             algorithm 3
 *   push-cancel-flow  flows are cancelled when both ends hold the same, and so stay small.         algorithm 4
 *   pflc              push-flow with a checksum in each flow; a corrupt one is zeroed.             algorithm 5
 *   pfcc              ... a corrupt one is asked for from the neighbour, which holds its opposite. algorithm 6
 *
 * An object is one operation. Inputs: start, a message, a failure notice, a timer. Outputs:
 * messages, a timer. After each input take the outputs until there is none. It does no I/O, reads
 * no clock and knows no true result. Bytes of messages are untrusted. Not thread-safe.
 */
#ifndef FTC_COLLECTIVES_GOSSIP_GOSSIP_H
#define FTC_COLLECTIVES_GOSSIP_GOSSIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectives/gossip/neighbourhood.h"
#include "collectives/values/flip.h"

enum ftc_gossip_algorithm {
    FTC_GOSSIP_PUSH_SUM,
    FTC_GOSSIP_PUSH_FLOW,
    FTC_GOSSIP_PUSH_CANCEL_FLOW,
    FTC_GOSSIP_PFLC,
    FTC_GOSSIP_PFCC,
    FTC_GOSSIP_ALGORITHMS
};
const char *ftc_gossip_algorithm_name(enum ftc_gossip_algorithm algorithm); /* "push-sum", ... */

struct ftc_gossip_settings {
    int self;
    struct ftc_neighbourhood neighbourhood;
    enum ftc_gossip_algorithm algorithm;
    size_t count; /* of values; at least 1 */
    double
        accuracy; /* relative error that is aimed at: for the thresholds and for ftc_gossip_settled() */
    double
        tau; /* checksums off by more are corrupt; 0: from the estimate and the rounding unit (gossip_checksum.h) */
    /* The two ends of a link send in turns; who begins is drawn: no two messages meet (figure 2.3),
     * none follows another unanswered (figure 2.5). Not for push-sum, which needs none, nor for
     * directed neighbourhoods. */
    bool turns;
    /* Without turns: each link once, in an order that is drawn afresh when all have been used,
     * instead of one drawn in each step. */
    bool permuted;
    /* Synchronous rounds (algorithm 7): what comes is only taken in; ftc_gossip_timer() sends, once
     * in each round. */
    bool rounds;
    uint64_t seed;        /* of the neighbours that are drawn; each rank draws its own */
    uint64_t patience_ns; /* without a message for so long another is sent; 0: no timer */
};

/* Why these settings cannot go together: FTC_ERR_ARG, with cause and remedy. */
int ftc_gossip_check(const struct ftc_gossip_settings *settings);

struct ftc_gossip_output {
    enum { FTC_GOSSIP_SEND, FTC_GOSSIP_TIMER } kind;
    int to;            /* SEND */
    const void *bytes; /* SEND; valid until the next call */
    size_t size;
    uint64_t delay_ns; /* TIMER: call ftc_gossip_timer() after so long; replaces the earlier one */
};

/* A message begins with so many bytes that say what it is. Gossip itself does not find damage in
 * them: gossip/wire.h protects them. */
#define FTC_GOSSIP_LETTER_HEAD 16
/* Is this head that of a mark? Drills do not lose marks (docs/design/gossip.md, rule 5). */
bool ftc_gossip_is_mark(const void *head);

struct ftc_gossip;

/* `values`: count doubles, copied. FTC_ERR_ARG as of ftc_gossip_check(), FTC_ERR_NOMEM. */
int ftc_gossip_create(struct ftc_gossip **out, const struct ftc_gossip_settings *settings,
                      const double *values);
void ftc_gossip_destroy(struct ftc_gossip *gossip); /* NULL is legal */

void ftc_gossip_start(struct ftc_gossip *gossip); /* once */
/* FTC_ERR_PROTO: no message of this operation's algorithm from a neighbour; it was ignored. */
int ftc_gossip_receive(struct ftc_gossip *gossip, int from, const void *bytes, size_t size);
void ftc_gossip_notice(struct ftc_gossip *gossip,
                       int rank); /* rank has failed: its flows are zeroed */
/* Do further messages wait for this rank behind those that it receives from now on? In turns
 * repetitions need no answer then; without turns messages are only taken in, and one push for all
 * of them is owed. This is a hint: a `true` that is wrong, even for good, costs time alone
 * (docs/design/gossip.md, rules 1 to 4). */
void ftc_gossip_more(struct ftc_gossip *gossip, bool more);
/* No further message waits: push, if that is owed. */
void ftc_gossip_answer(struct ftc_gossip *gossip);
void ftc_gossip_timer(struct ftc_gossip *gossip);
bool ftc_gossip_next_output(struct ftc_gossip *gossip, struct ftc_gossip_output *output);

/* The estimate of the average: count doubles, valid until the next input. Not finite values are
 * possible where nothing heals. */
const double *ftc_gossip_estimate(const struct ftc_gossip *gossip);
/* Has the estimate stood still, within the accuracy, for as many steps as a message needs to come
 * around? A guess that this rank makes alone; what it takes for a proof is in gossip/end.h. */
bool ftc_gossip_settled(const struct ftc_gossip *gossip);
/* Steps so far. In turns, has every flow that this rank changed before `step` been answered? Then
 * nothing of it is lost, nor under way. True without turns. */
uint64_t ftc_gossip_steps(const struct ftc_gossip *gossip);
bool ftc_gossip_answered(const struct ftc_gossip *gossip, uint64_t step);
/* Is the initial value what it was, as far as its checksum tells? False: it has changed, and could
 * not be repaired. */
bool ftc_gossip_sound(const struct ftc_gossip *gossip);
/* This rank's initial value: count doubles, valid until the next input; what it was, if
 * ftc_gossip_sound(). */
const double *ftc_gossip_initial(const struct ftc_gossip *gossip);
/* Judge that anew, from here on. */
void ftc_gossip_unsettle(struct ftc_gossip *gossip);
/* Does the result stay the average of the living when a rank dies? */
bool ftc_gossip_survives(enum ftc_gossip_algorithm algorithm);

/* Without turns: say over each link that this rank has come to the barrier of the attempt `number`,
 * which counts from 1 (docs/design/gossip.md, rule 5). In turns it does nothing. */
void ftc_gossip_mark(struct ftc_gossip *gossip, uint32_t number);
/* Have all living neighbours that send to this rank said so, too? Then it has taken in all that
 * they sent before. True in turns. */
bool ftc_gossip_marked(const struct ftc_gossip *gossip);

/* For people: the neighbour whose message this rank has waited for longest, in turns, or the first
 * whose mark has not come; -1: none. `waits`: how many it waits for. */
int ftc_gossip_awaits(const struct ftc_gossip *gossip, int *waits);

struct ftc_gossip_counters {
    uint64_t sent, received; /* messages */
    uint64_t timers;         /* messages that a timer sent */
    uint64_t corrupt;        /* flows found corrupt, own or received */
    uint64_t resets;         /* flows zeroed for it */
    uint64_t repairs;        /* of the initial value */
    double largest_flow;     /* greatest |entry| now (figure 2.2) */
};
void ftc_gossip_counters(const struct ftc_gossip *gossip, struct ftc_gossip_counters *counters);

/* Turn a bit over now (input, flow, weight, checksum; of a link drawn at random), or in the next
 * step (estimate, message). The rank and the time of `flip` are not looked at. False: this
 * algorithm has no such variable. */
bool ftc_gossip_flip(struct ftc_gossip *gossip, const struct ftc_flip *flip);

/* For scripted stories: step along this link of the neighbourhood instead of a drawn one, -1: draw
 * again. */
void ftc_gossip_direct(struct ftc_gossip *gossip, int link);

#endif
