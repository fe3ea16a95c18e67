/*
 * Plain reduces to rank 0, and nothing else, until the round that a file names. So the test decides
 * how long the job goes on, not the speed of the machine. Argument: the file.
 */
#include <ftcoll.h>
#include <inttypes.h>
#include <stdio.h>

#include "tests/clock.h"

static int64_t last_round(const char *path)
{
    FILE *file = fopen(path, "r");
    int64_t last = INT64_MAX;

    if (file == NULL)
        return last;
    if (fscanf(file, "%" SCNd64, &last) != 1)
        last = INT64_MAX;
    fclose(file);
    return last;
}

int main(int argc, char **argv)
{
    int64_t one = 1, sum = 0;
    int failed = 0;
    ftc_comm *world;

    if (argc != 2 || ftc_init(NULL, &world) != FTC_SUCCESS)
        return 2;
    for (int64_t round = 0; round < last_round(argv[1]); round++) {
        failed += ftc_reduce(&one, &sum, 1, FTC_INT64, FTC_SUM, 0, world) != FTC_SUCCESS;
        test_nap(0.001);
    }
    if (ftc_rank(world) == 0)
        printf("%d reduces failed, the last sum is %" PRId64 "\n", failed, sum);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
