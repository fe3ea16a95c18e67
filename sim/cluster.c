/* A communicator in one process: members, virtual network, detector, deaths. Promises are checked in
 * ftc_cluster_check.c. */
#include "sim/cluster.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cluster_event.h"

/* More events than any sound run takes: what goes on past it never ends. */
#define STEP_LIMIT 3000000

void *ftc_cluster_alloc(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL)
        abort();
    return memory;
}

uint64_t ftc_cluster_random(struct ftc_cluster *c)
{
    return ftc_cluster_mix(c->random += 0x9e3779b97f4a7c15u);
}

int ftc_cluster_below(struct ftc_cluster *c, int limit)
{
    assert(limit > 0);
    return (int)(ftc_cluster_random(c) % (uint64_t)limit);
}

void ftc_cluster_violate(struct ftc_cluster *c, const char *format, ...)
{
    va_list arguments;

    if (ftc_cluster_broken(c))
        return; /* the first one is the cause */
    va_start(arguments, format);
    vsnprintf(c->violation, sizeof(c->violation), format, arguments);
    va_end(arguments);
}

bool ftc_cluster_broken(const struct ftc_cluster *c)
{
    return c->violation[0] != '\0';
}

struct ftc_cluster_entry *ftc_cluster_entry(const struct ftc_cluster *c, int op, int rank)
{
    assert(op >= 0 && op < c->length);
    return &c->record[op].entry[rank];
}

const struct ftc_cluster_operation *ftc_cluster_operation_of(const struct ftc_cluster *c, int rank)
{
    assert(c->process[rank].next > 0);
    return &c->program[c->process[rank].next - 1];
}

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
        .tree = {.tree = FTC_TREE_BINOMIAL, .arity = 2},
        .correction = FTC_CORRECTION_NONE,
        .correction_delay_ns = 1000,
        .settle_every = 0,
        .prepare = FTC_PREPARE_DIRECT,
    };
    return settings;
}

static struct ftc_set carve_set(const struct ftc_cluster *c, uint64_t **words)
{
    struct ftc_set set = {.size = c->n};
    if (c->n > 64) {
        set.word = *words;
        *words += ftc_set_words(c->n);
    }
    return set;
}

static void make_records(struct ftc_cluster *c)
{
    size_t sets = 2 * (size_t)c->length * (size_t)c->n + (size_t)c->n + 1;
    uint64_t *words = c->words = ftc_cluster_alloc(sets * (size_t)ftc_set_words(c->n), sizeof(uint64_t));

    c->dead = carve_set(c, &words);
    for (int rank = 0; rank < c->n; rank++)
        c->process[rank].known = carve_set(c, &words);
    c->record = ftc_cluster_alloc((size_t)c->length, sizeof(*c->record));
    for (int op = 0; op < c->length; op++) {
        struct ftc_cluster_record *record = &c->record[op];
        record->decisions = ftc_cluster_alloc((size_t)c->n, sizeof(struct ftc_decision *));
        record->entry = ftc_cluster_alloc((size_t)c->n, sizeof(*record->entry));
        for (int rank = 0; rank < c->n; rank++) {
            record->entry[rank].decision = -1;
            record->entry[rank].agreed = carve_set(c, &words);
            record->entry[rank].known = carve_set(c, &words);
        }
    }
}

static void make_processes(struct ftc_cluster *c)
{
    for (int rank = 0; rank < c->n; rank++) {
        struct ftc_cluster_process *p = &c->process[rank];
        struct ftc_member_settings settings = c->settings;

        settings.self = rank;
        p->cluster = c;
        p->alive = true;
        if (ftc_member_create(&p->member, &settings) != FTC_SUCCESS)
            abort();
        ftc_cluster_set_pending(c, ftc_cluster_call(c, rank), c->length > 0);
    }
}

struct ftc_cluster *ftc_cluster_new(const struct ftc_member_settings *settings,
                                    const struct ftc_cluster_operation *program, int length, uint64_t seed)
{
    struct ftc_cluster *c = ftc_cluster_alloc(1, sizeof(*c));
    size_t n = (size_t)settings->ranks;

    c->settings = *settings;
    c->n = c->alive = settings->ranks;
    c->program = program;
    c->length = length;
    c->random = ftc_cluster_mix(seed);
    c->process = ftc_cluster_alloc(n, sizeof(*c->process));
    c->channel = ftc_cluster_alloc(n * n, sizeof(*c->channel));
    c->events = ftc_cluster_event_count(c->n);
    c->pending = ftc_cluster_alloc((size_t)c->events, sizeof(bool));
    c->held = ftc_cluster_alloc((size_t)c->events, sizeof(bool));
    c->place = ftc_cluster_alloc((size_t)c->events, sizeof(int));
    c->enabled = ftc_cluster_alloc((size_t)c->events, sizeof(int));
    c->trace = ftc_cluster_trace_new();
    make_records(c);
    make_processes(c);
    return c;
}

static void clear_channel(struct ftc_cluster *c, int from, int to, int keep)
{
    struct ftc_cluster_channel *channel = &c->channel[from * c->n + to];

    while (channel->count > keep) {
        channel->count--;
        ftc_buffer_unref(channel->ring[(channel->first + channel->count) % channel->room].bytes);
    }
    ftc_cluster_set_pending(c, ftc_cluster_arrival(c, from, to), channel->count > 0);
}

static void free_records(struct ftc_cluster *c)
{
    for (int op = 0; op < c->length; op++) {
        struct ftc_cluster_record *record = &c->record[op];
        for (int d = 0; d < record->count; d++)
            ftc_decision_unref(record->decisions[d]);
        for (int rank = 0; rank < c->n; rank++)
            ftc_value_drop(&record->entry[rank].result);
        free(record->decisions);
        free(record->entry);
    }
    free(c->record);
    free(c->words);
}

void ftc_cluster_free(struct ftc_cluster *c)
{
    if (c == NULL)
        return;
    free_records(c);
    for (int from = 0; from < c->n; from++) {
        ftc_member_destroy(c->process[from].member);
        for (int to = 0; to < c->n; to++) {
            clear_channel(c, from, to, 0);
            free(c->channel[from * c->n + to].ring);
        }
    }
    free(c->process);
    free(c->channel);
    free(c->pending);
    free(c->held);
    free(c->place);
    free(c->enabled);
    ftc_cluster_trace_free(c->trace);
    free(c);
}

/* --- network --- */

/* What a transport would deliver: the head, padding, then the bytes of the value. */
static struct ftc_buffer *join(const struct ftc_output *output)
{
    size_t head = output->head->size;
    size_t size = output->value.buffer != NULL ? output->value.size : 0;
    struct ftc_buffer *bytes = ftc_value_new_message(head, size);

    if (bytes == NULL)
        abort();
    memcpy(bytes->data, output->head->data, head);
    if (size > 0)
        memcpy(bytes->data + ftc_value_offset(head), ftc_value_bytes(&output->value), size);
    return bytes;
}

static void enqueue(struct ftc_cluster_channel *channel, const struct ftc_cluster_message *message)
{
    if (channel->count == channel->room) {
        int room = channel->room > 0 ? 2 * channel->room : 4;
        struct ftc_cluster_message *ring = ftc_cluster_alloc((size_t)room, sizeof(*ring));
        for (int m = 0; m < channel->count; m++)
            ring[m] = channel->ring[(channel->first + m) % channel->room];
        free(channel->ring);
        channel->ring = ring;
        channel->first = 0;
        channel->room = room;
    }
    channel->ring[(channel->first + channel->count++) % channel->room] = *message;
}

static struct ftc_cluster_message dequeue(struct ftc_cluster_channel *channel)
{
    struct ftc_cluster_message message = channel->ring[channel->first];

    assert(channel->count > 0);
    channel->first = (channel->first + 1) % channel->room;
    channel->count--;
    return message;
}

static void count_message(struct ftc_cluster *c, int from, const struct ftc_cluster_message *message)
{
    if (message->head.op >= (uint64_t)c->length) {
        ftc_cluster_violate(c, "rank %d sends for operation %llu, which nobody has", from,
                            (unsigned long long)message->head.op);
        return;
    }
    struct ftc_cluster_entry *entry = ftc_cluster_entry(c, (int)message->head.op, from);
    entry->sent[message->head.kind]++;
    entry->bytes += message->size;
    if (!entry->called)
        ftc_cluster_violate(c, "rank %d sends for operation %d before it calls it", from,
                            (int)message->head.op);
}

static void send(struct ftc_cluster *c, int from, const struct ftc_output *output)
{
    struct ftc_cluster_message message = {.bytes = join(output),
                                          .size = output->head->size + output->value.size};
    int to = output->to;

    if (to < 0 || to >= c->n || to == from) {
        ftc_cluster_violate(c, "rank %d sends to rank %d", from, to);
        ftc_buffer_unref(message.bytes);
        return;
    }
    if (ftc_message_peek(output->head, &message.head) != FTC_SUCCESS || message.head.kind != output->message)
        ftc_cluster_violate(c, "rank %d sends what ftc_message_peek() cannot read", from);
    else
        count_message(c, from, &message);
    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_SEND, from, to, &message.head);
    if (!c->process[to].alive) {
        ftc_buffer_unref(message.bytes);
        return;
    }
    enqueue(&c->channel[from * c->n + to], &message);
    ftc_cluster_set_pending(c, ftc_cluster_arrival(c, from, to), true);
}

/* --- outputs --- */

/* Does this output, the nth of its kind, take its process along? */
static struct ftc_cluster_doom *doomed(struct ftc_cluster *c, int rank, int output, bool before)
{
    for (int d = 0; d < c->dooms; d++) {
        struct ftc_cluster_doom *doom = &c->doom[d];
        if (doom->nth == 0 || doom->output != output || doom->before != before ||
            (doom->rank >= 0 && doom->rank != rank))
            continue;
        if (--doom->nth == 0)
            return doom;
    }
    return NULL;
}

static bool dies(struct ftc_cluster *c, int rank, const struct ftc_output *output, bool before)
{
    int kind = output->kind == FTC_OUTPUT_SEND ? (int)output->message : FTC_CLUSTER_DELIVER;

    if (output->kind != FTC_OUTPUT_SEND && output->kind != FTC_OUTPUT_DELIVER)
        return false;
    struct ftc_cluster_doom *doom = doomed(c, rank, kind, before);
    if (doom == NULL || c->alive == 1)
        return false;
    if (doom->lossy)
        ftc_cluster_crash_lossy(c, rank);
    else
        ftc_cluster_crash(c, rank);
    return true;
}

static void deliver(struct ftc_cluster *c, int rank, const struct ftc_output *output)
{
    struct ftc_cluster_process *p = &c->process[rank];
    struct ftc_message_head head = {.op = (uint64_t)(p->next - 1)};

    if (output->decision != NULL)
        head.ballot = output->decision->ballot;
    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_DELIVER, rank, output->status, &head);
    if (!p->under_way) {
        ftc_cluster_violate(c, "rank %d delivers operation %d twice", rank, p->next - 1);
        return;
    }
    p->under_way = false;
    ftc_cluster_check_delivery(c, rank, p->next - 1, output);
    ftc_cluster_set_pending(c, ftc_cluster_call(c, rank), p->next < c->length);
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
    case FTC_OUTPUT_TIMER:
        ftc_cluster_set_pending(c, ftc_cluster_timer(c, rank), true);
        break;
    case FTC_OUTPUT_FENCED:
        ftc_cluster_violate(c, "rank %d is told that it was declared failed, but it lives", rank);
        break;
    case FTC_OUTPUT_ACCUSE:
        ftc_cluster_violate(c, "rank %d accuses rank %d, which keeps to the protocol", rank, output->to);
        break;
    case FTC_OUTPUT_MISMATCH:
        ftc_cluster_violate(c, "rank %d reports a mismatch: %s", rank,
                            ftc_member_mismatch(c->process[rank].member));
        break;
    }
}

/* After each input: carry out what the member wants, or part of it if the process dies on the way. */
static void take_outputs(struct ftc_cluster *c, int rank, int rc, const char *input)
{
    struct ftc_cluster_process *p = &c->process[rank];
    const struct ftc_output *output;

    if (rc != FTC_SUCCESS)
        ftc_cluster_violate(c, "rank %d: %s returns %d in a sound run", rank, input, rc);
    while (p->alive && !ftc_cluster_broken(c) && (output = ftc_member_next_output(p->member)) != NULL) {
        if (dies(c, rank, output, true))
            return;
        /* The member's references end with the next call: what a death after it needs is in the kind
         * alone. */
        struct ftc_output kept = {.kind = output->kind, .message = output->message};
        carry_out(c, rank, output);
        if (dies(c, rank, &kept, false))
            return;
    }
    if (p->alive && !ftc_cluster_broken(c))
        ftc_cluster_check_input(c, rank);
}

/* --- inputs --- */

static void add_counts(void *arg, const void *in, void *inout, size_t size)
{
    const struct ftc_cluster_process *p = arg;
    const uint16_t *from = in;
    uint16_t *to = inout;

    if (!p->under_way || size != (size_t)p->cluster->n * sizeof(*to)) {
        ftc_cluster_violate(p->cluster,
                            "an operator is called after its call was delivered, or with %zu bytes", size);
        return;
    }
    for (int rank = 0; rank < p->cluster->n; rank++)
        to[rank] = (uint16_t)(to[rank] + from[rank]);
}

static void add_doubles(void *arg, const void *in, void *inout, size_t size)
{
    (void)size;
    double a, b;

    (void)arg;
    assert(size == sizeof(double));
    memcpy(&a, in, sizeof(a));
    memcpy(&b, inout, sizeof(b));
    b += a;
    memcpy(inout, &b, sizeof(b));
}

/* What rank gives to operation op; `bytes` has room for it. Returns its size. */
static size_t fill_input(const struct ftc_cluster *c, int rank, int op, unsigned char *bytes)
{
    const struct ftc_cluster_operation *o = &c->program[op];
    uint16_t one = 1;

    if (o->kind == FTC_CALL_BCAST) {
        ftc_cluster_broadcast_value(op, o->root, bytes);
        return FTC_CLUSTER_BROADCAST_SIZE;
    }
    if (o->kind != FTC_CALL_ALLREDUCE && o->kind != FTC_CALL_REDUCE)
        return 0;
    if (o->floating) {
        double x = 1.0 / (3.0 + 7.0 * rank) * (rank % 2 == 0 ? 1e9 : 1.0);
        memcpy(bytes, &x, sizeof(x));
        return sizeof(x);
    }
    memset(bytes, 0, (size_t)c->n * sizeof(one));
    memcpy(bytes + (size_t)rank * sizeof(one), &one, sizeof(one));
    return (size_t)c->n * sizeof(one);
}

static void call_next(struct ftc_cluster *c, int rank)
{
    struct ftc_cluster_process *p = &c->process[rank];
    int op = p->next;
    const struct ftc_cluster_operation *o = &c->program[op];
    unsigned char *bytes = ftc_cluster_alloc((size_t)c->n + FTC_CLUSTER_BROADCAST_SIZE, sizeof(uint16_t));
    size_t size = fill_input(c, rank, op, bytes);
    bool combines = o->kind == FTC_CALL_ALLREDUCE || o->kind == FTC_CALL_REDUCE;
    struct ftc_call call = {
        .signature = {.kind = (uint8_t)o->kind, .root = o->root, .size = size},
        .input = size > 0 && (combines || o->root == rank) ? bytes : NULL,
        .combine = combines ? (o->floating ? add_doubles : add_counts) : NULL,
        .combine_arg = p,
    };

    if (combines) {
        call.signature.type = o->floating ? FTC_DOUBLE : FTC_UINT16;
        call.signature.operator_code = 1;
    }
    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_CALL, rank, op, NULL);
    ftc_cluster_check_call(c, rank, op);
    p->next++;
    p->under_way = true;
    ftc_cluster_set_pending(c, ftc_cluster_call(c, rank), false);
    int rc = ftc_member_call(p->member, &call);
    memset(bytes, 0xee, size); /* the caller may overwrite its buffer */
    free(bytes);
    take_outputs(c, rank, rc, "ftc_member_call()");
}

static void arrive(struct ftc_cluster *c, int from, int to)
{
    struct ftc_cluster_channel *channel = &c->channel[from * c->n + to];
    struct ftc_cluster_message message = dequeue(channel);

    ftc_cluster_set_pending(c, ftc_cluster_arrival(c, from, to), channel->count > 0);
    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_ARRIVE, to, from, &message.head);
    int rc = ftc_member_receive(c->process[to].member, from, message.bytes);
    ftc_buffer_unref(message.bytes);
    take_outputs(c, to, rc, "ftc_member_receive()");
}

static void notify(struct ftc_cluster *c, int observer, int dead)
{
    ftc_cluster_set_pending(c, ftc_cluster_notice(c, observer, dead), false);
    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_NOTICE, observer, dead, NULL);
    int rc = ftc_member_notice(c->process[observer].member, dead);
    if (rc == FTC_SUCCESS && !ftc_set_has(ftc_member_known_failed(c->process[observer].member), dead))
        ftc_cluster_violate(c, "rank %d was told of rank %d's death and does not know it", observer, dead);
    take_outputs(c, observer, rc, "ftc_member_notice()");
}

static void fire(struct ftc_cluster *c, int rank)
{
    ftc_cluster_set_pending(c, ftc_cluster_timer(c, rank), false);
    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_TIMER, rank, 0, NULL);
    take_outputs(c, rank, ftc_member_timer(c->process[rank].member), "ftc_member_timer()");
}

void ftc_cluster_do(struct ftc_cluster *c, int event)
{
    struct ftc_cluster_event e = ftc_cluster_event_of(c->n, event);

    if (ftc_cluster_broken(c))
        return;
    if (!c->pending[event]) {
        ftc_cluster_violate(c, "the story wants event %d of kind %d (%d, %d), which is not pending", event,
                            e.kind, e.a, e.b);
        return;
    }
    c->steps++;
    if (e.kind == FTC_CLUSTER_ARRIVAL)
        arrive(c, e.a, e.b);
    else if (e.kind == FTC_CLUSTER_NOTICE)
        notify(c, e.a, e.b);
    else if (e.kind == FTC_CLUSTER_TIMER)
        fire(c, e.a);
    else
        call_next(c, e.a);
}

static void step(struct ftc_cluster *c)
{
    ftc_cluster_do(c, ftc_cluster_pick(c));
    if (c->steps > STEP_LIMIT)
        ftc_cluster_violate(c, "no end after %d events", STEP_LIMIT);
}

void ftc_cluster_run(struct ftc_cluster *c)
{
    while (!ftc_cluster_broken(c) && c->enabled_count > 0)
        step(c);
}

void ftc_cluster_run_to(struct ftc_cluster *c, int op, int rank)
{
    while (!ftc_cluster_broken(c) && !ftc_cluster_delivered(c, op, rank) && c->enabled_count > 0)
        step(c);
    if (!ftc_cluster_delivered(c, op, rank))
        ftc_cluster_violate(c, "rank %d does not deliver operation %d", rank, op);
}

void ftc_cluster_finish(struct ftc_cluster *c)
{
    ftc_cluster_run(c);
    if (!ftc_cluster_broken(c))
        ftc_cluster_check_end(c);
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
}

void ftc_cluster_crash(struct ftc_cluster *c, int rank)
{
    struct ftc_cluster_process *p = &c->process[rank];

    if (!p->alive || c->alive == 1)
        return;
    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_CRASH, rank, 0, NULL);
    memcpy(p->rules, ftc_member_rules(p->member), sizeof(p->rules));
    ftc_member_destroy(p->member);
    p->member = NULL;
    p->alive = p->under_way = false;
    c->alive--;
    ftc_set_add(&c->dead, rank);
    stop_events(c, rank);
}

void ftc_cluster_lose(struct ftc_cluster *c, int from, int to)
{
    ftc_cluster_trace(c, FTC_CLUSTER_TRACE_LOSE, from, to, NULL);
    clear_channel(c, from, to, 0);
}

void ftc_cluster_crash_lossy(struct ftc_cluster *c, int rank)
{
    ftc_cluster_crash(c, rank);
    for (int to = 0; to < c->n; to++) {
        int count = c->channel[rank * c->n + to].count;
        if (count == 0)
            continue;
        int keep = ftc_cluster_below(c, count + 1);
        if (keep < count)
            ftc_cluster_trace(c, FTC_CLUSTER_TRACE_LOSE, rank, to, NULL);
        clear_channel(c, rank, to, keep);
    }
}

void ftc_cluster_doom(struct ftc_cluster *c, int rank, int output, int nth, bool before)
{
    assert(c->dooms < FTC_CLUSTER_DOOMS && nth > 0);
    c->doom[c->dooms++] =
        (struct ftc_cluster_doom){.rank = rank, .output = output, .nth = nth, .before = before};
}
