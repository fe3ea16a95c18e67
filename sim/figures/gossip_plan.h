/*
 * What gossip with correction costs and reaches, by formula: to choose its parameters, and to stand
 * beside what is measured (docs/design/algorithms-notes.md, 3). Pure functions: no errors but those
 * named, any thread.
 *
 * Time is counted in rounds: a coloured rank sends one message in each, so a round is o (LogP). A
 * message sent in round t can be passed on in round t + hop. By the clock, hop = ceil((L + 2o) /
 * o); where messages carry what is left of the rounds that the root granted, each one fewer, a
 * message takes one round: hop = 1, whatever its real way takes.
 *
 * Mean field: the numbers are expectations that are taken for certain from round to round, with
 * uniform targets among all other ranks. The dead get their share of messages; positions on the
 * ring are coloured independently.
 */
#ifndef FTC_SIM_FIGURES_GOSSIP_PLAN_H
#define FTC_SIM_FIGURES_GOSSIP_PLAN_H

/* Longest way of a message, in rounds: so many past rounds are kept on the stack. */
#define FTC_GOSSIP_PLAN_HOP_MAX 1024

struct ftc_gossip_model {
    int ranks; /* N >= 1: of the ring, dead ones too */
    int live;  /* A: 1..N, the root among them */
    int hop;   /* 1..FTC_GOSSIP_PLAN_HOP_MAX */
};

/* hop by the clock; -1: more than FTC_GOSSIP_PLAN_HOP_MAX. Latency and overhead >= 0, in the same
 * unit. */
int ftc_gossip_plan_hop(double latency, double overhead);

struct ftc_gossip_spread {
    double coloured; /* live ranks, the root too, once the messages of the last round are in */
    double messages; /* in all */
};
/* After so many rounds: what is in time at rounds + hop. */
struct ftc_gossip_spread ftc_gossip_plan_spread(const struct ftc_gossip_model *model, int rounds);

/* K(epsilon) = ceil(ln(epsilon / N) / ln q) with q = 1 - coloured / N: the least gap of which the
 * union bound over the ring, N q^gap, is epsilon or less; 1..N (of N ranks not even the root would
 * be coloured). 0 < epsilon < 1. */
int ftc_gossip_plan_gap(int ranks, double coloured, double epsilon);

/*
 * The live ranks that opportunistic correction is expected to miss: d - d/2 messages to the right,
 * d/2 to the left, from everyone coloured, by correction too. A live rank is then lost only behind
 * dead ones: before the first coloured rank to its left comes a run of d - d/2 dead ones, and to
 * its right one of d/2. With fewer than d dead ranks it is 0. Of `coloured` as it came out it is
 * the mean (a tenth too low with many dead); from the mean field's it is lower, half of it with
 * half of 512 ranks dead: first messages that are lost slow gossip down more than their mean says.
 */
double ftc_gossip_plan_missed(const struct ftc_gossip_model *model, double coloured, int distance);

/*
 * Parameters of corrected gossip: the rounds T and the distance d = K(epsilon) of opportunistic
 * correction that minimise
 *
 *     T + hop + correction(d)     with     o d + L + o = d + hop - 1 rounds     for opportunistic correction
 *
 * where several T do, the least: it takes the fewest messages. The vectors of the notes are these
 * minima. Checked and failure-proof correction need no d, and a gap of K costs them a round for
 * each rank of it too, so the same T serves.
 */
struct ftc_gossip_plan {
    int rounds, distance; /* distance 0: a ring of one rank */
    int duration;         /* rounds, of gossip and correction */
    struct ftc_gossip_spread spread;
};
struct ftc_gossip_plan ftc_gossip_plan_choose(const struct ftc_gossip_model *model, double epsilon);

#endif
