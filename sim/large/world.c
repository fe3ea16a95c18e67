/* Channels and deaths. */
#include "sim/large/world.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "collectives/frame.h"
#include "sim/model/cluster.h"

#define SOON 4 /* most outputs until the next doomed process dies */

uint64_t ftc_large_below(struct ftc_large_world *w, uint64_t limit)
{
    return limit == 0 ? 0 : ftc_mix(w->random += 0x9e3779b97f4a7c15u) % limit;
}

void ftc_large_violate(struct ftc_large_world *w, const char *format, ...)
{
    va_list arguments;

    if (ftc_large_broken(w))
        return;
    va_start(arguments, format);
    vsnprintf(w->violation, sizeof(w->violation), format, arguments);
    va_end(arguments);
}

bool ftc_large_broken(const struct ftc_large_world *w)
{
    return w->violation[0] != '\0';
}

void ftc_large_say(struct ftc_large_world *w, const char *format, ...)
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

/* The message as a transport would deliver it: a copy of its own, with the head, padding and the
 * bytes of the value. */
static struct ftc_buffer *join(const struct ftc_large_world *w, const struct ftc_buffer *head,
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

/* How many blocks may be on their way to a rank (docs/design/nodes.md, "Questions"). No block here
 * has so many elements that the bound on connections would count. */
static int window_of(const struct ftc_large_world *w, const struct ftc_large_process *sender)
{
    const struct ftc_large_operation *o = &w->story->operation[sender->at];
    int most = w->story->block_most, part = (int)(sender->call.signature.size / sizeof(uint64_t));

    if (o->kind == FTC_CALL_ALLTOALL && !o->uneven)
        part = w->story->part;
    return w->story->window * (part < most ? most / part : 1);
}

/* Are there more blocks on their way to a rank than it may have asked for? Those of dead ranks may
 * belong to another history. */
static void judge_window(struct ftc_large_world *w, int by, int to, uint64_t bounded)
{
    int count = 0, window = window_of(w, &w->process[by]);

    for (int from = 0; from < w->n; from++)
        for (const struct ftc_large_packet *p = w->first[from][to]; p != NULL; p = p->next)
            count += w->process[from].alive && p->bounded == bounded;
    if (count > window)
        ftc_large_violate(w, "%d blocks are on their way to rank %d, which may have %d", count, to,
                          window);
}

void ftc_large_send(struct ftc_large_world *w, int from, int to, struct ftc_buffer *head,
                    const struct ftc_value *value, uint64_t bounded)
{
    struct ftc_large_packet **link = &w->first[from][to], *packet;

    ftc_large_say(w, "rank %d   sends %s to %d", from,
                  ftc_frame_kind(head) == FTC_FRAME_RING ? "a block" : "a message", to);
    if (!w->process[to].alive)
        return;
    packet = ftc_cluster_alloc(w->n, 1, sizeof(*packet));
    packet->bytes = join(w, head, value);
    packet->bounded = bounded;
    ftc_value_set(&packet->value, value);
    while (*link != NULL)
        link = &(*link)->next;
    *link = packet;
    if (bounded > 0)
        judge_window(w, from, to, bounded);
}

void ftc_large_free_packet(struct ftc_large_packet *packet)
{
    ftc_buffer_unref(packet->bytes);
    ftc_value_drop(&packet->value);
    free(packet);
}

void ftc_large_drop_packets(struct ftc_large_packet **link)
{
    while (*link != NULL) {
        struct ftc_large_packet *packet = *link;
        *link = packet->next;
        ftc_large_free_packet(packet);
    }
}

void ftc_large_judge_bytes(struct ftc_large_world *w, int from, int to,
                           const struct ftc_large_packet *packet)
{
    const unsigned char *now = ftc_value_bytes(&packet->value);
    size_t size = now != NULL ? packet->value.size : 0;

    if (size > 0 && memcmp(now, packet->bytes->data + packet->bytes->size - size, size) != 0)
        ftc_large_violate(w, "rank %d changed a message before it arrived at rank %d", from, to);
}

/* --- deaths --- */

/* A dead process sends no more: what arrives of it has left its memory. Others may use again what
 * it shared with them. */
static void leave_memory(struct ftc_large_world *w, int from, int to)
{
    for (struct ftc_large_packet *p = w->first[from][to]; p != NULL; p = p->next) {
        ftc_large_judge_bytes(w, from, to, p);
        ftc_value_drop(&p->value);
    }
}

static void lose_end(struct ftc_large_world *w, int from, int to)
{
    struct ftc_large_packet **link = &w->first[from][to];

    while (*link != NULL && ftc_large_below(w, 3) > 0)
        link = &(*link)->next;
    ftc_large_drop_packets(link);
}

static void bring_next(struct ftc_large_world *w)
{
    for (int r = 0; r < w->n; r++) {
        struct ftc_large_process *p = &w->process[r];
        if (!p->alive || p->doom <= p->outputs)
            continue;
        p->doom = p->outputs + 1 + (int)ftc_large_below(w, SOON);
        return;
    }
}

static void die(struct ftc_large_world *w, int rank)
{
    struct ftc_large_process *p = &w->process[rank];

    ftc_large_say(w, "rank %d DIES", rank);
    p->alive = false;
    w->sums->deaths++;
    for (int r = 0; r < w->n; r++) {
        w->notice[r][rank] = w->process[r].alive;
        ftc_large_drop_packets(&w->first[r][rank]);
        if (w->story->lossy)
            lose_end(w, rank, r);
        leave_memory(w, rank, r);
    }
    if (w->story->chained)
        bring_next(w);
}

bool ftc_large_struck(struct ftc_large_world *w, int rank)
{
    struct ftc_large_process *p = &w->process[rank];

    if (++p->outputs != p->doom)
        return false;
    die(w, rank);
    return true;
}
