/*
 * An agent for ranks that PMIx has started without ftrun. The first rank of each host starts it in
 * ftc_init(), as `ftrun --engine adopt`. The agent starts no rank. It watches and kills the
 * processes of its ranks by descriptors, and ends with the last of them. Users never call it.
 */
#ifndef FTC_LAUNCHER_JOB_ADOPT_H
#define FTC_LAUNCHER_JOB_ADOPT_H

#include "launcher/job/internal.h"

/* Detach from the caller, which waits for this process to end. On success only the child returns.
 * *leader is its socket to the caller, which was standard input. The child is in a session of its
 * own, so that what ends the caller or its process group does not end the child. FTC_ERR_SYSTEM. */
int ftc_adopt_detach(int *leader);

/* Take over the ranks of this node. FTC_ERR_SYSTEM: a rank has ended, or cannot be watched.
 * FTC_ERR_UNSUPPORTED: the kernel has no pidfds. */
int ftc_adopt_ranks(struct ftc_job *job);

#endif
