/* Links of a gossip aggregation: which end has the turn on a link, over which link the next message
 * goes, and the queue of messages. */
#include "base/mix.h"
#include "collectives/gossip/gossip.h"
#include "collectives/gossip/internal.h"
#include "collectives/mutation.h"

uint64_t ftc_gossip_draw(struct ftc_gossip *g)
{
    g->random += 0x9e3779b97f4a7c15u;
    return ftc_mix(g->random);
}

/* A draw for each link says which end begins. If low ranks began, some ranks would begin on most of
 * their links, and would hardly be sent anything. */
static bool begins(const struct ftc_gossip *g, int link)
{
    uint64_t self = (uint64_t)g->set.self;
    uint64_t peer = (uint64_t)ftc_neighbourhood_peer(&g->set.neighbourhood, g->set.self, link);
    bool lower = self < peer;

    return lower == (ftc_mix(lower ? self << 32 | peer : peer << 32 | self) % 2 == 0);
}

/* The end that begins sends the odd numbers. */
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

/* Permuted: the next link in the drawn order that this end may use; -1: there is none. */
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

/* Draws one of the links that this end may use, all with the same chance; -1: there is none. */
int ftc_gossip_draw_any(struct ftc_gossip *g)
{
    int chosen = -1, seen = 0;

    if (g->directed >= 0)
        return g->directed;
    if (g->set.permuted)
        return draw_placed(g);
    if (g->links > 0) { /* a link is hardly ever dead */
        int link = (int)(ftc_gossip_draw(g) % (uint64_t)g->links);
        if (ftc_gossip_usable(g, link))
            return link;
    }
    for (int link = 0; link < g->links; link++)
        if (ftc_gossip_usable(g, link) && ftc_gossip_draw(g) % (uint64_t)++seen == 0)
            chosen = link;
    return chosen;
}

/* Of the links where it is this end's turn (held), or the other end's turn, the one that has rested
 * longest; -1: there is none. */
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

/* In turns a rank sends over the link that has rested longest. A drawn link would often lead back
 * to where the last message came from. If this rank has received more messages than it has links
 * since it last used a link, the answer there is overdue. Then it repeats its last message, since
 * its message or the answer may be lost. */
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

/* Must a mark of the attempt under way come over this link? */
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

void ftc_gossip_changed(struct ftc_gossip *g, int link)
{
    if (!g->link[link].open)
        g->link[link].changed = g->steps;
    g->link[link].open = true;
}

bool ftc_gossip_answered(const struct ftc_gossip *gossip, uint64_t step)
{
    for (int link = 0; gossip->set.turns && link < gossip->links; link++) {
        const struct ftc_gossip_link *l = &gossip->link[link];
        if (l->open && !l->dead && l->changed < step)
            return false;
    }
    return true;
}

void ftc_gossip_queue(struct ftc_gossip *g, int link, enum ftc_gossip_letter_kind kind)
{
    if (g->queued == g->room)
        return;
    if (g->set.turns && kind == FTC_GOSSIP_FLOW && ftc_gossip_holds(g, link))
        g->link[link].number++;
    if (g->set.turns)
        g->link[link].since = g->counters.received;
    g->queue[g->queued++] = (struct ftc_gossip_queued){.link = link, .kind = kind};
    g->counters.sent++;
}
