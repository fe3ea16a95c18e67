/*
 * The PMIx client runs in a child process. libpmix 4.2 cannot be first a client and then a server
 * in one process: its component that writes node maps keeps a pointer into an unloaded library.
 *
 * Parent and child talk over a pair of sockets, in this order:
 *
 *   child    outcome; node, nodes, name, secret; hosts
 *   parent   endpoint, or refusal
 *   child    outcome; endpoints
 *
 * An outcome is FTC_SUCCESS, or an error and its text. If one of the two dies, the other sees the
 * end of the stream. A client that ends before PMIx_Finalize() ends the job of all nodes, as it
 * must.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/stream.h"
#include "launcher/meeting/internal.h"

#define MOST_TEXT 512

/* --- between parent and child --- */

struct outcome {
    int rc;
    char text[MOST_TEXT];
};

static bool put_outcome(int fd, int rc)
{
    struct outcome outcome = {.rc = rc};

    if (rc != FTC_SUCCESS)
        snprintf(outcome.text, sizeof(outcome.text), "%s", ftc_last_error());
    return ftc_stream_put(fd, &outcome, sizeof(outcome));
}

static int not_met(void)
{
    return ftc_error_set(
        FTC_ERR_SYSTEM,
        "the nodes have not met: the PMIx client of this one ended, or %d s were not "
        "enough; see the log of what "
        "started the agents",
        FTC_MEETING_SECONDS);
}

static int get_outcome(int fd)
{
    struct outcome outcome;

    if (!ftc_stream_get(fd, &outcome, sizeof(outcome)))
        return not_met();
    outcome.text[sizeof(outcome.text) - 1] = '\0';
    return outcome.rc == FTC_SUCCESS ? FTC_SUCCESS : ftc_error_set(outcome.rc, "%s", outcome.text);
}

static size_t members_size(const struct ftc_meeting *m)
{
    return (size_t)m->nodes * sizeof(*m->members);
}

static size_t endpoints_size(const struct ftc_meeting *m)
{
    return (size_t)m->nodes * sizeof(*m->endpoints);
}

/* --- the child --- */

static bool serve(int fd, struct ftc_meeting *m, const char *host, int ranks)
{
    char text[FTC_TCP_ENDPOINT_SIZE];
    int rc = ftc_meeting_pmix_begin(m, host, ranks);

    if (!put_outcome(fd, rc) || rc != FTC_SUCCESS)
        return false;
    if (!ftc_stream_put(fd, m, sizeof(*m)) || !ftc_stream_put(fd, m->members, members_size(m)) ||
        !ftc_stream_get(fd, text, sizeof(text)))
        return false;
    rc = ftc_meeting_pmix_end(m, text);
    return put_outcome(fd, rc) && ftc_stream_put(fd, m->endpoints, endpoints_size(m));
}

/* The child does not clean up: it holds nothing but memory, and it must not touch what its parent
 * has prepared. */
static _Noreturn void be_client(int fd, struct ftc_meeting *m, const char *host, int ranks)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(serve(fd, m, host, ranks) ? 0 : 1);
}

/* --- the parent --- */

static int start_client(struct ftc_meeting *m, const char *host, int ranks)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot make a pair of sockets: %m");
    m->client = fork();
    if (m->client == 0) {
        close(pair[0]);
        be_client(pair[1], m, host, ranks);
    }
    close(pair[1]);
    m->fd = pair[0];
    ftc_stream_patience(m->fd, FTC_MEETING_SECONDS);
    if (m->client > 0)
        return FTC_SUCCESS;
    m->client = 0;
    return ftc_error_set(FTC_ERR_SYSTEM, "cannot start the PMIx client: %m");
}

static int take_names(struct ftc_meeting *m, int ranks)
{
    struct ftc_meeting told;
    int rc = get_outcome(m->fd);

    if (rc != FTC_SUCCESS)
        return rc;
    if (!ftc_stream_get(m->fd, &told, sizeof(told)))
        return not_met();
    m->node = told.node;
    m->nodes = told.nodes;
    memcpy(m->cluster, told.cluster, sizeof(m->cluster));
    memcpy(m->secret, told.secret, sizeof(m->secret));
    rc = ftc_meeting_make_room(m, ranks);
    if (rc == FTC_SUCCESS && !ftc_stream_get(m->fd, m->members, members_size(m)))
        return not_met();
    return rc;
}

int ftc_meeting_begin(struct ftc_meeting *meeting, const char *host, int ranks, int leader,
                      const struct ftc_invitation *invitation)
{
    *meeting = (struct ftc_meeting){.fd = -1};
    if (leader >= 0)
        return ftc_meeting_adopt_begin(meeting, leader, ranks);
    if (invitation != NULL)
        return ftc_meeting_guest_begin(meeting, invitation, ranks);
    if (getenv("PMIX_NAMESPACE") == NULL)
        return ftc_error_set(
            FTC_ERR_STATE,
            "--engine pmix: no PMIx launcher has started this process; use --engine slurm, or "
            "start "
            "one ftrun on each node by a launcher with PMIx, such as srun --mpi=pmix");
    int rc = start_client(meeting, host, ranks);
    return rc == FTC_SUCCESS ? take_names(meeting, ranks) : rc;
}

/* A client that has told its last outcome has finalized PMIx. Any other client may hang in PMIx, so
 * the client is killed. */
static void end_client(struct ftc_meeting *m)
{
    if (m->client <= 0)
        return;
    close(m->fd);
    (void)kill(m->client, SIGKILL);
    while (waitpid(m->client, NULL, 0) < 0 && errno == EINTR)
        continue;
    m->client = 0;
}

int ftc_meeting_end(struct ftc_meeting *meeting, const char *endpoint)
{
    char text[FTC_TCP_ENDPOINT_SIZE] = "";

    if (meeting->adopts)
        return ftc_meeting_adopt_end(meeting, endpoint);
    if (meeting->invitation != NULL)
        return ftc_meeting_guest_end(meeting, endpoint);
    if (endpoint != NULL)
        snprintf(text, sizeof(text), "%s", endpoint);
    else
        snprintf(text, sizeof(text), "%c%s", FTC_MEETING_REFUSAL, ftc_last_error());
    int rc;
    if (ftc_stream_put(meeting->fd, text, sizeof(text)))
        rc = get_outcome(meeting->fd);
    else
        rc = not_met();
    if (rc == FTC_SUCCESS &&
        !ftc_stream_get(meeting->fd, meeting->endpoints, endpoints_size(meeting)))
        rc = not_met();
    end_client(meeting);
    return rc;
}

void ftc_meeting_fini(struct ftc_meeting *meeting)
{
    end_client(meeting);
    if (meeting->adopts && meeting->fd >= 0)
        close(meeting->fd);
    free(meeting->adopted);
    free(meeting->members);
    free(meeting->endpoints);
    *meeting = (struct ftc_meeting){0};
}
