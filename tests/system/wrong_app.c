/*
 * Wrong use, and use that is only just allowed. wrong_use.bats runs it:
 *
 *   wrong_app mismatch WHAT rank 3 calls WHAT, the others an allreduce of one int32
 *   wrong_app request BYTES rank 3 starts an allreduce of so many bytes, the others call one; with
 *                           "child" behind it in a communicator of ranks 1, 2 and 3
 *   wrong_app counts WHAT   in the call WHAT rank 3 sends more than its receiver expects
 *   wrong_app abort CODE    the last rank aborts the job, the others are in a barrier
 *   wrong_app twice         calls ftc_init() a second time
 *   wrong_app operator N    N calls with a user-defined operator; it is freed right after each call
 *   wrong_app leave         the last rank exits without ftc_finalize(); the others go on
 *   wrong_app vector BYTES  allreduces and broadcasts of so many bytes
 *   wrong_app ahead FILE    11 reduces to rank 1 and a broadcast, of 8 MiB; rank 1 waits for FILE
 *                           first
 *   wrong_app threads FILE  two threads of rank 0 call at once; the others wait for FILE first
 */
#include <ftcoll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/clock.h"

struct scaled_sum {
    int64_t scale; /* poisoned when the operator is freed, so that a later use shows */
};

static _Noreturn void wrong(const char *what)
{
    fprintf(stderr, "wrong_app: %s (%s)\n", what, ftc_last_error());
    exit(99);
}

static void call_something_else(ftc_comm *world, const char *what)
{
    int32_t in[2] = {1, 1}, out[2] = {0, 0}, all[64] = {0};
    int failed;
    if (strcmp(what, "bcast") == 0)
        ftc_bcast(out, 1, FTC_INT32, 0, world);
    else if (strcmp(what, "bcast-from-here") == 0)
        ftc_bcast(out, 1, FTC_INT32, 3, world);
    else if (strcmp(what, "reduce") == 0)
        ftc_reduce(in, out, 1, FTC_INT32, FTC_SUM, 0, world);
    else if (strcmp(what, "reduce-to-here") == 0)
        ftc_reduce(in, out, 1, FTC_INT32, FTC_SUM, 3, world);
    else if (strcmp(what, "barrier") == 0)
        ftc_barrier(world);
    else if (strcmp(what, "validate") == 0)
        ftc_validate_global(world, &failed);
    else if (strcmp(what, "count") == 0)
        ftc_allreduce(in, out, 2, FTC_INT32, FTC_SUM, world);
    else if (strcmp(what, "type") == 0)
        ftc_allreduce(in, out, 1, FTC_UINT32, FTC_SUM, world);
    else if (strcmp(what, "operator") == 0)
        ftc_allreduce(in, out, 1, FTC_INT32, FTC_MAX, world);
    else if (strcmp(what, "allgather") == 0)
        ftc_allgather(in, all, 1, FTC_INT32, world);
    else if (strcmp(what, "scan") == 0)
        ftc_scan(in, out, 1, FTC_INT32, FTC_SUM, world);
    else if (strcmp(what, "finalize") == 0)
        exit(ftc_finalize(world) == FTC_SUCCESS ? 0 : 1);
}

static void mismatch(ftc_comm *world, const char *what)
{
    int32_t in = 1, out = 0;
    if (ftc_barrier(world) != FTC_SUCCESS)
        wrong("barrier failed");
    if (ftc_rank(world) == 3)
        call_something_else(world, what);
    else
        ftc_allreduce(&in, &out, 1, FTC_INT32, FTC_SUM, world);
    ftc_barrier(world);
    printf("came through\n");
}

/* In a dup of ranks 1, 2 and 3, rank 3 has number 2. */
static void start_and_call(ftc_comm *comm, int bytes, bool starts)
{
    size_t count = (size_t)bytes / sizeof(int32_t);
    int32_t *in = calloc(count, sizeof(*in)), *out = calloc(count, sizeof(*out));
    ftc_request *request;

    if (in == NULL || out == NULL || ftc_barrier(comm) != FTC_SUCCESS)
        wrong("barrier failed");
    if (starts && ftc_iallreduce(in, out, count, FTC_INT32, FTC_SUM, comm, &request) == FTC_SUCCESS)
        ftc_wait(&request, NULL);
    else
        ftc_allreduce(in, out, count, FTC_INT32, FTC_SUM, comm);
    printf("came through\n");
    free(in);
    free(out);
}

static void mix(ftc_comm *world, int bytes, bool child)
{
    ftc_comm *comm = world;
    int rank = ftc_rank(world);

    if (child &&
        ftc_comm_split(world, rank >= 1 && rank <= 3 ? 0 : FTC_UNDEFINED, 0, &comm) != FTC_SUCCESS)
        wrong("split failed");
    if (comm != NULL)
        start_and_call(comm, bytes, rank == 3);
    ftc_barrier(world);
}

/* Rank 3 sends two elements to rank 0, which expects one; with scatterv it expects two of it. */
static void send_too_much(ftc_comm *world, const char *what)
{
    enum { MOST = 16 };
    int32_t in[2 * MOST] = {0}, out[2 * MOST];
    size_t one[MOST], sent[MOST], displs[MOST];
    int rank = ftc_rank(world);

    for (int i = 0; i < 2 * MOST; i++)
        out[i] = -1;
    for (size_t i = 0; i < MOST; i++) {
        one[i] = 1;
        sent[i] = rank == 3 && i == 0 ? 2 : 1;
        displs[i] = 2 * i;
    }
    if (ftc_barrier(world) != FTC_SUCCESS)
        wrong("barrier failed");
    if (strcmp(what, "gatherv") == 0)
        ftc_gatherv(in, rank == 3 ? 2 : 1, out, one, displs, FTC_INT32, 0, world);
    else if (strcmp(what, "scatterv") == 0)
        ftc_scatterv(in, one, displs, out, rank == 3 ? 2 : 1, FTC_INT32, 0, world);
    else
        ftc_alltoallv(in, sent, displs, out, one, displs, FTC_INT32, world);
    ftc_barrier(world);
    printf("came through\n");
}

/* In these calls no rank waits for the wrong one: every rank sends, or no rank receives. */
static void disagree(ftc_comm *world, const char *what)
{
    int32_t in = 1, out = 0;
    int rank = ftc_rank(world), next = (rank + 1) % ftc_size(world);
    if (strcmp(what, "everybody-root") == 0)
        ftc_bcast(&in, 1, FTC_INT32, rank, world);
    else if (strcmp(what, "everybody-sender") == 0)
        ftc_reduce(&in, &out, 1, FTC_INT32, FTC_SUM, next, world);
    else if (rank == 0)
        ftc_bcast(&in, 1, FTC_INT32, 0, world);
    else
        ftc_reduce(&in, &out, 1, FTC_INT32, FTC_SUM, 0, world);
    ftc_barrier(world);
    printf("came through\n");
}

static void twice(ftc_comm *world)
{
    ftc_comm *second = NULL;
    int rc = ftc_init(NULL, &second);
    if (rc != FTC_ERR_STATE || second != NULL)
        wrong("a second ftc_init() was not refused");
    if (ftc_barrier(world) != FTC_SUCCESS)
        wrong("barrier failed");
    printf("refused: %s\n", ftc_last_error());
}

static void add(const void *in, void *inout, size_t n, ftc_type type, void *arg)
{
    const struct scaled_sum *sum = arg;
    const int64_t *from = in;
    int64_t *to = inout;
    if (type != FTC_INT64 || sum->scale != 1)
        wrong("the operator was called after it had been freed");
    for (size_t i = 0; i < n; i++)
        to[i] += from[i];
}

/* A death may make the library redo an operation that has returned here. It must not use this
 * operator then. */
static void use_operator(ftc_comm *world, int times)
{
    int64_t size = ftc_size(world);
    for (int i = 0; i < times; i++) {
        struct scaled_sum *sum = malloc(sizeof(*sum));
        int64_t one = 1, ranks = 0;
        ftc_op op;
        if (sum == NULL)
            wrong("out of memory");
        sum->scale = 1;
        if (ftc_op_create(add, sum, &op) != FTC_SUCCESS ||
            ftc_allreduce(&one, &ranks, 1, FTC_INT64, op, world) != FTC_SUCCESS ||
            ftc_op_free(&op) != FTC_SUCCESS)
            wrong("a call with a user-defined operator failed");
        if (op != NULL || ranks < 1 || ranks > size)
            wrong("the result of a user-defined operator is wrong");
        sum->scale = -1;
        free(sum);
    }
    printf("done\n");
}

/* Each rank broadcasts once, so that each needs memory for the value. */
static void vector(ftc_comm *world, size_t bytes)
{
    unsigned char *buffer = calloc(1, bytes);
    if (buffer == NULL)
        wrong("out of memory");
    for (int i = 0; i < 3; i++)
        if (ftc_allreduce(FTC_IN_PLACE, buffer, bytes, FTC_UINT8, FTC_SUM, world) != FTC_SUCCESS)
            wrong("allreduce failed");
    for (int root = 0; root < ftc_size(world); root++)
        if (ftc_bcast(buffer, bytes, FTC_UINT8, root, world) != FTC_SUCCESS)
            wrong("bcast failed");
    free(buffer);
    printf("came through\n");
}

static void wait_for(const char *path)
{
    while (access(path, F_OK) != 0)
        test_nap(0.01);
}

static void run_ahead(ftc_comm *world, const char *path)
{
    enum { COUNT = 1 << 20, TIMES = 11 };
    int64_t *in = calloc(COUNT, sizeof(*in)), *out = calloc(COUNT, sizeof(*out));
    int rank = ftc_rank(world);
    if (in == NULL || out == NULL)
        wrong("out of memory");
    if (ftc_barrier(world) != FTC_SUCCESS)
        wrong("barrier failed");
    if (rank == 1)
        wait_for(path);
    for (int i = 0; i < TIMES; i++) {
        in[COUNT - 1] = i;
        if (ftc_reduce(in, out, COUNT, FTC_INT64, FTC_SUM, 1, world) != FTC_SUCCESS)
            wrong("reduce failed");
        if (rank == 1 && out[COUNT - 1] != (int64_t)i * ftc_size(world))
            wrong("the result is wrong");
    }
    out[0] = rank == 0 ? 77 : -1;
    if (ftc_bcast(out, COUNT, FTC_INT64, 0, world) != FTC_SUCCESS || out[0] != 77)
        wrong("bcast failed");
    free(in);
    free(out);
    printf("came through\n");
}

/* --- two threads --- */

static void *wait_in_barrier(void *world)
{
    int rc;
    do
        rc = ftc_barrier(world);
    while (rc == FTC_ERR_STATE); /* the other thread checks whether this one is in the barrier */
    return (void *)(intptr_t)(rc != FTC_SUCCESS);
}

static void must_refuse(int rc, const char *what)
{
    if (rc != FTC_ERR_STATE ||
        strstr(ftc_last_error(), "another call on this communicator") == NULL)
        wrong(what);
}

static void call_everything(ftc_comm *world)
{
    ftc_gossip_report gossip = {.struct_size = sizeof(gossip)};
    ftc_report report = {.struct_size = sizeof(report)};
    double in = 1, out = 0;
    int count = 0, none = 0;
    must_refuse(ftc_barrier(world), "barrier");
    must_refuse(ftc_allgather(&in, &out, 1, FTC_DOUBLE, world), "allgather");
    must_refuse(ftc_scan(&in, &out, 1, FTC_DOUBLE, FTC_SUM, world), "scan");
    must_refuse(ftc_allreduce(&in, &out, 1, FTC_DOUBLE, FTC_SUM, world), "allreduce");
    must_refuse(ftc_reduce(&in, &out, 1, FTC_DOUBLE, FTC_SUM, 0, world), "reduce");
    must_refuse(ftc_bcast(&in, 1, FTC_DOUBLE, 0, world), "bcast");
    must_refuse(ftc_gossip_allreduce(&in, &out, 1, FTC_SUM, NULL, world), "gossip");
    must_refuse(ftc_validate_global(world, &count), "validate_global");
    must_refuse(ftc_validate_local(world, &count), "validate_local");
    must_refuse(ftc_get_state_local(world, FTC_RANK_OK, 0, &count, NULL), "get_state_local");
    must_refuse(ftc_get_state_global(world, FTC_RANK_OK, 0, &count, NULL), "get_state_global");
    must_refuse(ftc_recognize(world, 0, &none), "recognize");
    must_refuse(ftc_last_report(world, &report), "last_report");
    must_refuse(ftc_last_gossip_report(world, &gossip), "last_gossip_report");
    must_refuse(ftc_finalize(world), "finalize");
    if (ftc_rank(world) != 0 || ftc_size(world) < 2)
        wrong("rank and size are refused");
}

/* The barrier cannot end before the file is there. */
static void call_beside(ftc_comm *world, const char *path)
{
    ftc_report report = {.struct_size = sizeof(report)};
    pthread_t thread;
    void *failed;
    if (pthread_create(&thread, NULL, wait_in_barrier, world) != 0)
        wrong("no thread");
    while (ftc_last_report(world, &report) == FTC_SUCCESS)
        continue; /* the other thread is not in the barrier yet */
    call_everything(world);
    FILE *file = fopen(path, "w");
    if (file == NULL || fclose(file) != 0)
        wrong("no file");
    if (pthread_join(thread, &failed) != 0 || failed != NULL)
        wrong("the barrier of the first thread failed");
}

static void call_back(const void *in, void *inout, size_t n, ftc_type type, void *world)
{
    (void)in;
    (void)inout;
    (void)n;
    (void)type;
    if (ftc_barrier(world) != FTC_ERR_STATE)
        wrong("a barrier of an operator");
}

static void two_threads(ftc_comm *world, const char *path)
{
    int64_t one = 1, sum = 0;
    ftc_op op;
    if (ftc_rank(world) == 0) {
        call_beside(world, path);
    } else {
        wait_for(path);
        if (ftc_barrier(world) != FTC_SUCCESS)
            wrong("barrier failed");
    }
    if (ftc_op_create(call_back, world, &op) != FTC_SUCCESS ||
        ftc_allreduce(&one, &sum, 1, FTC_INT64, op, world) != FTC_SUCCESS ||
        ftc_op_free(&op) != FTC_SUCCESS)
        wrong("an operator");
    if (ftc_allreduce(&one, &sum, 1, FTC_INT64, FTC_SUM, world) != FTC_SUCCESS ||
        sum != ftc_size(world))
        wrong("the communicator is not usable any more");
    printf("came through\n");
}

int main(int argc, char **argv)
{
    ftc_comm *world;
    if (argc < 2)
        return 2;
    const char *mode = argv[1];
    int number = argc > 2 ? atoi(argv[2]) : 0;
    if (ftc_init(NULL, &world) != FTC_SUCCESS) {
        fprintf(stderr, "wrong_app: %s\n", ftc_last_error());
        return 98;
    }
    int last = ftc_rank(world) == ftc_size(world) - 1;
    if (strcmp(mode, "mismatch") == 0)
        mismatch(world, argc > 2 ? argv[2] : "bcast");
    else if (strcmp(mode, "counts") == 0)
        send_too_much(world, argc > 2 ? argv[2] : "alltoallv");
    else if (strcmp(mode, "disagree") == 0)
        disagree(world, argc > 2 ? argv[2] : "everybody-root");
    else if (strcmp(mode, "vector") == 0)
        vector(world, (size_t)number);
    else if (strcmp(mode, "twice") == 0)
        twice(world);
    else if (strcmp(mode, "ahead") == 0 && argc > 2)
        run_ahead(world, argv[2]);
    else if (strcmp(mode, "request") == 0)
        mix(world, number, argc > 3);
    else if (strcmp(mode, "threads") == 0 && argc > 2)
        two_threads(world, argv[2]);
    else if (strcmp(mode, "operator") == 0)
        use_operator(world, number);
    else if (strcmp(mode, "abort") == 0 && last)
        ftc_abort(world, number);
    else if (strcmp(mode, "leave") == 0 && last)
        exit(0);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
