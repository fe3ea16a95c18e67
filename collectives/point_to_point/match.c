/* Which message goes to which receive (P1). */
#include <stddef.h>
#include <stdlib.h>

#include "base/error.h"
#include "collectives/point_to_point/internal.h"

static bool tags_fit(int wanted, uint8_t context, const struct ftc_matching_message *message)
{
    return (context == message->context || FTC_MATCHING_MUTATED(OTHER_CONTEXT)) &&
           (wanted == FTC_MATCHING_ANY || wanted == (int)message->tag);
}

/* The first receive of a list that takes the message. */
static struct ftc_transfer *first_receiver(struct ftc_link *list,
                                           const struct ftc_matching_message *message)
{
    for (struct ftc_link *link = list->next; link != list; link = link->next) {
        struct ftc_transfer *t = ftc_transfer_of(link);
        if (tags_fit(t->tag, t->context, message))
            return t;
    }
    return NULL;
}

struct ftc_transfer *ftc_matching_receiver(struct ftc_matching *m, struct ftc_matching_peer *peer,
                                           const struct ftc_matching_message *message)
{
    struct ftc_transfer *one = first_receiver(&peer->posted, message);
    struct ftc_transfer *any = first_receiver(&m->posted_any, message);

    if (one == NULL || any == NULL)
        return one != NULL ? one : any;
    return one->order < any->order || FTC_MATCHING_MUTATED(LATER_RECEIVE) ? one : any;
}

static struct ftc_arrival *of_peer(struct ftc_link *link)
{
    return (struct ftc_arrival *)(void *)link;
}

static struct ftc_arrival *of_all(struct ftc_link *link)
{
    return (struct ftc_arrival *)(void *)((char *)link - offsetof(struct ftc_arrival, of_all));
}

struct ftc_arrival *ftc_matching_arrival(const struct ftc_matching *m, int from, int tag,
                                         uint8_t context)
{
    bool any = from == FTC_MATCHING_ANY;
    const struct ftc_matching_peer *peer = any ? NULL : ftc_matching_known(m, from);
    struct ftc_arrival *found = NULL;

    if ((!any && peer == NULL) || (any && FTC_MATCHING_MUTATED(ANY_UNSEEN)))
        return NULL;
    const struct ftc_link *list = any ? &m->arrivals : &peer->arrivals;
    for (struct ftc_link *link = list->next; link != list; link = link->next) {
        struct ftc_arrival *arrival = any ? of_all(link) : of_peer(link);
        if (!tags_fit(tag, context, &arrival->message))
            continue;
        found = arrival;
        if (!FTC_MATCHING_MUTATED(LATER_MESSAGE))
            break;
    }
    return found;
}

/* --- unexpected messages --- */

int ftc_arrival_keep(struct ftc_matching *m, struct ftc_matching_peer *peer, int from,
                     const struct ftc_matching_message *message, struct ftc_buffer *buffer)
{
    struct ftc_arrival *arrival = m->spare;

    if (arrival != NULL)
        m->spare = arrival->of_all.next != NULL ? of_all(arrival->of_all.next) : NULL;
    else
        arrival = malloc(sizeof(*arrival));
    if (arrival == NULL)
        return FTC_ERR_NOMEM;
    *arrival = (struct ftc_arrival){.from = from, .message = *message};
    if (message->what == FTC_MATCHING_EAGER)
        arrival->buffer = ftc_buffer_ref(buffer);
    ftc_link_put_last(&peer->arrivals, &arrival->of_peer);
    ftc_link_put_last(&m->arrivals, &arrival->of_all);
    return FTC_SUCCESS;
}

void ftc_arrival_drop(struct ftc_matching *m, struct ftc_arrival *arrival)
{
    ftc_link_take_out(&arrival->of_peer);
    ftc_link_take_out(&arrival->of_all);
    ftc_buffer_unref(arrival->buffer);
    arrival->buffer = NULL;
    arrival->of_all.next = m->spare != NULL ? &m->spare->of_all : NULL;
    m->spare = arrival;
}

void ftc_arrivals_drop(struct ftc_matching *m, struct ftc_link *list)
{
    while (!ftc_link_is_empty(list))
        ftc_arrival_drop(m, of_all(list->next));
}
