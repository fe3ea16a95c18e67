/* Sends that are cancelled (P10). */
#include "base/error.h"
#include "collectives/point_to_point/internal.h"

/* --- the sender --- */

static void set_state(struct ftc_transfer *t, enum ftc_transfer_state state)
{
    atomic_store_explicit(&t->state, state, memory_order_relaxed);
}

static bool is_being_withdrawn(const struct ftc_transfer *t)
{
    return atomic_load_explicit(&t->state, memory_order_relaxed) == FTC_TRANSFER_WITHDRAWING;
}

int ftc_matching_withdraw(struct ftc_matching *m, struct ftc_transfer *t)
{
    struct ftc_matching_peer *peer = ftc_matching_known(m, t->rank);
    bool ended = ftc_transfer_has_ended(t);

    if (m->over || is_being_withdrawn(t) || peer->failure != 0 ||
        (ended && t->status != FTC_SUCCESS))
        return FTC_SUCCESS;
    if (ended && FTC_MATCHING_MUTATED(UNASKED)) {
        t->status = FTC_ERR_CANCELLED;
        return FTC_SUCCESS;
    }
    if (ended)
        ftc_link_put_last(&peer->withdrawn, &t->link);
    set_state(t, FTC_TRANSFER_WITHDRAWING);
    return ftc_matching_say(m, peer, t->rank, FTC_MATCHING_WITHDRAW, t->number);
}

void ftc_matching_sent(struct ftc_matching *m, struct ftc_matching_peer *peer,
                       struct ftc_transfer *t)
{
    if (!is_being_withdrawn(t) || FTC_MATCHING_MUTATED(END_OVERTAKES)) {
        ftc_transfer_end(m, t, FTC_SUCCESS);
        return;
    }
    ftc_link_take_out(&t->link);
    ftc_link_put_last(&peer->withdrawn, &t->link);
}

int ftc_matching_take_answer(struct ftc_matching *m, struct ftc_matching_peer *peer,
                             const struct ftc_matching_message *message)
{
    struct ftc_transfer *t = ftc_transfer_find(&peer->withdrawn, message->number);
    bool had_ended = t != NULL, left = message->what == FTC_MATCHING_LEFT;

    if (!had_ended)
        t = ftc_transfer_find(&peer->announced, message->number);
    if (t == NULL || !is_being_withdrawn(t))
        return ftc_matching_unknown(message);
    if (message->what == FTC_MATCHING_WITHDRAWN ||
        (left && (!had_ended || FTC_MATCHING_MUTATED(LEFT_CANCELS))))
        ftc_transfer_end(m, t, FTC_ERR_CANCELLED);
    else if (had_ended)
        ftc_transfer_end(m, t, FTC_SUCCESS);
    else
        set_state(t, FTC_TRANSFER_UNDER_WAY);
    return FTC_SUCCESS;
}

/* --- the receiver --- */

static struct ftc_arrival *find_arrival(struct ftc_matching_peer *peer, uint64_t number)
{
    for (struct ftc_link *link = peer->arrivals.next; link != &peer->arrivals; link = link->next) {
        struct ftc_arrival *arrival = (struct ftc_arrival *)(void *)link;
        if (arrival->message.number == number)
            return arrival;
    }
    return NULL;
}

int ftc_matching_take_withdraw(struct ftc_matching *m, struct ftc_matching_peer *peer, int from,
                               const struct ftc_matching_message *message)
{
    struct ftc_arrival *arrival = find_arrival(peer, message->number);

    if (message->number >= peer->received)
        return ftc_matching_unknown(message);
    if (FTC_MATCHING_MUTATED(UNANSWERED))
        return FTC_SUCCESS;
    if (arrival == NULL && !FTC_MATCHING_MUTATED(TAKEN_WITHDRAWN))
        return ftc_matching_say(m, peer, from, FTC_MATCHING_KEPT, message->number);
    if (arrival != NULL && arrival->message.what == FTC_MATCHING_EAGER &&
        !FTC_MATCHING_MUTATED(CREDIT_WITHDRAWN))
        peer->taken += arrival->message.length + FTC_MATCHING_OVERHEAD;
    if (arrival != NULL && !FTC_MATCHING_MUTATED(WITHDRAWN_STAYS))
        ftc_arrival_drop(m, arrival);
    return ftc_matching_say(m, peer, from, FTC_MATCHING_WITHDRAWN, message->number);
}

int ftc_matching_take_late(struct ftc_matching *m, struct ftc_matching_peer *peer, int from,
                           const struct ftc_matching_message *message)
{
    if (message->what != FTC_MATCHING_WITHDRAW || FTC_MATCHING_MUTATED(LEFT_UNANSWERED))
        return FTC_SUCCESS;
    return ftc_matching_say(m, peer, from, FTC_MATCHING_LEFT, message->number);
}
