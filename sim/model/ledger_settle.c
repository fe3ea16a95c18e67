/* The promises about settlements (agreement.md, rule 9). */
#include <stdlib.h>

#include "sim/model/ledger_record.h"

/* What a rank has delivered as settlement j. */
struct outcome {
    bool delivered;
    uint64_t from, name; /* K, and the name of the decision */
    struct ftc_set failed;
};

struct ftc_ledger_settlement {
    struct outcome *of; /* by rank */
};

void ftc_ledger_settlements_free(struct ftc_ledger *l)
{
    for (int j = 0; j < l->settlements; j++) {
        for (int rank = 0; rank < l->n; rank++)
            ftc_set_fini(&l->settlement[j].of[rank].failed);
        free(l->settlement[j].of);
    }
    free(l->settlement);
}

static struct outcome *outcome_of(struct ftc_ledger *l, int j, int rank)
{
    if (j == l->settlements) {
        struct ftc_ledger_settlement *grown =
            realloc(l->settlement, ((size_t)j + 1) * sizeof(*grown));
        if (grown == NULL)
            return NULL;
        l->settlement = grown;
        grown[j].of = calloc((size_t)l->n, sizeof(*grown[j].of));
        if (grown[j].of == NULL)
            return NULL;
        l->settlements++;
    }
    return &l->settlement[j].of[rank];
}

static bool same(const struct outcome *a, const struct outcome *b)
{
    return a->from == b->from && a->name == b->name && ftc_set_equal(&a->failed, &b->failed);
}

/* Live ranks agree. And each one has begun no operation that needs the settlement, unless it has
 * delivered it. */
static void check_others(struct ftc_ledger *l, int rank, int j, const struct outcome *mine)
{
    for (int other = 0; other < l->n; other++) {
        const struct ftc_ledger_process *p = &l->process[other];
        const struct outcome *theirs = &l->settlement[j].of[other];
        if (p->dead || other == rank)
            continue;
        if (theirs->delivered && !same(theirs, mine))
            ftc_ledger_violate(l, "ranks %d and %d, both alive, deliver settlement %d differently",
                               other, rank, j);
        if (!theirs->delivered && (uint64_t)p->called > mine->from)
            ftc_ledger_violate(l,
                               "rank %d settles %d from operation %llu on, and rank %d has called "
                               "that already",
                               rank, j, (unsigned long long)mine->from, other);
    }
}

static void check_content(struct ftc_ledger *l, int rank, int j,
                          const struct ftc_decision *decision)
{
    if (!ftc_set_subset(&decision->failed, &l->dead))
        ftc_ledger_violate(l, "rank %d: a live rank is in the failed set of settlement %d", rank,
                           j);
    if (decision->ballot.i == 0 && decision->ballot.s == 0)
        ftc_ledger_violate(l, "rank %d: settlement %d is decided in ballot (0,0)", rank, j);
    const struct outcome *before = j > 0 ? &l->settlement[j - 1].of[rank] : NULL;
    if (before != NULL && (!ftc_set_subset(&before->failed, &decision->failed) ||
                           ftc_set_equal(&before->failed, &decision->failed)))
        ftc_ledger_violate(l, "rank %d: settlement %d names no more than the one before", rank, j);
}

void ftc_ledger_settles(struct ftc_ledger *l, int rank, const struct ftc_output *output)
{
    struct ftc_ledger_process *p = &l->process[rank];
    const struct ftc_decision *decision = output->decision;
    int j = (int)(output->op - FTC_SETTLEMENT);

    if (j != p->settled || decision->value.size != sizeof(uint64_t)) {
        ftc_ledger_violate(l, "rank %d delivers settlement %d as its %dth", rank, j, p->settled);
        return;
    }
    p->settled++;
    struct outcome *mine = outcome_of(l, j, rank);
    if (mine == NULL || ftc_set_init(&mine->failed, l->n) != FTC_SUCCESS) {
        ftc_ledger_violate(l, "out of memory for the ledger");
        return;
    }
    mine->delivered = true;
    memcpy(&mine->from, ftc_value_bytes(&decision->value), sizeof(mine->from));
    mine->name = ftc_settlement_name(output->op, decision->ballot);
    ftc_set_copy(&mine->failed, &decision->failed);
    check_content(l, rank, j, decision);
    check_others(l, rank, j, mine);
}

void ftc_ledger_in_force(const struct ftc_ledger *l, int rank, int op, struct ftc_set *agreed,
                         struct ftc_epoch *epoch)
{
    for (int j = l->process[rank].settled - 1; j >= 0; j--) {
        const struct outcome *mine = &l->settlement[j].of[rank];
        if (mine->from > (uint64_t)op)
            continue;
        ftc_set_unite(agreed, &mine->failed);
        epoch->settled = mine->name;
        return;
    }
}
