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
    return ftc_communicators_say(c->set, c->number, c->job_rank[rank], FTC_WORD_REVOKE);
}

/* To the members at the distances 1, 2, 4, ... among those that live. */
static int spread_revoke(struct ftc_communicator *c)
{
    int rank = c->self, distance = 0, rc = 0;

    c->next_told = next_live(c, rank);
    while (rc == 0 && (rank = next_live(c, rank)) != c->self) {
        distance++;
        if ((distance & (distance - 1)) == 0)
            rc = say_revoke(c, rank);
    }
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
    return rc == 0 ? ftc_communicator_learn_revoked(child) : rc;
}

/* Ends the calls that are under way, or wait for it. The engine learns of the revoke after that. */
static int interrupt(struct ftc_communicator *c)
{
    int rc = 0;

    while (rc == 0 && c->first != NULL && c->first->kind != FTC_STARTED_CLOSING) {
        struct ftc_started *started = c->first;
        rc = ftc_communicator_put(c, FTC_COMMUNICATORS_CUT_OFF, started->ticket);
        if (rc == 0 && started->child != NULL)
            rc = abandon(started->child);
        c->told = true;
        ftc_started_pop(c);
    }
    if (c->first != NULL) { /* the closing goes on, as an agreement */
        ftc_communicator_end_call(c);
        c->first->after = true;
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

int ftc_communicator_learn_revoked(struct ftc_communicator *c)
{
    if (c->revoked)
        return 0;
    c->revoked = true;
    ftc_communicators_note(c->set, FTC_COMMUNICATORS_EVENT_REVOKED);
    int rc = 0;
    if (c->told || !FTC_COMMUNICATORS_MUTATED(REVOKE_NOT_PASSED_ON))
        rc = spread_revoke(c);
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
                                             : ftc_communicator_learn_revoked(parent);
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
    return ftc_communicators_put(c->set,
                                 &(struct ftc_communicators_output){.kind = FTC_COMMUNICATORS_LOST,
                                                                    .number = c->number,
                                                                    .communicator = c,
                                                                    .rank = c->job_rank[rank]});
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
    rc = ftc_communicator_learn_revoked(c);
    if (rc != 0)
        return rc;
    return is_closing(c) ? end_as_told(c) : lose(c, rank);
}
