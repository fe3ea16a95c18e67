#include "mpi/object/group.h"

#include "functions.h"
#include "mpi/object/error.h"

#include <stdlib.h>
#include <string.h>

struct ftc_mpi_group ftc_mpi_group_empty = {
    .object = {.kind = FTC_MPI_GROUP, .references = 1},
    .self = -1,
};

struct ftc_mpi_group *ftc_mpi_group_of(MPI_Group group)
{
    return group == MPI_GROUP_EMPTY ? &ftc_mpi_group_empty : ftc_mpi_object(group, FTC_MPI_GROUP);
}

struct ftc_mpi_group *ftc_mpi_group_new(int size, int self)
{
    struct ftc_mpi_group *group =
        ftc_mpi_object_new(FTC_MPI_GROUP, sizeof *group + (size_t)size * sizeof group->ranks[0]);
    if (group != NULL) {
        group->size = size;
        group->self = self;
    }
    return group;
}

void ftc_mpi_group_release(struct ftc_mpi_group *group)
{
    if (group != NULL && group != &ftc_mpi_group_empty && ftc_mpi_object_drop(&group->object))
        ftc_mpi_object_free(&group->object);
}

int ftc_mpi_group_find(const struct ftc_mpi_group *group, int world_rank)
{
    for (int i = 0; i < group->size; i++)
        if (group->ranks[i] == world_rank)
            return i;
    return MPI_UNDEFINED;
}

int ftc_mpi_group_give(struct ftc_mpi_group *group, MPI_Group *handle)
{
    if (group == NULL)
        return ftc_mpi_no_memory();
    *handle = group->size == 0 ? MPI_GROUP_EMPTY : (MPI_Group)group;
    if (group->size == 0)
        ftc_mpi_group_release(group);
    return MPI_SUCCESS;
}

int ftc_mpi_group_open(MPI_Group handle, struct ftc_mpi_group **out)
{
    *out = ftc_mpi_group_of(handle);
    return *out != NULL ? MPI_SUCCESS : ftc_mpi_error(MPI_ERR_GROUP, "this is no group");
}

int ftc_mpi_group_free(MPI_Group *group)
{
    struct ftc_mpi_group *object;
    int rc = ftc_mpi_group_open(*group, &object);
    if (rc != MPI_SUCCESS)
        return rc;
    ftc_mpi_group_release(object);
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

/* For each world rank up to the highest of the group: its place there plus 1, or 0. */
static int *places(const struct ftc_mpi_group *group, int *length)
{
    *length = 1;
    for (int i = 0; i < group->size; i++)
        if (group->ranks[i] >= *length)
            *length = group->ranks[i] + 1;
    int *place = calloc((size_t)*length, sizeof *place);
    for (int i = 0; place != NULL && i < group->size; i++)
        place[group->ranks[i]] = i + 1;
    return place;
}

int ftc_mpi_group_translate_ranks(struct ftc_mpi_group *group1, int n, const int ranks1[],
                                  struct ftc_mpi_group *group2, int ranks2[])
{
    int length, *place, rc = MPI_SUCCESS;
    if (n > 0 && (ranks1 == NULL || ranks2 == NULL))
        return ftc_mpi_error(MPI_ERR_ARG, "an array of ranks is NULL");
    if ((place = places(group2, &length)) == NULL)
        return ftc_mpi_no_memory();
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        int world = ranks1[i] >= 0 && ranks1[i] < group1->size ? group1->ranks[ranks1[i]] : -1;
        if (ranks1[i] == MPI_PROC_NULL)
            ranks2[i] = MPI_PROC_NULL;
        else if (world < 0)
            rc = ftc_mpi_error(MPI_ERR_RANK, "rank %d is not in the group of %d", ranks1[i],
                               group1->size);
        else
            ranks2[i] = world < length && place[world] > 0 ? place[world] - 1 : MPI_UNDEFINED;
    }
    free(place);
    return rc;
}

int ftc_mpi_group_compare(struct ftc_mpi_group *group1, struct ftc_mpi_group *group2, int *result)
{
    int size = group1->size;
    *result = MPI_UNEQUAL;
    if (size != group2->size)
        return MPI_SUCCESS;
    if (memcmp(group1->ranks, group2->ranks, (size_t)size * sizeof(int)) == 0) {
        *result = MPI_IDENT;
        return MPI_SUCCESS;
    }
    int length, *place = places(group2, &length);
    if (place == NULL)
        return ftc_mpi_no_memory();
    int common = 0;
    for (int i = 0; i < size; i++)
        common += group1->ranks[i] < length && place[group1->ranks[i]] > 0;
    *result = common == size ? MPI_SIMILAR : MPI_UNEQUAL;
    free(place);
    return MPI_SUCCESS;
}

int ftc_mpi_group_combine(const struct ftc_mpi_group *group1, const struct ftc_mpi_group *group2,
                          bool keep_common, bool keep_own, bool append, MPI_Group *newgroup)
{
    int length[2], *place[2] = {places(group1, &length[0]), places(group2, &length[1])};
    int self = group1->self >= 0 ? group1->self : group2->self;
    struct ftc_mpi_group *made = ftc_mpi_group_new(group1->size + group2->size, self);
    if (place[0] == NULL || place[1] == NULL || made == NULL) {
        ftc_mpi_group_release(made);
        made = NULL;
    } else {
        made->size = 0;
        for (int i = 0; i < group1->size; i++) {
            int rank = group1->ranks[i];
            if (rank < length[1] && place[1][rank] > 0 ? keep_common : keep_own)
                made->ranks[made->size++] = rank;
        }
        for (int i = 0; append && i < group2->size; i++) {
            int rank = group2->ranks[i];
            if (rank >= length[0] || place[0][rank] == 0)
                made->ranks[made->size++] = rank;
        }
    }
    free(place[0]);
    free(place[1]);
    return ftc_mpi_group_give(made, newgroup);
}

int ftc_mpi_group_choose(const struct ftc_mpi_group *group, int n, const int ranks[], bool exclude,
                         MPI_Group *newgroup)
{
    if (n < 0 || n > group->size)
        return ftc_mpi_error(MPI_ERR_ARG, "%d ranks of a group of %d", n, group->size);
    bool *listed = calloc((size_t)group->size + 1, sizeof *listed);
    struct ftc_mpi_group *made = ftc_mpi_group_new(exclude ? group->size : n, group->self);
    int rc = listed == NULL || made == NULL ? ftc_mpi_no_memory() : MPI_SUCCESS;
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        if (ranks[i] < 0 || ranks[i] >= group->size || listed[ranks[i]]) {
            rc = ftc_mpi_error(MPI_ERR_RANK, "rank %d is listed twice, or not in the group of %d",
                               ranks[i], group->size);
            break;
        }
        listed[ranks[i]] = true;
        if (!exclude)
            made->ranks[i] = group->ranks[ranks[i]];
    }
    if (rc == MPI_SUCCESS && exclude) {
        made->size = 0;
        for (int i = 0; i < group->size; i++)
            if (!listed[i])
                made->ranks[made->size++] = group->ranks[i];
    }
    free(listed);
    if (rc == MPI_SUCCESS)
        return ftc_mpi_group_give(made, newgroup);
    ftc_mpi_group_release(made);
    return rc;
}

int ftc_mpi_group_choose_ranges(const struct ftc_mpi_group *group, int n, int ranges[][3],
                                bool exclude, MPI_Group *newgroup)
{
    int *ranks = malloc(((size_t)group->size + 1) * sizeof *ranks);
    int count = 0, rc = MPI_SUCCESS;
    if (ranks == NULL)
        return ftc_mpi_no_memory();
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        int first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
        if (stride == 0) {
            rc = ftc_mpi_error(MPI_ERR_ARG, "the stride of range %d is 0", i);
            break;
        }
        for (long rank = first; stride > 0 ? rank <= last : rank >= last; rank += stride) {
            if (rank < 0 || rank >= group->size || count == group->size) {
                rc = ftc_mpi_error(MPI_ERR_RANK, "range %d leaves the group of %d", i, group->size);
                break;
            }
            ranks[count++] = (int)rank;
        }
    }
    if (rc == MPI_SUCCESS)
        rc = ftc_mpi_group_choose(group, count, ranks, exclude, newgroup);
    free(ranks);
    return rc;
}
