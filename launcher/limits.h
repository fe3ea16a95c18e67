/* The limit of open files: a launcher needs several files for each rank. */
#ifndef FTC_LAUNCHER_LIMITS_H
#define FTC_LAUNCHER_LIMITS_H

#include <stdbool.h>
#include <sys/resource.h>

/*
 * Raise the limit of open files of this process to what np ranks need, as far as the hard limit
 * allows. `files`: the output of each rank goes to two files. *original becomes the limit before
 * that, which the ranks get. FTC_ERR_SYSTEM, with the number that is needed.
 */
int ftc_limits_raise(int np, bool files, struct rlimit *original);

#endif
