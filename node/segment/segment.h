/*
 * The node segment: one shared-memory file per job and node, made by the launcher, through which
 * launcher, ranks and ftcoll-status see each other. Nobody outside this room knows its layout on
 * disk; the structs below are mapped as they are.
 *
 *   header | configuration text | slots, one per rank | nodes | endpoints | failure log | set rows | pending rows | board |
 *   rings, sparse | areas of the board, sparse
 *
 * Crash safety. Every word has one writer (the rank that owns a slot, or the launcher), except
 * those marked "any rank", which are changed by atomic read-modify-write only. A writer may die
 * between any two stores: each struct says what a reader then sees. No word here is locked.
 *
 * Trust. A reader checks what it reads: ftc_segment_attach() checks magic, version, sizes and
 * offsets against the file's size, and keeps private copies of them, so that a later change cannot
 * lead it out of the map.
 *
 * Nodes. A job of several nodes has a segment on each, with a slot for every rank. A rank of
 * another node is *remote*: its slot is written by this node's launcher, as the rank's own launcher
 * tells.
 *
 * Rings. There is room for one ring for each ordered pair of ranks, at a fixed place; the file is
 * sparse, so a pair that never talks costs no memory (node/ring.h).
 */
#ifndef FTC_NODE_SEGMENT_SEGMENT_H
#define FTC_NODE_SEGMENT_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "node/system/process.h"

#define FTC_SEGMENT_MAGIC   0x314c4c4f43544646ull /* "FFTCOLL1" */
#define FTC_SEGMENT_VERSION 10
#define FTC_NODE_MAX_RANKS  4096
/* Before the name of a job in that of its PMIx namespace, where ftrun is the server. */
#define FTC_PMIX_SPACE         "ftcoll-"
#define FTC_JOB_NAME_SIZE      32
#define FTC_JOB_GROUP          32 /* bytes */
#define FTC_JOB_SECRET         32 /* bytes */
#define FTC_NODE_MAX_NODES     1024
#define FTC_ENDPOINT_SIZE      1024  /* where a rank listens, as text with its NUL */
#define FTC_SEGMENT_RING_BYTES 65536 /* one ring with its header */

enum ftc_job_state {
    FTC_JOB_STARTING, /* ranks are being spawned */
    FTC_JOB_RUNNING,
    FTC_JOB_ENDED, /* the launcher has reaped every rank */
};

/* Why a rank was declared failed. */
enum ftc_failure_cause {
    FTC_CAUSE_NONE,
    FTC_CAUSE_SIGNAL,  /* ended by a signal; `detail` is its number */
    FTC_CAUSE_EXIT,    /* exited before ftc_finalize(); `detail` is its code */
    FTC_CAUSE_STALLED, /* heartbeat stood still; fenced */
    FTC_CAUSE_STOPPED, /* stopped (job control) for longer than the timeout; fenced */
    FTC_CAUSE_ACCUSED, /* another rank got damaged data from it; fenced; `seen_by` is that rank */
    FTC_CAUSE_DRILL,   /* ftrun --kill */
    FTC_CAUSE_LAUNCH,  /* could not be started; `detail` is errno */
    FTC_CAUSE_NODE,    /* its node was lost; `detail` is the node */
    FTC_CAUSES
};
const char *ftc_failure_cause_name(enum ftc_failure_cause cause); /* "signal", "exit", ... */

/* A node of the job, as this node's launcher knows it. A node goes down this list only. */
enum ftc_node_state {
    FTC_NODE_PRESENT,
    FTC_NODE_LEFT, /* ended after it had told the end of each of its ranks */
    FTC_NODE_REFUSED, /* silent: nothing that its ranks send is taken in any more (docs/design/nodes.md) */
    FTC_NODE_LOST, /* declared: all its ranks have failed */
};

struct ftc_node {
    char host[64];
    uint32_t first, count;  /* its ranks, in a row */
    _Atomic uint32_t state; /* enum ftc_node_state; the launcher */
    _Atomic uint64_t changed_ns;
};

/* Where a rank is, as the rank itself writes it. A rank that never joined stays at
 * FTC_RANK_SPAWNED. */
enum ftc_rank_phase {
    FTC_PHASE_SPAWNED,
    FTC_PHASE_JOINED,    /* ftc_init() done */
    FTC_PHASE_FINALIZED, /* agreement.md, finalize: the mark; an exit after it is no failure */
};

/* How a rank can be woken (node/bell.h). */
enum ftc_sleep {
    FTC_SLEEP_AWAKE, /* polls by itself */
    FTC_SLEEP_FUTEX, /* sleeps on slot->bell inside a collective call */
    FTC_SLEEP_SOCKET, /* its caller is outside the library; the progress thread waits on the bell socket */
    FTC_SLEEP_POLL, /* sleeps inside a collective call on a socket of its own, and on something else beside it */
};

/* What a rank is doing: for people (ftcoll-status), never for the protocol. Written by its rank
 * under a sequence count that is odd meanwhile; a rank that dies there leaves it odd for ever:
 * readers try a few times, then show what they read as uncertain. */
struct ftc_activity {
    _Atomic uint32_t sequence;
    _Atomic uint32_t kind; /* enum ftc_call_kind of collectives/call.h; 0: outside the library */
    _Atomic uint64_t op;   /* the operation's number k */
    _Atomic uint64_t since_ns; /* ftc_clock_now() at the call or the return */
    _Atomic uint32_t ballot_i, ballot_s;
    _Atomic uint32_t role; /* enum ftc_wait of collectives/agreement/member.h: what it waits for */
    _Atomic int32_t waits_for; /* lowest rank it waits for, -1: none */
    _Atomic uint32_t waits;    /* how many ranks it waits for */
    _Atomic int32_t root;      /* -1: none */
    _Atomic uint64_t epoch_op; /* epoch of the communicator */
    _Atomic uint32_t epoch_i, epoch_s;
    _Atomic uint32_t known_failed;  /* |L| */
    _Atomic uint32_t agreed_failed; /* |G| */
    _Atomic uint64_t unsettled_ns;  /* gossip: not ready to agree since; 0: ready */
};

#define FTC_MESSAGE_KINDS 8
#define FTC_PID_CLOSED    (-1) /* in slot->pid: the rank has ended, nobody may join as it any more */
#define FTC_RULES         64
#define FTC_PIECES        4

/* Datagrams of multicast. */
enum ftc_datagrams {
    FTC_DATAGRAMS_SENT,
    FTC_DATAGRAMS_RECEIVED,  /* sound, of this job and from others */
    FTC_DATAGRAMS_FOREIGN,   /* of another job, or nobody's: ignored */
    FTC_DATAGRAMS_CORRUPT,   /* by their checksum: dropped */
    FTC_DATAGRAMS_SENSELESS, /* sound, but not what a member could take: ignored */
    FTC_DATAGRAMS_FAILED,    /* not sent, or not received, for want of room */
    FTC_DATAGRAMS_DRILL_LOST,
    FTC_DATAGRAMS_DRILL_OTHER, /* doubled, late, damaged, foreign */
    FTC_DATAGRAMS
};
const char *ftc_datagrams_name(enum ftc_datagrams kind); /* "sent", "drill_lost", ... */

/* How messages to another rank go. */
enum ftc_carrier { FTC_CARRIER_SHM, FTC_CARRIER_VERBS, FTC_CARRIER_TCP, FTC_CARRIERS };
const char *ftc_carrier_name(enum ftc_carrier carrier); /* "shm", "verbs", "tcp" */

/* Counters a rank publishes; they only grow. Indices: collectives/message.h, member.h. */
struct ftc_counters {
    _Atomic uint64_t sent[FTC_MESSAGE_KINDS];  /* messages by kind */
    _Atomic uint64_t bytes;                    /* bytes of messages sent, headers included */
    _Atomic uint64_t operations;               /* collective calls that returned */
    _Atomic uint64_t ballots;                  /* ballots entered */
    _Atomic uint64_t dropped;                  /* messages dropped by rule, any reason */
    _Atomic uint64_t rules[FTC_RULES];         /* how often each rule of agreement.md was taken */
    _Atomic uint64_t pieces[FTC_PIECES];       /* of multicast decisions, by how they came */
    _Atomic uint64_t datagrams[FTC_DATAGRAMS]; /* of multicast: transport/multicast/multicast.h */
};

/* One per rank. Each group of fields is on cache lines of its own. */
struct ftc_slot {
    /* Any rank and the launcher. */
    _Alignas(64) _Atomic uint32_t bell; /* futex word: bumped before every wake-up */
    _Atomic uint32_t sleep;             /* enum ftc_sleep; written by the rank */

    /* The rank. */
    _Alignas(
        64) _Atomic uint32_t phase; /* enum ftc_rank_phase; release: what is below is filled in */
    _Atomic int32_t pid; /* the process that joined; may be a descendant of the launcher's child */
    _Atomic uint64_t pid_start;       /* its start time, /proc/<pid>/stat field 22 */
    _Atomic uint64_t joined_ns;       /* ftc_clock_now() */
    _Atomic uint64_t first_result_ns; /* when its first collective returned; 0: not yet */
    _Atomic uint64_t heartbeat;       /* grows once per period while the progress thread runs */
    _Atomic uint64_t called;          /* number of operations called so far: flow control */
    _Atomic int32_t accused;          /* rank + 1 whom this rank wants fenced; 0: none */
    _Atomic int32_t unreachable;      /* rank + 1 that it cannot connect to for long; 0: none */
    _Atomic uint32_t noticed;         /* entries of the failure log it has taken in */
    _Atomic uint64_t noticed_ns;      /* ... the last of them at this time */
    _Atomic uint32_t carriers[FTC_CARRIERS]; /* ranks it talks to, by how */

    _Alignas(64) struct ftc_activity activity;
    _Alignas(64) struct ftc_counters counters;

    /* The launcher. */
    _Alignas(64) _Atomic int32_t child_pid; /* 0: not started */
    _Atomic uint64_t
        child_start; /* ftc_process_start(child_pid); 0: unknown, garbage collection spares it */
    _Atomic uint32_t ended;      /* its exit was seen; release: the fields below are filled in */
    _Atomic int32_t wait_status; /* of waitpid(), valid if ended */
    _Atomic uint64_t spawned_ns, ended_ns;
    /* Declared failed, with a check (failures.c); release: the fields below are filled in. */
    _Atomic uint32_t failed;
    _Atomic uint32_t cause;        /* enum ftc_failure_cause */
    _Atomic int32_t detail;        /* signal, exit code or errno */
    _Atomic int32_t seen_by;       /* -1: the launcher */
    _Atomic uint64_t declared_ns;  /* ftc_clock_now() at the declaration */
    _Atomic uint64_t suspected_ns; /* when the suspicion or the exit was first seen */
    _Atomic uint32_t
        refused; /* remote: take in nothing that it sends. Looked at after a message has come */
    _Atomic uint32_t
        suspicions; /* how often the detector suspected it, if it is of this node: to count */
    _Atomic uint32_t fencings; /* ... and the launcher killed it for one */
};

/* The rank that `accused` or `unreachable` of a slot names. -1: none, or no rank of this job. */
static inline int ftc_slot_names(int32_t word, int ranks)
{
    return word >= 1 && word <= ranks ? word - 1 : -1;
}

struct ftc_segment_header {
    _Atomic uint64_t magic; /* written last, release: what is below is filled in */
    uint32_t version, ranks;
    uint32_t slot_size, ring_size;
    uint64_t text_offset, text_size;
    uint32_t nodes, node_size;
    uint32_t endpoint_size, unused; /* 0: there are none */
    uint64_t slots_offset, nodes_offset, endpoints_offset, log_offset, sets_offset, pending_offset;
    uint64_t places_offset, progress_offset, posts_offset, results_offset; /* the board */
    uint64_t rings_offset, areas_offset, total_size;
    uint64_t pending_stride, set_stride; /* bytes between two rows */
    char job[FTC_JOB_NAME_SIZE];
    char host[64];
    char command[256];   /* for people; cut */
    char directory[108]; /* of the job's sockets (node/bell.h) and PMIx files */
    uint32_t uid;
    int32_t f;
    uint32_t bound_cores; /* each rank is bound to one of so many, in turn; 0: they are not bound */
    int32_t launcher_pid;
    uint64_t launcher_start; /* /proc/<pid>/stat field 22: tells a reused pid */
    uint64_t pid_namespace;  /* in which these pids mean something; 0: unknown */
    uint64_t started_ns, started_realtime_ns;
    uint64_t heartbeat_period_ns, heartbeat_timeout_ns;
    unsigned char
        multicast_group[FTC_JOB_GROUP]; /* drawn for this job; on the wire, so no secret */
    uint32_t node;                      /* this one */
    char cluster[FTC_JOB_NAME_SIZE]; /* the job's name on all nodes; `job` if there is one node */
    unsigned char secret[FTC_JOB_SECRET]; /* where there are endpoints: proves each connection */

    _Alignas(64) _Atomic uint32_t state;     /* enum ftc_job_state; the launcher */
    _Atomic uint32_t failures;               /* entries in the failure log; the launcher, release */
    _Alignas(64) _Atomic uint32_t finalized; /* hint: how many set the mark; any rank adds 1 */
    _Alignas(64) _Atomic uint64_t abort; /* 0, or FTC_ABORT(rank, code): any rank, first one wins */
    _Alignas(64) _Atomic uint64_t
        lease_ns; /* ranks return from no call after this time (ftc_clock_now()); the launcher */
};

#define FTC_ABORT(rank, code)                                                                      \
    ((1ull << 63) | ((uint64_t)(uint32_t)(rank) << 16) | (uint64_t)((code)&0xffff))
#define FTC_ABORT_RANK(word) ((int)(((word) >> 16) & 0xffffffff))
#define FTC_ABORT_CODE(word) ((int)((word)&0xffff))

/* What the launcher asks for. Strings are copied and cut to fit. */
struct ftc_segment_spec {
    const char *job, *host, *command, *directory;
    const char *text; /* the resolved configuration, "section.key=value\n" lines, for the ranks */
    int ranks, f, bound_cores;
    bool endpoints;  /* ranks say where they listen; so they do on several nodes */
    int node, nodes; /* 0 nodes: one, with all ranks, and cluster and members are not looked at */
    const char *cluster;
    const unsigned char *secret; /* FTC_JOB_SECRET bytes; NULL: drawn */
    const struct ftc_node
        *members; /* hosts and ranks of each node, which follow one another from rank 0 on */
    uint64_t heartbeat_period_ns, heartbeat_timeout_ns;
};

struct ftc_segment; /* a mapping; private copies of the layout */

/*
 * Create /dev/shm/<name of spec->job> (mode 0600, exclusive), its front part really allocated, and
 * map it. The caller is its launcher: others count it as alive until it has detached, or has ended.
 * FTC_ERR_STATE: the name is not free. FTC_ERR_SYSTEM with cause and remedy: /dev/shm read-only,
 * full, missing; file-size or address-space limit.
 */
int ftc_segment_create(struct ftc_segment **out, const struct ftc_segment_spec *spec);

/* A checked copy of the header alone, as it is at this moment; for looking around. FTC_ERR_PROTO,
 * FTC_ERR_SYSTEM. */
int ftc_segment_peek(struct ftc_segment_header *header, const char *job);

/* Map an existing one. `writable` false: read-only, front part only (no rings): what ftcoll-status
 * uses; it cannot disturb the job. FTC_ERR_PROTO when what is there is not a sound segment of this
 * version; FTC_ERR_SYSTEM. */
int ftc_segment_attach(struct ftc_segment **out, const char *job, bool writable);

void ftc_segment_detach(struct ftc_segment *segment); /* NULL is legal */

/* Take away its name, if that still leads to this segment; for its launcher. */
void ftc_segment_remove(struct ftc_segment *segment);

/* Does the launcher live? Its lock decides, in any pid namespace; without locks its pid, where that
 * means something. */
enum ftc_life ftc_segment_launcher(struct ftc_segment *segment);

/* For a collector: a descriptor that holds the lock of the segment's file, whatever is in it, if
 * its launcher is known to be gone; else -1. A process that holds the lock may unlink the file. */
int ftc_segment_seize(const char *path);

/* A job name is "<pid>.<six digits>"; whatever else comes as one is refused before a path is made
 * of it. Pids are not unique where several pid namespaces share /dev/shm; the digits are drawn. */
bool ftc_job_name_valid(const char *job);

/* The path of a job's segment: "/dev/shm/ftcoll-<uid>-<job>". */
void ftc_segment_path(char path[128], uid_t uid, const char *job);

struct ftc_segment_header *ftc_segment_header(struct ftc_segment *segment);
int ftc_segment_ranks(const struct ftc_segment *segment);
/* Is this an address in the mapping? */
bool ftc_segment_holds(const struct ftc_segment *segment, const void *address);
const char *
ftc_segment_text(struct ftc_segment *segment); /* NUL-terminated copy, owned by the mapping */
struct ftc_slot *ftc_segment_slot(struct ftc_segment *segment, int rank);

/* --- nodes --- */

int ftc_segment_nodes(const struct ftc_segment *segment);
int ftc_segment_node(const struct ftc_segment *segment); /* this one */
/* Ranks of this node: *count of them, from the returned one on. */
int ftc_segment_local(const struct ftc_segment *segment, int *count);
bool ftc_segment_is_local(const struct ftc_segment *segment, int rank);
int ftc_segment_node_of(const struct ftc_segment *segment, int rank);
struct ftc_node *ftc_segment_node_at(struct ftc_segment *segment, int node);
/* FTC_ENDPOINT_SIZE bytes, to be read only once the rank's phase is FTC_PHASE_JOINED, and not
 * trusted. NULL: the job has none. */
char *ftc_segment_endpoint(struct ftc_segment *segment, int rank);

/* Rows of the sets that a rank publishes for ftcoll-status, ftc_set_words(ranks) words each; may be
 * torn. */
_Atomic uint64_t *ftc_segment_known_row(struct ftc_segment *segment, int rank);  /* L */
_Atomic uint64_t *ftc_segment_agreed_row(struct ftc_segment *segment, int rank); /* G */

/* Row of bits of `rank`: bit q is set after q put something into the ring q -> rank. Any rank,
 * atomic or/exchange. */
_Atomic uint64_t *ftc_segment_pending_row(struct ftc_segment *segment, int rank);

/* Start of the ring from -> to; NULL in a read-only mapping. Touch it only after
 * ftc_ring_create(). */
void *ftc_segment_ring(struct ftc_segment *segment, int from, int to);
/* Really allocate `size` bytes from `offset` of that ring, so that a full /dev/shm is an error here
 * and not SIGBUS later. FTC_ERR_SYSTEM. */
int ftc_segment_ring_allocate(struct ftc_segment *segment, int from, int to, size_t offset,
                              size_t size);

/* --- failures: one writer, the launcher --- */

struct ftc_failure {
    enum ftc_failure_cause cause;
    int detail;  /* signal, exit code or errno */
    int seen_by; /* a rank, -1: the launcher */
    uint64_t suspected_ns, declared_ns;
};

/* Declare `rank` failed, once its exit was seen: fills its slot, appends to the log, then
 * publishes. A second declaration of the same rank is ignored: what this process has declared
 * decides that, never what shared memory says. Waking the sleepers is the caller's next step
 * (ftc_bell_ring_all, ftc_board_ring_all).
 */
void ftc_segment_declare(struct ftc_segment *segment, int rank, const struct ftc_failure *failure);

/* Write again what this process has declared, and nothing else: a rank may have damaged the flags,
 * the log or its length. */
void ftc_segment_restore_failures(struct ftc_segment *segment);

/* The next rank declared after *cursor entries (start at 0), and advance it. -1: none, or the entry
 * is damaged, and the launcher will write it again. */
int ftc_segment_next_failure(struct ftc_segment *segment, uint32_t *cursor);

bool ftc_segment_failed(struct ftc_segment *segment, int rank); /* acquire */

#endif
