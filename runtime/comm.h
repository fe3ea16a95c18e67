/* A communicator at run time: the member, and what connects it to the node. Private to this
 * room. */
#ifndef FTC_RUNTIME_COMM_H
#define FTC_RUNTIME_COMM_H

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
#include "runtime/drill.h"
#include "runtime/snapshot.h"
#include "transport/transport.h"

struct ftc_multicast;
struct ftc_gossip_run;
struct ftc_doubling_run;
struct ftc_flow;
struct ftc_large_run;
struct ftc_levels;

/* How long a waiting call stays awake: looks while cores are free, then yields, then sleeps on the
 * futex. */
struct ftc_patience {
    int spins, yields;
};

/* The thread that beats, and answers for finished operations while the caller is outside the
 * library. */
/* Who watches the transport's descriptor (runtime/gate.h). */
struct ftc_gate {
    int fd;        /* epoll over the descriptor; -1: it has none */
    ev_io sockets; /* the thread's */
    ev_timer tick; /* the thread's; active while it stays shut, and until that was noticed */
    atomic_bool stays_shut; /* between calls, too; changed under the lock */
    atomic_ulong calls;     /* that began */
    uint64_t calls_at_tick; /* the thread's */
    int close; /* calls in a row that came soon after the last one; this and what follows: the caller's */
    uint64_t entered_ns, left_ns; /* the last one began, and the one before it ended, or it did */
};

struct ftc_thread {
    pthread_t id;
    bool running;
    struct ev_loop *loop;
    ev_timer beat, due;
    ev_io bell, launcher;
    struct ftc_gate gate;
    ev_async nudge;
    uint64_t moves;    /* calls and returns of the caller at the last beat */
    uint64_t armed_ns; /* when `due` fires; 0: never; under the lock */
    int launcher_fd;   /* pidfd of the launcher, -1: none, then looked for at every beat */
    atomic_bool stop;
    atomic_bool missed; /* there was something to do while the caller held the lock */
    atomic_bool
        wanted; /* the caller waits for the lock: the thread, always quicker to it, leaves it alone */
};

/* The rank that copies between its memory and ours go to, and its process; pid 0: none may be
 * made. */
struct ftc_peer {
    bool known;
    int rank;
    pid_t pid;
};

/* Lies in a page of its own, which a child made by fork() finds wiped. */
struct ftc_guard {
    int mine;        /* 1 in the process that joined, 0 in its children */
    atomic_int busy; /* 1: a thread is in a call */
};

/* Flow control of a sender (runtime/flow_control.h): so many operations it may be ahead of a receiver. */
#define FTC_OPERATIONS_AHEAD 64

struct ftc_comm {
    int rank, size;
    bool alone;  /* a job of one: no segment, no transport, no thread */
    bool joined; /* the slot's pid is this process */
    struct ftc_guard *guard;
    struct ftc_config config;
    struct ftc_flips flips; /* of config.drill_flip */
    uint64_t started_ns;    /* ftc_init() was called */
    struct ftc_log log;
    struct ftc_segment *segment;
    struct ftc_slot *slot;
    struct ftc_bell bell;
    struct ftc_transport *transport;
    struct ftc_buffer_pool *pool;    /* of large messages */
    struct ftc_multicast *multicast; /* NULL: none, or it does not work here */
    uint64_t multicasts;             /* decisions sent by it */
    uint64_t senseless;              /* datagrams that made no sense to the member */
    struct ftc_thread thread;
    struct ftc_patience patience;
    atomic_ullong called; /* collectives, by the caller; the slot shows it */
    struct ftc_drill drill;

    /* Under the lock: whoever drives the member, the caller for the whole of a call, else the
     * thread. */
    pthread_mutex_t lock;
    struct ftc_member *member;
    uint32_t failures_seen;    /* cursor in the failure log */
    uint64_t probed_ballots;   /* ballots entered when the probe last said so */
    uint64_t reached_ns;       /* when it was last published whom this rank cannot reach */
    uint64_t timer_ns;         /* when the next of the two timers is due; 0: none */
    uint64_t member_due_ns;    /* the member's */
    uint64_t algorithm_due_ns; /* that of the algorithm that has one */
    bool clogged;     /* what was sent has not all gone out: the receivers do not keep up */
    bool agreeing;    /* an algorithm runs an agreement by messages, beside the board */
    uint64_t dropped; /* messages that algorithms have dropped, because they were damaged */
    const char *ran;  /* name of the algorithm of the last call; NULL: there was none */
    struct ftc_gossip_run *gossip;     /* NULL: alone */
    struct ftc_doubling_run *doubling; /* NULL: alone */
    struct ftc_flow *flow;             /* NULL: the job has one node */
    uint64_t
        bytes_of[FTC_OPERATIONS_AHEAD]; /* of the last operations that may run ahead, by number */
    uint64_t bytes_ahead;               /* their sum */
    struct ftc_large_run *large;        /* NULL: alone */
    struct ftc_levels *levels;          /* NULL: all operations are by messages among all ranks */
    bool more;                          /* the member wants to go on */
    bool delivered;                     /* the call under way is done */
    int status;                         /* its result */
    void *receive;                      /* where its value goes; NULL: nowhere */
    struct ftc_set accused;             /* ranks that the launcher shall fence and has not yet */
    struct ftc_snapshot snapshot;
    /* Of the member's call, until it is delivered; NULL: none is under way. */
    const struct ftc_signature *under_way;
    /* The caller's: every operation of the job goes over the board, NULL: by messages. */
    struct ftc_board *board;
    struct ftc_drill board_drill; /* deaf on its own */
    struct ftc_peer peer;
    bool shown; /* the slot says that it waits */

    int *report_failed, *report_corrupt; /* size entries */
    int report_count, report_corrupt_count;
};

/* What ends a process in the middle of something, after saying why: fail-stop for everyone else. */
_Noreturn void ftc_comm_leave(struct ftc_comm *comm, int exit_code, const char *why);

#endif
