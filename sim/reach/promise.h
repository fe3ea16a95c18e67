/*
 * What a dissemination with a correction promises by itself, with neither a failure detector nor
 * PULL (docs/design/broadcast.md, "What each promises"), said of one broadcast of all n ranks at
 * its end.
 */
#ifndef FTC_SIM_REACH_PROMISE_H
#define FTC_SIM_REACH_PROMISE_H

#include "base/set.h"
#include "base/settings.h"

struct ftc_reach_facts {
    int root;
    const struct ftc_set *dead;    /* before the broadcast, or during it */
    const struct ftc_set *reached; /* who delivered; the dead do not matter */
    int coloured_deaths;           /* of ranks that had delivered, during it */
    bool lossless;                 /* no datagram was lost */
};

#define FTC_REACH_WORDS 200

/* Is it kept? Else `words` say what is broken. */
bool ftc_reach_kept(const struct ftc_member_settings *settings, const struct ftc_reach_facts *facts,
                    char words[FTC_REACH_WORDS]);

/* Does it promise every survivor, if no coloured rank dies? Not: by chance, or up to a distance. */
bool ftc_reach_is_certain(const struct ftc_member_settings *settings);

/* Live ranks that were not reached. */
int ftc_reach_missed(const struct ftc_reach_facts *facts);

#endif
