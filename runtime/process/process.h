/*
 * A process of a job: what connects it to its node and to the other ranks, its settings, its
 * progress thread, and the communicators that it drives. There is one for each process. Only the
 * files of runtime/ include this header.
 */
#ifndef FTC_RUNTIME_PROCESS_PROCESS_H
#define FTC_RUNTIME_PROCESS_PROCESS_H

#include <ev.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/log.h"
#include "base/set.h"
#include "config/config.h"
#include "include/ftcoll.h"
#include "node/bell.h"
#include "node/segment/history.h"
#include "node/segment/segment.h"
#include "runtime/process/drill.h"
#include "transport/transport.h"

struct ftc_multicast;
struct ftc_process;

/* How long a waiting call stays awake. It first looks `spins` times without giving way, if cores
 * are free. Then it looks `yields` times, with a sched_yield() after each look. Then it sleeps. */
struct ftc_patience {
    int spins, yields;
    int board_yields; /* the same for a board: its looks take no system call */
    bool naps;        /* it sleeps earlier if it waits for the memory of the node alone (tcp.md) */
    bool found; /* where ranks share cores: a message has come while a receive looked for it */
};

/* Decides whether the caller or the progress thread watches the transport's descriptor
 * (runtime/process/gate.h). The members marked "thread" belong to the progress thread alone. */
struct ftc_gate {
    int fd; /* epoll that holds the transport's descriptor; -1: the transport has none */
    void (*drive)(struct ftc_process *process); /* thread: called when fd is readable */
    ev_io sockets;                              /* thread: watches fd */
    ev_timer tick; /* thread: runs until a tick finds that the gate does not stay shut any more */
    atomic_bool stays_shut; /* the gate is shut between calls, too; changed under the lock */
    atomic_bool slow;       /* a call takes long, and the thread looks rarely */
    atomic_ulong calls;     /* number of calls that have begun */
    uint64_t calls_at_tick; /* thread: the value of `calls` at the last tick */
    /* The caller's, from here on. */
    int close; /* calls in a row that began soon after the call before had ended */
    /* When the last call that is over ended. */
    uint64_t left_ns;
};

/* The progress thread. It increments the heartbeat, and it answers for finished operations while
 * the caller is outside of the library. */
struct ftc_thread {
    pthread_t id;
    bool running; /* the thread was started and has not been joined yet */
    struct ev_loop *loop;
    /* `beat` fires in each heartbeat period. `due` fires for process->timer_ns. */
    ev_timer beat, due;
    /* The socket at which this rank is rung while the caller is outside, and launcher_fd. */
    ev_io bell, launcher;
    struct ftc_gate gate;
    ev_async nudge; /* wakes the loop */
    /* `move` fires each millisecond while `moves`: operations are under way on boards, or were a
     * short while ago. */
    ev_timer move;
    atomic_bool moves;
    atomic_ulong started;  /* changes when such an operation is started */
    uint64_t started_seen; /* thread: when it looked last */
    int quiet;             /* thread: ticks since then in which there was none */
    uint64_t armed_ns;     /* when `due` fires; 0: never; under the lock */
    int launcher_fd;    /* pidfd of the launcher; -1: none, and each beat looks for the launcher */
    atomic_bool stop;   /* the thread must end */
    atomic_bool missed; /* the thread had work, but the caller held the lock */
};

/* The second thread of the heartbeat (runtime/process/heartbeat.h). */
struct ftc_heartbeat {
    pthread_t id;
    bool tried, running;     /* its start was tried, and it runs */
    atomic_bool in_operator; /* the progress thread runs an operator of the program: beat */
    _Atomic uint32_t stop;   /* 1: the thread must end */
};

/* The threads of callers that are in the library (runtime/process/turn.h). Under process->lock, but
 * `wanted`. */
struct ftc_turn {
    atomic_int wanted; /* how many callers want the lock: the progress thread does not take it */
    int inside;        /* how many have entered and not left */
    int waiting;       /* how many of these wait for `changed` */
    bool driven;       /* one of these is the driver */
    bool asleep;       /* the driver sleeps, without the lock */
    pthread_cond_t changed;
};

/* Lies in a page of its own. In a child made by fork() the kernel wipes this page. */
struct ftc_guard {
    int mine; /* 1 in the process that called ftc_init(), 0 in its children */
};

struct ftc_driven;

/* What a process does with one of its communicators. All functions run under process->lock. Ranks
 * are those of the job. */
struct ftc_driven_ops {
    void (*notice)(struct ftc_driven *driven, int rank); /* `rank` has failed */
    void (*silent)(struct ftc_driven *driven, int rank); /* after that: all that it sent is here */
    void (*noticed)(struct ftc_driven *driven);          /* all failures so far are taken in */
    void (*receive)(struct ftc_driven *driven, int from, struct ftc_buffer *message);
    /* Takes in a datagram. False: it makes no sense. */
    bool (*datagram)(struct ftc_driven *driven, int from, struct ftc_buffer *payload);
    /* Do what is due after messages were taken in. True: there was something to do. */
    bool (*after)(struct ftc_driven *driven);
    bool (*ready)(struct ftc_driven *driven);       /* it polls: is there what it waits for? */
    int (*awaits)(const struct ftc_driven *driven); /* the rank whose message it awaits, or -1 */
    void (*rests)(struct ftc_driven *driven);       /* there is nothing more to do now */
    void (*beat)(struct ftc_driven *driven);        /* with each heartbeat */
};

/* A communicator as its process drives it. */
struct ftc_driven {
    struct ftc_driven *next;
    struct ftc_driven *next_active;
    bool active; /* it may have work: steps look at it (ftc_progress_activate()) */
    const struct ftc_driven_ops *ops;
    uint64_t number; /* in each message (collectives/frame.h) */
    uint64_t due_ns; /* when a timer of it is due; 0: none is set */
    bool more;       /* it has work left, which `after` does */
    bool waits;      /* a call waits for a delivery: steps take in many messages */
    bool polls;      /* it waits for what others write in shared memory, for which `after` looks */
    bool copies;     /* it has copies to make, of which `after` makes a piece */
};

struct ftc_comm;
struct ftc_comm_engine;
struct ftc_spare;

/* What a process does with what is of all its communicators, or of none (runtime/comm/engine.h).
 * Under process->lock. Ranks are those of the job. */
struct ftc_comm_engine_ops {
    /* A message about a communicator, or of a number that the process does not drive. */
    void (*receive)(struct ftc_process *process, int from, struct ftc_buffer *message);
    void (*notice)(struct ftc_process *process, int rank); /* `rank` has failed */
    bool (*after)(struct ftc_process *process);            /* as in struct ftc_driven_ops */
    /* It has operations under way on its board: `after` looks at it until it has none. */
    void (*watch)(struct ftc_comm *comm);
};

struct ftc_process {
    int rank, size; /* in the job */
    bool alone;     /* a job of one rank: it has no segment, no transport and no progress thread */
    bool joined;    /* this process has written its pid into the slot */
    struct ftc_guard *guard;
    struct ftc_config config;
    uint64_t started_ns; /* when ftc_init() made this process a rank */
    struct ftc_log log;
    struct ftc_segment *segment;   /* of this node; NULL if alone */
    struct ftc_slot *slot;         /* the words of this rank in the segment; */
    struct ftc_standing *standing; /* and how it stands there */
    /* Its last operations, of all communicators. */
    struct ftc_history_store history;
    struct ftc_bell bell; /* rings wake this rank by it */
    struct ftc_transport *transport;
    struct ftc_buffer_pool *pool;    /* buffers of large messages that were received */
    struct ftc_multicast *multicast; /* NULL: the settings do without it, or it fails here */
    uint32_t fragment;               /* bytes of a decision that go into one datagram */
    atomic_bool parted;              /* it has had another communicator than the world */
    uint64_t multicasts;             /* decisions that this process has sent by multicast */
    uint64_t senseless;              /* datagrams that were rejected as malformed */
    struct ftc_thread thread;
    struct ftc_heartbeat heartbeat;
    struct ftc_patience patience;
    int processors; /* of this machine, with those that are off: alike at all its ranks */
    struct ftc_drill drill;

    /* Its holder drives the communicators. A caller takes it for a call, except for a call on the
     * board, and gives it up between steps if another thread wants it (runtime/process/turn.h).
     * While no caller is in the library the progress thread takes it. It guards what follows. */
    pthread_mutex_t lock;
    struct ftc_turn turn;
    /* The communicators; the world is the last one. */
    struct ftc_driven *driven;
    struct ftc_driven *active; /* those of them that may have work */
    const struct ftc_comm_engine_ops *engine_ops;
    struct ftc_comm_engine *engine;
    bool delivered;         /* a call that waited was delivered in this step */
    uint32_t failures_seen; /* how many entries of the segment's failure log are taken in */
    struct ftc_set failed;  /* the ranks of these entries */
    struct ftc_set audible; /* those of them from which messages may still come */
    bool any_audible;
    struct ftc_set accused; /* this rank has accused them, and was not told yet that they failed */
    uint64_t reached_ns;    /* when ftc_reach_publish() last wrote to the slot */
    uint64_t timer_ns;      /* the earliest due_ns of the communicators; 0: none is set */
    struct ftc_spare *spares; /* memory of boards that may be used again (runtime/comm/spare.h) */
    int spares_count;
    bool works;           /* the thread has operations to move on: own calls, or those of a queue */
    atomic_int on_boards; /* communicators with operations under way on their boards; no lock */
    bool clogged;         /* the transport could not send all: the receivers do not keep up */
};

/* Logs why, and ends this process. It may be in the middle of anything: for all other ranks this is
 * a fail-stop failure. */
_Noreturn void ftc_process_leave(struct ftc_process *process, int exit_code, const char *why);

/* Logs why, asks the launcher to end all ranks with `exit_code`, and ends this process, because of
 * an error that no rank can survive. If several ranks ask, the first one's exit code counts. */
_Noreturn void ftc_process_end_job(struct ftc_process *process, int exit_code, const char *why);

#endif
