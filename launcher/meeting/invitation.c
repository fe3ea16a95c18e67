#include "launcher/meeting/invitation.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "launcher/engine.h"
#include "launcher/meeting/internal.h"

#define MOST_TEXT (64u << 20)

/* Standard input of an agent is a pipe or a socket, as the remote shell likes. */
bool ftc_invitation_get(int fd, void *bytes, size_t size)
{
    char *at = bytes;

    while (size > 0) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int polled = poll(&ready, 1, FTC_INVITATION_SECONDS * 1000);
        if (polled < 0 && errno == EINTR)
            continue;
        ssize_t count = polled > 0 ? read(fd, at, size) : 0;
        if (count < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (count <= 0)
            return false;
        at += count;
        size -= (size_t)count;
    }
    return true;
}

/* --- reading --- */

static int front_gone(void)
{
    return ftc_error_set(FTC_ERR_SYSTEM,
                         "the ftrun that started the job has ended, or cannot be reached");
}

static int check_front(const struct ftc_invitation_head *head, const char *release)
{
    if (head->magic != FTC_INVITATION_MAGIC)
        return ftc_error_set(FTC_ERR_STATE, "--engine guest is what ftrun --hosts starts on each "
                                            "host; use ftrun --hosts");
    if (memchr(head->release, '\0', sizeof(head->release)) == NULL ||
        strcmp(head->release, release) != 0)
        return ftc_error_set(FTC_ERR_PROTO,
                             "this ftrun is of release %s, but the ftrun that started the job is "
                             "of release %.31s; install one release on all hosts",
                             release, head->release);
    return FTC_SUCCESS;
}

static bool is_sound(const struct ftc_invitation_head *head)
{
    return head->nodes >= 1 && head->nodes <= FTC_NODE_MAX_NODES && head->node >= 0 &&
           head->node < head->nodes && head->arguments >= 1 && head->variables >= 0 &&
           head->text_size <= MOST_TEXT && (uint32_t)head->arguments <= head->text_size &&
           (uint32_t)head->variables <= head->text_size &&
           memchr(head->cluster, '\0', sizeof(head->cluster)) != NULL &&
           memchr(head->token, '\0', sizeof(head->token)) != NULL;
}

/* Point at each of `count` texts from *at on, and move *at behind them. */
static bool take_texts(char **at, const char *end, char **texts, int count)
{
    for (int i = 0; i < count; i++) {
        char *zero = *at < end ? memchr(*at, '\0', (size_t)(end - *at)) : NULL;
        if (zero == NULL)
            return false;
        texts[i] = *at;
        *at = zero + 1;
    }
    return true;
}

static int nonsense(void)
{
    return ftc_error_set(FTC_ERR_PROTO, "the ftrun that started the job sent nonsense; install one "
                                        "release on all hosts");
}

static int read_rest(struct ftc_invitation *invitation)
{
    const struct ftc_invitation_head *head = &invitation->head;
    size_t members = (size_t)head->nodes * sizeof(*invitation->members);

    invitation->members = malloc(members);
    invitation->text = malloc(head->text_size);
    invitation->argv = calloc((size_t)head->arguments + 1, sizeof(*invitation->argv));
    invitation->variables = calloc((size_t)head->variables + 1, sizeof(*invitation->variables));
    if (invitation->members == NULL || invitation->text == NULL || invitation->argv == NULL ||
        invitation->variables == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    if (!ftc_invitation_get(invitation->fd, invitation->members, members) ||
        !ftc_invitation_get(invitation->fd, invitation->text, head->text_size))
        return front_gone();
    char *at = invitation->text, *end = at + head->text_size;
    if (take_texts(&at, end, &invitation->directory, 1) &&
        take_texts(&at, end, invitation->argv, head->arguments) &&
        take_texts(&at, end, invitation->variables, head->variables))
        return FTC_SUCCESS;
    return nonsense();
}

int ftc_invitation_read(struct ftc_invitation *invitation, int fd, const char *release)
{
    struct ftc_invitation_head *head = &invitation->head;
    size_t first = offsetof(struct ftc_invitation_head, node);

    *invitation = (struct ftc_invitation){.fd = fd};
    if (isatty(fd) == 0 && !ftc_invitation_get(fd, head, first))
        return front_gone();
    int rc = check_front(head, release);
    if (rc != FTC_SUCCESS)
        return rc;
    if (!ftc_invitation_get(fd, (char *)head + first, sizeof(*head) - first))
        return front_gone();
    return is_sound(head) ? read_rest(invitation) : nonsense();
}

void ftc_invitation_fini(struct ftc_invitation *invitation)
{
    free(invitation->members);
    free(invitation->text);
    free(invitation->argv);
    free(invitation->variables);
    *invitation = (struct ftc_invitation){.fd = -1};
}

/* --- the answer --- */

void ftc_invitation_answer(const char *token, bool able, const char *text)
{
    fprintf(stderr, "%cftrun %s %s %s\n", FTC_ENGINE_MARK, token, able ? "meets" : "refuses", text);
}

bool ftc_invitation_parse(const char *line, const char *token, bool *able, const char **text)
{
    char start[80];

    for (int i = 0; i < 2; i++) {
        *able = i == 0;
        int length = snprintf(start, sizeof(start), "%cftrun %s %s ", FTC_ENGINE_MARK, token,
                              *able ? "meets" : "refuses");
        if (strncmp(line, start, (size_t)length) == 0) {
            *text = line + length;
            return true;
        }
    }
    return false;
}

/* --- the meeting --- */

/* The ranks of the nodes must follow one another, and be all ranks of the job. */
static int take_members(struct ftc_meeting *m, const struct ftc_invitation *invitation, int ranks)
{
    uint32_t next = 0;

    for (int node = 0; node < m->nodes; node++) {
        const struct ftc_adoption_member *member = &invitation->members[node];
        if (member->first != next || member->count < 1 || member->count > (uint32_t)ranks - next ||
            memchr(member->host, '\0', sizeof(member->host)) == NULL)
            return nonsense();
        memcpy(m->members[node].host, member->host, sizeof(member->host));
        m->members[node].first = member->first;
        m->members[node].count = member->count;
        next += member->count;
    }
    return next == (uint32_t)ranks ? FTC_SUCCESS : nonsense();
}

int ftc_meeting_guest_begin(struct ftc_meeting *m, const struct ftc_invitation *invitation,
                            int ranks)
{
    m->invitation = invitation;
    m->node = invitation->head.node;
    m->nodes = invitation->head.nodes;
    memcpy(m->cluster, invitation->head.cluster, sizeof(m->cluster));
    memcpy(m->secret, invitation->head.secret, sizeof(m->secret));
    int rc = ftc_meeting_make_room(m, ranks);
    return rc == FTC_SUCCESS ? take_members(m, invitation, ranks) : rc;
}

static int take_endpoints(struct ftc_meeting *m, char *text, size_t size)
{
    char *at = text;

    for (int node = 0; node < m->nodes; node++) {
        char *endpoint;
        if (!take_texts(&at, text + size, &endpoint, 1) ||
            strlen(endpoint) >= sizeof(m->endpoints[node]))
            return nonsense();
        memcpy(m->endpoints[node], endpoint, strlen(endpoint) + 1);
    }
    return FTC_SUCCESS;
}

int ftc_meeting_guest_end(struct ftc_meeting *m, const char *endpoint)
{
    uint32_t size;
    int fd = m->invitation->fd;

    ftc_invitation_answer(m->invitation->head.token, endpoint != NULL,
                          endpoint != NULL ? endpoint : ftc_last_error());
    if (endpoint == NULL)
        return FTC_ERR_SYSTEM;
    if (!ftc_invitation_get(fd, &size, sizeof(size)))
        return front_gone();
    if (size > (uint32_t)m->nodes * sizeof(*m->endpoints))
        return nonsense();
    char *text = malloc(size + 1);
    if (text == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for %d nodes", m->nodes);
    int rc = ftc_invitation_get(fd, text, size) ? take_endpoints(m, text, size) : front_gone();
    free(text);
    return rc;
}
