/* Memory that waits for another communicator. */
#include "runtime/comm/spare.h"

#include <stdlib.h>
#include <string.h>

#define MOST       16 /* spares of a process */
#define MOST_RANKS 64 /* of a communicator: one page of small buffers each is not much */

struct ftc_spare {
    struct ftc_spare *next;
    uint64_t number, parent, wish;
    uint64_t ticket; /* of the creation to which it is offered; 0: none */
    struct ftc_board_file *file;
    int size, job_ranks[];
};

static void drop(struct ftc_process *process, struct ftc_spare **link)
{
    struct ftc_spare *spare = *link;

    *link = spare->next;
    process->spares_count--;
    ftc_board_file_close(spare->file);
    free(spare);
}

/* The oldest one that is not offered makes room. False: all are offered. */
static bool make_room(struct ftc_process *process)
{
    struct ftc_spare **link = &process->spares;

    if (process->spares_count < MOST)
        return true;
    while (*link != NULL && (*link)->ticket != 0)
        link = &(*link)->next;
    if (*link == NULL)
        return false;
    drop(process, link);
    return true;
}

/* Without memory it is not kept. */
void ftc_spare_keep(struct ftc_comm *comm)
{
    struct ftc_process *process = comm->process;
    struct ftc_spare **link = &process->spares, *spare;
    size_t ranks = (size_t)comm->size * sizeof(comm->job_ranks[0]);

    if (comm->parent == 0 || comm->size > MOST_RANKS || !make_room(process) ||
        (spare = malloc(sizeof(*spare) + ranks)) == NULL)
        return;
    *spare = (struct ftc_spare){.number = comm->number,
                                .parent = comm->parent,
                                .wish = comm->wish,
                                .file = ftc_board_file_share(comm->file),
                                .size = comm->size};
    memcpy(spare->job_ranks, comm->job_ranks, ranks);
    while (*link != NULL)
        link = &(*link)->next;
    *link = spare;
    process->spares_count++;
}

/* Memory goes only to a child with the same members in the same order. Those of a part are not
 * known yet; most likely they are the ranks that gave this color before. The oldest one first: a
 * program that makes and frees communicators in turn makes the same ones again in this order. */
uint64_t ftc_spare_offer(const struct ftc_comm *parent, uint64_t wish)
{
    const struct ftc_spare *spare = parent->process->spares;

    while (spare != NULL &&
           (spare->parent != parent->number || spare->wish != wish || spare->ticket != 0))
        spare = spare->next;
    return spare != NULL ? spare->number : 0;
}

static struct ftc_spare **find(struct ftc_process *process, uint64_t number)
{
    struct ftc_spare **link = &process->spares;

    while (*link != NULL && (*link)->number != number)
        link = &(*link)->next;
    return link;
}

void ftc_spare_offered(struct ftc_process *process, uint64_t number, uint64_t ticket)
{
    struct ftc_spare *spare = *find(process, number);

    if (spare != NULL)
        spare->ticket = ticket;
}

struct ftc_board_file *ftc_spare_take(struct ftc_process *process, uint64_t number, int size,
                                      const int *job_ranks)
{
    struct ftc_spare **link = find(process, number), *spare = *link;

    if (number == 0 || spare == NULL || spare->size != size ||
        memcmp(spare->job_ranks, job_ranks, (size_t)size * sizeof(job_ranks[0])) != 0)
        return NULL;
    struct ftc_board_file *file = ftc_board_file_share(spare->file);
    drop(process, link);
    ftc_board_file_renew(file);
    return file;
}

void ftc_spare_drop_offered(struct ftc_process *process, uint64_t ticket)
{
    struct ftc_spare **link = &process->spares;

    while (*link != NULL && (*link)->ticket != ticket)
        link = &(*link)->next;
    if (*link != NULL)
        drop(process, link);
}

void ftc_spare_drop_of(struct ftc_process *process, uint64_t number)
{
    struct ftc_spare **link = &process->spares;

    while (*link != NULL)
        if (number == 0 || (*link)->parent == number)
            drop(process, link);
        else
            link = &(*link)->next;
}
