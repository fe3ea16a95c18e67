/* The reports: what the caller can learn about the last operation. */
#include "runtime/comm/finished.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "runtime/algorithms/gossip.h"
#include "runtime/api/call.h"
#include "runtime/process/turn.h"

/* Begins a call of the API. After an error no call has begun. */
FTC_HOT static int begin(const ftc_comm *comm, const void *report, size_t struct_size)
{
    if (report != NULL && struct_size >= sizeof(struct_size))
        return ftc_call_begin(comm);
    int rc = ftc_call_check(comm);
    return rc != FTC_SUCCESS
               ? rc
               : ftc_error_set(FTC_ERR_ARG,
                               "give a report with struct_size set to the size of its type");
}

static const struct ftc_signature barrier = {.kind = FTC_CALL_BARRIER, .root = -1};

/* The algorithm of the last call. Before the first call: that of a barrier. */
static int ran(const struct ftc_comm *comm, const struct ftc_finished *last)
{
    return last->ran >= 0 ? last->ran
                          : (int)ftc_choice_of(&comm->choice, &barrier, FTC_CHOICE_BOARD);
}

static int masked(const struct ftc_comm *comm, const struct ftc_finished *last)
{
    const struct ftc_signature *signature = last->ran >= 0 ? &last->signature : &barrier;

    if (comm->process->alone || last->ran == FTC_CHOICE_GOSSIP)
        return 0;
    return last->paired ? comm->size - 1
                        : ftc_choices[ran(comm, last)].masked(&comm->choice, signature);
}

static int write_offs(const struct ftc_finished *last)
{
    if (last->ran == FTC_CHOICE_RING || last->ran == FTC_CHOICE_GOSSIP)
        return last->lost;
    if (last->report.write_offs == FTC_WRITE_OFFS_UNKNOWN)
        return -1;
    /* The number comes from messages, and may be any. */
    int64_t sum =
        (int64_t)last->report.write_offs + (last->ran != FTC_CHOICE_BOARD ? last->lost : 0);
    return sum < INT_MAX ? (int)sum : INT_MAX;
}

static bool exchanged(const struct ftc_comm *comm, const struct ftc_finished *last)
{
    return last->ran >= 0
               ? last->report.exchanged
               : ftc_choice_exchanges(&comm->choice, &barrier, (enum ftc_choice_id)ran(comm, last));
}

static void report_spread(const ftc_comm *comm, const struct ftc_finished *last, ftc_report *report)
{
    bool ring = last->ran == FTC_CHOICE_RING;

    if (!last->report.spreads || comm->process->alone)
        return;
    if (ring || exchanged(comm, last)) {
        report->dissemination = ring ? "ring" : "exchange";
        report->tree = report->correction = "none";
        return;
    }
    report->dissemination = ftc_dissemination_name(last->report.dissemination);
    report->tree = ftc_tree_name(comm->choice.member.tree.tree);
    report->correction = ftc_correction_name(last->report.correction);
}

static void report_integrity(const ftc_comm *comm, const struct ftc_finished *last,
                             ftc_report *report)
{
    bool messages = !comm->process->alone && !last->paired && ran(comm, last) != FTC_CHOICE_BOARD;

    report->integrity =
        ftc_integrity_name(messages ? comm->process->config.integrity : FTC_INTEGRITY_NONE);
    report->compared = (int)last->report.compared;
    report->corrupt_count = comm->report_corrupt.count;
    report->corrupt = comm->report_corrupt.rank;
}

static const char *algorithm_of(const struct ftc_comm *comm, const struct ftc_finished *last)
{
    if (comm->process->alone)
        return "self";
    if (last->paired)
        return "pair";
    return ftc_choice_name(ran(comm, last));
}

/* The list of a set grows to as many ranks as it has held at most. It does not move before a later
 * operation has a larger set. */
FTC_HOT static int list_ranks(struct ftc_rank_list *list, const struct ftc_set *set)
{
    int count = list->room < set->size ? ftc_set_count(set) : 0;

    if (count > list->room) {
        int *grown = realloc(list->rank, (size_t)count * sizeof(*grown));
        if (grown == NULL)
            return ftc_error_set(FTC_ERR_NOMEM, "no memory for a list of %d ranks", count);
        list->rank = grown;
        list->room = count;
    }
    list->count = ftc_set_list(set, list->rank);
    return FTC_SUCCESS;
}

/* Without the lock, if the operation was on the board and nothing is under way: no other thread
 * changes its failed set then. */
FTC_HOT static int report_failed(struct ftc_comm *comm, ftc_report *report)
{
    bool locked =
        comm->board == NULL || atomic_load_explicit(&comm->detour, memory_order_acquire) != 0;

    if (locked)
        ftc_turn_lock(comm->process);
    int rc = list_ranks(&comm->report_failed, ftc_finished_failed(comm));
    if (locked)
        ftc_turn_unlock(comm->process);
    report->failed_count = comm->report_failed.count;
    report->failed = comm->report_failed.rank;
    return rc;
}

/* Copies only as much as the caller's struct holds: that of an older program may be shorter. */
static int report_all(struct ftc_comm *comm, ftc_report *report)
{
    struct ftc_finished last;
    size_t size = report->struct_size;

    ftc_turn_lock(comm->process);
    ftc_finished_look(comm, &last);
    int rc = list_ranks(&comm->report_failed, last.report.failed);
    comm->report_corrupt.count = 0;
    if (rc == FTC_SUCCESS && last.report.compared > 0)
        rc = list_ranks(&comm->report_corrupt, last.report.wrong);
    ftc_turn_unlock(comm->process);
    if (rc != FTC_SUCCESS)
        return rc;
    ftc_report full = {.struct_size = size,
                       .failed_count = comm->report_failed.count,
                       .failed = comm->report_failed.rank,
                       .ballots = last.report.ballots,
                       .retries = last.report.retries,
                       .algorithm = algorithm_of(comm, &last),
                       .f = masked(comm, &last),
                       .write_offs = write_offs(&last)};
    report_spread(comm, &last, &full);
    report_integrity(comm, &last, &full);
    memcpy(report, &full, size < sizeof(full) ? size : sizeof(full));
    return FTC_SUCCESS;
}

/* A caller that wants the failed set alone, after each operation, does not wait for the rest. */
FTC_HOT FTC_API int ftc_last_report(const ftc_comm *comm, ftc_report *report)
{
    int rc = begin(comm, report, report != NULL ? report->struct_size : 0);

    if (rc != FTC_SUCCESS)
        return rc;
    if (report->struct_size == offsetof(ftc_report, ballots))
        rc = report_failed((ftc_comm *)comm, report);
    else
        rc = report_all((ftc_comm *)comm, report);
    return ftc_call_end(comm, rc);
}

/* The same for the last gossip. */
FTC_API int ftc_last_gossip_report(const ftc_comm *comm, ftc_gossip_report *report)
{
    int rc = begin(comm, report, report != NULL ? report->struct_size : 0);

    if (rc != FTC_SUCCESS)
        return rc;
    ftc_gossip_report full = comm->gossip != NULL ? comm->gossip->report : (ftc_gossip_report){0};
    full.struct_size = report->struct_size;
    memcpy(report, &full, full.struct_size < sizeof(full) ? full.struct_size : sizeof(full));
    return ftc_call_end(comm, FTC_SUCCESS);
}
