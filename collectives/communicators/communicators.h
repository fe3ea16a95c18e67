/*
 * The lifecycle of the communicators of one process: how they begin, end and are given up
 * (docs/design/communicators.md, C1 to C9 and C11). It runs no operation. The *engine* does that,
 * by any algorithm. This object says what the engine has to call, and hears what was delivered.
 *
 * Inputs: a call that is started, what the engine has delivered, a message, a failure notice, and
 * what became of the memory of a child. Outputs: words to other processes, what the engine has to
 * do, and how calls end. The object opens no socket, reads no clock and starts no thread. After
 * each input the engine takes the outputs by ftc_communicators_next_output(), and carries them out
 * in order, until there is none. It may make an input meanwhile: the outputs of that come after
 * those that are left. A crash between two outputs is the same as dropping the rest.
 *
 * Each call that is started has a number of its own, its `ticket`. It ends by exactly one output
 * DELIVERED, CREATED or CUT_OFF with this ticket. Calls in one communicator are called one after
 * the other, in the order of their start (C11).
 *
 * Errors of an input:
 * - FTC_ERR_PROTO of ftc_communicators_receive(): the sender broke the protocol and should be
 *   fenced. The message was ignored.
 * - FTC_ERR_NOMEM: the state is unfinished. The process must stop (fail-stop).
 *
 * Not thread-safe: the engine lets one thread in at a time.
 */
#ifndef FTC_COLLECTIVES_COMMUNICATORS_COMMUNICATORS_H
#define FTC_COLLECTIVES_COMMUNICATORS_COMMUNICATORS_H

#include "base/buffer.h"
#include "collectives/call.h"
#include "collectives/communicators/number.h"

struct ftc_communicators;
struct ftc_communicator;

enum ftc_communicators_output_kind {
    /* Send the word `message` to the job's rank `rank`: FTC_FRAME_HEAD bytes, a frame of the kind
     * FTC_FRAME_COMMUNICATOR. Its receiver must handle it even while its caller is outside the
     * library. */
    FTC_COMMUNICATORS_SEND,
    /* `communicator` begins. The engine makes what runs its calls, with G = `agreed` and L as C4
     * says. If it is a child, the engine then opens its memory, and calls
     * ftc_communicators_opened(). A temporary communicator has no memory. */
    FTC_COMMUNICATORS_BEGIN,
    /* Take in `message` of the job's rank `rank` for `communicator`. It came before the
     * communicator began (C5), or it told of the revoke (C9): then it has `after`, and the bit
     * FTC_COMMUNICATOR_REVOKED in its number. Its sender may be no member: the engine accuses it,
     * as ever. */
    FTC_COMMUNICATORS_TAKE,
    /* Call `call` in `communicator`; `after`: as an agreement of the survivors. When it is
     * delivered, call ftc_communicator_delivered(). The memory that `call` points to stays until
     * then, or until a revoke cuts the call off. At most one is under way in a communicator. */
    FTC_COMMUNICATORS_CALL,
    FTC_COMMUNICATORS_DELIVERED, /* the operation with `ticket` is delivered, with `status` */
    /* A creation has ended with `status`. `child` is NULL where this rank gets none. */
    FTC_COMMUNICATORS_CREATED,
    FTC_COMMUNICATORS_CUT_OFF, /* the call with `ticket` has ended: `communicator` was revoked */
    /* This process has learnt that `communicator` is revoked. It has told others, and the calls
     * that this object knows have been cut off. The engine ends its own calls with
     * FTC_ERR_REVOKED. It takes no part any more in what was under way, and delivers nothing of it.
     * The next call has an empty G, the L that the process has, and the bit
     * FTC_COMMUNICATOR_REVOKED in the number.
     *
     * Of a temporary communicator: its parent is revoked. Nothing more is called in it. */
    FTC_COMMUNICATORS_REVOKED,
    /* The job's rank `rank` has forgotten `communicator`, which is revoked, and will never answer
     * in it again (C9). Its agreements go on with the rank as a failed one, in this communicator
     * alone: the rank may live. */
    FTC_COMMUNICATORS_LOST,
    /* `communicator` is forgotten: free what runs it, and its memory. It is valid until the next
     * input. */
    FTC_COMMUNICATORS_FORGET,
    /* The members of `communicator` have called different agreements: the job cannot go on. */
    FTC_COMMUNICATORS_MISMATCH,
};

struct ftc_communicators_output {
    enum ftc_communicators_output_kind kind;
    uint64_t number; /* of the communicator; of a SEND, it need not exist here */
    /* The one of `number`; of CREATED, CALL and the others that have a ticket: the one in which it
     * was called, temporary ones too. NULL: SEND. */
    struct ftc_communicator *communicator;
    struct ftc_communicator *child; /* CREATED */
    uint64_t ticket;                /* of a call; a closing has one that no caller knows */
    int status;                     /* DELIVERED and CREATED */
    bool after;                     /* of an agreement of the survivors (C9) */
    int rank;                       /* SEND, TAKE and LOST: of the job */
    /* SEND and TAKE. The reference belongs to this object, until the next call of
     * ftc_communicators_next_output(). */
    struct ftc_buffer *message;
    struct ftc_call call; /* CALL */
    /* BEGIN: a set of the communicator's ranks; NULL: empty. Valid until the next input. */
    const struct ftc_set *agreed;
    /* BEGIN of a child: each of its members has offered the memory of this communicator (C3). It is
     * taken if it is that of the same members; 0: new memory. */
    uint64_t spare;
};

/* `ranks` and `self`: of the job. The world begins without an output. */
int ftc_communicators_new(struct ftc_communicators **out, int ranks, int self);
void ftc_communicators_free(struct ftc_communicators *set); /* NULL is legal */
/* NULL: it is forgotten. */
struct ftc_communicator *ftc_communicators_world(struct ftc_communicators *set);

/* --- calls: each starts one, and says which ticket it has --- */

/* The input of a call of the kind FTC_CALL_AGREE. The size in its signature is 0. */
struct ftc_agree_input {
    uint32_t flag;
    const struct ftc_set *unrecognized; /* failures that the caller has not recognized */
};

/* An operation, for engines that leave the order of operations (C11) to this object. Its input and
 * its operator must stay until the call ends. An agree always comes this way. After a revoke all
 * operations do: a validate is an agreement then, and each other one is cut off. */
int ftc_communicator_start(struct ftc_communicator *c, const struct ftc_call *call,
                           uint64_t *ticket);

enum ftc_creation { FTC_CREATION_DUP, FTC_CREATION_SPLIT, FTC_CREATION_SHRINK, FTC_CREATION_GROUP };
#define FTC_COLOR_UNDEFINED (-32766) /* takes part in a split, and gets no child */
/* A dup, split or shrink. `color` and `key` are those of a split. `spare`: this process offers the
 * memory of this communicator, which it has given up; 0: none. */
int ftc_communicator_create(struct ftc_communicator *c, enum ftc_creation creation, int color,
                            int key, uint64_t spare, uint64_t *ticket);
/* C5: only the listed ranks of c call it; this rank is one of them. FTC_ERR_STATE: as many such
 * calls of this process are under way as may be; call it again later. */
#define FTC_GROUPS_MOST 64
int ftc_communicator_create_group(struct ftc_communicator *c, int count, const int ranks[], int tag,
                                  uint64_t *ticket);
/* C7: the caller gives the communicator up, and must not use it again. C12: at the end of the job
 * it gives all of them up, the world too. The job is over for this process when none is left. */
int ftc_communicator_free(struct ftc_communicator *c);
int ftc_communicator_revoke(struct ftc_communicator *c); /* C8 */
/* C7: the engine has found that another member has revoked it. */
int ftc_communicator_found_revoked(struct ftc_communicator *c);
/* C8: the caller knows of the revoke: a call that the engine runs by itself has returned
 * FTC_ERR_REVOKED. */
void ftc_communicator_told(struct ftc_communicator *c);

/* --- other inputs --- */

/* The delivery of a CALL. All that it points to is read within the input. */
struct ftc_communicator_delivery {
    int status;
    const void *value; /* the result, of `size` bytes */
    size_t size;
    const struct ftc_set *failed; /* of the decision: ranks of the communicator */
    const struct ftc_set *agreed; /* G after it */
    bool owes;                    /* ftc_member_owes(): another rank may wait for this one (C7) */
};
/* FTC_ERR_STATE: no call is under way in c. */
int ftc_communicator_delivered(struct ftc_communicator *c,
                               const struct ftc_communicator_delivery *delivery);
/* The engine has opened the memory of a child, or could not. Unknown numbers are ignored. */
int ftc_communicators_opened(struct ftc_communicators *set, uint64_t number, bool sound);
/* A message of the job's rank `from`, which is one of these. All others are the engine's.
 * - a word: the kind of its frame is FTC_FRAME_COMMUNICATOR;
 * - a message of a number that ftc_communicators_find() does not find (C6);
 * - a message with the bit FTC_COMMUNICATOR_REVOKED, of a communicator that is not revoked. */
int ftc_communicators_receive(struct ftc_communicators *set, int from, struct ftc_buffer *message);
/* The detector declared the job's rank `rank` failed. The engine tells what runs the communicators
 * by itself. */
int ftc_communicators_notice(struct ftc_communicators *set, int rank);

/* The next output, or NULL; valid until the next call of this function. */
const struct ftc_communicators_output *ftc_communicators_next_output(struct ftc_communicators *set);

/* The engine's own pointer for a communicator; NULL until it is set. */
void ftc_communicator_attach(struct ftc_communicator *c, void *engine);
void *ftc_communicator_engine(const struct ftc_communicator *c);

/* --- looking in --- */

uint64_t ftc_communicator_name(const struct ftc_communicator *c); /* its number */
int ftc_communicator_size(const struct ftc_communicator *c);
int ftc_communicator_self(const struct ftc_communicator *c);
int ftc_communicator_job_rank(const struct ftc_communicator *c, int rank);
/* Those of all its ranks. NULL: no memory for the list of the world, which is made when it is first
 * asked for. */
const int *ftc_communicator_job_ranks(struct ftc_communicator *c);
/* The rank in c of a job's rank; -1: it is no member. */
int ftc_communicator_rank_of(const struct ftc_communicator *c, int job_rank);
bool ftc_communicator_by_messages(const struct ftc_communicator *c); /* the opening refused */
bool ftc_communicator_is_revoked(const struct ftc_communicator *c);  /* an output said REVOKED */
/* Callers have it: its creation has ended, and nobody has freed it. */
bool ftc_communicator_has_callers(const struct ftc_communicator *c);
/* The next communicator after c, temporary ones too; after NULL, the first. NULL: no more. */
struct ftc_communicator *ftc_communicators_next(const struct ftc_communicators *set,
                                                const struct ftc_communicator *c);
/* `number` is without the bit FTC_COMMUNICATOR_REVOKED. NULL: none has it. */
struct ftc_communicator *ftc_communicators_find(const struct ftc_communicators *set,
                                                uint64_t number);
/* Messages of communicators that this process does not know yet. For tests. */
int ftc_communicators_early(const struct ftc_communicators *set);

/* How often each of these happened, for tests. */
enum ftc_communicators_event {
    FTC_COMMUNICATORS_EVENT_GONE_ANSWERED,
    FTC_COMMUNICATORS_EVENT_GONE_TAKEN,
    FTC_COMMUNICATORS_EVENT_EARLY_KEPT,
    FTC_COMMUNICATORS_EVENT_EARLY_DROPPED, /* of the dead, or of one that said BYE */
    FTC_COMMUNICATORS_EVENT_DROPPED,       /* of an unknown number */
    FTC_COMMUNICATORS_EVENT_REVOKED,       /* learnt of a revoke */
    FTC_COMMUNICATORS_EVENT_REVOKE_AGAIN,  /* sent REVOKE after a notice */
    FTC_COMMUNICATORS_EVENT_ABANDONED,     /* revoked a child whose opening was cut off */
    FTC_COMMUNICATORS_EVENT_CLOSE_AGAIN,   /* closed again, since others had other wishes */
    FTC_COMMUNICATORS_EVENT_LOST,          /* a rank has forgotten a communicator in use (C9) */
    FTC_COMMUNICATORS_EVENTS
};
const uint64_t *ftc_communicators_events(const struct ftc_communicators *set);
/* For exploring state spaces: everything that later inputs depend on, as bytes. Processes with the
 * same rank and the same bytes behave alike. All outputs were taken. */
void ftc_communicators_digest(const struct ftc_communicators *set, ftc_digest_sink *sink,
                              void *arg);

#endif
