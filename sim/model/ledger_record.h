/*
 * The inside of a ledger. Private to ledger*.c.
 *
 * What many ranks share is kept once per operation, with a count of the ranks: the history with
 * which they call it, and the outcome that they deliver. So the check of agreement compares two
 * counts, and the content of a decision is checked only when it is first delivered. One check is
 * enough. The value and the failed set of a decision do not change; of the sets with which they are
 * compared, the set of dead ranks only grows and the set of live ranks only shrinks.
 */
#ifndef FTC_SIM_MODEL_LEDGER_RECORD_H
#define FTC_SIM_MODEL_LEDGER_RECORD_H

#include <string.h>

#include "collectives/values/flip.h"
#include "include/ftcoll.h"
#include "sim/model/ledger.h"

#define FTC_LEDGER_BROADCAST_SIZE 24

/* Everything on which the rules of an operation depend, as it is at a rank that calls the
 * operation. It must be the same at all live ranks. */
struct ftc_ledger_history {
    struct ftc_epoch epoch;
    struct ftc_set agreed; /* G */
    /* ballot (0,0) has a reduce; follows from the G of this call and of earlier calls */
    bool collects;
    int living; /* number of live ranks that called with this history */
    uint64_t sent[FTC_MESSAGES];
};

/* What one or more ranks delivered that had called with the same history. */
struct ftc_ledger_outcome {
    int history;
    int status;
    unsigned retries;
    struct ftc_decision *decision; /* a copy that the ledger owns; NULL: none */
    struct ftc_value value;        /* of the decision, or of the root of a plain reduce */
    int living;                    /* number of live ranks that delivered it */
};

struct ftc_ledger_entry {
    int history;           /* index; valid once the rank has called the operation */
    uint32_t outcome : 31; /* index + 1; 0: not delivered */
    uint32_t has_result : 1;
};

/* An operation. */
struct ftc_ledger_record {
    struct ftc_ledger_entry *entry; /* by rank; NULL before the first call */
    struct ftc_ledger_history *history;
    struct ftc_ledger_outcome *outcome;
    int histories, outcomes;
    int callers, deliverers; /* number of live ones */
    uint64_t bytes;
};

struct ftc_ledger_settlement; /* ledger_settle.c */

struct ftc_ledger_process {
    struct ftc_ledger *ledger; /* the operators find the ledger by it */
    struct ftc_set known;      /* L after the last input */
    int called;
    int row;        /* broadcasts in a row */
    int settled;    /* settlements that it has delivered */
    bool unsettled; /* after its last input: ftc_member_unsettled() */
    bool dead, under_way;
};

struct ftc_ledger {
    struct ftc_member_settings settings; /* of every member, except self */
    const struct ftc_program *program;
    int n, alive;
    struct ftc_set dead, scratch;
    struct ftc_ledger_process *process;
    struct ftc_ledger_record *record; /* by operation */
    struct ftc_ledger_settlement *settlement;
    int settlements;
    /* by rank: L at its last call of validate; NULL: the program has no validate */
    struct ftc_set *validating;
    /* inputs */
    /* by rank: index of its count; -1: the rank has a ticket; NULL: the index is the rank */
    int *place;
    int counted; /* number of counts */
    unsigned char *input;
    size_t input_room, input_size; /* input_size 0: the input was overwritten */
    uint64_t rules[FTC_RULES_COUNT];
    char violation[400];
};

static inline bool ftc_ledger_broken(const struct ftc_ledger *ledger)
{
    return ledger->violation[0] != '\0';
}

/* The history with which the rank called the operation. */
static inline const struct ftc_ledger_history *ftc_ledger_history_of(const struct ftc_ledger *l,
                                                                     int op, int rank)
{
    const struct ftc_ledger_record *record = &l->record[op];
    return &record->history[record->entry[rank].history];
}

/* A caller may overwrite its buffer once the call has returned. */
static inline void ftc_ledger_spoil_input(struct ftc_ledger *ledger)
{
    if (ledger->input_size > 0)
        memset(ledger->input, 0xee, ledger->input_size);
    ledger->input_size = 0;
}

/* ledger_value.c */

/* FTC_ERR_NOMEM. */
int ftc_ledger_values_init(struct ftc_ledger *ledger, const struct ftc_set *mortal);
void ftc_ledger_values_fini(struct ftc_ledger *ledger);
bool ftc_ledger_same_value(const struct ftc_value *a, const struct ftc_value *b);
/* Checks that each live rank is counted once and each dead rank at most once. With `list`, each
 * rank that is not counted must be in `failed`. */
void ftc_ledger_check_counts(struct ftc_ledger *ledger, int rank, int op,
                             const struct ftc_value *value, const struct ftc_set *failed);
/* Checks that the value is what the root sends in operation `op`. */
void ftc_ledger_check_broadcast(struct ftc_ledger *ledger, int rank, int op,
                                const struct ftc_value *value);

/* ledger_settle.c */

/* The member delivers a settlement. */
void ftc_ledger_settles(struct ftc_ledger *ledger, int rank, const struct ftc_output *output);
/* Adds what the settlement that is in force for the rank at operation `op` adds to G and epoch. */
void ftc_ledger_in_force(const struct ftc_ledger *ledger, int rank, int op, struct ftc_set *agreed,
                         struct ftc_epoch *epoch);
void ftc_ledger_settlements_free(struct ftc_ledger *ledger);

/* ledger_check.c */

/* Checks a delivery of one rank, as far as it depends on the rank. */
void ftc_ledger_check_delivery(struct ftc_ledger *ledger, int rank, int op,
                               const struct ftc_member *member, const struct ftc_output *output);
/* Checks the content of an outcome. `rank` is the first rank to deliver it. */
void ftc_ledger_check_outcome(struct ftc_ledger *ledger, int rank, int op,
                              const struct ftc_ledger_outcome *outcome);
/* Checks the number of messages of an operation, once nothing more can happen. `survivor` is a live
 * rank. */
void ftc_ledger_check_messages(struct ftc_ledger *ledger, int op, int survivor);

#endif
