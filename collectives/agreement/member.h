/*
 * One process's part in the collective operations of one communicator: agreement.md as a state
 * machine.
 *
 * Inputs: a call, a message, a failure notice, a timer, leave to go on. Outputs: sends, a delivery,
 * a timer, an end. It opens no socket, reads no clock, starts no thread and calls nobody back but
 * the operator of a call that is under way. After each input, take the outputs by
 * ftc_member_next_output() until there is none, in order; dropping the rest at any point is what a
 * crash between two sends looks like.
 *
 * Errors: FTC_ERR_NOMEM and FTC_ERR_PROTO of an input. After FTC_ERR_PROTO from
 * ftc_member_receive() the message was ignored and the member is sound; its sender broke the
 * protocol and should be fenced. After FTC_ERR_NOMEM the member must stop (fail-stop): its state is
 * unfinished.
 *
 * Not thread-safe: the engine serialises.
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
    FTC_OUTPUT_DELIVER, /* the call under way is done */
    FTC_OUTPUT_MULTICAST, /* as SEND, to all others at once and unreliably: see ftc_member_datagram() */
    FTC_OUTPUT_MORE, /* call ftc_member_more() when all outputs are out and what has come is taken in */
    FTC_OUTPUT_TIMER,   /* call ftc_member_timer() after `delay_ns`; replaces an earlier one */
    FTC_OUTPUT_ACCUSE,  /* `to` broke the protocol and should be fenced */
    FTC_OUTPUT_FENCED,  /* this process was declared failed: it must exit */
    FTC_OUTPUT_CORRUPT, /* a value in its memory has changed by itself: it must exit */
    FTC_OUTPUT_FLIPPED, /* a drill was carried out: ftc_member_flip() */
    FTC_OUTPUT_MISMATCH, /* `to` is in another collective: the job cannot go on; ftc_member_mismatch() says how */
};

struct ftc_output {
    enum ftc_output_kind kind;
    /* SEND, MULTICAST (without `to`); the references are the member's until the next call of
     * ftc_member_next_output() */
    int to;
    enum ftc_message_kind message;
    struct ftc_buffer *head;
    struct ftc_value value; /* follows the head; buffer NULL: none */
    uint64_t op;
    struct ftc_piece piece; /* MULTICAST: of which it is the datagram */
    bool urgent; /* must be answered though the receiver's caller is outside the library */
    /* DELIVER */
    int status; /* FTC_SUCCESS, _ERR_ROOT_FAILED, _ERR_TOO_MANY_FAILURES, _ERR_CORRUPT */
    const struct ftc_decision *
        decision; /* NULL for a plain reduce, and where the root was in G; valid until the next call */
    struct ftc_value
        result; /* the value for the caller, if it gets one; valid until the next call */
    /* TIMER */
    uint64_t delay_ns;
};

/* How often each rule was taken; published for tests that show that all of them ran. */
enum ftc_rule {
    FTC_RULE_KEEP_EARLY,         /* 0: a message of an op not called yet */
    FTC_RULE_DROP_SMALLER,       /* 0: of a smaller ballot */
    FTC_RULE_DROP_FREED,         /* 0: of a freed op */
    FTC_RULE_DROP_EPOCH,         /* 0: of another history */
    FTC_RULE_FENCED,             /* 0: participants without p */
    FTC_RULE_ENTER_PREPARE,      /* 1: entered a greater ballot on PREPARE */
    FTC_RULE_ENTER_UP,           /* 1: ... on UP */
    FTC_RULE_ENTER_TREE,         /* 1: ... on TREE */
    FTC_RULE_ENTER_PULL,         /* 1: ... on PULL */
    FTC_RULE_CONTRIBUTE_DECIDED, /* 1: contributed DECIDED(D) */
    FTC_RULE_WRITE_OFF_GROUP,    /* 2: a group member */
    FTC_RULE_WRITE_OFF_CHILD,    /* 2: a child */
    FTC_RULE_DECIDED_BEATS,      /* 2: DECIDED beat UNDECIDED */
    FTC_RULE_EMPTY_SUBTREE,      /* 2: fewer than F + 1 participants */
    FTC_RULE_COMPARE,            /* 2: compared results of subtrees */
    FTC_RULE_OUTVOTE,            /* 2: ... and took that of the majority */
    FTC_RULE_DETECT,             /* 2: ... and could take none */
    FTC_RULE_STOP_EARLY,         /* 2: left out the rest, holding DECIDE(b) */
    FTC_RULE_RETRY,              /* 3: started (i, s+1) */
    FTC_RULE_RETRY_WAIT,         /* 3: waited for L to hold a participant */
    FTC_RULE_DECIDE,             /* 4: decided afresh */
    FTC_RULE_DECIDE_UNCHANGED,   /* 4: took over DECIDED(D) */
    FTC_RULE_DECIDE_ROOT_FAILED, /* 4: a broadcast without its root */
    FTC_RULE_DELIVER,            /* 5 */
    FTC_RULE_PASS_AGAIN,         /* 5: passed DECIDE on after delivering earlier */
    FTC_RULE_CORRECT,            /* 5: a correction message sent */
    FTC_RULE_PULL,               /* 6: asked an ancestor */
    FTC_RULE_PULL_ANSWER,        /* 6: answered */
    FTC_RULE_PULL_REMEMBER,      /* 6: remembered for later */
    FTC_RULE_PREPARE_ADOPT,      /* 6: PREPARE sent to the children of a dead child */
    FTC_RULE_ROTATE,             /* 7: started (i', 0) as the first live coordinator */
    FTC_RULE_POKE,               /* 7: poked one */
    FTC_RULE_POKED,              /* 7: started (i', 0) because poked */
    FTC_RULE_RETAIN,             /* 8: acted on an op already delivered */
    FTC_RULE_FREE,               /* 8: freed an op */
    FTC_RULE_GOSSIP,             /* 5: a round of gossip */
    FTC_RULE_MULTICAST,          /* 5: multicast a decision */
    FTC_RULE_PASS_PIECE,         /* 5: passed a piece on along the ring */
    FTC_RULE_JOIN,               /* 5: joined the correction (failure-proof), or walks (delayed) */
    FTC_RULE_PULL_IMPATIENT,     /* 6: asked an ancestor with nobody known failed */
    FTC_RULE_EXCHANGE,           /* 2: decided by an exchange */
    FTC_RULE_GIVE_UP_EXCHANGE,   /* 2: started (0,1) as an exchange could not be finished */
    FTC_RULES_ONE_LEVEL,         /* so many are of one level, too */
    FTC_RULE_STAND_BY =
        FTC_RULES_ONE_LEVEL, /* two levels: called, and another rank takes part for the node */
    FTC_RULE_ADOPT,          /* ... and took the decision of the node */
    FTC_RULE_TAKE_OVER,      /* ... and entered a ballot for the node, as its new delegate */
    FTC_RULE_CALLED_BALLOT,  /* ... and started a ballot because a new delegate had asked for one */
    FTC_RULE_RETRY_NODE,     /* ... and did not decide without a node that has live ranks */
    FTC_RULES_COUNT
};
const char *ftc_rule_name(enum ftc_rule rule); /* "keep early", ... */

/* What the call under way waits for. */
enum ftc_wait {
    FTC_WAIT_NOTHING,
    FTC_WAIT_GROUP,       /* UP of a group member */
    FTC_WAIT_CHILD,       /* TREE of a child */
    FTC_WAIT_DECISION,    /* DECIDE from the broadcast parent or another ancestor */
    FTC_WAIT_NOTICE,      /* the detector, before a retry (rule 3) */
    FTC_WAIT_COORDINATOR, /* a coordinator that was poked */
    FTC_WAIT_MARKS,       /* finalize: the others' marks (set by the runtime) */
    FTC_WAIT_ROOM,        /* flow control: a slow peer (set by the runtime) */
    FTC_WAIT_POST,        /* board: contributions that are not posted yet */
    FTC_WAIT_RESULT,      /* board: a result that another rank combines */
    FTC_WAIT_GOSSIP, /* gossip: messages, until the estimate stands still (set by the runtime) */
    FTC_WAIT_RING,   /* large allreduce: blocks of the rank before (set by the runtime) */
    FTC_WAITS
};
const char *ftc_wait_name(enum ftc_wait wait);

/* "tree", "failure-proof"; and what users call the two together: "OCG", "corrected tree", NULL:
 * nothing. */
const char *ftc_dissemination_name(enum ftc_dissemination dissemination);
const char *ftc_correction_name(enum ftc_correction correction);
const char *ftc_combination_name(enum ftc_dissemination dissemination,
                                 enum ftc_correction correction);
const char *ftc_tree_name(enum ftc_tree tree);                /* "binomial", ... */
const char *ftc_integrity_name(enum ftc_integrity integrity); /* "none", ... */

struct ftc_member_activity {
    enum ftc_call_kind kind; /* NONE: no call under way */
    uint64_t op;
    struct ftc_ballot_id ballot;
    struct ftc_epoch epoch;
    enum ftc_wait wait;
    int waits_for; /* lowest rank waited for, -1 */
    int waits;     /* how many */
    int root;
    int known_failed, agreed_failed; /* |L|, |G| */
    uint64_t unsettled_ns;           /* gossip: not ready to agree since; 0: ready */
};

/* Of the call delivered last; before the first one, as set. */
struct ftc_member_report {
    const struct ftc_set *failed;
    unsigned ballots, retries;
    uint32_t compared;           /* results of subtrees; 0: none were */
    const struct ftc_set *wrong; /* heads of the subtrees that were found wrong */
    int coordinator;             /* rank that collected, or sent it; -1: nobody */
    bool spreads;                /* its result went to all: no plain reduce */
    enum ftc_dissemination dissemination;
    enum ftc_correction correction;
};

/* Pieces of multicast decisions, by how this process got them. */
enum ftc_pieces_kind {
    FTC_PIECES_DATAGRAM, /* first by datagram */
    FTC_PIECES_RING,     /* first along the ring */
    FTC_PIECES_OTHER, /* not at all: the whole DECIDE came otherwise (PULL, another correction) */
    FTC_PIECES_AGAIN, /* once more, or too late */
    FTC_PIECES_KINDS
};
const char *ftc_pieces_name(enum ftc_pieces_kind kind); /* "datagram", ... */

struct ftc_member;

int ftc_member_create(struct ftc_member **out, const struct ftc_member_settings *settings);
void ftc_member_destroy(struct ftc_member *member); /* NULL is legal */

/* Start the next operation; none may be under way. It can be delivered within the call (outputs say
 * so). */
int ftc_member_call(struct ftc_member *member, const struct ftc_call *call);
/* A message; the member takes its own reference to the buffer. */
int ftc_member_receive(struct ftc_member *member, int from, struct ftc_buffer *message);
/* The detector declared `rank` failed. */
int ftc_member_notice(struct ftc_member *member, int rank);
/* Two levels: the decision word of this node says that operation `op` has been decided so. To be
 * told before every other input that follows a look at the word, for the operation under way or the
 * next one; ignored if it was delivered. FTC_ERR_PROTO: it cannot be. */
int ftc_member_adopt(struct ftc_member *member, uint64_t op, struct ftc_decision *decision);
/* Does such a call go over two levels? Alike at all members. */
bool ftc_member_two_levels(const struct ftc_member *member, const struct ftc_signature *signature);
/* ... and wait for the posts of all ranks of this node, if it is the next one? A broadcast with a
 * reduce does, others need no input. */
bool ftc_member_gathers(const struct ftc_member *member, const struct ftc_signature *signature);
/* The next operation is number `op`, or a later one: those before it were decided by other means.
 * Alike at all members, and none is under way. */
void ftc_member_skip(struct ftc_member *member, uint64_t op);
/* A message by datagram: it may be lost, doubled, late and out of order. FTC_ERR_PROTO: nobody is
 * to blame. */
int ftc_member_datagram(struct ftc_member *member, int from, struct ftc_buffer *message);
int ftc_member_more(struct ftc_member *member);
int ftc_member_timer(struct ftc_member *member);

/* The next output, or NULL; valid until the next call on this member. */
const struct ftc_output *ftc_member_next_output(struct ftc_member *member);

/* --- looking in: for the API, status and tests --- */

uint64_t ftc_member_next_op(const struct ftc_member *member); /* number of operations called */
const struct ftc_set *ftc_member_known_failed(const struct ftc_member *member);  /* L */
const struct ftc_set *ftc_member_agreed_failed(const struct ftc_member *member); /* G */
struct ftc_epoch ftc_member_epoch(const struct ftc_member *member);
void ftc_member_activity(const struct ftc_member *member, struct ftc_member_activity *activity);
int ftc_member_awaits(
    const struct ftc_member *member); /* the lowest rank that the call under way waits for; -1 */
void ftc_member_report(const struct ftc_member *member, struct ftc_member_report *report);
const uint64_t *ftc_member_rules(const struct ftc_member *member); /* FTC_RULES_COUNT counters */
uint64_t ftc_member_ballots(const struct ftc_member *member);      /* entered in all */
const struct ftc_epoch *ftc_member_entered(const struct ftc_member *member); /* the last of them */
const uint64_t *ftc_member_pieces(const struct ftc_member *member); /* FTC_PIECES_KINDS counters */
int ftc_member_retained(const struct ftc_member *member);           /* operations kept, for tests */
const struct ftc_flip *
ftc_member_flip(const struct ftc_member *member); /* the last one carried out */
/* Words for FTC_OUTPUT_MISMATCH: "rank 3 is in bcast(...), this rank in allreduce(...), operation
 * 17". */
const char *ftc_member_mismatch(const struct ftc_member *member);
/* Everything the future of this member depends on, in a canonical form: equal bytes, equal
 * behaviour. Its rank and settings are not part of it, nor are outputs that were not taken. For
 * exploring state spaces. */
typedef void ftc_digest_sink(void *arg, const void *bytes, size_t size);
void ftc_member_digest(const struct ftc_member *member, ftc_digest_sink *sink, void *arg);

/* To whom this rank would send in such a reduce (group and tree parent) or broadcast (children)
 * called now, for flow control: neither waits for its receivers. Fills at most `room` ranks,
 * returns how many. FTC_ERR_NOMEM. */
int ftc_member_targets(struct ftc_member *member, const struct ftc_signature *signature,
                       int ranks[], int room);

#endif
