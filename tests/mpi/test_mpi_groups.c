/* Groups: every set operation on random groups against sets of flags. */
#include <mpi.h>

#include "tests/mpi/alone.h"
#include "tests/random.h"
#include "tests/suite.h"

#include <string.h>

/* A job of one rank has groups of one process. So the test takes the inner constructor, and the
 * world ranks that a group would have in a job of MOST ranks. */
#include "mpi/object/group.h"

#define MOST 12

static MPI_Group draw(struct test_random *random, int ranks[], int *size)
{
    int all[MOST];
    for (int i = 0; i < MOST; i++)
        all[i] = i;
    *size = (int)test_random_between(random, 0, MOST);
    for (int i = 0; i < *size; i++) {
        int k = (int)test_random_between(random, i, MOST - 1), swapped = all[i];
        ranks[i] = all[i] = all[k];
        all[k] = swapped;
    }
    MPI_Group handle;
    struct ftc_mpi_group *group = ftc_mpi_group_new(*size, 0);
    memcpy(group->ranks, ranks, (size_t)*size * sizeof *ranks);
    ftc_mpi_group_give(group, &handle);
    return handle;
}

/* The group has these ranks of the world, in this order. */
static void expect(MPI_Group group, const int ranks[], int count)
{
    int size;
    MPI_Group_size(group, &size);
    ck_assert_int_eq(size, count);
    const struct ftc_mpi_group *object = ftc_mpi_group_of(group);
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(object->ranks[i], ranks[i]);
    ck_assert((count == 0) == (group == MPI_GROUP_EMPTY));
    MPI_Group_free(&group);
}

static int find(const int ranks[], int count, int rank)
{
    for (int i = 0; i < count; i++)
        if (ranks[i] == rank)
            return i;
    return MPI_UNDEFINED;
}

static void combine(struct test_random *random)
{
    int a[MOST], b[MOST], na, nb, made[2 * MOST] = {0}, n;
    MPI_Group group, ga = draw(random, a, &na), gb = draw(random, b, &nb);
    n = 0;
    for (int i = 0; i < na; i++)
        made[n++] = a[i];
    for (int i = 0; i < nb; i++)
        if (find(a, na, b[i]) == MPI_UNDEFINED)
            made[n++] = b[i];
    MPI_Group_union(ga, gb, &group);
    expect(group, made, n);
    n = 0;
    for (int i = 0; i < na; i++)
        if (find(b, nb, a[i]) != MPI_UNDEFINED)
            made[n++] = a[i];
    MPI_Group_intersection(ga, gb, &group);
    expect(group, made, n);
    n = 0;
    for (int i = 0; i < na; i++)
        if (find(b, nb, a[i]) == MPI_UNDEFINED)
            made[n++] = a[i];
    MPI_Group_difference(ga, gb, &group);
    expect(group, made, n);
    int places[MOST], translated[MOST];
    for (int i = 0; i < na; i++)
        places[i] = i;
    MPI_Group_translate_ranks(ga, na, places, gb, translated);
    for (int i = 0; i < na; i++)
        ck_assert_int_eq(translated[i], find(b, nb, a[i]));
    int result, common = 0, same = na == nb;
    for (int i = 0; i < na; i++)
        common += find(b, nb, a[i]) != MPI_UNDEFINED;
    for (int i = 0; i < na && same; i++)
        same = a[i] == b[i];
    MPI_Group_compare(ga, gb, &result);
    ck_assert_int_eq(result, same                       ? MPI_IDENT
                             : na == nb && common == na ? MPI_SIMILAR
                                                        : MPI_UNEQUAL);
    MPI_Group_free(&ga);
    MPI_Group_free(&gb);
}

START_TEST(set_operations)
{
    struct test_random random = test_random_start();
    for (int i = 0; i < 2000; i++)
        combine(&random);
}
END_TEST

START_TEST(included_and_excluded)
{
    struct test_random random = test_random_start();
    for (int round = 0; round < 1000; round++) {
        int a[MOST], size, ranges[1][3], chosen[MOST] = {0}, n = 0, rest[MOST] = {0}, left = 0;
        MPI_Group group, all = draw(&random, a, &size);
        if (size == 0)
            continue;
        int first = (int)test_random_between(&random, 0, size - 1);
        int last = (int)test_random_between(&random, 0, size - 1);
        int stride = (int)test_random_between(&random, 1, 3) * (first <= last ? 1 : -1);
        int indices[MOST];
        for (int i = first; stride > 0 ? i <= last : i >= last; i += stride) {
            indices[n] = i;
            chosen[n++] = a[i];
        }
        for (int i = 0; i < size; i++)
            if (find(indices, n, i) == MPI_UNDEFINED)
                rest[left++] = a[i];
        ranges[0][0] = first;
        ranges[0][1] = last;
        ranges[0][2] = stride;
        MPI_Group_range_incl(all, 1, ranges, &group);
        expect(group, chosen, n);
        MPI_Group_incl(all, n, indices, &group);
        expect(group, chosen, n);
        MPI_Group_range_excl(all, 1, ranges, &group);
        expect(group, rest, left);
        MPI_Group_excl(all, n, indices, &group);
        expect(group, rest, left);
        MPI_Group_free(&all);
    }
}
END_TEST

START_TEST(wrong_ranks)
{
    int ranks[2] = {0, 0}, range[1][3] = {{0, 0, 0}};
    MPI_Group world, group;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    ck_assert_int_eq(MPI_Group_incl(world, 2, ranks, &group), MPI_ERR_ARG);
    ranks[0] = 1;
    ck_assert_int_eq(MPI_Group_excl(world, 1, ranks, &group), MPI_ERR_RANK);
    ck_assert_int_eq(MPI_Group_range_incl(world, 1, range, &group), MPI_ERR_ARG);
    ck_assert_int_eq(MPI_Group_size(MPI_GROUP_NULL, ranks), MPI_ERR_GROUP);
    MPI_Group_free(&world);
    ck_assert_ptr_eq(world, MPI_GROUP_NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mpi_groups");
    TCase *tc = tcase_create("groups");
    test_seed_announce();
    tcase_add_checked_fixture(tc, start_mpi, stop_mpi);
    tcase_add_test(tc, set_operations);
    tcase_add_test(tc, included_and_excluded);
    tcase_add_test(tc, wrong_ranks);
    suite_add_tcase(suite, tc);
    return test_suite_run(suite);
}
