/*
 * ftcoll-status: what a job's segment says, as plain values, and ways to show them.
 *
 * The segment is written by others while it is read, and by processes that may have died in the
 * middle: nothing in it is believed. ftc_status_look() copies every word once, turns what is out of
 * range into the "unknown" values named below, and hands out strings without control characters;
 * what renders works on the copy alone.
 */
#ifndef FTC_CLI_STATUS_H
#define FTC_CLI_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/set.h"
#include "base/settings.h"
#include "collectives/call.h"
#include "node/segment/segment.h"

#define FTC_STATUS_SCHEMA 1          /* of --json */
#define FTC_STATUS_NEVER  UINT64_MAX /* an age that is not known */
#define FTC_STATUS_BAD    (-2)       /* a rank or enumerator out of range */
#define FTC_STATUS_CALL   (-3)       /* for a kind of call: one that is not known by name */

enum ftc_status_state {
    FTC_STATUS_WAITING, /* not started yet */
    FTC_STATUS_SPAWNED, /* not joined yet */
    FTC_STATUS_JOINED,
    FTC_STATUS_FINALIZED,
    FTC_STATUS_ENDED,
    FTC_STATUS_FAILED,
    FTC_STATUS_ODD, /* what the slot says makes no sense */
    FTC_STATUS_STATES
};

/* What two looks say about a heartbeat. */
enum ftc_status_pulse {
    FTC_PULSE_NONE,    /* the rank has none: not joined, gone or failed */
    FTC_PULSE_UNKNOWN, /* not looked at for long enough */
    FTC_PULSE_MOVING,
    FTC_PULSE_STILL,
    FTC_PULSES
};

struct ftc_status_beat {
    uint64_t heartbeat;
    uint64_t first_ns;   /* of the first look that found the rank alive; 0: none */
    uint64_t changed_ns; /* when a look found it changed, or first_ns */
    bool moved;
};

struct ftc_status_activity {
    bool certain; /* false: its writer was in the middle of a change each time */
    int kind;     /* enum ftc_call_kind, FTC_STATUS_CALL, FTC_STATUS_BAD */
    uint64_t op;
    uint64_t age_ns; /* since the call or the return; FTC_STATUS_NEVER */
    uint32_t ballot_i, ballot_s;
    int wait;      /* enum ftc_wait, FTC_STATUS_BAD */
    int waits_for; /* a rank, -1: none, FTC_STATUS_BAD */
    uint32_t waits;
    int root; /* a rank, -1: none, FTC_STATUS_BAD */
    uint64_t epoch_op;
    uint32_t epoch_i, epoch_s;
    uint32_t known_failed, agreed_failed;
    uint64_t unsettled_ns; /* in gossip, not ready to agree for so long; else FTC_STATUS_NEVER */
};

struct ftc_status_failure {
    int cause; /* enum ftc_failure_cause, FTC_STATUS_BAD */
    int detail;
    int seen_by;                /* a rank, -1: the launcher, FTC_STATUS_BAD */
    uint64_t age_ns;            /* since the declaration; FTC_STATUS_NEVER */
    uint64_t declared_after_ns; /* from the first suspicion to the declaration; FTC_STATUS_NEVER */
};

struct ftc_status_node {
    char host[64];
    int first, count; /* ranks */
    int state;        /* enum ftc_node_state, FTC_STATUS_BAD */
    uint64_t age_ns;  /* of that state; FTC_STATUS_NEVER */
};

struct ftc_status_rank {
    enum ftc_status_state state;
    int node;           /* an index */
    int pid;            /* 0: none */
    uint64_t pid_start; /* its start time; 0: unknown */
    int wait_status;    /* valid if ENDED or FAILED */
    enum ftc_status_pulse pulse;
    uint64_t heartbeat;
    uint64_t still_ns;      /* seen to stand still for so long, at least */
    uint64_t joined_age_ns; /* FTC_STATUS_NEVER */
    uint64_t called;        /* operations called so far */
    uint64_t returned;      /* operations that returned */
    uint64_t progress;      /* operations called, from all that the slot says */
    uint64_t
        lag; /* operations behind the first live rank; 0 for ranks not alive, or of other nodes */
    uint64_t sent[FTC_MESSAGE_KINDS];  /* messages by kind */
    uint64_t bytes, ballots, dropped;  /* as in struct ftc_counters */
    uint64_t rules[FTC_RULES];         /* how often each was taken */
    uint64_t suspicions, fencings;     /* of a rank of this node */
    uint64_t heartbeat_seen;           /* its counter, whatever became of the rank */
    uint64_t pieces[FTC_PIECES];       /* of multicast decisions, by how they came */
    uint64_t datagrams[FTC_DATAGRAMS]; /* of multicast */
    uint64_t compared, corrected,
        detected; /* operations that it coordinated, by what comparing results found */
    uint32_t carriers
        [FTC_CARRIERS]; /* to how many ranks its messages go by what; of ranks of this node alone */
    struct ftc_status_activity activity;
    struct ftc_status_failure failure; /* valid if FAILED */
    struct ftc_set known, agreed;      /* L and G as published */
    /* Set by ftc_status_blame(): where the chain of waiting ends; -1: this rank waits for
     * nobody. */
    int culprit;
    int blamed; /* how many ranks wait for this one in the end */
    int cycle;  /* > 0: this many ranks, this one the lowest, wait for each other */
    int next;   /* the next link of the chain; -1: it ends here */
};

/* Of --stacks. */
struct ftc_status_stack {
    bool taken;      /* the rank was to be looked at */
    int frames;      /* 0: `error` says why */
    char *text;      /* lines of frames ("#0 ...") and of threads' heads, cleaned; NULL: none */
    char error[192]; /* "": none */
};

/* How decisions are spread by messages; what is auto is chosen. */
struct ftc_status_broadcast {
    bool known; /* false: no messages, or the configuration does not say */
    enum ftc_dissemination dissemination;
    enum ftc_tree tree;
    enum ftc_correction correction;
};

struct ftc_status {
    char cluster[FTC_JOB_NAME_SIZE]; /* the job's name on all nodes */
    char job[FTC_JOB_NAME_SIZE], host[64], command[256], directory[108];
    char algorithm[32], scheme[32], share[32],
        integrity[32]; /* of the configuration; "?" if it does not say */
    struct ftc_status_broadcast broadcast;
    unsigned uid;
    uint64_t pid_namespace; /* of the ranks' pids; 0: unknown */
    int ranks, f;
    int nodes, own_node;
    bool carried; /* messages go by more than shared memory */
    int launcher_pid;
    bool launcher_alive;
    bool launcher_stopped; /* by SIGSTOP or a debugger: nobody watches the ranks */
    int state;             /* enum ftc_job_state, FTC_STATUS_BAD */
    uint64_t age_ns, started_realtime_ns;
    uint64_t period_ns, timeout_ns;
    uint64_t abort;               /* the word of the header */
    uint64_t now_ns, realtime_ns; /* of the look */
    uint64_t most;                /* greatest progress of a live rank */
    int failures;
    int *failed; /* failed ranks in the order of declaration; the first `failures` are valid */
    struct ftc_status_node *node;
    struct ftc_status_rank *rank;
    struct ftc_status_beat *beat;   /* kept from look to look */
    struct ftc_status_stack *stack; /* of each rank; NULL: not asked for (stacks.h) */
    char no_stacks[96];             /* why none could be taken at all; "": they were */
    const char *text;               /* the configuration, the segment's */
};

/* --- looking (look.c) --- */

/* Room for a job of that many ranks and nodes. FTC_ERR_NOMEM. */
int ftc_status_init(struct ftc_status *status, int ranks, int nodes);
void ftc_status_fini(struct ftc_status *status); /* of a zeroed struct is legal */

/* Copy what the segment says now. Call again for news; heartbeats are compared from look to
 * look. */
void ftc_status_look(struct ftc_status *status, struct ftc_segment *segment);

/* Look until every live heartbeat was seen to move, at most one and a half periods or 0.6 s. */
void ftc_status_sample(struct ftc_status *status, struct ftc_segment *segment);

bool ftc_status_live(const struct ftc_status_rank *rank); /* joined, and not gone */
bool ftc_status_over(const struct ftc_status *status); /* the job has ended, or its launcher has */

/* --- who waits for whom (blame.c) --- */

/* Fill progress, lag, culprit, blamed, cycle, next. Part of ftc_status_look(). Works in
 * place. */
void ftc_status_blame(struct ftc_status *status);

/* --- words (words.c); all return `text` or a constant --- */

#define FTC_STATUS_TEXT 64

const char *ftc_status_state_name(enum ftc_status_state state);
const char *ftc_status_pulse_name(enum ftc_status_pulse pulse);
const char *ftc_status_job_state(const struct ftc_status *status);
const char *ftc_status_kind_name(int kind);   /* "?" */
const char *ftc_status_wait_name(int wait);   /* "?" */
const char *ftc_status_cause_name(int cause); /* "?" */
const char *ftc_status_node_state(int state); /* "?" */
char *ftc_status_age(uint64_t ns,
                     char text[FTC_STATUS_TEXT]); /* "12 ms", "1.2 s", "3 min 4 s"; "?" */
char *ftc_status_clock(const struct ftc_status *status, uint64_t age_ns,
                       char text[FTC_STATUS_TEXT]); /* local time */
char *ftc_status_broadcast(const struct ftc_status_broadcast *broadcast,
                           char text[FTC_STATUS_TEXT]); /* "CCG (gossip + checked)"; "" */
char *ftc_status_cause(const struct ftc_status_failure *failure,
                       char text[FTC_STATUS_TEXT]); /* "signal 9 (KILL)" */
char *ftc_status_carriers(const struct ftc_status_rank *rank,
                          char text[FTC_STATUS_TEXT]);               /* "shm 3, tcp 4"; "-" */
char *ftc_status_ended(int wait_status, char text[FTC_STATUS_TEXT]); /* "exit 0" */

/* --- showing (table.c, report.c, json.c, metrics.c) --- */

struct ftc_status_view {
    int width;   /* columns; 0: no limit */
    bool all;    /* a row for each rank */
    bool failed; /* the failed sets only */
};

/* The table of ranks. FTC_ERR_NOMEM. */
int ftc_status_table(const struct ftc_status *status, const struct ftc_status_view *view,
                     FILE *out);

/* The whole page of a job: head, table, who is waited for, failed sets. FTC_ERR_NOMEM. */
int ftc_status_page(const struct ftc_status *status, const struct ftc_status_view *view, FILE *out);

/* A line for each of `count` jobs. NULL entries are jobs whose segment is damaged; names[] has
 * their names.
 */
void ftc_status_list(struct ftc_status *const jobs[], const char (*names)[FTC_JOB_NAME_SIZE],
                     int count, const struct ftc_status_view *view, FILE *out);

/* {"schema":1,"jobs":[...]}. NULL entries are left out. FTC_ERR_NOMEM. */
int ftc_status_json(struct ftc_status *const jobs[], int count, FILE *out);

/* OpenMetrics text: nothing but its end mark if there is no job. NULL entries are left out. */
void ftc_status_openmetrics(struct ftc_status *const jobs[], int count, FILE *out);

#endif
