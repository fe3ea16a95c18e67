/*
 * Tests runs in virtual time: the times that LogP gives by hand or in the literature, message
 * counts, deaths and notices. A run depends on its seed alone.
 */
#include "sim/timed/timed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "include/ftcoll.h"
#include "tests/random.h"
#include "tests/suite.h"

static struct ftc_member_settings members;
static struct ftc_timed_settings timed;
static struct ftc_program program;
static struct ftc_timed_result result;

static void setup(void)
{
    members = (struct ftc_member_settings){.ranks = 8,
                                           .f = 1,
                                           .reduce_arity = 2,
                                           .tree = {.tree = FTC_TREE_BINOMIAL, .arity = 2},
                                           .correction_delay_ns = 1000,
                                           .settle_every = 16};
    timed =
        (struct ftc_timed_settings){.bytes = 8, .detect_ns = 5000, .jitter_ns = 1000, .seed = 1};
    ck_assert_int_eq(ftc_cost_parse(&timed.cost, "L=100,o=10"), 0);
}

static void teardown(void)
{
    ftc_timed_result_fini(&result);
    ftc_program_fini(&program);
}

/* Runs `operations`. Every promise is kept, and every survivor returns from each. */
static void run(const char *operations, FILE *trace)
{
    teardown();
    ck_assert_int_eq(ftc_program_parse(&program, operations, members.ranks), 0);
    int rc = ftc_timed_run(&members, &program, &timed, trace, &result);
    ck_assert_msg(rc == 0, "%s", ftc_last_error());
    ck_assert_msg(result.violation[0] == '\0',
                  "n = %d, f = %d, seed %" PRIu64 ", %d deaths, %s: %s", members.ranks, members.f,
                  timed.seed, timed.kills, operations, result.violation);
    for (int op = 0; op < program.length; op++)
        ck_assert_int_eq(result.operation[op].deliveries, members.ranks - timed.kills);
}

static uint64_t latency(int op)
{
    return result.operation[op].last_delivery - result.operation[op].first_call;
}

/* --- time --- */

/* algorithms-notes.md, 2.6: T_tree at P = 1024, L = 2, o = 1, by the product's own broadcast. */
START_TEST(dissemination_takes_what_the_literature_says)
{
    static const struct {
        enum ftc_tree tree;
        int arity;
        uint64_t time;
    } known[] = {
        {FTC_TREE_BINOMIAL, 2, 40}, {FTC_TREE_KARY, 4, 33}, {FTC_TREE_LAME, 2, 29},
        {FTC_TREE_LAME, 3, 25},     {FTC_TREE_LAME, 4, 24},
    };

    members.ranks = 1024;
    ck_assert_int_eq(ftc_cost_parse(&timed.cost, "L=2,o=1"), 0);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        members.tree = (struct ftc_tree_shape){known[i].tree, known[i].arity};
        run("bcast:0", NULL);
        ck_assert_uint_eq(latency(0), known[i].time);
    }
}
END_TEST

START_TEST(a_small_message_costs_l_and_two_o)
{
    members.ranks = 2;
    run("bcast:1", NULL);
    ck_assert_uint_eq(latency(0), 10 + 100 + 10);
    ck_assert_uint_eq(result.operation[0].root_delivery, 0);
}
END_TEST

/* A root sends to its four children. The sends begin g apart, the last at 3g. */
START_TEST(sends_keep_the_gap)
{
    members.ranks = 5;
    members.tree = (struct ftc_tree_shape){FTC_TREE_KARY, 4};
    timed.cost.g = 30;
    run("bcast:0", NULL);
    ck_assert_uint_eq(latency(0), 3 * 30 + 120);
    timed.cost.g = 3; /* g is less than o, so the processor is the limit */
    run("bcast:0", NULL);
    ck_assert_uint_eq(latency(0), 3 * 10 + 120);
}
END_TEST

START_TEST(long_messages_leave_byte_by_byte)
{
    members.ranks = 5;
    members.tree = (struct ftc_tree_shape){FTC_TREE_KARY, 4};
    timed.cost.G = 2;
    timed.cost.g = 30;
    timed.bytes = 1000;
    run("bcast:0", NULL);
    uint64_t size = result.operation[0].bytes / 4;
    ck_assert_uint_ge(size, 1000 + 52);
    ck_assert_uint_eq(latency(0), 3 * (30 + 2 * (size - 1)) + 2 * (size - 1) + 120);
}
END_TEST

/* With f = 0, ranks 1 and 2 send TREE at time 0, and both arrive at the same time. Rank 0 needs the
 * subtree of rank 1, which holds the subtree of rank 2. With arity 2 and n = 3, rank 2 is the child
 * of rank 1. */
START_TEST(combining_costs_c_for_each_byte)
{
    members.ranks = 3;
    members.f = 0;
    run("reduce:0", NULL);
    ck_assert_uint_eq(latency(0), 2 * 120);
    timed.cost.c = 0.5;
    timed.bytes = 100;
    run("reduce:0", NULL);
    ck_assert_uint_eq(latency(0), 2 * (120 + 50));
}
END_TEST

/* Ranks 1 to 3 send TREE to their parent, 0 or 1, at once. The chain of receives at rank 1 takes
 * the time. */
START_TEST(simultaneous_messages_are_received_one_after_the_other)
{
    members.ranks = 5; /* f = 0: rank 1 has the children 2 and 3, rank 2 has 4 */
    members.f = 0;
    members.reduce_arity = 3; /* now rank 1 has the children 2, 3 and 4 */
    run("reduce:0", NULL);
    ck_assert_uint_eq(latency(0), (10 + 100 + 3 * 10) + 120);
    timed.cost.g = 25;
    run("reduce:0", NULL);
    ck_assert_uint_eq(latency(0), (10 + 100 + 2 * 25 + 10) + 120);
}
END_TEST

START_TEST(farther_ranks_hear_later)
{
    members.ranks = 3;
    members.tree = (struct ftc_tree_shape){FTC_TREE_KARY, 2};
    timed.distance = (struct ftc_distance_settings){FTC_DISTANCE_FAT_TREE, 2, 1000};
    run("bcast:0", NULL);
    ck_assert_uint_eq(latency(0), 10 + 120 + 2000);
}
END_TEST

/* Rank 1, the head of the lowest subtree, stands still when it has sent its UP. */
START_TEST(a_head_that_stands_still_costs_what_take_says)
{
    static const uint64_t costs[] = {
        [FTC_TAKE_AUTO] = 500000, [FTC_TAKE_FIRST] = 0, [FTC_TAKE_LOWEST] = 900000};

    members.ranks = 7;
    members.straggler_ns = 500000;
    run("reduce:0", NULL);
    uint64_t calm = result.operation[0].root_delivery;
    timed.stall_rank = 1;
    timed.stall_at_ns = 15;
    timed.stall_ns = 900000;
    for (members.take = FTC_TAKE_AUTO; members.take <= FTC_TAKE_LOWEST; members.take++) {
        run("reduce:0", NULL);
        ck_assert_uint_ge(result.operation[0].root_delivery, costs[members.take]);
        ck_assert_uint_le(result.operation[0].root_delivery, costs[members.take] + 2 * calm);
    }
}
END_TEST

/* --- messages --- */

static void expect_no_repair(int op)
{
    ck_assert_uint_eq(result.operation[op].sent[FTC_MESSAGE_PREPARE], 0);
    ck_assert_uint_eq(result.operation[op].sent[FTC_MESSAGE_POKE], 0);
    ck_assert_uint_eq(result.operation[op].sent[FTC_MESSAGE_PULL], 0);
    ck_assert_uint_eq(result.operation[op].retries, 0);
    ck_assert_uint_eq(result.operation[op].ballots, 1);
}

/* Küttler, Härtig 2026, Theorem 5. An allreduce may leave out TREEs, because a rank that has the
 * decision stops early. */
START_TEST(failure_free_messages_are_those_of_the_theorem)
{
    for (members.f = 0; members.f <= 8; members.f++)
        for (members.ranks = members.f + 1; members.ranks <= 300;
             members.ranks += TEST_SANITIZED ? 17 : 1) {
            uint64_t up = (uint64_t)ftc_topology_up_messages(members.ranks, members.f);
            uint64_t others = (uint64_t)members.ranks - 1;
            run("reduce:0,allreduce", NULL);
            ck_assert_uint_eq(result.operation[0].sent[FTC_MESSAGE_UP], up);
            ck_assert_uint_eq(result.operation[0].sent[FTC_MESSAGE_TREE], others);
            ck_assert_uint_eq(result.operation[0].sent[FTC_MESSAGE_DECIDE], 0);
            ck_assert_uint_eq(result.operation[1].sent[FTC_MESSAGE_UP], up);
            ck_assert_uint_eq(result.operation[1].sent[FTC_MESSAGE_DECIDE], others);
            if (members.f == 0)
                ck_assert_uint_eq(result.operation[1].sent[FTC_MESSAGE_TREE], others);
            else
                ck_assert_uint_le(result.operation[1].sent[FTC_MESSAGE_TREE], others);
            expect_no_repair(1);
        }
}
END_TEST

/* --- traces --- */

/* Returns the run as text. The caller frees it. */
static char *trace_of(const char *operations)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    ck_assert_ptr_nonnull(out);
    run(operations, out);
    fclose(out);
    return text;
}

struct line {
    uint64_t ns;
    int rank;
    const char *words; /* what the rank does */
};

/* Takes the next line off a trace. The trace is cut. */
static bool next_line(char **trace, struct line *line)
{
    char *text = strsep(trace, "\n");
    uint64_t us, ns;
    int used = 0;

    if (text == NULL || *text == '\0')
        return false;
    ck_assert_int_eq(
        sscanf(text, "%" SCNu64 ".%3" SCNu64 " us rank %d %n", &us, &ns, &line->rank, &used), 3);
    line->ns = us * 1000 + ns;
    line->words = text + used;
    return true;
}

START_TEST(a_trace_is_in_the_order_of_time)
{
    members.ranks = 16;
    members.f = 2;
    timed.kills = 3;
    timed.think_ns = 700;
    char *text = trace_of("allreduce,bcast:3,reduce:5,validate"), *rest = text;
    struct line line;
    uint64_t last = 0;
    int calls = 0, returns = 0, dead = 0;
    while (next_line(&rest, &line)) {
        ck_assert_uint_ge(line.ns, last);
        last = line.ns;
        calls += strncmp(line.words, "calls ", 6) == 0;
        returns += strncmp(line.words, "returns ", 8) == 0;
        dead += strcmp(line.words, "dies") == 0;
    }
    free(text);
    ck_assert_int_eq(dead, 3);
    ck_assert_int_ge(returns, 4 * 13);
    ck_assert_int_ge(calls, returns);
    ck_assert_uint_eq(result.end, last);
}
END_TEST

START_TEST(each_observer_is_told_in_its_own_time)
{
    members.ranks = 40;
    timed.kills = 2;
    timed.burst = true;
    char *text = trace_of("allreduce"), *rest = text;
    struct line line;
    uint64_t earliest = UINT64_MAX, latest = 0, moment = result.death[0].time;
    int told = 0;
    ck_assert_uint_eq(result.death[1].time, moment);
    while (next_line(&rest, &line)) {
        if (strncmp(line.words, "is told", 7) != 0)
            continue;
        told++;
        earliest = line.ns < earliest ? line.ns : earliest;
        latest = line.ns > latest ? line.ns : latest;
    }
    free(text);
    ck_assert_int_eq(told, 2 * 38);
    ck_assert_uint_ge(earliest, moment + 5000);
    ck_assert_uint_le(latest, moment + 6000);
    ck_assert_uint_gt(latest - earliest, 500); /* of 1000 */
}
END_TEST

START_TEST(the_dead_get_nothing)
{
    members.ranks = 7;
    timed.kills = 1;
    timed.at_start = true;
    timed.victims = FTC_VICTIMS_HEAD;
    char *text = trace_of("reduce:0");
    ck_assert_int_eq(result.death[0].rank, 1);
    ck_assert_ptr_nonnull(strstr(text, "rank 1  dies"));
    ck_assert_ptr_nonnull(strstr(text, "rank 1  is dead and loses UP from 2"));
    ck_assert_ptr_null(strstr(text, "rank 1  calls"));
    ck_assert_ptr_null(strstr(text, "rank 1  sends"));
    free(text);
}
END_TEST

/* --- chance --- */

START_TEST(a_run_depends_on_its_seed_alone)
{
    struct test_random random = test_random_start();

    members.ranks = 33;
    members.f = 2;
    timed.kills = 4;
    timed.think_ns = 300;
    timed.distance = (struct ftc_distance_settings){FTC_DISTANCE_TORUS, 0, 40};
    timed.seed = test_random_bits(&random);
    char *first = trace_of("allreduce,barrier,bcast:1"),
         *again = trace_of("allreduce,barrier,bcast:1");
    timed.seed++;
    char *other = trace_of("allreduce,barrier,bcast:1");
    ck_assert_str_eq(first, again);
    ck_assert_str_ne(first, other);
    free(first);
    free(again);
    free(other);
}
END_TEST

START_TEST(think_keeps_ranks_outside)
{
    timed.think_ns = 100000;
    run("barrier*20", NULL);
    uint64_t before = result.end;
    ck_assert_uint_gt(before, 20 * 100000); /* the slowest of 8 ranks takes more than the mean */
    ck_assert_uint_lt(before, 20 * 201000);
    timed.think_ns = 0;
    run("barrier*20", NULL);
    ck_assert_uint_lt(result.end, 20 * 2000);
}
END_TEST

/* --- deaths --- */

START_TEST(deaths_can_be_aimed)
{
    members.ranks = 21;
    members.f = 2;
    timed.kills = 3;
    timed.at_start = true;
    timed.victims = FTC_VICTIMS_COORDINATOR;
    run("bcast:5", NULL);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(result.death[i].rank, 5 + i);
    timed.victims = FTC_VICTIMS_HEAD;
    run("allreduce", NULL);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(result.death[i].rank, 1 + i);
    timed.victims = FTC_VICTIMS_LAST_GROUP; /* 20 = 6 * 3 + 2: positions 19, 20, root */
    timed.kills = 2;
    run("allreduce", NULL);
    ck_assert_int_eq(result.death[0].rank, 19);
    ck_assert_int_eq(result.death[1].rank, 20);
}
END_TEST

START_TEST(others_spare_the_root)
{
    members.ranks = 4;
    members.f = 3;
    timed.kills = 3;
    timed.victims = FTC_VICTIMS_OTHERS;
    for (timed.seed = 0; timed.seed < 20; timed.seed++) {
        run("reduce:2", NULL);
        for (int i = 0; i < 3; i++)
            ck_assert_int_ne(result.death[i].rank, 2);
        ck_assert(result.operation[0].root_delivered);
    }
}
END_TEST

START_TEST(deaths_fall_into_the_run)
{
    members.ranks = 64;
    run("allreduce", NULL);
    uint64_t calm = result.operation[0].last_delivery, least = UINT64_MAX, most = 0;
    timed.kills = 20;
    run("allreduce", NULL);
    for (int i = 0; i < 20; i++) {
        least = result.death[i].time < least ? result.death[i].time : least;
        most = result.death[i].time > most ? result.death[i].time : most;
        for (int j = 0; j < i; j++)
            ck_assert_int_ne(result.death[i].rank, result.death[j].rank);
    }
    ck_assert_uint_lt(most, calm);
    ck_assert_uint_gt(most, calm / 2);
    ck_assert_uint_lt(least, calm / 2);
}
END_TEST

/* A death that f masks costs the detector's time once, and no second round. A death that f does not
 * mask costs more. */
START_TEST(masked_deaths_cost_one_detection)
{
    members.ranks = 100;
    members.f = 3;
    timed.kills = 3;
    timed.at_start = true;
    timed.victims = FTC_VICTIMS_HEAD;
    run("allreduce", NULL);
    ck_assert_uint_eq(result.operation[0].ballots, 1);
    ck_assert_uint_ge(latency(0), 5000);
    ck_assert_uint_lt(latency(0), 2 * 5000);
    timed.kills = 1;
    timed.victims = FTC_VICTIMS_COORDINATOR;
    run("allreduce", NULL);
    ck_assert_uint_ge(result.operation[0].retries, 1);
    ck_assert_uint_gt(result.operation[0].sent[FTC_MESSAGE_PREPARE], 0);
}
END_TEST

/* Draws everything at once, by seed. The ledger is the judge. */
START_TEST(random_runs_keep_every_promise)
{
    static const char *const operations[] = {"allreduce*2,validate", "bcast:0*3,barrier",
                                             "reduce:1,allreduce,finalize"};
    struct test_random random = test_random_start();

    for (int i = 0; i < 400; i++) {
        members.ranks = (int)test_random_between(&random, 3, 40);
        members.f = (int)test_random_between(&random, 0, 3) % members.ranks;
        members.scheme = (enum ftc_scheme)test_random_between(&random, 0, 2);
        members.correction =
            test_random_between(&random, 0, 1) != 0 ? FTC_CORRECTION_CHECKED : FTC_CORRECTION_NONE;
        members.prepare = (enum ftc_prepare)test_random_between(&random, 0, 1);
        members.rotation = (enum ftc_rotation)test_random_between(&random, 0, 1);
        timed.kills = (int)test_random_between(&random, 0, members.ranks - 1);
        timed.victims = (enum ftc_victims)test_random_between(&random, 0, FTC_VICTIMS_LAST_GROUP);
        timed.burst = test_random_chance(&random, 30);
        timed.at_start = test_random_chance(&random, 20);
        timed.think_ns = (uint64_t)test_random_between(&random, 0, 1) * 500;
        timed.detect_ns = (uint64_t)test_random_between(&random, 0, 2000);
        timed.seed = test_random_bits(&random);
        run(operations[i % 3], NULL);
    }
}
END_TEST

START_TEST(someone_must_survive)
{
    members.ranks = 4;
    timed.kills = 4;
    ck_assert_int_eq(ftc_program_parse(&program, "barrier", 4), 0);
    ck_assert_int_eq(ftc_timed_run(&members, &program, &timed, NULL, &result), FTC_ERR_ARG);
    ck_assert_ptr_nonnull(
        strstr(ftc_last_error(), "--kill 4 leaves no survivor among 4 ranks; give 0 to 3"));
}
END_TEST

/* --- with nobody to help --- */

static int reached(void)
{
    int count = 0;

    for (int rank = 0; rank < members.ranks; rank++)
        count += result.delivery[rank] != UINT64_MAX;
    return count;
}

/* Rank 0 sends to 4, 4 to 5 and 6, 6 to 7. A rank behind a dead one is never reached, and no rank
 * asks. */
START_TEST(nobody_is_told_and_nobody_asks)
{
    timed.alone = timed.at_start = true;
    timed.victims = FTC_VICTIMS_OTHERS;
    timed.kills = 3;
    int missed = 0;
    for (timed.seed = 1; timed.seed <= 20; timed.seed++) {
        teardown();
        ck_assert_int_eq(ftc_program_parse(&program, "bcast:0", members.ranks), 0);
        ck_assert_int_eq(ftc_timed_run(&members, &program, &timed, NULL, &result), 0);
        ck_assert_str_eq(result.violation, "");
        ck_assert_int_eq(reached(), result.operation[0].deliveries);
        ck_assert_uint_eq(result.delivery[result.death[0].rank], UINT64_MAX);
        ck_assert_uint_eq(result.operation[0].sent[FTC_MESSAGE_PULL], 0);
        missed += 5 - reached();
    }
    ck_assert_int_gt(missed, 0);
    members.correction = FTC_CORRECTION_CHECKED;
    run("bcast:0", NULL); /* reaches all of them */
    ck_assert_uint_gt(result.corrected, 0);
}
END_TEST

/* The root multicasts at 0 and sends to its successor at 10. All others have the datagram at 120.
 * The successor receives once more and sends at 130; the others send at 120. */
START_TEST(a_multicast_reaches_all_at_once)
{
    members.dissemination = FTC_DISSEMINATION_MULTICAST;
    members.correction = FTC_CORRECTION_RING;
    members.fragment = 1000;
    members.multicast_most = 1000;
    timed.alone = true;
    run("bcast:3", NULL);
    for (int rank = 0; rank < members.ranks; rank++)
        ck_assert_uint_eq(result.delivery[rank], rank == 3 ? 0 : 120);
    ck_assert_uint_eq(result.quiet, 130 + 120);
    ck_assert_uint_eq(result.operation[0].sent[FTC_MESSAGE_FRAGMENT], 1 + 7);
    ck_assert_uint_eq(result.corrected, 7);
    timed.loss_ppm = 1000000;
    run("bcast:3", NULL); /* hop by hop; the first message leaves 10 later */
    for (int hop = 0; hop < members.ranks; hop++)
        ck_assert_uint_eq(result.delivery[(3 + hop) % 8], hop == 0 ? 0 : 10 + 120 * (uint64_t)hop);
}
END_TEST

/* The longest path has three hops, each up to 1000 longer. A hop is never shorter, and depends on
 * the seed alone. */
START_TEST(noise_makes_channels_longer)
{
    uint64_t least = UINT64_MAX, most = 0;

    timed.noise_ns = 1000;
    for (timed.seed = 1; timed.seed <= 50; timed.seed++) {
        run("bcast:0", NULL);
        uint64_t time = latency(0);
        least = time < least ? time : least;
        most = time > most ? time : most;
        run("bcast:0", NULL);
        ck_assert_uint_eq(latency(0), time);
    }
    ck_assert_uint_ge(least, 3 * 120);
    ck_assert_uint_le(most, 3 * 1120);
    ck_assert_uint_gt(most, least + 500);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timed");
    TCase *times = tcase_create("time"), *messages = tcase_create("messages"),
          *traces = tcase_create("trace"), *deaths = tcase_create("deaths"),
          *alone = tcase_create("alone");

    test_seed_announce();
    tcase_add_checked_fixture(times, setup, teardown);
    tcase_add_test(times, dissemination_takes_what_the_literature_says);
    tcase_add_test(times, a_small_message_costs_l_and_two_o);
    tcase_add_test(times, sends_keep_the_gap);
    tcase_add_test(times, long_messages_leave_byte_by_byte);
    tcase_add_test(times, combining_costs_c_for_each_byte);
    tcase_add_test(times, simultaneous_messages_are_received_one_after_the_other);
    tcase_add_test(times, farther_ranks_hear_later);
    tcase_add_test(times, a_head_that_stands_still_costs_what_take_says);
    suite_add_tcase(suite, times);
    tcase_add_checked_fixture(messages, setup, teardown);
    tcase_add_test(messages, failure_free_messages_are_those_of_the_theorem);
    suite_add_tcase(suite, messages);
    tcase_add_checked_fixture(traces, setup, teardown);
    tcase_add_test(traces, a_trace_is_in_the_order_of_time);
    tcase_add_test(traces, each_observer_is_told_in_its_own_time);
    tcase_add_test(traces, the_dead_get_nothing);
    tcase_add_test(traces, a_run_depends_on_its_seed_alone);
    tcase_add_test(traces, think_keeps_ranks_outside);
    suite_add_tcase(suite, traces);
    tcase_add_checked_fixture(deaths, setup, teardown);
    tcase_add_test(deaths, deaths_can_be_aimed);
    tcase_add_test(deaths, others_spare_the_root);
    tcase_add_test(deaths, deaths_fall_into_the_run);
    tcase_add_test(deaths, masked_deaths_cost_one_detection);
    tcase_add_test(deaths, random_runs_keep_every_promise);
    tcase_add_test(deaths, someone_must_survive);
    suite_add_tcase(suite, deaths);
    tcase_add_checked_fixture(alone, setup, teardown);
    tcase_add_test(alone, nobody_is_told_and_nobody_asks);
    tcase_add_test(alone, a_multicast_reaches_all_at_once);
    tcase_add_test(alone, noise_makes_channels_longer);
    suite_add_tcase(suite, alone);
    return test_suite_run(suite);
}
