/*
 * ftcoll.h - fault-tolerant collective operations.
 *
 * A job is a group of n processes, the ranks 0..n-1 of its world. `ftrun -np n -f f ./app` starts
 * it, or another launcher with PMIx does. Ranks may die at any moment. Each collective operation
 * still finishes on every surviving rank, and all survivors get one consistent result. f is the
 * number of failures that an operation by groups and trees masks without a second round; other
 * algorithms mask any number, or none. More failures cost time, not correctness; see "Deaths and
 * rounds" below. Failed ranks keep their numbers, and the operations of the survivors leave them
 * out.
 *
 * Conventions. A function that can fail returns FTC_SUCCESS (0) or a negative code FTC_ERR_*. If it
 * fails, it leaves its outputs untouched, and ftc_last_error() tells the cause in words.
 * FTC_ERR_ARG means an argument that cannot be right, such as a communicator or an output that is
 * NULL. A child made by fork() gets FTC_ERR_STATE for the communicator of its parent. A collective
 * call blocks until this rank has the result, but for the non-blocking ones, with an i in the name,
 * which give a request. A local call concerns this rank alone. All ranks must make the same
 * collective calls in the same order, with the same count, type, operator and root. If they do not,
 * the job ends with FTC_EXIT_MISMATCH. A collective call on a communicator that was revoked returns
 * FTC_ERR_REVOKED, or its request ends with that; ftc_comm_revoke() says which calls still work
 * there.
 *
 * Threads. Any thread may call the library, but only one call at a time may run on a communicator
 * or its requests: the caller must serialise the calls. A call that finds another call running
 * there returns FTC_ERR_STATE at once. Threads may use different communicators at the same time:
 * none of them waits because another one waits. ftc_rank(), ftc_size(), ftc_comm_translate(),
 * ftc_comm_revoke() and ftc_abort() are always allowed. While the caller computes, a thread of the
 * library answers for the operations that have finished, and moves on those that were started by
 * non-blocking calls.
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

/* Error codes: name, value, text.
 *   -1 to -19   the call was refused, and nothing happened
 *   -20 to -29  this operation failed, and the communicator is usable; with FTC_ERR_REVOKED it can
 *               be shrunk and freed
 *   -30 to -39  this process must leave the job */
#define FTC_ERRORS(X)                                                                              \
    X(FTC_ERR_ARG, -1, "invalid argument")                                                         \
    X(FTC_ERR_NOMEM, -2, "out of memory")                                                          \
    X(FTC_ERR_SIZE, -3, "array too small")                                                         \
    X(FTC_ERR_TYPE, -4, "operator not defined for this type")                                      \
    X(FTC_ERR_STATE, -5, "not allowed in this state")                                              \
    X(FTC_ERR_CONFIG, -6, "invalid configuration")                                                 \
    X(FTC_ERR_SYSTEM, -7, "a system call failed")                                                  \
    X(FTC_ERR_UNSUPPORTED, -8, "not supported here")                                               \
    X(FTC_ERR_PROTO, -9, "malformed or unexpected message")                                        \
    X(FTC_ERR_TIMEOUT, -10, "not finished in time")                                                \
    X(FTC_ERR_ROOT_FAILED, -20, "the root of the broadcast or scatter failed")                     \
    X(FTC_ERR_TOO_MANY_FAILURES, -21, "more than f ranks failed during the reduce")                \
    X(FTC_ERR_CORRUPT, -22, "results that should be equal differ; call again")                     \
    X(FTC_ERR_NOT_CONVERGED, -23, "the aggregation ended without a result")                        \
    X(FTC_ERR_REVOKED, -24, "the communicator was revoked")                                        \
    X(FTC_ERR_RANK_FAILED, -25, "the other rank of the message failed")                            \
    X(FTC_ERR_TRUNCATED, -26, "the message is longer than the buffer")                             \
    X(FTC_ERR_CANCELLED, -27, "the message was cancelled")                                         \
    X(FTC_ERR_FENCED, -30, "this process was declared failed")                                     \
    X(FTC_ERR_MISMATCH, -31, "ranks disagree about which collective they are in")

enum ftc_error {
    FTC_SUCCESS = 0,
#define FTC_ERROR_ENUM(name, value, text) name = value,
    FTC_ERRORS(FTC_ERROR_ENUM)
#undef FTC_ERROR_ENUM
};

/* Exit codes with which the library itself ends a process, for scripts and `ftrun --report`. */
#define FTC_EXIT_FENCED   113 /* this process was declared failed, and has learnt of it */
#define FTC_EXIT_ORPHANED 114 /* the launcher died */
#define FTC_EXIT_INTERNAL 115 /* in an operation, memory ran out or shared memory was damaged */
#define FTC_EXIT_MISMATCH 116 /* ranks called different collectives; the whole job ends */
#define FTC_EXIT_CORRUPT  117 /* its memory was damaged; [integrity] mode = checksum finds most */

/* Element types. FTC_MINLOC and FTC_MAXLOC take pairs (value, index): the structs below. For a type
 * of one's own there is ftc_type_create(). */
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
    FTC_INT32_INT32,              /* struct ftc_int32_int32 */
    FTC_INT64_INT32,              /* struct ftc_int64_int32 */
    FTC_FLOAT_INT32,              /* struct ftc_float_int32 */
    FTC_DOUBLE_INT32,             /* struct ftc_double_int32 */
    FTC_TYPE_CREATED = 0x40000000 /* no type; those of ftc_type_create() are above it */
} ftc_type;

/* clang-format off */
typedef struct ftc_int32_int32 { int32_t value; int32_t index; } ftc_int32_int32;
typedef struct ftc_int64_int32 { int64_t value; int32_t index; } ftc_int64_int32;
typedef struct ftc_float_int32 { float value; int32_t index; } ftc_float_int32;
typedef struct ftc_double_int32 { double value; int32_t index; } ftc_double_int32;
/* clang-format on */

/* A number in the form of a pointer. It points to nothing. */
#ifdef __cplusplus
#define FTC_MARK(type, number) reinterpret_cast<type>(static_cast<intptr_t>(number))
#else
#define FTC_MARK(type, number) ((type)(intptr_t)(number))
#endif

/* All these operators are associative and commutative. Logical and bitwise operators take integer
 * types only. MINLOC and MAXLOC take pairs; of equal values they choose the one with the lower
 * index. Signed sums and products wrap. In floating point, a NaN on either side of SUM, PROD, MIN
 * or MAX gives one fixed quiet NaN, and -0 is less than +0. MINLOC and MAXLOC give the value that
 * MIN or MAX gives, and the lowest index with that value. */
typedef const struct ftc_operator *ftc_op; /* built in (below), or from ftc_op_create...() */
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

/* Given as `send`: the input is in `recv`. Given as `recv` of a scatter at the root: its own block
 * stays where it is in `send`. */
#define FTC_IN_PLACE FTC_MARK(void *, -1)

typedef struct ftc_comm ftc_comm;

/* Options of ftc_init(). Set struct_size to sizeof(ftc_options). A field that is zero means the
 * default. */
typedef struct ftc_options {
    size_t struct_size;
    const char *log_level; /* error, warn, info, debug or trace; NULL: [log] level */
} ftc_options;

/* --- life --- */

/*
 * Join the job, and store its world communicator in *world. A process that no PMIx server started
 * is a job of one rank. Call this once per process, before any other collective call. It does not
 * wait for other ranks. The library keeps a thread, a few descriptors and a large, sparse mapping.
 * So a program must not close descriptors that it did not open, and must not lock all its future
 * memory (mlockall). Children made by fork() are not part of the job.
 * Errors: FTC_ERR_ARG; FTC_ERR_STATE (a second call; a job of one rank does not notice it);
 * FTC_ERR_CONFIG (a setting that this host cannot keep); FTC_ERR_SYSTEM; FTC_ERR_UNSUPPORTED;
 * FTC_ERR_PROTO (a launcher of another version); FTC_ERR_NOMEM; FTC_ERR_FENCED (the rank was
 * declared failed before it joined).
 */
FTC_API int ftc_init(const ftc_options *options, ftc_comm **world);

/*
 * Leave the job: free all communicators that are left, take part in a last barrier, and then wait
 * until no rank can need an answer of this one any more. After that the exit of this process is no
 * failure. The call is collective. It takes the world: for another communicator it returns
 * FTC_ERR_ARG. While requests are left, or another thread is in a call on any communicator, it
 * returns FTC_ERR_STATE. Whatever else it returns, all communicators are invalid afterwards; a
 * thread may call ftc_comm_revoke() on the world until then.
 */
FTC_API int ftc_finalize(ftc_comm *world);

/*
 * End the whole job. SIGKILL kills the calling process and all others, on every host, wherever they
 * are, inside the library or not. So no exit handler runs, no buffer is flushed, and no operation
 * under way is finished. No rank counts as failed. ftrun says which rank called, and exits with
 * `code` (1..255; any other number counts as 1). If several ranks call, the first call counts. If
 * another launcher started the ranks, it chooses its own exit code. A job of one rank ends by
 * exit(code). comm may be any communicator.
 *
 * The caller waits for no other rank. If the launcher does not answer within 10 s, this process
 * ends with `code`, and the others see a failed rank.
 *
 * Any thread may call this, also while another thread is in a call on comm. A signal handler must
 * not call it. It returns only if it was refused, as any call may be: FTC_ERR_ARG, FTC_ERR_STATE.
 */
FTC_API int ftc_abort(ftc_comm *comm, int code);

/* The rank of this process in comm, 0..size-1, or FTC_ERR_ARG if comm is NULL. The call is local.
 * */
FTC_API int ftc_rank(const ftc_comm *comm);

/* The number of ranks with which comm began, or FTC_ERR_ARG if comm is NULL. That of the world is
 * the number with which the job started. It never changes: failed ranks count. The call is local.
 * */
FTC_API int ftc_size(const ftc_comm *comm);

/*
 * Copy the value of a setting of this job to `value`, which has room for `size` bytes with the 0 at
 * its end: as text, in the form that `ftrun --print-config` shows. `name` has the section and the
 * key, such as "detector.fence"; ftcoll.ini(5) lists all. The call is local.
 * Errors: FTC_ERR_ARG (also: there is no such setting), FTC_ERR_SIZE.
 */
FTC_API int ftc_setting(const ftc_comm *comm, const char *name, char *value, size_t size);

/*
 * Note in the report of the job (ftrun --report) that this program was not told of the failure of a
 * rank of comm. Libraries on top of ftcoll call it for failures that they hide, once for each. The
 * call is local.
 * Errors: FTC_ERR_ARG.
 */
FTC_API int ftc_note_masked(const ftc_comm *comm, int rank);

/* --- collectives --- */

/*
 * Deaths and rounds. An operation tries to decide its result in one round. A rank that dies
 * meanwhile may cost another round. The result is then later, but no less correct. The algorithm by
 * which the operation runs decides which deaths it masks, and whether f matters: "WHAT F DOES" in
 * ftcoll(7) and docs/tutorial.md have the table. `ftrun --print-algorithms` prints the algorithms
 * of a job, and ftc_report names that of the last operation, with what it masked.
 */

/*
 * Combine `count` elements of every rank with `op`. The result is in `recv` on every survivor, with
 * the same bits everywhere. It holds the input of every rank that was alive when it was decided. It
 * holds the input of a failed rank entirely or not at all. send may be FTC_IN_PLACE; otherwise it
 * must not overlap recv. Both must be aligned for the type. count may be 0. Any number of deaths is
 * survived; "Deaths and rounds" says which of them cost another round.
 * Errors: FTC_ERR_ARG, FTC_ERR_TYPE. With [integrity] mode = vote also FTC_ERR_CORRUPT, at every
 * survivor: results that should be equal differ, and no majority says which one is right. That is
 * so with f = 1, or if only two results are left to compare. recv is unchanged and no input is
 * lost: call again.
 */
FTC_API int ftc_allreduce(const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                          ftc_comm *comm);

/*
 * As ftc_allreduce(), but only `root` gets the result. The other ranks ignore recv; with
 * FTC_IN_PLACE it holds their input. They return as soon as they have sent their part. In three
 * cases they return when the root has it: in shared memory with more than 128 KiB; with two levels
 * and an operator of the user; and between hosts with [collectives] large_at bytes or more.
 * The ranks make no agreement: if more than f of them fail during the reduce, the root alone may
 * get FTC_ERR_TOO_MANY_FAILURES. Later reduces go on without them, so separate failures do not add
 * up: the library takes dead ranks out in the background, and a call may wait for that.
 * (With [failure_info] share = off, or with two levels and a value over 128 KiB, only an operation
 * of another kind takes them out.) The root never gets that error in shared memory or with two
 * levels. The root alone may get FTC_ERR_CORRUPT, too. If the
 * root has failed, the others return FTC_SUCCESS.
 * Errors: FTC_ERR_ARG, FTC_ERR_TYPE.
 */
FTC_API int ftc_reduce(const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                       int root, ftc_comm *comm);

/*
 * Copy `count` elements of `buffer` at `root` to every survivor. Either all survivors get them, or
 * all get FTC_ERR_ROOT_FAILED and their buffers are unchanged.
 * Errors: FTC_ERR_ARG.
 */
FTC_API int ftc_bcast(void *buffer, size_t count, ftc_type type, int root, ftc_comm *comm);

/*
 * The calls that gather, scatter, exchange and scan. Every survivor has the same failed set, and
 * the contribution of each rank outside it, entirely. The place in `recv` of a rank in the failed
 * set is as it was before the call. (By messages with [failure_info] scheme = count or bit, a
 * later operation may be the first that names a rank whose contribution is missing.)
 *
 * `count`, the entries of `counts` and those of `displs` are numbers of elements of `type`. A
 * displacement counts from the start of the buffer. A count may be 0. The functions whose names end
 * in v, and ftc_reduce_scatter(), take a count for each rank: arrays with as many entries as the
 * communicator has ranks. The caller may change them after the call (or, if it is non-blocking,
 * after the request has ended).
 *
 * send and recv must not overlap, except by FTC_IN_PLACE, and neither may the places of two ranks
 * in recv. Both must be aligned for the type. The library writes nothing outside of the places that
 * the caller has given. One rank must send to another as many elements as the other expects, or the
 * job ends with FTC_EXIT_MISMATCH. FTC_ERR_ARG also means counts or displacements that do not fit
 * into memory, and a rank that expects from itself another count than it sends.
 */

/*
 * Gather `count` elements of each rank at every rank. The elements of rank r are in `recv` from
 * element r * count on. With FTC_IN_PLACE each rank's input is at its own place in recv.
 * Errors: FTC_ERR_ARG.
 */
FTC_API int ftc_allgather(const void *send, void *recv, size_t count, ftc_type type,
                          ftc_comm *comm);

/*
 * As ftc_allgather(), but each rank gives another count. Rank r gives counts[r] elements, and they
 * are in recv from element displs[r] on. `count` is counts[] of this rank; with FTC_IN_PLACE it is
 * ignored. counts must be the same at every rank; displs may differ. The library compares the
 * greatest of the counts among the ranks, and no others.
 * Errors: FTC_ERR_ARG.
 */
FTC_API int ftc_allgatherv(const void *send, size_t count, void *recv, const size_t counts[],
                           const size_t displs[], ftc_type type, ftc_comm *comm);

/*
 * As ftc_allgather(), but only `root` gets the elements. The other ranks ignore recv. At the root
 * send may be FTC_IN_PLACE. As in ftc_reduce(), the ranks make no agreement, the others return as
 * soon as they have sent their part, and they return FTC_SUCCESS if the root has failed. The root
 * alone may get FTC_ERR_TOO_MANY_FAILURES, as there. But blocks that have [collectives] large_at
 * bytes together, and go by messages, are exchanged as large values are: all ranks wait for that.
 * Errors: FTC_ERR_ARG.
 */
FTC_API int ftc_gather(const void *send, void *recv, size_t count, ftc_type type, int root,
                       ftc_comm *comm);

/*
 * As ftc_gather(), but each rank gives another count: this rank `count` elements. Only the root
 * reads counts and displs, which are those of ftc_allgatherv(); elsewhere they may be NULL. With
 * FTC_IN_PLACE the root ignores count. The ranks first agree on the sizes, so the call waits for
 * all ranks.
 * Errors: FTC_ERR_ARG, FTC_ERR_NOMEM.
 */
FTC_API int ftc_gatherv(const void *send, size_t count, void *recv, const size_t counts[],
                        const size_t displs[], ftc_type type, int root, ftc_comm *comm);

/*
 * Give each rank its block of `send` at `root`: rank r gets `count` elements from element r * count
 * on. Either all survivors get their block, or all get FTC_ERR_ROOT_FAILED and their buffers are
 * unchanged. The other ranks ignore send. At the root recv may be FTC_IN_PLACE: then its own block
 * is copied nowhere.
 * Errors: FTC_ERR_ARG.
 */
FTC_API int ftc_scatter(const void *send, void *recv, size_t count, ftc_type type, int root,
                        ftc_comm *comm);

/*
 * As ftc_scatter(), but each rank gets another count: rank r gets counts[r] elements from element
 * displs[r] of send on. `count` is that of this rank; with FTC_IN_PLACE the root ignores it. Only
 * the root reads send, counts and displs. The ranks first agree on the sizes, so the call waits for
 * all ranks.
 * Errors: FTC_ERR_ARG, FTC_ERR_NOMEM.
 */
FTC_API int ftc_scatterv(const void *send, const size_t counts[], const size_t displs[], void *recv,
                         size_t count, ftc_type type, int root, ftc_comm *comm);

/*
 * Each rank sends `count` elements to each rank. Those for rank r are in `send` from element
 * r * count on, and those of rank r are in `recv` from there on. With FTC_IN_PLACE recv has what
 * this rank sends, and then what it gets. No survivor has blocks of a failed rank that another
 * survivor has not: the rank is in the failed set of all, or its blocks are with all.
 * Errors: FTC_ERR_ARG.
 */
FTC_API int ftc_alltoall(const void *send, void *recv, size_t count, ftc_type type, ftc_comm *comm);

/*
 * As ftc_alltoall(), with a count for each pair of ranks: this rank sends sendcounts[r] elements
 * from element senddispls[r] of send on to rank r, and gets recvcounts[r] elements of rank r from
 * element recvdispls[r] of recv on. With FTC_IN_PLACE sendcounts and senddispls are ignored, and it
 * sends to each rank as much as it gets, from the same place. The ranks first agree on the sizes.
 * Errors: FTC_ERR_ARG, FTC_ERR_NOMEM.
 */
FTC_API int ftc_alltoallv(const void *send, const size_t sendcounts[], const size_t senddispls[],
                          void *recv, const size_t recvcounts[], const size_t recvdispls[],
                          ftc_type type, ftc_comm *comm);

/*
 * Combine the vectors of all ranks as ftc_allreduce() does, and give each rank a block of the
 * result: rank r gets the `count` elements from element r * count on. `send` has count elements for
 * each rank, and `recv` gets count elements. With FTC_IN_PLACE recv has the input, and its first
 * count elements get the result.
 * Errors: FTC_ERR_ARG, FTC_ERR_TYPE; with [integrity] mode = vote as of ftc_allreduce().
 */
FTC_API int ftc_reduce_scatter_block(const void *send, void *recv, size_t count, ftc_type type,
                                     ftc_op op, ftc_comm *comm);

/*
 * As ftc_reduce_scatter_block(), but rank r gets counts[r] elements, which lie in the vector behind
 * those of the lower ranks. counts must be the same at every rank; the library compares their sum.
 * Errors: FTC_ERR_ARG, FTC_ERR_TYPE, FTC_ERR_NOMEM; with [integrity] mode = vote as of
 * ftc_allreduce().
 */
FTC_API int ftc_reduce_scatter(const void *send, void *recv, const size_t counts[], ftc_type type,
                               ftc_op op, ftc_comm *comm);

/*
 * Combine `count` elements of the ranks up to this one with `op`, in the order of the ranks: rank r
 * gets in `recv` the result of ranks 0 to r. The ranks of the failed set are left out, at each rank
 * the same ones. send may be FTC_IN_PLACE.
 * Errors: FTC_ERR_ARG, FTC_ERR_TYPE.
 */
FTC_API int ftc_scan(const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                     ftc_comm *comm);

/*
 * As ftc_scan(), without the input of this rank: rank r gets the result of the ranks below r. At
 * the lowest rank that is not in the failed set recv is unchanged.
 * Errors: FTC_ERR_ARG, FTC_ERR_TYPE.
 */
FTC_API int ftc_exscan(const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                       ftc_comm *comm);

/* Options of ftc_gossip_allreduce(). All but the weight must be the same at every rank. Set
 * struct_size to sizeof(ftc_gossip_options). For a field that is zero, [gossip] of the
 * configuration decides. */
typedef struct ftc_gossip_options {
    size_t struct_size;
    double accuracy;           /* wanted, relative to the largest element; above 0, below 1 */
    const char *algorithm;     /* "push-sum", "push-flow", "push-cancel-flow", "pflc", "pfcc" */
    const char *neighbourhood; /* "full", "hypercube", "directed-hypercube", "torus" */
    int turns;                 /* do the two ends of a link send in turns? 1 yes, -1 no */
    uint64_t max_messages;     /* a rank that has sent so many gives up */
    const double *weight;      /* of this rank in the mean; NULL: 1 */
} ftc_gossip_options;

/*
 * Compute an approximate sum (FTC_SUM) or mean (FTC_AVG) of `count` doubles of every survivor. Each
 * rank sends messages to random neighbours, and no rank waits for any of them. So the aggregation
 * survives lost messages; with "pflc" and "pfcc" it also survives silently corrupted memory and
 * messages. On success `recv` has the same bits on every survivor. The error is at most half the
 * accuracy, or 2^-48 of the greatest input where inputs cancel so far that this is more. The
 * error_bound of ftc_gossip_report says how much it is. docs/design/gossip.md says what that rests
 * on. The input of a failed rank is left out. send may be FTC_IN_PLACE. ftc_allreduce() gives exact
 * results, and is mostly faster.
 * Weights: each rank may give a weight w, 0 or more, which holds for all of its elements x. The
 * mean is then sum(w x) / sum(w) of the survivors (Wimmer 2016, 2.2.1). A rank of weight 0 only
 * listens: its input is not read. Weights count relative to each other. FTC_SUM takes no weight,
 * since a weighted sum is the sum of the products w x: multiply before the call.
 * Errors: FTC_ERR_ARG (also: a weight that is negative, infinite or NaN, or a weight with FTC_SUM);
 * FTC_ERR_TYPE (another operator); FTC_ERR_NOMEM; FTC_ERR_UNSUPPORTED (comm is not the world);
 * FTC_ERR_NOT_CONVERGED at every survivor, with recv unchanged. FTC_ERR_NOT_CONVERGED has one of
 * four causes. A rank has sent max_messages, or has gossiped for gossip.most_seconds. An input x,
 * or w x, is not finite. The weights of all survivors are 0. Or a rank died, and the algorithm
 * ("push-sum", "push-cancel-flow") or the neighbourhood ("directed-hypercube") does not survive
 * that.
 */
FTC_API int ftc_gossip_allreduce(const double *send, double *recv, size_t count, ftc_op op,
                                 const ftc_gossip_options *options, ftc_comm *comm);

/* What the last ftc_gossip_allreduce() did and cost at this rank. Set struct_size to
 * sizeof(ftc_gossip_report); the library fills no more bytes than that. The call is local. */
typedef struct ftc_gossip_report {
    size_t struct_size;
    const char *algorithm, *neighbourhood; /* NULL: there was no such call */
    double accuracy;                       /* the one wanted */
    uint64_t messages;                     /* sent by this rank */
    uint64_t corrupt;                      /* corrupt flows, own or received, and damaged heads */
    uint64_t repairs;                      /* of the input of this rank */
    int attempts;                          /* to agree that all ranks have converged */
    /* Times of all attempts together: until this rank had converged, from then until all ranks
     * had, and to agree on the result. */
    double gossip_seconds, barrier_seconds, agreement_seconds;
    /* No element of recv is off by more; the same at every survivor. It is half the accuracy times
     * the largest element of recv. Where inputs cancel so far that rounding is more, it is that:
     * 2^-48 of the greatest input, in a sum times the number of survivors. Then the result is
     * coarser than the accuracy wanted. 0: there was no result, or the job has one rank. */
    double error_bound;
} ftc_gossip_report;
FTC_API int ftc_last_gossip_report(const ftc_comm *comm, ftc_gossip_report *report);

/* Return when every surviving rank has called this. */
FTC_API int ftc_barrier(ftc_comm *comm);

/* --- communicators --- */

/*
 * A communicator is a group of ranks that call operations together, in an order of their own.
 * ftc_init() gives the world, and the calls below make others. The communicator in which one is
 * called is the parent, and what comes out is a child. Ranks of a child count from 0. All numbers
 * of ranks in a call, in its result or in a report are those of the call's communicator;
 * ftc_comm_translate() translates them.
 *
 * A failure is that of a process: a failed rank has failed in all communicators that have it. Each
 * communicator has its own L, G and report, so each names the rank when its own next operation
 * does.
 *
 * A creation is an operation of the parent. All survivors get FTC_SUCCESS and the same child, or
 * all get the same error. There is one exception: if the parent is revoked meanwhile, some may get
 * the child and others FTC_ERR_REVOKED. Then the child is revoked, too. A rank that dies after the
 * creation was decided is in the child, and has failed there.
 *
 * All operations work in a child as in the world, but for ftc_gossip_allreduce(). On one node they
 * go by shared memory, and by messages if there is no room for that. A child on several nodes goes
 * over two levels where the world does, if the ranks of each node follow one another in it, and
 * otherwise by messages.
 */

/* No color, and no rank. */
#define FTC_UNDEFINED (-32766)

/*
 * Make a communicator with the same ranks and numbers as comm, the failed ones too. What is in G of
 * comm is in G of the copy. A copy keeps the operations of a library apart from those of the
 * program that calls it. The call is collective.
 * Errors: FTC_ERR_ARG, FTC_ERR_REVOKED.
 */
FTC_API int ftc_comm_dup(ftc_comm *comm, ftc_comm **copy);

/*
 * Make a communicator of the ranks that give the same `color`, for each color. A color is 0 or
 * more. A rank that gives FTC_UNDEFINED takes part in the call, and gets NULL in *part. In a part
 * ranks are numbered by `key`, and those with equal keys by their rank in comm. Ranks whose failure
 * was agreed before or in the call are in no part. The call is collective; colors and keys may
 * differ.
 * Errors: FTC_ERR_ARG, FTC_ERR_REVOKED.
 */
FTC_API int ftc_comm_split(ftc_comm *comm, int color, int key, ftc_comm **part);

/*
 * Make a communicator of the survivors: all ranks of comm whose failure has not been agreed before
 * or in the call. They are numbered anew, in the order of comm. The call is collective. It works in
 * a communicator that was revoked, too.
 *
 * As an example, ranks 0 to 3 add numbers, and rank 1 dies. The sum is FTC_SUCCESS at ranks 0, 2
 * and 3, and ftc_last_report() names rank 1 at each. They may go on in comm: its size stays 4, and
 * operations leave rank 1 out. Or they call ftc_comm_shrink(), and get a communicator of size 3, in
 * which they are the ranks 0, 1 and 2, and none has failed. If rank 3 dies during the call, it is
 * not in the new communicator, or it is there and has failed, at both survivors alike. comm can be
 * used on, or freed.
 * Errors: FTC_ERR_ARG; FTC_ERR_REVOKED (comm is revoked during the call, or the caller learns here
 * that it was: call again).
 */
FTC_API int ftc_comm_shrink(ftc_comm *comm, ftc_comm **survivors);

/*
 * Make a communicator of the `count` ranks of comm in `ranks`, in this order. The listed ranks
 * alone call this, all with the same list and `tag`; the caller is one of them. It waits for no
 * other rank. Listed ranks that have failed are left out, and the others numbered anew. The tag
 * (any number) tells calls with the same list apart; equal calls meet in their order. A rank that
 * is in several lists must not bring about a circle of calls that wait for each other. Each pair of
 * a list and a tag takes some bytes, and time in later calls, until comm is freed: use few tags.
 * Errors: FTC_ERR_ARG (also: a rank is listed twice, or is none of comm, or the caller is not
 * listed); FTC_ERR_STATE (many threads of this process create groups at this moment; call again);
 * FTC_ERR_REVOKED.
 */
FTC_API int ftc_comm_create(ftc_comm *comm, int count, const int ranks[], int tag,
                            ftc_comm **group);

/*
 * Give *comm up, and set it to NULL. The call is local and returns at once. The library goes on
 * answering for the last operations, until all members have freed the communicator or died. All
 * members must have made the same calls on it, unless it was revoked. What ftc_last_report() and
 * ftc_comm_name() have given is invalid afterwards. Children stay. ftc_finalize() frees all
 * communicators that are left.
 * Errors: FTC_ERR_ARG (also: the world); FTC_ERR_STATE (also: requests are left).
 */
FTC_API int ftc_comm_free(ftc_comm **comm);

/* The rank in `to` of the process that has the rank `rank` in `from`, or FTC_UNDEFINED if it is not
 * in `to`. Whether it has failed makes no difference. FTC_ERR_ARG if one of them is NULL, or if
 * `from` has no such rank. The call is local. */
FTC_API int ftc_comm_translate(const ftc_comm *from, int rank, const ftc_comm *to);

/*
 * End the operations of all members on comm, those under way and later ones, with FTC_ERR_REVOKED.
 * A rank calls this when it will not make a call for which others may wait, for example since it
 * has found an error. The call is local and returns at once. All members learn of it, even if this
 * process dies at once. Any thread may call it, also while another thread is in a call on comm. To
 * revoke again does nothing. Parents and children of comm are not concerned.
 *
 * From then on ftc_agree(), ftc_comm_shrink(), ftc_validate_global(), the non-blocking forms of the
 * three, ftc_validate_local(), ftc_comm_free() and local calls work. Each other call returns
 * FTC_ERR_REVOKED, or its request ends with that. A caller learns of the revoke by this code: the
 * first collective call but ftc_agree() after its process has learnt of it always ends with
 * FTC_ERR_REVOKED, whatever call it is. The last operation before may have succeeded at some
 * members and not at others. So members agree where they go on, by ftc_agree(), or in the new
 * communicator.
 */
FTC_API int ftc_comm_revoke(ftc_comm *comm);

/*
 * Give comm a name of its own, for ftcoll-status, reports and errors. At most 31 bytes of `name`
 * are kept. The call is local: each rank may give another name.
 * Errors: FTC_ERR_ARG (also: no name, or an empty one).
 */
FTC_API int ftc_comm_set_name(ftc_comm *comm, const char *name);

/* The name of comm, never NULL; "" if comm is NULL. Without a name of its own the world is "world",
 * and another communicator has its number, such as "7.3": a count, and the rank of the job that
 * gave it. The text is valid until the name is set or comm is freed. The call is local. */
FTC_API const char *ftc_comm_name(const ftc_comm *comm);

/*
 * Agree on a flag: at each survivor *flag becomes the bitwise and of the flags of all that call.
 * All survivors get the same flag and the same code, whatever dies, and whether comm is revoked
 * before the call, during it or not at all. No revoke ends the call, and a caller does not learn of
 * one here. The call is collective. All members call it in the same order as other agrees of comm
 * and, where they know that it is revoked, as ftc_comm_shrink() and ftc_validate_global(). A rank
 * that has freed a revoked comm is not waited for, and its flag does not count. The call goes by
 * messages, so it takes longer than ftc_allreduce() does on one node.
 *
 * FTC_ERR_RANK_FAILED says that ftc_last_report() names a rank as failed that not every caller had
 * recognised, by ftc_recognize() or by ftc_validate_global(). *flag is set nevertheless.
 *
 * As an example, rank 2 of 4 cannot go on: it gives 0, the others give 1, and all get 0. If rank 2
 * has died, the others get 1, with FTC_ERR_RANK_FAILED until all three have recognised that.
 * Errors: FTC_ERR_ARG; FTC_ERR_RANK_FAILED; FTC_ERR_NOMEM.
 */
FTC_API int ftc_agree(ftc_comm *comm, int *flag);

/* --- failures --- */

/*
 * These functions follow "MPI_Comm_validate parameters" (Hursey, Buntinas 2011). Each communicator
 * has two snapshots of the failed ranks: L, those known to this rank, and G, those agreed by all.
 * The snapshots change only in a validate call. So an array whose size is a count still fits when
 * it is filled, whatever dies in between.
 */

/* Rank states. The `types` of ftc_get_state_*() are an OR of states, which NEW or OLD narrows. */
#define FTC_RANK_OK     1  /* the rank is not in the set */
#define FTC_RANK_FAILED 2  /* the rank has failed, and is not recognised */
#define FTC_RANK_NULL   4  /* the rank has failed, and is recognised */
#define FTC_RANK_NEW    8  /* in the set only since the last validate call that sets it */
#define FTC_RANK_OLD    16 /* every other rank */

typedef struct ftc_rank_info {
    int rank;
    int state;      /* FTC_RANK_OK, FTC_RANK_FAILED or FTC_RANK_NULL */
    int generation; /* restarts of this rank: always 0 */
} ftc_rank_info;

/* Set L to what the detector knows now, and *failed_count to the size of L. The call is local. It
 * does not change G. */
FTC_API int ftc_validate_local(ftc_comm *comm, int *failed_count);

/* Set G to the agreed union of what all survivors know, L to G, and *failed_count to the size of G.
 * The call is collective. It gives every survivor the same, with each [failure_info] scheme. */
FTC_API int ftc_validate_global(ftc_comm *comm, int *failed_count);

/*
 * List the ranks whose state in L (or G) matches `types`, in ascending order. With incount 0 the
 * call stores the number of these ranks in *outcount, and infos may be NULL. Else incount is the
 * length of infos. If it is less than that number, the call returns FTC_ERR_SIZE and writes
 * nothing. Otherwise it stores the number of ranks that it has written in *outcount. Members of G
 * are recognised (FTC_RANK_NULL) without a call. Both calls are local, and never change L or G.
 *
 * A rank is new in L if it was not in L before the last ftc_validate_local() or
 * ftc_validate_global(), and new in G if it was not in G before the last ftc_validate_global(). So
 * FTC_RANK_FAILED | FTC_RANK_NULL | FTC_RANK_NEW with incount 0 gives the number of failures that
 * the last validate call found.
 */
FTC_API int ftc_get_state_local(ftc_comm *comm, int types, int incount, int *outcount,
                                ftc_rank_info infos[]);
FTC_API int ftc_get_state_global(ftc_comm *comm, int types, int incount, int *outcount,
                                 ftc_rank_info infos[]);

/* Recognise failed ranks of L: FTC_RANK_FAILED becomes FTC_RANK_NULL. If one of them is not in L,
 * the call returns FTC_ERR_ARG and changes nothing. It is local. */
FTC_API int ftc_recognize(ftc_comm *comm, int count, const int ranks[]);

/*
 * What happened in the last operation on comm: the one that was finished last by a blocking call, a
 * wait or a test. Set struct_size to sizeof(ftc_report); the library fills no more bytes than that.
 * A program that asks after every operation, and for the failed set alone, sets it to
 * offsetof(ftc_report, ballots): that costs less. `failed` is the failed set of the result, in
 * ascending order. It is the same at every survivor, and stays valid until the next operation on
 * comm is finished, or until comm is freed. With [failure_info] scheme `list` it names every rank
 * whose input is left out. With `count` and `bit` it holds what the deciding rank knew, so a later
 * operation may be the first to name a rank. After a plain reduce it holds, at the root, what the
 * chosen subtree carried (`list`) or what the root knows; elsewhere it holds what this rank knows.
 */
typedef struct ftc_report {
    size_t struct_size;
    int failed_count;
    const int *failed;
    unsigned ballots; /* rounds that this rank took part in; 1 without a second round */
    unsigned retries; /* rounds given up before the one that decided; same at every survivor */
    /* The algorithm of the last call, or of a barrier before the first: "board" (shared memory of
     * one node), "pair" (the same, by copies between the memories of two ranks), "ring" (a large
     * allreduce between nodes), "levels" (two levels on several nodes), "exchange", "direct" or
     * "tree" (by messages among all ranks), "gossip", or "self" (comm has one rank). */
    const char *algorithm;
    /* How many failures this operation masked without a second round, whichever ranks die but its
     * root or coordinator, and whenever: the size of comm less 1 where that is any number (on
     * the board, in direct operations, in broadcasts, and in reduces over two levels with a
     * built-in operator), [job] f in groups and trees, 0 in an exchange, a ring, gossip and the
     * other operations over two levels. ftcoll(7) has the table. */
    int f;
    /* How the result spread by messages: [broadcast] dissemination, tree and correction, but the
     * tree where multicast left the work to it; "exchange" or "ring", with "none" and "none", where
     * that brought it to all. Before the first operation: how the result of a barrier would spread.
     * NULL: by no message, or not at all (a plain reduce). */
    const char *dissemination, *tree, *correction;
    const char *integrity; /* [integrity] mode: "none", "checksum" or "vote"; always "none" where no
                            * messages go, since the mode needs them */
    int compared;          /* results of subtrees that were compared: 2 or more; 0: unchecked. After
                            * an allreduce every survivor has the same here; after a plain reduce
                            * the root alone knows it. So it is with the next two fields */
    int corrupt_count;     /* wrong results; with FTC_ERR_CORRUPT: results of which some are */
    const int *corrupt;    /* the first rank of the subtree of each, ascending; valid as `failed` */
    /* How many failures are behind this result: ranks that did not contribute, as far as this
     * operation met their failures. On the board, in the ring and in gossip: ranks whose input is
     * left out for the first time. In an exchange: 0. Otherwise what [failure_info] scheme carries:
     * with `list` the size of the list; with `count` the count, in which one failure counts for
     * each rank that waited for it in vain; with `bit` -1 (not known), except in direct
     * operations. After a plain reduce the root alone knows it. */
    int write_offs;
} ftc_report;
FTC_API int ftc_last_report(const ftc_comm *comm, ftc_report *report);

/* --- requests --- */

/*
 * A non-blocking call starts an operation and returns, with a request in *request. The library's
 * thread moves the operation on while the caller computes. The caller then waits for the request,
 * or tests it until it has ended. That frees the request.
 */
typedef struct ftc_request ftc_request;

/* What an operation was, and how it ended. */
typedef struct ftc_status {
    int rank;     /* of the message, its other end; -1: a receive took none, or a collective */
    int tag;      /* of the message; -1 likewise */
    size_t bytes; /* of the message; 0 likewise */
    int error;    /* what the operation returned */
} ftc_status;

/*
 * The non-blocking forms. Each makes the operation of the call without the i, with its arguments,
 * its result, and its consistency among survivors.
 *
 * Several operations may be under way on a communicator. They are ordered by their start: all ranks
 * must start them in the same order. An operation does not wait for a later one. A blocking call
 * comes behind all operations that were started before it, and so returns after they have ended
 * here. They still have to be waited for. A blocking call and a non-blocking one do not meet: if
 * one rank calls ftc_allreduce(), the others must not call ftc_iallreduce() for it.
 *
 * Until the request has ended, the caller must not change an input, and must neither read nor
 * change an output. Arrays of counts and displacements must stay as they are until then, too, and
 * an operator must not be freed. The library stores a communicator that a call makes, the flag of
 * an agree, or a number of failed ranks, when the request ends. So `copy`, `part`, `survivors`,
 * `flag` and `failed_count` must point to memory that exists until then.
 *
 * Every request must be waited for, or tested until it has ended, before the communicator is freed
 * or the job is left: otherwise ftc_comm_free() and ftc_finalize() return FTC_ERR_STATE. Requests
 * belong to their communicator: only one thread at a time may call with it or with them.
 *
 * Errors: if the start fails, it returns FTC_ERR_ARG (also: no place for the request),
 * FTC_ERR_TYPE (with an operator), FTC_ERR_STATE or FTC_ERR_NOMEM. Then there is no request and no
 * operation, and *request is unchanged. All other errors of the blocking form come from the wait or
 * the test that ends the request. So it is with a communicator that was revoked.
 */
FTC_API int ftc_ibarrier(ftc_comm *comm, ftc_request **request);
FTC_API int ftc_ibcast(void *buffer, size_t count, ftc_type type, int root, ftc_comm *comm,
                       ftc_request **request);
FTC_API int ftc_iallreduce(const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                           ftc_comm *comm, ftc_request **request);
FTC_API int ftc_ireduce(const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                        int root, ftc_comm *comm, ftc_request **request);
FTC_API int ftc_iallgather(const void *send, void *recv, size_t count, ftc_type type,
                           ftc_comm *comm, ftc_request **request);
FTC_API int ftc_iallgatherv(const void *send, size_t count, void *recv, const size_t counts[],
                            const size_t displs[], ftc_type type, ftc_comm *comm,
                            ftc_request **request);
FTC_API int ftc_igather(const void *send, void *recv, size_t count, ftc_type type, int root,
                        ftc_comm *comm, ftc_request **request);
FTC_API int ftc_igatherv(const void *send, size_t count, void *recv, const size_t counts[],
                         const size_t displs[], ftc_type type, int root, ftc_comm *comm,
                         ftc_request **request);
FTC_API int ftc_iscatter(const void *send, void *recv, size_t count, ftc_type type, int root,
                         ftc_comm *comm, ftc_request **request);
FTC_API int ftc_iscatterv(const void *send, const size_t counts[], const size_t displs[],
                          void *recv, size_t count, ftc_type type, int root, ftc_comm *comm,
                          ftc_request **request);
FTC_API int ftc_ialltoall(const void *send, void *recv, size_t count, ftc_type type, ftc_comm *comm,
                          ftc_request **request);
FTC_API int ftc_ialltoallv(const void *send, const size_t sendcounts[], const size_t senddispls[],
                           void *recv, const size_t recvcounts[], const size_t recvdispls[],
                           ftc_type type, ftc_comm *comm, ftc_request **request);
FTC_API int ftc_ireduce_scatter_block(const void *send, void *recv, size_t count, ftc_type type,
                                      ftc_op op, ftc_comm *comm, ftc_request **request);
FTC_API int ftc_ireduce_scatter(const void *send, void *recv, const size_t counts[], ftc_type type,
                                ftc_op op, ftc_comm *comm, ftc_request **request);
FTC_API int ftc_iscan(const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                      ftc_comm *comm, ftc_request **request);
FTC_API int ftc_iexscan(const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                        ftc_comm *comm, ftc_request **request);
FTC_API int ftc_comm_idup(ftc_comm *comm, ftc_comm **copy, ftc_request **request);
FTC_API int ftc_comm_isplit(ftc_comm *comm, int color, int key, ftc_comm **part,
                            ftc_request **request);
FTC_API int ftc_comm_ishrink(ftc_comm *comm, ftc_comm **survivors, ftc_request **request);
FTC_API int ftc_iagree(ftc_comm *comm, int *flag, ftc_request **request);
FTC_API int ftc_ivalidate_global(ftc_comm *comm, int *failed_count, ftc_request **request);

/*
 * Has the operation of *request ended? If so, *done is 1, the request is freed, *request is NULL,
 * and the return value is what the operation returned: the same is in status->error. Otherwise
 * *done is 0, and the call returns FTC_SUCCESS. It never waits. A *request that is NULL has ended,
 * with FTC_SUCCESS. status may be NULL. From then on ftc_last_report() is of this operation, if it
 * was a collective. A failure may interrupt a wait or test of a receive, which ftc_irecv() started
 * from FTC_ANY_RANK: then *done is 0, and *request is as it was.
 * Errors: FTC_ERR_ARG, FTC_ERR_STATE, and those of the operation.
 */
FTC_API int ftc_test(ftc_request **request, int *done, ftc_status *status);

/*
 * As ftc_test(), but the call waits until the operation has ended.
 * Errors: FTC_ERR_ARG, FTC_ERR_STATE, and those of the operation.
 */
FTC_API int ftc_wait(ftc_request **request, ftc_status *status);

/*
 * As ftc_wait(), but for `seconds` at the most. If the operation has not ended by then, the call
 * returns FTC_ERR_TIMEOUT: the operation is still under way, *request is as it was, and *status is
 * untouched. With 0 seconds the call is a test.
 * Errors: FTC_ERR_ARG (also: seconds are negative or NaN), FTC_ERR_STATE, FTC_ERR_TIMEOUT, and
 * those of the operation.
 */
FTC_API int ftc_wait_for(ftc_request **request, double seconds, ftc_status *status);

/*
 * Wait until all of `count` requests have ended, of whichever communicators. Entries may be NULL.
 * statuses is NULL, or has an entry for each request. The call returns the first error in the order
 * of the array, after all have ended. ftc_last_report() of a communicator is of its last one in the
 * array.
 * Errors: FTC_ERR_ARG, FTC_ERR_STATE, and those of the operations.
 */
FTC_API int ftc_wait_all(int count, ftc_request *requests[], ftc_status statuses[]);

/*
 * Wait until one of `count` requests has ended, and store where it was in *index. It is freed, and
 * its entry is NULL. Where all entries are NULL, *index is FTC_UNDEFINED, and the call returns
 * FTC_SUCCESS at once. Otherwise it returns what the operation returned. If the call itself was
 * refused, *index is untouched. status may be NULL.
 * Errors: FTC_ERR_ARG, FTC_ERR_STATE, and those of the operation.
 */
FTC_API int ftc_wait_any(int count, ftc_request *requests[], int *index, ftc_status *status);

/* --- messages --- */

/*
 * A message goes from one rank to another of a communicator. It has a tag, a number from 0 on. A
 * receive names the rank and the tag that it takes, or FTC_ANY_RANK, FTC_ANY_TAG. It takes the
 * first message that fits, in the order in which its sender started the sends; a receive that was
 * started earlier takes first. Messages never meet collectives. They may be of any size, also 0,
 * and a rank may send to itself. Sender and receiver need not give the same type: bytes are what
 * counts.
 *
 * A send ends when its buffer may be used again. Small messages may wait at the receiver, up to a
 * bound for each sender. Beyond it, and if a message is larger than 16 KiB, the send waits until a
 * receive has taken its message. So a program must not count on a send that ends before its
 * receive is called. On one node a large message is copied once, from the memory of the sender to
 * that of the receiver, where the kernel lets them: see [collectives] direct_copies. Messages
 * that no rank has received when their communicator is freed are dropped.
 *
 * When a rank has failed, a send to it ends with FTC_ERR_RANK_FAILED. Its earlier messages are
 * received, if they came as a whole. A receive that names it, and for which no message has come,
 * ends with FTC_ERR_RANK_FAILED. A receive never gets a part of a message as a success. If a
 * message was under way, the receive that would have taken it ends with FTC_ERR_RANK_FAILED, and
 * later messages are for later receives.
 *
 * A receive from FTC_ANY_RANK may wait for a message of a failed rank. So a failure interrupts a
 * wait for it, once: the wait returns FTC_ERR_RANK_FAILED, *request is as it was, and the receive
 * is still under way. The program may wait again, or call ftc_cancel(). No failure interrupts that
 * ftc_recognize() or ftc_validate_global() has covered. If no other rank lives, each wait is
 * interrupted. ftc_recv() is interrupted in the same way, and takes no message then.
 */
#define FTC_ANY_RANK (-1)
#define FTC_ANY_TAG  (-1)

/*
 * Send `count` elements to rank `to`. FTC_SUCCESS does not say that they were received.
 * Errors: FTC_ERR_ARG (also: no rank `to`, or a tag below 0), FTC_ERR_STATE, FTC_ERR_RANK_FAILED,
 * FTC_ERR_REVOKED.
 */
FTC_API int ftc_send(const void *buffer, size_t count, ftc_type type, int to, int tag,
                     ftc_comm *comm);

/*
 * As ftc_send(), but the send ends when a receive has taken its message.
 * Errors: those of ftc_send().
 */
FTC_API int ftc_ssend(const void *buffer, size_t count, ftc_type type, int to, int tag,
                      ftc_comm *comm);

/*
 * Receive a message of at most `count` elements. *status has its rank, its tag and its size in
 * bytes; status may be NULL. If it is longer, the buffer gets what there is room for, the call
 * returns FTC_ERR_TRUNCATED, and status->bytes is the size of the message. After
 * FTC_ERR_RANK_FAILED and FTC_ERR_REVOKED the buffer may have changed.
 * Errors: FTC_ERR_ARG, FTC_ERR_STATE, FTC_ERR_TRUNCATED, FTC_ERR_RANK_FAILED, FTC_ERR_REVOKED.
 */
FTC_API int ftc_recv(void *buffer, size_t count, ftc_type type, int from, int tag, ftc_comm *comm,
                     ftc_status *status);

/*
 * A send and a receive at the same time, so that two ranks can exchange messages. It returns when
 * both have ended: the error of the send, or else that of the receive. *status is of the receive.
 * Errors: those of ftc_send() and ftc_recv().
 */
FTC_API int ftc_sendrecv(const void *send, size_t sendcount, ftc_type sendtype, int to, int sendtag,
                         void *recv, size_t recvcount, ftc_type recvtype, int from, int recvtag,
                         ftc_comm *comm, ftc_status *status);

/*
 * The non-blocking forms. A request of them is waited for and tested as one of a collective is,
 * and *status is as ftc_recv() has it. Until it has ended, the buffer of a send must not be
 * changed, and that of a receive must not be touched. Collectives do not wait for these requests.
 * Errors: FTC_ERR_ARG (also: no place for the request), FTC_ERR_STATE, FTC_ERR_NOMEM. Then there
 * is no request. All other errors come from the wait or the test.
 */
FTC_API int ftc_isend(const void *buffer, size_t count, ftc_type type, int to, int tag,
                      ftc_comm *comm, ftc_request **request);
FTC_API int ftc_issend(const void *buffer, size_t count, ftc_type type, int to, int tag,
                       ftc_comm *comm, ftc_request **request);
FTC_API int ftc_irecv(void *buffer, size_t count, ftc_type type, int from, int tag, ftc_comm *comm,
                      ftc_request **request);

/*
 * ftc_probe() waits until there is a message that a receive with this rank and tag would take, and
 * stores its rank, tag and size in *status, which may be NULL. ftc_iprobe() does not wait: *found
 * is 1 if there is one, and else 0. The message stays where it is. Errors: FTC_ERR_ARG,
 * FTC_ERR_STATE, FTC_ERR_RANK_FAILED (none comes; with FTC_ANY_RANK: a failure interrupts, as
 * above), FTC_ERR_REVOKED.
 */
FTC_API int ftc_probe(int from, int tag, ftc_comm *comm, ftc_status *status);
FTC_API int ftc_iprobe(int from, int tag, ftc_comm *comm, int *found, ftc_status *status);

/*
 * As ftc_probe() and ftc_iprobe(), but no other receive takes the message and no other probe finds
 * it: *message has it for ftc_mrecv() or ftc_imrecv(). So several threads may probe and receive.
 * Each such message has to be received before its communicator is freed. *message changes only if
 * there is a message. Errors: those of ftc_probe(), and FTC_ERR_NOMEM.
 */
typedef struct ftc_matched ftc_matched;
FTC_API int ftc_mprobe(int from, int tag, ftc_comm *comm, ftc_matched **message,
                       ftc_status *status);
FTC_API int ftc_improbe(int from, int tag, ftc_comm *comm, int *found, ftc_matched **message,
                        ftc_status *status);

/*
 * Receive the message of a matched probe, as ftc_recv() and ftc_irecv() do. *message becomes NULL,
 * unless the call was refused. If the sender has failed meanwhile, the message may be lost, as that
 * of any receive may.
 * Errors: FTC_ERR_ARG (also: no message), and those of ftc_recv() and ftc_irecv().
 */
FTC_API int ftc_mrecv(void *buffer, size_t count, ftc_type type, ftc_matched **message,
                      ftc_status *status);
FTC_API int ftc_imrecv(void *buffer, size_t count, ftc_type type, ftc_matched **message,
                       ftc_request **request);

/*
 * Withdraw a receive that has taken no message, or a send whose message no receive and no matched
 * probe has taken: its request ends with FTC_ERR_CANCELLED, and nobody receives the message.
 * Otherwise the request ends as it would have ended. In each case it still has to be waited for.
 * The call does not wait. The wait for a cancelled send ends also if no receive is ever called: it
 * waits for the answer of the other rank alone. A message that ftc_probe() has found may be
 * withdrawn before it is received.
 * Errors: FTC_ERR_ARG (also: the request is of a collective), FTC_ERR_STATE.
 */
FTC_API int ftc_cancel(ftc_request *request);

/* --- operators and errors --- */

/*
 * The function sets inout[i] := in[i] op inout[i] for each i < count. It must be associative and
 * commutative; ftc_op_create_ordered() takes one that is not commutative. It must not call the
 * library, but for ftc_rank(), ftc_size(), ftc_comm_translate(), ftc_comm_name() and ftc_abort():
 * other calls that concern a communicator are refused. The library calls the function only
 * while an operation is under way that was given the operator. Any thread that waits in the library
 * may run it, also one that waits in another communicator, and so may the thread of the library.
 * While it runs, calls of other threads may wait for it. It may take any time: its rank does not
 * count as failed meanwhile.
 * Errors: FTC_ERR_ARG (no function, or no place for the operator), FTC_ERR_NOMEM.
 */
typedef void ftc_op_fn(const void *in, void *inout, size_t count, ftc_type type, void *arg);
FTC_API int ftc_op_create(ftc_op_fn *fn, void *arg, ftc_op *op);

/*
 * As ftc_op_create(), for a function that is associative and need not be commutative. The library
 * combines inputs in the order of the ranks: `in` is of lower ranks than `inout`. Each input
 * travels to the rank that gets the result by itself, so such an operation costs more than one of
 * ftc_op_create(). All operations that take an operator take it, but for ftc_gossip_allreduce().
 * Errors: FTC_ERR_ARG (no function, or no place for the operator), FTC_ERR_NOMEM.
 */
FTC_API int ftc_op_create_ordered(ftc_op_fn *fn, void *arg, ftc_op *op);

/* Free a user-defined operator, and set *op to NULL. For a built-in operator the call returns
 * FTC_ERR_ARG. */
FTC_API int ftc_op_free(ftc_op *op);

/*
 * Store in *type an element type of `bytes` bytes, such as sizeof of a struct. Calls
 * without an operator take it. User-defined operators take it if it has at most 128 KiB. Built-in
 * operators refuse it.
 * The type is a number that depends on `bytes` alone. It need not be the same object at all ranks,
 * and nothing is to be freed. The bytes are copied as they are, padding included. In the buffers
 * of the library elements are aligned as those of an array that malloc() has given. The call is
 * local, and needs no ftc_init().
 * Errors: FTC_ERR_ARG (0 bytes, more than 2^30 - 1, or no place for the type).
 */
FTC_API int ftc_type_create(size_t bytes, ftc_type *type);

/* A constant text for an error code. It is never NULL. */
FTC_API const char *ftc_strerror(int error);

/* The last failure of this thread in words, with its cause; "" if there was none. The text is valid
 * until the next call of the thread. */
FTC_API const char *ftc_last_error(void);

/* "0.1.0" */
FTC_API const char *ftc_version(void);

#ifdef __cplusplus
}
#endif

#endif
