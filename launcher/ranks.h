/* The launcher's table of processes: one entry per rank. */
#ifndef FTC_LAUNCHER_RANKS_H
#define FTC_LAUNCHER_RANKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "node/segment/segment.h"

/*
 * A rank is a child of ftrun, the leader of a process group of its own. The process that called
 * ftc_init() may be a descendant of it (a wrapper script); then both are watched, and the rank's
 * end is that of the process that joined. The child is reaped only after its group was killed, so
 * that the group's number cannot have been reused.
 */
struct ftc_process {
    pid_t child;          /* 0: not started, or reaped */
    uint64_t child_start; /* /proc/<pid>/stat field 22 */
    pid_t group;          /* that it led or leads; 0: not started */
    bool started;
    bool adopted;     /* no child, but a process that joins by itself: joined_pid from the start */
    bool child_ended; /* `status` is valid */
    int status;       /* of waitpid() */

    bool joined;      /* its mark of ftc_init() was seen */
    pid_t joined_pid; /* the process that joined, if not the child and if plausible; else 0 */
    uint64_t joined_start;
    int joined_fd; /* pidfd of it, -1 */
    bool joined_ended;

    bool marked; /* its mark of ftc_finalize() was seen; it cannot be taken back */
    bool ended;  /* the rank is over: no process of it can act any more */
    bool failed; /* declared */
    bool silent; /* ended with 0 and never joined: a failure only if others join */
    bool told;   /* its failure was printed */
    bool warned; /* suspected while fencing is off: printed */

    struct ftc_failure failure;    /* as it was declared, if failed */
    enum ftc_failure_cause reason; /* why ftrun killed it, FTC_CAUSE_NONE if it did not */
    int accuser;                   /* rank, -1 */
    uint64_t suspected_ns;         /* first sign: the exit seen or the kill sent; 0: none */
    uint64_t heartbeat, beat_ns;   /* the last one, and when it was seen to change */
    uint64_t stopped_ns;           /* when it was last stopped by job control */
    uint64_t ended_ns;
    uint32_t fencings;
};

struct ftc_ranks {
    int count;
    struct ftc_process *at;
    bool any_joined;
    int running; /* started and not ended, or its child not reaped */
};

int ftc_ranks_init(struct ftc_ranks *ranks, int count); /* FTC_ERR_NOMEM */
void ftc_ranks_fini(struct ftc_ranks *ranks);

/* Has `rank` set its mark of ftc_finalize()? A rank of this node shows it in its slot. For a rank
 * of another node the mirror has recorded it. */
bool ftc_ranks_marked(struct ftc_ranks *ranks, struct ftc_segment *segment, int rank);

/* Can this process have joined as `rank`? The pid came out of shared memory: it may be that of
 * another rank, or of a process outside the job. A process that is gone can have joined if the
 * child is but a wrapper. Otherwise the child itself has joined, and its end is still to come. A
 * process that cannot be looked at can have joined: it must be seen gone. */
bool ftc_ranks_may_join(const struct ftc_ranks *ranks, int rank, pid_t pid, uint64_t start);

/* Which rank's child is this? -1: none. */
int ftc_ranks_find(const struct ftc_ranks *ranks, pid_t child);

/* Send `signal` to the rank's process group and to the process that joined, if it is elsewhere.
 * False: nobody there. */
bool ftc_ranks_signal(struct ftc_ranks *ranks, int rank, int signal);
void ftc_ranks_signal_all(struct ftc_ranks *ranks, int signal);

#endif
