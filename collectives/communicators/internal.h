/* Inside of the communicators of a process. Private to this folder. */
#ifndef FTC_COLLECTIVES_COMMUNICATORS_INTERNAL_H
#define FTC_COLLECTIVES_COMMUNICATORS_INTERNAL_H

#include "base/error.h"
#include "base/set.h"
#include "collectives/communicators/communicators.h"
#include "collectives/communicators/mutation.h"
#include "collectives/communicators/roll.h"

/* The messages of this object: frames of the kind FTC_FRAME_COMMUNICATOR with one of these words.
 * They have nothing but the head (collectives/frame.h). */
enum ftc_communicator_word {
    FTC_WORD_GONE,       /* C7: the sender has forgotten the communicator */
    FTC_WORD_BYE,        /* C5: the sender needs nothing more of this temporary communicator */
    FTC_WORD_BYE_ANSWER, /* C5: so does the sender, which does not know it */
    FTC_WORD_REVOKE,     /* C8 */
    FTC_WORDS
};

enum ftc_started_kind { FTC_STARTED_OPERATION, FTC_STARTED_CREATION, FTC_STARTED_CLOSING };

/* A call that was started and has not ended. */
struct ftc_started {
    struct ftc_started *next;
    uint64_t ticket;
    enum ftc_started_kind kind;
    bool after;           /* it is an agreement of the survivors (C9) */
    struct ftc_call call; /* of an operation */
    /* of a creation */
    enum ftc_creation creation;
    int color, key;
    uint64_t spare;                 /* what this process offers (C3) */
    bool opening;                   /* its creation is delivered, and the opening follows */
    bool opened;                    /* the memory of the child is open, or cannot be opened */
    bool refuses;                   /* it cannot be opened */
    struct ftc_communicator *child; /* NULL: this rank gets none */
};

struct ftc_communicator {
    struct ftc_communicator *next;
    struct ftc_communicators *set;
    uint64_t number;
    int ranks, self;
    int *job_rank;         /* of each rank; NULL in the world, before somebody asks for the list */
    struct ftc_set agreed; /* G at first; of size 0 if it is empty */
    void *engine;          /* the engine's own */
    struct ftc_started *first, *last;
    bool called;             /* the first started call is under way */
    struct ftc_buffer *roll; /* input of the call under way */
    bool in_use;             /* the opening is delivered: callers may have it */
    bool by_messages;
    bool freed;          /* the caller has given it up */
    bool ended;          /* nobody needs it any more */
    struct ftc_set lost; /* C9: have forgotten it, and may live; failed in this one alone */
    /* revoked: this process has learnt of it; of a temporary communicator, that of its parent has
     * cut it off. told: a call said so, or the caller revoked it. */
    bool revoked, told;
    int next_told; /* the next member on the ring, which got REVOKE; -1: none did */
    /* of a temporary communicator (C5) */
    uint64_t parent;
    bool left;          /* this rank has said BYE */
    struct ftc_set bye; /* who has said BYE */
};

/* A message of a communicator that this process does not know yet: of a temporary one (C5), or of a
 * child (C6). */
struct ftc_early {
    struct ftc_early *next;
    int from;
    uint64_t number;
    struct ftc_buffer *message;
};

/* How often ftc_comm_create() was called with one list and tag in one parent. */
struct ftc_tally {
    struct ftc_tally *next;
    uint64_t parent, digest, calls;
};

struct ftc_queued {
    struct ftc_queued *next;
    struct ftc_communicators_output output;
};

struct ftc_communicators {
    int ranks, self; /* of the job */
    uint64_t count;  /* C1: the counter */
    uint64_t tickets;
    struct ftc_set known;               /* job's ranks that are known to have failed */
    struct ftc_communicator *first;     /* the world, and then the others in order of age */
    struct ftc_communicator *forgotten; /* outputs may name them until the next input */
    struct ftc_early *early, *early_last;
    struct ftc_tally *tally;
    struct ftc_queued *queue, *queue_last, *current;
    uint64_t events[FTC_COMMUNICATORS_EVENTS];
};

static inline int ftc_communicator_in_job(const struct ftc_communicator *c, int rank)
{
    return c->job_rank != NULL ? c->job_rank[rank] : rank;
}

static inline void ftc_communicators_note(struct ftc_communicators *set,
                                          enum ftc_communicators_event event)
{
    set->events[event]++;
}

/* Unless a comment says otherwise, each function that returns int returns 0 or FTC_ERR_NOMEM. */

/* outputs.c */
int ftc_communicators_put(struct ftc_communicators *set,
                          const struct ftc_communicators_output *output);
void ftc_communicators_drop_outputs(struct ftc_communicators *set);
/* Sends a word about communicator `number` to a job's rank, unless that has failed. */
int ftc_communicators_say(struct ftc_communicators *set, uint64_t number, int to,
                          enum ftc_communicator_word word);
/* The same to all other members of c. */
int ftc_communicator_say_all(struct ftc_communicator *c, enum ftc_communicator_word word);
/* An output about c. */
int ftc_communicator_put(struct ftc_communicator *c, enum ftc_communicators_output_kind kind,
                         uint64_t ticket);

/* table.c */
/* Makes a communicator. It owns `job_rank` from now on, also if this fails; NULL: it is the world,
 * where a rank is that of the job. `agreed` is a set of
 * its ranks; NULL: empty. `spare` is that of the output BEGIN. */
int ftc_communicator_new(struct ftc_communicators *set, uint64_t number, int ranks, int *job_rank,
                         const struct ftc_set *agreed, uint64_t spare,
                         struct ftc_communicator **out);
void ftc_communicator_destroy(struct ftc_communicator *c);
struct ftc_started *ftc_started_add(struct ftc_communicator *c, enum ftc_started_kind kind);
/* It has ended, or is cut off: take it out. */
void ftc_started_remove(struct ftc_communicator *c, struct ftc_started *started);
/* The same of the first one. */
void ftc_started_pop(struct ftc_communicator *c);
/* The call under way is so no more: drops its input. */
void ftc_communicator_end_call(struct ftc_communicator *c);
/* Failed, or lost (C9). */
bool ftc_communicator_knows_failed(const struct ftc_communicator *c, int rank);
/* Forgets those that have ended. */
int ftc_communicators_sweep(struct ftc_communicators *set);

/* early.c */
/* FTC_ERR_PROTO: the sender has more temporary communicators than it may have. */
int ftc_early_keep(struct ftc_communicators *set, int from, uint64_t number,
                   struct ftc_buffer *message);
/* Drops those of a sender; of one number, or of all numbers if it is 0. */
void ftc_early_drop(struct ftc_communicators *set, int from, uint64_t number);
/* Takes out the oldest one of this number. NULL: there is none. The caller owns it. */
struct ftc_early *ftc_early_take(struct ftc_communicators *set, uint64_t number);
void ftc_early_free(struct ftc_early *early);

/* revoke.c */
/* C8: this process learns of the revoke of c: by REVOKE of its rank `teller`; -1: otherwise. */
int ftc_communicator_learn_revoked(struct ftc_communicator *c, int teller);
/* C8: after a notice, the next member may be another one. */
int ftc_communicator_revoke_again(struct ftc_communicator *c);
/* C7 and C9: GONE came for c, of its rank `rank`. FTC_ERR_PROTO: it makes no sense. */
int ftc_communicator_take_gone(struct ftc_communicator *c, int rank);
int ftc_communicator_close(struct ftc_communicator *c);

/* birth.c */
/* C2: makes the child that the delivered creation gives this rank; NULL: none. */
int ftc_communicator_bear(struct ftc_communicator *parent, const struct ftc_started *started,
                          const struct ftc_communicator_delivery *delivery,
                          struct ftc_communicator **child);
/* The entry with which this rank takes part in a creation. */
struct ftc_roll_entry ftc_communicator_propose(struct ftc_communicator *c,
                                               const struct ftc_started *started);

/* step.c */
/* Carries on from the delivery of the first call of c. */
int ftc_communicator_finish(struct ftc_communicator *c,
                            const struct ftc_communicator_delivery *delivery);
/* After each input: calls what may begin, and forgets what has ended. */
int ftc_communicators_settle(struct ftc_communicators *set);

#endif
