/*
 * ftcoll-status: what the segment of a job says, as plain values, and ways to show these.
 *
 * Other processes write to the segment while it is read, and any of them may have died in the
 * middle of a write. So nothing in the segment is trusted. ftc_status_look() copies every word
 * once, replaces values out of range by the "unknown" values below, and removes control characters
 * from strings. The functions that show a status use only this copy.
 */
#ifndef FTC_CLI_STATUS_H
#define FTC_CLI_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/set.h"
#include "base/settings.h"
#include "collectives/call.h"
#include "collectives/frame.h"
#include "node/segment/chain.h"
#include "node/segment/history.h"
#include "node/segment/segment.h"

/* Where the comment of a field below names FTC_STATUS_NEVER, BAD or CALL, the field may have that
 * value. */
#define FTC_STATUS_SCHEMA 1          /* the schema of --json */
#define FTC_STATUS_NEVER  UINT64_MAX /* an age that is not known */
#define FTC_STATUS_BAD    (-2)       /* a rank or enumerator out of range */
#define FTC_STATUS_CALL   (-3)       /* a kind of call whose name is not known */

enum ftc_status_state {
    FTC_STATUS_WAITING, /* not started yet */
    FTC_STATUS_SPAWNED, /* started, but not joined yet */
    FTC_STATUS_JOINED,
    FTC_STATUS_FINALIZED,
    FTC_STATUS_ENDED,
    FTC_STATUS_FAILED,
    FTC_STATUS_ODD, /* the slot makes no sense */
    FTC_STATUS_STATES
};

/* What several looks together say about a heartbeat. */
enum ftc_status_pulse {
    FTC_PULSE_NONE,    /* the rank has none: it has not joined, is gone or has failed */
    FTC_PULSE_UNKNOWN, /* the looks do not cover enough time yet */
    FTC_PULSE_MOVING,
    FTC_PULSE_STILL,
    FTC_PULSES
};

struct ftc_status_beat {
    uint64_t heartbeat;
    uint64_t first_ns;   /* time of the first look that found the rank alive; 0: none */
    uint64_t changed_ns; /* time of the last look that found a change, or first_ns */
    bool moved;
};

struct ftc_status_activity {
    bool certain; /* false: every try met its writer in the middle of a change */
    int kind;     /* enum ftc_call_kind, enum ftc_history_kind, FTC_STATUS_CALL, FTC_STATUS_BAD */
    struct ftc_chain_message message; /* with a kind of its own: it is in such a call */
    uint64_t op;                      /* UINT64_MAX: the call has no number */
    uint64_t communicator;            /* its number */
    char communicator_name[FTC_COMMUNICATOR_NAME]; /* as it is shown */
    const char *algorithm;                         /* of the last call; NULL: none yet */
    uint64_t age_ns; /* since the call or the return; FTC_STATUS_NEVER */
    uint32_t ballot_i, ballot_s;
    int wait;      /* enum ftc_wait, FTC_STATUS_BAD */
    int waits_for; /* a rank, -1: none, FTC_STATUS_BAD */
    uint32_t waits;
    int root; /* a rank, -1: none, FTC_STATUS_BAD */
    uint64_t epoch_op;
    uint32_t epoch_i, epoch_s;
    uint32_t known_failed, agreed_failed;
    uint64_t unsettled_ns; /* in gossip: for how long not ready to agree; else FTC_STATUS_NEVER */
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
    int first, count; /* its first rank, and how many ranks it has */
    int state;        /* enum ftc_node_state, FTC_STATUS_BAD */
    uint64_t age_ns;  /* for how long in that state; FTC_STATUS_NEVER */
};

struct ftc_status_rank {
    enum ftc_status_state state;
    bool listed;        /* in ftc_job_status.failed, if it has failed */
    int node;           /* index in ftc_status.node */
    int pid;            /* 0: none */
    uint64_t pid_start; /* its start time; 0: unknown */
    int wait_status;    /* valid if ENDED or FAILED */
    enum ftc_status_pulse pulse;
    uint64_t heartbeat;
    uint64_t still_ns;      /* the heartbeat has stood still for so long, at least */
    uint64_t joined_age_ns; /* since it joined; FTC_STATUS_NEVER */
    uint64_t called;        /* operations called so far */
    uint64_t returned;      /* operations that returned */
    uint64_t progress;      /* operations called, from all words of the slot that tell it */
    uint64_t lag; /* operations behind the foremost live rank; 0 if not alive, or of another node */
    uint64_t sent[FTC_MESSAGE_KINDS];  /* messages by kind */
    uint64_t bytes, ballots, dropped;  /* as in struct ftc_counters */
    uint64_t rules[FTC_RULES];         /* how often the rank took each rule */
    uint64_t suspicions, fencings;     /* for a rank of this node */
    uint64_t heartbeat_seen;           /* its heartbeat counter, also after it ended or failed */
    uint64_t pieces[FTC_PIECES];       /* pieces of multicast decisions, by how they arrived */
    uint64_t datagrams[FTC_DATAGRAMS]; /* multicast datagrams */
    uint64_t compared, corrected,
        detected; /* operations that it coordinated, by what comparing the results found */
    uint32_t carriers
        [FTC_CARRIERS]; /* to how many ranks it sends by each carrier; ranks of this node only */
    struct ftc_status_activity activity;
    struct ftc_status_failure failure; /* valid if FAILED */
    struct ftc_set known, agreed;      /* L and G, as the rank has published them */
    bool has_sets;                     /* these are known on this node */
    /* The time of the first look that saw this wait in this call; 0: it waits for no rank. */
    uint64_t wait_seen_ns;
};

/* The rank has joined, and is not gone. */
static inline bool ftc_status_live(const struct ftc_status_rank *rank)
{
    return rank->state == FTC_STATUS_JOINED || rank->state == FTC_STATUS_FINALIZED;
}

/* The rank is in a call. */
static inline bool ftc_status_inside(const struct ftc_status_rank *rank)
{
    return ftc_status_live(rank) && rank->activity.kind != FTC_CALL_NONE;
}

/* The rank is in a call of another communicator than the world, or in an agreement after a revoke
 * of the world. */
static inline bool ftc_status_elsewhere(const struct ftc_status_rank *rank)
{
    return ftc_status_inside(rank) && rank->activity.communicator != FTC_COMMUNICATOR_WORLD;
}

/* The rank is in a send, a receive, a probe, or a wait for these. */
static inline bool ftc_status_passes(const struct ftc_status_rank *rank)
{
    return ftc_status_live(rank) && rank->activity.message.kind != 0;
}

/* What --stacks found for one rank. */
struct ftc_status_stack {
    bool taken;      /* a look at this rank was wanted */
    int frames;      /* 0: `error` says why */
    char *text;      /* lines of frames ("#0 ...") and heads of threads, cleaned; NULL: none */
    char error[192]; /* "": none */
};

/* The last operations of one rank, for --history. */
struct ftc_status_history {
    bool wanted; /* a look at this rank was wanted */
    bool kept;   /* false: histories are off, or the rank is of another node */
    int count;
    struct ftc_history_operation *operation; /* in the order of their calls */
};

/* How decisions are spread by messages. A setting "auto" is replaced by what it stands for. */
struct ftc_status_broadcast {
    bool known;    /* false: no messages, or the configuration does not say */
    bool exchange; /* an exchange brings the result to all, and nothing spreads it */
    enum ftc_dissemination dissemination;
    enum ftc_tree tree;
    enum ftc_correction correction;
};

struct ftc_job_status {
    char cluster[FTC_JOB_NAME_SIZE]; /* the job's name on all nodes */
    char job[FTC_JOB_NAME_SIZE], host[64], command[256], directory[108];
    char algorithm[32], scheme[32], share[32], seal[32],
        integrity[32]; /* from the configuration; "?" if it does not say */
    struct ftc_status_broadcast broadcast;
    unsigned uid;
    uint64_t pid_namespace; /* the namespace of the ranks' pids; 0: unknown */
    int ranks, f;
    int nodes, own_node;
    bool carried;      /* some messages go by another carrier than shared memory */
    bool communicates; /* some rank is in a call of another communicator than the world */
    int launcher_pid;
    bool launcher_alive;
    bool launcher_stopped; /* by SIGSTOP or a debugger, so the ranks are not watched */
    int state;             /* enum ftc_job_state, FTC_STATUS_BAD */
    uint64_t age_ns, started_realtime_ns;
    uint64_t period_ns, timeout_ns;
    uint64_t abort;               /* the abort word of the header */
    uint64_t now_ns, realtime_ns; /* time of the look */
    uint64_t most;                /* the greatest progress of a live rank */
    int failures;
    int *failed; /* failed ranks in the order of declaration; `failures` entries are valid */
    struct ftc_status_node *node;
    struct ftc_status_rank *rank;
    struct ftc_chain_link *link;        /* one for each rank: for whom it waits */
    struct ftc_status_beat *beat;       /* kept from look to look */
    struct ftc_status_stack *stack;     /* one for each rank; NULL: not asked for (stacks.h) */
    struct ftc_status_history *history; /* one for each rank; NULL: not asked for */
    struct ftc_history_clock clock;     /* of these, and of started_ns */
    uint64_t started_ns;
    char no_stacks[96]; /* why no stack at all could be taken; "": stacks were taken */
    const char *text;   /* the configuration, in the segment */
};

/* --- looking (look.c) --- */

/* Make room for a job of so many ranks and nodes. Error: FTC_ERR_NOMEM. */
int ftc_status_init(struct ftc_job_status *status, int ranks, int nodes);
void ftc_status_fini(struct ftc_job_status *status); /* takes a zeroed struct too */

/* Copy what the segment says now. Later calls update the copy and compare the heartbeats with those
 * of the calls before. */
void ftc_status_look(struct ftc_job_status *status, struct ftc_segment *segment);

/* Look twice, at least FTC_CHAIN_PAUSE_NS apart: until every live heartbeat was seen to move, but
 * at most for one and a half periods or 0.6 s. */
void ftc_status_sample(struct ftc_job_status *status, struct ftc_segment *segment);

bool ftc_status_over(const struct ftc_job_status *status); /* the job or its launcher has ended */

/* Copy the history of rank `wanted`, or those of all ranks if it is -1. FTC_ERR_ARG: there is no
 * such rank. FTC_ERR_NOMEM. (history.c) */
int ftc_status_history(struct ftc_job_status *status, struct ftc_segment *segment, int wanted);
/* Print what ftc_status_history() has copied. */
void ftc_status_print_history(const struct ftc_job_status *status, FILE *out);

/* --- which rank waits for which (blame.c) --- */

/* Fill progress and lag of every rank, and the links. ftc_status_look() calls it. */
void ftc_status_blame(struct ftc_job_status *status);

/* --- words (words.c) --- */
/* All functions return `text` or a constant; "?" stands for a value that is not known. */

#define FTC_STATUS_TEXT 64

const char *ftc_status_state_name(enum ftc_status_state state);
const char *ftc_status_pulse_name(enum ftc_status_pulse pulse);
const char *ftc_status_job_state(const struct ftc_job_status *status);
const char *ftc_status_kind_name(int kind);   /* "?" */
const char *ftc_status_wait_name(int wait);   /* "?" */
const char *ftc_status_cause_name(int cause); /* "?" */
const char *ftc_status_node_state(int state); /* "?" */
#define FTC_STATUS_CALL_TEXT 128
char *
ftc_status_call(const struct ftc_status_activity *activity,
                char text[FTC_STATUS_CALL_TEXT]); /* "allreduce 7", "recv from 3, tag 7, 4096 B" */
char *ftc_status_age(uint64_t ns,
                     char text[FTC_STATUS_TEXT]); /* "12 ms", "1.2 s", "3 min 4 s"; "?" */
char *ftc_status_clock(const struct ftc_job_status *status, uint64_t age_ns,
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

/* Print the table of ranks. Error: FTC_ERR_NOMEM. */
int ftc_status_table(const struct ftc_job_status *status, const struct ftc_status_view *view,
                     FILE *out);

/* Print the whole page of a job: head, table, awaited ranks, failed sets. Error: FTC_ERR_NOMEM. */
int ftc_status_page(const struct ftc_job_status *status, const struct ftc_status_view *view,
                    FILE *out);

/* Print a line for each of `count` jobs. A NULL entry is a job whose segment is damaged. names[]
 * has the name of every job. */
void ftc_status_list(struct ftc_job_status *const jobs[], const char (*names)[FTC_JOB_NAME_SIZE],
                     int count, const struct ftc_status_view *view, FILE *out);

/* Print {"schema":1,"jobs":[...]}, without NULL entries. Error: FTC_ERR_NOMEM. */
int ftc_status_json(struct ftc_job_status *const jobs[], int count, FILE *out);

/* Print OpenMetrics text, without NULL entries. If there is no job, it is only the end mark. */
void ftc_status_openmetrics(struct ftc_job_status *const jobs[], int count, FILE *out);

#endif
