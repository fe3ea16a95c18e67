/*
 * The state of the communicators of a process as bytes, for exploring state spaces. Histories that
 * lead to the same behaviour must give the same bytes. So this leaves out what no later input looks
 * at: counters for tests, tickets (the engine knows which of its calls is which, by their order),
 * communicators that are forgotten, and what a communicator needs only in a later phase.
 */
#include "collectives/communicators/internal.h"

struct digest {
    ftc_digest_sink *sink;
    void *arg;
};

static void add_number(const struct digest *d, uint64_t number)
{
    d->sink(d->arg, &number, sizeof(number));
}

static void add_set(const struct digest *d, const struct ftc_set *set)
{
    add_number(d, (uint64_t)ftc_set_count(set));
    for (int rank = ftc_set_next(set, 0); rank >= 0; rank = ftc_set_next(set, rank + 1))
        add_number(d, (uint64_t)rank);
}

static void add_bytes(const struct digest *d, const struct ftc_buffer *buffer)
{
    add_number(d, buffer != NULL ? buffer->size : 0);
    if (buffer != NULL)
        d->sink(d->arg, buffer->data, buffer->size);
}

/* The input of an operation is the engine's. */
static void add_started(const struct digest *d, const struct ftc_started *started)
{
    add_number(d, (uint64_t)started->kind | (uint64_t)started->after << 8 |
                      (uint64_t)started->opening << 9 | (uint64_t)started->opened << 10 |
                      (uint64_t)started->refuses << 11 | (uint64_t)started->creation << 16);
    if (started->kind == FTC_STARTED_OPERATION) {
        const struct ftc_signature *signature = &started->call.signature;
        add_number(d, signature->kind);
        add_number(d, (uint64_t)(int64_t)signature->root);
        add_number(d, signature->size);
    }
    if (started->kind != FTC_STARTED_CREATION)
        return;
    add_number(d, (uint64_t)(uint32_t)started->color << 32 | (uint32_t)started->key);
    add_number(d, started->child != NULL ? started->child->number : 0);
}

static void add_communicator(const struct digest *d, const struct ftc_communicator *c)
{
    add_number(d, c->number);
    add_number(d, (uint64_t)c->ranks);
    for (int rank = 0; rank < c->ranks; rank++)
        add_number(d, (uint64_t)ftc_communicator_in_job(c, rank));
    add_number(d, (uint64_t)c->called | (uint64_t)c->in_use << 1 | (uint64_t)c->by_messages << 2 |
                      (uint64_t)c->freed << 3 | (uint64_t)c->revoked << 4 | (uint64_t)c->told << 5 |
                      (uint64_t)c->left << 6);
    if (c->revoked) {
        add_number(d, (uint64_t)(int64_t)c->next_told);
        add_set(d, &c->lost);
    }
    if (ftc_communicator_is_temporary(c->number)) {
        add_number(d, c->parent);
        add_set(d, &c->bye);
    }
    add_bytes(d, c->roll);
    for (const struct ftc_started *started = c->first; started != NULL; started = started->next)
        add_started(d, started);
    add_number(d, UINT64_MAX); /* the end of the list */
}

void ftc_communicators_digest(const struct ftc_communicators *set, ftc_digest_sink *sink, void *arg)
{
    struct digest d = {.sink = sink, .arg = arg};

    add_number(&d, set->count);
    add_number(&d, set->events[FTC_COMMUNICATORS_EVENT_REVOKED] > 0);
    add_set(&d, &set->known);
    for (const struct ftc_communicator *c = set->first; c != NULL; c = c->next)
        add_communicator(&d, c);
    add_number(&d, 0); /* the number of no communicator */
    for (const struct ftc_early *early = set->early; early != NULL; early = early->next) {
        add_number(&d, (uint64_t)early->from);
        add_bytes(&d, early->message);
    }
    add_number(&d, UINT64_MAX);
    for (const struct ftc_tally *tally = set->tally; tally != NULL; tally = tally->next) {
        add_number(&d, tally->parent);
        add_number(&d, tally->digest);
        add_number(&d, tally->calls);
    }
}
