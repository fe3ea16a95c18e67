/*
 * Messages of the agreement core on the wire (agreement.md, "Messages").
 *
 *   u8 version | u8 kind | u8 scheme | u8 flags | u64 op | u32 i | u32 s | u64 epoch op | u32 epoch i | u32 epoch s |
 *   signature: u8 call, u8 type, u8 operator, u8 0, i32 root, u64 size |
 *   [participants] | [failure information, or the set of an UP] | [decision] | [gossip: u32 rounds] | [u64 checksum] | [value]
 *
 * A FRAGMENT has, instead of all that is in brackets, u32 number | u32 count | u32 size of the whole | piece. The whole is an
 * encoded DECIDE, as a buffer has it: head, padding, value.
 *
 * A decision is u8 status (0; 1: ROOT_FAILED, 2: CORRUPT; plus 4 if there is a verdict) | failed set | u32 i | u32 s |
 * [verdict: u32 compared, set].
 *
 * Failure information is a set (`list`), u32 number of write-offs * 2 + bit (`count`), or u8 bit
 * (`bit`). A message is one head and, where it carries a value, a reference to the bytes that
 * follow it. Everything read is untrusted: ftc_message_decode() checks lengths, ranks, kinds and
 * that what must be there is. A checksum is there if the value has one, or the message is sealed.
 * It is that of the message up to there, and of the value if there is one; it is checked, too.
 */
#ifndef FTC_COLLECTIVES_MESSAGE_H
#define FTC_COLLECTIVES_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/set.h"
#include "base/settings.h"
#include "base/value.h"
#include "collectives/call.h"

/* Messages of flow control, of doubling and of large allreduces have the same one. */
#define FTC_MESSAGE_VERSION 1

enum ftc_message_kind {
    FTC_MESSAGE_UP,
    FTC_MESSAGE_TREE,
    FTC_MESSAGE_DECIDE,
    FTC_MESSAGE_PREPARE,
    FTC_MESSAGE_POKE,
    FTC_MESSAGE_PULL,
    FTC_MESSAGE_FRAGMENT,
    FTC_MESSAGE_GOSSIP, /* none of the agreement core: gossip/wire.h */
    FTC_MESSAGES
};
const char *ftc_message_kind_name(enum ftc_message_kind kind); /* "UP", ... */

struct ftc_ballot_id {
    uint32_t i, s; /* round s of coordinator number i */
};
int ftc_ballot_compare(struct ftc_ballot_id a,
                       struct ftc_ballot_id b); /* <0, 0, >0: lexicographic */

struct ftc_epoch {
    uint64_t op;
    struct ftc_ballot_id ballot; /* (0,0) with op 0: none yet */
};
bool ftc_epoch_equal(struct ftc_epoch a, struct ftc_epoch b);

/* What comparing the results of the subtrees gave (agreement.md, "Vote"). */
struct ftc_vote_verdict {
    uint32_t compared; /* results: 2 or more; 0: none were */
    /* Heads of the subtrees with another result than the one taken; where none was, of all
     * compared. Size 0: not compared. */
    struct ftc_set wrong;
};

/* D: what an operation delivers, everywhere the same. Immutable once made, reference-counted. */
struct ftc_decision {
    int references;
    int status; /* FTC_SUCCESS, FTC_ERR_ROOT_FAILED or FTC_ERR_CORRUPT */
    struct ftc_value value;
    struct ftc_set failed;
    struct ftc_ballot_id ballot; /* that first decided it */
    struct ftc_vote_verdict verdict;
};
struct ftc_decision *
ftc_decision_new(int ranks); /* success, no value, empty set; NULL: out of memory */
struct ftc_decision *ftc_decision_ref(struct ftc_decision *decision);
void ftc_decision_unref(struct ftc_decision *decision); /* NULL is legal */

/* UNDECIDED(x) or, if decision is not NULL, DECIDED(D). */
struct ftc_contribution {
    struct ftc_decision *decision;
    struct ftc_value value;
};
void ftc_contribution_drop(struct ftc_contribution *contribution);

/* Failure information of a ballot: `list` uses the set, `count` number and bit, `bit` the bit. All
 * are kept by everyone; the scheme says what travels. */
struct ftc_failure_info {
    struct ftc_set list;
    uint32_t count;
    bool child; /* the bit: a child was written off, here or below */
};

/* How a DECIDE comes (docs/design/broadcast.md). */
enum ftc_way {
    FTC_WAY_OWED,   /* from the broadcast parent, or as an answer to PULL */
    FTC_WAY_GOSSIP, /* its receiver gossips on */
    FTC_WAY_LEFT,   /* correction, travelling to the left along the ring */
    FTC_WAY_RIGHT,
};

#define FTC_FRAGMENT_HEAD 64 /* bytes of a FRAGMENT before its piece */

/* A piece of an encoded DECIDE: number 0..count-1. */
struct ftc_piece {
    uint32_t number, count;
    uint32_t whole; /* bytes of all */
};

/* A decoded message. Sets are owned by the struct (init once, reuse); values point into
 * `buffer`. */
struct ftc_message {
    enum ftc_message_kind kind;
    uint64_t op;
    struct ftc_ballot_id ballot;
    struct ftc_epoch epoch;
    struct ftc_signature signature;
    bool has_participants;
    struct ftc_set participants;
    enum ftc_way way;                     /* DECIDE */
    bool correcting;                      /* DECIDE: the sender takes part in the correction */
    uint32_t rounds;                      /* DECIDE by gossip: that its receiver has */
    struct ftc_piece piece;               /* FRAGMENT; its bytes are contribution.value */
    bool has_list;                        /* UP: `info.list` travels (two levels) */
    struct ftc_failure_info info;         /* TREE; its list: UP, with has_list */
    struct ftc_contribution contribution; /* UP, TREE; DECIDE has its decision here */
    bool sealed;                          /* it carries a checksum, without a value too */
};
int ftc_message_init(struct ftc_message *message, int ranks);
void ftc_message_fini(struct ftc_message *message);

/* Encode everything but the value's bytes; NULL: out of memory. The value, if any, is
 * contribution.value or the decision's value. */
struct ftc_buffer *ftc_message_encode(const struct ftc_message *message, enum ftc_scheme scheme);

/* Size of the largest DECIDE with a value of `value` bytes, as it lies in memory: head, padding,
 * value. */
size_t ftc_message_decide_most(int ranks, size_t value);
const struct ftc_value *ftc_message_value(const struct ftc_message *message);

/* Decode head and value from one buffer, which the message then refers to. FTC_ERR_PROTO or
 * FTC_ERR_NOMEM leaves `message` without references. */
int ftc_message_decode(struct ftc_message *message, struct ftc_buffer *buffer, int ranks,
                       enum ftc_scheme scheme);

/* Only op, kind and ballot of an encoded message, for keeping and for logs; FTC_ERR_PROTO. */
struct ftc_message_head {
    enum ftc_message_kind kind;
    uint64_t op;
    struct ftc_ballot_id ballot;
    struct ftc_epoch epoch;
};
int ftc_message_peek(const struct ftc_buffer *buffer, struct ftc_message_head *head);
/* Only the signature, which is not checked; FTC_ERR_PROTO. */
int ftc_message_peek_signature(const struct ftc_buffer *buffer, struct ftc_signature *signature);

#endif
