/*
 * How often a caller gives way while it waits in vain. Rank 0 comes to a barrier SECONDS later than
 * rank 1, which prints how often it has called sched_yield() meanwhile.
 *
 *   patience_app SECONDS
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ftcoll.h"
#include "tests/clock.h"

static atomic_long yields;

/* The library calls this one in place of the C library's, since the program exports it. */
__attribute__((visibility("default"))) int sched_yield(void)
{
    atomic_fetch_add(&yields, 1);
    return (int)syscall(SYS_sched_yield);
}

int main(int argc, char **argv)
{
    ftc_comm *world;
    int rc = ftc_init(NULL, &world);

    if (rc == FTC_SUCCESS)
        rc = ftc_barrier(world);
    if (rc == FTC_SUCCESS && ftc_rank(world) == 0)
        test_nap(argc > 1 ? atof(argv[1]) : 1);
    long before = atomic_load(&yields);
    if (rc == FTC_SUCCESS)
        rc = ftc_barrier(world);
    if (rc == FTC_SUCCESS && ftc_rank(world) == 1)
        printf("gave way %ld times\n", atomic_load(&yields) - before);
    return rc != FTC_SUCCESS || ftc_finalize(world) != FTC_SUCCESS;
}
