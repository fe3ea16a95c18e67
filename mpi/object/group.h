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
/* Gives the group away as a handle; an empty one becomes MPI_GROUP_EMPTY. */
int ftc_mpi_group_give(struct ftc_mpi_group *group, MPI_Group *handle);

#endif
