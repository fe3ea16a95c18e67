/* Element types and operators: names, sizes, and which loop combines what (values/loops.c). */
#include "collectives/values/types.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "collectives/values/loops.h"

#define CREATED   "a created type"
#define PAGE_ZERO 4096 /* no object lies below: such a handle is a number, not a pointer */

struct type_info {
    const char *name; /* NULL: there is no such type */
    size_t size;
};

#define INFO_ROW(constant, suffix, T, unused) [constant] = {#suffix, sizeof(T)},
static const struct type_info infos[FTC_TYPES] = {INTEGER_TYPES(INFO_ROW) FLOAT_TYPES(INFO_ROW)
                                                      PAIR_TYPES(INFO_ROW)};

/* Does the number have the form of a type of ftc_type_create()? */
static bool is_created(ftc_type type)
{
    return (unsigned)type > (unsigned)FTC_TYPE_CREATED &&
           (unsigned)type < 2 * (unsigned)FTC_TYPE_CREATED;
}

static struct type_info info_of(ftc_type type)
{
    if (is_created(type))
        return (struct type_info){CREATED, (unsigned)type - (unsigned)FTC_TYPE_CREATED};
    return (unsigned)type < FTC_TYPES ? infos[type] : (struct type_info){NULL, 0};
}

FTC_HOT size_t ftc_type_size(ftc_type type)
{
    return info_of(type).size;
}

const char *ftc_type_name(ftc_type type)
{
    const char *name = info_of(type).name;
    return name != NULL ? name : "?";
}

uint8_t ftc_type_code(ftc_type type)
{
    return is_created(type) ? FTC_TYPE_CODE_CREATED : (uint8_t)type;
}

const char *ftc_type_code_name(uint8_t code)
{
    return code == FTC_TYPE_CODE_CREATED ? CREATED : ftc_type_name((ftc_type)code);
}

const char *ftc_operator_name(int operator_code)
{
    static const char *const names[CODES] = {"none", "sum",  "prod", "min",  "max",    "land",
                                             "lor",  "band", "bor",  "bxor", "minloc", "maxloc"};

    if (operator_code == FTC_OPERATOR_USER)
        return "user-defined";
    if (operator_code == FTC_OPERATOR_ORDERED)
        return "ordered user-defined";
    return operator_code >= 0 && operator_code < CODES ? names[operator_code] : "?";
}

/* --- reductions --- */

/* The loops for this processor. All loops give the same bits. */
static ftc_loops *best_loops(void)
{
#ifdef FTC_LOOPS_X86
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd"))
        return &ftc_loops_v4;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return &ftc_loops_v3;
#endif
    return &ftc_loops_baseline;
}

/* For an error message: the types for which such an operator is defined. */
static const char *types_of(int operator_code)
{
    if (operator_code >= MINLOC)
        return "a value-index pair type";
    return operator_code >= LAND ? "an integer type" : "an integer or floating-point type";
}

/* Is this a handle of ftc_op_create()? Garbage is recognised as far as possible. */
static bool is_user_handle(ftc_op op)
{
    uintptr_t handle = (uintptr_t)op;
    return handle >= PAGE_ZERO && handle % _Alignof(struct ftc_operator) == 0 &&
           op->function != NULL;
}

FTC_HOT int ftc_reduction_init(struct ftc_reduction *reduction, ftc_type type, ftc_op op)
{
    struct ftc_reduction r = {.type = type, .element_size = ftc_type_size(type)};
    uintptr_t code = (uintptr_t)op;

    if (r.element_size == 0)
        return ftc_error_set(FTC_ERR_ARG,
                             "%d is no element type: pass one of FTC_INT8 ... FTC_DOUBLE_INT32, or "
                             "one from ftc_type_create()",
                             (int)type);
    if (r.element_size > FTC_ELEMENT_MAX)
        return ftc_error_set(FTC_ERR_TYPE, "operators take elements of at most %d bytes, not %zu",
                             FTC_ELEMENT_MAX, r.element_size);
    if (code >= SUM && code < CODES) {
        r.operator_code = (int)code;
        r.builtin = is_created(type) ? NULL : (*best_loops())[type][code];
        if (r.builtin == NULL)
            return ftc_error_set(FTC_ERR_TYPE, "operator %s is not defined for type %s: pass %s",
                                 ftc_operator_name(r.operator_code), ftc_type_name(type),
                                 types_of(r.operator_code));
    } else if (is_user_handle(op)) {
        r.operator_code = op->ordered ? FTC_OPERATOR_ORDERED : FTC_OPERATOR_USER;
        r.user = op;
    } else if (op == FTC_AVG) {
        return ftc_error_set(
            FTC_ERR_ARG,
            "FTC_AVG is for ftc_gossip_allreduce() alone: divide a sum by the ranks in it");
    } else {
        return ftc_error_set(FTC_ERR_ARG,
                             "%p is no operator: pass a built-in one or one from ftc_op_create()",
                             (const void *)op);
    }
    *reduction = r;
    return FTC_SUCCESS;
}

FTC_HOT void ftc_reduction_combine(void *arg, const void *in, void *inout, size_t size)
{
    const struct ftc_reduction *reduction = arg;
    size_t count = size / reduction->element_size;

    assert(size % reduction->element_size == 0);
    if (count == 0) /* the sides may be NULL then; a user's function need not handle that */
        return;
    if (reduction->builtin != NULL)
        reduction->builtin(in, inout, inout, count);
    else
        reduction->user->function(in, inout, count, reduction->type, reduction->user->arg);
}

FTC_HOT void ftc_reduction_merge(void *arg, const void *in, const void *with, void *out,
                                 size_t size)
{
    const struct ftc_reduction *reduction = arg;

    reduction->builtin(in, with, out, size / reduction->element_size);
}

FTC_HOT bool ftc_reduction_merges(const struct ftc_reduction *reduction)
{
    return reduction->builtin != NULL && reduction->type <= FTC_DOUBLE;
}

bool ftc_operator_exact(ftc_type type, int operator_code)
{
    bool floating = type == FTC_FLOAT || type == FTC_DOUBLE;
    bool rounds = floating && (operator_code == SUM || operator_code == PROD);

    return operator_code >= SUM && operator_code < CODES && !rounds;
}
