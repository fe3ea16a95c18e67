#include "tests/system/storm_death.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static int alarm_how;

static int way(const char *name)
{
    static const struct {
        const char *name;
        int how;
    } ways[] = {
        {"kill", SIGKILL}, {"stop", SIGSTOP}, {"exit", 0}, {"abort", SIGABRT}, {"segv", SIGSEGV}};

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(name, ways[i].name) == 0)
            return ways[i].how;
    exit(2);
}

static void on_alarm(int signal)
{
    (void)signal;
    if (alarm_how == 0)
        _exit(3);
    kill(getpid(), alarm_how);
}

void death_now(int how)
{
    if (how == 0)
        exit(3);
    if (how == SIGSEGV)
        signal(SIGSEGV, SIG_DFL);
    raise(how);
}

void death_in(int us, int how)
{
    struct itimerval timer = {.it_value = {.tv_sec = us / 1000000, .tv_usec = us % 1000000}};

    alarm_how = how;
    if (how == SIGSEGV) /* a sanitizer's handler may wait for a lock that was held just now */
        signal(SIGSEGV, SIG_DFL);
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &timer, NULL);
}

void death_order(struct death *death, int rank, const char *word)
{
    int who, step;
    char how[8];

    if (sscanf(word, "%d:%d:%7s", &who, &step, how) != 3)
        exit(2);
    if (who != rank)
        return;
    if (step < 0)
        death_in(-step, way(how));
    else
        *death = (struct death){.step = step, .how = way(how)};
}
