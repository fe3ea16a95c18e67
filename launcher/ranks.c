/* The table of processes, and signals to them. */
#include "launcher/ranks.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
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
    for (int rank = 0; rank < ranks->count; rank++)
        if (ranks->at[rank].joined_fd >= 0)
            close(ranks->at[rank].joined_fd);
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

/* The pid came out of the segment: a pidfd names the process that was checked, whatever reuses its number
 * later. */
static bool signal_joined(struct ftc_process *process, int signal)
{
    if (process->joined_pid == 0 || process->joined_ended)
        return false;
    if (process->joined_fd >= 0)
        return syscall(SYS_pidfd_send_signal, process->joined_fd, signal, NULL, 0) == 0;
    return process->joined_start != 0 &&
           ftc_process_life(process->joined_pid, process->joined_start) == FTC_LIFE_ALIVE &&
           kill(process->joined_pid, signal) == 0;
}

bool ftc_ranks_signal(struct ftc_ranks *ranks, int rank, int signal)
{
    struct ftc_process *process = &ranks->at[rank];
    bool group = process->child > 0 && kill(-process->child, signal) == 0;
    /* Usually the process that joined is in the group: it would get the signal twice. SIGKILL may come
     * twice. */
    pid_t joined = process->joined_pid;
    if (group && signal != SIGKILL && joined > 0 && getpgid(joined) == process->child)
        return true;
    return signal_joined(process, signal) || group;
}

void ftc_ranks_signal_all(struct ftc_ranks *ranks, int signal)
{
    for (int rank = 0; rank < ranks->count; rank++)
        ftc_ranks_signal(ranks, rank, signal);
}
