/*
 * The node segment is a shared-memory file, one per job and node. The launcher makes it. Launcher,
 * ranks and ftcoll-status see each other through it. Its parts follow one another in this order:
 *
 *   header
 *   configuration text
 *   standings, one per rank of the job
 *   nodes
 *   failure log
 *   slots, one per rank of this node, as all that follows up to the histories
 *   endpoints
 *   set rows
 *   pending rows
 *   board
 *   histories; they have memory if they are kept
 *   endpoints of ranks of other nodes, one behind the other, sparse
 *   shown words of ranks of other nodes, sparse
 *   rings between ranks of this node, sparse
 *   areas of the board, sparse
 *
 * Nothing outside of node/ knows where the parts lie. The structs below are mapped as they are.
 *
 * Crash safety. Every word has one writer, which is the rank that owns the slot, or the launcher.
 * Words that are marked "any rank" are an exception, and are changed by atomic read-modify-write
 * only. A writer may die between any two stores, and each struct says what a reader then sees. No
 * lock protects any word.
 *
 * Trust. A reader checks all that it reads. ftc_segment_attach() checks magic, version, sizes and
 * offsets against the size of the file, and keeps private copies of them, so that a later change
 * cannot lead it out of the map.
 *
 * Nodes. A job of several nodes has a segment on each node. Each rank of the job has a standing
 * there, which is one cache line. A rank of this node has a slot, too. A rank of another node is
 * *remote*: the launcher of this node writes its standing, as the launcher of that rank tells it.
 *
 * Rings. Each ordered pair of ranks of this node has room for one ring, at a fixed place. The file
 * is sparse, so a pair that never talks costs no memory (node/ring.h).
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
#define FTC_SEGMENT_VERSION 28
#define FTC_NODE_MAX_RANKS  65536 /* of a job */
#define FTC_NODE_MAX_LOCAL  4096  /* ranks of one node */
#define FTC_NODE_MAX_NODES  4096
/* Where ftrun is the PMIx server, the name of a job's namespace is this and the name of the job. */
#define FTC_PMIX_SPACE         "ftcoll-"
#define FTC_JOB_NAME_SIZE      32
#define FTC_JOB_GROUP          32    /* bytes */
#define FTC_JOB_SECRET         32    /* bytes */
#define FTC_COMMUNICATOR_NAME  32    /* bytes, with its NUL */
#define FTC_ENDPOINT_SIZE      1024  /* bytes of an endpoint, with its NUL */
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
    FTC_CAUSE_STALLED, /* fenced, because its heartbeat stood still */
    FTC_CAUSE_STOPPED, /* fenced, because job control stopped it for longer than the timeout */
    FTC_CAUSE_ACCUSED, /* fenced, because rank `seen_by` got damaged data from it */
    FTC_CAUSE_DRILL,   /* killed by ftrun --kill */
    FTC_CAUSE_LAUNCH,  /* could not be started; `detail` is errno */
    FTC_CAUSE_NODE,    /* its node was lost; `detail` is the node */
    FTC_CAUSES
};
const char *ftc_failure_cause_name(enum ftc_failure_cause cause); /* "signal", "exit", ... */

/* The state of a node of the job, as the launcher of this node knows it. A state only changes to
 * one further down in this list. */
enum ftc_node_state {
    FTC_NODE_PRESENT,
    FTC_NODE_LEFT, /* it ended after it had told the end of each of its ranks */
    /* It was silent: nothing that its ranks send is taken in any more (docs/design/nodes.md). */
    FTC_NODE_REFUSED,
    FTC_NODE_LOST, /* it was declared: all its ranks have failed */
};

struct ftc_node {
    char host[64];
    uint32_t first, count;  /* its ranks are first .. first + count - 1 */
    _Atomic uint32_t state; /* enum ftc_node_state; the launcher */
    _Atomic uint64_t changed_ns;
};

/* How far a rank is. The rank itself writes this. A rank that never joined stays at
 * FTC_PHASE_SPAWNED. */
enum ftc_rank_phase {
    FTC_PHASE_SPAWNED,
    FTC_PHASE_JOINED,    /* ftc_init() is done */
    FTC_PHASE_FINALIZED, /* the mark (agreement.md, finalize): an exit after it is no failure */
};

/* How a rank can be woken (node/bell.h). */
enum ftc_sleep {
    FTC_SLEEP_AWAKE, /* it looks by itself, and needs no wake-up */
    FTC_SLEEP_FUTEX, /* it sleeps inside a collective call, on slot->bell */
    /* Its caller is outside the library. The progress thread waits on the socket <rank>. */
    FTC_SLEEP_SOCKET,
    /* The same, and the thread moves operations on. So each message wakes it. */
    FTC_SLEEP_WORK,
    /* It sleeps inside a collective call, in poll(): on the socket <rank>.call and on others. */
    FTC_SLEEP_POLL,
    /* It sleeps inside a collective call, on slot->bell, for some microseconds, and only what is
     * urgent wakes it. */
    FTC_SLEEP_DOZE,
};

/* What a rank is doing. This is shown to people (ftcoll-status); no protocol reads it. The sequence
 * count is odd while the rank writes. A rank that dies meanwhile leaves it odd for ever. So readers
 * try a few times, then show what they have read as uncertain. */
struct ftc_activity {
    _Atomic uint32_t sequence;
    /* enum ftc_call_kind of collectives/call.h, or enum ftc_history_kind; 0: outside the library */
    _Atomic uint32_t kind;
    _Atomic uint64_t op;           /* the operation's number k; UINT64_MAX: it has none */
    _Atomic uint64_t communicator; /* number of the communicator of the operation */
    _Atomic uint64_t name[FTC_COMMUNICATOR_NAME / 8]; /* of this communicator, as 32 bytes */
    _Atomic uint32_t algorithm; /* enum ftc_choice_id of the last call, plus 1; 0: no call yet */
    /* ftc_clock_now() at the call or the return; of a send or a receive: when its wait began. */
    _Atomic uint64_t since_ns;
    _Atomic uint32_t ballot_i, ballot_s;
    _Atomic uint32_t role; /* enum ftc_wait of collectives/agreement/member.h: what it waits for */
    _Atomic int32_t waits_for; /* lowest rank it waits for, -1: none, or any */
    _Atomic uint32_t waits;    /* how many ranks it waits for */
    _Atomic int32_t root;      /* -1: none */
    _Atomic uint64_t epoch_op; /* epoch of the communicator */
    _Atomic uint32_t epoch_i, epoch_s;
    _Atomic uint32_t known_failed;  /* |L| */
    _Atomic uint32_t agreed_failed; /* |G| */
    _Atomic uint64_t unsettled_ns;  /* gossip: not ready to agree since then; 0: it is ready */
    /* Of a send or a receive only (struct ftc_chain_message). */
    _Atomic int32_t tag;
    _Atomic uint64_t bytes;
};

/* The last ballot that a rank has entered after the first one of an operation. The sequence is odd
 * while the rank writes; its half counts these ballots. */
struct ftc_ballot_mark {
    _Atomic uint32_t sequence;
    _Atomic uint32_t i, s;
    _Atomic uint64_t op;
    _Atomic uint64_t at_ns; /* ftc_clock_now() */
};

#define FTC_MESSAGE_KINDS 12
#define FTC_PID_CLOSED    (-1) /* in slot->pid: the rank has ended, and nobody may join as it */
#define FTC_RULES         60
#define FTC_PIECES        4

/* What became of datagrams of multicast. */
enum ftc_datagrams {
    FTC_DATAGRAMS_SENT,
    FTC_DATAGRAMS_RECEIVED,  /* sound, and from another rank of this job */
    FTC_DATAGRAMS_FOREIGN,   /* ignored: from another job, or from no job */
    FTC_DATAGRAMS_CORRUPT,   /* dropped: the checksum was wrong */
    FTC_DATAGRAMS_SENSELESS, /* ignored: sound, but of no use for a member */
    FTC_DATAGRAMS_FAILED,    /* not sent or not received, because there was no room */
    FTC_DATAGRAMS_DROPPED, /* of other jobs, by kernel or device; udp: also if there was no room */
    FTC_DATAGRAMS_DRILL_LOST,
    FTC_DATAGRAMS_DRILL_OTHER, /* made double, late, damaged or foreign by a drill */
    FTC_DATAGRAMS
};
const char *ftc_datagrams_name(enum ftc_datagrams kind); /* "sent", "drill_lost", ... */

/* How messages to another rank travel. */
enum ftc_carrier { FTC_CARRIER_SHM, FTC_CARRIER_VERBS, FTC_CARRIER_TCP, FTC_CARRIERS };
const char *ftc_carrier_name(enum ftc_carrier carrier); /* "shm", "verbs", "tcp" */

#define FTC_MASKED_RANKS 8

/* Counters that a rank publishes. They only grow. collectives/message.h and member.h have the
 * meanings of the indices. */
struct ftc_counters {
    _Atomic uint64_t sent[FTC_MESSAGE_KINDS];  /* messages by kind */
    _Atomic uint64_t bytes;                    /* bytes of messages sent, headers included */
    _Atomic uint64_t operations;               /* collective calls that returned */
    _Atomic uint64_t ballots;                  /* ballots entered */
    _Atomic uint64_t dropped;                  /* messages dropped by a rule, whatever the reason */
    _Atomic uint64_t rules[FTC_RULES];         /* how often each rule of agreement.md was taken */
    _Atomic uint64_t pieces[FTC_PIECES];       /* pieces of multicast decisions, by how they came */
    _Atomic uint64_t datagrams[FTC_DATAGRAMS]; /* of multicast: transport/multicast/multicast.h */
    _Atomic uint64_t masked; /* failures that were hidden from the program: ftc_note_masked() */
    _Atomic uint64_t masked_ranks[FTC_MASKED_RANKS]; /* the first ones: rank in the job + 1 */
};

/* How a rank stands, in one cache line. Each node has one for each rank of the job. */
struct ftc_standing {
    /* Written by the rank; for a remote rank by the launcher. */
    /* enum ftc_rank_phase; release: `joined_ns`, the endpoint and the slot are filled in. */
    _Alignas(64) _Atomic uint32_t phase;
    _Atomic int32_t pid; /* the process that joined; may be a descendant of the launcher's child */
    _Atomic uint64_t joined_ns; /* ftc_clock_now() */

    /* Written by the launcher. */
    _Atomic uint32_t ended;      /* its exit was seen; release: `wait_status` is filled in */
    _Atomic int32_t wait_status; /* as of waitpid(); valid if ended */
    /* It was declared failed. The word carries a check (failures.c). Release: the fields below are
     * filled in, but for `shown`, `refused` and `endpoint`. */
    _Atomic uint32_t failed;
    _Atomic int32_t detail;        /* signal, exit code or errno */
    _Atomic int32_t seen_by;       /* -1: the launcher */
    _Atomic uint16_t cause;        /* enum ftc_failure_cause */
    _Atomic uint16_t shown;        /* of a remote rank; release: it has struct ftc_shown */
    _Atomic uint64_t declared_ns;  /* ftc_clock_now() at the declaration */
    _Atomic uint64_t suspected_ns; /* when the suspicion or the exit was first seen */
    /* For a remote rank: take in nothing that it sends. Read this after a message has come. */
    _Atomic uint32_t refused;
    _Atomic uint32_t endpoint; /* of a remote rank: where its endpoint is, + 1; 0: nowhere */
};

/* The words of one rank of this node, beside its standing. Each group of fields has cache lines of
 * its own. */
struct ftc_slot {
    /* Written by any rank and the launcher. */
    _Alignas(64) _Atomic uint32_t bell; /* futex word, incremented before every wake-up */
    _Atomic uint32_t sleep;             /* enum ftc_sleep; written by the rank only */
    /* The rank waits in a call, and lets others run on its core. Written by the rank only. A hint:
     * a rank that waits for it does better to let others run, too. */
    _Atomic uint32_t gives_way;

    /* Written by the rank. */
    /* The start time of the process that joined, /proc/<pid>/stat field 22. */
    _Alignas(64) _Atomic uint64_t pid_start;
    _Atomic uint64_t first_result_ns; /* when its first collective returned; 0: not yet */
    _Atomic uint64_t heartbeat;       /* grows once per period while the progress thread runs */
    _Atomic uint64_t called;          /* how many operations it has called, for flow control */
    _Atomic int32_t accused;          /* the rank that it accuses, + 1; 0: none */
    _Atomic int32_t unreachable;      /* a rank that it cannot connect to for long, + 1; 0: none */
    _Atomic uint32_t noticed;         /* how many entries of the failure log it has taken in */
    _Atomic uint64_t noticed_ns;      /* when it took in the last of these entries */
    _Atomic uint32_t carriers[FTC_CARRIERS]; /* to how many ranks it talks by each carrier */

    _Alignas(64) struct ftc_activity activity;
    struct ftc_ballot_mark ballot;
    _Alignas(64) struct ftc_counters counters;

    /* Written by the launcher. */
    _Alignas(64) _Atomic int32_t child_pid; /* 0: not started */
    /* ftc_process_start(child_pid). 0: unknown; a collector does not kill the process then. */
    _Atomic uint64_t child_start;
    _Atomic uint64_t spawned_ns;
    _Atomic uint32_t suspicions; /* how often the detector suspected it */
    _Atomic uint32_t fencings;   /* how often the launcher killed it because of a suspicion */
};

/* What a remote rank does, for people. The launcher writes it now and then, as the launcher of that
 * rank tells it. In jobs of up to FTC_SHOWN_RANKS its sets follow, as they lie in set rows. */
struct ftc_shown {
    struct ftc_activity activity;
    _Atomic uint64_t called, operations, heartbeat, spawned_ns; /* as in a slot */
};
#define FTC_SHOWN_RANKS 4096

/* The rank that the word `accused` or `unreachable` of a slot names. -1: it names none, or one that
 * is not of this job. */
static inline int ftc_slot_names(int32_t word, int ranks)
{
    return word >= 1 && word <= ranks ? word - 1 : -1;
}

/* Are histories kept (node/segment/history.h), and of what are their ticks? */
enum ftc_history_mode {
    FTC_HISTORY_OFF,
    FTC_HISTORY_NANOSECONDS, /* ftc_clock_now() */
    FTC_HISTORY_COUNTER,     /* the time-stamp counter */
    FTC_HISTORY_MODES
};

struct ftc_segment_header {
    _Atomic uint64_t magic; /* written last; release: the fields below are filled in */
    uint32_t version, ranks;
    uint32_t standing_size, slot_size, shown_size, ring_size;
    uint64_t text_offset, text_size;
    uint32_t nodes, node_size;
    uint32_t endpoint_size; /* 0: the job has no endpoints */
    uint32_t local;         /* ranks of this node */
    uint64_t standings_offset, nodes_offset, log_offset;
    uint64_t slots_offset, endpoints_offset, sets_offset, pending_offset;
    uint64_t places_offset, progress_offset, posts_offset, results_offset; /* the board */
    uint64_t history_offset, remote_offset, shown_offset; /* remote: endpoints of remote ranks */
    uint64_t rings_offset, areas_offset, total_size;
    uint64_t pending_stride, set_stride, shown_stride; /* bytes between two rows */
    char job[FTC_JOB_NAME_SIZE];
    char host[64];
    char command[256];   /* shown to people; cut to fit */
    char directory[108]; /* of the job's sockets (node/bell.h) and PMIx files */
    uint32_t uid;
    int32_t f;
    uint32_t bound_cores; /* ranks are bound to so many cores in turn; 0: they are not bound */
    int32_t launcher_pid;
    uint64_t launcher_start; /* /proc/<pid>/stat field 22, by which a reused pid is noticed */
    uint64_t pid_namespace;  /* the pid namespace of all pids in the segment; 0: unknown */
    uint64_t started_ns, started_realtime_ns;
    uint64_t started_ticks; /* ftc_clock_ticks(), read with started_ns */
    uint32_t history;       /* enum ftc_history_mode */
    uint64_t heartbeat_period_ns, heartbeat_timeout_ns;
    /* Drawn for this job. It is sent in the clear, so it is no secret. */
    unsigned char multicast_group[FTC_JOB_GROUP];
    uint32_t node;                        /* the number of this node */
    char cluster[FTC_JOB_NAME_SIZE];      /* the job's name on all nodes; `job` on a single node */
    unsigned char secret[FTC_JOB_SECRET]; /* the job secret, if there are endpoints */

    _Alignas(64) _Atomic uint32_t state; /* enum ftc_job_state; the launcher */
    _Atomic uint32_t failures;           /* entries in the failure log; the launcher, release */
    /* A hint: how many ranks have set the mark. Any rank adds 1. */
    _Alignas(64) _Atomic uint32_t finalized;
    /* 0, or FTC_ABORT(rank, code). Any rank; the first one wins. */
    _Alignas(64) _Atomic uint64_t abort;
    /* Ranks return from no call after this time (ftc_clock_now()). The launcher. */
    _Alignas(64) _Atomic uint64_t lease_ns;
};

#define FTC_ABORT(rank, code)                                                                      \
    ((1ull << 63) | ((uint64_t)(uint32_t)(rank) << 16) | (uint64_t)((code)&0xffff))
#define FTC_ABORT_RANK(word) ((int)(((word) >> 16) & 0xffffffff))
#define FTC_ABORT_CODE(word) ((int)((word)&0xffff))

/* What the launcher wants in a new segment. Strings are copied, and cut to fit. */
struct ftc_segment_spec {
    const char *job, *host, *command, *directory;
    const char *text; /* the configuration for the ranks, from ftc_settings_dump() */
    int ranks, f, bound_cores;
    bool history;    /* the last operations of each rank are recorded */
    bool endpoints;  /* true: ranks publish endpoints; on several nodes they always do */
    int node, nodes; /* nodes 0: a single node with all ranks; cluster and members are not read */
    const char *cluster;
    const unsigned char *secret; /* FTC_JOB_SECRET bytes; NULL: they are drawn */
    /* Host and ranks of each node. The ranks of the nodes follow one another, from rank 0 on. */
    const struct ftc_node *members;
    uint64_t heartbeat_period_ns, heartbeat_timeout_ns;
};

struct ftc_segment; /* a mapping, with private copies of the layout */

/*
 * Create the file of job spec->job in /dev/shm (mode 0600, exclusive), allocate its front part, and
 * map it. The caller is the launcher of the segment: others count it as alive until it has detached
 * or ended. FTC_ERR_STATE: the name is not free. FTC_ERR_SYSTEM, with cause and remedy: /dev/shm is
 * read-only, full or missing, or a limit on file size or address space is too low.
 */
int ftc_segment_create(struct ftc_segment **out, const struct ftc_segment_spec *spec);

/* A checked copy of the header alone, as it is now, for callers that do not need the rest.
 * FTC_ERR_PROTO, FTC_ERR_SYSTEM. */
int ftc_segment_peek(struct ftc_segment_header *header, const char *job);

/* Map an existing segment. With `writable` false the mapping is read-only, and has the front part
 * only, without rings, so that it cannot disturb the job; ftcoll-status uses this. FTC_ERR_PROTO:
 * the file is no sound segment of this version. FTC_ERR_SYSTEM. */
int ftc_segment_attach(struct ftc_segment **out, const char *job, bool writable);

void ftc_segment_detach(struct ftc_segment *segment); /* NULL is legal */

/* Unlink the file of the segment, if its name still leads to this segment. Only its launcher calls
 * this. */
void ftc_segment_remove(struct ftc_segment *segment);
/* Unlink what boards of a dead job have left (node/segment/board_file.h): their ranks died before
 * they could. `path` is that of its segment. */
void ftc_segment_boards_remove(const char *path);

/* Does the launcher live? Its lock decides, in any pid namespace. On systems without such locks its
 * pid decides, if this process is in the same pid namespace. */
enum ftc_life ftc_segment_launcher(struct ftc_segment *segment);

/* For a collector. If the launcher is known to be gone: a descriptor that holds the lock of the
 * file, whatever the file contains. Else -1. A process that holds the lock may unlink the file. */
int ftc_segment_seize(const char *path);

/* Is this a job name, that is "<pid>.<six digits>"? All others are refused before a path is made of
 * them. The digits are random, because pids are not unique where several pid namespaces share
 * /dev/shm. */
bool ftc_job_name_valid(const char *job);

/* The path of a job's segment: "/dev/shm/ftcoll-<uid>-<job>". */
void ftc_segment_path(char path[128], uid_t uid, const char *job);

struct ftc_segment_header *ftc_segment_header(struct ftc_segment *segment);
int ftc_segment_ranks(const struct ftc_segment *segment);
/* Is this an address in the mapping? */
bool ftc_segment_holds(const struct ftc_segment *segment, const void *address);
/* A private, NUL-terminated copy of the configuration text. The mapping owns it. */
const char *ftc_segment_text(struct ftc_segment *segment);
struct ftc_standing *ftc_segment_standing(struct ftc_segment *segment, int rank);
struct ftc_slot *ftc_segment_slot(struct ftc_segment *segment, int rank); /* of this node */

/* --- nodes --- */

int ftc_segment_nodes(const struct ftc_segment *segment);
int ftc_segment_node(const struct ftc_segment *segment); /* the number of this node */
/* The ranks of this node. Returns the first one, and their number in *count. */
int ftc_segment_local(const struct ftc_segment *segment, int *count);
bool ftc_segment_is_local(const struct ftc_segment *segment, int rank);
int ftc_segment_node_of(const struct ftc_segment *segment, int rank);
struct ftc_node *ftc_segment_node_at(struct ftc_segment *segment, int node);
/* The ranks of `node`. Returns the first one, and their number in *count. */
int ftc_segment_ranks_of(const struct ftc_segment *segment, int node, int *count);

/* Where a rank of this node writes its endpoint before it sets FTC_PHASE_JOINED, in
 * FTC_ENDPOINT_SIZE bytes. NULL: the job has no endpoints. */
char *ftc_segment_own_endpoint(struct ftc_segment *segment, int rank);
/* The launcher: keep the endpoint of a remote rank, of `size` < FTC_ENDPOINT_SIZE bytes without a
 * NUL. Then set FTC_PHASE_JOINED. FTC_ERR_SYSTEM: /dev/shm is full. */
int ftc_segment_keep_endpoint(struct ftc_segment *segment, int rank, const void *text, size_t size);
/* Copy the endpoint of a rank that has joined. Its words are not trusted. False: it has not joined,
 * or has no endpoint. */
bool ftc_segment_endpoint(struct ftc_segment *segment, int rank, char text[FTC_ENDPOINT_SIZE]);

/* What is shown of a rank. NULL: nothing has been told of it. */
struct ftc_activity *ftc_segment_activity(struct ftc_segment *segment, int rank);
/* The same of a remote rank. The launcher gets memory for it. FTC_ERR_SYSTEM: /dev/shm is full. */
struct ftc_shown *ftc_segment_shown(struct ftc_segment *segment, int rank);
int ftc_segment_show(struct ftc_segment *segment, int rank, struct ftc_shown **shown);

/* The sets that a rank publishes for ftcoll-status, in ftc_set_words(ranks) words each. A reader
 * may see words of different times. NULL: they are not known on this node. */
_Atomic uint64_t *ftc_segment_known_row(struct ftc_segment *segment, int rank);  /* L */
_Atomic uint64_t *ftc_segment_agreed_row(struct ftc_segment *segment, int rank); /* G */

/* The pending bits of `rank`: bit i is set after the i-th rank q of this node has put something
 * into the ring q -> rank. Any rank, by atomic or and exchange. */
_Atomic uint64_t *ftc_segment_pending_row(struct ftc_segment *segment, int rank);

/* The start of the ring from -> to, two ranks of this node. NULL in a read-only mapping. Touch the
 * ring only after ftc_ring_create(). */
void *ftc_segment_ring(struct ftc_segment *segment, int from, int to);
/* Allocate the memory of `size` bytes from `offset` of that ring, so that a full /dev/shm is
 * FTC_ERR_SYSTEM here and not a SIGBUS later. */
int ftc_segment_ring_allocate(struct ftc_segment *segment, int from, int to, size_t offset,
                              size_t size);

/* --- failures: only the launcher writes them --- */

struct ftc_failure {
    enum ftc_failure_cause cause;
    int detail;  /* signal, exit code or errno */
    int seen_by; /* a rank; -1: the launcher */
    uint64_t suspected_ns, declared_ns;
};

/* Declare `rank` failed, after its exit was seen: fill its standing, append it to the log, then
 * publish the log. A second declaration of the same rank is ignored. A private list of this process
 * decides that, never shared memory. The caller must then wake the sleepers (ftc_bell_ring_all,
 * ftc_board_ring_all).
 */
void ftc_segment_declare(struct ftc_segment *segment, int rank, const struct ftc_failure *failure);

/* Write again what this process has declared, because a rank may have damaged the flags, the log or
 * its length. In a large job one call looks at some ranks, and the next one at the next ranks. */
void ftc_segment_restore_failures(struct ftc_segment *segment);

/* The rank in entry *cursor of the failure log, and advance *cursor, which starts at 0. -1: there
 * is no such entry, or it is damaged, and the launcher will write it again. */
int ftc_segment_next_failure(struct ftc_segment *segment, uint32_t *cursor);

bool ftc_segment_failed(struct ftc_segment *segment, int rank); /* acquire */

#endif
