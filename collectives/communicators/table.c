/* The communicators of a process: their memory, and the calls that were started in them. */
#include <stdlib.h>

#include "collectives/communicators/internal.h"

/* --- communicators --- */

bool ftc_communicator_knows_failed(const struct ftc_communicator *c, int rank)
{
    return ftc_set_has(&c->set->known, ftc_communicator_in_job(c, rank)) ||
           ftc_set_has(&c->lost, rank);
}

static void append(struct ftc_communicators *set, struct ftc_communicator *c)
{
    struct ftc_communicator **link = &set->first;

    while (*link != NULL)
        link = &(*link)->next;
    *link = c;
}

static int put_begin(struct ftc_communicator *c, uint64_t spare)
{
    return ftc_communicators_put(c->set, &(struct ftc_communicators_output){
                                             .kind = FTC_COMMUNICATORS_BEGIN,
                                             .number = c->number,
                                             .communicator = c,
                                             .spare = spare,
                                             .agreed = c->agreed.size > 0 ? &c->agreed : NULL});
}

int ftc_communicator_new(struct ftc_communicators *set, uint64_t number, int ranks, int *job_rank,
                         const struct ftc_set *agreed, uint64_t spare,
                         struct ftc_communicator **out)
{
    struct ftc_communicator *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        free(job_rank);
        return FTC_ERR_NOMEM;
    }
    c->set = set;
    c->number = number;
    c->ranks = ranks;
    c->job_rank = job_rank;
    c->self = ftc_communicator_rank_of(c, set->self);
    c->next_told = -1;
    if (ftc_set_init(&c->bye, ranks) != 0 || ftc_set_init(&c->lost, ranks) != 0 ||
        (agreed != NULL && ftc_set_init(&c->agreed, ranks) != 0)) {
        ftc_communicator_destroy(c);
        return FTC_ERR_NOMEM;
    }
    if (agreed != NULL)
        ftc_set_copy(&c->agreed, agreed);
    append(set, c);
    *out = c;
    return number == FTC_COMMUNICATOR_WORLD ? 0 : put_begin(c, spare);
}

void ftc_communicator_destroy(struct ftc_communicator *c)
{
    if (c == NULL)
        return;
    while (c->first != NULL)
        ftc_started_pop(c);
    ftc_set_fini(&c->agreed);
    ftc_set_fini(&c->bye);
    ftc_set_fini(&c->lost);
    free(c->job_rank);
    free(c);
}

struct ftc_communicator *ftc_communicators_next(const struct ftc_communicators *set,
                                                const struct ftc_communicator *c)
{
    return c == NULL ? set->first : c->next;
}

struct ftc_communicator *ftc_communicators_find(const struct ftc_communicators *set,
                                                uint64_t number)
{
    struct ftc_communicator *c = set->first;

    while (c != NULL && (c->number != number || c->ended))
        c = c->next;
    return c;
}

uint64_t ftc_communicator_name(const struct ftc_communicator *c)
{
    return c->number;
}

int ftc_communicator_size(const struct ftc_communicator *c)
{
    return c->ranks;
}

int ftc_communicator_self(const struct ftc_communicator *c)
{
    return c->self;
}

int ftc_communicator_job_rank(const struct ftc_communicator *c, int rank)
{
    return ftc_communicator_in_job(c, rank);
}

const int *ftc_communicator_job_ranks(struct ftc_communicator *c)
{
    if (c->job_rank == NULL && (c->job_rank = calloc((size_t)c->ranks, sizeof(int))) != NULL)
        for (int rank = 0; rank < c->ranks; rank++)
            c->job_rank[rank] = rank;
    return c->job_rank;
}

int ftc_communicator_rank_of(const struct ftc_communicator *c, int job_rank)
{
    if (c->job_rank == NULL)
        return job_rank < c->ranks ? job_rank : -1;
    for (int rank = 0; rank < c->ranks; rank++)
        if (c->job_rank[rank] == job_rank)
            return rank;
    return -1;
}

bool ftc_communicator_by_messages(const struct ftc_communicator *c)
{
    return c->by_messages;
}

bool ftc_communicator_is_revoked(const struct ftc_communicator *c)
{
    return c->revoked;
}

bool ftc_communicator_has_callers(const struct ftc_communicator *c)
{
    return c->in_use && !c->freed;
}

void ftc_communicator_attach(struct ftc_communicator *c, void *engine)
{
    c->engine = engine;
}

void *ftc_communicator_engine(const struct ftc_communicator *c)
{
    return c->engine;
}

/* --- calls that were started --- */

struct ftc_started *ftc_started_add(struct ftc_communicator *c, enum ftc_started_kind kind)
{
    struct ftc_started *started = calloc(1, sizeof(*started));

    if (started == NULL)
        return NULL;
    started->kind = kind;
    started->ticket = ++c->set->tickets;
    if (c->first == NULL)
        c->first = started;
    else
        c->last->next = started;
    c->last = started;
    return started;
}

void ftc_started_remove(struct ftc_communicator *c, struct ftc_started *started)
{
    struct ftc_started **link = &c->first, *before = NULL;

    if (started == c->first)
        ftc_communicator_end_call(c);
    while (*link != started) {
        before = *link;
        link = &before->next;
    }
    *link = started->next;
    if (c->last == started)
        c->last = before;
    free(started);
}

void ftc_started_pop(struct ftc_communicator *c)
{
    ftc_started_remove(c, c->first);
}

void ftc_communicator_end_call(struct ftc_communicator *c)
{
    ftc_buffer_unref(c->roll);
    c->roll = NULL;
    c->called = false;
}

/* --- the end --- */

/* C5: it answers until each other member has said BYE or has failed. */
static bool all_said_bye(const struct ftc_communicator *c)
{
    if (FTC_COMMUNICATORS_MUTATED(FORGET_BEFORE_BYE))
        return true;
    for (int rank = 0; rank < c->ranks; rank++)
        if (rank != c->self && !ftc_set_has(&c->bye, rank) &&
            !ftc_communicator_knows_failed(c, rank))
            return false;
    return true;
}

/* What is kept with a communicator goes with it. */
static void forget_tallies(struct ftc_communicators *set, uint64_t parent)
{
    struct ftc_tally **link = &set->tally;

    while (*link != NULL) {
        struct ftc_tally *tally = *link;
        if (tally->parent != parent) {
            link = &tally->next;
            continue;
        }
        *link = tally->next;
        free(tally);
    }
}

int ftc_communicators_sweep(struct ftc_communicators *set)
{
    struct ftc_communicator **link = &set->first;
    int rc = 0;

    while (rc == 0 && *link != NULL) {
        struct ftc_communicator *c = *link;
        if (c->left && all_said_bye(c))
            c->ended = true;
        if (!c->ended) {
            link = &c->next;
            continue;
        }
        *link = c->next;
        c->next = set->forgotten;
        set->forgotten = c;
        if (!ftc_communicator_is_temporary(c->number))
            forget_tallies(set, c->number);
        rc = ftc_communicator_put(c, FTC_COMMUNICATORS_FORGET, 0);
    }
    return rc;
}
