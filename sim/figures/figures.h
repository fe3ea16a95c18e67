/*
 * Broadcasts in virtual time with nobody to help (sim/timed, alone): what each dissemination with
 * each correction costs and whom it reaches, against the number of ranks, failed ones, cost models
 * and lost datagrams. Failed ranks are dead before the start, at random, and nobody knows. Rank 0
 * is the root. Baselines (sim/baseline) stand beside.
 *
 * Parameters that the command line does not give are those of the papers, chosen for each row:
 * corrections as fast as a process can send; Lamé trees of order (L + 2o) / o; gossip bound in
 * time, whose rounds T and distance d = K(epsilon) are chosen for as many live ranks as there are
 * (sim/figures/gossip_plan.h).
 */
#ifndef FTC_SIM_FIGURES_FIGURES_H
#define FTC_SIM_FIGURES_FIGURES_H

#include "sim/baseline/baseline.h"
#include "sim/model/pair.h"
#include "sim/options.h"
#include "sim/timed/timed.h"

#define FTC_FIGURES_EPSILON 1e-6 /* that gossip with opportunistic correction may miss anybody */

/* A way to broadcast: a pair, or a baseline. */
struct ftc_figures_way {
    bool baseline;
    enum ftc_baseline kind;
    struct ftc_pair pair;
};
/* "lame+checked", "ack-tree". Returns text. */
char *ftc_figures_way_name(const struct ftc_figures_way *way, char text[FTC_PAIR_NAME]);

/* "1" or "1%" of the ranks. */
struct ftc_figures_failed {
    double value;
    bool percent;
};
int ftc_figures_failed_of(const struct ftc_figures_failed *failed,
                          int n); /* to the nearest number */

/* Times in ns. Those of ranks are of survivors that were reached, without the root. */
struct ftc_figures_row {
    struct ftc_figures_way way;
    const struct ftc_cost *cost;
    const struct ftc_figures_failed *failed;
    double loss; /* percent of the datagrams */
    int n, dead;
    /* of a pair: its parameters, 0: it has none of that kind */
    int rounds, distance, arity;
    double formula_missed, formula_messages; /* by the mean field; < 0: there is no formula */
    /* results */
    int runs;
    uint64_t latency, least,
        most; /* the last rank is reached: median, least and most of the runs */
    /* means of the runs; spread: last - first; quiet: no message any more, or the root has all
     * acknowledgements */
    double first, mean, spread, quiet;
    double dissemination, correction; /* messages for each live process */
    double missed;                    /* survivors, mean of the runs */
    int missed_runs;                  /* that missed any */
    int endless_runs;                 /* of a baseline whose root waits for ever */
    int code;                         /* FTC_SIM_EXIT_* */
    uint64_t bad_seed;                /* of a broken promise */
    char words[400];                  /* of an error or a broken promise */
};

/* What the command line gives, whatever the row is. */
enum ftc_figures_given {
    FTC_FIGURES_ARITY = 1 << 0,
    FTC_FIGURES_DISTANCE = 1 << 1,
    FTC_FIGURES_PACE = 1 << 2,
    FTC_FIGURES_PATIENCE = 1 << 3,
    FTC_FIGURES_BOUND = 1 << 4,
    FTC_FIGURES_ROUNDS = 1 << 5,
    FTC_FIGURES_HOP = 1 << 6,
};

struct ftc_figures {
    struct ftc_member_settings member; /* of every run, but what the row says or chooses */
    unsigned given;                    /* enum ftc_figures_given: not to be chosen */
    uint64_t bytes, noise_ns;
    uint64_t seed; /* of the first of the repeated runs, the next one has the next */
    int repeat;
    struct ftc_figures_row *row;
    int rows;
};

/* settings.c: the members of a row; fills in its parameters and formulas. */
struct ftc_member_settings ftc_figures_member(const struct ftc_figures *figures,
                                              struct ftc_figures_row *row);
/* measure.c: fill in the row's results. */
void ftc_figures_measure(const struct ftc_figures *figures, struct ftc_figures_row *row);

#endif
