/*
 * Processes that a rank has started and that left its process group, as daemons do. ftrun is
 * the reaper of their subtree (prctl(2), PR_SET_CHILD_SUBREAPER): each becomes its child when
 * its own parent ends. One that still shows the job in its environment belongs to the job, and
 * ends with it. Adopted ranks are not ftrun's descendants, and neither is what they start.
 */
#ifndef FTC_LAUNCHER_STRAYS_H
#define FTC_LAUNCHER_STRAYS_H

#include "launcher/ranks.h"

/* Before the first rank. Where the system refuses it, strays are not found. */
void ftc_strays_adopt(void);

/* When no rank is left: this sends SIGKILL to the children of this process that belong to `job`,
 * and to those that become its children by that, until there are none, or for a second. It also
 * waits for what is left of the process groups of `ranks`, whose children may be strays. It returns
 * the number of strays. The watcher reaps them. */
int ftc_strays_kill(const char *job, const struct ftc_ranks *ranks);

#endif
