/*
 * A death and what follows. The second thread of the victim sleeps for a drawn time, writes the
 * clock into shared memory and kills its own process by SIGKILL. Meanwhile the first thread is
 * somewhere in the operation. The other ranks run the operation until the failed set of a result
 * has the victim. All ranks are on one machine, so all read the same clock.
 */
#include "cli/perf/kill.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DELAY_MIN_NS 5000000  /* by then the loop of operations runs */
#define DELAY_NS     20000000 /* the death comes at any moment of this time after it */
#define BATCH_US     20000.0  /* so long the ranks run operations before they agree to stop */
#define LIMIT_NS     10000000000

struct ftc_perf_deaths {
    _Atomic uint64_t died_ns; /* when the last victim died; 0: it lives */
};

/* --- memory without a name --- */
/* The lowest living rank makes it, and the others open it through /proc. */

static int open_of(const struct ftc_perf_job *job, int lead, const double where[2])
{
    char path[64];

    if (job->rank == lead)
        return (int)where[1];
    snprintf(path, sizeof(path), "/proc/%.0f/fd/%.0f", where[0], where[1]);
    return open(path, O_RDWR | O_CLOEXEC);
}

static struct ftc_perf_deaths *map(int fd)
{
    void *memory = MAP_FAILED;

    if (fd >= 0)
        memory =
            mmap(NULL, sizeof(struct ftc_perf_deaths), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Make the memory and put pid and descriptor into where[]; both fit a double. where[] stays -1, -1
 * if it cannot be made. */
static void make(double where[2])
{
    int fd = memfd_create("ftcoll-perf", MFD_CLOEXEC);

    if (fd >= 0 && ftruncate(fd, sizeof(struct ftc_perf_deaths)) == 0) {
        where[0] = getpid();
        where[1] = fd;
    } else if (fd >= 0) {
        close(fd);
    }
}

/* Try once to share the memory. */
static int share(struct ftc_perf_job *job, struct ftc_perf_deaths **deaths)
{
    double where[2] = {-1, -1};
    int lead = job->lead;

    if (job->rank == lead)
        make(where);
    if (ftc_perf_job_max(job, where, 2) != 0)
        return -1;
    int fd = open_of(job, lead, where);
    *deaths = map(fd);
    if (*deaths == NULL)
        ftc_perf_fail("rank %d: no memory shared with rank %d (memfd, /proc/PID/fd): %s", job->rank,
                      lead, strerror(errno));
    int rc = ftc_perf_job_any_failed(
        job, *deaths == NULL); /* the maker keeps it open until all ranks have opened it */
    if (fd >= 0)
        close(fd);
    return rc;
}

int ftc_perf_deaths_init(struct ftc_perf_job *job, struct ftc_perf_deaths **deaths)
{
    int lead, rc;

    do {
        lead = job->lead;
        rc = share(job, deaths);
        if (rc <= 0)
            return rc;
        ftc_perf_deaths_fini(*deaths);
        *deaths = NULL;
        rc = ftc_perf_job_agree(job);
    } while (rc == 0 && job->failed[lead]);
    return rc == 0 ? 1 : rc;
}

void ftc_perf_deaths_fini(struct ftc_perf_deaths *deaths)
{
    if (deaths != NULL)
        munmap(deaths, sizeof(*deaths));
}

/* --- the victim --- */

struct victim {
    struct ftc_perf_deaths *deaths;
    uint64_t delay_ns;
};

static void *die(void *arg)
{
    const struct victim *victim = arg;
    struct timespec left = {.tv_nsec = (long)victim->delay_ns};

    while (nanosleep(&left, &left) != 0)
        ;
    atomic_store(&victim->deaths->died_ns, ftc_perf_now());
    kill(getpid(), SIGKILL);
    return NULL;
}

/* Start the thread that kills this process. `victim` must stay valid until then. */
static int arm(struct victim *victim)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, die, victim);

    return error == 0 ? 0 : ftc_perf_fail("cannot start a thread: %s", strerror(error));
}

/* Draw a living rank, but not the lowest. Every rank draws the same one. */
static int draw(const struct ftc_perf_job *job, uint64_t *random)
{
    uint64_t left = ftc_perf_random(random, (uint64_t)job->living - 1);

    for (int rank = job->lead + 1;; rank++)
        if (!job->failed[rank] && left-- == 0)
            return rank;
}

/* --- the survivors --- */

static bool has_failed(const struct ftc_perf_job *job, int rank)
{
    ftc_report report = {.struct_size = sizeof(report)};

    if (ftc_last_report(job->world, &report) != FTC_SUCCESS)
        return false;
    for (int i = 0; i < report.failed_count; i++)
        if (report.failed[i] == rank)
            return true;
    return false;
}

/* Run `batch` operations. If *seen is 0, set it to the end of the first good operation whose failed
 * set has the victim. */
static int run_batch(struct ftc_perf_bench *bench, int batch, int victim, uint64_t *seen)
{
    for (int i = 0; i < batch; i++) {
        bench->failed = false;
        if (ftc_perf_run(bench, 1) != 0)
            return -1;
        uint64_t now = ftc_perf_now();
        if (*seen == 0 && !bench->failed && has_failed(bench->job, victim))
            *seen = now;
    }
    return 0;
}

/*
 * Run operations until all ranks have seen the death. With plain reduces, ranks learn of a death at
 * different operations. So the ranks agree after each batch whether the loop ends.
 */
static int run_until_seen(struct ftc_perf_bench *bench, int victim, int batch, uint64_t *seen)
{
    uint64_t limit = ftc_perf_now() + LIMIT_NS;
    double state[2]; /* is the death not seen yet; is the time over */

    do {
        if (run_batch(bench, batch, victim, seen) != 0)
            return -1;
        state[0] = *seen == 0;
        state[1] = ftc_perf_now() > limit;
        if (ftc_perf_job_max(bench->job, state, 2) != 0 || ftc_perf_job_agree(bench->job) != 0)
            return -1;
    } while (state[0] != 0 && state[1] == 0);
    if (state[0] != 0 && bench->job->rank == bench->job->lead)
        ftc_perf_fail("rank %d was to die, but not every rank has had %s without it within 10 s",
                      victim, bench->operation->name);
    return state[0] != 0;
}

static int reckon(struct ftc_perf_job *job, uint64_t died, uint64_t seen,
                  struct ftc_perf_kill *kill)
{
    double ns = (double)(int64_t)(seen - died);
    double extremes[2] = {-ns, ns};

    if (died == 0 && job->rank == job->lead)
        ftc_perf_fail("rank %d died before its time, by another hand; measure again", kill->rank);
    if (died == 0)
        return 1;
    if (ftc_perf_job_max(job, extremes, 2) != 0)
        return -1;
    kill->survivors = job->living;
    kill->first = -extremes[0] / 1e3;
    kill->last = extremes[1] / 1e3;
    return 0;
}

int ftc_perf_kill(struct ftc_perf_bench *bench, struct ftc_perf_deaths *deaths, double us,
                  uint64_t *random, struct ftc_perf_kill *kill)
{
    struct ftc_perf_job *job = bench->job;
    uint64_t seen = 0;

    if (job->living < 3 && job->rank == job->lead)
        ftc_perf_fail("only %d ranks are left: others died than were to die", job->living);
    if (job->living < 3)
        return 1;
    kill->rank = draw(job, random);
    struct victim victim = {deaths, DELAY_MIN_NS + ftc_perf_random(random, DELAY_NS)};
    atomic_store(&deaths->died_ns, 0);
    if (ftc_perf_check(job, ftc_barrier(job->world)) != 0) /* died_ns is 0 before any rank dies */
        return -1;
    if (job->rank == kill->rank && arm(&victim) != 0)
        return -1;
    int rc =
        run_until_seen(bench, kill->rank, (int)ftc_perf_clamp(BATCH_US / us, 1, BATCH_US), &seen);
    return rc == 0 ? reckon(job, atomic_load(&deaths->died_ns), seen, kill) : rc;
}
