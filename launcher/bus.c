/*
 * The handler of SIGBUS. An access to the segment raises the signal, in the thread that made the
 * access. That thread holds no lock of the C library then, so the handler may call functions of the
 * library. The handler touches nothing in the segment.
 */
#include "launcher/bus.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "node/jobs.h"

#define EXIT_CODE 1

/* A signal handler has no argument. */
static struct {
    struct ftc_ranks *ranks;
    struct ftc_segment *segment;
    const char *directory;
    int lock;
    char words[512];
} guard;

static void on_bus(int number, siginfo_t *info, void *context)
{
    bool sent = info->si_code <= 0; /* kill(2) sent it: no access has failed */

    (void)context;
    if (sent || guard.segment == NULL || !ftc_segment_holds(guard.segment, info->si_addr)) {
        (void)signal(number, SIG_DFL); /* the failed access is repeated, and ends the process */
        if (sent)
            (void)raise(number);
        return;
    }
    if (guard.ranks->at != NULL)
        ftc_ranks_signal_all(guard.ranks, SIGKILL);
    ftc_jobs_remove(guard.directory, guard.lock, guard.segment);
    if (write(STDERR_FILENO, guard.words, strlen(guard.words)) < 0)
        _exit(EXIT_CODE);
    _exit(EXIT_CODE);
}

void ftc_bus_guard(struct ftc_ranks *ranks, struct ftc_segment *segment, const char *directory,
                   int lock)
{
    struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    char path[128];

    ftc_segment_path(path, geteuid(), ftc_segment_header(segment)->job);
    snprintf(guard.words, sizeof(guard.words),
             "ftrun: %s was cut short by another program; the job cannot go on, its ranks are "
             "killed. Leave /dev/shm/ftcoll-* alone while jobs run\n",
             path);
    guard.ranks = ranks;
    guard.directory = directory;
    guard.lock = lock;
    guard.segment = segment;
    (void)sigaction(SIGBUS, &action, NULL);
}

void ftc_bus_unguard(void)
{
    guard.segment = NULL;
}
