/*
 * The sets of failed ranks that the caller sees: the snapshots L and G of "MPI_Comm_validate
 * parameters" (Hursey, Buntinas 2011). They change only in a validate call. The member has the sets
 * of the protocol.
 */
#ifndef FTC_RUNTIME_COMM_SNAPSHOT_H
#define FTC_RUNTIME_COMM_SNAPSHOT_H

#include <stdbool.h>

#include "base/set.h"
#include "include/ftcoll.h"

struct ftc_snapshot {
    struct ftc_set known, agreed; /* the snapshots L and G */
    struct ftc_set known_before;  /* L before the last validate call of either kind */
    struct ftc_set agreed_before; /* G before the last validate_global */
    struct ftc_set recognized;    /* ranks given to ftc_recognize() */
};

int ftc_snapshot_init(struct ftc_snapshot *snapshot, int ranks); /* FTC_ERR_NOMEM */
void ftc_snapshot_fini(struct ftc_snapshot *snapshot);           /* a zeroed struct is legal */

void ftc_snapshot_local(struct ftc_snapshot *snapshot, const struct ftc_set *known);
void ftc_snapshot_global(struct ftc_snapshot *snapshot, const struct ftc_set *agreed);

/* Do what ftc_get_state_local() (global: false) or ftc_get_state_global() (true), and
 * ftc_recognize(), promise in ftcoll.h. */
int ftc_snapshot_states(const struct ftc_snapshot *snapshot, bool global, int types, int incount,
                        int *outcount, ftc_rank_info infos[]);
/* Is a rank in G, or has ftc_recognize() named it? */
bool ftc_snapshot_recognizes(const struct ftc_snapshot *snapshot, int rank);
int ftc_snapshot_recognize(struct ftc_snapshot *snapshot, int count, const int ranks[]);

#endif
