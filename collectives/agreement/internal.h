/* Inside of a member: an operation, its ballot, and what the rules share. Private to this
 * folder. */
#ifndef FTC_COLLECTIVES_AGREEMENT_INTERNAL_H
#define FTC_COLLECTIVES_AGREEMENT_INTERNAL_H

#include "base/error.h"
#include "collectives/agreement/eligible.h"
#include "collectives/agreement/member.h"
#include "collectives/agreement/view.h"
#include "collectives/mutation.h"
#include "collectives/spread/correction.h"
#include "collectives/spread/fragments.h"
#include "collectives/values/blocks.h"
#include "collectives/values/flip.h"

enum ftc_ballot_phase {
    FTC_BALLOT_GROUP, /* waits for UPs (rule 2) */
    FTC_BALLOT_TREE,  /* waits for TREEs (rule 2) */
    FTC_BALLOT_RETRY, /* rule 3: the coordinator waits until L holds a participant */
    FTC_BALLOT_DONE,  /* the own part of the collection is done, or there is none */
};

/* One awaited contribution: that of a group member, of a child or, at the coordinator, of the head
 * of a subtree. */
struct ftc_awaited {
    int rank;
    bool arrived, written_off;
    bool failure_free; /* of a head: its subtree reported no failure of its own */
    uint32_t count;    /* of a head: the number of write-offs that it reported */
    struct ftc_contribution contribution;
    /* Of a head, if results are compared: the list that came, as a bit set. NULL: the list is
     * empty. */
    struct ftc_buffer *list;
};

/* When the next step of dissemination or correction is due. */
enum ftc_pace {
    FTC_PACE_IDLE,
    FTC_PACE_MORE, /* when the outputs are out, and what has come is taken in */
    FTC_PACE_TICK, /* when the timer fires */
};

/* How DECIDE(b) comes to this process, and how the process spreads it
 * (docs/design/broadcast.md). */
struct ftc_spread {
    enum ftc_dissemination dissemination;
    enum ftc_pace pace;
    uint32_t rounds;      /* of gossip that are left to this process */
    bool impatient;       /* the patience ended before DECIDE(b) came */
    uint64_t pace_ns;     /* TICK: time until the next step */
    uint64_t patience_ns; /* patience that is left; 0: this process waits for nothing */
    struct ftc_corrector corrector;
    int *near;                      /* memory of the corrector */
    struct ftc_fragments fragments; /* the pieces that came, until this process holds DECIDE(b) */
    int passed_to;                  /* ring: the rank to which pieces were passed on; -1: none */
    uint32_t passed;                /* ring: the number of these pieces */
};

struct ftc_collector; /* collector.h */

struct ftc_ballot {
    struct ftc_ballot_id id;
    struct ftc_view *participants;
    int coordinator;    /* rank of c_b */
    int position, size; /* position -1: another rank takes part for this node (two levels) */
    enum ftc_ballot_phase phase;
    int status; /* of the collected value: FTC_SUCCESS or FTC_ERR_CORRUPT */
    int pulled; /* rank that was last asked by PULL; -1: none */
    bool collects;
    bool holding; /* this process holds DECIDE(b) */
    /* Exchange: c_0 has been asked for (0,1), by this rank or, if this is c_0, by another one. */
    bool given_up;
    bool waited; /* c_b: the wait of straggler_ns is over */
    int round;   /* exchange: index in `group` of the next rank to wait for */
    /* The own group in order of position, with this rank; member->group_room entries. In an
     * exchange: the ranks whose UP is awaited, in order. */
    struct ftc_awaited *group;
    struct ftc_awaited *child; /* children, or heads of subtrees; member->child_room entries */
    int group_size, child_size;
    /* What is combined so far. If results are compared, that of c_b is empty until then. */
    struct ftc_contribution sum;
    struct ftc_vote_verdict verdict;
    struct ftc_failure_info info; /* of this ballot: own write-offs, and all lists that came */
    const struct ftc_collector *collector;
    /* c_b: the time left to wait for lower subtrees, though a failure-free one has come; 0: it does
     * not wait so. */
    uint64_t straggler_ns;
    struct ftc_set asked; /* ranks that sent PULL and wait for the answer */
    struct ftc_set decide_sent, prepare_sent;
    struct ftc_spread spread;
};

struct ftc_operation {
    struct ftc_operation *next; /* the next later operation that is retained */
    uint64_t k;
    struct ftc_call call;
    struct ftc_value input;        /* x, until delivery */
    struct ftc_value result;       /* of a reduce over two levels, at its root, until delivery */
    struct ftc_view *view;         /* at op k */
    struct ftc_epoch epoch;        /* at op k */
    int start;                     /* index in the view at which the rotation order starts */
    uint32_t lead;                 /* c_0 is that many ranks after `start`, and still comes first */
    uint32_t poked;                /* the highest i' poked (rule 7), plus 1; 0: none */
    uint32_t ballots;              /* number of ballots entered */
    uint32_t sent;                 /* messages sent, counted for drills */
    bool first_collects : 1;       /* ballot (0,0) collects */
    bool exchanges : 1;            /* ballot (0,0) is an exchange */
    bool asks : 1;                 /* this process wants it decided: it calls it, or (a settlement)
                                    * asks for it */
    bool checked : 1;              /* values and messages carry checksums */
    bool levels : 1;               /* two levels: delegates of the nodes take part */
    bool sums : 1;                 /* two levels: a plain reduce (sums.c) */
    bool returned : 1;             /* delivered to the caller */
    struct ftc_set missing;        /* two levels: ranks of this node without a post */
    struct ftc_decision *decision; /* D once delivered; NULL for a plain reduce */
    struct ftc_ballot ballot;
};

/* A settlement that is delivered and not in force yet (agreement.md, rule 9). */
struct ftc_settled {
    struct ftc_settled *next;      /* a later settlement, in force from a later operation on */
    uint64_t from;                 /* K: the operation from which on it is in force */
    uint64_t name;                 /* ftc_settlement_name() */
    struct ftc_decision *decision; /* its failed set is F */
};

/* The state of settlements in a member. */
struct ftc_settling {
    uint64_t open;         /* number of the open settlement */
    uint64_t name;         /* of the one before: the epoch of the open one */
    struct ftc_view *view; /* of the open one: all ranks that no settlement has named */
    struct ftc_settled *pending;
    bool reduces; /* the last operation that has begun is a plain reduce with this root */
    bool due;     /* there may be a reason to ask */
    bool holds;   /* this process has contributed to the open one, which holds back the next call */
    bool begun;   /* the next operation has begun, and is not called yet */
};

struct ftc_kept_bucket; /* messages of ops that are not called yet */

/* Two levels, at a root: TAKEN of this reduce is still to be sent (nodes.md, S6). */
struct ftc_unanswered {
    int count; /* 0: nothing is owed */
    int *rank; /* room for as many ranks as there are nodes */
    uint64_t k;
    struct ftc_epoch epoch;
    struct ftc_signature signature;
};

struct ftc_member {
    struct ftc_member_settings set;
    struct ftc_correction_shape correction;
    uint64_t next_op;
    struct ftc_set known;  /* L */
    struct ftc_set agreed; /* G */
    struct ftc_epoch epoch;
    struct ftc_view *view;                     /* all ranks but G */
    struct ftc_view *delegates, *delegates_of; /* two levels: of the nodes; in this view */
    int delegates_root;                        /* two levels: the root they belong to; -1: none */
    uint32_t row; /* what the broadcasts in a row count that do not settle */
    struct ftc_unanswered unanswered;
    struct ftc_settling settling;
    struct ftc_decision *word; /* two levels: decision of the next op, not called yet; NULL: none */
    /* L grew, or a wait is over: the rules must be applied to every op again. */
    bool changed;
    bool more_asked; /* FTC_OUTPUT_MORE was put out, and is not answered yet */
    bool ticking;    /* in ftc_member_timer(), which asks for the next timer at its end */
    /* This process was declared failed, or its memory is damaged. It ignores every input. */
    bool fenced;
    bool flipped[FTC_FLIPS]; /* the drills that were carried out */
    int retained, group_room, child_room;
    uint64_t timer_ns; /* delay of the timer that is under way; 0: none is */
    uint64_t pieces[FTC_PIECES_KINDS];
    uint64_t drawn_for;   /* the last operation whose drawn flip was carried out, plus 1 */
    struct ftc_flip flip; /* the last flip that was carried out */
    /* The value that was last made, or found sound, in this step. It is compared with other values,
     * and its pointer is never followed. */
    struct ftc_value looked;

    /* The retained operations, ascending, and after them the settlements. newest: no settlement. */
    struct ftc_operation *oldest, *newest;
    struct ftc_operation *spare; /* freed operations, for reuse */

    struct ftc_kept_bucket *kept; /* by op number, modulo; NULL until the first message is kept */
    size_t kept_datagrams;        /* bytes of the datagrams among them */
    struct ftc_message scratch;

    struct ftc_output *output; /* the queue of outputs */
    int output_count, output_taken, output_room;
    struct ftc_output current; /* the output that was handed out; it holds its references */

    struct ftc_set report_failed, report_wrong;
    struct ftc_member_report report; /* `failed` is report_failed */
    uint64_t ballots;
    struct ftc_epoch entered; /* the last of these ballots */
    uint32_t rules[FTC_RULES_COUNT];
    char *mismatch; /* the words of ftc_member_mismatch(), made when there is one */
};

/* Unless a comment says otherwise, each function that returns int returns 0 or FTC_ERR_NOMEM. A
 * comment "1: changed" means that it may also return 1: it has changed the state. */

static inline void ftc_rule_taken(struct ftc_member *m, enum ftc_rule rule)
{
    m->rules[rule]++;
}

static inline bool ftc_knows_failed(const struct ftc_member *m, int rank)
{
    return ftc_set_has(&m->known, rank);
}

/* Is a call under way? */
static inline bool ftc_member_busy(const struct ftc_member *m)
{
    return m->newest != NULL && !m->newest->returned;
}

/* timer.c: the one timer for all waits */
/* The time until the first wait that is under way may end; 0: none is under way. */
uint64_t ftc_timer_need(const struct ftc_member *m);
/* Asks for the timer, as long as the shortest wait. Only a shorter timer replaces the one under
 * way. So a stream of new operations cannot put off old ones for ever. */
int ftc_timer_arm(struct ftc_member *m);
/* The length of a wait that begins now, for the countdown. When the timer under way fires, all of
 * it is subtracted, though a part had passed before. So it is added here. A longer timer will be
 * replaced, and does not matter. */
uint64_t ftc_timer_from_now(const struct ftc_member *m, uint64_t delay_ns);

/* output.c: the queue of outputs */
/* Takes references of its own to the buffers of the output. */
int ftc_member_output(struct ftc_member *m, const struct ftc_output *output);
void ftc_member_drop_outputs(struct ftc_member *m); /* frees the queue */

/* known.c: L, G and the view */
/* Puts out that this process must exit. Returns FTC_ERR_FENCED, which ends the step. */
int ftc_member_fence(struct ftc_member *m);
/* Adds to L. FTC_ERR_FENCED: this rank is in the set. */
int ftc_member_learn(struct ftc_member *m, const struct ftc_set *failed);
int ftc_member_learn_rank(struct ftc_member *m, int rank);
int ftc_member_renew_view(struct ftc_member *m); /* the view: all ranks but G */

/* integrity.c: checksums, and damage on request */
/* Do the values and messages of such an operation carry checksums? */
bool ftc_integrity_checks(const struct ftc_member *m, const struct ftc_signature *signature);
/* Called when a value is complete and will be used from now on: gives it its checksum, and then
 * does to it what the drills want. */
int ftc_integrity_protect(struct ftc_member *m, const struct ftc_operation *op,
                          enum ftc_flip_variable variable, struct ftc_value *value);
/* Are these still the bytes that were sealed? A value is looked at once in a step, since nothing
 * has the time to change it within a step. */
bool ftc_integrity_sound(struct ftc_member *m, const struct ftc_value *value);
/* Does what the drills want at this step of a variable. */
int ftc_integrity_disturb(struct ftc_member *m, const struct ftc_operation *op,
                          enum ftc_flip_variable variable, uint64_t step, struct ftc_value *value);
/* Does what the drills want to the message that is output number `at`. */
int ftc_integrity_disturb_message(struct ftc_member *m, struct ftc_operation *op, size_t at);
/* This process is damaged. Returns FTC_ERR_FENCED, like ftc_member_fence(). */
int ftc_integrity_corrupt(struct ftc_member *m);

/* send.c: messages */
int ftc_member_send(struct ftc_member *m, struct ftc_operation *op, enum ftc_message_kind kind,
                    int to, const struct ftc_message *content);
int ftc_member_send_decide(struct ftc_member *m, struct ftc_operation *op, int to, enum ftc_way way,
                           uint32_t rounds);
int ftc_member_multicast(struct ftc_member *m, struct ftc_operation *op,
                         const struct ftc_message *piece);
/* NULL: out of memory. */
struct ftc_buffer *ftc_member_encode(struct ftc_member *m, struct ftc_operation *op,
                                     enum ftc_message_kind kind, const struct ftc_message *content);

/* operation.c: operations and their memory */
/* Adds operation k, or settlement k, to the list. The caller fills in the rest. */
int ftc_operation_new(struct ftc_member *m, uint64_t k, const struct ftc_call *call,
                      struct ftc_view *view, struct ftc_operation **out);
/* Takes the operation out of the list, and keeps its memory as a spare. */
void ftc_operation_free(struct ftc_member *m, struct ftc_operation *op);
void ftc_operation_destroy(struct ftc_operation *op);
/* Rule 8. If k is a settlement: the settlements before it, and no other operation. */
void ftc_operation_free_before(struct ftc_member *m, uint64_t k);
struct ftc_operation *ftc_operation_find(const struct ftc_member *m, uint64_t k);
static inline bool ftc_operation_is_settlement(const struct ftc_operation *op)
{
    return ftc_op_is_settlement(op->k);
}
bool ftc_operation_plain_reduce(const struct ftc_operation *op);
int ftc_operation_coordinator(const struct ftc_operation *op, uint32_t i); /* rank of c_i */
/* Is its value a list of blocks (values/blocks.h)? */
static inline bool ftc_operation_gathers(const struct ftc_operation *op)
{
    return ftc_signature_gathers(&op->call.signature) && op->call.signature.size > 0;
}
uint64_t ftc_operation_most(const struct ftc_operation *op); /* bytes of its greatest value */
/* Can UNDECIDED(value) come from a participant of the ballot? */
bool ftc_operation_contribution_fits(const struct ftc_operation *op, const struct ftc_value *value);
/* Does a decision of this ballot prove that every live rank has called the operation (rule 8)? */
bool ftc_operation_settles(const struct ftc_operation *op, struct ftc_ballot_id ballot);
/* Does the decision have the value that such a call, and its status, ask for? */
bool ftc_decision_fits(const struct ftc_operation *op, const struct ftc_decision *decision);
void ftc_ballot_forget(struct ftc_ballot *b); /* drops the contributions collected so far */
void ftc_ballot_clear(struct ftc_ballot *b);  /* drops what the ballot holds */
int ftc_ballot_rank(const struct ftc_ballot *b, int position);
int ftc_ballot_position(const struct ftc_ballot *b, int rank); /* -1: it takes no part */

/* levels.c: two levels (docs/design/nodes.md) */
bool ftc_levels_sound(const struct ftc_member_settings *set);
/* Keeps one rank of each node in the set: the root if it is in the set, otherwise the lowest
 * rank. */
void ftc_levels_keep_delegates(const struct ftc_member *m, int root, struct ftc_set *members);
/* The delegates of the nodes in the member's view. The member owns the result. NULL: out of
 * memory. */
struct ftc_view *ftc_levels_delegates(struct ftc_member *m, int root);
/* Sets the rotation order of an operation with a root. */
void ftc_levels_rotation(const struct ftc_member *m, struct ftc_operation *op);
bool ftc_levels_is_delegate(const struct ftc_member *m, const struct ftc_operation *op);
/* The rank `delegate` acts for its node. So the ranks before it on the node have stopped, and L
 * grows. */
int ftc_levels_learn_before(struct ftc_member *m, const struct ftc_operation *op, int delegate);
/* Is a participant known to have failed whose node still has live ranks? */
bool ftc_levels_lost_a_delegate(const struct ftc_member *m, const struct ftc_operation *op);
/* Does a rank on the node of `rank` live? */
bool ftc_levels_survives(const struct ftc_member *m, const struct ftc_operation *op, int rank);
bool ftc_levels_same_node(const struct ftc_member *m, int a, int b);
/* Does the set name ranks of the node of `rank` alone, and not `rank`? */
bool ftc_levels_names_node(const struct ftc_member *m, int rank, const struct ftc_set *set);
/* Do these participants contain at most one rank of each node? */
bool ftc_levels_one_of_each(const struct ftc_member *m, const struct ftc_set *participants);
/* Do these participants contain a rank that comes before this rank on its node? */
bool ftc_levels_before_me(const struct ftc_member *m, int root, const struct ftc_set *participants);

#endif
