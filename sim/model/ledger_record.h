/*
 * Inside of a ledger. Private to ledger*.c.
 *
 * What many ranks share is kept once per operation and counted: the history they call it with, and
 * the outcome they deliver. So agreement is a comparison of two counts, and what a decision says is
 * looked at when it is first delivered. That is enough: its value and failed set do not change, and
 * of what they are compared with, the set of the dead only grows, that of the living only shrinks.
 */
#ifndef FTC_SIM_MODEL_LEDGER_RECORD_H
#define FTC_SIM_MODEL_LEDGER_RECORD_H

#include <string.h>

#include "collectives/values/flip.h"
#include "include/ftcoll.h"
#include "sim/model/ledger.h"

#define FTC_LEDGER_BROADCAST_SIZE 24

/* All that the rules of an operation depend on, as a rank has it when it calls: alike among the
 * living. */
struct ftc_ledger_history {
    struct ftc_epoch epoch;
    struct ftc_set agreed; /* G */
    bool collects; /* ballot (0,0) has a reduce; follows from the G of this and earlier calls */
    int living;    /* callers that live */
    uint64_t sent[FTC_MESSAGES];
};

/* What was delivered by one rank or more that called with the same history. */
struct ftc_ledger_outcome {
    int history;
    int status;
    unsigned retries;
    struct ftc_decision *decision; /* the ledger's own copy; NULL: none */
    struct ftc_value value;        /* the decision's, or that of a plain reduce's root */
    int living;                    /* deliverers that live */
};

struct ftc_ledger_entry {
    int history;           /* index, of an operation that was called */
    uint32_t outcome : 31; /* index + 1; 0: not delivered */
    uint32_t has_result : 1;
};

/* An operation. */
struct ftc_ledger_record {
    struct ftc_ledger_entry *entry; /* by rank; NULL before the first call */
    struct ftc_ledger_history *history;
    struct ftc_ledger_outcome *outcome;
    int histories, outcomes;
    int callers, deliverers; /* that live */
    uint64_t bytes;
};

struct ftc_ledger_process {
    struct ftc_ledger *ledger; /* for its operators */
    struct ftc_set known;      /* L after the last input */
    int called;
    int row; /* broadcasts in a row */
    bool dead, under_way;
};

struct ftc_ledger {
    struct ftc_member_settings settings; /* of every member, but self */
    const struct ftc_program *program;
    int n, alive;
    struct ftc_set dead;
    struct ftc_ledger_process *process;
    struct ftc_ledger_record *record; /* by operation */
    struct ftc_set *
        validating; /* by rank: L at its last call of validate; NULL: there is none in the program */
    /* inputs */
    int *
        place; /* by rank: index of its count, -1: it has a ticket; NULL: everyone has the count of its rank */
    int counted; /* number of counts */
    unsigned char *input;
    size_t input_room, input_size; /* 0: overwritten */
    uint64_t rules[FTC_RULES_COUNT];
    char violation[400];
};

static inline bool ftc_ledger_broken(const struct ftc_ledger *ledger)
{
    return ledger->violation[0] != '\0';
}

/* The caller may overwrite its buffer once the call has returned. */
static inline void ftc_ledger_spoil_input(struct ftc_ledger *ledger)
{
    if (ledger->input_size > 0)
        memset(ledger->input, 0xee, ledger->input_size);
    ledger->input_size = 0;
}

/* ledger_value.c */

int ftc_ledger_values_init(struct ftc_ledger *ledger,
                           const struct ftc_set *mortal); /* FTC_ERR_NOMEM */
void ftc_ledger_values_fini(struct ftc_ledger *ledger);
bool ftc_ledger_same_value(const struct ftc_value *a, const struct ftc_value *b);
/* Everyone alive is counted once, the dead at most once; with `list`, who is not counted is in
 * `failed`. */
void ftc_ledger_check_counts(struct ftc_ledger *ledger, int rank, int op,
                             const struct ftc_value *value, const struct ftc_set *failed);
/* The value is what the root sends in operation op. */
void ftc_ledger_check_broadcast(struct ftc_ledger *ledger, int rank, int op,
                                const struct ftc_value *value);

/* ledger_check.c */

/* A delivery by one rank: what depends on the rank. */
void ftc_ledger_check_delivery(struct ftc_ledger *ledger, int rank, int op,
                               const struct ftc_member *member, const struct ftc_output *output);
/* What an outcome says; `rank` is the first to deliver it. */
void ftc_ledger_check_outcome(struct ftc_ledger *ledger, int rank, int op,
                              const struct ftc_ledger_outcome *outcome);
/* The messages of an operation, once nothing more can happen; `survivor` is a rank that lives. */
void ftc_ledger_check_messages(struct ftc_ledger *ledger, int op, int survivor);
const struct ftc_ledger_history *ftc_ledger_history_of(const struct ftc_ledger *ledger, int op,
                                                       int rank);

#endif
