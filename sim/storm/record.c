/* Records of runs, and runs in processes of their own. */
#include "sim/storm/record.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

struct ftc_storm_record *ftc_storm_record_new(void)
{
    void *memory = mmap(NULL, sizeof(struct ftc_storm_record), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED) {
        ftc_error_set(FTC_ERR_NOMEM,
                      "no %zu bytes of memory for the record of a run: %m; free some",
                      sizeof(struct ftc_storm_record));
        return NULL;
    }
    return memory;
}

void ftc_storm_record_free(struct ftc_storm_record *record)
{
    if (record != NULL)
        munmap(record, sizeof(*record));
}

void ftc_storm_record_event(struct ftc_storm_record *record, const struct ftc_cluster *cluster,
                            int event)
{
    uint64_t passed = ftc_cluster_age(cluster, event);

    assert(record->events < FTC_CLUSTER_STEPS);
    if (passed > 0)
        record->deviation[record->deviations++] = (struct ftc_schedule_deviation){
            .step = (uint32_t)cluster->steps + 1, .passed = (uint32_t)passed};
    record->event[record->events++] = (uint32_t)event;
    record->steps = cluster->steps + 1;
}

static bool is_recorded(const struct ftc_storm_record *record, int rank)
{
    for (size_t c = 0; c < record->crashes; c++)
        if (record->crash[c].rank == rank)
            return true;
    return false;
}

static void record_death(struct ftc_storm_record *record, const struct ftc_cluster *cluster,
                         int rank)
{
    const struct ftc_cluster_channel *channel = &cluster->channel[rank * cluster->n];

    record->crash[record->crashes++] =
        (struct ftc_schedule_crash){.rank = rank, .outputs = (int)cluster->process[rank].outputs};
    for (int to = 0; to < cluster->n; to++)
        if (channel[to].limit > 0)
            record->loss[record->losses++] =
                (struct ftc_schedule_loss){.from = rank, .to = to, .arrive = channel[to].limit - 1};
}

void ftc_storm_record_deaths(struct ftc_storm_record *record, const struct ftc_cluster *cluster)
{
    size_t dead = (size_t)(cluster->n - ftc_ledger_alive(cluster->ledger));

    for (int rank = 0; record->crashes < dead && rank < cluster->n; rank++)
        if (!cluster->process[rank].alive && !is_recorded(record, rank))
            record_death(record, cluster, rank);
}

/* --- processes --- */

void ftc_storm_record_watch(void)
{
    const struct itimerval patience = {.it_value = {.tv_sec = FTC_STORM_PATIENCE_S}};

    setitimer(ITIMER_PROF, &patience, NULL); /* SIGPROF kills */
}

void ftc_storm_record_alive(uint64_t steps)
{
    struct itimerval left;

    if (steps % FTC_STORM_PATIENCE_STEPS == 0 && getitimer(ITIMER_PROF, &left) == 0 &&
        (left.it_value.tv_sec > 0 || left.it_value.tv_usec > 0))
        ftc_storm_record_watch();
}

bool ftc_storm_record_starved(int status)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == FTC_STORM_EXIT_NOMEM;
}

void ftc_storm_record_obituary(int status, char violation[FTC_SCHEDULE_TEXT], bool *hung)
{
    *hung = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;
    if (*hung)
        snprintf(violation, FTC_SCHEDULE_TEXT,
                 "a step takes for ever: no end after %d s of computing", FTC_STORM_PATIENCE_S);
    else if (WIFSIGNALED(status))
        snprintf(violation, FTC_SCHEDULE_TEXT, "the code under test dies of signal %d (%s)",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(violation, FTC_SCHEDULE_TEXT, "the code under test calls exit(%d)",
                 WEXITSTATUS(status));
}

/* Standard error is closed while it runs, because the same assertion would be printed a thousand
 * times. */
static _Noreturn void run_child(struct ftc_storm_record *record,
                                void (*run)(struct ftc_storm_record *, void *), void *arg,
                                pid_t parent)
{
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_IGN); /* the parent decides */
    signal(SIGTERM, SIG_IGN);
    if (freopen("/dev/null", "w", stderr) == NULL)
        fclose(stderr);
    ftc_cluster_exit_quietly(FTC_STORM_EXIT_NOMEM);
    ftc_storm_record_watch();
    run(record, arg);
    record->ended = true;
    _exit(EXIT_SUCCESS);
}

int ftc_storm_record_try(struct ftc_storm_record *record,
                         void (*run)(struct ftc_storm_record *, void *), void *arg)
{
    int status = 0;
    pid_t parent = getpid();

    record->violation[0] = '\0';
    record->ended = record->hung = false;
    record->steps = 0;
    record->events = record->deviations = record->crashes = record->losses = 0;
    fflush(NULL); /* so that nothing is written twice */
    pid_t child = fork();
    if (child < 0)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot start a process: %m; raise the limit or end others");
    if (child == 0)
        run_child(record, run, arg, parent);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (ftc_storm_record_starved(status))
        return ftc_error_set(
            FTC_ERR_NOMEM,
            "no memory to have a run again, recorded; give fewer ranks, or free some");
    if (!record->ended)
        ftc_storm_record_obituary(status, record->violation, &record->hung);
    return FTC_SUCCESS;
}
