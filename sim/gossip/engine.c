/* One gossip aggregation in virtual time. */
#include "sim/gossip/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mix.h"
#include "sim/timed/distance.h"
#include "sim/timed/queue.h"

enum { EVENT_MESSAGE, EVENT_TIMER };

struct packet {
    size_t size;
    unsigned char bytes[];
};

struct rank {
    struct ftc_gossip *gossip;
    uint64_t sent, deadline; /* of its timer */
    bool armed;              /* a timer event is pending */
    bool dead, near;         /* near: within the accuracy */
};

struct engine {
    const struct ftc_gossip_run *run;
    struct ftc_gossip_outcome *outcome;
    struct rank *rank;
    int ranks, near, live;
    double *input, *truth; /* ranks * count; count */
    double scale;          /* greatest |truth| */
    uint64_t random, now, most;
    bool flipped, killed;
    struct ftc_distance distance;
    struct ftc_queue queue;
};

static const char *const inputs_names[FTC_GOSSIP_INPUTS] = {"uniform", "normal", "exponential", "linear",
                                                            "spike"};
static const char *const cost_names[FTC_GOSSIP_COSTS] = {"constant", "random", "hops"};

const char *ftc_gossip_inputs_name(enum ftc_gossip_inputs inputs)
{
    return (unsigned)inputs < FTC_GOSSIP_INPUTS ? inputs_names[inputs] : "?";
}

const char *ftc_gossip_cost_name(enum ftc_gossip_cost cost)
{
    return (unsigned)cost < FTC_GOSSIP_COSTS ? cost_names[cost] : "?";
}

static uint64_t draw(struct engine *e)
{
    e->random += 0x9e3779b97f4a7c15u;
    return ftc_mix(e->random);
}

/* [0, 1) */
static double draw_real(struct engine *e)
{
    return (double)(draw(e) >> 11) * 0x1p-53;
}

static double draw_exponential(struct engine *e)
{
    return -log1p(-draw_real(e));
}

/* --- inputs and truth: nothing else here knows them --- */

static double draw_input(struct engine *e, int rank, int spike)
{
    switch (e->run->inputs) {
    case FTC_GOSSIP_NORMAL:
        return 1 + sqrt(2 * draw_exponential(e)) * cos(2 * acos(-1) * draw_real(e));
    case FTC_GOSSIP_EXPONENTIAL:
        return draw_exponential(e);
    case FTC_GOSSIP_LINEAR:
        return rank + 1;
    case FTC_GOSSIP_SPIKE:
        return rank == spike;
    default:
        return draw_real(e);
    }
}

static void find_truth(struct engine *e)
{
    size_t count = e->run->gossip.count;

    e->scale = 0;
    for (size_t i = 0; i < count; i++) {
        long double sum = 0;
        for (int rank = 0; rank < e->ranks; rank++)
            sum += e->rank[rank].dead ? 0 : e->input[(size_t)rank * count + i];
        e->truth[i] = (double)(sum / e->live);
        e->scale = fmax(e->scale, fabs(e->truth[i]));
    }
}

static double error_of(const struct engine *e, int rank)
{
    const double *estimate = ftc_gossip_estimate(e->rank[rank].gossip);
    double worst = 0;

    for (size_t i = 0; i < e->run->gossip.count; i++) {
        double error = fabs(estimate[i] - e->truth[i]);
        if (!(error <= worst))
            worst = isnan(error) ? INFINITY : error;
    }
    return worst / e->scale;
}

static double worst_error(const struct engine *e)
{
    double worst = 0;

    for (int rank = 0; rank < e->ranks; rank++)
        if (!e->rank[rank].dead)
            worst = fmax(worst, error_of(e, rank));
    return worst;
}

static void judge(struct engine *e, int rank)
{
    bool near = error_of(e, rank) <= e->run->gossip.accuracy;

    e->near += near - e->rank[rank].near;
    e->rank[rank].near = near;
}

static void judge_all(struct engine *e)
{
    e->near = 0;
    for (int rank = 0; rank < e->ranks; rank++) {
        e->rank[rank].near = false;
        if (!e->rank[rank].dead)
            judge(e, rank);
    }
}

static bool is_over(const struct engine *e)
{
    return e->near >= (e->run->first ? 1 : e->live) || e->most >= e->run->most;
}

/* --- drills --- */

static bool flip(struct engine *e, int rank, const struct ftc_flip *what)
{
    bool there = ftc_gossip_flip(e->rank[rank].gossip, what);
    e->outcome->flips += there;
    return there;
}

static void flip_at_random(struct engine *e, int rank)
{
    const struct ftc_gossip_run *run = e->run;
    bool ended = run->flips_end > 0 && e->most >= run->flips_end;

    if (run->flip_rate <= 0 || ended || draw_real(e) >= run->flip_rate)
        return;
    struct ftc_flip what = {.variable = draw(e) % 2 == 0 ? FTC_FLIP_FLOW : FTC_FLIP_WEIGHT,
                            .element = (int)(draw(e) % run->gossip.count),
                            .bit = (int)(draw(e) % 64)};
    flip(e, rank, &what);
}

static void flip_on_request(struct engine *e)
{
    const struct ftc_gossip_run *run = e->run;

    if (!run->flips || e->flipped || e->most < run->flip.step)
        return;
    e->flipped = true;
    flip(e, run->flip.rank >= 0 ? run->flip.rank : (int)(draw(e) % (uint64_t)e->ranks), &run->flip);
}

static void kill_on_request(struct engine *e)
{
    const struct ftc_gossip_run *run = e->run;

    if (run->kills == 0 || e->killed || e->most < run->kill_at)
        return;
    e->killed = true;
    for (int i = 0; i < run->kills && e->live > 1; i++) {
        int rank = (int)(draw(e) % (uint64_t)e->ranks);
        while (e->rank[rank].dead)
            rank = (rank + 1) % e->ranks;
        e->rank[rank].dead = true;
        e->live--;
        for (int other = 0; other < e->ranks; other++)
            ftc_gossip_notice(e->rank[other].gossip, rank);
    }
    find_truth(e);
    judge_all(e);
}

static void sample(struct engine *e)
{
    const struct ftc_gossip_run *run = e->run;
    double flow = 0;

    if (run->sample == NULL || e->outcome->samples == run->sample_room)
        return;
    for (int rank = 0; rank < e->ranks; rank++) {
        struct ftc_gossip_counters counters;
        ftc_gossip_counters(e->rank[rank].gossip, &counters);
        flow = fmax(flow, counters.largest_flow);
    }
    run->sample[e->outcome->samples++] =
        (struct ftc_gossip_sample){.most = e->most, .error = worst_error(e), .flow = flow};
}

/* --- messages --- */

static uint64_t cost_of(struct engine *e, int from, int to)
{
    if (e->run->cost == FTC_GOSSIP_RANDOM)
        return (uint64_t)(draw_exponential(e) * FTC_GOSSIP_TICKS);
    if (e->run->cost == FTC_GOSSIP_HOPS && e->distance.node != NULL)
        return (uint64_t)ftc_distance_hops(&e->distance, from, to) * FTC_GOSSIP_TICKS;
    return FTC_GOSSIP_TICKS;
}

static void note_sent(struct engine *e, int rank)
{
    if (++e->rank[rank].sent <= e->most)
        return;
    e->most = e->rank[rank].sent;
    sample(e);
}

static int post(struct engine *e, int from, const struct ftc_gossip_output *output)
{
    note_sent(e, from);
    if (e->run->loss > 0 && draw_real(e) < e->run->loss)
        return 0;
    struct packet *packet = malloc(sizeof(*packet) + output->size);
    if (packet == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a message");
    packet->size = output->size;
    memcpy(packet->bytes, output->bytes, output->size);
    return ftc_queue_push(&e->queue, &(struct ftc_event){.key = e->now + cost_of(e, from, output->to),
                                                         .rank = (uint32_t)output->to,
                                                         .other = (uint32_t)from,
                                                         .kind = EVENT_MESSAGE,
                                                         .item = packet});
}

/* One event is pending for each timer; it finds out that the deadline has moved. */
static int arm(struct engine *e, int at, uint64_t delay)
{
    struct rank *rank = &e->rank[at];

    rank->deadline = e->now + delay;
    if (rank->armed)
        return 0;
    rank->armed = true;
    return ftc_queue_push(
        &e->queue, &(struct ftc_event){.key = rank->deadline, .rank = (uint32_t)at, .kind = EVENT_TIMER});
}

static int take_outputs(struct engine *e, int rank)
{
    struct ftc_gossip_output output;
    int rc = 0;

    while (rc == 0 && ftc_gossip_next_output(e->rank[rank].gossip, &output))
        rc = output.kind == FTC_GOSSIP_SEND ? post(e, rank, &output) : arm(e, rank, output.delay_ns);
    judge(e, rank);
    return rc;
}

/* --- asynchronous --- */

static int handle(struct engine *e, const struct ftc_event *event)
{
    struct rank *rank = &e->rank[event->rank];
    int at = (int)event->rank;

    e->now = event->key;
    if (event->kind == EVENT_MESSAGE) {
        struct packet *packet = event->item;
        if (!rank->dead) {
            flip_at_random(e, at);
            ftc_gossip_receive(rank->gossip, (int)event->other, packet->bytes, packet->size);
        }
        free(packet);
        return rank->dead ? 0 : take_outputs(e, at);
    }
    rank->armed = false;
    if (rank->dead)
        return 0;
    if (e->now < rank->deadline)
        return arm(e, at, rank->deadline - e->now);
    ftc_gossip_timer(rank->gossip);
    return take_outputs(e, at);
}

static int run_events(struct engine *e)
{
    struct ftc_event event;
    int rc = 0;

    for (int rank = 0; rc == 0 && rank < e->ranks; rank++) {
        ftc_gossip_start(e->rank[rank].gossip);
        rc = take_outputs(e, rank);
    }
    while (rc == 0 && !is_over(e) && ftc_queue_pop(&e->queue, &event)) {
        rc = handle(e, &event);
        flip_on_request(e);
        kill_on_request(e);
    }
    return rc;
}

/* --- synchronous: algorithm 7, one rank after the other, messages arrive at once --- */

static void send_round(struct engine *e, int rank)
{
    struct ftc_gossip_output output;

    flip_at_random(e, rank);
    ftc_gossip_timer(e->rank[rank].gossip);
    while (ftc_gossip_next_output(e->rank[rank].gossip, &output)) {
        note_sent(e, rank);
        if (output.kind == FTC_GOSSIP_SEND && !e->rank[output.to].dead &&
            !(e->run->loss > 0 && draw_real(e) < e->run->loss))
            ftc_gossip_receive(e->rank[output.to].gossip, rank, output.bytes, output.size);
    }
    judge(e, rank);
}

static int run_rounds(struct engine *e)
{
    while (!is_over(e)) {
        for (int rank = 0; rank < e->ranks; rank++)
            if (!e->rank[rank].dead)
                send_round(e, rank);
        e->now += FTC_GOSSIP_TICKS;
        flip_on_request(e);
        kill_on_request(e);
    }
    return 0;
}

/* --- life --- */

static int make_rank(struct engine *e, int rank, int spike)
{
    struct ftc_gossip_settings settings = e->run->gossip;
    double *input = e->input + (size_t)rank * settings.count;

    settings.self = rank;
    settings.seed = e->run->seed;
    settings.rounds = e->run->sync;
    if (e->run->sync)
        settings.patience_ns = 0;
    for (size_t i = 0; i < settings.count; i++)
        input[i] = draw_input(e, rank, spike);
    return ftc_gossip_create(&e->rank[rank].gossip, &settings, input);
}

static int begin(struct engine *e)
{
    size_t count = e->run->gossip.count;
    bool far =
        e->run->cost == FTC_GOSSIP_HOPS && e->run->gossip.neighbourhood.kind != FTC_NEIGHBOURHOOD_TORUS;
    struct ftc_distance_settings torus = {.kind = FTC_DISTANCE_TORUS};
    int rc = far ? ftc_distance_init(&e->distance, &torus, e->ranks, e->run->seed) : 0;

    e->rank = calloc((size_t)e->ranks, sizeof(*e->rank));
    e->input = calloc((size_t)(e->ranks + 1) * count, sizeof(double));
    if (rc == 0 && (e->rank == NULL || e->input == NULL))
        rc = ftc_error_set(FTC_ERR_NOMEM, "no memory for %d ranks", e->ranks);
    if (rc != 0)
        return rc;
    e->truth = e->input + (size_t)e->ranks * count;
    int spike = (int)(draw(e) % (uint64_t)e->ranks);
    for (int rank = 0; rc == 0 && rank < e->ranks; rank++)
        rc = make_rank(e, rank, spike);
    if (rc == 0)
        find_truth(e);
    return rc;
}

static void sum_up(struct engine *e)
{
    struct ftc_gossip_outcome *outcome = e->outcome;

    outcome->converged = e->near >= (e->run->first ? 1 : e->live);
    outcome->most = e->most;
    outcome->error = worst_error(e);
    outcome->time = (double)e->now / FTC_GOSSIP_TICKS;
    for (int rank = 0; rank < e->ranks; rank++) {
        struct ftc_gossip_counters counters;
        ftc_gossip_counters(e->rank[rank].gossip, &counters);
        outcome->mean += (double)e->rank[rank].sent / e->ranks;
        outcome->corrupt += counters.corrupt;
        outcome->resets += counters.resets;
        outcome->repairs += counters.repairs;
        outcome->flow = fmax(outcome->flow, counters.largest_flow);
    }
}

static void end(struct engine *e)
{
    struct ftc_event event;

    while (ftc_queue_pop(&e->queue, &event))
        free(event.item);
    ftc_queue_fini(&e->queue);
    for (int rank = 0; e->rank != NULL && rank < e->ranks; rank++)
        ftc_gossip_destroy(e->rank[rank].gossip);
    free(e->rank);
    free(e->input);
    ftc_distance_fini(&e->distance);
}

int ftc_gossip_run(const struct ftc_gossip_run *run, struct ftc_gossip_outcome *outcome)
{
    int ranks = run->gossip.neighbourhood.ranks;
    struct engine e = {.run = run, .outcome = outcome, .ranks = ranks, .live = ranks};

    *outcome = (struct ftc_gossip_outcome){0};
    e.random = ftc_mix(run->seed + 1);
    ftc_queue_init(&e.queue);
    int rc = begin(&e);
    if (rc == 0)
        rc = run->sync ? run_rounds(&e) : run_events(&e);
    if (rc == 0)
        sum_up(&e);
    end(&e);
    return rc;
}
