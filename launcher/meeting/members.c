/* The nodes that meet, and which ranks are where. */
#include <stdlib.h>

#include "base/error.h"
#include "launcher/meeting/internal.h"

/* Spread the ranks evenly. If they do not divide evenly, the first nodes have one more. */
static void spread_ranks(struct ftc_meeting *m, int ranks)
{
    uint32_t first = 0;

    for (int node = 0; node < m->nodes; node++) {
        m->members[node].first = first;
        m->members[node].count = (uint32_t)(ranks / m->nodes + (node < ranks % m->nodes));
        first += m->members[node].count;
    }
}

int ftc_meeting_make_room(struct ftc_meeting *m, int ranks)
{
    if (m->nodes > ranks)
        return ftc_error_set(FTC_ERR_ARG, "%d agents for %d ranks: start no more agents than ranks",
                             m->nodes, ranks);
    m->members = calloc((size_t)m->nodes, sizeof(*m->members));
    m->endpoints = calloc((size_t)m->nodes, sizeof(*m->endpoints));
    if (m->members == NULL || m->endpoints == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for %d nodes", m->nodes);
    spread_ranks(m, ranks);
    return FTC_SUCCESS;
}
