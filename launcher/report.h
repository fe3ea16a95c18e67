/* The report of a job: JSON, "schema": 1. */
#ifndef FTC_LAUNCHER_REPORT_H
#define FTC_LAUNCHER_REPORT_H

#include <stdint.h>

#include "launcher/verdict.h"

struct ftc_job_report {
    const char *path; /* as the user gave it */
    int fd;           /* of ftc_job_report_open() */
    const struct ftc_verdict *verdict;
    const char *job;
    int f, exit_code;
    uint64_t started_realtime_ns, ended_realtime_ns;
    uint64_t started_ns, server_ns, spawned_ns; /* ftc_clock_now(); 0: the job did not get there */
};

/*
 * Call it at the start of a job: can `path` be written when the job ends? A file is made, or
 * replaced as a whole, at the end: *fd is -1. If `path` names a descriptor of this process ("-",
 * "/dev/stdout", "/dev/fd/63") or a character device, *fd holds it, and the caller closes *fd.
 * FTC_ERR_SYSTEM: it cannot be written, or it is a symbolic link, a FIFO or something else.
 */
int ftc_job_report_open(const char *path, int *fd);

/* Write the report. FTC_ERR_SYSTEM, FTC_ERR_NOMEM. */
int ftc_job_report_write(const struct ftc_job_report *report);

#endif
