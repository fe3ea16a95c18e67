/* Element types and operators: sizes, validity, and the combining loops. */
#ifndef FTC_COLLECTIVES_VALUES_TYPES_H
#define FTC_COLLECTIVES_VALUES_TYPES_H

#include <stdbool.h>
#include <stddef.h>

#include "collectives/call.h"

#include "include/ftcoll.h"

size_t ftc_type_size(ftc_type type);      /* bytes; 0: no such type */
const char *ftc_type_name(ftc_type type); /* "int32"; "?" */

/* What `ftc_op` points to. Built-in operators are small integers instead. */
struct ftc_operator {
    ftc_op_fn *function;
    void *arg;
};

const char *ftc_operator_name(int operator_code); /* "sum", "user-defined", "none" */

/* out[i] := in[i] op with[i]. `out` may be one of the two; no other overlap. Of a pair only the two
 * fields are written. */
typedef void ftc_loop(const void *in, const void *with, void *out, size_t count);

/* A type and an operator bound together for a call: combine(pair, in, inout, size). */
struct ftc_reduction {
    ftc_type type;
    size_t element_size;
    ftc_loop *builtin; /* NULL: user-defined */
    const struct ftc_operator *user;
    int operator_code;
};

/* FTC_ERR_ARG (no such type or operator), FTC_ERR_TYPE (operator not defined for the type). */
int ftc_reduction_init(struct ftc_reduction *reduction, ftc_type type, ftc_op op);

/* An ftc_combine_fn; arg is a struct ftc_reduction. Both sides are aligned for the type and do not
 * overlap (any pointer will do for size 0). Of a pair only the two fields are written: padding
 * stays what it was in inout. */
void ftc_reduction_combine(void *arg, const void *in, void *inout, size_t size);
/* An ftc_merge_fn, for built-in operators on types without padding. */
void ftc_reduction_merge(void *arg, const void *in, const void *with, void *out, size_t size);
bool ftc_reduction_merges(const struct ftc_reduction *reduction);

#endif
