/* How transfers end before their time: failures (P7, P8), revoke and free (P11). withdraw.c has
 * cancels. */
#include "base/error.h"
#include "collectives/point_to_point/internal.h"

static void end_all(struct ftc_matching *m, struct ftc_link *list, int status)
{
    while (!ftc_link_is_empty(list))
        ftc_transfer_end(m, ftc_transfer_of(list->next), status);
}

/* --- failures --- */

static void end_copies(struct ftc_matching *m, int rank)
{
    for (struct ftc_link *link = m->copying.next, *next; link != &m->copying; link = next) {
        next = link->next;
        if (ftc_transfer_of(link)->from == rank)
            ftc_transfer_end(m, ftc_transfer_of(link), FTC_ERR_RANK_FAILED);
    }
}

/* Drops unexpected messages that came as `what`. */
static void drop_arrivals(struct ftc_matching *m, struct ftc_matching_peer *peer,
                          enum ftc_matching_what what)
{
    for (struct ftc_link *link = peer->arrivals.next, *next; link != &peer->arrivals; link = next) {
        struct ftc_arrival *arrival = (struct ftc_arrival *)(void *)link;
        next = link->next;
        if (arrival->message.what == what)
            ftc_arrival_drop(m, arrival);
    }
}

int ftc_matching_notice(struct ftc_matching *m, int rank)
{
    struct ftc_matching_peer *peer = ftc_matching_peer(m, rank);

    if (peer == NULL)
        return FTC_ERR_NOMEM;
    if (peer->failure != 0)
        return FTC_SUCCESS;
    peer->failure = ++m->failures;
    m->uncovered = m->failures;
    m->others--;
    if (!FTC_MATCHING_MUTATED(SEND_FORGOTTEN))
        end_all(m, &peer->announced, FTC_ERR_RANK_FAILED);
    if (!FTC_MATCHING_MUTATED(WITHDRAWAL_FORGOTTEN)) /* P10: they had ended */
        end_all(m, &peer->withdrawn, FTC_SUCCESS);
    if (!FTC_MATCHING_MUTATED(RECEIVE_FORGOTTEN))
        end_all(m, &peer->posted, FTC_ERR_RANK_FAILED);
    if (!FTC_MATCHING_MUTATED(COPY_FORGOTTEN)) {
        end_all(m, &peer->pulling, FTC_ERR_RANK_FAILED);
        end_copies(m, rank);
    }
    if (FTC_MATCHING_MUTATED(EAGER_OF_DEAD))
        drop_arrivals(m, peer, FTC_MATCHING_EAGER);
    if (FTC_MATCHING_MUTATED(LOST_SKIPPED))
        drop_arrivals(m, peer, FTC_MATCHING_READY);
    return FTC_SUCCESS;
}

void ftc_matching_recognize(struct ftc_matching *m, int rank)
{
    struct ftc_matching_peer *peer = ftc_matching_known(m, rank);

    if (peer == NULL || peer->failure == 0 || peer->recognized)
        return;
    peer->recognized = true;
    drop_arrivals(m, peer, FTC_MATCHING_READY);
    m->uncovered = 0;
    for (int r = -1; (r = ftc_sparse_next_pointer(&m->peers, r + 1)) >= 0;) {
        const struct ftc_matching_peer *other = ftc_matching_known(m, r);
        if (!other->recognized && other->failure > m->uncovered) /* 0: it has not failed */
            m->uncovered = other->failure;
    }
}

bool ftc_matching_interrupts_probe(const struct ftc_matching *m)
{
    return m->uncovered > 0 || (m->others == 0 && m->set.ranks > 1);
}

static bool has_taken(const struct ftc_transfer *t)
{
    return t->from >= 0;
}

bool ftc_matching_interrupts(struct ftc_matching *m, struct ftc_transfer *t)
{
    if (t->sends || t->rank != FTC_MATCHING_ANY || has_taken(t))
        return false;
    if (m->others == 0 && m->set.ranks > 1 && !FTC_MATCHING_MUTATED(LAST_WAITS))
        return true;
    if (m->uncovered <= t->told || FTC_MATCHING_MUTATED(UNINTERRUPTED))
        return false;
    if (!FTC_MATCHING_MUTATED(ALWAYS_INTERRUPTED))
        t->told = m->failures;
    return true;
}

/* Has a receive of this rank taken the message of this send to it? Then it copies it. */
static bool copies_own(const struct ftc_matching *m, const struct ftc_transfer *send)
{
    for (struct ftc_link *link = m->copying.next; link != &m->copying; link = link->next)
        if (ftc_transfer_of(link)->from == m->set.self &&
            ftc_transfer_of(link)->number == send->number)
            return true;
    return false;
}

bool ftc_matching_waits_for_self(struct ftc_matching *m, const struct ftc_transfer *t)
{
    bool of_self = t->rank == m->set.self || m->set.ranks == 1;

    if (!of_self || ftc_transfer_has_ended(t))
        return false;
    return t->sends ? !copies_own(m, t) : !has_taken(t);
}

/* --- revoke, free --- */

static void revoke_peer(struct ftc_matching *m, struct ftc_matching_peer *peer)
{
    if (!FTC_MATCHING_MUTATED(REVOKE_FORGETS))
        end_all(m, &peer->announced, FTC_ERR_REVOKED);
    end_all(m, &peer->withdrawn, FTC_SUCCESS);
    end_all(m, &peer->posted, FTC_ERR_REVOKED);
    end_all(m, &peer->pulling, FTC_ERR_REVOKED);
}

void ftc_matching_revoke(struct ftc_matching *m)
{
    end_all(m, &m->posted_any, FTC_ERR_REVOKED);
    end_all(m, &m->copying, FTC_ERR_REVOKED);
    for (int rank = -1; (rank = ftc_sparse_next_pointer(&m->peers, rank + 1)) >= 0;)
        revoke_peer(m, ftc_matching_known(m, rank));
    ftc_matching_leave(m);
}

void ftc_matching_leave(struct ftc_matching *m)
{
    ftc_arrivals_drop(m, &m->arrivals);
    m->over = true;
}
