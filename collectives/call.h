/* A collective call as the protocol sees it: bytes, and a way to combine them. */
#ifndef FTC_COLLECTIVES_CALL_H
#define FTC_COLLECTIVES_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/set.h"

/* For exploring state spaces: takes in bytes of a state. */
typedef void ftc_digest_sink(void *arg, const void *bytes, size_t size);

enum ftc_call_kind {
    FTC_CALL_NONE,
    FTC_CALL_ALLREDUCE,
    FTC_CALL_REDUCE,
    FTC_CALL_BCAST,
    FTC_CALL_BARRIER,
    FTC_CALL_VALIDATE,
    FTC_CALL_FINALIZE, /* the barrier at the end of the job */
    FTC_CALL_GOSSIP,   /* the two agreements of a gossip aggregation (gossip/end.h) */
    FTC_CALL_LARGE,    /* commits an attempt of a large value (large/large.h) */
    FTC_CALL_SETTLE,   /* no call: a settlement, which nobody calls (agreement.md, rule 9) */
    FTC_CALL_ALLGATHER,
    FTC_CALL_GATHER,
    FTC_CALL_SCATTER,
    FTC_CALL_ALLTOALL,
    FTC_CALL_REDUCE_SCATTER,
    FTC_CALL_SCAN,
    FTC_CALL_EXSCAN,
    FTC_CALL_SIZES,  /* before a call whose sizes no rank knows all of: the greatest one */
    FTC_CALL_CREATE, /* makes communicators (docs/design/communicators.md, C2) */
    FTC_CALL_OPEN,   /* the second operation of a creation (C3) */
    FTC_CALL_CLOSE,  /* the last operation of a communicator (C7) */
    FTC_CALL_AGREE,  /* an agreement of the survivors (C9) */
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
    /* The members' values stay apart, as blocks (values/blocks.h), and the caller takes them one by
     * one. ftc_signature_gathers() knows of operators, too. */
    bool gathers;
    /* The value begins with a set of failed ranks, as bytes. Each member adds its L to it, and the
     * decision names them. */
    bool names;
    bool levels; /* may go over two levels (docs/design/nodes.md, "Two levels") */
};
extern const struct ftc_call_traits ftc_call_table[FTC_CALL_KINDS];

/* A reduce or gather: the root alone gets the value. */
static inline bool ftc_call_to_root(int kind)
{
    return ftc_call_table[kind].rooted && !ftc_call_table[kind].carries;
}
/* A broadcast or scatter: the root alone gives the value. */
static inline bool ftc_call_from_root(int kind)
{
    return ftc_call_table[kind].rooted && ftc_call_table[kind].carries;
}

/* What a broadcast of so many bytes counts in a row of them (agreement.md, "Operations"). */
static inline uint32_t ftc_call_row_weight(uint64_t size)
{
    uint64_t weight = 1 + size / 32768;

    return weight < UINT32_MAX / 2 ? (uint32_t)weight : UINT32_MAX / 2;
}

/* Sets inout to "in op inout", over `size` bytes. Deterministic; never fails. */
typedef void ftc_combine_fn(void *arg, const void *in, void *inout, size_t size);

/* Sets out to "in op with", over `size` bytes. `out` is `in`, or `with`, or does not overlap
 * them. */
typedef void ftc_merge_fn(void *arg, const void *in, const void *with, void *out, size_t size);

/* Takes `size` bytes of the contribution of `rank` into `result`: those from `offset` on. Bytes
 * behind the end of the contribution may be anything, and the function does not use them. `data`
 * may be the place in `result` where it goes. The caller goes from the highest rank to the lowest,
 * because a combine function has its accumulator on the right. `first`: no other rank has come
 * before for these bytes. The same bytes may come again, from the highest rank on, if the operation
 * starts again. */
typedef void ftc_take_fn(void *arg, int rank, size_t offset, const void *data, size_t size,
                         bool first, void *result);

/* Returns how many bytes of `result` an ftc_take_fn may write for the contribution of `rank`, and
 * sets *offset to where they begin. The places of two ranks have no byte in common. Where several
 * contributions are combined in one place, this is the place of the calling rank. */
typedef size_t ftc_place_fn(void *arg, int rank, size_t *offset);

/* What all members must call alike. Each message carries it. So a rank that calls another
 * collective is found and named, and the job does not hang. */
struct ftc_signature {
    uint8_t kind;          /* enum ftc_call_kind */
    uint8_t type;          /* ftc_type; 0: the call has no type */
    uint8_t operator_code; /* number of a built-in operator; FTC_OPERATOR_...; 0: none */
    /* Node board only: a digest of the broadcasts and plain reduces before this call, in which a
     * rank may not have waited for the others. In messages it is 0. */
    uint8_t earlier;
    int32_t root; /* -1: the call has no root */
    /* Of the value, in bytes; of a gather, scatter or scan: of the greatest contribution. */
    uint64_t size;
};

#define FTC_ELEMENT_MAX 131072 /* most bytes of an element that is combined */

#define FTC_OPERATOR_ORDERED 254 /* user-defined, and combined in the order of ranks */
#define FTC_OPERATOR_USER    255 /* user-defined */

/* Do the contributions stay apart? Those of an operator that does not commute do, too. */
static inline bool ftc_signature_gathers(const struct ftc_signature *signature)
{
    const struct ftc_call_traits *traits = &ftc_call_table[signature->kind];

    return traits->gathers || (traits->reduces && signature->operator_code == FTC_OPERATOR_ORDERED);
}

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
    /* The call copies it, but for large values, whose input must stay until the call has ended;
     * NULL if this rank gives no value. It has signature.size bytes. Where
     * ftc_signature_gathers() it has input_size bytes, which are no more. */
    const void *input;
    size_t input_size;
    ftc_combine_fn *combine; /* used until the delivery; NULL: there is nothing to combine */
    ftc_merge_fn *merge;     /* the same with an output of its own; NULL: there is none */
    void *combine_arg;
    /* Bytes of an element, which is never split where a call combines; 0: any split is right. No
     * more than FTC_ELEMENT_MAX. */
    size_t element;
    ftc_take_fn *take; /* where ftc_signature_gathers(); used until the delivery */
    /* NULL: the call writes the same bytes of its result whoever is missing, so nothing of a
     * missing rank can be left there: this rank's own contribution is combined there, too. */
    ftc_place_fn *place;
    void *take_arg; /* of both */
    /* This rank gets so many bytes of the decided value, from this offset on: a scatter, or a
     * reduce_scatter that combines. Other calls get all of it. */
    size_t slice_offset, slice_size;
    /* Where the part for each rank begins: that for rank r is from parts[r] to parts[r + 1], in
     * bytes. There are as many offsets as ranks, and the end. They are offsets in this rank's
     * contribution to an alltoall, which begins with these very offsets, as uint64_t; or in the
     * value of a scatter, at its root alone; or in that of a reduce_scatter. NULL: all parts are of
     * the same size. Only exchanges of large values read it (large/exchange.h). */
    const uint64_t *parts;
    /* Two levels: `input` combines the posts of this node's ranks, for a validate, too. Where
     * ftc_signature_gathers() it is a list of them (values/blocks.h), of input_size bytes.
     * `missing` names the ranks of the node that died without a post. The call copies the set.
     * NULL: none is missing. */
    const struct ftc_set *missing;
    /* Two levels, at the root of a plain reduce: the senders are told at the delivery that it has
     * the sums (nodes.md, S6). */
    bool answers;
};

/* The part for `rank`, of `ranks`, in bytes. */
void ftc_call_part(const struct ftc_call *call, int ranks, int rank, size_t *offset, size_t *size);

#endif
