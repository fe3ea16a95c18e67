#include <ftcoll.h>
#include <stdio.h>

/* Each rank has some lines. Which numbers do they get? */
int main(void)
{
    ftc_comm *world;
    uint64_t first = 0;

    if (ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    int rank = ftc_rank(world);
    uint64_t lines = 100 + (uint64_t)rank;

    /* The lowest rank gets nothing, so its `first` stays 0. */
    if (ftc_exscan(&lines, &first, 1, FTC_UINT64, FTC_SUM, world) !=
        FTC_SUCCESS) {
        fprintf(stderr, "rank %d: %s\n", rank, ftc_last_error());
        ftc_abort(world, 1);
    }
    printf("rank %d: lines %d to %d\n", rank, (int)first,
           (int)(first + lines - 1));
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
