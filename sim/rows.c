/* Works out rows in processes. */
#include "sim/rows.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

/* A row that a process is working out. The process writes the result into the pipe and ends. */
struct worker {
    pid_t pid; /* 0: none */
    int fd, row;
};

struct pool {
    const struct ftc_rows *rows;
    struct worker *worker;
    void *found; /* room for a row */
    int jobs, busy;
    int next;     /* the next row to begin */
    int reported; /* number of rows reported */
    bool *done;
};

static void *row_at(const struct ftc_rows *rows, int row)
{
    return (char *)rows->row + (size_t)row * rows->size;
}

static _Noreturn void work(const struct ftc_rows *rows, void *row, int fd)
{
    const char *bytes = row;

    rows->work(rows->arg, row);
    for (size_t sent = 0; sent < rows->size;) {
        ssize_t more = write(fd, bytes + sent, rows->size - sent);
        if (more < 0 && errno != EINTR)
            _exit(EXIT_FAILURE);
        sent += more > 0 ? (size_t)more : 0;
    }
    _exit(EXIT_SUCCESS);
}

static int start(struct pool *pool, struct worker *worker)
{
    int ends[2];

    if (pipe(ends) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot make a pipe: %m");
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) /* the parent died before the prctl() */
            _exit(EXIT_FAILURE);
        close(ends[0]);
        work(pool->rows, row_at(pool->rows, pool->next), ends[1]);
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

    for (int i = 0; rc == 0 && i < pool->jobs && pool->next < pool->rows->count; i++)
        if (pool->worker[i].pid == 0)
            rc = start(pool, &pool->worker[i]);
    return rc;
}

/* A row fits into the pipe, so its process has ended when the row is read. Pointers in the row are
 * valid here, because the process was a copy of this one. */
static void collect(struct pool *pool, struct worker *worker, int status)
{
    const struct ftc_rows *rows = pool->rows;
    void *row = row_at(rows, worker->row);
    ssize_t size = read(worker->fd, pool->found, rows->size);
    char words[128];

    close(worker->fd);
    if (size == (ssize_t)rows->size && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        memcpy(row, pool->found, rows->size);
    } else {
        snprintf(words, sizeof(words),
                 "its process ended by %s %d; with signal 9 memory was short: try --jobs 1 or "
                 "fewer ranks",
                 WIFSIGNALED(status) ? "signal" : "exit code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        rows->lost(rows->arg, row, words);
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

static bool report_done(struct pool *pool)
{
    const struct ftc_rows *rows = pool->rows;

    while (pool->reported < rows->count && pool->done[pool->reported])
        if (!rows->report(rows->arg, row_at(rows, pool->reported++)))
            return false;
    return true;
}

int ftc_rows_run(const struct ftc_rows *rows, int jobs)
{
    struct pool pool = {.rows = rows, .jobs = jobs};
    bool wanted = true;

    pool.worker = calloc((size_t)jobs, sizeof(*pool.worker));
    pool.done = calloc((size_t)rows->count + 1, sizeof(*pool.done));
    pool.found = malloc(rows->size);
    int rc = 0;
    if (pool.worker == NULL || pool.done == NULL || pool.found == NULL)
        rc = ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    while (rc == 0 && wanted && pool.reported < rows->count) {
        rc = start_all(&pool);
        if (rc == 0)
            rc = wait_for_one(&pool);
        wanted = report_done(&pool);
    }
    while (pool.busy > 0 && wait_for_one(&pool) == 0)
        ; /* wait for the processes that still run */
    free(pool.found);
    free(pool.done);
    free(pool.worker);
    return rc;
}
