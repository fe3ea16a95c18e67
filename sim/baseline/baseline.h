/*
 * What the product's multicast with a ring is compared with: a multicast that acknowledgements make
 * reliable, the traditional way (Hoefler, Siebert, Rehm 2007, slides: "Traditional Approaches to
 * Ensure Reliability"), in virtual time.
 *
 * Rank 0 has a value in `fragments` pieces and multicasts each as a datagram; all others wait for
 * it from time 0. LogP as sim/timed/cost.h says: a datagram costs its sender o, each receiver o,
 * and L between. Each receiver loses each datagram by itself with probability `loss`. All else goes
 * over reliable connections, as it can on InfiniBand: acknowledgements, requests and repairs are
 * not lost. One event after the other, in nanoseconds; the same settings give the same run.
 *
 * Positive acknowledgement: a receiver acknowledges the value once, when it has all of it.
 *   linear   to the root. When some are missing after a timeout, the root multicasts the value again: the
 *            sender-initiated protocol of Towsley, Kurose, Pingali 1997.
 *   tree     the same, but acknowledgements are combined up a binomial tree.
 *   co-root  groups of ceil(sqrt(n)) ranks. The first of a group, its co-root, collects its
 *   acknowledgements, and
 *            acknowledges for all of it to the root, which is the co-root of its own group. Who
 *            misses one after a timeout (the root, whose co-roots may be busy repairing, after two)
 *            sends the value again to that one alone, over the connection, as the designated
 *            receivers of RMTP do (Lin, Paul 1996; Paul et al. 1997).
 * Negative acknowledgement: who misses a fragment when a later one comes, or at the timeout, asks
 * the root for it, once,
 *            and is sent it over the connection. (Receiver-initiated in Towsley et al., whose root
 *            multicasts repairs, which can be lost again.) A root that is busy with requests sends
 *            the rest late, and is asked for it in vain. It never learns that it may free the
 *            value.
 *
 * Dead ranks are dead before the start. Without a detector nobody knows, and who waits for them
 * waits for ever: such a run does not complete. With one, all learn it at one time;
 * acknowledgements then go to the nearest live collector above.
 */
#ifndef FTC_SIM_BASELINE_BASELINE_H
#define FTC_SIM_BASELINE_BASELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/timed/cost.h"

enum ftc_baseline {
    FTC_BASELINE_LINEAR,
    FTC_BASELINE_TREE,
    FTC_BASELINE_CO_ROOT,
    FTC_BASELINE_NEGATIVE,
};
#define FTC_BASELINES 4
const char *
ftc_baseline_name(enum ftc_baseline kind); /* "ack-linear", "ack-tree", "ack-co-root", "nack" */

#define FTC_BASELINE_RANKS_MAX     (1 << 24)
#define FTC_BASELINE_FRAGMENTS_MAX (1 << 16)

struct ftc_baseline_settings {
    enum ftc_baseline kind;
    int ranks, fragments; /* at least 1 */
    uint64_t
        bytes; /* of a fragment, to the cost model; acknowledgements and requests are small messages */
    struct ftc_cost cost; /* but detect and jitter */
    double loss;          /* 0..1 */
    /* 0: twice what a run without loss and deaths takes: until the root may free the value, or,
     * with negative acknowledgement, until the last has it */
    uint64_t timeout_ns;
    int dead; /* random ranks, not the root */
    bool detector;
    uint64_t detect_ns; /* all know the dead from then on */
    uint64_t seed;
};

struct ftc_baseline_counts {
    uint64_t datagrams;           /* multicast, each counted once; */
    uint64_t lost;                /* so often a live receiver lost one */
    uint64_t acks, naks, repairs; /* unicast */
};

struct ftc_baseline_result {
    bool complete;      /* the root learnt that all live ranks have the value, and may free it, */
    uint64_t root_free; /* ns: then */
    int receivers, served; /* live ones, without the root; those that got the value */
    uint64_t first,
        last;    /* ns: when the first and the last of them had it; the spread is last - first */
    double mean; /* ns */
    uint64_t timeout;                 /* ns: as used */
    struct ftc_baseline_counts count; /* where somebody waits for ever: until the last news */
};

/* FTC_ERR_ARG, FTC_ERR_NOMEM. */
int ftc_baseline_run(const struct ftc_baseline_settings *settings,
                     struct ftc_baseline_result *result);

#endif
