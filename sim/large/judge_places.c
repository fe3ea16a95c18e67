/* Checks what the collectives promise: places for contributions, and scans. */
#include <inttypes.h>

#include "sim/large/world.h"

/* Must the failed set name exactly the ranks that are left out? */
static bool lists(const struct ftc_large_world *w)
{
    return w->story->settings.scheme == FTC_SCHEME_LIST;
}

/* --- places --- */

static bool is_there(const struct ftc_large_world *w, int rank, int operation, int from)
{
    int place = ftc_large_place(w, operation, from);
    return w->value[rank][operation][place] != FTC_LARGE_UNTOUCHED;
}

static void judge_elements(struct ftc_large_world *w, int rank, int operation, int from)
{
    bool parts = w->story->operation[operation].kind == FTC_CALL_ALLTOALL, there;
    int place = ftc_large_place(w, operation, from);
    int given = ftc_large_given(w, operation, from, rank);
    int room = ftc_large_place(w, operation, from + 1) - place;

    there = given > 0 && is_there(w, rank, operation, from);
    for (int e = 0; e < room; e++) {
        uint64_t value = w->value[rank][operation][place + e];
        uint64_t wanted = there && e < given ? ftc_large_word(operation, from, parts ? rank : 0, e)
                                             : FTC_LARGE_UNTOUCHED;
        if (value != wanted)
            ftc_large_violate(w, "call %d: rank %d has %" PRIx64 " in element %d of %d", operation,
                              rank, value, e, from);
    }
}

static void judge_place(struct ftc_large_world *w, int rank, int operation, int from,
                        const struct ftc_set *failed)
{
    bool there = is_there(w, rank, operation, from);

    judge_elements(w, rank, operation, from);
    if (ftc_large_given(w, operation, from, rank) == 0)
        return;
    if (!there && w->process[from].alive)
        ftc_large_violate(w, "call %d: rank %d has left out %d, which lives", operation, rank,
                          from);
    if (!there && lists(w) && !ftc_set_has(failed, from))
        ftc_large_violate(w, "call %d: rank %d has left out %d and does not name it", operation,
                          rank, from);
    if (there && ftc_set_has(failed, from))
        ftc_large_violate(w, "call %d: rank %d names %d and has written its place", operation, rank,
                          from);
}

void ftc_large_judge_places(struct ftc_large_world *w, int rank, int operation,
                            const struct ftc_set *failed)
{
    int root = w->story->operation[operation].root;

    for (int from = 0; from < w->n && (root < 0 || root == rank); from++)
        judge_place(w, rank, operation, from, failed);
}

void ftc_large_compare_places(struct ftc_large_world *w, int operation, int one, int other)
{
    for (int from = 0; from < w->n; from++)
        if (ftc_large_given(w, operation, from, one) > 0 &&
            ftc_large_given(w, operation, from, other) > 0 &&
            is_there(w, one, operation, from) != is_there(w, other, operation, from))
            ftc_large_violate(w, "call %d: one of the ranks %d and %d has what %d gave", operation,
                              one, other, from);
}

/* --- scans --- */

/* The ranks whose input is in the result, as bits. */
static unsigned scanned(const struct ftc_large_world *w, int operation, int rank)
{
    uint64_t value = w->value[rank][operation][0];
    unsigned ranks = 0;

    for (int i = 0; value != FTC_LARGE_UNTOUCHED && i < ftc_large_letters(value); i++)
        ranks |= 1u << ftc_large_letter(value, i);
    return ranks;
}

static void judge_string(struct ftc_large_world *w, int rank, int operation)
{
    const uint64_t *value = w->value[rank][operation];
    bool none = value[0] == FTC_LARGE_UNTOUCHED;

    for (int e = 0; e < w->story->elements; e++)
        if (value[e] != value[0])
            ftc_large_violate(w, "call %d: elements 0 and %d of rank %d differ", operation, e,
                              rank);
    for (int i = 1; !none && i < ftc_large_letters(value[0]); i++)
        if (ftc_large_letter(value[0], i - 1) >= ftc_large_letter(value[0], i))
            ftc_large_violate(w, "call %d: rank %d has %d before %d", operation, rank,
                              ftc_large_letter(value[0], i - 1), ftc_large_letter(value[0], i));
}

void ftc_large_judge_scan(struct ftc_large_world *w, int rank, int operation,
                          const struct ftc_set *failed)
{
    bool own = w->story->operation[operation].kind == FTC_CALL_SCAN;
    unsigned ranks = scanned(w, operation, rank);

    judge_string(w, rank, operation);
    if (ranks >> (rank + own) != 0)
        ftc_large_violate(w, "call %d: rank %d has the input of a higher one", operation, rank);
    for (int r = 0; r < rank + own; r++) {
        bool there = (ranks >> r & 1) != 0, named = ftc_set_has(failed, r);
        if (!there && (w->process[r].alive || (lists(w) && !named)))
            ftc_large_violate(w, "call %d: rank %d has left out %d", operation, rank, r);
        if (there && named)
            ftc_large_violate(w, "call %d: rank %d names %d and has its input", operation, rank, r);
    }
}

void ftc_large_compare_scans(struct ftc_large_world *w, int operation, int lower, int higher)
{
    bool own = w->story->operation[operation].kind == FTC_CALL_SCAN;
    unsigned before = (1u << (lower + own)) - 1;

    if (scanned(w, operation, lower) != (scanned(w, operation, higher) & before))
        ftc_large_violate(w, "call %d: ranks %d and %d have left out different ranks", operation,
                          lower, higher);
}
