/*
 * What is going to happen in virtual time, as a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990): a
 * simulation only ever schedules what is not before the present, so an event goes into the bucket
 * of the highest bit in which its key differs from that of the last event taken, and moves to a
 * lower one at most 64 times. Millions of pending events are read and written in long rows instead
 * of all over a tree. Events with equal keys leave in the order in which they came: channels are
 * FIFO, and a run depends on its seed alone.
 */
#ifndef FTC_SIM_TIMED_QUEUE_H
#define FTC_SIM_TIMED_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ftc_event {
    uint64_t key; /* of the order; what it means is the engine's */
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
    struct ftc_queue_bucket
        bucket[65];  /* 0: key equal to `last`; b: differs in bit b - 1 at the highest */
    uint64_t filled; /* bit b - 1: bucket b is not empty */
    uint64_t last;   /* key of the last event taken */
    struct ftc_queue_block *spare;
    size_t count, peak;
};

void ftc_queue_init(struct ftc_queue *queue);
void ftc_queue_fini(struct ftc_queue *queue); /* items are not its own */
/* An event whose key is less than that of the last one taken happens now. FTC_ERR_NOMEM. */
int ftc_queue_push(struct ftc_queue *queue, const struct ftc_event *event);
/* False: nothing is left. */
bool ftc_queue_pop(struct ftc_queue *queue, struct ftc_event *event);

#endif
