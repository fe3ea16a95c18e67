/* Running one collective of the API. */
#include "runtime/api/collective.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "runtime/comm/mismatch.h"

FTC_HOT void ftc_collective_clear(struct ftc_collective *c)
{
    c->call = (struct ftc_call){0};
    c->reduction = (struct ftc_reduction){0};
    c->receive = c->packed = c->own_place = NULL;
    c->sizes = NULL;
    c->sizes_count = 0;
}

int ftc_collective_room(struct ftc_collective *c, size_t size)
{
    c->packed = malloc(size > 0 ? size : 1);
    if (c->packed == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for %zu bytes of input", size);
    c->call.input = c->packed;
    return FTC_SUCCESS;
}

/* --- sizes --- */

_Noreturn static void differ(struct ftc_comm *comm, int from, int to)
{
    char words[128];

    snprintf(words, sizeof(words),
             "rank %d does not send as many elements to rank %d as that rank expects", from, to);
    ftc_comm_end_mismatched(comm, words);
}

static size_t bytes_of(uint64_t size)
{
    return size > 0 ? (size_t)size - 1 : 0;
}

bool ftc_collective_wants_sizes(const struct ftc_collective *c)
{
    return c->sizes_count > 0;
}

void ftc_collective_sizes_call(const struct ftc_collective *c, struct ftc_call *call,
                               struct ftc_reduction *reduction)
{
    int rc = ftc_reduction_init(reduction, FTC_UINT64, FTC_MAX);

    assert(rc == FTC_SUCCESS);
    (void)rc;
    *call = (struct ftc_call){.signature = {.kind = FTC_CALL_SIZES,
                                            .type = FTC_UINT64,
                                            .operator_code = (uint8_t)reduction->operator_code,
                                            .root = -1,
                                            .size = c->sizes_count * sizeof(*c->sizes)},
                              .input = c->sizes,
                              .combine = ftc_reduction_combine,
                              .merge = ftc_reduction_merge,
                              .combine_arg = reduction,
                              .element = sizeof(*c->sizes)};
}

uint64_t *ftc_collective_sizes_result(const struct ftc_collective *c)
{
    return c->sizes + c->sizes_count;
}

/* The root compares the contributions with its places. */
static void take_sizes_of_gather(struct ftc_collective *c, struct ftc_comm *comm)
{
    const uint64_t *sizes = ftc_collective_sizes_result(c);
    int root = c->call.signature.root;

    for (int rank = 0; rank < comm->size; rank++) {
        if (bytes_of(sizes[rank]) > c->call.signature.size)
            c->call.signature.size = bytes_of(sizes[rank]);
        if (comm->rank == root && sizes[rank] > 0 &&
            bytes_of(sizes[rank]) != ftc_part_size(&c->gathering.places, rank))
            differ(comm, rank, root);
    }
}

/* The sizes are those that the root sends. If it has failed there are none. */
static void take_sizes_of_scatter(struct ftc_collective *c, struct ftc_comm *comm)
{
    const uint64_t *sizes = ftc_collective_sizes_result(c);
    uint64_t *parts = c->sizes + 2 * c->sizes_count;
    size_t mine = c->call.slice_size, total = 0;
    int root = c->call.signature.root;

    for (int rank = 0; rank < comm->size; rank++) {
        size_t size = bytes_of(sizes[rank]);
        if (rank == comm->rank)
            c->call.slice_offset = total;
        if (size > SIZE_MAX / 2 - total || (rank == comm->rank && sizes[rank] > 0 && size != mine))
            differ(comm, root, rank);
        total += size;
        parts[rank + 1] = total;
    }
    c->call.signature.size = total;
    c->call.parts = parts;
}

void ftc_collective_take_sizes(struct ftc_collective *c, struct ftc_comm *comm)
{
    if (c->call.signature.kind == FTC_CALL_GATHER)
        take_sizes_of_gather(c, comm);
    else if (c->call.signature.kind == FTC_CALL_SCATTER)
        take_sizes_of_scatter(c, comm);
    else
        c->call.signature.size = bytes_of(c->sizes[1]);
}

static int agree_on_sizes(struct ftc_collective *c, struct ftc_comm *comm)
{
    struct ftc_reduction reduction;
    struct ftc_call call;

    ftc_collective_sizes_call(c, &call, &reduction);
    int rc = ftc_call_run(comm, &call, ftc_collective_sizes_result(c));
    if (rc == FTC_SUCCESS)
        ftc_collective_take_sizes(c, comm);
    return rc;
}

/* --- running --- */

void ftc_collective_gathers(struct ftc_collective *c, const struct ftc_comm *comm,
                            ftc_take_fn *take, ftc_place_fn *place)
{
    c->gathering = (struct ftc_gathering){
        .rank = comm->rank, .ranks = comm->size, .mismatched = -1, .highest = -1, .base = -1};
    c->call.take = take;
    c->call.place = place;
    c->call.take_arg = &c->gathering;
}

static int run(struct ftc_collective *c, struct ftc_comm *comm)
{
    int rc = ftc_collective_wants_sizes(c) ? agree_on_sizes(c, comm) : FTC_SUCCESS;

    return rc == FTC_SUCCESS ? ftc_call_run(comm, &c->call, c->receive) : rc;
}

int ftc_collective_finish(const struct ftc_collective *c, struct ftc_comm *comm, int rc)
{
    if (rc == FTC_SUCCESS && c->own_place != NULL)
        memcpy(c->own_place, c->own, c->own_size);
    if (c->call.take != NULL && c->gathering.mismatched >= 0)
        differ(comm, c->gathering.mismatched, comm->rank);
    return rc;
}

void ftc_collective_free(struct ftc_collective *c)
{
    if (c->call.take != NULL)
        free(c->gathering.bounds);
    if (c->packed != NULL) /* most have neither: no calls then */
        free(c->packed);
    if (c->sizes != NULL)
        free(c->sizes);
}

int ftc_collective_end(struct ftc_collective *c, struct ftc_comm *comm, int rc)
{
    if (rc == FTC_SUCCESS)
        rc = ftc_collective_finish(c, comm, run(c, comm));
    if (c->packed != NULL || c->sizes != NULL) /* `bounds` come with both */
        ftc_collective_free(c);
    return ftc_call_end(comm, rc);
}
