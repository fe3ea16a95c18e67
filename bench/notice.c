/*
 * How long after a rank's death does every survivor know of it?
 *
 *   notice [RANKS [KILLS]]      default: 64 ranks, 25 kills for each kind of program
 *
 * The program kills one rank after another by SIGKILL. For each survivor it measures the time from
 * just before the signal was sent to the moment when the survivor took in the notice
 * (slot->noticed_ns). The first part of this time ends with the declaration by ftrun. It includes
 * the death itself: a killed process must get a core before it can end, which takes long if every
 * core has many computing ranks. "spread" is the rest, from the declaration to the notice.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "bench/job.h"

#define PAUSE_US                                                                                   \
    20000 /* pause between two kills, so that the second does not hit the repair of the first */
#define LIMIT_S 20

struct samples {
    double *notice_ms, *spread_ms, *declared_ms;
    size_t notices, declarations;
};

static int pick_victim(const struct job *job, uint64_t *state)
{
    int rank;
    do
        rank = (int)job_random(state, (uint64_t)job->ranks);
    while (job_failed(job, rank));
    return rank;
}

/* Wait until `rank` has taken in `failures` failures. Returns the time of the last one. */
static uint64_t await_notice(struct job *job, int rank, uint32_t failures)
{
    struct ftc_slot *slot = job_slot(job, rank);
    uint64_t limit = ftc_clock_now() + LIMIT_S * FTC_NS_PER_S;
    while (atomic_load_explicit(&slot->noticed, memory_order_acquire) < failures) {
        if (ftc_clock_now() > limit)
            job_die(job, "rank %d did not notice failure %u within %d s", rank, failures, LIMIT_S);
        job_nap(2000);
    }
    return atomic_load(&slot->noticed_ns);
}

static void kill_one(struct job *job, uint32_t failures, uint64_t *state, struct samples *samples)
{
    int victim = pick_victim(job, state);
    pid_t pid = job_pid(job, victim);
    if (pid <= 0)
        job_die(job, "rank %d has not joined", victim);
    uint64_t start = ftc_clock_now(), declared = 0;
    kill(pid, SIGKILL);
    job_nap(5000); /* the measuring process must not take a core from the ranks */
    for (int rank = 0; rank < job->ranks; rank++) {
        if (rank == victim || job_failed(job, rank))
            continue;
        uint64_t noticed = await_notice(job, rank, failures);
        declared = atomic_load(&job_standing(job, victim)->declared_ns);
        samples->spread_ms[samples->notices] = ((double)noticed - (double)declared) / 1e6;
        samples->notice_ms[samples->notices++] = (double)(noticed - start) / 1e6;
    }
    samples->declared_ms[samples->declarations++] = (double)(declared - start) / 1e6;
}

static void print_row(const char *mode, const char *what, double values[], size_t count)
{
    double median = job_quantile(values, count, 0.5);
    printf("%-8s  %-9s  %7zu  %10.3f  %10.3f  %10.3f  %10.3f\n", mode, what, count, values[0],
           median, job_quantile(values, count, 0.99), values[count - 1]);
    fflush(stdout);
}

static void measure(const char *mode, int ranks, int kills, uint64_t *state)
{
    const char *const words[] = {"-f", "3", "--", FTC_BENCH_LOOP_APP, mode, "600", NULL};
    struct samples samples = {.notice_ms = calloc((size_t)ranks * (size_t)kills, sizeof(double)),
                              .spread_ms = calloc((size_t)ranks * (size_t)kills, sizeof(double)),
                              .declared_ms = calloc((size_t)kills, sizeof(double))};
    struct job job;
    if (samples.notice_ms == NULL || samples.spread_ms == NULL || samples.declared_ms == NULL)
        exit(1);
    job_start(&job, ranks, words, true);
    job_await_operations(&job, 20, 60);
    job_nap(200000);
    for (int k = 0; k < kills; k++) {
        kill_one(&job, (uint32_t)k + 1, state, &samples);
        job_nap(PAUSE_US);
    }
    job_end(&job, SIGTERM, 60);
    print_row(mode, "declared", samples.declared_ms, samples.declarations);
    print_row(mode, "spread", samples.spread_ms, samples.notices);
    print_row(mode, "noticed", samples.notice_ms, samples.notices);
    free(samples.notice_ms);
    free(samples.spread_ms);
    free(samples.declared_ms);
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"reduce", "pace", "sleep", "compute"};
    int ranks = argc > 1 ? atoi(argv[1]) : 64, kills = argc > 2 ? atoi(argv[2]) : 25;
    if (ranks < 2 || ranks > FTC_NODE_MAX_LOCAL || kills < 1 || kills >= ranks) {
        fprintf(stderr, "usage: notice [RANKS [KILLS]], KILLS less than RANKS\n");
        return 2;
    }
    uint64_t state = job_seed();
    printf("milliseconds from SIGKILL, %d ranks, %d kills\n", ranks, kills);
    printf("%-8s  %-9s  %7s  %10s  %10s  %10s  %10s\n", "program", "event", "samples", "min",
           "median", "p99", "max");
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        measure(modes[i], ranks, kills, &state);
    return 0;
}
