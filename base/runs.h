/*
 * Sorted runs of ranks. base/set.h keeps a set over very many ranks in this form. Runs are
 * ascending, disjoint and not adjacent, so that equal sets have equal runs. A set takes O(runs)
 * space, a look-up O(log runs) time, a change O(runs) time.
 */
#ifndef FTC_BASE_RUNS_H
#define FTC_BASE_RUNS_H

#include <stdbool.h>

struct ftc_run {
    int first, end; /* ranks first .. end-1 */
};

struct ftc_runs {
    struct ftc_run *run; /* NULL: nothing is allocated yet */
    int count, room;
};

/* Both return whether they changed the set. When memory for a larger set is missing the process
 * ends by abort() (base/set.h). */
bool ftc_runs_add(struct ftc_runs *runs, struct ftc_run range);
bool ftc_runs_remove(struct ftc_runs *runs, struct ftc_run range);
void ftc_runs_copy(struct ftc_runs *to, const struct ftc_runs *from);

/* The index of the run that holds `rank`. If no run does, that of the next run; `count` if there is
 * no next one. */
int ftc_runs_find(const struct ftc_runs *runs, int rank);
bool ftc_runs_has(const struct ftc_runs *runs, int rank);
bool ftc_runs_subset(const struct ftc_runs *part, const struct ftc_runs *whole);
bool ftc_runs_intersect(const struct ftc_runs *a, const struct ftc_runs *b);

#endif
