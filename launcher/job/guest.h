/*
 * An agent that the remote shell of a front has started (launcher/meeting/invitation.h). The front
 * sends it its arguments, then signals. When the front ends, or the connection to it breaks, the
 * agent ends the ranks of its host: nobody else could, and nobody would see what they write.
 */
#ifndef FTC_LAUNCHER_JOB_GUEST_H
#define FTC_LAUNCHER_JOB_GUEST_H

#include <stdbool.h>

#include "launcher/job/internal.h"

/* Has a front started this process? */
bool ftc_guest_is(int argc, char *const argv[]);

/* Read the invitation from standard input, which becomes /dev/null. Take on the variables and the
 * working directory of the front. FTC_ERR_*; where the front can take it, it has been told. */
int ftc_guest_accept(struct ftc_invitation *invitation);

/* Take orders from the front from now on. */
void ftc_guest_watch(struct ftc_job *job);
void ftc_guest_unwatch(struct ftc_job *job);

#endif
