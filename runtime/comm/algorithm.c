/* Asking the table of algorithms. */
#include "runtime/comm/algorithm.h"

#include <stdlib.h>

#define FOR_EACH(a, comm)                                                                          \
    for (const struct ftc_algorithm *const *a = (comm)->algorithms; *a != NULL; a++)

const struct ftc_algorithm **
ftc_algorithms_of_children(const struct ftc_algorithm *const *algorithms)
{
    size_t count = 0, kept = 0;

    while (algorithms[count] != NULL)
        count++;
    const struct ftc_algorithm **children = calloc(count + 1, sizeof(*children));
    for (size_t i = 0; children != NULL && i < count; i++)
        if (!algorithms[i]->of_world)
            children[kept++] = algorithms[i];
    return children;
}

int ftc_algorithms_open(struct ftc_comm *comm)
{
    int rc = FTC_SUCCESS;

    FOR_EACH (a, comm)
        if (rc == FTC_SUCCESS && (*a)->open != NULL)
            rc = (*a)->open(comm);
    return rc;
}

void ftc_algorithms_close(struct ftc_comm *comm)
{
    FOR_EACH (a, comm)
        if ((*a)->close != NULL)
            (*a)->close(comm);
}

void ftc_algorithms_received(struct ftc_comm *comm)
{
    FOR_EACH (a, comm)
        if ((*a)->received != NULL)
            (*a)->received(comm);
}

void ftc_algorithms_timer(struct ftc_comm *comm)
{
    FOR_EACH (a, comm)
        if ((*a)->timer != NULL)
            (*a)->timer(comm);
}

void ftc_algorithms_called(struct ftc_comm *comm)
{
    FOR_EACH (a, comm)
        if ((*a)->called != NULL)
            (*a)->called(comm);
}

void ftc_algorithms_look(struct ftc_comm *comm, int from, const struct ftc_buffer *message)
{
    FOR_EACH (a, comm)
        if ((*a)->looks != NULL)
            (*a)->looks(comm, from, message);
}

void ftc_algorithms_deliver(struct ftc_comm *comm, const struct ftc_output *output)
{
    FOR_EACH (a, comm)
        if ((*a)->delivers != NULL)
            (*a)->delivers(comm, output);
}

void ftc_algorithms_notice(struct ftc_comm *comm, int rank)
{
    FOR_EACH (a, comm)
        if ((*a)->notice != NULL)
            (*a)->notice(comm, rank);
}

void ftc_algorithms_taken(struct ftc_comm *comm, uint64_t op)
{
    FOR_EACH (a, comm)
        if ((*a)->taken != NULL)
            (*a)->taken(comm, op);
}

void ftc_algorithms_leave(struct ftc_comm *comm)
{
    FOR_EACH (a, comm)
        if ((*a)->leaves != NULL)
            (*a)->leaves(comm);
}

void ftc_algorithms_revoke(struct ftc_comm *comm)
{
    FOR_EACH (a, comm)
        if ((*a)->revoked != NULL)
            (*a)->revoked(comm);
}

void ftc_algorithms_silent(struct ftc_comm *comm, int rank)
{
    FOR_EACH (a, comm)
        if ((*a)->silent != NULL)
            (*a)->silent(comm, rank);
}

bool ftc_algorithms_ready(struct ftc_comm *comm)
{
    bool ready = false;

    FOR_EACH (a, comm)
        ready = ready || ((*a)->ready != NULL && (*a)->ready(comm));
    return ready;
}

uint64_t ftc_algorithms_doze(struct ftc_comm *comm)
{
    uint64_t ns = 0;

    FOR_EACH (a, comm)
        if (ns == 0 && (*a)->dozes != NULL)
            ns = (*a)->dozes(comm);
    return ns;
}

void ftc_algorithms_sleep(struct ftc_comm *comm)
{
    FOR_EACH (a, comm)
        if ((*a)->sleeps != NULL)
            (*a)->sleeps(comm);
}

void ftc_algorithms_activity(const struct ftc_comm *comm, struct ftc_member_activity *now)
{
    FOR_EACH (a, comm)
        if ((*a)->activity != NULL)
            (*a)->activity(comm, now);
}

int ftc_algorithms_await(const struct ftc_comm *comm)
{
    int rank = -1;

    FOR_EACH (a, comm)
        if (rank < 0 && (*a)->awaits != NULL)
            rank = (*a)->awaits(comm);
    return rank;
}

static bool owns(const struct ftc_algorithm *algorithm, const struct ftc_buffer *message)
{
    if (algorithm->owns != NULL)
        return algorithm->owns(message);
    return algorithm->frame != 0 && (int)algorithm->frame == ftc_frame_kind(message);
}

const struct ftc_algorithm *ftc_algorithms_owner(const struct ftc_comm *comm,
                                                 const struct ftc_buffer *message)
{
    FOR_EACH (a, comm)
        if (owns(*a, message))
            return *a;
    return NULL;
}
