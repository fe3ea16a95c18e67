/*
 * A storm is a run of a cluster whose settings, program, deaths and order of events are all drawn
 * from one seed. The same seed and frame give the same run, bit for bit.
 */
#ifndef FTC_SIM_STORM_STORM_H
#define FTC_SIM_STORM_STORM_H

#include "collectives/values/flip.h"
#include "sim/model/cluster.h"
#include "sim/model/schedule.h"
#include "sim/storm/record.h"

#define FTC_STORM_OPERATIONS 8
#define FTC_STORM_RANKS      64 /* most that is drawn; more can be given */
#define FTC_STORM_F          3  /* most that is drawn; more can be given */
#define FTC_STORM_CRASHES    64 /* fewer than FTC_CLUSTER_DOOMS */
#define FTC_STORM_STALLS     2

/* Settings that are given and not drawn. */
enum ftc_storm_pin {
    FTC_STORM_PIN_F = 1 << 0,
    FTC_STORM_PIN_SCHEME = 1 << 1,
    FTC_STORM_PIN_SHARE = 1 << 2,
    FTC_STORM_PIN_ROTATION = 1 << 3,
    FTC_STORM_PIN_REDUCE_ARITY = 1 << 4,
    FTC_STORM_PIN_TREE = 1 << 5,
    FTC_STORM_PIN_ARITY = 1 << 6,
    FTC_STORM_PIN_CORRECTION = 1 << 7,
    FTC_STORM_PIN_SETTLE_EVERY = 1 << 8,
    FTC_STORM_PIN_PREPARE = 1 << 9,
    FTC_STORM_PIN_DISSEMINATION = 1 << 10,
    FTC_STORM_PIN_DISTANCE = 1 << 11,
    FTC_STORM_PIN_PACE = 1 << 12,
    FTC_STORM_PIN_PATIENCE = 1 << 13,
    FTC_STORM_PIN_GOSSIP_BOUND = 1 << 14,
    FTC_STORM_PIN_GOSSIP_ROUNDS = 1 << 15,
    FTC_STORM_PIN_GOSSIP_HOP = 1 << 16,
    FTC_STORM_PIN_SEED = 1 << 17,
    FTC_STORM_PIN_MULTICAST_LEAST = 1 << 18,
    FTC_STORM_PIN_MULTICAST_MOST = 1 << 19,
    FTC_STORM_PIN_INTEGRITY = 1 << 20,
    FTC_STORM_PIN_FLIP = 1 << 21,
    FTC_STORM_PIN_DIRECT = 1 << 22,
    FTC_STORM_PIN_DOUBLING = 1 << 23,
    FTC_STORM_PIN_TAKE = 1 << 24,
};

struct ftc_storm_frame {
    int least, most; /* number of ranks; 0, 0: mostly 1 to 9; one run in 100 has 16 to 64 */
    unsigned pinned; /* enum ftc_storm_pin: settings that are given; the others are drawn */
    struct ftc_member_settings settings; /* the defaults, except for what is pinned */
    const struct ftc_program *program;   /* NULL: drawn */
};

struct ftc_storm_crash {
    uint64_t step;
    int rank;
    bool lossy;
};

/* A rank stands still: it takes no step while another rank can take one. */
struct ftc_storm_stall {
    uint64_t from, to; /* steps; `to` does not belong to it */
    int rank;
};

struct ftc_storm {
    uint64_t seed, random;
    struct ftc_member_settings settings;
    struct ftc_program_operation operation[FTC_STORM_OPERATIONS];
    int length; /* of operation[], which is drawn even if a program is given */
    const struct ftc_program *given;
    /* deaths at a step, whatever event happens then; in ascending order of steps */
    struct ftc_storm_crash crash[FTC_STORM_CRASHES];
    int crashes;
    struct ftc_cluster_doom doom[FTC_STORM_CRASHES]; /* deaths at an output */
    int dooms;
    struct ftc_storm_stall stall[FTC_STORM_STALLS];
    int stalls;
    bool biased;
    struct ftc_flips flips; /* the settings point to them, so a storm must not be moved */
};

/* Sums over storms. */
struct ftc_storm_sums {
    uint64_t runs, deaths, steps, flips;
    uint64_t rules[FTC_RULES_COUNT];
};

/* FTC_ERR_ARG: the frame allows sound runs that are too long to tell them from endless ones. */
int ftc_storm_check(const struct ftc_storm_frame *frame);

/* True: these settings are not legal. Chance may miss a rank, and such a rank must lose patience
 * some day (broadcast.md, "PULL"); with these settings it waits for ever. */
bool ftc_storm_waits_for_ever(const struct ftc_member_settings *settings);

void ftc_storm_draw(struct ftc_storm *storm, const struct ftc_storm_frame *frame, uint64_t seed);

struct ftc_program ftc_storm_program(const struct ftc_storm *storm); /* borrowed: no fini() */

/* Run the storm. Returns whether all promises were kept; the first broken one is in `violation`.
 * Adds to *sums. promise, record and log may be NULL. A record costs time. */
bool ftc_storm_run(const struct ftc_storm *storm, const struct ftc_promise *promise,
                   struct ftc_storm_sums *sums, struct ftc_storm_record *record, FILE *log,
                   char violation[FTC_SCHEDULE_TEXT]);

#endif
