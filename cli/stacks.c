/*
 * --stacks: where the processes of this host's ranks are, by eu-stack or gdb.
 *
 * Both tools stop the process while they look at it, so its heartbeat stands still. Hence the ranks
 * are looked at one after the other, and each look gets less than half of the heartbeat timeout. A
 * tool that takes longer is killed. Linux then lets the process go on, unless a SIGSTOP of the tool
 * has just arrived; let_go() undoes that one. The output of the tool is not trusted.
 */
#include "cli/stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "node/system/process.h"

#define MOST_OUTPUT    (256 * 1024)
#define LONGEST_NS     (10 * FTC_NS_PER_S)
#define LONGEST_ALL_NS (60 * FTC_NS_PER_S)
#define ARGUMENTS      16

enum tool { EU_STACK, GDB, TOOLS };
static const char *const tool_names[TOOLS] = {[EU_STACK] = "eu-stack", [GDB] = "gdb"};

/* Find eu-stack, which is far faster, or else gdb. Returns false if there is neither. */
static bool find_tool(enum tool *tool, char path[512])
{
    const char *folders = getenv("PATH");
    for (*tool = EU_STACK; *tool < TOOLS; (*tool)++)
        for (const char *at = folders; at != NULL && *at != '\0';) {
            size_t length = strcspn(at, ":");
            snprintf(path, 512, "%.*s/%s", (int)length, at, tool_names[*tool]);
            if (length > 0 && length < 400 && access(path, X_OK) == 0)
                return true;
            at += length + (at[length] == ':');
        }
    return false;
}

/* --- the child --- */

static void fill_arguments(enum tool tool, char *pid, char *arguments[ARGUMENTS])
{
    char *const by[TOOLS][ARGUMENTS] = {
        [EU_STACK] = {"eu-stack", "-p", pid},
        [GDB] = {"gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex",
                 "set auto-load off", "-p", pid, "-ex", "thread apply all backtrace"}};
    memcpy(arguments, by[tool], sizeof(by[tool]));
}

/* Runs in the child. The child has its own process group, so that the group can be killed as a
 * whole, and it dies with its parent. */
static _Noreturn void run_tool(enum tool tool, const char *path, pid_t pid, int output,
                               pid_t parent)
{
    char text[16], *arguments[ARGUMENTS];
    int nothing = open("/dev/null", O_RDONLY);
    snprintf(text, sizeof(text), "%d", (int)pid);
    fill_arguments(tool, text, arguments);
    setpgid(0, 0);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent ||
        dup2(nothing, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
        dup2(output, STDERR_FILENO) < 0)
        _exit(127);
    unsetenv("DEBUGINFOD_URLS"); /* no download while a rank stands still */
    setenv("LC_ALL", "C", 1);
    execv(path, arguments);
    _exit(127);
}

/* Read `input` into `text` until it ends, is too much, or the time is `end_ns`. Returns true only
 * if it has ended. */
static bool read_output(int input, uint64_t end_ns, char *text, size_t size)
{
    size_t used = 0;
    for (;;) {
        uint64_t now = ftc_clock_now();
        struct pollfd ready = {.fd = input, .events = POLLIN};
        text[used] = '\0';
        if (now >= end_ns || used + 1 >= size)
            return false;
        if (poll(&ready, 1, (int)((end_ns - now) / FTC_NS_PER_MS) + 1) <= 0)
            continue;
        ssize_t got = read(input, text + used, size - used - 1);
        if (got == 0 || (got < 0 && errno != EINTR))
            return true;
        used += got > 0 ? (size_t)got : 0;
    }
}

/* Wait for the end of the child, whose output may have ended before. */
static bool ended_by(pid_t child, uint64_t end_ns)
{
    struct timespec pause = {.tv_nsec = FTC_NS_PER_MS};
    siginfo_t info = {0};
    while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0) {
        if (ftc_clock_now() >= end_ns)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* Returns the letter of the process's state in /proc/<pid>/stat, or 0 if it is gone. */
static char state_of(pid_t pid)
{
    char path[32], text[512] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    size_t got = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[got] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && name_end[1] == ' ' ? name_end[2] : 0;
}

/* --- one rank --- */

struct look {
    enum tool tool;
    char path[512];
    uint64_t longest_ns;
    char *output; /* MOST_OUTPUT bytes */
};

/* The killed tool may have sent a SIGSTOP that has not arrived yet. A rank that was running before
 * must go on. */
static void let_go(int process, char before)
{
    if (process >= 0 && before != 'T')
        (void)syscall(SYS_pidfd_send_signal, process, SIGCONT, NULL, 0);
}

/* Run the tool on the process `pid`. Returns false with the cause in `error`. */
static bool ask_tool(const struct look *look, pid_t pid, char *error, size_t size)
{
    uint64_t end_ns = ftc_clock_now() + look->longest_ns;
    pid_t parent = getpid();
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        snprintf(error, size, "cannot make a pipe: %s", strerror(errno));
        return false;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        run_tool(look->tool, look->path, pid, ends[1], parent);
    close(ends[1]);
    if (child < 0) {
        snprintf(error, size, "cannot start %.120s: %s", look->path, strerror(errno));
        close(ends[0]);
        return false;
    }
    setpgid(child, child); /* the child does it too: either may come first */
    bool done = read_output(ends[0], end_ns, look->output, MOST_OUTPUT) && ended_by(child, end_ns);
    close(ends[0]);
    kill(-child, SIGKILL); /* the child is not reaped yet, so the group is still its own */
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (!done)
        snprintf(error, size, "%s took longer than %llu ms, or said too much; it was ended",
                 tool_names[look->tool], look->longest_ns / FTC_NS_PER_MS);
    return done;
}

/* A line of a stack is a frame ("#0 ...") or the head of a thread. */
static bool is_stack(const char *line)
{
    return line[0] == '#' || strncmp(line, "TID ", 4) == 0 || strncmp(line, "Thread ", 7) == 0;
}

/* Keep the lines that are a stack, cleaned. If there is none, the last other line is the reason for
 * that. Error: FTC_ERR_NOMEM. */
static int keep_lines(struct ftc_status_stack *stack, const char *output, const char *tool)
{
    char line[256], reason[128] = "it says nothing";
    size_t size = 0;
    FILE *text = open_memstream(&stack->text, &size);
    if (text == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    for (const char *at = output; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        ftc_text_clean(line, sizeof(line), at, length < sizeof(line) ? length : sizeof(line) - 1);
        stack->frames += line[0] == '#';
        if (is_stack(line))
            fprintf(text, "%s\n", line);
        else if (line[0] != '\0')
            snprintf(reason, sizeof(reason), "%.120s", line);
        at += length + (at[length] == '\n');
    }
    if (fclose(text) != 0)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    if (stack->frames == 0)
        snprintf(stack->error, sizeof(stack->error), "%s shows no stack: %s", tool, reason);
    return 0;
}

/* May the tool look at this process? Its pid comes from shared memory, so it is not trusted. */
static bool allowed(const struct ftc_status_rank *rank, char *error, size_t size)
{
    char path[32];
    struct stat info;
    snprintf(path, sizeof(path), "/proc/%d", rank->pid);
    if (rank->pid <= 1 || rank->pid == getpid() || stat(path, &info) != 0 ||
        ftc_process_life(rank->pid, rank->pid_start) != FTC_LIFE_ALIVE) {
        snprintf(error, size, "its process is not there");
        return false;
    }
    if (info.st_uid != geteuid())
        snprintf(error, size, "refused: process %d is of user %u", rank->pid,
                 (unsigned)info.st_uid);
    return info.st_uid == geteuid();
}

static int look_at_rank(const struct look *look, const struct ftc_status_rank *rank,
                        struct ftc_status_stack *stack)
{
    stack->taken = true;
    if (!allowed(rank, stack->error, sizeof(stack->error)))
        return 0;
    char before = state_of(rank->pid);
    int process = ftc_process_open(rank->pid, rank->pid_start);
    bool done = ask_tool(look, rank->pid, stack->error, sizeof(stack->error));
    if (!done)
        let_go(process, before);
    if (process >= 0)
        close(process);
    return done ? keep_lines(stack, look->output, tool_names[look->tool]) : 0;
}

/* --- all ranks --- */

static bool has_process(const struct ftc_job_status *status, int rank)
{
    const struct ftc_status_rank *what = &status->rank[rank];
    return what->node == status->own_node && what->pid > 0 &&
           (ftc_status_live(what) || what->state == FTC_STATUS_SPAWNED);
}

/* No rank can be looked at. Note the reason for each of them. */
static void excuse_all(struct ftc_job_status *status, const char *why)
{
    snprintf(status->no_stacks, sizeof(status->no_stacks), "%s", why);
    for (int rank = 0; rank < status->ranks; rank++) {
        if (!has_process(status, rank))
            continue;
        status->stack[rank].taken = true;
        snprintf(status->stack[rank].error, sizeof(status->stack[rank].error), "%s", why);
    }
}

static int look_at_all(struct ftc_job_status *status, const struct look *look)
{
    uint64_t end_ns = ftc_clock_now() + LONGEST_ALL_NS;
    int rc = 0;
    for (int rank = 0; rc == 0 && rank < status->ranks; rank++) {
        struct ftc_status_stack *stack = &status->stack[rank];
        if (!has_process(status, rank))
            continue;
        if (ftc_clock_now() < end_ns) {
            rc = look_at_rank(look, &status->rank[rank], stack);
            continue;
        }
        stack->taken = true;
        snprintf(stack->error, sizeof(stack->error), "not looked at: %llu s are over",
                 LONGEST_ALL_NS / FTC_NS_PER_S);
    }
    return rc;
}

int ftc_status_stacks(struct ftc_job_status *status)
{
    struct look look = {.longest_ns = status->timeout_ns / 2 < LONGEST_NS ? status->timeout_ns / 2
                                                                          : LONGEST_NS};
    status->stack = calloc((size_t)status->ranks, sizeof(*status->stack));
    look.output = malloc(MOST_OUTPUT);
    int rc = status->stack == NULL || look.output == NULL
                 ? ftc_error_set(FTC_ERR_NOMEM, "out of memory")
                 : 0;
    if (rc == 0 && !find_tool(&look.tool, look.path))
        excuse_all(status, "neither eu-stack nor gdb is there: install elfutils or gdb");
    else if (rc == 0 && status->pid_namespace != ftc_process_namespace())
        excuse_all(status, "its process is in another pid namespace: call ftcoll-status there");
    else if (rc == 0)
        rc = look_at_all(status, &look);
    free(look.output);
    return rc;
}
