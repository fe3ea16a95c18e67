/* The validate calls and the reports: what the caller can learn about failures. */
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "runtime/algorithms/gossip.h"
#include "runtime/api/call.h"
#include "runtime/comm/drive.h"
#include "runtime/process/progress.h"

/* Begins a call of the API. After an error no call has begun. */
static int begin(const ftc_comm *comm, const void *output)
{
    int rc = ftc_call_check(comm);

    if (rc == 0 && output == NULL)
        rc = ftc_error_set(FTC_ERR_ARG,
                           "there is nowhere to put the result: the output pointer is NULL");
    return rc == 0 ? ftc_call_begin(comm) : rc;
}

FTC_API int ftc_validate_local(ftc_comm *comm, int *failed_count)
{
    int rc = begin(comm, failed_count);

    if (rc != 0)
        return rc;
    ftc_call_enter(comm);
    while (ftc_progress_step(comm->process))
        ;
    rc = ftc_comm_learn_from_board(comm);
    if (rc != 0)
        ftc_process_leave(comm->process, FTC_EXIT_INTERNAL, "out of memory");
    ftc_snapshot_local(&comm->snapshot, ftc_member_known_failed(comm->member));
    *failed_count = ftc_set_count(&comm->snapshot.known);
    ftc_call_leave(comm);
    return ftc_call_end(comm, 0);
}

/* On the board each start of the last operation is reported as a ballot. There is only one
 * decision, that of ballot (0,0). */
static void last_report(const struct ftc_comm *comm, struct ftc_member_report *report)
{
    struct ftc_board_report board;

    if (comm->board == NULL) {
        ftc_member_report(comm->member, report);
        return;
    }
    ftc_board_report(comm->board, &board);
    *report = (struct ftc_member_report){.failed = board.failed,
                                         .write_offs = board.write_offs,
                                         .ballots = board.starts,
                                         .retries = board.restarts};
}

FTC_API int ftc_validate_global(ftc_comm *comm, int *failed_count)
{
    struct ftc_call call = {.signature = {.kind = FTC_CALL_VALIDATE, .root = -1}};
    struct ftc_member_report report;
    int rc = begin(comm, failed_count);

    if (rc != 0)
        return rc;
    rc = ftc_call_run(comm, &call, NULL);
    if (rc != 0)
        return ftc_call_end(comm, rc);
    ftc_call_enter(comm);
    last_report(comm, &report);
    ftc_snapshot_global(&comm->snapshot, report.failed);
    *failed_count = ftc_set_count(report.failed);
    ftc_call_leave(comm);
    return ftc_call_end(comm, 0);
}

FTC_API int ftc_get_state_local(ftc_comm *comm, int types, int incount, int *outcount,
                                ftc_rank_info infos[])
{
    int rc = begin(comm, outcount);

    if (rc != 0)
        return rc;
    rc = ftc_snapshot_states(&comm->snapshot, false, types, incount, outcount, infos);
    return ftc_call_end(comm, rc);
}

FTC_API int ftc_get_state_global(ftc_comm *comm, int types, int incount, int *outcount,
                                 ftc_rank_info infos[])
{
    int rc = begin(comm, outcount);

    if (rc != 0)
        return rc;
    rc = ftc_snapshot_states(&comm->snapshot, true, types, incount, outcount, infos);
    return ftc_call_end(comm, rc);
}

FTC_API int ftc_recognize(ftc_comm *comm, int count, const int ranks[])
{
    int rc = ftc_call_begin(comm);

    return rc == 0 ? ftc_call_end(comm, ftc_snapshot_recognize(&comm->snapshot, count, ranks)) : rc;
}

static const struct ftc_signature barrier = {.kind = FTC_CALL_BARRIER, .root = -1};

/* The algorithm of the last call. Before the first call: that of a barrier. */
static int ran(const struct ftc_comm *comm)
{
    return comm->ran >= 0 ? comm->ran
                          : (int)ftc_choice_of(&comm->choice, &barrier, FTC_CHOICE_BOARD);
}

static int masked(const struct ftc_comm *comm)
{
    const struct ftc_signature *signature = comm->ran >= 0 ? &comm->signature : &barrier;
    struct ftc_board_report board = {0};

    if (comm->process->alone || ran(comm) == FTC_CHOICE_GOSSIP)
        return 0;
    if (comm->ran == FTC_CHOICE_BOARD) {
        ftc_board_report(comm->board, &board);
        signature = &board.signature;
    }
    return board.paired ? comm->size - 1 : ftc_choices[ran(comm)].masked(&comm->choice, signature);
}

static int write_offs(const struct ftc_comm *comm, const struct ftc_member_report *last)
{
    if (comm->ran == FTC_CHOICE_RING || comm->ran == FTC_CHOICE_GOSSIP)
        return comm->lost;
    if (last->write_offs == FTC_WRITE_OFFS_UNKNOWN)
        return -1;
    /* The number comes from messages, and may be any. */
    int64_t sum = (int64_t)last->write_offs + (comm->board == NULL ? comm->lost : 0);
    return sum < INT_MAX ? (int)sum : INT_MAX;
}

static bool exchanged(const struct ftc_comm *comm, const struct ftc_member_report *last)
{
    return comm->ran >= 0
               ? last->exchanged
               : ftc_choice_exchanges(&comm->choice, &barrier, (enum ftc_choice_id)ran(comm));
}

static void report_spread(const ftc_comm *comm, const struct ftc_member_report *last,
                          ftc_report *report)
{
    bool ring = comm->ran == FTC_CHOICE_RING;

    if (!last->spreads || comm->process->alone)
        return;
    if (ring || exchanged(comm, last)) {
        report->dissemination = ring ? "ring" : "exchange";
        report->tree = report->correction = "none";
        return;
    }
    report->dissemination = ftc_dissemination_name(last->dissemination);
    report->tree = ftc_tree_name(comm->choice.member.tree.tree);
    report->correction = ftc_correction_name(last->correction);
}

static void report_integrity(const ftc_comm *comm, const struct ftc_member_report *last,
                             ftc_report *report)
{
    bool messages = !comm->process->alone && comm->board == NULL;

    report->integrity =
        ftc_integrity_name(messages ? comm->process->config.integrity : FTC_INTEGRITY_NONE);
    report->compared = (int)last->compared;
    report->corrupt_count = comm->report_corrupt_count;
    report->corrupt = comm->report_corrupt;
}

static const char *algorithm_of(const struct ftc_comm *comm)
{
    struct ftc_board_report board = {0};

    if (comm->process->alone)
        return "self";
    if (comm->ran == FTC_CHOICE_BOARD)
        ftc_board_report(comm->board, &board);
    if (board.paired)
        return "pair";
    return ftc_choice_name(ran(comm));
}

/* Copies only as much as the caller's struct holds: that of an older program may be shorter. */
FTC_API int ftc_last_report(const ftc_comm *comm, ftc_report *report)
{
    struct ftc_member_report last;
    ftc_report full;
    int rc = begin(comm, report);

    if (rc != 0)
        return rc;
    if (report->struct_size < sizeof(report->struct_size))
        return ftc_call_end(
            comm, ftc_error_set(FTC_ERR_ARG, "set report.struct_size to sizeof(ftc_report)"));
    ftc_comm *mutable = (ftc_comm *)comm;
    pthread_mutex_lock(&mutable->process->lock);
    last_report(comm, &last);
    mutable->report_count = ftc_set_list(last.failed, comm->report_failed);
    if (last.compared > 0)
        mutable->report_corrupt_count = ftc_set_list(last.wrong, comm->report_corrupt);
    else
        mutable->report_corrupt_count = 0;
    pthread_mutex_unlock(&mutable->process->lock);
    full = (ftc_report){.struct_size = report->struct_size,
                        .failed_count = comm->report_count,
                        .failed = comm->report_failed,
                        .ballots = last.ballots,
                        .retries = last.retries,
                        .algorithm = algorithm_of(comm),
                        .f = masked(comm),
                        .write_offs = write_offs(comm, &last)};
    report_spread(comm, &last, &full);
    report_integrity(comm, &last, &full);
    memcpy(report, &full, report->struct_size < sizeof(full) ? report->struct_size : sizeof(full));
    return ftc_call_end(comm, 0);
}

/* The same for the last gossip. */
FTC_API int ftc_last_gossip_report(const ftc_comm *comm, ftc_gossip_report *report)
{
    int rc = ftc_call_check(comm);

    if (rc == FTC_SUCCESS && (report == NULL || report->struct_size < sizeof(report->struct_size)))
        rc = ftc_error_set(FTC_ERR_ARG,
                           "give a report with struct_size set to sizeof(ftc_gossip_report)");
    if (rc == FTC_SUCCESS)
        rc = ftc_call_begin(comm);
    if (rc != FTC_SUCCESS)
        return rc;
    ftc_gossip_report full = comm->gossip != NULL ? comm->gossip->report : (ftc_gossip_report){0};
    full.struct_size = report->struct_size;
    memcpy(report, &full, full.struct_size < sizeof(full) ? full.struct_size : sizeof(full));
    return ftc_call_end(comm, FTC_SUCCESS);
}
