/* Calls the functions that send and receive, for walk_app.c. */
#include "tests/man/walk.h"

#define TAG     4
#define OWN_TAG 5 /* messages of other ranks may come meanwhile */

/* --- all is well --- */

static void to_itself(ftc_comm *world, int me)
{
    int32_t out = me + 1, in = 0;
    ftc_status status = {.error = 1};
    int found = 7;

    SEE(FTC_SUCCESS, ftc_iprobe, (me, OWN_TAG, world, &found, &status));
    MUST(found == 0);
    SEE(FTC_SUCCESS, ftc_send, (&out, 1, FTC_INT32, me, OWN_TAG, world));
    SEE(FTC_SUCCESS, ftc_probe, (FTC_ANY_RANK, OWN_TAG, world, &status));
    MUST(status.rank == me && status.tag == OWN_TAG && status.bytes == 4 &&
         status.error == FTC_SUCCESS);
    SEE(FTC_SUCCESS, ftc_iprobe, (me, OWN_TAG, world, &found, &status));
    MUST(found == 1);
    ftc_matched *message = NULL;
    ftc_request *request = NULL;
    SEE(FTC_SUCCESS, ftc_improbe, (me, OWN_TAG + 1, world, &found, &message, &status));
    MUST(found == 0 && message == NULL);
    SEE(FTC_SUCCESS, ftc_mprobe, (me, OWN_TAG, world, &message, &status));
    MUST(status.bytes == 4 && message != NULL);
    SEE(FTC_SUCCESS, ftc_iprobe, (me, OWN_TAG, world, &found, NULL));
    MUST(found == 0);
    SEE(FTC_SUCCESS, ftc_mrecv, (&in, 1, FTC_INT32, &message, &status));
    MUST(in == out && status.rank == me && status.tag == OWN_TAG && message == NULL);
    SEE(FTC_SUCCESS, ftc_issend, (&out, 1, FTC_INT32, me, OWN_TAG, world, &request));
    SEE(FTC_SUCCESS, ftc_improbe, (me, OWN_TAG, world, &found, &message, &status));
    MUST(found == 1 && ftc_test(&request, &found, NULL) == FTC_SUCCESS && found == 0);
    ftc_request *requests[2] = {request};
    SEE(FTC_SUCCESS, ftc_imrecv, (&in, 1, FTC_INT32, &message, &requests[1]));
    MUST(ftc_wait_all(2, requests, NULL) == FTC_SUCCESS && message == NULL);
    SEE(FTC_SUCCESS, ftc_send, (&out, 1, FTC_INT32, me, OWN_TAG, world));
    SEE(FTC_SUCCESS, ftc_recv, (&in, 1, FTC_INT32, me, OWN_TAG, world, &status));
    MUST(in == out && status.rank == me && status.tag == OWN_TAG && status.bytes == 4);
    SEE(FTC_SUCCESS, ftc_send, (&out, 1, FTC_INT32, me, OWN_TAG, world));
    SEE(FTC_ERR_TRUNCATED, ftc_recv, (&in, 1, FTC_INT8, me, OWN_TAG, world, &status));
    MUST(status.bytes == 4 && status.error == FTC_ERR_TRUNCATED);
}

static void round_a_ring(ftc_comm *world, int me, int size)
{
    int32_t out = me, in = -1;
    int to = (me + 1) % size, from = (me + size - 1) % size;
    ftc_request *requests[2] = {NULL};
    ftc_status statuses[2];

    SEE(FTC_SUCCESS, ftc_sendrecv,
        (&out, 1, FTC_INT32, to, TAG, &in, 1, FTC_INT32, from, TAG, world, statuses));
    MUST(in == from && statuses[0].rank == from);
    in = -1;
    SEE(FTC_SUCCESS, ftc_irecv, (&in, 1, FTC_INT32, from, TAG, world, &requests[0]));
    SEE(FTC_SUCCESS, ftc_ssend, (&out, 1, FTC_INT32, to, TAG, world));
    MUST(ftc_wait(&requests[0], NULL) == FTC_SUCCESS && in == from);
    in = -1;
    SEE(FTC_SUCCESS, ftc_irecv, (&in, 1, FTC_INT32, from, TAG, world, &requests[0]));
    SEE(FTC_SUCCESS, ftc_isend, (&out, 1, FTC_INT32, to, TAG, world, &requests[1]));
    SEE(FTC_SUCCESS, ftc_wait_all, (2, requests, statuses));
    MUST(in == from && statuses[0].rank == from && statuses[0].bytes == 4 &&
         statuses[1].rank == to);
    SEE(FTC_SUCCESS, ftc_irecv, (&in, 1, FTC_INT32, from, TAG + 1, world, &requests[0]));
    SEE(FTC_SUCCESS, ftc_cancel, (requests[0]));
    MUST(ftc_wait(&requests[0], statuses) == FTC_ERR_CANCELLED && requests[0] == NULL &&
         statuses[0].error == FTC_ERR_CANCELLED);
}

void walk_messages(ftc_comm *world)
{
    to_itself(world, ftc_rank(world));
    round_a_ring(world, ftc_rank(world), ftc_size(world));
}

/* --- wrong calls --- */

void walk_wrong_messages(ftc_comm *world)
{
    int32_t value = 7;
    int beyond = ftc_size(world), found = 7;
    ftc_matched *message = NULL;
    ftc_request *request = NULL;

    SEE(FTC_ERR_ARG, ftc_send, (&value, 1, FTC_INT32, beyond, TAG, world));
    SEE(FTC_ERR_ARG, ftc_send, (&value, 1, FTC_INT32, FTC_ANY_RANK, TAG, world));
    SEE(FTC_ERR_ARG, ftc_send, (&value, 1, FTC_INT32, 0, FTC_ANY_TAG, world));
    SEE(FTC_ERR_ARG, ftc_send, (NULL, 1, FTC_INT32, 0, TAG, world));
    SEE(FTC_ERR_ARG, ftc_send, (&value, 1, (ftc_type)0, 0, TAG, world));
    SEE(FTC_ERR_ARG, ftc_recv, (&value, 1, FTC_INT32, -2, TAG, world, NULL));
    SEE(FTC_ERR_ARG, ftc_recv, (&value, 1, FTC_INT32, 0, -2, world, NULL));
    SEE(FTC_ERR_ARG, ftc_sendrecv,
        (&value, 1, FTC_INT32, 0, TAG, NULL, 1, FTC_INT32, 0, TAG, world, NULL));
    SEE(FTC_ERR_ARG, ftc_isend, (&value, 1, FTC_INT32, beyond, TAG, world, &request));
    SEE(FTC_ERR_ARG, ftc_irecv, (&value, 1, FTC_INT32, 0, TAG, world, NULL));
    SEE(FTC_ERR_ARG, ftc_probe, (beyond, TAG, world, NULL));
    SEE(FTC_ERR_ARG, ftc_iprobe, (0, TAG, world, NULL, NULL));
    SEE(FTC_ERR_ARG, ftc_iprobe, (0, -2, world, &found, NULL));
    SEE(FTC_ERR_ARG, ftc_ssend, (&value, 1, FTC_INT32, beyond, TAG, world));
    SEE(FTC_ERR_ARG, ftc_issend, (&value, 1, FTC_INT32, beyond, TAG, world, &request));
    SEE(FTC_ERR_ARG, ftc_mprobe, (beyond, TAG, world, &message, NULL));
    SEE(FTC_ERR_ARG, ftc_improbe, (0, TAG, world, NULL, &message, NULL));
    SEE(FTC_ERR_ARG, ftc_mrecv, (&value, 1, FTC_INT32, &message, NULL));
    SEE(FTC_ERR_ARG, ftc_imrecv, (&value, 1, FTC_INT32, &message, &request));
    SEE(FTC_ERR_ARG, ftc_cancel, (NULL));
    MUST(value == 7 && found == 7 && request == NULL);
}

void walk_refused_messages(ftc_comm *comm, int code)
{
    int32_t value = 7, other = 7;
    ftc_matched *message = NULL;
    int found = 7;

    SEE(code, ftc_ssend, (&value, 1, FTC_INT32, 0, TAG, comm));
    SEE(code, ftc_mprobe, (0, TAG, comm, &message, NULL));
    SEE(code, ftc_improbe, (0, TAG, comm, &found, &message, NULL));
    SEE(code, ftc_send, (&value, 1, FTC_INT32, 0, TAG, comm));
    SEE(code, ftc_recv, (&value, 1, FTC_INT32, 0, TAG, comm, NULL));
    SEE(code, ftc_sendrecv,
        (&value, 1, FTC_INT32, 0, TAG, &other, 1, FTC_INT32, 0, TAG, comm, NULL));
    SEE(code, ftc_probe, (0, TAG, comm, NULL));
    SEE(code, ftc_iprobe, (0, TAG, comm, &found, NULL));
    MUST(value == 7 && other == 7 && found == 7);
}

void walk_refused_message_requests(ftc_comm *comm, int code)
{
    int32_t value = 7;
    ftc_request *request = NULL;

    SEE(code, ftc_isend, (&value, 1, FTC_INT32, 0, TAG, comm, &request));
    SEE(code, ftc_issend, (&value, 1, FTC_INT32, 0, TAG, comm, &request));
    SEE(code, ftc_irecv, (&value, 1, FTC_INT32, 0, TAG, comm, &request));
    MUST(request == NULL);
}

void walk_messages_without_memory(ftc_comm *world, int codes[5])
{
    ftc_matched *message = NULL;
    int found;
    static int32_t value;
    ftc_request *request = NULL;

    codes[0] = ftc_isend(&value, 1, FTC_INT32, 0, TAG, world, &request);
    codes[1] = ftc_irecv(&value, 1, FTC_INT32, 0, TAG, world, &request);
    codes[2] = ftc_issend(&value, 1, FTC_INT32, 0, TAG, world, &request);
    codes[3] = ftc_mprobe(0, TAG, world, &message, NULL);
    codes[4] = ftc_improbe(0, TAG, world, &found, &message, NULL);
}

/* --- failures --- */

/* Rank 0 is dead, or dies. */
void walk_messages_of_dead(ftc_comm *world)
{
    int32_t value = 7;
    int found = 7;

    SEE(FTC_ERR_RANK_FAILED, ftc_recv, (&value, 1, FTC_INT32, 0, TAG, world, NULL));
    SEE(FTC_ERR_RANK_FAILED, ftc_send, (&value, 1, FTC_INT32, 0, TAG, world));
    SEE(FTC_ERR_RANK_FAILED, ftc_probe, (0, TAG, world, NULL));
    SEE(FTC_ERR_RANK_FAILED, ftc_iprobe, (0, TAG, world, &found, NULL));
    MUST(value == 7 && found == 7);
}
