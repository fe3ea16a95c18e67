/* User-defined operators and types. */
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "collectives/values/types.h"

static int create(ftc_op_fn *function, void *arg, bool ordered, ftc_op *op)
{
    struct ftc_operator *created;

    if (function == NULL || op == NULL)
        return ftc_error_set(FTC_ERR_ARG, "a function and a place for the operator must be given");
    created = malloc(sizeof(*created));
    if (created == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for an operator");
    *created = (struct ftc_operator){.function = function, .arg = arg, .ordered = ordered};
    *op = created;
    return 0;
}

FTC_API int ftc_op_create(ftc_op_fn *function, void *arg, ftc_op *op)
{
    return create(function, arg, false, op);
}

FTC_API int ftc_op_create_ordered(ftc_op_fn *function, void *arg, ftc_op *op)
{
    return create(function, arg, true, op);
}

FTC_API int ftc_op_free(ftc_op *op)
{
    if (op == NULL || (uintptr_t)*op <= (uintptr_t)FTC_AVG) /* the last built-in one */
        return ftc_error_set(FTC_ERR_ARG, "not a user-defined operator");
    free((struct ftc_operator *)*op);
    *op = NULL;
    return 0;
}

FTC_API int ftc_type_create(size_t bytes, ftc_type *type)
{
    if (type == NULL)
        return ftc_error_set(FTC_ERR_ARG, "there is no place for the type");
    if (bytes == 0 || bytes >= FTC_TYPE_CREATED)
        return ftc_error_set(FTC_ERR_ARG, "a type has 1 to %d bytes, and not %zu",
                             (int)FTC_TYPE_CREATED - 1, bytes);
    *type = (ftc_type)(FTC_TYPE_CREATED + bytes);
    return 0;
}
