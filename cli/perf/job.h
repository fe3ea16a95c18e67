/*
 * The ranks of the measurement, and which of them are alive. Every survivor has the same set.
 *
 * In all of ftcoll-perf a function that returns int returns 0 for success. On failure it has
 * printed the cause on standard error, and returns 1 if all ranks know and leave together, or -1 if
 * this rank must end the job.
 */
#ifndef FTC_CLI_PERF_JOB_H
#define FTC_CLI_PERF_JOB_H

#include <ftcoll.h>
#include <stdbool.h>
#include <stdint.h>

struct ftc_perf_job {
    ftc_comm *world;
    int rank, size;
    int living;
    int lead;            /* the lowest living rank, which prints and is the root */
    ftc_report settings; /* of the first validate: how results spread; the same at every rank */
    /* The lower half of the living ranks exchanges messages with the upper half. -1: of an odd
     * number the last one has no partner. */
    int partner;
    bool starts; /* is in the lower half */
    bool *failed;
    ftc_rank_info *info; /* room for `size` entries */
};

int ftc_perf_job_init(struct ftc_perf_job *job, ftc_comm *world);
void ftc_perf_job_fini(struct ftc_perf_job *job);

/* Agree on the living ranks. Collective. */
int ftc_perf_job_agree(struct ftc_perf_job *job);
/* Replace values[] by the maximum over all ranks, element by element. Collective. */
int ftc_perf_job_max(struct ftc_perf_job *job, double values[], int count);
/* Returns 1 at every rank if `failed` is true at one of them, which has printed why. Collective. */
int ftc_perf_job_any_failed(struct ftc_perf_job *job, bool failed);
/* What the last operation ran with. The strings are constants, as in ftc_report. */
struct ftc_perf_how {
    const char *algorithm;                         /* "board" */
    const char *dissemination, *tree, *correction; /* NULL: its result did not spread by messages */
    int f;                                         /* failures that it masked */
};
struct ftc_perf_how ftc_perf_job_how(const struct ftc_perf_job *job);
bool ftc_perf_same_spread(const struct ftc_perf_how *a, const struct ftc_perf_how *b);

/* Let the lowest living rank print. If it dies meanwhile, the next one prints. Collective. */
int ftc_perf_job_print(struct ftc_perf_job *job, int (*print)(void *arg), void *arg);

/* Nanoseconds of CLOCK_MONOTONIC, which is the same clock in every process of the machine. */
uint64_t ftc_perf_now(void);

/* Print the message after the name of the program. Returns -1. */
int ftc_perf_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns 0 for FTC_SUCCESS. For any other code it prints the library's message and returns -1. */
int ftc_perf_check(const struct ftc_perf_job *job, int rc);

#endif
