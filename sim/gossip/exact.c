/* The deterministic algorithms with which gossip is compared, over the same messages. */
#include "sim/gossip/exact.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mix.h"

#define LINKS 32 /* two ranks that send to each other differ in one bit */

struct exact {
    const struct ftc_gossip_run *run;
    int ranks;
    struct ftc_doubling **rank;
    /* by rank and bit: for the rank's channel to the rank that differs in this bit; channels are
     * FIFO */
    uint64_t (*earliest)[LINKS];
    struct ftc_inputs inputs;
    struct ftc_medium medium;
    uint64_t random;
};

int ftc_exact_check(const struct ftc_gossip_run *run)
{
    const char *name = ftc_doubling_algorithm_name(run->doubling);

    if (run->kills > 0)
        return ftc_error_set(FTC_ERR_ARG, "%s survives no death; leave out --kill", name);
    if (run->flip_rate > 0)
        return ftc_error_set(FTC_ERR_ARG, "%s has no flows for --flip-rate; give --flip", name);
    return 0;
}

/* The variable that a flip hits. Whatever it is in gossip, here it is the running sum. */
static enum ftc_flip_variable variable_of(const struct ftc_flip *flip)
{
    bool running = flip->variable == FTC_FLIP_FLOW || flip->variable == FTC_FLIP_ESTIMATE;
    return running ? FTC_FLIP_PARTIAL : flip->variable;
}

/* The algorithm ends after a few messages. A flip at a later step happens at one of these, drawn at
 * random. */
static void flip_on_request(struct exact *e, struct ftc_gossip_outcome *outcome)
{
    struct ftc_flip flip = e->run->flip;
    uint64_t steps = e->run->doubling == FTC_DOUBLING_PLAIN ? 0 : 1;

    if (!e->run->flips)
        return;
    for (int reached = 1; reached < e->ranks; reached *= 2)
        steps += e->run->doubling == FTC_DOUBLING_PLAIN ? 1 : 2;
    flip.variable = variable_of(&flip);
    if (flip.step >= steps && steps > 0)
        flip.step = ftc_gossip_random(&e->random) % steps;
    if (flip.rank < 0)
        flip.rank = (int)(ftc_gossip_random(&e->random) % (uint64_t)e->ranks);
    outcome->flips = ftc_doubling_flip(e->rank[flip.rank], &flip);
}

static int begin(struct exact *e)
{
    struct ftc_doubling_settings settings = {
        .ranks = e->ranks, .algorithm = e->run->doubling, .count = e->run->gossip.count};
    int rc =
        ftc_inputs_init(&e->inputs, e->run->inputs, e->ranks, e->run->gossip.count, &e->random);

    if (rc == 0)
        rc = ftc_medium_init(&e->medium, &e->run->cost, false, e->ranks, e->run->seed);
    e->rank = calloc((size_t)e->ranks, sizeof(*e->rank));
    e->earliest = calloc((size_t)e->ranks, sizeof(*e->earliest));
    if (rc == 0 && (e->rank == NULL || e->earliest == NULL))
        rc = ftc_error_set(FTC_ERR_NOMEM, "no memory for %d ranks", e->ranks);
    for (int rank = 0; rc == 0 && rank < e->ranks; rank++) {
        settings.self = rank;
        rc = ftc_doubling_create(&e->rank[rank], &settings, ftc_inputs_of(&e->inputs, rank));
    }
    return rc;
}

static int take_outputs(struct exact *e, int rank)
{
    struct ftc_doubling_output output;
    int rc = 0;

    while (rc == 0 && ftc_doubling_next_output(e->rank[rank], &output)) {
        int link = __builtin_ctz((unsigned)(rank ^ output.to));
        rc = ftc_medium_send(&e->medium, 0, rank, output.to, output.bytes, output.size,
                             &e->earliest[rank][link]);
    }
    return rc;
}

static int work(struct exact *e)
{
    struct ftc_event event;
    int rc = 0;

    for (int rank = 0; rc == 0 && rank < e->ranks; rank++) {
        ftc_doubling_start(e->rank[rank]);
        rc = take_outputs(e, rank);
    }
    while (rc == 0 && ftc_medium_next(&e->medium, &event)) {
        struct ftc_packet *packet = event.item;
        rc = ftc_doubling_receive(e->rank[event.rank], (int)event.other, packet->bytes,
                                  packet->size);
        free(packet);
        if (rc == 0)
            rc = take_outputs(e, (int)event.rank);
    }
    return rc;
}

/* The error of a sum is that of its average. */
static double error_of(const struct exact *e, int rank, double *average)
{
    const double *sum = ftc_doubling_result(e->rank[rank]);

    if (sum == NULL)
        return INFINITY;
    for (size_t i = 0; i < e->inputs.count; i++)
        average[i] = sum[i] / e->ranks;
    return ftc_inputs_error(&e->inputs, average);
}

static int sum_up(struct exact *e, struct ftc_gossip_outcome *outcome)
{
    double *average = calloc(e->inputs.count, sizeof(double));

    if (average == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a result");
    for (int rank = 0; rank < e->ranks; rank++) {
        struct ftc_doubling_counters counters;
        ftc_doubling_counters(e->rank[rank], &counters);
        outcome->most = counters.messages > outcome->most ? counters.messages : outcome->most;
        outcome->mean += (double)counters.messages / e->ranks;
        outcome->corrupt += counters.differed;
        outcome->error = fmax(outcome->error, error_of(e, rank, average));
    }
    outcome->converged = outcome->error <= e->run->gossip.accuracy;
    outcome->time = (double)e->medium.elapsed / FTC_GOSSIP_TICKS;
    free(average);
    return 0;
}

static void end(struct exact *e)
{
    for (int rank = 0; e->rank != NULL && rank < e->ranks; rank++)
        ftc_doubling_destroy(e->rank[rank]);
    free(e->rank);
    free(e->earliest);
    ftc_medium_fini(&e->medium);
    ftc_inputs_fini(&e->inputs);
}

int ftc_exact_run(const struct ftc_gossip_run *run, struct ftc_gossip_outcome *outcome)
{
    struct exact e = {.run = run, .ranks = run->gossip.neighbourhood.ranks};
    int rc = ftc_exact_check(run);

    e.random = ftc_mix(run->seed + 1);
    e.medium.random = &e.random;
    e.medium.loss = run->loss;
    e.medium.rounds = run->sync;
    if (rc == 0)
        rc = begin(&e);
    if (rc == 0) {
        flip_on_request(&e, outcome);
        rc = work(&e);
    }
    if (rc == 0)
        rc = sum_up(&e, outcome);
    end(&e);
    return rc;
}
