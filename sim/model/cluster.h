/*
 * A whole communicator in one process: n members of collectives/agreement/member.h, a virtual
 * network and a perfect detector, with every promise of docs/design/agreement.md checked at each
 * step.
 *
 * Everything that can happen next is an *event*: the first message of a channel arrives, a datagram
 * does, an observer is told of a death, a timer fires, a process outside the library makes its next
 * call. Stories pick events by hand (ftc_cluster_do), hold some back (ftc_cluster_hold) and let the
 * rest run (ftc_cluster_run); storms let a seed pick all of them (storm.h). The first broken
 * promise is kept as words; nothing happens after it.
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
    int from; /* of a datagram */
};

struct ftc_cluster_channel {
    struct ftc_cluster_message *first, *last;
    int count;
    int arrived; /* so far */
    int limit;   /* not 0: once the sender is dead, only its first limit - 1 messages arrive */
};

struct ftc_cluster_process {
    struct ftc_member *member; /* NULL once dead */
    bool alive;
    uint64_t outputs; /* sends, multicasts and deliveries so far */
    bool more, timer; /* asked for: one event for both, going on first */
};

/* A death in the middle of a list of outputs: before or after the nth output of one kind. */
#define FTC_CLUSTER_DELIVER                                                                        \
    FTC_MESSAGES /* as `output` of a doom: the delivery instead of a message */
#define FTC_CLUSTER_ANY (FTC_MESSAGES + 1) /* ... any message or delivery */
struct ftc_cluster_doom {
    int rank;   /* -1: whoever makes that output */
    int output; /* enum ftc_message_kind or FTC_CLUSTER_DELIVER */
    int nth;    /* from 1, counted from now on; 0: spent */
    bool before;
    bool lossy; /* a random end of each of its channels is lost with it */
};
#define FTC_CLUSTER_DOOMS 80

struct ftc_cluster_trace;

struct ftc_cluster {
    struct ftc_member_settings settings; /* of every member, but self */
    int n;
    const struct ftc_program *program;
    struct ftc_cluster_process *process;
    struct ftc_cluster_channel
        *channel;       /* n * n, from * n + to; then n, of datagrams to each rank */
    uint64_t datagrams; /* sent so far, one per receiver */
    uint32_t loss_ppm;  /* of datagrams; by settings.seed */
    bool unanswered;    /* PULL gets lost: dissemination and correction are on their own */
    struct ftc_cluster_message *spare; /* not on the way */
    struct ftc_cluster_slab *slab;     /* memory of all messages */
    struct ftc_ledger *ledger;
    struct ftc_cluster_doom doom[FTC_CLUSTER_DOOMS];
    int dooms;
    /* events: cluster_event.c */
    int events;
    void *event_memory; /* of all the arrays */
    bool *pending, *held;
    int *place;   /* in enabled[], plus 1; 0: not there */
    int *enabled; /* pending and not held */
    int enabled_count;
    int *older, *younger; /* the enabled ones by age, linked; -1: none */
    int oldest, youngest;
    struct ftc_cluster_tastes *tastes; /* of a storm */
    uint64_t random;
    uint64_t bias; /* not 0: storms prefer some events over others, by this seed */
    uint64_t steps;
    uint64_t flips;                  /* bits that drills turned over */
    struct ftc_cluster_trace *trace; /* NULL: none is kept */
    FILE *log;                       /* not NULL: each step of the trace is printed to it at once */
    const char *violation;           /* the ledger's: "" while all promises were kept */
};

/* More events than any sound run takes: what goes on past it never ends, and breaks a promise. */
#define FTC_CLUSTER_STEPS 4000000

/* settings->self is ignored. The program must outlive the cluster. Out of memory, here and in
 * all that follows, ends the process: with a message and code 1, or as
 * ftc_cluster_exit_quietly() says. */
struct ftc_cluster *ftc_cluster_new(const struct ftc_member_settings *settings,
                                    const struct ftc_program *program, uint64_t seed);
void ftc_cluster_free(struct ftc_cluster *c);
/* Out of memory, end this process with `code` and no message: its parent has better words. */
void ftc_cluster_exit_quietly(int code);

/*
 * Datagrams. How many are lost, 0 to 100 %, which ones, which come twice and which overtake others
 * follows from settings.seed: so a run of the same settings and schedule is the same run.
 */

/* n members, f, everything else the default of the configuration: list, piggyback, first, binomial,
 * none, direct. */
struct ftc_member_settings ftc_cluster_settings(int n, int f);

/* --- events --- */

int ftc_cluster_arrival(const struct ftc_cluster *c, int from, int to);
int ftc_cluster_notice(const struct ftc_cluster *c, int observer, int dead);
int ftc_cluster_timer(const struct ftc_cluster *c, int rank);
int ftc_cluster_call(const struct ftc_cluster *c, int rank); /* its next operation */
int ftc_cluster_datagram(const struct ftc_cluster *c, int to);

void ftc_cluster_do(struct ftc_cluster *c, int event); /* a violation if it cannot happen now */
void ftc_cluster_hold(struct ftc_cluster *c,
                      int event); /* until released; it may not be pending yet */
void ftc_cluster_release(struct ftc_cluster *c, int event);
void ftc_cluster_hold_notices(struct ftc_cluster *c, int dead);
void ftc_cluster_release_notices(struct ftc_cluster *c, int dead);
void ftc_cluster_hold_calls(struct ftc_cluster *c); /* of all processes */
void ftc_cluster_release_calls(struct ftc_cluster *c);

/* Random events that are not held, until there is none. */
void ftc_cluster_run(struct ftc_cluster *c);
/* ... until `rank` has delivered operation op: a violation if it does not. */
void ftc_cluster_run_to(struct ftc_cluster *c, int op, int rank);
/* As ftc_cluster_run(), to the end of the program at every live process: a violation if one is
 * stuck. */
void ftc_cluster_finish(struct ftc_cluster *c);

/* --- deaths --- */

void ftc_cluster_crash(struct ftc_cluster *c, int rank); /* what it sent still arrives */
void ftc_cluster_crash_lossy(struct ftc_cluster *c,
                             int rank); /* a random end of each channel is lost */
void ftc_cluster_lose(struct ftc_cluster *c, int from,
                      int to); /* all that is on the way from a dead process */
void ftc_cluster_doom(struct ftc_cluster *c, int rank, int output, int nth, bool before);

/* --- looking --- */

uint64_t ftc_cluster_random(struct ftc_cluster *c);
int ftc_cluster_below(struct ftc_cluster *c, int limit); /* 0 <= random < limit */
bool ftc_cluster_delivered(const struct ftc_cluster *c, int op, int rank);
int ftc_cluster_status(const struct ftc_cluster *c, int op, int rank);
/* How often `rank`'s input is in `at`'s result of op. */
int ftc_cluster_counts(const struct ftc_cluster *c, int op, int at, int rank);
/* "0,2-3": whose inputs are in it (once each), and the failed set; "-" if not delivered. Static
 * text. */
const char *ftc_cluster_value(const struct ftc_cluster *c, int op, int at);
const char *ftc_cluster_failed(const struct ftc_cluster *c, int op, int at);
struct ftc_ballot_id ftc_cluster_ballot(const struct ftc_cluster *c, int op, int at);
const struct ftc_decision *ftc_cluster_decision(const struct ftc_cluster *c, int op, int at);
uint64_t ftc_cluster_sent(const struct ftc_cluster *c, int op,
                          int kind); /* by all ranks, the dead too */
uint64_t ftc_cluster_bytes(const struct ftc_cluster *c, int op);
uint64_t ftc_cluster_rule(const struct ftc_cluster *c, enum ftc_rule rule); /* taken by anyone */
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
void ftc_cluster_print(
    const struct ftc_cluster
        *c); /* settings, violation, trace, who waits for what: to standard error */

#endif
