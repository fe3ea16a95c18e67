/* A look into a ledger. */
#include <assert.h>

#include "sim/model/ledger_record.h"

int ftc_ledger_alive(const struct ftc_ledger *l)
{
    return l->alive;
}

const struct ftc_set *ftc_ledger_dead(const struct ftc_ledger *l)
{
    return &l->dead;
}

int ftc_ledger_called(const struct ftc_ledger *l, int rank)
{
    return l->process[rank].called;
}

bool ftc_ledger_under_way(const struct ftc_ledger *l, int rank)
{
    return l->process[rank].under_way && !l->process[rank].dead;
}

/* NULL: the rank has not delivered. */
static const struct ftc_ledger_outcome *outcome_of(const struct ftc_ledger *l, int op, int rank)
{
    assert(op >= 0 && op < l->program->length);
    const struct ftc_ledger_record *record = &l->record[op];
    uint32_t outcome = record->entry != NULL ? record->entry[rank].outcome : 0;
    return outcome > 0 ? &record->outcome[outcome - 1] : NULL;
}

bool ftc_ledger_delivered(const struct ftc_ledger *l, int op, int rank)
{
    return outcome_of(l, op, rank) != NULL;
}

int ftc_ledger_status(const struct ftc_ledger *l, int op, int rank)
{
    const struct ftc_ledger_outcome *outcome = outcome_of(l, op, rank);
    return outcome != NULL ? outcome->status : FTC_SUCCESS;
}

unsigned ftc_ledger_retries(const struct ftc_ledger *l, int op, int rank)
{
    const struct ftc_ledger_outcome *outcome = outcome_of(l, op, rank);
    return outcome != NULL ? outcome->retries : 0;
}

const struct ftc_decision *ftc_ledger_decision(const struct ftc_ledger *l, int op, int rank)
{
    const struct ftc_ledger_outcome *outcome = outcome_of(l, op, rank);
    return outcome != NULL ? outcome->decision : NULL;
}

struct ftc_value ftc_ledger_result(const struct ftc_ledger *l, int op, int rank)
{
    const struct ftc_ledger_outcome *outcome = outcome_of(l, op, rank);
    bool has = outcome != NULL && l->record[op].entry[rank].has_result;
    return has ? outcome->value : (struct ftc_value){0};
}

uint64_t ftc_ledger_sent(const struct ftc_ledger *l, int op, int kind)
{
    const struct ftc_ledger_record *record = &l->record[op];
    uint64_t sent = 0;

    for (int h = 0; h < record->histories; h++)
        sent += record->history[h].sent[kind];
    return sent;
}

uint64_t ftc_ledger_bytes(const struct ftc_ledger *l, int op)
{
    return l->record[op].bytes;
}

uint64_t ftc_ledger_rule(const struct ftc_ledger *l, enum ftc_rule rule)
{
    return l->rules[rule];
}
