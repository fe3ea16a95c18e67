/* The jobs of a user on this node, by their segments' names; and removal of what dead ones left. */
#ifndef FTC_NODE_JOBS_H
#define FTC_NODE_JOBS_H

#include <stdbool.h>

#include "node/segment/segment.h"
#include "node/system/process.h"

/* A fresh job name for the calling launcher and its directory: $TMPDIR or /tmp,
 * "ftcoll-<uid>/<job>-<host>", both levels mode 0700 and owned by the caller (refused otherwise:
 * FTC_ERR_SYSTEM with cause and remedy). *lock is a descriptor of the directory: while it is open
 * others count the job as alive. */
int ftc_jobs_new(char job[FTC_JOB_NAME_SIZE], char directory[108], int *lock);

/* What a job of several nodes is called on all of them: "JOB.STEP" of Slurm, or, without it, after
 * the calling process. */
void ftc_jobs_name_cluster(char cluster[FTC_JOB_NAME_SIZE]);

/* Remove what the calling launcher has made: the directory with what is in it, unless `lock` is -1,
 * and the segment's name, unless it is NULL. Whatever else has these names by now stays. Legal when
 * parts are gone. */
void ftc_jobs_remove(const char *directory, int lock, struct ftc_segment *segment);

/* Names of this user's jobs, oldest first, as a malloc'ed array of strings; *count of them. */
int ftc_jobs_list(char (**jobs)[FTC_JOB_NAME_SIZE], int *count);

/* The name of the job whose launcher has this pid. FTC_ERR_STATE: there is none, or several pid
 * namespaces have one. */
int ftc_jobs_find(char job[FTC_JOB_NAME_SIZE], pid_t launcher);

/* If the job's launcher is known to be gone, kill what is left of the job (only processes whose
 * start time still matches) and remove its segment and directory. True: it did. */
bool ftc_jobs_collect(const char *job);

/* ... all such jobs, and directories without a segment. Returns how many were removed. */
int ftc_jobs_collect_garbage(void);

#endif
