/* The life of a communicator. */
#include "runtime/comm/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collectives/communicators/communicators.h"
#include "node/board/level.h"
#include "runtime/comm/algorithm.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/finished.h"
#include "runtime/comm/list.h"
#include "runtime/comm/mover.h"
#include "runtime/comm/publish.h"
#include "runtime/comm/ranks.h"
#include "runtime/process/progress.h"

#define LIST_ROOM 4

/* *in_rows: the ranks of each node follow one another. */
static int count_nodes(const struct ftc_comm *comm, bool *in_rows)
{
    bool has[FTC_NODE_MAX_NODES] = {false};
    int nodes = 0, rows = 0, before = -1;

    *in_rows = true;
    if (comm->process->alone)
        return 1;
    for (int rank = 0; rank < comm->size; rank++) {
        int node = ftc_comm_node_of(comm, rank);
        nodes += !has[node];
        rows += node != before;
        has[node] = true;
        before = node;
    }
    *in_rows = rows == nodes;
    return nodes;
}

/* The memory that ranks of one node share in a part of the job. Each node has a file of its own:
 * for a board if there is one node, and else for two levels, if operations go over these. */
static int open_file(struct ftc_comm *comm)
{
    struct ftc_segment *segment = comm->process->segment;
    bool levels = comm->choice.member.nodes > 1;
    int lowest = comm->process->rank, count = 0;

    if (!levels && (comm->choice.nodes > 1 ||
                    ftc_config_algorithm(&comm->process->config, 1) == FTC_ALGORITHM_CORRECTED))
        return FTC_SUCCESS;
    for (int rank = 0; rank < comm->size; rank++) {
        int job_rank = ftc_comm_job_rank(comm, rank);
        count += ftc_comm_is_local(comm, rank);
        if (ftc_comm_is_local(comm, rank) && job_rank < lowest)
            lowest = job_rank;
    }
    return levels ? ftc_board_file_open_areas(&comm->file, segment, comm->number, lowest, count,
                                              FTC_LEVEL_HEAD)
                  : ftc_board_file_open(&comm->file, segment, comm->number, lowest, count);
}

static void open_memory(struct ftc_comm *comm)
{
    if (comm->file == NULL && open_file(comm) != FTC_SUCCESS) {
        comm->lacks_memory = true;
        comm->choice.member.nodes = 0;
        FTC_LOG(&comm->process->log, FTC_LOG_WARN,
                "a new communicator of %d ranks goes by messages: no shared memory for it here: %s",
                comm->size, ftc_last_error());
    }
    comm->use = comm->file != NULL ? ftc_board_file_use(comm->file) : 0;
}

/* L, beside G: the members that this process knows to have failed (communicators.md, C4). */
static int inherit(struct ftc_comm *comm, const struct ftc_set *agreed)
{
    const struct ftc_set *failed = &comm->process->failed;
    struct ftc_set known = {0};
    int rc = ftc_set_init(&known, comm->size);

    for (int rank = 0; rc == 0 && (rank = ftc_set_next(failed, rank)) >= 0; rank++)
        if (ftc_comm_rank_of(comm, rank) >= 0)
            ftc_set_add(&known, ftc_comm_rank_of(comm, rank));
    if (rc == 0)
        rc = ftc_member_inherit(comm->member, agreed, &known);
    ftc_set_fini(&known);
    return rc;
}

/* With the settings comm->choice.member. */
static int make_member(struct ftc_comm *comm, const struct ftc_set *agreed)
{
    int rc = ftc_member_create(&comm->member, &comm->choice.member);

    if (rc == 0 && (comm->communicator != NULL || comm->job_ranks != NULL))
        rc = inherit(comm, agreed);
    if (rc == 0)
        comm->choice.failed = ftc_member_agreed_failed(comm->member);
    return rc;
}

static int choose_settings(struct ftc_comm *comm, bool by_messages, bool agrees)
{
    bool in_rows;
    int nodes = count_nodes(comm, &in_rows);
    int rc = ftc_flips_parse(comm->process->config.drill_flip, &comm->flips);

    if (rc != 0)
        return ftc_error_wrap(FTC_ERR_CONFIG, "drill.flip");
    comm->choice = (struct ftc_choice_job){
        .config = &comm->process->config,
        .nodes = nodes,
        .member = ftc_choice_member(&comm->process->config, comm->size, nodes, comm->rank,
                                    ftc_flips_any(&comm->flips) ? &comm->flips : NULL)};
    if (agrees)
        ftc_choice_agreements(&comm->choice);
    if (!in_rows || by_messages)
        comm->choice.member.nodes = 0;
    if (comm->job_ranks != NULL && !by_messages && !comm->process->alone)
        open_memory(comm);
    comm->choice.member.fragment = comm->process->fragment;
    comm->choice.member.communicator = comm->driven.number;
    return ftc_algorithms_settings(comm, &comm->choice.member);
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

/* If its creation was cut off, nobody has removed the name of the file. */
static void close_file(struct ftc_comm *comm)
{
    if (comm->file != NULL && !comm->opened)
        ftc_board_file_unlink(comm->file);
    ftc_board_file_close(comm->file);
    comm->file = NULL;
    comm->left = false;
}

void ftc_comm_give_up_board(struct ftc_comm *comm)
{
    if (comm->board != NULL && !ftc_comm_is_revoked(comm)) /* the closing comes after these */
        ftc_member_skip(comm->member, ftc_board_operations(comm->board));
    comm->left = comm->left || comm->board != NULL;
    ftc_mover_close(comm);
}

void ftc_comm_close_board(struct ftc_comm *comm)
{
    ftc_comm_give_up_board(comm);
    if (comm->levels == NULL) /* that of two levels is mapped until the end */
        close_file(comm);
}

void ftc_comm_by_messages(struct ftc_comm *comm)
{
    ftc_algorithms_one_level(comm);
    ftc_comm_close_board(comm);
}

bool ftc_comm_all_have_left(struct ftc_comm *comm)
{
    for (; comm->leaver < comm->size; comm->leaver++) {
        int job_rank = ftc_comm_job_rank(comm, comm->leaver);
        if (ftc_set_has(&comm->process->failed, job_rank))
            continue;
        int rc = ftc_board_file_has_left(comm->file, comm->use, comm->leaver);
        if (rc == FTC_ERR_PROTO && !ftc_set_has(&comm->process->accused, job_rank))
            ftc_comm_accuse(comm, comm->leaver, "has damaged its part of a board");
        if (rc != 1)
            return false;
    }
    return true;
}

int ftc_comm_open_agreements(struct ftc_comm *comm, const struct ftc_algorithm *const *algorithms)
{
    struct ftc_comm_setup setup = {
        .number = comm->number | FTC_COMMUNICATOR_REVOKED,
        .rank = comm->rank,
        .size = comm->size,
        .by_messages = true,
        .agrees = true,
        .communicator = comm->communicator,
    };

    if (comm->agreements != NULL)
        return FTC_SUCCESS;
    setup.job_ranks = ftc_communicator_job_ranks(comm->communicator);
    if (setup.job_ranks == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator of %d ranks", comm->size);
    int rc = ftc_comm_open(&comm->agreements, comm->process, &setup, algorithms);
    if (rc == FTC_SUCCESS)
        snprintf(comm->agreements->name, sizeof(comm->name), "%s", comm->name);
    return rc;
}

/* The counters of the slot keep what the member before has counted. */
int ftc_comm_cut_off(struct ftc_comm *comm)
{
    if (comm->board != NULL)
        ftc_board_revoke(comm->board, ftc_member_known_failed(comm->member));
    if (!comm->process->alone)
        ftc_publish_multicast(comm);
    ftc_member_destroy(comm->member);
    comm->member = NULL;
    comm->deciding = NULL;
    memset(&comm->counted, 0, sizeof(comm->counted));
    comm->noted_ballots = comm->member_due_ns = comm->algorithm_due_ns = 0;
    ftc_progress_due(comm->process, &comm->driven, 0);
    comm->driven.more = comm->driven.waits = comm->driven.polls = comm->agreeing = false;
    comm->driven.copies = false;
    comm->driven.number = 0; /* of no message */
    comm->choice.member.nodes = 0;
    comm->process->delivered = true; /* a caller that waits looks again */
    return make_member(comm, NULL);
}

void ftc_comm_close(struct ftc_comm *comm)
{
    if (comm->agreements != NULL)
        ftc_comm_close(comm->agreements);
    if (comm->member != NULL && !comm->process->alone)
        ftc_publish_multicast(comm);
    ftc_history_close(&comm->history);
    for (int i = 0; i < FTC_RUNS_POSTED; i++)
        ftc_history_close(&comm->posted[i]);
    remove_driven(comm->process, &comm->driven);
    ftc_progress_due(comm->process, &comm->driven, 0);
    ftc_progress_rest(comm->process, &comm->driven);
    ftc_comm_list_remove(comm);
    ftc_member_destroy(comm->member);
    comm->algorithms = comm->opened_algorithms;
    ftc_algorithms_close(comm);
    ftc_snapshot_fini(&comm->snapshot);
    close_file(comm);
    free(comm->own.value);
    ftc_queue_free_spares(comm);
    ftc_finished_free(comm->finished);
    ftc_comm_drop_members(comm);
    free(comm->report_failed.rank);
    free(comm->report_corrupt.rank);
    free(comm);
}

/* Room for a few ranks. */
static int make_list(struct ftc_rank_list *list, int ranks)
{
    list->room = ranks < LIST_ROOM ? ranks : LIST_ROOM;
    list->rank = calloc((size_t)list->room, sizeof(*list->rank));
    return list->rank != NULL
               ? FTC_SUCCESS
               : ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator of %d ranks", ranks);
}

static int build(struct ftc_comm *comm, const struct ftc_comm_setup *setup)
{
    int rc = setup->job_ranks == NULL ? FTC_SUCCESS
                                      : ftc_comm_take_members(comm, setup->job_ranks, setup->size);

    if (rc == 0)
        rc = ftc_snapshot_init(&comm->snapshot, comm->size);
    if (rc == 0 && setup->agreed != NULL)
        ftc_snapshot_global(&comm->snapshot, setup->agreed);
    if (rc == 0)
        rc = make_list(&comm->report_failed, comm->size);
    if (rc == 0)
        rc = make_list(&comm->report_corrupt, comm->size);
    if (rc == 0)
        rc = choose_settings(comm, setup->by_messages, setup->agrees);
    if (rc == 0)
        rc = make_member(comm, setup->agreed);
    if (rc == 0 && !comm->process->alone)
        rc = ftc_algorithms_open(comm);
    return rc;
}

static void name(struct ftc_comm *comm, uint64_t number)
{
    char text[24];

    snprintf(comm->name, sizeof(comm->name), "%s", ftc_history_communicator(number, text));
}

int ftc_comm_open(struct ftc_comm **out, struct ftc_process *process,
                  const struct ftc_comm_setup *setup, const struct ftc_algorithm *const *algorithms)
{
    struct ftc_comm *comm = calloc(1, sizeof(*comm));

    if (comm == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator");
    comm->process = process;
    comm->algorithms = comm->opened_algorithms = algorithms;
    comm->communicator = setup->communicator;
    name(comm, setup->number);
    comm->rank = setup->rank;
    comm->size = setup->size;
    comm->file = setup->file;
    comm->number = comm->driven.number = setup->number;
    comm->ran = -1;
    if (setup->job_ranks != NULL) {
        atomic_store_explicit(&process->parted, true, memory_order_relaxed);
        atomic_store_explicit(&process->history.shared, true, memory_order_relaxed);
    }
    ftc_history_open(&comm->history, &process->history, comm->number, comm->name, false);
    comm->recording = &comm->history;
    add_driven(process, &comm->driven);
    int rc = build(comm, setup);
    if (rc == 0)
        *out = comm;
    else
        ftc_comm_close(comm);
    return rc;
}
