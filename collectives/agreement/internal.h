/* Inside of a member: one operation, its ballot, and what the rules share. Private to this room. */
#ifndef FTC_COLLECTIVES_AGREEMENT_INTERNAL_H
#define FTC_COLLECTIVES_AGREEMENT_INTERNAL_H

#include "base/error.h"
#include "collectives/agreement/member.h"
#include "collectives/agreement/view.h"
#include "collectives/mutation.h"
#include "collectives/spread/correction.h"
#include "collectives/spread/fragments.h"
#include "collectives/values/flip.h"

enum ftc_ballot_phase {
    FTC_BALLOT_GROUP, /* waits for UPs (rule 2) */
    FTC_BALLOT_TREE,  /* waits for TREEs (rule 2) */
    FTC_BALLOT_RETRY, /* the coordinator waits for L to hold a participant (rule 3) */
    FTC_BALLOT_DONE,  /* its part of the collect is done, or there is none */
};

/* One awaited contribution: of a group member, a child, or, at the coordinator, the head of a
 * subtree. */
struct ftc_awaited {
    int rank;
    bool arrived, written_off;
    bool failure_free; /* heads: this subtree reported no failure of its own */
    uint32_t count;    /* heads: write-offs it reported */
    struct ftc_contribution contribution;
    struct ftc_buffer *
        list; /* heads, where results are compared: the list that came, as a bit set; NULL: empty */
};

/* When the spreading goes on. */
enum ftc_pace {
    FTC_PACE_IDLE,
    FTC_PACE_MORE, /* as soon as the outputs are out, and what has come is taken in */
    FTC_PACE_TICK, /* with the timer */
};

/* How DECIDE(b) gets to this process and on from it (docs/design/broadcast.md). */
struct ftc_spread {
    enum ftc_dissemination dissemination;
    enum ftc_pace pace;
    uint32_t rounds;      /* of gossip that are left */
    uint64_t pace_ns;     /* TICK: until the next step */
    uint64_t patience_ns; /* that is left; 0: nothing is waited for */
    bool impatient;       /* it ended before DECIDE(b) came */
    struct ftc_corrector corrector;
    int *near;                      /* the corrector's */
    struct ftc_fragments fragments; /* until it holds DECIDE(b) */
    int passed_to;                  /* ring: rank to which pieces went on; -1 */
    uint32_t passed;                /* how many */
};

struct ftc_ballot {
    struct ftc_ballot_id id;
    bool collects;
    struct ftc_view *participants;
    int coordinator;    /* rank of c_b */
    int position, size; /* position -1: another one takes part for this node (two levels) */
    enum ftc_ballot_phase phase;
    struct ftc_awaited
        *group; /* own group in order of position, self included; member->group_room entries */
    int group_size;
    struct ftc_awaited *child; /* children, or heads of subtrees; member->child_room entries */
    int child_size;
    struct ftc_contribution
        sum;    /* combined so far; where results are compared, c_b's is empty until then */
    int status; /* of the collected value: FTC_SUCCESS or FTC_ERR_CORRUPT */
    struct ftc_vote_verdict verdict;
    struct ftc_failure_info info; /* of this ballot: own write-offs and all lists that came */
    bool
        exchanges; /* by recursive doubling; then the group is of those whose UP is awaited, in order */
    int round;     /* ... which of them is next */
    bool given_up;        /* ... and c_0 has been asked for (0,1): by this rank, or this is c_0 */
    bool holding;         /* DECIDE(b) */
    struct ftc_set asked; /* who sent PULL and waits for the answer */
    struct ftc_set decide_sent, prepare_sent;
    int pulled; /* rank last asked by PULL, -1: none */
    struct ftc_spread spread;
};

struct ftc_operation {
    struct ftc_operation *next; /* the next later one retained */
    uint64_t k;
    struct ftc_call call;
    struct ftc_value input;        /* until delivered */
    struct ftc_value result;       /* of a reduce over two levels, at its root, until delivered */
    struct ftc_view *view;         /* at op k */
    int start;                     /* index in the view from which the rotation order starts */
    uint32_t lead;                 /* c_0 is so many ranks behind that, and comes first */
    struct ftc_epoch epoch;        /* at op k */
    bool first_collects;           /* ballot (0,0) has a reduce */
    bool exchanges;                /* ballot (0,0) is an exchange */
    bool checked;                  /* values and messages carry checksums */
    bool levels;                   /* delegates of nodes take part */
    struct ftc_set missing;        /* levels: ranks of this node that posted nothing */
    bool returned;                 /* delivered to the caller */
    uint32_t poked;                /* highest i' poked (rule 7), plus 1; 0: none */
    unsigned ballots;              /* entered */
    uint64_t sent;                 /* messages, counted for drills */
    struct ftc_decision *decision; /* D once delivered; NULL for a plain reduce */
    struct ftc_ballot ballot;
};

struct ftc_kept_bucket; /* messages of ops not called yet */

struct ftc_member {
    struct ftc_member_settings set;
    struct ftc_correction_shape correction;
    uint64_t next_op;
    struct ftc_set known;  /* L */
    struct ftc_set agreed; /* G */
    struct ftc_epoch epoch;
    uint32_t row;                              /* broadcasts in a row */
    struct ftc_view *view;                     /* all ranks but G */
    struct ftc_view *delegates, *delegates_of; /* two levels: of the nodes, in this view */
    int delegates_root;        /* ... of an operation with this root; -1: without one */
    struct ftc_decision *word; /* two levels: of the next op, not called yet; NULL: none */
    bool changed;              /* L grew: apply the rules to every op again */
    bool more_asked;           /* FTC_OUTPUT_MORE is under way */
    bool ticking;      /* within ftc_member_timer(), which asks for the next timer at its end */
    uint64_t timer_ns; /* FTC_OUTPUT_TIMER is, with this delay; 0: none */
    uint64_t pieces[FTC_PIECES_KINDS];
    bool
        fenced; /* this process was declared failed, or is damaged: no input does anything any more */
    bool flipped[FTC_FLIPS]; /* drills that were carried out */
    uint64_t drawn_for;      /* the last operation, plus 1, whose drawn one was */
    struct ftc_flip flip;    /* the last of all */
    struct ftc_value
        looked; /* found sound, or made, last in this step; compared with others, never followed */

    struct ftc_operation *oldest, *newest; /* retained, ascending */
    struct ftc_operation *spare;           /* freed, for reuse */
    int retained, group_room, child_room;

    struct ftc_kept_bucket *kept; /* by op number, modulo; NULL before the first one */
    size_t kept_datagrams;        /* bytes */
    struct ftc_message scratch;

    struct ftc_output *output; /* queue */
    int output_count, output_taken, output_room;
    struct ftc_output current; /* handed out; its references are held here */
    struct ftc_decision *current_decision;

    struct ftc_set report_failed, report_wrong;
    struct ftc_member_report report; /* `failed` is report_failed */
    uint64_t ballots;
    struct ftc_epoch entered; /* the last of them */
    uint64_t rules[FTC_RULES_COUNT];
    char *mismatch; /* words, made when there is one */
};

/* All return 0 or FTC_ERR_NOMEM unless said otherwise; "1: something changed" where they say so. */

static inline void ftc_rule_taken(struct ftc_member *m, enum ftc_rule rule)
{
    m->rules[rule]++;
}

static inline bool ftc_knows_failed(const struct ftc_member *m, int rank)
{
    return ftc_set_has(&m->known, rank);
}

/* operation.c: life of an operation, entering and starting ballots (rules 1 and 7) */
int ftc_operation_new(struct ftc_member *m, struct ftc_operation **out);
void ftc_operation_free(struct ftc_member *m,
                        struct ftc_operation *op); /* unlinks; keeps it as a spare */
void ftc_operation_destroy(struct ftc_operation *op);
void ftc_operation_free_before(struct ftc_member *m, uint64_t k); /* rule 8 */
struct ftc_operation *ftc_operation_find(const struct ftc_member *m, uint64_t k);
bool ftc_operation_plain_reduce(const struct ftc_operation *op);
int ftc_operation_coordinator(const struct ftc_operation *op, uint32_t i); /* rank of c_i */
size_t ftc_operation_contribution_size(const struct ftc_operation *op);
/* Does a decision of this operation's ballot prove that every live rank has called it (rule 8)? */
bool ftc_operation_settles(const struct ftc_operation *op, struct ftc_ballot_id ballot);
/* Does a decision of such a call carry what was collected? */
/* Has a decision of such a call the size that its status asks for? */
bool ftc_decision_fits(const struct ftc_signature *signature, const struct ftc_decision *decision);
int ftc_ballot_enter(struct ftc_member *m, struct ftc_operation *op, struct ftc_ballot_id id,
                     struct ftc_view *participants);
int ftc_ballot_start(struct ftc_member *m, struct ftc_operation *op, struct ftc_ballot_id id);
void ftc_ballot_forget(struct ftc_ballot *b); /* drop the contributions collected so far */
struct ftc_awaited *ftc_ballot_await(struct ftc_awaited *list, int *count, int rank);
int ftc_ballot_rank(const struct ftc_ballot *b, int position);
int ftc_ballot_position(const struct ftc_ballot *b, int rank);            /* -1: no participant */
int ftc_operation_rotate(struct ftc_member *m, struct ftc_operation *op); /* rule 7; 1: changed */

/* collect.c: rules 2, 3, 4 */
int ftc_collect_advance(struct ftc_member *m, struct ftc_operation *op); /* 1: changed */
int ftc_collect_decide(struct ftc_member *m, struct ftc_operation *op);
void ftc_collect_up(struct ftc_member *m, struct ftc_operation *op, int from,
                    struct ftc_message *message);
int ftc_collect_tree(struct ftc_member *m, struct ftc_operation *op, int from,
                     struct ftc_message *message);

int ftc_collect_combine(struct ftc_member *m, const struct ftc_operation *op,
                        struct ftc_contribution *sum, struct ftc_contribution *next);

/* vote.c: rule 2, "Vote" */
/* Are the results of this operation's subtrees compared? */
bool ftc_vote_compares(const struct ftc_member *m, const struct ftc_operation *op);
/* ... and is the value of this position's group left to the coordinator? */
bool ftc_vote_left_out(const struct ftc_member *m, const struct ftc_operation *op, int position);
int ftc_vote_keep_list(struct ftc_awaited *head, const struct ftc_set *list);
/* All heads have come or are written off: leave in the ballot what is taken, or that nothing can
 * be, and the verdict. 1; 0: there is no failure-free subtree. */
int ftc_vote_choose(struct ftc_member *m, struct ftc_operation *op);

/* integrity.c: checksums, and damage on request */
/* Do the values and messages of such an operation carry checksums? */
bool ftc_integrity_checks(const struct ftc_member *m, const struct ftc_signature *signature);
/* A value as it will be used from now on: give it its checksum, then do what drills want. */
int ftc_integrity_protect(struct ftc_member *m, const struct ftc_operation *op,
                          enum ftc_flip_variable variable, struct ftc_value *value);
/* Are these still the bytes that were sealed? Within a step nothing has had the time to change
 * them: a value is looked at once. */
bool ftc_integrity_sound(struct ftc_member *m, const struct ftc_value *value);
/* What drills want at this step of a variable. */
int ftc_integrity_disturb(struct ftc_member *m, const struct ftc_operation *op,
                          enum ftc_flip_variable variable, uint64_t step, struct ftc_value *value);
/* ... and of the message that is output `at`. */
int ftc_integrity_disturb_message(struct ftc_member *m, struct ftc_operation *op, size_t at);
int ftc_integrity_corrupt(
    struct ftc_member *m); /* this process is damaged: FTC_ERR_FENCED, as below */

/* How DECIDE(b) came to this process. */
struct ftc_arrival {
    int from; /* rank; self: its own decision */
    enum ftc_way way;
    bool correcting; /* its sender takes part in the correction */
    bool pieces;     /* by multicast */
    uint32_t rounds; /* of gossip */
};

/* levels.c: two levels (docs/design/nodes.md) */
bool ftc_levels_sound(const struct ftc_member_settings *set);
/* Of each node its first: the root, if it is one of them, else the lowest. */
void ftc_levels_keep_delegates(const struct ftc_member *m, int root, struct ftc_set *members);
/* Those of the view, the member's; NULL: out of memory. */
struct ftc_view *ftc_levels_delegates(struct ftc_member *m, int root);
/* The rotation order of an operation with a root. */
void ftc_levels_rotation(const struct ftc_member *m, struct ftc_operation *op);
bool ftc_levels_is_delegate(const struct ftc_member *m, const struct ftc_operation *op);
/* Whoever acts as a delegate knows that those before it on its node have stopped. */
int ftc_levels_learn_before(struct ftc_member *m, const struct ftc_operation *op, int delegate);
/* Some participant is known failed, and its node has live ranks. */
bool ftc_levels_lost_a_delegate(const struct ftc_member *m, const struct ftc_operation *op);
bool ftc_levels_one_of_each(const struct ftc_member *m, const struct ftc_set *participants);
/* ... has somebody who comes before this rank on its node. */
bool ftc_levels_before_me(const struct ftc_member *m, int root, const struct ftc_set *participants);
int ftc_levels_adopt_kept(struct ftc_member *m, struct ftc_operation *op);

/* Rule 2, "Direct". */
static inline bool ftc_collects_directly(const struct ftc_member *m, int participants)
{
    return participants <= m->set.direct && m->set.integrity != FTC_INTEGRITY_VOTE;
}
static inline bool ftc_ballot_direct(const struct ftc_member *m, const struct ftc_ballot *b)
{
    return ftc_collects_directly(m, b->size);
}

/* exchange.c: rule 2, "Exchange" */
bool ftc_exchange_suits(const struct ftc_member_settings *set,
                        const struct ftc_signature *signature, int participants);
int ftc_exchange_partners(int participants); /* at most, of one of so many or fewer */
int ftc_exchange_begin(struct ftc_member *m, struct ftc_operation *op);
int ftc_exchange_advance(struct ftc_member *m, struct ftc_operation *op); /* 1: changed */
/* Rank from which this one gets DECIDE(b); -1: it decides itself. */
int ftc_exchange_decider(const struct ftc_member *m, const struct ftc_ballot *b);
int ftc_exchange_pass_on(struct ftc_member *m, struct ftc_operation *op);
/* Undecided, this rank knows a participant failed, which may have contributed to some only: c_0
 * starts (0,1), decided or not, once it knows of one, too. 1: changed. */
int ftc_exchange_give_up(struct ftc_member *m, struct ftc_operation *op);
void ftc_exchange_given_up(struct ftc_member *m,
                           struct ftc_operation *op); /* POKE (0,1) has come */

/* broadcast.c: rule 5 */
int ftc_broadcast_hold(struct ftc_member *m, struct ftc_operation *op,
                       struct ftc_decision *decision, const struct ftc_arrival *arrival);
int ftc_broadcast_send(struct ftc_member *m, struct ftc_operation *op, int to, enum ftc_way way,
                       uint32_t rounds);
/* A piece, by datagram or along the ring; *complete: it was the last one, and m->scratch has what
 * they make. FTC_ERR_PROTO: it contradicts the others, or they make no message. */
int ftc_broadcast_piece(struct ftc_member *m, struct ftc_operation *op, bool datagram,
                        bool *complete);
/* Those that came are worth nothing: begin again, and ask. */
int ftc_broadcast_drop_pieces(struct ftc_member *m, struct ftc_operation *op);

/* spread.c: dissemination and correction, step by step */
void ftc_spread_reset(struct ftc_member *m, struct ftc_operation *op);
enum ftc_correction ftc_spread_correction(const struct ftc_member *m,
                                          const struct ftc_operation *op);
int ftc_spread_wait(struct ftc_member *m,
                    struct ftc_operation *op); /* for DECIDE(b), with patience */
void ftc_spread_colour(struct ftc_member *m, struct ftc_operation *op,
                       const struct ftc_arrival *arrival);
int ftc_spread_begin(struct ftc_member *m, struct ftc_operation *op);
int ftc_spread_heard(struct ftc_member *m, struct ftc_operation *op,
                     const struct ftc_arrival *arrival);

/* repair.c: rule 6 */
int ftc_repair_pull(struct ftc_member *m, struct ftc_operation *op);
int ftc_repair_asked(struct ftc_member *m, struct ftc_operation *op, int from);
int ftc_repair_prepare(struct ftc_member *m, struct ftc_operation *op);

/* receive.c: rule 0 */
int ftc_receive_judge(struct ftc_member *m, struct ftc_operation *op, int from,
                      bool datagram); /* m->scratch; FTC_ERR_PROTO */
int ftc_receive_kept(struct ftc_member *m, struct ftc_operation *op);
int ftc_receive_keep(struct ftc_member *m, uint64_t k, int from, bool datagram,
                     struct ftc_buffer *buffer);
void ftc_receive_drop_kept(struct ftc_member *m);
void ftc_receive_digest(const struct ftc_member *m, ftc_digest_sink *sink, void *arg);

/* member.c */
int ftc_member_output(struct ftc_member *m, const struct ftc_output *output); /* takes references */
int ftc_member_send(struct ftc_member *m, struct ftc_operation *op, enum ftc_message_kind kind,
                    int to, const struct ftc_message *content);
struct ftc_buffer *ftc_member_encode(struct ftc_member *m, struct ftc_operation *op,
                                     enum ftc_message_kind kind,
                                     const struct ftc_message *content); /* NULL: out of memory */
int ftc_member_multicast(struct ftc_member *m, struct ftc_operation *op,
                         const struct ftc_message *piece);
int ftc_member_settle(struct ftc_member *m, uint64_t k,
                      int rc);              /* apply the rules after a step on op k */
int ftc_member_fence(struct ftc_member *m); /* FTC_ERR_FENCED, which ends the step */
int ftc_member_learn(struct ftc_member *m,
                     const struct ftc_set *failed); /* L grows; FTC_ERR_FENCED if self is in it */
int ftc_member_learn_rank(struct ftc_member *m, int rank);
int ftc_member_deliver(struct ftc_member *m, struct ftc_operation *op, int status,
                       struct ftc_decision *decision, const struct ftc_value *result);

#endif
