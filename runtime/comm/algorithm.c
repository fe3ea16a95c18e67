/* Asking the table of algorithms. */
#include "runtime/comm/algorithm.h"

#define EACH(a) (const struct ftc_algorithm *const *a = ftc_algorithms; *a != NULL; a++)

int ftc_algorithms_open(struct ftc_comm *comm)
{
    int rc = FTC_SUCCESS;

    for
        EACH(a)
    if (rc == FTC_SUCCESS && (*a)->open != NULL)
        rc = (*a)->open(comm);
    return rc;
}

void ftc_algorithms_close(struct ftc_comm *comm)
{
    for
        EACH(a)
    if ((*a)->close != NULL)
        (*a)->close(comm);
}

void ftc_algorithms_received(struct ftc_comm *comm)
{
    for
        EACH(a)
    if ((*a)->received != NULL)
        (*a)->received(comm);
}

void ftc_algorithms_timer(struct ftc_comm *comm)
{
    for
        EACH(a)
    if ((*a)->timer != NULL)
        (*a)->timer(comm);
}

void ftc_algorithms_called(struct ftc_comm *comm)
{
    for
        EACH(a)
    if ((*a)->called != NULL)
        (*a)->called(comm);
}

void ftc_algorithms_precede(struct ftc_comm *comm)
{
    for
        EACH(a)
    if ((*a)->precedes != NULL)
        (*a)->precedes(comm);
}

void ftc_algorithms_look(struct ftc_comm *comm, int from, const struct ftc_buffer *message)
{
    for
        EACH(a)
    if ((*a)->looks != NULL)
        (*a)->looks(comm, from, message);
}

void ftc_algorithms_deliver(struct ftc_comm *comm, const struct ftc_output *output)
{
    for
        EACH(a)
    if ((*a)->delivers != NULL)
        (*a)->delivers(comm, output);
}

void ftc_algorithms_notice(struct ftc_comm *comm, int rank)
{
    for
        EACH(a)
    if ((*a)->notice != NULL)
        (*a)->notice(comm, rank);
}

void ftc_algorithms_sleep(struct ftc_comm *comm)
{
    for
        EACH(a)
    if ((*a)->sleeps != NULL)
        (*a)->sleeps(comm);
}

void ftc_algorithms_activity(const struct ftc_comm *comm, struct ftc_member_activity *now)
{
    for
        EACH(a)
    if ((*a)->activity != NULL)
        (*a)->activity(comm, now);
}

int ftc_algorithms_await(const struct ftc_comm *comm)
{
    int rank = -1;

    for
        EACH(a)
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

const struct ftc_algorithm *ftc_algorithms_owner(const struct ftc_buffer *message)
{
    for
        EACH(a)
    if (owns(*a, message))
        return *a;
    return NULL;
}
