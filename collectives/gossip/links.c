/* Links of a gossip aggregation: whose turn it is on each, and over which one the next message
 * goes. */
#include "base/mix.h"
#include "collectives/gossip/gossip.h"
#include "collectives/gossip/internal.h"
#include "collectives/mutation.h"

uint64_t ftc_gossip_draw(struct ftc_gossip *g)
{
    g->random += 0x9e3779b97f4a7c15u;
    return ftc_mix(g->random);
}

/* Who begins: either end, by lot, so that nobody begins on most of its links and is then hardly
 * sent anything. */
static bool begins(const struct ftc_gossip *g, int link)
{
    uint64_t self = (uint64_t)g->set.self;
    uint64_t peer = (uint64_t)ftc_neighbourhood_peer(&g->set.neighbourhood, g->set.self, link);
    bool lower = self < peer;

    return lower == (ftc_mix(lower ? self << 32 | peer : peer << 32 | self) % 2 == 0);
}

/* Who begins sends the odd numbers. */
bool ftc_gossip_holds(const struct ftc_gossip *g, int link)
{
    return begins(g, link) == (g->link[link].number % 2 == 0);
}

bool ftc_gossip_usable(const struct ftc_gossip *g, int link)
{
    return !g->link[link].dead && ftc_neighbourhood_sends(&g->set.neighbourhood, g->set.self, link);
}

static void shuffle(struct ftc_gossip *g)
{
    for (int i = g->links - 1; i > 0; i--) {
        int j = (int)(ftc_gossip_draw(g) % (uint64_t)(i + 1)), link = g->order[i];
        g->order[i] = g->order[j];
        g->order[j] = link;
    }
    g->placed = 0;
}

/* The next link of the order that may be used; -1: there is none. */
static int draw_placed(struct ftc_gossip *g)
{
    for (int i = 0; i < 2 * g->links; i++) {
        if (g->placed == g->links)
            shuffle(g);
        int link = g->order[g->placed++];
        if (ftc_gossip_usable(g, link))
            return link;
    }
    return -1;
}

/* One of the links that may be used, each as likely; -1: there is none. */
int ftc_gossip_draw_any(struct ftc_gossip *g)
{
    int chosen = -1, seen = 0;

    if (g->directed >= 0)
        return g->directed;
    if (g->set.permuted)
        return draw_placed(g);
    if (g->links > 0) { /* hardly ever is one dead */
        int link = (int)(ftc_gossip_draw(g) % (uint64_t)g->links);
        if (ftc_gossip_usable(g, link))
            return link;
    }
    for (int link = 0; link < g->links; link++)
        if (ftc_gossip_usable(g, link) && ftc_gossip_draw(g) % (uint64_t)++seen == 0)
            chosen = link;
    return chosen;
}

/* The link that has rested longest of those on which it is this end's turn, or the other's; -1:
 * there is none. */
static int draw_rested(struct ftc_gossip *g, bool held)
{
    int chosen = -1, seen = 0;

    for (int link = 0; link < g->links; link++) {
        if (!ftc_gossip_usable(g, link) || ftc_gossip_holds(g, link) != held)
            continue;
        uint64_t since = g->link[link].since;
        if (chosen < 0 || since < g->link[chosen].since)
            seen = 0;
        else if (since > g->link[chosen].since)
            continue;
        if (ftc_gossip_draw(g) % (uint64_t)++seen == 0)
            chosen = link;
    }
    return chosen;
}

/* Turns: the link that has rested longest, not one drawn, which often sends back at once to where
 * the last message came from. An answer is overdue after as many messages from others as there are
 * links: then this end repeats its last message, since either of the two may be lost. */
static int draw_turn(struct ftc_gossip *g)
{
    int held = draw_rested(g, true), waits = draw_rested(g, false);
    bool overdue = waits >= 0 && g->counters.received - g->link[waits].since > (uint64_t)g->links;

    if (g->directed >= 0)
        return g->directed;
    return overdue ? waits : held;
}

int ftc_gossip_draw_link(struct ftc_gossip *g)
{
    return g->set.turns ? draw_turn(g) : ftc_gossip_draw_any(g);
}

/* Does a mark of the attempt under way have to come over this link? */
static bool owes_mark(const struct ftc_gossip *g, int link)
{
    const struct ftc_neighbourhood *among = &g->set.neighbourhood;
    int peer = ftc_neighbourhood_peer(among, g->set.self, link);

    return !g->link[link].dead && g->link[link].marked < g->mark &&
           ftc_neighbourhood_sends(among, peer, ftc_neighbourhood_link(among, peer, g->set.self));
}

bool ftc_gossip_marked(const struct ftc_gossip *gossip)
{
    for (int link = 0; !gossip->set.turns && link < gossip->links; link++)
        if (owes_mark(gossip, link) && !FTC_MUTATED(FREEZE_UNMARKED))
            return false;
    return true;
}

static bool is_awaited(const struct ftc_gossip *g, int link)
{
    if (!g->set.turns)
        return owes_mark(g, link);
    return !g->link[link].dead && !ftc_gossip_holds(g, link);
}

int ftc_gossip_awaits(const struct ftc_gossip *gossip, int *waits)
{
    int chosen = -1;

    *waits = 0;
    for (int link = 0; link < gossip->links; link++) {
        if (!is_awaited(gossip, link))
            continue;
        ++*waits;
        if (chosen < 0 || gossip->link[link].news < gossip->link[chosen].news)
            chosen = link;
    }
    return chosen >= 0
               ? ftc_neighbourhood_peer(&gossip->set.neighbourhood, gossip->set.self, chosen)
               : -1;
}
