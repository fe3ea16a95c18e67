/* What the words of boards say (communicators.md, C7). */
#include "collectives/communicators/mutation.h"
#include "sim/communicators/engine.h"

bool ftc_comms_all_have_left(const struct ftc_comms_boards *boards,
                             const struct ftc_communicator *c, const struct ftc_set *known,
                             bool *revoked)
{
    uint64_t left = 0, revokers = 0;

    for (int i = 0; i < boards->count; i++)
        if (boards->board[i].number == ftc_communicator_name(c)) {
            left = boards->board[i].left;
            revokers = boards->board[i].revoked;
        }
    *revoked = false;
    for (int rank = 0; rank < ftc_communicator_size(c); rank++) {
        int job_rank = ftc_communicator_job_rank(c, rank);
        if ((left >> job_rank & 1) == 0 && !ftc_set_has(known, job_rank) &&
            !FTC_COMMUNICATORS_MUTATED(LEFT_NOT_AWAITED))
            return false;
        *revoked |= (revokers >> job_rank & 1) != 0;
    }
    return true;
}
