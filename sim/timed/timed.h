/*
 * A run in virtual time: the product's members on n processes, with a cost model, deaths, and a
 * detector whose notices reach each observer at its own time. Events happen one after the other, in
 * nanoseconds. The same settings and seed give the same run, bit for bit. A ledger checks every
 * promise of the protocol.
 *
 * A process does one thing at a time: it receives a message or sends one. If it can do both, it
 * receives first. Between operations it is outside the library for a while (think), but it still
 * handles messages. Calls, notices and timers take it no time. A message that a process had begun
 * to send when it died still arrives. A message that waited for its turn is lost.
 */
#ifndef FTC_SIM_TIMED_TIMED_H
#define FTC_SIM_TIMED_TIMED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "collectives/agreement/member.h"
#include "sim/model/program.h"
#include "sim/timed/cost.h"
#include "sim/timed/distance.h"

/* The victims of a run's deaths. Their roles are those in the program's first operation. */
enum ftc_victims {
    FTC_VICTIMS_ANY,
    FTC_VICTIMS_OTHERS,      /* any but c_0; c_0 is the root if there is one */
    FTC_VICTIMS_COORDINATOR, /* c_0, c_1, ... */
    FTC_VICTIMS_HEAD,        /* heads of the subtrees of the I(f)-tree */
    FTC_VICTIMS_LAST_GROUP,  /* the last up-correction group */
};
const char *ftc_victims_name(enum ftc_victims victims); /* "last-group" */

struct ftc_timed_settings {
    struct ftc_cost cost;
    struct ftc_distance_settings distance;
    uint64_t bytes;     /* size of a value for the cost model; heads count as they are encoded */
    uint64_t think_ns;  /* before each operation: uniform in 0 .. 2 * think_ns */
    uint64_t detect_ns; /* least time from a death to a notice of it */
    uint64_t jitter_ns; /* each observer's notice comes later by a random time up to this */
    /* share of the datagrams of a multicast that a receiver loses, parts per million */
    uint32_t loss_ppm;
    uint64_t noise_ns; /* each channel takes a random time longer: uniform in 0 .. noise_ns */
    /* there are no notices, and no PULL is sent: dissemination and correction get no help */
    bool alone;
    int kills; /* number of deaths; when the roles are used up, they hit any rank */
    enum ftc_victims victims;
    bool at_start; /* the victims are dead before the first call */
    bool burst;    /* all die at the same time */
    /* This rank stands still from `stall_at_ns` on, for `stall_ns` (0: none does): it neither sends
     * nor receives, and nobody is told that it failed. */
    int stall_rank;
    uint64_t stall_at_ns, stall_ns;
    /* deaths come before this time; 0: before the end of a run without deaths */
    uint64_t horizon_ns;
    uint64_t seed;
    /* the trace is the edges of a graph: the contributions, and the ranks that each counts */
    bool graph;
};

struct ftc_timed_operation {
    /* ns; the first of all calls, and the last delivery of a survivor */
    uint64_t first_call, last_delivery;
    bool root_delivered; /* there is a root and it survived */
    uint64_t root_delivery;
    int deliveries; /* number of deliveries of survivors */
    /* bytes as the cost model has them; both count the dead too */
    uint64_t sent[FTC_MESSAGES], bytes;
    unsigned ballots, retries; /* the greatest of any survivor */
    /* results of subtrees (agreement.md, "Vote"); wrong equal to compared: none was taken */
    unsigned compared, wrong;
};

struct ftc_timed_death {
    int rank;
    uint64_t time;
};

struct ftc_timed_result {
    struct ftc_timed_operation *operation;  /* one for each operation of the program */
    struct ftc_timed_operation settlements; /* sent and bytes of all settlements; the rest is 0 */
    struct ftc_timed_death *death;          /* ordered by time */
    int deaths;
    uint64_t *delivery;    /* ns, by rank: its last delivery; UINT64_MAX: it never delivered */
    uint64_t quiet;        /* ns: all messages were sent and received by then */
    uint64_t corrected;    /* number of correction messages */
    uint64_t end;          /* ns: time of the last event, timers that do nothing aside */
    uint64_t events, peak; /* events: number of all events; peak: most that were pending at once */
    char violation[400];   /* "": all promises were kept */
};

/* Run to the end, or to the first broken promise. `trace` gets each step as a line; it may be NULL.
 * Returns 0, FTC_ERR_ARG (more deaths than are possible) or FTC_ERR_NOMEM. */
int ftc_timed_run(const struct ftc_member_settings *members, const struct ftc_program *program,
                  const struct ftc_timed_settings *settings, FILE *trace,
                  struct ftc_timed_result *result);
void ftc_timed_result_fini(struct ftc_timed_result *result); /* legal for a zeroed struct */

#endif
