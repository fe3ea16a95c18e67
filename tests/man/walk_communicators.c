/* Calls the functions that make, revoke and free communicators, for walk_app.c. */
#include "tests/man/walk.h"

#include <stdint.h>
#include <string.h>

static void is_named(const ftc_comm *comm, const char *name)
{
    MUST(strcmp(ftc_comm_name(comm), name) == 0);
    walk_see(FTC_SUCCESS, "ftc_comm_name", FTC_SUCCESS);
}

static void names(ftc_comm *copy)
{
    MUST(strchr(ftc_comm_name(copy), '.') != NULL);
    SEE(FTC_SUCCESS, ftc_comm_set_name, (copy, "a name of more than thirty-one bytes"));
    is_named(copy, "a name of more than thirty-one ");
    SEE(FTC_ERR_ARG, ftc_comm_set_name, (copy, ""));
    MUST(strcmp(ftc_comm_name(NULL), "") == 0);
}

void walk_communicators(ftc_comm *world)
{
    ftc_comm *copy = NULL, *part = NULL, *rest = NULL, *group = NULL, *none = world;
    int size = ftc_size(world), me = ftc_rank(world), last = size - 1;
    double half = 0.5, mean = 0;

    is_named(world, "world");
    SEE(FTC_SUCCESS, ftc_comm_dup, (world, &copy));
    MUST(ftc_size(copy) == size && ftc_rank(copy) == me);
    names(copy);
    SEE(FTC_ERR_UNSUPPORTED, ftc_gossip_allreduce, (&half, &mean, 1, FTC_AVG, NULL, copy));
    SEE(FTC_SUCCESS, ftc_comm_split, (copy, 0, -me, &part));
    MUST(ftc_rank(part) == last - me);
    SEE(FTC_SUCCESS, ftc_comm_split, (copy, FTC_UNDEFINED, 0, &none));
    MUST(none == NULL);
    MUST(SEE(FTC_SUCCESS, ftc_comm_translate, (part, 0, world)) == last);
    SEE(FTC_SUCCESS, ftc_comm_shrink, (part, &rest));
    MUST(ftc_size(rest) == size && ftc_rank(rest) == last - me);
    SEE(FTC_SUCCESS, ftc_comm_create, (world, 1, &me, 7, &group));
    MUST(ftc_size(group) == 1 && ftc_comm_translate(world, me, group) == 0);
    MUST(size == 1 || ftc_comm_translate(world, (me + 1) % size, group) == FTC_UNDEFINED);
    SEE(FTC_SUCCESS, ftc_comm_free, (&copy));
    MUST(copy == NULL);
    SEE(FTC_SUCCESS, ftc_comm_free, (&group));
    SEE(FTC_SUCCESS, ftc_comm_free, (&rest));
    /* ftc_finalize() frees `part`. */
}

void walk_wrong_communicators(ftc_comm *world)
{
    ftc_comm *out = NULL, *given = world, *none = NULL;
    int me = ftc_rank(world), twice[] = {me, me}, other = 1 - me, beyond[] = {me, 99};

    SEE(FTC_ERR_ARG, ftc_comm_dup, (world, NULL));
    SEE(FTC_ERR_ARG, ftc_comm_split, (world, 0, 0, NULL));
    SEE(FTC_ERR_ARG, ftc_comm_split, (world, -1, 0, &out));
    SEE(FTC_ERR_ARG, ftc_comm_shrink, (world, NULL));
    SEE(FTC_ERR_ARG, ftc_comm_create, (world, 1, &me, 0, NULL));
    SEE(FTC_ERR_ARG, ftc_comm_create, (world, 1, NULL, 0, &out));
    SEE(FTC_ERR_ARG, ftc_comm_create, (world, 0, &me, 0, &out));
    SEE(FTC_ERR_ARG, ftc_comm_create, (world, 2, twice, 0, &out));
    SEE(FTC_ERR_ARG, ftc_comm_create, (world, 2, beyond, 0, &out));
    SEE(FTC_ERR_ARG, ftc_comm_create, (world, 1, &other, 0, &out));
    SEE(FTC_ERR_ARG, ftc_comm_free, (NULL));
    SEE(FTC_ERR_ARG, ftc_comm_free, (&none));
    SEE(FTC_ERR_ARG, ftc_comm_free, (&given));
    SEE(FTC_ERR_ARG, ftc_comm_translate, (world, -1, world));
    SEE(FTC_ERR_ARG, ftc_comm_translate, (world, ftc_size(world), world));
    SEE(FTC_ERR_ARG, ftc_comm_translate, (world, 0, NULL));
    SEE(FTC_ERR_ARG, ftc_comm_set_name, (world, NULL));
    SEE(FTC_ERR_ARG, ftc_agree, (world, NULL));
    MUST(out == NULL && given == world);
}

/* Calls those that are given `code` in any case: by a communicator that is none, and, but for
 * local ones, by one that was revoked. */
static void refused_creations(ftc_comm *comm, int code)
{
    ftc_comm *out = NULL;
    int me = code == FTC_ERR_REVOKED ? ftc_rank(comm) : 0;

    SEE(code, ftc_comm_dup, (comm, &out));
    SEE(code, ftc_comm_split, (comm, 0, 0, &out));
    SEE(code, ftc_comm_create, (comm, 1, &me, 0, &out));
    MUST(out == NULL);
}

void walk_refused_communicators(ftc_comm *comm, int code)
{
    ftc_comm *out = NULL, *given = comm;
    int flag = 1;

    refused_creations(comm, code);
    SEE(code, ftc_comm_shrink, (comm, &out));
    SEE(code, ftc_comm_free, (&given));
    SEE(code, ftc_comm_translate, (comm, 0, comm));
    SEE(code, ftc_comm_revoke, (comm));
    SEE(code, ftc_comm_set_name, (comm, "nothing"));
    SEE(code, ftc_agree, (comm, &flag));
    MUST(flag == 1);
}

static ftc_comm *copy_of(ftc_comm *world)
{
    ftc_comm *copy = NULL;

    SEE(FTC_SUCCESS, ftc_comm_dup, (world, &copy));
    return copy;
}

/* Makes a communicator that rank 0 revokes. Rank 0 knows of that, and the others do not yet. */
static ftc_comm *revoked_copy(ftc_comm *world)
{
    ftc_comm *copy = copy_of(world);

    if (ftc_rank(world) == 0)
        SEE(FTC_SUCCESS, ftc_comm_revoke, (copy));
    return copy;
}

static void revoked_operations(ftc_comm *comm)
{
    int32_t one = 1, sum = 0;
    double half = 0.5, mean = 0;

    SEE(FTC_ERR_REVOKED, ftc_barrier, (comm));
    SEE(FTC_ERR_REVOKED, ftc_allreduce, (&one, &sum, 1, FTC_INT32, FTC_SUM, comm));
    SEE(FTC_ERR_REVOKED, ftc_reduce, (&one, &sum, 1, FTC_INT32, FTC_SUM, 0, comm));
    SEE(FTC_ERR_REVOKED, ftc_bcast, (&one, 1, FTC_INT32, 0, comm));
    walk_refused_blocks(comm, FTC_ERR_REVOKED);
    walk_refused_messages(comm, FTC_ERR_REVOKED);
    refused_creations(comm, FTC_ERR_REVOKED);
    SEE(FTC_ERR_UNSUPPORTED, ftc_gossip_allreduce, (&half, &mean, 1, FTC_AVG, NULL, comm));
    MUST(sum == 0);
}

int walk_revoked(ftc_comm *world, long number)
{
    ftc_comm *copy = revoked_copy(world), *rest = NULL;
    int32_t sum = 1;
    double half = 0.5, mean = 0;
    int failed = -1, flag = 1;

    (void)number;
    SEE(FTC_SUCCESS, ftc_agree, (copy, &flag)); /* nobody learns of the revoke by it */
    MUST(flag == 1);
    revoked_operations(copy);
    SEE(FTC_SUCCESS, ftc_validate_local, (copy, &failed));
    SEE(FTC_SUCCESS, ftc_comm_free, (&copy));
    copy = revoked_copy(world);
    walk_revoked_requests(copy);
    SEE(FTC_SUCCESS, ftc_comm_free, (&copy));
    copy = revoked_copy(world);
    walk_revoked_agreement(copy);
    SEE(FTC_SUCCESS, ftc_comm_free, (&copy));
    copy = revoked_copy(world);
    if (ftc_rank(world) != 0)
        SEE(FTC_ERR_REVOKED, ftc_validate_global, (copy, &failed));
    SEE(FTC_SUCCESS, ftc_validate_global, (copy, &failed));
    MUST(failed == 0);
    SEE(FTC_SUCCESS, ftc_comm_free, (&copy));
    copy = revoked_copy(world);
    if (ftc_rank(world) != 0)
        SEE(FTC_ERR_REVOKED, ftc_comm_shrink, (copy, &rest));
    SEE(FTC_SUCCESS, ftc_comm_shrink, (copy, &rest));
    SEE(FTC_SUCCESS, ftc_allreduce, (FTC_IN_PLACE, &sum, 1, FTC_INT32, FTC_SUM, rest));
    MUST(sum == ftc_size(world));
    SEE(FTC_SUCCESS, ftc_comm_revoke, (world));
    SEE(FTC_ERR_REVOKED, ftc_barrier, (world));
    SEE(FTC_ERR_REVOKED, ftc_gossip_allreduce, (&half, &mean, 1, FTC_AVG, NULL, world));
    SEE(FTC_SUCCESS, ftc_finalize, (world));
    return 0;
}
