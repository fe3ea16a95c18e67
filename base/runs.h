/*
 * Sorted runs of ranks: how a set over very many ranks is kept (base/set.h). Runs are ascending,
 * disjoint and not adjacent, so that equal sets have equal runs. Space O(runs), a look-up O(log
 * runs), a change O(runs).
 */
#ifndef FTC_BASE_RUNS_H
#define FTC_BASE_RUNS_H

#include <stdbool.h>

struct ftc_run {
    int first, end; /* ranks first .. end-1 */
};

struct ftc_runs {
    struct ftc_run *run; /* NULL: no room yet */
    int count, room;
};

/* Both return whether that changed the set. Growing without memory ends the process by abort()
 * (base/set.h). */
bool ftc_runs_add(struct ftc_runs *runs, struct ftc_run range);
bool ftc_runs_remove(struct ftc_runs *runs, struct ftc_run range);
void ftc_runs_copy(struct ftc_runs *to, const struct ftc_runs *from);

/* Index of the first run that ends after `rank`: the one that holds it, or else the next; `count`
 * if there is none. */
int ftc_runs_find(const struct ftc_runs *runs, int rank);
bool ftc_runs_has(const struct ftc_runs *runs, int rank);
bool ftc_runs_subset(const struct ftc_runs *part, const struct ftc_runs *whole);
bool ftc_runs_intersect(const struct ftc_runs *a, const struct ftc_runs *b);

#endif
