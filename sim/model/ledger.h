/*
 * The ledger of a simulated job: what each process called, sent and delivered, and every promise of
 * docs/design/agreement.md ("What the simulator must establish") checked as it happens. Any engine
 * keeps one: it reports each event, in the order in which they happen, and stops at the first
 * broken promise.
 *
 * An event costs O(1) and a word operation per 64 ranks at most, but for the first delivery of each
 * distinct decision, which is looked at rank by rank; so a million ranks can be checked.
 */
#ifndef FTC_SIM_MODEL_LEDGER_H
#define FTC_SIM_MODEL_LEDGER_H

#include "collectives/agreement/member.h"
#include "sim/model/program.h"

struct ftc_ledger;

/*
 * Values. The input of each rank to a reduction is such that the result tells how often each was
 * counted (multiplicity vectors): a 16-bit count for each rank that may die, and for those that may
 * not, together, the sum of one random 64-bit ticket each. `mortal`: who may die, NULL: anyone; the
 * less, the smaller the values. It is copied. Operations with `floating` sum doubles and are not
 * counted. The program must outlive the ledger. NULL: out of memory. Memory that is missing later
 * counts as a violation that says so.
 */
struct ftc_ledger *ftc_ledger_new(const struct ftc_member_settings *settings,
                                  const struct ftc_program *program, const struct ftc_set *mortal);
void ftc_ledger_free(struct ftc_ledger *ledger);

/* The call that `rank` makes as its operation `op`. The input bytes are the ledger's and good until
 * the next event is reported, ftc_ledger_calls() apart: then they are overwritten, as a caller may
 * overwrite its buffer after the return. */
void ftc_ledger_prepare(struct ftc_ledger *ledger, int rank, int op, struct ftc_call *call);

/* --- what happened; `member` is that of the rank --- */

void ftc_ledger_calls(struct ftc_ledger *ledger, int rank,
                      const struct ftc_member *member); /* before ftc_member_call() */
void ftc_ledger_sends(struct ftc_ledger *ledger, int rank, const struct ftc_output *output);
void ftc_ledger_delivers(struct ftc_ledger *ledger, int rank, const struct ftc_member *member,
                         const struct ftc_output *output);
void ftc_ledger_protests(struct ftc_ledger *ledger, int rank, const struct ftc_member *member,
                         const struct ftc_output *output); /* FENCED, CORRUPT, ACCUSE, MISMATCH */
/* ftc_member_receive() or, of a datagram, ftc_member_datagram(), and what they must not do: take a
 * message of operation `op` that another history than the receiver's led to (rule 0). Returns what
 * the member does. */
int ftc_ledger_receive(struct ftc_ledger *ledger, int rank, struct ftc_member *member, int from,
                       uint64_t op, bool datagram, struct ftc_buffer *message);
/* After ftc_member_notice(): it was told that `dead` failed. */
void ftc_ledger_hears(struct ftc_ledger *ledger, int rank, const struct ftc_member *member,
                      int dead);
/* After each input and its outputs; rc is what the input returned. */
void ftc_ledger_input_done(struct ftc_ledger *ledger, int rank, const struct ftc_member *member,
                           int rc);
/* It is declared failed, or about to be. `member`: to keep its counts of rules. */
void ftc_ledger_dies(struct ftc_ledger *ledger, int rank, const struct ftc_member *member);
/* Nothing more can happen: every survivor must have delivered everything; message counts. */
void ftc_ledger_ends(struct ftc_ledger *ledger);

void ftc_ledger_violate(struct ftc_ledger *ledger, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *
ftc_ledger_violation(const struct ftc_ledger *ledger); /* "" while all promises are kept */

/* --- looking --- */

/* Lowest living rank that has not delivered the whole program; -1: none. */
int ftc_ledger_unfinished(const struct ftc_ledger *ledger);
int ftc_ledger_alive(const struct ftc_ledger *ledger);
const struct ftc_set *ftc_ledger_dead(const struct ftc_ledger *ledger);
int ftc_ledger_called(const struct ftc_ledger *ledger,
                      int rank); /* number of operations it called */
bool ftc_ledger_under_way(const struct ftc_ledger *ledger, int rank);
bool ftc_ledger_delivered(const struct ftc_ledger *ledger, int op, int rank);
int ftc_ledger_status(const struct ftc_ledger *ledger, int op, int rank);
unsigned ftc_ledger_retries(const struct ftc_ledger *ledger, int op, int rank);
/* What it delivered; NULL: nothing, or no decision (plain reduce, root in G). */
const struct ftc_decision *ftc_ledger_decision(const struct ftc_ledger *ledger, int op, int rank);
/* Its result, which is the ledger's; buffer NULL: none. */
struct ftc_value ftc_ledger_result(const struct ftc_ledger *ledger, int op, int rank);
/* How often `rank`'s input is in `at`'s result of op; -1: no result, or `rank` is not mortal. */
int ftc_ledger_counts(const struct ftc_ledger *ledger, int op, int at, int rank);
uint64_t ftc_ledger_sent(const struct ftc_ledger *ledger, int op,
                         int kind); /* by all ranks, the dead too */
uint64_t ftc_ledger_bytes(const struct ftc_ledger *ledger,
                          int op); /* on the wire, heads and values */
uint64_t ftc_ledger_rule(const struct ftc_ledger *ledger,
                         enum ftc_rule rule); /* taken by the dead */

#endif
