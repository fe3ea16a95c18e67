/*
 * Collectives of an intercommunicator: one exchange among all ranks of both groups, in which what a
 * rank gives goes to ranks of the other group alone. So a blocking call, a request and a persistent
 * one go the same way, and all survivors agree on who has failed. For a reduction a rank gets all
 * elements of the other group, and combines them in the order of their ranks.
 */
#include "mpi/call/plan.h"

#include <stdlib.h>
#include <string.h>

/* Does the root give? */
static bool is_from_root(enum ftc_mpi_call_kind kind)
{
    return kind == FTC_MPI_BCAST || kind == FTC_MPI_SCATTER || kind == FTC_MPI_SCATTERV;
}

static bool is_to_root(enum ftc_mpi_call_kind kind)
{
    return kind == FTC_MPI_GATHER || kind == FTC_MPI_GATHERV || kind == FTC_MPI_REDUCE;
}

int ftc_mpi_plan_roles(struct ftc_mpi_plan *plan)
{
    enum ftc_mpi_call_kind kind = plan->call.kind;
    int root = plan->call.root, peers = ftc_mpi_comm_peers(plan->comm);
    bool inter = ftc_mpi_is_inter(plan->comm), from_root = is_from_root(kind);
    bool rooted = from_root || is_to_root(kind);
    bool is_root = inter ? root == MPI_ROOT : root == plan->comm->rank;
    plan->peer = -1;
    plan->gives = !rooted || is_root == from_root || (!inter && !from_root);
    plan->gets = !rooted || is_root != from_root || (!inter && from_root);
    if (!rooted || (inter && root == MPI_ROOT))
        return MPI_SUCCESS;
    if (inter && root == MPI_PROC_NULL) {
        plan->gives = plan->gets = false;
        return MPI_SUCCESS;
    }
    if (root < 0 || root >= peers)
        return ftc_mpi_error(MPI_ERR_ROOT, "root %d of %d ranks", root, peers);
    plan->peer = inter ? root : -1;
    return MPI_SUCCESS;
}

/* The part of each remote rank in the side. */
static void cross_side(const struct ftc_mpi_plan *plan, const struct ftc_mpi_side *side,
                       size_t *counts, size_t *places)
{
    for (int i = 0; side->shape != FTC_MPI_NO_SIDE && i < plan->comm->remote_size; i++) {
        int at = plan->comm->remote_first + i, block = side->blocks == 1 ? 0 : i;
        if (plan->peer >= 0 && i != plan->peer)
            continue;
        counts[at] = side->sizes != NULL ? side->sizes[block] : ftc_mpi_side_block(side);
        places[at] = side->sizes != NULL ? side->places[block] : (size_t)block * counts[at];
    }
}

int ftc_mpi_plan_cross(struct ftc_mpi_plan *plan)
{
    int all = plan->comm->size + plan->comm->remote_size;
    size_t *numbers = calloc((size_t)all * 4, sizeof *numbers);
    if (numbers == NULL)
        return ftc_mpi_no_memory();
    plan->crossing = numbers;
    plan->sendcounts = numbers;
    plan->sendplaces = numbers + all;
    plan->recvcounts = numbers + 2 * all;
    plan->recvplaces = numbers + 3 * all;
    plan->type = FTC_UINT8;
    cross_side(plan, &plan->send, numbers, numbers + all);
    plan->from = ftc_mpi_side_at(&plan->send);
    if (plan->op == NULL || !plan->gets) {
        cross_side(plan, &plan->recv, numbers + 2 * all, numbers + 3 * all);
        plan->to = ftc_mpi_side_at(&plan->recv);
        return MPI_SUCCESS;
    }
    plan->to = plan->gathered = malloc(plan->each * (size_t)plan->comm->remote_size + 1);
    for (int i = 0; i < plan->comm->remote_size; i++) {
        numbers[2 * all + plan->comm->remote_first + i] = plan->each;
        numbers[3 * all + plan->comm->remote_first + i] = plan->each * (size_t)i;
    }
    return plan->gathered == NULL ? ftc_mpi_no_memory() : MPI_SUCCESS;
}

static bool has_failed(const ftc_report *report, int rank)
{
    for (int i = 0; i < report->failed_count; i++)
        if (report->failed[i] == rank)
            return true;
    return false;
}

/* Combines from the last rank on, and gives this rank its part. */
static void combine(struct ftc_mpi_plan *plan, const ftc_report *report)
{
    char *sum = NULL;
    size_t before = 0, bytes = plan->recv.bytes;
    for (int i = plan->comm->remote_size - 1; i >= 0; i--) {
        char *its = plan->gathered + plan->each * (size_t)i;
        if (has_failed(report, plan->comm->remote_first + i))
            continue;
        if (sum != NULL)
            plan->apply(its, sum, plan->count, plan->type, plan);
        else
            sum = its;
    }
    if (plan->call.kind == FTC_MPI_REDUCE_SCATTER_BLOCK)
        before = bytes * (size_t)plan->comm->rank;
    for (int r = 0; plan->numbers != NULL && r < plan->comm->rank; r++) /* a reduce_scatter */
        before += plan->numbers[r] * (plan->each / plan->count);
    if (sum != NULL && bytes > 0)
        memcpy(ftc_mpi_side_at(&plan->recv), sum + before, bytes);
}

int ftc_mpi_plan_arrive(struct ftc_mpi_plan *plan)
{
    ftc_report report = {.struct_size = sizeof report};
    if (!ftc_mpi_is_inter(plan->comm) || !plan->gets)
        return FTC_SUCCESS;
    int error = ftc_last_report(plan->native, &report);
    if (error == FTC_SUCCESS && is_from_root(plan->call.kind) &&
        has_failed(&report, plan->comm->remote_first + plan->peer))
        error = FTC_ERR_ROOT_FAILED;
    if (error == FTC_SUCCESS && plan->gathered != NULL && plan->count > 0)
        combine(plan, &report);
    return error;
}
