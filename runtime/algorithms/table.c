/* Which algorithm runs: the first here whose takes() says yes. */
#include "runtime/algorithms/table.h"

const struct ftc_algorithm *const ftc_algorithms[] = {
    /* Every call of a job on one node, unless [collectives] algorithm = corrected. */
    &ftc_algorithm_board,
    /* Large allreduces of several nodes, [collectives] large. */
    &ftc_algorithm_ring,
    /* Several nodes with several ranks each, [collectives] levels. */
    &ftc_algorithm_levels,
    /* By messages among all ranks. What the first ballot collects by: agreement.md, rule 2. */
    &ftc_algorithm_exchange,
    &ftc_algorithm_direct,
    &ftc_algorithm_tree,
    /* These take no call of the table: they have functions of their own in the API. */
    &ftc_algorithm_gossip,
    &ftc_algorithm_baseline,
    &ftc_algorithm_flow_control,
    NULL,
};
