/* Looking into a member, for the API, ftcoll-status and tests. Nothing here changes the member. */
#include "collectives/agreement/collector.h"

uint64_t ftc_member_next_op(const struct ftc_member *m)
{
    return m->next_op;
}

const struct ftc_set *ftc_member_known_failed(const struct ftc_member *m)
{
    return &m->known;
}

const struct ftc_set *ftc_member_agreed_failed(const struct ftc_member *m)
{
    return &m->agreed;
}

struct ftc_epoch ftc_member_epoch(const struct ftc_member *m)
{
    return m->epoch;
}

const uint32_t *ftc_member_rules(const struct ftc_member *m)
{
    return m->rules;
}

uint64_t ftc_member_ballots(const struct ftc_member *m)
{
    return m->ballots;
}

const struct ftc_epoch *ftc_member_entered(const struct ftc_member *m)
{
    return &m->entered;
}

const uint64_t *ftc_member_pieces(const struct ftc_member *m)
{
    return m->pieces;
}

int ftc_member_retained(const struct ftc_member *m)
{
    return m->retained;
}

static bool stuck_behind(const struct ftc_ballot *b)
{
    bool takes = false, waits = false;

    if (b->position != 0 || b->phase != FTC_BALLOT_TREE || b->collector != &ftc_collector_tree)
        return false;
    for (int s = 0; s < b->child_size; s++) {
        takes |= b->child[s].arrived && b->child[s].failure_free;
        waits |= !b->child[s].arrived && !b->child[s].written_off;
    }
    return takes && waits && b->straggler_ns == 0;
}

bool ftc_member_owes(const struct ftc_member *m)
{
    const struct ftc_operation *op = m->newest;

    bool poked = op != NULL && ftc_ballot_exchanges(&op->ballot) && op->ballot.position == 0 &&
                 op->ballot.given_up;
    return poked || m->more_asked || m->timer_ns > 0;
}

bool ftc_member_stuck_behind(const struct ftc_member *m)
{
    bool limited = m->set.take != FTC_TAKE_LOWEST && m->set.straggler_ns > 0;

    for (const struct ftc_operation *op = m->oldest; limited && op != NULL; op = op->next)
        if (stuck_behind(&op->ballot))
            return true;
    return false;
}

const struct ftc_flip *ftc_member_flip(const struct ftc_member *m)
{
    return &m->flip;
}

const char *ftc_member_mismatch(const struct ftc_member *m)
{
    return m->mismatch != NULL ? m->mismatch : "";
}

void ftc_member_report(const struct ftc_member *m, struct ftc_member_report *report)
{
    *report = m->report;
    report->failed = &m->report_failed;
    report->wrong = &m->report_wrong;
}

static void waits_for_rank(struct ftc_member_activity *activity, enum ftc_wait wait, int rank)
{
    if (activity->waits == 0 || rank < activity->waits_for)
        activity->waits_for = rank;
    activity->wait = wait;
    activity->waits++;
}

static void waits_for_awaited(const struct ftc_awaited *list, int count, enum ftc_wait wait,
                              struct ftc_member_activity *activity)
{
    for (int i = 0; i < count; i++)
        if (!list[i].arrived && !list[i].written_off)
            waits_for_rank(activity, wait, list[i].rank);
}

/* The rank that this process waits for: the coordinator that it poked; or the ancestor that it
 * asked by PULL; or its broadcast parent; or, if nobody owes it the decision, the coordinator. */
static void waits_for_decision(const struct ftc_member *m, const struct ftc_operation *op,
                               struct ftc_member_activity *activity)
{
    const struct ftc_ballot *b = &op->ballot;

    if ((b->position < 0 || ftc_knows_failed(m, b->coordinator)) && op->poked > 0)
        waits_for_rank(activity, FTC_WAIT_COORDINATOR,
                       ftc_operation_coordinator(op, op->poked - 1));
    else if (b->pulled >= 0)
        waits_for_rank(activity, FTC_WAIT_DECISION, b->pulled);
    else if (ftc_ballot_exchanges(b) && b->position >= 0)
        waits_for_rank(activity, FTC_WAIT_DECISION, ftc_exchange_decider(m, b));
    else if (b->position > 0 && b->spread.dissemination != FTC_DISSEMINATION_TREE)
        waits_for_rank(activity, FTC_WAIT_DECISION, b->coordinator);
    else if (b->position > 0)
        waits_for_rank(
            activity, FTC_WAIT_DECISION,
            ftc_ballot_rank(b, ftc_topology_broadcast_parent(&m->set.tree, b->position)));
}

static void waits(const struct ftc_member *m, const struct ftc_operation *op,
                  struct ftc_member_activity *activity)
{
    const struct ftc_ballot *b = &op->ballot;

    if (ftc_ballot_exchanges(b) && b->given_up && b->position > 0) {
        waits_for_rank(activity, FTC_WAIT_COORDINATOR, b->coordinator);
        return;
    }
    switch (b->phase) {
    case FTC_BALLOT_GROUP:
        if (ftc_ballot_exchanges(b)) /* it waits for one round after the other */
            waits_for_rank(activity, FTC_WAIT_GROUP, b->group[b->round].rank);
        else
            waits_for_awaited(b->group, b->group_size, FTC_WAIT_GROUP, activity);
        break;
    case FTC_BALLOT_TREE:
        waits_for_awaited(b->child, b->child_size, FTC_WAIT_CHILD, activity);
        break;
    case FTC_BALLOT_RETRY:
        activity->wait = FTC_WAIT_NOTICE;
        break;
    case FTC_BALLOT_DONE:
        waits_for_decision(m, op, activity);
        break;
    }
}

/* The operation that the caller waits for, or the settlement that holds back the next one. */
static const struct ftc_operation *waiting(const struct ftc_member *m)
{
    if (ftc_member_busy(m))
        return m->newest;
    return ftc_member_held_back(m) ? ftc_operation_find(m, m->settling.open) : NULL;
}

int ftc_member_awaits(const struct ftc_member *m)
{
    struct ftc_member_activity activity = {.waits_for = -1};

    if (waiting(m) != NULL)
        waits(m, waiting(m), &activity);
    return activity.waits_for;
}

static void look_into(const struct ftc_member *m, const struct ftc_operation *op,
                      struct ftc_member_activity *activity)
{
    activity->kind = op->call.signature.kind;
    activity->op = op->k;
    activity->ballot = op->ballot.id;
    activity->root = op->call.signature.root;
    waits(m, op, activity);
}

void ftc_member_activity(const struct ftc_member *m, struct ftc_member_activity *activity)
{
    const struct ftc_operation *op = m->newest;

    *activity = (struct ftc_member_activity){.epoch = m->epoch,
                                             .waits_for = -1,
                                             .root = -1,
                                             .op = m->next_op > 0 ? m->next_op - 1 : 0,
                                             .known_failed = ftc_set_count(&m->known),
                                             .agreed_failed = ftc_set_count(&m->agreed)};
    if (op != NULL && !op->returned)
        look_into(m, op, activity);
}

void ftc_member_holding(const struct ftc_member *m, struct ftc_member_activity *activity)
{
    const struct ftc_operation *op = waiting(m);

    if (op == NULL || !ftc_operation_is_settlement(op))
        return;
    look_into(m, op, activity);
    activity->op -= FTC_SETTLEMENT;
}

static int reduce_targets(const struct ftc_member *m, int root, int ranks[], int room)
{
    int f = m->set.f, count = 0;
    int j = ftc_view_position(m->view, root, m->set.self);

    if (ftc_collects_directly(&m->set, m->view->size)) {
        if (j > 0 && room > 0)
            ranks[count++] = root;
        return count;
    }
    struct ftc_group group = ftc_topology_group(m->view->size, f, j);

    if (group.with_root && j != 0 && count < room)
        ranks[count++] = root;
    for (int i = 0; i < group.count && count < room; i++)
        if (group.first + i != j)
            ranks[count++] = ftc_view_rank(m->view, root, group.first + i);
    if (j > 0 && count < room)
        ranks[count++] =
            ftc_view_rank(m->view, root, ftc_topology_reduce_parent(f, m->set.reduce_arity, j));
    return count;
}

static int broadcast_targets(const struct ftc_member *m, const struct ftc_view *view, int root,
                             int ranks[], int room)
{
    int count = 0, j = ftc_view_position(view, root, m->set.self);

    for (int c = 0; j >= 0 && count < room; c++) {
        int child = ftc_topology_broadcast_child(&m->set.tree, view->size, j, c);
        if (child < 0)
            break;
        ranks[count++] = ftc_view_rank(view, root, child);
    }
    return count;
}

int ftc_member_targets(struct ftc_member *m, const struct ftc_signature *signature, int ranks[],
                       int room)
{
    int root = signature->root;

    if (root < 0 || ftc_set_has(&m->agreed, root) || ftc_set_has(&m->agreed, m->set.self))
        return 0;
    bool levels = ftc_member_two_levels(m, signature);
    /* Over two levels senders are bounded by the decision, or by the room for posts (S7b). */
    if (ftc_call_to_root(signature->kind))
        return levels ? 0 : reduce_targets(m, root, ranks, room);
    const struct ftc_view *view = levels ? ftc_levels_delegates(m, root) : m->view;
    return view == NULL ? FTC_ERR_NOMEM : broadcast_targets(m, view, root, ranks, room);
}
