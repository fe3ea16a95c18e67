/* Giving communicators up: REVOKE (C8), and closing (C7). */
#include <stdlib.h>

#include "collectives/communicators/internal.h"

/* --- closing --- */

int ftc_communicator_close(struct ftc_communicator *c)
{
    c->freed = true;
    struct ftc_started *closing = ftc_started_add(c, FTC_STARTED_CLOSING);
    if (closing == NULL)
        return FTC_ERR_NOMEM;
    closing->after = c->revoked;
    if (FTC_COMMUNICATORS_MUTATED(FORGET_AT_FREE))
        c->ended = true;
    return 0;
}

/* The closing was decided: all that live have called it. */
static int end_as_told(struct ftc_communicator *c)
{
    c->ended = true;
    ftc_communicators_note(c->set, FTC_COMMUNICATORS_EVENT_GONE_TAKEN);
    return FTC_COMMUNICATORS_MUTATED(GONE_NOT_PASSED_ON)
               ? 0
               : ftc_communicator_say_all(c, FTC_WORD_GONE);
}

/* --- revoke --- */

/* The next member after `rank` that this process does not know to have failed; its own rank if
 * there is none. */
static int next_live(const struct ftc_communicator *c, int rank)
{
    do
        rank = (rank + 1) % c->ranks;
    while (rank != c->self && ftc_communicator_knows_failed(c, rank));
    return rank;
}

static int say_revoke(struct ftc_communicator *c, int rank)
{
    return ftc_communicators_say(c->set, c->number, ftc_communicator_in_job(c, rank),
                                 FTC_WORD_REVOKE);
}

/* How many steps along the ring of those that live this rank comes after `teller`. */
static int distance_from(const struct ftc_communicator *c, int teller)
{
    int distance = 0;

    for (int rank = teller; rank != c->self; rank = next_live(c, rank))
        distance++;
    return distance;
}

/* To the members at the distances 1, 2, 4, ... among those that live. `teller` has told those at
 * its own distances; -1: this rank was told by no REVOKE. */
static int spread_revoke(struct ftc_communicator *c, int teller)
{
    int reach = teller >= 0 ? distance_from(c, teller) : c->ranks;
    int rank = c->self, distance = 0, rc = 0;

    if (reach == 1 && !FTC_COMMUNICATORS_MUTATED(REVOKE_NOT_TO_NEXT))
        reach = 2;
    c->next_told = next_live(c, rank);
    while (rc == 0 && (rank = next_live(c, rank)) != c->self && ++distance < reach)
        if ((distance & (distance - 1)) == 0)
            rc = say_revoke(c, rank);
    return rc;
}

int ftc_communicator_revoke_again(struct ftc_communicator *c)
{
    int next = next_live(c, c->self);

    if (!c->revoked || c->next_told < 0 || next == c->next_told || next == c->self ||
        FTC_COMMUNICATORS_MUTATED(REVOKE_ONCE))
        return 0;
    c->next_told = next;
    ftc_communicators_note(c->set, FTC_COMMUNICATORS_EVENT_REVOKE_AGAIN);
    return say_revoke(c, next);
}

/* The opening was cut off here, and others may have delivered it and use the child. They learn that
 * this rank will not come. */
static int abandon(struct ftc_communicator *child)
{
    if (FTC_COMMUNICATORS_MUTATED(KEEP_CHILD)) {
        child->ended = true;
        return 0;
    }
    ftc_communicators_note(child->set, FTC_COMMUNICATORS_EVENT_ABANDONED);
    int rc = ftc_communicator_close(child);
    return rc == 0 ? ftc_communicator_learn_revoked(child, -1) : rc;
}

/* A call that the revoke does not end: an agree, which goes on, and the closing. */
static bool survives(const struct ftc_started *started)
{
    return started->kind == FTC_STARTED_CLOSING ||
           (started->kind == FTC_STARTED_OPERATION &&
            started->call.signature.kind == FTC_CALL_AGREE &&
            !FTC_COMMUNICATORS_MUTATED(AGREE_CUT_OFF));
}

static int cut_off(struct ftc_communicator *c, const struct ftc_started *started)
{
    int rc = ftc_communicator_put(c, FTC_COMMUNICATORS_CUT_OFF, started->ticket);

    c->told = true;
    return rc == 0 && started->child != NULL ? abandon(started->child) : rc;
}

/* The closing goes on as an agreement. */
static void go_on_after(struct ftc_communicator *c, struct ftc_started *started)
{
    if (started == c->first && !started->after)
        ftc_communicator_end_call(c);
    started->after = true;
}

/* Ends the calls that are under way, or wait for it. The engine learns of the revoke after that. */
static int interrupt(struct ftc_communicator *c)
{
    struct ftc_started *behind;
    int rc = 0;

    for (struct ftc_started *started = c->first; rc == 0 && started != NULL; started = behind) {
        behind = started->next;
        if (survives(started)) {
            go_on_after(c, started);
            continue;
        }
        rc = cut_off(c, started);
        ftc_started_remove(c, started);
    }
    return rc == 0 ? ftc_communicator_put(c, FTC_COMMUNICATORS_REVOKED, 0) : rc;
}

/* C5: a call of ftc_comm_create() is under way in its parent, too. */
static int interrupt_groups(struct ftc_communicator *parent)
{
    int rc = 0;

    for (struct ftc_communicator *c = parent->set->first; rc == 0 && c != NULL; c = c->next) {
        if (c->parent != parent->number || c->first == NULL)
            continue;
        c->revoked = true;
        rc = interrupt(c);
        parent->told = true;
        c->left = true;
        if (rc == 0)
            rc = ftc_communicator_say_all(c, FTC_WORD_BYE);
    }
    return rc;
}

int ftc_communicator_learn_revoked(struct ftc_communicator *c, int teller)
{
    if (c->revoked)
        return 0;
    c->revoked = true;
    ftc_communicators_note(c->set, FTC_COMMUNICATORS_EVENT_REVOKED);
    int rc = 0;
    if (c->told || !FTC_COMMUNICATORS_MUTATED(REVOKE_NOT_PASSED_ON))
        rc = spread_revoke(c, teller);
    if (rc == 0)
        rc = interrupt(c);
    return rc == 0 ? interrupt_groups(c) : rc;
}

/* --- GONE --- */

/* The communicator in which the creation of this child is under way. For a group it is the parent
 * of its temporary communicator. NULL: none. */
static struct ftc_communicator *parent_of(const struct ftc_communicator *child)
{
    struct ftc_communicator *c = child->set->first;

    while (c != NULL && (c->first == NULL || c->first->child != child))
        c = c->next;
    if (c == NULL || !ftc_communicator_is_temporary(c->number))
        return c;
    return ftc_communicators_find(child->set, c->parent);
}

/* C9: a rank has forgotten a child that this one is opening. So their parent is revoked. */
static int abandon_as_told(struct ftc_communicator *child)
{
    struct ftc_communicator *parent = parent_of(child);

    return parent == NULL || parent->revoked ? FTC_ERR_PROTO
                                             : ftc_communicator_learn_revoked(parent, -1);
}

static bool is_closing(const struct ftc_communicator *c)
{
    return c->first != NULL && c->first->kind == FTC_STARTED_CLOSING;
}

/* C9: a rank will never answer in c again. It lives, and is failed in c alone. */
static int lose(struct ftc_communicator *c, int rank)
{
    ftc_communicators_note(c->set, FTC_COMMUNICATORS_EVENT_LOST);
    int rc = ftc_communicator_revoke_again(c);
    if (rc != 0 || FTC_COMMUNICATORS_MUTATED(LOST_AWAITED))
        return rc;
    return ftc_communicators_put(
        c->set, &(struct ftc_communicators_output){.kind = FTC_COMMUNICATORS_LOST,
                                                   .number = c->number,
                                                   .communicator = c,
                                                   .rank = ftc_communicator_in_job(c, rank)});
}

int ftc_communicator_take_gone(struct ftc_communicator *c, int rank)
{
    bool opening = !c->in_use && !c->freed;

    if (c->called && is_closing(c))
        return end_as_told(c);
    if (c->number == FTC_COMMUNICATOR_WORLD)
        return FTC_ERR_PROTO;
    if (opening && FTC_COMMUNICATORS_MUTATED(GONE_IN_OPENING))
        return 0;
    if (!opening && FTC_COMMUNICATORS_MUTATED(LOST_ACCUSED))
        return FTC_ERR_PROTO;
    if (ftc_set_has(&c->lost, rank))
        return 0;
    int rc = opening ? abandon_as_told(c) : 0;
    if (rc != 0)
        return rc;
    ftc_set_add(&c->lost, rank);
    rc = ftc_communicator_learn_revoked(c, -1);
    if (rc != 0)
        return rc;
    return is_closing(c) ? end_as_told(c) : lose(c, rank);
}
