/* The jobs of a user on this node, found by the names of their segments, and the removal of what
 * dead jobs have left behind. */
#ifndef FTC_NODE_JOBS_H
#define FTC_NODE_JOBS_H

#include <stdbool.h>

#include "node/segment/segment.h"
#include "node/system/process.h"

/* Make a new job name for the calling launcher, and the directory of the job: "ftcoll-<uid>" in
 * $TMPDIR or /tmp, and "<job>-<host>" in that. Both levels have mode 0700 and must belong to the
 * caller, else FTC_ERR_SYSTEM with cause and remedy. *lock is a descriptor of the directory. While
 * it is open, other processes count the job as alive. */
int ftc_jobs_new(char job[FTC_JOB_NAME_SIZE], char directory[108], int *lock);

/* The name of a job of several nodes, alike on all of them: "JOB.STEP" of Slurm, or without Slurm a
 * name made from the calling process. */
void ftc_jobs_name_cluster(char cluster[FTC_JOB_NAME_SIZE]);

/* Remove what the calling launcher has made: the directory with its contents, unless `lock` is -1,
 * and the name of the segment, unless `segment` is NULL. If something else has one of these names
 * by now, it stays. It is no error if parts are already gone. */
void ftc_jobs_remove(const char *directory, int lock, struct ftc_segment *segment);

/* The names of this user's jobs, oldest first, in a malloc'ed array of *count strings. */
int ftc_jobs_list(char (**jobs)[FTC_JOB_NAME_SIZE], int *count);

/* The name of the job whose launcher has this pid. FTC_ERR_STATE: there is no such job, or there is
 * one in several pid namespaces. */
int ftc_jobs_find(char job[FTC_JOB_NAME_SIZE], pid_t launcher);

/* If the launcher of the job is known to be gone, kill the rest of the job (only processes whose
 * start time still matches) and remove its segment and directory. True if it did so. */
bool ftc_jobs_collect(const char *job);

/* Do the same for all such jobs, and remove directories without a segment. Returns how many were
 * removed. */
int ftc_jobs_collect_garbage(void);

#endif
