/*
 * Commands whose runs draw everything from their seeds: one after the other, until one breaks a
 * promise. With --trace the first alone, told step by step.
 */
#ifndef FTC_SIM_SEEDED_H
#define FTC_SIM_SEEDED_H

#include "sim/options.h"

/* What their options fill in: the first part of each such command. */
struct ftc_seeded {
    uint64_t runs;
    bool trace;
    uint64_t done, events; /* of all runs so far */
};

/* For their tables of options. */
int ftc_seeded_take_runs(void *seeded, const char *text);
int ftc_seeded_take_trace(void *seeded, const char *text);

struct ftc_seeded_ops {
    /* False: it broke a promise, and has said so. Counts into done and events. */
    bool (*run)(struct ftc_seeded *seeded, uint64_t seed);
    void (*report)(const struct ftc_seeded *seeded); /* the sums of all */
};

/* All of the command: its exit code. */
int ftc_seeded_command(struct ftc_seeded *seeded, const struct ftc_usage *usage,
                       const struct ftc_seeded_ops *ops, int argc, char **argv);

#endif
