#include <ftcoll.h>
#include <stdio.h>

int main(void)
{
    ftc_comm *world;

    if (ftc_init(NULL, &world) != FTC_SUCCESS) {
        fprintf(stderr, "%s\n", ftc_last_error());
        return 1;
    }
    printf("rank %d of %d\n", ftc_rank(world), ftc_size(world));
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
