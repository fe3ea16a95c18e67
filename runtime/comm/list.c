/* Lists of communicators. */
#include "runtime/comm/list.h"

#include "runtime/comm/comm.h"

void ftc_comm_list_remove(struct ftc_comm *comm)
{
    struct ftc_comm_list *list = comm->list;

    if (list == NULL)
        return;
    *(comm->before != NULL ? &comm->before->behind : &list->first) = comm->behind;
    *(comm->behind != NULL ? &comm->behind->before : &list->last) = comm->before;
    list->count--;
    comm->list = NULL;
}

void ftc_comm_list_put(struct ftc_comm_list *list, struct ftc_comm *comm)
{
    ftc_comm_list_remove(comm);
    comm->list = list;
    comm->before = list->last;
    comm->behind = NULL;
    *(list->last != NULL ? &list->last->behind : &list->first) = comm;
    list->last = comm;
    list->count++;
}
