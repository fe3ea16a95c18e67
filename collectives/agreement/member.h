/*
 * A member: the part of one process in the collective operations of one communicator. It is
 * agreement.md as a state machine.
 *
 * Inputs: a call, a message, a failure notice, a timer, and the permission to go on
 * (ftc_member_more()). Outputs: messages, a delivery, a timer, and that this process must exit. A
 * member opens no socket, reads no clock and starts no thread. The only function of its caller that
 * it calls is the operator of the call that is under way.
 *
 * After each input the engine takes the outputs by ftc_member_next_output(), in order, until there
 * is none. A crash between two sends is the same as dropping the rest of the outputs.
 *
 * Errors of an input:
 * - FTC_ERR_PROTO of ftc_member_receive(): the sender broke the protocol and should be fenced. The
 *   message was ignored, and the member can go on.
 * - FTC_ERR_NOMEM: the state of the member is unfinished. The process must stop (fail-stop).
 *
 * Not thread-safe: the engine lets one thread in at a time.
 */
#ifndef FTC_COLLECTIVES_AGREEMENT_MEMBER_H
#define FTC_COLLECTIVES_AGREEMENT_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/call.h"
#include "collectives/message.h"
#include "collectives/spread/topology.h"
#include "collectives/values/flip.h"

enum ftc_output_kind {
    FTC_OUTPUT_SEND,
    FTC_OUTPUT_DELIVER, /* the call that is under way is done */
    /* Like SEND, but to all others at once and unreliably; they pass it to
     * ftc_member_datagram(). */
    FTC_OUTPUT_MULTICAST,
    /* Call ftc_member_more() when all outputs are out and all messages that came are taken in. */
    FTC_OUTPUT_MORE,
    FTC_OUTPUT_TIMER,   /* call ftc_member_timer() after `delay_ns`; replaces an earlier timer */
    FTC_OUTPUT_ACCUSE,  /* rank `to` broke the protocol and should be fenced */
    FTC_OUTPUT_FENCED,  /* this process was declared failed: it must exit */
    FTC_OUTPUT_CORRUPT, /* a value in this process's memory has changed by itself: it must exit */
    FTC_OUTPUT_FLIPPED, /* a drill has turned a bit over: ftc_member_flip() */
    /* Rank `to` is in another collective call: the job cannot go on. ftc_member_mismatch() has the
     * words. */
    FTC_OUTPUT_MISMATCH,
    /* A settlement is delivered (agreement.md, rule 9): `op` and `decision` say which. For logs. */
    FTC_OUTPUT_SETTLED,
    /* Two levels: the roots have the sums of this node for reduce `op`, of root `to`, and for
     * earlier ones (nodes.md, S6). */
    FTC_OUTPUT_TAKEN,
};

struct ftc_output {
    enum ftc_output_kind kind;
    /* SEND, and MULTICAST, which has no `to`. The references belong to the member, until the next
     * call of ftc_member_next_output(). */
    int to;
    enum ftc_message_kind message;
    int status; /* DELIVER: FTC_SUCCESS, _ERR_ROOT_FAILED, _ERR_TOO_MANY_FAILURES, _ERR_CORRUPT */
    struct ftc_buffer *head;
    struct ftc_value value; /* the bytes after the head; buffer NULL: there are none */
    uint64_t op;
    struct ftc_piece piece; /* MULTICAST: the piece that this datagram carries */
    /* The receiver must handle it even while its caller is outside the library. */
    bool urgent;
    /* DELIVER and SETTLED. NULL for a plain reduce, and if the root is in G. The reference belongs
     * to the member, as those above. */
    struct ftc_decision *decision;
    /* DELIVER: the value for the caller, if the caller gets one. */
    struct ftc_value result;
    /* TIMER */
    uint64_t delay_ns;
};

/* Rules of which a member counts how often it took them. The tests use the counters to show that
 * all rules ran. The numbers below are those of the rules in agreement.md. */
enum ftc_rule {
    FTC_RULE_KEEP_EARLY,         /* 0: kept a message of an op that is not called yet */
    FTC_RULE_DROP_SMALLER,       /* 0: dropped a message of a smaller ballot */
    FTC_RULE_DROP_FREED,         /* 0: dropped a message of a freed op */
    FTC_RULE_DROP_EPOCH,         /* 0: dropped a message of another epoch */
    FTC_RULE_FENCED,             /* 0: the participants in a message do not include p */
    FTC_RULE_ENTER_PREPARE,      /* 1: entered a greater ballot on PREPARE */
    FTC_RULE_ENTER_UP,           /* 1: entered a greater ballot on UP */
    FTC_RULE_ENTER_TREE,         /* 1: entered a greater ballot on TREE */
    FTC_RULE_ENTER_PULL,         /* 1: entered a greater ballot on PULL */
    FTC_RULE_CONTRIBUTE_DECIDED, /* 1: contributed DECIDED(D) */
    FTC_RULE_WRITE_OFF_GROUP,    /* 2: wrote off a group member */
    FTC_RULE_WRITE_OFF_CHILD,    /* 2: wrote off a child */
    FTC_RULE_DECIDED_BEATS,      /* 2: DECIDED beat UNDECIDED */
    FTC_RULE_EMPTY_SUBTREE,      /* 2: there are fewer than F + 1 participants */
    FTC_RULE_TAKE_EARLY,         /* 2: took a subtree before all lower ones had come */
    FTC_RULE_STRAGGLER,          /* 2: did so since its wait for them was over */
    FTC_RULE_COMPARE,            /* 2: compared the results of subtrees */
    FTC_RULE_OUTVOTE,            /* 2: compared them, and took that of the majority */
    FTC_RULE_DETECT,             /* 2: compared them, and could take none */
    FTC_RULE_STOP_EARLY,         /* 2: left out the rest of its part, since it holds DECIDE(b) */
    FTC_RULE_RETRY,              /* 3: started (i, s+1) */
    FTC_RULE_RETRY_WAIT,         /* 3: waited for L to hold a participant */
    FTC_RULE_DECIDE,             /* 4: decided afresh */
    FTC_RULE_DECIDE_UNCHANGED,   /* 4: took over DECIDED(D) */
    FTC_RULE_DECIDE_ROOT_FAILED, /* 4: a broadcast without its root */
    FTC_RULE_DELIVER,            /* 5: delivered */
    FTC_RULE_PASS_AGAIN,         /* 5: had delivered before, and passed DECIDE on */
    FTC_RULE_CORRECT,            /* 5: sent a correction message */
    FTC_RULE_PULL,               /* 6: asked an ancestor */
    FTC_RULE_PULL_ANSWER,        /* 6: answered PULL */
    FTC_RULE_PULL_REMEMBER,      /* 6: remembered PULL for later */
    FTC_RULE_PREPARE_ADOPT,      /* 6: sent PREPARE to the children of a dead child */
    FTC_RULE_ROTATE,             /* 7: started (i', 0) as the first live coordinator */
    FTC_RULE_POKE,               /* 7: poked a coordinator */
    FTC_RULE_POKED,              /* 7: started (i', 0) because it was poked */
    FTC_RULE_RETAIN,             /* 8: acted on an op that it had delivered */
    FTC_RULE_FREE,               /* 8: freed an op */
    FTC_RULE_GOSSIP,             /* 5: sent a message of gossip dissemination */
    FTC_RULE_MULTICAST,          /* 5: sent a decision by multicast */
    FTC_RULE_PASS_PIECE,         /* 5: passed a piece on along the ring */
    /* 5: joined the correction (failure-proof), or began to walk to the left (delayed) */
    FTC_RULE_JOIN,
    FTC_RULE_PULL_IMPATIENT,    /* 6: asked an ancestor with PULL, since its patience ended */
    FTC_RULE_EXCHANGE,          /* 2: decided by an exchange */
    FTC_RULE_GIVE_UP_EXCHANGE,  /* 2: started (0,1), since an exchange could not be finished */
    FTC_RULE_SETTLE_ASK,        /* 9: asked for a settlement */
    FTC_RULE_SETTLE_CONTRIBUTE, /* 9: contributed: the next call is held back from now on */
    FTC_RULE_SETTLE,            /* 9: delivered a settlement */
    FTC_RULE_SETTLE_IN_FORCE,   /* 9: began an operation with a settlement newly in force */
    FTC_RULE_MERGE_BLOCKS,      /* 2: put the blocks of two contributions side by side */
    FTC_RULES_ONE_LEVEL,        /* the rules above are those of one level, too */
    /* Two levels: called an operation in which another rank takes part for the node. */
    FTC_RULE_STAND_BY = FTC_RULES_ONE_LEVEL,
    FTC_RULE_ADOPT,     /* two levels: took the decision of its node */
    FTC_RULE_TAKE_OVER, /* two levels: entered a ballot as the new delegate of its node */
    /* Two levels: started a ballot because a new delegate asked for one. */
    FTC_RULE_CALLED_BALLOT,
    /* Two levels: did not decide, since a node with live ranks would have been left out. */
    FTC_RULE_RETRY_NODE,
    FTC_RULE_SUM,         /* two levels: sent the sum of its node for a plain reduce */
    FTC_RULE_TAKEN_AGAIN, /* two levels: answered the sum of a reduce that it had delivered */
    FTC_RULES_COUNT
};
const char *ftc_rule_name(enum ftc_rule rule); /* "keep early", ... */

/* What the call that is under way waits for. */
enum ftc_wait {
    FTC_WAIT_NOTHING,
    FTC_WAIT_GROUP,       /* the UP of a group member */
    FTC_WAIT_CHILD,       /* the TREE of a child */
    FTC_WAIT_DECISION,    /* DECIDE of the broadcast parent or of another ancestor */
    FTC_WAIT_NOTICE,      /* a notice, before a retry (rule 3) */
    FTC_WAIT_COORDINATOR, /* a coordinator that this process has poked */
    FTC_WAIT_MARKS,       /* finalize: the marks of the others (the runtime sets this) */
    FTC_WAIT_ROOM,        /* flow control: a slow receiver (the runtime sets this) */
    FTC_WAIT_POST,        /* node board: posts that are not there yet */
    FTC_WAIT_RESULT,      /* node board: a result that another rank combines */
    FTC_WAIT_GOSSIP, /* gossip: messages, until the estimate stands still (the runtime sets this) */
    FTC_WAIT_RING,   /* large value: messages of another rank (the runtime sets this) */
    FTC_WAIT_SETTLEMENT, /* a settlement, before the next operation begins (agreement.md, rule 9) */
    FTC_WAIT_STARTED,    /* node board: the posts of an operation that was started */
    /* Sends and receives (the runtime sets these). */
    FTC_WAIT_MESSAGE,  /* a message, for a receive or a probe */
    FTC_WAIT_RECEIVER, /* the receiver of a message */
    FTC_WAIT_REST,     /* the bytes of a message that a receive has taken */
    FTC_WAITS
};
const char *ftc_wait_name(enum ftc_wait wait);

/* The names of the settings, such as "tree" and "failure-proof". ftc_combination_name() gives the
 * name that users have for the two together, such as "OCG" or "corrected tree"; NULL if they have
 * none. */
const char *ftc_dissemination_name(enum ftc_dissemination dissemination);
const char *ftc_correction_name(enum ftc_correction correction);
const char *ftc_combination_name(enum ftc_dissemination dissemination,
                                 enum ftc_correction correction);
const char *ftc_tree_name(enum ftc_tree tree);                /* "binomial", ... */
const char *ftc_take_name(enum ftc_take take);                /* "auto", ... */
const char *ftc_integrity_name(enum ftc_integrity integrity); /* "none", ... */

struct ftc_member_activity {
    enum ftc_call_kind kind; /* NONE: no call is under way */
    uint64_t op;
    struct ftc_ballot_id ballot;
    struct ftc_epoch epoch;
    enum ftc_wait wait;
    int waits_for; /* the lowest rank that it waits for; -1: none */
    int waits;     /* number of ranks that it waits for */
    int root;
    int known_failed, agreed_failed; /* |L|, |G| */
    uint64_t unsettled_ns; /* gossip: since when it is not ready for the barrier; 0: it is ready */
};

/* About the call that was delivered last. Before the first delivery, dissemination and correction
 * are those of the settings. */
struct ftc_member_report {
    const struct ftc_set *failed;
    unsigned ballots, retries;
    uint32_t compared;           /* results of subtrees that were compared; 0: none */
    const struct ftc_set *wrong; /* heads of the subtrees whose result was wrong */
    /* Failures behind the result; FTC_WRITE_OFFS_UNKNOWN. After a plain reduce: as far as this rank
     * knows, which the root does. */
    uint32_t write_offs;
    int coordinator; /* the rank that collected the value, or sent it; -1: nobody */
    bool spreads;    /* the result went to all ranks: it is no plain reduce */
    enum ftc_dissemination dissemination;
    enum ftc_correction correction;
    bool exchanged; /* an exchange decided, so that the two words above do not count */
};

/* The pieces of multicast decisions, by the way in which this process got them. */
enum ftc_pieces_kind {
    FTC_PIECES_DATAGRAM, /* came first by datagram */
    FTC_PIECES_RING,     /* came first along the ring */
    /* Never came: the whole DECIDE came in another way (PULL, another correction). */
    FTC_PIECES_OTHER,
    FTC_PIECES_AGAIN, /* came a second time, or too late */
    FTC_PIECES_KINDS
};
const char *ftc_pieces_name(enum ftc_pieces_kind kind); /* "datagram", ... */

struct ftc_member;

int ftc_member_create(struct ftc_member **out, const struct ftc_member_settings *settings);
/* The state with which the member of a communicator begins that was made from another one
 * (docs/design/communicators.md, C4): G, and what L has beside G. NULL: empty. It comes before all
 * other inputs. FTC_ERR_NOMEM. */
int ftc_member_inherit(struct ftc_member *member, const struct ftc_set *agreed,
                       const struct ftc_set *known);
void ftc_member_destroy(struct ftc_member *member); /* NULL is legal */

/* Begins the next operation, if it may begin. 1: it has begun. 0: a settlement holds it back; ask
 * again after each input. FTC_ERR_NOMEM. Once it has begun, view, G and epoch are those of this
 * operation, and ftc_member_call() or ftc_member_skip() must follow. An engine that looks at them
 * before ftc_member_call() calls this first; ftc_member_call() calls it, too. No other operation
 * may be under way. */
int ftc_member_begin(struct ftc_member *member);
bool ftc_member_held_back(const struct ftc_member *member); /* would ftc_member_begin() give 0? */
/* Starts the next operation. No other operation may be under way. FTC_ERR_STATE: a settlement
 * holds it back. It may be delivered within this call; an output says so. */
int ftc_member_call(struct ftc_member *member, const struct ftc_call *call);
/* Takes a message in. The member takes a reference of its own to the buffer. */
int ftc_member_receive(struct ftc_member *member, int from, struct ftc_buffer *message);
/* The detector declared `rank` failed. */
int ftc_member_notice(struct ftc_member *member, int rank);
/* Two levels: the decision word of this node has this decision for operation `op`. The engine calls
 * this before every other input that follows its look at the word, for the operation under way or
 * the next one. The member ignores a decision of an operation that it has delivered. FTC_ERR_PROTO:
 * the decision cannot be right. */
int ftc_member_adopt(struct ftc_member *member, uint64_t op, struct ftc_decision *decision);
/* All operations go among all ranks, whatever the settings say. All members must be told this
 * alike, before the first operation; messages of it may have come already. */
void ftc_member_one_level(struct ftc_member *member);
/* Does such a call go over two levels? The answer is the same at all members. */
bool ftc_member_two_levels(const struct ftc_member *member, const struct ftc_signature *signature);
/* Two levels: if such a call were the next one, would it be a plain reduce (nodes.md, S1 to S8)?
 * Each rank but the root posts before it makes this call, which is then delivered at once. */
bool ftc_member_sums(const struct ftc_member *member, const struct ftc_signature *signature);
/* Sends the sum of this node for plain reduce `op` to its root (S3, S4). This rank has called it,
 * and the engine says when the sum goes. `epoch` is that of the post of this rank, `input` has the
 * combined posts, and `missing`, which is not NULL, names the ranks without one. FTC_ERR_NOMEM. */
int ftc_member_sum(struct ftc_member *member, uint64_t op, struct ftc_epoch epoch,
                   const struct ftc_call *call);
/* Two levels: if such a call were the next one, would the delegate wait for the posts of all ranks
 * of its node? It would for all calls but the broadcasts that have no reduce. */
bool ftc_member_gathers(const struct ftc_member *member, const struct ftc_signature *signature);
/* The next operation is to have the number `op`, or a greater one if it has that already: all
 * before it were decided by other means. All members must do this alike, while no operation is
 * under way. */
void ftc_member_skip(struct ftc_member *member, uint64_t op);
/* Takes a message in that came by datagram. Datagrams may be lost, doubled, late and out of order.
 * FTC_ERR_PROTO: the message makes no sense, and nobody is to blame. */
int ftc_member_datagram(struct ftc_member *member, int from, struct ftc_buffer *message);
int ftc_member_more(struct ftc_member *member);
int ftc_member_timer(struct ftc_member *member);

/* The next output, or NULL; valid until the next call on this member. */
const struct ftc_output *ftc_member_next_output(struct ftc_member *member);

/* --- looking in, for the API, ftcoll-status and tests --- */

uint64_t ftc_member_next_op(const struct ftc_member *member); /* number of operations called */
const struct ftc_set *ftc_member_known_failed(const struct ftc_member *member);  /* L */
const struct ftc_set *ftc_member_agreed_failed(const struct ftc_member *member); /* G */
struct ftc_epoch ftc_member_epoch(const struct ftc_member *member);
void ftc_member_activity(const struct ftc_member *member, struct ftc_member_activity *activity);
/* While the next call is held back: overwrites what concerns operations with the settlement that
 * holds it back. `op` is its number j. */
void ftc_member_holding(const struct ftc_member *member, struct ftc_member_activity *activity);
/* The lowest rank that the call under way waits for; -1: none. */
int ftc_member_awaits(const struct ftc_member *member);
void ftc_member_report(const struct ftc_member *member, struct ftc_member_report *report);
/* FTC_RULES_COUNT counters, each modulo 2^32. */
const uint32_t *ftc_member_rules(const struct ftc_member *member);
uint64_t ftc_member_ballots(const struct ftc_member *member); /* entered so far */
/* The ballot that was entered last. */
const struct ftc_epoch *ftc_member_entered(const struct ftc_member *member);
const uint64_t *ftc_member_pieces(const struct ftc_member *member); /* FTC_PIECES_KINDS counters */
int ftc_member_retained(const struct ftc_member *member); /* retained operations, for tests */
/* May another rank wait for something that this one has still to do? It was asked by POKE, as c_0,
 * to give up the exchange of the last operation, and begins the ballot after that when it learns of
 * the failure. Or it still spreads a decision, by gossip or correction. */
bool ftc_member_owes(const struct ftc_member *member);
/* Does this process know of a failure for which it still has to ask, or has asked? For tests. */
bool ftc_member_unsettled(const struct ftc_member *member);
/* For tests: does this rank, as a coordinator, wait without a limit for a subtree, although it
 * could take another one, and the settings set a limit (agreement.md, rule 2)? */
bool ftc_member_stuck_behind(const struct ftc_member *member);
/* The last flip that a drill carried out. */
const struct ftc_flip *ftc_member_flip(const struct ftc_member *member);
/* Words for FTC_OUTPUT_MISMATCH, such as "operation 17: rank 3 is in bcast (...), rank 0 in
 * allreduce (...)". */
const char *ftc_member_mismatch(const struct ftc_member *member);
/* For exploring state spaces: everything that the future of this member depends on, in a canonical
 * form. Members with equal bytes behave alike. The bytes do not contain the member's rank and
 * settings, nor outputs that were not taken. */
void ftc_member_digest(const struct ftc_member *member, ftc_digest_sink *sink, void *arg);

/* For flow control: the ranks to which this rank would send in such a reduce (group and tree
 * parent) or broadcast (children), if it called it now. Neither call waits for its receivers. Fills
 * in at most `room` ranks, and returns how many. Error: FTC_ERR_NOMEM. */
int ftc_member_targets(struct ftc_member *member, const struct ftc_signature *signature,
                       int ranks[], int room);

#endif
