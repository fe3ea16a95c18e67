/* Inside of a member: one operation, its ballot, and what the rules share. Private to this room. */
#ifndef FTC_COLLECTIVES_OPERATION_H
#define FTC_COLLECTIVES_OPERATION_H

#include "base/error.h"
#include "collectives/member.h"
#include "collectives/mutation.h"
#include "collectives/view.h"

enum ftc_ballot_phase {
    FTC_BALLOT_GROUP, /* waits for UPs (rule 2) */
    FTC_BALLOT_TREE,  /* waits for TREEs (rule 2) */
    FTC_BALLOT_RETRY, /* the coordinator waits for L to hold a participant (rule 3) */
    FTC_BALLOT_DONE,  /* its part of the collect is done, or there is none */
};

/* One awaited contribution: of a group member, a child, or, at the coordinator, the head of a subtree. */
struct ftc_awaited {
    int rank;
    bool arrived, written_off;
    bool failure_free; /* heads: this subtree reported no failure of its own */
    uint32_t count;    /* heads: write-offs it reported */
    struct ftc_contribution contribution;
};

enum ftc_side { FTC_SIDE_LEFT, FTC_SIDE_RIGHT };

/* Checked correction (algorithms-notes.md, 2.2), on the ring of positions. */
struct ftc_corrector {
    bool active;
    int off[2];  /* how far this process has sent in each direction */
    int near[2]; /* distance of the closest correcting process heard of there */
};

struct ftc_ballot {
    struct ftc_ballot_id id;
    bool collects;
    struct ftc_view *participants;
    int coordinator; /* rank of c_b */
    int position, size;
    enum ftc_ballot_phase phase;
    struct ftc_awaited *group; /* own group in order of position, self included; member->group_room entries */
    int group_size;
    struct ftc_awaited *child; /* children, or heads of subtrees; member->child_room entries */
    int child_size;
    struct ftc_contribution sum;  /* combined so far */
    struct ftc_failure_info info; /* of this ballot: own write-offs and all lists that came */
    bool holding;                 /* DECIDE(b) */
    struct ftc_set asked;         /* who sent PULL and waits for the answer */
    struct ftc_set decide_sent, prepare_sent;
    int pulled; /* rank last asked by PULL, -1: none */
    struct ftc_corrector correct;
};

struct ftc_operation {
    struct ftc_operation *next; /* the next later one retained */
    uint64_t k;
    struct ftc_call call;
    struct ftc_value input;        /* until delivered */
    struct ftc_view *view;         /* at op k */
    int start;                     /* index in the view of c_0 */
    struct ftc_epoch epoch;        /* at op k */
    bool first_collects;           /* ballot (0,0) has a reduce */
    bool returned;                 /* delivered to the caller */
    uint32_t poked;                /* highest i' poked (rule 7) */
    unsigned ballots;              /* entered */
    struct ftc_decision *decision; /* D once delivered; NULL for a plain reduce */
    struct ftc_ballot ballot;
};

struct ftc_kept; /* a message of an op not called yet */

struct ftc_member {
    struct ftc_member_settings set;
    uint64_t next_op;
    struct ftc_set known;  /* L */
    struct ftc_set agreed; /* G */
    struct ftc_epoch epoch;
    uint32_t row;          /* broadcasts in a row */
    struct ftc_view *view; /* all ranks but G */
    bool changed;          /* L grew: apply the rules to every op again */
    bool fenced;           /* this process was declared failed: no input does anything any more */

    struct ftc_operation *oldest, *newest; /* retained, ascending */
    struct ftc_operation *spare;           /* freed, for reuse */
    int retained, group_room, child_room;

    struct ftc_kept **kept; /* by op number, modulo; NULL before the first one */
    struct ftc_message scratch;

    struct ftc_output *output; /* queue */
    int output_count, output_taken, output_room;
    struct ftc_output current; /* handed out; its references are held here */
    struct ftc_decision *current_decision;

    struct ftc_set report_failed;
    unsigned report_ballots, report_retries;
    uint64_t ballots;
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
void ftc_operation_free(struct ftc_member *m, struct ftc_operation *op); /* unlinks; keeps it as a spare */
void ftc_operation_destroy(struct ftc_operation *op);
void ftc_operation_free_before(struct ftc_member *m, uint64_t k); /* rule 8 */
struct ftc_operation *ftc_operation_find(const struct ftc_member *m, uint64_t k);
bool ftc_operation_plain_reduce(const struct ftc_operation *op);
int ftc_operation_coordinator(const struct ftc_operation *op, uint32_t i); /* rank of c_i */
size_t ftc_operation_contribution_size(const struct ftc_operation *op);
int ftc_ballot_enter(struct ftc_member *m, struct ftc_operation *op, struct ftc_ballot_id id,
                     struct ftc_view *participants);
int ftc_ballot_start(struct ftc_member *m, struct ftc_operation *op, struct ftc_ballot_id id);
void ftc_ballot_forget(struct ftc_ballot *b); /* drop the contributions collected so far */
int ftc_ballot_rank(const struct ftc_ballot *b, int position);
int ftc_ballot_position(const struct ftc_ballot *b, int rank);            /* -1: no participant */
int ftc_operation_rotate(struct ftc_member *m, struct ftc_operation *op); /* rule 7; 1: changed */

/* collect.c: rules 2, 3, 4 */
int ftc_collect_advance(struct ftc_member *m, struct ftc_operation *op); /* 1: changed */
int ftc_collect_decide(struct ftc_member *m, struct ftc_operation *op);
void ftc_collect_up(struct ftc_member *m, struct ftc_operation *op, int from, struct ftc_message *message);
void ftc_collect_tree(struct ftc_member *m, struct ftc_operation *op, int from, struct ftc_message *message);

/* broadcast.c: rules 5 and 6, correction */
int ftc_broadcast_hold(struct ftc_member *m, struct ftc_operation *op, struct ftc_decision *decision,
                       int from);
void ftc_broadcast_heard(struct ftc_member *m, struct ftc_operation *op, int from); /* a correcting sender */
int ftc_broadcast_repair(struct ftc_member *m, struct ftc_operation *op);
int ftc_broadcast_prepare(struct ftc_member *m, struct ftc_operation *op);
int ftc_broadcast_asked(struct ftc_member *m, struct ftc_operation *op, int from);
int ftc_broadcast_correct(struct ftc_member *m, struct ftc_operation *op); /* one step of the correction */

/* receive.c: rule 0 */
int ftc_receive_judge(struct ftc_member *m, struct ftc_operation *op,
                      int from); /* m->scratch; FTC_ERR_PROTO */
int ftc_receive_kept(struct ftc_member *m, struct ftc_operation *op);
int ftc_receive_keep(struct ftc_member *m, uint64_t k, int from, struct ftc_buffer *buffer);
void ftc_receive_drop_kept(struct ftc_member *m);
void ftc_receive_digest(const struct ftc_member *m, ftc_digest_sink *sink, void *arg);

/* member.c */
int ftc_member_output(struct ftc_member *m, const struct ftc_output *output); /* takes references */
int ftc_member_send(struct ftc_member *m, struct ftc_operation *op, enum ftc_message_kind kind, int to,
                    const struct ftc_message *content);
int ftc_member_fence(struct ftc_member *m); /* FTC_ERR_FENCED, which ends the step */
int ftc_member_learn(struct ftc_member *m,
                     const struct ftc_set *failed); /* L grows; FTC_ERR_FENCED if self is in it */
int ftc_member_learn_rank(struct ftc_member *m, int rank);
int ftc_member_deliver(struct ftc_member *m, struct ftc_operation *op, int status,
                       struct ftc_decision *decision, const struct ftc_value *result);

#endif
