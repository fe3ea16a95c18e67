/* Checks what the collectives promise: sums and slices, and how calls end. */
#include <inttypes.h>

#include "sim/large/world.h"

/* --- sums --- */

static int count_of(uint64_t value, int rank)
{
    return (int)(value >> (rank * FTC_LARGE_COUNT_BITS) & ((1u << FTC_LARGE_COUNT_BITS) - 1));
}

static uint64_t counts_of(uint64_t value)
{
    return value & ((UINT64_C(1) << FTC_LARGE_TAG_SHIFT) - 1);
}

static void judge_rank(struct ftc_large_world *w, int by, int operation, int rank, int count,
                       const struct ftc_set *failed)
{
    if (count > 1)
        ftc_large_violate(w, "call %d: rank %d has the input of %d %d times", operation, by, rank,
                          count);
    if (count == 0 && w->process[rank].alive)
        ftc_large_violate(w, "call %d: rank %d has left out %d, which lives", operation, by, rank);
    if (count == 0 && w->story->settings.scheme == FTC_SCHEME_LIST && !ftc_set_has(failed, rank))
        ftc_large_violate(w, "call %d: rank %d has left out %d and does not name it", operation, by,
                          rank);
}

/* The result is `size` elements of the sum, from `begin` on. */
static void judge_sum(struct ftc_large_world *w, int rank, int operation, int begin, int size,
                      const struct ftc_set *failed)
{
    const uint64_t *value = w->value[rank][operation];
    uint64_t counts = counts_of(value[0]), inputs = 0;

    for (int r = 0; r < w->n && size > 0; r++)
        inputs += (uint64_t)count_of(counts, r);
    for (int e = 0; e < size; e++)
        if (value[e] !=
            (counts | (inputs * ftc_large_tag(operation, begin + e)) << FTC_LARGE_TAG_SHIFT))
            ftc_large_violate(
                w, "call %d: rank %d has %" PRIx64 " in element %d, and %" PRIx64 " in the first",
                operation, rank, value[e], e, value[0]);
    for (int r = 0; r < w->n && size > 0; r++)
        judge_rank(w, rank, operation, r, count_of(value[0], r), failed);
}

/* How many elements of its result a rank has of a sum. */
static int summed(const struct ftc_large_world *w, int operation, int rank)
{
    const struct ftc_large_operation *o = &w->story->operation[operation];

    if (o->kind == FTC_CALL_REDUCE_SCATTER)
        return ftc_large_slice(w, operation, rank);
    return o->kind == FTC_CALL_ALLREDUCE || o->root == rank ? w->story->elements : 0;
}

static void compare_sums(struct ftc_large_world *w, int operation, int one, int other)
{
    if (summed(w, operation, one) > 0 && summed(w, operation, other) > 0 &&
        counts_of(w->value[one][operation][0]) != counts_of(w->value[other][operation][0]))
        ftc_large_violate(w, "call %d: ranks %d and %d live and have different inputs", operation,
                          one, other);
}

static void judge_whole(struct ftc_large_world *w, int rank, int operation)
{
    int root = w->story->operation[operation].root;

    for (int e = 0; e < w->story->elements && rank != root; e++)
        if (w->value[rank][operation][e] != ftc_large_word(operation, root, 0, e))
            ftc_large_violate(w, "call %d: rank %d has %" PRIx64 " in element %d", operation, rank,
                              w->value[rank][operation][e], e);
}

static void judge_slice(struct ftc_large_world *w, int rank, int operation)
{
    int begin = ftc_large_slice_begin(w, operation, rank);
    int root = w->story->operation[operation].root;

    for (int e = 0; e < ftc_large_slice(w, operation, rank); e++)
        if (w->value[rank][operation][e] != ftc_large_word(operation, root, 0, begin + e))
            ftc_large_violate(w, "call %d: rank %d has %" PRIx64 " in element %d of its slice",
                              operation, rank, w->value[rank][operation][e], e);
}

/* --- results --- */

void ftc_large_judge_result(struct ftc_large_world *w, int rank, int operation,
                            const struct ftc_set *failed)
{
    enum ftc_call_kind kind = w->story->operation[operation].kind;
    int slice = kind == FTC_CALL_REDUCE_SCATTER ? ftc_large_slice_begin(w, operation, rank) : 0;

    switch (kind) {
    case FTC_CALL_ALLREDUCE:
    case FTC_CALL_REDUCE:
    case FTC_CALL_REDUCE_SCATTER:
        judge_sum(w, rank, operation, slice, summed(w, operation, rank), failed);
        break;
    case FTC_CALL_BCAST:
        judge_whole(w, rank, operation);
        break;
    case FTC_CALL_SCATTER:
        judge_slice(w, rank, operation);
        break;
    case FTC_CALL_ALLGATHER:
    case FTC_CALL_ALLTOALL:
    case FTC_CALL_GATHER:
        ftc_large_judge_places(w, rank, operation, failed);
        break;
    case FTC_CALL_SCAN:
    case FTC_CALL_EXSCAN:
        ftc_large_judge_scan(w, rank, operation, failed);
        break;
    default:
        break;
    }
}

/* A call that was left to the core has written nothing, but where sums are written as they come. */
static void judge_untouched(struct ftc_large_world *w, int rank, int operation)
{
    enum ftc_call_kind kind = w->story->operation[operation].kind;
    bool early = kind == FTC_CALL_REDUCE_SCATTER || kind == FTC_CALL_REDUCE;

    for (int e = 0; e < FTC_LARGE_SIM_RESULT && !early; e++)
        if (w->value[rank][operation][e] != FTC_LARGE_UNTOUCHED)
            ftc_large_violate(w, "call %d: rank %d has no result, and element %d was written",
                              operation, rank, e);
}

static void compare(struct ftc_large_world *w, int operation, int lower, int higher)
{
    enum ftc_call_kind kind = w->story->operation[operation].kind;

    if (w->end[lower][operation] != w->end[higher][operation])
        ftc_large_violate(w, "call %d: one of the ranks %d and %d has a result", operation, lower,
                          higher);
    if (w->end[higher][operation] != FTC_LARGE_END_RESULT)
        return;
    if (kind == FTC_CALL_ALLREDUCE || kind == FTC_CALL_REDUCE_SCATTER)
        compare_sums(w, operation, lower, higher);
    else if (kind == FTC_CALL_ALLGATHER || kind == FTC_CALL_ALLTOALL)
        ftc_large_compare_places(w, operation, lower, higher);
    else if (kind == FTC_CALL_SCAN || kind == FTC_CALL_EXSCAN)
        ftc_large_compare_scans(w, operation, lower, higher);
}

static void judge_call(struct ftc_large_world *w, int operation)
{
    int first = -1;

    for (int r = 0; r < w->n && !ftc_large_broken(w); r++) {
        if (!w->process[r].alive)
            continue;
        first = first < 0 ? r : first;
        if (w->end[r][operation] == FTC_LARGE_END_PROTECTED)
            judge_untouched(w, r, operation);
        for (int lower = first; lower < r; lower++)
            if (w->process[lower].alive)
                compare(w, operation, lower, r);
    }
    w->sums->results[w->story->operation[operation].kind] +=
        first >= 0 && w->end[first][operation] == FTC_LARGE_END_RESULT;
}

/* Agreement is checked among live ranks. */
void ftc_large_judge_end(struct ftc_large_world *w)
{
    for (int r = 0; r < w->n; r++)
        if (w->process[r].alive && w->process[r].at < w->story->operations)
            ftc_large_violate(w, "rank %d waits for ever in call %d", r, w->process[r].at);
    for (int i = 0; i < w->story->operations && !ftc_large_broken(w); i++)
        judge_call(w, i);
}
