/*
 * Gossip that heals comes to an end, whatever is lost, flips or waits: drawn runs converge within a
 * bound of messages. The draws are tested, too: they find each fault of gossip
 * (collectives/mutation.h). The faults are compiled into this program alone.
 */
#include "base/error.h"
#include "collectives/mutation.h"
#include "sim/gossip/engine.h"
#include "tests/random.h"
#include "tests/suite.h"

#define BUDGET   20000
#define HARMLESS (TEST_SANITIZED ? 300 : 3000)
/* The most messages of a rank. A run that converges needs some hundreds; where half is lost it
 * needs some thousands. */
#define MOST 20000

enum ftc_mutation ftc_mutation;

static const char *const words[FTC_MUTATIONS_COUNT] = {"sound",
#define WORDS(name, text) text,
                                                       FTC_MUTATIONS_LIST(WORDS)
#undef WORDS
};

#define PICK(random, array)                                                                        \
    (array)[test_random_between(random, 0, (long)(sizeof(array) / sizeof((array)[0])) - 1)]

static void draw_gossip(struct ftc_gossip_settings *gossip, struct test_random *random)
{
    static const int ranks[] = {2, 3, 4, 5, 8, 16};
    static const enum ftc_gossip_algorithm algorithms[] = {FTC_GOSSIP_PFCC, FTC_GOSSIP_PFCC,
                                                           FTC_GOSSIP_PFLC, FTC_GOSSIP_PUSH_FLOW,
                                                           FTC_GOSSIP_PUSH_CANCEL_FLOW};
    static const enum ftc_neighbourhood_kind kinds[] = {
        FTC_NEIGHBOURHOOD_HYPERCUBE, FTC_NEIGHBOURHOOD_FULL, FTC_NEIGHBOURHOOD_TORUS};

    *gossip = (struct ftc_gossip_settings){
        .algorithm = PICK(random, algorithms),
        .count = (size_t)test_random_between(random, 1, 3),
        .accuracy = 1e-9,
        .turns = true,
        .patience_ns = (uint64_t)test_random_between(random, 2, 64) * FTC_GOSSIP_TICKS};
    ck_assert_int_eq(
        ftc_neighbourhood_init(&gossip->neighbourhood, PICK(random, kinds), PICK(random, ranks)),
        0);
}

/* Draws one flip of any variable, and some flips of flows. */
static void draw_flips(struct ftc_gossip_run *run, struct test_random *random)
{
    static const enum ftc_flip_variable variables[] = {FTC_FLIP_FLOW,     FTC_FLIP_WEIGHT,
                                                       FTC_FLIP_CHECKSUM, FTC_FLIP_ESTIMATE,
                                                       FTC_FLIP_MESSAGE,  FTC_FLIP_INPUT};
    bool heals =
        run->gossip.algorithm == FTC_GOSSIP_PFLC || run->gossip.algorithm == FTC_GOSSIP_PFCC;

    if (!heals || test_random_chance(random, 10))
        return;
    run->flips = true;
    run->flip = (struct ftc_flip){.rank = -1,
                                  .variable = PICK(random, variables),
                                  .bit = (int)test_random_between(random, 0, 63),
                                  .step = (uint64_t)test_random_between(random, 1, 60)};
    /* If an input flips together with a flow, the run cannot be repaired. */
    if (run->flip.variable != FTC_FLIP_INPUT && test_random_chance(random, 50)) {
        run->flip_rate = 0.1;
        run->flips_end = (uint64_t)test_random_between(random, 1, 60);
    }
}

static struct ftc_gossip_run draw(uint64_t seed)
{
    static const double losses[] = {0, 0.01, 0.05, 0.2, 0.4}, crowds[] = {0, 0.5, 1};
    struct test_random random = {.state = seed};
    struct ftc_gossip_run run = {.seed = seed, .most = MOST};

    draw_gossip(&run.gossip, &random);
    run.cost.kind = test_random_chance(&random, 50) ? FTC_GOSSIP_CONSTANT : FTC_GOSSIP_RANDOM;
    run.loss = PICK(&random, losses);
    run.crowd = PICK(&random, crowds);
    draw_flips(&run, &random);
    /* the flows of greater inputs have more bits that make them too great */
    run.inputs = test_random_chance(&random, 50) ? FTC_GOSSIP_UNIFORM : FTC_GOSSIP_LINEAR;
    return run;
}

/* The number of the first drawn run that does not converge; most + 1 if all converge. */
static int find(enum ftc_mutation mutation, int most)
{
    int runs = 1;

    ftc_mutation = mutation;
    for (; runs <= most; runs++) {
        struct ftc_gossip_run run = draw((uint64_t)runs);
        struct ftc_gossip_outcome outcome;
        ck_assert_msg(ftc_gossip_run(&run, &outcome) == 0, "%s", ftc_last_error());
        if (outcome.converged)
            continue;
        printf(
            "%s: draw %d: %s of %d ranks, %s, %g lost, crowd %g, %d flips, %s after %d: error %g\n",
            words[mutation], runs, ftc_gossip_run_name(&run), run.gossip.neighbourhood.ranks,
            ftc_neighbourhood_name(run.gossip.neighbourhood.kind), run.loss, run.crowd,
            (int)outcome.flips, run.flips ? ftc_flip_variable_name(run.flip.variable) : "none",
            (int)run.flip.step, outcome.error);
        break;
    }
    ftc_mutation = FTC_MUTATION_NONE;
    return runs;
}

START_TEST(a_fault_is_found)
{
    ck_assert_msg(find((enum ftc_mutation)_i, BUDGET) <= BUDGET, "%d runs do not find: %s", BUDGET,
                  words[_i]);
}
END_TEST

START_TEST(what_heals_converges_whatever_is_lost_and_flips)
{
    ck_assert_int_gt(find(FTC_MUTATION_NONE, HARMLESS), HARMLESS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gossip_mutation");
    TCase *tcase = tcase_create("faults");

    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, a_fault_is_found, FTC_MUTATION_HEAL_WHEN_NOTHING_WAITS,
                        FTC_MUTATION_PUSH_FOR_EACH);
    tcase_add_test(tcase, what_heals_converges_whatever_is_lost_and_flips);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
