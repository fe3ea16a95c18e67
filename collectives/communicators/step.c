/* After an input: begins the calls that may begin, and follows the calls that are delivered. */
#include "collectives/communicators/internal.h"

/* --- beginning a call --- */

/* The kind of a call of this object, and its input. */
static int take_input(struct ftc_communicator *c, struct ftc_call *call, enum ftc_call_kind kind,
                      struct ftc_buffer *input)
{
    if (input == NULL)
        return FTC_ERR_NOMEM;
    c->roll = input;
    *call = (struct ftc_call){.signature = {.kind = (uint8_t)kind, .root = -1, .size = input->size},
                              .input = input->data,
                              .combine = ftc_set_unite_bytes};
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

static bool is_agree(const struct ftc_started *started)
{
    return started->kind == FTC_STARTED_OPERATION && started->call.signature.kind == FTC_CALL_AGREE;
}

static struct ftc_roll_entry entry_of_agree(const struct ftc_started *started)
{
    const struct ftc_agree_input *input = started->call.input;

    return (struct ftc_roll_entry){
        .wish = FTC_WISH_AGREE, .flag = input->flag, .unrecognized = input->unrecognized};
}

/* C9: what this rank contributes to an agreement of the survivors. */
static int agree_call(struct ftc_communicator *c, const struct ftc_started *started,
                      struct ftc_call *call)
{
    struct ftc_roll_entry entry = {.wish = FTC_WISH_CLOSE};

    if (is_agree(started))
        entry = entry_of_agree(started);
    else if (started->kind == FTC_STARTED_OPERATION)
        entry.wish = FTC_WISH_VALIDATE;
    else if (started->kind == FTC_STARTED_CREATION && started->opening)
        entry = (struct ftc_roll_entry){.wish = FTC_WISH_OPEN, .refuses = started->refuses};
    else if (started->kind == FTC_STARTED_CREATION)
        entry = ftc_communicator_propose(c, started);
    return take_input(c, call, FTC_CALL_AGREE, ftc_roll_new(c->ranks, c->self, &entry));
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
    if (started->after || is_agree(started))
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
    return take_input(c, call, FTC_CALL_CREATE, ftc_roll_new(c->ranks, c->self, &entry));
}

/* C7: creations of groups are operations of their parent that are under way. */
static bool has_groups(const struct ftc_communicator *c)
{
    const struct ftc_communicator *group = c->set->first;

    while (group != NULL && (group->parent != c->number || group->first == NULL))
        group = group->next;
    return group != NULL;
}

/* C11: calls the first started call, if it may begin. */
static int begin(struct ftc_communicator *c)
{
    struct ftc_started *started = c->first;

    if (started == NULL || c->called || c->ended || (started->opening && !started->opened) ||
        (started->kind == FTC_STARTED_CLOSING && has_groups(c) &&
         !FTC_COMMUNICATORS_MUTATED(CLOSE_BEFORE_GROUPS)))
        return 0;
    struct ftc_communicators_output output = {.kind = FTC_COMMUNICATORS_CALL,
                                              .number = c->number,
                                              .communicator = c,
                                              .ticket = started->ticket,
                                              .after = started->after};
    int rc = make_call(c, started, &output.call);
    if (rc != 0)
        return rc;
    c->called = true;
    return ftc_communicators_put(c->set, &output);
}

/* --- a call that is delivered --- */

/* The first call has ended with this status. */
static int put_ended(struct ftc_communicator *c, enum ftc_communicators_output_kind kind,
                     int status)
{
    struct ftc_communicators_output output = {.kind = kind,
                                              .number = c->number,
                                              .communicator = c,
                                              .ticket = c->first->ticket,
                                              .child = c->first->child,
                                              .after = c->first->after,
                                              .status = status};

    ftc_started_pop(c);
    return ftc_communicators_put(c->set, &output);
}

/* C5: the creation of a group has ended here. */
static int end_group(struct ftc_communicator *c)
{
    c->left = true;
    return ftc_communicator_say_all(c, FTC_WORD_BYE);
}

static int end_creation(struct ftc_communicator *c, int status)
{
    struct ftc_communicator *child = c->first->child;

    if (child != NULL)
        child->in_use = true;
    int rc = put_ended(c, FTC_COMMUNICATORS_CREATED, status);
    return rc == 0 && ftc_communicator_is_temporary(c->number) ? end_group(c) : rc;
}

/* C2 and C3: the creation is delivered. The engine opens the memory of the child before the opening
 * begins. */
static int go_on_creation(struct ftc_communicator *c,
                          const struct ftc_communicator_delivery *delivery)
{
    struct ftc_started *started = c->first;

    if (delivery->status != FTC_SUCCESS)
        return end_creation(c, delivery->status);
    int rc = ftc_communicator_bear(c, started, delivery, &started->child);
    if (rc != 0 || FTC_COMMUNICATORS_MUTATED(NO_OPENING))
        return rc == 0 ? end_creation(c, delivery->status) : rc;
    started->opening = true;
    started->opened = started->child == NULL;
    ftc_communicator_end_call(c);
    return 0;
}

static bool refused(const struct ftc_communicator *c,
                    const struct ftc_communicator_delivery *delivery)
{
    const unsigned char *byte = delivery->value;

    if (delivery->status != FTC_SUCCESS)
        return true;
    return c->first->after ? ftc_roll_refused(delivery->value, delivery->size, c->ranks)
                           : delivery->size > 0 && byte[0] != 0;
}

static int finish_creation(struct ftc_communicator *c,
                           const struct ftc_communicator_delivery *delivery)
{
    if (!c->first->opening)
        return go_on_creation(c, delivery);
    if (c->first->child != NULL)
        c->first->child->by_messages = refused(c, delivery);
    return end_creation(c, delivery->status);
}

/* C7: the closing is decided. Another rank may wait for this one. */
static int forget(struct ftc_communicator *c, bool owes)
{
    c->ended = true;
    return owes && !FTC_COMMUNICATORS_MUTATED(FORGET_POKE)
               ? ftc_communicator_say_all(c, FTC_WORD_GONE)
               : 0;
}

/* The agreement of the ranks that do not wish to close. */
static enum ftc_wish agreed_wish(const struct ftc_communicator *c,
                                 const struct ftc_communicator_delivery *delivery)
{
    return ftc_roll_wish(delivery->value, delivery->size, c->ranks);
}

static int finish_closing(struct ftc_communicator *c,
                          const struct ftc_communicator_delivery *delivery)
{
    bool all_close = !c->first->after || agreed_wish(c, delivery) == FTC_WISH_NONE;

    ftc_communicator_end_call(c);
    if (all_close || FTC_COMMUNICATORS_MUTATED(CLOSE_ONCE))
        return forget(c, delivery->owes);
    /* C9: others go on; this rank takes part until they close, too. */
    ftc_communicators_note(c->set, FTC_COMMUNICATORS_EVENT_CLOSE_AGAIN);
    return 0;
}

/* C9: do the members call different agreements? */
static bool mismatched(const struct ftc_communicator *c,
                       const struct ftc_communicator_delivery *delivery)
{
    return c->first->after && c->first->kind != FTC_STARTED_CLOSING &&
           delivery->status == FTC_SUCCESS && agreed_wish(c, delivery) == FTC_WISHES;
}

int ftc_communicator_finish(struct ftc_communicator *c,
                            const struct ftc_communicator_delivery *delivery)
{
    if (mismatched(c, delivery))
        return ftc_communicator_put(c, FTC_COMMUNICATORS_MISMATCH, c->first->ticket);
    if (c->first->kind == FTC_STARTED_CREATION)
        return finish_creation(c, delivery);
    if (c->first->kind == FTC_STARTED_CLOSING)
        return finish_closing(c, delivery);
    return put_ended(c, FTC_COMMUNICATORS_DELIVERED, delivery->status);
}

/* --- all that follows --- */

int ftc_communicators_settle(struct ftc_communicators *set)
{
    int rc = 0;

    for (struct ftc_communicator *c = set->first; rc == 0 && c != NULL; c = c->next)
        rc = begin(c);
    return rc == 0 ? ftc_communicators_sweep(set) : rc;
}
