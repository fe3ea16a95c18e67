/*
 * The pending events of virtual time, as a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990).
 *
 * A simulation never schedules an event before the present. So an event goes into the bucket of the
 * highest bit in which its key differs from the key of the last event taken. It moves to a lower
 * bucket at most 64 times. Millions of pending events are read and written in long rows, and not
 * all over a tree. Events with equal keys leave in the order in which they came. So channels are
 * FIFO, and a run depends on its seed alone.
 */
#ifndef FTC_SIM_TIMED_QUEUE_H
#define FTC_SIM_TIMED_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ftc_event {
    uint64_t key; /* the order; the engine defines its meaning */
    uint32_t rank;
    uint32_t kind : 4;
    uint32_t other : 28;
    void *item;
};

struct ftc_queue_block;

struct ftc_queue_bucket {
    struct ftc_queue_block *head, *tail;
};

struct ftc_queue {
    /* 0: keys equal to `last`; b: keys whose highest bit that differs from `last` is b - 1 */
    struct ftc_queue_bucket bucket[65];
    uint64_t filled; /* bit b - 1: bucket b is not empty */
    uint64_t last;   /* key of the last event taken */
    struct ftc_queue_block *spare;
    size_t count, peak;
};

void ftc_queue_init(struct ftc_queue *queue);
void ftc_queue_fini(struct ftc_queue *queue); /* the queue does not own the items */
/* Add an event. If its key is less than that of the last event taken, it happens now.
 * FTC_ERR_NOMEM. */
int ftc_queue_push(struct ftc_queue *queue, const struct ftc_event *event);
/* False: nothing is left. */
bool ftc_queue_pop(struct ftc_queue *queue, struct ftc_event *event);

#endif
