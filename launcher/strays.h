/*
 * Strays: processes that a rank has started and that have left its process group, as daemons do.
 * ftrun is the reaper of its subtree (prctl(2), PR_SET_CHILD_SUBREAPER): each stray becomes a child
 * of ftrun when its own parent ends. A stray that still shows the job in its environment belongs to
 * the job, and ends with it. Adopted ranks are not descendants of ftrun, and neither is what they
 * start.
 */
#ifndef FTC_LAUNCHER_STRAYS_H
#define FTC_LAUNCHER_STRAYS_H

#include "launcher/ranks.h"

/* Call it before the first rank is started. If the system refuses it, strays are not found. */
void ftc_strays_adopt(void);

/* Call it when no rank is left. It sends SIGKILL to the children of this process that belong to
 * `job`, and to the processes that become its children because of that, until there are none, for a
 * second at most. It also waits for what is left of the process groups of `ranks`, whose children
 * may be strays. It returns the number of strays. The watcher reaps them. */
int ftc_strays_kill(const char *job, const struct ftc_ranks *ranks);

#endif
