/* Limits of a host: of ranks, and of open files, of which a launcher needs several for each
 * rank. */
#ifndef FTC_LAUNCHER_LIMITS_H
#define FTC_LAUNCHER_LIMITS_H

#include <stdbool.h>
#include <sys/resource.h>

/*
 * Raise the limit of open files of this process to what np ranks of this host need, in a job of so
 * many nodes, as far as the hard limit allows. `files`: the output of each rank goes to two files.
 * *original becomes the limit before that, which the ranks get. FTC_ERR_SYSTEM, with the number
 * that is needed. FTC_ERR_ARG: np is more than a host may have.
 */
int ftc_limits_raise(int np, int nodes, bool files, struct rlimit *original);

#endif
