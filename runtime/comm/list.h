/* A list of communicators. One is in one list at most. Under process->lock. */
#ifndef FTC_RUNTIME_COMM_LIST_H
#define FTC_RUNTIME_COMM_LIST_H

#include <stddef.h>

struct ftc_comm;

struct ftc_comm_list {
    struct ftc_comm *first, *last;
    size_t count;
};

/* Puts it at the end, from wherever it is. */
void ftc_comm_list_put(struct ftc_comm_list *list, struct ftc_comm *comm);
/* Takes it out of the list that it is in, if any. */
void ftc_comm_list_remove(struct ftc_comm *comm);

#endif
