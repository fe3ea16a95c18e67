/*
 * Tables of gossip aggregation: algorithms and neighbourhoods by numbers of ranks, accuracies,
 * losses and flipped bits. Each row is the mean of many runs.
 */
#ifndef FTC_SIM_GOSSIP_TABLE_H
#define FTC_SIM_GOSSIP_TABLE_H

#include "sim/gossip/engine.h"
#include "sim/timed/axes.h"

#define FTC_GOSSIP_VALUES 32 /* most values of an axis */
#define FTC_GOSSIP_WORDS  160

enum ftc_gossip_turns {
    FTC_GOSSIP_TURNS_OFF,
    FTC_GOSSIP_TURNS_ON,
    FTC_GOSSIP_TURNS_NEEDED, /* on only for push-cancel-flow, which is broken without turns */
};

/* The method that computes the average is an enum ftc_gossip_algorithm, or FTC_GOSSIP_ALGORITHMS +
 * an enum ftc_doubling_algorithm. */
#define FTC_GOSSIP_METHODS (FTC_GOSSIP_ALGORITHMS + FTC_DOUBLING_ALGORITHMS)

struct ftc_gossip_axes {
    int method[FTC_GOSSIP_METHODS];
    enum ftc_neighbourhood_kind neighbourhood[FTC_NEIGHBOURHOODS];
    enum ftc_gossip_turns turns[3]; /* turnses 0: on where that is possible */
    double accuracy[FTC_GOSSIP_VALUES], loss[FTC_GOSSIP_VALUES]; /* loss is in percent */
    struct ftc_axis ranks;
    bool lost_sends[2];
    int bit[64];                  /* -1: the flip as it was given, or none */
    int flips[FTC_GOSSIP_VALUES]; /* -1: all runs count */
    int methods, neighbourhoods, turnses, accuracies, losses, lost_sendses, bits, flipses;
};

/* Read lists with commas. Each list replaces the list before. FTC_ERR_ARG with cause and remedy,
 * FTC_ERR_NOMEM. */
/* "push-sum,doubling"; "all" means all gossip algorithms */
int ftc_gossip_read_algorithms(struct ftc_gossip_axes *axes, const char *text);
/* "full,torus", "all". */
int ftc_gossip_read_neighbourhoods(struct ftc_gossip_axes *axes, const char *text);
int ftc_gossip_read_turns(struct ftc_gossip_axes *axes, const char *text);      /* "off,on" */
int ftc_gossip_read_accuracies(struct ftc_gossip_axes *axes, const char *text); /* "1e-3,1e-11" */
int ftc_gossip_read_losses(struct ftc_gossip_axes *axes, const char *text);     /* "0,20" */
int ftc_gossip_read_lost(struct ftc_gossip_axes *axes, const char *text);       /* "waits,sends" */
int ftc_gossip_read_bits(struct ftc_gossip_axes *axes, const char *text);       /* "0..63", "55" */
int ftc_gossip_read_flips(struct ftc_gossip_axes *axes, const char *text);      /* "0..4" */

struct ftc_gossip_row {
    struct ftc_gossip_run run; /* without what differs from run to run */
    int bit;                   /* its value on the axis; -1: there is none */
    int flips_wanted;          /* runs with another number of flips do not count; -1: all count */
    int repeat;                /* runs; when they are done, only those that count */
    int converged;
    /* most, mean, time: means; deviation: the standard deviation of most; error: the greatest */
    double most, deviation, mean, error, time;
    /* quartiles of most, and the least and the greatest that lie within 1.5 times the distance of
     * the quartiles from these (a box and its whiskers) */
    double low, quartile[3], high;
    double flips, corrupt, resets, repairs; /* means */
    int rc;
    char words[FTC_GOSSIP_WORDS];
};

struct ftc_gossip_table {
    struct ftc_gossip_row *row;    /* owned */
    int rows, left_out;            /* left_out: combinations that are not possible */
    char reason[FTC_GOSSIP_WORDS]; /* why the last of these is not */
    bool either;  /* rows are in turns where that is possible, else without turns */
    bool regular; /* only rows for which a model can be: see ftc_gossip_fit() */
};

/* Make a row for each possible combination. `common` has what no axis says. FTC_ERR_ARG: no
 * combination is possible; the message says why the last one is not. */
int ftc_gossip_table_make(struct ftc_gossip_table *table, const struct ftc_gossip_axes *axes,
                          const struct ftc_gossip_run *common, int repeat, bool regular);
void ftc_gossip_table_fini(struct ftc_gossip_table *table);
/* Do the runs of a row. Run i has the seed of the row's run + i. */
void ftc_gossip_row_measure(struct ftc_gossip_row *row);

/* --- the model of the thesis, equation 5.2: a log2(n + b) / gap + c --- */

struct ftc_gossip_fit {
    double a, b, c, r_squared;
    int points;
};
/* Is there a model for this neighbourhood: is its gap known, and has a torus equal sides? */
bool ftc_gossip_is_regular(const struct ftc_neighbourhood *neighbourhood);
/* Fit the rows of the same neighbourhood that differ only in their ranks, from row `first` on:
 * least squares in a and c, and a search for b. False: there are fewer than 4 such rows, or no gap
 * is known. */
bool ftc_gossip_fit(const struct ftc_gossip_table *table, int first, struct ftc_gossip_fit *fit);
/* The messages of this neighbourhood by the model. */
double ftc_gossip_model(const struct ftc_gossip_fit *fit, const struct ftc_neighbourhood *of);
/* Do the two rows differ only in their ranks? */
bool ftc_gossip_same_curve(const struct ftc_gossip_row *a, const struct ftc_gossip_row *b);

#endif
