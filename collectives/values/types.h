/* Element types and operators: their sizes, which of them fit together, and the combining loops. */
#ifndef FTC_COLLECTIVES_VALUES_TYPES_H
#define FTC_COLLECTIVES_VALUES_TYPES_H

#include <stdbool.h>
#include <stddef.h>

#include "collectives/call.h"

#include "include/ftcoll.h"

size_t ftc_type_size(ftc_type type);      /* in bytes; 0: there is no such type */
const char *ftc_type_name(ftc_type type); /* "int32", ...; "?": there is no such type */

/* The number of a type in a signature. All types of ftc_type_create() have one number. */
#define FTC_TYPE_CODE_CREATED 255
uint8_t ftc_type_code(ftc_type type);
const char *ftc_type_code_name(uint8_t code);

/* What `ftc_op` points to if the operator is user-defined. A built-in operator is a small
 * integer. */
struct ftc_operator {
    ftc_op_fn *function;
    void *arg;
    bool ordered; /* it need not commute */
};

const char *ftc_operator_name(int operator_code); /* "sum", "user-defined", "none" */

/* Sets out[i] to "in[i] op with[i]". `out` is `in`, or `with`, or overlaps neither. Of a
 * value-index pair the loop writes the two fields only. */
typedef void ftc_loop(const void *in, const void *with, void *out, size_t count);

/* A type and an operator, bound together for a call. */
struct ftc_reduction {
    ftc_type type;
    size_t element_size;
    ftc_loop *builtin; /* NULL: the operator is user-defined */
    const struct ftc_operator *user;
    int operator_code;
};

/* FTC_ERR_ARG: there is no such type or operator. FTC_ERR_TYPE: the operator is not defined for the
 * type. */
int ftc_reduction_init(struct ftc_reduction *reduction, ftc_type type, ftc_op op);

/* An ftc_combine_fn, whose `arg` is a struct ftc_reduction. Both sides must be aligned for the type
 * and must not overlap. If size is 0 they may be any pointers. Of a value-index pair it writes the
 * two fields only: the padding in `inout` stays as it is. */
void ftc_reduction_combine(void *arg, const void *in, void *inout, size_t size);
/* An ftc_merge_fn, for the reductions for which ftc_reduction_merges(): those of a built-in
 * operator on a type without padding. */
void ftc_reduction_merge(void *arg, const void *in, const void *with, void *out, size_t size);
bool ftc_reduction_merges(const struct ftc_reduction *reduction);

/* Does this operator give the same bits in whatever order, and by whatever partial results, the
 * same values are combined? User-defined operators count as such that do not. */
bool ftc_operator_exact(ftc_type type, int operator_code);

#endif
