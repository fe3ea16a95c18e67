/*
 * The meeting of agents that the remote shell of a front has started (`ftrun --hosts`). There is no
 * PMIx, so the agents meet through the front. Agent and front send, in this order:
 *
 *   front   struct ftc_invitation_head, struct ftc_adoption_member for each node, texts
 *   agent   a line on standard error: its endpoint, or why it cannot take part
 *   front   a size (uint32_t), and the endpoint of each agent as a text
 *   front   struct ftc_order, any number of them
 *
 * The front sends on the standard input of the agent. The end of that stream is the end of the
 * front, or of the connection to it. Both ends are of one release, which is checked first.
 */
#ifndef FTC_LAUNCHER_MEETING_INVITATION_H
#define FTC_LAUNCHER_MEETING_INVITATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/adoption.h"

#define FTC_INVITATION_MAGIC   0x69746366u
#define FTC_INVITATION_SECONDS 300 /* most that the front and the agents wait for one another */

struct ftc_invitation_head {
    uint32_t magic;
    char release[32]; /* magic and release have this place in all releases */
    int32_t node, nodes, arguments, variables;
    uint32_t text_size; /* bytes of all texts */
    char cluster[FTC_JOB_NAME_SIZE];
    unsigned char secret[FTC_JOB_SECRET];
    char token[33]; /* FTC_ENGINE_TOKEN */
};

struct ftc_invitation {
    struct ftc_invitation_head head;
    struct ftc_adoption_member *members;
    char *text;      /* the texts: working directory, arguments, variables "NAME=VALUE" */
    char *directory; /* in `text`, as the following ones */
    char **argv;     /* NULL-terminated */
    char **variables;
    int fd; /* where the front sends */
};

enum ftc_order_kind {
    FTC_ORDER_SIGNAL = 1, /* the front got this signal, which ftrun passes on to its ranks */
    FTC_ORDER_KILL = 2,   /* the signal came a second time: kill the job */
};

struct ftc_order {
    int32_t kind, number;
};

/* Read an invitation from `fd`. FTC_ERR_PROTO: the front is of another release than `release`.
 * FTC_ERR_STATE: nothing invites this process. FTC_ERR_SYSTEM: the front has ended. FTC_ERR_NOMEM.
 * ftc_invitation_fini() is legal after an error, and for a zeroed struct. */
int ftc_invitation_read(struct ftc_invitation *invitation, int fd, const char *release);
void ftc_invitation_fini(struct ftc_invitation *invitation);

/* Write the agent's answer to standard error: its endpoint; or, if `able` is false, the reason. */
void ftc_invitation_answer(const char *token, bool able, const char *text);
/* Is `line`, which has no newline, such an answer? *text points into the line. */
bool ftc_invitation_parse(const char *line, const char *token, bool *able, const char **text);

/* Read all `size` bytes. False: the stream has ended, or it was silent for too long. */
bool ftc_invitation_get(int fd, void *bytes, size_t size);

#endif
