/* A lease that a test drives by hand. */
#include "tests/detector/lease_driven.h"

#include "tests/suite.h"

static void take_message(struct driven *d, const struct ftc_lease_output *output, uint64_t now)
{
    const struct ftc_lease_message *message = &output->message;
    bool counted = output->node < DRIVEN_NODES;

    if (message->kind == FTC_LEASE_BEAT) {
        d->beat = message->beat;
        if (counted)
            d->beats_to[output->node]++;
    } else if (message->kind == FTC_LEASE_ECHO) {
        d->echoes++;
        if (counted)
            d->echoes_to[output->node]++;
        d->echo_nodes = ftc_set_count(message->nodes);
        d->echo_pairs = message->pairs;
        if (message->pairs > 0)
            d->echo_pair = message->pair[message->pairs - 1];
    } else if (message->kind == FTC_LEASE_WANT) {
        d->wants_of = message->leader;
    } else if (message->kind == FTC_LEASE_PROBE) {
        d->probes = message->term;
        d->probed_ns = now;
    } else if (message->kind == FTC_LEASE_ASK) {
        d->asks = message->term;
    }
}

void driven_take(struct driven *d, uint64_t now)
{
    struct ftc_lease_output output;

    while (ftc_lease_next_output(d->lease, &output)) {
        if (output.kind == FTC_LEASE_SEND)
            take_message(d, &output, now);
        if (output.kind == FTC_LEASE_DECLARE && d->declares_ns == 0)
            d->declares_ns = now;
    }
}

void driven_start(struct driven *d, int self, int nodes, uint64_t now)
{
    struct ftc_lease_settings settings = {
        .self = self, .nodes = nodes, .timeout_ns = LEASE_TIMEOUT, .period_ns = LEASE_PERIOD};

    *d = (struct driven){.wants_of = -1};
    ck_assert_int_eq(ftc_lease_box_init(&d->box, nodes), 0);
    ck_assert_int_eq(ftc_set_init(&d->refused, nodes), 0);
    ck_assert_int_eq(ftc_set_init(&d->unheard, nodes), 0);
    ck_assert_int_eq(ftc_lease_create(&d->lease, &settings), 0);
    ftc_lease_start(d->lease, now);
    driven_take(d, now);
}

void driven_stop(struct driven *d)
{
    ftc_lease_destroy(d->lease);
    ftc_lease_box_fini(&d->box);
    ftc_set_fini(&d->refused);
    ftc_set_fini(&d->unheard);
}

void driven_tick(struct driven *d, uint64_t now)
{
    ftc_lease_tick(d->lease, now);
    driven_take(d, now);
}

void driven_left(struct driven *d, int node, uint64_t now)
{
    ftc_lease_left(d->lease, node, now);
    driven_take(d, now);
}

struct ftc_lease_message driven_message(struct driven *d, enum ftc_lease_kind kind, uint64_t term,
                                        uint32_t beat)
{
    return (struct ftc_lease_message){.kind = kind,
                                      .term = term,
                                      .beat = beat,
                                      .refused = &d->refused,
                                      .declared = &d->box.declared,
                                      .silent = &d->box.silent,
                                      .nodes = &d->box.nodes,
                                      .named = d->box.named,
                                      .pair = d->box.pair};
}

void driven_receive(struct driven *d, int from, const struct ftc_lease_message *message,
                    uint64_t now)
{
    ftc_lease_receive(d->lease, from, message, now);
    driven_take(d, now);
}

void driven_hear(struct driven *d, int from, enum ftc_lease_kind kind, uint64_t term, uint64_t now)
{
    int unheard = ftc_set_next(&d->unheard, 0);
    struct ftc_lease_message message =
        driven_message(d, kind, term, kind == FTC_LEASE_BEAT ? 1 : d->beat);

    ftc_set_clear(&d->box.nodes);
    ftc_set_add(&d->box.nodes, from);
    d->box.pair[0] = (struct ftc_lease_pair){from, unheard};
    message.leader = from;
    message.pairs = unheard >= 0;
    driven_receive(d, from, &message, now);
}
