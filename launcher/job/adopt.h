/*
 * An agent for ranks that PMIx has started without ftrun: `ftrun --engine adopt`, which the first
 * of them on each host calls in ftc_init(). It starts none, but watches and kills their processes
 * by descriptors, and ends with the last of them. Not for people.
 */
#ifndef FTC_LAUNCHER_JOB_ADOPT_H
#define FTC_LAUNCHER_JOB_ADOPT_H

#include "launcher/job/internal.h"

/* Leave the caller, which waits for this process to end: on success the child returns, with the
 * socket to the caller, which was standard input. It is in a session of its own, so that what ends
 * the caller, or its process group, does not end it. FTC_ERR_SYSTEM. */
int ftc_adopt_detach(int *leader);

/* Take over this node's ranks. FTC_ERR_SYSTEM: one has ended, or cannot be watched. */
int ftc_adopt_ranks(struct ftc_job *job);

#endif
