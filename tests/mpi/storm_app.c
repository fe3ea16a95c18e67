/*
 * A program of MPI whose ranks die, as users write such programs. It is one of three:
 *
 *   storm_app masked|shrink|ring SEED STEPS
 *
 *   masked  errors are fatal: collectives, and no word about failures
 *   shrink  errors are returned: collectives; revoke, shrink, agree, and the step once more
 *   ring    as shrink, with messages to the next rank, taken from any source with any tag
 *
 * The seed decides which ranks die, and after how many microseconds; never rank 0. A timer kills
 * them, so that they die between any two instructions. Each survivor prints one line: a digest of
 * all results, which is the same at each of them.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <mpi-ext.h>

#define BLOCK       300 /* the most doubles of a reduction */
#define MOST_RANKS  32
#define MOST_DEATHS 3
#define MOST_STEPS  5000

struct storm {
    MPI_Comm comm; /* of those that go on */
    int world_rank, world_size;
    int steps;
    uint64_t seed;
    uint64_t digests[MOST_STEPS]; /* of each step */
};

static _Noreturn void fail(const struct storm *storm, int step, const char *what)
{
    printf("storm_app: rank %d, step %d: %s\n", storm->world_rank, step, what);
    fflush(stdout);
    abort();
}

/* The splitmix64 generator (Steele et al., OOPSLA'14): the same at each rank. */
static uint64_t draw(uint64_t seed, uint64_t number)
{
    uint64_t z = seed + (number + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static uint64_t mix(uint64_t digest, uint64_t word)
{
    return draw(digest ^ word, 0);
}

/* SIGALRM kills: nothing handles it. */
static void arm(const struct storm *storm)
{
    uint64_t lot = 1;
    int victims = 0; /* as far as this rank */
    for (int rank = 1; rank <= storm->world_rank; rank++) {
        lot = draw(storm->seed, 1000000 + (uint64_t)rank);
        victims += lot % 3 == 0;
    }
    if (lot % 3 != 0 || victims > MOST_DEATHS)
        return;
    struct itimerval timer = {.it_value.tv_usec = 1 + (long)(lot / 3 % 200000)};
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* --- collectives --- */

/* Each rank adds its own bit: the sum says which ranks are in it. */
static int add_up(struct storm *storm, int step, uint64_t lot, uint64_t *digest)
{
    int count = 1 + (int)(lot % BLOCK);
    double mine[BLOCK], sum[BLOCK];
    for (int i = 0; i < count; i++)
        mine[i] = (double)(UINT64_C(1) << storm->world_rank) + (i == 0 ? 0 : 0.5);
    int rc = MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, storm->comm);
    if (rc != MPI_SUCCESS)
        return rc;
    uint64_t ranks = (uint64_t)sum[0];
    if ((ranks >> storm->world_rank & 1) == 0 || (ranks & 1) == 0)
        fail(storm, step, "a survivor is not in the sum");
    for (int i = 1; i < count; i++)
        if (sum[i] != sum[0] + 0.5 * (double)__builtin_popcountll(ranks))
            fail(storm, step, "the sum is not one of the same ranks");
    *digest = mix(ranks, (uint64_t)count);
    return MPI_SUCCESS;
}

static int spread(struct storm *storm, int step, uint64_t lot, uint64_t *digest)
{
    uint64_t value[BLOCK];
    int rank, count = 1 + (int)(lot % BLOCK);
    MPI_Comm_rank(storm->comm, &rank);
    for (int i = 0; i < count; i++)
        value[i] = rank == 0 ? lot + (uint64_t)i : 0;
    int rc = MPI_Bcast(value, count, MPI_UINT64_T, 0, storm->comm); /* of rank 0, which lives */
    for (int i = 0; rc == MPI_SUCCESS && i < count; i++)
        if (value[i] != lot + (uint64_t)i)
            fail(storm, step, "a broadcast has another value");
    *digest = lot;
    return rc;
}

/* The place of a rank that is left out keeps what it has. */
static int collect(struct storm *storm, int step, uint64_t lot, uint64_t *digest)
{
    uint64_t mine = lot + (uint64_t)storm->world_rank, all[MOST_RANKS] = {0};
    int rank;
    MPI_Comm_rank(storm->comm, &rank);
    int rc = MPI_Allgather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, storm->comm);
    if (rc == MPI_SUCCESS && all[rank] != mine)
        fail(storm, step, "an allgather has another value in the own place");
    for (int i = 0; i < MOST_RANKS; i++)
        *digest = mix(*digest, all[i]);
    return rc;
}

static int meet(struct storm *storm, uint64_t lot, uint64_t *digest)
{
    MPI_Request request = MPI_REQUEST_NULL;
    *digest = lot;
    if (lot % 2 == 0)
        return MPI_Barrier(storm->comm);
    int rc = MPI_Ibarrier(storm->comm, &request);
    return rc != MPI_SUCCESS ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int collective(struct storm *storm, int step, uint64_t *digest)
{
    uint64_t lot = draw(storm->seed, (uint64_t)step);
    switch (lot % 4) {
    case 0:
        return meet(storm, lot / 4, digest);
    case 1:
        return spread(storm, step, lot / 4, digest);
    case 2:
        return collect(storm, step, lot / 4, digest);
    default:
        return add_up(storm, step, lot / 4, digest);
    }
}

/* --- messages --- */

#define LARGEST (200 * 1000)

static unsigned char outgoing[LARGEST], incoming[LARGEST];

static int size_of(const struct storm *storm, int step, int rank)
{
    uint64_t lot = draw(storm->seed, (uint64_t)step * MOST_RANKS + (uint64_t)rank);
    return lot % 4 == 0 ? (int)(lot / 4 % LARGEST) : (int)(lot / 4 % 100);
}

static void check_message(const struct storm *storm, int step, int from, const MPI_Status *status)
{
    int bytes;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    if (status->MPI_SOURCE != from || status->MPI_TAG != step)
        fail(storm, step, "the message of another step");
    if (bytes != size_of(storm, step, from))
        fail(storm, step, "a message of another size");
    for (int i = 0; i < bytes; i++)
        if (incoming[i] != (unsigned char)(step * 7 + from + i))
            fail(storm, step, "a message is damaged");
}

/* To the next rank, and from the one before. */
static int pass_on(struct storm *storm, int step, uint64_t *digest)
{
    int rank, size, first, second = MPI_SUCCESS;
    MPI_Request request;
    MPI_Status status;
    MPI_Comm_rank(storm->comm, &rank);
    MPI_Comm_size(storm->comm, &size);
    int bytes = size_of(storm, step, rank);
    for (int i = 0; i < bytes; i++)
        outgoing[i] = (unsigned char)(step * 7 + rank + i);
    first =
        MPI_Irecv(incoming, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, storm->comm, &request);
    if (first != MPI_SUCCESS)
        return first;
    first = MPI_Send(outgoing, bytes, MPI_BYTE, (rank + 1) % size, step, storm->comm);
    if (first != MPI_SUCCESS)
        MPIX_Comm_revoke(storm->comm); /* or the receive may wait for ever */
    second = MPI_Wait(&request, &status);
    if (second == MPIX_ERR_PROC_FAILED_PENDING) {
        MPIX_Comm_revoke(storm->comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (second == MPI_SUCCESS)
        check_message(storm, step, (rank + size - 1) % size, &status);
    *digest = (uint64_t)step;
    return first != MPI_SUCCESS ? first : second;
}

/* --- going on --- */

/* Some ranks may be a step ahead of others: all do the first one again that some have not done. */
static int go_on_without_the_dead(struct storm *storm, int step)
{
    MPI_Comm left;
    int flag = 1, agreed = step;
    MPIX_Comm_revoke(storm->comm);
    do {
        if (MPIX_Comm_shrink(storm->comm, &left) != MPI_SUCCESS)
            fail(storm, step, "cannot shrink");
        if (storm->comm != MPI_COMM_WORLD)
            MPI_Comm_free(&storm->comm);
        storm->comm = left;
        int rc = MPIX_Comm_agree(left, &flag); /* it raises what nobody has acknowledged */
        if ((rc != MPI_SUCCESS && rc != MPIX_ERR_PROC_FAILED) || flag != 1)
            fail(storm, step, "cannot agree");
    } while (MPI_Allreduce(&step, &agreed, 1, MPI_INT, MPI_MIN, left) != MPI_SUCCESS);
    return agreed;
}

static int do_step(struct storm *storm, const char *kind, int step)
{
    uint64_t *digest = &storm->digests[step];
    *digest = 0;
    if (step == storm->steps - 1) /* after it all go on, or nobody */
        return add_up(storm, step, 0, digest);
    return *kind == 'r' ? pass_on(storm, step, digest) : collective(storm, step, digest);
}

static void run(struct storm *storm, const char *kind)
{
    if (*kind != 'm') {
        MPI_Comm_dup(MPI_COMM_WORLD, &storm->comm);
        MPI_Comm_set_errhandler(storm->comm, MPI_ERRORS_RETURN);
    }
    arm(storm);
    for (int step = 0; step < storm->steps;)
        step = do_step(storm, kind, step) == MPI_SUCCESS ? step + 1
                                                         : go_on_without_the_dead(storm, step);
}

int main(int argc, char **argv)
{
    static struct storm storm = {.comm = MPI_COMM_WORLD};
    uint64_t digest = 0;
    if (argc != 4)
        return 2;
    storm.seed = strtoull(argv[2], NULL, 10);
    storm.steps = atoi(argv[3]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &storm.world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &storm.world_size);
    if (storm.world_size > MOST_RANKS || storm.steps > MOST_STEPS)
        return 2;
    run(&storm, argv[1]);
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL); /* this one has survived */
    for (int step = 0; step < storm.steps; step++)
        digest = mix(digest, storm.digests[step]);
    printf("survivor %016llx\n", (unsigned long long)digest);
    MPI_Finalize();
    return 0;
}
