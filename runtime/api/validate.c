/* The validate calls: what the caller can learn about failures. */
#include "base/error.h"
#include "runtime/api/call.h"
#include "runtime/api/making.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/finished.h"
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

FTC_API int ftc_validate_global(ftc_comm *comm, int *failed_count)
{
    struct ftc_call call = {.signature = {.kind = FTC_CALL_VALIDATE, .root = -1}};
    int rc = begin(comm, failed_count);

    if (rc != 0)
        return rc;
    rc = ftc_comm_is_revoked(comm) ? ftc_making_agree(comm, &(struct ftc_making){.call = &call})
                                   : ftc_call_run(comm, &call, NULL);
    if (rc != 0)
        return ftc_call_end(comm, rc);
    ftc_call_enter(comm);
    ftc_snapshot_global(&comm->snapshot, ftc_finished_failed(comm));
    *failed_count = ftc_set_count(&comm->snapshot.agreed);
    ftc_call_leave(comm);
    return ftc_call_end(comm, 0);
}

/* --- agreeing --- */

int ftc_agreeing_open(struct ftc_agreeing *agreeing, const struct ftc_comm *comm, int flag)
{
    if (ftc_set_init(&agreeing->unrecognized, comm->size) != 0)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory to agree");
    for (int rank = 0; rank < comm->size; rank++)
        if (!ftc_snapshot_recognizes(&comm->snapshot, rank))
            ftc_set_add(&agreeing->unrecognized, rank);
    agreeing->input =
        (struct ftc_agree_input){.flag = (uint32_t)flag, .unrecognized = &agreeing->unrecognized};
    agreeing->call = (struct ftc_call){.signature = {.kind = FTC_CALL_AGREE, .root = -1},
                                       .input = &agreeing->input};
    return FTC_SUCCESS;
}

void ftc_agreeing_close(struct ftc_agreeing *agreeing)
{
    ftc_set_fini(&agreeing->unrecognized);
}

int ftc_agreeing_take(const struct ftc_started_call *started, int *flag)
{
    *flag = (int)started->flag;
    return started->unrecognized
               ? ftc_error_set(FTC_ERR_RANK_FAILED,
                               "a rank has failed, and not every survivor has recognized that")
               : FTC_SUCCESS;
}

FTC_API int ftc_agree(ftc_comm *comm, int *flag)
{
    struct ftc_agreeing agreeing;
    int rc = begin(comm, flag);

    if (rc != 0)
        return rc;
    rc = ftc_agreeing_open(&agreeing, comm, *flag);
    if (rc != 0)
        return ftc_call_end(comm, rc);
    struct ftc_making making = {.call = &agreeing.call};
    rc = ftc_making_agree(comm, &making);
    ftc_agreeing_close(&agreeing);
    return ftc_call_end(comm, rc == 0 ? ftc_agreeing_take(&making.started, flag) : rc);
}

/* --- looking --- */

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
