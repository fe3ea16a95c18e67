/*
 * Which ways of collecting a call can take (agreement.md, rule 2; nodes.md, "Two levels"). Each
 * function returns NULL if the call can go that way, and otherwise why it cannot, in words that end
 * a sentence. The answer is the same at every member.
 */
#ifndef FTC_COLLECTIVES_AGREEMENT_ELIGIBLE_H
#define FTC_COLLECTIVES_AGREEMENT_ELIGIBLE_H

#include <stdbool.h>

#include "base/settings.h"
#include "collectives/call.h"

/* `failed` is G. */
const char *ftc_levels_refuse(const struct ftc_member_settings *settings,
                              const struct ftc_signature *signature, const struct ftc_set *failed);

/* Of the calls that take two levels: a plain reduce whose senders go on (nodes.md, S1). */
const char *ftc_sums_refuse(const struct ftc_member_settings *settings,
                            const struct ftc_signature *signature);

/* `participants` are the members outside of G, or the delegates of those. */
const char *ftc_exchange_refuses(const struct ftc_member_settings *settings,
                                 const struct ftc_signature *signature, int participants);

/* Does a ballot with so many participants use "Direct"? */
static inline bool ftc_collects_directly(const struct ftc_member_settings *settings,
                                         int participants)
{
    return participants <= settings->direct && settings->integrity != FTC_INTEGRITY_VOTE;
}
const char *ftc_direct_refuses(const struct ftc_member_settings *settings,
                               const struct ftc_signature *signature, int participants);

#endif
