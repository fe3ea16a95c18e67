/*
 * A collective of large values (docs/design/nodes.md, "Large values"). First the ranks exchange
 * what they need, and tolerate no failure (exchange.h). Then an operation of the agreement core,
 * the *commit*, makes the result valid, or has the exchange run again.
 *
 * An *attempt* belongs to the next operation k of the communicator, which nobody has called yet.
 * Its messages carry k and the epoch at k (agreement.md, Names). Its ranks are all but G and those
 * that earlier commits named. They are the same at every live rank, since all of this was decided.
 * A rank that has all of its result, and has sent all that others need of it, is *whole*. A rank
 * that learns, before it is whole, that a rank of the exchange has failed is *torn*, and drops the
 * attempt. Whole and torn ranks call operation k.
 * It unites their L, and whether a rank is torn. If no rank is torn, the result is delivered.
 * Otherwise the ranks in the united L, which have failed, are left out of the next attempt. After a
 * few attempts the agreement core alone does the operation. It does so at once if the root has
 * failed.
 *
 * Why this is safe: every rank that lives when the commit is decided has contributed to it. So if
 * no rank is torn, all of them have the result of this attempt, from the inputs of all ranks of the
 * exchange. A message of another attempt has another k. A message with the same k and
 * another epoch is from a rank that died with a decision of its own. It is dropped, as the
 * agreement core drops its own messages (agreement.md, "Why the epoch").
 *
 * How to drive it:
 * 1. begin().
 * 2. start(); early() until no early message is left; then messages and notices, while it is
 *    UNDER_WAY.
 * 3. commit(). The member calls what it returns.
 * 4. decide(). If it says AGAIN, go on with step 2.
 *
 * After start() and after each message take the outputs until there is none. It does no I/O, and
 * trusts nothing that it receives. Not thread-safe.
 */
#ifndef FTC_COLLECTIVES_LARGE_LARGE_H
#define FTC_COLLECTIVES_LARGE_LARGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/set.h"
#include "base/value.h"
#include "collectives/call.h"
#include "collectives/large/exchange.h"
#include "collectives/message.h"

struct ftc_large_settings {
    uint64_t communicator; /* its number, in each message (collectives/frame.h) */
    int self, ranks;
    int attempts;                              /* the most attempts, at least 1 */
    size_t block_least, block_most, part_most; /* exchange.h */
    int window;                                /* exchange.h */
    size_t lent_least;                         /* exchange.h */
    struct ftc_buffer_pool *pool;              /* NULL: none */
};

/* Where the member is. This says to what operation a message may belong. */
struct ftc_large_now {
    uint64_t op; /* number of operations called */
    struct ftc_epoch epoch;
    const struct ftc_signature *under_way; /* of operation op - 1; NULL: it has been delivered */
};

struct ftc_large_output {
    int to;
    /* NULL: out of memory. The object holds the references, until the next call. */
    struct ftc_buffer *head;
    struct ftc_value value;
};

enum ftc_large_state {
    FTC_LARGE_IDLE, /* no attempt is under way: messages that come are kept */
    FTC_LARGE_UNDER_WAY,
    FTC_LARGE_WHOLE,
    FTC_LARGE_TORN,
};

enum ftc_large_verdict {
    FTC_LARGE_COMMITTED, /* take the result */
    FTC_LARGE_AGAIN,     /* start another attempt */
    FTC_LARGE_PROTECTED, /* no attempt is left: the member must do the operation */
};

struct ftc_large;

int ftc_large_create(struct ftc_large **out,
                     const struct ftc_large_settings *settings); /* FTC_ERR_NOMEM */
void ftc_large_destroy(struct ftc_large *large);                 /* NULL is legal */

/* Begins a collective for which there is an exchange (ftc_large_exchange_exists()), of elements of
 * `element` bytes; 0: they may be split anywhere. `nodes` is as in exchange.h. *call, its
 * input, *nodes and `result` must live until end(). The result is written before it is committed
 * only if inputs are combined in it whoever fails (allreduce, reduce, reduce_scatter), and unless
 * `result` is the input or NULL. */
void ftc_large_begin(struct ftc_large *large, const struct ftc_call *call, size_t element,
                     const struct ftc_large_nodes *nodes, void *result);
/* Starts an attempt, as operation now->op. `agreed` is G, `known` is L. Error: FTC_ERR_NOMEM. */
int ftc_large_start(struct ftc_large *large, const struct ftc_large_now *now,
                    const struct ftc_set *agreed, const struct ftc_set *known);

/* Takes a message in; its bytes may be overwritten from now on. Errors:
 * - FTC_ERR_PROTO: its sender broke the protocol. The message was ignored.
 * - FTC_ERR_MISMATCH: its sender is in another collective call. ftc_large_mismatch() has the words.
 * - FTC_ERR_NOMEM. */
int ftc_large_receive(struct ftc_large *large, const struct ftc_large_now *now, int from,
                      struct ftc_buffer *message);
/* Looks at a message of the agreement core, and does not take it in. FTC_ERR_MISMATCH: its sender
 * is in another collective call, and will never come to this one. Without this look a rank that
 * waits for it would not learn why. Otherwise FTC_SUCCESS. */
int ftc_large_look(struct ftc_large *large, int from, const struct ftc_buffer *message);
const char *ftc_large_mismatch(const struct ftc_large *large);
void ftc_large_notice(struct ftc_large *large, int rank); /* `rank` has failed */

/* To be called after start() and its outputs, and again after the outputs of each call: takes in
 * the next message that came before the attempt. 1: there was one; 0: there is none; otherwise an
 * error like those of receive(). *from is its sender. */
int ftc_large_early(struct ftc_large *large, int *from);
/* To be called after each call of the member, a commit included. FTC_ERR_MISMATCH, like receive(),
 * for a message that came before. */
int ftc_large_called(struct ftc_large *large, const struct ftc_large_now *now);

bool ftc_large_next_output(struct ftc_large *large, struct ftc_large_output *output);

enum ftc_large_state ftc_large_state(const struct ftc_large *large);
/* The rank whose messages it waits for; -1: it is not UNDER_WAY. */
int ftc_large_awaited(const struct ftc_large *large);

/* What the member must call as operation k. The input of the call is valid until decide(). */
void ftc_large_commit(struct ftc_large *large, const struct ftc_set *known,
                      struct ftc_call *commit);
/* The commit was delivered, with this value, whose size is that in commit(), and this failed set.
 * FTC_ERR_PROTO: the decision contradicts what this rank contributed. FTC_ERR_NOMEM. */
int ftc_large_decide(struct ftc_large *large, const unsigned char *decided,
                     const struct ftc_set *failed, enum ftc_large_verdict *verdict);
/* All ranks that commits have named. Before its next call the member must be told of those that it
 * does not know (ftc_member_notice()). Then its decision names all ranks whose input is left
 * out. */
const struct ftc_set *ftc_large_failed(const struct ftc_large *large);

/* After COMMITTED: writes the result (ftc_large_exchange_finish()). Places for the contributions of
 * the failed set that the commit delivered stay as they are. */
void ftc_large_deliver(const struct ftc_large *large, void *to);
/* To be called before end() if there was no decide(), and if the call is given up:
 * ftc_large_exchange_settle(). FTC_ERR_NOMEM. */
int ftc_large_settle(struct ftc_large *large);
void ftc_large_end(struct ftc_large *large);

struct ftc_large_counters {
    uint64_t attempts, again, fallbacks; /* again: attempts that were not committed */
    uint64_t early, late; /* messages that were kept; messages of an earlier operation */
    uint64_t foreign;     /* dropped messages of another epoch */
};
void ftc_large_counters(const struct ftc_large *large, struct ftc_large_counters *counters);

#endif
