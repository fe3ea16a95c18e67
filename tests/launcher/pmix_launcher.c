/*
 * A PMIx launcher that is not ftrun, with as much as these tests need. It starts ranks on several
 * "hosts", all of which are this machine.
 *
 *   pmix_launcher HOSTS RANKS_PER_HOST program arguments
 *
 * Each host has one PMIx server, a child of this process. This process passes on what the servers
 * collect in fences. The launcher lets ranks die, as Slurm does with ranks that finalized PMIx. Its
 * exit code is the largest of the ranks' exit codes, 128 + signal for a signal.
 */
#include <errno.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/stream.h"

#define SPACE "launcher"

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "pmix_launcher: %s failed\n", what);
    _exit(99);
}

/* --- a host --- */

struct host {
    int number, hosts, ranks; /* ranks: of each host */
    int fd;
    char directory[256];
    /* The fence under way. */
    pmix_modex_cbfunc_t done;
    void *arg;
};

static struct host host; /* the upcalls of PMIx have no argument */

static pmix_status_t connected(const pmix_proc_t *proc, void *object, pmix_info_t info[],
                               size_t count, pmix_op_cbfunc_t done, void *arg)
{
    (void)proc, (void)object, (void)info, (void)count;
    if (done != NULL)
        done(PMIX_SUCCESS, arg);
    return PMIX_SUCCESS;
}

static pmix_status_t finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
                               void *arg)
{
    (void)proc, (void)object;
    if (done != NULL)
        done(PMIX_SUCCESS, arg);
    return PMIX_SUCCESS;
}

static void free_data(void *data)
{
    free(data);
}

/* Receives, for each fence in turn, the data of all hosts together. */
static void *receive(void *arg)
{
    uint64_t size;
    (void)arg;
    while (ftc_stream_get(host.fd, &size, sizeof(size))) {
        char *data = malloc(size + 1);
        if (data == NULL || !ftc_stream_get(host.fd, data, size))
            break;
        host.done(PMIX_SUCCESS, data, size, host.arg, free_data, data);
    }
    return NULL;
}

static pmix_status_t fence(const pmix_proc_t procs[], size_t proc_count, const pmix_info_t info[],
                           size_t count, char *data, size_t size, pmix_modex_cbfunc_t done,
                           void *arg)
{
    uint64_t length = size;
    (void)procs, (void)proc_count, (void)info, (void)count;
    host.done = done;
    host.arg = arg;
    if (!ftc_stream_put(host.fd, &length, sizeof(length)) || !ftc_stream_put(host.fd, data, size))
        return PMIX_ERROR;
    return PMIX_SUCCESS;
}

static pmix_server_module_t module = {
    .client_connected2 = connected, .client_finalized = finalized, .fence_nb = fence};

/* Lists the hosts or ranks of the hosts from `from` up to `end`: "host0,host1", or "0,1;2,3" for
 * the ranks of all hosts, or "2,3" for those of one. */
static void list(char *text, size_t size, int from, int end, bool hosts)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = from; i < end; i++)
        for (int rank = 0; rank < (hosts ? 1 : host.ranks); rank++)
            used += (size_t)snprintf(text + used, size - used, hosts ? "%shost%d" : "%s%d",
                                     i == from && rank == 0  ? ""
                                     : (rank == 0 && !hosts) ? ";"
                                                             : ",",
                                     hosts ? i : i * host.ranks + rank);
}

static void register_job(void)
{
    char hosts[1024], ranks[4096], local[1024], *nodes = NULL, *procs = NULL;
    uint32_t size = (uint32_t)(host.hosts * host.ranks), here = (uint32_t)host.ranks,
             count = (uint32_t)host.hosts;
    pmix_info_t *info;
    pmix_nspace_t space;

    list(hosts, sizeof(hosts), 0, host.hosts, true);
    list(ranks, sizeof(ranks), 0, host.hosts, false);
    list(local, sizeof(local), host.number, host.number + 1, false);
    must(PMIx_generate_regex(hosts, &nodes) == PMIX_SUCCESS &&
             PMIx_generate_ppn(ranks, &procs) == PMIX_SUCCESS,
         "maps");
    PMIX_INFO_CREATE(info, 8);
    PMIX_INFO_LOAD(&info[0], PMIX_UNIV_SIZE, &size, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[1], PMIX_JOB_SIZE, &size, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[2], PMIX_LOCAL_SIZE, &here, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[3], PMIX_NUM_NODES, &count, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[4], PMIX_LOCAL_PEERS, local, PMIX_STRING);
    PMIX_INFO_LOAD(&info[5], PMIX_NODE_MAP, nodes, PMIX_REGEX);
    PMIX_INFO_LOAD(&info[6], PMIX_PROC_MAP, procs, PMIX_REGEX);
    PMIX_INFO_LOAD(&info[7], PMIX_NSDIR, host.directory, PMIX_STRING);
    PMIX_LOAD_NSPACE(space, SPACE);
    pmix_status_t status = PMIx_server_register_nspace(space, host.ranks, info, 8, NULL, NULL);
    must(status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED, "registering the job");
    PMIX_INFO_FREE(info, 8);
    free(nodes);
    free(procs);
}

static void start_server(void)
{
    char name[32];
    pmix_info_t *info;

    snprintf(name, sizeof(name), "host%d", host.number);
    const char *temporary =
        getenv("BATS_TEST_TMPDIR"); /* not TMPDIR, which must be empty after a job */
    int length = snprintf(host.directory, sizeof(host.directory), "%s/pmix_launcher.XXXXXX",
                          temporary != NULL ? temporary : "/tmp");
    must(length < (int)sizeof(host.directory), "naming a directory: BATS_TEST_TMPDIR is too long");
    must(mkdtemp(host.directory) != NULL, "making a directory");
    PMIX_INFO_CREATE(info, 3);
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, host.directory, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, host.directory, PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_HOSTNAME, name, PMIX_STRING);
    must(PMIx_server_init(&module, info, 3) == PMIX_SUCCESS, "PMIx_server_init");
    PMIX_INFO_FREE(info, 3);
    register_job();
}

static pid_t start_rank(int rank, char **program)
{
    pmix_proc_t proc;

    PMIX_LOAD_PROCID(&proc, SPACE, (pmix_rank_t)rank);
    pmix_status_t status = PMIx_server_register_client(&proc, getuid(), getgid(), NULL, NULL, NULL);
    must(status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED, "registering a rank");
    char **copy = NULL;
    must(PMIx_server_setup_fork(&proc, &copy) == PMIX_SUCCESS, "preparing a rank");
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close_range(3, ~0u, 0);
        for (char **variable = copy; *variable != NULL; variable++)
            (void)putenv(*variable);
        execvp(program[0], program);
        _exit(127);
    }
    must(pid > 0, "starting a rank");
    for (char **variable = copy; *variable != NULL; variable++)
        free(*variable);
    free(copy);
    return pid;
}

static int await_ranks(void)
{
    int worst = 0, status;

    while (waitpid(-1, &status, 0) > 0 || errno == EINTR) {
        int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        worst = code > worst ? code : worst;
    }
    return worst;
}

static _Noreturn void be_host(char **program)
{
    char command[300];
    pthread_t thread;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    start_server();
    must(pthread_create(&thread, NULL, receive, NULL) == 0, "starting a thread");
    for (int rank = 0; rank < host.ranks; rank++)
        start_rank(host.number * host.ranks + rank, program);
    int worst = await_ranks();
    PMIx_server_finalize();
    snprintf(command, sizeof(command), "rm -rf '%s'", host.directory);
    (void)!system(command);
    _exit(worst);
}

/* --- all hosts --- */

/* Passes on a fence, which takes data from each host. Returns false if a host has ended. */
static bool pass_on(const int *fds, int hosts)
{
    uint64_t size, all = 0;
    char *data = NULL;
    bool good = true;

    for (int i = 0; i < hosts && good; i++) {
        good = ftc_stream_get(fds[i], &size, sizeof(size));
        char *grown = good ? realloc(data, all + size + 1) : NULL;
        data = grown != NULL ? grown : data;
        good = grown != NULL && ftc_stream_get(fds[i], data + all, size);
        all += good ? size : 0;
    }
    for (int i = 0; i < hosts && good; i++)
        good = ftc_stream_put(fds[i], &all, sizeof(all)) && ftc_stream_put(fds[i], data, all);
    free(data);
    return good;
}

int main(int argc, char **argv)
{
    int hosts = argc > 3 ? atoi(argv[1]) : 0, fds[64], pair[2], status, worst = 0;

    must(hosts >= 1 && hosts <= 64, "understanding the arguments");
    host = (struct host){.hosts = hosts, .ranks = atoi(argv[2])};
    for (int i = 0; i < hosts; i++) {
        must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "a pair of sockets");
        pid_t pid = fork();
        if (pid == 0) {
            for (int other = 0; other < i; other++)
                close(fds[other]);
            close(pair[0]);
            host.number = i;
            host.fd = pair[1];
            be_host(argv + 3);
        }
        must(pid > 0, "starting a host");
        close(pair[1]);
        fds[i] = pair[0];
    }
    while (pass_on(fds, hosts))
        continue;
    for (int i = 0; i < hosts; i++)
        close(fds[i]);
    while (wait(&status) > 0) {
        int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        worst = code > worst ? code : worst;
    }
    return worst;
}
