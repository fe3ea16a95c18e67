/*
 * Flips: silent corruption on request. A bit of a variable of a rank turns over at some moment. The
 * drills of jobs ([drill] flip) and of ftcoll-sim (--flip) name a flip in a line of text:
 *
 *   RANK:VARIABLE[.ELEMENT]:BIT@[OPERATION/]STEP
 *   random:SEED
 *
 * For example, 3:flow:55@150 is a flip at rank 3, when it has sent 150 messages.
 * 2:partial.7:62@41/0 is a flip in operation 41. random:SEED draws a flip for each operation of
 * gossip; it is made for sweeps.
 *
 * Operations, steps and the ELEMENTs of a vector count from 0. Without ELEMENT it is element 0. BIT
 * 0 is the lowest of the 64 bits. In gossip aggregation STEP is the number of messages that the
 * rank has sent. In other operations STEP is 0, but for `message` and `head`: there it is the
 * number of the message among those that the rank sends in the operation. The elements of `head`
 * are words of the message before its value. In a list of blocks (values/blocks.h) the elements are
 * counted from the first block.
 *
 * The functions are pure, and any thread may call them.
 */
#ifndef FTC_COLLECTIVES_VALUES_FLIP_H
#define FTC_COLLECTIVES_VALUES_FLIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ftc_flip_variable {
    FTC_FLIP_INPUT, /* the caller's value, as the operation holds it */
    /* Gossip: the flow of a link that is drawn (push-sum: the value that the rank keeps). */
    FTC_FLIP_FLOW,
    /* Gossip: the weight in that flow (push-sum: the weight that the rank keeps). */
    FTC_FLIP_WEIGHT,
    FTC_FLIP_CHECKSUM, /* gossip: the checksum in that flow */
    FTC_FLIP_ESTIMATE, /* gossip: the sum from which the next message is made */
    FTC_FLIP_MESSAGE,  /* the value of a message, when it leaves */
    FTC_FLIP_UP,       /* reduce: the value after up-correction */
    FTC_FLIP_PARTIAL,  /* reduce: the value after combining with those of the children */
    FTC_FLIP_DECISION, /* the result that the coordinator spreads */
    FTC_FLIP_HEAD,     /* the part of a message before its value, when it leaves */
    FTC_FLIP_VARIABLES
};
const char *ftc_flip_variable_name(enum ftc_flip_variable variable); /* "input", ... */

struct ftc_flip {
    int rank;
    enum ftc_flip_variable variable;
    int element, bit;
    uint64_t op, step;
};

/* The flips that a setting or a command line names, in that order. */
#define FTC_FLIPS 16
struct ftc_flips {
    int count;
    struct ftc_flip flip[FTC_FLIPS];
    bool drawn; /* there is another one for each operation of gossip, drawn from `seed` */
    uint64_t seed;
};

/* Are there any flips? */
static inline bool ftc_flips_any(const struct ftc_flips *flips)
{
    return flips->count > 0 || flips->drawn;
}

/* If flips are drawn: the flip of this operation, in a job of so many ranks. */
struct ftc_flip ftc_flips_draw(const struct ftc_flips *flips, uint64_t op, int ranks);

/* Reads a flip. Error: FTC_ERR_ARG, with cause and remedy. */
int ftc_flip_parse(const char *text, struct ftc_flip *flip);
/* Reads a list of flips with commas between them. One of them may be "random:SEED". "" is an empty
 * list. Error: as above. */
int ftc_flips_parse(const char *text, struct ftc_flips *flips);
/* Writes the text that ftc_flips_parse() reads. The text is cut if it does not fit. Returns
 * `text`. */
char *ftc_flips_format(const struct ftc_flips *flips, char *text, size_t size);

/* Turns the bit over in a double. */
void ftc_flip_double(const struct ftc_flip *flip, double *value);
/* Turns the bit over in the 64-bit word number flip->element of `size` bytes. The last word may be
 * shorter. False: there is no such bit, and nothing has changed. */
bool ftc_flip_bytes(const struct ftc_flip *flip, void *bytes, size_t size);

#endif
