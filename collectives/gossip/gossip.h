/*
 * Gossip aggregation: the part of one process in computing the average of the vectors of all
 * processes. Each process sends messages to its neighbours, and none waits for another one. The
 * values are doubles, and the result is approximate. docs/design/gossip.md explains the terms and
 * the rules. The algorithms are those of Wimmer 2016; his numbers are in brackets:
 *
 * - push-sum (2, 8): a rank keeps a value and a weight, and sends half of them to a neighbour.
 *   Nothing heals.
 * - push-flow (3): a rank keeps, as a flow, all that went over a link, and sends the whole flow.
 *   Lost messages heal with the next message. So do flips, if they are small enough.
 * - push-cancel-flow (4): a flow is cancelled when both ends agree on it. So flows stay small.
 * - pflc (5): push-flow with a checksum in each flow. A corrupt flow is zeroed.
 * - pfcc (6): the same, but a rank asks for a corrupt flow at the other end of the link, which
 *   holds its opposite.
 *
 * An object is one operation. Inputs: start, a message, a failure notice, a timer. Outputs:
 * messages, a timer. After each input the engine takes the outputs until there is none. The object
 * does no I/O, reads no clock and knows no true result. The bytes of messages are untrusted. Not
 * thread-safe.
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
    size_t count; /* number of values, at least 1 */
    /* The weight of this rank in the average: 0 or more, finite; read by ftc_gossip_create() alone.
     * NULL: 1. */
    const double *weight;
    /* The relative error that is aimed at. The thresholds and ftc_gossip_settled() use it. */
    double accuracy;
    /* A checksum that is off by more is corrupt. 0: gossip computes thresholds from the estimate
     * and the rounding unit (docs/design/gossip.md, "tau"). It is of the size of the values. */
    double tau;
    /* The two ends of a link send in turns. A draw says which end begins. So no two messages meet
     * (figure 2.3), and none follows another one that is unanswered (figure 2.5). Not for push-sum,
     * which needs no turns, nor for directed neighbourhoods. */
    bool turns;
    /* Without turns: a rank uses each link once, in a drawn order, and then draws a new order.
     * Otherwise it draws a link in each step. */
    bool permuted;
    /* Synchronous rounds (algorithm 7): a message that comes is only taken in. The engine calls
     * ftc_gossip_timer() once in each round, and this sends. */
    bool rounds;
    uint64_t seed;        /* for drawing links; each rank has its own draws */
    uint64_t patience_ns; /* a message is sent when none has come for so long; 0: no timer */
};

/* Can these settings go together? If not: FTC_ERR_ARG, with cause and remedy. */
int ftc_gossip_check(const struct ftc_gossip_settings *settings);

struct ftc_gossip_output {
    enum { FTC_GOSSIP_SEND, FTC_GOSSIP_TIMER } kind;
    int to;            /* of a SEND */
    const void *bytes; /* of a SEND; valid until the next call */
    size_t size;
    /* Of a TIMER: call ftc_gossip_timer() after this time. It replaces an earlier timer. */
    uint64_t delay_ns;
};

/* A message begins with this number of bytes, which say what it is. Gossip itself cannot find
 * damage in them: gossip/wire.h protects them. */
#define FTC_GOSSIP_LETTER_HEAD 16
/* Is this the head of a mark? Drills that lose messages lose no marks (docs/design/gossip.md, rule
 * 5). */
bool ftc_gossip_is_mark(const void *head);

struct ftc_gossip;

/* `values`: count doubles, which are copied: the input times the weight. Errors: FTC_ERR_ARG like
 * ftc_gossip_check(), FTC_ERR_NOMEM. */
int ftc_gossip_create(struct ftc_gossip **out, const struct ftc_gossip_settings *settings,
                      const double *values);
void ftc_gossip_destroy(struct ftc_gossip *gossip); /* NULL is legal */

void ftc_gossip_start(struct ftc_gossip *gossip); /* to be called once */
/* FTC_ERR_PROTO: this is no message of a neighbour in this operation's algorithm; it was
 * ignored. */
int ftc_gossip_receive(struct ftc_gossip *gossip, int from, const void *bytes, size_t size);
/* `rank` has failed: the flows of its link are zeroed. */
void ftc_gossip_notice(struct ftc_gossip *gossip, int rank);
/* Do other messages wait for this rank behind those that it will receive from now on? If so: in
 * turns it answers only those repetitions that heal a flow of its own, and without turns it only
 * takes messages in, and owes one push for all of them. This is a hint. A wrong `true`, even for
 * good, costs nothing but time (docs/design/gossip.md, rules 1 to 4). */
void ftc_gossip_more(struct ftc_gossip *gossip, bool more);
/* No other message waits: this rank pushes, if it owes a push. */
void ftc_gossip_answer(struct ftc_gossip *gossip);
void ftc_gossip_timer(struct ftc_gossip *gossip);
bool ftc_gossip_next_output(struct ftc_gossip *gossip, struct ftc_gossip_output *output);

/* The estimate of the average: count doubles, valid until the next input. They may be infinite or
 * NaN with an algorithm that does not heal, and are NaN while this rank holds no weight
 * (docs/design/gossip.md, rule 10). */
const double *ftc_gossip_estimate(const struct ftc_gossip *gossip);
/* The weight that this rank holds. In the mean it is that of all ranks. */
double ftc_gossip_weight(const struct ftc_gossip *gossip);
/* Has the estimate stood still, within half the accuracy, for 4 + 2 log2 n steps? This is a guess
 * of this rank alone. gossip/end.h says what else is needed. */
bool ftc_gossip_settled(const struct ftc_gossip *gossip);
/* The number of steps so far. */
uint64_t ftc_gossip_steps(const struct ftc_gossip *gossip);
/* In turns: have all flows that this rank changed before `step` been answered? Then none of these
 * changes is lost or under way. Without turns: true. */
bool ftc_gossip_answered(const struct ftc_gossip *gossip, uint64_t step);
/* Is the initial value right, as far as its checksum tells? False: it has changed, and could not be
 * repaired. */
bool ftc_gossip_sound(const struct ftc_gossip *gossip);
/* The initial mass of this rank: count doubles, the input times the weight, and then the weight.
 * Valid until the next input. It is right if ftc_gossip_sound(). */
const double *ftc_gossip_initial(const struct ftc_gossip *gossip);
/* From now on the estimate must stand still anew for ftc_gossip_settled(). */
void ftc_gossip_unsettle(struct ftc_gossip *gossip);
/* If a rank dies, does the result become the average of the living? */
bool ftc_gossip_survives(enum ftc_gossip_algorithm algorithm);

/* Without turns: tells the neighbours that this rank has come to the barrier of attempt `number`,
 * which counts from 1 (docs/design/gossip.md, rule 5). In turns it does nothing. */
void ftc_gossip_mark(struct ftc_gossip *gossip, uint32_t number);
/* Have the marks of all living neighbours come that send to this rank? Then it has taken in all
 * that they sent before. In turns: true. */
bool ftc_gossip_marked(const struct ftc_gossip *gossip);

/* For ftcoll-status. In turns: the neighbour whose turn it is, and whose last new message is
 * oldest. Without turns: the first neighbour whose mark has not come. -1: there is none. `waits`:
 * for how many neighbours this rank waits. */
int ftc_gossip_awaits(const struct ftc_gossip *gossip, int *waits);

struct ftc_gossip_counters {
    uint64_t sent, received; /* messages */
    uint64_t timers;         /* messages that a timer sent */
    uint64_t corrupt;        /* flows that were found corrupt, own and received ones */
    uint64_t resets;         /* flows that were zeroed for that */
    uint64_t repairs;        /* repairs of the initial value */
    double largest_flow;     /* greatest magnitude of an entry now (figure 2.2) */
};
void ftc_gossip_counters(const struct ftc_gossip *gossip, struct ftc_gossip_counters *counters);
/* The greatest magnitude of an entry of the flow of this link, now. */
double ftc_gossip_link_flow(const struct ftc_gossip *gossip, int link);

/* Turns a bit over: now (input, flow, weight, checksum; in a link that is drawn), or in the next
 * step (estimate, message). It does not look at the rank and the time of `flip`. False: this
 * algorithm has no such variable. */
bool ftc_gossip_flip(struct ftc_gossip *gossip, const struct ftc_flip *flip);

/* For tests that tell a story: step along this link of the neighbourhood, and do not draw one. -1:
 * draw again. */
void ftc_gossip_direct(struct ftc_gossip *gossip, int link);

#endif
