/*
 * A job under measurement: ftrun is started with a program, and its node segment is looked at,
 * read-only, from outside. For benchmarks and system tests: whatever goes wrong here ends the
 * process with exit code 1, and ftrun with it.
 */
#ifndef FTC_BENCH_JOB_H
#define FTC_BENCH_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "node/segment/segment.h"

struct job {
    pid_t ftrun;
    int ranks;
    char name[FTC_JOB_NAME_SIZE];
    struct ftc_segment *segment;
};

/* Start `ftrun -np ranks <words>`: options, then a program with its arguments, NULL-terminated.
 * Waits until the segment is there. ftrun is $FTRUN, or the one of this build. If `quiet`, its
 * standard output goes to /dev/null. */
void job_start(struct job *job, int ranks, const char *const words[], bool quiet);

/* Wait until every live rank has returned from `operations` collective calls. */
void job_await_operations(struct job *job, uint64_t operations, int limit_s);

struct ftc_slot *job_slot(const struct job *job, int rank);
bool job_failed(const struct job *job, int rank);
pid_t job_pid(const struct job *job, int rank); /* the process that joined */

/* Send `signal` to ftrun if it is not 0, wait for its end, return its exit code (128 + signal if
 * killed). */
int job_end(struct job *job, int signal, int limit_s);

/* Say what is wrong, kill ftrun, exit with 1. */
_Noreturn void job_die(struct job *job, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void job_nap(long microseconds);

/* Seed for choosing victims: $FTC_TEST_SEED, or a fresh one; printed. */
uint64_t job_seed(void);
uint64_t job_random(uint64_t *state, uint64_t below);

/* Sorts `values`. `part` from 0 to 1: 0.5 is the median. NaN if there are none. */
double job_quantile(double values[], size_t count, double part);

#endif
