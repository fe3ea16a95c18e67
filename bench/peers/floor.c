/*
 * The floor under every barrier: a bare counter in shared memory of forked processes, without any
 * library. The last process to arrive increments a generation word, for which the others wait.
 *
 *   floor NP WAIT BIND SECONDS
 *
 * prints this line; series.h says what a batch is:
 *
 *   floor WAIT BIND NP iterations median_us p99_us
 *
 * WAIT   spin       read again and again
 *        yield      sched_yield() between two reads
 *        futex      sleep at once
 *        adaptive   20 yields, then sleep
 * BIND   none       no binding
 *        cores      process i on the i-th core that may be used, in turn
 */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/peers/series.h"
#include "bench/peers/signals.h"

#define NP_MAX 4096

struct shared {
    _Alignas(64) atomic_int arrived;
    struct signal generation;
    _Alignas(64) long operations; /* in the next batch; rank 0 sets it between two barriers */
};

static const struct patience waits[] = {
    {"spin", -1, pause_spin},
    {"yield", -1, pause_yield},
    {"futex", 0, pause_spin},
    {"adaptive", 20, pause_yield},
};

static void barrier(struct shared *shared, int np, const struct patience *wait)
{
    unsigned generation = atomic_load_explicit(&shared->generation.count, memory_order_relaxed);
    if (atomic_fetch_add(&shared->arrived, 1) + 1 < np) {
        signal_await(&shared->generation, generation + 1, wait);
        return;
    }
    atomic_store_explicit(&shared->arrived, 0, memory_order_relaxed);
    signal_set(&shared->generation, generation + 1);
}

/* What every process runs. Rank 0 passes its series. */
static void run(struct shared *shared, int np, const struct patience *wait, struct series *series)
{
    long operations = shared->operations;
    while (operations > 0) {
        barrier(shared, np, wait);
        double start = series_now();
        for (long i = 0; i < operations; i++)
            barrier(shared, np, wait);
        if (series != NULL)
            shared->operations = series_next(series, series_now() - start);
        barrier(shared, np, wait);
        operations = shared->operations;
    }
}

static void bind_to_core(int rank)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return;
    int skip = rank % CPU_COUNT(&allowed), core = 0;
    while (!CPU_ISSET(core, &allowed) || skip-- > 0)
        core++;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

static const struct patience *find_wait(const char *name)
{
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
        if (strcmp(waits[i].name, name) == 0)
            return &waits[i];
    return NULL;
}

int main(int argc, char **argv)
{
    static struct series series;
    int np = argc == 5 ? atoi(argv[1]) : 0;
    const struct patience *wait = argc == 5 ? find_wait(argv[2]) : NULL;
    double seconds = argc == 5 ? atof(argv[4]) : 0;
    if (np < 1 || np > NP_MAX || wait == NULL || seconds <= 0 ||
        (strcmp(argv[3], "none") != 0 && strcmp(argv[3], "cores") != 0)) {
        fputs("usage: floor NP spin|yield|futex|adaptive none|cores SECONDS\n", stderr);
        return 2;
    }
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        fprintf(stderr, "floor: no shared memory: %s\n", strerror(errno));
        return 1;
    }
    shared->operations = series_start(&series, seconds);
    int rank = fork_processes("floor", np);
    if (strcmp(argv[3], "cores") == 0)
        bind_to_core(rank);
    run(shared, np, wait, rank == 0 ? &series : NULL);
    if (rank != 0)
        _exit(0);
    await_processes();
    printf("floor %s %s %d %ld %.4f %.4f\n", wait->name, argv[3], np, series.total,
           series_quantile(&series, 0.5), series_quantile(&series, 0.99));
    return 0;
}
