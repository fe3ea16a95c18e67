/* The state that all parts of a lease change: the term with its beats, and the end. */
#include "detector/lease/internal.h"

/* --- terms and beats --- */

void ftc_lease_begin_term(struct ftc_lease *l, uint64_t term, int leader)
{
    l->term = term;
    l->leader = leader;
    l->recount = true;
    l->beat = 0;
    for (int i = 0; i < FTC_LEASE_NOTED; i++)
        l->noted_ns[i] = 0;
    l->relay.parent = l->relay.second = -1;
    l->relay.owed = l->relay.ready = l->relay.again = false;
    l->relay.wants = 0;
}

void ftc_lease_note(struct ftc_lease *l, uint32_t beat, uint64_t now_ns)
{
    for (uint32_t i = 1; i < beat - l->beat && i <= FTC_LEASE_NOTED; i++)
        l->noted_ns[(l->beat + i) % FTC_LEASE_NOTED] = 0; /* they did not come */
    l->beat = beat;
    l->noted_ns[beat % FTC_LEASE_NOTED] = now_ns;
}

uint64_t ftc_lease_noted(const struct ftc_lease *l, uint32_t beat)
{
    return beat <= l->beat && l->beat - beat < FTC_LEASE_NOTED ? l->noted_ns[beat % FTC_LEASE_NOTED]
                                                               : 0;
}

/* --- ends --- */

void ftc_lease_fence(struct ftc_lease *l)
{
    l->fenced = true;
    ftc_set_clear(&l->pending);
    ftc_set_clear(&l->apart.greet);
    l->relay.owed = l->relay.again = false;
    l->reply_to = -1;
}

void ftc_lease_extend(struct ftc_lease *l, uint64_t until_ns)
{
    l->until_ns = until_ns > l->until_ns ? until_ns : l->until_ns;
}
