/*
 * How long after a rank was stopped is it declared failed? The bound is the timeout and two
 * periods: one period until the last heartbeat ages, one until ftrun looks again.
 *
 *   stopped [TIMES [PERIOD_MS [TIMEOUT_MS [SLACK_PERCENT]]]]
 *
 * The defaults are 50 times, 50 ms, 500 ms and 0 %. The program stops one of 8 ranks by SIGSTOP,
 * again and again, in as many jobs as it takes. The survivors must go on. The exit code is 1 if a
 * declaration came before the timeout was over, or later than the bound plus the slack (in percent
 * of the timeout).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "bench/job.h"

#define RANKS   8
#define LIMIT_S 30

struct plan {
    int times, period_ms, timeout_ms, slack_percent;
};

static double stop_one(struct job *job, int victim)
{
    uint64_t start = ftc_clock_now();
    if (kill(job_pid(job, victim), SIGSTOP) != 0)
        job_die(job, "cannot stop rank %d: %m", victim);
    while (!job_failed(job, victim)) {
        if (ftc_clock_now() > start + LIMIT_S * FTC_NS_PER_S)
            job_die(job, "rank %d was stopped and is not declared failed after %d s", victim,
                    LIMIT_S);
        job_nap(2000);
    }
    return (double)(atomic_load(&job_standing(job, victim)->declared_ns) - start) / 1e6;
}

/* Check that the survivors finish operations that they called after the death. */
static void expect_progress(struct job *job, int survivor)
{
    job_await_operations(job, atomic_load(&job_slot(job, survivor)->counters.operations) + 3,
                         LIMIT_S);
}

/* Run one job and stop up to RANKS - 1 of its ranks, the first coordinators among them. Returns how
 * many it stopped. */
static int run_job(const struct plan *plan, int wanted, double *times_ms)
{
    char period[64], timeout[64];
    snprintf(period, sizeof(period), "detector.heartbeat_period_ms=%d", plan->period_ms);
    snprintf(timeout, sizeof(timeout), "detector.heartbeat_timeout_ms=%d", plan->timeout_ms);
    const char *const words[] = {"-f",    "1",     "--set", period,
                                 "--set", timeout, "--",    FTC_BENCH_LOOP_APP,
                                 "pace",  "600",   NULL};
    struct job job;
    int stopped = 0;
    job_start(&job, RANKS, words, true);
    job_await_operations(&job, 20, 60);
    while (stopped < RANKS - 1 && stopped < wanted) {
        times_ms[stopped] = stop_one(&job, stopped);
        stopped++;
        expect_progress(&job, RANKS - 1);
    }
    job_end(&job, SIGTERM, LIMIT_S);
    return stopped;
}

static int judge(const struct plan *plan, double *times_ms)
{
    size_t count = (size_t)plan->times;
    double bound = plan->timeout_ms + 2 * plan->period_ms,
           slack = plan->timeout_ms * plan->slack_percent / 100.;
    double median = job_quantile(times_ms, count, 0.5), least = times_ms[0],
           most = times_ms[count - 1];
    printf("SIGSTOP to declaration, %d times, period %d ms, timeout %d ms: min %.1f, median %.1f, "
           "p99 %.1f, "
           "max %.1f ms; bound %.0f ms + slack %.0f ms\n",
           plan->times, plan->period_ms, plan->timeout_ms, least, median,
           job_quantile(times_ms, count, 0.99), most, bound, slack);
    if (most > bound + slack)
        printf("too late\n");
    if (least < plan->timeout_ms - plan->period_ms)
        printf("too early: a rank may stand still for the timeout\n");
    return most > bound + slack || least < plan->timeout_ms - plan->period_ms;
}

int main(int argc, char **argv)
{
    struct plan plan = {.times = argc > 1 ? atoi(argv[1]) : 50,
                        .period_ms = argc > 2 ? atoi(argv[2]) : 50,
                        .timeout_ms = argc > 3 ? atoi(argv[3]) : 500,
                        .slack_percent = argc > 4 ? atoi(argv[4]) : 0};
    if (plan.times < 1 || plan.period_ms < 1 || plan.timeout_ms < 2 * plan.period_ms ||
        plan.slack_percent < 0) {
        fprintf(stderr, "usage: stopped [TIMES [PERIOD_MS [TIMEOUT_MS [SLACK_PERCENT]]]]\n");
        return 2;
    }
    double *times_ms = calloc((size_t)plan.times, sizeof(double));
    if (times_ms == NULL)
        return 1;
    for (int done = 0; done < plan.times;)
        done += run_job(&plan, plan.times - done, times_ms + done);
    int rc = judge(&plan, times_ms);
    free(times_ms);
    return rc;
}
