/* The jobs of a user on this node, by their segments' names; and removal of what dead ones left. */
#ifndef FTC_NODE_JOBS_H
#define FTC_NODE_JOBS_H

#include <stdbool.h>

#include "node/process.h"
#include "node/segment.h"

/* A fresh job name "<pid>.<n>" for the calling launcher and its directory: $TMPDIR or /tmp,
 * "ftcoll-<uid>/<job>", both levels mode 0700 and owned by the caller (refused otherwise: FTC_ERR_SYSTEM with
 * cause and remedy). */
int ftc_jobs_new(char job[FTC_JOB_NAME_SIZE], char directory[108]);

/* What a job of several nodes is called on all of them: "JOB.STEP" of Slurm, or, without it, after the calling process. */
void ftc_jobs_name_cluster(char cluster[FTC_JOB_NAME_SIZE]);

/* Remove directory and sockets of a job; segment too. Legal when parts are gone. */
void ftc_jobs_remove(const char *job);

/* Names of this user's jobs, oldest first, as a malloc'ed array of strings; *count of them. */
int ftc_jobs_list(char (**jobs)[FTC_JOB_NAME_SIZE], int *count);

/* Is the job's launcher alive? A segment without a sound header is judged by the pid in the name. A job of
 * another pid namespace counts as alive: its pids mean nothing here. */
bool ftc_jobs_alive(const char *job);

/* Kill what is left of jobs whose launcher is dead (only processes whose start time still matches) and remove
 * their segments and directories. Returns how many jobs were removed. */
int ftc_jobs_collect_garbage(void);

#endif
