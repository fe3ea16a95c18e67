/*
 * A process as a resource, and its messages, by LogGP (cost.h). It receives before it sends when it
 * can do both. An idle process starts to receive at the moment a message arrives. READY and
 * RECEIVED events decide everything else. They come after all other events of the same time. So a
 * send does not overtake a message that arrives at the same time.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mix.h"
#include "collectives/values/blocks.h"
#include "sim/timed/engine.h"

int ftc_timed_push(struct ftc_timed *t, uint64_t time, enum ftc_timed_event kind, int rank,
                   int other, void *item)
{
    bool late = kind == FTC_TIMED_READY || kind == FTC_TIMED_RECEIVED;

    if (time >> 62 != 0)
        return ftc_error_set(FTC_ERR_ARG,
                             "virtual time passes 146 years; give lower costs or fewer operations");
    struct ftc_event event = {.key = time << 1 | late,
                              .rank = (uint32_t)rank,
                              .kind = kind & 0xf,
                              .other = (uint32_t)other & 0xfffffff,
                              .item = item};

    return ftc_queue_push(&t->queue, &event);
}

/* --- waiting items --- */

static int append(struct ftc_timed *t, struct ftc_timed_list *list,
                  struct ftc_timed_message *message, int peer)
{
    uint32_t at = t->spare;

    if (at != 0) {
        t->spare = t->item[at - 1].next;
    } else {
        if (t->items == t->item_room) {
            size_t room = t->item_room == 0 ? 1024 : t->item_room + t->item_room / 2;
            struct ftc_timed_item *grown = realloc(t->item, room * sizeof(*grown));
            if (grown == NULL)
                return FTC_ERR_NOMEM;
            t->item = grown;
            t->item_room = room;
        }
        at = (uint32_t)++t->items;
    }
    t->item[at - 1] = (struct ftc_timed_item){.message = message, .peer = (uint32_t)peer};
    if (list->tail != 0)
        t->item[list->tail - 1].next = at;
    else
        list->head = at;
    list->tail = at;
    return 0;
}

static struct ftc_timed_item take_first(struct ftc_timed *t, struct ftc_timed_list *list)
{
    uint32_t at = list->head;
    struct ftc_timed_item item = t->item[at - 1];

    list->head = item.next;
    if (list->head == 0)
        list->tail = 0;
    t->item[at - 1].next = t->spare;
    t->spare = at;
    return item;
}

static void drop_list(struct ftc_timed *t, struct ftc_timed_list *list)
{
    while (list->head != 0)
        ftc_timed_message_unref(take_first(t, list).message);
}

void ftc_timed_drop_waiting(struct ftc_timed *t, int rank)
{
    drop_list(t, &t->process[rank].in);
    drop_list(t, &t->process[rank].out);
}

/* --- messages --- */

void ftc_timed_message_unref(struct ftc_timed_message *message)
{
    if (message == NULL || --message->references > 0)
        return;
    ftc_buffer_unref(message->buffer);
    free(message);
}

static uint64_t payload_of(const struct ftc_timed *t, const struct ftc_output *output, uint64_t op)
{
    if (output->value.buffer == NULL)
        return 0;
    if (output->message == FTC_MESSAGE_FRAGMENT || ftc_op_is_settlement(op))
        return output->value.size; /* the real size of the piece, whatever --bytes says */
    const struct ftc_program_operation *operation = &t->program->operation[op];
    if (ftc_program_gathers(operation)) /* with the table of the list (values/blocks.h) */
        return (t->set->bytes + 8) * (uint64_t)ftc_blocks_count(&output->value);
    return operation->kind == FTC_CALL_VALIDATE ? output->value.size : t->set->bytes;
}

static struct ftc_buffer *join(const struct ftc_output *output)
{
    const struct ftc_value *value = &output->value;

    if (value->buffer == NULL)
        return ftc_buffer_ref(output->head);
    struct ftc_buffer *joined = ftc_value_new_message(output->head->size, value->size);
    if (joined == NULL)
        return NULL;
    memcpy(joined->data, output->head->data, output->head->size);
    memcpy(joined->data + ftc_value_offset(output->head->size), ftc_value_bytes(value),
           value->size);
    return joined;
}

static struct ftc_timed_message *message_new(const struct ftc_timed *t,
                                             const struct ftc_output *output)
{
    struct ftc_timed_message *message = malloc(sizeof(*message));

    assert(ftc_op_is_settlement(output->op) || output->op < (uint64_t)t->program->length);
    if (message == NULL)
        return NULL;
    bool contributes = output->message == FTC_MESSAGE_UP || output->message == FTC_MESSAGE_TREE;
    bool settles = ftc_op_is_settlement(output->op);
    uint64_t payload = payload_of(t, output, output->op);
    *message = (struct ftc_timed_message){.buffer = join(output),
                                          .references = 1,
                                          .op = settles ? 0 : (uint32_t)output->op,
                                          .settles = settles,
                                          .kind = (uint8_t)output->message,
                                          .combines = contributes && payload > 0,
                                          .datagram = output->kind == FTC_OUTPUT_MULTICAST,
                                          .payload = payload,
                                          .size = output->head->size + payload};
    if (message->buffer != NULL)
        return message;
    free(message);
    return NULL;
}

/* The last message of a row of outputs. A member sends the same bytes to many ranks, so they are
 * kept once. */
struct last {
    struct ftc_timed_message *message;
    struct ftc_value value;
    size_t head;
};

static bool same(const struct last *last, const struct ftc_output *output)
{
    return last->message != NULL && last->head == output->head->size &&
           last->message->datagram == (output->kind == FTC_OUTPUT_MULTICAST) &&
           last->value.buffer == output->value.buffer &&
           last->value.offset == output->value.offset && last->value.size == output->value.size &&
           memcmp(last->message->buffer->data, output->head->data, last->head) == 0;
}

static int queue_send(struct ftc_timed *t, int rank, const struct ftc_output *output,
                      struct last *last)
{
    if (!same(last, output)) {
        ftc_timed_message_unref(last->message);
        ftc_value_drop(&last->value);
        last->message = message_new(t, output);
        if (last->message == NULL)
            return FTC_ERR_NOMEM;
        ftc_value_set(&last->value, &output->value);
        last->head = output->head->size;
    }
    last->message->references++;
    int peer = last->message->datagram ? (int)FTC_TIMED_ALL : output->to;
    int rc = append(t, &t->process[rank].out, last->message, peer);
    if (rc != 0)
        ftc_timed_message_unref(last->message);
    return rc;
}

/* --- actions of a process --- */

static int wake_at(struct ftc_timed *t, int rank, uint64_t time)
{
    struct ftc_timed_process *p = &t->process[rank];

    if (p->wake <= time)
        return 0;
    p->wake = time;
    return ftc_timed_push(t, time, FTC_TIMED_READY, rank, 0, NULL);
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static int start_receive(struct ftc_timed *t, int rank)
{
    struct ftc_timed_process *p = &t->process[rank];
    struct ftc_timed_item item = take_first(t, &p->in);
    const struct ftc_cost *cost = &t->set->cost;

    p->receiving = true;
    p->receive_after = t->now + ftc_cost_gap(cost, item.message->size);
    p->busy = t->now + t->overhead;
    if (item.message->combines)
        p->busy += ftc_cost_combine(cost, item.message->payload);
    return ftc_timed_push(t, p->busy, FTC_TIMED_RECEIVED, rank, (int)item.peer, item.message);
}

/* The noise of a channel is always the same, so channels stay FIFO. */
static uint64_t flight(const struct ftc_timed *t, int from, int to, uint64_t size)
{
    uint64_t time =
        ftc_cost_flight(&t->set->cost, size) + ftc_distance_extra(&t->distance, from, to);

    if (t->set->noise_ns == 0)
        return time;
    uint64_t channel = (uint64_t)from << 32 | (uint32_t)to;
    return time + ftc_mix(ftc_mix(t->set->seed ^ 0x6e6f6973) ^ channel) % (t->set->noise_ns + 1);
}

/* A datagram leaves once, and arrives at each rank that does not lose it. */
static int cast(struct ftc_timed *t, int rank, struct ftc_timed_message *message)
{
    int rc = 0;

    for (int to = 0; rc == 0 && to < t->n; to++) {
        uint64_t random = ftc_mix(ftc_mix(t->set->seed ^ 0x64617467) + t->datagrams++);
        if (to == rank || random % 1000000 < t->set->loss_ppm)
            continue;
        message->references++;
        rc = ftc_timed_push(t, t->now + flight(t, rank, to, message->size), FTC_TIMED_ARRIVE, to,
                            rank, message);
    }
    ftc_timed_message_unref(message);
    return rc;
}

static void count_sent(struct ftc_timed *t, const struct ftc_timed_message *message)
{
    struct ftc_timed_operation *operation =
        message->settles ? &t->result->settlements : &t->result->operation[message->op];

    operation->sent[message->kind]++;
    operation->bytes += message->size;
}

static int start_send(struct ftc_timed *t, int rank)
{
    struct ftc_timed_process *p = &t->process[rank];
    struct ftc_timed_item item = take_first(t, &p->out);
    struct ftc_timed_message *message = item.message;
    const struct ftc_cost *cost = &t->set->cost;

    count_sent(t, message);
    p->send_after = t->now + ftc_cost_gap(cost, message->size);
    p->busy = t->now + t->overhead;
    t->result->quiet = later(t->result->quiet, p->busy);
    if (t->trace != NULL) {
        ftc_trace_message(t->trace, t->now, rank, message->datagram ? "multicasts" : "sends", "to",
                          message->datagram ? -1 : (int)item.peer, message->buffer, message->size);
        ftc_trace_contribution(t->trace, t->ledger, rank, (int)item.peer, message->buffer,
                               ftc_value_offset(message->size - message->payload));
    }
    if (message->datagram)
        return cast(t, rank, message);
    uint64_t way = flight(t, rank, (int)item.peer, message->size);
    return ftc_timed_push(t, t->now + way, FTC_TIMED_ARRIVE, (int)item.peer, rank, message);
}

int ftc_timed_call_later(struct ftc_timed *t, int rank)
{
    int op = t->process[rank].next;
    uint64_t span = 2 * t->set->think_ns + 1;

    if (op == t->program->length)
        return 0;
    uint64_t draw =
        ftc_mix(ftc_mix(t->set->seed ^ 0x74686e6b) ^ ((uint64_t)op << 32 | (uint32_t)rank));
    return ftc_timed_push(t, t->now + draw % span, FTC_TIMED_CALL, rank, 0, NULL);
}

static int return_from_call(struct ftc_timed *t, int rank)
{
    int op = t->process[rank].next - 1;
    struct ftc_timed_operation *operation = &t->result->operation[op];

    take_first(t, &t->process[rank].out);
    t->result->end = t->now;
    if (t->trace != NULL)
        ftc_trace_line(t->trace, t->now, rank, "returns from op %d", op);
    if (!ftc_set_has(&t->mortal, rank)) {
        operation->deliveries++;
        operation->last_delivery = later(operation->last_delivery, t->now);
        if (rank == t->program->operation[op].root) {
            operation->root_delivered = true;
            operation->root_delivery = t->now;
        }
    }
    return ftc_timed_call_later(t, rank);
}

static bool returns_next(const struct ftc_timed *t, const struct ftc_timed_process *p)
{
    const struct ftc_timed_item *item = p->out.head != 0 ? &t->item[p->out.head - 1] : NULL;

    return item != NULL && item->message == NULL && item->peer == FTC_TIMED_RETURN;
}

static bool goes_on_next(const struct ftc_timed *t, const struct ftc_timed_process *p)
{
    const struct ftc_timed_item *item = p->out.head != 0 ? &t->item[p->out.head - 1] : NULL;

    return item != NULL && item->message == NULL && item->peer == FTC_TIMED_MORE;
}

/* All outputs of the process are out, and it has nothing to receive: it goes on. */
static int more(struct ftc_timed *t, int rank)
{
    struct ftc_timed_process *p = &t->process[rank];

    take_first(t, &p->out);
    return ftc_timed_outputs(t, rank, ftc_member_more(p->member));
}

/* The process is not receiving: do its next action, now or as soon as it can. */
static int go_on(struct ftc_timed *t, int rank)
{
    struct ftc_timed_process *p = &t->process[rank];
    int rc = 0;

    while (rc == 0 && !p->receiving) {
        uint64_t free_at = later(t->now, p->busy);
        if (free_at == t->now && returns_next(t, p)) {
            rc = return_from_call(t, rank);
            continue;
        }
        uint64_t receive = p->in.head != 0 ? later(free_at, p->receive_after) : UINT64_MAX;
        uint64_t send =
            p->out.head != 0 ? later(free_at, returns_next(t, p) ? 0 : p->send_after) : UINT64_MAX;
        uint64_t next = receive < send ? receive : send;
        if (next == UINT64_MAX)
            return 0;
        if (next > t->now)
            return wake_at(t, rank, next);
        if (receive <= t->now)
            rc = start_receive(t, rank);
        else
            rc = goes_on_next(t, p) ? more(t, rank) : start_send(t, rank);
    }
    return rc;
}

int ftc_timed_ready(struct ftc_timed *t, int rank)
{
    struct ftc_timed_process *p = &t->process[rank];

    if (p->wake != t->now)
        return 0; /* another event came first */
    p->wake = UINT64_MAX;
    return p->receiving ? 0 : go_on(t, rank);
}

int ftc_timed_arrive(struct ftc_timed *t, int rank, int from, struct ftc_timed_message *message)
{
    struct ftc_timed_process *p = &t->process[rank];

    if (p->member == NULL) {
        if (t->trace != NULL)
            ftc_trace_message(t->trace, t->now, rank, "is dead and loses", "from", from,
                              message->buffer, 0);
        ftc_timed_message_unref(message);
        return 0;
    }
    int rc = append(t, &p->in, message, from);
    if (rc != 0 || p->receiving)
        return rc;
    uint64_t at = later(later(t->now, p->busy), p->receive_after);
    return at == t->now ? start_receive(t, rank) : wake_at(t, rank, at);
}

int ftc_timed_received(struct ftc_timed *t, int rank, int from, struct ftc_timed_message *message)
{
    struct ftc_timed_process *p = &t->process[rank];
    int rc = 0;

    if (p->member != NULL) {
        p->receiving = false;
        t->result->quiet = later(t->result->quiet, t->now);
        if (t->trace != NULL)
            ftc_trace_message(t->trace, t->now, rank, "has", "from", from, message->buffer, 0);
        rc = ftc_ledger_receive(t->ledger, rank, p->member, from,
                                message->settles ? FTC_SETTLEMENT : message->op, message->datagram,
                                message->buffer);
        if (rc == FTC_ERR_PROTO &&
            t->members.flips != NULL) /* the sender of a message with a flipped bit is fenced */
            rc = message->datagram ? 0 : ftc_timed_push(t, t->now, FTC_TIMED_DEATH, from, 0, NULL);
        rc = ftc_timed_outputs(t, rank, rc);
        if (rc == 0)
            rc = go_on(t, rank);
    }
    ftc_timed_message_unref(message);
    return rc;
}

/* --- outputs --- */

static int take_delivery(struct ftc_timed *t, int rank)
{
    struct ftc_timed_process *p = &t->process[rank];
    struct ftc_timed_operation *operation = &t->result->operation[p->next - 1];
    struct ftc_member_report report;

    t->result->delivery[rank] = t->now;
    ftc_member_report(p->member, &report);
    if (report.compared > 0) {
        operation->compared = report.compared;
        operation->wrong = (unsigned)ftc_set_count(report.wrong);
    }
    if (!ftc_set_has(&t->mortal, rank)) {
        if (report.ballots > operation->ballots)
            operation->ballots = report.ballots;
        if (report.retries > operation->retries)
            operation->retries = report.retries;
    }
    return append(t, &p->out, NULL, FTC_TIMED_RETURN);
}

/* Show the output to the ledger first. An output that breaks a promise ends the run, and may make
 * no sense here. */
static bool condemned(struct ftc_timed *t, int rank, const struct ftc_output *output)
{
    const struct ftc_member *member = t->process[rank].member;

    if (output->kind == FTC_OUTPUT_SEND || output->kind == FTC_OUTPUT_MULTICAST)
        ftc_ledger_sends(t->ledger, rank, output);
    else if (output->kind == FTC_OUTPUT_DELIVER)
        ftc_ledger_delivers(t->ledger, rank, member, output);
    else if (output->kind != FTC_OUTPUT_TIMER && output->kind != FTC_OUTPUT_MORE)
        ftc_ledger_protests(t->ledger, rank, member, output);
    return ftc_ledger_violation(t->ledger)[0] != '\0';
}

static int take_output(struct ftc_timed *t, int rank, const struct ftc_output *output,
                       struct last *last)
{
    struct ftc_timed_process *p = &t->process[rank];

    if (condemned(t, rank, output))
        return 0;
    if (t->set->alone && output->kind == FTC_OUTPUT_SEND && output->message == FTC_MESSAGE_PULL)
        return 0;
    if (output->kind == FTC_OUTPUT_MORE)
        return append(t, &p->out, NULL, FTC_TIMED_MORE);
    if (output->kind == FTC_OUTPUT_SEND || output->kind == FTC_OUTPUT_MULTICAST)
        return queue_send(t, rank, output, last);
    if (output->kind == FTC_OUTPUT_DELIVER)
        return take_delivery(t, rank);
    if (output->kind == FTC_OUTPUT_FLIPPED || output->kind == FTC_OUTPUT_SETTLED)
        return 0;
    if (output->kind == FTC_OUTPUT_CORRUPT)
        return ftc_timed_push(t, t->now, FTC_TIMED_DEATH, rank, 0, NULL);
    if (output->kind == FTC_OUTPUT_ACCUSE)
        return ftc_timed_push(t, t->now, FTC_TIMED_DEATH, output->to, 0, NULL);
    p->timer++;
    return ftc_timed_push(t, t->now + output->delay_ns, FTC_TIMED_TIMER, rank, 0,
                          (void *)(uintptr_t)p->timer);
}

int ftc_timed_outputs(struct ftc_timed *t, int rank, int rc)
{
    struct ftc_timed_process *p = &t->process[rank];
    const struct ftc_output *output;
    struct last last = {0};
    int failed = 0;

    if (rc == FTC_ERR_NOMEM)
        return rc; /* the member is unfinished */
    while (failed == 0 && (output = ftc_member_next_output(p->member)) != NULL)
        failed = take_output(t, rank, output, &last);
    ftc_timed_message_unref(last.message);
    ftc_value_drop(&last.value);
    ftc_ledger_input_done(t->ledger, rank, p->member, rc);
    if (failed == 0 && p->held_back && !ftc_member_held_back(p->member))
        failed = ftc_timed_push(t, t->now, FTC_TIMED_CALL, rank, 0, NULL);
    p->held_back &= ftc_member_held_back(p->member);
    if (failed == 0 && p->out.head != 0 && !p->receiving)
        failed = wake_at(t, rank, later(t->now, p->busy));
    return failed;
}
