/*
 * Counters in memory that processes share, for which others wait, and the processes themselves: for
 * the programs of bench that measure floors.
 */
#ifndef FTC_BENCH_PEERS_SIGNALS_H
#define FTC_BENCH_PEERS_SIGNALS_H

#include <stdatomic.h>

/* Zeroed memory is a signal with the count 0. */
struct signal {
    _Alignas(64) atomic_uint count;
    _Alignas(64) atomic_int sleepers;
};

struct patience {
    const char *name;
    int tries;           /* how often a waiting process looks before it sleeps; -1: never sleeps */
    void (*pause)(void); /* called between two looks */
};

void pause_spin(void);
void pause_yield(void);

/* Wait until the count is `reached` or more, modulo 2^32. */
void signal_await(struct signal *signal, unsigned reached, const struct patience *patience);

/* Set the count, and wake those that sleep. */
void signal_set(struct signal *signal, unsigned count);

/* Make `count` - 1 processes, which die with this one. Returns in each process, with its number:
 * 0 in this one. Ends this process with the exit code 1 if there cannot be so many. */
int fork_processes(const char *program, int count);

/* Wait for the end of all children. Returns 0 if each of them exited with the code 0, else 1. */
int await_processes(void);

#endif
