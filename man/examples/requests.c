#include <ftcoll.h>
#include <stdio.h>

/* Work that needs no other rank: the sum of 1 to n. */
static double compute(int n)
{
    double sum = 0;

    for (int i = 1; i <= n; i++)
        sum += i;
    return sum;
}

int main(void)
{
    ftc_comm *world;
    ftc_request *request = NULL;

    if (ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    int rank = ftc_rank(world);
    double mine = rank + 1, sum = 0, more = 0;

    /* The ranks add their numbers while each of them computes. */
    int rc = ftc_iallreduce(&mine, &sum, 1, FTC_DOUBLE, FTC_SUM,
                            world, &request);
    if (rc == FTC_SUCCESS) {
        more = compute(1000);
        rc = ftc_wait(&request, NULL);
    }
    if (rc != FTC_SUCCESS) {
        fprintf(stderr, "rank %d: %s\n", rank, ftc_last_error());
        ftc_abort(world, 1);
    }
    printf("rank %d: %g in all, and %g\n", rank, sum, more);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
