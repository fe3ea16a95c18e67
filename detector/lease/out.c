/* The outputs of a lease: refusals, messages, declarations. */
#include "detector/lease/internal.h"

/* A beat, on its way to `to`, or a question. */
static struct ftc_lease_message regular(const struct ftc_lease *l)
{
    const struct ftc_lease_box *beat = &l->relay.beat;

    if (l->role == ASKING)
        return (struct ftc_lease_message){.kind = l->probing ? FTC_LEASE_PROBE : FTC_LEASE_ASK,
                                          .term = ftc_lease_question_term(l)};
    return (struct ftc_lease_message){.kind = FTC_LEASE_BEAT,
                                      .term = l->term,
                                      .leader = l->leader,
                                      .beat = l->beat,
                                      .refused = &beat->refused,
                                      .declared = &beat->declared,
                                      .silent = &beat->silent,
                                      .nodes = &beat->nodes,
                                      .named = beat->named,
                                      .grants = l->relay.grants};
}

static struct ftc_lease_message greeting(const struct ftc_lease *l, int to)
{
    return (struct ftc_lease_message){
        .kind = FTC_LEASE_HELLO, .term = l->term, .rounds = ftc_apart_rounds(&l->apart, to)};
}

static struct ftc_lease_message echo(const struct ftc_lease *l)
{
    const struct relay *r = &l->relay;

    return (struct ftc_lease_message){.kind = FTC_LEASE_ECHO,
                                      .term = l->term,
                                      .beat = l->beat,
                                      .refused = &r->echo.refused,
                                      .declared = &r->echo.declared,
                                      .nodes = &r->echo.nodes,
                                      .pair = r->echo.pair,
                                      .pairs = r->pairs};
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
        *message = greeting(l, to);
    } else if ((to = l->reply_to) >= 0) {
        *message = l->reply;
        l->reply_to = -1;
    } else if ((to = take_first(&l->pending)) >= 0) {
        *message = regular(l);
    } else if (l->relay.again && (!l->relay.owed || l->relay.ready)) {
        *message = echo(l);
        to = l->relay.second;
        l->relay.again = false;
    } else if (l->relay.owed && l->relay.ready) {
        *message = echo(l);
        to = l->relay.parent;
        l->relay.owed = false;
    }
    return to;
}

static bool put_message(struct ftc_lease *l, struct ftc_lease_output *output)
{
    *output = (struct ftc_lease_output){.kind = FTC_LEASE_SEND};
    output->node = next_message(l, &output->message);
    if (output->message.refused == NULL) {
        output->message.refused = &l->refused;
        output->message.declared = &l->declared;
    }
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
