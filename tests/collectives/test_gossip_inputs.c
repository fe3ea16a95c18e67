/* Gossip about inputs that cancel, and about great ones: all ranks come to a result, and take
 * nothing sound for corrupt. */
#include <math.h>

#include "collectives/mutation.h"
#include "tests/collectives/gossip_ending.h"
#include "tests/random.h"
#include "tests/suite.h"

enum ftc_mutation ftc_mutation;

static double cancelling(int rank, size_t element)
{
    double rest = fmod((rank + 1) * 0.618 + 0.1 * (double)element, 1);

    return rank == 1 ? 1e7 : rank == 6 ? -1e7 : rest;
}

static double great(int rank, size_t element)
{
    (void)rank;
    (void)element;
    return 1.7e308;
}

static double one_is_great(int rank, size_t element)
{
    return rank == 3 ? great(rank, element) : 1;
}

/* The result may be off by the rounding of the greatest input, and says how much that is. */
static bool is_average(const struct ending *e)
{
    int ranks = e->frame.ranks;
    double bound = ftc_gossip_end_error(e->end[0]), size = 0, all = 0;

    for (size_t i = 0; i < e->frame.count; i++) {
        double average = 0, greatest = 0;
        for (int rank = 0; rank < ranks; rank++) {
            average += gossip_net_input(&e->frame, rank, i) / ranks;
            greatest = fmax(greatest, fabs(gossip_net_input(&e->frame, rank, i)));
        }
        size = fmax(size, fabs(e->average[0][i]));
        all = fmax(all, greatest);
        if (!(fabs(e->average[0][i] - average) <= bound))
            return false;
    }
    return fabs(bound / fmax(e->frame.accuracy / 2 * size, 0x1p-48 * all) - 1) < 1e-12;
}

/* Does this end well, and does no rank take a sound flow for a corrupt one? */
static bool ends_without_repairs(const struct gossip_net_frame *frame)
{
    struct ending e;
    uint64_t repairs = 0;

    ending_begin(&e, frame);
    bool ends = ending_run(&e) == FTC_GOSSIP_AGREED && is_average(&e);
    for (int rank = 0; rank < frame->ranks; rank++) {
        struct ftc_gossip_counters counters;
        ftc_gossip_counters(gossip_net_rank(e.net, rank), &counters);
        repairs += counters.corrupt + counters.resets + counters.repairs;
    }
    ending_finish(&e);
    return ends && repairs == 0;
}

typedef double input_of(int rank, size_t element);

START_TEST(inputs_that_cancel_and_great_ones_end_in_a_result)
{
    static input_of *const inputs[] = {cancelling, great, one_is_great};

    for (int i = 0; i < 3; i++)
        for (int ranks = 8; ranks <= RANKS_MOST; ranks *= 2) {
            struct gossip_net_frame frame =
                ending_frame((enum ftc_gossip_algorithm)_i, ranks, 1e-9);
            frame.input = inputs[i];
            frame.seed += (uint64_t)i * 100 + (uint64_t)ranks;
            ck_assert_msg(ends_without_repairs(&frame), "inputs %d, %d ranks", i, ranks);
        }
}
END_TEST

/* docs/design/gossip.md, rules 7 and 8. Without them the run gives up, or gets no further. */
static bool finds(enum ftc_mutation mutation, input_of *input)
{
    struct gossip_net_frame frame = ending_frame(FTC_GOSSIP_PFCC, 8, 1e-9);
    struct ending e;

    frame.input = input;
    ftc_mutation = mutation;
    ending_begin(&e, &frame);
    bool found = !ending_barrier(&e) || ending_decide(&e, &e.failed) != FTC_GOSSIP_AGREED;
    ending_finish(&e);
    ftc_mutation = FTC_MUTATION_NONE;
    return found;
}

START_TEST(who_knows_its_own_input_alone_comes_to_no_end)
{
    ck_assert(finds(FTC_MUTATION_OWN_INPUT_ALONE, cancelling));
    ck_assert(finds(FTC_MUTATION_GREAT_AS_THEY_ARE, great));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gossip_inputs");
    TCase *tcase = tcase_create("inputs");

    test_seed_announce();
    tcase_set_timeout(tcase, TEST_SANITIZED ? 600 : 120);
    tcase_add_loop_test(tcase, inputs_that_cancel_and_great_ones_end_in_a_result, 0,
                        FTC_GOSSIP_ALGORITHMS);
    tcase_add_test(tcase, who_knows_its_own_input_alone_comes_to_no_end);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
