/*
 * The embedded PMIx server (PMIx 4.x).
 *
 * libpmix finishes fences and gets by itself while every member of a collective is local and alive.
 * The upcalls below serve the rest: calls after a death, and requests that one node cannot meet.
 * All of them run in PMIx's thread.
 */
#include "launcher/server.h"

#include <errno.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "launcher/environment.h"
#include "launcher/pmix_listener.h"

#define STOP_SECONDS 2

extern char **environ;

/* --- upcalls --- */

static pmix_status_t client_connected(const pmix_proc_t *proc, void *object, pmix_info_t info[],
                                      size_t count, pmix_op_cbfunc_t done, void *arg)
{
    (void)proc;
    (void)object;
    (void)info;
    (void)count;
    if (done != NULL) /* PMIx 4.2.2 gives none */
        done(PMIX_SUCCESS, arg);
    return PMIX_SUCCESS;
}

static pmix_status_t client_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
                                      void *arg)
{
    (void)proc;
    (void)object;
    if (done != NULL)
        done(PMIX_SUCCESS, arg);
    return PMIX_SUCCESS;
}

static pmix_status_t abort_job(const pmix_proc_t *proc, void *object, int status,
                               const char message[], pmix_proc_t procs[], size_t count,
                               pmix_op_cbfunc_t done, void *arg)
{
    struct ftc_server *server = object;
    (void)message;
    (void)procs;
    (void)count;
    if (server != NULL && proc->rank < (pmix_rank_t)server->np)
        server->aborted(server->arg, (int)proc->rank, status);
    if (done != NULL)
        done(PMIX_SUCCESS, arg);
    return PMIX_SUCCESS;
}

static pmix_status_t fence(const pmix_proc_t procs[], size_t proc_count, const pmix_info_t info[],
                           size_t count, char *data, size_t size, pmix_modex_cbfunc_t done,
                           void *arg)
{
    (void)procs;
    (void)proc_count;
    (void)info;
    (void)count;
    if (done != NULL)
        done(PMIX_SUCCESS, data, size, arg, NULL, NULL);
    return PMIX_SUCCESS;
}

/* This server does not have the data of that process, and no other server has them. */
static pmix_status_t direct_modex(const pmix_proc_t *proc, const pmix_info_t info[], size_t count,
                                  pmix_modex_cbfunc_t done, void *arg)
{
    (void)proc;
    (void)info;
    (void)count;
    (void)done;
    (void)arg;
    return PMIX_ERR_NOT_FOUND;
}

static pmix_status_t register_events(pmix_status_t *codes, size_t code_count,
                                     const pmix_info_t info[], size_t count, pmix_op_cbfunc_t done,
                                     void *arg)
{
    (void)codes;
    (void)code_count;
    (void)info;
    (void)count;
    (void)done;
    (void)arg;
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t deregister_events(pmix_status_t *codes, size_t count, pmix_op_cbfunc_t done,
                                       void *arg)
{
    (void)codes;
    (void)count;
    (void)done;
    (void)arg;
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t query(pmix_proc_t *proc, pmix_query_t *queries, size_t count,
                           pmix_info_cbfunc_t done, void *arg)
{
    (void)proc;
    (void)queries;
    (void)count;
    (void)done;
    (void)arg;
    return PMIX_ERR_NOT_FOUND;
}

static pmix_server_module_t module = {
    .client_connected2 = client_connected,
    .client_finalized = client_finalized,
    .abort = abort_job,
    .fence_nb = fence,
    .direct_modex = direct_modex,
    .register_events = register_events,
    .deregister_events = deregister_events,
    .query = query,
};

/* --- start --- */

static int refuse(const char *what, pmix_status_t status)
{
    return ftc_error_set(
        FTC_ERR_SYSTEM,
        "the PMIx server: %s: %s; check that libpmix works here and $TMPDIR is writable", what,
        PMIx_Error_string(status));
}

/* The launcher that started ftrun may be a PMIx server, too. Its variables would make this server a
 * client of it. */
static void drop_outer_server(void)
{
    for (int i = 0; environ[i] != NULL;) {
        char name[128];
        size_t length = strcspn(environ[i], "=");
        if (!ftc_environment_foreign(environ[i]) || length >= sizeof(name)) {
            i++;
            continue;
        }
        memcpy(name, environ[i], length);
        name[length] = '\0';
        (void)unsetenv(name); /* later variables move up by one */
    }
}

/*
 * PMIx_server_init() need not look for compression (a dlopen) or for hardware, unless the user says
 * otherwise. A flat topology of the right size costs 3 ms instead of 14 ms. ftrun binds ranks by
 * itself, and does not use the topology.
 */
static void simplify(void)
{
    char topology[32];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(topology, sizeof(topology), "node:1 pu:%ld", cpus > 0 ? cpus : 1);
    (void)setenv("PMIX_MCA_pcompress", "^zlib", 0);
    (void)setenv("HWLOC_SYNTHETIC", topology, 0);
    (void)setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 0);
}

static char *host_of(struct ftc_segment *segment)
{
    return ftc_segment_node_at(segment, ftc_segment_node(segment))->host;
}

static pmix_status_t init_server(const struct ftc_server_spec *spec, const char *space)
{
    pmix_info_t *info;
    pmix_proc_t self;
    PMIX_LOAD_PROCID(&self, space, 0);
    PMIX_INFO_CREATE(info, 5);
    if (info == NULL)
        return PMIX_ERR_NOMEM;
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, spec->directory, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, spec->directory, PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_SERVER_NSPACE, space, PMIX_STRING);
    PMIX_INFO_LOAD(&info[3], PMIX_SERVER_RANK, &self.rank, PMIX_PROC_RANK);
    PMIX_INFO_LOAD(&info[4], PMIX_HOSTNAME, host_of(spec->segment), PMIX_STRING);
    pmix_status_t status = PMIx_server_init(&module, info, 5);
    PMIX_INFO_FREE(info, 5);
    return status;
}

#define RANK_TEXT 6 /* most characters of a rank and a comma */
_Static_assert(FTC_NODE_MAX_RANKS <= 100000, "a rank has at most five digits");

/* The ranks of nodes `from` to `end` - 1, as text: "0,1,2;3,4;...". */
static char *list_ranks(struct ftc_segment *segment, int from, int end)
{
    size_t room = (size_t)ftc_segment_ranks(segment) * RANK_TEXT + 1, used = 0;
    char *list = malloc(room);
    if (list == NULL)
        return NULL;
    for (int node = from; node < end; node++) {
        const struct ftc_node *entry = ftc_segment_node_at(segment, node);
        for (uint32_t i = 0; i < entry->count; i++)
            used += (size_t)snprintf(list + used, room - used, "%s%u",
                                     i > 0         ? ","
                                     : node > from ? ";"
                                                   : "",
                                     entry->first + i);
    }
    return list;
}

static char *list_hosts(struct ftc_segment *segment)
{
    int nodes = ftc_segment_nodes(segment);
    size_t room = (size_t)nodes * sizeof(((struct ftc_node *)0)->host) + 1, used = 0;
    char *list = malloc(room);
    if (list == NULL)
        return NULL;
    for (int node = 0; node < nodes; node++)
        used += (size_t)snprintf(list + used, room - used, node == 0 ? "%s" : ",%s",
                                 ftc_segment_node_at(segment, node)->host);
    return list;
}

static pmix_status_t make_maps(struct ftc_segment *segment, char **nodes, char **procs)
{
    char *hosts = list_hosts(segment), *ranks = list_ranks(segment, 0, ftc_segment_nodes(segment));
    pmix_status_t status = PMIX_ERR_NOMEM;
    if (hosts != NULL && ranks != NULL)
        status = PMIx_generate_regex(hosts, nodes);
    if (status == PMIX_SUCCESS)
        status = PMIx_generate_ppn(ranks, procs);
    free(hosts);
    free(ranks);
    return status;
}

static pmix_status_t register_job(const struct ftc_server_spec *spec, const char *space)
{
    static const char *const counts[] = {PMIX_UNIV_SIZE, PMIX_JOB_SIZE, PMIX_MAX_PROCS,
                                         PMIX_LOCAL_SIZE, PMIX_NODE_SIZE};
    enum { OF_JOB = 3, COUNTS = sizeof(counts) / sizeof(counts[0]), ALL = COUNTS + 8 };
    int count, node = ftc_segment_node(spec->segment);
    uint32_t np = (uint32_t)ftc_segment_ranks(spec->segment), one = 1,
             hosts = (uint32_t)ftc_segment_nodes(spec->segment), local;
    char *ranks = list_ranks(spec->segment, node, node + 1), *nodes = NULL, *procs = NULL;
    (void)ftc_segment_local(spec->segment, &count);
    local = (uint32_t)count;
    pmix_info_t *info = NULL;
    pmix_status_t status = PMIX_ERR_NOMEM;
    PMIX_INFO_CREATE(info, ALL);
    if (ranks == NULL || info == NULL)
        goto done;
    status = make_maps(spec->segment, &nodes, &procs);
    if (status != PMIX_SUCCESS)
        goto done;
    for (int i = 0; i < COUNTS; i++)
        PMIX_INFO_LOAD(&info[i], counts[i], i < OF_JOB ? &np : &local, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[COUNTS], PMIX_NUM_NODES, &hosts, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[COUNTS + 1], PMIX_JOB_NUM_APPS, &one, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[COUNTS + 2], PMIX_LOCAL_PEERS, ranks, PMIX_STRING);
    PMIX_INFO_LOAD(&info[COUNTS + 3], PMIX_NODE_MAP, nodes, PMIX_REGEX);
    PMIX_INFO_LOAD(&info[COUNTS + 4], PMIX_PROC_MAP, procs, PMIX_REGEX);
    PMIX_INFO_LOAD(&info[COUNTS + 5], PMIX_JOBID, space, PMIX_STRING);
    PMIX_INFO_LOAD(&info[COUNTS + 6], FTC_SERVER_KEY_SEGMENT, spec->job, PMIX_STRING);
    /* Where PMIx 5 keeps what it shares with ranks. Otherwise that is $TMPDIR itself. */
    PMIX_INFO_LOAD(&info[COUNTS + 7], PMIX_NSDIR, spec->directory, PMIX_STRING);
    pmix_nspace_t padded;
    PMIX_LOAD_NSPACE(padded, space);
    status = PMIx_server_register_nspace(padded, count, info, ALL, NULL, NULL);
    if (status == PMIX_OPERATION_SUCCEEDED)
        status = PMIX_SUCCESS;
done:
    PMIX_INFO_FREE(info, ALL);
    free(nodes);
    free(procs);
    free(ranks);
    return status;
}

/* Register all ranks before the first is started. Once clients run, ftrun's loop calls nothing that
 * could wait for them. */
static pmix_status_t register_ranks(struct ftc_server *server, const struct ftc_segment *segment)
{
    int count, first = ftc_segment_local(segment, &count);
    for (int rank = first; rank < first + count; rank++) {
        pmix_proc_t proc;
        PMIX_LOAD_PROCID(&proc, server->space, (pmix_rank_t)rank);
        pmix_status_t status =
            PMIx_server_register_client(&proc, getuid(), getgid(), server, NULL, NULL);
        if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
            return status;
    }
    return PMIX_SUCCESS;
}

static int draw_space(char space[FTC_SERVER_SPACE_SIZE])
{
    uint64_t bits[2];
    if (getrandom(bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
        return ftc_error_set(FTC_ERR_SYSTEM, "no random bytes for the PMIx namespace: %m");
    snprintf(space, FTC_SERVER_SPACE_SIZE, FTC_PMIX_SPACE "%016llx%016llx",
             (unsigned long long)bits[0], (unsigned long long)bits[1]);
    return FTC_SUCCESS;
}

/* Find the listening socket. Only the variables for clients name its port:
 * "...tcp4://127.0.0.1:PORT". */
static int find_listener(struct ftc_server *server, int rank)
{
    char **environment;
    int listener = -1;
    if (ftc_server_environment(server, rank, &environment) != FTC_SUCCESS)
        return -1;
    for (char **entry = environment; *entry != NULL && listener < 0; entry++) {
        const char *colon = strrchr(*entry, ':');
        if (colon != NULL && strncmp(*entry, "PMIX_SERVER_URI", strlen("PMIX_SERVER_URI")) == 0)
            listener = ftc_pmix_listener_find(atoi(colon + 1));
    }
    ftc_server_free_environment(environment);
    return listener;
}

int ftc_server_start(struct ftc_server *server, const struct ftc_server_spec *spec)
{
    int count;
    *server = (struct ftc_server){.np = ftc_segment_ranks(spec->segment),
                                  .listener = -1,
                                  .aborted = spec->aborted,
                                  .arg = spec->arg};
    int rc = draw_space(server->space);
    if (rc != FTC_SUCCESS)
        return rc;
    drop_outer_server();
    simplify();
    pmix_status_t status = init_server(spec, server->space);
    if (status != PMIX_SUCCESS)
        return refuse("starting", status);
    server->running = true;
    status = register_job(spec, server->space);
    if (status == PMIX_SUCCESS)
        status = register_ranks(server, spec->segment);
    if (status != PMIX_SUCCESS) {
        ftc_server_stop(server);
        return refuse("registering the job", status);
    }
    server->listener = find_listener(server, ftc_segment_local(spec->segment, &count));
    if (server->listener < 0)
        fprintf(
            stderr,
            "ftrun: the port of PMIx is not found, and so stays open as long as the job runs\n");
    return FTC_SUCCESS;
}

int ftc_server_environment(struct ftc_server *server, int rank, char ***environment)
{
    pmix_proc_t proc;
    char **list = NULL;
    if (!server->running) {
        *environment = calloc(1, sizeof(**environment));
        return *environment != NULL ? FTC_SUCCESS : ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    }
    PMIX_LOAD_PROCID(&proc, server->space, (pmix_rank_t)rank);
    pmix_status_t status = PMIx_server_setup_fork(&proc, &list);
    if (status != PMIX_SUCCESS) {
        ftc_server_free_environment(list);
        return refuse("preparing a rank", status);
    }
    *environment = list;
    return FTC_SUCCESS;
}

void ftc_server_free_environment(char **environment)
{
    for (char **entry = environment; entry != NULL && *entry != NULL; entry++)
        free(*entry);
    free(environment);
}

/* --- stop --- */

void ftc_server_close(struct ftc_server *server)
{
    if (server->running && ftc_pmix_listener_close(server->listener))
        server->listener = -1;
}

static void *finalize(void *arg)
{
    (void)arg;
    PMIx_server_finalize();
    return NULL;
}

void ftc_server_stop(struct ftc_server *server)
{
    pthread_t thread;
    struct timespec deadline;
    if (!server->running)
        return;
    server->running = false;
    if (pthread_create(&thread, NULL, finalize, NULL) != 0)
        return;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += STOP_SECONDS;
    if (pthread_timedjoin_np(thread, NULL, &deadline) != 0)
        (void)pthread_detach(thread);
}
