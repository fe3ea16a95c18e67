/*
 * The communicators of a process: the inputs. The files beside this one call only files below them:
 *
 *   communicators.c  inputs
 *   step.c           calls that begin (C11), and what follows when they are delivered
 *   birth.c          what a child is (C1, C2, C4)
 *   revoke.c         closing and GONE (C7), REVOKE (C8)
 *   early.c          messages of temporary communicators that come too early (C5)
 *   table.c          the memory of communicators, and when they are forgotten
 *   outputs.c        the queue of outputs
 *   digest.c         the state as bytes
 *   roll.c           what the members contribute (C2, C9)
 */
#include "collectives/communicators/communicators.h"

#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "collectives/communicators/internal.h"
#include "collectives/message.h"

/* --- life --- */

static void destroy_list(struct ftc_communicator **first)
{
    while (*first != NULL) {
        struct ftc_communicator *c = *first;
        *first = c->next;
        ftc_communicator_destroy(c);
    }
}

int ftc_communicators_new(struct ftc_communicators **out, int ranks, int self)
{
    struct ftc_communicators *set = calloc(1, sizeof(*set));
    struct ftc_communicator *world = NULL;
    int rc = FTC_ERR_NOMEM;

    if (set == NULL || ftc_set_init(&set->known, ranks) != 0)
        goto err;
    set->ranks = ranks;
    set->self = self;
    rc = ftc_communicator_new(set, FTC_COMMUNICATOR_WORLD, ranks, NULL, NULL, 0, &world);
    if (rc != 0)
        goto err;
    world->in_use = true;
    *out = set;
    return 0;

err:
    ftc_communicators_free(set);
    return rc;
}

void ftc_communicators_free(struct ftc_communicators *set)
{
    struct ftc_early *early;

    if (set == NULL)
        return;
    ftc_communicators_drop_outputs(set);
    destroy_list(&set->first);
    destroy_list(&set->forgotten);
    while ((early = set->early) != NULL) {
        set->early = early->next;
        ftc_early_free(early);
    }
    for (struct ftc_tally *tally = set->tally, *next; tally != NULL; tally = next) {
        next = tally->next;
        free(tally);
    }
    ftc_set_fini(&set->known);
    free(set);
}

struct ftc_communicator *ftc_communicators_world(struct ftc_communicators *set)
{
    return ftc_communicators_find(set, FTC_COMMUNICATOR_WORLD);
}

const uint64_t *ftc_communicators_events(const struct ftc_communicators *set)
{
    return set->events;
}

static int take_kept(struct ftc_communicators *set);

/* After each input. `rc` is what the input has returned so far. */
static int settle(struct ftc_communicators *set, int rc)
{
    int settled = 0;

    if (rc != 0 && rc != FTC_ERR_PROTO)
        return rc;
    do
        settled = ftc_communicators_settle(set);
    while (settled == 0 && (settled = take_kept(set)) == 1);
    return rc == 0 ? settled : rc;
}

/* Before each input: the engine has taken all outputs. */
static void begin_input(struct ftc_communicators *set)
{
    if (set->queue == NULL)
        destroy_list(&set->forgotten);
}

/* --- calls --- */

/* C9: may a call begin that is no agree? After a revoke only agreements may, and only once the
 * caller knows. */
static bool may_begin(const struct ftc_communicator *c, bool agrees)
{
    if (!c->revoked)
        return true;
    return agrees && (c->told || FTC_COMMUNICATORS_MUTATED(AFTER_UNTOLD));
}

static int refuse(struct ftc_communicator *c, uint64_t *ticket)
{
    c->told = true;
    *ticket = ++c->set->tickets;
    return ftc_communicator_put(c, FTC_COMMUNICATORS_CUT_OFF, *ticket);
}

static int check_in_use(const struct ftc_communicator *c)
{
    return c->in_use && !c->freed
               ? 0
               : ftc_error_set(FTC_ERR_STATE, "the communicator is freed, or is not open yet");
}

int ftc_communicator_start(struct ftc_communicator *c, const struct ftc_call *call,
                           uint64_t *ticket)
{
    int rc = check_in_use(c);

    if (rc != 0)
        return rc;
    begin_input(c->set);
    bool agree = call->signature.kind == FTC_CALL_AGREE;
    if (!agree && !may_begin(c, call->signature.kind == FTC_CALL_VALIDATE))
        return refuse(c, ticket);
    struct ftc_started *started = ftc_started_add(c, FTC_STARTED_OPERATION);
    if (started == NULL)
        return FTC_ERR_NOMEM;
    started->call = *call;
    started->after = c->revoked || (agree && !FTC_COMMUNICATORS_MUTATED(AGREE_AS_OPERATION));
    *ticket = started->ticket;
    return settle(c->set, 0);
}

int ftc_communicator_create(struct ftc_communicator *c, enum ftc_creation creation, int color,
                            int key, uint64_t spare, uint64_t *ticket)
{
    int rc = check_in_use(c);

    if (rc != 0)
        return rc;
    begin_input(c->set);
    if (!may_begin(c, creation == FTC_CREATION_SHRINK))
        return refuse(c, ticket);
    struct ftc_started *started = ftc_started_add(c, FTC_STARTED_CREATION);
    if (started == NULL)
        return FTC_ERR_NOMEM;
    started->creation = creation;
    started->color = color;
    started->key = key;
    started->spare = spare;
    started->after = c->revoked;
    *ticket = started->ticket;
    return settle(c->set, 0);
}

int ftc_communicator_free(struct ftc_communicator *c)
{
    int rc = check_in_use(c);

    if (rc != 0)
        return rc;
    begin_input(c->set);
    return settle(c->set, ftc_communicator_close(c));
}

int ftc_communicator_revoke(struct ftc_communicator *c)
{
    int rc = check_in_use(c);

    if (rc != 0)
        return rc;
    begin_input(c->set);
    c->told = true;
    return settle(c->set, ftc_communicator_learn_revoked(c, -1));
}

int ftc_communicator_found_revoked(struct ftc_communicator *c)
{
    begin_input(c->set);
    return settle(c->set, ftc_communicator_learn_revoked(c, -1));
}

void ftc_communicator_told(struct ftc_communicator *c)
{
    c->told = true;
}

/* --- groups (C5) --- */

static uint64_t digest(uint64_t number, int count, const int ranks[], int tag)
{
    uint64_t sum = ftc_mix(number + 1);

    sum = ftc_mix(sum ^ (uint64_t)(unsigned)tag);
    for (int i = 0; i < count; i++)
        sum = ftc_mix(sum + (uint64_t)(unsigned)ranks[i] + 1);
    return sum;
}

static struct ftc_tally *find_tally(struct ftc_communicators *set, uint64_t parent, uint64_t sum)
{
    struct ftc_tally *tally = set->tally;

    while (tally != NULL && (tally->parent != parent || tally->digest != sum))
        tally = tally->next;
    if (tally == NULL && (tally = calloc(1, sizeof(*tally))) != NULL) {
        *tally = (struct ftc_tally){.next = set->tally, .parent = parent, .digest = sum};
        set->tally = tally;
    }
    return tally;
}

static int groups_under_way(const struct ftc_communicators *set)
{
    int count = 0;

    for (const struct ftc_communicator *c = set->first; c != NULL; c = c->next)
        count += ftc_communicator_is_temporary(c->number) && c->first != NULL;
    return count;
}

/* The engine takes a message in. */
static int put_take(struct ftc_communicator *c, int from, bool after, struct ftc_buffer *message)
{
    return ftc_communicators_put(c->set,
                                 &(struct ftc_communicators_output){.kind = FTC_COMMUNICATORS_TAKE,
                                                                    .number = c->number,
                                                                    .communicator = c,
                                                                    .after = after,
                                                                    .rank = from,
                                                                    .message = message});
}

/* Gives out the messages of a temporary communicator that came before this process called it. */
static int take_early(struct ftc_communicator *c)
{
    struct ftc_early *early;
    int rc = 0;

    while (rc == 0 && (early = ftc_early_take(c->set, c->number)) != NULL) {
        rc = put_take(c, early->from, false, early->message);
        ftc_early_free(early);
    }
    return rc;
}

/* The temporary communicator. All its members begin with the same view. */
static int make_temporary(struct ftc_communicator *parent, int count, const int ranks[],
                          struct ftc_tally *tally, struct ftc_communicator **out)
{
    struct ftc_communicators *set = parent->set;
    uint64_t number = ftc_mix(tally->digest + ftc_mix(++tally->calls));
    int *job_rank = calloc((size_t)count, sizeof(*job_rank));

    if (job_rank == NULL)
        return FTC_ERR_NOMEM;
    for (int i = 0; i < count; i++)
        job_rank[i] = ftc_communicator_in_job(parent, ranks[i]);
    number = (number & (FTC_COMMUNICATOR_REVOKED - 1)) | FTC_COMMUNICATOR_TEMPORARY;
    int rc = ftc_communicator_new(set, number, count, job_rank, NULL, 0, out);
    if (rc != 0)
        return rc;
    (*out)->parent = parent->number;
    return 0;
}

static int check_group(const struct ftc_communicator *c, int count, const int ranks[])
{
    bool listed = false;

    for (int i = 0; i < count; i++) {
        if (ranks[i] < 0 || ranks[i] >= c->ranks)
            return ftc_error_set(FTC_ERR_ARG, "rank %d does not exist", ranks[i]);
        for (int j = 0; j < i; j++)
            if (ranks[j] == ranks[i])
                return ftc_error_set(FTC_ERR_ARG, "rank %d is listed twice", ranks[i]);
        listed |= ranks[i] == c->self;
    }
    if (!listed)
        return ftc_error_set(FTC_ERR_ARG, "this rank is not listed");
    return groups_under_way(c->set) < FTC_GROUPS_MOST
               ? 0
               : ftc_error_set(FTC_ERR_STATE, "%d groups are being created; wait for one",
                               FTC_GROUPS_MOST);
}

int ftc_communicator_create_group(struct ftc_communicator *c, int count, const int ranks[], int tag,
                                  uint64_t *ticket)
{
    struct ftc_communicator *temporary;
    int rc = check_in_use(c);

    if (rc == 0)
        rc = check_group(c, count, ranks);
    if (rc != 0)
        return rc;
    begin_input(c->set);
    if (!may_begin(c, false))
        return refuse(c, ticket);
    struct ftc_tally *tally = find_tally(c->set, c->number, digest(c->number, count, ranks, tag));
    if (tally == NULL)
        return FTC_ERR_NOMEM;
    rc = make_temporary(c, count, ranks, tally, &temporary);
    if (rc != 0)
        return rc;
    struct ftc_started *started = ftc_started_add(temporary, FTC_STARTED_CREATION);
    if (started == NULL)
        return FTC_ERR_NOMEM;
    started->creation = FTC_CREATION_GROUP;
    *ticket = started->ticket;
    return settle(c->set, take_early(temporary));
}

/* --- messages --- */

/* C6: must the sender of a message of a forgotten communicator be told? */
static bool must_answer(const struct ftc_buffer *message)
{
    struct ftc_message_head head;

    if (ftc_message_peek(message, &head) != 0)
        return false;
    bool first = head.ballot.i == 0 && head.ballot.s == 0;
    return head.kind == FTC_MESSAGE_PULL || head.kind == FTC_MESSAGE_POKE ||
           head.kind == FTC_MESSAGE_PREPARE || (!first && head.kind != FTC_MESSAGE_DECIDE);
}

static int answer_gone(struct ftc_communicators *set, int from, uint64_t number)
{
    if (FTC_COMMUNICATORS_MUTATED(NO_GONE))
        return 0;
    ftc_communicators_note(set, FTC_COMMUNICATORS_EVENT_GONE_ANSWERED);
    return ftc_communicators_say(set, number, from, FTC_WORD_GONE);
}

/* C5: all that live had called operation 0 before anybody sent a message of operation 1. And a
 * process that has said BYE sends none of operation 0. So a message of operation 1 comes after this
 * process has forgotten the temporary communicator. */
static bool comes_late(const struct ftc_buffer *message)
{
    struct ftc_message_head head;

    return !FTC_COMMUNICATORS_MUTATED(KEEP_LATE) &&
           (ftc_message_peek(message, &head) != 0 || head.op > 0);
}

/* C1: a process takes over the count of each communicator that it is given. So no other number can
 * be that of a forgotten one. If a revoke has cut off a creation, it may
 * be one that this process was never given. */
static bool may_have_been(const struct ftc_communicators *set, uint64_t number)
{
    uint64_t count = ftc_communicator_count(number);

    if (count == 0)
        return number == FTC_COMMUNICATOR_WORLD;
    return count <= set->count || set->events[FTC_COMMUNICATORS_EVENT_REVOKED] > 0;
}

/* C6: a message of a number that this process does not know. */
static int receive_unknown(struct ftc_communicators *set, int from, uint64_t number,
                           struct ftc_buffer *message)
{
    bool dead = ftc_set_has(&set->known, from);

    if (ftc_communicator_is_temporary(number)) {
        if ((dead && !FTC_COMMUNICATORS_MUTATED(KEEP_OF_DEAD)) || comes_late(message) ||
            FTC_COMMUNICATORS_MUTATED(DROP_EARLY))
            return 0;
        return ftc_early_keep(set, from, number, message);
    }
    if (!may_have_been(set, number))
        return FTC_ERR_PROTO;
    if (!dead && must_answer(message))
        return answer_gone(set, from, number);
    ftc_communicators_note(set, FTC_COMMUNICATORS_EVENT_DROPPED);
    return 0;
}

/* C5: the sender needs nothing more of this temporary communicator. This process says BYE once more
 * if it has not called it or was cut off: its own BYE may have come before the sender called it. */
static int take_bye(struct ftc_communicators *set, struct ftc_communicator *c, int from,
                    uint64_t number, bool answer)
{
    if (!ftc_communicator_is_temporary(number))
        return FTC_ERR_PROTO;
    if (c != NULL)
        ftc_set_add(&c->bye, ftc_communicator_rank_of(c, from));
    else
        ftc_early_drop(set, from, number);
    bool must_say = !answer && (c == NULL || c->revoked);
    return must_say && !FTC_COMMUNICATORS_MUTATED(BYE_UNANSWERED)
               ? ftc_communicators_say(set, number, from, FTC_WORD_BYE_ANSWER)
               : 0;
}

static int take_revoke(struct ftc_communicators *set, struct ftc_communicator *c, int from,
                       uint64_t number)
{
    if (c != NULL)
        return ftc_communicator_learn_revoked(c, ftc_communicator_rank_of(c, from));
    return FTC_COMMUNICATORS_MUTATED(REVOKE_UNANSWERED) ? 0 : answer_gone(set, from, number);
}

static int take_gone(struct ftc_communicator *c, int from)
{
    return ftc_communicator_take_gone(c, ftc_communicator_rank_of(c, from));
}

static int receive_word(struct ftc_communicators *set, struct ftc_communicator *c, int from,
                        uint64_t number, struct ftc_buffer *message)
{
    struct ftc_reader reader = {.data = message->data, .size = message->size};
    uint16_t word;
    int kind;

    if (!ftc_frame_read(&reader, &kind, &word, &number) || reader.used != reader.size)
        return FTC_ERR_PROTO;
    bool temporary = ftc_communicator_is_temporary(number);
    switch (word) {
    case FTC_WORD_GONE:
        return temporary ? FTC_ERR_PROTO : c != NULL ? take_gone(c, from) : 0;
    case FTC_WORD_BYE:
    case FTC_WORD_BYE_ANSWER:
        return take_bye(set, c, from, number, word == FTC_WORD_BYE_ANSWER);
    case FTC_WORD_REVOKE:
        return temporary ? FTC_ERR_PROTO : take_revoke(set, c, from, number);
    default:
        return FTC_ERR_PROTO;
    }
}

/* A message of a member is the engine's. */
static int receive_member(struct ftc_communicator *c, int from, bool after,
                          struct ftc_buffer *message)
{
    if (FTC_COMMUNICATORS_MUTATED(GONE_TOO_EARLY) && c->freed && must_answer(message))
        return ftc_communicators_say(c->set, c->number, from, FTC_WORD_GONE);
    return put_take(c, from, after, message);
}

/* C8: a message of one that is no member. It may have abandoned a child of another decision. */
static int receive_stranger(struct ftc_communicator *c, bool may_abandon)
{
    if (!may_abandon || ftc_communicator_is_temporary(c->number) ||
        FTC_COMMUNICATORS_MUTATED(STRANGER_ACCUSED))
        return FTC_ERR_PROTO;
    ftc_communicators_note(c->set, FTC_COMMUNICATORS_EVENT_DROPPED);
    return 0;
}

/* C6: may this process get the communicator of an unknown number yet? A creation that is decided
 * has an entry of each process that lives, so this one has called it. */
static bool may_come(const struct ftc_communicators *set, int from, uint64_t number)
{
    if (ftc_communicator_is_temporary(number) || ftc_set_has(&set->known, from) ||
        FTC_COMMUNICATORS_MUTATED(COMING_DROPPED))
        return false;
    const struct ftc_communicator *c = set->first;
    while (c != NULL &&
           !(c->called && c->first->kind == FTC_STARTED_CREATION && !c->first->opening))
        c = c->next;
    return c != NULL;
}

static int receive(struct ftc_communicators *set, int from, struct ftc_buffer *message)
{
    uint64_t number = ftc_frame_communicator(message);
    bool word = ftc_frame_kind(message) == FTC_FRAME_COMMUNICATOR;
    bool after = ftc_communicator_is_after(number);

    if (after)
        number &= ~FTC_COMMUNICATOR_REVOKED;
    struct ftc_communicator *c = ftc_communicators_find(set, number);
    if (c != NULL && ftc_communicator_rank_of(c, from) < 0)
        return receive_stranger(c, word || after);
    if (c == NULL && (word || after) && may_come(set, from, number))
        return ftc_early_keep(set, from, number, message);
    if (word)
        return receive_word(set, c, from, number, message);
    return c == NULL ? receive_unknown(set, from, number, message)
                     : receive_member(c, from, after, message);
}

/* C6: takes in a message that was kept for a child, if that has begun or cannot come any more. 1:
 * it has. It drops one that breaks the protocol: the input of this moment is of another sender. */
static int take_kept(struct ftc_communicators *set)
{
    const struct ftc_early *kept = set->early;

    while (kept != NULL && (ftc_communicator_is_temporary(kept->number) ||
                            (ftc_communicators_find(set, kept->number) == NULL &&
                             may_come(set, kept->from, kept->number))))
        kept = kept->next;
    if (kept == NULL)
        return 0;
    struct ftc_early *early = ftc_early_take(set, kept->number);
    int rc = receive(set, early->from, early->message);
    ftc_early_free(early);
    return rc == 0 || rc == FTC_ERR_PROTO ? 1 : rc;
}

int ftc_communicators_receive(struct ftc_communicators *set, int from, struct ftc_buffer *message)
{
    if (from < 0 || from >= set->ranks || from == set->self)
        return FTC_ERR_PROTO;
    begin_input(set);
    return settle(set, receive(set, from, message));
}

/* --- other inputs --- */

int ftc_communicators_notice(struct ftc_communicators *set, int rank)
{
    int rc = 0;

    if (rank < 0 || rank >= set->ranks)
        return FTC_ERR_ARG;
    begin_input(set);
    ftc_set_add(&set->known, rank);
    if (!FTC_COMMUNICATORS_MUTATED(KEEP_OF_DEAD))
        ftc_early_drop(set, rank, 0);
    for (struct ftc_communicator *c = set->first; rc == 0 && c != NULL; c = c->next)
        rc = ftc_communicator_revoke_again(c);
    return settle(set, rc);
}

int ftc_communicator_delivered(struct ftc_communicator *c,
                               const struct ftc_communicator_delivery *delivery)
{
    if (!c->called)
        return ftc_error_set(FTC_ERR_STATE, "no call is under way");
    begin_input(c->set);
    return settle(c->set, ftc_communicator_finish(c, delivery));
}

int ftc_communicators_opened(struct ftc_communicators *set, uint64_t number, bool sound)
{
    begin_input(set);
    for (struct ftc_communicator *c = set->first; c != NULL; c = c->next) {
        struct ftc_started *started = c->first;
        if (started == NULL || started->child == NULL || started->child->number != number)
            continue;
        started->opened = true;
        started->refuses = !sound;
    }
    return settle(set, 0);
}
