/* Signals as events of the loop. */
#include "launcher/signals.h"

#include <string.h>

enum role { ROLE_PASS, ROLE_END, ROLE_STOP, ROLE_CONTINUE };

static const struct {
    int number;
    enum role role;
} table[FTC_SIGNALS] = {
    {SIGINT, ROLE_END},   {SIGTERM, ROLE_END},  {SIGHUP, ROLE_END},   {SIGQUIT, ROLE_END},
    {SIGUSR1, ROLE_PASS}, {SIGUSR2, ROLE_PASS}, {SIGTSTP, ROLE_STOP}, {SIGCONT, ROLE_CONTINUE},
};

bool ftc_signals_ends(int number)
{
    for (int i = 0; i < FTC_SIGNALS; i++)
        if (table[i].number == number)
            return table[i].role == ROLE_END;
    return false;
}

static void on_signal(struct ev_loop *loop, struct ev_signal *watcher, int events)
{
    struct ftc_signals *signals = watcher->data;
    int index = (int)(watcher - signals->watcher), number = watcher->signum;
    (void)loop;
    (void)events;
    signals->seen[index]++;
    switch (table[index].role) {
    case ROLE_PASS:
        signals->forward(signals->arg, number);
        break;
    case ROLE_END:
        if (signals->seen[index] > 1)
            signals->kill_all(signals->arg, number);
        else
            signals->forward(signals->arg, number);
        break;
    case ROLE_STOP:
        /* Ctrl-Z does not reach the process groups of the ranks. They stop before ftrun does, so
         * that no rank runs unwatched. */
        signals->forward(signals->arg, SIGSTOP);
        (void)raise(SIGSTOP);
        signals->forward(signals->arg, SIGCONT);
        break;
    case ROLE_CONTINUE:
        signals->resumed(signals->arg);
        break;
    }
}

static bool ignored(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

void ftc_signals_block(struct ftc_signals *signals)
{
    *signals = (struct ftc_signals){.ignore_hangup = ignored(SIGHUP)};
    sigemptyset(&signals->taken);
    for (int i = 0; i < FTC_SIGNALS; i++)
        sigaddset(&signals->taken, table[i].number);
    sigaddset(&signals->taken, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &signals->taken, NULL);
    /* ftrun needs none of these signals: the call fails instead, with EPIPE or EFBIG, or with EIO
     * where ftrun is in the background of its terminal. */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)signal(SIGTTIN, SIG_IGN);
    (void)signal(SIGTTOU, SIG_IGN);
}

void ftc_signals_start(struct ftc_signals *signals, struct ev_loop *loop)
{
    signals->loop = loop;
    for (int i = 0; i < FTC_SIGNALS; i++) {
        if (table[i].number == SIGHUP && signals->ignore_hangup)
            continue;
        ev_signal_init(&signals->watcher[i], on_signal, table[i].number);
        signals->watcher[i].data = signals;
        ev_set_priority(&signals->watcher[i], 1);
        ev_signal_start(loop, &signals->watcher[i]);
    }
    pthread_sigmask(SIG_UNBLOCK, &signals->taken, NULL);
}

void ftc_signals_stop(struct ftc_signals *signals)
{
    sigset_t all;
    if (signals->loop == NULL)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (int i = 0; i < FTC_SIGNALS; i++)
        ev_signal_stop(signals->loop, &signals->watcher[i]);
}
