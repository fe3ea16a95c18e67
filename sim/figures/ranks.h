/*
 * The time of each rank, not of the first, the mean and the last one alone (--per-rank). It shows
 * the skew that a way to broadcast makes, as the figures of Hoefler, Siebert, Rehm 2007 do: latency
 * by rank, of rank 1, and of the last rank.
 */
#ifndef FTC_SIM_FIGURES_RANKS_H
#define FTC_SIM_FIGURES_RANKS_H

#include "sim/csv.h"
#include "sim/figures/figures.h"

struct ftc_figures_rank {
    double time;      /* ns, mean of the runs that reached it */
    uint32_t reached; /* number of these runs */
};

/* Give each row its ranks, in memory that the processes of the rows share. FTC_ERR_NOMEM. */
int ftc_figures_ranks_init(struct ftc_figures *figures);
void ftc_figures_ranks_fini(struct ftc_figures *figures); /* legal without init */

/* Add one run: when each rank was reached, in ns, or UINT64_MAX. */
void ftc_figures_ranks_add(struct ftc_figures_row *row, const uint64_t *delivery);

/* The table has a line for each rank of a row but the root, which begins with the fields `key`. */
extern const char ftc_figures_ranks_head[];
void ftc_figures_ranks_print(const struct ftc_figures_row *row, const char *key);
/* FTC_ERR_ARG. */
int ftc_figures_ranks_read(struct ftc_csv *csv, struct ftc_figures_row *row, const char *key);

/* plot_ranks.c: three panels: each rank of the largest number of ranks; rank 1 and the last rank
 * against the number of ranks. FTC_ERR_SYSTEM with cause and remedy. */
int ftc_figures_plot_ranks(const struct ftc_figures *figures, const char *path);

#endif
