/* User-defined operators. */
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "collectives/values/types.h"

FTC_API int ftc_op_create(ftc_op_fn *function, void *arg, ftc_op *op)
{
    struct ftc_operator *created;

    if (function == NULL || op == NULL)
        return ftc_error_set(FTC_ERR_ARG, "a function and a place for the operator must be given");
    created = malloc(sizeof(*created));
    if (created == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for an operator");
    *created = (struct ftc_operator){.function = function, .arg = arg};
    *op = created;
    return 0;
}

FTC_API int ftc_op_free(ftc_op *op)
{
    if (op == NULL || (uintptr_t)*op <= (uintptr_t)FTC_AVG) /* the last built-in one */
        return ftc_error_set(FTC_ERR_ARG, "not a user-defined operator");
    free((struct ftc_operator *)*op);
    *op = NULL;
    return 0;
}
