/* Groups: lists of processes, by their ranks in the world. A group never changes. */
#ifndef FTC_MPI_GROUP_H
#define FTC_MPI_GROUP_H

#include "mpi/object/object.h"

struct ftc_mpi_group {
    struct ftc_mpi_object object;
    int size;
    int self;    /* the world rank of this process; -1: unknown, as before MPI_Init() */
    int ranks[]; /* of the world */
};

extern struct ftc_mpi_group ftc_mpi_group_empty;

/* The object of the handle, or NULL. */
struct ftc_mpi_group *ftc_mpi_group_of(MPI_Group group);
/* The group in *out; MPI_ERR_GROUP if the handle is none. */
int ftc_mpi_group_open(MPI_Group group, struct ftc_mpi_group **out);
/* A group of `size` processes, whose ranks the caller then fills in; NULL: no memory. */
struct ftc_mpi_group *ftc_mpi_group_new(int size, int self);
void ftc_mpi_group_release(struct ftc_mpi_group *group);
/* The place of the world's rank in the group, or MPI_UNDEFINED. */
int ftc_mpi_group_find(const struct ftc_mpi_group *group, int world_rank);
/* A group of the processes of the first one that the second has (keep_common) and those that it has
 * not (keep_own); then, with `append`, those of the second that the first has not. */
int ftc_mpi_group_combine(const struct ftc_mpi_group *group1, const struct ftc_mpi_group *group2,
                          bool keep_common, bool keep_own, bool append, MPI_Group *newgroup);
/* A group of the n listed ranks, in their order, or of all others (exclude). A range is first,
 * last, stride; it ends before it would pass `last`. */
int ftc_mpi_group_choose(const struct ftc_mpi_group *group, int n, const int ranks[], bool exclude,
                         MPI_Group *newgroup);
int ftc_mpi_group_choose_ranges(const struct ftc_mpi_group *group, int n, int ranges[][3],
                                bool exclude, MPI_Group *newgroup);
/* Gives the group away as a handle; an empty one becomes MPI_GROUP_EMPTY. */
int ftc_mpi_group_give(struct ftc_mpi_group *group, MPI_Group *handle);

#endif
