/* The calls of the storm of communicators whose inputs stay apart: they gather, exchange and
 * scatter blocks. The words of a block are drawn from its sender, its receiver and the operation.
 */
#include "tests/system/groups_storm_calls.h"

/* With counts that differ there is a word between the places, which nobody may write. */
static size_t place_of(const struct call *call, int rank)
{
    return call->counts[ftc_size(call->comm) + rank];
}

static bool gives_each(const struct call *call)
{
    return call->kind == GROUP_ALLTOALL || call->kind == GROUP_SCATTER;
}

static uint64_t block_of(const struct call *call, int from, int to)
{
    return call_word(call, from, gives_each(call) ? to : 0);
}

static void fill(uint64_t *at, size_t count, uint64_t first)
{
    for (size_t i = 0; i < count; i++)
        at[i] = first + i;
}

static bool holds(const uint64_t *at, size_t count, uint64_t first)
{
    for (size_t i = 0; i < count; i++)
        if (at[i] != first + i)
            return false;
    return true;
}

static bool is_untouched(const uint64_t *at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (at[i] != CALL_UNTOUCHED)
            return false;
    return true;
}

/* --- preparing --- */

/* In an alltoall two ranks give each other equally much. */
static void prepare_places(struct call *call)
{
    size_t size = (size_t)ftc_size(call->comm), rank = (size_t)ftc_rank(call->comm);
    size_t turn = call->kind == GROUP_ALLTOALL ? rank : 0;

    call->counts = call_space(call, 2 * size * sizeof(size_t), 0);
    for (size_t i = 0; i < size; i++) {
        call->counts[i] = call->words + (call->sized ? (i + turn) % 4 : 0);
        call->counts[size + i] = call->total;
        call->total += call->counts[i] + (call->sized ? 1 : 0);
    }
    call->count = call->counts[rank];
}

/* In place, the result begins with what this rank gives. */
static void prepare_in_place(struct call *call)
{
    int rank = ftc_rank(call->comm);

    for (int to = 0; to < ftc_size(call->comm); to++)
        if (gives_each(call) || to == rank)
            fill((uint64_t *)call->out + place_of(call, to), call->counts[to],
                 block_of(call, rank, to));
}

void call_prepare_blocks(struct call *call)
{
    int rank = ftc_rank(call->comm);

    prepare_places(call);
    call->in_place &= call->kind == GROUP_ALLGATHER || call->kind == GROUP_ALLTOALL ||
                      (call->kind == GROUP_GATHER && rank == call->root);
    call->in = call_space(call, call->total * sizeof(uint64_t), 0);
    call->out = call_space(call, (call->total + 1) * sizeof(uint64_t), CALL_UNTOUCHED & 0xff);
    for (int to = 0; gives_each(call) && to < ftc_size(call->comm); to++)
        fill((uint64_t *)call->in + place_of(call, to), call->counts[to], block_of(call, rank, to));
    if (!gives_each(call))
        fill(call->in, call->count, block_of(call, rank, 0));
    if (call->in_place)
        prepare_in_place(call);
}

/* --- calling --- */

int call_run_blocks(const struct call *call)
{
    const void *in = call->in_place ? FTC_IN_PLACE : call->in;
    const size_t *counts = call->counts, *places = counts + ftc_size(call->comm);
    size_t count = call->count;
    void *out = call->out;
    ftc_comm *comm = call->comm;
    int root = call->root;

    switch (call->kind) {
    case GROUP_ALLGATHER:
        return call->sized ? ftc_allgatherv(in, count, out, counts, places, FTC_UINT64, comm)
                           : ftc_allgather(in, out, count, FTC_UINT64, comm);
    case GROUP_ALLTOALL:
        return call->sized
                   ? ftc_alltoallv(in, counts, places, out, counts, places, FTC_UINT64, comm)
                   : ftc_alltoall(in, out, count, FTC_UINT64, comm);
    case GROUP_GATHER:
        return call->sized ? ftc_gatherv(in, count, out, counts, places, FTC_UINT64, root, comm)
                           : ftc_gather(in, out, count, FTC_UINT64, root, comm);
    default:
        return call->sized ? ftc_scatterv(in, counts, places, out, count, FTC_UINT64, root, comm)
                           : ftc_scatter(in, out, count, FTC_UINT64, root, comm);
    }
}

int call_start_blocks(struct call *call)
{
    const void *in = call->in_place ? FTC_IN_PLACE : call->in;
    const size_t *counts = call->counts, *places = counts + ftc_size(call->comm);
    size_t count = call->count;
    void *out = call->out;
    ftc_comm *comm = call->comm;
    ftc_request **request = &call->request;
    int root = call->root;

    switch (call->kind) {
    case GROUP_ALLGATHER:
        return call->sized
                   ? ftc_iallgatherv(in, count, out, counts, places, FTC_UINT64, comm, request)
                   : ftc_iallgather(in, out, count, FTC_UINT64, comm, request);
    case GROUP_ALLTOALL:
        return call->sized ? ftc_ialltoallv(in, counts, places, out, counts, places, FTC_UINT64,
                                            comm, request)
                           : ftc_ialltoall(in, out, count, FTC_UINT64, comm, request);
    case GROUP_GATHER:
        return call->sized
                   ? ftc_igatherv(in, count, out, counts, places, FTC_UINT64, root, comm, request)
                   : ftc_igather(in, out, count, FTC_UINT64, root, comm, request);
    default:
        return call->sized
                   ? ftc_iscatterv(in, counts, places, out, count, FTC_UINT64, root, comm, request)
                   : ftc_iscatter(in, out, count, FTC_UINT64, root, comm, request);
    }
}

/* --- judging --- */

/* Is the place as it was before the call? */
static bool is_kept(const struct call *call, int rank, const uint64_t *at)
{
    uint64_t given = block_of(call, ftc_rank(call->comm), rank);

    return call->in_place && gives_each(call) ? holds(at, call->counts[rank], given)
                                              : is_untouched(at, call->counts[rank]);
}

static uint64_t counted_blocks(const struct call *call)
{
    uint64_t ranks = 0;

    for (int rank = 0; rank < ftc_size(call->comm); rank++) {
        const uint64_t *at = (const uint64_t *)call->out + place_of(call, rank);
        size_t count = call->counts[rank];
        if (holds(at, count, block_of(call, rank, ftc_rank(call->comm))))
            ranks |= 1ull << ftc_comm_translate(call->comm, rank, call->world);
        else if (!is_kept(call, rank, at))
            call_wrong(call, "a block is there in part");
        if (call->sized && at[count] != CALL_UNTOUCHED)
            call_wrong(call, "something is behind a block");
    }
    return ranks;
}

uint64_t call_counted_blocks(const struct call *call, int status)
{
    const uint64_t *out = call->out;
    bool gets = call->kind != GROUP_GATHER || ftc_rank(call->comm) == call->root;
    size_t got = 0; /* words that are no places of several ranks */

    if (call->kind == GROUP_SCATTER && status == FTC_SUCCESS) {
        got = call->count;
        if (!holds(out, got, block_of(call, call->root, ftc_rank(call->comm))))
            call_wrong(call, "a scatter has damaged its block");
    }
    if ((call->kind == GROUP_SCATTER || !gets) && !is_untouched(out + got, call->total + 1 - got))
        call_wrong(call, "a rank has got what is not for it");
    if (call->kind == GROUP_SCATTER || !gets || status != FTC_SUCCESS)
        return ~0ull;
    if (out[call->total] != CALL_UNTOUCHED)
        call_wrong(call, "something is behind the last block");
    return counted_blocks(call);
}
