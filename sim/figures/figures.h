/*
 * Broadcasts in virtual time without help (sim/timed, `alone`). They show what each dissemination
 * with each correction costs and which ranks it reaches, by number of ranks, failed ranks, cost
 * model and loss of datagrams. Failed ranks are drawn at random and are dead before the start, and
 * no rank knows it. Rank 0 is the root. Baselines (sim/baseline) are measured beside.
 *
 * Parameters that the command line does not give are those of the papers, chosen for each row:
 * - corrections are sent as fast as a process can send;
 * - Lamé trees have order (L + 2o) / o;
 * - gossip is bound in time. Its rounds T and its distance d = K(epsilon) are chosen for the number
 *   of live ranks (sim/figures/gossip_plan.h).
 */
#ifndef FTC_SIM_FIGURES_FIGURES_H
#define FTC_SIM_FIGURES_FIGURES_H

#include "sim/baseline/baseline.h"
#include "sim/model/pair.h"
#include "sim/options.h"
#include "sim/timed/timed.h"

/* Probability that gossip with opportunistic correction may miss a rank. */
#define FTC_FIGURES_EPSILON 1e-6

/* A way to broadcast: a pair or a baseline. */
struct ftc_figures_way {
    bool baseline;
    enum ftc_baseline kind;
    struct ftc_pair pair;
};
/* "lame+checked", "ack-tree". Returns text. */
char *ftc_figures_way_name(const struct ftc_figures_way *way, char text[FTC_PAIR_NAME]);

/* A number of failed ranks, "1", or a share of the ranks, "1%". */
struct ftc_figures_failed {
    double value;
    bool percent;
};
/* Rounded to the nearest number. */
int ftc_figures_failed_of(const struct ftc_figures_failed *failed, int n);

struct ftc_figures_rank; /* ranks.h */

/* Times are in ns. Times of ranks cover the survivors that were reached, without the root. */
struct ftc_figures_row {
    struct ftc_figures_way way;
    const struct ftc_cost *cost;
    const struct ftc_figures_failed *failed;
    double loss; /* percent of the datagrams */
    int n, dead;
    /* parameters of a pair; 0: it has none of that kind */
    int rounds, distance, arity;
    double formula_missed, formula_messages; /* by the mean field; < 0: there is no formula */
    /* results */
    int runs;
    /* when the last rank is reached; latency: the median of the runs */
    uint64_t latency, least, most;
    /* Means of the runs. spread: last - first. quiet: when no message is on the way any more, or
     * when the root has all acknowledgements. */
    double first, mean, spread, quiet;
    double dissemination, correction; /* messages for each live process */
    double missed;                    /* missed survivors, mean of the runs */
    int missed_runs;                  /* runs that missed a survivor */
    int endless_runs;                 /* runs of a baseline whose root waits for ever */
    struct ftc_figures_rank *rank;    /* by rank, shared with other processes; NULL: not wanted */
    int code;                         /* FTC_SIM_EXIT_* */
    uint64_t bad_seed;                /* of the run that broke a promise */
    char words[400];                  /* of the error or the broken promise */
};

/* Parameters that the command line gives for all rows. */
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
    struct ftc_member_settings member; /* of every run, except what the row says or chooses */
    unsigned given;                    /* enum ftc_figures_given: these parameters are not chosen */
    uint64_t bytes, noise_ns;
    uint64_t seed; /* of the first of the repeated runs; each further run has the next seed */
    int repeat;
    struct ftc_figures_row *row;
    int rows;
    struct ftc_figures_rank *rank; /* of all rows; NULL: times of single ranks are not wanted */
};

/* settings.c: the settings of the members of a row. Fills in the row's parameters and formulas. */
struct ftc_member_settings ftc_figures_member(const struct ftc_figures *figures,
                                              struct ftc_figures_row *row);
/* measure.c: fill in the row's results. */
void ftc_figures_measure(const struct ftc_figures *figures, struct ftc_figures_row *row);

#endif
