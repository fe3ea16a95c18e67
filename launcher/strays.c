/* Finding strays by /proc. */
#include "launcher/strays.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/clock.h"
#include "launcher/environment.h"
#include "node/system/process.h"

#define LONGEST_NS FTC_NS_PER_S
#define ONE_NS     (100 * FTC_NS_PER_MS) /* wait per process; the kernel may hold one for longer */

void ftc_strays_adopt(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* Does the process show the job in its environment? A zombie shows no environment. */
static bool belongs(pid_t pid, const char *job)
{
    char wanted[128];
    bool any;

    snprintf(wanted, sizeof(wanted), "FTCOLL_JOB_SEGMENT=%s", job);
    return ftc_environment_shows(pid, wanted, &any);
}

/* One search for strays: its criteria, and the processes found. */
struct hunt {
    const char *job;
    const struct ftc_ranks *ranks;
    int strays;
};

/* ftrun sent SIGKILL to such a process when the leader of its group ended, but the process may not
 * be gone yet. */
static bool in_group_of_rank(const struct ftc_ranks *ranks, pid_t pid)
{
    pid_t group = getpgid(pid);

    for (int rank = 0; group > 0 && rank < ranks->count; rank++)
        if (ranks->at[rank].group == group)
            return true;
    return false;
}

/* False: this child does not belong to the job, or is gone, or cannot be killed. */
static bool kill_child(struct hunt *hunt, pid_t pid)
{
    bool of_rank = in_group_of_rank(hunt->ranks, pid);

    if (of_rank ? ftc_process_life(pid, 0) != FTC_LIFE_ALIVE : !belongs(pid, hunt->job))
        return false;
    if (!ftc_process_kill(pid, ftc_process_start(pid), ONE_NS))
        return false;
    hunt->strays += !of_rank;
    return true;
}

/* Kill the children of one thread. Returns how many were killed. */
static int kill_children_of(struct hunt *hunt, const char *thread)
{
    char path[300];
    long pid;
    int count = 0;

    snprintf(path, sizeof(path), "/proc/self/task/%s/children", thread);
    FILE *file = fopen(path, "re");
    while (file != NULL && fscanf(file, "%ld", &pid) == 1)
        count += kill_child(hunt, (pid_t)pid);
    if (file != NULL)
        fclose(file);
    return count;
}

/* Linux lists children by the thread that they were given to. */
static int kill_children(struct hunt *hunt)
{
    const struct dirent *entry;
    int count = 0;

    DIR *threads = opendir("/proc/self/task");
    while (threads != NULL && (entry = readdir(threads)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]))
            count += kill_children_of(hunt, entry->d_name);
    if (threads != NULL)
        closedir(threads);
    return count;
}

int ftc_strays_kill(const char *job, const struct ftc_ranks *ranks)
{
    uint64_t end = ftc_clock_now() + LONGEST_NS;
    struct hunt hunt = {.job = job, .ranks = ranks};
    int count;

    do
        count = kill_children(&hunt);
    while (count > 0 && ftc_clock_now() < end);
    return hunt.strays;
}
