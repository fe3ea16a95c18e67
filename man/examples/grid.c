#include <ftcoll.h>
#include <stdio.h>

#define COLUMNS 2

int main(void)
{
    ftc_comm *world, *row = NULL, *column = NULL;

    if (ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    int rank = ftc_rank(world);
    int i = rank / COLUMNS, j = rank % COLUMNS;

    /* Operations of the world: all ranks call both, in this order.
     * A row counts its ranks by column, and a column by row. */
    int rc = ftc_comm_split(world, i, j, &row);
    if (rc == FTC_SUCCESS)
        rc = ftc_comm_split(world, j, i, &column);

    int32_t along = rank, down = rank;
    if (rc == FTC_SUCCESS)
        rc = ftc_allreduce(FTC_IN_PLACE, &along, 1, FTC_INT32,
                           FTC_SUM, row);
    if (rc == FTC_SUCCESS)
        rc = ftc_allreduce(FTC_IN_PLACE, &down, 1, FTC_INT32,
                           FTC_SUM, column);
    if (rc != FTC_SUCCESS) {
        fprintf(stderr, "rank %d: %s\n", rank, ftc_last_error());
        ftc_abort(world, 1);
    }
    printf("row %d, column %d: the row has %d, the column %d\n", i,
           j, (int)along, (int)down);
    ftc_comm_free(&row);
    ftc_comm_free(&column);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
