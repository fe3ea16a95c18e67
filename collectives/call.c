/* The kinds of calls, in one table. */
#include "collectives/call.h"

const struct ftc_call_traits ftc_call_table[FTC_CALL_KINDS] = {
    [FTC_CALL_NONE] = {.name = "none"},
    [FTC_CALL_ALLREDUCE] =
        {.name = "allreduce", .reduces = true, .has_result = true, .carries = true, .levels = true},
    [FTC_CALL_REDUCE] = {.name = "reduce", .rooted = true, .reduces = true, .levels = true},
    [FTC_CALL_BCAST] = {.name = "bcast", .rooted = true, .carries = true, .levels = true},
    [FTC_CALL_BARRIER] = {.name = "barrier", .levels = true},
    [FTC_CALL_VALIDATE] = {.name = "validate", .names = true, .levels = true},
    [FTC_CALL_FINALIZE] = {.name = "finalize", .levels = true},
    [FTC_CALL_GOSSIP] = {.name = "gossip", .has_result = true, .carries = true},
    [FTC_CALL_LARGE] = {.name = "large value", .has_result = true, .carries = true},
    [FTC_CALL_SETTLE] = {.name = "settlement", .has_result = true, .carries = true},
    [FTC_CALL_ALLGATHER] =
        {.name = "allgather", .gathers = true, .has_result = true, .carries = true, .levels = true},
    [FTC_CALL_GATHER] = {.name = "gather", .rooted = true, .gathers = true},
    [FTC_CALL_SCATTER] = {.name = "scatter", .rooted = true, .carries = true},
    [FTC_CALL_ALLTOALL] =
        {.name = "alltoall", .gathers = true, .has_result = true, .carries = true, .levels = true},
    [FTC_CALL_REDUCE_SCATTER] = {.name = "reduce_scatter",
                                 .reduces = true,
                                 .has_result = true,
                                 .carries = true,
                                 .levels = true},
    [FTC_CALL_SCAN] =
        {.name = "scan", .gathers = true, .has_result = true, .carries = true, .levels = true},
    [FTC_CALL_EXSCAN] =
        {.name = "exscan", .gathers = true, .has_result = true, .carries = true, .levels = true},
    [FTC_CALL_SIZES] =
        {.name = "sizes", .reduces = true, .has_result = true, .carries = true, .levels = true},
    [FTC_CALL_CREATE] = {.name = "create", .has_result = true, .carries = true},
    [FTC_CALL_OPEN] = {.name = "open", .has_result = true, .carries = true},
    [FTC_CALL_CLOSE] = {.name = "close"},
    [FTC_CALL_AGREE] = {.name = "agree", .has_result = true, .carries = true, .names = true},
};

const char *ftc_call_kind_name(enum ftc_call_kind kind)
{
    return (unsigned)kind < FTC_CALL_KINDS ? ftc_call_table[kind].name : "?";
}

void ftc_call_part(const struct ftc_call *call, int ranks, int rank, size_t *offset, size_t *size)
{
    if (call->parts != NULL) {
        *offset = (size_t)call->parts[rank];
        *size = (size_t)(call->parts[rank + 1] - call->parts[rank]);
        return;
    }
    *size = (size_t)call->signature.size / (size_t)ranks;
    *offset = *size * (size_t)rank;
}
