/*
 * Tables of gossip aggregation: every algorithm, in every neighbourhood, over numbers of ranks,
 * accuracies, losses and flipped bits, each row the mean of many runs.
 */
#ifndef FTC_SIM_GOSSIP_TABLE_H
#define FTC_SIM_GOSSIP_TABLE_H

#include "sim/gossip/engine.h"
#include "sim/timed/axes.h"

#define FTC_GOSSIP_VALUES 32 /* of an axis */
#define FTC_GOSSIP_WORDS  160

enum ftc_gossip_turns {
    FTC_GOSSIP_TURNS_OFF,
    FTC_GOSSIP_TURNS_ON,
    FTC_GOSSIP_TURNS_NEEDED, /* on for push-cancel-flow alone, which is broken without */
};

/* What computes the average: an enum ftc_gossip_algorithm, or FTC_GOSSIP_ALGORITHMS + an enum
 * ftc_doubling_algorithm. */
#define FTC_GOSSIP_METHODS (FTC_GOSSIP_ALGORITHMS + FTC_DOUBLING_ALGORITHMS)

struct ftc_gossip_axes {
    int method[FTC_GOSSIP_METHODS];
    enum ftc_neighbourhood_kind neighbourhood[FTC_NEIGHBOURHOODS];
    enum ftc_gossip_turns turns[3]; /* of turnses 0: on where that can be */
    double accuracy[FTC_GOSSIP_VALUES], loss[FTC_GOSSIP_VALUES]; /* loss in percent */
    struct ftc_axis ranks;
    int bit[64]; /* -1: the flip as it was given, or none */
    int methods, neighbourhoods, turnses, accuracies, losses, bits;
};

/* Lists with commas; each replaces what was there. FTC_ERR_ARG with cause and remedy,
 * FTC_ERR_NOMEM. */
/* "push-sum,doubling"; "all" is all that gossips */
int ftc_gossip_read_algorithms(struct ftc_gossip_axes *axes, const char *text);
int ftc_gossip_read_neighbourhoods(struct ftc_gossip_axes *axes,
                                   const char *text);                      /* "full,torus", "all" */
int ftc_gossip_read_turns(struct ftc_gossip_axes *axes, const char *text); /* "off,on" */
int ftc_gossip_read_accuracies(struct ftc_gossip_axes *axes, const char *text); /* "1e-3,1e-11" */
int ftc_gossip_read_losses(struct ftc_gossip_axes *axes, const char *text);     /* "0,20" */
int ftc_gossip_read_bits(struct ftc_gossip_axes *axes, const char *text);       /* "0..63", "55" */

struct ftc_gossip_row {
    struct ftc_gossip_run run; /* without the numbers of runs */
    int bit, repeat;           /* bit: of the axis, -1: there is none */
    int converged;
    double most, deviation, mean, error,
        time; /* means; error: the greatest; most's standard deviation */
    double flips, corrupt, resets, repairs; /* means */
    int rc;
    char words[FTC_GOSSIP_WORDS];
};

struct ftc_gossip_table {
    struct ftc_gossip_row *row; /* owned */
    int rows, left_out;         /* left out: combinations that cannot be */
    bool either;                /* in turns where that can be, else without */
};

/* All combinations that can be. `common` is what no axis says. FTC_ERR_ARG: none can (of why the
 * last one cannot). */
int ftc_gossip_table_make(struct ftc_gossip_table *table, const struct ftc_gossip_axes *axes,
                          const struct ftc_gossip_run *common, int repeat);
void ftc_gossip_table_fini(struct ftc_gossip_table *table);
/* Run i of a row has the seed of the row's run + i. */
void ftc_gossip_row_measure(struct ftc_gossip_row *row);

/* --- the model of the thesis, equation 5.2: a log2(n + b) / gap + c --- */

struct ftc_gossip_fit {
    double a, b, c, r_squared;
    int points;
};
/* Over rows of the same neighbourhood that differ in their ranks alone, from row `first`; false:
 * fewer than 4 of them, or no gap is known. Least squares in a and c; b by a search. */
bool ftc_gossip_fit(const struct ftc_gossip_table *table, int first, struct ftc_gossip_fit *fit);
/* Do they differ in their ranks alone? */
bool ftc_gossip_same_curve(const struct ftc_gossip_row *a, const struct ftc_gossip_row *b);

#endif
