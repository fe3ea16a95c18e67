/* The launcher's table of processes: one entry per rank. */
#ifndef FTC_LAUNCHER_RANKS_H
#define FTC_LAUNCHER_RANKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "node/segment/segment.h"

/*
 * A rank is a child of ftrun and leads a process group of its own. The process that called
 * ftc_init() may be a descendant of the child, if the child is a wrapper script. Then ftrun watches
 * both, and the rank ends when the process that joined ends. ftrun kills the group before it reaps
 * the child, so that the group's number cannot have been reused.
 */
struct ftc_process {
    pid_t child;          /* 0: not started, or reaped */
    uint64_t child_start; /* field 22 of /proc/<pid>/stat */
    pid_t group;          /* the group that it leads or led; 0: not started */
    bool started;
    bool adopted;     /* no child of ftrun: joined_pid is known from the start */
    bool child_ended; /* `status` is valid */
    int status;       /* of waitpid() */

    bool joined;      /* ftrun has seen its mark of ftc_init() */
    pid_t joined_pid; /* the process that joined, if plausible and not the child; else 0 */
    uint64_t joined_start;
    int joined_fd; /* its pidfd; -1: none */
    bool joined_ended;

    bool marked; /* ftrun has seen its mark of ftc_finalize(), which is never taken back */
    bool ended;  /* no process of the rank can act any more */
    bool failed; /* declared failed */
    bool silent; /* ended with 0 and never joined: a failure only if other ranks join */
    bool told;   /* its failure was printed */
    bool warned; /* it was printed that the rank is suspected while fencing is off */

    struct ftc_failure failure;    /* as it was declared, if failed */
    enum ftc_failure_cause reason; /* why ftrun killed it; FTC_CAUSE_NONE if it did not */
    int accuser;                   /* the rank that accused it; -1: none */
    uint64_t suspected_ns;         /* when its exit was seen, or the kill was sent; 0: neither */
    uint64_t heartbeat, beat_ns;   /* the last count, and when ftrun saw it change */
    uint64_t stopped_ns;           /* when job control last stopped it */
    uint64_t ended_ns;
    uint32_t fencings;
    /* Of a rank of another node that has ended: its counters (launcher/counters.h). NULL: none. */
    unsigned char *counters;
    uint32_t counters_size;
};

struct ftc_ranks {
    int count;
    struct ftc_process *at;
    bool any_joined;
    int failed;  /* how many were declared failed */
    int running; /* ranks that were started and have not ended, or whose child is not reaped */
};

int ftc_ranks_init(struct ftc_ranks *ranks, int count); /* FTC_ERR_NOMEM */
void ftc_ranks_fini(struct ftc_ranks *ranks);

/* Has `rank` set its mark of ftc_finalize()? A rank of this node shows it in its slot. For a rank
 * of another node the mirror has recorded it. */
bool ftc_ranks_marked(struct ftc_ranks *ranks, struct ftc_segment *segment, int rank);

/* Show the others that a rank of this node was started, or that its exit was seen. */
void ftc_ranks_publish_start(struct ftc_segment *segment, int rank, pid_t pid, uint64_t start,
                             uint64_t now_ns);
void ftc_ranks_publish_end(struct ftc_segment *segment, int rank, int status);

/* Can this process have joined as `rank`? The pid came out of shared memory: it may belong to
 * another rank, or to a process outside the job. A process that is gone can have joined if the
 * child is only a wrapper. If the child is no wrapper, the child itself has joined, and its end is
 * still to come. A process that cannot be looked at can have joined, so it must be seen to be
 * gone. */
bool ftc_ranks_may_join(const struct ftc_ranks *ranks, int rank, pid_t pid, uint64_t start);

/* The rank whose child this is. -1: none. */
int ftc_ranks_find(const struct ftc_ranks *ranks, pid_t child);

/* Send `signal` to the process group of the rank, and to the process that joined if it is outside
 * of that group. False: there is no such process. */
bool ftc_ranks_signal(struct ftc_ranks *ranks, int rank, int signal);
void ftc_ranks_signal_all(struct ftc_ranks *ranks, int signal);

#endif
