/* Gossip with weights: all ranks come to sum(w x) / sum(w) of the living, whatever the size of the
 * weights. Ranks of weight 0 only listen. */
#include <math.h>

#include "collectives/mutation.h"
#include "tests/collectives/gossip_ending.h"
#include "tests/random.h"
#include "tests/suite.h"

enum ftc_mutation ftc_mutation;

#define MOST_MESSAGES 100000 /* that are delivered */

static double samples(int rank)
{
    return 3 + rank * 37 % 11 * 100;
}

static double tiny(int rank)
{
    return samples(rank) * 1e-15;
}

static double great(int rank)
{
    return samples(rank) * 1e300;
}

static double every_other_listens(int rank)
{
    return rank % 2 == 0 ? 0 : rank;
}

static double all_but_one_listen(int rank)
{
    return rank == 3 ? 0.1 : 0;
}

static double all_listen(int rank)
{
    (void)rank;
    return 0;
}

static double one_outweighs_all(int rank)
{
    return rank == 3 ? 1e20 : 1;
}

static double one_outweighs_others(int rank)
{
    return rank == 3 ? 1e10 : 1;
}

typedef double weight_of(int rank);
static weight_of *const weights[] = {samples, tiny, great, every_other_listens, all_but_one_listen};
#define WEIGHTS (int)(sizeof(weights) / sizeof(weights[0]))

static struct gossip_net_frame frame_of(enum ftc_gossip_algorithm algorithm, weight_of *weight)
{
    return (struct gossip_net_frame){
        .algorithm = algorithm,
        .neighbourhood = FTC_NEIGHBOURHOOD_HYPERCUBE,
        .ranks = 16,
        .count = 3,
        .accuracy = 1e-9,
        .turns = algorithm != FTC_GOSSIP_PUSH_SUM,
        .seed = (uint64_t)test_random_start().state,
        .weight = weight,
    };
}

/* Is the agreed mean off by no more than the bound that it came with? */
static bool is_mean(const struct ending *e)
{
    double worst = 0;
    double product = 0, sum = 0;
    int some = 0;

    for (int rank = 0; rank < e->frame.ranks; rank++) {
        double weight = ending_lives(e, rank) ? gossip_net_weight(&e->frame, rank) : 0;
        product += weight * 1e-9 * (rank + 1); /* 1e-9: great ones must not overflow here */
        sum += weight * 1e-9;
        some = ending_lives(e, rank) ? rank : some;
    }
    for (size_t i = 0; i < e->frame.count; i++) {
        double error = fabs(e->average[some][i] - product / sum * (double)(i + 1));
        worst = fmax(worst, error);
    }
    return worst <= ftc_gossip_end_error(e->end[some]) + 1e-14;
}

static uint64_t repairs_of(const struct ending *e)
{
    uint64_t repairs = 0;

    for (int rank = 0; rank < e->frame.ranks; rank++) {
        struct ftc_gossip_counters counters;
        ftc_gossip_counters(gossip_net_rank(e->net, rank), &counters);
        repairs += counters.corrupt + counters.resets + counters.repairs;
    }
    return repairs;
}

START_TEST(all_agree_on_the_weighted_mean_and_take_nothing_for_corrupt)
{
    enum ftc_gossip_algorithm algorithm = (enum ftc_gossip_algorithm)_i;

    for (int w = 0; w < WEIGHTS; w++)
        for (int turns = 0; turns < 2; turns++) {
            struct gossip_net_frame frame = frame_of(algorithm, weights[w]);
            struct ending e;
            bool possible = turns ? frame.turns : algorithm != FTC_GOSSIP_PUSH_CANCEL_FLOW;
            if (!possible)
                continue;
            frame.turns = turns;
            frame.seed += (uint64_t)(2 * w + turns);
            ending_begin(&e, &frame);
            ck_assert_msg(ending_run(&e) == FTC_GOSSIP_AGREED, "weights %d, turns %d", w, turns);
            ck_assert(is_mean(&e));
            ck_assert_double_eq_tol(ftc_gossip_end_error(e.end[0]), /* inputs do not cancel */
                                    frame.accuracy / 2 * e.average[0][2], 1e-16);
            ck_assert_uint_eq(repairs_of(&e), 0);
            ending_finish(&e);
        }
}
END_TEST

/* Half of the messages are lost, and ranks die. */
START_TEST(the_mean_of_the_living_counts_their_weights)
{
    static const enum ftc_gossip_algorithm algorithms[] = {FTC_GOSSIP_PUSH_FLOW, FTC_GOSSIP_PFLC,
                                                           FTC_GOSSIP_PFCC};
    struct gossip_net_frame frame = frame_of(algorithms[_i], samples);

    for (int loss = 0; loss <= 50; loss += 25)
        for (int w = 0; w < WEIGHTS - 1; w++) {
            frame.weight = weights[w];
            frame.loss_percent = loss;
            frame.seed++;
            struct gossip_net *net = gossip_net_new(&frame);
            for (int i = 0; i < 300; i++)
                gossip_net_step(net);
            gossip_net_kill(net, 5);
            for (int i = 0; i < 50; i++)
                gossip_net_step(net);
            gossip_net_kill(net, 0);
            ck_assert_msg(gossip_net_run(net, MOST_MESSAGES) >= 0, "weights %d, loss %d: error %g",
                          w, loss, gossip_net_error(net));
            gossip_net_free(net);
        }
}
END_TEST

/* --- flips --- */

/* Flips a bit after 700 messages. Does the mean come out within 1e-12 all the same? */
static bool heals(const struct gossip_net_frame *frame, enum ftc_flip_variable variable, int bit)
{
    struct gossip_net *net = gossip_net_new(frame);
    struct ftc_flip flip = {.variable = variable, .bit = bit};

    for (int i = 0; i < 700; i++)
        gossip_net_step(net);
    ck_assert(ftc_gossip_flip(gossip_net_rank(net, bit % 16), &flip));
    bool healed = gossip_net_run(net, 20000) >= 0;
    gossip_net_free(net);
    return healed;
}

START_TEST(checksums_heal_a_flip_whatever_the_weights)
{
    static const enum ftc_flip_variable variables[] = {FTC_FLIP_FLOW,     FTC_FLIP_WEIGHT,
                                                       FTC_FLIP_CHECKSUM, FTC_FLIP_ESTIMATE,
                                                       FTC_FLIP_MESSAGE,  FTC_FLIP_INPUT};
    struct gossip_net_frame frame = frame_of(_i == 0 ? FTC_GOSSIP_PFLC : FTC_GOSSIP_PFCC, tiny);

    frame.accuracy = 1e-12;
    for (int w = 0; w < WEIGHTS - 1; w++)
        for (size_t v = 0; v < sizeof(variables) / sizeof(variables[0]); v++)
            for (int bit = 0; bit < 64; bit += TEST_SANITIZED ? 13 : 3) {
                frame.weight = weights[w];
                frame.seed++;
                ck_assert_msg(heals(&frame, variables[v], bit), "weights %d: bit %d of %s", w, bit,
                              ftc_flip_variable_name(variables[v]));
            }
}
END_TEST

/* docs/design/gossip.md, rule 9. To a rank that takes weights for 1, an error is small that is
 * large beside weights of 1e-12. Bit 57 turns a flow of 1e-12 into one of some 1e-2. */
START_TEST(who_takes_all_weights_for_one_leaves_errors)
{
    struct gossip_net_frame frame = frame_of(FTC_GOSSIP_PFLC, tiny);
    int left = 0;

    frame.accuracy = 1e-12;
    ftc_mutation = FTC_MUTATION_WEIGHTS_AS_ONE;
    for (int run = 0; run < 20; run++, frame.seed++)
        left += !heals(&frame, FTC_FLIP_FLOW, 57);
    ftc_mutation = FTC_MUTATION_NONE;
    ck_assert_int_gt(left, 0);
}
END_TEST

/* --- no weight --- */

/* What the survivors come to if rank 3 dies after so many messages; -1: it lives. */
static enum ftc_gossip_verdict without_rank_3(const struct gossip_net_frame *frame, int after,
                                              enum ftc_gossip_cause *cause, bool *right)
{
    struct ending e;

    ending_begin(&e, frame);
    for (int i = 0; i < after; i++) {
        gossip_net_step(e.net);
        ending_look(&e);
    }
    if (after >= 0)
        ending_kill(&e, 3);
    enum ftc_gossip_verdict verdict = ending_run(&e);
    *cause = ftc_gossip_end_cause(e.end[0]);
    *right = verdict != FTC_GOSSIP_AGREED || is_mean(&e);
    ending_finish(&e);
    return verdict;
}

START_TEST(without_any_weight_there_is_no_mean)
{
    static const int after[] = {0, 50, 2000};
    enum ftc_gossip_algorithm algorithm = (enum ftc_gossip_algorithm)_i;
    struct gossip_net_frame frame = frame_of(algorithm, all_listen);
    enum ftc_gossip_cause cause;
    bool right = false;

    ck_assert_int_eq(without_rank_3(&frame, -1, &cause, &right), FTC_GOSSIP_GIVEN_UP);
    ck_assert_int_eq(cause, FTC_GOSSIP_CAUSE_WEIGHTLESS);
    frame.weight = all_but_one_listen;
    for (int i = 0; ftc_gossip_survives(algorithm) && i < 3; i++) {
        ck_assert_int_eq(without_rank_3(&frame, after[i], &cause, &right), FTC_GOSSIP_GIVEN_UP);
        ck_assert_int_eq(cause, FTC_GOSSIP_CAUSE_WEIGHTLESS);
    }
}
END_TEST

/* docs/design/gossip.md, rule 10. All hold the input of one rank, which outweighs them. When it
 * dies, the masses that the survivors hold are of both signs, and cancel. Still all hold the same.
 * The verdict is ANEW, or the right mean. */
START_TEST(the_death_of_one_that_outweighs_others_leaves_no_wrong_mean)
{
    static weight_of *const heavy[] = {one_outweighs_all, one_outweighs_others};
    static const enum ftc_gossip_algorithm algorithms[] = {FTC_GOSSIP_PUSH_FLOW, FTC_GOSSIP_PFLC,
                                                           FTC_GOSSIP_PFCC};
    enum ftc_gossip_cause cause;
    bool right = false;

    for (int w = 0; w < 2; w++)
        for (int after = 100; after <= 1500; after += 100) {
            struct gossip_net_frame frame = frame_of(algorithms[_i], heavy[w]);
            frame.accuracy = 1e-3;
            frame.seed += (uint64_t)after;
            ck_assert_int_ne(without_rank_3(&frame, after, &cause, &right), FTC_GOSSIP_GIVEN_UP);
            ck_assert_msg(right, "weights %d, after %d", w, after);
        }
}
END_TEST

START_TEST(who_trusts_what_deaths_have_left_agrees_on_what_is_wrong)
{
    static weight_of *const heavy[] = {one_outweighs_all, one_outweighs_others};
    enum ftc_gossip_cause cause;
    bool right;
    int wrong[2] = {0, 0};

    ftc_mutation = FTC_MUTATION_TRUST_WHAT_DEATHS_LEFT;
    for (int run = 0; run < 40; run++) {
        struct gossip_net_frame frame = frame_of(FTC_GOSSIP_PFCC, heavy[run % 2]);
        frame.accuracy = 1e-3;
        frame.seed += (uint64_t)run;
        without_rank_3(&frame, 50 * run, &cause, &right);
        wrong[run % 2] += !right;
    }
    ftc_mutation = FTC_MUTATION_NONE;
    ck_assert_int_gt(wrong[0], 0);
    ck_assert_int_gt(wrong[1], 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gossip_weights");
    TCase *tcase = tcase_create("weights");

    test_seed_announce();
    tcase_set_timeout(tcase, TEST_SANITIZED ? 600 : 120);
    tcase_add_loop_test(tcase, all_agree_on_the_weighted_mean_and_take_nothing_for_corrupt, 0,
                        FTC_GOSSIP_ALGORITHMS);
    tcase_add_loop_test(tcase, the_mean_of_the_living_counts_their_weights, 0, 3);
    tcase_add_loop_test(tcase, checksums_heal_a_flip_whatever_the_weights, 0, 2);
    tcase_add_test(tcase, who_takes_all_weights_for_one_leaves_errors);
    tcase_add_loop_test(tcase, without_any_weight_there_is_no_mean, 0, FTC_GOSSIP_ALGORITHMS);
    tcase_add_loop_test(tcase, the_death_of_one_that_outweighs_others_leaves_no_wrong_mean, 0, 3);
    tcase_add_test(tcase, who_trusts_what_deaths_have_left_agrees_on_what_is_wrong);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
