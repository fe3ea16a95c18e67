/* Scratch space for tests: see scratch.h. */
#include "scratch.h"

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "node/jobs.h"
#include "tests/random.h"
#include "tests/suite.h"

#define MOST_NAMES 100 /* that are tried for a job */

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    return remove(path);
}

/* Takes only jobs whose directory lies in our own TMPDIR, because others also run tests on this
 * machine. */
static void sweep(const char *tmpdir)
{
    char(*jobs)[FTC_JOB_NAME_SIZE];
    int count;
    if (ftc_jobs_list(&jobs, &count) != 0)
        return;
    for (int i = 0; i < count; i++) {
        struct ftc_segment_header header;
        if (ftc_segment_peek(&header, jobs[i]) == 0 &&
            strncmp(header.directory, tmpdir, strlen(tmpdir)) == 0)
            (void)ftc_jobs_collect(jobs[i]);
    }
    free(jobs);
}

int scratch_run(Suite *suite)
{
    char tmpdir[] = "/tmp/ftcoll-test-XXXXXX";
    if (mkdtemp(tmpdir) == NULL || setenv("TMPDIR", tmpdir, 1) != 0) {
        perror("mkdtemp");
        return EXIT_FAILURE;
    }
    test_seed_announce();
    int code = test_suite_run(suite);
    sweep(tmpdir);
    nftw(tmpdir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return code;
}

/* An ftrun of another test, which removes what dead jobs left, may take the segment before it is
 * locked. So another name is tried, as in the launcher. */
void scratch_job_make_as(struct scratch_job *job, const struct ftc_segment_spec *wanted)
{
    struct ftc_segment_spec spec = *wanted;
    int rc = FTC_ERR_STATE;
    spec.job = job->name;
    spec.directory = job->directory;
    for (int tries = 0; tries < MOST_NAMES && rc == FTC_ERR_STATE; tries++) {
        rc = ftc_jobs_new(job->name, job->directory, &job->lock);
        ck_assert_msg(rc == 0, "%s", ftc_last_error());
        rc = ftc_segment_create(&job->segment, &spec);
        if (rc != 0) {
            ftc_jobs_remove(job->directory, job->lock, NULL);
            close(job->lock);
        }
    }
    ck_assert_msg(rc == 0, "%s", ftc_last_error());
}

void scratch_job_make(struct scratch_job *job, int ranks)
{
    const struct ftc_segment_spec spec = {
        .host = "testhost",
        .command = "./test",
        .text = "a.b=c\n",
        .ranks = ranks,
        .f = 1,
        .bound_cores = 2,
        .heartbeat_period_ns = 1000000,
        .heartbeat_timeout_ns = 1000000000,
    };
    scratch_job_make_as(job, &spec);
}

void scratch_job_remove(struct scratch_job *job)
{
    ftc_jobs_remove(job->directory, job->lock, job->segment);
    ftc_segment_detach(job->segment);
    close(job->lock);
    job->segment = NULL;
}

pid_t scratch_fork(int (*body)(void *arg), void *arg)
{
    fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(body(arg));
    return child;
}

int scratch_wait(pid_t child)
{
    int status;
    int pidfd = (int)syscall(SYS_pidfd_open, child, 0u);
    struct pollfd item = {.fd = pidfd, .events = POLLIN};
    int rc;
    do
        rc = poll(&item, 1, 60000);
    while (rc < 0 && errno == EINTR);
    close(pidfd);
    if (rc == 0)
        kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(rc > 0, "a child did not end within 60 s");
    return status;
}

void scratch_wait_success(pid_t child)
{
    int status = scratch_wait(child);
    ck_assert_msg(WIFEXITED(status), "child ended by signal %d", WTERMSIG(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}

void scratch_in_child(int (*body)(void *arg), void *arg)
{
    scratch_wait_success(scratch_fork(body, arg));
}
