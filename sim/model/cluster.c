/* A communicator in one process: members, virtual network, detector, deaths. A ledger checks its
 * promises. */
#include "sim/model/cluster.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "sim/model/cluster_channel.h"
#include "sim/model/cluster_event.h"

/* --- making and freeing --- */

struct ftc_member_settings ftc_cluster_settings(int n, int f)
{
    struct ftc_member_settings settings = {
        .ranks = n,
        .f = f,
        .scheme = FTC_SCHEME_LIST,
        .share = FTC_SHARE_PIGGYBACK,
        .rotation = FTC_ROTATION_FIRST,
        .reduce_arity = 2,
        .straggler_ns = 500000000,
        .tree = {.tree = FTC_TREE_BINOMIAL, .arity = 2},
        .correction = FTC_CORRECTION_NONE,
        .distance = 2,
        .correction_delay_ns = 1000,
        .patience_ns = 10000,
        .gossip_rounds = 4,
        .gossip_hop = 4,
        .fragment = 64,
        .multicast_least = 2,
        .multicast_most = UINT64_C(1) << 40, /* the most that the configuration takes */
        .settle_every = 0,
        .prepare = FTC_PREPARE_DIRECT,
    };
    return settings;
}

static void make_processes(struct ftc_cluster *c)
{
    for (int rank = 0; rank < c->n; rank++) {
        struct ftc_cluster_process *p = &c->process[rank];
        struct ftc_member_settings settings = c->settings;

        settings.self = rank;
        p->alive = true;
        int rc = ftc_member_create(&p->member, &settings);
        if (rc == FTC_ERR_NOMEM)
            ftc_cluster_no_memory(c->n);
        if (rc != FTC_SUCCESS)
            abort();
        ftc_cluster_set_pending(c, ftc_cluster_call(c, rank), c->program->length > 0);
    }
}

/* Loss of datagrams: none in 2 of 8 draws, all in one, else a share in between. */
static uint32_t draw_loss(uint64_t seed)
{
    static const uint32_t losses[] = {0, 0, 2870, 10000, 100000, 500000, 900000, 1000000};

    return losses[ftc_mix(seed ^ 0x6c6f7373) % (sizeof(losses) / sizeof(losses[0]))];
}

struct ftc_cluster *ftc_cluster_new(const struct ftc_member_settings *settings,
                                    const struct ftc_program *program, uint64_t seed)
{
    struct ftc_cluster *c = ftc_cluster_alloc(settings->ranks, 1, sizeof(*c));
    size_t n = (size_t)settings->ranks;

    c->settings = *settings;
    c->n = settings->ranks;
    c->program = program;
    c->random = ftc_mix(seed);
    c->process = ftc_cluster_alloc(c->n, n, sizeof(*c->process));
    c->channel = ftc_cluster_alloc(c->n, n * n + n, sizeof(*c->channel));
    c->loss_ppm = draw_loss(settings->seed);
    ftc_cluster_make_events(c);
    c->trace = ftc_cluster_trace_new(c->n);
    c->ledger = ftc_ledger_new(settings, program, NULL);
    if (c->ledger == NULL)
        ftc_cluster_no_memory(c->n);
    c->violation = ftc_ledger_violation(c->ledger);
    make_processes(c);
    return c;
}

/* --- channels --- */

static void clear_channel(struct ftc_cluster *c, int from, int to, int keep)
{
    struct ftc_cluster_channel *channel = &c->channel[from * c->n + to];

    ftc_cluster_cut_channel(c, channel, keep);
    ftc_cluster_set_pending(c, ftc_cluster_arrival(c, from, to), channel->count > 0);
}

void ftc_cluster_free(struct ftc_cluster *c)
{
    if (c == NULL)
        return;
    ftc_ledger_free(c->ledger);
    for (int from = 0; from < c->n; from++) {
        ftc_member_destroy(c->process[from].member);
        for (int to = 0; to < c->n; to++)
            ftc_cluster_cut_channel(c, &c->channel[from * c->n + to], 0);
        ftc_cluster_cut_channel(c, &c->channel[c->n * c->n + from], 0);
    }
    free(c->process);
    free(c->channel);
    ftc_cluster_free_channels(c);
    ftc_cluster_free_events(c);
    ftc_cluster_trace_free(c->trace);
    free(c);
}

/* --- network --- */

/* The message as a transport would deliver it: the head, padding, the bytes of the value. No one
 * writes to a head. */
static struct ftc_buffer *join(const struct ftc_cluster *c, const struct ftc_output *output)
{
    size_t head = output->head->size;
    size_t size = output->value.buffer != NULL ? output->value.size : 0;

    if (size == 0)
        return ftc_buffer_ref(output->head);
    struct ftc_buffer *bytes = ftc_value_new_message(head, size);

    if (bytes == NULL)
        ftc_cluster_no_memory(c->n);
    memcpy(bytes->data, output->head->data, head);
    memcpy(bytes->data + ftc_value_offset(head), ftc_value_bytes(&output->value), size);
    return bytes;
}

/* A drill may have damaged the head. The ledger checks that it can be read. */
static struct ftc_message_head head_of(const struct ftc_output *output)
{
    struct ftc_message_head head;

    if (ftc_message_peek(output->head, &head) == FTC_SUCCESS && head.op == output->op &&
        head.kind == output->message)
        return head;
    return (struct ftc_message_head){.kind = output->message, .op = output->op};
}

static void send(struct ftc_cluster *c, int from, const struct ftc_output *output)
{
    struct ftc_message_head head = head_of(output);
    int to = output->to;

    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_SEND, from, to, &head);
    ftc_ledger_sends(c->ledger, from, output);
    if (ftc_cluster_broken(c) || !c->process[to].alive ||
        (c->unanswered && head.kind == FTC_MESSAGE_PULL))
        return;
    struct ftc_cluster_message *message = ftc_cluster_enqueue(c, &c->channel[from * c->n + to]);
    message->bytes = join(c, output);
    message->head = head;
    ftc_cluster_set_pending(c, ftc_cluster_arrival(c, from, to), true);
}

/* --- datagrams --- */

static struct ftc_cluster_channel *datagrams_to(const struct ftc_cluster *c, int to)
{
    return &c->channel[c->n * c->n + to];
}

/* Put a datagram at the end, or before some of those that are there. */
static void put_datagram(struct ftc_cluster *c, int to, const struct ftc_cluster_message *datagram,
                         int before)
{
    struct ftc_cluster_channel *channel = datagrams_to(c, to);
    struct ftc_cluster_message *last = ftc_cluster_enqueue(c, channel), **link = &channel->first;
    struct ftc_buffer *bytes = ftc_buffer_ref(datagram->bytes);
    int place = channel->count - 1 - before;

    while (place-- > 0)
        link = &(*link)->next;
    /* The contents move up by one place, from `place` to the new last one. */
    struct ftc_cluster_message carried = {
        .bytes = bytes, .head = datagram->head, .from = datagram->from};
    for (struct ftc_cluster_message *m = *link;; m = m->next) {
        struct ftc_cluster_message there = {.bytes = m->bytes, .head = m->head, .from = m->from};
        m->bytes = carried.bytes;
        m->head = carried.head;
        m->from = carried.from;
        if (m == last)
            break;
        carried = there;
    }
    ftc_cluster_set_pending(c, ftc_cluster_datagram(c, to), true);
}

/* Deliver a datagram to one receiver: lost, in order, out of order, or twice. */
static void cast_to(struct ftc_cluster *c, int to, const struct ftc_cluster_message *datagram)
{
    uint64_t random = ftc_mix(ftc_mix(c->settings.seed + 1) + c->datagrams++);
    int there = datagrams_to(c, to)->count, copies = random >> 60 == 0 ? 2 : 1;

    if (!c->process[to].alive || random % 1000000 < c->loss_ppm)
        return;
    for (int copy = 0; copy < copies; copy++) {
        int before = (int)(ftc_mix(random + (uint64_t)copy) % 4);
        put_datagram(c, to, datagram, before < there ? before : there);
    }
}

static void multicast(struct ftc_cluster *c, int from, const struct ftc_output *output)
{
    struct ftc_cluster_message datagram = {.from = from, .head = head_of(output)};

    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_MULTICAST, from, 0, &datagram.head);
    ftc_ledger_sends(c->ledger, from, output);
    if (ftc_cluster_broken(c))
        return;
    datagram.bytes = join(c, output);
    for (int to = 0; to < c->n; to++)
        if (to != from)
            cast_to(c, to, &datagram);
    ftc_buffer_unref(datagram.bytes);
}

/* --- deaths --- */

static void stop_events(struct ftc_cluster *c, int rank)
{
    for (int other = 0; other < c->n; other++) {
        ftc_cluster_set_pending(c, ftc_cluster_notice(c, rank, other), false);
        clear_channel(c, other, rank, 0);
        if (other != rank && c->process[other].alive)
            ftc_cluster_set_pending(c, ftc_cluster_notice(c, other, rank), true);
    }
    ftc_cluster_set_pending(c, ftc_cluster_timer(c, rank), false);
    ftc_cluster_set_pending(c, ftc_cluster_call(c, rank), false);
    ftc_cluster_cut_channel(c, datagrams_to(c, rank), 0);
    ftc_cluster_set_pending(c, ftc_cluster_datagram(c, rank), false);
}

/* Drop the messages of a dead rank that are beyond the limits of its channels. */
static void apply_limits(struct ftc_cluster *c, int rank)
{
    for (int to = 0; to < c->n; to++) {
        struct ftc_cluster_channel *channel = &c->channel[rank * c->n + to];
        if (channel->limit == 0)
            continue;
        if (channel->arrived + channel->count < channel->limit) {
            channel->limit = 0;
            continue;
        }
        ftc_cluster_trace(c, FTC_CLUSTER_TRACE_LOSE, rank, to, NULL);
        clear_channel(c, rank, to,
                      channel->limit > channel->arrived ? channel->limit - 1 - channel->arrived
                                                        : 0);
    }
}

static void crash(struct ftc_cluster *c, int rank)
{
    struct ftc_cluster_process *p = &c->process[rank];

    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_CRASH, rank, 0, NULL);
    ftc_ledger_dies(c->ledger, rank, p->member);
    ftc_member_destroy(p->member);
    p->member = NULL;
    p->alive = false;
    stop_events(c, rank);
    apply_limits(c, rank);
}

/* --- outputs --- */

/* Does its process die at this output, the nth of its kind? */
static struct ftc_cluster_doom *doomed(struct ftc_cluster *c, int rank, int output, bool before)
{
    for (int d = 0; d < c->dooms; d++) {
        struct ftc_cluster_doom *doom = &c->doom[d];
        if (doom->nth == 0 || (doom->output != output && doom->output != FTC_CLUSTER_ANY) ||
            doom->before != before || (doom->rank >= 0 && doom->rank != rank))
            continue;
        if (--doom->nth == 0)
            return doom;
    }
    return NULL;
}

/* The kind of an output before or after which a death can come. */
static int doom_kind(const struct ftc_output *output)
{
    if (output->kind == FTC_OUTPUT_SEND || output->kind == FTC_OUTPUT_MULTICAST)
        return (int)output->message;
    return output->kind == FTC_OUTPUT_DELIVER || output->kind == FTC_OUTPUT_SETTLED
               ? FTC_CLUSTER_DELIVER
               : -1;
}

static bool dies(struct ftc_cluster *c, int rank, int kind, bool before)
{
    if (kind < 0)
        return false;
    c->process[rank].outputs += !before;
    struct ftc_cluster_doom *doom = doomed(c, rank, kind, before);
    if (doom == NULL || ftc_ledger_alive(c->ledger) == 1)
        return false;
    if (doom->lossy)
        ftc_cluster_crash_lossy(c, rank);
    else
        ftc_cluster_crash(c, rank);
    return true;
}

static void deliver(struct ftc_cluster *c, int rank, const struct ftc_output *output)
{
    int called = ftc_ledger_called(c->ledger, rank);
    struct ftc_message_head head = {.op = (uint64_t)(called - 1)};

    if (output->decision != NULL)
        head.ballot = output->decision->ballot;
    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_DELIVER, rank, output->status, &head);
    ftc_ledger_delivers(c->ledger, rank, c->process[rank].member, output);
    ftc_cluster_set_pending(c, ftc_cluster_call(c, rank), called < c->program->length);
}

static void settle(struct ftc_cluster *c, int rank, const struct ftc_output *output)
{
    struct ftc_message_head head = {.op = output->op, .ballot = output->decision->ballot};

    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_DELIVER, rank, FTC_SUCCESS, &head);
    ftc_ledger_protests(c->ledger, rank, c->process[rank].member, output);
}

/* The sender of a message with a flipped bit is fenced. No other message may be refused. */
static int refuse(struct ftc_cluster *c, int from, int rc)
{
    if (rc != FTC_ERR_PROTO || c->settings.flips == NULL)
        return rc;
    if (from >= 0 && c->process[from].alive)
        crash(c, from);
    return FTC_SUCCESS;
}

static void carry_out(struct ftc_cluster *c, int rank, const struct ftc_output *output)
{
    switch (output->kind) {
    case FTC_OUTPUT_SEND:
        send(c, rank, output);
        break;
    case FTC_OUTPUT_DELIVER:
        deliver(c, rank, output);
        break;
    case FTC_OUTPUT_MULTICAST:
        multicast(c, rank, output);
        break;
    case FTC_OUTPUT_MORE:
        c->process[rank].more = true;
        ftc_cluster_set_pending(c, ftc_cluster_timer(c, rank), true);
        break;
    case FTC_OUTPUT_TIMER:
        c->process[rank].timer = true;
        ftc_cluster_set_pending(c, ftc_cluster_timer(c, rank), true);
        break;
    case FTC_OUTPUT_TAKEN: /* of two levels, which clusters do not have */
        break;
    case FTC_OUTPUT_SETTLED:
        settle(c, rank, output);
        break;
    case FTC_OUTPUT_FENCED:
    case FTC_OUTPUT_MISMATCH:
        ftc_ledger_protests(c->ledger, rank, c->process[rank].member, output);
        break;
    case FTC_OUTPUT_FLIPPED:
        c->flips++;
        break;
    case FTC_OUTPUT_CORRUPT:
        ftc_ledger_protests(c->ledger, rank, c->process[rank].member, output);
        crash(c, rank);
        break;
    case FTC_OUTPUT_ACCUSE:
        ftc_ledger_protests(c->ledger, rank, c->process[rank].member, output);
        if (!ftc_cluster_broken(c))
            refuse(c, output->to, FTC_ERR_PROTO);
        break;
    }
}

/* A settlement may hold the next call back (agreement.md, rule 9). */
static void offer_call(struct ftc_cluster *c, int rank)
{
    int event = ftc_cluster_call(c, rank);
    bool may = ftc_ledger_called(c->ledger, rank) < c->program->length &&
               !ftc_ledger_under_way(c->ledger, rank) &&
               !ftc_member_held_back(c->process[rank].member);

    if (c->pending[event] != may)
        ftc_cluster_set_pending(c, event, may);
}

/* Called after each input: carry out the member's outputs, or a part of them if the process
 * dies. */
static void take_outputs(struct ftc_cluster *c, int rank, int rc, const char *input)
{
    struct ftc_cluster_process *p = &c->process[rank];
    const struct ftc_output *output;

    if (rc == FTC_ERR_NOMEM)
        ftc_cluster_no_memory(c->n);
    if (rc != FTC_SUCCESS)
        ftc_ledger_violate(c->ledger, "rank %d: %s returns %d in a sound run", rank, input, rc);
    while (p->alive && !ftc_cluster_broken(c) &&
           (output = ftc_member_next_output(p->member)) != NULL) {
        int kind = doom_kind(output);
        if (dies(c, rank, kind, true))
            return;
        carry_out(c, rank, output);
        if (dies(c, rank, kind, false))
            return;
    }
    if (!p->alive || ftc_cluster_broken(c))
        return;
    ftc_ledger_input_done(c->ledger, rank, p->member, rc);
    offer_call(c, rank);
}

/* --- inputs --- */

static void call_next(struct ftc_cluster *c, int rank)
{
    struct ftc_member *member = c->process[rank].member;
    int op = ftc_ledger_called(c->ledger, rank);
    struct ftc_call call;

    if (ftc_member_begin(member) < 0)
        ftc_cluster_no_memory(c->n);
    ftc_ledger_prepare(c->ledger, rank, op, &call);
    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_CALL, rank, op, NULL);
    ftc_ledger_calls(c->ledger, rank, member);
    take_outputs(c, rank, ftc_member_call(member, &call), "ftc_member_call()");
}

static void arrive(struct ftc_cluster *c, int from, int to)
{
    struct ftc_cluster_channel *channel = &c->channel[from * c->n + to];
    struct ftc_cluster_message message = ftc_cluster_dequeue(c, channel);

    ftc_cluster_set_pending(c, ftc_cluster_arrival(c, from, to), channel->count > 0);
    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_ARRIVE, to, from, &message.head);
    int rc = ftc_ledger_receive(c->ledger, to, c->process[to].member, from, message.head.op, false,
                                message.bytes);
    ftc_buffer_unref(message.bytes);
    take_outputs(c, to, refuse(c, from, rc), "ftc_member_receive()");
}

static void arrive_datagram(struct ftc_cluster *c, int to)
{
    struct ftc_cluster_channel *channel = datagrams_to(c, to);
    struct ftc_cluster_message message = ftc_cluster_dequeue(c, channel);

    ftc_cluster_set_pending(c, ftc_cluster_datagram(c, to), channel->count > 0);
    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_ARRIVE, to, message.from, &message.head);
    int rc = ftc_ledger_receive(c->ledger, to, c->process[to].member, message.from, message.head.op,
                                true, message.bytes);
    ftc_buffer_unref(message.bytes);
    take_outputs(c, to, refuse(c, -1, rc), "ftc_member_datagram()");
}

static void notify(struct ftc_cluster *c, int observer, int dead)
{
    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_NOTICE, observer, dead, NULL);
    int rc = ftc_member_notice(c->process[observer].member, dead);
    ftc_ledger_hears(c->ledger, observer, c->process[observer].member, dead);
    take_outputs(c, observer, rc, "ftc_member_notice()");
}

static void fire(struct ftc_cluster *c, int rank)
{
    struct ftc_cluster_process *p = &c->process[rank];

    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_TIMER, rank, 0, NULL);
    if (p->more) {
        p->more = false;
        ftc_cluster_set_pending(c, ftc_cluster_timer(c, rank), p->timer);
        take_outputs(c, rank, ftc_member_more(p->member), "ftc_member_more()");
    } else {
        p->timer = false;
        take_outputs(c, rank, ftc_member_timer(p->member), "ftc_member_timer()");
    }
}

void ftc_cluster_do(struct ftc_cluster *c, int event)
{
    struct ftc_cluster_event e = ftc_cluster_event_of(c->n, event);

    if (ftc_cluster_broken(c))
        return;
    if (!c->pending[event]) {
        ftc_ledger_violate(c->ledger,
                           "the story wants event %d of kind %d (%d, %d), which is not pending",
                           event, e.kind, e.a, e.b);
        return;
    }
    c->steps++;
    ftc_cluster_set_pending(c, event, false); /* an event that is pending again counts as new */
    if (e.kind == FTC_CLUSTER_ARRIVAL)
        arrive(c, e.a, e.b);
    else if (e.kind == FTC_CLUSTER_NOTICE)
        notify(c, e.a, e.b);
    else if (e.kind == FTC_CLUSTER_TIMER)
        fire(c, e.a);
    else if (e.kind == FTC_CLUSTER_DATAGRAM)
        arrive_datagram(c, e.a);
    else
        call_next(c, e.a);
    if (c->steps >= FTC_CLUSTER_STEPS)
        ftc_ledger_violate(c->ledger, "no end after %d events", FTC_CLUSTER_STEPS);
}

void ftc_cluster_run(struct ftc_cluster *c)
{
    while (!ftc_cluster_broken(c) && c->enabled_count > 0)
        ftc_cluster_do(c, ftc_cluster_pick(c));
}

void ftc_cluster_run_to(struct ftc_cluster *c, int op, int rank)
{
    while (!ftc_cluster_broken(c) && !ftc_cluster_delivered(c, op, rank) && c->enabled_count > 0)
        ftc_cluster_do(c, ftc_cluster_pick(c));
    if (!ftc_cluster_delivered(c, op, rank))
        ftc_ledger_violate(c->ledger, "rank %d does not deliver operation %d", rank, op);
}

/* Report which survivor is stuck, and why. */
static void check_stuck(struct ftc_cluster *c)
{
    int rank = ftc_ledger_unfinished(c->ledger);
    struct ftc_member_activity activity = {0};

    if (rank < 0)
        return;
    ftc_member_activity(c->process[rank].member, &activity);
    ftc_ledger_violate(c->ledger,
                       "deadlock: rank %d never delivers operation %d: ballot (%u,%u), waits for "
                       "%s of rank %d (%d)",
                       rank, ftc_ledger_called(c->ledger, rank) - 1, activity.ballot.i,
                       activity.ballot.s, ftc_wait_name(activity.wait), activity.waits_for,
                       activity.waits);
}

void ftc_cluster_finish(struct ftc_cluster *c)
{
    ftc_cluster_run(c);
    if (ftc_cluster_broken(c))
        return;
    check_stuck(c);
    ftc_ledger_ends(c->ledger);
}

void ftc_cluster_crash(struct ftc_cluster *c, int rank)
{
    if (c->process[rank].alive && ftc_ledger_alive(c->ledger) > 1)
        crash(c, rank);
}

void ftc_cluster_lose(struct ftc_cluster *c, int from, int to)
{
    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_LOSE, from, to, NULL);
    clear_channel(c, from, to, 0);
}

void ftc_cluster_crash_lossy(struct ftc_cluster *c, int rank)
{
    if (!c->process[rank].alive || ftc_ledger_alive(c->ledger) == 1)
        return;
    ftc_cluster_crash(c, rank);
    for (int to = 0; to < c->n; to++) {
        struct ftc_cluster_channel *channel = &c->channel[rank * c->n + to];
        if (channel->count > 0)
            channel->limit = 1 + channel->arrived + ftc_cluster_below(c, channel->count + 1);
    }
    apply_limits(c, rank);
}

void ftc_cluster_doom(struct ftc_cluster *c, int rank, int output, int nth, bool before)
{
    assert(c->dooms < FTC_CLUSTER_DOOMS && nth > 0);
    c->doom[c->dooms++] =
        (struct ftc_cluster_doom){.rank = rank, .output = output, .nth = nth, .before = before};
}
