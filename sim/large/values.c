/* What ranks give in the calls of a run, and where it goes. */
#include <assert.h>
#include <string.h>

#include "base/mix.h"
#include "include/ftcoll.h"
#include "sim/large/world.h"

/* --- sizes, in elements --- */

static const struct ftc_large_operation *operation_of(const struct ftc_large_world *w,
                                                      int operation)
{
    return &w->story->operation[operation];
}

static int below(const struct ftc_large_world *w, int operation, int from, int to, int limit)
{
    uint64_t which =
        (uint64_t)((operation * FTC_LARGE_SIM_RANKS + from) * FTC_LARGE_SIM_RANKS + to);
    return (int)(ftc_mix(w->story->seed ^ ftc_mix(which + 1)) % (uint64_t)limit);
}

int ftc_large_given(const struct ftc_large_world *w, int operation, int from, int to)
{
    const struct ftc_large_operation *o = operation_of(w, operation);
    bool parts = o->kind != FTC_CALL_ALLGATHER && o->kind != FTC_CALL_GATHER;
    int most = parts ? w->story->part : w->story->elements;

    return o->uneven ? below(w, operation, from, parts ? to : 0, most + 1) : most;
}

int ftc_large_place(const struct ftc_large_world *w, int operation, int from)
{
    bool parts = operation_of(w, operation)->kind == FTC_CALL_ALLTOALL;
    return from * (parts ? w->story->part : w->story->elements);
}

/* The slices of a scatter and reduce_scatter are as the parts that rank 0 would give. */
int ftc_large_slice(const struct ftc_large_world *w, int operation, int rank)
{
    bool last = rank == w->n - 1;
    int before = ftc_large_slice_begin(w, operation, rank);

    return last ? w->n * w->story->part - before : ftc_large_given(w, operation, 0, rank);
}

int ftc_large_slice_begin(const struct ftc_large_world *w, int operation, int rank)
{
    int begin = 0;

    for (int r = 0; r < rank; r++)
        begin += ftc_large_given(w, operation, 0, r);
    return begin;
}

/* --- elements --- */

uint64_t ftc_large_tag(int operation, int element)
{
    return (uint64_t)(operation * 64 + element + 1);
}

uint64_t ftc_large_word(int operation, int from, int to, int element)
{
    return ftc_large_tag(operation, element) << 16 | (uint64_t)(from << 8 | to << 4 | 5);
}

static uint64_t count_one(int rank, int operation, int element)
{
    return UINT64_C(1) << (rank * FTC_LARGE_COUNT_BITS) | ftc_large_tag(operation, element)
                                                              << FTC_LARGE_TAG_SHIFT;
}

static void add(void *arg, const void *in, void *inout, size_t size)
{
    const uint64_t *from = in;
    uint64_t *to = inout;

    (void)arg;
    for (size_t i = 0; i < size / sizeof(*to); i++)
        to[i] += from[i];
}

/* A string is its length, in the lowest byte, and the letters above it: the last one lowest. */
int ftc_large_letters(uint64_t element)
{
    return (int)(element & 0xff);
}

int ftc_large_letter(uint64_t element, int i)
{
    int shift = 8 + (ftc_large_letters(element) - 1 - i) * FTC_LARGE_LETTER_BITS;
    return (int)(element >> shift & ((1u << FTC_LARGE_LETTER_BITS) - 1));
}

static void append(void *arg, const void *in, void *inout, size_t size)
{
    const uint64_t *from = in;
    uint64_t *to = inout;

    (void)arg;
    for (size_t i = 0; i < size / sizeof(*to); i++) {
        int letters = ftc_large_letters(to[i]), all = letters + ftc_large_letters(from[i]);
        uint64_t left = (from[i] >> 8) << (letters * FTC_LARGE_LETTER_BITS);
        to[i] = (left | to[i] >> 8) << 8 | (uint64_t)all;
    }
}

/* --- places --- */

/* The bytes [offset, offset + size) of the contribution of `from` go to its place. In an uneven
 * alltoall the first bytes say where this rank's part begins. */
static void take(void *arg, int from, size_t offset, const void *data, size_t size, bool first,
                 void *result)
{
    struct ftc_large_taking *t = arg;
    const struct ftc_large_operation *o = operation_of(t->world, t->operation);
    size_t element = sizeof(uint64_t), part = (size_t)t->world->story->part * element;

    if (from > t->lowest || first != (t->lowest == FTC_LARGE_SIM_RANKS || first))
        ftc_large_violate(t->world, "call %d: rank %d takes %d after %d", t->operation, t->rank,
                          from, t->lowest);
    t->lowest = from;
    if (o->kind == FTC_CALL_ALLTOALL && o->uneven && !t->bounded[from]) {
        if (size == 2 * element && offset == (size_t)t->rank * element)
            memcpy(&t->begin[from], data, element);
        t->bounded[from] = true;
        return;
    }
    if (o->kind == FTC_CALL_ALLTOALL && !o->uneven)
        t->begin[from] = (size_t)t->rank * part;
    size_t all = (size_t)ftc_large_given(t->world, t->operation, from, t->rank) * element;
    if (offset < t->begin[from] || offset - t->begin[from] + size > all) {
        ftc_large_violate(t->world, "call %d: rank %d takes %zu bytes from %zu on of %d",
                          t->operation, t->rank, size, offset, from);
        return;
    }
    memcpy((unsigned char *)result +
               (size_t)ftc_large_place(t->world, t->operation, from) * element +
               (offset - t->begin[from]),
           data, size);
}

/* --- calls --- */

static void set_parts(struct ftc_large_world *w, int rank, int operation, int begin, bool slices)
{
    struct ftc_large_process *p = &w->process[rank];

    p->parts[0] = (uint64_t)begin * sizeof(uint64_t);
    for (int r = 0; r < w->n; r++)
        p->parts[r + 1] =
            p->parts[r] +
            sizeof(uint64_t) * (uint64_t)(slices ? ftc_large_slice(w, operation, r)
                                                 : ftc_large_given(w, operation, rank, r));
    p->call.parts = p->parts;
}

static int fill_sum(struct ftc_large_world *w, int rank, int operation, bool slices)
{
    struct ftc_large_process *p = &w->process[rank];
    int elements = slices ? w->n * w->story->part : w->story->elements;

    for (int e = 0; e < elements; e++)
        p->input[e] = count_one(rank, operation, e);
    if (slices)
        set_parts(w, rank, operation, 0, true);
    p->call.combine = add;
    p->call.signature.operator_code = 1;
    return elements;
}

static int fill_scan(struct ftc_large_world *w, int rank)
{
    struct ftc_large_process *p = &w->process[rank];

    for (int e = 0; e < w->story->elements; e++)
        p->input[e] = (uint64_t)rank << 8 | 1;
    p->call.combine = append;
    p->call.signature.operator_code = FTC_OPERATOR_ORDERED;
    return w->story->elements;
}

static int fill_gather(struct ftc_large_world *w, int rank, int operation)
{
    struct ftc_large_process *p = &w->process[rank];
    int given = ftc_large_given(w, operation, rank, 0);

    for (int e = 0; e < given; e++)
        p->input[e] = ftc_large_word(operation, rank, 0, e);
    p->call.input_size = (size_t)given * sizeof(uint64_t);
    return w->story->elements;
}

/* The parts for the ranks, one behind the other; behind a table of them, if they are uneven. */
static int fill_alltoall(struct ftc_large_world *w, int rank, int operation)
{
    struct ftc_large_process *p = &w->process[rank];
    bool uneven = operation_of(w, operation)->uneven;
    int table = uneven ? w->n + 1 : 0, at = table;

    if (uneven)
        set_parts(w, rank, operation, table, false);
    memcpy(p->input, p->parts, (size_t)table * sizeof(uint64_t));
    for (int to = 0; to < w->n; to++)
        for (int e = 0; e < ftc_large_given(w, operation, rank, to); e++)
            p->input[at++] = ftc_large_word(operation, rank, to, e);
    p->call.input_size = (size_t)at * sizeof(uint64_t);
    return table + w->n * w->story->part;
}

static int fill_from_root(struct ftc_large_world *w, int rank, int operation)
{
    struct ftc_large_process *p = &w->process[rank];
    const struct ftc_large_operation *o = operation_of(w, operation);
    bool scatters = o->kind == FTC_CALL_SCATTER;
    int elements = scatters ? w->n * w->story->part : w->story->elements;

    for (int e = 0; e < elements; e++)
        p->input[e] = ftc_large_word(operation, o->root, 0, e);
    if (rank != o->root)
        p->call.input = NULL;
    else if (scatters && o->uneven)
        set_parts(w, rank, operation, 0, true);
    return elements;
}

static int fill(struct ftc_large_world *w, int rank, int operation)
{
    struct ftc_large_process *p = &w->process[rank];

    switch (operation_of(w, operation)->kind) {
    case FTC_CALL_ALLREDUCE:
    case FTC_CALL_REDUCE:
        return fill_sum(w, rank, operation, false);
    case FTC_CALL_REDUCE_SCATTER:
        return fill_sum(w, rank, operation, true);
    case FTC_CALL_SCAN:
    case FTC_CALL_EXSCAN:
        return fill_scan(w, rank);
    case FTC_CALL_ALLGATHER:
    case FTC_CALL_GATHER:
        return fill_gather(w, rank, operation);
    case FTC_CALL_ALLTOALL:
        return fill_alltoall(w, rank, operation);
    case FTC_CALL_SCATTER:
    case FTC_CALL_BCAST:
        return fill_from_root(w, rank, operation);
    default:
        p->call.input = NULL;
        return 0;
    }
}

void ftc_large_values_begin(struct ftc_large_world *w, int rank)
{
    struct ftc_large_process *p = &w->process[rank];
    const struct ftc_large_operation *o = operation_of(w, p->at);

    p->taking = (struct ftc_large_taking){
        .world = w, .rank = rank, .operation = p->at, .lowest = FTC_LARGE_SIM_RANKS};
    p->call = (struct ftc_call){.signature = {.kind = (uint8_t)o->kind, .root = o->root},
                                .input = p->input,
                                .take = take,
                                .take_arg = &p->taking};
    int elements = fill(w, rank, p->at);
    p->call.signature.size = (uint64_t)elements * sizeof(uint64_t);
    p->call.signature.type = elements > 0 ? FTC_UINT64 : 0;
    p->call.slice_offset = (size_t)ftc_large_slice_begin(w, p->at, rank) * sizeof(uint64_t);
    p->call.slice_size = (size_t)ftc_large_slice(w, p->at, rank) * sizeof(uint64_t);
    for (int e = 0; e < FTC_LARGE_SIM_RESULT; e++)
        w->value[rank][p->at][e] = FTC_LARGE_UNTOUCHED;
}
