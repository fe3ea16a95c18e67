/*
 * Formulas for what gossip with correction costs and reaches. They choose its parameters, and stand
 * beside measured values (docs/design/algorithms-notes.md, 3). All are pure functions: they return
 * no errors but those named, and any thread may call them.
 *
 * Time is counted in rounds. A coloured rank sends one message in each round, so a round is o
 * (LogP). A message sent in round t can be passed on in round t + hop. The value of hop depends on
 * what bounds the gossip:
 * - by the clock: hop = ceil((L + 2o) / o);
 * - by rounds: a message carries the rest of the rounds that the root granted, one fewer each time.
 *   Then a message takes one round, hop = 1, however long it really takes.
 *
 * Mean field: expectations are taken for certain from round to round. Targets are uniform among all
 * other ranks, and dead ranks get their share of messages. Positions on the ring are coloured
 * independently.
 */
#ifndef FTC_SIM_FIGURES_GOSSIP_PLAN_H
#define FTC_SIM_FIGURES_GOSSIP_PLAN_H

/* Largest hop. So many past rounds are kept on the stack. */
#define FTC_GOSSIP_PLAN_HOP_MAX 1024

struct ftc_gossip_model {
    int ranks; /* N >= 1: ranks of the ring, dead ones too */
    int live;  /* A: 1..N, with the root */
    int hop;   /* 1..FTC_GOSSIP_PLAN_HOP_MAX */
};

/* hop by the clock; -1: it is more than FTC_GOSSIP_PLAN_HOP_MAX. Latency and overhead are >= 0 and
 * in the same unit. */
int ftc_gossip_plan_hop(double latency, double overhead);

struct ftc_gossip_spread {
    /* live ranks, with the root, once the messages of the last round have arrived */
    double coloured;
    double messages; /* number of all messages */
};
/* The spread after that many rounds, counting the messages that have arrived by rounds + hop. */
struct ftc_gossip_spread ftc_gossip_plan_spread(const struct ftc_gossip_model *model, int rounds);

/* K(epsilon) = ceil(ln(epsilon / N) / ln q) with q = 1 - coloured / N. It is the least gap for
 * which the union bound over the ring, N q^gap, is epsilon or less. It is in 1..N (a gap of N ranks
 * would leave not even the root coloured). 0 < epsilon < 1. */
int ftc_gossip_plan_gap(int ranks, double coloured, double epsilon);

/*
 * The number of live ranks that opportunistic correction is expected to miss. Every coloured rank,
 * also one coloured by correction, sends d - d/2 messages to the right and d/2 to the left. So a
 * live rank is lost only behind dead ones: a run of d - d/2 dead ranks lies between it and the
 * first coloured rank to its left, and a run of d/2 dead ranks on its right. With fewer than d dead
 * ranks the result is 0.
 *
 * If `coloured` is a measured value, the result is the mean (a tenth too low with many dead ranks).
 * If `coloured` comes from the mean field, the result is lower: half of the mean with half of 512
 * ranks dead. The reason is that first messages that are lost slow gossip down more than their mean
 * says.
 */
double ftc_gossip_plan_missed(const struct ftc_gossip_model *model, double coloured, int distance);

/*
 * Parameters of corrected gossip: the rounds T and the distance d = K(epsilon) of opportunistic
 * correction that minimise
 *
 *     T + hop + correction(d)
 *
 * For opportunistic correction, correction(d) is o d + L + o = d + hop - 1 rounds. If several T
 * give the minimum, the least is taken, because it takes the fewest messages. The vectors of the
 * notes are these minima. Checked and failure-proof correction need no d. A gap of K costs them,
 * too, a round for each rank of it, so the same T serves.
 */
struct ftc_gossip_plan {
    int rounds, distance; /* distance 0: a ring of one rank */
    int duration;         /* rounds of gossip and correction */
    struct ftc_gossip_spread spread;
};
struct ftc_gossip_plan ftc_gossip_plan_choose(const struct ftc_gossip_model *model, double epsilon);

#endif
