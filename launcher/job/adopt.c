#include "launcher/job/adopt.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/error.h"
#include "node/system/process.h"

static int is_socket(int fd)
{
    int type = 0;
    socklen_t size = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

/* The rank that started this agent may be bound to one core, and may keep that core busy. So the
 * agent drops the binding. A cpuset still holds. */
static void unbind(void)
{
    cpu_set_t all;

    memset(&all, 0xff, sizeof(all));
    (void)sched_setaffinity(0, sizeof(all), &all);
}

int ftc_adopt_detach(int *leader)
{
    if (!is_socket(STDIN_FILENO))
        return ftc_error_set(
            FTC_ERR_STATE,
            "--engine adopt is what programs call in ftc_init() when PMIx has started "
            "them; start yours by ftrun, or by srun --mpi=pmix");
    pid_t child = fork();
    if (child < 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot start an agent: %m; raise ulimit -u");
    if (child > 0)
        _exit(0);
    (void)setsid();
    unbind();
    *leader = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (*leader < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot open the files of an agent: %m; raise ulimit -n");
    close(null);
    return FTC_SUCCESS;
}

static int adopt_rank(struct ftc_job *job, int rank, const struct ftc_adopted *process)
{
    int fd = ftc_process_open(process->pid, process->start);

    if (fd >= 0) {
        ftc_watcher_adopted(&job->watcher, rank, process->pid, process->start, fd);
        return FTC_SUCCESS;
    }
    if (errno == ENOSYS)
        return ftc_error_set(
            FTC_ERR_UNSUPPORTED,
            "ranks that are started without ftrun need Linux 5.3; start them by ftrun");
    return ftc_error_set(FTC_ERR_SYSTEM,
                         "rank %d (process %d) has ended before the job began, or cannot be "
                         "watched: %m",
                         rank, process->pid);
}

int ftc_adopt_ranks(struct ftc_job *job)
{
    const struct ftc_meeting *meeting = &job->agent.meeting;
    int rc = FTC_SUCCESS;

    for (int rank = job->next_rank; rank < job->end_rank && rc == FTC_SUCCESS; rank++)
        rc = adopt_rank(job, rank, &meeting->adopted[rank - job->next_rank]);
    job->next_rank = job->end_rank;
    atomic_store(&ftc_segment_header(job->segment)->state, FTC_JOB_RUNNING);
    return rc;
}
