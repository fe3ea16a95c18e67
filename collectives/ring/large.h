/*
 * An allreduce of a large value across nodes: a ring (ring_allreduce.h) that survives nothing, then
 * an operation of the agreement core that commits its result or has it run again
 * (docs/design/nodes.md, "Large values").
 *
 * One *attempt* belongs to the next operation k of the communicator, not called yet, and its
 * messages carry k and the epoch at k (agreement.md, Names). It is run among all ranks but G and
 * those that earlier commits named: the same at every live rank, since all that it is made of are
 * decisions. Who has all of the result is *whole*; who knows before that a rank of the ring has
 * failed is *torn* and drops the attempt. Either calls operation k, which unites whether somebody
 * is torn, and L. Nobody torn: the result is delivered. Else the ranks in the united L, which have
 * failed, are left out and another attempt is made, a few times; then the operation is the
 * agreement core's alone.
 *
 * Why that is safe. The commit has a contribution of every rank that lives when it is decided: all
 * of them have the result of this attempt, the same bits, with the inputs of everyone who was in
 * the ring. A message of another attempt has another k; one of the same k and another epoch is from
 * a rank that died with a decision of its own, and is dropped as the agreement core drops its own.
 *
 * How to drive it: begin; then, until decide() says something else than AGAIN: start, early
 * messages, messages and notices as long as it is UNDER_WAY, commit, the call that commit() gives
 * to the member, decide. After start and each message take the outputs until there is none. Does no
 * I/O. What comes is untrusted. Not thread-safe.
 */
#ifndef FTC_COLLECTIVES_RING_LARGE_H
#define FTC_COLLECTIVES_RING_LARGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/set.h"
#include "base/value.h"
#include "collectives/call.h"
#include "collectives/message.h"

struct ftc_large_settings {
    int self, ranks;
    int attempts;                   /* at most; at least 1 */
    size_t block_least, block_most; /* ring_allreduce.h */
    struct ftc_buffer_pool *pool;   /* NULL: none */
};

/* Where the member is: what a message may be of. */
struct ftc_large_now {
    uint64_t op; /* operations called */
    struct ftc_epoch epoch;
    const struct ftc_signature *under_way; /* of operation op - 1; NULL: it has been delivered */
};

struct ftc_large_output {
    int to;
    struct ftc_buffer
        *head; /* NULL: out of memory; the references are the object's until the next call */
    struct ftc_value value;
};

enum ftc_large_state {
    FTC_LARGE_IDLE, /* no attempt is under way: what comes is kept */
    FTC_LARGE_UNDER_WAY,
    FTC_LARGE_WHOLE,
    FTC_LARGE_TORN,
};

enum ftc_large_verdict {
    FTC_LARGE_COMMITTED, /* take the result */
    FTC_LARGE_AGAIN,     /* start another attempt */
    FTC_LARGE_PROTECTED, /* no more of them: let the member do it */
};

struct ftc_large;

int ftc_large_create(struct ftc_large **out,
                     const struct ftc_large_settings *settings); /* FTC_ERR_NOMEM */
void ftc_large_destroy(struct ftc_large *large);                 /* NULL is legal */

/* An allreduce of at least one element of `element` bytes; *call, its input and the result's place
 * must live until end(). The result is written as it comes, before it is committed, unless that is
 * the input, or NULL. */
void ftc_large_begin(struct ftc_large *large, const struct ftc_call *call, size_t element,
                     void *result);
/* An attempt as operation now->op. `agreed`: G, `known`: L. FTC_ERR_NOMEM. */
int ftc_large_start(struct ftc_large *large, const struct ftc_large_now *now,
                    const struct ftc_set *agreed, const struct ftc_set *known);

bool ftc_large_is_message(const struct ftc_buffer *buffer);
/* A message, whose bytes may be overwritten from now on. FTC_ERR_PROTO: its sender broke the
 * protocol; it was ignored. FTC_ERR_NOMEM. FTC_ERR_MISMATCH: its sender is in another collective
 * call; ftc_large_mismatch() says so in words. */
int ftc_large_receive(struct ftc_large *large, const struct ftc_large_now *now, int from,
                      struct ftc_buffer *message);
/* The same for a message of the agreement core, which is not taken: FTC_SUCCESS or
 * FTC_ERR_MISMATCH. Without it a rank that waits in the ring for one that never comes would not
 * learn why. */
int ftc_large_look(struct ftc_large *large, int from, const struct ftc_buffer *message);
const char *ftc_large_mismatch(const struct ftc_large *large);
void ftc_large_notice(struct ftc_large *large, int rank); /* rank has failed */

/* After start and its outputs, and again after the outputs of each: take in the next message that
 * came before. 1: there was one; 0: none is left; else as receive(), with its sender. */
int ftc_large_early(struct ftc_large *large, int *from);
/* After each call of the member, commits too: FTC_ERR_MISMATCH as of receive(), for what came
 * before. */
int ftc_large_called(struct ftc_large *large, const struct ftc_large_now *now);

bool ftc_large_next_output(struct ftc_large *large, struct ftc_large_output *output);

enum ftc_large_state ftc_large_state(const struct ftc_large *large);
int ftc_large_awaited(
    const struct ftc_large *large); /* rank whose messages it waits for; -1: not UNDER_WAY */

/* What is to be called as operation k; its input is valid until decide(). */
void ftc_large_commit(struct ftc_large *large, const struct ftc_set *known,
                      struct ftc_call *commit);
/* It was delivered: its value, of as many bytes as commit() said, and its failed set.
 * FTC_ERR_PROTO: it contradicts what this rank contributed. */
int ftc_large_decide(struct ftc_large *large, const unsigned char *decided,
                     const struct ftc_set *failed, enum ftc_large_verdict *verdict);
/* All that decisions have named. Before the next call the member has to be told of those that it
 * does not know (ftc_member_notice()), so that what it decides names all whose input is left
 * out. */
const struct ftc_set *ftc_large_failed(const struct ftc_large *large);

/* COMMITTED: the result; `to` may be the input. */
void ftc_large_copy(const struct ftc_large *large, void *to);
void ftc_large_end(struct ftc_large *large);

struct ftc_large_counters {
    uint64_t attempts, again, fallbacks; /* again: attempts that were not committed */
    uint64_t early, late;                /* messages that were kept; of an earlier operation */
    uint64_t foreign;                    /* of another history: dropped */
};
void ftc_large_counters(const struct ftc_large *large, struct ftc_large_counters *counters);

#endif
