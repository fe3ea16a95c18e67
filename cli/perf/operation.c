/* The operations under measurement. */
#include "cli/perf/operation.h"

#include <math.h>
#include <stdlib.h>

#include "cli/perf/baseline/baseline.h"

#define PERIOD        7 /* not a power of two, so that an element in the wrong place is found */
#define UNTOUCHED     (-1.0)
#define LINE          64 /* bytes of a cache line: buffers share none */
#define RATE_MESSAGES 64

/* The blocking form of a call, or with a request its non-blocking form. The arguments are those
 * before the communicator. */
#define CALL(NAME, ...)                                                                            \
    (request == NULL ? ftc_##NAME(__VA_ARGS__, job->world)                                         \
                     : ftc_i##NAME(__VA_ARGS__, job->world, request))

static int run_allreduce(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                         size_t count, ftc_request **request)
{
    return CALL(allreduce, b->send, b->recv, count, FTC_DOUBLE, FTC_SUM);
}

static int run_reduce(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                      size_t count, ftc_request **request)
{
    return CALL(reduce, b->send, b->recv, count, FTC_DOUBLE, FTC_SUM, job->lead);
}

static int run_bcast(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b, size_t count,
                     ftc_request **request)
{
    return CALL(bcast, b->send, count, FTC_DOUBLE, job->lead);
}

static int run_barrier(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                       size_t count, ftc_request **request)
{
    (void)b, (void)count;
    return request == NULL ? ftc_barrier(job->world) : ftc_ibarrier(job->world, request);
}

static int run_validate(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                        size_t count, ftc_request **request)
{
    int *failed = (int *)b->recv; /* is there until a request has ended */

    (void)count;
    return request == NULL ? ftc_validate_global(job->world, failed)
                           : ftc_ivalidate_global(job->world, failed, request);
}

static int run_gossip(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                      size_t count, ftc_request **request)
{
    (void)request;
    return ftc_gossip_allreduce(b->send, b->recv, count, FTC_SUM, NULL, job->world);
}

static int run_doubling(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                        size_t count, ftc_request **request)
{
    (void)request;
    return ftc_baseline_allreduce(FTC_DOUBLING_PLAIN, b->send, b->recv, count, job->world);
}

static int run_rabenseifner(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                            size_t count, ftc_request **request)
{
    (void)request;
    return ftc_baseline_allreduce(FTC_DOUBLING_RABENSEIFNER, b->send, b->recv, count, job->world);
}

static int run_voted(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b, size_t count,
                     ftc_request **request)
{
    (void)request;
    return ftc_baseline_allreduce(FTC_DOUBLING_VOTED, b->send, b->recv, count, job->world);
}

/* --- blocks of each rank --- */

static int run_allgather(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                         size_t count, ftc_request **request)
{
    return CALL(allgather, b->send, b->recv, count, FTC_DOUBLE);
}

static int run_allgatherv(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                          size_t count, ftc_request **request)
{
    return CALL(allgatherv, b->send, count, b->recv, b->counts, b->displs, FTC_DOUBLE);
}

static int run_gather(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                      size_t count, ftc_request **request)
{
    return CALL(gather, b->send, b->recv, count, FTC_DOUBLE, job->lead);
}

static int run_gatherv(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                       size_t count, ftc_request **request)
{
    return CALL(gatherv, b->send, count, b->recv, b->counts, b->displs, FTC_DOUBLE, job->lead);
}

static int run_scatter(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                       size_t count, ftc_request **request)
{
    return CALL(scatter, b->send, b->recv, count, FTC_DOUBLE, job->lead);
}

static int run_scatterv(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                        size_t count, ftc_request **request)
{
    return CALL(scatterv, b->send, b->counts, b->displs, b->recv, count, FTC_DOUBLE, job->lead);
}

static int run_alltoall(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                        size_t count, ftc_request **request)
{
    return CALL(alltoall, b->send, b->recv, count, FTC_DOUBLE);
}

static int run_alltoallv(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                         size_t count, ftc_request **request)
{
    (void)count;
    return CALL(alltoallv, b->send, b->counts, b->displs, b->recv, b->counts, b->displs,
                FTC_DOUBLE);
}

static int run_reduce_scatter_block(const struct ftc_perf_job *job,
                                    const struct ftc_perf_buffers *b, size_t count,
                                    ftc_request **request)
{
    return CALL(reduce_scatter_block, b->send, b->recv, count, FTC_DOUBLE, FTC_SUM);
}

static int run_reduce_scatter(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                              size_t count, ftc_request **request)
{
    (void)count;
    return CALL(reduce_scatter, b->send, b->recv, b->counts, FTC_DOUBLE, FTC_SUM);
}

static int run_scan(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b, size_t count,
                    ftc_request **request)
{
    return CALL(scan, b->send, b->recv, count, FTC_DOUBLE, FTC_SUM);
}

static int run_exscan(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                      size_t count, ftc_request **request)
{
    return CALL(exscan, b->send, b->recv, count, FTC_DOUBLE, FTC_SUM);
}

/* --- messages --- */

#define MESSAGE_TAG 0

static int run_pingpong(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                        size_t count, ftc_request **request)
{
    (void)request;
    for (int turn = 0; job->partner >= 0 && turn < 2; turn++) {
        bool sends = job->starts == (turn == 0);
        int rc = sends ? ftc_send(b->send, count, FTC_DOUBLE, job->partner, MESSAGE_TAG, job->world)
                       : ftc_recv(b->recv, count, FTC_DOUBLE, job->partner, MESSAGE_TAG, job->world,
                                  NULL);
        if (rc != FTC_SUCCESS)
            return rc;
    }
    return FTC_SUCCESS;
}

/* One rank of a pair sends messages that are under way together, and the other one answers when it
 * has all of them. */
static int run_rate(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b, size_t count,
                    ftc_request **request)
{
    ftc_request *under_way[RATE_MESSAGES];
    int rc = FTC_SUCCESS;

    (void)request;
    if (job->partner < 0)
        return FTC_SUCCESS;
    for (size_t i = 0; rc == FTC_SUCCESS && i < RATE_MESSAGES; i++)
        rc = job->starts ? ftc_isend(b->send + i * count, count, FTC_DOUBLE, job->partner,
                                     MESSAGE_TAG, job->world, &under_way[i])
                         : ftc_irecv(b->recv + i * count, count, FTC_DOUBLE, job->partner,
                                     MESSAGE_TAG, job->world, &under_way[i]);
    if (rc == FTC_SUCCESS)
        rc = ftc_wait_all(RATE_MESSAGES, under_way, NULL);
    if (rc != FTC_SUCCESS)
        return rc;
    return job->starts
               ? ftc_recv(b->recv, 0, FTC_DOUBLE, job->partner, MESSAGE_TAG, job->world, NULL)
               : ftc_send(b->send, 0, FTC_DOUBLE, job->partner, MESSAGE_TAG, job->world);
}

/* --- communicators --- */

/* Where the communicator is that a creation makes. */
static ftc_comm **child_of(const struct ftc_perf_buffers *b)
{
    return (ftc_comm **)b->recv;
}

static int run_comm_dup(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                        size_t count, ftc_request **request)
{
    (void)count;
    return request == NULL ? ftc_comm_dup(job->world, child_of(b))
                           : ftc_comm_idup(job->world, child_of(b), request);
}

/* Even ranks get one communicator, and odd ranks another one. */
static int run_comm_split(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                          size_t count, ftc_request **request)
{
    int color = job->rank % 2, key = job->rank;

    (void)count;
    return request == NULL ? ftc_comm_split(job->world, color, key, child_of(b))
                           : ftc_comm_isplit(job->world, color, key, child_of(b), request);
}

static int free_child(const struct ftc_perf_buffers *b)
{
    return ftc_comm_free(child_of(b));
}

/* --- inputs and results --- */

static double input(int rank, size_t i)
{
    return (double)(rank + 1) + (double)(i % PERIOD);
}

/* The sum of the living ranks below `end`. UNTOUCHED if there is none. */
static double sum_below(const struct ftc_perf_job *job, int end, size_t i)
{
    double sum = 0;

    for (int rank = 0; rank < end; rank++)
        sum += job->failed[rank] ? 0 : input(rank, i);
    return sum == 0 ? UNTOUCHED : sum;
}

static double expected_sum(const struct ftc_perf_job *job, size_t count, int block, size_t i)
{
    (void)count, (void)block;
    return sum_below(job, job->size, i);
}

static double expected_root(const struct ftc_perf_job *job, size_t count, int block, size_t i)
{
    (void)count, (void)block;
    return input(job->lead, i);
}

/* Block b of the result is what rank b has given. */
static double expected_blocks(const struct ftc_perf_job *job, size_t count, int block, size_t i)
{
    (void)count;
    return job->failed[block] ? UNTOUCHED : input(block, i);
}

static size_t in_my_block(const struct ftc_perf_job *job, size_t count, size_t i)
{
    return (size_t)job->rank * count + i;
}

static double expected_exchanged(const struct ftc_perf_job *job, size_t count, int block, size_t i)
{
    return expected_blocks(job, count, block, in_my_block(job, count, i));
}

static double expected_scattered(const struct ftc_perf_job *job, size_t count, int block, size_t i)
{
    return expected_root(job, count, block, in_my_block(job, count, i));
}

static double expected_slice(const struct ftc_perf_job *job, size_t count, int block, size_t i)
{
    return expected_sum(job, count, block, in_my_block(job, count, i));
}

static double expected_scan(const struct ftc_perf_job *job, size_t count, int block, size_t i)
{
    (void)count, (void)block;
    return sum_below(job, job->rank + 1, i);
}

static double expected_exscan(const struct ftc_perf_job *job, size_t count, int block, size_t i)
{
    (void)count, (void)block;
    return sum_below(job, job->rank, i);
}

static double expected_messages(const struct ftc_perf_job *job, size_t count, int block, size_t i)
{
    return input(job->partner, (size_t)block * count + i);
}

static const double *result_everywhere(const struct ftc_perf_job *job,
                                       const struct ftc_perf_buffers *b)
{
    (void)job;
    return b->recv;
}

static const double *result_at_root(const struct ftc_perf_job *job,
                                    const struct ftc_perf_buffers *b)
{
    return job->rank == job->lead ? b->recv : NULL;
}

static const double *result_in_place(const struct ftc_perf_job *job,
                                     const struct ftc_perf_buffers *b)
{
    (void)job;
    return b->send;
}

static const double *result_of_pair(const struct ftc_perf_job *job,
                                    const struct ftc_perf_buffers *b)
{
    return job->partner >= 0 ? b->recv : NULL;
}

static const double *result_at_receiver(const struct ftc_perf_job *job,
                                        const struct ftc_perf_buffers *b)
{
    return job->starts ? NULL : result_of_pair(job, b);
}

/* One row of the table: a name, the words behind it, what is expected and where it is. */
#define ROW(NAME, WORDS, RESULT, EXPECTED)                                                         \
    .name = #NAME, .what = WORDS, .sized = true, .run = run_##NAME, .result = RESULT,              \
    .expected = EXPECTED

const struct ftc_perf_operation ftc_perf_operations[FTC_PERF_OPERATIONS] = {
    {ROW(allreduce, "allreduce, sum of doubles", result_everywhere, expected_sum)},
    {ROW(reduce, "reduce, sum of doubles", result_at_root, expected_sum), .overlaps = true},
    {ROW(bcast, "bcast of doubles", result_in_place, expected_root), .overlaps = true},
    {.name = "barrier", .what = "barrier", .run = run_barrier},
    {.name = "validate", .what = "validate", .run = run_validate},
    {ROW(allgather, "allgather of doubles", result_everywhere, expected_blocks),
     .gets_blocks = true},
    {ROW(allgatherv, "allgatherv of doubles", result_everywhere, expected_blocks),
     .gets_blocks = true},
    {ROW(gather, "gather of doubles", result_at_root, expected_blocks), .overlaps = true,
     .gets_blocks = true},
    {ROW(gatherv, "gatherv of doubles", result_at_root, expected_blocks), .gets_blocks = true},
    {ROW(scatter, "scatter of doubles", result_everywhere, expected_scattered), .overlaps = true,
     .sends_blocks = true},
    {ROW(scatterv, "scatterv of doubles", result_everywhere, expected_scattered),
     .sends_blocks = true},
    {ROW(alltoall, "alltoall of doubles", result_everywhere, expected_exchanged),
     .sends_blocks = true, .gets_blocks = true},
    {ROW(alltoallv, "alltoallv of doubles", result_everywhere, expected_exchanged),
     .sends_blocks = true, .gets_blocks = true},
    {ROW(reduce_scatter_block, "reduce_scatter_block, sum of doubles", result_everywhere,
         expected_slice),
     .sends_blocks = true},
    {ROW(reduce_scatter, "reduce_scatter, sum of doubles", result_everywhere, expected_slice),
     .sends_blocks = true},
    {ROW(scan, "scan, sum of doubles", result_everywhere, expected_scan)},
    {ROW(exscan, "exscan, sum of doubles", result_everywhere, expected_exscan)},
    {.name = "comm_dup",
     .what = "comm_dup and comm_free",
     .run = run_comm_dup,
     .finish = free_child,
     .apart = true},
    {.name = "comm_split",
     .what = "comm_split into even and odd ranks, and comm_free",
     .run = run_comm_split,
     .finish = free_child,
     .apart = true},
    {ROW(pingpong, "messages there and back in pairs of ranks", result_of_pair, expected_messages),
     .apart = true, .blocks = true, .messages = 2},
    {ROW(rate, "64 messages under way in pairs of ranks", result_at_receiver, expected_messages),
     .apart = true, .blocks = true, .messages = RATE_MESSAGES, .sends_blocks = true,
     .gets_blocks = true},
    {ROW(gossip, "gossip aggregation, sum of doubles", result_everywhere, expected_sum),
     .apart = true, .blocks = true},
    {ROW(doubling, "recursive doubling, sum of doubles", result_everywhere, expected_sum),
     .apart = true, .blocks = true, .baseline = true},
    {ROW(rabenseifner, "Rabenseifner's allreduce, sum of doubles", result_everywhere, expected_sum),
     .apart = true, .blocks = true, .baseline = true},
    {ROW(voted, "recursive doubling three times with a vote, sum of doubles", result_everywhere,
         expected_sum),
     .apart = true, .blocks = true, .baseline = true},
};

/* --- buffers --- */

size_t ftc_perf_operation_blocks(const struct ftc_perf_operation *operation,
                                 const struct ftc_perf_job *job)
{
    if (!operation->sends_blocks && !operation->gets_blocks)
        return 1;
    return (size_t)(operation->messages > 0 ? operation->messages : job->size);
}

int ftc_perf_buffers_init(struct ftc_perf_buffers *buffers, size_t bytes, int ranks, int sets)
{
    size_t *counts = calloc(2 * (size_t)ranks, sizeof(*counts));
    size_t stride = (bytes + LINE - 1) / LINE * LINE;

    *buffers = (struct ftc_perf_buffers){
        .send = calloc((size_t)sets, stride),
        .recv = calloc((size_t)sets, stride),
        .counts = counts,
        .displs = counts != NULL ? counts + ranks : NULL,
        .sets = sets,
        .stride = stride / sizeof(double),
        .request = calloc((size_t)sets, sizeof(ftc_request *)),
        .status = calloc((size_t)sets, sizeof(ftc_status)),
    };
    if (buffers->send != NULL && buffers->recv != NULL && counts != NULL &&
        buffers->request != NULL && buffers->status != NULL)
        return 0;
    return ftc_perf_fail("no memory for %d buffers of %zu bytes in each rank; give a smaller -m",
                         2 * sets, bytes);
}

void ftc_perf_buffers_fini(struct ftc_perf_buffers *buffers)
{
    free(buffers->send);
    free(buffers->recv);
    free(buffers->counts);
    free(buffers->request);
    free(buffers->status);
}

struct ftc_perf_buffers ftc_perf_buffers_of(const struct ftc_perf_buffers *buffers, int set)
{
    struct ftc_perf_buffers own = *buffers;

    own.send += buffers->stride * (size_t)set;
    own.recv += buffers->stride * (size_t)set;
    return own;
}

void ftc_perf_operation_fill(const struct ftc_perf_operation *operation,
                             const struct ftc_perf_job *job, const struct ftc_perf_buffers *buffers,
                             size_t count)
{
    size_t blocks = ftc_perf_operation_blocks(operation, job);

    for (size_t i = 0; i < count * blocks; i++) {
        buffers->send[i] = input(job->rank, i);
        buffers->recv[i] = UNTOUCHED;
    }
    for (int rank = 0; rank < job->size; rank++) {
        buffers->counts[rank] = count;
        buffers->displs[rank] = count * (size_t)rank;
    }
}

/* The relative tolerance. Sums of small whole numbers are exact, except by gossip. */
static double tolerance_of(const struct ftc_perf_operation *operation,
                           const struct ftc_perf_job *job)
{
    ftc_gossip_report report = {.struct_size = sizeof(report)};

    if (operation->run != run_gossip || ftc_last_gossip_report(job->world, &report) != FTC_SUCCESS)
        return 0;
    return report.accuracy + 1e-14; /* 1e-14 is for rounding */
}

size_t ftc_perf_operation_wrong(const struct ftc_perf_operation *operation,
                                const struct ftc_perf_job *job,
                                const struct ftc_perf_buffers *buffers, size_t count)
{
    double tolerance = tolerance_of(operation, job);
    const double *result = operation->sized ? operation->result(job, buffers) : NULL;
    int blocks = operation->gets_blocks ? (int)ftc_perf_operation_blocks(operation, job) : 1;

    for (int block = 0; result != NULL && block < blocks; block++) {
        double expected[PERIOD];
        for (size_t i = 0; i < PERIOD; i++)
            expected[i] = operation->expected(job, count, block, i);
        double most = tolerance * expected[PERIOD - 1]; /* the largest element */
        for (size_t i = 0; i < count; i++)
            if (!(fabs(result[(size_t)block * count + i] - expected[i % PERIOD]) <= most))
                return i;
    }
    return count;
}
