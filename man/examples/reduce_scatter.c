#include <ftcoll.h>
#include <stdio.h>

#define MOST 64 /* ranks */

/* Each rank counts events for all ranks, and gets its own sum. */
int main(void)
{
    ftc_comm *world;
    int32_t seen[MOST], mine = 0;

    if (ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    int rank = ftc_rank(world), size = ftc_size(world);

    for (int i = 0; i < MOST; i++)
        seen[i] = rank + 10 * i;
    if (size > MOST ||
        ftc_reduce_scatter_block(seen, &mine, 1, FTC_INT32, FTC_SUM,
                                 world) != FTC_SUCCESS) {
        fprintf(stderr, "rank %d: %s\n", rank, ftc_last_error());
        ftc_abort(world, 1);
    }
    printf("rank %d: %d\n", rank, (int)mine);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
