/*
 * Deterministic allreduce without tolerance of anything: what gossip aggregation is judged against.
 * Sums of vectors of doubles. With N ranks, l values, alpha for a message, beta for sending and
 * gamma for adding a value (Wimmer 2016, section 5.1.3; Thakur, Gropp 2003):
 *
 *   doubling      recursive doubling: vectors are exchanged whole with the rank that differs in
 *                 bit k.                                                          Wimmer 2016, algorithm 1
 *                 log2 N (alpha + l beta + l gamma)
 *   rabenseifner  a part of the sum for each rank by recursive halving, then all parts for all by
 *   recursive doubling.
 *                 2 log2 N alpha + 2 (N-1)/N l beta + (N-1)/N l gamma
 *   voted         doubling three times, each from a copy of its own of the input; of three results of a value that which two
 *                 agree on, bit by bit: the redundancy that section 5.1 of the thesis measures
 *                 gossip by. Three times the cost.
 *
 * That is for powers of two. Otherwise each of the N - p ranks from the largest power of two, p, on
 * gives its vector to the rank p below before, and gets the sum from it afterwards. The same bits
 * at every rank if nothing is corrupted.
 *
 * An object is one operation. Inputs: start, a message, a failure notice. Outputs: messages, which
 * must arrive whole, once and, between two ranks, in order. After each input take the outputs until
 * there is none. It does no I/O. Bytes of messages are untrusted. Not thread-safe.
 */
#ifndef FTC_COLLECTIVES_BASELINE_DOUBLING_H
#define FTC_COLLECTIVES_BASELINE_DOUBLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectives/values/flip.h"

enum ftc_doubling_algorithm {
    FTC_DOUBLING_PLAIN,
    FTC_DOUBLING_RABENSEIFNER,
    FTC_DOUBLING_VOTED,
    FTC_DOUBLING_ALGORITHMS
};
const char *
ftc_doubling_algorithm_name(enum ftc_doubling_algorithm algorithm); /* "doubling", ... */

struct ftc_doubling_settings {
    int self, ranks;
    enum ftc_doubling_algorithm algorithm;
    size_t count; /* of values; at least 1 */
};

enum ftc_doubling_state {
    FTC_DOUBLING_UNDER_WAY,
    FTC_DOUBLING_DONE,
    FTC_DOUBLING_RANK_FAILED, /* one has, so it cannot be finished; others may have been done before */
    FTC_DOUBLING_NO_MAJORITY, /* voted: three different results of a value; others may have a majority */
};

struct ftc_doubling_output {
    int to;
    const void *bytes; /* valid until the next call */
    size_t size;
};

struct ftc_doubling;

/* `values`: count doubles, copied. FTC_ERR_ARG, with cause and remedy, FTC_ERR_NOMEM. */
int ftc_doubling_create(struct ftc_doubling **out, const struct ftc_doubling_settings *settings,
                        const double *values);
void ftc_doubling_destroy(struct ftc_doubling *doubling); /* NULL is legal */

void ftc_doubling_start(struct ftc_doubling *doubling); /* once; messages may come before */
/* FTC_ERR_PROTO: no message of this operation that is still to come from this rank; it was ignored.
 * FTC_ERR_NOMEM: it came before its turn and cannot be kept, so the operation never ends. */
int ftc_doubling_receive(struct ftc_doubling *doubling, int from, const void *bytes, size_t size);
void ftc_doubling_notice(struct ftc_doubling *doubling, int rank); /* rank has failed */
bool ftc_doubling_next_output(struct ftc_doubling *doubling, struct ftc_doubling_output *output);

enum ftc_doubling_state ftc_doubling_state(const struct ftc_doubling *doubling);
/* The sum: count doubles, valid until destroy(). NULL if not done. */
const double *ftc_doubling_result(const struct ftc_doubling *doubling);

struct ftc_doubling_counters {
    uint64_t messages; /* sent */
    uint64_t bytes;    /* of values in them; each has FTC_DOUBLING_HEAD more */
    uint64_t added;    /* values, one to another */
    uint64_t differed; /* voted: values of which not all three results are the same */
};
#define FTC_DOUBLING_HEAD 16
void ftc_doubling_counters(const struct ftc_doubling *doubling,
                           struct ftc_doubling_counters *counters);

/* Have a bit turn over when flip->step messages were sent, now at the earliest: of the input
 * (voted: of the copy for the first run that has not begun; none, once all have), of the running
 * sum, or of the message that is sent next. To be called before start; the rank of `flip` is not
 * looked at. False: there is no such variable or element. */
bool ftc_doubling_flip(struct ftc_doubling *doubling, const struct ftc_flip *flip);

#endif
