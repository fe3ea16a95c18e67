/*
 * A process as a resource, by LogGP (sim/timed/cost.h) and the rules of sim/timed/process.c: it
 * receives before it sends when it can do both. READY and RECEIVED events come after all other
 * events of the same time. So a send does not overtake a message that arrives at the same time.
 */
#include "sim/baseline/engine.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mix.h"

enum event {
    EVENT_ARRIVE, /* other: the sender; item: the message */
    EVENT_RECEIVED,
    EVENT_READY,
    EVENT_TIMEOUT,
    EVENT_NOTICE,
};

/* Pack a message into the pointer of an event. */
static void *pack(enum ftc_baseline_message kind, int fragment)
{
    return (void *)((uintptr_t)fragment << 3 | (uintptr_t)kind);
}

static struct ftc_baseline_item unpack(const struct ftc_event *event)
{
    uintptr_t bits = (uintptr_t)event->item;

    return (struct ftc_baseline_item){
        .peer = event->other, .kind = bits & 7, .detail = bits >> 3 & 0x1fffffff};
}

static int push(struct ftc_baseline_engine *e, uint64_t time, enum event kind, int rank, int other,
                void *item)
{
    bool late = kind == EVENT_READY || kind == EVENT_RECEIVED;

    if (time >> 62 != 0)
        return ftc_error_set(
            FTC_ERR_ARG, "virtual time passes 146 years; give lower costs or a shorter timeout");
    struct ftc_event event = {.key = time << 1 | late,
                              .rank = (uint32_t)rank,
                              .kind = kind & 0xf,
                              .other = (uint32_t)other & 0xfffffff,
                              .item = item};
    return ftc_queue_push(&e->queue, &event);
}

/* --- waiting messages --- */

static int append(struct ftc_baseline_engine *e, struct ftc_baseline_list *list,
                  struct ftc_baseline_item item)
{
    uint32_t at = e->spare;

    if (at != 0) {
        e->spare = e->item[at - 1].next;
    } else {
        if (e->items == e->item_room) {
            size_t room = e->item_room == 0 ? 1024 : e->item_room + e->item_room / 2;
            struct ftc_baseline_item *grown = realloc(e->item, room * sizeof(*grown));
            if (grown == NULL)
                return FTC_ERR_NOMEM;
            e->item = grown;
            e->item_room = room;
        }
        at = (uint32_t)++e->items;
    }
    item.next = 0;
    e->item[at - 1] = item;
    if (list->tail != 0)
        e->item[list->tail - 1].next = at;
    else
        list->head = at;
    list->tail = at;
    return 0;
}

static struct ftc_baseline_item take_first(struct ftc_baseline_engine *e,
                                           struct ftc_baseline_list *list)
{
    uint32_t at = list->head;
    struct ftc_baseline_item item = e->item[at - 1];

    list->head = item.next;
    if (list->head == 0)
        list->tail = 0;
    e->item[at - 1].next = e->spare;
    e->spare = at;
    return item;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static int wake_at(struct ftc_baseline_engine *e, int rank, uint64_t time)
{
    struct ftc_baseline_process *p = &e->process[rank];

    if (p->wake <= time)
        return 0;
    p->wake = time;
    return push(e, time, EVENT_READY, rank, 0, NULL);
}

static int queue_item(struct ftc_baseline_engine *e, int rank, struct ftc_baseline_item item)
{
    struct ftc_baseline_process *p = &e->process[rank];
    int rc = append(e, &p->out, item);

    return rc == 0 && !p->receiving ? wake_at(e, rank, later(e->now, p->busy)) : rc;
}

int ftc_baseline_send(struct ftc_baseline_engine *e, int rank, int to,
                      enum ftc_baseline_message kind, int fragment)
{
    return queue_item(e, rank,
                      (struct ftc_baseline_item){.peer = (uint32_t)to,
                                                 .kind = kind & 7,
                                                 .detail = (uint32_t)fragment & 0x1fffffff});
}

int ftc_baseline_send_all(struct ftc_baseline_engine *e, int rank, int to,
                          enum ftc_baseline_message kind)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < e->set->fragments; i++)
        rc = ftc_baseline_send(e, rank, to, kind, i);
    return rc;
}

int ftc_baseline_wait(struct ftc_baseline_engine *e, int rank, int timeouts)
{
    return ftc_baseline_send(e, rank, rank, FTC_BASELINE_WAIT, timeouts);
}

/* --- the network --- */

static bool loses(const struct ftc_baseline_engine *e, int rank)
{
    uint64_t datagram = e->result->count.datagrams; /* number of this datagram */
    uint64_t bits =
        ftc_mix(ftc_mix(ftc_mix(e->set->seed ^ 0x6c6f7373) + datagram) + (uint64_t)rank);

    return (double)(bits >> 11) * 0x1p-53 < e->set->loss;
}

static int multicast(struct ftc_baseline_engine *e, int from, uint64_t arrival, int fragment)
{
    int rc = 0;

    e->result->count.datagrams++;
    for (int rank = 0; rc == 0 && rank < e->n; rank++) {
        if (rank == from || e->process[rank].dead)
            continue;
        if (loses(e, rank))
            e->result->count.lost++;
        else
            rc = push(e, arrival, EVENT_ARRIVE, rank, from, pack(FTC_BASELINE_DATAGRAM, fragment));
    }
    return rc;
}

static uint64_t *counter(struct ftc_baseline_counts *count, enum ftc_baseline_message kind)
{
    return kind == FTC_BASELINE_ACK   ? &count->acks
           : kind == FTC_BASELINE_NAK ? &count->naks
                                      : &count->repairs;
}

static uint64_t size_of(const struct ftc_baseline_engine *e, enum ftc_baseline_message kind)
{
    return kind == FTC_BASELINE_ACK || kind == FTC_BASELINE_NAK ? 0 : e->set->bytes;
}

static int start_send(struct ftc_baseline_engine *e, int rank)
{
    struct ftc_baseline_process *p = &e->process[rank];
    struct ftc_baseline_item item = take_first(e, &p->out);
    enum ftc_baseline_message kind = (enum ftc_baseline_message)item.kind;
    uint64_t size = size_of(e, kind);
    uint64_t arrival = e->now + ftc_cost_flight(&e->set->cost, size);

    p->send_after = e->now + ftc_cost_gap(&e->set->cost, size);
    p->busy = e->now + ftc_cost_overhead(&e->set->cost);
    if (kind == FTC_BASELINE_DATAGRAM)
        return multicast(e, rank, arrival, (int)item.detail);
    ++*counter(&e->result->count, kind);
    return e->process[item.peer].dead
               ? 0
               : push(e, arrival, EVENT_ARRIVE, (int)item.peer, rank, pack(kind, (int)item.detail));
}

static int start_wait(struct ftc_baseline_engine *e, int rank)
{
    struct ftc_baseline_item item = take_first(e, &e->process[rank].out);

    if (e->timeout == UINT64_MAX)
        return 0;
    return push(e, e->now + e->timeout * item.detail, EVENT_TIMEOUT, rank, 0, NULL);
}

static int start_receive(struct ftc_baseline_engine *e, int rank)
{
    struct ftc_baseline_process *p = &e->process[rank];
    struct ftc_baseline_item item = take_first(e, &p->in);
    enum ftc_baseline_message kind = (enum ftc_baseline_message)item.kind;

    p->receiving = true;
    p->receive_after = e->now + ftc_cost_gap(&e->set->cost, size_of(e, kind));
    p->busy = e->now + ftc_cost_overhead(&e->set->cost);
    return push(e, p->busy, EVENT_RECEIVED, rank, (int)item.peer, pack(kind, (int)item.detail));
}

static bool waits_next(const struct ftc_baseline_engine *e, const struct ftc_baseline_process *p)
{
    return p->out.head != 0 && e->item[p->out.head - 1].kind == FTC_BASELINE_WAIT;
}

/* The process is not receiving: do its next action, now or as soon as it can. */
static int go_on(struct ftc_baseline_engine *e, int rank)
{
    struct ftc_baseline_process *p = &e->process[rank];
    int rc = 0;

    while (rc == 0 && !p->receiving) {
        uint64_t free_at = later(e->now, p->busy);
        if (free_at == e->now && waits_next(e, p)) {
            rc = start_wait(e, rank);
            continue;
        }
        uint64_t receive = p->in.head != 0 ? later(free_at, p->receive_after) : UINT64_MAX;
        uint64_t send =
            p->out.head != 0 ? later(free_at, waits_next(e, p) ? 0 : p->send_after) : UINT64_MAX;
        uint64_t next = receive < send ? receive : send;
        if (next == UINT64_MAX)
            return 0;
        if (next > e->now)
            return wake_at(e, rank, next);
        rc = receive <= e->now ? start_receive(e, rank) : start_send(e, rank);
    }
    return rc;
}

/* --- events --- */

void ftc_baseline_heard_news(struct ftc_baseline_engine *e)
{
    e->news++;
    e->at_news = e->result->count;
}

uint8_t *ftc_baseline_have(struct ftc_baseline_engine *e, int rank, int fragment)
{
    return &e->have[(size_t)rank * (size_t)e->set->fragments + (size_t)fragment];
}

static void record_arrival(struct ftc_baseline_engine *e)
{
    struct ftc_baseline_result *result = e->result;

    if (result->served++ == 0)
        result->first = e->now;
    result->last = e->now;
    e->sum += (double)e->now;
    ftc_baseline_heard_news(e);
}

static int take_fragment(struct ftc_baseline_engine *e, int rank, int fragment)
{
    uint8_t *have = ftc_baseline_have(e, rank, fragment);

    if (*have == FTC_BASELINE_THERE)
        return 0;
    *have = FTC_BASELINE_THERE;
    if (--e->process[rank].missing == 0)
        record_arrival(e);
    return e->scheme->fragment(e, rank, fragment);
}

static int arrive(struct ftc_baseline_engine *e, int rank, struct ftc_baseline_item item)
{
    struct ftc_baseline_process *p = &e->process[rank];
    int rc = append(e, &p->in, item);

    if (rc != 0 || p->receiving)
        return rc;
    uint64_t at = later(later(e->now, p->busy), p->receive_after);
    return at == e->now ? start_receive(e, rank) : wake_at(e, rank, at);
}

static int received(struct ftc_baseline_engine *e, int rank, struct ftc_baseline_item item)
{
    int rc, fragment = (int)item.detail;

    if (item.kind == FTC_BASELINE_DATAGRAM || item.kind == FTC_BASELINE_REPAIR)
        rc = take_fragment(e, rank, fragment);
    else
        rc = e->scheme->answer(e, rank, (int)item.peer, fragment);
    e->process[rank].receiving = false;
    return rc == 0 ? go_on(e, rank) : rc;
}

static int ready(struct ftc_baseline_engine *e, int rank)
{
    struct ftc_baseline_process *p = &e->process[rank];

    if (p->wake != e->now)
        return 0; /* another event came first */
    p->wake = UINT64_MAX;
    return p->receiving ? 0 : go_on(e, rank);
}

static int happen(struct ftc_baseline_engine *e, const struct ftc_event *event)
{
    int rank = (int)event->rank;

    switch ((enum event)event->kind) {
    case EVENT_ARRIVE:
        return arrive(e, rank, unpack(event));
    case EVENT_RECEIVED:
        return received(e, rank, unpack(event));
    case EVENT_READY:
        return ready(e, rank);
    case EVENT_TIMEOUT:
        return e->scheme->timeout(e, rank);
    case EVENT_NOTICE:
        e->noticed = true;
        return e->scheme->notice(e);
    }
    return 0;
}

int ftc_baseline_play(struct ftc_baseline_engine *e)
{
    struct ftc_event event;
    int rc = e->scheme->start(e);

    if (rc == 0 && e->set->detector && e->set->dead > 0)
        rc = push(e, e->set->detect_ns, EVENT_NOTICE, 0, 0, NULL);
    while (rc == 0 && ftc_queue_pop(&e->queue, &event)) {
        e->now = event.key >> 1;
        rc = happen(e, &event);
    }
    return rc;
}
