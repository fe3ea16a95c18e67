/* Entering, starting and rotating ballots (agreement.md, rules 1, 3 and 7). */
#include <assert.h>

#include "collectives/agreement/collector.h"
#include "collectives/agreement/life.h"
#include "collectives/agreement/settle.h"

/* The collector of a ballot. All participants find the same. A ballot that does not collect makes
 * no use of it. */
static const struct ftc_collector *collector_of(const struct ftc_member *m,
                                                const struct ftc_operation *op)
{
    const struct ftc_ballot *b = &op->ballot;

    if (op->sums)
        return &ftc_collector_sums;
    if (op->exchanges && b->id.i == 0 && b->id.s == 0)
        return &ftc_collector_exchange;
    if (ftc_collects_directly(&m->set, b->size))
        return &ftc_collector_direct;
    return ftc_vote_suits(m, op) ? &ftc_collector_vote : &ftc_collector_tree;
}

static void ballot_reset(struct ftc_member *m, struct ftc_operation *op, struct ftc_ballot_id id,
                         struct ftc_view *participants)
{
    struct ftc_ballot *b = &op->ballot;

    ftc_ballot_clear(b);
    b->id = id;
    b->collects = id.i > 0 || id.s > 0 || op->first_collects;
    b->participants = ftc_view_ref(participants);
    b->coordinator = ftc_operation_coordinator(op, id.i);
    b->size = participants->size;
    b->position = ftc_ballot_position(b, m->set.self);
    b->phase = b->collects && b->position >= 0 ? FTC_BALLOT_GROUP : FTC_BALLOT_DONE;
    b->status = FTC_SUCCESS;
    b->collector = collector_of(m, op);
    b->straggler_ns = 0;
    b->waited = false;
    b->round = 0;
    b->given_up = false;
    b->holding = false;
    b->pulled = -1;
    b->info.count = 0;
    b->info.child = false;
    if (op->levels && b->position >= 0 && !op->returned)
        ftc_set_copy(&b->info.list, &op->missing);
    else
        ftc_set_clear(&b->info.list);
    ftc_set_clear(&b->asked);
    ftc_set_clear(&b->decide_sent);
    ftc_set_clear(&b->prepare_sent);
    assert(b->position >= 0 || op->levels);
    ftc_spread_reset(m, op);
}

/* agreement.md, rule 1: p contributes once, by UP: DECIDED(D) if it has delivered op k. */
static int ballot_contribute(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;
    struct ftc_message up = {.has_list = op->levels, .info = b->info};
    bool decided = op->decision != NULL && !FTC_MUTATED(CONTRIBUTE_UNDECIDED);
    int rc = 0;

    if (decided) {
        up.contribution.decision = op->decision;
        ftc_rule_taken(m, FTC_RULE_CONTRIBUTE_DECIDED);
    } else if (!ftc_call_from_root(op->call.signature.kind)) {
        rc = ftc_operation_is_settlement(op) ? ftc_settlement_contribute(m, op) : 0;
        up.contribution.value = op->input;
    }
    return rc == 0 ? b->collector->begin(m, op, &up) : rc;
}

/* Two levels. If another rank takes part for this node, this rank stands by. If this rank takes
 * part from now on, the ranks before it on its node have stopped. */
static int enter_level(struct ftc_member *m, struct ftc_operation *op, bool stood_by)
{
    if (!op->levels)
        return 0;
    if (op->ballot.position < 0) {
        ftc_rule_taken(m, FTC_RULE_STAND_BY);
        return 0;
    }
    if (stood_by)
        ftc_rule_taken(m, FTC_RULE_TAKE_OVER);
    return ftc_levels_learn_before(m, op, m->set.self);
}

/* c_0..c_{i-1} have failed (rule 1). */
static int learn_coordinators(struct ftc_member *m, const struct ftc_operation *op, uint32_t i)
{
    int rc = 0;

    for (uint32_t before = 0; rc == 0 && before < i; before++)
        rc = ftc_member_learn_rank(m, ftc_operation_coordinator(op, before));
    return rc;
}

static int ballot_enter(struct ftc_member *m, struct ftc_operation *op, struct ftc_ballot_id id,
                        struct ftc_view *participants, bool starts)
{
    bool stood_by = op->ballot.participants != NULL && op->ballot.position < 0;

    ballot_reset(m, op, id, participants);
    op->ballots++;
    m->ballots++;
    m->entered = (struct ftc_epoch){.op = op->k, .ballot = id};
    if (op->returned)
        ftc_rule_taken(m, FTC_RULE_RETAIN);
    int rc = learn_coordinators(m, op, id.i);
    if (rc == 0)
        rc = enter_level(m, op, stood_by);
    if (rc != 0)
        return rc;
    if (starts) {
        rc = ftc_repair_prepare(m, op);
        if (rc != 0)
            return rc;
    }
    rc = ftc_spread_wait(m, op);
    if (rc != 0)
        return rc;
    return op->ballot.collects && op->ballot.position >= 0 ? ballot_contribute(m, op) : 0;
}

int ftc_ballot_enter(struct ftc_member *m, struct ftc_operation *op, struct ftc_ballot_id id,
                     struct ftc_view *participants)
{
    return ballot_enter(m, op, id, participants, false);
}

/* agreement.md, rule 3: to start b is to fix its participants, send PREPARE, and enter b. */
int ftc_ballot_start(struct ftc_member *m, struct ftc_operation *op, struct ftc_ballot_id id)
{
    struct ftc_set members = {0};

    int rc = learn_coordinators(m, op, id.i);
    if (rc != 0)
        return rc;
    if (ftc_set_init(&members, m->set.ranks) != 0)
        return FTC_ERR_NOMEM;
    ftc_set_copy(&members, &op->view->set);
    ftc_set_subtract(&members, &m->known);
    if (op->levels)
        ftc_levels_keep_delegates(m, op->call.signature.root, &members);
    struct ftc_view *participants = ftc_view_new(&members);
    ftc_set_fini(&members);
    if (participants == NULL)
        return FTC_ERR_NOMEM;
    rc = ballot_enter(m, op, id, participants, true);
    ftc_view_unref(participants);
    return rc;
}

static int rotate_poke(struct ftc_member *m, struct ftc_operation *op, uint32_t i)
{
    struct ftc_message poke = {.ballot = {.i = i}};

    if (i < op->poked || (FTC_MUTATED(POKE_ONCE) && op->poked > 0))
        return 0;
    op->poked = i + 1;
    ftc_rule_taken(m, FTC_RULE_POKE);
    int rc = ftc_member_send(m, op, FTC_MESSAGE_POKE, ftc_operation_coordinator(op, i), &poke);
    return rc == 0 ? 1 : rc;
}

/* Rule 7: p knows that c_b failed. Or (two levels) p has become the delegate of its node, and takes
 * part in no ballot. */
static bool must_rotate(struct ftc_member *m, const struct ftc_operation *op)
{
    if (op->ballot.position >= 0)
        return ftc_knows_failed(m, op->ballot.coordinator);
    return ftc_levels_is_delegate(m, op) && !FTC_MUTATED(NO_BALLOT_FOR_DELEGATE);
}

/* agreement.md, rule 7, first half: p is undecided and knows that c_b failed. Rule 9, 3: in ballot
 * (0,0) of a settlement only the ranks that ask rotate. */
int ftc_ballot_rotate(struct ftc_member *m, struct ftc_operation *op)
{
    uint32_t i = op->ballot.id.i;
    bool idle = ftc_ballot_exchanges(&op->ballot) && !op->asks;

    if (op->returned || ftc_operation_plain_reduce(op) || idle || !must_rotate(m, op))
        return 0;
    while (i < (uint32_t)op->view->size && ftc_knows_failed(m, ftc_operation_coordinator(op, i)))
        i++;
    if (i == (uint32_t)op->view->size)
        /* Every rank is in L, this process, too: it was declared failed, and has been told to
         * exit. */
        return 0;
    if (ftc_operation_coordinator(op, i) != m->set.self)
        return rotate_poke(m, op, i);
    ftc_rule_taken(m, FTC_RULE_ROTATE);
    int rc = ftc_ballot_start(m, op, (struct ftc_ballot_id){.i = i});
    return rc == 0 ? 1 : rc;
}
