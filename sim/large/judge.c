/* Checks what an allreduce promises. */
#include <inttypes.h>

#include "sim/large/world.h"

/* Bits of the count of each rank; the sum that tells elements apart is above them. */
#define COUNT_BITS 6
#define TAG_SHIFT  (COUNT_BITS * FTC_LARGE_SIM_RANKS)

static uint64_t tag(int operation, int element)
{
    return (uint64_t)(operation * FTC_LARGE_SIM_ELEMENTS + element + 1);
}

uint64_t ftc_large_input(int rank, int operation, int element)
{
    return UINT64_C(1) << (rank * COUNT_BITS) | tag(operation, element) << TAG_SHIFT;
}

static int count_of(uint64_t value, int rank)
{
    return (int)(value >> (rank * COUNT_BITS) & ((1u << COUNT_BITS) - 1));
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

static void judge_values(struct ftc_large_world *w, int rank, int operation, const uint64_t *value)
{
    uint64_t counts = value[0] & ((UINT64_C(1) << TAG_SHIFT) - 1);
    uint64_t inputs = 0;

    for (int r = 0; r < w->n; r++)
        inputs += (uint64_t)count_of(counts, r);
    for (int e = 0; e < w->story->elements; e++)
        if (value[e] != (counts | (inputs * tag(operation, e)) << TAG_SHIFT))
            ftc_large_violate(
                w, "call %d: rank %d has %" PRIx64 " in element %d, and %" PRIx64 " in the first",
                operation, rank, value[e], e, value[0]);
}

void ftc_large_judge_result(struct ftc_large_world *w, int rank, int operation,
                            const uint64_t *value, const struct ftc_set *failed)
{
    w->has[rank][operation] = true;
    judge_values(w, rank, operation, value);
    for (int r = 0; r < w->n; r++)
        judge_rank(w, rank, operation, r, count_of(value[0], r), failed);
}

static void compare(struct ftc_large_world *w, int operation, int one, int other)
{
    for (int e = 0; e < w->story->elements; e++)
        if (w->value[one][operation][e] != w->value[other][operation][e]) {
            ftc_large_violate(w, "call %d: ranks %d and %d live and have different results",
                              operation, one, other);
            return;
        }
}

/* Agreement is checked among live ranks. */
void ftc_large_judge_end(struct ftc_large_world *w)
{
    int first = -1;

    for (int r = 0; r < w->n; r++) {
        if (!w->process[r].alive)
            continue;
        if (w->process[r].at < w->story->operations)
            ftc_large_violate(w, "rank %d waits for ever in call %d", r, w->process[r].at);
        first = first < 0 ? r : first;
        for (int i = 0; i < w->story->operations && !ftc_large_broken(w); i++)
            if (w->story->operation[i] == FTC_LARGE_SIM_REDUCES)
                compare(w, i, first, r);
    }
    for (int i = 0; first >= 0 && i < w->story->operations; i++)
        w->sums->results += w->story->operation[i] == FTC_LARGE_SIM_REDUCES;
}
