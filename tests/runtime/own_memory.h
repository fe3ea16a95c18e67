/* What a process finds out about its own memory. */
#ifndef FTC_TESTS_RUNTIME_OWN_MEMORY_H
#define FTC_TESTS_RUNTIME_OWN_MEMORY_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* -1: unknown */
static inline long resident_kb(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[128];
    long kb = -1;

    while (file != NULL && kb < 0 && fgets(line, sizeof(line), file) != NULL)
        sscanf(line, "VmRSS: %ld", &kb);
    if (file != NULL)
        fclose(file);
    return kb;
}

/* A number for the set of the job's files that are mapped; 0: none. A file has another inode than
 * any file before it. */
static inline uint64_t mapped_files(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    uint64_t inode = 0, last = 0, sum = 0;
    char line[512];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (strstr(line, "/dev/shm/ftcoll-") != NULL &&
            sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1 && inode != last) {
            sum += inode * inode; /* a file may be mapped in several pieces, one behind the other */
            last = inode;
        }
    if (file != NULL)
        fclose(file);
    return sum;
}

#endif
