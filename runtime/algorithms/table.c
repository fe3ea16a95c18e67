/* The table of algorithms. */
#include "runtime/algorithms/table.h"

const struct ftc_algorithm *const ftc_algorithms[] = {
    [FTC_CHOICE_BOARD] = &ftc_algorithm_board,
    [FTC_CHOICE_RING] = &ftc_algorithm_ring,
    [FTC_CHOICE_LEVELS] = &ftc_algorithm_levels,
    [FTC_CHOICE_EXCHANGE] = &ftc_algorithm_messages,
    [FTC_CHOICE_DIRECT] = &ftc_algorithm_messages,
    [FTC_CHOICE_TREE] = &ftc_algorithm_messages,
    /* No call is chosen for these. Gossip has a function of its own, and so have sends and
     * receives, and the baseline of a library for measurements. Flow control has only messages. */
    &ftc_algorithm_gossip,
#ifdef FTC_BASELINE
    &ftc_algorithm_baseline,
#endif
    &ftc_algorithm_flow_control,
    &ftc_algorithm_point_to_point,
    NULL,
};
