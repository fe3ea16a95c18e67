/* What a run promises (docs/design/point-to-point.md, part 3). */
#include <string.h>

#include "include/ftcoll.h"
#include "sim/point_to_point/world.h"

#define OVERWRITTEN 0xee

unsigned char ftc_messages_byte(int from, int index, int place)
{
    return (unsigned char)(1 + (from * 61 + index * 17 + place * 7) % 229);
}

static bool fits(const struct ftc_transfer *receive, int from, const struct ftc_transfer *send)
{
    return (receive->rank == FTC_MATCHING_ANY || receive->rank == from) &&
           (receive->tag == FTC_MATCHING_ANY || receive->tag == send->tag) &&
           receive->context == send->context;
}

static bool is_cancelled(const struct ftc_messages_entry *entry)
{
    return entry->withdrawn || (ftc_transfer_has_ended(&entry->transfer) &&
                                entry->transfer.status == FTC_ERR_CANCELLED);
}

static bool is_under_way(const struct ftc_messages_entry *entry)
{
    return entry->started && !ftc_transfer_has_ended(&entry->transfer);
}

struct ftc_messages_entry *ftc_messages_send_of(struct ftc_messages_world *w, int from, int to,
                                                uint64_t number)
{
    struct ftc_messages_process *p = &w->process[from];

    for (int i = 0; i < p->at; i++) {
        const struct ftc_transfer *t = &p->entry[i].transfer;
        if (t->sends && t->rank == to && t->number == number)
            return &p->entry[i];
    }
    return NULL;
}

/* --- what a receive takes --- */

static void judge_order(struct ftc_messages_world *w, int rank,
                        const struct ftc_messages_entry *receive,
                        const struct ftc_messages_entry *send)
{
    struct ftc_messages_process *sender = &w->process[receive->transfer.from];
    struct ftc_messages_process *p = &w->process[rank];

    for (const struct ftc_messages_entry *e = sender->entry; e < send; e++)
        if (e->transfer.sends && e->transfer.rank == rank && !e->taken && !is_cancelled(e) &&
            !(p->recognized[receive->transfer.from] && !e->arrived) &&
            fits(&receive->transfer, receive->transfer.from, &e->transfer))
            ftc_messages_violate(w, "receive %d of rank %d takes a message before an earlier one",
                                 (int)(receive - p->entry), rank);
    for (const struct ftc_messages_entry *e = p->entry; e < receive; e++)
        if (!e->transfer.sends && is_under_way(e) && e->transfer.from < 0 &&
            fits(&e->transfer, receive->transfer.from, &send->transfer))
            ftc_messages_violate(w, "receive %d of rank %d takes a message of receive %d",
                                 (int)(receive - p->entry), rank, (int)(e - p->entry));
}

static void judge_match(struct ftc_messages_world *w, int rank, struct ftc_messages_entry *receive)
{
    const struct ftc_transfer *t = &receive->transfer;
    struct ftc_messages_entry *send = ftc_messages_send_of(w, t->from, rank, t->number);

    receive->matched = true;
    if (send == NULL || !fits(t, t->from, &send->transfer) || t->got != send->transfer.tag ||
        t->bytes != send->transfer.size) {
        ftc_messages_violate(w, "rank %d takes a message that does not fit", rank);
        return;
    }
    if (send->taken || is_cancelled(send))
        ftc_messages_violate(w, "rank %d takes a message that was taken or cancelled", rank);
    send->taken = true;
    judge_order(w, rank, receive, send);
}

/* --- how a transfer ends --- */

static void judge_bytes(struct ftc_messages_world *w, int rank,
                        const struct ftc_messages_entry *receive)
{
    const struct ftc_transfer *t = &receive->transfer;
    const struct ftc_messages_entry *send = ftc_messages_send_of(w, t->from, rank, t->number);
    int index = send == NULL ? -1 : (int)(send - w->process[t->from].entry);
    size_t sound = t->bytes < t->size ? t->bytes : t->size;

    if (index < 0) {
        ftc_messages_violate(w, "a receive of rank %d succeeds without a message", rank);
        return;
    }
    for (size_t i = 0; i < FTC_MESSAGES_BYTES; i++) {
        unsigned char wanted = i < sound ? ftc_messages_byte(t->from, index, (int)i) : 0;
        if (receive->buffer[i] != wanted) {
            ftc_messages_violate(w, "receive %d of rank %d has byte %zu wrong",
                                 (int)(receive - w->process[rank].entry), rank, i);
            return;
        }
    }
    if ((t->status == FTC_ERR_TRUNCATED) != (t->bytes > t->size))
        ftc_messages_violate(w, "rank %d takes a message of %zu bytes, with the status %d", rank,
                             t->bytes, t->status);
    w->sums->received++;
    w->sums->truncated += t->status == FTC_ERR_TRUNCATED;
}

/* P7: has a message of a dead rank come as a whole that the receive would take? */
static bool has_missed(struct ftc_messages_world *w, int rank,
                       const struct ftc_messages_entry *receive, int from)
{
    struct ftc_messages_process *sender = &w->process[from];

    for (int i = 0; i < sender->at; i++)
        if (sender->entry[i].transfer.sends && sender->entry[i].transfer.rank == rank &&
            sender->entry[i].arrived && !sender->entry[i].taken &&
            !is_cancelled(&sender->entry[i]) &&
            fits(&receive->transfer, from, &sender->entry[i].transfer))
            return true;
    return false;
}

static void judge_failed(struct ftc_messages_world *w, int rank, struct ftc_messages_entry *entry)
{
    const struct ftc_transfer *t = &entry->transfer;
    int other = t->sends || t->rank >= 0 ? t->rank : t->from;

    w->sums->failed++;
    if (other < 0 || w->process[rank].notice_of[other] == 0)
        ftc_messages_violate(w, "transfer %d of rank %d ends by a failure that there was not",
                             (int)(entry - w->process[rank].entry), rank);
    else if (!t->sends && t->from < 0 && has_missed(w, rank, entry, other))
        ftc_messages_violate(w, "rank %d misses a message that has come from rank %d", rank, other);
}

static void judge_sent(struct ftc_messages_world *w, int rank,
                       const struct ftc_messages_entry *entry)
{
    const struct ftc_transfer *t = &entry->transfer;
    const struct ftc_messages_process *to = &w->process[t->rank];

    if (t->synchronous && !entry->taken)
        ftc_messages_violate(w, "a synchronous send of rank %d ends, and was not matched", rank);
    if (entry->withdrawn && to->alive && !w->process[rank].knows)
        ftc_messages_violate(w, "a send of rank %d succeeds that was withdrawn", rank);
}

/* P10 */
static void judge_cancelled(struct ftc_messages_world *w, int rank,
                            const struct ftc_messages_entry *entry)
{
    const struct ftc_transfer *t = &entry->transfer;

    w->sums->cancelled++;
    if (!entry->cancelled)
        ftc_messages_violate(w, "a transfer of rank %d was cancelled, but not by it", rank);
    if (!t->sends)
        return;
    const struct ftc_messages_process *to = &w->process[t->rank];
    if (entry->taken && !to->knows) /* its receive has not succeeded: it would have said so */
        ftc_messages_violate(w, "a send of rank %d is cancelled that was matched", rank);
    if (!entry->withdrawn && t->rank != rank && !to->left && !to->knows)
        ftc_messages_violate(w, "a send of rank %d is cancelled by itself", rank);
}

static void judge_ended(struct ftc_messages_world *w, int rank, struct ftc_messages_entry *entry)
{
    struct ftc_transfer *t = &entry->transfer;

    entry->ended = true;
    ftc_messages_say(w, "rank %d: transfer %d ends with %d", rank,
                     (int)(entry - w->process[rank].entry), t->status);
    if (entry->succeeded && t->status != FTC_SUCCESS && t->status != FTC_ERR_CANCELLED)
        ftc_messages_violate(w, "a send of rank %d that had succeeded ends otherwise", rank);
    entry->succeeded = t->status == FTC_SUCCESS;
    if (t->status == FTC_ERR_RANK_FAILED) {
        judge_failed(w, rank, entry);
    } else if (t->status == FTC_ERR_CANCELLED) {
        judge_cancelled(w, rank, entry);
    } else if (t->status == FTC_ERR_REVOKED) {
        w->sums->revoked++;
        if (!w->process[rank].knows)
            ftc_messages_violate(w, "rank %d knows of a revoke that it has not learnt of", rank);
    } else if (t->sends) {
        judge_sent(w, rank, entry);
    } else {
        judge_bytes(w, rank, entry);
    }
    if (t->sends)
        memset(entry->buffer, OVERWRITTEN, sizeof(entry->buffer));
}

static void judge_memory(struct ftc_messages_world *w, int rank)
{
    size_t ready;

    for (int from = 0; from < w->n; from++)
        if (ftc_matching_kept(w->process[rank].matching, from, &ready) > (size_t)w->story->credit)
            ftc_messages_violate(w, "rank %d keeps more than the credit of rank %d", rank, from);
}

void ftc_messages_judge(struct ftc_messages_world *w, int rank)
{
    struct ftc_messages_process *p = &w->process[rank];

    for (int i = 0; i < p->at; i++)
        if (!p->entry[i].transfer.sends && p->entry[i].transfer.from >= 0 && !p->entry[i].matched)
            judge_match(w, rank, &p->entry[i]);
    for (int i = 0; i < p->at; i++)
        if (!p->entry[i].ended && ftc_transfer_has_ended(&p->entry[i].transfer))
            judge_ended(w, rank, &p->entry[i]);
    judge_memory(w, rank);
}

/* P8 */
void ftc_messages_judge_interruption(struct ftc_messages_world *w, int rank,
                                     struct ftc_messages_entry *entry, bool interrupted)
{
    struct ftc_messages_process *p = &w->process[rank];
    const struct ftc_transfer *t = &entry->transfer;
    bool waits = !t->sends && t->rank == FTC_MATCHING_ANY && t->from < 0;
    bool last = w->n > 1, due = false;

    for (int r = 0; r < w->n; r++) {
        last = last && (r == rank || p->notice_of[r] > 0);
        due = due || (p->notice_of[r] > entry->notices && !p->recognized[r]);
    }
    if (interrupted != (waits && (last || due)))
        ftc_messages_violate(w, "a wait of rank %d for receive %d is %s", rank,
                             (int)(entry - p->entry),
                             interrupted ? "interrupted for nothing" : "not interrupted");
    if (interrupted)
        entry->notices = p->notices;
    if (ftc_matching_waits_for_self(p->matching, t) !=
        ((t->rank == rank || w->n == 1) && (t->sends ? !entry->taken : t->from < 0)))
        ftc_messages_violate(w, "transfer %d of rank %d waits for its rank, or does not",
                             (int)(entry - p->entry), rank);
}

/* --- when nothing more can happen --- */

static void judge_send_left(struct ftc_messages_world *w, int rank,
                            const struct ftc_messages_entry *entry)
{
    int to = entry->transfer.rank;

    if (!w->process[to].alive)
        ftc_messages_violate(w, "rank %d sends to rank %d, which has failed, for ever", rank, to);
    else if (entry->taken)
        ftc_messages_violate(w, "a send of rank %d does not end, though it was matched", rank);
    else if (atomic_load(&entry->transfer.state) == FTC_TRANSFER_WITHDRAWING)
        ftc_messages_violate(w, "a cancelled send of rank %d does not end", rank);
}

/* P3: a sender whose messages were all taken lacks less than half of its credit. */
static void judge_credit(struct ftc_messages_world *w, int from, int to)
{
    size_t ready, half = (size_t)w->story->credit / 2;
    const struct ftc_messages_process *sender = &w->process[from], *receiver = &w->process[to];

    if (half < FTC_MATCHING_OVERHEAD || w->revoked || !sender->alive || !receiver->alive ||
        sender->left || receiver->left || ftc_matching_kept(receiver->matching, from, &ready) > 0)
        return;
    if (!ftc_matching_has_credit(sender->matching, to, half - FTC_MATCHING_OVERHEAD))
        ftc_messages_violate(w, "rank %d does not give credit back to rank %d", to, from);
}

static void judge_receive_left(struct ftc_messages_world *w, int rank,
                               const struct ftc_messages_entry *entry)
{
    const struct ftc_transfer *t = &entry->transfer;

    if (t->from >= 0)
        ftc_messages_violate(w, "a receive of rank %d does not end, though it was matched", rank);
    if (t->rank >= 0 && !w->process[t->rank].alive)
        ftc_messages_violate(w, "rank %d waits for rank %d, which has failed", rank, t->rank);
    for (int from = 0; from < w->n; from++)
        for (int i = 0; i < w->process[from].at; i++) {
            const struct ftc_messages_entry *send = &w->process[from].entry[i];
            bool comes = w->process[from].alive || send->arrived;
            if (send->transfer.sends && send->transfer.rank == rank && comes && !send->taken &&
                send->transfer.status != FTC_ERR_RANK_FAILED && !is_cancelled(send) &&
                fits(t, from, &send->transfer))
                ftc_messages_violate(w, "rank %d does not receive message %d of rank %d", rank, i,
                                     from);
        }
}

void ftc_messages_judge_end(struct ftc_messages_world *w)
{
    for (int rank = 0; rank < w->n; rank++) {
        struct ftc_messages_process *p = &w->process[rank];
        for (int i = 0; p->alive && i < p->at; i++) {
            if (!is_under_way(&p->entry[i]))
                continue;
            w->sums->lonely++;
            if (p->knows)
                ftc_messages_violate(w, "a transfer of rank %d outlives the revoke", rank);
            else if (p->entry[i].transfer.sends)
                judge_send_left(w, rank, &p->entry[i]);
            else
                judge_receive_left(w, rank, &p->entry[i]);
        }
        for (int to = 0; to < w->n; to++)
            judge_credit(w, rank, to);
    }
}
