/* Signals to ftrun: passed on to the ranks; the second of a kind that ends programs kills them. */
#ifndef FTC_LAUNCHER_SIGNALS_H
#define FTC_LAUNCHER_SIGNALS_H

#include <ev.h>
#include <signal.h>
#include <stdbool.h>

#define FTC_SIGNALS 8

struct ftc_signals {
    struct ev_loop *loop;
    struct ev_signal watcher[FTC_SIGNALS];
    int seen[FTC_SIGNALS];
    sigset_t taken; /* blocked by block(), let through by start() */
    bool ignore_hangup;
    void (*forward)(void *arg, int number);  /* to all ranks */
    void (*kill_all)(void *arg, int number); /* the second one */
    void (*resumed)(void *arg);              /* SIGCONT: maybe in the foreground now */
    void *arg;
};

/*
 * Before anything is made that must be removed again, and before there are threads: block the
 * signals that start() will take, in this thread and those to come, and ignore those that would end
 * ftrun for its output's sake.
 */
void ftc_signals_block(struct ftc_signals *signals);

/* Take them from now on; what came meanwhile comes now. forward, kill_all, resumed and arg are
 * set. */
void ftc_signals_start(struct ftc_signals *signals, struct ev_loop *loop);

/* Take none any more and let them wait: the clean-up must not be interrupted. */
void ftc_signals_stop(struct ftc_signals *signals);

#endif
