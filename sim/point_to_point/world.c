/* Channels and deaths. */
#include "sim/point_to_point/world.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "sim/model/cluster.h"

uint64_t ftc_messages_below(struct ftc_messages_world *w, uint64_t limit)
{
    return limit == 0 ? 0 : ftc_mix(w->random += 0x9e3779b97f4a7c15u) % limit;
}

void ftc_messages_violate(struct ftc_messages_world *w, const char *format, ...)
{
    va_list arguments;

    if (ftc_messages_broken(w))
        return;
    va_start(arguments, format);
    vsnprintf(w->violation, sizeof(w->violation), format, arguments);
    va_end(arguments);
}

bool ftc_messages_broken(const struct ftc_messages_world *w)
{
    return w->violation[0] != '\0';
}

void ftc_messages_say(struct ftc_messages_world *w, const char *format, ...)
{
    va_list arguments;

    if (w->log == NULL)
        return;
    va_start(arguments, format);
    vfprintf(w->log, format, arguments);
    va_end(arguments);
    fputc('\n', w->log);
}

/* --- channels --- */

/* The message as a transport would deliver it: a copy of its own. */
static struct ftc_buffer *join(const struct ftc_messages_world *w,
                               const struct ftc_matching_output *output)
{
    size_t head = output->head_size;
    struct ftc_buffer *bytes = ftc_value_new_message(head, output->size);

    if (bytes == NULL)
        ftc_cluster_no_memory(w->n);
    memcpy(bytes->data, output->head, head);
    if (output->size > 0)
        memcpy(bytes->data + ftc_value_offset(head), output->bytes, output->size);
    return bytes;
}

void ftc_messages_send(struct ftc_messages_world *w, int from,
                       const struct ftc_matching_output *output)
{
    struct ftc_messages_packet **link = &w->first[from][output->to], *packet;

    if (!w->process[output->to].alive)
        return;
    packet = ftc_cluster_alloc(w->n, 1, sizeof(*packet));
    packet->bytes = join(w, output);
    while (*link != NULL)
        link = &(*link)->next;
    *link = packet;
}

void ftc_messages_drop_packets(struct ftc_messages_packet **link)
{
    while (*link != NULL) {
        struct ftc_messages_packet *packet = *link;
        *link = packet->next;
        ftc_buffer_unref(packet->bytes);
        free(packet);
    }
}

/* --- deaths --- */

static void lose_end(struct ftc_messages_world *w, int from, int to)
{
    struct ftc_messages_packet **link = &w->first[from][to];

    while (*link != NULL && ftc_messages_below(w, 3) > 0)
        link = &(*link)->next;
    ftc_messages_drop_packets(link);
}

static void die(struct ftc_messages_world *w, int rank)
{
    ftc_messages_say(w, "rank %d DIES", rank);
    w->process[rank].alive = false;
    w->sums->deaths++;
    for (int r = 0; r < w->n; r++) {
        w->notice[r][rank] = w->process[r].alive;
        ftc_messages_drop_packets(&w->first[r][rank]);
        if (w->story->lossy)
            lose_end(w, rank, r);
    }
}

bool ftc_messages_struck(struct ftc_messages_world *w, int rank)
{
    struct ftc_messages_process *p = &w->process[rank];

    if (++p->outputs != p->doom)
        return false;
    die(w, rank);
    return true;
}
