/* A place for tests that make jobs: each test program gets its own TMPDIR, which is swept clean at
 * the end, whatever a test did. */
#ifndef FTC_TEST_SCRATCH_H
#define FTC_TEST_SCRATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "node/segment/segment.h"
#include "tests/suite.h"

/* Runs a suite in its own TMPDIR. Returns main()'s exit code. Afterwards removes the segments of
 * jobs made there, and the directory. This holds also when a test was killed half-way. */
int scratch_run(Suite *suite);

/* A job with a segment for `ranks` ranks, made by this process. Fails the test on error. */
struct scratch_job {
    char name[FTC_JOB_NAME_SIZE];
    char directory[108];
    int lock; /* lock of the directory */
    struct ftc_segment *segment;
};
void scratch_job_make(struct scratch_job *job, int ranks);
/* The same, but as `wanted` has it, except for job and directory. */
void scratch_job_make_as(struct scratch_job *job, const struct ftc_segment_spec *wanted);
void scratch_job_remove(struct scratch_job *job);

/* Forks `body(arg)`. The child exits with its return value. */
pid_t scratch_fork(int (*body)(void *arg), void *arg);
/* Waits for a child, at most 60 s. Returns the status of waitpid(). Fails the test if the child
 * does not end. */
int scratch_wait(pid_t child);
void scratch_wait_success(pid_t child);
/* Forks, runs, and expects exit code 0. */
void scratch_in_child(int (*body)(void *arg), void *arg);

#endif
