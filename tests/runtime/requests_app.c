/*
 * Requests, for requests.bats: requests_app STORY [SEED]. Prints "requests_app: done" at each rank
 * for which all was as it should be.
 */
#include "include/ftcoll.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/clock.h"

#define RANKS 8
#define MOST  3000 /* elements of a rank */
#define ROWS  16   /* operations under way at once */

static ftc_comm *world;
static int me, size;
static unsigned seed;

static void fail(const char *what, int line)
{
    fprintf(stderr, "requests_app: rank %d, line %d, seed %u: %s (%s)\n", me, line, seed, what,
            ftc_last_error());
    exit(1);
}
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail(#condition, __LINE__);                                                            \
    } while (0)
#define OK(call) MUST((call) == FTC_SUCCESS)

/* The same numbers at each rank. */
static unsigned draw(unsigned below)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % below;
}

/* --- each form equals its blocking form --- */

static int64_t input[RANKS * MOST], blocking[RANKS * MOST], result[RANKS * MOST];
static size_t counts[RANKS], displs[RANKS];

/* Ends *request in one of the ways that there are. */
static void end(ftc_request **request)
{
    ftc_status status = {.error = 1};
    int done = 0, index = -1;

    switch (draw(5)) {
    case 0:
        OK(ftc_wait(request, &status));
        break;
    case 1:
        while (!done)
            OK(ftc_test(request, &done, &status));
        break;
    case 2:
        while (ftc_wait_for(request, 0.001, &status) == FTC_ERR_TIMEOUT)
            MUST(*request != NULL);
        break;
    case 3:
        OK(ftc_wait_all(1, request, &status));
        break;
    default:
        OK(ftc_wait_any(1, request, &index, &status));
        MUST(index == 0);
    }
    MUST(*request == NULL && status.error == FTC_SUCCESS && status.rank == -1);
}

#define SAME(call, arguments, nonblocking)                                                         \
    do {                                                                                           \
        ftc_request *request = NULL;                                                               \
        int64_t *out = blocking;                                                                   \
        memset(blocking, 7, sizeof(blocking));                                                     \
        memset(result, 7, sizeof(result));                                                         \
        OK(call arguments);                                                                        \
        out = result;                                                                              \
        OK(nonblocking);                                                                           \
        end(&request);                                                                             \
        MUST(out == result && memcmp(blocking, result, sizeof(result)) == 0);                      \
    } while (0)
#define FORM(name, ...)                                                                            \
    SAME(ftc_##name, (__VA_ARGS__, world), ftc_i##name(__VA_ARGS__, world, &request))

static void forms_of_one_count(size_t n, int root)
{
    FORM(allreduce, input, out, n, FTC_INT64, FTC_SUM);
    FORM(reduce, input, out, n, FTC_INT64, FTC_MAX, root);
    FORM(bcast, out, n, FTC_INT64, root);
    FORM(allgather, input, out, n, FTC_INT64);
    FORM(gather, input, out, n, FTC_INT64, root);
    FORM(scatter, input, out, n, FTC_INT64, root);
    FORM(alltoall, input, out, n, FTC_INT64);
    FORM(reduce_scatter_block, input, out, n, FTC_INT64, FTC_SUM);
    FORM(scan, input, out, n, FTC_INT64, FTC_SUM);
    FORM(exscan, input, out, n, FTC_INT64, FTC_SUM);
}

static void forms_of_counts(int root)
{
    size_t own = counts[me], same[RANKS], at[RANKS];

    for (int rank = 0; rank < size; rank++) {
        same[rank] = own; /* rank r sends counts[r] elements to each */
        at[rank] = (size_t)rank * own;
    }
    FORM(allgatherv, input, own, out, counts, displs, FTC_INT64);
    FORM(gatherv, input, own, out, counts, displs, FTC_INT64, root);
    FORM(scatterv, input, counts, displs, out, own, FTC_INT64, root);
    FORM(alltoallv, input, same, at, out, counts, displs, FTC_INT64);
    FORM(reduce_scatter, input, out, counts, FTC_INT64, FTC_SUM);
}

static void equal(void)
{
    ftc_request *request = NULL;

    for (int i = 0; i < RANKS * MOST; i++)
        input[i] = (int64_t)me * 1000003 + i;
    for (int step = 0; step < 20; step++) {
        size_t at = 0;
        for (int rank = 0; rank < size; rank++) {
            counts[rank] = draw(draw(2) ? 4 : MOST);
            displs[rank] = at;
            at += counts[rank];
        }
        forms_of_one_count(draw(draw(2) ? 4 : MOST), (int)draw((unsigned)size));
        forms_of_counts((int)draw((unsigned)size));
        OK(ftc_ibarrier(world, &request));
        end(&request);
    }
}

/* --- several at once --- */

static void start_rows(ftc_comm *comm, int64_t in[], int64_t out[], ftc_request *requests[])
{
    for (int i = 0; i < ROWS; i++) {
        in[i] = (int64_t)1 << me;
        OK(ftc_iallreduce(&in[i], &out[i], 1, FTC_INT64, FTC_SUM, comm, &requests[i]));
    }
}

static void many(void)
{
    int64_t in[ROWS], out[ROWS], all = ((int64_t)1 << size) - 1;
    ftc_request *requests[ROWS];
    ftc_status statuses[ROWS];
    int index, first;

    for (int step = 0; step < 50; step++) {
        start_rows(world, in, out, requests);
        for (int i = 0, at = (int)draw(ROWS); i < ROWS; i++, at = (at + 5) % ROWS)
            OK(ftc_wait(&requests[at], NULL)); /* in another order than they were started */
        start_rows(world, in, out, requests);
        OK(ftc_wait_all(ROWS, requests, statuses));
        start_rows(world, in, out, requests);
        for (int i = 0; i < ROWS; i++) {
            OK(ftc_wait_any(ROWS, requests, &index, NULL));
            MUST(index >= 0 && index < ROWS && requests[index] == NULL && out[index] == all);
        }
        OK(ftc_wait_any(ROWS, requests, &first, NULL));
        MUST(first == FTC_UNDEFINED);
    }
}

static void late(void)
{
    ftc_request *request = NULL;
    int done = 1;

    OK(ftc_barrier(world));
    if (me == size - 1)
        test_nap(0.5);
    OK(ftc_ibarrier(world, &request));
    if (me < size - 1) {
        MUST(ftc_wait_for(&request, 0, NULL) == FTC_ERR_TIMEOUT && request != NULL);
        OK(ftc_test(&request, &done, NULL));
        MUST(done == 0 && ftc_wait_for(&request, 0.05, NULL) == FTC_ERR_TIMEOUT);
    }
    OK(ftc_wait(&request, NULL));
    OK(ftc_wait(&request, NULL)); /* NULL has ended */
}

/* Two communicators, each with requests under way; and communicators that requests make. */
static void two(void)
{
    int64_t in[2][ROWS], out[2][ROWS], all = ((int64_t)1 << size) - 1;
    ftc_request *requests[2][ROWS], *making[3] = {NULL};
    ftc_comm *copy = NULL, *part = NULL, *rest = NULL;
    int failed = -1;

    OK(ftc_comm_idup(world, &copy, &making[0]));
    OK(ftc_comm_isplit(world, me % 2, -me, &part, &making[1]));
    OK(ftc_ivalidate_global(world, &failed, &making[2]));
    OK(ftc_wait_all(3, making, NULL));
    MUST(failed == 0 && ftc_size(copy) == size && ftc_size(part) == (size + 1 - me % 2) / 2);
    start_rows(copy, in[0], out[0], requests[0]);
    start_rows(world, in[1], out[1], requests[1]);
    MUST(ftc_comm_free(&copy) == FTC_ERR_STATE);
    for (int i = 0; i < ROWS; i++) {
        OK(ftc_wait(&requests[me % 2][i], NULL));
        OK(ftc_wait(&requests[1 - me % 2][i], NULL));
        MUST(out[0][i] == all && out[1][i] == all);
    }
    OK(ftc_comm_ishrink(copy, &rest, &making[0]));
    OK(ftc_wait(&making[0], NULL));
    MUST(ftc_size(rest) == size);
    OK(ftc_comm_free(&copy));
}

/* Some go by messages, between others that may go over the board. Each of these is started when all
 * before it have ended, also while no rank calls the library. */
static void mixed(void)
{
    int64_t in[4], all = ((int64_t)1 << size) - 1;
    volatile int64_t out[4] = {0};
    ftc_report usual = {.struct_size = sizeof(usual)}, report = usual;
    ftc_request *sums[4] = {NULL}, *others[2] = {NULL};
    ftc_comm *copy = NULL;
    int failed = -1;

    OK(ftc_last_report(world, &usual)); /* that of a barrier */
    for (int i = 0; i < 4; i++) {
        in[i] = (int64_t)1 << me;
        if (i == 1)
            OK(ftc_ivalidate_global(world, &failed, &others[0]));
        if (i == 3)
            OK(ftc_comm_idup(world, &copy, &others[1]));
        OK(ftc_iallreduce(&in[i], (void *)&out[i], 1, FTC_INT64, FTC_SUM, world, &sums[i]));
    }
    for (double start = test_now();
         out[3] != all && test_now() - start < 10;) /* it grows, rank by rank */
        test_nap(0.001);
    for (int i = 3; i >= 0; i--) {
        MUST(out[i] == all);
        OK(ftc_wait(&sums[i], NULL));
        OK(ftc_last_report(world, &report));
        MUST(strcmp(report.algorithm, usual.algorithm) == 0);
    }
    OK(ftc_wait_all(2, others, NULL));
    MUST(failed == 0 && ftc_size(copy) == size);
    OK(ftc_comm_free(&copy));
}

static void revoke(void)
{
    int64_t in[ROWS], out[ROWS];
    ftc_request *requests[ROWS] = {NULL};
    ftc_comm *copy = NULL;
    int rc = FTC_SUCCESS, started = 0;

    OK(ftc_comm_dup(world, &copy));
    for (; started < ROWS && rc == FTC_SUCCESS; started++) {
        in[started] = 1;
        if (me == size - 1 && started == ROWS / 2)
            OK(ftc_comm_revoke(copy));
        rc = ftc_iallreduce(&in[started], &out[started], 1, FTC_INT64, FTC_SUM, copy,
                            &requests[started]);
        MUST(rc == FTC_SUCCESS || (rc == FTC_ERR_REVOKED && requests[started] == NULL));
    }
    for (int i = 0; i < started; i++) {
        rc = ftc_wait(&requests[i], NULL);
        MUST(requests[i] == NULL && (rc == FTC_SUCCESS || rc == FTC_ERR_REVOKED));
    }
    OK(ftc_comm_free(&copy));
}

/* All know of the revoke, and shrink. A call that a revoked communicator refuses is behind the
 * shrink of rank 0. */
static void refused_alone(void)
{
    ftc_comm *copy = NULL, *rest = NULL;
    ftc_request *shrinks = NULL, *sums = NULL;
    int64_t in = 1, out = 0;

    OK(ftc_comm_dup(world, &copy));
    if (me == 1 % size)
        OK(ftc_comm_revoke(copy));
    while (ftc_barrier(copy) == FTC_SUCCESS)
        ;
    OK(ftc_comm_ishrink(copy, &rest, &shrinks));
    if (me == 0) {
        OK(ftc_iallreduce(&in, &out, 1, FTC_INT64, FTC_SUM, copy, &sums));
        MUST(ftc_wait(&sums, NULL) == FTC_ERR_REVOKED);
    }
    OK(ftc_wait(&shrinks, NULL));
    OK(ftc_allreduce(&in, &out, 1, FTC_INT64, FTC_SUM, rest));
    MUST(out == size);
    OK(ftc_comm_free(&rest));
    OK(ftc_comm_free(&copy));
}

static void *revoke_it(void *copy)
{
    OK(ftc_comm_revoke(copy));
    return NULL;
}

/* Another thread of rank 0 revokes between two calls of the first thread. So all ranks alike get
 * FTC_ERR_REVOKED from the next call. */
static void watched(void)
{
    ftc_comm *copy = NULL, *rest = NULL;
    pthread_t watcher;
    int failed = -1;

    OK(ftc_comm_dup(world, &copy));
    OK(ftc_barrier(copy));
    OK(ftc_barrier(world)); /* no rank is in that barrier any more */
    if (me == 0) {
        MUST(pthread_create(&watcher, NULL, revoke_it, copy) == 0);
        MUST(pthread_join(watcher, NULL) == 0);
    }
    OK(ftc_barrier(world));
    MUST(ftc_validate_global(copy, &failed) == FTC_ERR_REVOKED);
    OK(ftc_comm_shrink(copy, &rest));
    MUST(ftc_size(rest) == size);
    OK(ftc_comm_free(&rest));
    OK(ftc_comm_free(&copy));
}

/* No rank calls the library while the sum is under way. */
static void away(void)
{
    static int64_t in[MOST], out[MOST];
    ftc_request *request = NULL;

    for (int i = 0; i < MOST; i++)
        in[i] = 1;
    for (int round = 0; round < 3; round++) {
        volatile int64_t *last = &out[MOST - 1];
        double start = test_now();
        *last = 0;
        OK(ftc_iallreduce(in, out, MOST, FTC_INT64, FTC_SUM, world, &request));
        while (*last != size && test_now() - start < 10) /* it grows, rank by rank */
            test_nap(0.001);
        MUST(*last == size);
        OK(ftc_wait(&request, NULL));
    }
}

/* --- beside a thread that waits --- */

#define ROUNDS 20
#define BEAT_S 10 /* the heartbeat period that requests.bats sets: the longest sleep */

/* A barrier by a thread of rank 0, which comes first and waits; the others come later. */
static void *wait_in_barrier(void *comm)
{
    ftc_request *request = NULL;

    if (me != 0)
        test_nap(0.01);
    OK(ftc_ibarrier(comm, &request));
    OK(ftc_wait(&request, NULL));
    return NULL;
}

/* A thread of rank 0 waits in one communicator, and sleeps for both. In the other one the main
 * thread waits for a short time. */
static void short_wait(void)
{
    ftc_comm *comms[2];
    ftc_request *request = NULL;
    pthread_t thread;

    for (int i = 0; i < 2; i++)
        OK(ftc_comm_dup(world, &comms[i]));
    if (me == 0) {
        MUST(pthread_create(&thread, NULL, wait_in_barrier, comms[0]) == 0);
        test_nap(0.1); /* it waits by now, and sleeps */
        OK(ftc_ibarrier(comms[1], &request));
        double start = test_now();
        MUST(ftc_wait_for(&request, 0.002, NULL) == FTC_ERR_TIMEOUT);
        MUST(test_now() - start < BEAT_S / 2.);
    }
    OK(ftc_barrier(world));
    if (me == 0)
        OK(ftc_wait(&request, NULL) || pthread_join(thread, NULL));
    else
        OK(wait_in_barrier(comms[1]) != NULL || wait_in_barrier(comms[0]) != NULL);
}

static void *wait_in_barriers(void *comm)
{
    for (int i = 0; i < ROUNDS; i++)
        wait_in_barrier(comm);
    return NULL;
}

/* The main thread of rank 0 tests all the time. It takes in messages for which the other thread
 * sleeps at the sockets. */
static void tests(void)
{
    ftc_comm *comms[2];
    ftc_request *request = NULL;
    pthread_t thread;
    double start = test_now();
    int done = 0;

    for (int i = 0; i < 2; i++)
        OK(ftc_comm_dup(world, &comms[i]));
    if (me == 0)
        MUST(pthread_create(&thread, NULL, wait_in_barriers, comms[0]) == 0);
    else
        wait_in_barriers(comms[0]);
    OK(ftc_ibarrier(comms[1], &request));
    while (!done)
        OK(ftc_test(&request, &done, NULL));
    if (me == 0)
        MUST(pthread_join(thread, NULL) == 0);
    MUST(test_now() - start < BEAT_S);
}

/* --- operators of the program --- */

/* Sums. In it the library refuses calls, but for those that look at nothing that changes. */
static void calls_the_library(const void *in, void *inout, size_t count, ftc_type type, void *arg)
{
    ftc_comm **comms = arg, *copy = NULL;
    const int64_t *a = in;
    int64_t *b = inout;
    int failed = -1;

    MUST(type == FTC_INT64);
    for (int i = 0; i < 2; i++) {
        MUST(ftc_rank(comms[i]) == me && ftc_size(comms[i]) == size);
        MUST(ftc_comm_translate(comms[i], 0, world) == 0 && ftc_comm_name(comms[i])[0] != 0);
        MUST(ftc_validate_local(comms[i], &failed) == FTC_ERR_STATE && failed == -1);
        MUST(ftc_barrier(comms[i]) == FTC_ERR_STATE && ftc_comm_revoke(comms[i]) == FTC_ERR_STATE);
        MUST(ftc_comm_dup(comms[i], &copy) == FTC_ERR_STATE && copy == NULL);
    }
    for (size_t i = 0; i < count; i++)
        b[i] += a[i];
}

static void refused(void)
{
    int64_t mine = (int64_t)1 << me, all = ((int64_t)1 << size) - 1, sum[3] = {0};
    ftc_comm *comms[2] = {world, NULL};
    ftc_request *requests[2];
    ftc_op op = NULL;

    OK(ftc_comm_dup(world, &comms[1]));
    OK(ftc_op_create(calls_the_library, comms, &op));
    for (int step = 0; step < 10; step++) {
        for (int i = 0; i < 2; i++)
            OK(ftc_iallreduce(&mine, &sum[i], 1, FTC_INT64, op, comms[i], &requests[i]));
        test_nap(0.01 * (1 + me % 2)); /* the thread of the library moves on what has come */
        OK(ftc_wait_all(2, requests, NULL));
        OK(ftc_allreduce(&mine, &sum[2], 1, FTC_INT64, op, comms[step % 2]));
        MUST(sum[0] == all && sum[1] == all && sum[2] == all);
    }
    OK(ftc_op_free(&op));
    OK(ftc_comm_free(&comms[1]));
}

#define SLOW_S 3 /* longer than the heartbeat timeout that requests.bats sets for this story */

static atomic_int slow; /* how often the operator has run here */

static void is_slow(const void *in, void *inout, size_t count, ftc_type type, void *arg)
{
    const int64_t *a = in;
    int64_t *b = inout;

    (void)type;
    (void)arg;
    test_nap(SLOW_S);
    for (size_t i = 0; i < count; i++)
        b[i] += a[i];
    slow++;
}

/* The thread of the library runs an operator that takes longer than the detector is patient. Rank 0
 * runs it, since it has contributed before the others, and it makes no call meanwhile. */
static void slow_operator(void)
{
    int64_t mine = (int64_t)1 << me, sum = 0;
    ftc_request *request = NULL;
    ftc_op op = NULL;

    OK(ftc_op_create(is_slow, NULL, &op));
    OK(ftc_barrier(world));
    if (me != 0)
        test_nap(0.2);
    OK(ftc_iallreduce(&mine, &sum, 1, FTC_INT64, op, world, &request));
    while (me == 0 && slow == 0)
        test_nap(0.01);
    OK(ftc_wait(&request, NULL));
    MUST(sum == ((int64_t)1 << size) - 1);
    OK(ftc_op_free(&op));
}

/* --- a storm --- */

static bool has_failed(int rank)
{
    ftc_report report = {.struct_size = sizeof(report)};

    OK(ftc_last_report(world, &report));
    for (int i = 0; i < report.failed_count; i++)
        if (report.failed[i] == rank)
            return true;
    return false;
}

/* A sum and an allgather in turns. *digest: of all results, in their order. */
static void storm_step(uint64_t *digest)
{
    int64_t in[ROWS], out[ROWS][RANKS];
    ftc_request *requests[ROWS];
    uint64_t masks[ROWS];

    for (int i = 0; i < ROWS; i++) {
        in[i] = (int64_t)1 << me;
        memset(out[i], 0, sizeof(out[i]));
        if (i % 2 == 0)
            OK(ftc_iallreduce(&in[i], out[i], 1, FTC_INT64, FTC_SUM, world, &requests[i]));
        else
            OK(ftc_iallgather(&in[i], out[i], 1, FTC_INT64, world, &requests[i]));
    }
    for (int i = 0, at = (int)draw(ROWS); i < ROWS; i++, at = (at + 3) % ROWS) {
        OK(ftc_wait(&requests[at], NULL));
        masks[at] = 0;
        for (int rank = 0; rank < RANKS; rank++)
            masks[at] |= (uint64_t)out[at][rank];
        for (int rank = 0; rank < size; rank++)
            MUST((masks[at] >> rank & 1) != 0 || has_failed(rank));
    }
    for (int i = 0; i < ROWS; i++)
        *digest = (*digest ^ masks[i]) * 1099511628211u;
}

static void storm(void)
{
    uint64_t digest = 1469598103934665603u, least, greatest;
    double start = test_now();
    int32_t on = 1;

    while (on != 0) {
        storm_step(&digest);
        on = test_now() - start < 0.8;
        OK(ftc_allreduce(FTC_IN_PLACE, &on, 1, FTC_INT32, FTC_MIN, world));
    }
    OK(ftc_allreduce(&digest, &least, 1, FTC_UINT64, FTC_MIN, world));
    OK(ftc_allreduce(&digest, &greatest, 1, FTC_UINT64, FTC_MAX, world));
    MUST(least == digest && greatest == digest);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } stories[] = {{"equal", equal},     {"many", many},
                   {"late", late},       {"two", two},
                   {"revoke", revoke},   {"refused-alone", refused_alone},
                   {"watched", watched}, {"away", away},
                   {"mixed", mixed},     {"storm", storm},
                   {"refused", refused}, {"short-wait", short_wait},
                   {"tests", tests},     {"slow-operator", slow_operator}};
    bool found = false;

    OK(ftc_init(NULL, &world));
    me = ftc_rank(world);
    size = ftc_size(world);
    seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]) && argc > 1; i++)
        if (strcmp(stories[i].name, argv[1]) == 0) {
            stories[i].run();
            found = true;
        }
    MUST(found);
    OK(ftc_finalize(world));
    printf("requests_app: done\n");
    return 0;
}
