/* After an input: begins the calls that may begin, and follows the calls that are delivered. */
#include <assert.h>

#include "collectives/communicators/internal.h"

/* --- beginning a call --- */

static void unite_bits(void *arg, const void *in, void *inout, size_t size)
{
    ftc_set_unite_bytes(arg, in, inout, size);
}

/* The kind of a call of this object, and its input. */
static int take_input(struct ftc_communicator *c, struct ftc_call *call, enum ftc_call_kind kind,
                      struct ftc_buffer *input)
{
    if (input == NULL)
        return FTC_ERR_NOMEM;
    c->roll = input;
    *call = (struct ftc_call){.signature = {.kind = (uint8_t)kind, .root = -1, .size = input->size},
                              .input = input->data,
                              .combine = unite_bits};
    return 0;
}

static int open_call(struct ftc_communicator *c, const struct ftc_started *started,
                     struct ftc_call *call)
{
    struct ftc_buffer *byte = ftc_buffer_new(1);

    if (byte != NULL)
        byte->data[0] = started->refuses;
    return take_input(c, call, FTC_CALL_OPEN, byte);
}

/* C9: what this rank contributes to an agreement after a revoke. */
static int agree_call(struct ftc_communicator *c, const struct ftc_started *started,
                      struct ftc_call *call)
{
    struct ftc_roll_entry entry = {.wish = FTC_WISH_CLOSE};

    if (started->kind == FTC_STARTED_OPERATION)
        entry.wish = FTC_WISH_VALIDATE;
    else if (started->kind == FTC_STARTED_CREATION && started->opening)
        entry = (struct ftc_roll_entry){.wish = FTC_WISH_OPEN, .refuses = started->refuses};
    else if (started->kind == FTC_STARTED_CREATION)
        entry = ftc_communicator_propose(c, started);
    return take_input(c, call, FTC_CALL_AGREE,
                      ftc_roll_new(c->ranks, c->self, &entry, ftc_member_known_failed(c->after)));
}

/* C7 and C12: the closing of the world is the barrier at the end of the job. */
static struct ftc_call closing_call(const struct ftc_communicator *c)
{
    bool world = c->number == FTC_COMMUNICATOR_WORLD;

    if (FTC_COMMUNICATORS_MUTATED(CLOSE_UNCOLLECTED))
        return (struct ftc_call){.signature = {.kind = FTC_CALL_BCAST, .root = 0}};
    return (struct ftc_call){
        .signature = {.kind = world ? FTC_CALL_FINALIZE : FTC_CALL_CLOSE, .root = -1}};
}

static int make_call(struct ftc_communicator *c, const struct ftc_started *started,
                     struct ftc_call *call)
{
    *call = started->call;
    if (started->after)
        return agree_call(c, started, call);
    if (started->kind == FTC_STARTED_CLOSING) {
        *call = closing_call(c);
        return 0;
    }
    if (started->kind == FTC_STARTED_OPERATION)
        return 0;
    if (started->opening)
        return open_call(c, started, call);
    struct ftc_roll_entry entry = ftc_communicator_propose(c, started);
    return take_input(c, call, FTC_CALL_CREATE, ftc_roll_new(c->ranks, c->self, &entry, NULL));
}

/* C11: calls the first started call, if it may begin. 1: it has. */
static int begin(struct ftc_communicator *c)
{
    struct ftc_started *started = c->first;

    if (started == NULL || c->called || (started->opening && !started->opened))
        return 0;
    struct ftc_member *member = started->after ? c->after : c->member;
    struct ftc_call call;
    int rc = ftc_member_begin(member);
    if (rc != 1)
        return rc;
    rc = make_call(c, started, &call);
    if (rc != 0)
        return rc;
    c->called = true;
    rc = ftc_member_call(member, &call);
    return rc == 0 ? 1 : rc;
}

/* --- a call that is delivered --- */

static int put_ended(struct ftc_communicator *c, enum ftc_communicators_output_kind kind,
                     struct ftc_communicator *child)
{
    struct ftc_communicators_output output = {.kind = kind,
                                              .number = c->number,
                                              .communicator = c,
                                              .ticket = c->first->ticket,
                                              .child = child,
                                              .after = c->first->after,
                                              .is = c->delivered};

    return ftc_communicators_put(c->set, &output);
}

/* C5: the creation of a group has ended here. */
static int end_group(struct ftc_communicator *c)
{
    c->left = true;
    return ftc_communicator_say_all(c, FTC_WORD_BYE);
}

static int end_creation(struct ftc_communicator *c)
{
    struct ftc_communicator *child = c->first->child;
    int rc;

    if (child != NULL) {
        child->in_use = true;
        child->gone = false;
    }
    rc = put_ended(c, FTC_COMMUNICATORS_CREATED, child);
    ftc_started_pop(c);
    return rc == 0 && ftc_communicator_is_temporary(c->number) ? end_group(c) : rc;
}

/* C3: the engine opens the memory of the child now. */
static int put_open(struct ftc_communicator *c)
{
    struct ftc_communicator *child = c->first->child;
    struct ftc_communicators_output output = {.kind = FTC_COMMUNICATORS_OPEN,
                                              .number = child->number,
                                              .ticket = c->first->ticket,
                                              .communicator = c,
                                              .child = child,
                                              .after = c->first->after,
                                              .is = c->delivered};

    return ftc_communicators_put(c->set, &output);
}

/* C2 and C3: the creation is delivered. */
static int go_on_creation(struct ftc_communicator *c)
{
    struct ftc_started *started = c->first;
    int rc;

    if (c->delivered.status != FTC_SUCCESS)
        return end_creation(c);
    rc = ftc_communicator_bear(c, started, c->delivered.decision, &started->child);
    if (rc != 0 || FTC_COMMUNICATORS_MUTATED(NO_OPENING))
        return rc == 0 ? end_creation(c) : rc;
    c->called = false;
    started->opening = true;
    started->opened = started->child == NULL;
    if (started->child != NULL)
        rc = put_open(c);
    ftc_communicator_drop_delivered(c);
    return rc;
}

static bool refused(const struct ftc_communicator *c)
{
    const struct ftc_value *value = &c->delivered.result;

    if (c->delivered.status != FTC_SUCCESS)
        return true;
    return c->first->after ? ftc_roll_refused(value, c->ranks)
                           : value->size > 0 && ftc_value_bytes(value)[0] != 0;
}

static int finish_creation(struct ftc_communicator *c)
{
    if (!c->first->opening)
        return go_on_creation(c);
    if (c->first->child != NULL)
        c->first->child->by_messages = refused(c);
    return end_creation(c);
}

/* C7: the closing is decided. A rank that has poked this one waits for an answer. */
static int forget(struct ftc_communicator *c)
{
    const struct ftc_member *member = c->first->after ? c->after : c->member;

    c->ended = true;
    return ftc_member_poked(member) && !FTC_COMMUNICATORS_MUTATED(FORGET_POKE)
               ? ftc_communicator_say_all(c, FTC_WORD_GONE)
               : 0;
}

static int finish_closing(struct ftc_communicator *c)
{
    bool all_close =
        !c->first->after || ftc_roll_wish(&c->delivered.result, c->ranks) == FTC_WISH_NONE;

    ftc_communicator_drop_delivered(c);
    c->called = false;
    if (all_close || FTC_COMMUNICATORS_MUTATED(CLOSE_ONCE))
        return forget(c);
    /* C9: others go on; this rank takes part until they close, too. */
    ftc_communicators_note(c->set, FTC_COMMUNICATORS_EVENT_CLOSE_AGAIN);
    return 0;
}

/* C9: do the members call different agreements? */
static bool mismatched(const struct ftc_communicator *c)
{
    return c->first->after && c->first->kind != FTC_STARTED_CLOSING &&
           c->delivered.status == FTC_SUCCESS &&
           ftc_roll_wish(&c->delivered.result, c->ranks) == FTC_WISHES;
}

static int finish(struct ftc_communicator *c)
{
    int rc;

    if (mismatched(c)) {
        rc = ftc_communicator_put(c, FTC_COMMUNICATORS_MISMATCH, c->first->ticket);
        ftc_communicator_drop_delivered(c);
        return rc;
    }
    if (c->first->kind == FTC_STARTED_CREATION)
        return finish_creation(c);
    if (c->first->kind == FTC_STARTED_CLOSING)
        return finish_closing(c);
    rc = put_ended(c, FTC_COMMUNICATORS_DELIVER, NULL);
    ftc_started_pop(c);
    return rc;
}

/* --- all that follows --- */

/* 1: something has changed. */
static int settle_one(struct ftc_communicator *c)
{
    int rc = ftc_communicator_drain(c);

    if (rc != 0 || c->ended)
        return rc;
    if (c->done) {
        rc = finish(c);
        return rc == 0 ? 1 : rc;
    }
    return begin(c);
}

int ftc_communicators_settle(struct ftc_communicators *set)
{
    int changed = 1;

    while (changed == 1) {
        changed = 0;
        for (struct ftc_communicator *c = set->first; c != NULL; c = c->next) {
            int rc = settle_one(c);
            if (rc < 0)
                return rc;
            changed |= rc;
        }
    }
    return ftc_communicators_sweep(set);
}
