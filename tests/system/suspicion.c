/*
 * No rank is suspected because it is busy: 512 ranks compute between allreduces on as few cores as
 * there are, and the default timeout must be enough.
 *
 *   suspicion [SECONDS [RANKS]]      default: 60 seconds, 512 ranks
 *
 * Watches the heartbeat counters from outside and prints the longest time for which one stood
 * still. Exit code 1 means that a rank was declared failed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "bench/job.h"

#define LOOK_US 10000

struct beat {
    uint64_t count, since_ns;
};

static double look(struct job *job, struct beat *beats, double longest_ms)
{
    for (int rank = 0; rank < job->ranks; rank++) {
        uint64_t count = atomic_load(&job_slot(job, rank)->heartbeat), now = ftc_clock_now();
        double gap_ms = (double)(now - beats[rank].since_ns) / 1e6;
        if (job_failed(job, rank))
            job_die(job,
                    "rank %d was declared failed (%s) while it computed; its heartbeat had stood "
                    "for %.0f ms",
                    rank, ftc_failure_cause_name(atomic_load(&job_standing(job, rank)->cause)),
                    gap_ms);
        if (gap_ms > longest_ms)
            longest_ms = gap_ms;
        if (count != beats[rank].count)
            beats[rank] = (struct beat){count, now};
    }
    return longest_ms;
}

static double watch(struct job *job, struct beat *beats, int seconds)
{
    uint64_t start = ftc_clock_now(), end = start + (uint64_t)seconds * FTC_NS_PER_S;
    double longest_ms = 0;
    for (int rank = 0; rank < job->ranks; rank++)
        beats[rank] = (struct beat){atomic_load(&job_slot(job, rank)->heartbeat), start};
    while (ftc_clock_now() < end) {
        job_nap(LOOK_US);
        longest_ms = look(job, beats, longest_ms);
    }
    return longest_ms;
}

int main(int argc, char **argv)
{
    static const char *const words[] = {"-f",   "3",      "--", FTC_BENCH_LOOP_APP,
                                        "busy", "100000", NULL};
    int seconds = argc > 1 ? atoi(argv[1]) : 60, ranks = argc > 2 ? atoi(argv[2]) : 512;
    struct beat *beats;
    struct job job;
    if (seconds < 1 || ranks < 2 || ranks > FTC_NODE_MAX_LOCAL ||
        (beats = calloc((size_t)ranks, sizeof(*beats))) == NULL)
        return 2;
    job_start(&job, ranks, words, true);
    job_await_operations(&job, 1, 120);
    double longest_ms = watch(&job, beats, seconds);
    const struct ftc_segment_header *header = ftc_segment_header(job.segment);
    printf("%d ranks, %d s, %llu operations: longest time without a heartbeat %.0f ms; period %.0f "
           "ms, "
           "timeout %.0f ms\n",
           ranks, seconds, (unsigned long long)atomic_load(&job_slot(&job, 0)->counters.operations),
           longest_ms, (double)header->heartbeat_period_ns / 1e6,
           (double)header->heartbeat_timeout_ns / 1e6);
    job_end(&job, SIGTERM, 60);
    free(beats);
    return 0;
}
