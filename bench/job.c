/* Starts a job, looks at it from outside and ends it. */
#include "bench/job.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "include/ftcoll.h"
#include "node/jobs.h"

#define WORDS 128

void job_nap(long microseconds)
{
    struct timespec time = {.tv_sec = microseconds / 1000000,
                            .tv_nsec = microseconds % 1000000 * 1000};
    nanosleep(&time, NULL);
}

_Noreturn void job_die(struct job *job, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    if (job->ftrun > 0)
        kill(job->ftrun, SIGKILL);
    exit(1);
}

/* Runs in the child. The job must not outlive the process that measures it. */
static _Noreturn void become_ftrun(const struct job *job, const char *const words[], bool quiet)
{
    const char *ftrun = getenv("FTRUN") != NULL ? getenv("FTRUN") : FTC_BENCH_FTRUN;
    char ranks[16], *argv[WORDS];
    int argc = 3;
    snprintf(ranks, sizeof(ranks), "%d", job->ranks);
    argv[0] = (char *)ftrun;
    argv[1] = "-np";
    argv[2] = ranks;
    for (int i = 0; words[i] != NULL && argc < WORDS - 1; i++)
        argv[argc++] = (char *)words[i];
    argv[argc] = NULL;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, 0);
    if (quiet)
        dup2(null, 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(ftrun, argv);
    fprintf(stderr, "cannot run %s: %m\n", ftrun);
    _exit(127);
}

static bool ended(struct job *job, int *status)
{
    return waitpid(job->ftrun, status, WNOHANG) == job->ftrun;
}

void job_start(struct job *job, int ranks, const char *const words[], bool quiet)
{
    uint64_t limit = ftc_clock_now() + 30 * FTC_NS_PER_S;
    int status;
    *job = (struct job){.ranks = ranks};
    job->ftrun = fork();
    if (job->ftrun < 0)
        job_die(job, "fork: %m");
    if (job->ftrun == 0)
        become_ftrun(job, words, quiet);
    while (ftc_jobs_find(job->name, job->ftrun) != FTC_SUCCESS ||
           ftc_segment_attach(&job->segment, job->name, false) != FTC_SUCCESS) {
        if (ended(job, &status))
            exit(1); /* ftrun has printed why */
        if (ftc_clock_now() > limit)
            job_die(job, "no segment of ftrun %d: %s", (int)job->ftrun, ftc_last_error());
        job_nap(2000);
    }
}

struct ftc_slot *job_slot(const struct job *job, int rank)
{
    return ftc_segment_slot(job->segment, rank);
}

struct ftc_standing *job_standing(const struct job *job, int rank)
{
    return ftc_segment_standing(job->segment, rank);
}

bool job_failed(const struct job *job, int rank)
{
    return ftc_segment_failed(job->segment, rank);
}

pid_t job_pid(const struct job *job, int rank)
{
    struct ftc_standing *standing = job_standing(job, rank);
    return atomic_load_explicit(&standing->phase, memory_order_acquire) == FTC_PHASE_SPAWNED
               ? 0
               : (pid_t)atomic_load(&standing->pid);
}

void job_await_operations(struct job *job, uint64_t operations, int limit_s)
{
    uint64_t limit = ftc_clock_now() + (uint64_t)limit_s * FTC_NS_PER_S;
    int status;
    for (int rank = 0; rank < job->ranks; rank++) {
        while (!job_failed(job, rank) &&
               atomic_load(&job_slot(job, rank)->counters.operations) < operations) {
            if (ended(job, &status))
                job_die(&(struct job){0}, "the job ended early (wait status %#x)",
                        (unsigned)status);
            if (ftc_clock_now() > limit)
                job_die(job, "rank %d did not finish %llu operations in %d s", rank,
                        (unsigned long long)operations, limit_s);
            job_nap(5000);
        }
    }
}

int job_end(struct job *job, int signal, int limit_s)
{
    uint64_t limit = ftc_clock_now() + (uint64_t)limit_s * FTC_NS_PER_S;
    int status;
    if (signal != 0)
        kill(job->ftrun, signal);
    while (!ended(job, &status)) {
        if (ftc_clock_now() > limit)
            job_die(job, "ftrun did not end within %d s", limit_s);
        job_nap(2000);
    }
    ftc_segment_detach(job->segment);
    *job = (struct job){0};
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

uint64_t job_seed(void)
{
    const char *given = getenv("FTC_TEST_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : ftc_clock_now() % 1000000007u;
    printf("seed %llu (FTC_TEST_SEED repeats it)\n", (unsigned long long)seed);
    return seed;
}

/* splitmix64 */
uint64_t job_random(uint64_t *state, uint64_t below)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (z ^ (z >> 31)) % below;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double job_quantile(double values[], size_t count, double part)
{
    if (count == 0)
        return NAN;
    qsort(values, count, sizeof(values[0]), compare);
    return values[(size_t)((double)(count - 1) * part + 0.5)];
}
