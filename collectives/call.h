/* A collective call as the protocol sees it: bytes, and a way to combine them. */
#ifndef FTC_COLLECTIVES_CALL_H
#define FTC_COLLECTIVES_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/set.h"

enum ftc_call_kind {
    FTC_CALL_NONE,
    FTC_CALL_ALLREDUCE,
    FTC_CALL_REDUCE,
    FTC_CALL_BCAST,
    FTC_CALL_BARRIER,
    FTC_CALL_VALIDATE,
    FTC_CALL_FINALIZE, /* the barrier at the end of the job */
    FTC_CALL_GOSSIP,   /* the two agreements of a gossip aggregation (gossip/end.h) */
    FTC_CALL_LARGE,    /* commits an attempt of a large allreduce (ring/large.h) */
    FTC_CALL_SETTLE,   /* no call: a settlement, which nobody calls (agreement.md, rule 9) */
    FTC_CALL_KINDS
};
const char *ftc_call_kind_name(enum ftc_call_kind kind); /* "allreduce", ..., "none" */

/* The properties of a kind of call. */
struct ftc_call_traits {
    const char *name;
    bool rooted;     /* one rank has a part of its own: it alone gives the value, or gets it */
    bool reduces;    /* an operator of the caller combines the members' values */
    bool has_result; /* every member gets the combined value */
    bool carries;    /* the decision carries a value: the combined one, or the root's */
    bool levels;     /* may go over two levels (docs/design/nodes.md, "Two levels") */
};
extern const struct ftc_call_traits ftc_call_table[FTC_CALL_KINDS];

/* Sets inout to "in op inout", over `size` bytes. Deterministic; never fails. */
typedef void ftc_combine_fn(void *arg, const void *in, void *inout, size_t size);

/* Sets out to "in op with", over `size` bytes. `out` is `in`, or `with`, or does not overlap
 * them. */
typedef void ftc_merge_fn(void *arg, const void *in, const void *with, void *out, size_t size);

/* What all members must call alike. Each message carries it. So a rank that calls another
 * collective is found and named, and the job does not hang. */
struct ftc_signature {
    uint8_t kind;          /* enum ftc_call_kind */
    uint8_t type;          /* ftc_type; 0: the call has no type */
    uint8_t operator_code; /* number of a built-in operator; 255: user-defined; 0: none */
    /* Node board only: a digest of the broadcasts and plain reduces before this call, in which a
     * rank may not have waited for the others. In messages it is 0. */
    uint8_t earlier;
    int32_t root;  /* -1: the call has no root */
    uint64_t size; /* of the value, in bytes */
};

/* Do both ranks make the same call? The node board compares `earlier` itself. */
static inline bool ftc_signature_equal(const struct ftc_signature *a, const struct ftc_signature *b)
{
    return a->kind == b->kind && a->type == b->type && a->operator_code == b->operator_code &&
           a->root == b->root && a->size == b->size;
}

/* For example "operation 17: rank 3 is in bcast (8 bytes of double, root 0), rank 0 in allreduce
 * (...)". */
#define FTC_MISMATCH_WORDS 256
void ftc_mismatch_words(char words[FTC_MISMATCH_WORDS], uint64_t op, int rank,
                        const struct ftc_signature *theirs, int self,
                        const struct ftc_signature *own);

struct ftc_call {
    struct ftc_signature signature;
    /* signature.size bytes, which the call copies; NULL if this rank gives no value */
    const void *input;
    ftc_combine_fn *combine; /* used until the delivery; NULL: there is nothing to combine */
    ftc_merge_fn *merge;     /* the same with an output of its own; NULL: there is none */
    void *combine_arg;
    /* Two levels: `input` combines the posts of this node's ranks, for a validate, too. `missing`
     * names the ranks of the node that died without a post. The call copies the set. NULL: none is
     * missing. */
    const struct ftc_set *missing;
};

#endif
