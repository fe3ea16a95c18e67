#include <ftcoll.h>
#include <signal.h>
#include <stdio.h>

int main(void)
{
    ftc_comm *world, *work = NULL, *rest = NULL;

    if (ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    int rank = ftc_rank(world);
    int rc = ftc_comm_dup(world, &work);

    if (rank == 3)
        raise(SIGKILL); /* as if by accident */
    if (rc == FTC_SUCCESS && rank == 1) {
        /* This rank has found an error, and comes to no sum. The
         * others would wait for it for ever. */
        rc = ftc_comm_revoke(work);
    } else if (rc == FTC_SUCCESS) {
        int32_t sum = 1;
        rc = ftc_allreduce(FTC_IN_PLACE, &sum, 1, FTC_INT32, FTC_SUM,
                           work);
        if (rc == FTC_ERR_REVOKED)
            rc = FTC_SUCCESS; /* this caller knows it now */
    }
    if (rc == FTC_SUCCESS)
        rc = ftc_comm_shrink(work, &rest);
    if (rc != FTC_SUCCESS) {
        fprintf(stderr, "rank %d: %s\n", rank, ftc_last_error());
        ftc_abort(world, 1);
    }
    ftc_comm_free(&work);
    printf("rank %d goes on as rank %d of %d\n", rank,
           ftc_rank(rest), ftc_size(rest));
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
