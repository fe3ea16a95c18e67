/* A radix heap. Its buckets are lists of blocks, and emptied blocks are used again. */
#include "sim/timed/queue.h"

#include <stdlib.h>

#include "base/error.h"

#define BLOCK_EVENTS 170 /* 4 KiB */

struct ftc_queue_block {
    struct ftc_queue_block *next;
    int first, end; /* the block holds event[first] .. event[end - 1] */
    struct ftc_event event[BLOCK_EVENTS];
};

void ftc_queue_init(struct ftc_queue *queue)
{
    *queue = (struct ftc_queue){0};
}

static void free_blocks(struct ftc_queue_block *block)
{
    while (block != NULL) {
        struct ftc_queue_block *next = block->next;
        free(block);
        block = next;
    }
}

void ftc_queue_fini(struct ftc_queue *queue)
{
    for (int b = 0; b <= 64; b++)
        free_blocks(queue->bucket[b].head);
    free_blocks(queue->spare);
    *queue = (struct ftc_queue){0};
}

static struct ftc_queue_block *take_block(struct ftc_queue *queue)
{
    struct ftc_queue_block *block = queue->spare;

    if (block != NULL)
        queue->spare = block->next;
    else
        block = malloc(sizeof(*block));
    if (block == NULL)
        return NULL;
    block->next = NULL;
    block->first = block->end = 0;
    return block;
}

static int bucket_of(const struct ftc_queue *queue, uint64_t key)
{
    return key == queue->last ? 0 : 64 - __builtin_clzll(key ^ queue->last);
}

static int append(struct ftc_queue *queue, int b, const struct ftc_event *event)
{
    struct ftc_queue_bucket *bucket = &queue->bucket[b];

    if (bucket->tail == NULL || bucket->tail->end == BLOCK_EVENTS) {
        struct ftc_queue_block *block = take_block(queue);
        if (block == NULL)
            return FTC_ERR_NOMEM;
        if (bucket->tail == NULL)
            bucket->head = block;
        else
            bucket->tail->next = block;
        bucket->tail = block;
    }
    bucket->tail->event[bucket->tail->end++] = *event;
    if (b > 0)
        queue->filled |= UINT64_C(1) << (b - 1);
    return 0;
}

int ftc_queue_push(struct ftc_queue *queue, const struct ftc_event *event)
{
    struct ftc_event later = *event;

    if (later.key < queue->last)
        later.key = queue->last;
    int rc = append(queue, bucket_of(queue, later.key), &later);
    if (rc == 0 && ++queue->count > queue->peak)
        queue->peak = queue->count;
    return rc;
}

static uint64_t least_key(const struct ftc_queue_bucket *bucket)
{
    uint64_t least = UINT64_MAX;

    for (const struct ftc_queue_block *block = bucket->head; block != NULL; block = block->next)
        for (int i = block->first; i < block->end; i++)
            if (block->event[i].key < least)
                least = block->event[i].key;
    return least;
}

static void give_block(struct ftc_queue *queue, struct ftc_queue_block *block)
{
    block->next = queue->spare;
    queue->spare = block;
}

/* Bucket 0 is empty: spread the lowest full bucket over those below it, in order. */
static bool refill(struct ftc_queue *queue)
{
    if (queue->filled == 0)
        return false;
    int b = 1 + __builtin_ctzll(queue->filled);
    struct ftc_queue_block *block = queue->bucket[b].head;
    queue->last = least_key(&queue->bucket[b]);
    queue->bucket[b] = (struct ftc_queue_bucket){0};
    queue->filled &= queue->filled - 1;
    while (block != NULL) {
        struct ftc_queue_block *next = block->next;
        for (int i = block->first; i < block->end; i++)
            if (append(queue, bucket_of(queue, block->event[i].key), &block->event[i]) != 0)
                abort(); /* no memory for a few blocks of 4 KiB: fail-stop, as in base/set.h */
        give_block(queue, block);
        block = next;
    }
    return true;
}

bool ftc_queue_pop(struct ftc_queue *queue, struct ftc_event *event)
{
    struct ftc_queue_bucket *now = &queue->bucket[0];

    if (now->head == NULL && !refill(queue))
        return false;
    struct ftc_queue_block *block = now->head;
    *event = block->event[block->first++];
    queue->count--;
    if (block->first == block->end) {
        now->head = block->next;
        if (now->head == NULL)
            now->tail = NULL;
        give_block(queue, block);
    }
    return true;
}
