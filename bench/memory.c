/*
 * How much memory ftcoll costs for each rank: the resident size of a rank that has made some
 * allreduces, minus that of an empty PMIx client under the same ftrun.
 *
 *   memory [RANKS [LIMIT_MIB]]      default: 512 ranks, no limit
 *
 * Exit code 1 if the difference is more than the limit. Rss counts a page that processes share in
 * full. Pss divides it by the number of the processes that use it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/job.h"

#define LIMIT_S 120

struct usage {
    double rss_kib, pss_kib; /* medians over the ranks */
};

static bool read_usage(pid_t pid, double *rss, double *pss)
{
    char path[64], line[128];
    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    int found = 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        found += sscanf(line, "Rss: %lf", rss) == 1;
        found += sscanf(line, "Pss: %lf", pss) == 1;
    }
    fclose(file);
    return found == 2;
}

static struct usage measure(struct job *job, bool joined)
{
    double *rss = calloc((size_t)job->ranks, sizeof(double)),
           *pss = calloc((size_t)job->ranks, sizeof(double));
    struct usage usage;
    if (rss == NULL || pss == NULL)
        job_die(job, "out of memory");
    for (int rank = 0; rank < job->ranks; rank++) {
        pid_t pid =
            joined ? job_pid(job, rank) : (pid_t)atomic_load(&job_slot(job, rank)->child_pid);
        if (!read_usage(pid, &rss[rank], &pss[rank]))
            job_die(job, "cannot read the memory usage of rank %d (process %d)", rank, (int)pid);
    }
    usage.rss_kib = job_quantile(rss, (size_t)job->ranks, 0.5);
    usage.pss_kib = job_quantile(pss, (size_t)job->ranks, 0.5);
    free(rss);
    free(pss);
    return usage;
}

static bool is_ready(pid_t pid)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    FILE *file = pid > 0 ? fopen(path, "re") : NULL;
    if (file == NULL)
        return false;
    bool read = fgets(name, sizeof(name), file) != NULL;
    fclose(file);
    return read && strcmp(name, "pmix_ready\n") == 0;
}

static void await_ready(struct job *job)
{
    uint64_t limit = ftc_clock_now() + LIMIT_S * FTC_NS_PER_S;
    for (int rank = 0; rank < job->ranks; rank++) {
        while (!is_ready((pid_t)atomic_load(&job_slot(job, rank)->child_pid))) {
            if (ftc_clock_now() > limit)
                job_die(job, "rank %d is not ready", rank);
            job_nap(10000);
        }
    }
}

static void print(const char *what, struct usage usage)
{
    printf("%-20s %8.0f KiB Rss  %8.0f KiB Pss\n", what, usage.rss_kib, usage.pss_kib);
}

int main(int argc, char **argv)
{
    static const char *const empty[] = {"--", FTC_BENCH_PMIX_IDLE, NULL};
    static const char *const loop[] = {"-f", "3", "--", FTC_BENCH_LOOP_APP, "sleep", "600", NULL};
    int ranks = argc > 1 ? atoi(argv[1]) : 512;
    double limit_mib = argc > 2 ? atof(argv[2]) : 1e9;
    struct job job;
    if (ranks < 1 || ranks > FTC_NODE_MAX_LOCAL)
        return 2;
    job_start(&job, ranks, empty, true);
    await_ready(&job);
    struct usage client = measure(&job, false);
    job_end(&job, SIGTERM, LIMIT_S);
    job_start(&job, ranks, loop, true);
    job_await_operations(&job, 20, LIMIT_S);
    struct usage rank = measure(&job, true);
    job_end(&job, SIGTERM, LIMIT_S);
    struct usage cost = {rank.rss_kib - client.rss_kib, rank.pss_kib - client.pss_kib};
    printf("medians of %d ranks\n", ranks);
    print("ftcoll rank", rank);
    print("empty PMIx client", client);
    print("difference", cost);
    return cost.rss_kib > limit_mib * 1024;
}
