/* Messages of communicators that this process does not know yet (C5, C6). */
#include <stdlib.h>

#include "collectives/communicators/internal.h"

/* Of how many such communicators are there messages of this sender, if this number comes to
 * them? */
static int numbers_of(const struct ftc_communicators *set, int from, uint64_t number)
{
    int count = 1;

    for (const struct ftc_early *e = set->early; e != NULL; e = e->next) {
        bool counted = e->from != from || e->number == number;
        for (const struct ftc_early *b = set->early; b != e && !counted; b = b->next)
            counted = b->from == from && b->number == e->number;
        count += !counted;
    }
    return count;
}

int ftc_early_keep(struct ftc_communicators *set, int from, uint64_t number,
                   struct ftc_buffer *message)
{
    if (numbers_of(set, from, number) > FTC_GROUPS_MOST)
        return FTC_ERR_PROTO;
    struct ftc_early *early = malloc(sizeof(*early));
    if (early == NULL)
        return FTC_ERR_NOMEM;
    *early = (struct ftc_early){.from = from, .number = number, .message = ftc_buffer_ref(message)};
    if (set->early == NULL)
        set->early = early;
    else
        set->early_last->next = early;
    set->early_last = early;
    ftc_communicators_note(set, FTC_COMMUNICATORS_EVENT_EARLY_KEPT);
    return 0;
}

void ftc_early_free(struct ftc_early *early)
{
    ftc_buffer_unref(early->message);
    free(early);
}

/* Takes out the first one of this sender (-1: any) and number (0: any). */
static struct ftc_early *take(struct ftc_communicators *set, int from, uint64_t number)
{
    struct ftc_early **link = &set->early, *before = NULL, *early;

    while ((early = *link) != NULL &&
           ((from >= 0 && early->from != from) || (number != 0 && early->number != number))) {
        before = early;
        link = &early->next;
    }
    if (early == NULL)
        return NULL;
    *link = early->next;
    if (set->early_last == early)
        set->early_last = before;
    return early;
}

struct ftc_early *ftc_early_take(struct ftc_communicators *set, uint64_t number)
{
    return take(set, -1, number);
}

void ftc_early_drop(struct ftc_communicators *set, int from, uint64_t number)
{
    struct ftc_early *early;

    while ((early = take(set, from, number)) != NULL) {
        ftc_communicators_note(set, FTC_COMMUNICATORS_EVENT_EARLY_DROPPED);
        ftc_early_free(early);
    }
}

int ftc_communicators_early(const struct ftc_communicators *set)
{
    int count = 0;

    for (const struct ftc_early *early = set->early; early != NULL; early = early->next)
        count++;
    return count;
}
