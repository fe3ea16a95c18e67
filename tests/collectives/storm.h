/* A storm: settings, program, deaths and schedule of a cluster, all drawn from one seed. */
#ifndef FTC_TEST_STORM_H
#define FTC_TEST_STORM_H

#include "cluster.h"

#define STORM_OPERATIONS 8
#define STORM_CRASHES    64

struct storm_crash {
    uint64_t step;
    int rank;
    bool lossy;
};

struct storm {
    uint64_t seed, random;
    struct ftc_member_settings settings;
    struct cluster_operation program[STORM_OPERATIONS];
    int length;
    struct storm_crash crash[STORM_CRASHES]; /* at a step, whatever happens there */
    int crashes;
    struct cluster_doom doom[STORM_CRASHES]; /* at an output */
    int dooms;
    bool biased;
};

/* Draw a storm; `large` asks for one of 16 to 64 ranks. */
void storm_draw(struct storm *storm, uint64_t seed, bool large);
/* Run it. Prints all there is to know if a promise was broken, and returns whether all were kept. Adds
 * the rules taken to rules[] (may be NULL). */
bool storm_run(const struct storm *storm, uint64_t rules[FTC_RULES_COUNT]);

#endif
