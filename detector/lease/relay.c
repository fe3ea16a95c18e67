/* Beats on their way down the tree of the leader, and echoes on their way up: rules 1 and 4 of
 * docs/design/nodes.md. */
#include "detector/lease/internal.h"
#include "detector/mutation.h"

/* --- life --- */

int ftc_lease_init_relay(struct ftc_lease *l)
{
    struct relay *r = &l->relay;
    int nodes = l->set.nodes, rc = ftc_lease_box_init(&r->beat, nodes);

    ftc_places_init(&r->tree, nodes);
    rc = rc == 0 ? ftc_lease_box_init(&r->echo, nodes) : rc;
    rc = rc == 0 ? ftc_set_init(&r->waiting, nodes) : rc;
    rc = rc == 0 ? ftc_set_init(&r->adopted[0], nodes) : rc;
    return rc == 0 ? ftc_set_init(&r->adopted[1], nodes) : rc;
}

void ftc_lease_fini_relay(struct ftc_lease *l)
{
    struct relay *r = &l->relay;

    ftc_lease_box_fini(&r->beat);
    ftc_lease_box_fini(&r->echo);
    ftc_set_fini(&r->waiting);
    ftc_set_fini(&r->adopted[0]);
    ftc_set_fini(&r->adopted[1]);
    ftc_places_fini(&r->tree);
}

/* --- the tree --- */

static void draw_tree(struct relay *r)
{
    const struct ftc_set *nodes = &r->beat.nodes;

    ftc_places_clear(&r->tree);
    for (int i = ftc_set_next_missing(nodes, 0); i >= 0; i = ftc_set_next_missing(nodes, i + 1))
        (void)ftc_places_remove(&r->tree, i);
}

static int parent_of(const struct ftc_lease *l, int node)
{
    return ftc_places_parent(&l->relay.tree, l->leader, node, l->set.arity);
}

/* 0: this node is not in the tree of the leader, or does not know it. */
static int depth_of(const struct ftc_lease *l)
{
    const struct ftc_places *tree = &l->relay.tree;

    return l->leader >= 0 && ftc_places_has(tree, l->leader)
               ? ftc_places_depth(tree, l->leader, l->set.self, l->set.arity)
               : 0;
}

void ftc_lease_spread(struct ftc_lease *l)
{
    struct relay *r = &l->relay;
    int child;

    draw_tree(r);
    ftc_set_clear(&l->pending);
    for (int c = 0;
         (child = ftc_places_branch(&r->tree, l->leader, l->set.self, l->set.arity, c)) >= 0; c++)
        ftc_set_add(&l->pending, child);
    ftc_set_unite(&l->pending, &r->adopted[0]);
    ftc_set_unite(&l->pending, &r->adopted[1]);
    ftc_set_subtract(&l->pending, &l->refused);
    ftc_set_remove(&l->pending, l->set.self);
    ftc_set_remove(&l->pending, l->leader);
    if (r->parent >= 0)
        ftc_set_remove(&l->pending, r->parent);
    ftc_set_copy(&r->waiting, &l->pending);
}

/* --- beats --- */

static void copy_beat(struct ftc_lease_box *box, const struct ftc_lease_message *message)
{
    ftc_set_copy(&box->refused, message->refused);
    ftc_set_copy(&box->declared, message->declared);
    ftc_set_copy(&box->silent, message->silent);
    ftc_set_copy(&box->nodes, message->nodes);
    for (int i = 0; i < FTC_LEASE_LAGS; i++)
        ftc_set_copy(&box->named[i], &message->named[i]);
}

static void name(struct relay *r, uint64_t since_ns)
{
    if (since_ns <= r->named_ns)
        return;
    r->named_ns = since_ns;
    r->asked_ns = 0;
}

/* Rules 4b and 4c: the echo of an earlier beat has come to the leader. The lease runs from the time
 * when that beat came here, which is before the echo was sent. */
static void take_grant(struct ftc_lease *l, const struct ftc_lease_message *message,
                       uint64_t now_ns)
{
    for (uint32_t lag = 0; lag < FTC_LEASE_LAGS && lag < message->beat; lag++) {
        uint64_t came = ftc_set_has(&message->named[lag], l->set.self)
                            ? ftc_lease_noted(l, message->beat - 1 - lag)
                            : 0;
        if (came == 0)
            continue;
        name(&l->relay, came);
        if (message->grants)
            ftc_lease_extend(l, (FTC_LEASE_MUTATED(FROM_RECEIPT) ? now_ns : came) + l->lease_ns);
    }
}

/* The deeper a node is in the tree, the shorter it waits. So its echo comes while those above it
 * still wait, also where a node below it is silent. */
static uint64_t wait_ns(const struct ftc_lease *l)
{
    uint64_t depth = (uint64_t)depth_of(l),
             height = (uint64_t)ftc_places_height(&l->relay.tree, l->set.arity);

    return depth == 0 || FTC_LEASE_MUTATED(WAITS_ALIKE)
               ? l->set.period_ns / 4
               : l->set.period_ns / 4 * (height + 1 - depth) / height;
}

static void begin_echo(struct ftc_lease *l, uint64_t now_ns)
{
    struct relay *r = &l->relay;

    ftc_set_clear(&r->echo.nodes);
    ftc_set_add(&r->echo.nodes, l->set.self);
    r->pairs = 0;
    for (int i = ftc_set_next(&l->apart.unheard, 0); i >= 0 && r->pairs < FTC_LEASE_PAIRS;
         i = ftc_set_next(&l->apart.unheard, i + 1))
        if (!ftc_set_has(&r->beat.refused, i)) /* the leader needs no pairs with these */
            r->echo.pair[r->pairs++] = (struct ftc_lease_pair){l->set.self, i};
    r->owed = true;
    r->second = -1;
    r->again = false;
    r->ready = ftc_set_empty(&r->waiting);
    r->due_ns = now_ns + wait_ns(l);
}

/* Rule 5. In a term this node follows only the leader that it voted for; where the base shrank, the
 * same term can have a second leader. A leader that cannot be followed is told a term above all
 * that this node knows. If that leader is backed it has itself elected anew. */
static bool can_follow(struct ftc_lease *l, const struct ftc_lease_message *message)
{
    bool second = message->term == l->term &&
                  ((l->leader >= 0 && l->leader != message->leader) || l->role == LEADER);

    if (message->term >= l->term && !second)
        return true;
    l->reply_to = message->leader;
    l->reply =
        (struct ftc_lease_message){.kind = FTC_LEASE_PROBE, .term = l->term + (second ? 2 : 1)};
    return false;
}

/* Rule 1, "No name". */
static bool is_unnamed(const struct ftc_lease *l, uint64_t periods, uint64_t now_ns)
{
    return now_ns - l->relay.named_ns >= periods * l->set.period_ns &&
           !FTC_LEASE_MUTATED(ONE_WAY_UP);
}

/* It has come from another node before. The sender need not wait for an answer, unless the echo has
 * to go up by this way, too. */
static void answer_again(struct ftc_lease *l, int from, const struct ftc_lease_message *message,
                         uint64_t now_ns)
{
    const struct ftc_set *none = &l->relay.echo.declared;

    if (message->beat == l->beat && l->role == FOLLOWER && is_unnamed(l, 2, now_ns)) {
        l->relay.second = from;
        l->relay.again = true;
        return;
    }
    l->reply_to = from;
    l->reply = (struct ftc_lease_message){.kind = FTC_LEASE_ECHO,
                                          .term = l->term,
                                          .beat = message->beat,
                                          .refused = none,
                                          .declared = none,
                                          .nodes = none};
}

/* The beats come, and the echoes are lost on their way up. So this node asks for beats by another
 * way, with the number 0: it is answered though it may have them all. The parent of the parent is
 * asked first, as in want(): so the leader is not asked by all that are below one bad way. */
static void want_name(struct ftc_lease *l, uint64_t now_ns)
{
    struct relay *r = &l->relay;
    int parent = parent_of(l, l->set.self), above = parent >= 0 ? parent_of(l, parent) : -1;

    if (above < 0 || !is_unnamed(l, 4, now_ns) ||
        (r->asked_ns != 0 && now_ns - r->asked_ns < 3 * l->set.period_ns / 2))
        return;
    l->reply_to = r->asked_ns == 0 ? above : l->leader;
    l->reply =
        (struct ftc_lease_message){.kind = FTC_LEASE_WANT, .term = l->term, .leader = l->leader};
    r->asked_ns = now_ns;
}

void ftc_lease_take_beat(struct ftc_lease *l, int from, const struct ftc_lease_message *message,
                         uint64_t now_ns)
{
    struct relay *r = &l->relay;

    if (message->leader == l->set.self || ftc_set_has(&l->refused, message->leader) ||
        !can_follow(l, message))
        return;
    if (message->term == l->term && message->beat <= l->beat) {
        answer_again(l, from, message, now_ns);
        return;
    }
    if (message->term > l->term)
        ftc_lease_begin_term(l, message->term, message->leader);
    l->role = FOLLOWER;
    l->beat_ns = r->since_ns = now_ns;
    l->promised_ns = now_ns + l->patience_ns;
    r->parent = from;
    r->wants = 0;
    l->failures = 0;
    copy_beat(&r->beat, message);
    r->grants = message->grants;
    l->recount |= ftc_set_unite(&l->refused, message->refused);
    ftc_set_unite(&l->declared, message->declared);
    ftc_set_unite(&l->silent, message->silent);
    if (l->beat == 0)
        name(r, now_ns);
    ftc_lease_note(l, message->beat, now_ns);
    take_grant(l, message, now_ns);
    ftc_lease_spread(l);
    begin_echo(l, now_ns);
    want_name(l, now_ns);
}

/* --- echoes --- */

/* The pairs of a node must not be lost: without them the node would count as one that hears all. */
static bool has_room(const struct relay *r, const struct ftc_lease_message *message)
{
    return r->pairs + message->pairs <= FTC_LEASE_PAIRS || FTC_LEASE_MUTATED(NO_ROOM);
}

static void gather(struct relay *r, const struct ftc_lease_message *message)
{
    for (int i = 0; i < message->pairs && r->pairs < FTC_LEASE_PAIRS; i++)
        if (!ftc_set_has(&r->echo.nodes, message->pair[i].node)) /* else they are here already */
            r->echo.pair[r->pairs++] = message->pair[i];
    ftc_set_unite(&r->echo.nodes, message->nodes);
}

/* An echo that comes when this node has sent its own goes on by itself. So does one whose pairs
 * have no room in that of this node. */
void ftc_lease_take_echo(struct ftc_lease *l, int from, const struct ftc_lease_message *message)
{
    struct relay *r = &l->relay;

    if (message->beat == l->beat)
        ftc_set_remove(&r->waiting, from);
    if (message->beat == l->beat && r->owed && has_room(r, message)) {
        gather(r, message);
    } else if (!ftc_set_empty(message->nodes) && r->parent >= 0 && r->parent != from) {
        if (message->beat == l->beat && r->second >= 0 && r->second != from &&
            has_room(r, message) && !ftc_set_subset(message->nodes, &r->echo.nodes)) {
            gather(r, message);
            r->again = true;
        }
        l->reply = *message;
        l->reply_to = r->parent;
    }
    r->ready |= ftc_set_empty(&r->waiting);
}

/* --- nodes without a parent --- */

/* Rule 1, "Keep". Nodes ask, too, when the leader is paused and sends no beat to anybody. Then they
 * have the last one, or the next one is on its way to them. If it is not, they ask again. */
static bool has_last(const struct ftc_lease *l, const struct ftc_lease_message *message,
                     uint64_t now_ns)
{
    uint64_t next = ftc_lease_noted(l, message->beat + 1);

    if (FTC_LEASE_MUTATED(FOLLOW_ANY_WANT) || message->term != l->term ||
        message->leader != l->leader || message->beat == 0)
        return false;
    return message->beat >= l->beat || (next != 0 && now_ns - next < l->set.period_ns / 2);
}

void ftc_lease_take_want(struct ftc_lease *l, int from, const struct ftc_lease_message *message,
                         uint64_t now_ns)
{
    struct relay *r = &l->relay;

    if (l->role == ASKING || message->term > l->term || !ftc_set_has(&l->base, from) ||
        from == l->leader || has_last(l, message, now_ns) || FTC_LEASE_MUTATED(NO_ADOPTION))
        return;
    ftc_set_add(&r->adopted[0], from);
    if (l->beat == 0)
        return;
    ftc_set_add(&l->pending, from);
    if (r->owed && !r->ready)
        ftc_set_add(&r->waiting, from);
}

/* When this node asks for beats. Its ancestors ask first, each a little earlier, so that a beat
 * that one of them gets comes here before. UINT64_MAX: it does not ask. */
static uint64_t want_due(const struct ftc_lease *l)
{
    const struct relay *r = &l->relay;
    int above = depth_of(l) - 1;

    if (l->role != FOLLOWER || above <= 0)
        return UINT64_MAX;
    uint64_t due = r->since_ns + 2 * l->set.period_ns + (uint64_t)above * l->set.period_ns / 8;
    if (r->wants > 0 && r->wanted_ns + l->set.period_ns / 2 > due)
        due = r->wanted_ns + l->set.period_ns / 2;
    return due;
}

static void want(struct ftc_lease *l, uint64_t now_ns)
{
    struct relay *r = &l->relay;

    l->reply_to = r->wants == 0 ? parent_of(l, parent_of(l, l->set.self)) : l->leader;
    l->reply = (struct ftc_lease_message){
        .kind = FTC_LEASE_WANT, .term = l->term, .leader = l->leader, .beat = l->beat};
    r->wants++;
    r->wanted_ns = now_ns;
}

void ftc_lease_tick_relay(struct ftc_lease *l, uint64_t now_ns)
{
    struct relay *r = &l->relay;

    if (now_ns - r->adopted_ns >= l->set.timeout_ns / 2) {
        ftc_set_copy(&r->adopted[1], &r->adopted[0]);
        ftc_set_clear(&r->adopted[0]);
        r->adopted_ns = now_ns;
    }
    r->ready |= r->owed && now_ns >= r->due_ns;
    if (now_ns >= want_due(l))
        want(l, now_ns);
}

uint64_t ftc_lease_relay_due(const struct ftc_lease *l)
{
    uint64_t due = want_due(l);

    return l->relay.owed && l->relay.due_ns < due ? l->relay.due_ns : due;
}
