/*
 * Starting a rank.
 *
 * ftrun uses vfork() and not fork(): it has tens of megabytes mapped, and 512 copies of its page
 * tables cost more than the exec. The child shares the memory of ftrun until exec. So the child
 * only makes system calls, and writes one word, the error. ftrun finds that word when it goes on.
 */
#include "launcher/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

struct plan {
    const struct ftc_spawn *spawn;
    char *const *environment;
    int input, output, error; /* descriptors >= 3 */
    pid_t parent;
    cpu_set_t cpu;
};

/* Which step failed, for the message. */
static const char *const steps[] = {"starting",  "process group of", "standard files of",
                                    "limits of", "directory of",     "binding",
                                    "executing"};
enum step { STEP_START, STEP_GROUP, STEP_FILES, STEP_LIMITS, STEP_DIRECTORY, STEP_BIND, STEP_EXEC };

int ftc_spawn_init(struct ftc_spawn *spawn)
{
    CPU_ZERO(&spawn->allowed);
    if (sched_getaffinity(0, sizeof(spawn->allowed), &spawn->allowed) != 0 && spawn->bind)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot read the CPUs to bind to: %m; use --bind-to none");
    spawn->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (spawn->null_fd < 0)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot open /dev/null: %m; the ranks need it as standard input");
    return FTC_SUCCESS;
}

void ftc_spawn_fini(struct ftc_spawn *spawn)
{
    if (spawn->null_fd >= 0)
        close(spawn->null_fd);
    spawn->null_fd = -1;
}

/* The (rank mod count)-th allowed CPU. */
static void choose_cpu(const struct ftc_spawn *spawn, int rank, cpu_set_t *chosen)
{
    int count = CPU_COUNT(&spawn->allowed), left = count > 0 ? rank % count : 0;
    CPU_ZERO(chosen);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &spawn->allowed) && left-- == 0) {
            CPU_SET(cpu, chosen);
            return;
        }
    }
}

/* Signal handlers must not run in the child, since they would use the parent's memory. A rank does
 * not ignore what ftrun ignores. */
static void reset_signals(bool ignore_hangup)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++)
        if (number != SIGKILL && number != SIGSTOP && !(number == SIGHUP && ignore_hangup))
            (void)sigaction(number, &plain, NULL);
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_others(void)
{
    if (close_range(3, ~0u, 0) == 0)
        return;
    long most = sysconf(_SC_OPEN_MAX);
    for (int fd = 3; fd < most; fd++)
        close(fd);
}

/* Runs in the child, on the parent's memory, so it makes system calls only. Returns the step that
 * failed; errno says why. */
static enum step prepare_and_exec(const struct plan *plan)
{
    const struct ftc_spawn *spawn = plan->spawn;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return STEP_START;
    if (getppid() != plan->parent) /* the parent died before the line above */
        _exit(1);
    if (setpgid(0, 0) != 0)
        return STEP_GROUP;
    if (dup2(plan->input, 0) < 0 || dup2(plan->output, 1) < 0 || dup2(plan->error, 2) < 0)
        return STEP_FILES;
    close_others();
    if (setrlimit(RLIMIT_NOFILE, &spawn->files) != 0)
        return STEP_LIMITS;
    if (spawn->directory != NULL && chdir(spawn->directory) != 0)
        return STEP_DIRECTORY;
    if (spawn->bind && sched_setaffinity(0, sizeof(plan->cpu), &plan->cpu) != 0)
        return STEP_BIND;
    reset_signals(spawn->ignore_hangup);
    execve(spawn->path, spawn->argv, plan->environment);
    return STEP_EXEC;
}

/* Returns the pid of the child, or -1 with *error. If the child fails before the program runs,
 * *step and *error say where and why. The caller blocks all signals meanwhile. */
static pid_t start(const struct plan *plan, volatile enum step *step, volatile int *error)
{
    pid_t pid = vfork();
    if (pid == 0) {
        *step = prepare_and_exec(plan);
        *error = errno;
        _exit(127);
    }
    if (pid < 0)
        *error = errno;
    return pid;
}

static pid_t start_masked(const struct plan *plan, enum step *step, int *error)
{
    volatile enum step failed_step = STEP_START;
    volatile int failed_error = 0;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = start(plan, &failed_step, &failed_error);
    if (pid > 0 && failed_error != 0) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        pid = -1;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    *step = failed_step;
    *error = failed_error;
    return pid;
}

/* Index 0 is standard output, index 1 is standard error. The read ends are non-blocking. */
static int open_pipes(int read_end[2], int write_end[2])
{
    for (int i = 0; i < 2; i++) {
        int pair[2];
        if (pipe2(pair, O_CLOEXEC) != 0) {
            if (i == 1) {
                int saved = errno;
                close(read_end[0]);
                close(write_end[0]);
                errno = saved;
            }
            return -1;
        }
        (void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
        read_end[i] = pair[0];
        write_end[i] = pair[1];
    }
    return 0;
}

static int refuse(int rank, enum step step, int error, const char *path)
{
    const char *remedy = "check the system's state";
    if (error == EAGAIN)
        remedy = "raise the limit of processes (ulimit -u) or start fewer ranks";
    else if (error == ENOMEM)
        remedy = "start fewer ranks";
    else if (error == ENOEXEC)
        remedy = "it is no program for this machine, or a script without a #! line";
    else if (step == STEP_EXEC)
        remedy = "check the program";
    errno = error;
    return ftc_error_set(FTC_ERR_SYSTEM, "%s rank %d (%s): %m; %s", steps[step], rank, path,
                         remedy);
}

int ftc_spawn_rank(const struct ftc_spawn *spawn, int rank, char *const environment[], int input_fd,
                   struct ftc_spawned *spawned, int *error)
{
    int read_end[2], write_end[2];
    enum step step = STEP_FILES;
    if (open_pipes(read_end, write_end) != 0) {
        *error = errno;
        return refuse(rank, step, *error, spawn->path);
    }
    struct plan plan = {
        .spawn = spawn,
        .environment = environment,
        .input = input_fd >= 0 ? input_fd : spawn->null_fd,
        .output = write_end[0],
        .error = write_end[1],
        .parent = getpid(),
    };
    choose_cpu(spawn, rank, &plan.cpu);
    pid_t pid = start_masked(&plan, &step, error);
    close(write_end[0]);
    close(write_end[1]);
    if (pid < 0) {
        close(read_end[0]);
        close(read_end[1]);
        return refuse(rank, step, *error, spawn->path);
    }
    *spawned = (struct ftc_spawned){.pid = pid, .out_fd = read_end[0], .err_fd = read_end[1]};
    return FTC_SUCCESS;
}
