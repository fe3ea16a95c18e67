/* The inputs of a simulated aggregation, and their true average. */
#include "sim/gossip/inputs.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mix.h"

const char *ftc_gossip_inputs_name(enum ftc_gossip_inputs inputs)
{
    static const char *const names[FTC_GOSSIP_INPUTS] = {"uniform", "normal", "exponential",
                                                         "linear", "spike"};
    return (unsigned)inputs < FTC_GOSSIP_INPUTS ? names[inputs] : "?";
}

uint64_t ftc_gossip_random(uint64_t *random)
{
    *random += 0x9e3779b97f4a7c15u;
    return ftc_mix(*random);
}

double ftc_gossip_random_real(uint64_t *random)
{
    return (double)(ftc_gossip_random(random) >> 11) * 0x1p-53;
}

double ftc_gossip_random_exponential(uint64_t *random)
{
    return -log1p(-ftc_gossip_random_real(random));
}

static double draw(enum ftc_gossip_inputs kind, int rank, int spike, uint64_t *random)
{
    switch (kind) {
    case FTC_GOSSIP_NORMAL:
        return 1 + sqrt(2 * ftc_gossip_random_exponential(random)) *
                       cos(2 * acos(-1) * ftc_gossip_random_real(random));
    case FTC_GOSSIP_EXPONENTIAL:
        return ftc_gossip_random_exponential(random);
    case FTC_GOSSIP_LINEAR:
        return rank + 1;
    case FTC_GOSSIP_SPIKE:
        return rank == spike;
    default:
        return ftc_gossip_random_real(random);
    }
}

static void find_truth(struct ftc_inputs *inputs)
{
    inputs->scale = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        long double sum = 0;
        for (int rank = 0; rank < inputs->ranks; rank++)
            sum += inputs->left_out[rank] ? 0 : inputs->value[(size_t)rank * inputs->count + i];
        inputs->truth[i] = (double)(sum / inputs->live);
        inputs->scale = fmax(inputs->scale, fabs(inputs->truth[i]));
    }
}

int ftc_inputs_init(struct ftc_inputs *inputs, enum ftc_gossip_inputs kind, int ranks, size_t count,
                    uint64_t *random)
{
    size_t values = (size_t)ranks * count;
    int spike = (int)(ftc_gossip_random(random) % (uint64_t)ranks);

    *inputs = (struct ftc_inputs){.ranks = ranks, .live = ranks, .count = count};
    inputs->value = calloc(values + count, sizeof(double));
    inputs->left_out = calloc((size_t)ranks, sizeof(bool));
    if (inputs->value == NULL || inputs->left_out == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for the inputs of %d ranks", ranks);
    inputs->truth = inputs->value + values;
    for (size_t i = 0; i < values; i++)
        inputs->value[i] = draw(kind, (int)(i / count), spike, random);
    find_truth(inputs);
    return 0;
}

void ftc_inputs_fini(struct ftc_inputs *inputs)
{
    free(inputs->value);
    free(inputs->left_out);
}

const double *ftc_inputs_of(const struct ftc_inputs *inputs, int rank)
{
    return inputs->value + (size_t)rank * inputs->count;
}

void ftc_inputs_leave_out(struct ftc_inputs *inputs, int rank)
{
    inputs->live -= !inputs->left_out[rank];
    inputs->left_out[rank] = true;
    find_truth(inputs);
}

double ftc_inputs_error(const struct ftc_inputs *inputs, const double *estimate)
{
    double worst = 0;

    for (size_t i = 0; i < inputs->count; i++) {
        double error = fabs(estimate[i] - inputs->truth[i]);
        if (!(error <= worst))
            worst = isnan(error) ? INFINITY : error;
    }
    return worst / inputs->scale;
}
