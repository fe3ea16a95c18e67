/*
 * The progress thread: beats the heart, watches the launcher, and drives the member while the
 * caller is outside the library, so that operations already returned keep answering (agreement.md,
 * rule 8).
 */
#ifndef FTC_RUNTIME_THREAD_H
#define FTC_RUNTIME_THREAD_H

#include "runtime/comm.h"

int ftc_thread_start(struct ftc_comm *comm); /* FTC_ERR_SYSTEM, FTC_ERR_NOMEM */
void ftc_thread_stop(struct ftc_comm *comm); /* joins it; legal if it was never started */

/* The caller has left, with a timer set or after the thread missed a ring: the thread must look. */
void ftc_thread_nudge(struct ftc_comm *comm);

/* In the thread: take in what came, unless the caller is in the library. */
void ftc_thread_drive(struct ftc_comm *comm);

#endif
