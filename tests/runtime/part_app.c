/*
 * Ranks of a part of the job, run by ftrun: part_app board|messages|late turns|threads SECONDS. The
 * odd ranks of the job make a communicator in which they count backwards; late: after a death, by
 * messages. They need no agreement for that, since all come to the same numbers. Then all ranks
 * run allreduces, broadcasts and reduces in the world, and the odd ones in the part, in turn
 * with them or in a thread of its own. Each survivor checks that each result has every input of a
 * survivor. It prints "part_app: COUNT operations".
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "include/ftcoll.h"
#include "runtime/algorithms/table.h"
#include "runtime/comm/comm.h"
#include "runtime/process/turn.h"

#define NUMBER ((UINT64_C(77) << 24) + 1)
#define COUNT  3000 /* elements of the greatest value: messages and blocks of several buffers */

static int job_ranks[FTC_NODE_MAX_RANKS];

_Noreturn static void wrong(const char *what, int rank)
{
    fprintf(stderr, "part_app: %s (rank %d): %s\n", what, rank, ftc_last_error());
    exit(99);
}

/* The process drives the part as it drives the world. Under its lock, since its thread runs. */
static ftc_comm *open_part(ftc_comm *world, bool board)
{
    struct ftc_process *process = world->process;
    struct ftc_comm_setup setup = {
        .number = NUMBER, .size = world->size / 2, .job_ranks = job_ranks, .by_messages = !board};
    ftc_comm *part;

    for (int rank = 0; rank < setup.size; rank++) {
        job_ranks[rank] = 2 * (setup.size - 1 - rank) + 1;
        if (job_ranks[rank] == world->rank)
            setup.rank = rank;
    }
    ftc_turn_lock(process);
    int rc = ftc_comm_open(&part, process, &setup, ftc_algorithms);
    ftc_turn_unlock(process);
    if (rc != 0)
        wrong("no communicator", world->rank);
    if ((part->board != NULL) != board)
        wrong("the board of the part is not as wanted", world->rank);
    return part;
}

/* A part that goes by messages stays: another rank may still ask this one for an answer. */
static void close_part(ftc_comm *part)
{
    struct ftc_process *process = part->process;

    if (part->board == NULL)
        return;
    ftc_turn_lock(process);
    ftc_comm_close(part);
    ftc_turn_unlock(process);
}

/* Each rank has a bit of its own in each element. A result has the bits of all that did not
 * fail. */
static void check(ftc_comm *comm, const int64_t *bits, size_t count)
{
    ftc_report report = {.struct_size = sizeof(report)};
    int64_t must = ((int64_t)1 << ftc_size(comm)) - 1;

    if (ftc_last_report(comm, &report) != 0)
        wrong("no report", ftc_rank(comm));
    for (int i = 0; i < report.failed_count; i++)
        must &= ~((int64_t)1 << report.failed[i]);
    for (size_t i = 0; i < count; i++)
        if ((bits[i] & must) != must || bits[i] >> ftc_size(comm) != 0)
            wrong("a result lacks an input", ftc_rank(comm));
}

static void combine(ftc_comm *comm, size_t count)
{
    static _Thread_local int64_t bits[COUNT], result[COUNT];

    for (size_t i = 0; i < count; i++)
        bits[i] = (int64_t)1 << ftc_rank(comm);
    if (ftc_allreduce(bits, result, count, FTC_INT64, FTC_BOR, comm) != 0)
        wrong("allreduce", ftc_rank(comm));
    check(comm, result, count);
}

static void spread(ftc_comm *comm, long step)
{
    int root = (int)(step % ftc_size(comm));
    int64_t word = ftc_rank(comm) == root ? step : -1, sum = 0;
    int rc = ftc_bcast(&word, 1, FTC_INT64, root, comm);

    if (rc != FTC_ERR_ROOT_FAILED && (rc != 0 || word != step))
        wrong("bcast", ftc_rank(comm));
    rc = ftc_reduce(&word, &sum, 1, FTC_INT64, FTC_MAX, root, comm);
    if (rc != 0 && rc != FTC_ERR_TOO_MANY_FAILURES)
        wrong("reduce", ftc_rank(comm));
}

static long step_through(ftc_comm *comm, long step)
{
    static const size_t counts[] = {1, 30, COUNT};

    combine(comm, counts[step % 3]);
    spread(comm, step);
    return 3;
}

/* The clock of each rank counts, since any rank may die, and the ranks agree. */
static bool goes_on(ftc_comm *comm, uint64_t until)
{
    int32_t on = ftc_clock_now() < until, all = 0;

    if (ftc_allreduce(&on, &all, 1, FTC_INT32, FTC_MIN, comm) != 0)
        wrong("allreduce", ftc_rank(comm));
    return all != 0;
}

/* What a thread does: operations in its communicator alone. */
struct strand {
    ftc_comm *comm;
    uint64_t until;
    long count;
};

static void *run_strand(void *arg)
{
    struct strand *strand = arg;

    for (long step = 0; goes_on(strand->comm, strand->until); step++)
        strand->count += step_through(strand->comm, step);
    return NULL;
}

static long run_threads(ftc_comm *world, ftc_comm *part, uint64_t until)
{
    struct strand own = {.comm = world, .until = until}, other = {.comm = part, .until = until};
    pthread_t thread;

    if (part != NULL && pthread_create(&thread, NULL, run_strand, &other) != 0)
        wrong("no thread", ftc_rank(world));
    run_strand(&own);
    if (part != NULL)
        pthread_join(thread, NULL);
    return own.count + other.count;
}

static long run_in_turns(ftc_comm *world, ftc_comm *part, uint64_t until)
{
    long count = 0;

    for (long step = 0; goes_on(world, until); step++) {
        if (part != NULL)
            count += step_through(part, step);
        count += step_through(world, step);
    }
    return count;
}

/* Barriers until one names a rank that has failed. */
static void await_death(ftc_comm *world)
{
    ftc_report report = {.struct_size = sizeof(report)};

    while (report.failed_count == 0)
        if (ftc_barrier(world) != 0 || ftc_last_report(world, &report) != 0)
            wrong("barrier", ftc_rank(world));
}

int main(int argc, char **argv)
{
    ftc_comm *world, *part = NULL;

    if (argc != 4 || ftc_init(NULL, &world) != 0)
        wrong("usage: ftrun ... part_app board|messages|late turns|threads SECONDS", -1);
    if (strcmp(argv[1], "late") == 0)
        await_death(world);
    if (ftc_rank(world) % 2 == 1)
        part = open_part(world, strcmp(argv[1], "board") == 0);
    if (ftc_barrier(world) != 0) /* no rank sends to the part before all have it */
        wrong("barrier", ftc_rank(world));
    if (part != NULL && part->file != NULL)
        ftc_board_file_unlink(part->file);
    uint64_t until = ftc_clock_now() + (uint64_t)(atof(argv[3]) * 1e9);
    bool threads = strcmp(argv[2], "threads") == 0;
    printf("part_app: %ld operations\n",
           threads ? run_threads(world, part, until) : run_in_turns(world, part, until));
    if (ftc_barrier(world) != 0)
        wrong("barrier", ftc_rank(world));
    if (part != NULL)
        close_part(part);
    return ftc_finalize(world);
}
