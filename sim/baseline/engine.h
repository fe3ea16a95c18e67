/* Inside of a baseline's run. Private to sim/baseline. */
#ifndef FTC_SIM_BASELINE_ENGINE_H
#define FTC_SIM_BASELINE_ENGINE_H

#include "sim/baseline/baseline.h"
#include "sim/timed/queue.h"

enum ftc_baseline_message {
    FTC_BASELINE_DATAGRAM, /* a fragment, to all */
    FTC_BASELINE_REPAIR,   /* a fragment */
    FTC_BASELINE_ACK,
    FTC_BASELINE_NAK,  /* asks for a fragment */
    FTC_BASELINE_WAIT, /* none: what was to be sent before it is out, and a timeout begins */
};

/* What came and waits, or waits to be sent. */
struct ftc_baseline_item {
    uint32_t peer;
    uint32_t kind : 3;    /* enum ftc_baseline_message */
    uint32_t detail : 29; /* the fragment; of WAIT: how many timeouts */
    uint32_t next;        /* index + 1, 0: the last */
};

struct ftc_baseline_list {
    uint32_t head, tail; /* index + 1, 0: empty */
};

struct ftc_baseline_process {
    bool dead, receiving;
    uint64_t busy;                      /* until then */
    uint64_t send_after, receive_after; /* the gap */
    uint64_t wake; /* when the READY event that counts comes; UINT64_MAX: there is none */
    struct ftc_baseline_list in, out;
    int missing; /* fragments */

    /* positive acknowledgement */
    int parent;    /* who collects this one's */
    int awaited;   /* acknowledgements that it has still to collect */
    bool told;     /* it acknowledged; the root: it is complete */
    bool heard;    /* by its parent */
    int idle;      /* timeouts in a row without news, */
    uint64_t seen; /* of which there were so many at the last one */

    /* negative acknowledgement */
    int looked; /* fragments before it are there or were asked for */
};

enum ftc_baseline_have { FTC_BASELINE_MISSING, FTC_BASELINE_ASKED, FTC_BASELINE_THERE };

struct ftc_baseline_engine {
    const struct ftc_baseline_settings *set;
    const struct ftc_baseline_scheme *scheme;
    int n;
    uint64_t now, timeout; /* UINT64_MAX: no timeouts */
    struct ftc_queue queue;
    struct ftc_baseline_process *process;
    uint8_t *have; /* enum ftc_baseline_have, of fragment i of rank r at r * fragments + i */
    struct ftc_baseline_item *item; /* a pool */
    size_t items, item_room;
    uint32_t spare; /* index + 1 */
    uint64_t news;  /* so often a rank completed the value or an acknowledgement came */
    struct ftc_baseline_counts at_news;
    bool noticed; /* the dead are known */
    int patience; /* idle timeouts until one is taken to wait for ever */
    bool gave_up;
    double sum; /* of arrivals */
    struct ftc_baseline_result *result;
};

/* What makes a kind of baseline. All return 0, FTC_ERR_NOMEM or FTC_ERR_ARG (virtual time ends). */
struct ftc_baseline_scheme {
    const char *name;
    int (*start)(struct ftc_baseline_engine *e);
    int (*fragment)(struct ftc_baseline_engine *e, int rank, int fragment); /* a new one is there */
    /* an ACK or NAK came */
    int (*answer)(struct ftc_baseline_engine *e, int rank, int from, int fragment);
    int (*timeout)(struct ftc_baseline_engine *e, int rank);
    int (*notice)(struct ftc_baseline_engine *e); /* all know the dead */
    int (*collector)(int ranks,
                     int rank); /* positive: who collects of rank >= 1; of a lower rank */
    bool local;                 /* each collector repairs; else the root multicasts again */
};
extern const struct ftc_baseline_scheme ftc_baseline_linear, ftc_baseline_tree,
    ftc_baseline_co_root, ftc_baseline_negative;

/* engine.c */

/* Queue a message; of a DATAGRAM `to` says nothing. */
int ftc_baseline_send(struct ftc_baseline_engine *e, int rank, int to,
                      enum ftc_baseline_message kind, int fragment);
int ftc_baseline_send_all(struct ftc_baseline_engine *e, int rank, int to,
                          enum ftc_baseline_message kind);
/* When all that is queued is out, and so many timeouts later: scheme->timeout(). */
int ftc_baseline_wait(struct ftc_baseline_engine *e, int rank, int timeouts);
void ftc_baseline_heard_news(struct ftc_baseline_engine *e);
uint8_t *ftc_baseline_have(struct ftc_baseline_engine *e, int rank, int fragment);
/* From time 0 until nothing is left to happen. */
int ftc_baseline_play(struct ftc_baseline_engine *e);

#endif
