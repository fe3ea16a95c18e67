/*
 * Messages of the agreement core on the wire (agreement.md, "Messages"). A message is a head and,
 * if it carries a value, a reference to the bytes of the value, which follow the head. All messages
 * have this form; a part in brackets is present only in some:
 *
 *   u8 version | u8 kind | u8 scheme | u8 flags | u64 communicator | u64 op | u32 i | u32 s |
 *   u64 epoch op | u32 epoch i | u32 epoch s | u64 epoch settled |
 *   signature: u8 call, u8 type, u8 operator, u8 0, i32 root, u64 size |
 *   [participants] | [failure information, or the set of an UP] | [decision] |
 *   [gossip: u32 rounds] | [u64 checksum] | [value]
 *
 * A FRAGMENT has another form in place of the parts in brackets. The pieces together are an encoded
 * DECIDE as it lies in a buffer: head, padding, value.
 *
 *   u32 number | u32 count | u32 size of the whole | piece
 *
 * A decision has this form. The status is 0 (success), 1 (ROOT_FAILED) or 2 (CORRUPT), plus 4 if
 * there is a verdict.
 *
 *   u8 status | failed set | u32 i | u32 s | u32 write-offs | [verdict: u32 compared, set]
 *
 * The form of the failure information depends on the scheme: a set (`list`); a u32, which is twice
 * the number of write-offs plus the bit (`count`); or the bit in a u8 (`bit`).
 *
 * A message has a checksum if its value has one, or if the message is sealed. The checksum covers
 * all of the message before it, and the value.
 *
 * All that is read is untrusted. ftc_message_decode() checks lengths, ranks and kinds, that all
 * necessary parts are present, and the checksum.
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

enum ftc_message_kind {
    FTC_MESSAGE_UP,
    FTC_MESSAGE_TREE,
    FTC_MESSAGE_DECIDE,
    FTC_MESSAGE_PREPARE,
    FTC_MESSAGE_POKE,
    FTC_MESSAGE_PULL,
    FTC_MESSAGE_FRAGMENT,
    FTC_MESSAGES_ONE_LEVEL, /* the kinds above are those of one level, too */
    /* Two levels: the root has the sum of a node (nodes.md, S6). */
    FTC_MESSAGE_TAKEN = FTC_MESSAGES_ONE_LEVEL,
    FTC_MESSAGE_GOSSIP, /* not a message of the agreement core: gossip/wire.h */
    FTC_MESSAGE_SETTLE, /* none either: all messages of settlements, where messages are counted */
    FTC_MESSAGES
};
const char *ftc_message_kind_name(enum ftc_message_kind kind); /* "UP", ... */

struct ftc_ballot_id {
    uint32_t i, s; /* round s of coordinator number i */
};
/* Compares lexicographically: < 0, 0 or > 0. */
int ftc_ballot_compare(struct ftc_ballot_id a, struct ftc_ballot_id b);

struct ftc_epoch {
    uint64_t op;
    struct ftc_ballot_id ballot; /* (0,0) and op 0: none */
    uint64_t settled;            /* ftc_settlement_name() of the settlement in force; 0: none */
};
bool ftc_epoch_equal(struct ftc_epoch a, struct ftc_epoch b);

/* Settlements (agreement.md, rule 9) have numbers of their own. In messages, and wherever the
 * number of an operation may stand, settlement j is FTC_SETTLEMENT + j. */
#define FTC_SETTLEMENT (UINT64_C(1) << 63)
static inline bool ftc_op_is_settlement(uint64_t op)
{
    return op >= FTC_SETTLEMENT;
}
/* Names the decision of settlement `op` that this ballot took. Never 0. There are at most as many
 * settlements, coordinators and rounds as ranks. */
static inline uint64_t ftc_settlement_name(uint64_t op, struct ftc_ballot_id ballot)
{
    return (op - FTC_SETTLEMENT + 1) << 42 | (uint64_t)ballot.i << 21 | ballot.s;
}

/* What the comparison of the subtrees' results gave (agreement.md, rule 2, "Vote"). */
struct ftc_vote_verdict {
    uint32_t compared; /* number of compared results, at least 2; 0: nothing was compared */
    /* Heads of the subtrees whose result differs from the one taken. If none could be taken: the
     * heads of all compared subtrees. The size is 0 if nothing was compared. */
    struct ftc_set wrong;
};

#define FTC_WRITE_OFFS_UNKNOWN UINT32_MAX

/* D: what an operation delivers, the same everywhere. It never changes after it was made. It is
 * reference-counted. */
struct ftc_decision {
    int references;
    int status; /* FTC_SUCCESS, FTC_ERR_ROOT_FAILED or FTC_ERR_CORRUPT */
    struct ftc_value value;
    struct ftc_set failed;
    struct ftc_ballot_id ballot; /* the ballot that first decided it */
    /* Failures behind the value, as far as the failure information told its decider.
     * FTC_WRITE_OFFS_UNKNOWN: the scheme is `bit`, which does not count. */
    uint32_t write_offs;
    struct ftc_vote_verdict verdict;
};
/* A decision with status success, no value and an empty failed set. NULL: out of memory. */
struct ftc_decision *ftc_decision_new(int ranks);
struct ftc_decision *ftc_decision_ref(struct ftc_decision *decision); /* NULL is legal */
void ftc_decision_unref(struct ftc_decision *decision);               /* NULL is legal */

/* DECIDED(D) if `decision` is D, otherwise UNDECIDED(x), where x is `value`. */
struct ftc_contribution {
    struct ftc_decision *decision;
    struct ftc_value value;
};
void ftc_contribution_drop(struct ftc_contribution *contribution);

/* Failure information of a ballot. Every process keeps all three fields. The scheme says which of
 * them a message carries: `list` the set, `count` the number and the bit, `bit` the bit. */
struct ftc_failure_info {
    struct ftc_set list;
    uint32_t count;
    bool child; /* the bit: a child was written off, here or below */
};

/* In which way a DECIDE came (docs/design/broadcast.md). */
enum ftc_way {
    FTC_WAY_OWED,   /* from the broadcast parent, or as an answer to PULL */
    FTC_WAY_GOSSIP, /* by gossip: the receiver gossips on */
    FTC_WAY_LEFT,   /* as correction that travels to the left along the ring */
    FTC_WAY_RIGHT,
};

#define FTC_FRAGMENT_HEAD 80 /* bytes of a FRAGMENT before its piece */

/* A piece of an encoded DECIDE. Pieces are numbered from 0 to count - 1. */
struct ftc_piece {
    uint32_t number, count;
    uint32_t whole; /* size of all pieces together, in bytes */
};

/* A decoded message. It owns its sets: initialise it once, and reuse it. Its values point into the
 * buffer that was decoded. */
struct ftc_message {
    enum ftc_message_kind kind;
    uint64_t communicator; /* its number (frame.h) */
    uint64_t op;
    struct ftc_ballot_id ballot;
    struct ftc_epoch epoch;
    struct ftc_signature signature;
    struct ftc_set participants;
    bool has_participants;
    bool has_list;                /* UP over two levels: it carries info.list */
    bool correcting;              /* DECIDE: the sender takes part in the correction */
    bool sealed;                  /* it carries a checksum even if it has no value */
    enum ftc_way way;             /* of a DECIDE */
    uint32_t rounds;              /* DECIDE by gossip: the budget of rounds for its receiver */
    struct ftc_piece piece;       /* FRAGMENT; the bytes of the piece are contribution.value */
    struct ftc_failure_info info; /* of a TREE; of an UP only the list, if has_list */
    struct ftc_contribution contribution; /* of an UP or TREE; a DECIDE has its decision here */
};
int ftc_message_init(struct ftc_message *message, int ranks);
void ftc_message_fini(struct ftc_message *message);

/* Encodes all but the bytes of the value. The value of the message, if it has one, is that of the
 * contribution or of the decision (ftc_message_value()). NULL: out of memory. */
struct ftc_buffer *ftc_message_encode(const struct ftc_message *message, enum ftc_scheme scheme);

/* The size of the largest DECIDE with a value of `value` bytes, in bytes, as it lies in memory:
 * head, padding, value. */
size_t ftc_message_decide_most(int ranks, size_t value);
const struct ftc_value *ftc_message_value(const struct ftc_message *message);

/* Decodes the head and the value from one buffer. The message then holds references to the buffer.
 * After FTC_ERR_PROTO or FTC_ERR_NOMEM it holds none. */
int ftc_message_decode(struct ftc_message *message, struct ftc_buffer *buffer, int ranks,
                       enum ftc_scheme scheme);

/* Reads only kind, op, ballot and epoch of an encoded message. Error: FTC_ERR_PROTO. */
struct ftc_message_head {
    enum ftc_message_kind kind;
    uint64_t op;
    struct ftc_ballot_id ballot;
    struct ftc_epoch epoch;
};
int ftc_message_peek(const struct ftc_buffer *buffer, struct ftc_message_head *head);
/* Reads only the signature, and does not check it. Error: FTC_ERR_PROTO. */
int ftc_message_peek_signature(const struct ftc_buffer *buffer, struct ftc_signature *signature);

#endif
