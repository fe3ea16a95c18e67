/* The frame of stories about several nodes: a job is explored, keeps its promises, or has a fault
 * that breaks one. Link explore_nodes.c, and the mutants. */
#ifndef FTC_TEST_EXPLORE_NODES_H
#define FTC_TEST_EXPLORE_NODES_H

#include "collectives/mutation.h"
#include "include/ftcoll.h"
#include "sim/explore/explore.h"
#include "sim/model/cluster.h"
#include "tests/suite.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

struct nodes_job {
    int n, nodes, f, crashes;
    const char *program;
    /* Bytes over two levels; 0: all. A broadcast has 2, the last rank's 6, and a reduction n. */
    uint64_t most;
    bool plain; /* the senders of reduces go on */
    uint32_t settle_every;
    enum ftc_rotation rotation;
    enum ftc_prepare prepare;
    enum ftc_share share;
    enum ftc_correction correction;
    enum ftc_dissemination dissemination;
    int doubling;
};

struct nodes_fault {
    const char *what;
    enum ftc_mutation mutation;
    struct ftc_explore_limits limits;
    const char *program;
    uint64_t most;
};

/* The caller frees the result by ftc_explore_result_fini(). */
void explore_nodes(const struct nodes_job *job, struct ftc_explore_limits limits,
                   struct ftc_explore_result *result);
/* No state breaks a promise; the search ends. */
void nodes_keep_promises(const struct nodes_job *job, struct ftc_explore_limits limits);
/* What the reductions of the search leave out breaks no promise of its own, and ends in no other
 * way. */
void nodes_lose_no_outcome(const struct nodes_job *job);
/* The search finds the fault in the fault's program, in a job that is otherwise as `job` says. */
void nodes_find(const struct nodes_fault *fault, struct nodes_job job);

#endif
