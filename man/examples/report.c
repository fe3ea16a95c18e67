#include <ftcoll.h>
#include <signal.h>
#include <stdio.h>

int main(void)
{
    ftc_report report = {.struct_size = sizeof(report)};
    ftc_comm *world;

    if (ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    int rank = ftc_rank(world);
    if (rank == 2)
        raise(SIGKILL); /* as if by accident */

    int64_t inputs = 1;
    int rc = ftc_allreduce(FTC_IN_PLACE, &inputs, 1, FTC_INT64,
                           FTC_SUM, world);
    if (rc == FTC_SUCCESS)
        rc = ftc_last_report(world, &report);
    if (rc != FTC_SUCCESS) {
        fprintf(stderr, "rank %d: %s\n", rank, ftc_last_error());
        ftc_abort(world, 1);
    }
    printf("rank %d: %d inputs by \"%s\"; failed:", rank,
           (int)inputs, report.algorithm);
    for (int i = 0; i < report.failed_count; i++)
        printf(" %d", report.failed[i]);
    printf("\n");
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
