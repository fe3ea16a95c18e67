#include <ftcoll.h>
#include <math.h>
#include <stdio.h>

int main(void)
{
    ftc_gossip_options options = {.struct_size = sizeof(options),
                                  .accuracy = 1e-6,
                                  .algorithm = "pflc"};
    ftc_gossip_report report = {.struct_size = sizeof(report)};
    ftc_comm *world;

    if (ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    int rank = ftc_rank(world), size = ftc_size(world);
    double mine = rank, mean = 0, exact = (size - 1) / 2.0;

    int rc = ftc_gossip_allreduce(&mine, &mean, 1, FTC_AVG, &options,
                                  world);
    if (rc == FTC_SUCCESS)
        rc = ftc_last_gossip_report(world, &report);
    if (rc != FTC_SUCCESS) {
        fprintf(stderr, "rank %d: %s\n", rank, ftc_last_error());
        ftc_abort(world, 1);
    }
    printf("rank %d: mean %.3f by %s%s\n", rank, mean,
           report.algorithm,
           fabs(mean - exact) <= 1e-6 * exact ? "" : ", not exact");
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
