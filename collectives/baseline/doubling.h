/*
 * Deterministic allreduces without any tolerance, with which gossip aggregation is compared. They
 * sum up vectors of doubles. N is the number of ranks and l the number of values; a message costs
 * alpha, sending a value beta, and adding a value gamma (Wimmer 2016, section 5.1.3; Thakur, Gropp
 * 2003):
 *
 * - doubling: recursive doubling (Wimmer 2016, algorithm 1). In step k a rank exchanges its whole
 *   vector with the rank whose number differs in bit k. Time:
 *     log2 N (alpha + l beta + l gamma)
 * - rabenseifner: by recursive halving each rank gets a part of the sum, and by recursive doubling
 *   all ranks get all parts. Time:
 *     2 log2 N alpha + 2 (N-1)/N l beta + (N-1)/N l gamma
 * - voted: doubling three times, each time from a copy of its own of the input. For each value a
 *   rank takes the result that two of the three runs agree on, bit by bit. Section 5.1 of the
 *   thesis measures gossip by this redundancy. It costs three times as much.
 *
 * The times are those for N a power of two. Otherwise let p be the largest power of two below N.
 * Each rank from p on gives its vector to the rank p below it first, and gets the sum from it in
 * the end. All ranks get the same bits if nothing is corrupted.
 *
 * An object is one operation. Inputs: start, a message, a failure notice. Outputs: messages, which
 * must arrive whole, once and, between two ranks, in order. After each input take the outputs until
 * there is none. It does no I/O. The bytes of messages are untrusted. Not thread-safe.
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
/* "doubling", ... */
const char *ftc_doubling_algorithm_name(enum ftc_doubling_algorithm algorithm);

struct ftc_doubling_settings {
    int self, ranks;
    enum ftc_doubling_algorithm algorithm;
    size_t count; /* number of values, at least 1 */
};

enum ftc_doubling_state {
    FTC_DOUBLING_UNDER_WAY,
    FTC_DOUBLING_DONE,
    /* A rank has failed, so the operation cannot be finished. Other ranks may have finished it
     * before. */
    FTC_DOUBLING_RANK_FAILED,
    /* Voted: the three results of a value differ. Other ranks may have a majority. */
    FTC_DOUBLING_NO_MAJORITY,
};

struct ftc_doubling_output {
    int to;
    const void *bytes; /* valid until the next call */
    size_t size;
};

struct ftc_doubling;

/* `values`: count doubles, which are copied. Errors: FTC_ERR_ARG, with cause and remedy, and
 * FTC_ERR_NOMEM. */
int ftc_doubling_create(struct ftc_doubling **out, const struct ftc_doubling_settings *settings,
                        const double *values);
void ftc_doubling_destroy(struct ftc_doubling *doubling); /* NULL is legal */

void ftc_doubling_start(struct ftc_doubling *doubling); /* once; messages may come before */
/* FTC_ERR_PROTO: this rank waits for no such message of this sender; it was ignored. FTC_ERR_NOMEM:
 * the message came before its turn and cannot be kept, so the operation never ends. */
int ftc_doubling_receive(struct ftc_doubling *doubling, int from, const void *bytes, size_t size);
void ftc_doubling_notice(struct ftc_doubling *doubling, int rank); /* `rank` has failed */
bool ftc_doubling_next_output(struct ftc_doubling *doubling, struct ftc_doubling_output *output);

enum ftc_doubling_state ftc_doubling_state(const struct ftc_doubling *doubling);
/* The sum: count doubles, valid until destroy(). NULL: the operation is not done. */
const double *ftc_doubling_result(const struct ftc_doubling *doubling);

struct ftc_doubling_counters {
    uint64_t messages; /* sent */
    uint64_t bytes;    /* of values in the messages; each message has FTC_DOUBLING_HEAD more */
    uint64_t added;    /* additions of a value to another one */
    uint64_t differed; /* voted: values whose three results are not all the same */
};
#define FTC_DOUBLING_HEAD 16
void ftc_doubling_counters(const struct ftc_doubling *doubling,
                           struct ftc_doubling_counters *counters);

/* Turns a bit over when this rank has sent flip->step messages. To be called before start().
 * Possible are: the input (voted: the copy for the next run that has not begun; nothing once all
 * have begun), the running sum, and the message that is sent next. It does not look at the rank of
 * `flip`. False: there is no such variable or element. */
bool ftc_doubling_flip(struct ftc_doubling *doubling, const struct ftc_flip *flip);

#endif
