/* Limits of this host. They are checked before any rank is started: an error at rank 300 would come
 * too late. */
#include "launcher/limits.h"

#include "base/error.h"
#include "node/segment/segment.h"

/* A rank needs two pipes, a PMIx connection, and a pidfd if a wrapper starts it. */
#define PER_RANK 4
/* Both ends of a link may connect at once. */
#define PER_LINK 2
/* ftrun itself needs standard files, segment, sockets, event loop, PMIx server, and the pipes of
 * the rank that is being started. */
#define OWN 64

int ftc_limits_raise(int np, int nodes, bool files, struct rlimit *original)
{
    struct rlimit limit;
    rlim_t need = (rlim_t)np * (PER_RANK + (files ? 2 : 0)) + (rlim_t)(nodes - 1) * PER_LINK + OWN;
    if (np > FTC_NODE_MAX_LOCAL)
        return ftc_error_set(FTC_ERR_ARG,
                             "%d ranks on one host: %d are the most; start them on more hosts "
                             "(--hosts)",
                             np, FTC_NODE_MAX_LOCAL);
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
