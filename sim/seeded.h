/*
 * The common part of commands in which each run draws everything from its seed. They do one run
 * after the other, until a run breaks a promise. With --trace they do only the first run, and print
 * its steps.
 */
#ifndef FTC_SIM_SEEDED_H
#define FTC_SIM_SEEDED_H

#include "sim/options.h"

/* The first part of the struct that the options of such a command fill in. */
struct ftc_seeded {
    uint64_t runs;
    bool trace;
    uint64_t done, events; /* of all runs so far */
};

/* For the option tables of such commands. */
int ftc_seeded_take_runs(void *seeded, const char *text);
int ftc_seeded_take_trace(void *seeded, const char *text);

struct ftc_seeded_ops {
    /* One run. Adds to done and events. False: the run broke a promise, and has printed it. */
    bool (*run)(struct ftc_seeded *seeded, uint64_t seed);
    void (*report)(const struct ftc_seeded *seeded); /* print the sums over all runs */
    /* Does the command line ask for something else than runs? Then do that, and put its exit code
     * into *code. NULL: it cannot. */
    bool (*instead)(struct ftc_seeded *seeded, uint64_t seed, int *code);
};

/* The whole command. Returns its exit code. */
int ftc_seeded_command(struct ftc_seeded *seeded, const struct ftc_usage *usage,
                       const struct ftc_seeded_ops *ops, int argc, char **argv);

#endif
