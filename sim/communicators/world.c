/* What all parts of a run need; channels; deaths. */
#include "sim/communicators/world.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "sim/model/cluster.h"

#define SOON 6 /* most outputs until the next doomed process dies */

uint64_t ftc_comms_below(struct ftc_comms_world *w, uint64_t limit)
{
    return limit == 0 ? 0 : ftc_mix(w->random += 0x9e3779b97f4a7c15u) % limit;
}

void ftc_comms_violate(struct ftc_comms_world *w, const char *format, ...)
{
    va_list arguments;

    if (ftc_comms_broken(w))
        return;
    va_start(arguments, format);
    vsnprintf(w->violation, sizeof(w->violation), format, arguments);
    va_end(arguments);
}

bool ftc_comms_broken(const struct ftc_comms_world *w)
{
    return w->violation[0] != '\0';
}

void ftc_comms_say(struct ftc_comms_world *w, const char *format, ...)
{
    va_list arguments;

    if (w->log == NULL)
        return;
    va_start(arguments, format);
    vfprintf(w->log, format, arguments);
    va_end(arguments);
    fputc('\n', w->log);
}

bool ftc_comms_is_gone(const struct ftc_comms_world *w, int rank)
{
    return ftc_comms_broken(w) || !w->process[rank].alive;
}

void ftc_comms_check(struct ftc_comms_world *w, int rank, const char *what, int rc)
{
    if (rc != 0)
        ftc_comms_violate(w, "rank %d: %s returns %d", rank, what, rc);
}

/* --- the program --- */

int ftc_comms_item_of(const struct ftc_comms_process *p, uint64_t ticket)
{
    for (int i = 0; i < FTC_COMMS_ITEMS; i++)
        if (p->ticket[i] == ticket)
            return i;
    return -1;
}

uint64_t ftc_comms_tag(uint64_t number, int item)
{
    return ftc_mix(number + 1000003 * (uint64_t)item) >> 8;
}

/* --- channels --- */

/* The message as a transport would deliver it: a copy of its own, with the head, padding and the
 * bytes of the value. */
static struct ftc_buffer *join(const struct ftc_comms_world *w, const struct ftc_buffer *head,
                               const struct ftc_value *value)
{
    size_t size = value->buffer != NULL ? value->size : 0;
    struct ftc_buffer *bytes = ftc_value_new_message(head->size, size);

    if (bytes == NULL)
        ftc_cluster_no_memory(w->n);
    memcpy(bytes->data, head->data, head->size);
    if (size > 0)
        memcpy(bytes->data + ftc_value_offset(head->size), ftc_value_bytes(value), size);
    return bytes;
}

static void say_message(struct ftc_comms_world *w, int from, int to,
                        const struct ftc_buffer *message)
{
    static const char *const words[] = {"GONE", "BYE", "BYE (answer)", "REVOKE"};
    struct ftc_message_head head;
    unsigned long long number = ftc_frame_communicator(message);

    if (w->log == NULL)
        return;
    if (ftc_frame_kind(message) == FTC_FRAME_COMMUNICATOR)
        ftc_comms_say(w, "  rank %d sends %s of %llx to %d", from, words[message->data[2] & 3],
                      number, to);
    else if (ftc_message_peek(message, &head) == 0)
        ftc_comms_say(w, "  rank %d sends %s of %llx, operation %llu, ballot (%u,%u), to %d", from,
                      ftc_message_kind_name(head.kind), number, (unsigned long long)head.op,
                      head.ballot.i, head.ballot.s, to);
}

void ftc_comms_send(struct ftc_comms_world *w, int from, int to, const struct ftc_buffer *head,
                    const struct ftc_value *value)
{
    struct ftc_comms_packet *packet = ftc_cluster_alloc(w->n, 1, sizeof(*packet));

    say_message(w, from, to, head);
    packet->bytes = join(w, head, value);
    if (w->first[from][to] == NULL)
        w->first[from][to] = packet;
    else
        w->last[from][to]->next = packet;
    w->last[from][to] = packet;
}

struct ftc_buffer *ftc_comms_take_packet(struct ftc_comms_world *w, int from, int to)
{
    struct ftc_comms_packet *packet = w->first[from][to];
    struct ftc_buffer *bytes = packet->bytes;

    w->first[from][to] = packet->next;
    free(packet);
    return bytes;
}

/* --- deaths --- */

/* The last messages of a channel are lost, a random number of them. */
static void lose(struct ftc_comms_world *w, int from, int to)
{
    struct ftc_comms_packet **link = &w->first[from][to];
    int count = 0;

    for (const struct ftc_comms_packet *p = *link; p != NULL; p = p->next)
        count++;
    for (uint64_t kept = ftc_comms_below(w, (uint64_t)count + 1); kept > 0; kept--) {
        w->last[from][to] = *link;
        link = &(*link)->next;
    }
    while (*link != NULL) {
        struct ftc_comms_packet *packet = *link;
        *link = packet->next;
        ftc_buffer_unref(packet->bytes);
        free(packet);
    }
}

static void doom_next(struct ftc_comms_world *w)
{
    for (int rank = 0; rank < w->n; rank++) {
        struct ftc_comms_process *p = &w->process[rank];
        int soon = p->outputs + 1 + (int)ftc_comms_below(w, SOON);
        if (!p->alive || p->doom == 0)
            continue;
        if (p->doom > soon)
            p->doom = soon;
        return;
    }
}

void ftc_comms_die(struct ftc_comms_world *w, int rank)
{
    ftc_comms_say(w, "rank %d dies", rank);
    w->process[rank].alive = false;
    w->sums->deaths++;
    for (int other = 0; other < w->n; other++) {
        w->notice[other][rank] = other != rank;
        if (w->story->lossy)
            lose(w, rank, other);
    }
    if (w->story->chained)
        doom_next(w);
}

bool ftc_comms_struck(struct ftc_comms_world *w, int rank)
{
    struct ftc_comms_process *p = &w->process[rank];

    if (++p->outputs != p->doom)
        return false;
    ftc_comms_die(w, rank);
    return true;
}
