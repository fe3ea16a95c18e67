#include <ftcoll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    ftc_comm *world;
    int count = 0, rc;

    if (ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    int rank = ftc_rank(world);
    if (rank == 1)
        raise(SIGKILL); /* as if by accident */

    /* Ends when all survivors know of the death. After it nothing
     * changes G until the next one, so the array fits. */
    rc = ftc_validate_global(world, &count);
    ftc_rank_info *failed =
        calloc((size_t)count + 1, sizeof(*failed));
    if (failed == NULL)
        ftc_abort(world, 1);
    if (rc == FTC_SUCCESS)
        rc = ftc_get_state_global(world, FTC_RANK_NULL, count,
                                  &count, failed);
    if (rc != FTC_SUCCESS) {
        fprintf(stderr, "rank %d: %s\n", rank, ftc_last_error());
        ftc_abort(world, 1);
    }
    for (int i = 0; i < count; i++)
        printf("rank %d: rank %d has failed\n", rank,
               failed[i].rank);
    free(failed);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
