/*
 * The PMIx client of a meeting. It takes part in two collecting fences: the first brings name,
 * secret and hosts, the second brings endpoints. With Slurm a fence without data would be no
 * barrier.
 */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "launcher/meeting/internal.h"
#include "node/jobs.h"

#define KEY_JOB      "ftcoll.job" /* set by node 0: name and secret of the job */
#define KEY_HOST     "ftcoll.host"
#define KEY_ENDPOINT "ftcoll.agent" /* the endpoint, or why there is none */

static int refuse(const char *what, pmix_status_t status)
{
    return ftc_error_set(FTC_ERR_SYSTEM, "%s: PMIx says %s; see the log of what started the agents",
                         what, PMIx_Error_string(status));
}

static pmix_status_t put(const char *key, const void *bytes, size_t size)
{
    pmix_value_t value;

    PMIX_VALUE_CONSTRUCT(&value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = (char *)(uintptr_t)bytes;
    value.data.bo.size = size;
    return PMIx_Put(PMIX_GLOBAL, key, &value);
}

/* Read up to `room` bytes. *size becomes their number. */
static int get(const char *space, int node, const char *key, void *bytes, size_t room, size_t *size)
{
    pmix_proc_t proc;
    pmix_value_t *value = NULL;

    PMIX_LOAD_PROCID(&proc, space, (pmix_rank_t)node);
    pmix_status_t status = PMIx_Get(&proc, key, NULL, 0, &value);
    if (status != PMIX_SUCCESS)
        return refuse("asking for another node's address", status);
    bool fits = value->type == PMIX_BYTE_OBJECT && value->data.bo.size <= room;
    if (fits)
        memcpy(bytes, value->data.bo.bytes, value->data.bo.size);
    *size = fits ? value->data.bo.size : 0;
    PMIX_VALUE_RELEASE(value);
    if (!fits)
        return ftc_error_set(
            FTC_ERR_PROTO,
            "node %d told nonsense over PMIx: use one release of ftcoll on all nodes", node);
    return FTC_SUCCESS;
}

/* Read a text, which has no NUL in PMIx's data. */
static int get_text(const char *space, int node, const char *key, char *text, size_t room)
{
    size_t size = 0;
    int rc = get(space, node, key, text, room - 1, &size);

    text[rc == FTC_SUCCESS ? size : 0] = '\0';
    return rc;
}

static pmix_status_t fence(void)
{
    bool yes = true;
    pmix_info_t info;

    pmix_status_t status = PMIx_Commit();
    if (status != PMIX_SUCCESS)
        return status;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    status = PMIx_Fence(NULL, 0, &info, 1);
    PMIX_INFO_DESTRUCT(&info);
    return status;
}

static int get_nodes(const pmix_proc_t *self, int *nodes)
{
    pmix_proc_t job;
    pmix_value_t *value = NULL;

    PMIX_LOAD_PROCID(&job, self->nspace, PMIX_RANK_WILDCARD);
    pmix_status_t status = PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value);
    if (status != PMIX_SUCCESS)
        return refuse("asking for the number of nodes", status);
    uint32_t count = value->type == PMIX_UINT32 ? value->data.uint32 : 0;
    PMIX_VALUE_RELEASE(value);
    if (count < 1 || count > FTC_NODE_MAX_NODES || self->rank >= count)
        return ftc_error_set(FTC_ERR_UNSUPPORTED, "agent %u of %u: a job has 1 to %d nodes",
                             self->rank, count, FTC_NODE_MAX_NODES);
    *nodes = (int)count;
    return FTC_SUCCESS;
}

/* Node 0 draws the name of the job and its secret, and tells them. */
static int draw_job(struct ftc_meeting *m)
{
    ftc_jobs_name_cluster(m->cluster);
    if (getrandom(m->secret, sizeof(m->secret), 0) != (ssize_t)sizeof(m->secret))
        return ftc_error_set(FTC_ERR_SYSTEM, "no random bytes for the job's secret: %m");
    unsigned char job[sizeof(m->secret) + sizeof(m->cluster)];
    memcpy(job, m->secret, sizeof(m->secret));
    memcpy(job + sizeof(m->secret), m->cluster, sizeof(m->cluster));
    pmix_status_t status = put(KEY_JOB, job, sizeof(job));
    return status == PMIX_SUCCESS ? FTC_SUCCESS : refuse("telling the job's name", status);
}

static int learn_job(struct ftc_meeting *m, const char *space)
{
    unsigned char job[sizeof(m->secret) + sizeof(m->cluster)];
    size_t size = 0;
    int rc = get(space, 0, KEY_JOB, job, sizeof(job), &size);

    if (rc != FTC_SUCCESS)
        return rc;
    if (size != sizeof(job) || job[size - 1] != '\0')
        return ftc_error_set(
            FTC_ERR_PROTO,
            "node 0 told nonsense over PMIx: use one release of ftcoll on all nodes");
    memcpy(m->secret, job, sizeof(m->secret));
    memcpy(m->cluster, job + sizeof(m->secret), sizeof(m->cluster));
    return FTC_SUCCESS;
}

static int exchange_names(struct ftc_meeting *m, const char *space, const char *host)
{
    int rc = m->node == 0 ? draw_job(m) : FTC_SUCCESS;
    if (rc != FTC_SUCCESS)
        return rc;
    pmix_status_t status = put(KEY_HOST, host, strlen(host));
    if (status == PMIX_SUCCESS)
        status = fence();
    if (status != PMIX_SUCCESS)
        return refuse("meeting the other nodes", status);
    rc = m->node == 0 ? FTC_SUCCESS : learn_job(m, space);
    for (int node = 0; node < m->nodes && rc == FTC_SUCCESS; node++)
        rc = get_text(space, node, KEY_HOST, m->members[node].host, sizeof(m->members[node].host));
    return rc;
}

int ftc_meeting_pmix_begin(struct ftc_meeting *meeting, const char *host, int ranks)
{
    pmix_proc_t self;

    pmix_status_t status = PMIx_Init(&self, NULL, 0);
    if (status != PMIX_SUCCESS)
        return refuse("PMIx_Init()", status);
    meeting->node = (int)self.rank;
    int rc = get_nodes(&self, &meeting->nodes);
    if (rc == FTC_SUCCESS)
        rc = ftc_meeting_make_room(meeting, ranks);
    return rc == FTC_SUCCESS ? exchange_names(meeting, self.nspace, host) : rc;
}

static int learn_endpoints(struct ftc_meeting *m, const char *space)
{
    for (int node = 0; node < m->nodes; node++) {
        int rc =
            get_text(space, node, KEY_ENDPOINT, m->endpoints[node], sizeof(m->endpoints[node]));
        if (rc != FTC_SUCCESS)
            return rc;
        if (m->endpoints[node][0] == FTC_MEETING_REFUSAL)
            return ftc_error_set(FTC_ERR_SYSTEM, "node %d (%s) cannot take part: %s", node,
                                 m->members[node].host, m->endpoints[node] + 1);
    }
    return FTC_SUCCESS;
}

int ftc_meeting_pmix_end(struct ftc_meeting *meeting, const char *text)
{
    pmix_nspace_t space;

    PMIX_LOAD_NSPACE(space, getenv("PMIX_NAMESPACE"));
    pmix_status_t status = put(KEY_ENDPOINT, text, strlen(text));
    if (status == PMIX_SUCCESS)
        status = fence();
    int rc = status == PMIX_SUCCESS ? learn_endpoints(meeting, space)
                                    : refuse("meeting the other nodes", status);
    PMIx_Finalize(NULL, 0);
    return rc;
}
