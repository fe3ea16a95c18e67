/* The report of a job: JSON, "schema": 1. */
#ifndef FTC_LAUNCHER_REPORT_H
#define FTC_LAUNCHER_REPORT_H

#include <stdint.h>

#include "launcher/verdict.h"

struct ftc_job_report {
    const char *path; /* "-": standard output */
    const struct ftc_verdict *verdict;
    const char *job;
    int f, exit_code;
    uint64_t started_realtime_ns, ended_realtime_ns;
    uint64_t started_ns, server_ns, spawned_ns; /* ftc_clock_now(); 0: did not come so far */
};

/* Write it; FTC_ERR_SYSTEM, FTC_ERR_NOMEM. */
int ftc_job_report_write(const struct ftc_job_report *report);

#endif
