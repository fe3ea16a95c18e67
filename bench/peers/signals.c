#include "bench/peers/signals.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void pause_spin(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

void pause_yield(void)
{
    sched_yield();
}

static bool before(unsigned count, unsigned reached)
{
    return (int)(count - reached) < 0;
}

void signal_await(struct signal *signal, unsigned reached, const struct patience *patience)
{
    unsigned count;
    for (int i = 0; patience->tries < 0 || i < patience->tries; i++) {
        if (!before(atomic_load_explicit(&signal->count, memory_order_acquire), reached))
            return;
        patience->pause();
    }
    atomic_fetch_add(&signal->sleepers, 1);
    while (before(count = atomic_load(&signal->count), reached))
        syscall(SYS_futex, &signal->count, FUTEX_WAIT, count, NULL, NULL, 0);
    atomic_fetch_sub(&signal->sleepers, 1);
}

void signal_set(struct signal *signal, unsigned count)
{
    atomic_store(&signal->count, count);
    if (atomic_load(&signal->sleepers) > 0)
        syscall(SYS_futex, &signal->count, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int fork_processes(const char *program, int count)
{
    pid_t parent = getpid();
    for (int i = 1; i < count; i++) {
        pid_t pid = fork();
        if (pid < 0) {
            fprintf(stderr, "%s: cannot fork process %d of %d: %s; raise ulimit -u\n", program, i,
                    count, strerror(errno));
            exit(1); /* the processes made so far die with this one */
        }
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(1);
            return i;
        }
    }
    return 0;
}

int await_processes(void)
{
    int status, failed = 0;
    while (waitpid(-1, &status, 0) > 0)
        failed |= status != 0;
    return failed;
}
