/*
 * How a process that holds a decision spreads it, step by step: first dissemination, then
 * correction; and how a process waits, with patience, for messages that should come by themselves
 * (docs/design/broadcast.md).
 */
#include "collectives/agreement/spread.h"

#include "base/mix.h"
#include "collectives/agreement/collector.h"

/* --- which dissemination --- */

/* All participants choose the same, since all know the participants and the size (broadcast.md,
 * "multicast"). */
static enum ftc_dissemination dissemination_of(const struct ftc_member *m,
                                               const struct ftc_operation *op)
{
    const struct ftc_member_settings *set = &m->set;
    uint64_t size = ftc_operation_most(op);

    if (set->dissemination != FTC_DISSEMINATION_MULTICAST)
        return set->dissemination;
    if (op->call.signature.kind == FTC_CALL_GOSSIP) /* a piece has no checksum of its own */
        return FTC_DISSEMINATION_TREE;
    if (op->ballot.size < set->multicast_least || size > set->multicast_most ||
        size > FTC_FRAGMENTS_WHOLE / 2)
        return FTC_DISSEMINATION_TREE;
    return FTC_DISSEMINATION_MULTICAST;
}

void ftc_spread_reset(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;
    int *near = b->spread.near;

    ftc_fragments_drop(&b->spread.fragments);
    b->spread = (struct ftc_spread){.near = near, .passed_to = -1};
    b->spread.dissemination = dissemination_of(m, op);
    ftc_corrector_reset(&b->spread.corrector, &m->correction, b->position, b->size, near);
}

/* --- time --- */

static int ask_for_more(struct ftc_member *m)
{
    if (m->more_asked)
        return 0;
    m->more_asked = true;
    return ftc_member_output(m, &(struct ftc_output){.kind = FTC_OUTPUT_MORE});
}

static void be_patient(const struct ftc_member *m, struct ftc_spread *s)
{
    s->patience_ns = m->set.patience_ns > 0 ? ftc_timer_from_now(m, m->set.patience_ns) : 0;
}

/* This process has entered b. If nobody owes it DECIDE(b), it waits with patience. */
int ftc_spread_wait(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_spread *s = &op->ballot.spread;

    /* Nobody spreads the decision of a plain reduce, or of the (0,0) of a settlement. */
    if (s->dissemination == FTC_DISSEMINATION_TREE || op->ballot.position <= 0 ||
        ftc_operation_plain_reduce(op) || ftc_ballot_exchanges(&op->ballot))
        return 0;
    be_patient(m, s);
    return ftc_timer_arm(m);
}

static bool at_once(const struct ftc_member *m, const struct ftc_spread *s)
{
    enum ftc_correction kind = m->correction.kind;

    return s->rounds > 0 || s->corrector.answer > 0 || m->set.correction_delay_ns == 0 ||
           kind == FTC_CORRECTION_OPPORTUNISTIC || kind == FTC_CORRECTION_OPTIMISED ||
           kind == FTC_CORRECTION_RING;
}

/* To be called after each step: says when the next one is due. */
static int go_on(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_spread *s = &op->ballot.spread;
    bool wants = s->rounds > 0 || ftc_corrector_wants(&s->corrector);

    s->pace = !wants ? FTC_PACE_IDLE : at_once(m, s) ? FTC_PACE_MORE : FTC_PACE_TICK;
    s->pace_ns = s->pace == FTC_PACE_TICK ? ftc_timer_from_now(m, m->set.correction_delay_ns) : 0;
    if (!ftc_corrector_awaits(&s->corrector))
        s->patience_ns = 0;
    else if (s->patience_ns == 0)
        be_patient(m, s);
    int rc = s->pace == FTC_PACE_MORE ? ask_for_more(m) : 0;
    if (rc == 0 && (s->pace == FTC_PACE_TICK || s->patience_ns > 0))
        rc = ftc_timer_arm(m);
    return rc;
}

/* --- gossip --- */

/* Draws a participant that may lack DECIDE(b). After nine misses it takes the next such participant
 * on the ring. -1: there is none. */
static int gossip_target(const struct ftc_member *m, const struct ftc_operation *op)
{
    const struct ftc_ballot *b = &op->ballot;
    uint64_t random = ftc_mix(m->set.seed ^ ftc_mix(op->k + 1));
    int others = b->size - 1, position = 0;

    random = ftc_mix(random ^ ((uint64_t)b->id.i << 40 | (uint64_t)b->id.s << 20));
    random = ftc_mix(random ^ ((uint64_t)m->set.self << 32 | b->spread.rounds));
    for (int miss = 0; miss < others + 8; miss++) {
        if (miss <= 8)
            position = 1 + (int)(ftc_mix(random + (uint64_t)miss) % (uint64_t)others);
        else
            position = position % others + 1;
        int to = ftc_ballot_rank(b, position);
        if (position != b->position && !ftc_set_has(&b->decide_sent, to) &&
            !ftc_knows_failed(m, to))
            return to;
    }
    return -1;
}

static int gossip_round(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_spread *s = &op->ballot.spread;
    uint32_t way = m->set.gossip_bound == FTC_GOSSIP_TIME ? (uint32_t)m->set.gossip_hop : 1;
    int to = gossip_target(m, op);
    uint32_t left = s->rounds > way ? s->rounds - way : 0;

    s->rounds = to >= 0 ? s->rounds - 1 : 0;
    if (to < 0)
        return 0;
    ftc_rule_taken(m, FTC_RULE_GOSSIP);
    return ftc_member_send_decide(m, op, to, FTC_WAY_GOSSIP, left);
}

/* --- correction --- */

static int rank_at(const struct ftc_ballot *b, enum ftc_side side, int distance)
{
    int position =
        side == FTC_SIDE_RIGHT ? b->position + distance : b->position - distance + b->size;

    return ftc_ballot_rank(b, position % b->size);
}

/* Sends one message of the correction. A process that was sent DECIDE before, or is known to have
 * failed, counts as sent to. */
static int correct(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;
    struct ftc_corrector *c = &b->spread.corrector;
    enum ftc_side side;
    int distance;

    while (ftc_corrector_next(c, &m->correction, &side, &distance) == FTC_CORRECTION_SEND) {
        int to = rank_at(b, side, distance);
        if (ftc_knows_failed(m, to)) {
            ftc_corrector_pass_over(c, &m->correction);
        } else if (!ftc_set_has(&b->decide_sent, to)) {
            ftc_rule_taken(m, FTC_RULE_CORRECT);
            return ftc_member_send_decide(m, op, to,
                                          side == FTC_SIDE_RIGHT ? FTC_WAY_RIGHT : FTC_WAY_LEFT, 0);
        }
    }
    return 0;
}

static int step(struct ftc_member *m, struct ftc_operation *op)
{
    int rc = op->ballot.spread.rounds > 0 ? gossip_round(m, op) : correct(m, op);

    return rc == 0 ? go_on(m, op) : rc;
}

/* Was this process coloured by dissemination, and not by correction? With the tree only a DECIDE
 * from its parent is dissemination. An answer of another rank to PULL counts as correction. */
static bool disseminated(const struct ftc_member *m, const struct ftc_ballot *b,
                         const struct ftc_arrival *arrival)
{
    if (arrival->from == m->set.self || arrival->pieces)
        return true;
    if (b->spread.dissemination == FTC_DISSEMINATION_GOSSIP)
        return arrival->way == FTC_WAY_GOSSIP;
    return b->spread.dissemination == FTC_DISSEMINATION_TREE && arrival->way == FTC_WAY_OWED &&
           b->position > 0 &&
           ftc_topology_broadcast_parent(&m->set.tree, b->position) ==
               ftc_ballot_position(b, arrival->from);
}

static uint32_t rounds_of(const struct ftc_member *m, const struct ftc_ballot *b,
                          const struct ftc_arrival *arrival)
{
    uint32_t granted = (uint32_t)m->set.gossip_rounds;

    if (b->spread.dissemination != FTC_DISSEMINATION_GOSSIP || b->size < 2)
        return 0;
    if (arrival->from == m->set.self)
        return granted;
    if (arrival->way != FTC_WAY_GOSSIP)
        return 0;
    return arrival->rounds < granted ? arrival->rounds : granted;
}

/* The ring is for what datagrams did not bring. If the tree is used in place of multicast, there is
 * no ring: the parents owe DECIDE. */
enum ftc_correction ftc_spread_correction(const struct ftc_member *m,
                                          const struct ftc_operation *op)
{
    bool left = m->set.dissemination != op->ballot.spread.dissemination;

    return left && m->correction.kind == FTC_CORRECTION_RING ? FTC_CORRECTION_NONE
                                                             : m->correction.kind;
}

/* This process was coloured. To be called before its first message, which says whether it
 * corrects. */
void ftc_spread_colour(struct ftc_member *m, struct ftc_operation *op,
                       const struct ftc_arrival *arrival)
{
    struct ftc_spread *s = &op->ballot.spread;

    s->patience_ns = 0;
    s->rounds = rounds_of(m, &op->ballot, arrival);
    if (ftc_spread_correction(m, op) != FTC_CORRECTION_NONE)
        ftc_corrector_begin(&s->corrector, &m->correction, disseminated(m, &op->ballot, arrival));
}

int ftc_spread_begin(struct ftc_member *m, struct ftc_operation *op)
{
    const struct ftc_spread *s = &op->ballot.spread;

    if (ftc_corrector_wants(&s->corrector) && !at_once(m, s))
        return step(m, op);
    return go_on(m, op);
}

int ftc_spread_heard(struct ftc_member *m, struct ftc_operation *op,
                     const struct ftc_arrival *arrival)
{
    struct ftc_ballot *b = &op->ballot;
    struct ftc_spread *s = &b->spread;
    bool travels = arrival->way == FTC_WAY_LEFT || arrival->way == FTC_WAY_RIGHT;

    if (b->holding && s->rounds > 0 && m->set.gossip_bound == FTC_GOSSIP_TIME)
        s->rounds--;
    if (!arrival->correcting || m->correction.kind == FTC_CORRECTION_NONE)
        return 0;
    int right = (ftc_ballot_position(b, arrival->from) - b->position + b->size) % b->size;
    if (arrival->way == FTC_WAY_LEFT || !travels)
        ftc_corrector_heard(&s->corrector, &m->correction, FTC_SIDE_RIGHT, right, travels);
    else
        ftc_corrector_heard(&s->corrector, &m->correction, FTC_SIDE_LEFT, b->size - right, travels);
    return b->holding && (s->pace == FTC_PACE_IDLE || s->corrector.answer > 0) ? go_on(m, op) : 0;
}

/* --- the next step --- */

int ftc_spread_more(struct ftc_member *m)
{
    int rc = 0;

    m->more_asked = false;
    for (struct ftc_operation *op = m->oldest; rc == 0 && op != NULL; op = op->next)
        if (op->ballot.spread.pace == FTC_PACE_MORE)
            rc = step(m, op);
    return rc;
}

/* The patience has ended: that with DECIDE(b), or that of the correction. */
static int patience_ends(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_spread *s = &op->ballot.spread;

    if (!op->ballot.holding) {
        s->impatient = true;
        return ftc_repair_pull(m, op);
    }
    ftc_corrector_due(&s->corrector, &m->correction);
    if (!ftc_corrector_wants(&s->corrector))
        return go_on(m, op);
    ftc_rule_taken(m, FTC_RULE_JOIN);
    return step(m, op);
}

int ftc_spread_tick(struct ftc_member *m, struct ftc_operation *op, uint64_t passed_ns)
{
    struct ftc_spread *s = &op->ballot.spread;
    bool ends = s->patience_ns > 0 && s->patience_ns <= passed_ns;
    int rc = 0;

    s->patience_ns = s->patience_ns > passed_ns ? s->patience_ns - passed_ns : 0;
    s->pace_ns = s->pace_ns > passed_ns ? s->pace_ns - passed_ns : 0;
    if (s->pace == FTC_PACE_TICK && s->pace_ns == 0)
        rc = step(m, op);
    return rc == 0 && ends ? patience_ends(m, op) : rc;
}
