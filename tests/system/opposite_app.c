/*
 * Two ranks that call allreduces of two communicators in opposite orders. Each of them waits for
 * the other one for ever. The first call of each communicator, before that, is in one order.
 */
#include <ftcoll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void must(int rc, const char *what)
{
    if (rc == FTC_SUCCESS)
        return;
    fprintf(stderr, "opposite_app: %s: %s\n", what, ftc_last_error());
    exit(99);
}

static void sum(ftc_comm *comm)
{
    int32_t one = 1, all = 0;
    must(ftc_allreduce(&one, &all, 1, FTC_INT32, FTC_SUM, comm), "allreduce");
}

int main(void)
{
    ftc_comm *world, *part[2];
    must(ftc_init(NULL, &world), "init");
    must(ftc_comm_dup(world, &part[0]), "dup");
    must(ftc_comm_split(world, 0, ftc_rank(world), &part[1]), "split");
    must(ftc_comm_set_name(part[0], "rows"), "name");
    must(ftc_comm_set_name(part[1], "columns"), "name");
    for (int i = 0; i < 2; i++)
        sum(part[i]);
    sum(part[ftc_rank(world)]);
    sum(part[1 - ftc_rank(world)]);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
