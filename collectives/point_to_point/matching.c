/* The matching engine: its life, and transfers that start or are cancelled. match.c, arrive.c,
 * rendezvous.c, withdraw.c, end.c and outputs.c have the rest. */
#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "collectives/point_to_point/internal.h"

/* --- life --- */

int ftc_matching_create(struct ftc_matching **out, const struct ftc_matching_settings *settings)
{
    struct ftc_matching *m = calloc(1, sizeof(*m));

    if (m == NULL ||
        ftc_sparse_init(&m->peers, settings->ranks, sizeof(struct ftc_matching_peer *)) != 0) {
        free(m);
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for messages among %d ranks",
                             settings->ranks);
    }
    m->set = *settings;
    m->others = settings->ranks - 1;
    ftc_link_init(&m->posted_any);
    ftc_link_init(&m->arrivals);
    ftc_link_init(&m->matched);
    ftc_link_init(&m->copying);
    *out = m;
    return FTC_SUCCESS;
}

static void free_messages(struct ftc_matching *m)
{
    while (ftc_matching_next_output(m) != NULL)
        ;
    for (; m->own_count > 0; m->own_count--) {
        ftc_buffer_unref(m->own[m->own_first]);
        m->own_first = (m->own_first + 1) % m->own_room;
    }
    free(m->queue);
    free(m->own);
}

void ftc_matching_destroy(struct ftc_matching *m)
{
    if (m == NULL)
        return;
    ftc_arrivals_drop(m, &m->arrivals);
    ftc_arrivals_drop(m, &m->matched);
    for (struct ftc_link *link = m->spare != NULL ? &m->spare->of_all : NULL, *next; link != NULL;
         link = next) {
        next = link->next;
        free((char *)link - offsetof(struct ftc_arrival, of_all));
    }
    free_messages(m);
    for (int rank = -1; (rank = ftc_sparse_next_pointer(&m->peers, rank + 1)) >= 0;)
        free(ftc_matching_known(m, rank));
    ftc_sparse_fini(&m->peers);
    free(m);
}

/* --- transfers --- */

static bool fits_credit(const struct ftc_matching *m, const struct ftc_matching_peer *peer,
                        size_t size)
{
    return peer->spent - peer->returned + size + FTC_MATCHING_OVERHEAD <= m->set.credit;
}

static bool is_eager(const struct ftc_matching *m, const struct ftc_matching_peer *peer,
                     const struct ftc_transfer *t)
{
    return t->size <= m->set.eager && !t->synchronous &&
           (fits_credit(m, peer, t->size) || FTC_MATCHING_MUTATED(NO_CREDIT));
}

static int send_eager(struct ftc_matching *m, struct ftc_matching_peer *peer,
                      struct ftc_transfer *t)
{
    struct ftc_matching_message message = {.what = FTC_MATCHING_EAGER,
                                           .context = t->context,
                                           .tag = (uint32_t)t->tag,
                                           .number = t->number,
                                           .bytes = t->buffer,
                                           .length = t->size};

    peer->spent += t->size + FTC_MATCHING_OVERHEAD;
    int rc = ftc_matching_put(m, peer, t->rank, &message, NULL);
    ftc_transfer_end(m, t, FTC_SUCCESS);
    return rc;
}

static int send_ready(struct ftc_matching *m, struct ftc_matching_peer *peer,
                      struct ftc_transfer *t)
{
    uint64_t mark = ftc_matching_mark(m, t->rank, t->number);
    struct ftc_matching_message message = {.what = FTC_MATCHING_READY,
                                           .context = t->context,
                                           .tag = (uint32_t)t->tag,
                                           .number = t->number,
                                           .size = t->size,
                                           .address = (uint64_t)(uintptr_t)t->buffer,
                                           .mark_address = (uint64_t)(uintptr_t)&t->live,
                                           .mark = mark};

    atomic_store_explicit(&t->live, mark, memory_order_release);
    ftc_link_put_last(&peer->announced, &t->link);
    return ftc_matching_put(m, peer, t->rank, &message, NULL);
}

static int start_send(struct ftc_matching *m, struct ftc_transfer *t)
{
    struct ftc_matching_peer *peer = ftc_matching_peer(m, t->rank);

    if (peer == NULL)
        return FTC_ERR_NOMEM;
    if (peer->failure != 0 && !FTC_MATCHING_MUTATED(SEND_TO_DEAD)) {
        ftc_transfer_end(m, t, FTC_ERR_RANK_FAILED);
        return FTC_SUCCESS;
    }
    t->number = peer->sent++;
    return is_eager(m, peer, t) ? send_eager(m, peer, t) : send_ready(m, peer, t);
}

static int start_receive(struct ftc_matching *m, struct ftc_transfer *t)
{
    bool any = t->rank == FTC_MATCHING_ANY;
    struct ftc_matching_peer *peer = any ? NULL : ftc_matching_peer(m, t->rank);
    struct ftc_arrival *arrival = t->matched != NULL && !FTC_MATCHING_MUTATED(MATCHED_FORGOTTEN)
                                      ? t->matched
                                      : ftc_matching_arrival(m, t->rank, t->tag, t->context);

    if (!any && peer == NULL)
        return FTC_ERR_NOMEM;
    if (arrival != NULL) {
        int rc = ftc_matching_take(m, ftc_matching_known(m, arrival->from), t, arrival->from,
                                   &arrival->message);
        ftc_arrival_drop(m, arrival);
        return rc;
    }
    if (!any && peer->failure != 0) {
        ftc_transfer_end(m, t, FTC_ERR_RANK_FAILED);
        return FTC_SUCCESS;
    }
    t->order = m->orders++;
    ftc_link_put_last(any ? &m->posted_any : &peer->posted, &t->link);
    return FTC_SUCCESS;
}

int ftc_matching_start(struct ftc_matching *m, struct ftc_transfer *t)
{
    ftc_link_init(&t->link);
    atomic_store_explicit(&t->state, FTC_TRANSFER_UNDER_WAY, memory_order_relaxed);
    atomic_store_explicit(&t->live, 0, memory_order_relaxed);
    t->from = t->got = -1;
    t->bytes = 0;
    t->number = t->wanted = t->moved = t->bound = t->seen = t->told = 0;
    if (m->over) {
        if (t->matched != NULL)
            ftc_arrival_drop(m, t->matched);
        ftc_transfer_end(m, t, FTC_ERR_REVOKED);
        return FTC_SUCCESS;
    }
    int rc = t->sends ? start_send(m, t) : start_receive(m, t);
    return rc == FTC_SUCCESS && m->own_count > 0 ? ftc_matching_take_own(m) : rc;
}

int ftc_matching_copied(struct ftc_matching *m, struct ftc_transfer *t, enum ftc_copied result)
{
    int rc = ftc_matching_take_copy(m, t, result);

    return rc == FTC_SUCCESS ? ftc_matching_take_own(m) : rc;
}

int ftc_matching_cancel(struct ftc_matching *m, struct ftc_transfer *t)
{
    if (t->sends) {
        int rc = ftc_matching_withdraw(m, t);
        return rc == FTC_SUCCESS ? ftc_matching_take_own(m) : rc;
    }
    if (!ftc_transfer_has_ended(t) && (t->from < 0 || FTC_MATCHING_MUTATED(TAKEN_CANCELLED)))
        ftc_transfer_end(m, t, FTC_ERR_CANCELLED);
    return FTC_SUCCESS;
}

/* --- looking in --- */

bool ftc_matching_probe(const struct ftc_matching *m, int from, int tag, uint8_t context,
                        struct ftc_envelope *found)
{
    const struct ftc_arrival *arrival = ftc_matching_arrival(m, from, tag, context);

    if (arrival == NULL)
        return false;
    const struct ftc_matching_message *message = &arrival->message;
    found->from = arrival->from;
    found->tag = (int)message->tag;
    found->size = message->what == FTC_MATCHING_EAGER ? message->length : (size_t)message->size;
    return true;
}

struct ftc_arrival *ftc_matching_match(struct ftc_matching *m, int from, int tag, uint8_t context)
{
    struct ftc_arrival *arrival = ftc_matching_arrival(m, from, tag, context);

    if (arrival != NULL) {
        ftc_link_take_out(&arrival->of_peer);
        ftc_link_take_out(&arrival->of_all);
        ftc_link_put_last(&m->matched, &arrival->of_all);
    }
    return arrival;
}

bool ftc_matching_has_credit(const struct ftc_matching *m, int to, size_t size)
{
    const struct ftc_matching_peer *peer = ftc_matching_known(m, to);

    return size > m->set.eager || peer == NULL || fits_credit(m, peer, size);
}

bool ftc_matching_is_gone(const struct ftc_matching *m, int rank)
{
    const struct ftc_matching_peer *peer = ftc_matching_known(m, rank);

    return peer != NULL && peer->failure != 0;
}

uint64_t ftc_matching_ended(const struct ftc_matching *m)
{
    return m->ended;
}

size_t ftc_matching_kept(const struct ftc_matching *m, int from, size_t *ready)
{
    const struct ftc_matching_peer *peer = ftc_matching_known(m, from);
    size_t bytes = 0;

    *ready = 0;
    if (peer == NULL)
        return 0;
    for (struct ftc_link *link = peer->arrivals.next; link != &peer->arrivals; link = link->next) {
        const struct ftc_arrival *arrival = (const struct ftc_arrival *)(const void *)link;
        if (arrival->message.what == FTC_MATCHING_EAGER)
            bytes += arrival->message.length + FTC_MATCHING_OVERHEAD;
        else
            ++*ready;
    }
    return bytes;
}
