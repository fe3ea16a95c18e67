/*
 * The inputs of the ranks of a simulated aggregation, and their true average, which only the
 * harness knows.
 */
#ifndef FTC_SIM_GOSSIP_INPUTS_H
#define FTC_SIM_GOSSIP_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ftc_gossip_inputs {
    FTC_GOSSIP_UNIFORM,     /* [0, 1) */
    FTC_GOSSIP_NORMAL,      /* mean 1, deviation 1 */
    FTC_GOSSIP_EXPONENTIAL, /* mean 1 */
    FTC_GOSSIP_LINEAR,      /* the rank number plus 1 */
    FTC_GOSSIP_SPIKE,       /* 1 at one random rank, 0 at all others */
    FTC_GOSSIP_INPUTS
};
const char *ftc_gossip_inputs_name(enum ftc_gossip_inputs inputs);

/* The next number of the sequence whose state is *random. */
uint64_t ftc_gossip_random(uint64_t *random);
double ftc_gossip_random_real(uint64_t *random);        /* [0, 1) */
double ftc_gossip_random_exponential(uint64_t *random); /* mean 1 */

struct ftc_inputs {
    int ranks, live;
    size_t count;
    double *value; /* ranks * count */
    double *truth; /* count entries: averages of the ranks that are not left out */
    double scale;  /* greatest |truth| */
    bool *left_out;
};

/* FTC_ERR_NOMEM. fini() of a zeroed struct is legal. */
int ftc_inputs_init(struct ftc_inputs *inputs, enum ftc_gossip_inputs kind, int ranks, size_t count,
                    uint64_t *random);
void ftc_inputs_fini(struct ftc_inputs *inputs);
const double *ftc_inputs_of(const struct ftc_inputs *inputs, int rank);
/* Take a rank out of the true average. At least one rank must stay. */
void ftc_inputs_leave_out(struct ftc_inputs *inputs, int rank);
/* Greatest distance of an element from the truth, relative to the greatest |truth|. Infinity for
 * NaN. */
double ftc_inputs_error(const struct ftc_inputs *inputs, const double *estimate);

#endif
