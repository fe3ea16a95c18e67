/*
 * A run in virtual time: the product's members on n processes with a cost model, deaths, and a
 * detector whose notices come to each observer at its own time. One event after the other, in
 * nanoseconds; the same settings and seed give the same run, bit for bit. Every promise of the
 * protocol is checked by a ledger as it goes.
 *
 * A process does one thing at a time: it receives a message, or sends one; it receives first when
 * it can do both. Between operations it is outside the library for a while (think); messages are
 * handled meanwhile all the same. Calls, notices and timers take it no time. What a dying process
 * began to send still arrives; what waits for its turn is lost.
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

/* Whom the deaths of a run hit: their roles are those in the program's first operation. */
enum ftc_victims {
    FTC_VICTIMS_ANY,
    FTC_VICTIMS_OTHERS,      /* any but c_0, which is the root if there is one */
    FTC_VICTIMS_COORDINATOR, /* c_0, c_1, ... */
    FTC_VICTIMS_HEAD,        /* heads of the subtrees of the I(f)-tree */
    FTC_VICTIMS_LAST_GROUP,  /* the last up-correction group */
};
const char *ftc_victims_name(enum ftc_victims victims); /* "last-group" */

struct ftc_timed_settings {
    struct ftc_cost cost;
    struct ftc_distance_settings distance;
    uint64_t bytes;     /* of a value, for the cost model; heads count as they are encoded */
    uint64_t think_ns;  /* before each operation: uniform in 0 .. 2 * think_ns */
    uint64_t detect_ns; /* from a death to a notice of it at the least, */
    uint64_t jitter_ns; /* and to each observer up to that much later */
    uint32_t loss_ppm;  /* datagrams of a multicast that a receiver loses, parts per million */
    uint64_t noise_ns;  /* each channel is that much longer, at random: uniform in 0 .. noise_ns */
    bool alone; /* no notices, and no PULL is sent: dissemination and correction are on their own */
    int kills;  /* when the roles are used up, any rank */
    enum ftc_victims victims;
    bool at_start; /* they are dead before the first call */
    bool burst;    /* all at the same time */
    uint64_t
        horizon_ns; /* deaths come before this time; 0: before the end of a run without deaths */
    uint64_t seed;
};

struct ftc_timed_operation {
    uint64_t first_call, last_delivery; /* ns, of all calls and of the survivors' deliveries */
    bool root_delivered;                /* there is a root and it survived */
    uint64_t root_delivery;
    int deliveries;                     /* survivors' */
    uint64_t sent[FTC_MESSAGES], bytes; /* as the cost model has it; by the dead too */
    unsigned ballots, retries;          /* greatest at any survivor */
    unsigned compared,
        wrong; /* results of subtrees (agreement.md, "Vote"); all wrong: none was taken */
};

struct ftc_timed_death {
    int rank;
    uint64_t time;
};

struct ftc_timed_result {
    struct ftc_timed_operation *operation; /* as many as in the program */
    struct ftc_timed_death *death;         /* by time */
    int deaths;
    uint64_t *delivery;    /* ns, of each rank: when it last delivered; UINT64_MAX: never */
    uint64_t quiet;        /* ns: by then all messages were sent and received */
    uint64_t corrected;    /* messages of correction, in all */
    uint64_t end;          /* ns: the last event */
    uint64_t events, peak; /* in all; pending at once */
    char violation[400];   /* "": all promises were kept */
};

/* Run to the end, or to the first broken promise. `trace`: each step as a line, NULL: none. 0,
 * FTC_ERR_ARG (more deaths than can be) or FTC_ERR_NOMEM. */
int ftc_timed_run(const struct ftc_member_settings *members, const struct ftc_program *program,
                  const struct ftc_timed_settings *settings, FILE *trace,
                  struct ftc_timed_result *result);
void ftc_timed_result_fini(struct ftc_timed_result *result); /* of a zeroed struct too */

#endif
