/*
 * Collectors: the ways in which a ballot collects the contributions of its participants
 * (agreement.md, rule 2). A ballot has one collector, which is chosen when the ballot is entered.
 *
 * A collector neither delivers nor starts a ballot. It says what it has come to, and collect.c does
 * what follows from that. Private to this folder.
 */
#ifndef FTC_COLLECTIVES_AGREEMENT_COLLECTOR_H
#define FTC_COLLECTIVES_AGREEMENT_COLLECTOR_H

#include "collectives/agreement/internal.h"

/* The results of a step of a collector. Errors are negative. */
enum ftc_collected {
    FTC_COLLECTED_NOTHING,     /* it waits for messages or notices */
    FTC_COLLECTED_MORE,        /* it has gone a step on, and may be able to go on */
    FTC_COLLECTED_CONTRIBUTED, /* p != c_b has done its part */
    FTC_COLLECTED_ALL,         /* b->sum is what the ballot decides */
    FTC_COLLECTED_TOO_LITTLE,  /* another ballot must collect again (rule 3; rule 2, "Exchange") */
};

struct ftc_collector {
    /* p has entered the ballot: lists what p awaits, and sends its contribution, which is in
     * `up`. */
    int (*begin)(struct ftc_member *m, struct ftc_operation *op, const struct ftc_message *up);
    /* Goes a step on. Returns what it has come to. */
    int (*advance)(struct ftc_member *m, struct ftc_operation *op);
    /* Takes in a TREE of a child. NULL: nobody has children. */
    int (*take)(struct ftc_member *m, struct ftc_operation *op, int from, struct ftc_message *tree);
};
extern const struct ftc_collector ftc_collector_exchange, ftc_collector_direct, ftc_collector_vote,
    ftc_collector_tree, ftc_collector_sums;

/* contribution.c: what collectors share */
int ftc_contribution_send(struct ftc_member *m, struct ftc_operation *op, int to,
                          const struct ftc_message *up);
/* Takes an UP in. Takes the contribution out of the message, or drops it. */
void ftc_contribution_receive(struct ftc_ballot *b, int from, struct ftc_message *message);
/* Combines `next` into `sum`, and uses it up. DECIDED beats UNDECIDED; two DECIDED are equal. */
int ftc_contribution_combine(struct ftc_member *m, const struct ftc_operation *op,
                             struct ftc_contribution *sum, struct ftc_contribution *next);
/* To be called when the sum of a phase is complete. */
int ftc_contribution_protect(struct ftc_member *m, struct ftc_operation *op,
                             enum ftc_flip_variable variable);
/* The up-correction. 1: each member of the group has come or is written off, and the sum is that of
 * the group. */
int ftc_contribution_combine_group(struct ftc_member *m, struct ftc_operation *op);
struct ftc_awaited *ftc_awaited_add(struct ftc_awaited *list, int *count, int rank);
struct ftc_awaited *ftc_awaited_find(struct ftc_awaited *list, int count, int rank);
/* Keeps a contribution that is awaited: takes it out of the message. */
void ftc_awaited_arrive(struct ftc_awaited *awaited, struct ftc_message *message);
/* Keeps this rank's own contribution. */
void ftc_awaited_arrive_here(struct ftc_awaited *awaited, const struct ftc_message *up);
/* Writes off the ranks of the list that are known to have failed. Has each of the others come? */
bool ftc_awaited_settle(struct ftc_member *m, struct ftc_ballot *b, struct ftc_awaited *list,
                        int count, bool children);
/* Combines the contributions that arrived with the sum, in order. */
int ftc_awaited_combine(struct ftc_member *m, struct ftc_operation *op, struct ftc_awaited *list,
                        int count, bool sum_is_empty);

/* contribution.c */
/* How many failures are behind what the ballot of this operation has collected here: what it wrote
 * off, and what it began without; FTC_WRITE_OFFS_UNKNOWN. */
uint32_t ftc_contribution_write_offs(const struct ftc_member *m, const struct ftc_operation *op);

/* decide.c: rule 4, the decision of c_b */
int ftc_decide_collected(struct ftc_member *m, struct ftc_operation *op, struct ftc_decision **out);

/* tree.c: groups and trees; also for collectors that differ from it in part */
int ftc_tree_begin(struct ftc_member *m, struct ftc_operation *op, const struct ftc_message *up);
/* Keeps what a child has sent. Returns the child; NULL: it is too late, and the message is
 * dropped. */
struct ftc_awaited *ftc_tree_keep(struct ftc_member *m, struct ftc_operation *op, int from,
                                  struct ftc_message *tree);
/* p != c_b: the children have come or are written off. Passes the sum on to the I(f)-parent. */
int ftc_tree_pass_up(struct ftc_member *m, struct ftc_operation *op);
/* c_b: takes a failure-free subtree, as the setting `take` says. */
int ftc_tree_choose(struct ftc_member *m, struct ftc_operation *op);
/* So much time has passed, as far as a wait for lower subtrees can tell. */
void ftc_tree_tick(struct ftc_member *m, struct ftc_operation *op, uint64_t passed_ns);
/* c_b: the sum is complete. */
int ftc_tree_complete(struct ftc_member *m, struct ftc_operation *op);

/* sums.c: reduces over two levels whose senders go on (nodes.md, S1 to S8) */
int ftc_sums_receive(struct ftc_member *m, struct ftc_operation *op, int from);
/* The root has delivered: S6. Does nothing for other operations. */
int ftc_sums_delivered(struct ftc_member *m, const struct ftc_operation *op);
/* Before this rank begins the call: sends TAKEN if the root owes it, unless the call is another
 * reduce to this rank. */
int ftc_sums_answer_before(struct ftc_member *m, const struct ftc_signature *next);
int ftc_sums_pass(struct ftc_member *m, int root); /* S2: the call of a rank that is not the root */
/* Takes in m->scratch, a TAKEN or a message of an operation of which this rank keeps no state. */
int ftc_sums_receive_late(struct ftc_member *m, int from);

/* vote.c: rule 2, "Vote" */
/* Does the vote compare the results of such calls, if there are enough participants? */
bool ftc_vote_compares(const struct ftc_member_settings *settings,
                       const struct ftc_signature *signature);
/* Are the results of this operation's subtrees compared? */
bool ftc_vote_suits(const struct ftc_member *m, const struct ftc_operation *op);
/* Does the group of this position leave its value to the coordinator? */
bool ftc_vote_left_out(const struct ftc_member *m, const struct ftc_operation *op, int position);

/* exchange.c: rule 2, "Exchange" */
int ftc_exchange_partners(int participants); /* the most that a rank has */
/* The decision of a process that has the contributions of all: the same as that of all others. */
int ftc_exchange_decide(struct ftc_member *m, struct ftc_operation *op, struct ftc_decision **out);
static inline bool ftc_ballot_exchanges(const struct ftc_ballot *b)
{
    return b->collector == &ftc_collector_exchange;
}
/* The rank that sends DECIDE(b) to this one; -1: this rank decides itself. */
int ftc_exchange_decider(const struct ftc_member *m, const struct ftc_ballot *b);
int ftc_exchange_pass_on(struct ftc_member *m, struct ftc_operation *op);
/* This rank is undecided and knows that a participant failed. The failed rank may have contributed
 * to some ranks only. So this rank asks c_0 to start (0,1). TOO_LITTLE: this rank is c_0, and has
 * to start it. It does so, decided or not, once it knows of a failed participant itself. */
int ftc_exchange_give_up(struct ftc_member *m, struct ftc_operation *op);
/* POKE (0,1) has come. */
void ftc_exchange_given_up(struct ftc_member *m, struct ftc_operation *op);

#endif
