/* What all parts of a cluster need: memory, and random numbers. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mix.h"
#include "sim/model/cluster.h"

/* Exit code when memory runs out, for the whole process. 0: exit with a message; else exit
 * silently, because the parent process prints the message. */
static int quiet_exit;

void ftc_cluster_exit_quietly(int code)
{
    quiet_exit = code;
}

_Noreturn void ftc_cluster_no_memory(int n)
{
    if (quiet_exit == 0)
        fprintf(stderr, "ftcoll-sim: no memory for %d ranks; give fewer ranks, or free some\n", n);
    _exit(quiet_exit != 0 ? quiet_exit : EXIT_FAILURE);
}

void *ftc_cluster_alloc(int n, size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL)
        ftc_cluster_no_memory(n);
    return memory;
}

uint64_t ftc_cluster_random(struct ftc_cluster *c)
{
    return ftc_mix(c->random += 0x9e3779b97f4a7c15u);
}

int ftc_cluster_below(struct ftc_cluster *c, int limit)
{
    assert(limit > 0);
    return (int)(ftc_cluster_random(c) % (uint64_t)limit);
}

bool ftc_cluster_broken(const struct ftc_cluster *c)
{
    return c->violation[0] != '\0';
}
