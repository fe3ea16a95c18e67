/* A collective call as the protocol sees it: bytes and a way to combine them. */
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
    FTC_CALL_FINALIZE, /* the last barrier */
    FTC_CALL_GOSSIP,   /* the agreements of a gossip aggregation (gossip/end.h) */
    FTC_CALL_LARGE,    /* commits an attempt of a large allreduce (large.h) */
    FTC_CALL_KINDS
};
const char *ftc_call_kind_name(enum ftc_call_kind kind); /* "allreduce", ..., "none" */

/* How the kinds of calls differ. */
struct ftc_call_traits {
    const char *name;
    bool rooted;     /* one rank has a part of its own: it alone gives the value, or gets it */
    bool reduces;    /* an operator of the caller combines the values of the members */
    bool has_result; /* the combined value is delivered to every member */
    bool carries;    /* the decision carries a value: a result, or that of the root */
    bool levels;     /* several nodes may decide it over two levels (docs/design/nodes.md) */
};
extern const struct ftc_call_traits ftc_call_table[FTC_CALL_KINDS];

/* inout := in op inout, over `size` bytes. Deterministic; never fails. */
typedef void ftc_combine_fn(void *arg, const void *in, void *inout, size_t size);

/* out := in op with; out may be one of them, or apart. */
typedef void ftc_merge_fn(void *arg, const void *in, const void *with, void *out, size_t size);

/* What every member must agree on; travels in each message, so that a mismatch is named instead of
 * hanging. */
struct ftc_signature {
    uint8_t kind;          /* enum ftc_call_kind */
    uint8_t type;          /* ftc_type, 0: none */
    uint8_t operator_code; /* built-in operator's number, 255: user-defined, 0: none */
    uint8_t earlier; /* node board: digest of the calls before that nobody waited in; else 0 */
    int32_t root;    /* -1: none */
    uint64_t size;   /* bytes of the value */
};

/* Do both call the same? `earlier` is the board's to compare. */
static inline bool ftc_signature_equal(const struct ftc_signature *a, const struct ftc_signature *b)
{
    return a->kind == b->kind && a->type == b->type && a->operator_code == b->operator_code &&
           a->root == b->root && a->size == b->size;
}

/* "operation 17: rank 3 is in bcast (8 bytes of double, root 0), rank 0 in allreduce (...)" */
#define FTC_MISMATCH_WORDS 256
void ftc_mismatch_words(char words[FTC_MISMATCH_WORDS], uint64_t op, int rank,
                        const struct ftc_signature *theirs, int self,
                        const struct ftc_signature *own);

struct ftc_call {
    struct ftc_signature signature;
    const void *input; /* signature.size bytes, copied by the call; NULL if this rank has none */
    ftc_combine_fn *combine; /* used until the call is delivered; NULL: nothing to combine */
    ftc_merge_fn *merge;     /* the same with a third side; NULL: there is none */
    void *combine_arg;
    /* Two levels: `input` is the combination of what the ranks of this node have posted, of a
     * validate too; these have died without. NULL: none. Copied. */
    const struct ftc_set *missing;
};

#endif
