/* What is known of another rank, and the queue of frames to it. */
#include <stdlib.h>

#include "base/error.h"
#include "transport/shm/internal.h"

struct ftc_shm_peer *ftc_shm_peer(struct ftc_shm *shm, int rank)
{
    struct ftc_shm_peer *peer = ftc_shm_known(shm, rank);
    if (peer != NULL)
        return peer;
    peer = calloc(1, sizeof(*peer));
    if (peer == NULL || ftc_sparse_set_pointer(&shm->peers, rank, peer) != 0) {
        free(peer);
        return NULL;
    }
    peer->rank = rank;
    return peer;
}

void ftc_shm_activate(struct ftc_shm *shm, struct ftc_shm_peer *peer)
{
    if (peer->next_active != NULL)
        return;
    ftc_shm_heed(shm, peer->rank, true);
    peer->next_active = shm->active != NULL ? shm->active->next_active : peer;
    if (shm->active != NULL)
        shm->active->next_active = peer;
    shm->active = peer;
    shm->active_count++;
}

/* --- its queue --- */

bool ftc_shm_take_spare(struct ftc_shm *shm)
{
    if (shm->spare == NULL)
        shm->spare = malloc(sizeof(*shm->spare));
    return shm->spare != NULL;
}

static void frame_free(struct ftc_shm *shm, struct ftc_frame *frame)
{
    ftc_buffer_unref(frame->head);
    ftc_value_drop(&frame->value);
    if (shm->spare == NULL)
        shm->spare = frame;
    else
        free(frame);
}

void ftc_shm_enqueue(struct ftc_shm *shm, struct ftc_shm_peer *peer, const struct ftc_frame *frame)
{
    struct ftc_frame *copy = shm->spare;
    shm->spare = NULL;
    *copy = *frame;
    copy->next = NULL;
    ftc_buffer_ref(copy->head);
    peer->was_full = true;
    copy->value = (struct ftc_value){0};
    if (frame->value.buffer != NULL)
        ftc_value_set(&copy->value, &frame->value);
    if (peer->first == NULL) {
        peer->first = copy;
        ftc_set_add(&shm->queued, peer->rank);
        shm->queued_count++;
    } else {
        peer->last->next = copy;
    }
    peer->last = copy;
    peer->urgent_queued += copy->urgent;
}

void ftc_shm_dequeue(struct ftc_shm *shm, struct ftc_shm_peer *peer)
{
    struct ftc_frame *frame = peer->first;
    peer->first = frame->next;
    peer->urgent_queued -= frame->urgent;
    frame_free(shm, frame);
    if (peer->first != NULL)
        return;
    peer->last = NULL;
    ftc_set_remove(&shm->queued, peer->rank);
    shm->queued_count--;
}

void ftc_shm_drop_queue(struct ftc_shm *shm, struct ftc_shm_peer *peer)
{
    while (peer->first != NULL)
        ftc_shm_dequeue(shm, peer);
}

/* --- damage --- */

void ftc_shm_damage(struct ftc_shm *shm, struct ftc_shm_peer *peer)
{
    if (peer->damaged || peer->reported)
        return;
    peer->damaged = true;
    shm->damaged++;
    ftc_shm_drop_queue(shm, peer);
    ftc_buffer_unref(peer->message);
    peer->message = NULL;
    ftc_shm_activate(shm, peer);
    FTC_LOG(shm->setup.log, FTC_LOG_WARN, "closed the channel to rank %d, %u so far: %s",
            peer->rank, shm->damaged, ftc_last_error());
}
