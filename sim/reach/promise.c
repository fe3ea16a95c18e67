/* The promises of dissemination and correction without help. */
#include "sim/reach/promise.h"

#include <stdio.h>

#include "collectives/spread/topology.h"

static bool is_live(const struct ftc_reach_facts *facts, int rank)
{
    return !ftc_set_has(facts->dead, rank);
}

static bool is_reached(const struct ftc_reach_facts *facts, int rank)
{
    return ftc_set_has(facts->reached, rank);
}

int ftc_reach_missed(const struct ftc_reach_facts *facts)
{
    int missed = 0;

    for (int rank = 0; rank < facts->dead->size; rank++)
        missed += is_live(facts, rank) && !is_reached(facts, rank);
    return missed;
}

bool ftc_reach_is_certain(const struct ftc_member_settings *settings)
{
    switch (settings->correction) {
    case FTC_CORRECTION_CHECKED:
    case FTC_CORRECTION_THROTTLED:
    case FTC_CORRECTION_FAILURE_PROOF:
    case FTC_CORRECTION_DELAYED:
        return true;
    default:
        return false;
    }
}

static int rank_of(int n, int root, int position)
{
    return (int)(((long)root + position + n) % n);
}

/* Is the debt to `position` paid? A coloured rank owes the message to it. It must be reached,
 * unless it is dead. */
static bool has_it(const struct ftc_reach_facts *facts, int n, int position)
{
    int rank = rank_of(n, facts->root, (position % n + n) % n);

    return !is_live(facts, rank) || is_reached(facts, rank);
}

static bool children_have_it(const struct ftc_member_settings *s,
                             const struct ftc_reach_facts *facts, int position)
{
    for (int c = 0;; c++) {
        int child = ftc_topology_broadcast_child(&s->tree, s->ranks, position, c);
        if (child < 0)
            return true;
        if (!has_it(facts, s->ranks, child))
            return false;
    }
}

/* Every coloured rank sends to its neighbours within the distance, so the neighbours of a reached
 * rank are reached, too. */
static bool neighbours_have_it(const struct ftc_member_settings *s,
                               const struct ftc_reach_facts *facts, int position)
{
    int left = s->distance / 2, right = s->distance - left;

    for (int d = 1; d <= right && d < s->ranks; d++)
        if (!has_it(facts, s->ranks, position + d))
            return false;
    for (int d = 1; d <= left && d < s->ranks; d++)
        if (!has_it(facts, s->ranks, position - d))
            return false;
    return true;
}

static bool successor_has_it(const struct ftc_member_settings *s,
                             const struct ftc_reach_facts *facts, int position)
{
    return position == s->ranks - 1 || has_it(facts, s->ranks, position + 1);
}

/* What a survivor that was reached owes to other ranks, whichever ranks die. */
static const char *debts_paid(const struct ftc_member_settings *s,
                              const struct ftc_reach_facts *facts, int position)
{
    bool opportunistic = s->correction == FTC_CORRECTION_OPPORTUNISTIC ||
                         (s->correction == FTC_CORRECTION_OPTIMISED && facts->coloured_deaths == 0);

    if (s->dissemination == FTC_DISSEMINATION_TREE && !children_have_it(s, facts, position))
        return "a child";
    if (opportunistic && !neighbours_have_it(s, facts, position))
        return "a rank within its distance";
    if (s->correction == FTC_CORRECTION_RING && !successor_has_it(s, facts, position))
        return "its successor";
    return NULL;
}

static bool debts_kept(const struct ftc_member_settings *s, const struct ftc_reach_facts *facts,
                       char words[FTC_REACH_WORDS])
{
    for (int position = 0; position < s->ranks; position++) {
        int rank = rank_of(s->ranks, facts->root, position);
        if (!is_live(facts, rank) || !is_reached(facts, rank))
            continue;
        const char *unpaid = debts_paid(s, facts, position);
        if (unpaid != NULL) {
            snprintf(words, FTC_REACH_WORDS,
                     "rank %d was reached and lives, but %s was not reached", rank, unpaid);
            return false;
        }
    }
    return true;
}

bool ftc_reach_kept(const struct ftc_member_settings *settings, const struct ftc_reach_facts *facts,
                    char words[FTC_REACH_WORDS])
{
    int missed = ftc_reach_missed(facts), live = settings->ranks - ftc_set_count(facts->dead);
    bool by_datagram = settings->dissemination == FTC_DISSEMINATION_MULTICAST && facts->lossless;
    bool began = is_live(facts, facts->root) ||
                 missed < live; /* else the root died before it sent anything */

    words[0] = '\0';
    if (settings->correction == FTC_CORRECTION_FAILURE_PROOF &&
        facts->coloured_deaths <= settings->f && missed > 0 && missed < live)
        snprintf(words, FTC_REACH_WORDS, "%d of %d survivors were not reached, the others were",
                 missed, live);
    else if (began && facts->coloured_deaths == 0 && missed > 0 &&
             (ftc_reach_is_certain(settings) || by_datagram))
        snprintf(words, FTC_REACH_WORDS, "%d of %d survivors were not reached", missed, live);
    else
        return debts_kept(settings, facts, words);
    return false;
}
