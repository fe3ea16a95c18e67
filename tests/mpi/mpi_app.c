/*
 * A program of MPI, as a user writes it: each rank checks what it gets. mpi_app STORY; the last
 * line of a rank that found nothing wrong is "mpi_app: done".
 */
#include <mpi-ext.h>
#include <mpi.h>

#include <complex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* A number in decimal: appending another one to it does not commute. */
struct word {
    long value, shift;
};

static void append(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const struct word *a = in;
    struct word *b = inout;
    (void)type;
    for (int i = 0; i < *count; i++) {
        b[i].value += a[i].value * b[i].shift;
        b[i].shift *= a[i].shift;
    }
}

static void reductions(void)
{
    int sum, product = rank + 1, flag = rank == 0, any;
    double complex z = rank + 1 + I, total;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Allreduce(MPI_IN_PLACE, &product, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(product == size);
    MPI_Allreduce(&flag, &any, 1, MPI_INT, MPI_LXOR, MPI_COMM_WORLD);
    CHECK(any == 1);
    MPI_Allreduce(&z, &total, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
    CHECK(creal(total) == size * (size + 1) / 2 && cimag(total) == size);
    struct {
        long double value;
        int index;
    } own = {.value = rank % 2, .index = rank}, best;
    MPI_Allreduce(&own, &best, 1, MPI_LONG_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    CHECK(best.value == (size > 1) && best.index == (size > 1));
    MPI_Op op;
    MPI_Datatype type;
    struct word word = {rank % 10, 10}, all = {0, 0}, before = {-1, -1};
    long expected = 0, below = 0;
    for (int r = 0; r < size; r++) {
        below = r == rank ? expected : below;
        expected = expected * 10 + r % 10;
    }
    MPI_Op_create(append, 0, &op);
    MPI_Type_contiguous(2, MPI_LONG, &type);
    MPI_Type_commit(&type);
    MPI_Reduce(&word, &all, 1, type, op, size - 1, MPI_COMM_WORLD);
    CHECK(rank < size - 1 || all.value == expected);
    MPI_Exscan(&word, &before, 1, type, op, MPI_COMM_WORLD);
    CHECK(before.value == (rank == 0 ? -1 : below));
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    int *parts = calloc((size_t)size, sizeof *parts), part;
    for (int r = 0; r < size; r++)
        parts[r] = r + rank;
    MPI_Reduce_scatter_block(parts, &part, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(part == size * rank + size * (size - 1) / 2);
    free(parts);
}

/* A double behind a gap, in a datatype that does not begin at its start. */
static void add_doubles(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        const double *a = (double *)((char *)in + 16 * i + 8);
        double *b = (double *)((char *)inout + 16 * i + 8);
        CHECK((size_t)a % sizeof *a == 0 && (size_t)b % sizeof *b == 0);
        *b += *a;
    }
}

static void gaps(void)
{
    struct {
        char start, flag;
        double value;
    } in[2] = {{1, 2, 0.5}, {3, 4, 1.5}}, out[2] = {{5, 6, 7}, {8, 9, 10}};
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {1, 8};
    MPI_Datatype types[2] = {MPI_CHAR, MPI_DOUBLE}, part, type;
    MPI_Op op;
    MPI_Type_create_struct(2, lengths, places, types, &part);
    MPI_Type_create_resized(part, 0, sizeof in[0], &type);
    MPI_Type_commit(&type);
    MPI_Op_create(add_doubles, 1, &op);
    MPI_Allreduce(in, out, 2, type, op, MPI_COMM_WORLD);
    CHECK(out[0].start == 5 && out[1].start == 8); /* it is no part of the datatype */
    CHECK(out[0].value == 0.5 * size && out[1].value == 1.5 * size);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Type_free(&part);
}

/* Every second int of a row: columns of a matrix go to rows, and back. */
static void derived(void)
{
    MPI_Datatype column, sparse;
    int n = size, *matrix = calloc((size_t)(n * n), sizeof(int)),
        *turned = calloc((size_t)(n * n), sizeof(int));
    gaps();
    MPI_Type_vector(n, 1, n, MPI_INT, &sparse);
    MPI_Type_create_resized(sparse, 0, sizeof(int), &column);
    MPI_Type_commit(&column);
    MPI_Type_free(&sparse);
    for (int i = 0; i < n * n; i++)
        matrix[i] = rank * n * n + i;
    MPI_Alltoall(matrix, 1, column, turned, n, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < n; i++)
            CHECK(turned[r * n + i] == r * n * n + i * n + rank);
    memset(matrix, -1, (size_t)(n * n) * sizeof(int));
    MPI_Allgather(turned, n, MPI_INT, matrix, 1, column, MPI_COMM_WORLD);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < n; i++)
            CHECK(matrix[i * n + r] == i * n + r);
    memset(turned, -1, (size_t)(n * n) * sizeof(int));
    for (int i = 0; rank == n - 1 && i < n; i++)
        turned[i * n] = i;
    MPI_Bcast(turned, 1, column, n - 1, MPI_COMM_WORLD);
    for (int i = 0; i < n * n; i++)
        CHECK(turned[i] == (i % n == 0 ? i / n : -1));
    MPI_Type_free(&column);
    free(matrix);
    free(turned);
}

/* Blocks of different sizes, at places in the reverse order. */
static void vectors(void)
{
    int *counts = calloc((size_t)size, sizeof(int)), *places = calloc((size_t)size, sizeof(int));
    int total = size * (size + 1) / 2, at = total, *all = calloc((size_t)total, sizeof(int)),
        own[64];
    for (int r = 0; r < size; r++) {
        counts[r] = r + 1;
        at -= counts[r];
        places[r] = at;
    }
    for (int i = 0; i <= rank; i++)
        own[i] = rank * 100 + i;
    MPI_Request requests[3];
    MPI_Iallgatherv(own, rank + 1, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD,
                    &requests[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
    requests[2] = MPI_REQUEST_NULL;
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < counts[r]; i++)
            CHECK(all[places[r] + i] == r * 100 + i);
    int mine[64] = {0};
    MPI_Scatterv(all, counts, places, MPI_INT, mine, rank + 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(memcmp(mine, own, sizeof(int) * (size_t)(rank + 1)) == 0);
    free(counts);
    free(places);
    free(all);
}

static void persistent(void)
{
    int value = 0, sum = 0, flag, index;
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status;
    MPI_Allreduce_init(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &request[0]);
    MPI_Test(&request[0], &flag, &status); /* it is not started: nothing to wait for */
    CHECK(flag && status.MPI_SOURCE == MPI_ANY_SOURCE);
    for (int i = 0; i < 20; i++) {
        value = rank + i;
        MPI_Start(&request[0]);
        MPI_Waitany(2, request, &index, &status);
        CHECK(index == 0 && request[0] != MPI_REQUEST_NULL);
        CHECK(sum == size * (size - 1) / 2 + i * size);
    }
    MPI_Waitany(2, request, &index, &status);
    CHECK(index == MPI_UNDEFINED);
    MPI_Request_free(&request[0]);
    CHECK(request[0] == MPI_REQUEST_NULL);
    int answer = rank == 0 ? 42 : 0;
    MPI_Bcast_init(&answer, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request[0]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request[1]);
    MPI_Start(&request[rank % 2]); /* their starts need no common order */
    MPI_Start(&request[1 - rank % 2]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    CHECK(answer == 42);
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
}

static void communicators(void)
{
    MPI_Comm half, reversed, none, copy, alone;
    MPI_Group world, part, odd;
    int r, n, result, last = size - 1;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_rank(half, &r);
    MPI_Comm_size(half, &n);
    CHECK(n == (size + (rank % 2 == 0)) / 2);
    CHECK(r == n - 1 - rank / 2);
    MPI_Comm_group(half, &part);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(part, 1, &r, world, &result);
    CHECK(result == rank);
    MPI_Comm_create(MPI_COMM_WORLD, part, &reversed);
    MPI_Comm_compare(half, reversed, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Group_excl(world, 1, &last, &odd);
    MPI_Comm_create_group(MPI_COMM_WORLD, odd, 7, &none);
    CHECK((none == MPI_COMM_NULL) == (rank == last));
    if (none != MPI_COMM_NULL) {
        MPI_Barrier(none);
        MPI_Comm_free(&none);
    }
    MPI_Request request;
    MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_compare(copy, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &alone);
    MPI_Comm_size(alone, &n);
    CHECK(n == size);
    MPI_Allreduce(&rank, &r, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    CHECK(r == rank);
    MPI_Group_free(&odd);
    MPI_Group_free(&part);
    MPI_Group_free(&world);
    MPI_Comm_free(&alone);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&reversed);
    MPI_Comm_free(&half);
}

/* A ring, as a grid and as a graph: each gets what its neighbours have sent in its direction. */
static void neighbours(void)
{
    int periodic = 1, down = (rank + size - 1) % size, up = (rank + 1) % size, got[2];
    int send[2] = {rank * 2, rank * 2 + 1}, ends[2] = {down, up}, starts[2] = {up, down};
    MPI_Comm ring, graph;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Neighbor_alltoall(send, 1, MPI_INT, got, 1, MPI_INT, ring);
    CHECK(got[0] == down * 2 + 1 && got[1] == up * 2);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, ring);
    CHECK(got[0] == down && got[1] == up);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, starts, MPI_UNWEIGHTED, 2, ends,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Request request;
    MPI_Ineighbor_alltoall(send, 1, MPI_INT, got, 1, MPI_INT, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got[0] == up * 2 && got[1] == down * 2 + 1);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&ring);
}

static void die(int who)
{
    if (rank == who)
        raise(SIGKILL);
}

/* Errors are fatal: the dead are left out, and no one is told. */
static void masked(void)
{
    int sum = 0, all[8];
    MPI_Barrier(MPI_COMM_WORLD);
    die(1);
    for (int i = 0; i < 100; i++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (sum == size * (size - 1) / 2 - 1)
            break;
    }
    CHECK(sum == size * (size - 1) / 2 - 1);
    memset(all, -1, sizeof all);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++)
        CHECK(all[r] == (r == 1 ? -1 : r));
}

/* An intercommunicator of the even ranks and the odd ones. */
static MPI_Comm halves(MPI_Comm *half)
{
    MPI_Comm both;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, half);
    MPI_Intercomm_create(*half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &both);
    return both;
}

/* What goes from one group to the other, by one root, by all, and combined. */
static void cross(MPI_Comm both)
{
    int local, own, remote, sum, value = rank, root = MPI_PROC_NULL, others = 0;
    int got[8] = {0};
    MPI_Comm_rank(both, &own);
    MPI_Comm_size(both, &local);
    MPI_Comm_remote_size(both, &remote);
    for (int i = 0; i < size; i++)
        others += i % 2 != rank % 2 ? i : 0;
    if (rank % 2 == 1)
        root = 0;
    else if (own == 0)
        root = MPI_ROOT;
    MPI_Bcast(&value, 1, MPI_INT, root, both);
    CHECK(value == (rank % 2 == 1 ? 0 : rank));
    MPI_Gather(&rank, 1, MPI_INT, got, 1, MPI_INT, root, both);
    for (int i = 0; i < remote && root == MPI_ROOT; i++)
        CHECK(got[i] == 2 * i + 1);
    MPI_Allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, both);
    for (int i = 0; i < remote; i++)
        CHECK(got[i] == 2 * i + 1 - rank % 2);
    MPI_Request request;
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, both, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sum == others);
    sum = 0;
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, root, both);
    CHECK(sum == (root == MPI_ROOT ? others : 0));
    CHECK(MPI_Barrier(both) == MPI_SUCCESS);
}

static void intercommunicators(void)
{
    int flag, n, value = -1, result;
    MPI_Comm half, both = halves(&half), copy, merged, part;
    MPI_Status status;
    MPI_Comm_test_inter(both, &flag);
    CHECK(flag);
    cross(both);
    MPI_Comm_dup(both, &copy);
    MPI_Comm_compare(both, copy, &result);
    CHECK(result == MPI_CONGRUENT);
    cross(copy);
    if (rank < 2) { /* the first ranks of the groups */
        MPI_Sendrecv(&rank, 1, MPI_INT, 0, 3, &value, 1, MPI_INT, MPI_ANY_SOURCE, 3, copy, &status);
        CHECK(value == 1 - rank && status.MPI_SOURCE == 0);
    }
    MPI_Intercomm_merge(both, rank % 2 == 0, &merged); /* odd ranks first */
    MPI_Comm_rank(merged, &n);
    CHECK(n == (rank % 2 == 1 ? rank / 2 : size / 2 + rank / 2));
    MPI_Comm_split(both, rank < 2, 0, &part); /* the first rank of each group, and the others */
    MPI_Comm_remote_size(part, &n);
    CHECK(n == (rank < 2 ? 1 : rank % 2 == 0 ? size / 2 - 1 : (size + 1) / 2 - 1));
    MPI_Comm_free(&part);
    MPI_Comm_split(both, rank % 2, 0, &part); /* no part has ranks of both */
    CHECK(part == MPI_COMM_NULL);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

/* A group goes on without the dead rank of the other one; where that was the root, it is told. */
static void crossing_death(void)
{
    int sum = 0, value = 0, rc = MPI_SUCCESS;
    MPI_Comm half, both = halves(&half), left;
    MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    die(1);
    while (rc == MPI_SUCCESS)
        rc = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, both);
    CHECK(rc == MPIX_ERR_PROC_FAILED);
    CHECK(sum == (rank % 2 == 0 ? 3 : 2)); /* of the ranks 0, 2 and 3 */
    rc = MPI_Bcast(&value, 1, MPI_INT, rank % 2 == 0 ? 0 : MPI_PROC_NULL, both);
    CHECK(rc == MPIX_ERR_PROC_FAILED);
    CHECK(MPIX_Comm_shrink(both, &left) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, left) == MPI_SUCCESS);
    CHECK(sum == (rank % 2 == 0 ? 3 : 2));
    MPI_Comm_free(&left);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

/* The program handles errors: it is told at every survivor, shrinks, and goes on. */
static void raised(void)
{
    int sum = 0, class, rc = MPI_SUCCESS, flag, n, ok = rank + 2;
    MPI_Comm survivors;
    MPI_Group failed;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    die(1);
    while (rc == MPI_SUCCESS)
        rc = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Error_class(rc, &class);
    CHECK(class == MPIX_ERR_PROC_FAILED);
    CHECK(sum == size * (size - 1) / 2 - 1); /* the result is there nevertheless */
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPIX_ERR_PROC_FAILED);
    CHECK(MPI_Bcast(&sum, 1, MPI_INT, 1, MPI_COMM_WORLD) == MPIX_ERR_PROC_FAILED);
    CHECK(MPIX_Comm_agree(MPI_COMM_WORLD, &ok) == MPIX_ERR_PROC_FAILED);
    CHECK(ok == (2 & 4 & 5)); /* the flag is agreed on nevertheless */
    ok = rank + 2;
    MPIX_Comm_failure_ack(MPI_COMM_WORLD);
    MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &failed);
    MPI_Group_size(failed, &n);
    CHECK(n == 1);
    MPI_Group_free(&failed);
    CHECK(MPIX_Comm_agree(MPI_COMM_WORLD, &ok) == MPI_SUCCESS);
    MPIX_Comm_revoke(MPI_COMM_WORLD);
    MPIX_Comm_is_revoked(MPI_COMM_WORLD, &flag);
    CHECK(flag);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPIX_ERR_REVOKED);
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors) == MPI_SUCCESS);
    MPI_Comm_size(survivors, &n);
    CHECK(n == size - 1);
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, survivors) == MPI_SUCCESS);
    CHECK(sum == size * (size - 1) / 2 - 1);
    MPI_Comm_free(&survivors);
}

/* Some ranks start the next agreement before the last one has ended. Then a rank revokes as soon as
 * it knows the result, when others may still wait for theirs. */
static void agreed(void)
{
    for (int i = 0; i < 100; i++) {
        MPI_Comm comm;
        MPI_Request requests[2];
        int first = rank + 64, second = rank + 128, third = rank + 256, last = rank + 512;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        CHECK(MPIX_Comm_iagree(comm, &first, &requests[0]) == MPI_SUCCESS);
        if (rank % 2 == 0)
            CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPIX_Comm_iagree(comm, &second, &requests[1]) == MPI_SUCCESS);
        CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        CHECK(first == 64 && second == 128);
        CHECK(MPIX_Comm_agree(comm, &third) == MPI_SUCCESS && third == 256);
        if (rank == i % size)
            MPIX_Comm_revoke(comm);
        CHECK(MPIX_Comm_agree(comm, &last) == MPI_SUCCESS && last == 512);
        CHECK(MPI_Barrier(comm) == MPIX_ERR_REVOKED);
        MPI_Comm_free(&comm);
    }
}

/* A broadcast from a dead root cannot be masked: the job ends with its words. */
static void fatal(void)
{
    int value = rank;
    MPI_Barrier(MPI_COMM_WORLD);
    die(1);
    for (int i = 0; i < 1000000; i++)
        MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*run)(void);
} stories[] = {
    {"reductions", reductions},
    {"derived", derived},
    {"vectors", vectors},
    {"persistent", persistent},
    {"communicators", communicators},
    {"neighbours", neighbours},
    {"intercommunicators", intercommunicators},
    {"crossing_death", crossing_death},
    {"masked", masked},
    {"raised", raised},
    {"agreed", agreed},
    {"fatal", fatal},
};

/* MPI_APP_THREADS: "all" ranks may call from several threads, or the "first" one. */
static int thread_level(void)
{
    const char *which = getenv("MPI_APP_THREADS"), *own = getenv("PMIX_RANK");
    int several = which != NULL && (strcmp(which, "all") == 0 || strcmp(own, "0") == 0);
    return several ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
}

int main(int argc, char **argv)
{
    int provided, level = thread_level();
    MPI_Init_thread(&argc, &argv, level, &provided);
    CHECK(provided == level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++)
        if (argc > 1 && strcmp(stories[i].name, argv[1]) == 0)
            stories[i].run();
    MPI_Finalize();
    puts("mpi_app: done");
    return 0;
}
