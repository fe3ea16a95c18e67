/* How a call goes down to ftcoll: its two sides, its operator, and the arguments for ftcoll. */
#ifndef FTC_MPI_PLAN_H
#define FTC_MPI_PLAN_H

#include "mpi/call/call.h"
#include "mpi/call/side.h"
#include "mpi/comm/request.h"
#include "mpi/operator/operator.h"

struct ftc_mpi_plan {
    struct ftc_mpi_request request; /* it comes first; not used by blocking calls */
    struct ftc_mpi_call call;
    struct ftc_mpi_comm *comm;
    ftc_comm *native; /* of `comm`; a persistent call has a copy of its own, since such calls may be
                       * started in any order (MPI 5.0, 6.13) */
    bool gives, gets; /* has it a send side, and a receive side? */
    struct ftc_mpi_side send, recv;

    /* In an intercommunicator. */
    int peer;         /* the rank of the remote group that it gives to or gets from; -1: all */
    size_t *crossing; /* counts and places of all ranks of `native`, for ftc_alltoallv() */
    char *gathered;   /* the elements that are to be combined, of each remote rank */
    size_t each;      /* their bytes of one rank */

    /* A reduction. */
    struct ftc_mpi_op *op; /* with a reference */
    ftc_op_fn *apply;      /* combines elements as ftcoll has them; its last argument is the plan */
    bool op_made;          /* native_op was made for this call */
    ftc_op native_op;

    /* A collective of a neighbourhood: which blocks are packed, in which order. */
    int *order;

    /* For ftcoll; counts are numbers of `type`. */
    const void *from;
    void *to;
    size_t count;
    ftc_type type;
    size_t *numbers; /* memory of the arrays that are not those of a side */
    const size_t *sendcounts, *sendplaces, *recvcounts, *recvplaces;
};

/* Make the plan of a call for ftcoll; the kinds are those of the files' names. */
int ftc_mpi_plan_move(struct ftc_mpi_plan *plan);
int ftc_mpi_plan_reduction(struct ftc_mpi_plan *plan);
int ftc_mpi_plan_neighbours(struct ftc_mpi_plan *plan);
/* Opens a side by what the call has of it. */
int ftc_mpi_plan_open(struct ftc_mpi_plan *plan, bool sends, enum ftc_mpi_shape shape, int blocks);
/* Fills in gives, gets and peer, and checks the root. */
int ftc_mpi_plan_roles(struct ftc_mpi_plan *plan);
/* The sides are prepared: makes the exchange with the remote group. */
int ftc_mpi_plan_cross(struct ftc_mpi_plan *plan);
/* The exchange has ended well: combines what a reduction has got. Returns an error of ftcoll. */
int ftc_mpi_plan_arrive(struct ftc_mpi_plan *plan);

/* Gives back what a plan of a reduction has made. */
void ftc_mpi_plan_end_reduction(struct ftc_mpi_plan *plan);

#endif
