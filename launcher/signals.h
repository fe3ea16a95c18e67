/* Signals to ftrun. ftrun passes them on to the ranks. When a signal that ends programs comes a
 * second time, ftrun kills the ranks. */
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
    sigset_t taken; /* ftc_signals_block() blocks these, ftc_signals_start() lets them through */
    bool ignore_hangup;
    void (*forward)(void *arg, int number);  /* to all ranks */
    void (*kill_all)(void *arg, int number); /* the signal came a second time */
    void (*resumed)(void *arg);              /* SIGCONT: ftrun may be in the foreground now */
    void *arg;
};

/*
 * Block the signals that ftc_signals_start() will take, in this thread and in those that it starts.
 * Ignore the signals that would end ftrun because of its output. Call it before there are threads,
 * and before anything is made that must be removed again.
 */
void ftc_signals_block(struct ftc_signals *signals);

/* Take the signals from now on. Signals that came since ftc_signals_block() are delivered now. The
 * caller has set forward, kill_all, resumed and arg. */
void ftc_signals_start(struct ftc_signals *signals, struct ev_loop *loop);

/* Is it one of the signals that end programs? */
bool ftc_signals_ends(int number);

/* Block the signals again: they must not interrupt the clean-up. */
void ftc_signals_stop(struct ftc_signals *signals);

#endif
