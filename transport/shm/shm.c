/* The shared-memory transport: its life. peer.c, send.c and receive.c have the rest. */
#include "transport/shm/internal.h"

#include <stdlib.h>

#include "base/error.h"

static void free_peer(struct ftc_shm *shm, struct ftc_shm_peer *peer)
{
    ftc_shm_drop_queue(shm, peer);
    ftc_buffer_unref(peer->message);
    free(peer);
}

static void shm_close(struct ftc_transport *transport)
{
    struct ftc_shm *shm = (struct ftc_shm *)transport;
    for (int rank = -1; (rank = ftc_sparse_next_pointer(&shm->peers, rank + 1)) >= 0;)
        free_peer(shm, ftc_shm_known(shm, rank));
    free(shm->spare);
    for (int i = 0; i < FTC_SHM_SMALLS; i++)
        ftc_buffer_unref(shm->small[i]);
    free(shm->heeded);
    ftc_sparse_fini(&shm->peers);
    ftc_set_fini(&shm->queued);
    free(shm);
}

/* The bits of this rank and of no rank are damage, for which nobody can be named. */
static void heed_none(struct ftc_shm *shm)
{
    int bits = ftc_set_words(shm->local) * 64;

    ftc_shm_heed(shm, shm->setup.self, true);
    for (int bit = shm->local; bit < bits; bit++)
        ftc_shm_heed(shm, shm->first + bit, true);
}

static int shm_open(struct ftc_transport **out, const struct ftc_transport_setup *setup)
{
    if (setup->segment == NULL || setup->ranks != ftc_segment_ranks(setup->segment) ||
        setup->self < 0 || setup->self >= setup->ranks)
        return ftc_error_set(FTC_ERR_ARG, "rank %d of %d does not fit this node's segment",
                             setup->self, setup->ranks);
    struct ftc_shm *shm = calloc(1, sizeof(*shm));
    if (shm == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the transport");
    shm->base.ops = &ftc_transport_shm;
    shm->setup = *setup;
    shm->first = ftc_segment_local(setup->segment, &shm->local);
    shm->heeded = calloc((size_t)ftc_set_words(shm->local), sizeof(uint64_t));
    if (ftc_sparse_init(&shm->peers, setup->ranks, sizeof(struct ftc_shm_peer *)) != 0 ||
        shm->heeded == NULL || ftc_set_init(&shm->queued, setup->ranks) != 0) {
        shm_close(&shm->base);
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the transport");
    }
    heed_none(shm);
    *out = &shm->base;
    return 0;
}

static bool shm_ready(struct ftc_transport *transport)
{
    struct ftc_shm *shm = (struct ftc_shm *)transport;
    return ftc_shm_can_receive(shm) || ftc_shm_can_flush(shm);
}

/* A sender that publishes rings the bell, so there is nothing else to poll. */
static int shm_descriptor(struct ftc_transport *transport)
{
    (void)transport;
    return -1;
}

static void shm_close_peer(struct ftc_transport *transport, int rank)
{
    struct ftc_shm *shm = (struct ftc_shm *)transport;
    struct ftc_shm_peer *peer = ftc_shm_peer(shm, rank);
    /* Out of memory: messages to this rank stay in a ring that nobody reads, which does no harm. */
    if (peer == NULL || peer->closed)
        return;
    peer->closed = true;
    ftc_shm_drop_queue(shm, peer);
    /* Visit the peer once more: it may have published something without setting its bit, and an
     * incomplete message has to be dropped. */
    if (peer->can_receive)
        ftc_shm_activate(shm, peer);
}

const struct ftc_transport_ops ftc_transport_shm = {
    .name = "shm",
    .caps = FTC_CAP_LOCAL,
    .open = shm_open,
    .send = ftc_shm_send,
    .send_pieces = ftc_shm_send_pieces,
    .flush = ftc_shm_flush,
    .receive = ftc_shm_receive,
    .ready = shm_ready,
    .descriptor = shm_descriptor,
    .close_peer = shm_close_peer,
    .close = shm_close,
};
