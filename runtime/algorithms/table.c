/* The table of algorithms. A call runs by the first entry whose takes() returns true. */
#include "runtime/algorithms/table.h"

const struct ftc_algorithm *const ftc_algorithms[] = {
    /* Takes every call of a job on one node, unless [collectives] algorithm = corrected. */
    &ftc_algorithm_board,
    /* Takes large allreduces of several nodes: [collectives] large. */
    &ftc_algorithm_ring,
    /* Takes calls if there are several nodes, of which one has several ranks: [collectives]
     * levels. */
    &ftc_algorithm_levels,
    /* By messages among all ranks. They differ in how the first ballot collects (agreement.md, rule
     * 2). The last one takes every call. */
    &ftc_algorithm_exchange,
    &ftc_algorithm_direct,
    &ftc_algorithm_tree,
    /* These take no call by the table. Gossip has a function of its own, and so has the baseline of
     * a library for measurements. Flow control has only messages. */
    &ftc_algorithm_gossip,
#ifdef FTC_BASELINE
    &ftc_algorithm_baseline,
#endif
    &ftc_algorithm_flow_control,
    NULL,
};
