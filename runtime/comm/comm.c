/* The life of a communicator. */
#include "runtime/comm/comm.h"

#include <stdlib.h>

#include "base/error.h"
#include "runtime/comm/algorithm.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/publish.h"
#include "runtime/comm/ranks.h"

static int count_nodes(const struct ftc_comm *comm)
{
    bool has[FTC_NODE_MAX_NODES] = {false};
    int nodes = 0;

    if (comm->process->alone)
        return 1;
    for (int rank = 0; rank < comm->size; rank++) {
        int node = ftc_segment_node_of(comm->process->segment, ftc_comm_job_rank(comm, rank));
        nodes += !has[node];
        has[node] = true;
    }
    return nodes;
}

static int make_member(struct ftc_comm *comm)
{
    int nodes = count_nodes(comm);
    int rc = ftc_flips_parse(comm->process->config.drill_flip, &comm->flips);

    if (rc != 0)
        return ftc_error_wrap(FTC_ERR_CONFIG, "drill.flip");
    comm->choice = (struct ftc_choice_job){
        .config = &comm->process->config,
        .nodes = nodes,
        .member = ftc_choice_member(&comm->process->config, comm->size, nodes, comm->rank,
                                    ftc_flips_any(&comm->flips) ? &comm->flips : NULL)};
    if (comm->job_ranks != NULL) /* a part of the job has no records of two levels */
        comm->choice.member.nodes = 0;
    comm->choice.member.fragment = comm->process->fragment;
    comm->choice.member.communicator = comm->driven.number;
    rc = ftc_algorithms_settings(comm, &comm->choice.member);
    if (rc == 0)
        rc = ftc_member_create(&comm->member, &comm->choice.member);
    if (rc == 0)
        comm->choice.failed = ftc_member_agreed_failed(comm->member);
    return rc;
}

static void add_driven(struct ftc_process *process, struct ftc_driven *driven)
{
    driven->ops = &ftc_comm_ops;
    driven->next = process->driven;
    process->driven = driven;
}

static void remove_driven(struct ftc_process *process, const struct ftc_driven *driven)
{
    struct ftc_driven **link = &process->driven;

    while (*link != NULL && *link != driven)
        link = &(*link)->next;
    if (*link != NULL)
        *link = driven->next;
}

void ftc_comm_close(struct ftc_comm *comm)
{
    if (comm->member != NULL && !comm->process->alone)
        ftc_publish_multicast(comm);
    remove_driven(comm->process, &comm->driven);
    ftc_member_destroy(comm->member);
    ftc_algorithms_close(comm);
    ftc_snapshot_fini(&comm->snapshot);
    ftc_board_file_close(comm->file);
    ftc_comm_drop_members(comm);
    free(comm->report_failed);
    free(comm->report_corrupt);
    free(comm);
}

static int build(struct ftc_comm *comm, const struct ftc_comm_setup *setup)
{
    int rc = setup->job_ranks == NULL ? FTC_SUCCESS
                                      : ftc_comm_take_members(comm, setup->job_ranks, setup->size);

    if (rc == 0)
        rc = ftc_snapshot_init(&comm->snapshot, comm->size);

    comm->report_failed = calloc((size_t)comm->size, sizeof(int));
    comm->report_corrupt = calloc((size_t)comm->size, sizeof(int));
    if (rc == 0 && (comm->report_failed == NULL || comm->report_corrupt == NULL))
        rc = ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator of %d ranks", comm->size);
    if (rc == 0)
        rc = make_member(comm);
    if (rc == 0 && !comm->process->alone)
        rc = ftc_algorithms_open(comm);
    return rc;
}

int ftc_comm_open(struct ftc_comm **out, struct ftc_process *process,
                  const struct ftc_comm_setup *setup, const struct ftc_algorithm *const *algorithms)
{
    struct ftc_comm *comm = calloc(1, sizeof(*comm));

    if (comm == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator");
    comm->process = process;
    comm->algorithms = algorithms;
    comm->rank = setup->rank;
    comm->size = setup->size;
    comm->file = setup->file;
    comm->driven.number = setup->number;
    comm->ran = -1;
    if (setup->job_ranks != NULL)
        atomic_store_explicit(&process->parted, true, memory_order_relaxed);
    else if (!process->alone)
        ftc_history_init(&comm->history, process->segment, comm->rank);
    add_driven(process, &comm->driven);
    int rc = build(comm, setup);
    if (rc == 0)
        *out = comm;
    else
        ftc_comm_close(comm);
    return rc;
}
