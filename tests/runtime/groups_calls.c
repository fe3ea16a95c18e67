/* Calls of the ranks of groups_app, and looks at what they made. */
#include "tests/runtime/groups_calls.h"

#include <stdio.h>
#include <stdlib.h>

ftc_comm *world;
int me;

void must(bool good, const char *what, int line)
{
    if (good)
        return;
    fprintf(stderr, "groups_app: rank %d, line %d: not so: %s (%s)\n", me, line, what,
            ftc_last_error());
    exit(99);
}

uint64_t present(ftc_comm *comm)
{
    uint64_t bits = BIT(me);

    MUST(ftc_allreduce(FTC_IN_PLACE, &bits, 1, FTC_UINT64, FTC_BOR, comm) == FTC_SUCCESS);
    return bits;
}

uint64_t failed(ftc_comm *comm)
{
    ftc_report report = {.struct_size = sizeof(report)};
    uint64_t bits = 0;

    MUST(ftc_last_report(comm, &report) == FTC_SUCCESS);
    for (int i = 0; i < report.failed_count; i++)
        bits |= BIT(ftc_comm_translate(comm, report.failed[i], world));
    return bits;
}

void consists_of(ftc_comm *comm, int count, const int ranks[])
{
    uint64_t bits = 0;

    MUST(ftc_size(comm) == count);
    for (int i = 0; i < count; i++) {
        MUST(ftc_comm_translate(comm, i, world) == ranks[i]);
        MUST(ftc_comm_translate(world, ranks[i], comm) == i);
        bits |= BIT(ranks[i]);
    }
    for (int rank = 0; rank < RANKS; rank++)
        MUST((bits & BIT(rank)) != 0 || ftc_comm_translate(world, rank, comm) == FTC_UNDEFINED);
    MUST(ranks[ftc_rank(comm)] == me);
    MUST(present(comm) == bits);
    MUST(failed(comm) == 0);
}

int64_t number_of(const ftc_comm *comm)
{
    long count = -1, maker = -1;

    MUST(sscanf(ftc_comm_name(comm), "%ld.%ld", &count, &maker) == 2);
    return count * RANKS + maker;
}

ftc_comm *copy_of(ftc_comm *comm)
{
    ftc_comm *copy = NULL;

    MUST(ftc_comm_dup(comm, &copy) == FTC_SUCCESS && copy != NULL);
    return copy;
}

ftc_comm *part_of(ftc_comm *comm, int color, int key)
{
    ftc_comm *part = comm;

    MUST(ftc_comm_split(comm, color, key, &part) == FTC_SUCCESS);
    MUST((part == NULL) == (color == FTC_UNDEFINED));
    return part;
}

ftc_comm *survivors_of(ftc_comm *comm)
{
    ftc_comm *survivors = NULL;
    int rc;

    do
        rc = ftc_comm_shrink(comm, &survivors);
    while (rc == FTC_ERR_REVOKED);
    MUST(rc == FTC_SUCCESS);
    return survivors;
}

void give_up(ftc_comm *comm)
{
    MUST(ftc_comm_free(&comm) == FTC_SUCCESS && comm == NULL);
}

ftc_comm *group_of(ftc_comm *comm, int count, const int ranks[], int tag)
{
    ftc_comm *group = NULL;

    for (int i = 0; i < count; i++)
        if (ranks[i] == me)
            MUST(ftc_comm_create(comm, count, ranks, tag, &group) == FTC_SUCCESS);
    return group;
}
