/*
 * Silent corruption on request: one bit of one variable of one rank turns over at one moment. What
 * the drills of jobs ([drill] flip) and of ftcoll-sim (--flip) name in a line, and what carries one
 * out. Pure; any thread.
 *
 *   RANK:VARIABLE[.ELEMENT]:BIT@[OPERATION/]STEP        3:flow:55@150      rank 3, when it has sent 150 messages
 *                                                       2:partial.7:62@41/0   in operation 41
 *   random:SEED                                         one drawn for each operation of gossip: for sweeps
 *
 * Operation and step count from 0, ELEMENT (0) is that of the vector, BIT 0 the lowest one of its
 * 64. In gossip aggregation a step is a message sent by the rank. Elsewhere the step is 0, but for
 * `message`: which of those that the rank sends in the operation. So it is for `head`, whose
 * elements are words of the message before its value.
 */
#ifndef FTC_COLLECTIVES_VALUES_FLIP_H
#define FTC_COLLECTIVES_VALUES_FLIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ftc_flip_variable {
    FTC_FLIP_INPUT, /* the caller's value as the operation holds it */
    FTC_FLIP_FLOW, /* gossip: that of a link drawn at random (push-sum: the value of the rank's pair) */
    FTC_FLIP_WEIGHT,   /* gossip: the weight in it (push-sum: of the rank's pair) */
    FTC_FLIP_CHECKSUM, /* gossip: the checksum in it */
    FTC_FLIP_ESTIMATE, /* gossip: the sum that the next message is made of */
    FTC_FLIP_MESSAGE,  /* as it leaves */
    FTC_FLIP_UP,       /* reduce: the value after up-correction */
    FTC_FLIP_PARTIAL,  /* reduce: the value combined with the children's */
    FTC_FLIP_DECISION, /* the result that the coordinator spreads */
    FTC_FLIP_HEAD,     /* of a message, as it leaves */
    FTC_FLIP_VARIABLES
};
const char *ftc_flip_variable_name(enum ftc_flip_variable variable); /* "input", ... */

struct ftc_flip {
    int rank;
    enum ftc_flip_variable variable;
    int element, bit;
    uint64_t op, step;
};

/* What a setting or a command line names, in that order. */
#define FTC_FLIPS 16
struct ftc_flips {
    int count;
    struct ftc_flip flip[FTC_FLIPS];
    bool drawn; /* one more for each operation of gossip, drawn from */
    uint64_t seed;
};

/* Are there any flips? */
static inline bool ftc_flips_any(const struct ftc_flips *flips)
{
    return flips->count > 0 || flips->drawn;
}

/* If they are drawn: the one of this operation, of a job of so many ranks. */
struct ftc_flip ftc_flips_draw(const struct ftc_flips *flips, uint64_t op, int ranks);

/* FTC_ERR_ARG, with cause and remedy, if that is no flip. */
int ftc_flip_parse(const char *text, struct ftc_flip *flip);
/* The same of a list with commas between, of which one may be "random:SEED"; "" is an empty one. */
int ftc_flips_parse(const char *text, struct ftc_flips *flips);
/* As text that ftc_flips_parse() reads, cut if it does not fit. Returns text. */
char *ftc_flips_format(const struct ftc_flips *flips, char *text, size_t size);

/* Turn the bit over: in a double, or in the 64-bit word `element` of size bytes (a shorter last
 * word: if it has the bit). False, and nothing happens, if there is no such bit. */
void ftc_flip_double(const struct ftc_flip *flip, double *value);
bool ftc_flip_bytes(const struct ftc_flip *flip, void *bytes, size_t size);

#endif
