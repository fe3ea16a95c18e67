#include <ftcoll.h>
#include <stdio.h>

#define MOST 64 /* ranks */

/* Transposes a matrix of which each rank has a row. */
int main(void)
{
    ftc_comm *world;
    int32_t row[MOST];

    if (ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    int rank = ftc_rank(world), size = ftc_size(world);

    for (int i = 0; i < MOST; i++)
        row[i] = 10 * rank + i;
    if (size > MOST || ftc_alltoall(FTC_IN_PLACE, row, 1, FTC_INT32,
                                    world) != FTC_SUCCESS) {
        fprintf(stderr, "rank %d: %s\n", rank, ftc_last_error());
        ftc_abort(world, 1);
    }
    printf("rank %d:", rank);
    for (int i = 0; i < size; i++)
        printf(" %d", (int)row[i]);
    printf("\n");
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
