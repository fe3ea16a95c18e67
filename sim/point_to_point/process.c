/* The steps of a process. */
#include <string.h>

#include "collectives/frame.h"
#include "collectives/point_to_point/internal.h"
#include "include/ftcoll.h"
#include "sim/model/cluster.h"
#include "sim/point_to_point/world.h"

static void check(struct ftc_messages_world *w, int rank, int rc)
{
    if (rc == FTC_ERR_NOMEM)
        ftc_cluster_no_memory(w->n);
    if (rc != FTC_SUCCESS)
        ftc_messages_violate(w, "rank %d accuses a rank that is sound: %s", rank, ftc_last_error());
}

/* The send from a rank to another that this message speaks of; NULL: none. */
static struct ftc_messages_entry *spoken_of(struct ftc_messages_world *w, int from, int to,
                                            const unsigned char *message, size_t size, int *what)
{
    struct ftc_reader reader = {.data = message, .size = size};
    uint64_t communicator;
    uint16_t own;
    int kind;

    *what = FTC_MATCHING_WHATS;
    if (!ftc_frame_read(&reader, &kind, &own, &communicator))
        return NULL;
    *what = own & 0xff;
    (void)ftc_read_u32(&reader);
    return ftc_messages_send_of(w, from, to, ftc_read_u64(&reader));
}

/* The judge has to know which messages their receivers have dropped. */
static void note_answer(struct ftc_messages_world *w, int rank,
                        const struct ftc_matching_output *output)
{
    int what;
    struct ftc_messages_entry *send =
        spoken_of(w, output->to, rank, output->head, output->head_size, &what);

    w->sums->kept += what == FTC_MATCHING_KEPT;
    if (what != FTC_MATCHING_WITHDRAWN)
        return;
    w->sums->withdrawn++;
    if (send == NULL || send->taken || send->withdrawn)
        ftc_messages_violate(w, "rank %d withdraws a message that was taken", rank);
    else
        send->withdrawn = true;
}

/* After each input. */
static void settle(struct ftc_messages_world *w, int rank)
{
    struct ftc_messages_process *p = &w->process[rank];
    const struct ftc_matching_output *output;

    while (p->alive && (output = ftc_matching_next_output(p->matching)) != NULL)
        if (!ftc_messages_struck(w, rank)) {
            note_answer(w, rank, output);
            ftc_messages_send(w, rank, output);
        }
    if (p->alive)
        ftc_messages_judge(w, rank);
}

void ftc_messages_start(struct ftc_messages_world *w, int rank)
{
    struct ftc_messages_process *p = &w->process[rank];
    int index = p->at;
    const struct ftc_messages_transfer *plan = &w->story->transfer[rank][index];
    struct ftc_messages_entry *entry = &p->entry[index];
    struct ftc_transfer *t = &entry->transfer;

    if (plan->matched && entry->held == NULL &&
        (entry->held = ftc_matching_match(p->matching, plan->rank, plan->tag,
                                          (uint8_t)plan->context)) != NULL) {
        ftc_messages_say(w, "rank %d matches a message for receive %d", rank, index);
        return;
    }
    p->at++;
    ftc_messages_say(w, "rank %d starts %s %d: rank %d, tag %d, context %d, %d bytes%s", rank,
                     plan->sends ? "send" : "receive", index, plan->rank, plan->tag, plan->context,
                     plan->size, plan->synchronous ? ", synchronous" : "");
    *t = (struct ftc_transfer){.sends = plan->sends,
                               .synchronous = plan->synchronous,
                               .rank = plan->rank,
                               .tag = plan->tag,
                               .context = (uint8_t)plan->context,
                               .buffer = entry->buffer,
                               .matched = entry->held,
                               .size = (size_t)plan->size};
    memset(entry->buffer, 0, sizeof(entry->buffer));
    for (int i = 0; plan->sends && i < plan->size; i++)
        entry->buffer[i] = ftc_messages_byte(rank, index, i);
    entry->started = true;
    w->sums->sent += plan->sends;
    w->sums->matched += entry->held != NULL;
    check(w, rank, ftc_matching_start(p->matching, t));
    settle(w, rank);
}

/* The judge has to know of a message that has come as a whole. */
static void note_arrival(struct ftc_messages_world *w, int rank, int from,
                         const struct ftc_buffer *message)
{
    int what;
    struct ftc_messages_entry *send = spoken_of(w, from, rank, message->data, message->size, &what);

    if (what == FTC_MATCHING_EAGER && send != NULL)
        send->arrived = true;
}

void ftc_messages_take(struct ftc_messages_world *w, int rank, int from, struct ftc_buffer *message)
{
    ftc_messages_say(w, "rank %d takes a message of %d, what %d", rank, from, message->data[2]);
    note_arrival(w, rank, from, message);
    check(w, rank, ftc_matching_receive(w->process[rank].matching, from, message));
    settle(w, rank);
}

void ftc_messages_hear(struct ftc_messages_world *w, int rank, int dead)
{
    struct ftc_messages_process *p = &w->process[rank];

    ftc_messages_say(w, "rank %d hears that %d has failed", rank, dead);
    p->notice_of[dead] = ++p->notices;
    check(w, rank, ftc_matching_notice(p->matching, dead));
    settle(w, rank);
}

static bool is_refused(struct ftc_messages_world *w)
{
    return w->story->copies == FTC_MESSAGES_COPY_NONE ||
           (w->story->copies == FTC_MESSAGES_COPY_SOME && ftc_messages_below(w, 4) == 0);
}

static enum ftc_copied copy(struct ftc_messages_world *w, int rank,
                            const struct ftc_matching_copy *copy)
{
    bool refused = copy->rank != rank && is_refused(w);

    if (!w->process[copy->rank].alive)
        return FTC_COPY_NOBODY;
    w->sums->copied += !refused;
    w->sums->refused += refused;
    if (refused)
        return FTC_COPY_REFUSED;
    memcpy(copy->to, (const void *)(uintptr_t)copy->address, copy->size);
    if (copy->mark == NULL || ftc_messages_below(w, 2) == 0)
        return FTC_COPY_DONE;
    *copy->mark = *(const uint64_t *)(uintptr_t)copy->mark_address;
    return FTC_COPY_MARKED;
}

void ftc_messages_copy(struct ftc_messages_world *w, int rank)
{
    struct ftc_messages_process *p = &w->process[rank];
    struct ftc_matching_copy next;

    if (!ftc_matching_next_copy(p->matching, &next))
        return;
    enum ftc_copied result = copy(w, rank, &next);
    ftc_messages_say(w, "rank %d copies %zu bytes from %d: %d", rank, next.size, next.rank,
                     (int)result);
    check(w, rank, ftc_matching_copied(p->matching, next.transfer, result));
    settle(w, rank);
}

void ftc_messages_learn(struct ftc_messages_world *w, int rank)
{
    ftc_messages_say(w, "rank %d learns of the revoke", rank);
    w->process[rank].knows = true;
    ftc_matching_revoke(w->process[rank].matching);
    settle(w, rank);
}

bool ftc_messages_may_leave(const struct ftc_messages_world *w, int rank)
{
    const struct ftc_messages_process *p = &w->process[rank];
    bool may = w->story->leaves && !p->left && !p->knows && p->at == w->story->transfers[rank];

    for (int i = 0; may && i < p->at; i++)
        may = p->entry[i].ended;
    return may;
}

void ftc_messages_leave(struct ftc_messages_world *w, int rank)
{
    struct ftc_messages_process *p = &w->process[rank];

    ftc_messages_say(w, "rank %d leaves", rank);
    p->left = true;
    w->sums->left++;
    for (int i = 0; i < p->at; i++)
        p->entry[i].given = true;
    ftc_matching_leave(p->matching);
    settle(w, rank);
}

/* --- what a caller does beside starting --- */

static void recognize(struct ftc_messages_world *w, int rank)
{
    struct ftc_messages_process *p = &w->process[rank];
    int dead = (int)ftc_messages_below(w, (uint64_t)w->n);

    if (p->notice_of[dead] == 0)
        return;
    ftc_messages_say(w, "rank %d recognises that %d has failed", rank, dead);
    p->recognized[dead] = true;
    ftc_matching_recognize(p->matching, dead);
}

static void cancel(struct ftc_messages_world *w, int rank, struct ftc_messages_entry *entry)
{
    const struct ftc_transfer *t = &entry->transfer;
    bool ended = ftc_transfer_has_ended(t), took = t->from >= 0;
    int status = t->status;

    ftc_messages_say(w, "rank %d cancels transfer %d", rank, (int)(entry - w->process[rank].entry));
    entry->cancelled = true;
    check(w, rank, ftc_matching_cancel(w->process[rank].matching, &entry->transfer));
    entry->ended = ended && ftc_transfer_has_ended(t) && t->status == status;
    if (took && !ended && ftc_transfer_has_ended(t))
        ftc_messages_violate(w, "rank %d cancels a receive that has taken a message", rank);
}

void ftc_messages_call(struct ftc_messages_world *w, int rank)
{
    struct ftc_messages_process *p = &w->process[rank];
    struct ftc_messages_entry *entry = &p->entry[ftc_messages_below(w, (uint64_t)p->at)];
    uint64_t what = ftc_messages_below(w, 8);

    if (what == 0)
        recognize(w, rank);
    if (entry->given)
        return;
    if (what == 1 && w->story->cancels) {
        cancel(w, rank, entry);
    } else if (what > 1 && entry->ended) {
        entry->given = true;
    } else if (what > 1) {
        bool interrupted = ftc_matching_interrupts(p->matching, &entry->transfer);
        w->sums->interrupted += interrupted;
        ftc_messages_judge_interruption(w, rank, entry, interrupted);
    }
    settle(w, rank);
}
