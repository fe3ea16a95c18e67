/*
 * The progress thread's look at the transport's descriptor. While the caller is in the library the
 * sockets are its own to watch, or each message would wake both. libev's watchers belong to the
 * thread; what is behind an epoll of its own the caller shuts and opens by one system call. Where
 * calls follow one another closely even that costs more than it saves: then it stays shut between
 * them, and the thread looks every 2 ms whether they still come.
 */
#ifndef FTC_RUNTIME_GATE_H
#define FTC_RUNTIME_GATE_H

#include "runtime/comm.h"

/* Open, watched by the thread's loop, which does not run yet. FTC_ERR_SYSTEM. */
int ftc_gate_make(struct ftc_comm *comm);
void ftc_gate_drop(struct ftc_comm *comm);

/* The caller comes: with the lock held. */
void ftc_gate_enter(struct ftc_comm *comm);
/* The caller goes: with the lock still held. True: call ftc_gate_open() when it is not, which finds
 * what came before. */
bool ftc_gate_leave(struct ftc_comm *comm);
void ftc_gate_open(struct ftc_comm *comm);
/* Does it stay shut between calls? With the lock held. */
bool ftc_gate_is_shut(const struct ftc_comm *comm);

/* In the thread, at a nudge. */
void ftc_gate_nudged(struct ftc_comm *comm);

#endif
