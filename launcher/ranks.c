/* The table of processes, and signals to them. */
#include "launcher/ranks.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "launcher/environment.h"
#include "node/jobs.h"

int ftc_ranks_init(struct ftc_ranks *ranks, int count)
{
    struct ftc_process *at = calloc((size_t)count, sizeof(*at));
    if (at == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for %d ranks", count);
    for (int rank = 0; rank < count; rank++) {
        at[rank].joined_fd = -1;
        at[rank].accuser = -1;
    }
    *ranks = (struct ftc_ranks){.count = count, .at = at};
    return FTC_SUCCESS;
}

void ftc_ranks_fini(struct ftc_ranks *ranks)
{
    for (int rank = 0; rank < ranks->count; rank++) {
        if (ranks->at[rank].joined_fd >= 0)
            close(ranks->at[rank].joined_fd);
        free(ranks->at[rank].counters);
    }
    free(ranks->at);
    *ranks = (struct ftc_ranks){0};
}

int ftc_ranks_find(const struct ftc_ranks *ranks, pid_t child)
{
    for (int rank = 0; rank < ranks->count; rank++)
        if (ranks->at[rank].child == child)
            return rank;
    return -1;
}

bool ftc_ranks_marked(struct ftc_ranks *ranks, struct ftc_segment *segment, int rank)
{
    struct ftc_process *process = &ranks->at[rank];
    const struct ftc_standing *standing = ftc_segment_standing(segment, rank);

    if (ftc_segment_is_local(segment, rank) &&
        atomic_load_explicit(&standing->phase, memory_order_acquire) == FTC_PHASE_FINALIZED)
        process->marked = true;
    return process->marked;
}

void ftc_ranks_publish_start(struct ftc_segment *segment, int rank, pid_t pid, uint64_t start,
                             uint64_t now_ns)
{
    struct ftc_slot *slot = ftc_segment_slot(segment, rank);

    atomic_store_explicit(&slot->spawned_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&slot->child_start, start, memory_order_relaxed);
    atomic_store_explicit(&slot->child_pid, pid, memory_order_release);
}

void ftc_ranks_publish_end(struct ftc_segment *segment, int rank, int status)
{
    struct ftc_standing *standing = ftc_segment_standing(segment, rank);

    atomic_store_explicit(&standing->wait_status, status, memory_order_relaxed);
    atomic_store_explicit(&standing->ended, 1, memory_order_release);
}

/* Does this process have the number of this rank? ftrun gives each rank its number in the
 * environment, and the processes that the rank starts inherit it. *ending becomes true if the
 * process is about to end, and has no environment any more. */
static bool has_number(pid_t pid, int rank, bool *ending)
{
    char own[32];
    bool any;

    snprintf(own, sizeof(own), "FTCOLL_RANK=%d", rank);
    bool has = ftc_environment_shows(pid, own, &any);
    *ending = !any;
    return has;
}

/* Does this process have no node segment in its memory? A process that is about to end shows no
 * memory at all, and is not taken for a wrapper. */
static bool is_wrapper(pid_t pid)
{
    char path[32], *line = NULL;
    size_t room = 0;
    bool has = false, ending = true;

    snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && !has && getline(&line, &room, file) > 0) {
        ending = false;
        has = strstr(line, "/dev/shm/ftcoll-") != NULL;
    }
    if (file != NULL)
        fclose(file);
    free(line);
    return !has && !ending;
}

bool ftc_ranks_may_join(const struct ftc_ranks *ranks, int rank, pid_t pid, uint64_t start)
{
    const struct ftc_process *process = &ranks->at[rank];
    char path[32];
    struct stat info;
    bool ending = false;

    if (pid <= 1 || pid == getpid() || (start != 0 && start < process->child_start))
        return false;
    enum ftc_life life = ftc_process_life(pid, start);
    if (life == FTC_LIFE_UNKNOWN)
        return true;
    snprintf(path, sizeof(path), "/proc/%ld", (long)pid);
    if (life == FTC_LIFE_ALIVE && stat(path, &info) == 0) {
        if (info.st_uid != geteuid())
            return false;
        if (getpgid(pid) == process->child || has_number(pid, rank, &ending))
            return true;
        if (!ending)
            return false;
    }
    return start != 0 && (process->child_ended || is_wrapper(process->child));
}

/* The pid came out of the segment. A pidfd names the process that was checked, even if another
 * process reuses the number later. */
static bool signal_joined(const struct ftc_ranks *ranks, int rank, int signal)
{
    const struct ftc_process *process = &ranks->at[rank];

    if (process->joined_pid == 0 || process->joined_ended)
        return false;
    if (process->joined_fd >= 0)
        return syscall(SYS_pidfd_send_signal, process->joined_fd, signal, NULL, 0) == 0;
    return process->joined_start != 0 &&
           ftc_process_life(process->joined_pid, process->joined_start) == FTC_LIFE_ALIVE &&
           ftc_ranks_may_join(ranks, rank, process->joined_pid, process->joined_start) &&
           kill(process->joined_pid, signal) == 0;
}

bool ftc_ranks_signal(struct ftc_ranks *ranks, int rank, int signal)
{
    struct ftc_process *process = &ranks->at[rank];
    bool group = process->child > 0 && kill(-process->child, signal) == 0;
    /* The process that joined is usually in the group, and would get the signal twice. SIGKILL may
     * come twice. */
    pid_t joined = process->joined_pid;
    if (group && signal != SIGKILL && joined > 0 && getpgid(joined) == process->child)
        return true;
    return signal_joined(ranks, rank, signal) || group;
}

void ftc_ranks_signal_all(struct ftc_ranks *ranks, int signal)
{
    for (int rank = 0; rank < ranks->count; rank++)
        ftc_ranks_signal(ranks, rank, signal);
}
