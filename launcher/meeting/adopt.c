/* A meeting for ranks that run already. The first of them on this node is the PMIx client, and
 * tells what it has learnt (node/adoption.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/stream.h"
#include "launcher/meeting/internal.h"
#include "node/adoption.h"

_Static_assert(FTC_ADOPTION_TEXT == FTC_TCP_ENDPOINT_SIZE, "an endpoint fits");

static int gone(void)
{
    return ftc_error_set(FTC_ERR_SYSTEM, "the rank that started this agent has ended, or hangs");
}

static int nonsense(void)
{
    return ftc_error_set(
        FTC_ERR_PROTO,
        "the program is linked with another release of libftcoll than this ftrun is of; "
        "name the right one by FTCOLL_FTRUN");
}

/* The ranks of the nodes must follow one another, and be all ranks of the job. */
static int take_members(struct ftc_meeting *m, int ranks)
{
    uint32_t next = 0;

    for (int node = 0; node < m->nodes; node++) {
        struct ftc_adoption_member member;
        if (!ftc_stream_get(m->fd, &member, sizeof(member)))
            return gone();
        if (member.first != next || member.count < 1 || member.count > (uint32_t)ranks - next ||
            memchr(member.host, '\0', sizeof(member.host)) == NULL)
            return nonsense();
        memcpy(m->members[node].host, member.host, sizeof(member.host));
        m->members[node].first = member.first;
        m->members[node].count = member.count;
        next += member.count;
    }
    return next == (uint32_t)ranks ? FTC_SUCCESS : nonsense();
}

static int take_processes(struct ftc_meeting *m)
{
    size_t count = m->members[m->node].count;

    m->adopted = calloc(count, sizeof(*m->adopted));
    if (m->adopted == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for %zu ranks", count);
    return ftc_stream_get(m->fd, m->adopted, count * sizeof(*m->adopted)) ? FTC_SUCCESS : gone();
}

int ftc_meeting_adopt_begin(struct ftc_meeting *m, int fd, int ranks)
{
    struct ftc_adoption_hello hello;

    m->fd = fd;
    m->adopts = true;
    ftc_stream_patience(fd, FTC_MEETING_SECONDS);
    if (!ftc_stream_get(fd, &hello, sizeof(hello)))
        return gone();
    if (hello.magic != FTC_ADOPTION_MAGIC || hello.version != FTC_ADOPTION_VERSION ||
        hello.segment_version != FTC_SEGMENT_VERSION || hello.ranks != ranks || hello.nodes < 1 ||
        hello.nodes > FTC_NODE_MAX_NODES || hello.node < 0 || hello.node >= hello.nodes ||
        memchr(hello.cluster, '\0', sizeof(hello.cluster)) == NULL)
        return nonsense();
    m->node = hello.node;
    m->nodes = hello.nodes;
    memcpy(m->cluster, hello.cluster, sizeof(m->cluster));
    memcpy(m->secret, hello.secret, sizeof(m->secret));
    int rc = ftc_meeting_make_room(m, ranks);
    if (rc == FTC_SUCCESS)
        rc = take_members(m, ranks);
    return rc == FTC_SUCCESS ? take_processes(m) : rc;
}

static int answer(struct ftc_meeting *m, const char *endpoint)
{
    struct ftc_adoption_answer answer = {.able = endpoint != NULL};
    struct ftc_adoption_verdict verdict;

    snprintf(answer.job, sizeof(answer.job), "%s", m->job);
    snprintf(answer.text, sizeof(answer.text), "%s",
             endpoint != NULL ? endpoint : ftc_last_error());
    if (!ftc_stream_put(m->fd, &answer, sizeof(answer)))
        return gone();
    if (endpoint == NULL)
        return FTC_ERR_SYSTEM;
    if (!ftc_stream_get(m->fd, &verdict, sizeof(verdict)))
        return gone();
    if (verdict.met == 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "the nodes have not met");
    if (!ftc_stream_get(m->fd, m->endpoints, (size_t)m->nodes * sizeof(*m->endpoints)))
        return gone();
    for (int node = 0; node < m->nodes; node++)
        m->endpoints[node][sizeof(*m->endpoints) - 1] = '\0';
    return FTC_SUCCESS;
}

int ftc_meeting_adopt_end(struct ftc_meeting *m, const char *endpoint)
{
    int rc = m->fd >= 0 ? answer(m, endpoint) : FTC_ERR_SYSTEM;

    close(m->fd);
    m->fd = -1;
    return rc;
}
