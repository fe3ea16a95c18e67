/* Info objects: pairs of texts, in the order in which their keys were first set. */
#ifndef FTC_MPI_INFO_H
#define FTC_MPI_INFO_H

#include "mpi/object/object.h"

struct ftc_mpi_info;

/* The object of the handle; NULL for MPI_INFO_NULL and for a wrong handle. */
struct ftc_mpi_info *ftc_mpi_info_of(MPI_Info info);
/* The object in *out; MPI_ERR_INFO if the handle is none. */
int ftc_mpi_info_open(MPI_Info info, struct ftc_mpi_info **out);
/* A copy; NULL: no memory. `info` may be NULL, for an empty one. */
struct ftc_mpi_info *ftc_mpi_info_copy(const struct ftc_mpi_info *info);
void ftc_mpi_info_release(struct ftc_mpi_info *info);
int ftc_mpi_info_keys(const struct ftc_mpi_info *info);
/* The value of the key, or NULL. */
const char *ftc_mpi_info_value(const struct ftc_mpi_info *info, const char *key);

#endif
