#include <ftcoll.h>
#include <signal.h>
#include <stdio.h>

int main(void)
{
    ftc_comm *world;

    if (ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    int rank = ftc_rank(world), size = ftc_size(world);
    int32_t word = 100 + rank;

    if (rank == 0 && size > 1)
        raise(SIGKILL); /* as if by accident */

    /* The word of the first rank that lives. All survivors see the
     * same return codes, so all of them try the same roots. */
    int root = 0, rc;
    while ((rc = ftc_bcast(&word, 1, FTC_INT32, root, world)) ==
           FTC_ERR_ROOT_FAILED)
        root = (root + 1) % size;
    if (rc != FTC_SUCCESS) {
        fprintf(stderr, "rank %d: %s\n", rank, ftc_last_error());
        ftc_abort(world, 1);
    }
    printf("rank %d: %d from rank %d\n", rank, (int)word, root);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
