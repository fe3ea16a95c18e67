/* Ends of the verbs transport in one process, for tests. Their messages are those of tcp_ends.c. */
#include "verbs_stories.h"

#include <poll.h>
#include <stdio.h>

#include "base/error.h"

static const char *look_up(void *context, int rank)
{
    (void)context;
    return tcp_endpoints[rank][0] != '\0' ? tcp_endpoints[rank] : NULL;
}

void verbs_join_as(int rank, int ranks, const struct ftc_verbs_setup *verbs)
{
    struct ftc_transport_setup setup = {.ranks = ranks, .self = rank, .verbs = verbs};
    ck_assert_msg(ftc_transport_verbs.open(&tcp_end[rank], &setup) == 0, "%s", ftc_last_error());
    snprintf(tcp_endpoints[rank], sizeof(tcp_endpoints[rank]), "%s",
             ftc_verbs_endpoint(tcp_end[rank]));
}

struct ftc_verbs_setup verbs_story_setup(int rank)
{
    struct ftc_verbs_setup verbs = verbs_usual(rank);
    verbs.endpoint = look_up;
    return verbs;
}

void verbs_join(int rank)
{
    struct ftc_verbs_setup verbs = verbs_story_setup(rank);
    verbs_join_as(rank, VERBS_RANKS, &verbs);
}

void verbs_join_two(void)
{
    verbs_join(0);
    verbs_join(1);
}

struct ftc_verbs_link *verbs_link_of(int rank, int other)
{
    struct ftc_tcp_peer *peer = ftc_tcp_known((struct ftc_tcp *)tcp_end[rank], other);
    return peer != NULL && peer->link != NULL ? peer->link->queue_pair : NULL;
}

bool verbs_all_settled(void)
{
    for (int rank = 0; rank < VERBS_RANKS; rank++)
        if (tcp_end[rank] != NULL && !ftc_verbs_settled(tcp_end[rank]))
            return false;
    return true;
}

bool verbs_sleep_and_look(int rank, bool (*holds)(void))
{
    struct pollfd item = {.fd = ftc_transport_verbs.descriptor(tcp_end[rank]), .events = POLLIN};
    bool idle;
    if (!ftc_transport_verbs.ready(tcp_end[rank]) && (holds == NULL || !holds()) &&
        poll(&item, 1, (int)(TCP_LOST_NS / FTC_NS_PER_MS)) != 1)
        return false;
    ftc_transport_verbs.flush(tcp_end[rank], &idle);
    return true;
}
