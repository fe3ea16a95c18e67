/*
 * The promises of docs/design/agreement.md about several members, checked on masks and numbers.
 * Without fencing, a rank that was declared failed counts as dead for all promises but one: it must
 * return to its application what the others return.
 */
#include "sim/explore/board.h"

static bool alive(const struct ftc_exploration *x, const struct ftc_state *state, int rank)
{
    return !ftc_mask_has(ftc_state_dead(x->n, state), rank);
}

/* G and epoch at the call are equal at all live ranks. `rank` has just called. */
void ftc_explore_check_call(struct ftc_exploration *x, const struct ftc_state *state, int rank)
{
    const struct ftc_local_history *mine = ftc_state_history(x, state, rank);
    int op = mine->called - 1;

    for (int other = 0; other < x->n; other++) {
        if (other == rank || !alive(x, state, other))
            continue;
        const struct ftc_local_history *theirs = ftc_state_history(x, state, other);
        if (theirs->called <= op || theirs->forgotten > op)
            continue;
        if (mine->agreed[op] != theirs->agreed[op])
            ftc_explore_violate(x, "ranks %d and %d call operation %d with different G", rank,
                                other, op);
        if (mine->epoch[op] != theirs->epoch[op])
            ftc_explore_violate(x, "ranks %d and %d call operation %d in different epochs", rank,
                                other, op);
    }
}

/* Rule 3: f failures are masked. Each sub-round left one participant out, and more than f failures
 * hit the last one. */
static void check_masking(struct ftc_exploration *x, ftc_mask dead, int rank,
                          const struct ftc_local_delivery *d, ftc_mask agreed)
{
    struct ftc_ballot_id b = x->local.decision[d->decision].ballot;
    int failures = __builtin_popcount(dead & ~agreed & 0xffu);

    int members = x->n - __builtin_popcount(agreed & 0xffu);

    if (failures < ftc_program_least_failures(&x->local.settings,
                                              x->local.program->operation[d->op].kind, members, b))
        ftc_explore_violate(
            x, "rank %d: operation %d: ballot (%u,%u) was needed after %d failures, with f = %d",
            rank, d->op, b.i, b.s, failures, x->local.settings.f);
}

static void check_truth(struct ftc_exploration *x, ftc_mask dead, int rank,
                        const struct ftc_local_delivery *d, ftc_mask agreed)
{
    int root = x->local.program->operation[d->op].root;

    if ((d->failed & ~dead) != 0)
        ftc_explore_violate(x, "rank %d: operation %d: a live rank is in the failed set", rank,
                            d->op);
    if ((d->left_out & ~dead) != 0)
        ftc_explore_violate(x, "rank %d: operation %d leaves a live rank out", rank, d->op);
    if (d->root_failed && !ftc_mask_has(dead, root))
        ftc_explore_violate(x, "rank %d: operation %d reports live root %d as failed", rank, d->op,
                            root);
    /* with two levels the death of a delegate is not masked, whatever f is */
    if (d->agrees && !ftc_explore_board_is(x, d->op))
        check_masking(x, dead, rank, d, agreed);
    if (d->gives_up && __builtin_popcount(dead & ~agreed & 0xffu) <= x->local.settings.f)
        ftc_explore_violate(x, "rank %d: plain reduce %d gives up after %d failures", rank, d->op,
                            __builtin_popcount(dead & ~agreed & 0xffu));
}

static void check_agreement(struct ftc_exploration *x, const struct ftc_local_history *theirs,
                            int rank, int other, const struct ftc_local_delivery *d)
{
    bool delivered =
        theirs->called > d->op + 1 || (theirs->called == d->op + 1 && !theirs->under_way);

    if (d->agrees && delivered && theirs->decision[d->op] != d->decision)
        ftc_explore_violate(x, "ranks %d and %d, both %s, deliver operation %d differently", other,
                            rank, x->limits->unfenced ? "running" : "alive", d->op);
}

static void check_other(struct ftc_exploration *x, const struct ftc_state *state, int rank,
                        int other, const struct ftc_local_delivery *d)
{
    const struct ftc_local_history *theirs = ftc_state_history(x, state, other);
    bool called = theirs->called > d->op;
    bool posted =
        ftc_explore_board_is(x, d->op) && ftc_explore_board_has_posted(x, state, other, d->op);

    if (d->collects && !called && !posted)
        ftc_explore_violate(x, "rank %d delivers operation %d before rank %d has called it", rank,
                            d->op, other);
    if (d->validates && called && (theirs->known[d->op] & ~d->failed) != 0)
        ftc_explore_violate(x, "rank %d: validate %d does not name all that survivor %d knew", rank,
                            d->op, other);
}

static void check_promise(struct ftc_exploration *x, int rank, const struct ftc_local_delivery *d)
{
    const char *broken = x->limits->promise(rank, d->op, x->local.decision[d->decision].ballot);

    if (broken != NULL)
        ftc_explore_violate(x, "rank %d: operation %d: %s", rank, d->op, broken);
}

/* Called before `rank` changes to its state `to`. */
void ftc_explore_check_delivery(struct ftc_exploration *x, const struct ftc_state *state, int rank,
                                const struct ftc_local_delivery *d, uint32_t to)
{
    const struct ftc_local_history *mine = &x->local.state[to].history;
    bool lives = alive(x, state, rank);

    if (lives)
        check_truth(x, ftc_state_dead(x->n, state), rank, d, mine->agreed[d->op]);
    if (lives && d->validates && (mine->known[d->op] & ~d->failed) != 0)
        ftc_explore_violate(x, "rank %d: validate %d does not name all that it knew", rank, d->op);
    if (lives && ftc_explore_board_is(x, d->op))
        ftc_explore_board_check_counted(x, state, rank, d, to);
    for (int other = 0; other < x->n; other++) {
        if (other == rank || !ftc_state_acts(state, other))
            continue;
        check_agreement(x, ftc_state_history(x, state, other), rank, other, d);
        if (lives && alive(x, state, other))
            check_other(x, state, rank, other, d);
    }
    if (lives && x->limits->promise != NULL && d->agrees)
        check_promise(x, rank, d);
}

void ftc_explore_check_known(struct ftc_exploration *x, const struct ftc_state *state, int rank)
{
    if ((x->local.state[state->word[rank]].known & ~ftc_state_dead(x->n, state)) != 0)
        ftc_explore_violate(x, "rank %d: a live rank is in its L", rank);
}

void ftc_explore_check_end(struct ftc_exploration *x, const struct ftc_state *state)
{
    for (int rank = 0; rank < x->n; rank++) {
        if (!alive(x, state, rank))
            continue;
        const struct ftc_local_history *h = ftc_state_history(x, state, rank);
        if (h->called < x->length || h->under_way)
            ftc_explore_violate(x, "deadlock: rank %d never delivers operation %d", rank,
                                h->called - 1);
        if (x->local.state[state->word[rank]].unsettled)
            ftc_explore_violate(x, "rank %d knows of a failure that is never settled", rank);
    }
}
