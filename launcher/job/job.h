/* The whole life of a job: segment, PMIx server, ranks, watching, end, clean-up. */
#ifndef FTC_LAUNCHER_JOB_JOB_H
#define FTC_LAUNCHER_JOB_JOB_H

#include "config/config.h"
#include "launcher/options.h"

/*
 * Run `command` with these settings and this environment. Returns the exit code of ftrun. Errors of
 * ftrun itself are printed. Whatever happens, nothing of the job is left when the function returns.
 */
int ftc_job_run(const struct ftc_command *command, struct ftc_settings *settings,
                char *const environment[]);

#endif
