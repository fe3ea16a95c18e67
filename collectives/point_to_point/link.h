/* Lists whose entries have their own links: a circle, with the list itself as the end. */
#ifndef FTC_COLLECTIVES_POINT_TO_POINT_LINK_H
#define FTC_COLLECTIVES_POINT_TO_POINT_LINK_H

#include <stdbool.h>

struct ftc_link {
    struct ftc_link *next, *before;
};

/* An empty list, or an entry that is in none. */
static inline void ftc_link_init(struct ftc_link *link)
{
    link->next = link->before = link;
}

static inline bool ftc_link_is_empty(const struct ftc_link *list)
{
    return list->next == list;
}

/* The entry is in no list. */
static inline void ftc_link_put_last(struct ftc_link *list, struct ftc_link *entry)
{
    entry->next = list;
    entry->before = list->before;
    list->before->next = entry;
    list->before = entry;
}

/* Takes the entry out of the list that it is in, if any. */
static inline void ftc_link_take_out(struct ftc_link *entry)
{
    entry->before->next = entry->next;
    entry->next->before = entry->before;
    ftc_link_init(entry);
}

#endif
