/*
 * ftcoll.h - fault-tolerant collective operations.
 *
 * A job is a group of n processes, ranks 0..n-1, started by `ftrun -np n -f f ./app`, or by a launcher with
 * PMIx. Every collective operation finishes on every surviving rank with one consistent result, whichever ranks die, whenever.
 * f is the number of failures that one operation masks without a second round; more cost time, not
 * correctness. Failed ranks keep their numbers; the survivors' operations leave them out.
 *
 * Conventions. Every function that can fail returns FTC_SUCCESS (0) or a negative FTC_ERR_* code and
 * leaves its outputs untouched on error; ftc_last_error() then has the cause in words. FTC_ERR_ARG is for what cannot be,
 * such as a communicator or an output that is NULL; a child made by fork() gets FTC_ERR_STATE for its parent's communicator.
 * Collective calls block until this rank has the result; each rank makes the same collective calls in the same order
 * with the same count, type, operator and root: ranks that do not end the job with FTC_EXIT_MISMATCH.
 *
 * Threads. Any thread may call, but one at a time for each communicator: calls on one communicator are
 * serialised by the caller. A call that finds another one under way returns FTC_ERR_STATE at once;
 * ftc_rank(), ftc_size() and ftc_abort() are always allowed. A library thread answers for finished
 * operations while the caller computes.
 */
#ifndef FTCOLL_H
#define FTCOLL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FTC_VERSION_MAJOR 0
#define FTC_VERSION_MINOR 1
#define FTC_VERSION_PATCH 0

#if defined(__GNUC__)
#define FTC_API __attribute__((visibility("default")))
#else
#define FTC_API
#endif

/* Error codes: name, value, text. -1..-19: the call was refused, nothing happened; -20..-29: this
 * operation failed, the communicator is usable; -30..-39: this process must leave the job. */
#define FTC_ERRORS(X)                                                                      \
    X(FTC_ERR_ARG, -1, "invalid argument")                                                 \
    X(FTC_ERR_NOMEM, -2, "out of memory")                                                  \
    X(FTC_ERR_SIZE, -3, "array too small")                                                 \
    X(FTC_ERR_TYPE, -4, "operator not defined for this type")                              \
    X(FTC_ERR_STATE, -5, "not allowed in this state")                                      \
    X(FTC_ERR_CONFIG, -6, "invalid configuration")                                         \
    X(FTC_ERR_SYSTEM, -7, "a system call failed")                                          \
    X(FTC_ERR_UNSUPPORTED, -8, "not supported here")                                       \
    X(FTC_ERR_PROTO, -9, "malformed or unexpected message")                                \
    X(FTC_ERR_ROOT_FAILED, -20, "the root of the broadcast failed")                        \
    X(FTC_ERR_TOO_MANY_FAILURES, -21, "more than f ranks failed during the reduce")        \
    X(FTC_ERR_CORRUPT, -22, "results that should be equal differ; call again")             \
    X(FTC_ERR_NOT_CONVERGED, -23, "the aggregation ended without a result")                \
    X(FTC_ERR_FENCED, -30, "this process was declared failed")                             \
    X(FTC_ERR_MISMATCH, -31, "ranks disagree about which collective they are in")

enum ftc_error {
    FTC_SUCCESS = 0,
#define FTC_ERROR_ENUM(name, value, text) name = value,
    FTC_ERRORS(FTC_ERROR_ENUM)
#undef FTC_ERROR_ENUM
};

/* Exit codes with which the library itself ends a process (documented for scripts and `ftrun --report`). */
#define FTC_EXIT_FENCED   113 /* this process was declared failed and learnt of it */
#define FTC_EXIT_ORPHANED 114 /* the launcher died */
#define FTC_EXIT_INTERNAL 115 /* out of memory or a damaged segment in the middle of an operation */
#define FTC_EXIT_MISMATCH 116 /* ranks called different collectives: ends the whole job */
#define FTC_EXIT_CORRUPT  117 /* its memory was damaged ([integrity] mode = checksum) */

/* Element types. Pairs for FTC_MINLOC and FTC_MAXLOC are the structs below. */
typedef enum ftc_type {
    FTC_INT8 = 1,
    FTC_INT16,
    FTC_INT32,
    FTC_INT64,
    FTC_UINT8,
    FTC_UINT16,
    FTC_UINT32,
    FTC_UINT64,
    FTC_FLOAT,
    FTC_DOUBLE,
    FTC_INT32_INT32,  /* struct ftc_int32_int32 */
    FTC_INT64_INT32,  /* struct ftc_int64_int32 */
    FTC_FLOAT_INT32,  /* struct ftc_float_int32 */
    FTC_DOUBLE_INT32, /* struct ftc_double_int32 */
} ftc_type;

typedef struct ftc_int32_int32 { int32_t value; int32_t index; } ftc_int32_int32;
typedef struct ftc_int64_int32 { int64_t value; int32_t index; } ftc_int64_int32;
typedef struct ftc_float_int32 { float value; int32_t index; } ftc_float_int32;
typedef struct ftc_double_int32 { double value; int32_t index; } ftc_double_int32;

/* A number as a pointer that is none. */
#ifdef __cplusplus
#define FTC_MARK(type, number) reinterpret_cast<type>(static_cast<intptr_t>(number))
#else
#define FTC_MARK(type, number) ((type)(intptr_t)(number))
#endif

/* Operators. All are associative and commutative. Logical and bitwise ones take integer types only;
 * MINLOC and MAXLOC take pairs and break ties towards the lower index. Signed sums and products wrap. In sums,
 * products, MIN and MAX of floating point a NaN on either side gives one fixed quiet NaN, and -0 is less than +0;
 * MINLOC and MAXLOC give the value of MIN or MAX and the lowest index with that value. */
typedef const struct ftc_operator *ftc_op; /* a built-in one below, or from ftc_op_create() */
#define FTC_SUM    FTC_MARK(ftc_op, 1)
#define FTC_PROD   FTC_MARK(ftc_op, 2)
#define FTC_MIN    FTC_MARK(ftc_op, 3)
#define FTC_MAX    FTC_MARK(ftc_op, 4)
#define FTC_LAND   FTC_MARK(ftc_op, 5)
#define FTC_LOR    FTC_MARK(ftc_op, 6)
#define FTC_BAND   FTC_MARK(ftc_op, 7)
#define FTC_BOR    FTC_MARK(ftc_op, 8)
#define FTC_BXOR   FTC_MARK(ftc_op, 9)
#define FTC_MINLOC FTC_MARK(ftc_op, 10)
#define FTC_MAXLOC FTC_MARK(ftc_op, 11)
#define FTC_AVG    FTC_MARK(ftc_op, 12) /* the mean; ftc_gossip_allreduce() only */

/* As `send`: take the input from `recv`. */
#define FTC_IN_PLACE FTC_MARK(const void *, -1)

typedef struct ftc_comm ftc_comm;

/* Options for ftc_init(). Set struct_size to sizeof(ftc_options); zero means the default. */
typedef struct ftc_options {
    size_t struct_size;
    const char *log_level; /* error, warn, info, debug or trace; NULL: [log] level of the job */
} ftc_options;

/* --- life ------------------------------------------------------------------------------------------ */

/*
 * Join the job and return its world communicator in *world. A process that no PMIx server started is a
 * job of one rank. Call once per process, before any other collective call. Does not wait for others.
 * The library keeps a thread, a few descriptors and a large, sparse mapping: a program must not close descriptors
 * that it did not open, nor lock all future memory (mlockall). Children made by fork() are not part of the job.
 * Errors: FTC_ERR_ARG, FTC_ERR_STATE (called twice; a job of one does not notice), FTC_ERR_CONFIG (a setting that this host
 * cannot keep), FTC_ERR_SYSTEM, FTC_ERR_UNSUPPORTED, FTC_ERR_PROTO (a launcher of another version), FTC_ERR_NOMEM,
 * FTC_ERR_FENCED (the rank was declared failed before it joined).
 */
FTC_API int ftc_init(const ftc_options *options, ftc_comm **world);

/*
 * Leave the job: a last barrier, then wait until nobody can need an answer of this rank any more. After it
 * an exit is no failure. Collective. *world is invalid afterwards, whatever is returned.
 */
FTC_API int ftc_finalize(ftc_comm *world);

/*
 * End the whole job. The calling process and all others, on every host, are killed by SIGKILL wherever they are, within the library
 * or not: no exit handler runs, no buffer is flushed, no operation under way is finished, and nobody counts as failed. ftrun says
 * which rank it was, and exits with `code` (1..255; anything else counts as 1); of several aborts the first counts. Where another
 * launcher has started the ranks, its exit code is its own matter. A job of one ends by exit(code). Nobody is waited for, and a
 * launcher that does not answer not longer than 10 s: then this process ends with `code`, a failed rank to the others.
 * Any thread may call it, also while another one is in a call on comm, but no signal handler. Returns only if it was refused, as
 * any call is: FTC_ERR_ARG, FTC_ERR_STATE.
 */
FTC_API int ftc_abort(ftc_comm *comm, int code);

/* This process's rank, 0..size-1, or FTC_ERR_ARG if comm is NULL. Local. */
FTC_API int ftc_rank(const ftc_comm *comm);

/* Number of ranks the job started with; never changes. FTC_ERR_ARG if comm is NULL. Local. */
FTC_API int ftc_size(const ftc_comm *comm);

/* --- collectives ----------------------------------------------------------------------------------- */

/*
 * Combine `count` elements of every rank with `op`; the result is in `recv` on every survivor, the same bits
 * everywhere. It holds the input of every rank alive when it was decided, and that of a failed rank entirely
 * or not at all. send may be FTC_IN_PLACE; otherwise it must not overlap recv. Both are aligned for the type. count
 * may be 0. Any number of failures is masked; by messages more than f, or the death of the coordinator, cost another
 * round, and so does any death where few hosts exchange ([reduce] doubling), or within a large operation, on one node or,
 * where it goes round a ring, on several.
 * Errors: FTC_ERR_ARG, FTC_ERR_TYPE. With [integrity] mode = vote also FTC_ERR_CORRUPT,
 * at every survivor: results that should be equal differ and no majority says which is right, as with f = 1 or two that
 * are left. recv is unchanged and no input is lost: call again.
 */
FTC_API int ftc_allreduce(const void *send, void *recv, size_t count, ftc_type type, ftc_op op, ftc_comm *comm);

/*
 * As ftc_allreduce, with the result at `root` only; recv is ignored elsewhere (except with FTC_IN_PLACE, where
 * it holds the input). Other ranks return as soon as their part is sent (on one node, of more than 128 KiB, and over two
 * levels, when the root has it). No agreement is made: if more than f ranks fail, the root alone may get
 * FTC_ERR_TOO_MANY_FAILURES (on one node, and over two levels, it does not), and likewise FTC_ERR_CORRUPT. If the root has failed,
 * the others return FTC_SUCCESS.
 * Errors: FTC_ERR_ARG, FTC_ERR_TYPE.
 */
FTC_API int ftc_reduce(const void *send, void *recv, size_t count, ftc_type type, ftc_op op, int root,
                       ftc_comm *comm);

/*
 * Copy `count` elements of `buffer` at `root` to every survivor: all of them get it, or all of them get
 * FTC_ERR_ROOT_FAILED and an unchanged buffer. Errors: FTC_ERR_ARG.
 */
FTC_API int ftc_bcast(void *buffer, size_t count, ftc_type type, int root, ftc_comm *comm);

/* Options of ftc_gossip_allreduce(), the same at every rank. Set struct_size to sizeof(ftc_gossip_options); zero: as [gossip] of the
 * configuration says. */
typedef struct ftc_gossip_options {
    size_t struct_size;
    double accuracy;           /* of the result, relative to its largest element: above 0, below 1 */
    const char *algorithm;     /* "push-sum", "push-flow", "push-cancel-flow", "pflc", "pfcc" */
    const char *neighbourhood; /* "full", "hypercube", "directed-hypercube", "torus" */
    int turns;                 /* the two ends of a link send in turns: 1 yes, -1 no */
    uint64_t max_messages;     /* that a rank sends before it gives up */
} ftc_gossip_options;

/*
 * The sum (FTC_SUM) or mean (FTC_AVG) of `count` doubles of every survivor, approximately, by messages to random neighbours that nobody
 * waits for: it survives lost messages, and by "pflc" and "pfcc" also silently corrupted memory and messages. On success `recv` has the
 * same bits on every survivor, off by no more than half the accuracy (rounding of the inputs apart); what that rests on is
 * in docs/design/gossip.md. The input of a failed rank is left out. send may be FTC_IN_PLACE. Exact results are ftc_allreduce()'s,
 * and mostly faster.
 * Errors: FTC_ERR_ARG, FTC_ERR_TYPE (another operator), FTC_ERR_NOMEM; FTC_ERR_NOT_CONVERGED at every survivor, recv unchanged: a rank has sent
 * max_messages or gossiped for gossip.most_seconds, an input is not finite, or a rank died and the
 * algorithm ("push-sum", "push-cancel-flow") or the neighbourhood ("directed-hypercube") does not
 * survive that.
 */
FTC_API int ftc_gossip_allreduce(const double *send, double *recv, size_t count, ftc_op op,
                                 const ftc_gossip_options *options, ftc_comm *comm);

/* What the last ftc_gossip_allreduce() took at this rank. Set struct_size to sizeof(ftc_gossip_report); the library fills no more than
 * that. Local. */
typedef struct ftc_gossip_report {
    size_t struct_size;
    const char *algorithm, *neighbourhood; /* NULL: there was none */
    double accuracy;                       /* aimed at */
    uint64_t messages;                     /* sent */
    uint64_t corrupt;                      /* flows found corrupt, own or received; damaged heads */
    uint64_t repairs;                      /* of the own input */
    int attempts;                          /* to agree that all have converged */
    /* Until this rank had converged; until all had; and agreeing on the result. Of all attempts. */
    double gossip_seconds, barrier_seconds, agreement_seconds;
} ftc_gossip_report;
FTC_API int ftc_last_gossip_report(const ftc_comm *comm, ftc_gossip_report *report);

/* Return when every surviving rank has called it. */
FTC_API int ftc_barrier(ftc_comm *comm);

/* --- failures -------------------------------------------------------------------------------------- */

/*
 * After "MPI_Comm_validate parameters" (Hursey, Buntinas 2011): each communicator has two snapshots of the
 * failed ranks, L (known here) and G (agreed by all). They change only in a validate call, so an array sized
 * by a count still fits when it is filled, whatever dies in between.
 */

/* Rank states; types of ftc_get_state_*() are an OR of states, narrowed by NEW or OLD. */
#define FTC_RANK_OK     1 /* not in the set */
#define FTC_RANK_FAILED 2 /* failed, not recognised */
#define FTC_RANK_NULL   4 /* failed, recognised */
#define FTC_RANK_NEW    8 /* only what changed since the matching validate call before the last */
#define FTC_RANK_OLD    16 /* only what did not */

typedef struct ftc_rank_info {
    int rank;
    int state;      /* FTC_RANK_OK, FTC_RANK_FAILED or FTC_RANK_NULL */
    int generation; /* restarts of this rank: 0 */
} ftc_rank_info;

/* L := what the detector knows now; *failed_count := |L|. Local. */
FTC_API int ftc_validate_local(ftc_comm *comm, int *failed_count);

/* G := the agreed union of what every survivor knows; L := G; *failed_count := |G|. Collective; the same
 * at every survivor, with every failure-information scheme. */
FTC_API int ftc_validate_global(ftc_comm *comm, int *failed_count);

/*
 * List the ranks whose state in L (or G) matches `types`, ascending. incount 0: *outcount := number that match,
 * infos may be NULL. Else FTC_ERR_SIZE and nothing written if incount is less than that number; otherwise
 * *outcount := number written. Members of G are recognised (FTC_RANK_NULL) by themselves. Local; never change
 * L or G.
 */
FTC_API int ftc_get_state_local(ftc_comm *comm, int types, int incount, int *outcount, ftc_rank_info infos[]);
FTC_API int ftc_get_state_global(ftc_comm *comm, int types, int incount, int *outcount, ftc_rank_info infos[]);

/* Recognise failed ranks of L: FTC_RANK_FAILED becomes FTC_RANK_NULL. FTC_ERR_ARG, and nothing changes, if one
 * of them is not in L. Local. */
FTC_API int ftc_recognize(ftc_comm *comm, int count, const int ranks[]);

/*
 * What happened in the last operation on comm. Set struct_size to sizeof(ftc_report); the library fills no more
 * than that. `failed` is the failed set of the result, ascending, the same at every survivor, and stays valid
 * until the next operation on comm. With [failure_info] scheme `list` it names every rank whose input is left
 * out; with `count` and `bit` it holds what the deciding rank knew, so a later operation may be the first
 * to name one. A plain reduce reports at the root what the chosen subtree carried (`list`) or what this rank
 * knows, elsewhere what this rank knows.
 */
typedef struct ftc_report {
    size_t struct_size;
    int failed_count;
    const int *failed;
    unsigned ballots;      /* rounds this rank took part in; 1 without a second round */
    unsigned retries;      /* rounds given up before the one that decided; the same at every survivor */
    const char *algorithm; /* what ran: "board" (shared memory), "corrected" (messages), "ring" (messages, a large
                            * allreduce) or "self" (a job of one) */
    int f;                 /* failures that one operation masks without a second round */
    /* How its result spread by messages, before the first operation, how they would: [broadcast] dissemination, tree and
     * correction, but the tree where multicast leaves the work to it. NULL: not at all (a plain reduce), or not by messages. */
    const char *dissemination, *tree, *correction;
    const char *integrity; /* [integrity] mode where it can be kept, that is by messages: "none", "checksum" or "vote" */
    int compared;          /* results of subtrees that were compared: 2 or more; 0: unchecked. Of an allreduce the same at
                            * every survivor, of a plain reduce known at the root alone; so are the next two */
    int corrupt_count;     /* results that were wrong, or, with FTC_ERR_CORRUPT, of which some are */
    const int *corrupt;    /* the first rank of each one's subtree, ascending; valid as `failed` is */
} ftc_report;
FTC_API int ftc_last_report(const ftc_comm *comm, ftc_report *report);

/* --- operators and errors -------------------------------------------------------------------------- */

/*
 * inout[i] := in[i] op inout[i] for i < count. It must be associative and commutative. It must not
 * call the library: calls on the communicator are refused meanwhile.
 * It is called only inside a collective call that was given the operator, from the calling thread or
 * from the library's own.
 * Errors: FTC_ERR_ARG (no function, no place for the operator), FTC_ERR_NOMEM.
 */
typedef void ftc_op_fn(const void *in, void *inout, size_t count, ftc_type type, void *arg);
FTC_API int ftc_op_create(ftc_op_fn *fn, void *arg, ftc_op *op);

/* Free a user-defined operator and set *op to NULL. FTC_ERR_ARG for a built-in one. */
FTC_API int ftc_op_free(ftc_op *op);

/* A constant text for an error code; never NULL. */
FTC_API const char *ftc_strerror(int error);

/* This thread's last failure in words, with its cause; "" if none. Valid until the thread's next call. */
FTC_API const char *ftc_last_error(void);

/* "0.1.0" */
FTC_API const char *ftc_version(void);

#ifdef __cplusplus
}
#endif

#endif
