/* The inside of a run in virtual time. Private to timed.c, plan.c and process.c. */
#ifndef FTC_SIM_TIMED_ENGINE_H
#define FTC_SIM_TIMED_ENGINE_H

#include "base/set.h"
#include "sim/model/ledger.h"
#include "sim/timed/queue.h"
#include "sim/timed/timed.h"
#include "sim/timed/trace.h"

enum ftc_timed_event {
    FTC_TIMED_ARRIVE,   /* item: the message; other: its sender */
    FTC_TIMED_RECEIVED, /* as ARRIVE, but o later: `rank` has the message */
    FTC_TIMED_READY,    /* `rank` may go on with its waiting items */
    FTC_TIMED_NOTICE,   /* other: the dead rank */
    FTC_TIMED_TIMER,    /* item: number of the timer */
    FTC_TIMED_CALL,     /* the next operation */
    FTC_TIMED_DEATH,
    FTC_TIMED_STALL,
};

/* A message on its way. All receivers of the same bytes share it. */
struct ftc_timed_message {
    struct ftc_buffer *buffer; /* head and value */
    int references;
    uint32_t op;
    uint8_t kind;     /* enum ftc_message_kind */
    bool settles;     /* it belongs to a settlement, and `op` means nothing */
    bool combines;    /* its receiver combines the payload */
    bool datagram;    /* it goes to all ranks, and may be lost */
    uint64_t payload; /* bytes of the value */
    uint64_t size;    /* bytes of the whole message, for the cost model */
};

/* An item that waits at a process: a message that has arrived, or that is to be sent to a peer or
 * to all ranks. An item without a message is the return of the call (FTC_TIMED_RETURN) or going on
 * (FTC_TIMED_MORE). Both happen after the sends before them. */
#define FTC_TIMED_ALL    UINT32_MAX
#define FTC_TIMED_RETURN 0
#define FTC_TIMED_MORE   1

struct ftc_timed_item {
    struct ftc_timed_message *message;
    uint32_t peer;
    uint32_t next; /* index + 1; 0: it is the last */
};

struct ftc_timed_list {
    uint32_t head, tail; /* index + 1, 0: empty */
};

struct ftc_timed_process {
    struct ftc_member *member; /* NULL: dead */
    uint64_t busy;             /* busy until this time */
    /* earliest time of the next send and the next receive, because of the gap */
    uint64_t send_after, receive_after;
    uint64_t wake; /* time of the only READY event that is valid; UINT64_MAX: there is none */
    struct ftc_timed_list in, out;
    uint32_t timer; /* number of the timer that was set last */
    int next;       /* number of operations called */
    bool receiving; /* a RECEIVED event is pending */
    bool held_back; /* its call waits for a settlement */
};

struct ftc_timed {
    const struct ftc_timed_settings *set;
    const struct ftc_program *program;
    struct ftc_member_settings members;
    int n;
    uint64_t now;
    uint64_t datagrams; /* sent so far, one per receiver */
    struct ftc_queue queue;
    struct ftc_distance distance;
    struct ftc_timed_process *process;
    struct ftc_timed_item *item; /* a pool */
    size_t items, item_room;
    uint32_t spare; /* index + 1 */
    struct ftc_set mortal;
    struct ftc_ledger *ledger;
    struct ftc_trace *trace; /* NULL: none */
    struct ftc_timed_result *result;
    uint64_t overhead; /* o */
};

/* All functions that return int return 0 or FTC_ERR_NOMEM. */

/* plan.c: draw the deaths into result->death[], ordered by time */
int ftc_timed_plan(const struct ftc_member_settings *members, const struct ftc_program *program,
                   const struct ftc_timed_settings *settings, struct ftc_timed_result *result);

/* process.c: the process as a resource */

int ftc_timed_push(struct ftc_timed *t, uint64_t time, enum ftc_timed_event kind, int rank,
                   int other, void *item);
/* Take the outputs of the member's last input, and go on. `rc` is what that input returned. */
int ftc_timed_outputs(struct ftc_timed *t, int rank, int rc);
int ftc_timed_arrive(struct ftc_timed *t, int rank, int from, struct ftc_timed_message *message);
int ftc_timed_received(struct ftc_timed *t, int rank, int from, struct ftc_timed_message *message);
int ftc_timed_ready(struct ftc_timed *t, int rank);
void ftc_timed_drop_waiting(struct ftc_timed *t, int rank); /* it died */
void ftc_timed_message_unref(struct ftc_timed_message *message);
/* Calls the next operation after a while outside the library. */
int ftc_timed_call_later(struct ftc_timed *t, int rank);

#endif
