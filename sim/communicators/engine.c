/* Runs the calls of the communicators of one process by messages, and closings by boards. */
#include "sim/communicators/engine.h"

#include <stdlib.h>

#include "base/error.h"
#include "collectives/communicators/mutation.h"
#include "sim/communicators/held.h"

/* What runs the calls of one communicator. */
struct part {
    struct part *next;
    struct ftc_communicator *communicator;
    struct ftc_member *member; /* of the operations; NULL: it was revoked, or cut off */
    struct ftc_member *after;  /* of the agreements of the survivors; NULL: there was none yet */
    bool waits; /* the call has still to begin: a settlement holds it back (agreement.md, rule 9) */
    bool done;  /* it is delivered, and the lifecycle has still to hear of it */
    bool leaves;                          /* its closing waits until all have left the board */
    struct ftc_communicators_output call; /* CALL */
    struct ftc_output delivered;          /* of the last call; it holds its references */
};

struct queued {
    struct queued *next;
    struct ftc_comms_output output;
};

struct ftc_comms_engine {
    struct ftc_member_settings settings; /* of the world */
    struct ftc_communicators *set;
    const struct ftc_comms_boards *boards; /* NULL: there are none */
    struct ftc_set known;                  /* job's ranks that are known to have failed */
    struct part *first;                    /* in order of age */
    /* The communicator whose delivery the lifecycle was told last: the parent of a child that
     * begins. */
    struct part *delivering;
    struct queued *queue, *queue_last, *current;
};

static struct part *part_of(const struct ftc_communicator *c)
{
    return ftc_communicator_engine(c);
}

/* --- the queue --- */

static int put(struct ftc_comms_engine *engine, const struct ftc_comms_output *output)
{
    struct queued *queued = malloc(sizeof(*queued));

    if (queued == NULL)
        return FTC_ERR_NOMEM;
    *queued = (struct queued){.output = *output};
    ftc_comms_hold(&queued->output.is);
    if (engine->queue == NULL)
        engine->queue = queued;
    else
        engine->queue_last->next = queued;
    engine->queue_last = queued;
    return 0;
}

/* Makes the first output of the queue the current one. False: the queue is empty. */
static bool take_output(struct ftc_comms_engine *engine)
{
    if (engine->current != NULL)
        ftc_comms_let_go(&engine->current->output.is);
    free(engine->current);
    engine->current = engine->queue;
    if (engine->current == NULL)
        return false;
    engine->queue = engine->current->next;
    return true;
}

/* --- members --- */

/* L: G, `known`, and the members that this process knows to have failed. */
static int inherit(const struct ftc_comms_engine *engine, const struct part *part,
                   struct ftc_member *member, const struct ftc_set *agreed,
                   const struct ftc_set *known)
{
    const struct ftc_communicator *c = part->communicator;
    struct ftc_set all = {0};

    if (ftc_set_init(&all, ftc_communicator_size(c)) != 0)
        return FTC_ERR_NOMEM;
    if (known != NULL)
        ftc_set_unite(&all, known);
    for (int rank = 0; rank < ftc_communicator_size(c); rank++)
        if (ftc_set_has(&engine->known, ftc_communicator_job_rank(c, rank)))
            ftc_set_add(&all, rank);
    bool as_agreed = FTC_COMMUNICATORS_MUTATED(TEMPORARY_WITHOUT_L) &&
                     ftc_communicator_is_temporary(ftc_communicator_name(c));
    int rc = ftc_member_inherit(member, as_agreed ? &all : agreed, &all);
    ftc_set_fini(&all);
    return rc;
}

/* `agreed` and `known` are sets of its ranks; NULL: empty. */
static int make_member(const struct ftc_comms_engine *engine, const struct part *part,
                       uint64_t number, const struct ftc_set *agreed, const struct ftc_set *known,
                       struct ftc_member **out)
{
    const struct ftc_communicator *c = part->communicator;
    struct ftc_member_settings settings = engine->settings;

    if (ftc_communicator_name(c) != FTC_COMMUNICATOR_WORLD) {
        settings.nodes = 0;
        settings.first_ranks = NULL;
    }
    settings.communicator = number;
    settings.ranks = ftc_communicator_size(c);
    settings.self = ftc_communicator_self(c);
    int rc = ftc_member_create(out, &settings);
    return rc == 0 ? inherit(engine, part, *out, agreed, known) : rc;
}

/* Frees the part at *link. */
static void part_free(struct part **link)
{
    struct part *part = *link;

    *link = part->next;
    ftc_member_destroy(part->member);
    ftc_member_destroy(part->after);
    ftc_comms_let_go(&part->delivered);
    free(part);
}

static int part_new(struct ftc_comms_engine *engine, struct ftc_communicator *c,
                    const struct ftc_set *agreed)
{
    struct part *part = calloc(1, sizeof(*part));

    if (part == NULL)
        return FTC_ERR_NOMEM;
    struct part **link = &engine->first;
    while (*link != NULL)
        link = &(*link)->next;
    *link = part;
    part->communicator = c;
    ftc_communicator_attach(c, part);
    return make_member(engine, part, ftc_communicator_name(c), agreed, NULL, &part->member);
}

/* The delivery of the call under way waits until the outputs before it are taken. */
static void keep_delivery(struct part *part, const struct ftc_output *output)
{
    part->done = true;
    part->delivered = *output;
    ftc_comms_hold(&part->delivered);
}

/* After each input of a member. `rc` is what the input has returned. */
static int drain(struct ftc_comms_engine *engine, struct part *part, struct ftc_member *member,
                 int rc)
{
    const struct ftc_communicator *c = part->communicator;
    const struct ftc_output *output;
    int drained = 0;

    while (drained == 0 && (output = ftc_member_next_output(member)) != NULL) {
        struct ftc_comms_output out = {.kind = FTC_COMMS_MEMBER,
                                       .number = ftc_communicator_name(c),
                                       .communicator = part->communicator,
                                       .is = *output};
        bool names_rank = output->kind == FTC_OUTPUT_SEND || output->kind == FTC_OUTPUT_ACCUSE ||
                          output->kind == FTC_OUTPUT_MISMATCH;
        if (names_rank)
            out.is.to = ftc_communicator_job_rank(c, output->to);
        if (output->kind == FTC_OUTPUT_DELIVER)
            keep_delivery(part, output);
        else
            drained = put(engine, &out);
    }
    return rc == 0 ? drained : rc;
}

/* C9: the member of its agreements begins with the first one, with the first message of one, or
 * with the revoke. */
static int need_after(const struct ftc_comms_engine *engine, struct part *part)
{
    uint64_t number = ftc_communicator_name(part->communicator);

    if (part->after != NULL || ftc_communicator_is_temporary(number))
        return 0;
    const struct ftc_set *agreed =
        FTC_COMMUNICATORS_MUTATED(AFTER_FROM_G) ? ftc_member_agreed_failed(part->member) : NULL;
    return make_member(engine, part, number | FTC_COMMUNICATOR_REVOKED, agreed,
                       ftc_member_known_failed(part->member), &part->after);
}

/* --- what the lifecycle puts out --- */

/* Calls what waits, if it may begin. 1: it has begun. */
static int begin_call(struct ftc_comms_engine *engine, struct part *part)
{
    struct ftc_member *member = part->call.after ? part->after : part->member;
    int rc = ftc_member_begin(member);

    if (rc != 1)
        return rc;
    part->waits = false;
    rc = drain(engine, part, member, ftc_member_call(member, &part->call.call));
    return rc == 0 ? 1 : rc;
}

/* --- closings by boards (C7) --- */

static bool has_board(const struct ftc_comms_engine *engine, const struct ftc_communicator *c)
{
    uint64_t number = ftc_communicator_name(c);

    return engine->boards != NULL && number != FTC_COMMUNICATOR_WORLD &&
           !ftc_communicator_is_temporary(number) && !ftc_communicator_by_messages(c);
}

static int set_word(struct ftc_comms_engine *engine, struct part *part,
                    enum ftc_comms_output_kind kind)
{
    return put(engine,
               &(struct ftc_comms_output){.kind = kind,
                                          .number = ftc_communicator_name(part->communicator),
                                          .communicator = part->communicator});
}

/* NULL: there is none. */
static struct part *find_left(const struct ftc_comms_engine *engine, bool *revoked)
{
    struct part *part = engine->first;

    while (part != NULL &&
           !(part->leaves &&
             ftc_comms_all_have_left(engine->boards, part->communicator, &engine->known, revoked)))
        part = part->next;
    return part;
}

bool ftc_comms_engine_can_look(const struct ftc_comms_engine *engine)
{
    bool revoked;

    return find_left(engine, &revoked) != NULL;
}

int ftc_comms_engine_look(struct ftc_comms_engine *engine)
{
    bool revoked;
    struct part *part = find_left(engine, &revoked);

    if (part == NULL)
        return 0;
    part->leaves = false;
    if (!revoked || FTC_COMMUNICATORS_MUTATED(LEFT_THOUGH_REVOKED))
        return ftc_communicator_delivered(part->communicator,
                                          &(struct ftc_communicator_delivery){.status = 0});
    return FTC_COMMUNICATORS_MUTATED(REVOKED_NOT_LEARNT)
               ? 0
               : ftc_communicator_found_revoked(part->communicator);
}

static int take_call(struct ftc_comms_engine *engine, const struct ftc_communicators_output *output)
{
    struct part *part = part_of(output->communicator);

    ftc_comms_let_go(&part->delivered);
    part->call = *output;
    if (output->call.signature.kind == FTC_CALL_CLOSE && has_board(engine, output->communicator)) {
        part->leaves = true;
        return set_word(engine, part, FTC_COMMS_SET_LEFT);
    }
    part->waits = true;
    int rc = output->after ? need_after(engine, part) : 0;
    rc = rc == 0 ? begin_call(engine, part) : rc;
    return rc < 0 ? rc : 0;
}

static int take_message(struct ftc_comms_engine *engine, struct part *part, int from, bool after,
                        struct ftc_buffer *message)
{
    int rank = ftc_communicator_rank_of(part->communicator, from);

    if (rank < 0) /* C8: it may have abandoned a child of another decision */
        return after && !FTC_COMMUNICATORS_MUTATED(STRANGER_ACCUSED) ? 0 : FTC_ERR_PROTO;
    int rc = after ? need_after(engine, part) : 0;
    struct ftc_member *member = after ? part->after : part->member;
    return rc == 0 && member != NULL
               ? drain(engine, part, member, ftc_member_receive(member, rank, message))
               : rc;
}

static int take_early(struct ftc_comms_engine *engine,
                      const struct ftc_communicators_output *output)
{
    int rc = take_message(engine, part_of(output->communicator), output->rank, output->after,
                          output->message);

    if (rc != FTC_ERR_PROTO)
        return rc;
    return put(engine,
               &(struct ftc_comms_output){.kind = FTC_COMMS_MEMBER,
                                          .number = output->number,
                                          .communicator = output->communicator,
                                          .is = {.kind = FTC_OUTPUT_ACCUSE, .to = output->rank}});
}

/* C9: from now on it has a member for agreements, and none for operations. An agree goes on. */
static int change_members(struct ftc_comms_engine *engine, struct part *part)
{
    int rc = 0;

    /* One that has left touches the board no more. */
    if (has_board(engine, part->communicator) && !part->leaves) {
        rc = set_word(engine, part, FTC_COMMS_SET_REVOKED);
        if (rc == 0)
            rc = set_word(engine, part, FTC_COMMS_SET_LEFT);
    }
    part->leaves = false;
    if (!part->call.after)
        part->waits = part->done = false;
    if (rc == 0)
        rc = need_after(engine, part);
    ftc_member_destroy(part->member);
    part->member = NULL;
    return rc;
}

static int forget(struct ftc_comms_engine *engine, const struct ftc_communicators_output *output)
{
    struct part **link = &engine->first;

    while ((*link)->communicator != output->communicator)
        link = &(*link)->next;
    part_free(link);
    return put(engine,
               &(struct ftc_comms_output){.kind = FTC_COMMS_FORGET, .number = output->number});
}

/* C3: a child needs its memory. */
static int begin_communicator(struct ftc_comms_engine *engine,
                              const struct ftc_communicators_output *output)
{
    const struct part *parent = engine->delivering;
    int rc = part_new(engine, output->communicator, output->agreed);

    if (rc != 0 || ftc_communicator_is_temporary(output->number))
        return rc;
    return put(engine, &(struct ftc_comms_output){.kind = FTC_COMMS_OPEN,
                                                  .number = output->number,
                                                  .ticket = parent->call.ticket,
                                                  .communicator = parent->communicator,
                                                  .child = output->communicator,
                                                  .after = parent->call.after,
                                                  .spare = output->spare,
                                                  .is = parent->delivered});
}

/* A member takes a job's rank as failed. */
static int tell_failed(struct ftc_comms_engine *engine, struct part *part, bool after, int rank)
{
    struct ftc_member *member = after ? part->after : part->member;
    int own = ftc_communicator_rank_of(part->communicator, rank);

    return member == NULL || own < 0 ? 0
                                     : drain(engine, part, member, ftc_member_notice(member, own));
}

static int send_word(struct ftc_comms_engine *engine, const struct ftc_communicators_output *output)
{
    struct ftc_comms_output out = {
        .kind = FTC_COMMS_MEMBER,
        .number = output->number,
        .is = {
            .kind = FTC_OUTPUT_SEND, .to = output->rank, .head = output->message, .urgent = true}};

    return put(engine, &out);
}

/* A call that ends, or cannot. */
static int pass_on(struct ftc_comms_engine *engine, enum ftc_comms_output_kind kind,
                   const struct ftc_communicators_output *output)
{
    struct ftc_comms_output out = {.kind = kind,
                                   .number = output->number,
                                   .ticket = output->ticket,
                                   .communicator = output->communicator,
                                   .child = output->child,
                                   .after = output->after};

    if (kind == FTC_COMMS_DELIVERED || kind == FTC_COMMS_CREATED)
        out.is = part_of(output->communicator)->delivered;
    return put(engine, &out);
}

static int carry_out(struct ftc_comms_engine *engine, const struct ftc_communicators_output *output)
{
    switch (output->kind) {
    case FTC_COMMUNICATORS_SEND:
        return send_word(engine, output);
    case FTC_COMMUNICATORS_BEGIN:
        return begin_communicator(engine, output);
    case FTC_COMMUNICATORS_TAKE:
        return take_early(engine, output);
    case FTC_COMMUNICATORS_CALL:
        return take_call(engine, output);
    case FTC_COMMUNICATORS_DELIVERED:
        return pass_on(engine, FTC_COMMS_DELIVERED, output);
    case FTC_COMMUNICATORS_CREATED:
        return pass_on(engine, FTC_COMMS_CREATED, output);
    case FTC_COMMUNICATORS_CUT_OFF:
        return pass_on(engine, FTC_COMMS_CUT_OFF, output);
    case FTC_COMMUNICATORS_REVOKED:
        return change_members(engine, part_of(output->communicator));
    case FTC_COMMUNICATORS_LOST:
        return tell_failed(engine, part_of(output->communicator), true, output->rank);
    case FTC_COMMUNICATORS_FORGET:
        return forget(engine, output);
    case FTC_COMMUNICATORS_MISMATCH:
        return pass_on(engine, FTC_COMMS_MISMATCH, output);
    }
    return 0;
}

/* --- what follows from an input --- */

/* The lifecycle hears of the delivery. */
static int tell_delivery(struct ftc_comms_engine *engine, struct part *part)
{
    const struct ftc_member *member = part->call.after ? part->after : part->member;
    const struct ftc_output *is = &part->delivered;
    struct ftc_communicator_delivery delivery = {
        .status = is->status,
        .value = is->result.buffer != NULL ? ftc_value_bytes(&is->result) : NULL,
        .size = is->result.size,
        .failed = is->decision != NULL ? &is->decision->failed : NULL,
        .agreed = ftc_member_agreed_failed(member),
        .owes = ftc_member_owes(member)};

    part->done = false;
    engine->delivering = part;
    return ftc_communicator_delivered(part->communicator, &delivery);
}

/* One delivery, or one call that may begin at last. 1: something has changed. */
static int follow(struct ftc_comms_engine *engine)
{
    for (struct part *part = engine->first; part != NULL; part = part->next) {
        if (part->done) {
            int rc = tell_delivery(engine, part);
            return rc == 0 ? 1 : rc;
        }
        int rc = part->waits ? begin_call(engine, part) : 0;
        if (rc != 0)
            return rc;
    }
    return 0;
}

int ftc_comms_engine_next_output(struct ftc_comms_engine *engine,
                                 const struct ftc_comms_output **out)
{
    const struct ftc_communicators_output *output;
    int rc = 0;

    while (!take_output(engine)) {
        output = ftc_communicators_next_output(engine->set);
        rc = output != NULL ? carry_out(engine, output) : follow(engine);
        if (rc < 0 || (rc == 0 && output == NULL))
            return rc;
    }
    *out = &engine->current->output;
    return 1;
}

/* --- inputs --- */

int ftc_comms_engine_receive(struct ftc_comms_engine *engine, int from, struct ftc_buffer *message)
{
    uint64_t number = ftc_frame_communicator(message);
    bool after = ftc_communicator_is_after(number);

    if (after)
        number &= ~FTC_COMMUNICATOR_REVOKED;
    struct ftc_communicator *c = ftc_communicators_find(engine->set, number);
    if (ftc_frame_kind(message) == FTC_FRAME_COMMUNICATOR || c == NULL ||
        (after && !ftc_communicator_is_revoked(c)) || FTC_COMMUNICATORS_MUTATED(GONE_TOO_EARLY))
        return ftc_communicators_receive(engine->set, from, message);
    return take_message(engine, part_of(c), from, after, message);
}

int ftc_comms_engine_notice(struct ftc_comms_engine *engine, int rank)
{
    int rc = ftc_communicators_notice(engine->set, rank);

    if (rc != 0)
        return rc;
    ftc_set_add(&engine->known, rank);
    for (struct part *part = engine->first; rc == 0 && part != NULL; part = part->next) {
        rc = tell_failed(engine, part, false, rank);
        if (rc == 0)
            rc = tell_failed(engine, part, true, rank);
    }
    return rc;
}

/* Both members of each communicator. */
static int for_all(struct ftc_comms_engine *engine, int (*input)(struct ftc_member *member))
{
    int rc = 0;

    for (struct part *part = engine->first; rc == 0 && part != NULL; part = part->next) {
        if (part->member != NULL)
            rc = drain(engine, part, part->member, input(part->member));
        if (rc == 0 && part->after != NULL)
            rc = drain(engine, part, part->after, input(part->after));
    }
    return rc;
}

int ftc_comms_engine_timer(struct ftc_comms_engine *engine)
{
    return for_all(engine, ftc_member_timer);
}

int ftc_comms_engine_more(struct ftc_comms_engine *engine)
{
    return for_all(engine, ftc_member_more);
}

/* --- life --- */

int ftc_comms_engine_new(struct ftc_comms_engine **out, const struct ftc_member_settings *settings)
{
    struct ftc_comms_engine *engine = calloc(1, sizeof(*engine));

    if (engine == NULL)
        return FTC_ERR_NOMEM;
    engine->settings = *settings;
    int rc = ftc_set_init(&engine->known, settings->ranks);
    if (rc == 0)
        rc = ftc_communicators_new(&engine->set, settings->ranks, settings->self);
    if (rc == 0)
        rc = part_new(engine, ftc_communicators_world(engine->set), NULL);
    if (rc != 0)
        ftc_comms_engine_free(engine);
    else
        *out = engine;
    return rc;
}

void ftc_comms_engine_use_boards(struct ftc_comms_engine *engine,
                                 const struct ftc_comms_boards *boards)
{
    engine->boards = boards;
}

void ftc_comms_engine_free(struct ftc_comms_engine *engine)
{
    if (engine == NULL)
        return;
    while (take_output(engine))
        ;
    while (engine->first != NULL)
        part_free(&engine->first);
    ftc_communicators_free(engine->set);
    ftc_set_fini(&engine->known);
    free(engine);
}

struct ftc_communicators *ftc_comms_engine_set(struct ftc_comms_engine *engine)
{
    return engine->set;
}

const struct ftc_member *ftc_comms_engine_member(const struct ftc_communicator *c, bool after)
{
    const struct part *part = part_of(c);

    return after ? part->after : part->member;
}

/* What was delivered last is looked at within the same input alone. */
void ftc_comms_engine_digest(const struct ftc_comms_engine *engine, ftc_digest_sink *sink,
                             void *arg)
{
    ftc_communicators_digest(engine->set, sink, arg);
    for (const struct part *part = engine->first; part != NULL; part = part->next) {
        unsigned char flags =
            (unsigned char)(part->waits | (part->member != NULL) << 1 | (part->after != NULL) << 2);
        sink(arg, &flags, sizeof(flags));
        if (part->member != NULL)
            ftc_member_digest(part->member, sink, arg);
        if (part->after != NULL)
            ftc_member_digest(part->after, sink, arg);
    }
}
