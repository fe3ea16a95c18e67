/* A sweep: its rows, one process each. */
#include "sim/timed/sweep.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "config/config.h"

/* --- one row --- */

/* Does chance have a say even where nobody dies? */
static bool varies(const struct ftc_sweep *sweep)
{
    return sweep->options.timed.think_ns > 0 || sweep->options.timed.distance.kind == FTC_DISTANCE_TORUS;
}

struct runs {
    struct ftc_member_settings member;
    struct ftc_program_operation operation;
    struct ftc_program program;
    struct ftc_timed_settings settings;
};

static int one_run(struct runs *runs, struct ftc_sweep_row *row, struct ftc_timed_operation *out)
{
    struct ftc_timed_result result;
    int rc = ftc_timed_run(&runs->member, &runs->program, &runs->settings, NULL, &result);

    if (rc != 0) {
        row->code = FTC_SIM_EXIT_ERROR;
        snprintf(row->words, sizeof(row->words), "%s", ftc_last_error());
        return rc;
    }
    if (result.violation[0] != '\0') {
        row->code = FTC_SIM_EXIT_VIOLATION;
        row->bad_seed = runs->settings.seed;
        snprintf(row->words, sizeof(row->words), "%s", result.violation);
        rc = FTC_ERR_PROTO;
    }
    *out = result.operation[0];
    ftc_timed_result_fini(&result);
    return rc;
}

/* Deaths are drawn from the time that the operation takes without any: look once where that is always the same. */
static int find_horizon(const struct ftc_sweep *sweep, struct runs *runs, struct ftc_sweep_row *row)
{
    struct ftc_timed_operation calm = {0};
    int kills = runs->settings.kills;

    if (kills == 0 || runs->settings.at_start || varies(sweep))
        return 0;
    runs->settings.kills = 0;
    int rc = one_run(runs, row, &calm);
    runs->settings.kills = kills;
    runs->settings.horizon_ns = calm.last_delivery;
    return rc;
}

static int by_latency(const void *a, const void *b)
{
    const struct ftc_timed_operation *x = a, *y = b;
    uint64_t first = x->last_delivery - x->first_call, second = y->last_delivery - y->first_call;

    return first < second ? -1 : first > second;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static void summarize_root(struct ftc_sweep_row *row, const struct ftc_timed_operation *run, uint64_t *time)
{
    for (int i = 0; i < row->runs; i++)
        if (run[i].root_delivered)
            time[row->root_runs++] = run[i].root_delivery - run[i].first_call;
    qsort(time, (size_t)row->root_runs, sizeof(*time), by_number);
    if (row->root_runs > 0)
        row->root_latency = time[(row->root_runs - 1) / 2];
}

static void summarize(struct ftc_sweep_row *row, struct ftc_timed_operation *run, uint64_t *time)
{
    int last = row->runs - 1;

    qsort(run, (size_t)row->runs, sizeof(*run), by_latency);
    row->median = run[last / 2];
    row->least = run[0].last_delivery - run[0].first_call;
    row->latency = row->median.last_delivery - row->median.first_call;
    row->most = run[last].last_delivery - run[last].first_call;
    summarize_root(row, run, time);
}

void ftc_sweep_run(const struct ftc_sweep *sweep, struct ftc_sweep_row *row)
{
    struct runs runs = {.member = sweep->member,
                        .operation = *row->operation,
                        .settings = ftc_timed_options_settings(&sweep->options, row->cost, sweep->seed)};
    int wanted = row->kills > 0 || varies(sweep) ? sweep->repeat : 1;
    struct ftc_timed_operation *run = calloc((size_t)wanted, sizeof(*run));
    uint64_t *time = calloc((size_t)wanted, sizeof(*time));

    ftc_config_fit(&runs.member, row->n);
    runs.member.f = row->f;
    runs.program = (struct ftc_program){.operation = &runs.operation, .length = 1};
    runs.settings.kills = row->kills;
    int rc = run != NULL && time != NULL ? find_horizon(sweep, &runs, row) : FTC_ERR_NOMEM;
    for (; rc == 0 && row->runs < wanted; row->runs++) {
        runs.settings.seed = sweep->seed + (uint64_t)row->runs;
        rc = one_run(&runs, row, &run[row->runs]);
    }
    if (rc == 0)
        summarize(row, run, time);
    else if (row->code == FTC_SIM_EXIT_OK)
        row->code = FTC_SIM_EXIT_ERROR;
    free(time);
    free(run);
}

/* --- all rows --- */

/* A row under way in a process of its own, which writes what it found into the pipe and ends. */
struct worker {
    pid_t pid; /* 0: none */
    int fd, row;
};

struct pool {
    struct ftc_sweep *sweep;
    struct worker *worker;
    int jobs, busy;
    int next;     /* row to begin */
    int reported; /* rows */
    bool *done;
};

static void work(const struct ftc_sweep *sweep, struct ftc_sweep_row *row, int fd)
{
    ftc_sweep_run(sweep, row);
    const char *bytes = (const char *)row;
    for (size_t sent = 0; sent < sizeof(*row);) {
        ssize_t more = write(fd, bytes + sent, sizeof(*row) - sent);
        if (more < 0 && errno != EINTR)
            _exit(FTC_SIM_EXIT_ERROR);
        sent += more > 0 ? (size_t)more : 0;
    }
    _exit(FTC_SIM_EXIT_OK);
}

static int start(struct pool *pool, struct worker *worker)
{
    int ends[2];

    if (pipe(ends) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot make a pipe: %m");
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) /* it died before that */
            _exit(FTC_SIM_EXIT_ERROR);
        close(ends[0]);
        work(pool->sweep, &pool->sweep->row[pool->next], ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot make a process: %m; try --jobs 1");
    }
    *worker = (struct worker){.pid = pid, .fd = ends[0], .row = pool->next++};
    pool->busy++;
    return 0;
}

static int start_all(struct pool *pool)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < pool->jobs && pool->next < pool->sweep->rows; i++)
        if (pool->worker[i].pid == 0)
            rc = start(pool, &pool->worker[i]);
    return rc;
}

/* A row is a few hundred bytes: it fits the pipe, so its process has ended when it is read. */
static void collect(struct pool *pool, struct worker *worker, int status)
{
    struct ftc_sweep_row *row = &pool->sweep->row[worker->row], found;
    ssize_t size = read(worker->fd, &found, sizeof(found));

    close(worker->fd);
    if (size == (ssize_t)sizeof(found) && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        *row = found; /* its pointers are ours: the process was a copy of this one */
    } else {
        row->code = FTC_SIM_EXIT_ERROR;
        snprintf(row->words, sizeof(row->words),
                 "its process ended by %s %d; with signal 9 memory was short: try --jobs 1 or fewer ranks",
                 WIFSIGNALED(status) ? "signal" : "exit code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    pool->done[worker->row] = true;
    worker->pid = 0;
    pool->busy--;
}

static int wait_for_one(struct pool *pool)
{
    int status;
    pid_t pid;

    do {
        pid = wait(&status);
    } while (pid < 0 && errno == EINTR);
    if (pid < 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot wait for a process: %m");
    for (int i = 0; i < pool->jobs; i++)
        if (pool->worker[i].pid == pid)
            collect(pool, &pool->worker[i], status);
    return 0;
}

static bool report_done(struct pool *pool, bool (*report)(void *arg, const struct ftc_sweep_row *row),
                        void *arg)
{
    while (pool->reported < pool->sweep->rows && pool->done[pool->reported])
        if (!report(arg, &pool->sweep->row[pool->reported++]))
            return false;
    return true;
}

int ftc_sweep_run_all(struct ftc_sweep *sweep, int jobs,
                      bool (*report)(void *arg, const struct ftc_sweep_row *row), void *arg)
{
    struct pool pool = {.sweep = sweep, .jobs = jobs};
    bool wanted = true;

    pool.worker = calloc((size_t)jobs, sizeof(*pool.worker));
    pool.done = calloc((size_t)sweep->rows + 1, sizeof(*pool.done));
    int rc = pool.worker != NULL && pool.done != NULL ? 0 : ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    while (rc == 0 && wanted && pool.reported < sweep->rows) {
        rc = start_all(&pool);
        if (rc == 0)
            rc = wait_for_one(&pool);
        wanted = report_done(&pool, report, arg);
    }
    while (pool.busy > 0 && wait_for_one(&pool) == 0)
        ; /* let those under way end */
    free(pool.done);
    free(pool.worker);
    return rc;
}
