/*
 * The communicators of one process: how they begin, end and are given up
 * (docs/design/communicators.md, C1 to C9 and C11). Each has a member of the agreement core
 * (collectives/agreement/member.h), which this object drives.
 *
 * Inputs: a call that is started, a message, a failure notice, a timer, and what became of the
 * memory of a child. Outputs: messages, and how calls end. The object opens no socket, reads no
 * clock and starts no thread. After each input the engine takes the outputs by
 * ftc_communicators_next_output(), in order, until there is none. A crash between two of them is
 * the same as dropping the rest.
 *
 * Each call that is started has a number of its own, its `ticket`. It ends by exactly one output
 * DELIVER, CREATED or REVOKED with this ticket. Calls in one communicator are called one after the
 * other, in the order of their start (C11).
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

#include "collectives/agreement/member.h"
#include "collectives/communicators/number.h"

struct ftc_communicators;
struct ftc_communicator;

enum ftc_communicators_output_kind {
    /* An output of a member, in `is`, but for DELIVER. `to` is a job's rank. A SEND has `is.head`
     * and `is.value`; it may be a message of this object, too. */
    FTC_COMMUNICATORS_MEMBER,
    FTC_COMMUNICATORS_DELIVER, /* `is.status`, `is.decision` and `is.result` as in a member */
    /* A creation has ended with `is.status`. `child` is NULL where this rank gets none. */
    FTC_COMMUNICATORS_CREATED,
    FTC_COMMUNICATORS_REVOKED, /* the call has ended because the communicator was revoked */
    /* Open the memory of `child`, then call ftc_communicators_opened(). `number` is the child's;
     * `is.decision` is that of its creation. */
    FTC_COMMUNICATORS_OPEN,
    FTC_COMMUNICATORS_FORGET, /* `number` is forgotten: nobody uses its memory any more */
    /* The members of `number` have called different agreements: the job cannot go on. */
    FTC_COMMUNICATORS_MISMATCH,
};

struct ftc_communicators_output {
    enum ftc_communicators_output_kind kind;
    uint64_t number;                       /* of the communicator */
    uint64_t ticket;                       /* of a call that ends */
    struct ftc_communicator *communicator; /* the one of `number` */
    struct ftc_communicator *child;
    bool after; /* DELIVER: of an agreement after a revoke */
    struct ftc_output is;
};

/* `settings` are those of this process in the world, and of its member in every communicator, but
 * for `ranks`, `self` and `communicator`. A child goes in one level. */
int ftc_communicators_new(struct ftc_communicators **out,
                          const struct ftc_member_settings *settings);
void ftc_communicators_free(struct ftc_communicators *set); /* NULL is legal */
/* NULL: it is forgotten. */
struct ftc_communicator *ftc_communicators_world(struct ftc_communicators *set);

/* --- calls: each starts one, and says which ticket it has --- */

/* An operation. Its input and its operator must stay until the call ends. */
int ftc_communicator_start(struct ftc_communicator *c, const struct ftc_call *call,
                           uint64_t *ticket);

enum ftc_creation { FTC_CREATION_DUP, FTC_CREATION_SPLIT, FTC_CREATION_SHRINK, FTC_CREATION_GROUP };
#define FTC_COLOR_UNDEFINED (-32766) /* takes part in a split, and gets no child */
/* A dup, split or shrink. `color` and `key` are those of a split. */
int ftc_communicator_create(struct ftc_communicator *c, enum ftc_creation creation, int color,
                            int key, uint64_t *ticket);
/* C5: only the listed ranks of c call it; this rank is one of them. FTC_ERR_STATE: as many such
 * calls of this process are under way as may be; call it again later. */
#define FTC_GROUPS_MOST 64
int ftc_communicator_create_group(struct ftc_communicator *c, int count, const int ranks[], int tag,
                                  uint64_t *ticket);
/* C7: the caller gives the communicator up, and must not use it again. C12: at the end of the job
 * it gives all of them up, the world too. The job is over for this process when none is left. */
int ftc_communicator_free(struct ftc_communicator *c);
int ftc_communicator_revoke(struct ftc_communicator *c); /* C8 */

/* --- other inputs --- */

/* The engine has opened the memory of a child, or could not. Unknown numbers are ignored. */
int ftc_communicators_opened(struct ftc_communicators *set, uint64_t number, bool sound);
int ftc_communicators_receive(struct ftc_communicators *set, int from, struct ftc_buffer *message);
int ftc_communicators_notice(struct ftc_communicators *set, int rank);
/* Of all members: they asked for it by MEMBER outputs. */
int ftc_communicators_timer(struct ftc_communicators *set);
int ftc_communicators_more(struct ftc_communicators *set);

/* The next output, or NULL; valid until the next call on this object. */
const struct ftc_communicators_output *ftc_communicators_next_output(struct ftc_communicators *set);

/* --- looking in --- */

uint64_t ftc_communicator_name(const struct ftc_communicator *c); /* its number */
int ftc_communicator_size(const struct ftc_communicator *c);
int ftc_communicator_self(const struct ftc_communicator *c);
int ftc_communicator_job_rank(const struct ftc_communicator *c, int rank);
/* The rank in c of a job's rank; -1: it is no member. */
int ftc_communicator_rank_of(const struct ftc_communicator *c, int job_rank);
bool ftc_communicator_by_messages(const struct ftc_communicator *c); /* the opening refused */
bool ftc_communicator_is_revoked(const struct ftc_communicator *c);
/* The member of its operations (NULL once it is revoked) or of its agreements after a revoke (NULL
 * before). */
const struct ftc_member *ftc_communicator_member(const struct ftc_communicator *c, bool after);
/* The next communicator after c, temporary ones too; after NULL, the first. NULL: no more. */
struct ftc_communicator *ftc_communicators_next(const struct ftc_communicators *set,
                                                const struct ftc_communicator *c);
struct ftc_communicator *ftc_communicators_find(const struct ftc_communicators *set,
                                                uint64_t number);
/* Messages of temporary communicators that this process does not know yet. For tests. */
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
    FTC_COMMUNICATORS_EVENTS
};
const uint64_t *ftc_communicators_events(const struct ftc_communicators *set);

#endif
