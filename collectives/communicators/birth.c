/* Making a child (C2 and C4): its number, its members and its first state follow from the decision
 * of its creation. */
#include <assert.h>
#include <stdlib.h>

#include "collectives/communicators/internal.h"

/* --- numbers (C1) --- */

struct ftc_roll_entry ftc_communicator_propose(struct ftc_communicator *c,
                                               const struct ftc_started *started)
{
    struct ftc_communicators *set = c->set;
    int maker = FTC_COMMUNICATORS_MUTATED(NO_MAKER) ? 0 : set->self;
    uint64_t count = FTC_COMMUNICATORS_MUTATED(SAME_COUNT) ? set->count + 1 : ++set->count;

    return (struct ftc_roll_entry){.wish = FTC_WISH_CREATE,
                                   .color = started->color,
                                   .key = started->key,
                                   .spare = started->spare,
                                   .proposal = ftc_communicator_number(count, maker)};
}

/* The greatest proposal. The counter takes its count over. */
static uint64_t choose_number(struct ftc_communicators *set, int ranks,
                              const struct ftc_communicator_delivery *d)
{
    uint64_t number = 0;

    for (int rank = 0; rank < ranks; rank++) {
        struct ftc_roll_entry entry = ftc_roll_read(d->value, d->size, ranks, rank);
        if (entry.wish == FTC_WISH_CREATE && entry.proposal > number)
            number = entry.proposal;
    }
    bool behind = ftc_communicator_count(number) > set->count;
    if (behind && !FTC_COMMUNICATORS_MUTATED(SAME_COUNT))
        set->count = ftc_communicator_count(number);
    return number;
}

/* --- members --- */

struct place {
    int key, rank; /* rank in the parent */
};

static int compare_places(const void *a, const void *b)
{
    const struct place *p = a, *q = b;

    if (p->key != q->key)
        return p->key < q->key ? -1 : 1;
    return p->rank - q->rank;
}

/* Is this rank of the parent in the same child as this process? */
static bool belongs(const struct ftc_communicator *parent, const struct ftc_started *started,
                    const struct ftc_communicator_delivery *delivery, int rank)
{
    struct ftc_roll_entry entry =
        ftc_roll_read(delivery->value, delivery->size, parent->ranks, rank);

    if (started->creation == FTC_CREATION_DUP)
        return true;
    if (entry.wish != FTC_WISH_CREATE ||
        (ftc_set_has(delivery->failed, rank) && !FTC_COMMUNICATORS_MUTATED(KEEP_FAILED)))
        return false;
    return started->creation != FTC_CREATION_SPLIT || entry.color == started->color;
}

/* The job's ranks of the child's members. NULL: out of memory. */
static int *list_members(const struct ftc_communicator *parent, const struct ftc_started *started,
                         const struct ftc_communicator_delivery *delivery, int *count)
{
    struct place *place = calloc((size_t)parent->ranks, sizeof(*place));
    int *job_rank = calloc((size_t)parent->ranks, sizeof(*job_rank));

    *count = 0;
    for (int rank = 0; place != NULL && rank < parent->ranks; rank++)
        if (belongs(parent, started, delivery, rank))
            place[(*count)++] = (struct place){
                .key = started->creation == FTC_CREATION_SPLIT
                           ? ftc_roll_read(delivery->value, delivery->size, parent->ranks, rank).key
                           : 0,
                .rank = rank};
    if (place != NULL && job_rank != NULL) {
        qsort(place, (size_t)*count, sizeof(*place), compare_places);
        for (int i = 0; i < *count; i++)
            job_rank[i] = ftc_communicator_in_job(parent, place[i].rank);
    } else {
        free(job_rank);
        job_rank = NULL;
    }
    free(place);
    return job_rank;
}

/* --- memory (C3) --- */

/* The communicator whose memory all members of the child have offered; 0: they have not. */
static uint64_t choose_spare(const struct ftc_communicator *parent,
                             const struct ftc_started *started,
                             const struct ftc_communicator_delivery *delivery)
{
    for (int rank = 0; rank < parent->ranks; rank++) {
        struct ftc_roll_entry entry =
            ftc_roll_read(delivery->value, delivery->size, parent->ranks, rank);
        bool offers = entry.wish == FTC_WISH_CREATE && entry.spare == started->spare;
        if (belongs(parent, started, delivery, rank) && !offers &&
            !FTC_COMMUNICATORS_MUTATED(SPARE_OF_ONE))
            return 0;
    }
    return started->spare;
}

int ftc_communicator_bear(struct ftc_communicator *parent, const struct ftc_started *started,
                          const struct ftc_communicator_delivery *delivery,
                          struct ftc_communicator **child)
{
    uint64_t number = choose_number(parent->set, parent->ranks, delivery);
    bool dup = started->creation == FTC_CREATION_DUP;
    int count;

    *child = NULL;
    if (started->creation == FTC_CREATION_SPLIT && started->color == FTC_COLOR_UNDEFINED)
        return 0;
    int *job_rank = list_members(parent, started, delivery, &count);
    if (job_rank == NULL)
        return FTC_ERR_NOMEM;
    assert(count > 0);
    return ftc_communicator_new(parent->set, number, count, job_rank, dup ? delivery->agreed : NULL,
                                choose_spare(parent, started, delivery), child);
}
