/* A storm: settings, program, deaths and schedule of a cluster, all drawn from one seed. */
#ifndef FTC_SIM_STORM_H
#define FTC_SIM_STORM_H

#include "sim/cluster.h"

#define FTC_STORM_OPERATIONS 8
#define FTC_STORM_CRASHES    64

struct ftc_storm_crash {
    uint64_t step;
    int rank;
    bool lossy;
};

struct ftc_storm {
    uint64_t seed, random;
    struct ftc_member_settings settings;
    struct ftc_cluster_operation program[FTC_STORM_OPERATIONS];
    int length;
    struct ftc_storm_crash crash[FTC_STORM_CRASHES]; /* at a step, whatever happens there */
    int crashes;
    struct ftc_cluster_doom doom[FTC_STORM_CRASHES]; /* at an output */
    int dooms;
    bool biased;
};

/* Draw a storm; `large` asks for one of 16 to 64 ranks. */
void ftc_storm_draw(struct ftc_storm *storm, uint64_t seed, bool large);
/* Run it. Prints all there is to know if a promise was broken, and returns whether all were kept. Adds
 * the rules taken to rules[] (may be NULL). */
bool ftc_storm_run(const struct ftc_storm *storm, uint64_t rules[FTC_RULES_COUNT]);

#endif
