/* The last operations of ranks, for --history. They are copied once, when the job is looked at. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/status.h"
#include "runtime/choice/choice.h"

int ftc_status_history(struct ftc_job_status *status, struct ftc_segment *segment, int wanted)
{
    struct ftc_history_operation last[FTC_HISTORY_MOST];

    if (wanted >= status->ranks)
        return ftc_error_set(FTC_ERR_ARG, "--history %d: there is no such rank; give 0 to %d",
                             wanted, status->ranks - 1);
    status->history = calloc((size_t)status->ranks, sizeof(*status->history));
    if (status->history == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    ftc_history_look(&status->clock, segment);
    status->started_ns = ftc_segment_header(segment)->started_ns;
    for (int rank = 0; rank < status->ranks; rank++) {
        struct ftc_status_history *history = &status->history[rank];
        if (wanted >= 0 && rank != wanted)
            continue;
        history->wanted = true;
        history->kept = ftc_history_kept(segment, rank);
        int count = ftc_history_last(segment, rank, &status->clock, last, (int)FTC_HISTORY_MOST);
        history->operation = calloc((size_t)count + 1, sizeof(*history->operation));
        if (history->operation == NULL)
            return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
        memcpy(history->operation, last, (size_t)count * sizeof(*last));
        history->count = count;
    }
    return 0;
}

static const char *why_none(const struct ftc_job_status *status, int rank)
{
    if (status->rank[rank].node != status->own_node)
        return "it is kept on the rank's own host";
    return !status->history[rank].kept ? "[trace] history is off" : "it has called no operation";
}

void ftc_status_print_history(const struct ftc_job_status *status, FILE *out)
{
    char line[FTC_HISTORY_LINE], cause[FTC_STATUS_TEXT];

    for (int rank = 0; status->history != NULL && rank < status->ranks; rank++) {
        const struct ftc_status_history *history = &status->history[rank];
        bool failed = status->rank[rank].state == FTC_STATUS_FAILED;
        if (!history->wanted)
            continue;
        fprintf(out, "\nHISTORY of rank %d%s%s%s\n", rank, failed ? ", which failed (" : "",
                failed ? ftc_status_cause(&status->rank[rank].failure, cause) : "",
                failed ? ")" : "");
        if (history->count == 0) {
            fprintf(out, "none: %s\n", why_none(status, rank));
            continue;
        }
        fprintf(out, "%s\n", ftc_history_head());
        for (int i = 0; i < history->count; i++)
            fprintf(out, "%s\n",
                    ftc_history_line(&history->operation[i],
                                     ftc_choice_name(history->operation[i].algorithm),
                                     &status->clock, status->started_ns, line));
    }
}
