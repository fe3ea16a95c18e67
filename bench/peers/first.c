/*
 * What the first operation costs, for ftcoll and its peers. The program joins the job, makes one
 * allreduce of 8 bytes and leaves.
 *
 *   first start      prints: library start np MS
 *   first memory     prints: library memory np KIB
 *
 * MS is the time from the start of the launcher to the first result on the last rank. START_US in
 * the environment is the start of the launcher, in microseconds of the real-time clock. KIB is the
 * memory of a rank after the allreduce: the mean over the ranks of Pss, which divides each shared
 * page by the number of its users.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/peers/library.h"

static double milliseconds_since(const char *start_us)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6 - atof(start_us) / 1e3;
}

static double pss_kib(void)
{
    char line[128];
    double pss = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL &&
           sscanf(line, "Pss: %lf", &pss) != 1)
        ;
    if (file != NULL)
        fclose(file);
    return pss;
}

static double memory_per_rank(struct library *library)
{
    double sum = 0;
    library_barrier(library, NULL); /* all ranks are there, and stay until all have looked */
    double mine = pss_kib();
    library_barrier(library, NULL);
    library_reduce(library, &mine, &sum, 1, NULL);
    return sum / library->size;
}

int main(int argc, char **argv)
{
    struct library library;
    const char *start = getenv("START_US"), *what = argc == 2 ? argv[1] : "";
    double one = 1, sum = 0, figure = 0;
    if ((strcmp(what, "start") != 0 || start == NULL) && strcmp(what, "memory") != 0) {
        fputs("usage: START_US=... first start; or: first memory\n", stderr);
        return 2;
    }
    library_init(&library);
    library_allreduce(&library, &one, &sum, 1, NULL);
    if (strcmp(what, "memory") == 0) {
        figure = memory_per_rank(&library);
    } else {
        double mine = milliseconds_since(start);
        library_reduce_max(&library, &mine, &figure);
    }
    if (library.rank == 0)
        printf("%s %s %d %.2f\n", LIBRARY_NAME, what, library.size, figure);
    library_finalize(&library);
    return sum == library.size ? 0 : 1;
}
