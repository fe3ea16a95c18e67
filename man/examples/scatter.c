#include <ftcoll.h>
#include <stdio.h>

#define MOST 64 /* ranks */

int main(void)
{
    ftc_comm *world;
    double work[2 * MOST], mine[2];

    if (ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    int rank = ftc_rank(world), size = ftc_size(world);

    /* Every rank could be the root, since all can make the work. */
    for (int i = 0; i < 2 * MOST; i++)
        work[i] = i / 2.0;
    int root = 0, rc = FTC_ERR_ROOT_FAILED;
    while (size <= MOST && rc == FTC_ERR_ROOT_FAILED) {
        rc = ftc_scatter(work, mine, 2, FTC_DOUBLE, root, world);
        root = (root + 1) % size;
    }
    if (rc != FTC_SUCCESS) {
        fprintf(stderr, "rank %d: %s\n", rank, ftc_last_error());
        ftc_abort(world, 1);
    }
    printf("rank %d: %g and %g\n", rank, mine[0], mine[1]);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
