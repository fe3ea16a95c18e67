/*
 * mpi-ext.h - functions for programs that go on after a failure. Open MPI and MPICH have them by
 * the same names. docs/design/mpi.md says what they do here.
 */
#ifndef FTC_MPI_EXT_H
#define FTC_MPI_EXT_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Error classes. */
#define MPIX_ERR_PROC_FAILED         101 /* a rank that the operation needs has failed */
#define MPIX_ERR_PROC_FAILED_PENDING 102 /* a rank has failed; the receive is still under way */
#define MPIX_ERR_REVOKED             103 /* the communicator was revoked */

/* Has the MPI library functions for failures? */
#define MPIX_HAVE_FT 1

/* Revoke comm: each operation on it ends with MPIX_ERR_REVOKED at each rank. The call is local. */
int MPIX_Comm_revoke(MPI_Comm comm);
int MPIX_Comm_is_revoked(MPI_Comm comm, int *flag);

/* Make a communicator of the ranks of comm that have not failed. */
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int MPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);

/* Store in *flag at each survivor the bitwise "and" of what the survivors have there. A failure
 * that not all of them have acknowledged is raised, at all of them. It works on a communicator that
 * was revoked, too. */
int MPIX_Comm_agree(MPI_Comm comm, int *flag);
int MPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);

/* The ranks of comm that this rank knows to have failed. The call is local. */
int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failed);

/* Acknowledge the first num_to_ack of them; *num_acked is the number of all that were. */
int MPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);

/* The same by older names: acknowledge all, and the group of the acknowledged ones. */
int MPIX_Comm_failure_ack(MPI_Comm comm);
int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failed);

#ifdef __cplusplus
}
#endif

#endif
