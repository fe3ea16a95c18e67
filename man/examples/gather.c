#include <ftcoll.h>
#include <stdio.h>

#define MOST 16 /* ranks */

/* Each rank has as many words as its number says, and rank 0 gets
 * all of them. */
int main(void)
{
    ftc_comm *world;
    size_t counts[MOST], displs[MOST], total = 0;
    int32_t mine[MOST], all[MOST * MOST] = {0};

    if (ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    int rank = ftc_rank(world), size = ftc_size(world);

    for (int i = 0; i < MOST; i++)
        mine[i] = 10 * rank + i;
    for (int i = 0; i < size && i < MOST; i++) {
        counts[i] = (size_t)i;
        displs[i] = total;
        total += counts[i];
    }
    if (size > MOST ||
        ftc_gatherv(mine, (size_t)rank, all, counts, displs,
                    FTC_INT32, 0, world) != FTC_SUCCESS) {
        fprintf(stderr, "rank %d: %s\n", rank, ftc_last_error());
        ftc_abort(world, 1);
    }
    for (size_t i = 0; rank == 0 && i < total; i++)
        printf("%d\n", (int)all[i]);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
