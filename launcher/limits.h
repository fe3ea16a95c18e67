/* Open files: a launcher needs several for each rank. */
#ifndef FTC_LAUNCHER_LIMITS_H
#define FTC_LAUNCHER_LIMITS_H

#include <stdbool.h>
#include <sys/resource.h>

/*
 * Raise this process's limit of open files as far as np ranks need and the hard limit allows;
 * `files`: output goes to two files per rank. *original is what it was, for the ranks.
 * FTC_ERR_SYSTEM with the number needed.
 */
int ftc_limits_raise(int np, bool files, struct rlimit *original);

#endif
