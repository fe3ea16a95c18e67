/* A place for tests that make jobs: a TMPDIR of their own, swept clean at the end whatever a test
 * did. */
#ifndef FTC_TEST_SCRATCH_H
#define FTC_TEST_SCRATCH_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "node/segment/segment.h"

/* Run a suite in a TMPDIR of its own; returns main()'s exit code. Segments of jobs made there and
 * the directory are removed afterwards, also when a test was killed half-way. */
int scratch_run(Suite *suite);

/* A job with a segment for `ranks` ranks, made by this process. Fails the test on error. */
struct scratch_job {
    char name[FTC_JOB_NAME_SIZE];
    char directory[108];
    int lock; /* of the directory */
    struct ftc_segment *segment;
};
void scratch_job_make(struct scratch_job *job, int ranks);
/* ... as `wanted` has it, but for job and directory. */
void scratch_job_make_as(struct scratch_job *job, const struct ftc_segment_spec *wanted);
void scratch_job_remove(struct scratch_job *job);

/* Fork `body(arg)`; the child exits with what it returns. */
pid_t scratch_fork(int (*body)(void *arg), void *arg);
/* Wait for a child, at most 60 s; the status of waitpid(). Fails the test if it does not end. */
int scratch_wait(pid_t child);
void scratch_wait_success(pid_t child);
/* Fork, run, and expect exit code 0. */
void scratch_in_child(int (*body)(void *arg), void *arg);

#endif
