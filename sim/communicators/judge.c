/* Checks what communicators promise. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "collectives/communicators/roll.h"
#include "include/ftcoll.h"
#include "sim/communicators/world.h"
#include "sim/model/cluster.h"

struct ftc_comms_known *ftc_comms_find_known(struct ftc_comms_process *p, uint64_t number)
{
    for (int i = 0; i < p->knowns; i++)
        if (p->known[i].number == number)
            return &p->known[i];
    return NULL;
}

static struct ftc_comms_known *add_known(struct ftc_comms_world *w, int rank, uint64_t number)
{
    struct ftc_comms_process *p = &w->process[rank];

    if (p->knowns == FTC_COMMS_KNOWN) {
        ftc_comms_violate(w, "rank %d has too many communicators", rank);
        return NULL;
    }
    p->known[p->knowns] = (struct ftc_comms_known){.number = number};
    return &p->known[p->knowns++];
}

/* Notes that this process has the communicator. NULL: it has too many. */
static struct ftc_comms_known *note(struct ftc_comms_world *w, int rank,
                                    const struct ftc_communicator *c)
{
    struct ftc_comms_known *known = add_known(w, rank, ftc_communicator_name(c));

    if (known == NULL)
        return NULL;
    known->size = ftc_communicator_size(c);
    for (int i = 0; i < known->size; i++)
        known->job_rank[i] = ftc_communicator_job_rank(c, i);
    return known;
}

/* The entry of a communicator in which a call ends. The world and temporary communicators get one
 * when it is first needed. */
static struct ftc_comms_known *known_of(struct ftc_comms_world *w, int rank,
                                        const struct ftc_communicator *c)
{
    struct ftc_comms_known *known =
        ftc_comms_find_known(&w->process[rank], ftc_communicator_name(c));

    return known != NULL ? known : note(w, rank, c);
}

static bool has_member(const struct ftc_comms_known *known, int job_rank)
{
    for (int i = 0; i < known->size; i++)
        if (known->job_rank[i] == job_rank)
            return true;
    return false;
}

static bool same_members(const struct ftc_comms_known *a, const struct ftc_comms_known *b)
{
    return a->size == b->size &&
           memcmp(a->job_rank, b->job_rank, (size_t)a->size * sizeof(a->job_rank[0])) == 0;
}

/* --- agreement --- */

static const struct ftc_comms_outcome *find_outcome(const struct ftc_comms_process *p,
                                                    const struct ftc_comms_outcome *like)
{
    for (int i = p->outcomes - 1; i >= 0; i--) {
        const struct ftc_comms_outcome *o = &p->outcome[i];
        if (o->number == like->number && o->after == like->after && o->ordinal == like->ordinal)
            return o;
    }
    return NULL;
}

/* All that live and have delivered the call have the same outcome. */
static void agree(struct ftc_comms_world *w, int rank, const struct ftc_comms_known *known,
                  bool after, int ordinal, uint64_t digest)
{
    struct ftc_comms_process *p = &w->process[rank];
    const struct ftc_comms_outcome mine = {
        .number = known->number, .after = after, .ordinal = ordinal, .digest = digest};

    p->outcome[p->outcomes++] = mine; /* each item of the program ends once */
    for (int other = 0; other < w->n; other++) {
        const struct ftc_comms_outcome *theirs = find_outcome(&w->process[other], &mine);
        if (theirs != NULL && theirs->digest != digest && w->process[other].alive &&
            has_member(known, other))
            ftc_comms_violate(w, "call %d%s of %" PRIx64 ": ranks %d and %d differ", mine.ordinal,
                              after ? " after the revoke" : "", known->number, rank, other);
    }
}

static uint64_t fold(uint64_t sum, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        sum = ftc_mix(sum ^ ((const unsigned char *)bytes)[i]) + 1;
    return sum;
}

static uint64_t fold_set(uint64_t sum, const struct ftc_set *set)
{
    for (int rank = ftc_set_next(set, 0); rank >= 0; rank = ftc_set_next(set, rank + 1))
        sum = ftc_mix(sum + (uint64_t)rank + 1);
    return sum;
}

static uint64_t outcome_of(const struct ftc_output *is, bool value)
{
    uint64_t sum = ftc_mix((uint64_t)(is->status + 1000));

    if (is->decision == NULL)
        return sum;
    sum = ftc_mix(sum + (uint64_t)is->decision->ballot.i * 77 + is->decision->ballot.s);
    sum = fold_set(sum, &is->decision->failed);
    return value && is->decision->value.buffer != NULL
               ? fold(sum, ftc_value_bytes(&is->decision->value), is->decision->value.size)
               : sum;
}

/* Calls of one communicator end in the order of their start. */
static void check_order(struct ftc_comms_world *w, int rank, struct ftc_comms_known *known,
                        bool after, uint64_t ticket)
{
    if (ticket < known->last_ticket[after])
        ftc_comms_violate(w,
                          "rank %d: a call of %" PRIx64 " ends before one that was started "
                          "earlier",
                          rank, known->number);
    known->last_ticket[after] = ticket;
    known->delivered[after]++;
}

/* --- results --- */

/* C9: a process that lives and does not have a revoked child is failed in that alone. */
static bool may_be_failed(struct ftc_comms_process *p, uint64_t number, bool after)
{
    const struct ftc_comms_known *known = ftc_comms_find_known(p, number);

    return !p->alive || (after && known != NULL && known->forgotten);
}

static void check_failed(struct ftc_comms_world *w, int rank, const struct ftc_comms_known *known,
                         bool after, const struct ftc_set *failed)
{
    for (int r = ftc_set_next(failed, 0); r >= 0; r = ftc_set_next(failed, r + 1))
        if (!may_be_failed(&w->process[known->job_rank[r]], known->number, after))
            ftc_comms_violate(w, "rank %d, %" PRIx64 ": rank %d lives and is in the failed set",
                              rank, known->number, known->job_rank[r]);
}

static void check_sum(struct ftc_comms_world *w, int rank, const struct ftc_comms_known *known,
                      int item, const struct ftc_value *value, const struct ftc_set *failed)
{
    uint64_t sum[2], inputs = 0;

    if (value->size != sizeof(sum)) {
        ftc_comms_violate(w, "rank %d: item %d has %zu bytes", rank, item, value->size);
        return;
    }
    memcpy(sum, ftc_value_bytes(value), sizeof(sum));
    for (int r = 0; r < known->size; r++) {
        int count = (int)(sum[0] >> (4 * r) & 15), job = known->job_rank[r];
        bool names = failed == NULL || ftc_set_has(failed, r);
        inputs += (uint64_t)count;
        if (count > 1)
            ftc_comms_violate(w, "rank %d, item %d: the input of %d is in it %d times", rank, item,
                              job, count);
        if (count == 0 && w->process[job].alive)
            ftc_comms_violate(w, "rank %d, item %d: %d lives and was left out", rank, item, job);
        if (count == 0 && w->story->settings.scheme == FTC_SCHEME_LIST && !names)
            ftc_comms_violate(w, "rank %d, item %d: %d was left out and is not named", rank, item,
                              job);
    }
    if (sum[1] != inputs * ftc_comms_tag(known->number, item))
        ftc_comms_violate(w, "rank %d, item %d: an input of another call is in it", rank, item);
}

static void check_broadcast(struct ftc_comms_world *w, int rank,
                            const struct ftc_comms_known *known, int item,
                            const struct ftc_output *is)
{
    int root = w->story->item[item].who % known->size;
    uint64_t sent[2] = {UINT64_C(1) << (4 * root), ftc_comms_tag(known->number, item)};

    if (is->status == FTC_ERR_ROOT_FAILED && w->process[known->job_rank[root]].alive)
        ftc_comms_violate(w, "rank %d, item %d: the root lives and is said to have failed", rank,
                          item);
    if (is->status == FTC_SUCCESS && known->job_rank[root] != rank &&
        (is->result.size != sizeof(sent) ||
         memcmp(ftc_value_bytes(&is->result), sent, sizeof(sent)) != 0))
        ftc_comms_violate(w, "rank %d, item %d: the root has sent something else", rank, item);
}

static void check_result(struct ftc_comms_world *w, int rank, const struct ftc_comms_known *known,
                         int item, const struct ftc_output *is)
{
    int call = w->story->item[item].call;
    bool root = known->job_rank[w->story->item[item].who % known->size] == rank;

    if (call == FTC_CALL_BCAST)
        check_broadcast(w, rank, known, item, is);
    if (is->status == FTC_SUCCESS && call == FTC_CALL_ALLREDUCE)
        check_sum(w, rank, known, item, &is->result, &is->decision->failed);
    if (is->status == FTC_SUCCESS && call == FTC_CALL_REDUCE && root && is->result.size > 0)
        check_sum(w, rank, known, item, &is->result, NULL);
}

/* C9: the flag lacks the bits of the ranks that agree, and no others. */
static void check_flag(struct ftc_comms_world *w, int rank, const struct ftc_comms_output *output)
{
    const struct ftc_value *value = &output->is.result;
    int size = ftc_communicator_size(output->communicator);
    uint32_t lacks = ~ftc_roll_flag(ftc_value_bytes(value), value->size, size);
    uint32_t own = UINT32_C(1) << ftc_communicator_self(output->communicator);

    if ((lacks & own) == 0 || (size < 32 && lacks >> size != 0))
        ftc_comms_violate(w, "rank %d agrees on a flag that lacks %x", rank, lacks);
}

void ftc_comms_judge_delivery(struct ftc_comms_world *w, int rank, int item,
                              const struct ftc_comms_output *output)
{
    struct ftc_comms_known *known = known_of(w, rank, output->communicator);
    bool reduce = w->story->item[item].call == FTC_CALL_REDUCE;

    if (known == NULL)
        return;
    if (output->is.decision != NULL)
        check_failed(w, rank, known, output->after, &output->is.decision->failed);
    if (w->story->item[item].call == FTC_CALL_AGREE)
        check_flag(w, rank, output);
    else if (!output->after && !(reduce && output->is.result.buffer == NULL))
        check_result(w, rank, known, item, &output->is);
    if (w->story->item[item].call == FTC_CALL_AGREE) /* wherever it was decided */
        agree(w, rank, known, true, -1 - item, outcome_of(&output->is, true));
    else if (!reduce)
        agree(w, rank, known, output->after, known->delivered[output->after],
              outcome_of(&output->is, true));
    check_order(w, rank, known, output->after, output->ticket);
}

void ftc_comms_judge_forgotten(struct ftc_comms_world *w, int rank, uint64_t number)
{
    struct ftc_comms_known *known = ftc_comms_find_known(&w->process[rank], number);

    if (!w->story->revokes) /* nobody looks at it, and the explorer has fewer states */
        return;
    if (known == NULL)
        known = add_known(w, rank, number);
    if (known != NULL)
        known->forgotten = true;
}

/* --- children --- */

/* Two creations never have the same number. All parts of one split have it. */
static void check_number(struct ftc_comms_world *w, int rank, const struct ftc_comms_known *mine)
{
    for (int other = 0; other < w->n; other++) {
        struct ftc_comms_process *p = &w->process[other];
        for (int i = 0; i < p->knowns && p->alive; i++) {
            const struct ftc_comms_known *theirs = &p->known[i];
            if (theirs == mine || theirs->number != mine->number || theirs->size == 0)
                continue;
            if (theirs->parent != mine->parent || theirs->ordinal != mine->ordinal ||
                theirs->after != mine->after || other == rank)
                ftc_comms_violate(w, "ranks %d and %d: two creations have the number %" PRIx64,
                                  rank, other, mine->number);
            else if (!same_members(mine, theirs) &&
                     (has_member(mine, other) || has_member(theirs, rank)))
                ftc_comms_violate(w, "ranks %d and %d have different children %" PRIx64, rank,
                                  other, mine->number);
        }
    }
}

/* A rank that the decision of the creation names as failed is in no child but that of a dup. */
static void check_failed_out(struct ftc_comms_world *w, int rank,
                             const struct ftc_comms_output *output)
{
    const struct ftc_communicator *parent = output->communicator, *child = output->child;
    const struct ftc_set *failed = &output->is.decision->failed;

    if (w->story->item[ftc_comms_item_of(&w->process[rank], output->ticket)].creation ==
        FTC_CREATION_DUP)
        return;
    for (int r = ftc_set_next(failed, 0); r >= 0; r = ftc_set_next(failed, r + 1))
        if (ftc_communicator_rank_of(child, ftc_communicator_job_rank(parent, r)) >= 0)
            ftc_comms_violate(w, "rank %d: a failed rank is in the child %" PRIx64, rank,
                              ftc_communicator_name(child));
}

/* C3: members of a child take memory over that they have all left. */
static void check_spare(struct ftc_comms_world *w, int rank, const struct ftc_comms_output *output)
{
    const struct ftc_communicator *child = output->child;
    uint64_t left = 0;

    for (int i = 0; i < w->boards.count; i++)
        if (w->boards.board[i].number == output->spare)
            left = w->boards.board[i].left;
    for (int r = 0; output->spare != 0 && r < ftc_communicator_size(child); r++)
        if ((left >> ftc_communicator_job_rank(child, r) & 1) == 0)
            ftc_comms_violate(w,
                              "rank %d: memory of %" PRIx64 " is taken, which rank %d has not left",
                              rank, output->spare, ftc_communicator_job_rank(child, r));
    w->sums->spares += output->spare != 0;
}

void ftc_comms_judge_child(struct ftc_comms_world *w, int rank,
                           const struct ftc_comms_output *output)
{
    uint64_t parent = ftc_communicator_name(output->communicator);
    const struct ftc_comms_known *from = ftc_comms_find_known(&w->process[rank], parent);
    int ordinal = from == NULL ? 0 : from->delivered[output->after];
    uint64_t number = ftc_communicator_name(output->child);
    const struct ftc_comms_known *before = ftc_comms_find_known(&w->process[rank], number);
    struct ftc_comms_known *known = note(w, rank, output->child);

    if (before != NULL && before->size == 0)
        ftc_comms_violate(w, "rank %d gets %" PRIx64 " after it has said GONE for it", rank,
                          number);
    if (known == NULL)
        return;
    known->parent = parent;
    known->after = output->after;
    known->ordinal = ordinal;
    check_number(w, rank, known);
    if (output->kind != FTC_COMMS_OPEN)
        return;
    check_failed_out(w, rank, output);
    check_spare(w, rank, output);
}

/* Who lives and takes part is a member. Who has failed is none, but in a dup. */
static void check_members(struct ftc_comms_world *w, int rank, const struct ftc_comms_item *item,
                          const struct ftc_comms_output *output,
                          const struct ftc_comms_known *child)
{
    const struct ftc_communicator *parent = output->communicator;

    for (int r = 0; r < ftc_communicator_size(parent); r++) {
        int job = ftc_communicator_job_rank(parent, r);
        bool is_in = has_member(child, job);
        bool must = w->process[job].alive && !output->after &&
                    (item->creation != FTC_CREATION_SPLIT || item->color[job] == item->color[rank]);
        if (must && !is_in)
            ftc_comms_violate(w, "rank %d: rank %d lives and is not in the child %" PRIx64, rank,
                              job, child->number);
        if (is_in && item->creation == FTC_CREATION_SPLIT && item->color[job] != item->color[rank])
            ftc_comms_violate(w, "rank %d: rank %d has another color", rank, job);
    }
}

void ftc_comms_judge_created(struct ftc_comms_world *w, int rank, int at,
                             const struct ftc_comms_output *output)
{
    const struct ftc_comms_item *item = &w->story->item[at];
    struct ftc_comms_known *parent = known_of(w, rank, output->communicator), *child = NULL;
    uint64_t outcome = outcome_of(&output->is, false);

    if (parent == NULL)
        return;
    if (output->child != NULL) {
        uint64_t number = ftc_communicator_name(output->child);
        child = ftc_comms_find_known(&w->process[rank], number);
        if (child == NULL) {
            ftc_comms_judge_child(w, rank, output);
            child = ftc_comms_find_known(&w->process[rank], number);
        }
        if (child == NULL)
            return;
        if (output->is.decision != NULL)
            check_members(w, rank, item, output, child);
        outcome = ftc_mix(outcome + ftc_communicator_by_messages(output->child));
        if (item->creation != FTC_CREATION_SPLIT)
            outcome = fold(ftc_mix(outcome + number), child->job_rank,
                           (size_t)child->size * sizeof(child->job_rank[0]));
    }
    if (item->creation != FTC_CREATION_SPLIT || output->child == NULL)
        agree(w, rank, parent, output->after, parent->delivered[output->after],
              item->creation == FTC_CREATION_SPLIT ? 0 : outcome);
    check_order(w, rank, parent, output->after, output->ticket);
}

/* --- messages --- */

/* Number of messages that the member did not take. */
static uint64_t not_taken(const struct ftc_member *member)
{
    const uint32_t *rules = ftc_member_rules(member);

    return rules[FTC_RULE_KEEP_EARLY] + rules[FTC_RULE_DROP_SMALLER] + rules[FTC_RULE_DROP_FREED] +
           rules[FTC_RULE_DROP_EPOCH];
}

/* Do both know a communicator of this number, and different ones? */
static bool is_foreign(struct ftc_comms_world *w, int rank, int from, uint64_t number)
{
    const struct ftc_comms_known *mine = ftc_comms_find_known(&w->process[rank], number);
    const struct ftc_comms_known *theirs = ftc_comms_find_known(&w->process[from], number);

    return mine != NULL && theirs != NULL && mine->size > 0 && theirs->size > 0 &&
           !same_members(mine, theirs);
}

void ftc_comms_judge_arrival(struct ftc_comms_world *w, int rank, int from,
                             struct ftc_buffer *message)
{
    struct ftc_comms_engine *engine = w->process[rank].engine;
    uint64_t number = ftc_frame_communicator(message);
    bool after = ftc_communicator_is_after(number);

    if (after)
        number &= ~FTC_COMMUNICATOR_REVOKED;
    const struct ftc_communicator *c = ftc_communicators_find(ftc_comms_engine_set(engine), number);
    const struct ftc_member *member = c == NULL ? NULL : ftc_comms_engine_member(c, after);
    bool foreign = member != NULL && is_foreign(w, rank, from, number) &&
                   ftc_frame_kind(message) != FTC_FRAME_COMMUNICATOR;
    uint64_t before = foreign ? not_taken(member) : 0;
    ftc_comms_check(w, rank, "a message", ftc_comms_engine_receive(engine, from, message));
    if (foreign && not_taken(member) == before)
        ftc_comms_violate(w, "rank %d takes a message of %" PRIx64 " of another history from %d",
                          rank, number, from);
}

/* --- the end --- */

static void check_rest(struct ftc_comms_world *w, int rank)
{
    const struct ftc_communicators *set = ftc_comms_engine_set(w->process[rank].engine);
    const struct ftc_communicator *rest = ftc_communicators_next(set, NULL);

    if (rest != NULL)
        ftc_comms_violate(w, "rank %d retains %" PRIx64 " for ever", rank,
                          ftc_communicator_name(rest));
    if (ftc_communicators_early(set) > 0)
        ftc_comms_violate(w, "rank %d keeps %d messages that nobody will want", rank,
                          ftc_communicators_early(set));
}

void ftc_comms_judge_end(struct ftc_comms_world *w)
{
    for (int rank = 0; rank < w->n && !ftc_comms_broken(w); rank++) {
        const struct ftc_comms_process *p = &w->process[rank];
        if (!p->alive)
            continue;
        if (p->phase == FTC_COMMS_PHASE_RUNS)
            ftc_comms_violate(w, "rank %d waits for ever, before items %d and %d of %d", rank,
                              p->at[0], p->at[1], w->story->items);
        check_rest(w, rank);
    }
}
