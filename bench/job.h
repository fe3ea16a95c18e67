/*
 * A job under measurement, for benchmarks and system tests. ftrun is started with a program, and
 * its node segment is read from outside. Any error here ends this process with exit code 1, and
 * ftrun with it.
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

/* Start `ftrun -np ranks <words>`, and wait until the segment is there. The words are options, then
 * a program with its arguments, then NULL. ftrun is $FTRUN, or that of this build. If `quiet` is
 * true, its standard output goes to /dev/null. */
void job_start(struct job *job, int ranks, const char *const words[], bool quiet);

/* Wait until every live rank has returned from `operations` collective calls. */
void job_await_operations(struct job *job, uint64_t operations, int limit_s);

struct ftc_slot *job_slot(const struct job *job, int rank);
struct ftc_standing *job_standing(const struct job *job, int rank);
bool job_failed(const struct job *job, int rank);
pid_t job_pid(const struct job *job, int rank); /* the process that joined */

/* Send `signal` to ftrun if it is not 0, and wait for the end of ftrun. Returns the exit code, or
 * 128 + signal if ftrun was killed. */
int job_end(struct job *job, int signal, int limit_s);

/* Print the error, kill ftrun and exit with code 1. */
_Noreturn void job_die(struct job *job, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void job_nap(long microseconds);

/* Returns the seed for choosing victims, $FTC_TEST_SEED or a fresh one, and prints it. */
uint64_t job_seed(void);
uint64_t job_random(uint64_t *state, uint64_t below);

/* Returns the quantile `part` of the values, from 0 to 1; 0.5 is the median. Returns NaN if there
 * are no values. Sorts `values`. */
double job_quantile(double values[], size_t count, double part);

#endif
