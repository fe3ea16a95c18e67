/*
 * The ranks of the measurement and who of them is alive, the same at every survivor.
 *
 * In all of ftcoll-perf a function that returns int returns 0, or something else after it was said
 * on standard error what is wrong: 1 if all ranks know and leave together, -1 if this rank has to
 * end the job.
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
    int lead;            /* the lowest living rank: it prints, and is the root */
    ftc_report settings; /* f, and how results spread; the same at every rank */
    bool *failed;
    ftc_rank_info *info; /* room for `size` */
};

int ftc_perf_job_init(struct ftc_perf_job *job, ftc_comm *world);
void ftc_perf_job_fini(struct ftc_perf_job *job);

/* Agree who is alive. Collective. */
int ftc_perf_job_agree(struct ftc_perf_job *job);
/* values[] := the maximum over all ranks, element by element. Collective. */
int ftc_perf_job_max(struct ftc_perf_job *job, double values[], int count);
/* 1 at every rank if one of them has failed: it has said why. Collective. */
int ftc_perf_job_any_failed(struct ftc_perf_job *job, bool failed);
/* What the last operation ran with: constants, as in ftc_report. */
struct ftc_perf_how {
    const char *algorithm;                         /* "board" */
    const char *dissemination, *tree, *correction; /* NULL: its result did not spread by messages */
};
struct ftc_perf_how ftc_perf_job_how(const struct ftc_perf_job *job);
bool ftc_perf_same_spread(const struct ftc_perf_how *a, const struct ftc_perf_how *b);

/* Have the lowest living rank print; if it dies meanwhile, the next one does. Collective. */
int ftc_perf_job_print(struct ftc_perf_job *job, int (*print)(void *arg), void *arg);

/* Nanoseconds of CLOCK_MONOTONIC, the same clock in every process of the machine. */
uint64_t ftc_perf_now(void);

/* Say it, after the program's name. -1. */
int ftc_perf_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* 0 for FTC_SUCCESS; else say what the library says, and -1. */
int ftc_perf_check(const struct ftc_perf_job *job, int rc);

#endif
