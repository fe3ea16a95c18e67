/* The state for each rank; transfers by their numbers, and their end. */
#include <stdlib.h>

#include "base/error.h"
#include "collectives/point_to_point/internal.h"

static struct ftc_matching_peer *make_peer(struct ftc_matching *m, int rank)
{
    struct ftc_matching_peer *peer = calloc(1, sizeof(*peer));

    if (peer == NULL || ftc_sparse_set_pointer(&m->peers, rank, peer) != FTC_SUCCESS) {
        free(peer);
        return NULL;
    }
    ftc_link_init(&peer->posted);
    ftc_link_init(&peer->arrivals);
    ftc_link_init(&peer->announced);
    ftc_link_init(&peer->withdrawn);
    ftc_link_init(&peer->pulling);
    return peer;
}

struct ftc_matching_peer *ftc_matching_peer(struct ftc_matching *m, int rank)
{
    struct ftc_matching_peer *peer = ftc_matching_known(m, rank);

    return peer != NULL ? peer : make_peer(m, rank);
}

struct ftc_transfer *ftc_transfer_find(struct ftc_link *list, uint64_t number)
{
    for (struct ftc_link *link = list->next; link != list; link = link->next)
        if (ftc_transfer_of(link)->number == number)
            return ftc_transfer_of(link);
    return NULL;
}

int ftc_matching_unknown(const struct ftc_matching_message *message)
{
    return ftc_error_set(FTC_ERR_PROTO, "message %llu, which is spoken of, is not under way",
                         (unsigned long long)message->number);
}

/* P6: the mark is cleared before the owner can learn that the transfer has ended, and before it can
 * change the buffer. An eager send has none, and is spared the fence. */
void ftc_transfer_end(struct ftc_matching *m, struct ftc_transfer *t, int status)
{
    ftc_link_take_out(&t->link);
    if (!FTC_MATCHING_MUTATED(MARK_STAYS) && t->sends &&
        atomic_load_explicit(&t->live, memory_order_relaxed) != 0)
        atomic_store_explicit(&t->live, 0, memory_order_seq_cst);
    t->status = status;
    m->ended += t->awaited;
    atomic_store_explicit(&t->state, FTC_TRANSFER_ENDED, memory_order_release);
}
