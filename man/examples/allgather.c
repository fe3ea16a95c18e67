#include <ftcoll.h>
#include <signal.h>
#include <stdio.h>

#define MOST 64 /* ranks */

int main(void)
{
    ftc_comm *world;

    if (ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    int rank = ftc_rank(world), size = ftc_size(world);
    int32_t mine = 10 * rank, all[MOST];

    if (rank == 2)
        raise(SIGKILL); /* as if by accident */

    /* The places of ranks that failed stay as they are. */
    for (int i = 0; i < MOST; i++)
        all[i] = -1;
    if (size > MOST || ftc_allgather(&mine, all, 1, FTC_INT32,
                                     world) != FTC_SUCCESS) {
        fprintf(stderr, "rank %d: %s\n", rank, ftc_last_error());
        ftc_abort(world, 1);
    }
    printf("rank %d:", rank);
    for (int i = 0; i < size; i++)
        printf(" %d", (int)all[i]);
    printf("\n");
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
