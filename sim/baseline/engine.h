/* The inside of a baseline's run. Private to sim/baseline. */
#ifndef FTC_SIM_BASELINE_ENGINE_H
#define FTC_SIM_BASELINE_ENGINE_H

#include "sim/baseline/baseline.h"
#include "sim/timed/queue.h"

enum ftc_baseline_message {
    FTC_BASELINE_DATAGRAM, /* a fragment, to all ranks */
    FTC_BASELINE_REPAIR,   /* a fragment */
    FTC_BASELINE_ACK,
    FTC_BASELINE_NAK,  /* asks for a fragment */
    FTC_BASELINE_WAIT, /* no message: when all messages before it are out, a timeout begins */
};

/* A message that has arrived and waits, or that waits to be sent. */
struct ftc_baseline_item {
    uint32_t peer;
    uint32_t kind : 3;    /* enum ftc_baseline_message */
    uint32_t detail : 29; /* the fragment; for WAIT the number of timeouts */
    uint32_t next;        /* index + 1; 0: it is the last */
};

struct ftc_baseline_list {
    uint32_t head, tail; /* index + 1, 0: empty */
};

struct ftc_baseline_process {
    bool dead, receiving;
    uint64_t busy; /* busy until this time */
    /* earliest time of the next send and the next receive, because of the gap */
    uint64_t send_after, receive_after;
    uint64_t wake; /* time of the only READY event that is valid; UINT64_MAX: there is none */
    struct ftc_baseline_list in, out;
    int missing; /* number of missing fragments */

    /* positive acknowledgement */
    int parent;    /* the rank that collects its acknowledgement */
    int awaited;   /* number of acknowledgements that it has still to collect */
    bool told;     /* it has acknowledged; at the root: it has all acknowledgements */
    bool heard;    /* its parent has its acknowledgement */
    int idle;      /* number of timeouts in a row without news */
    uint64_t seen; /* engine's count of news at the last timeout */

    /* negative acknowledgement */
    int looked; /* all fragments before this one are there or were asked for */
};

enum ftc_baseline_have { FTC_BASELINE_MISSING, FTC_BASELINE_ASKED, FTC_BASELINE_THERE };

struct ftc_baseline_engine {
    const struct ftc_baseline_settings *set;
    const struct ftc_baseline_scheme *scheme;
    int n;
    uint64_t now, timeout; /* timeout UINT64_MAX: there are no timeouts */
    struct ftc_queue queue;
    struct ftc_baseline_process *process;
    uint8_t *have; /* enum ftc_baseline_have, of fragment i of rank r at r * fragments + i */
    struct ftc_baseline_item *item; /* a pool */
    size_t items, item_room;
    uint32_t spare; /* index + 1 */
    uint64_t news;  /* how often a rank completed the value, or an acknowledgement came */
    struct ftc_baseline_counts at_news;
    bool noticed; /* all ranks know the dead ones */
    int patience; /* number of idle timeouts after which a rank counts as waiting for ever */
    bool gave_up;
    double sum; /* of the times at which ranks got the value */
    struct ftc_baseline_result *result;
};

/* The functions of one kind of baseline. All return 0, FTC_ERR_NOMEM or FTC_ERR_ARG (the end of
 * virtual time is reached). */
struct ftc_baseline_scheme {
    const char *name;
    int (*start)(struct ftc_baseline_engine *e);
    /* a new fragment is there */
    int (*fragment)(struct ftc_baseline_engine *e, int rank, int fragment);
    /* an ACK or NAK has arrived */
    int (*answer)(struct ftc_baseline_engine *e, int rank, int from, int fragment);
    int (*timeout)(struct ftc_baseline_engine *e, int rank);
    int (*notice)(struct ftc_baseline_engine *e); /* all know the dead */
    /* positive acknowledgement: the collector of a rank >= 1; always a lower rank */
    int (*collector)(int ranks, int rank);
    bool local; /* each collector repairs; false: the root multicasts again */
};
extern const struct ftc_baseline_scheme ftc_baseline_linear, ftc_baseline_tree,
    ftc_baseline_co_root, ftc_baseline_negative;

/* engine.c */

/* Queue a message. `to` is ignored for a DATAGRAM. */
int ftc_baseline_send(struct ftc_baseline_engine *e, int rank, int to,
                      enum ftc_baseline_message kind, int fragment);
int ftc_baseline_send_all(struct ftc_baseline_engine *e, int rank, int to,
                          enum ftc_baseline_message kind);
/* When all queued messages are out, wait for that many timeouts; then call scheme->timeout(). */
int ftc_baseline_wait(struct ftc_baseline_engine *e, int rank, int timeouts);
void ftc_baseline_heard_news(struct ftc_baseline_engine *e);
uint8_t *ftc_baseline_have(struct ftc_baseline_engine *e, int rank, int fragment);
/* Run from time 0 until no event is left. */
int ftc_baseline_play(struct ftc_baseline_engine *e);

#endif
