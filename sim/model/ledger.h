/*
 * The ledger of a simulated job. It records what each process called, sent and delivered, and
 * checks every promise of docs/design/agreement.md ("What the simulator must establish") as it
 * happens. An engine reports each event to it, in the order in which the events happen, and stops
 * at the first broken promise.
 *
 * An event costs O(1), plus at most a word operation per 64 ranks. The first delivery of each
 * distinct decision costs more, because it is checked rank by rank. So the ledger can check a
 * million ranks.
 */
#ifndef FTC_SIM_MODEL_LEDGER_H
#define FTC_SIM_MODEL_LEDGER_H

#include "collectives/agreement/member.h"
#include "sim/model/program.h"

struct ftc_ledger;

/*
 * Values. The ledger chooses the inputs to a reduction so that the result tells how often each
 * input was counted (multiplicity vectors). Each rank in `mortal`, the ranks that may die, has a
 * 16-bit count. The other ranks share one 64-bit sum, to which each adds a random ticket. So a
 * small `mortal` makes small values. NULL: any rank may die. The set is copied. Operations with
 * `floating` sum doubles, and their inputs are not counted.
 *
 * The program must outlive the ledger. NULL: out of memory. If memory runs out later, that is a
 * violation that says so.
 */
struct ftc_ledger *ftc_ledger_new(const struct ftc_member_settings *settings,
                                  const struct ftc_program *program, const struct ftc_set *mortal);
void ftc_ledger_free(struct ftc_ledger *ledger);

/* The call that `rank` makes as its operation `op`. The ledger owns the input bytes. They are valid
 * until the next event other than ftc_ledger_calls() is reported. Then the ledger overwrites them,
 * as a caller may overwrite its buffer after the return. */
void ftc_ledger_prepare(struct ftc_ledger *ledger, int rank, int op, struct ftc_call *call);

/* --- what happened; `member` is the member of the rank --- */

/* Call it after ftc_member_begin(), and before ftc_member_call(). */
void ftc_ledger_calls(struct ftc_ledger *ledger, int rank, const struct ftc_member *member);
void ftc_ledger_sends(struct ftc_ledger *ledger, int rank, const struct ftc_output *output);
void ftc_ledger_delivers(struct ftc_ledger *ledger, int rank, const struct ftc_member *member,
                         const struct ftc_output *output);
/* For the outputs FENCED, CORRUPT, ACCUSE, MISMATCH and SETTLED. */
void ftc_ledger_protests(struct ftc_ledger *ledger, int rank, const struct ftc_member *member,
                         const struct ftc_output *output);
/* Calls ftc_member_receive(), or ftc_member_datagram() for a datagram, and returns what that
 * returns. It checks that the member takes no message of operation `op` that comes from another
 * history than its own (agreement.md, rule 0). */
int ftc_ledger_receive(struct ftc_ledger *ledger, int rank, struct ftc_member *member, int from,
                       uint64_t op, bool datagram, struct ftc_buffer *message);
/* Call it after ftc_member_notice() has told `rank` that `dead` failed. */
void ftc_ledger_hears(struct ftc_ledger *ledger, int rank, const struct ftc_member *member,
                      int dead);
/* Call it after each input and its outputs. `rc` is what the input returned. */
void ftc_ledger_input_done(struct ftc_ledger *ledger, int rank, const struct ftc_member *member,
                           int rc);
/* `rank` is declared failed, or is about to be. `member`: the ledger keeps its counts of rules. */
void ftc_ledger_dies(struct ftc_ledger *ledger, int rank, const struct ftc_member *member);
/* Nothing more can happen. Checks that every survivor has delivered everything, and the message
 * counts. */
void ftc_ledger_ends(struct ftc_ledger *ledger);

void ftc_ledger_violate(struct ftc_ledger *ledger, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "" while all promises are kept. */
const char *ftc_ledger_violation(const struct ftc_ledger *ledger);

/* --- looking --- */

/* The lowest live rank that has not delivered the whole program. -1: there is none. */
int ftc_ledger_unfinished(const struct ftc_ledger *ledger);
int ftc_ledger_alive(const struct ftc_ledger *ledger);
const struct ftc_set *ftc_ledger_dead(const struct ftc_ledger *ledger);
/* Number of operations that it has called. */
int ftc_ledger_called(const struct ftc_ledger *ledger, int rank);
bool ftc_ledger_under_way(const struct ftc_ledger *ledger, int rank);
bool ftc_ledger_delivered(const struct ftc_ledger *ledger, int op, int rank);
int ftc_ledger_status(const struct ftc_ledger *ledger, int op, int rank);
unsigned ftc_ledger_retries(const struct ftc_ledger *ledger, int op, int rank);
/* The decision that it delivered. NULL: it delivered nothing, or no decision (a plain reduce, or a
 * root in G). */
const struct ftc_decision *ftc_ledger_decision(const struct ftc_ledger *ledger, int op, int rank);
/* The result of `rank`, owned by the ledger. A NULL buffer: it has none. */
struct ftc_value ftc_ledger_result(const struct ftc_ledger *ledger, int op, int rank);
/* How often the input of `rank` is in the result of `op` at `at`. -1: there is no result, or `rank`
 * is not mortal. */
int ftc_ledger_counts(const struct ftc_ledger *ledger, int op, int at, int rank);
/* The same for the value of a contribution. -1: it does not count `rank`. */
int ftc_ledger_counts_in(const struct ftc_ledger *ledger, int op, const struct ftc_value *value,
                         int rank);
/* Number of messages that all ranks sent, dead ones too. */
uint64_t ftc_ledger_sent(const struct ftc_ledger *ledger, int op, int kind);
/* Bytes on the wire: heads and values. */
uint64_t ftc_ledger_bytes(const struct ftc_ledger *ledger, int op);
/* How often ranks that are now dead took the rule. */
uint64_t ftc_ledger_rule(const struct ftc_ledger *ledger, enum ftc_rule rule);

#endif
