/* The snapshots L and G, and the rules of the functions that read them. */
#include "runtime/comm/snapshot.h"

#include <stdbool.h>

#include "base/error.h"

#define STATES    (FTC_RANK_OK | FTC_RANK_FAILED | FTC_RANK_NULL)
#define MODIFIERS (FTC_RANK_NEW | FTC_RANK_OLD)

int ftc_snapshot_init(struct ftc_snapshot *s, int ranks)
{
    struct ftc_set *sets[] = {&s->known, &s->agreed, &s->known_before, &s->agreed_before,
                              &s->recognized};

    *s = (struct ftc_snapshot){0};
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        if (ftc_set_init(sets[i], ranks) != 0) {
            ftc_snapshot_fini(s);
            return FTC_ERR_NOMEM;
        }
    }
    return 0;
}

void ftc_snapshot_fini(struct ftc_snapshot *s)
{
    ftc_set_fini(&s->known);
    ftc_set_fini(&s->agreed);
    ftc_set_fini(&s->known_before);
    ftc_set_fini(&s->agreed_before);
    ftc_set_fini(&s->recognized);
}

void ftc_snapshot_local(struct ftc_snapshot *s, const struct ftc_set *known)
{
    ftc_set_copy(&s->known_before, &s->known);
    ftc_set_copy(&s->known, known);
}

void ftc_snapshot_global(struct ftc_snapshot *s, const struct ftc_set *agreed)
{
    ftc_set_copy(&s->agreed_before, &s->agreed);
    ftc_set_copy(&s->agreed, agreed);
    ftc_snapshot_local(s, agreed); /* L = G, and the history of L moves, too */
}

bool ftc_snapshot_recognizes(const struct ftc_snapshot *s, int rank)
{
    return ftc_set_has(&s->agreed, rank) || ftc_set_has(&s->recognized, rank);
}

static int state_of(const struct ftc_snapshot *s, bool global, int rank)
{
    if (!ftc_set_has(global ? &s->agreed : &s->known, rank))
        return FTC_RANK_OK;
    if (global || ftc_snapshot_recognizes(s, rank))
        return FTC_RANK_NULL;
    return FTC_RANK_FAILED;
}

/* A rank is new if it was not in the set before the last validate call that set it: L - L' and
 * G - G' of the source. A rank that lives is not in the set, and so it is not new. */
static bool is_new(const struct ftc_snapshot *s, bool global, int rank)
{
    const struct ftc_set *now = global ? &s->agreed : &s->known;
    const struct ftc_set *before = global ? &s->agreed_before : &s->known_before;

    return ftc_set_has(now, rank) && !ftc_set_has(before, rank);
}

static bool matches(const struct ftc_snapshot *s, bool global, int types, int rank)
{
    int modifiers = types & MODIFIERS;

    if (!(state_of(s, global, rank) & types))
        return false;
    return modifiers == 0 || modifiers == MODIFIERS ||
           is_new(s, global, rank) == (modifiers == FTC_RANK_NEW);
}

int ftc_snapshot_states(const struct ftc_snapshot *s, bool global, int types, int incount,
                        int *outcount, ftc_rank_info infos[])
{
    int count = 0, written = 0;

    if ((types & ~(STATES | MODIFIERS)) != 0 || (types & STATES) == 0)
        return ftc_error_set(FTC_ERR_ARG,
                             "types %#x: an OR of FTC_RANK_OK, _FAILED, _NULL, narrowed by "
                             "_NEW or _OLD, with at least one state",
                             (unsigned)types);
    if (outcount == NULL || incount < 0 || (incount > 0 && infos == NULL))
        return ftc_error_set(FTC_ERR_ARG, "outcount and, with incount > 0, infos must be given");
    for (int rank = 0; rank < s->known.size; rank++)
        count += matches(s, global, types, rank);
    if (incount > 0 && incount < count)
        return ftc_error_set(FTC_ERR_SIZE, "%d ranks match, the array holds %d", count, incount);
    for (int rank = 0; incount > 0 && rank < s->known.size; rank++)
        if (matches(s, global, types, rank))
            infos[written++] = (ftc_rank_info){.rank = rank, .state = state_of(s, global, rank)};
    *outcount = count;
    return 0;
}

int ftc_snapshot_recognize(struct ftc_snapshot *s, int count, const int ranks[])
{
    if (count < 0 || (count > 0 && ranks == NULL))
        return ftc_error_set(FTC_ERR_ARG, "ranks must be given");
    for (int i = 0; i < count; i++)
        if (ranks[i] < 0 || ranks[i] >= s->known.size || !ftc_set_has(&s->known, ranks[i]))
            return ftc_error_set(FTC_ERR_ARG,
                                 "rank %d is not in L; call ftc_validate_local() first", ranks[i]);
    for (int i = 0; i < count; i++)
        ftc_set_add(&s->recognized, ranks[i]);
    return 0;
}
