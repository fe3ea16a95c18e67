/* Finding strays by /proc. */
#include "launcher/strays.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>

#include "base/clock.h"
#include "node/process.h"

#define LONGEST_NS FTC_NS_PER_S
#define ONE_NS     (100 * FTC_NS_PER_MS) /* for one process to be gone; the kernel may hold it for longer */

void ftc_strays_adopt(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* A zombie shows no environment. */
static bool belongs(pid_t pid, const char *job)
{
    char path[64], wanted[128], *entry = NULL;
    size_t room = 0;
    bool found = false;

    snprintf(path, sizeof(path), "/proc/%ld/environ", (long)pid);
    snprintf(wanted, sizeof(wanted), "FTCOLL_JOB_SEGMENT=%s", job);
    FILE *file = fopen(path, "re");
    while (file != NULL && !found && getdelim(&entry, &room, '\0', file) > 0)
        found = strcmp(entry, wanted) == 0;
    if (file != NULL)
        fclose(file);
    free(entry);
    return found;
}

static int kill_children_of(const char *thread, const char *job)
{
    char path[300];
    long pid;
    int count = 0;

    snprintf(path, sizeof(path), "/proc/self/task/%s/children", thread);
    FILE *file = fopen(path, "re");
    while (file != NULL && fscanf(file, "%ld", &pid) == 1)
        count +=
            belongs((pid_t)pid, job) && ftc_process_kill((pid_t)pid, ftc_process_start((pid_t)pid), ONE_NS);
    if (file != NULL)
        fclose(file);
    return count;
}

/* Linux keeps children by the thread that they were given to. */
static int kill_children(const char *job)
{
    const struct dirent *entry;
    int count = 0;

    DIR *threads = opendir("/proc/self/task");
    while (threads != NULL && (entry = readdir(threads)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]))
            count += kill_children_of(entry->d_name, job);
    if (threads != NULL)
        closedir(threads);
    return count;
}

int ftc_strays_kill(const char *job)
{
    uint64_t end = ftc_clock_now() + LONGEST_NS;
    int all = 0, count;

    do {
        count = kill_children(job);
        all += count;
    } while (count > 0 && ftc_clock_now() < end);
    return all;
}
