/* A rank: drives its member of the communicator, and looks at the lease of its node before it
 * returns from a call. */
#include <string.h>

#include "sim/nodes/world.h"

#define SOON_NS (FTC_NODES_PERIOD / 20)

bool ftc_rank_finished(const struct ftc_world *w, int rank)
{
    return ftc_ledger_called(w->ledger, rank) == w->program.length &&
           !ftc_ledger_under_way(w->ledger, rank);
}

/* --- its end --- */

void ftc_rank_die(struct ftc_world *w, int rank, const char *how)
{
    int actor = ftc_rank_actor(w, rank), node = w->actor[actor].node;

    if (!w->actor[actor].alive)
        return;
    ftc_world_say(w, "rank %d %s", rank, how);
    w->actor[actor].alive = false;
    if (!w->rank[rank].lost)
        ftc_ledger_dies(w->ledger, rank, w->rank[rank].member);
    w->rank[rank].lost = true;
    ftc_world_cut_short(w, actor);
    ftc_world_plan(w, w->now_ns + ftc_world_below(w, SOON_NS), FTC_WORLD_EXIT, node, rank);
}

/* --- outputs --- */

/* The message as a transport would deliver it: the head, padding, the bytes of the value. */
static struct ftc_buffer *join(const struct ftc_world *w, const struct ftc_output *output)
{
    size_t head = output->head->size, size = output->value.buffer != NULL ? output->value.size : 0;

    if (size == 0)
        return ftc_buffer_ref(output->head);
    struct ftc_buffer *bytes = ftc_value_new_message(head, size);
    if (bytes == NULL)
        ftc_cluster_no_memory(w->ranks);
    memcpy(bytes->data, output->head->data, head);
    memcpy(bytes->data + ftc_value_offset(head), ftc_value_bytes(&output->value), size);
    return bytes;
}

static void send(struct ftc_world *w, int rank, const struct ftc_output *output)
{
    struct ftc_message_head head = {.kind = output->message};
    int actor = ftc_rank_actor(w, rank), to = ftc_rank_actor(w, output->to);

    ftc_message_peek(output->head, &head);
    ftc_world_say(w, "rank %d   sends %s %llu (%u,%u) to rank %d", rank,
                  ftc_message_kind_name(head.kind), (unsigned long long)head.op, head.ballot.i,
                  head.ballot.s, output->to);
    if (!w->rank[rank].lost)
        ftc_ledger_sends(w->ledger, rank, output);
    if (ftc_world_broken(w) || !w->actor[to].alive)
        return;
    struct ftc_packet *packet = ftc_world_send(w, actor, to, FTC_PACKET_MEMBER);
    packet->bytes = join(w, output);
    packet->head = head;
}

/* Show the other processes of the node how far this rank has come. */
static void publish_agreed(struct ftc_world *w, int rank)
{
    int node = w->actor[ftc_rank_actor(w, rank)].node;
    struct ftc_world_node *n = &w->node[node];
    const struct ftc_set *agreed = ftc_member_agreed_failed(w->rank[rank].member);

    for (int r = ftc_set_next(agreed, 0); r >= 0; r = ftc_set_next(agreed, r + 1))
        n->agreed[r] = true;
    if (!ftc_set_empty(agreed))
        ftc_world_plan(w, w->now_ns + ftc_world_below(w, SOON_NS), FTC_WORLD_LOOK, node, 0);
}

static bool may_return(const struct ftc_world *w, int rank)
{
    int node = w->actor[ftc_rank_actor(w, rank)].node;

    return w->story->fault == FTC_NODES_UNCHECKED ||
           ftc_world_clock(w, node) < w->node[node].until_ns;
}

static void deliver(struct ftc_world *w, int rank, const struct ftc_output *output)
{
    struct ftc_world_rank *r = &w->rank[rank];
    int op = (int)ftc_member_next_op(r->member) - 1;

    if (!may_return(w, rank)) {
        w->sums->ranks_ended++;
        ftc_rank_die(w, rank, "finds its lease over, and ends");
        return;
    }
    ftc_world_say(w, "rank %d   delivers operation %d: status %d", rank, op, output->status);
    if (r->lost) {
        ftc_ledger_violate(w->ledger, "rank %d, which was declared failed, delivers operation %d",
                           rank, op);
        return;
    }
    ftc_ledger_delivers(w->ledger, rank, r->member, output);
    publish_agreed(w, rank);
    if (!ftc_rank_finished(w, rank))
        ftc_world_plan(w, w->now_ns + ftc_world_below(w, w->story->think_ns), FTC_WORLD_CALL,
                       ftc_rank_actor(w, rank), 0);
}

static void protest(struct ftc_world *w, int rank, const struct ftc_output *output)
{
    if (!w->rank[rank].lost)
        ftc_ledger_protests(w->ledger, rank, w->rank[rank].member, output);
    if (output->kind != FTC_OUTPUT_ACCUSE)
        ftc_rank_die(w, rank, "ends: it was declared failed");
}

static void settle(struct ftc_world *w, int rank, const struct ftc_output *output)
{
    ftc_world_say(w, "rank %d   delivers a settlement", rank);
    if (!w->rank[rank].lost)
        ftc_ledger_protests(w->ledger, rank, w->rank[rank].member, output);
}

/* The timer replaces an earlier one. The event of the earlier one then finds that it comes too
 * soon. */
static void set_timer(struct ftc_world *w, int rank, uint64_t ns)
{
    w->rank[rank].timer_ns = w->now_ns + ns;
    ftc_world_plan(w, w->now_ns + ns, FTC_WORLD_TIMER, ftc_rank_actor(w, rank), 0);
}

static void carry_out(struct ftc_world *w, int rank, const struct ftc_output *output)
{
    int actor = ftc_rank_actor(w, rank);

    if (output->kind == FTC_OUTPUT_SEND)
        send(w, rank, output);
    else if (output->kind == FTC_OUTPUT_DELIVER)
        deliver(w, rank, output);
    else if (output->kind == FTC_OUTPUT_MORE)
        ftc_world_plan(w, w->now_ns + 1, FTC_WORLD_MORE, actor, 0);
    else if (output->kind == FTC_OUTPUT_TIMER)
        set_timer(w, rank, output->delay_ns);
    else if (output->kind == FTC_OUTPUT_SETTLED)
        settle(w, rank, output);
    else
        protest(w, rank, output);
}

void ftc_rank_go_on(struct ftc_world *w, int rank)
{
    int actor = ftc_rank_actor(w, rank);
    struct ftc_world_actor *a = &w->actor[actor];
    const struct ftc_output *output;

    a->busy = true;
    for (;;) {
        a->outputs++;
        w->before_output(w, actor);
        if (!ftc_world_runs(w, actor))
            return;
        if (ftc_world_broken(w) || (output = ftc_member_next_output(w->rank[rank].member)) == NULL)
            break;
        carry_out(w, rank, output);
    }
    a->busy = false;
    if (!w->rank[rank].lost && !ftc_world_broken(w))
        ftc_ledger_input_done(w->ledger, rank, w->rank[rank].member, FTC_SUCCESS);
    if (w->rank[rank].held_back && !ftc_member_held_back(w->rank[rank].member))
        ftc_world_plan(w, w->now_ns + 1, FTC_WORLD_CALL, actor, 0);
    w->rank[rank].held_back &= ftc_member_held_back(w->rank[rank].member);
}

/* --- inputs --- */

static void step_done(struct ftc_world *w, int rank, int rc)
{
    if (rc == FTC_ERR_NOMEM)
        ftc_cluster_no_memory(w->ranks);
    if (rc != FTC_SUCCESS && rc != FTC_ERR_FENCED && !w->rank[rank].lost)
        ftc_ledger_violate(w->ledger, "rank %d: an input returns %d", rank, rc);
    ftc_rank_go_on(w, rank);
}

/* For ranks that were declared failed: the ledger no longer follows them, and its operators would
 * report that the call is not under way. */
static void add_counts(void *arg, const void *in, void *inout, size_t size)
{
    (void)arg;
    for (size_t i = 0; i + sizeof(uint16_t) <= size; i += sizeof(uint16_t)) {
        uint16_t a, b;
        memcpy(&a, (const char *)in + i, sizeof(a));
        memcpy(&b, (const char *)inout + i, sizeof(b));
        b = (uint16_t)(a + b);
        memcpy((char *)inout + i, &b, sizeof(b));
    }
}

void ftc_rank_call(struct ftc_world *w, int rank)
{
    struct ftc_world_rank *r = &w->rank[rank];
    int op = (int)ftc_member_next_op(r->member);
    struct ftc_call call;

    int begun = ftc_member_begin(r->member);
    if (begun < 0)
        ftc_cluster_no_memory(w->ranks);
    r->held_back = begun == 0;
    if (begun == 0)
        return;
    ftc_world_say(w, "rank %d calls operation %d, %s", rank, op,
                  ftc_call_kind_name(w->program.operation[op].kind));
    ftc_ledger_prepare(w->ledger, rank, op, &call);
    if (!r->lost)
        ftc_ledger_calls(w->ledger, rank, r->member);
    else if (call.combine != NULL)
        call.combine = add_counts;
    if (!ftc_world_broken(w))
        step_done(w, rank, ftc_member_call(r->member, &call));
}

void ftc_rank_take(struct ftc_world *w, int rank, int from, struct ftc_packet *packet)
{
    struct ftc_world_rank *r = &w->rank[rank];
    int node = w->actor[ftc_rank_actor(w, rank)].node,
        theirs = w->actor[ftc_rank_actor(w, from)].node;

    if (w->node[node].refused[theirs]) {
        w->sums->late++;
        ftc_world_say(w, "rank %d drops %s %llu (%u,%u) of rank %d: its node is refused", rank,
                      ftc_message_kind_name(packet->head.kind), (unsigned long long)packet->head.op,
                      packet->head.ballot.i, packet->head.ballot.s, from);
        return;
    }
    ftc_world_say(w, "rank %d receives %s %llu (%u,%u) from rank %d", rank,
                  ftc_message_kind_name(packet->head.kind), (unsigned long long)packet->head.op,
                  packet->head.ballot.i, packet->head.ballot.s, from);
    if (r->lost)
        step_done(w, rank, ftc_member_receive(r->member, from, packet->bytes));
    else
        step_done(w, rank,
                  ftc_ledger_receive(w->ledger, rank, r->member, from, packet->head.op, false,
                                     packet->bytes));
}

void ftc_rank_told(struct ftc_world *w, int rank, int dead)
{
    struct ftc_world_rank *r = &w->rank[rank];

    ftc_world_say(w, "rank %d is told that rank %d failed", rank, dead);
    int rc = ftc_member_notice(r->member, dead);
    if (!r->lost)
        ftc_ledger_hears(w->ledger, rank, r->member, dead);
    step_done(w, rank, rc);
}

void ftc_rank_timer(struct ftc_world *w, int rank)
{
    struct ftc_world_rank *r = &w->rank[rank];

    if (r->timer_ns == 0 || r->timer_ns > w->now_ns)
        return;
    r->timer_ns = 0;
    step_done(w, rank, ftc_member_timer(r->member));
}

void ftc_rank_more(struct ftc_world *w, int rank)
{
    step_done(w, rank, ftc_member_more(w->rank[rank].member));
}
