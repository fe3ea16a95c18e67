/*
 * Baselines for the product's multicast with a ring: multicasts that acknowledgements make
 * reliable, the traditional way (Hoefler, Siebert, Rehm 2007, slides: "Traditional Approaches to
 * Ensure Reliability"), in virtual time.
 *
 * Rank 0 has a value in `fragments` pieces and multicasts each piece as a datagram. All other ranks
 * wait for it from time 0. Costs are those of LogP (sim/timed/cost.h): a datagram costs its sender
 * o and each receiver o, and it travels for L. Each receiver loses each datagram independently with
 * probability `loss`. Acknowledgements, requests and repairs go over reliable connections, as they
 * can on InfiniBand, and are not lost. Events happen one after the other, in nanoseconds; the same
 * settings give the same run.
 *
 * With positive acknowledgement a receiver acknowledges the value once, when it has all of it:
 * - linear: to the root. If acknowledgements are missing after a timeout, the root multicasts the
 *   value again. This is the sender-initiated protocol of Towsley, Kurose, Pingali 1997.
 * - tree: the same, but acknowledgements are combined up a binomial tree.
 * - co-root: the ranks form groups of ceil(sqrt(n)). The first rank of a group, its co-root,
 *   collects the acknowledgements of the group, and acknowledges for the whole group to the root.
 *   The root is the co-root of its own group. A collector that misses an acknowledgement after a
 *   timeout sends the value again to that one rank, over the connection. The root does so after two
 *   timeouts, because its co-roots may be busy repairing. The designated receivers of RMTP work
 *   like this (Lin, Paul 1996; Paul et al. 1997).
 *
 * With negative acknowledgement a receiver misses a fragment when a later one comes, or at the
 * timeout. It asks the root for the fragment, once, and the root sends it over the connection. (In
 * Towsley et al. the receiver-initiated root multicasts repairs, which can be lost again.) A root
 * that is busy with requests sends the remaining fragments late, and is asked for them in vain. It
 * never learns that it may free the value.
 *
 * Dead ranks are dead before the start. Without a detector no rank knows it, and a rank that waits
 * for a dead one waits for ever: such a run does not complete. With a detector all ranks learn it
 * at one time. Acknowledgements then go to the nearest live collector above.
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
/* "ack-linear", "ack-tree", "ack-co-root", "nack". */
const char *ftc_baseline_name(enum ftc_baseline kind);

#define FTC_BASELINE_RANKS_MAX     (1 << 24)
#define FTC_BASELINE_FRAGMENTS_MAX (1 << 16)

struct ftc_baseline_settings {
    enum ftc_baseline kind;
    int ranks, fragments; /* at least 1 */
    /* of a fragment, for the cost model; acknowledgements and requests are small messages */
    uint64_t bytes;
    struct ftc_cost cost; /* detect and jitter are not used */
    double loss;          /* 0..1 */
    /* 0: twice the time that a run without losses and deaths takes until the root may free the
     * value, or, with negative acknowledgement, until the last rank has it */
    uint64_t timeout_ns;
    int dead; /* number of dead ranks, drawn at random; never the root */
    bool detector;
    uint64_t detect_ns; /* from this time on all ranks know the dead ones */
    uint64_t seed;
};

struct ftc_baseline_counts {
    uint64_t datagrams;           /* sent by multicast; each counts once */
    uint64_t lost;                /* how often a live receiver lost a datagram */
    uint64_t acks, naks, repairs; /* unicast */
};

struct ftc_baseline_result {
    /* the root has learnt that all live ranks have the value, so it may free the value */
    bool complete;
    uint64_t root_free; /* ns: when it learnt that */
    /* receivers: live ranks but the root; served: those of them that got the value */
    int receivers, served;
    /* ns: when the first and the last of them had the value; the spread is last - first */
    uint64_t first, last;
    double mean;                      /* ns */
    uint64_t timeout;                 /* ns: the timeout that was used */
    struct ftc_baseline_counts count; /* if a rank waits for ever: as it was at the last news */
};

/* FTC_ERR_ARG, FTC_ERR_NOMEM. */
int ftc_baseline_run(const struct ftc_baseline_settings *settings,
                     struct ftc_baseline_result *result);

#endif
