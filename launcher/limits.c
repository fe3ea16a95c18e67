/* The limit of open files, checked before anything is started: at rank 300 it would be too late. */
#include "launcher/limits.h"

#include "base/error.h"

/* Per rank: two pipes, a PMIx connection, and a pidfd if it is started by a wrapper. */
#define PER_RANK 4
/* ftrun's own: standard files, segment, sockets, event loop, PMIx server, pipes of the rank being
 * started. */
#define OWN 64

int ftc_limits_raise(int np, bool files, struct rlimit *original)
{
    struct rlimit limit;
    rlim_t need = (rlim_t)np * (PER_RANK + (files ? 2 : 0)) + OWN;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot read the limit of open files: %m");
    *original = limit;
    if (limit.rlim_cur >= need)
        return FTC_SUCCESS;
    if (limit.rlim_max < need)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "%d ranks need %llu open files but the limit is %llu; raise it "
                             "(ulimit -n %llu) or start "
                             "fewer ranks",
                             np, (unsigned long long)need, (unsigned long long)limit.rlim_max,
                             (unsigned long long)need);
    limit.rlim_cur = need;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return ftc_error_set(
            FTC_ERR_SYSTEM,
            "cannot raise the limit of open files to %llu: %m; raise it (ulimit -n)",
            (unsigned long long)need);
    return FTC_SUCCESS;
}
