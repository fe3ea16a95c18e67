/*
 * A whole communicator in one process: n members of collectives/member.h, a virtual network and a perfect
 * detector, with every promise of docs/design/agreement.md checked at each step.
 *
 * Everything that can happen next is an *event*: the first message of a channel arrives, an observer is
 * told of a death, a timer fires, a process outside the library makes its next call. Stories pick events
 * by hand (cluster_do), hold some back (cluster_hold) and let the rest run (cluster_run); storms let a
 * seed pick all of them (storm.h). The first broken promise is kept as words; nothing happens
 * after it.
 */
#ifndef FTC_TEST_CLUSTER_H
#define FTC_TEST_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/member.h"
#include "include/ftcoll.h"

/* --- programs: the same list of operations at every process --- */

struct cluster_operation {
    enum ftc_call_kind kind;
    int root;      /* of a broadcast or reduce, else -1 */
    bool floating; /* sums of doubles instead of counts: for tests that compare bits */
};

/* --- what is remembered of each operation at each rank --- */

struct cluster_entry {
    bool called, delivered;
    int decision; /* which of the operation's distinct decisions, -1: none */
    unsigned ballots, retries;
    struct ftc_epoch epoch; /* at the call */
    struct ftc_set agreed;  /* G at the call */
    struct ftc_set known;   /* L at the call */
    struct ftc_value result;
    int status;
    uint32_t sent[FTC_MESSAGES];
    uint64_t bytes;
};

struct cluster_record {
    struct ftc_decision **decisions; /* distinct ones that were delivered by anyone, room for n */
    int count;
    struct cluster_entry *entry; /* by rank */
};

/* --- network, processes --- */

struct cluster_message {
    size_t size; /* on the wire */
    struct ftc_buffer *bytes;
    struct ftc_message_head head;
};

struct cluster_channel {
    struct cluster_message *ring;
    int first, count, room;
};

struct cluster_process {
    struct ftc_member *member; /* NULL once dead */
    bool alive, under_way;
    int next;             /* operations called so far */
    struct ftc_set known; /* L after the last input: it may only grow */
    uint64_t rules[FTC_RULES_COUNT];
    struct cluster *cluster;
};

/* A death in the middle of a list of outputs: before or after the nth output of one kind. */
#define CLUSTER_DELIVER FTC_MESSAGES /* as `output` of a doom: the delivery instead of a message */
struct cluster_doom {
    int rank;   /* -1: whoever makes that output */
    int output; /* enum ftc_message_kind or CLUSTER_DELIVER */
    int nth;    /* from 1, counted from now on; 0: spent */
    bool before;
    bool lossy; /* a random end of each of its channels is lost with it */
};
#define CLUSTER_DOOMS 80

struct cluster_trace;

struct cluster {
    struct ftc_member_settings settings; /* of every member, but self */
    int n, alive;
    const struct cluster_operation *program;
    int length;
    struct cluster_process *process;
    struct cluster_channel *channel; /* n * n, from * n + to */
    struct cluster_record *record;   /* by operation */
    uint64_t *words;                 /* room for all the sets above */
    struct ftc_set dead;
    struct cluster_doom doom[CLUSTER_DOOMS];
    int dooms;
    /* events */
    int events;
    bool *pending, *held;
    int *place;   /* in enabled[], plus 1; 0: not there */
    int *enabled; /* pending and not held */
    int enabled_count;
    uint64_t random;
    uint64_t bias; /* not 0: storms prefer some events over others, by this seed */
    uint64_t steps;
    struct cluster_trace *trace;
    char violation[400]; /* "" while all promises were kept */
};

/* settings->self is ignored. The program must outlive the cluster. Aborts when out of memory. */
struct cluster *cluster_new(const struct ftc_member_settings *settings,
                            const struct cluster_operation *program, int length, uint64_t seed);
void cluster_free(struct cluster *c);

/* n members, f, everything else the default of the configuration: list, piggyback, first, binomial, none,
 * direct. */
struct ftc_member_settings cluster_settings(int n, int f);

/* --- events --- */

int cluster_arrival(const struct cluster *c, int from, int to);
int cluster_notice(const struct cluster *c, int observer, int dead);
int cluster_timer(const struct cluster *c, int rank);
int cluster_call(const struct cluster *c, int rank); /* its next operation */

void cluster_do(struct cluster *c, int event);   /* a violation if it cannot happen now */
void cluster_hold(struct cluster *c, int event); /* until released; it may not be pending yet */
void cluster_release(struct cluster *c, int event);
void cluster_hold_notices(struct cluster *c, int dead);
void cluster_release_notices(struct cluster *c, int dead);
void cluster_hold_calls(struct cluster *c); /* of all processes */
void cluster_release_calls(struct cluster *c);

/* Random events that are not held, until there is none. */
void cluster_run(struct cluster *c);
/* ... until `rank` has delivered operation op: a violation if it does not. */
void cluster_run_to(struct cluster *c, int op, int rank);
/* As cluster_run(), to the end of the program at every live process: a violation if one is stuck. */
void cluster_finish(struct cluster *c);

/* --- deaths --- */

void cluster_crash(struct cluster *c, int rank);        /* what it sent still arrives */
void cluster_crash_lossy(struct cluster *c, int rank);  /* a random end of each channel is lost */
void cluster_lose(struct cluster *c, int from, int to); /* all that is on the way from a dead process */
void cluster_doom(struct cluster *c, int rank, int output, int nth, bool before);

/* --- looking --- */

uint64_t cluster_random(struct cluster *c);
int cluster_below(struct cluster *c, int limit); /* 0 <= random < limit */
bool cluster_delivered(const struct cluster *c, int op, int rank);
int cluster_status(const struct cluster *c, int op, int rank);
/* How often `rank`'s input is in `at`'s result of op. */
int cluster_counts(const struct cluster *c, int op, int at, int rank);
/* "0,2-3": whose inputs are in it (once each), and the failed set; "-" if not delivered. Static text. */
const char *cluster_value(const struct cluster *c, int op, int at);
const char *cluster_failed(const struct cluster *c, int op, int at);
struct ftc_ballot_id cluster_ballot(const struct cluster *c, int op, int at);
const struct ftc_decision *cluster_decision(const struct cluster *c, int op, int at);
uint64_t cluster_sent(const struct cluster *c, int op, int kind); /* by all ranks, the dead too */
uint64_t cluster_bytes(const struct cluster *c, int op);
uint64_t cluster_rule(const struct cluster *c, enum ftc_rule rule); /* taken by anyone */
int cluster_on_the_way(const struct cluster *c, int from, int to);

/* --- used between cluster*.c --- */

void cluster_violate(struct cluster *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool cluster_broken(const struct cluster *c);
const struct cluster_operation *cluster_operation_of(const struct cluster *c,
                                                     int rank); /* the last one called */
struct cluster_entry *cluster_entry(const struct cluster *c, int op, int rank);
void *cluster_alloc(size_t count, size_t size); /* zeroed; aborts when out of memory */

/* cluster_check.c: called at each step of a process */
void cluster_check_call(struct cluster *c, int rank, int op);
void cluster_check_delivery(struct cluster *c, int rank, int op, const struct ftc_output *output);
void cluster_check_input(struct cluster *c, int rank); /* after every input and its outputs */
void cluster_check_end(struct cluster *c);
bool cluster_collects(const struct cluster *c, int op, int rank); /* does its ballot (0,0) have a reduce? */
int cluster_coordinator(const struct cluster *c, int op, int rank,
                        int i); /* c_i in rank's view at op, -1: none */

/* cluster_trace.c */
enum cluster_event_kind {
    CLUSTER_TRACE_CALL,
    CLUSTER_TRACE_ARRIVE,
    CLUSTER_TRACE_NOTICE,
    CLUSTER_TRACE_TIMER,
    CLUSTER_TRACE_SEND,
    CLUSTER_TRACE_DELIVER,
    CLUSTER_TRACE_CRASH,
    CLUSTER_TRACE_LOSE,
};
struct cluster_trace *cluster_trace_new(void);
void cluster_trace_free(struct cluster_trace *trace);
void cluster_trace(struct cluster *c, enum cluster_event_kind kind, int rank, int other,
                   const struct ftc_message_head *head);
void cluster_print(
    const struct cluster *c); /* settings, violation, trace, who waits for what: to standard error */

#endif
