/* Processes by pid. Their state is read from /proc. They are killed through a pidfd, so that the
 * pid cannot be reused between the look and the signal. */
#include "node/system/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

struct stat_line {
    char state;
    unsigned long threads; /* field 20 */
    uint64_t start;        /* field 22, clock ticks since boot; never 0 for what we ask about */
};

static bool read_whole(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got;
    do
        got = read(fd, text, room - 1);
    while (got < 0 && errno == EINTR);
    close(fd);
    if (got <= 0)
        return false;
    text[got] = '\0';
    return true;
}

/* Is there a /proc, of the pid namespace of this process? Another one tells nothing about the pids
 * that this process knows. */
static bool proc_is_ours(void)
{
    char self[24];
    ssize_t length = readlink("/proc/self", self, sizeof(self) - 1);
    if (length <= 0)
        return false;
    self[length] = '\0';
    return strtol(self, NULL, 10) == (long)getpid();
}

static bool read_stat(pid_t pid, struct stat_line *line)
{
    char path[32], text[1024];
    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    if (pid <= 0 || !proc_is_ours() || !read_whole(path, text, sizeof(text)))
        return false;
    /* Field 2 is the name of the program in parentheses. The name may hold blanks and parentheses
     * itself, so the field ends at the last parenthesis. */
    char *after = strrchr(text, ')');
    if (after == NULL)
        return false;
    unsigned long long start = 0;
    if (sscanf(after + 1,
               " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %*s %llu",
               &line->state, &line->threads, &start) != 3)
        return false;
    line->start = start;
    return true;
}

uint64_t ftc_process_start(pid_t pid)
{
    struct stat_line line;
    return read_stat(pid, &line) ? line.start : 0;
}

static bool has_pid(pid_t pid)
{
    return kill(pid, 0) == 0 || errno != ESRCH;
}

/* The first question is whether the kernel knows the pid, which needs neither /proc nor a
 * descriptor. */
enum ftc_life ftc_process_life(pid_t pid, uint64_t start)
{
    struct stat_line line;
    if (pid <= 0 || !has_pid(pid))
        return FTC_LIFE_GONE;
    if (!read_stat(pid, &line)) /* it may have ended since */
        return has_pid(pid) ? FTC_LIFE_UNKNOWN : FTC_LIFE_GONE;
    /* A zombie only waits for its parent. But if it has more threads, only its first thread has
     * ended. */
    if ((line.state == 'Z' || line.state == 'X') && line.threads <= 1)
        return FTC_LIFE_GONE;
    return start == 0 || line.start == start ? FTC_LIFE_ALIVE : FTC_LIFE_GONE;
}

bool ftc_process_stopped(pid_t pid, uint64_t start)
{
    struct stat_line line;
    return read_stat(pid, &line) && (line.state == 'T' || line.state == 't') && line.start == start;
}

uint64_t ftc_process_namespace(void)
{
    struct stat info;
    return stat("/proc/self/ns/pid", &info) == 0 ? (uint64_t)info.st_ino : 0;
}

static int open_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0u);
}

static bool wait_gone(int pidfd, pid_t pid, uint64_t start, uint64_t timeout_ns)
{
    uint64_t deadline = ftc_clock_now() + timeout_ns;
    for (uint64_t now = ftc_clock_now(); now < deadline; now = ftc_clock_now()) {
        struct pollfd item = {.fd = pidfd, .events = POLLIN};
        if (poll(&item, 1, (int)((deadline - now) / FTC_NS_PER_MS) + 1) > 0)
            return true;
    }
    return ftc_process_life(pid, start) == FTC_LIFE_GONE;
}

bool ftc_process_kill(pid_t pid, uint64_t start, uint64_t timeout_ns)
{
    if (pid <= 1 || start == 0)
        return false;
    int pidfd = open_pidfd(pid);
    if (pidfd < 0)
        return ftc_process_life(pid, start) == FTC_LIFE_GONE;
    /* Only now, with a pidfd that is bound to one process, can the start time tell which it is. */
    enum ftc_life life = ftc_process_life(pid, start);
    bool gone = life == FTC_LIFE_GONE;
    if (life == FTC_LIFE_ALIVE && syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0u) == 0)
        gone = wait_gone(pidfd, pid, start, timeout_ns);
    close(pidfd);
    return gone;
}

int ftc_process_cores(void)
{
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

int ftc_process_open(pid_t pid, uint64_t start)
{
    char path[32];
    struct stat info;
    errno = EINVAL;
    int fd = pid > 1 && start != 0 ? open_pidfd(pid) : -1;
    if (fd < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/%ld", (long)pid);
    enum ftc_life life = ftc_process_life(pid, start);
    bool seen = life == FTC_LIFE_ALIVE && stat(path, &info) == 0;
    if (seen && info.st_uid == geteuid()) {
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        return fd;
    }
    close(fd);
    errno = life == FTC_LIFE_GONE ? ESRCH : seen ? EPERM : EAGAIN;
    return -1;
}

/* From <linux/pidfd.h> of Linux 6.15. Older headers do not have it. */
struct exit_query {
    uint64_t mask, cgroup;
    uint32_t ids[11];
    int32_t status;
};
#define QUERY_EXIT_INFO (1ull << 3)
#define QUERY           _IOWR(0xff, 11, struct exit_query)

static bool ask_pidfd(int pidfd, int *status)
{
    struct exit_query query = {.mask = QUERY_EXIT_INFO};
    if (ioctl(pidfd, QUERY, &query) != 0 || !(query.mask & QUERY_EXIT_INFO))
        return false;
    *status = query.status;
    return true;
}

/* The exit status of a zombie, from the last field of /proc/<pid>/stat. */
static bool ask_proc(pid_t pid, int *status)
{
    char path[32], text[1024];
    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    if (!read_whole(path, text, sizeof(text)))
        return false;
    char *after = strrchr(text, ')'), *last = strrchr(text, ' ');
    if (after == NULL || last < after || after[2] != 'Z')
        return false;
    *status = (int)strtol(last + 1, NULL, 10);
    return true;
}

bool ftc_process_status(int pidfd, pid_t pid, int *status)
{
    /* /proc tells the status of a zombie, the pidfd that of a process that was reaped. The process
     * may be reaped between the two questions, so the pidfd is asked again. */
    return ask_pidfd(pidfd, status) || ask_proc(pid, status) || ask_pidfd(pidfd, status);
}
