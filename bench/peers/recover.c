/*
 * How long after a rank's death have the survivors the result of an operation without it?
 *
 *   recover FILE
 *
 * All ranks add up in a loop, until rank size / 2 kills itself. It first notes the time in FILE,
 * which all ranks share. The survivors recover, and rank 0 prints the time from the kill until the
 * last of them had its result, in microseconds.
 *
 * With PEER_MPI they recover as programs for ULFM do: revoke, shrink, agree, and add up in the
 * communicator that is left. Otherwise they use ftcoll.h, where the operation that the death
 * interrupted ends with the result of the survivors.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define QUIET 200 /* operations before the death */

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

#ifdef PEER_MPI
#include <mpi.h>

#include <mpi-ext.h>

static MPI_Comm comm;

static void join(int *rank, int *size)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, rank);
    MPI_Comm_size(comm, size);
}

static int add(double *sum, MPI_Comm where)
{
    double one = 1;
    return MPI_Allreduce(&one, sum, 1, MPI_DOUBLE, MPI_SUM, where);
}

/* Returns the time at which this rank had the sum of the survivors. */
static double work_until_recovered(double *sum)
{
    MPI_Comm left;
    int flag = 1;
    while (add(sum, comm) == MPI_SUCCESS)
        ;
    MPIX_Comm_revoke(comm);
    if (MPIX_Comm_shrink(comm, &left) != MPI_SUCCESS)
        abort();
    comm = left;
    if (MPIX_Comm_agree(comm, &flag) != MPI_SUCCESS || add(sum, comm) != MPI_SUCCESS)
        abort();
    return now_us();
}

static double latest(double time)
{
    double last = time;
    MPI_Allreduce(&time, &last, 1, MPI_DOUBLE, MPI_MAX, comm);
    return last;
}

static void leave(void)
{
    MPI_Finalize();
}

#else
#include <ftcoll.h>

static ftc_comm *comm;

static void join(int *rank, int *size)
{
    if (ftc_init(NULL, &comm) != FTC_SUCCESS) {
        fprintf(stderr, "cannot join the job: %s\n", ftc_last_error());
        exit(1);
    }
    *rank = ftc_rank(comm);
    *size = ftc_size(comm);
}

static int add(double *sum, ftc_comm *where)
{
    double one = 1;
    return ftc_allreduce(&one, sum, 1, FTC_DOUBLE, FTC_SUM, where);
}

static double work_until_recovered(double *sum)
{
    ftc_report report = {.struct_size = sizeof report};
    do {
        if (add(sum, comm) != FTC_SUCCESS || ftc_last_report(comm, &report) != FTC_SUCCESS)
            abort();
    } while (report.failed_count == 0);
    return now_us();
}

static double latest(double time)
{
    double last = time;
    ftc_allreduce(&time, &last, 1, FTC_DOUBLE, FTC_MAX, comm);
    return last;
}

static void leave(void)
{
    ftc_finalize(comm);
}
#endif

static double *share(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    void *at = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, sizeof(double)) == 0)
        at = mmap(NULL, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    return at;
}

int main(int argc, char **argv)
{
    int rank, size;
    double sum = 0;
    volatile double *killed = argc == 2 ? share(argv[1]) : NULL;
    if (killed == NULL)
        return 2;
    join(&rank, &size);
    for (int i = 0; i < QUIET; i++)
        add(&sum, comm);
    if (rank == size / 2) {
        *killed = now_us();
        raise(SIGKILL);
    }
    double last = latest(work_until_recovered(&sum));
    if (rank == 0)
        printf("recovered %.1f %.0f\n", last - *killed, sum);
    leave();
    return 0;
}
