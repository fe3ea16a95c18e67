#include <ftcoll.h>
#include <stdio.h>

int main(void)
{
    ftc_comm *world;

    if (ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    int rank = ftc_rank(world);
    double load = 10.0 * (rank % 3);
    ftc_double_int32 most = {.value = load, .index = rank};

    /* Everybody knows the sum, and who has the most. */
    int rc = ftc_allreduce(FTC_IN_PLACE, &load, 1, FTC_DOUBLE,
                           FTC_SUM, world);
    if (rc == FTC_SUCCESS)
        rc = ftc_allreduce(FTC_IN_PLACE, &most, 1, FTC_DOUBLE_INT32,
                           FTC_MAXLOC, world);
    if (rc != FTC_SUCCESS) {
        fprintf(stderr, "rank %d: %s\n", rank, ftc_last_error());
        ftc_abort(world, 1);
    }
    printf("rank %d: %g in all, %g at rank %d\n", rank, load,
           most.value, (int)most.index);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
