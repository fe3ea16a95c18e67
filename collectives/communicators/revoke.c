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

int ftc_communicator_take_gone(struct ftc_communicator *c)
{
    if (c->freed)
        return end_as_told(c);
    if (c->in_use)
        return FTC_ERR_PROTO;
    c->gone = true; /* the opening says what that means */
    return 0;
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
    if (rc == 0 && child->gone)
        return end_as_told(child);
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
