/* One gossip aggregation in virtual time. */
#include "sim/gossip/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mix.h"
#include "collectives/gossip/wire.h"
#include "sim/gossip/exact.h"

enum { EVENT_MESSAGE, EVENT_TIMER };

struct rank {
    struct ftc_gossip *gossip;
    uint64_t sent, deadline; /* deadline: of its timer */
    bool armed;              /* a timer event is pending */
    bool dead, near;         /* near: within the accuracy */
};

struct engine {
    const struct ftc_gossip_run *run;
    struct ftc_gossip_outcome *outcome;
    struct rank *rank;
    int ranks, near, live;
    struct ftc_inputs inputs;
    struct ftc_medium medium;
    uint64_t random, most;
    bool flipped, killed;
    int head_of; /* the rank whose next message gets a damaged head; -1: none */
};

/* --- what the harness sees --- */

static double error_of(const struct engine *e, int rank)
{
    return ftc_inputs_error(&e->inputs, ftc_gossip_estimate(e->rank[rank].gossip));
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
    if (what->variable == FTC_FLIP_HEAD) { /* the head is damaged when it leaves */
        e->head_of = rank;
        return true;
    }
    bool there = ftc_gossip_flip(e->rank[rank].gossip, what);
    e->outcome->flips += there;
    return there;
}

static void flip_at_random(struct engine *e, int rank)
{
    const struct ftc_gossip_run *run = e->run;
    bool ended = run->flips_end > 0 && e->most >= run->flips_end;

    if (run->flip_rate <= 0 || ended || ftc_gossip_random_real(&e->random) >= run->flip_rate)
        return;
    struct ftc_flip what = {.variable = ftc_gossip_random(&e->random) % 2 == 0 ? FTC_FLIP_FLOW
                                                                               : FTC_FLIP_WEIGHT,
                            .element = (int)(ftc_gossip_random(&e->random) % run->gossip.count),
                            .bit = (int)(ftc_gossip_random(&e->random) % 64)};
    flip(e, rank, &what);
}

static void flip_on_request(struct engine *e)
{
    const struct ftc_gossip_run *run = e->run;

    if (!run->flips || e->flipped || e->most < run->flip.step)
        return;
    e->flipped = true;
    flip(e,
         run->flip.rank >= 0 ? run->flip.rank
                             : (int)(ftc_gossip_random(&e->random) % (uint64_t)e->ranks),
         &run->flip);
}

static void kill_on_request(struct engine *e)
{
    const struct ftc_gossip_run *run = e->run;

    if (run->kills == 0 || e->killed || e->most < run->kill_at)
        return;
    e->killed = true;
    for (int i = 0; i < run->kills && e->live > 1; i++) {
        int rank = (int)(ftc_gossip_random(&e->random) % (uint64_t)e->ranks);
        while (e->rank[rank].dead)
            rank = (rank + 1) % e->ranks;
        e->rank[rank].dead = true;
        e->live--;
        ftc_inputs_leave_out(&e->inputs, rank);
        for (int other = 0; other < e->ranks; other++)
            ftc_gossip_notice(e->rank[other].gossip, rank);
    }
    judge_all(e);
}

/* Visit each link once, at its lower rank. `flow` (may be NULL) gets the greatest entry of each
 * link's flow. Returns the number of links. */
static int each_link(const struct ftc_neighbourhood *h, const struct engine *e, double *flow)
{
    int links = 0;

    for (int rank = 0; rank < h->ranks; rank++) {
        for (int link = 0; link < ftc_neighbourhood_links(h, rank); link++) {
            if (ftc_neighbourhood_peer(h, rank, link) < rank)
                continue;
            if (flow != NULL)
                flow[links] = ftc_gossip_link_flow(e->rank[rank].gossip, link);
            links++;
        }
    }
    return links;
}

int ftc_gossip_run_links(const struct ftc_gossip_run *run)
{
    return each_link(&run->gossip.neighbourhood, NULL, NULL);
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
    if (run->link_flow != NULL)
        each_link(&run->gossip.neighbourhood, e,
                  run->link_flow + (size_t)e->outcome->samples * (size_t)ftc_gossip_run_links(run));
    run->sample[e->outcome->samples++] =
        (struct ftc_gossip_sample){.most = e->most, .error = worst_error(e), .flow = flow};
}

/* --- messages --- */

static void note_sent(struct engine *e, int rank)
{
    if (++e->rank[rank].sent <= e->most)
        return;
    e->most = e->rank[rank].sent;
    sample(e);
}

static struct ftc_gossip_head head_of(const struct engine *e)
{
    const struct ftc_gossip_settings *gossip = &e->run->gossip;

    return (struct ftc_gossip_head){.count = gossip->count,
                                    .algorithm = (uint8_t)gossip->algorithm,
                                    .neighbourhood = (uint8_t)gossip->neighbourhood.kind,
                                    .turns = gossip->turns};
}

/* Send the output behind a head, as a job does. */
static int post_with_head(struct engine *e, int from, const struct ftc_gossip_output *output)
{
    struct ftc_gossip_head head = head_of(e);
    struct ftc_buffer *bytes = ftc_gossip_head_encode(&head, output->bytes);
    size_t rest = output->size - FTC_GOSSIP_LETTER_HEAD;
    struct ftc_buffer *whole = bytes != NULL ? ftc_buffer_new(FTC_GOSSIP_HEAD + rest) : NULL;

    if (whole == NULL) {
        ftc_buffer_unref(bytes);
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a message");
    }
    memcpy(whole->data, bytes->data, FTC_GOSSIP_HEAD);
    memcpy(whole->data + FTC_GOSSIP_HEAD,
           (const unsigned char *)output->bytes + FTC_GOSSIP_LETTER_HEAD, rest);
    if (e->head_of == from) {
        e->outcome->flips += ftc_flip_bytes(&e->run->flip, whole->data, FTC_GOSSIP_HEAD);
        e->head_of = -1;
    }
    int rc = ftc_medium_send(&e->medium, EVENT_MESSAGE, from, output->to, whole->data, whole->size,
                             NULL);
    ftc_buffer_unref(bytes);
    ftc_buffer_unref(whole);
    return rc;
}

static bool has_heads(const struct engine *e)
{
    return e->run->flips && e->run->flip.variable == FTC_FLIP_HEAD;
}

static int post(struct engine *e, int from, const struct ftc_gossip_output *output)
{
    note_sent(e, from);
    if (has_heads(e))
        return post_with_head(e, from, output);
    return ftc_medium_send(&e->medium, EVENT_MESSAGE, from, output->to, output->bytes, output->size,
                           NULL);
}

/* Take a message in as a job does (runtime/algorithms/gossip.c): drop a damaged head. A head that
 * says something else would end the job. */
static int take_with_head(struct engine *e, int rank, int from, const struct ftc_packet *packet)
{
    struct ftc_buffer *buffer = ftc_buffer_new(packet->size);
    struct ftc_gossip_head own = head_of(e), head;
    const unsigned char *letter;
    size_t size;

    if (buffer == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a message");
    memcpy(buffer->data, packet->bytes, packet->size);
    int rc = ftc_gossip_is_message(buffer)
                 ? ftc_gossip_head_decode(buffer, &head, &letter, &size)
                 : ftc_error_set(FTC_ERR_PROTO, "no message of gossip came");
    if (rc == FTC_SUCCESS && !ftc_gossip_head_equal(&own, &head))
        rc = ftc_error_set(FTC_ERR_PROTO, "rank %d takes rank %d for one in another collective",
                           rank, from);
    if (rc == FTC_SUCCESS)
        rc = ftc_gossip_receive(e->rank[rank].gossip, from, letter, size);
    ftc_buffer_unref(buffer);
    return rc == FTC_ERR_CORRUPT ? FTC_SUCCESS : rc;
}

static int take(struct engine *e, int rank, int from, const struct ftc_packet *packet)
{
    if (has_heads(e))
        return take_with_head(e, rank, from, packet);
    ftc_gossip_receive(e->rank[rank].gossip, from, packet->bytes, packet->size);
    return FTC_SUCCESS;
}

/* At most one event is pending for each timer. It finds out that the deadline has moved. */
static int arm(struct engine *e, int at, uint64_t delay)
{
    struct rank *rank = &e->rank[at];

    rank->deadline = e->medium.now + delay;
    if (rank->armed)
        return 0;
    rank->armed = true;
    return ftc_medium_wait(&e->medium, EVENT_TIMER, at, rank->deadline);
}

static int take_outputs(struct engine *e, int rank)
{
    struct ftc_gossip_output output;
    int rc = 0;

    while (rc == 0 && ftc_gossip_next_output(e->rank[rank].gossip, &output))
        rc =
            output.kind == FTC_GOSSIP_SEND ? post(e, rank, &output) : arm(e, rank, output.delay_ns);
    judge(e, rank);
    return rc;
}

/* --- asynchronous --- */

/* Tell it at random, because what a job tells need not be true (collectives/gossip/gossip.h). */
static void crowd(struct engine *e, struct ftc_gossip *gossip)
{
    if (e->run->crowd > 0)
        ftc_gossip_more(gossip, ftc_gossip_random_real(&e->random) < e->run->crowd);
}

static int take_packet(struct engine *e, int rank, int from, const struct ftc_packet *packet)
{
    flip_at_random(e, rank);
    crowd(e, e->rank[rank].gossip);
    return take(e, rank, from, packet);
}

static int handle(struct engine *e, const struct ftc_event *event)
{
    struct rank *rank = &e->rank[event->rank];
    int at = (int)event->rank, rc = 0;
    bool timer = event->kind == EVENT_TIMER, step = event->item == NULL;

    if (timer)
        rank->armed = false;
    if (!step && !rank->dead)
        rc = take_packet(e, at, (int)event->other, event->item);
    free(event->item);
    if (rank->dead || rc != 0)
        return rc;
    if (timer && e->medium.now < rank->deadline)
        return arm(e, at, rank->deadline - e->medium.now);
    if (step) /* of a timer, or in place of a lost message */
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
    while (rc == 0 && !is_over(e) && ftc_medium_next(&e->medium, &event)) {
        rc = handle(e, &event);
        flip_on_request(e);
        kill_on_request(e);
    }
    return rc;
}

/* --- synchronous: algorithm 7, one rank after the other; messages arrive at once --- */

static void send_round(struct engine *e, int rank)
{
    struct ftc_gossip_output output;

    flip_at_random(e, rank);
    ftc_gossip_timer(e->rank[rank].gossip);
    while (ftc_gossip_next_output(e->rank[rank].gossip, &output)) {
        note_sent(e, rank);
        if (output.kind == FTC_GOSSIP_SEND && !e->rank[output.to].dead &&
            !ftc_medium_loses(&e->medium, rank, output.to))
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
        ftc_medium_end_round(&e->medium);
        flip_on_request(e);
        kill_on_request(e);
    }
    return 0;
}

/* --- life --- */

static int make_rank(struct engine *e, int rank)
{
    struct ftc_gossip_settings settings = e->run->gossip;

    settings.self = rank;
    settings.seed = e->run->seed;
    settings.rounds = e->run->sync;
    settings.patience_ns =
        settings.patience_ns * ftc_medium_most(&e->medium, e->ranks) / FTC_GOSSIP_TICKS;
    if (e->run->sync)
        settings.patience_ns = 0;
    return ftc_gossip_create(&e->rank[rank].gossip, &settings, ftc_inputs_of(&e->inputs, rank));
}

static int begin(struct engine *e)
{
    const struct ftc_gossip_settings *gossip = &e->run->gossip;
    bool near = gossip->neighbourhood.kind == FTC_NEIGHBOURHOOD_TORUS;
    int rc = ftc_medium_init(&e->medium, &e->run->cost, near, e->ranks, e->run->seed);

    if (rc == 0)
        rc = ftc_inputs_init(&e->inputs, e->run->inputs, e->ranks, gossip->count, &e->random);
    e->rank = calloc((size_t)e->ranks, sizeof(*e->rank));
    if (rc == 0 && e->rank == NULL)
        rc = ftc_error_set(FTC_ERR_NOMEM, "no memory for %d ranks", e->ranks);
    for (int rank = 0; rc == 0 && rank < e->ranks; rank++)
        rc = make_rank(e, rank);
    return rc;
}

static void sum_up(struct engine *e)
{
    struct ftc_gossip_outcome *outcome = e->outcome;

    outcome->converged = e->near >= (e->run->first ? 1 : e->live);
    outcome->most = e->most;
    outcome->error = worst_error(e);
    outcome->time = (double)e->medium.elapsed / FTC_GOSSIP_TICKS;
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
    for (int rank = 0; e->rank != NULL && rank < e->ranks; rank++)
        ftc_gossip_destroy(e->rank[rank].gossip);
    free(e->rank);
    ftc_inputs_fini(&e->inputs);
    ftc_medium_fini(&e->medium);
}

static int run_gossip(const struct ftc_gossip_run *run, struct ftc_gossip_outcome *outcome)
{
    int ranks = run->gossip.neighbourhood.ranks;
    struct engine e = {
        .run = run, .outcome = outcome, .ranks = ranks, .live = ranks, .head_of = -1};

    e.random = ftc_mix(run->seed + 1);
    e.medium.random = &e.random;
    e.medium.loss = run->loss;
    e.medium.announce = run->lost_sends;
    e.medium.rounds = run->sync;
    int rc = begin(&e);
    if (rc == 0)
        rc = run->sync ? run_rounds(&e) : run_events(&e);
    if (rc == 0)
        sum_up(&e);
    end(&e);
    return rc;
}

int ftc_gossip_run(const struct ftc_gossip_run *run, struct ftc_gossip_outcome *outcome)
{
    *outcome = (struct ftc_gossip_outcome){0};
    return run->deterministic ? ftc_exact_run(run, outcome) : run_gossip(run, outcome);
}

int ftc_gossip_run_check(const struct ftc_gossip_run *run)
{
    if (run->deterministic)
        return ftc_exact_check(run);
    if (run->flips && run->flip.variable == FTC_FLIP_HEAD && run->sync)
        return ftc_error_set(FTC_ERR_ARG,
                             "messages in rounds have no heads: leave out --sync or --flip");
    if (run->lost_sends && run->sync)
        return ftc_error_set(FTC_ERR_ARG,
                             "in rounds each rank sends, whatever is lost: leave out --after-loss");
    return ftc_gossip_check(&run->gossip);
}

const char *ftc_gossip_run_name(const struct ftc_gossip_run *run)
{
    return run->deterministic ? ftc_doubling_algorithm_name(run->doubling)
                              : ftc_gossip_algorithm_name(run->gossip.algorithm);
}
