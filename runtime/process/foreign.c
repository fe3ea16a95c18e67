/*
 * The ranks of a job meet under a PMIx server that is not ftrun's:
 * 1. First fence: each rank says on which node it is.
 * 2. The lowest rank of each node starts the agent. The agent takes over the node's processes.
 * 3. Second fence: the lowest ranks say which job their agents serve and where they listen, or why
 *    there is no agent.
 * So no rank goes on before all are watched, and all ranks get the same answer. PMIx is not used
 * afterwards: under Slurm a rank that dies while it is connected to PMIx ends the whole step.
 */
#include "runtime/process/foreign.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error.h"
#include "base/stream.h"
#include "node/adoption.h"
#include "node/jobs.h"
#include "runtime/process/start_agent.h"

#define KEY_RANK   "ftcoll.rank" /* struct place */
#define KEY_SECRET "ftcoll.job"  /* of rank 0 only: struct secret */
#define KEY_AGENT                                                                                  \
    "ftcoll.agent" /* of the lowest rank of a node: struct agent, then all nodes' lowest ranks */
#define FENCE_SECONDS 240 /* less than an agent waits */
#define GET_SECONDS   20  /* short: the fence has brought the value, or its rank died before */
#define AGENT_SECONDS 60

/* The structs as they go over PMIx. Their version shows whether all ranks use the same release. */
struct place {
    uint32_t version;
    int32_t lowest; /* the lowest rank of this node */
    struct ftc_adopted process;
    uint64_t pid_namespace;
    char host[64];
};

struct secret {
    char cluster[FTC_JOB_NAME_SIZE];
    unsigned char bytes[FTC_JOB_SECRET];
};

struct agent {
    uint32_t version;
    int32_t nodes; /* number of nodes; 0: not known, for the reason in `answer` */
    struct ftc_adoption_answer answer;
};

struct meeting {
    const pmix_proc_t *self;
    int rank, size, lowest;
    /* The members from here on are used only at the lowest rank of a node. */
    struct place *places; /* of all ranks */
    int node, nodes;
    int32_t *leaders; /* the lowest rank of each node */
    struct secret secret;
    int agent_fd; /* socket to the agent; -1: none */
    struct agent agent;
};

/* --- PMIx --- */

static int refuse(const char *what, pmix_status_t status)
{
    return ftc_error_set(FTC_ERR_SYSTEM, "%s: PMIx says %s; see the log of what started the ranks",
                         what, PMIx_Error_string(status));
}

static int put(const char *key, const void *bytes, size_t size)
{
    pmix_value_t value;

    PMIX_VALUE_CONSTRUCT(&value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = (char *)(uintptr_t)bytes;
    value.data.bo.size = size;
    pmix_status_t status = PMIx_Put(PMIX_GLOBAL, key, &value);
    return status == PMIX_SUCCESS ? FTC_SUCCESS : refuse("telling the other ranks", status);
}

/* Gets a value of `least` to `most` bytes. *size is its size. */
static int get(const struct meeting *m, int rank, const char *key, void *bytes, size_t least,
               size_t most, size_t *size)
{
    pmix_proc_t proc;
    pmix_value_t *value = NULL;
    pmix_info_t info;
    int seconds = GET_SECONDS;

    PMIX_LOAD_PROCID(&proc, m->self->nspace, (pmix_rank_t)rank);
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &seconds, PMIX_INT);
    pmix_status_t status = PMIx_Get(&proc, key, &info, 1, &value);
    PMIX_INFO_DESTRUCT(&info);
    if (status != PMIX_SUCCESS)
        return refuse("asking for another rank's place", status);
    bool fits = value->type == PMIX_BYTE_OBJECT && value->data.bo.size >= least &&
                value->data.bo.size <= most;
    if (fits)
        memcpy(bytes, value->data.bo.bytes, value->data.bo.size);
    *size = fits ? value->data.bo.size : 0;
    PMIX_VALUE_RELEASE(value);
    uint32_t version = FTC_ADOPTION_VERSION;
    if (fits && (strcmp(key, KEY_SECRET) == 0 || memcmp(bytes, &version, sizeof(version)) == 0))
        return FTC_SUCCESS;
    return ftc_error_set(FTC_ERR_PROTO,
                         "rank %d told nonsense over PMIx: use one release of ftcoll on all hosts",
                         rank);
}

/* A fence that collects data. Without data it would be no barrier under Slurm. */
static int fence(void)
{
    bool yes = true;
    int seconds = FENCE_SECONDS;
    pmix_info_t info[2];

    pmix_status_t status = PMIx_Commit();
    if (status == PMIX_SUCCESS) {
        PMIX_INFO_CONSTRUCT(&info[0]);
        PMIX_INFO_CONSTRUCT(&info[1]);
        PMIX_INFO_LOAD(&info[0], PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
        status = PMIx_Fence(NULL, 0, info, 2);
        PMIX_INFO_DESTRUCT(&info[0]);
        PMIX_INFO_DESTRUCT(&info[1]);
    }
    return status == PMIX_SUCCESS ? FTC_SUCCESS : refuse("meeting the other ranks", status);
}

/* PMIx lists the ranks of this host as "0,1,2,3" or "0-3". This finds the lowest number. */
static int find_lowest(struct meeting *m)
{
    pmix_proc_t job;
    pmix_value_t *value = NULL;
    long lowest = m->rank;

    PMIX_LOAD_PROCID(&job, m->self->nspace, PMIX_RANK_WILDCARD);
    pmix_status_t status = PMIx_Get(&job, PMIX_LOCAL_PEERS, NULL, 0, &value);
    if (status != PMIX_SUCCESS)
        return refuse("asking for the ranks of this host", status);
    const char *at =
        value->type == PMIX_STRING && value->data.string != NULL ? value->data.string : "";
    while (*at != '\0') {
        char *end;
        long number = strtol(at, &end, 10);
        if (end != at && number >= 0 && number < lowest)
            lowest = number;
        at = end != at && *end == '\0' ? end : end + 1;
    }
    PMIX_VALUE_RELEASE(value);
    m->lowest = (int)lowest;
    return FTC_SUCCESS;
}

/* --- the first fence --- */

static int say_where(const struct meeting *m)
{
    struct place place = {.version = FTC_ADOPTION_VERSION,
                          .lowest = m->lowest,
                          .process = {.pid = getpid(), .start = ftc_process_start(getpid())},
                          .pid_namespace = ftc_process_namespace()};

    if (gethostname(place.host, sizeof(place.host) - 1) != 0)
        snprintf(place.host, sizeof(place.host), "localhost");
    return put(KEY_RANK, &place, sizeof(place));
}

/* Rank 0 makes the name of the job and its secret, and tells them to the others. */
static int draw_secret(struct meeting *m)
{
    ftc_jobs_name_cluster(m->secret.cluster);
    if (getrandom(m->secret.bytes, sizeof(m->secret.bytes), 0) != (ssize_t)sizeof(m->secret.bytes))
        return ftc_error_set(FTC_ERR_SYSTEM, "no random bytes for the job's secret: %m");
    return put(KEY_SECRET, &m->secret, sizeof(m->secret));
}

/* --- the lowest rank of a node, between the fences --- */

static int learn_places(struct meeting *m)
{
    size_t size;
    int rc = m->rank == 0
                 ? FTC_SUCCESS
                 : get(m, 0, KEY_SECRET, &m->secret, sizeof(m->secret), sizeof(m->secret), &size);

    if (rc == FTC_SUCCESS && memchr(m->secret.cluster, '\0', sizeof(m->secret.cluster)) == NULL)
        rc = ftc_error_set(FTC_ERR_PROTO, "rank 0 told nonsense over PMIx");
    for (int rank = 0; rank < m->size && rc == FTC_SUCCESS; rank++) {
        rc = get(m, rank, KEY_RANK, &m->places[rank], sizeof(struct place), sizeof(struct place),
                 &size);
        m->places[rank].host[sizeof(m->places[rank].host) - 1] = '\0';
    }
    return rc;
}

/* Lists the nodes in the order of their lowest ranks. */
static int list_nodes(struct meeting *m)
{
    for (int rank = 0; rank < m->size; rank++) {
        const struct place *place = &m->places[rank];
        if (place->lowest != rank && (rank == 0 || place->lowest != m->places[rank - 1].lowest))
            return ftc_error_set(
                FTC_ERR_UNSUPPORTED,
                "ranks of a host must follow one another, and rank %d (%s) does not follow "
                "rank %d; use srun --distribution=block",
                rank, place->host, place->lowest);
        if (place->lowest != rank)
            continue;
        if (m->nodes == FTC_NODE_MAX_NODES)
            return ftc_error_set(FTC_ERR_UNSUPPORTED, "a job has 1 to %d hosts",
                                 FTC_NODE_MAX_NODES);
        m->node = rank == m->rank ? m->nodes : m->node;
        m->leaders[m->nodes++] = rank;
    }
    return FTC_SUCCESS;
}

static int end_of(const struct meeting *m, int node)
{
    return node + 1 < m->nodes ? m->leaders[node + 1] : m->size;
}

static int check_namespaces(const struct meeting *m)
{
    for (int rank = m->rank; rank < end_of(m, m->node); rank++)
        if (m->places[rank].pid_namespace != m->places[m->rank].pid_namespace)
            return ftc_error_set(
                FTC_ERR_UNSUPPORTED,
                "rank %d and rank %d, both of host %s, cannot see each other's processes; "
                "start one container for all ranks of a host, with ftrun in it",
                m->rank, rank, m->places[m->rank].host);
    return FTC_SUCCESS;
}

static bool send_hello(const struct meeting *m)
{
    struct ftc_adoption_hello hello = {.magic = FTC_ADOPTION_MAGIC,
                                       .version = FTC_ADOPTION_VERSION,
                                       .segment_version = FTC_SEGMENT_VERSION,
                                       .node = m->node,
                                       .nodes = m->nodes,
                                       .ranks = m->size};

    memcpy(hello.cluster, m->secret.cluster, sizeof(hello.cluster));
    memcpy(hello.secret, m->secret.bytes, sizeof(hello.secret));
    bool sent = ftc_stream_put(m->agent_fd, &hello, sizeof(hello));
    for (int node = 0; node < m->nodes && sent; node++) {
        struct ftc_adoption_member member = {.first = (uint32_t)m->leaders[node],
                                             .count =
                                                 (uint32_t)(end_of(m, node) - m->leaders[node])};
        memcpy(member.host, m->places[m->leaders[node]].host, sizeof(member.host));
        sent = ftc_stream_put(m->agent_fd, &member, sizeof(member));
    }
    for (int rank = m->rank; rank < end_of(m, m->node) && sent; rank++)
        sent = ftc_stream_put(m->agent_fd, &m->places[rank].process, sizeof(struct ftc_adopted));
    return sent;
}

static int start_agent(struct meeting *m)
{
    int rc = check_namespaces(m);

    if (rc == FTC_SUCCESS)
        rc = ftc_start_agent(m->size, &m->agent_fd);
    if (rc != FTC_SUCCESS)
        return rc;
    ftc_stream_patience(m->agent_fd, AGENT_SECONDS);
    struct ftc_adoption_answer *answer = &m->agent.answer;
    if (!send_hello(m) || !ftc_stream_get(m->agent_fd, answer, sizeof(*answer))) {
        *answer = (struct ftc_adoption_answer){0};
        return ftc_error_set(
            FTC_ERR_SYSTEM,
            "the ftrun that has to watch this host's ranks has ended, or did not answer in %d s",
            AGENT_SECONDS);
    }
    answer->job[sizeof(answer->job) - 1] = answer->text[sizeof(answer->text) - 1] = '\0';
    return FTC_SUCCESS;
}

static int serve_node(struct meeting *m)
{
    m->places = calloc((size_t)m->size, sizeof(*m->places));
    m->leaders = calloc((size_t)m->size, sizeof(*m->leaders));
    if (m->places == NULL || m->leaders == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for the places of %d ranks", m->size);
    int rc = learn_places(m);
    if (rc == FTC_SUCCESS)
        rc = list_nodes(m);
    if (rc != FTC_SUCCESS)
        return rc;
    m->agent.nodes = m->nodes;
    return start_agent(m);
}

/* Tells the other ranks of the agent. If there is no agent, tells them why. */
static int say_agent(struct meeting *m, int rc)
{
    size_t nodes = (size_t)m->agent.nodes, size = sizeof(m->agent) + nodes * sizeof(*m->leaders);
    unsigned char *bytes = malloc(size);

    if (bytes == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for the places of %d ranks", m->size);
    m->agent.version = FTC_ADOPTION_VERSION;
    if (rc != FTC_SUCCESS) {
        m->agent.answer.able = 0;
        snprintf(m->agent.answer.text, sizeof(m->agent.answer.text), "%s", ftc_last_error());
    }
    memcpy(bytes, &m->agent, sizeof(m->agent));
    if (nodes > 0)
        memcpy(bytes + sizeof(m->agent), m->leaders, nodes * sizeof(*m->leaders));
    rc = put(KEY_AGENT, bytes, size);
    free(bytes);
    return rc;
}

/* --- after the second fence --- */

/* Gets what rank `lowest`, the lowest of a node, says of its agent. `leaders` gets the lowest ranks
 * of all nodes; it may be NULL. */
static int learn_agent(const struct meeting *m, int lowest, struct agent *agent, int32_t *leaders)
{
    size_t least = sizeof(*agent), most = least + (size_t)m->size * sizeof(*leaders), size;
    unsigned char *bytes = malloc(most);

    if (bytes == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for the places of %d ranks", m->size);
    int rc = get(m, lowest, KEY_AGENT, bytes, least, most, &size);
    if (rc == FTC_SUCCESS) {
        memcpy(agent, bytes, sizeof(*agent));
        if (agent->nodes < 0 || (size_t)agent->nodes > (size - least) / sizeof(*leaders))
            rc = ftc_error_set(FTC_ERR_PROTO, "rank %d told nonsense over PMIx", lowest);
        else if (leaders != NULL)
            memcpy(leaders, bytes + least, (size_t)agent->nodes * sizeof(*leaders));
    }
    free(bytes);
    if (rc != FTC_SUCCESS)
        return rc;
    agent->answer.job[sizeof(agent->answer.job) - 1] = '\0';
    agent->answer.text[sizeof(agent->answer.text) - 1] = '\0';
    if (agent->answer.able == 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "the host of rank %d cannot take part: %s", lowest,
                             agent->answer.text);
    return FTC_SUCCESS;
}

/* Gets where the agents listen, in the order of nodes. Every rank asks for all of them, so that all
 * ranks end if one node cannot take part. */
static int learn_agents(const struct meeting *m, char (*endpoints)[FTC_ADOPTION_TEXT],
                        struct agent *own, int32_t *leaders)
{
    struct agent agent;
    int rc = learn_agent(m, m->lowest, own, leaders);

    for (int node = 0; rc == FTC_SUCCESS && node < own->nodes; node++) {
        bool sound = leaders[node] >= 0 && leaders[node] < m->size;
        rc = sound ? learn_agent(m, leaders[node], &agent, NULL)
                   : ftc_error_set(FTC_ERR_PROTO, "rank %d told nonsense over PMIx", m->lowest);
        if (rc == FTC_SUCCESS)
            memcpy(endpoints[node], agent.answer.text, sizeof(endpoints[node]));
    }
    return rc;
}

/* Tells the agent whether the nodes have met, and if so, where the other agents listen. If the
 * nodes have not met, the agent ends. */
static int tell_agent(const struct meeting *m, int rc, char (*endpoints)[FTC_ADOPTION_TEXT])
{
    struct ftc_adoption_verdict verdict = {.met = rc == FTC_SUCCESS};

    if (m->agent_fd < 0)
        return rc;
    bool told = ftc_stream_put(m->agent_fd, &verdict, sizeof(verdict));
    if (told && rc == FTC_SUCCESS)
        told = ftc_stream_put(m->agent_fd, endpoints, (size_t)m->nodes * sizeof(*endpoints));
    if (rc == FTC_SUCCESS && !told)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "the ftrun that has to watch this host's ranks has ended");
    return rc;
}

static int conclude(const struct meeting *m, struct ftc_identity *identity)
{
    char(*endpoints)[FTC_ADOPTION_TEXT] = calloc((size_t)m->size, sizeof(*endpoints));
    int32_t *leaders = calloc((size_t)m->size, sizeof(*leaders));
    struct agent own;
    int rc = FTC_ERR_NOMEM;

    if (endpoints != NULL && leaders != NULL)
        rc = learn_agents(m, endpoints, &own, leaders);
    else
        ftc_error_set(rc, "no memory for the places of %d ranks", m->size);
    rc = tell_agent(m, rc, endpoints);
    free(endpoints);
    free(leaders);
    if (rc == FTC_SUCCESS)
        memcpy(identity->job, own.answer.job, sizeof(identity->job));
    return rc;
}

static int meet(struct meeting *m, struct ftc_identity *identity)
{
    int rc = find_lowest(m);

    if (rc == FTC_SUCCESS)
        rc = say_where(m);
    if (rc == FTC_SUCCESS && m->rank == 0)
        rc = draw_secret(m);
    if (rc == FTC_SUCCESS)
        rc = fence();
    if (rc == FTC_SUCCESS && m->rank == m->lowest)
        rc = say_agent(m, serve_node(m));
    if (rc == FTC_SUCCESS)
        rc = fence();
    return rc == FTC_SUCCESS ? conclude(m, identity) : rc;
}

int ftc_foreign_meet(const pmix_proc_t *self, struct ftc_identity *identity)
{
    struct meeting m = {
        .self = self, .rank = identity->rank, .size = identity->size, .agent_fd = -1};
    int rc = meet(&m, identity);

    if (m.agent_fd >= 0)
        close(m.agent_fd);
    free(m.places);
    free(m.leaders);
    return rc;
}
