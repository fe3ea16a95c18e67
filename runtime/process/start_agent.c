#include "runtime/process/start_agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "node/system/process.h"

#define BEGIN_SECONDS 20
#define LOOK_MS       5
#define MOST_WORDS    4096 /* bytes of the program's command line, for people to read */
#define ARGUMENTS     32

extern char **environ;

/* argv of the agent: its own words, and then those of this process, which ftcoll-status shows. */
struct command {
    char ranks[16], words[MOST_WORDS + 1];
    char *argv[ARGUMENTS];
};

static void add_own_words(struct command *command, int argc)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, command->words, MOST_WORDS) : 0;

    if (fd >= 0)
        close(fd);
    if (size <= 0 || command->words[0] == '\0')
        size = snprintf(command->words, MOST_WORDS, "%s", program_invocation_name) + 1;
    command->words[size] = '\0';
    for (char *word = command->words; word < command->words + size && argc < ARGUMENTS - 1;
         word += strlen(word) + 1)
        command->argv[argc++] = word;
    command->argv[argc] = NULL;
}

static void make_command(struct command *command, char *program, int ranks)
{
    int argc = 0;

    snprintf(command->ranks, sizeof(command->ranks), "%d", ranks);
    command->argv[argc++] = program;
    command->argv[argc++] = "--engine=adopt";
    command->argv[argc++] = "-np";
    command->argv[argc++] = command->ranks;
    command->argv[argc++] = "--";
    add_own_words(command, argc);
}

/* The agent writes to the standard error of this process, so that people read its messages. */
static int spawn(pid_t *child, char *program, struct command *command, int fd)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, fd, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int rc = posix_spawnp(child, program, &files, &attributes, command->argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

/* Names the ftrun that was installed with this library, under whichever prefix. False: it is not
 * known where the library is. */
static bool find_installed(char path[static PATH_MAX])
{
    static const char here;
    Dl_info library;
    char folder[PATH_MAX];

    if (dladdr(&here, &library) == 0 || realpath(library.dli_fname, folder) == NULL)
        return false;
    *strrchr(folder, '/') = '\0';
    return snprintf(path, PATH_MAX, "%s/%s", folder, FTC_FTRUN_FROM_LIBRARY) < PATH_MAX;
}

/* If FTCOLL_FTRUN is set, no other program is tried: the user wants that one. */
static int spawn_one(pid_t *child, int ranks, int fd, const char **tried)
{
    struct command command;
    char *named = getenv("FTCOLL_FTRUN"), installed[PATH_MAX], any[] = "ftrun";
    int rc = ENOENT;

    *tried = named != NULL ? "FTCOLL_FTRUN" : "the prefix of libftcoll and $PATH";
    make_command(&command, named != NULL ? named : installed, ranks);
    if (named != NULL || find_installed(installed))
        rc = spawn(child, command.argv[0], &command, fd);
    if (named != NULL || rc == 0)
        return rc;
    command.argv[0] = any;
    return spawn(child, any, &command, fd);
}

/* True also if the program itself has waited for the child meanwhile. */
static bool has_ended(pid_t child)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

/* If there is no pidfd of the child, this asks the kernel every LOOK_MS whether it has ended. */
static bool wait_end(pid_t child, uint64_t start, uint64_t deadline)
{
    struct pollfd ended = {.fd = ftc_process_open(child, start), .events = POLLIN};
    bool gone = ended.fd < 0 && errno == ESRCH;

    for (uint64_t now = ftc_clock_now(); now < deadline && !gone; now = ftc_clock_now()) {
        int left = (int)((deadline - now) / FTC_NS_PER_MS) + 1;
        gone = poll(&ended, 1, ended.fd < 0 && left > LOOK_MS ? LOOK_MS : left) == 1 ||
               (ended.fd < 0 && has_ended(child));
    }
    if (ended.fd >= 0)
        close(ended.fd);
    return gone;
}

/* ftrun puts an agent into the background and ends at once. A program that does not end in time is
 * some other program: it is killed. False: it was killed. */
static bool end_in_time(pid_t child)
{
    uint64_t start = ftc_process_start(child);
    bool ended = wait_end(child, start, ftc_clock_now() + BEGIN_SECONDS * FTC_NS_PER_S);

    if (!ended)
        (void)ftc_process_kill(child, start, FTC_NS_PER_S);
    return ended;
}

/* Waits for the end of the ftrun that was started, and judges its status. If the program waits for
 * all its children, or ignores them, then there is no status to get here. In this case the missing
 * answer of the agent will show a failure. */
static int await(pid_t child)
{
    int status = 0;

    if (!end_in_time(child)) {
        (void)waitpid(child, &status, WNOHANG);
        return ftc_error_set(
            FTC_ERR_SYSTEM,
            "ftrun, which has to watch this host's ranks, did not begin within %d s; does "
            "FTCOLL_FTRUN name an ftrun?",
            BEGIN_SECONDS);
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return FTC_SUCCESS;
    if (status == 0)
        return FTC_SUCCESS;
    return ftc_error_set(
        FTC_ERR_SYSTEM,
        "ftrun, which has to watch this host's ranks, could not begin (%s %d); it has said "
        "why to standard error; is it of this release?",
        WIFSIGNALED(status) ? "signal" : "exit code",
        WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

int ftc_start_agent(int ranks, int *fd)
{
    int pair[2];
    pid_t child;
    const char *tried;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot make a pair of sockets: %m; raise ulimit -n");
    int error = spawn_one(&child, ranks, pair[1], &tried);
    close(pair[1]);
    errno = error;
    int rc =
        error == 0
            ? await(child)
            : ftc_error_set(FTC_ERR_SYSTEM,
                            "no ftrun here to watch this host's ranks (%s: %m); install ftcoll "
                            "on each host, set FTCOLL_FTRUN=/path/to/ftrun, or start the "
                            "program with ftrun",
                            tried);
    if (rc == FTC_SUCCESS)
        *fd = pair[0];
    else
        close(pair[0]);
    return rc;
}
