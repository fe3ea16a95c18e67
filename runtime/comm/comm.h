/* A communicator at run time: the protocol object (member), and all that connects it to the node
 * and to the other ranks. Only the files of runtime/ include this header. */
#ifndef FTC_RUNTIME_COMM_COMM_H
#define FTC_RUNTIME_COMM_COMM_H

#include <ev.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/log.h"
#include "collectives/agreement/member.h"
#include "collectives/values/flip.h"
#include "config/config.h"
#include "include/ftcoll.h"
#include "node/bell.h"
#include "node/board/board.h"
#include "node/segment/segment.h"
#include "runtime/choice/choice.h"
#include "runtime/process/drill.h"
#include "runtime/comm/snapshot.h"
#include "transport/transport.h"

struct ftc_multicast;
struct ftc_gossip_run;
struct ftc_doubling_run;
struct ftc_flow;
struct ftc_large_run;
struct ftc_levels;

/* How long a waiting call stays awake. It first looks `spins` times without giving way, if cores
 * are free. Then it looks `yields` times, with a sched_yield() after each look. Then it sleeps. */
struct ftc_patience {
    int spins, yields;
};

/* Decides whether the caller or the progress thread watches the transport's descriptor
 * (runtime/process/gate.h). The members marked "thread" belong to the progress thread alone. */
struct ftc_gate {
    int fd;        /* epoll that holds the transport's descriptor; -1: the transport has none */
    ev_io sockets; /* thread: watches fd */
    ev_timer tick; /* thread: runs until a tick finds that the gate does not stay shut any more */
    atomic_bool stays_shut; /* the gate is shut between calls, too; changed under the lock */
    atomic_ulong calls;     /* number of calls that have begun */
    uint64_t calls_at_tick; /* thread: the value of `calls` at the last tick */
    /* The caller's, from here on. */
    int close; /* calls in a row that began soon after the call before had ended */
    /* When the last call began, and when the last call that is over ended. */
    uint64_t entered_ns, left_ns;
};

/* The progress thread. It increments the heartbeat, and it answers for finished operations while
 * the caller is outside of the library. */
struct ftc_thread {
    pthread_t id;
    bool running; /* the thread was started and has not been joined yet */
    struct ev_loop *loop;
    /* `beat` fires in each heartbeat period. `due` fires for comm->timer_ns. */
    ev_timer beat, due;
    /* The socket at which this rank is rung while the caller is outside, and launcher_fd. */
    ev_io bell, launcher;
    struct ftc_gate gate;
    ev_async nudge;     /* wakes the loop */
    uint64_t moves;     /* calls plus returns of the caller, as the last beat found them */
    uint64_t armed_ns;  /* when `due` fires; 0: never; under the lock */
    int launcher_fd;    /* pidfd of the launcher; -1: none, and each beat looks for the launcher */
    atomic_bool stop;   /* the thread must end */
    atomic_bool missed; /* the thread had work, but the caller held the lock */
    /* The caller waits for the lock. The thread then does not take it: otherwise the thread would
     * always get it before the caller. */
    atomic_bool wanted;
};

/* The rank between whose memory and ours data is copied. */
struct ftc_peer {
    bool known; /* rank and pid are set */
    int rank;
    pid_t pid; /* process of the rank; 0: copies are not possible or not allowed */
};

/* Lies in a page of its own. In a child made by fork() the kernel wipes this page. */
struct ftc_guard {
    int mine;        /* 1 in the process that called ftc_init(), 0 in its children */
    atomic_int busy; /* 1: a thread is in a call */
};

/* Flow control (runtime/comm/flow_control.h): a sender may be so many operations ahead of a receiver. */
#define FTC_OPERATIONS_AHEAD 64

struct ftc_comm {
    int rank, size;
    bool alone;  /* a job of one rank: it has no segment, no transport and no progress thread */
    bool joined; /* this process has written its pid into the slot */
    struct ftc_guard *guard;
    struct ftc_config config;
    struct ftc_flips flips; /* parsed from config.drill_flip */
    uint64_t started_ns;    /* when ftc_init() made this communicator */
    struct ftc_log log;
    struct ftc_segment *segment; /* of this node; NULL if alone */
    struct ftc_slot *slot;       /* the words of this rank in the segment */
    struct ftc_bell bell;        /* rings wake this rank by it */
    struct ftc_transport *transport;
    struct ftc_buffer_pool *pool;    /* buffers of large messages that were received */
    struct ftc_multicast *multicast; /* NULL: the settings do without it, or it fails here */
    uint64_t multicasts;             /* decisions that the member has sent by multicast */
    uint64_t senseless;              /* datagrams that the member has rejected as malformed */
    struct ftc_thread thread;
    struct ftc_patience patience;
    atomic_ullong called; /* operations that the caller has called; the slot shows it, too */
    struct ftc_drill drill;

    /* --- under the lock --- */
    /* Its holder drives the member. The caller holds it for the whole of a call, except for a call
     * on the board. Between calls the progress thread takes it. It guards what follows, down to
     * `under_way`. */
    pthread_mutex_t lock;
    struct ftc_member *member; /* this rank's part in the agreement core */
    uint32_t failures_seen;    /* how many entries of the segment's failure log are taken in */
    uint64_t probed_ballots;   /* ftc_member_ballots() when the tracer's probe last fired */
    uint64_t reached_ns;       /* when ftc_reach_publish() last wrote to the slot */
    uint64_t timer_ns;         /* when the earlier of the next two timers is due; 0: none is set */
    uint64_t member_due_ns;    /* timer of the member; 0: not set */
    uint64_t algorithm_due_ns; /* timer of the algorithm that needs one (gossip); 0: not set */
    bool clogged;              /* the transport could not send all: the receivers do not keep up */
    bool agreeing;    /* an algorithm runs an agreement by messages, although there is a board */
    uint64_t dropped; /* damaged messages that algorithms have dropped */
    const char *ran;  /* name of the algorithm of the last call; NULL: no call yet */
    struct ftc_gossip_run *gossip;     /* NULL if alone */
    struct ftc_doubling_run *doubling; /* NULL if alone */
    struct ftc_flow *flow;             /* NULL: the job has one node */
    /* Entry k % FTC_OPERATIONS_AHEAD is the size of operation k, or 0 if no rank can be ahead in
     * operations of its kind. */
    uint64_t bytes_of[FTC_OPERATIONS_AHEAD];
    uint64_t bytes_ahead;        /* sum of bytes_of */
    struct ftc_large_run *large; /* NULL if alone */
    struct ftc_levels *levels;   /* NULL: no operation runs over two levels */
    struct ftc_choice_job choice;
    bool more;              /* the member has work left: ftc_member_more() is due */
    bool delivered;         /* false from the call of an operation until its delivery */
    int status;             /* the result code of that operation */
    void *receive;          /* where the value of that operation goes; NULL: nowhere */
    struct ftc_set accused; /* this rank has accused them, and does not know yet that they failed */
    struct ftc_snapshot snapshot; /* the caller's alone; it reads and changes it without the lock */
    /* The signature of the member's call until its delivery; NULL: the member has no call. */
    const struct ftc_signature *under_way;

    /* --- the caller's alone: used without the lock --- */
    /* Every collective of the job goes over the board. NULL: all go by messages. */
    struct ftc_board *board;
    struct ftc_drill board_drill; /* as `drill`; the board takes in failures at its own time */
    struct ftc_peer peer;
    bool shown; /* the slot shows a wait on the board, and must be updated at the return */

    /* What ftc_last_report() hands out. The arrays have `size` entries. */
    int *report_failed, *report_corrupt;
    int report_count, report_corrupt_count;
};

/* Logs why, and ends this process. It may be in the middle of anything: for all other ranks this is
 * a fail-stop failure. */
_Noreturn void ftc_comm_leave(struct ftc_comm *comm, int exit_code, const char *why);

#endif
