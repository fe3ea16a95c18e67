/* Workers of a storm. */
#include "sim/storm/pool.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

#define BLOCK   16 /* runs that a worker takes at a time */
#define LOOK_NS (100 * FTC_NS_PER_MS)
/* From the request to stop to SIGKILL. A second request is obeyed at once. */
#define FAREWELL_NS (5 * FTC_NS_PER_S)
#define NONE        UINT64_MAX

/* The slot of a worker. Only the worker writes it. The parent reads it when the worker has ended,
 * and the atomics at any time. */
struct slot {
    _Alignas(64) _Atomic uint64_t present; /* the current run */
    _Atomic uint64_t runs, deaths;         /* so far */
    struct ftc_storm_sums sums;
    bool ended;
    uint64_t violated; /* run, or NONE */
    char violation[FTC_SCHEDULE_TEXT];
};

struct board {
    _Alignas(64) _Atomic uint64_t next;   /* the first run that no worker has taken */
    _Alignas(64) _Atomic uint64_t lowest; /* lowest run that broke a promise, or NONE */
    _Atomic bool stop;
    struct slot slot[];
};

struct pool {
    const struct ftc_storm_plan *plan;
    struct board *board; /* shared */
    size_t size;
    pid_t *pid; /* by worker; 0: it was not started, or it has ended */
    int alive;
    sigset_t signals, before; /* signals: those to wait for; before: the caller's mask */
    struct sigaction child;   /* the caller's action for SIGCHLD */
    uint64_t killed_at;       /* when the remaining workers will be killed; 0: never */
    bool interrupted;
    int rc; /* FTC_ERR_NOMEM: a worker had no memory */
};

/* --- workers --- */

static void lower(_Atomic uint64_t *lowest, uint64_t run)
{
    uint64_t before = atomic_load(lowest);

    while (run < before && !atomic_compare_exchange_weak(lowest, &before, run))
        continue;
}

/* One run. False: it broke a promise. */
static bool run_one(const struct ftc_storm_plan *plan, struct slot *slot, uint64_t run)
{
    struct ftc_storm storm;

    atomic_store_explicit(&slot->present, run, memory_order_relaxed);
    ftc_storm_record_watch();
    ftc_storm_draw(&storm, &plan->frame, plan->seed + run);
    bool kept = ftc_storm_run(&storm, plan->promise, &slot->sums, NULL, NULL, slot->violation);
    atomic_store_explicit(&slot->runs, slot->sums.runs, memory_order_relaxed);
    atomic_store_explicit(&slot->deaths, slot->sums.deaths, memory_order_relaxed);
    return kept;
}

static bool is_over(const struct board *board, uint64_t run)
{
    return atomic_load_explicit(&board->stop, memory_order_relaxed) ||
           run >= atomic_load_explicit(&board->lowest, memory_order_relaxed);
}

/* Take blocks in ascending order, until no block is left before the first broken promise. */
static void work(const struct ftc_storm_plan *plan, struct board *board, struct slot *slot)
{
    for (;;) {
        uint64_t first = atomic_fetch_add(&board->next, BLOCK);
        uint64_t last = first + BLOCK < plan->runs ? first + BLOCK : plan->runs;
        for (uint64_t run = first; run < last; run++) {
            if (is_over(board, run))
                return;
            if (run_one(plan, slot, run))
                continue;
            slot->violated = run;
            lower(&board->lowest, run);
            return;
        }
        if (first >= plan->runs)
            return;
    }
}

static _Noreturn void run_worker(struct pool *pool, struct slot *slot, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    /* a terminal may send both to the whole group, but the parent decides */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    sigprocmask(SIG_SETMASK, &pool->before, NULL);
    ftc_cluster_exit_quietly(FTC_STORM_EXIT_NOMEM);
    work(pool->plan, pool->board, slot);
    slot->ended = true;
    _exit(EXIT_SUCCESS);
}

/* --- parent --- */

static int share_board(struct pool *pool)
{
    int jobs = pool->plan->jobs;

    pool->size = sizeof(struct board) + (size_t)jobs * sizeof(struct slot);
    pool->board = mmap(NULL, pool->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pool->board == MAP_FAILED)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for %d workers: %m; give fewer --jobs",
                             jobs);
    atomic_store(&pool->board->lowest, NONE);
    for (int worker = 0; worker < jobs; worker++)
        pool->board->slot[worker].violated = NONE;
    pool->pid = calloc((size_t)jobs, sizeof(*pool->pid));
    if (pool->pid != NULL)
        return FTC_SUCCESS;
    munmap(pool->board, pool->size);
    return ftc_error_set(FTC_ERR_NOMEM, "no memory for %d workers; give fewer --jobs", jobs);
}

/* SIGCHLD, SIGINT and SIGTERM are waited for, never handled. */
static void hold_signals(struct pool *pool)
{
    const struct sigaction fresh = {.sa_handler = SIG_DFL};

    sigemptyset(&pool->signals);
    sigaddset(&pool->signals, SIGCHLD);
    sigaddset(&pool->signals, SIGINT);
    sigaddset(&pool->signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &pool->signals, &pool->before);
    sigaction(SIGCHLD, &fresh, &pool->child);
}

static void release_signals(const struct pool *pool)
{
    const struct timespec now = {0};

    while (sigtimedwait(&pool->signals, NULL, &now) >= 0) /* such as a second Ctrl-C */
        continue;
    sigaction(SIGCHLD, &pool->child, NULL);
    sigprocmask(SIG_SETMASK, &pool->before, NULL);
}

static int start_workers(struct pool *pool)
{
    pid_t parent = getpid();

    fflush(NULL); /* so that nothing is written twice */
    for (int worker = 0; worker < pool->plan->jobs; worker++) {
        pid_t pid = fork();
        if (pid < 0)
            return ftc_error_set(FTC_ERR_SYSTEM, "cannot start worker %d: %m; give fewer --jobs",
                                 worker);
        if (pid == 0)
            run_worker(pool, &pool->board->slot[worker], parent);
        pool->pid[worker] = pid;
        pool->alive++;
    }
    return FTC_SUCCESS;
}

static void stop(struct pool *pool)
{
    bool again = atomic_exchange(&pool->board->stop, true);

    pool->killed_at = ftc_clock_now() + (again ? 0 : FAREWELL_NS);
}

/* A worker had no memory for its run: all stop. */
static void starve(struct pool *pool, uint64_t run)
{
    struct ftc_storm storm;

    ftc_storm_draw(&storm, &pool->plan->frame, pool->plan->seed + run);
    pool->rc = ftc_error_set(FTC_ERR_NOMEM,
                             "no memory for %d ranks of seed %llu; give fewer ranks or --jobs",
                             storm.settings.ranks, (unsigned long long)storm.seed);
    stop(pool);
}

/* A worker is gone. If it did not end by itself, its run is to blame. */
static void bury(struct pool *pool, int worker, int status)
{
    struct slot *slot = &pool->board->slot[worker];
    bool hung;

    pool->pid[worker] = 0;
    pool->alive--;
    bool killed = pool->killed_at != 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (slot->ended || killed)
        return;
    if (ftc_storm_record_starved(status)) {
        starve(pool, atomic_load(&slot->present));
        return;
    }
    slot->violated = atomic_load(&slot->present);
    ftc_storm_record_obituary(status, slot->violation, &hung);
    lower(&pool->board->lowest, slot->violated);
}

static void reap(struct pool *pool)
{
    int status;

    for (int worker = 0; worker < pool->plan->jobs; worker++)
        if (pool->pid[worker] != 0 &&
            waitpid(pool->pid[worker], &status, WNOHANG) == pool->pid[worker])
            bury(pool, worker, status);
}

static void kill_late(struct pool *pool)
{
    if (pool->killed_at == 0 || ftc_clock_now() < pool->killed_at)
        return;
    for (int worker = 0; worker < pool->plan->jobs; worker++)
        if (pool->pid[worker] != 0)
            kill(pool->pid[worker], SIGKILL);
}

static void show(const struct pool *pool)
{
    uint64_t runs = 0, deaths = 0;
    char more[64];

    if (pool->plan->progress == NULL)
        return;
    for (int worker = 0; worker < pool->plan->jobs; worker++) {
        runs += atomic_load_explicit(&pool->board->slot[worker].runs, memory_order_relaxed);
        deaths += atomic_load_explicit(&pool->board->slot[worker].deaths, memory_order_relaxed);
    }
    snprintf(more, sizeof(more), "%llu deaths", (unsigned long long)deaths);
    ftc_progress_show(pool->plan->progress, runs, more);
}

/* Wait until no worker is left. */
static void attend(struct pool *pool)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};

    while (pool->alive > 0) {
        int number = sigtimedwait(&pool->signals, NULL, &look);
        if (number == SIGINT || number == SIGTERM) {
            pool->interrupted = true;
            stop(pool);
        }
        reap(pool);
        kill_late(pool);
        show(pool);
    }
}

static void gather(const struct pool *pool, struct ftc_storm_outcome *outcome)
{
    uint64_t lowest = atomic_load(&pool->board->lowest);

    outcome->interrupted = pool->interrupted;
    for (int worker = 0; worker < pool->plan->jobs; worker++) {
        const struct slot *slot = &pool->board->slot[worker];
        outcome->sums.runs += slot->sums.runs;
        outcome->sums.deaths += slot->sums.deaths;
        outcome->sums.steps += slot->sums.steps;
        outcome->sums.flips += slot->sums.flips;
        for (int rule = 0; rule < FTC_RULES_COUNT; rule++)
            outcome->sums.rules[rule] += slot->sums.rules[rule];
        if (lowest == NONE || slot->violated != lowest)
            continue;
        outcome->violated = true;
        outcome->seed = pool->plan->seed + lowest;
        memcpy(outcome->violation, slot->violation, sizeof(outcome->violation));
    }
}

int ftc_storm_pool_run(const struct ftc_storm_plan *plan, struct ftc_storm_outcome *outcome)
{
    struct pool pool = {.plan = plan};

    *outcome = (struct ftc_storm_outcome){0};
    int rc = share_board(&pool);
    if (rc != FTC_SUCCESS)
        return rc;
    hold_signals(&pool);
    rc = start_workers(&pool);
    if (rc != FTC_SUCCESS)
        stop(&pool); /* stop the workers that were started */
    attend(&pool);
    release_signals(&pool);
    gather(&pool, outcome);
    free(pool.pid);
    munmap(pool.board, pool.size);
    return rc != FTC_SUCCESS ? rc : pool.rc;
}
