/* What an ftc_request is. For request.c, which starts them, and wait.c, which ends them. */
#ifndef FTC_RUNTIME_API_POSTED_H
#define FTC_RUNTIME_API_POSTED_H

#include <stddef.h>

#include "collectives/point_to_point/matching.h"
#include "runtime/api/collective.h"
#include "runtime/api/making.h"
#include "runtime/comm/queue.h"

enum ftc_posted_stage { FTC_POSTED_STARTS, FTC_POSTED_SIZES, FTC_POSTED_VALUE };

/* A send or a receive uses the first members alone, which lie on three cache lines: programs have
 * many of them under way at once. */
struct ftc_posted {
    struct ftc_comm *comm;
    bool passes; /* it is a send or a receive, which is not queued */
    bool makes;  /* it is a creation, an agree, or a validate after a revoke */
    enum ftc_posted_stage stage;
    struct ftc_transfer transfer;
    struct ftc_queued_operation queued; /* its first member is used by all, as a spare */
    struct ftc_request run;
    /* A creation, an agree, or a validate after a revoke. */
    struct ftc_making making;
    ftc_comm **child;
    int *failed_count; /* of a validate */
    int *flag;         /* of an agree; NULL: it is none */
    struct ftc_agreeing agreeing;
    /* Other calls. */
    struct ftc_collective collective;
    struct ftc_call sizes;
    struct ftc_reduction sizes_reduction;
};

/* P13: a message that a probe has taken for a receive. Counted among the requests, so that its
 * communicator is not freed. */
struct ftc_matched {
    struct ftc_comm *comm;
    struct ftc_arrival *arrival;
};

#define FTC_POSTED_HOT 64 /* bytes: its alignment in memory */
_Static_assert(offsetof(struct ftc_posted, queued.next) + sizeof(void *) == 3 * FTC_POSTED_HOT,
               "the members of a send or a receive are on three cache lines");

/* A request of the caller is the address of this object. */
static inline struct ftc_posted *ftc_posted_of(ftc_request *request)
{
    return (struct ftc_posted *)(void *)request;
}
static inline ftc_request *ftc_posted_handle(struct ftc_posted *posted)
{
    return (ftc_request *)(void *)posted;
}

/* So many more requests of the communicator are left, or fewer. */
static inline void ftc_posted_count(struct ftc_comm *comm, int change)
{
    int before = atomic_load_explicit(&comm->requests, memory_order_relaxed);

    atomic_store_explicit(&comm->requests, before + change, memory_order_relaxed);
}

#endif
