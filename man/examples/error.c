#include <ftcoll.h>
#include <stdio.h>

int main(void)
{
    ftc_comm *world;
    double x = 1.0;

    if (ftc_init(NULL, &world) != FTC_SUCCESS) {
        fprintf(stderr, "%s\n", ftc_last_error());
        return 1;
    }
    /* Bits of floating point are not for FTC_BAND: refused at each
     * rank, before anything is sent. */
    int rc = ftc_allreduce(FTC_IN_PLACE, &x, 1, FTC_DOUBLE, FTC_BAND,
                           world);
    if (rc != FTC_SUCCESS && ftc_rank(world) == 0) {
        printf("version: %s\n", ftc_version());
        printf("code: %d, %s\n", rc, ftc_strerror(rc));
        printf("cause: %s\n", ftc_last_error());
    }
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
