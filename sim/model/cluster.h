/*
 * A whole communicator in one process: n members (collectives/agreement/member.h), a virtual
 * network and a perfect detector. Every promise of docs/design/agreement.md is checked at each
 * step.
 *
 * An *event* is something that can happen next:
 * - the first message of a channel arrives;
 * - a datagram arrives;
 * - an observer is told of a death;
 * - a timer fires;
 * - a process outside the library makes its next call.
 *
 * Stories pick events by hand (ftc_cluster_do), hold some back (ftc_cluster_hold) and let the rest
 * run (ftc_cluster_run). In storms a seed picks all events (storm.h). The first broken promise is
 * kept as text, and nothing happens after it.
 */
#ifndef FTC_SIM_MODEL_CLUSTER_H
#define FTC_SIM_MODEL_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "collectives/agreement/member.h"
#include "include/ftcoll.h"
#include "sim/model/ledger.h"
#include "sim/model/program.h"

/* --- network, processes --- */

struct ftc_cluster_message {
    struct ftc_cluster_message *next;
    struct ftc_buffer *bytes;
    struct ftc_message_head head;
    int from; /* sender; only set for a datagram */
};

struct ftc_cluster_channel {
    struct ftc_cluster_message *first, *last;
    int count;
    int arrived; /* number of messages that have arrived so far */
    int limit;   /* not 0: once the sender is dead, only its first limit - 1 messages arrive */
};

struct ftc_cluster_process {
    struct ftc_member *member; /* NULL once dead */
    bool alive;
    uint64_t outputs; /* sends, multicasts and deliveries so far */
    bool more, timer; /* the member asked for them; they share one event, and `more` goes first */
};

/* A planned death in the middle of a list of outputs: before or after the nth output of one
 * kind. */
#define FTC_CLUSTER_DELIVER                                                                        \
    FTC_MESSAGES /* as `output` of a doom: a delivery instead of a message */
#define FTC_CLUSTER_ANY (FTC_MESSAGES + 1) /* as `output` of a doom: any message or delivery */
struct ftc_cluster_doom {
    int rank;   /* -1: the rank that makes the nth such output */
    int output; /* enum ftc_message_kind or FTC_CLUSTER_DELIVER */
    int nth;    /* from 1, counted from now on; 0: spent */
    bool before;
    bool lossy; /* the last messages in each of its channels, a random number of them, are lost */
};
#define FTC_CLUSTER_DOOMS 80

struct ftc_cluster_trace;

struct ftc_cluster {
    struct ftc_member_settings settings; /* of every member, except self */
    int n;
    const struct ftc_program *program;
    struct ftc_cluster_process *process;
    /* n * n channels at from * n + to; then n channels of datagrams, one for each rank */
    struct ftc_cluster_channel *channel;
    uint64_t datagrams; /* sent so far, one per receiver */
    uint32_t loss_ppm;  /* datagrams lost; settings.seed says which */
    bool unanswered;    /* PULL messages get lost, so dissemination and correction get no help */
    struct ftc_cluster_message *spare; /* free list */
    struct ftc_cluster_slab *slab;     /* memory of all messages */
    struct ftc_ledger *ledger;
    struct ftc_cluster_doom doom[FTC_CLUSTER_DOOMS];
    int dooms;
    /* events: cluster_event.c */
    int events;
    void *event_memory; /* memory of all the arrays below */
    bool *pending, *held;
    int *place;   /* index in enabled[], plus 1; 0: not in it */
    int *enabled; /* events that are pending and not held */
    int enabled_count;
    int *older, *younger; /* list of the enabled events by age; -1: none */
    int oldest, youngest;
    struct ftc_cluster_tastes *tastes; /* of a biased storm */
    uint64_t random;
    /* not 0: storms prefer some events over others; this is the seed of the preferences */
    uint64_t bias;
    uint64_t steps;
    uint64_t flips;                  /* bits that drills have flipped */
    struct ftc_cluster_trace *trace; /* NULL: none is kept */
    FILE *log;                       /* not NULL: each step of the trace is printed to it at once */
    const char *violation;           /* of the ledger; "" while all promises are kept */
};

/* More events than any sound run takes. A run with more events never ends: that breaks a
 * promise. */
#define FTC_CLUSTER_STEPS 4000000

/* settings->self is ignored. The program must outlive the cluster. If memory runs out, here or in a
 * function below, the process ends with a message and code 1, or as ftc_cluster_exit_quietly()
 * says. */
struct ftc_cluster *ftc_cluster_new(const struct ftc_member_settings *settings,
                                    const struct ftc_program *program, uint64_t seed);
void ftc_cluster_free(struct ftc_cluster *c);
/* When memory runs out, end the process with `code` and without a message, because the parent
 * process prints a better one. */
void ftc_cluster_exit_quietly(int code);

/*
 * Datagrams: settings.seed decides which ones are lost, arrive twice or overtake others. So the
 * same settings and schedule give the same run.
 */

/* Settings of n members with this f, and the configuration's defaults for the rest: list,
 * piggyback, first, binomial, none, direct. */
struct ftc_member_settings ftc_cluster_settings(int n, int f);

/* --- events --- */

int ftc_cluster_arrival(const struct ftc_cluster *c, int from, int to);
int ftc_cluster_notice(const struct ftc_cluster *c, int observer, int dead);
int ftc_cluster_timer(const struct ftc_cluster *c, int rank);
int ftc_cluster_call(const struct ftc_cluster *c, int rank); /* it calls its next operation */
int ftc_cluster_datagram(const struct ftc_cluster *c, int to);

/* It is a violation if the event cannot happen now. */
void ftc_cluster_do(struct ftc_cluster *c, int event);
/* Until released; the event need not be pending yet. */
void ftc_cluster_hold(struct ftc_cluster *c, int event);
void ftc_cluster_release(struct ftc_cluster *c, int event);
void ftc_cluster_hold_notices(struct ftc_cluster *c, int dead);
void ftc_cluster_release_notices(struct ftc_cluster *c, int dead);
void ftc_cluster_hold_calls(struct ftc_cluster *c); /* of all processes */
void ftc_cluster_release_calls(struct ftc_cluster *c);

/* Take random events that are not held, until there is none. */
void ftc_cluster_run(struct ftc_cluster *c);
/* The same, until `rank` has delivered operation `op`. It is a violation if `rank` does not deliver
 * it. */
void ftc_cluster_run_to(struct ftc_cluster *c, int op, int rank);
/* As ftc_cluster_run(). It is a violation if a live process has not come to the end of the
 * program. */
void ftc_cluster_finish(struct ftc_cluster *c);

/* --- deaths --- */

/* All messages that it has sent still arrive. */
void ftc_cluster_crash(struct ftc_cluster *c, int rank);
/* The last messages in each of its channels are lost, a random number of them. */
void ftc_cluster_crash_lossy(struct ftc_cluster *c, int rank);
/* All messages on the way from a dead process are lost. */
void ftc_cluster_lose(struct ftc_cluster *c, int from, int to);
void ftc_cluster_doom(struct ftc_cluster *c, int rank, int output, int nth, bool before);

/* --- looking --- */

uint64_t ftc_cluster_random(struct ftc_cluster *c);
int ftc_cluster_below(struct ftc_cluster *c, int limit); /* 0 <= random < limit */
bool ftc_cluster_delivered(const struct ftc_cluster *c, int op, int rank);
int ftc_cluster_status(const struct ftc_cluster *c, int op, int rank);
/* How often the input of `rank` is in the result of `op` at `at`. */
int ftc_cluster_counts(const struct ftc_cluster *c, int op, int at, int rank);
/* ftc_cluster_value(): the ranks whose inputs are in the result, once each, as "0,2-3".
 * ftc_cluster_failed(): the failed set. Both give "-" if nothing was delivered. Static text. */
const char *ftc_cluster_value(const struct ftc_cluster *c, int op, int at);
const char *ftc_cluster_failed(const struct ftc_cluster *c, int op, int at);
struct ftc_ballot_id ftc_cluster_ballot(const struct ftc_cluster *c, int op, int at);
const struct ftc_decision *ftc_cluster_decision(const struct ftc_cluster *c, int op, int at);
/* Number of messages that all ranks sent, dead ones too. */
uint64_t ftc_cluster_sent(const struct ftc_cluster *c, int op, int kind);
uint64_t ftc_cluster_bytes(const struct ftc_cluster *c, int op);
/* How often any rank took the rule. */
uint64_t ftc_cluster_rule(const struct ftc_cluster *c, enum ftc_rule rule);
int ftc_cluster_on_the_way(const struct ftc_cluster *c, int from, int to);

/* --- used between cluster*.c --- */

bool ftc_cluster_broken(const struct ftc_cluster *c);
_Noreturn void ftc_cluster_no_memory(int n);
void *ftc_cluster_alloc(int n, size_t count, size_t size); /* zeroed; for a cluster of n ranks */

/* cluster_look.c */
enum ftc_cluster_trace_kind {
    FTC_CLUSTER_TRACE_CALL,
    FTC_CLUSTER_TRACE_ARRIVE,
    FTC_CLUSTER_TRACE_NOTICE,
    FTC_CLUSTER_TRACE_TIMER,
    FTC_CLUSTER_TRACE_SEND,
    FTC_CLUSTER_TRACE_MULTICAST,
    FTC_CLUSTER_TRACE_DELIVER,
    FTC_CLUSTER_TRACE_CRASH,
    FTC_CLUSTER_TRACE_LOSE,
};
struct ftc_cluster_trace *ftc_cluster_trace_new(int n);
void ftc_cluster_trace_free(struct ftc_cluster_trace *trace);
void ftc_cluster_trace(struct ftc_cluster *c, enum ftc_cluster_trace_kind kind, int rank, int other,
                       const struct ftc_message_head *head);
/* Print settings, violation, trace, and what each rank waits for, to standard error. */
void ftc_cluster_print(const struct ftc_cluster *c);

#endif
