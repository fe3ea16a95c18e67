/* User-defined operators and types. */
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "collectives/values/types.h"
#include "runtime/api/user_operator.h"
#include "runtime/process/heartbeat.h"

struct user_operator {
    struct ftc_operator operator; /* the first member: ftc_op is a pointer to it */
    ftc_op_fn *function;
    void *arg;
};

/* The model spares each call of the library a call of __tls_get_addr(). */
static _Thread_local __attribute__((tls_model("initial-exec"))) bool in_function;

bool ftc_user_operator_runs(void)
{
    return in_function;
}

static void run(const void *in, void *inout, size_t count, ftc_type type, void *arg)
{
    const struct user_operator *op = arg;

    in_function = true;
    ftc_heartbeat_operator(true);
    op->function(in, inout, count, type, op->arg);
    ftc_heartbeat_operator(false);
    in_function = false;
}

static int create(ftc_op_fn *function, void *arg, bool ordered, ftc_op *op)
{
    struct user_operator *created;

    if (function == NULL || op == NULL)
        return ftc_error_set(FTC_ERR_ARG, "a function and a place for the operator must be given");
    created = malloc(sizeof(*created));
    if (created == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for an operator");
    *created =
        (struct user_operator){.operator= {.function = run, .arg = created, .ordered = ordered},
                               .function = function,
                               .arg = arg};
    *op = &created->operator;
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
    free((struct user_operator *)(void *)*op);
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
