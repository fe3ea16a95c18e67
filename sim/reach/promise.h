/*
 * What a dissemination with a correction promises by itself, without a failure detector and without
 * PULL (docs/design/broadcast.md, "What each promises"). The promise is checked at the end of one
 * broadcast of all n ranks.
 */
#ifndef FTC_SIM_REACH_PROMISE_H
#define FTC_SIM_REACH_PROMISE_H

#include "base/set.h"
#include "base/settings.h"

struct ftc_reach_facts {
    int root;
    const struct ftc_set *dead;    /* ranks that died before or during the broadcast */
    const struct ftc_set *reached; /* ranks that delivered; dead ranks are ignored */
    /* number of ranks that died during it after they had delivered */
    int coloured_deaths;
    bool lossless; /* no datagram was lost */
};

#define FTC_REACH_WORDS 200

/* Is the promise kept? If not, `words` say what is broken. */
bool ftc_reach_kept(const struct ftc_member_settings *settings, const struct ftc_reach_facts *facts,
                    char words[FTC_REACH_WORDS]);

/* Does it promise to reach every survivor, if no coloured rank dies? False: it reaches them only
 * with some probability, or only up to a distance. */
bool ftc_reach_is_certain(const struct ftc_member_settings *settings);

/* Number of live ranks that were not reached. */
int ftc_reach_missed(const struct ftc_reach_facts *facts);

#endif
