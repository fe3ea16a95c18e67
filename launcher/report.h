/* The report of a job: JSON, "schema": 1. */
#ifndef FTC_LAUNCHER_REPORT_H
#define FTC_LAUNCHER_REPORT_H

#include <stdint.h>

#include "launcher/verdict.h"

struct ftc_job_report {
    const char *path; /* as it was given */
    int fd;           /* of ftc_job_report_open() */
    const struct ftc_verdict *verdict;
    const char *job;
    int f, exit_code;
    uint64_t started_realtime_ns, ended_realtime_ns;
    uint64_t started_ns, server_ns, spawned_ns; /* ftc_clock_now(); 0: did not come so far */
};

/*
 * At the start of a job: can `path` be written at its end? A file will be made, or replaced as
 * a whole: *fd is -1. A descriptor of this process ("-", "/dev/stdout", "/dev/fd/63") or a
 * device of characters is held in *fd, which the caller closes. FTC_ERR_SYSTEM: it cannot be
 * written, or it is a symbolic link, a FIFO or something else.
 */
int ftc_job_report_open(const char *path, int *fd);

/* Write it; FTC_ERR_SYSTEM, FTC_ERR_NOMEM. */
int ftc_job_report_write(const struct ftc_job_report *report);

#endif
