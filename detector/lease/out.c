/* The outputs of a lease: refusals, messages, declarations. */
#include "detector/lease/internal.h"

static struct ftc_lease_message regular(const struct ftc_lease *l, int to)
{
    struct ftc_lease_message message = {.term = l->term};

    if (l->role == LEADER) {
        message.kind = FTC_LEASE_BEAT;
        message.leader_ns = l->sent_ns;
        message.node_ns = l->grants ? l->peer[to].node_ns : 0;
    } else {
        message.kind = l->probing ? FTC_LEASE_PROBE : FTC_LEASE_ASK;
        message.term = ftc_lease_question_term(l);
    }
    return message;
}

/* Take the first node out of the set. -1: there is none. */
static int take_first(struct ftc_set *pending)
{
    int first = ftc_set_next(pending, 0);

    if (first >= 0)
        ftc_set_remove(pending, first);
    return first;
}

/* Returns the node that the message goes to. -1: there is no message. */
static int next_message(struct ftc_lease *l, struct ftc_lease_message *message)
{
    int to = take_first(&l->apart.greet);

    if (to >= 0) {
        *message = (struct ftc_lease_message){
            .kind = FTC_LEASE_HELLO, .term = l->term, .rounds = ftc_apart_rounds(&l->apart, to)};
    } else {
        *message = l->reply;
        to = l->reply_to;
        l->reply_to = -1;
    }
    if (to < 0 && l->role == FOLLOWER) /* it no longer asks, so drop its questions */
        ftc_set_clear(&l->pending);
    if (to < 0 && (to = take_first(&l->pending)) >= 0)
        *message = regular(l, to);
    return to;
}

static bool put_message(struct ftc_lease *l, struct ftc_lease_output *output)
{
    *output = (struct ftc_lease_output){.kind = FTC_LEASE_SEND};
    output->node = next_message(l, &output->message);
    output->message.refused = &l->refused;
    output->message.declared = &l->declared;
    output->message.unheard =
        output->message.kind == FTC_LEASE_BEAT ? &l->silent : &l->apart.unheard;
    return output->node >= 0;
}

/* Put out a member of `now` that is not in `told`. */
static bool put_news(const struct ftc_set *now, struct ftc_set *told,
                     struct ftc_lease_output *output, enum ftc_lease_output_kind kind)
{
    for (int i = ftc_set_next(now, 0); i >= 0; i = ftc_set_next(now, i + 1)) {
        if (ftc_set_has(told, i))
            continue;
        ftc_set_add(told, i);
        *output = (struct ftc_lease_output){.kind = kind, .node = i};
        return true;
    }
    return false;
}

/* Refusals come first: a message may report a refusal only after it was carried out. */
bool ftc_lease_next_output(struct ftc_lease *lease, struct ftc_lease_output *output)
{
    if (lease->fenced) {
        *output = (struct ftc_lease_output){.kind = FTC_LEASE_FENCE, .node = lease->set.self};
        bool told = lease->fence_told;
        lease->fence_told = true;
        return !told;
    }
    return put_news(&lease->refused, &lease->told_refused, output, FTC_LEASE_REFUSE) ||
           put_message(lease, output) ||
           put_news(&lease->declared, &lease->told_declared, output, FTC_LEASE_DECLARE);
}
