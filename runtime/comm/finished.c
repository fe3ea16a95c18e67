/* What ftc_last_report() knows of the last operation. */
#include "runtime/comm/finished.h"

#include <stdlib.h>

#include "base/cpu.h"
#include "base/error.h"
#include "runtime/process/progress.h"

/* On the board each start of the operation is reported as a ballot. There is only one decision,
 * that of ballot (0,0). */
static void look_at_last(const struct ftc_comm *comm, struct ftc_finished *last)
{
    struct ftc_board_report board;

    *last =
        (struct ftc_finished){.ran = comm->ran, .signature = comm->signature, .lost = comm->lost};
    if (comm->board == NULL || comm->agreeing) {
        ftc_member_report(comm->member, &last->report);
        return;
    }
    ftc_board_report(comm->board, &board);
    last->report = (struct ftc_member_report){.failed = board.failed,
                                              .write_offs = board.write_offs,
                                              .ballots = board.starts,
                                              .retries = board.restarts};
    last->paired = board.paired;
    if (comm->ran == FTC_CHOICE_BOARD)
        last->signature = board.signature;
}

void ftc_finished_look(const struct ftc_comm *comm, struct ftc_finished *finished)
{
    if (ftc_finished_is_kept(comm))
        *finished = *comm->finished;
    else
        look_at_last(comm, finished);
}

FTC_HOT const struct ftc_set *ftc_finished_failed(const struct ftc_comm *comm)
{
    struct ftc_member_report report;

    if (ftc_finished_is_kept(comm))
        return comm->finished->report.failed;
    if (comm->board != NULL && !comm->agreeing)
        return ftc_board_failed(comm->board);
    ftc_member_report(comm->member, &report);
    return report.failed;
}

static int copy(struct ftc_set *to, const struct ftc_set **set, int ranks)
{
    if (*set == NULL)
        return FTC_SUCCESS;
    int rc = ftc_set_init(to, ranks);
    if (rc != FTC_SUCCESS)
        return rc;
    ftc_set_unite(to, *set);
    *set = to;
    return FTC_SUCCESS;
}

/* The sets of the member are those of its next operation soon. */
int ftc_finished_keep(const struct ftc_comm *comm, struct ftc_finished *finished)
{
    look_at_last(comm, finished);
    int rc = copy(&finished->failed, &finished->report.failed, comm->size);
    return rc == FTC_SUCCESS ? copy(&finished->wrong, &finished->report.wrong, comm->size) : rc;
}

void ftc_finished_fini(struct ftc_finished *finished)
{
    ftc_set_fini(&finished->failed);
    ftc_set_fini(&finished->wrong);
}

void ftc_finished_free(struct ftc_finished *finished)
{
    if (finished == NULL)
        return;
    ftc_finished_fini(finished);
    free(finished);
}

FTC_HOT void ftc_finished_show(struct ftc_comm *comm, struct ftc_finished **finished)
{
    bool kept = ftc_finished_is_kept(comm);

    if (finished != NULL) {
        struct ftc_finished *before = comm->finished;
        comm->finished = *finished;
        *finished = before;
    }
    if (kept != (finished != NULL))
        ftc_comm_detour(comm, FTC_DETOUR_FINISHED, !kept);
}

static int keep_last(struct ftc_comm *comm, const struct ftc_comm *of)
{
    if (comm->finished == NULL)
        comm->finished = calloc(1, sizeof(*comm->finished));
    if (comm->finished == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a report");
    ftc_finished_fini(comm->finished);
    return ftc_finished_keep(of, comm->finished);
}

void ftc_finished_take(struct ftc_comm *comm, const struct ftc_comm *other)
{
    ftc_progress_must(comm->process, keep_last(comm, other));
    ftc_comm_detour(comm, FTC_DETOUR_FINISHED, true);
}

void ftc_finished_hold(struct ftc_comm *comm)
{
    if (ftc_finished_is_kept(comm))
        return;
    ftc_finished_take(comm, comm);
}
