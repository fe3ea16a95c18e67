/*
 * Tests what each dissemination with each correction promises by itself, over random runs. The
 * agreement core makes two faults of a correction harmless; the test finds them where nobody helps.
 * The runs have fixed seeds.
 */
#include <string.h>

#include "collectives/mutation.h"
#include "sim/model/cluster.h"
#include "sim/model/pair.h"
#include "sim/reach/reach.h"
#include "tests/suite.h"

#define RUNS   1000
#define BUDGET 20000 /* runs to find a fault */

enum ftc_mutation ftc_mutation;

struct sums {
    /* Numbers of runs: all; with dead ranks; where a dead rank had the value; where a survivor was
     * missed. */
    int done, dead, coloured, missed;
};

static void draw(struct ftc_reach_run *run, struct ftc_pair pair, uint64_t seed)
{
    struct ftc_member_settings plain = ftc_cluster_settings(1, 0);

    ftc_pair_apply(pair, &plain);
    ftc_reach_draw(run, &plain, 2, FTC_REACH_RANKS, seed);
}

/* Runs up to the first broken promise. Returns false if there is one, and describes it in
 * `words`. */
static bool reach(struct ftc_pair pair, int runs, struct sums *sums, char words[FTC_REACH_WORDS])
{
    struct ftc_reach_run run;
    struct ftc_reach_result result = {.kept = true};

    *sums = (struct sums){0};
    while (result.kept && sums->done < runs) {
        draw(&run, pair, (uint64_t)++sums->done);
        ftc_reach_run(&run, &result);
        sums->dead += result.live < run.settings.ranks;
        sums->coloured += result.coloured_deaths > 0;
        sums->missed += result.missed > 0;
    }
    memcpy(words, result.words, FTC_REACH_WORDS);
    return result.kept;
}

START_TEST(a_pair_keeps_its_promise)
{
    char words[FTC_REACH_WORDS], name[FTC_PAIR_NAME];
    struct sums sums;

    ftc_pair_name(ftc_pair_at(_i), name);
    ftc_mutation = FTC_MUTATION_NONE;
    ck_assert_msg(reach(ftc_pair_at(_i), RUNS, &sums, words), "%s, seed %d: %s", name, sums.done,
                  words);
    ck_assert_msg(sums.dead > RUNS / 2 && sums.dead < RUNS, "%s: ranks die in %d runs", name,
                  sums.dead);
    ck_assert_msg(sums.coloured > 0 && sums.missed > 0, "%s: %d and %d", name, sums.coloured,
                  sums.missed);
}
END_TEST

/* Otherwise the promises say nothing: the correction must reach the ranks that gossip missed. */
START_TEST(sure_corrections_miss_less)
{
    char words[FTC_REACH_WORDS];
    struct sums none, checked;
    struct ftc_pair pair = {.dissemination = FTC_DISSEMINATION_GOSSIP};

    ck_assert(reach(pair, RUNS, &none, words));
    pair.correction = FTC_CORRECTION_CHECKED;
    ck_assert(reach(pair, RUNS, &checked, words));
    ck_assert_int_gt(none.missed, 10 * checked.missed);
}
END_TEST

/* --- faults --- */

static const struct {
    enum ftc_mutation mutation;
    enum ftc_correction correction;
} faults[] = {
    {FTC_MUTATION_NEVER_JOIN, FTC_CORRECTION_FAILURE_PROOF},
    {FTC_MUTATION_LEAVE_OUT_WHOLE_SIDE, FTC_CORRECTION_OPTIMISED},
};

/* The fault shows with every dissemination, and with no correction but the one that has it. */
START_TEST(a_fault_is_found)
{
    char words[FTC_REACH_WORDS], name[FTC_PAIR_NAME];
    struct sums sums;

    for (int i = 0; i < FTC_PAIRS; i++) {
        struct ftc_pair pair = ftc_pair_at(i);
        bool faulty = pair.correction == faults[_i].correction;
        ftc_mutation = faults[_i].mutation;
        bool kept = reach(pair, faulty ? BUDGET : RUNS / 10, &sums, words);
        ftc_mutation = FTC_MUTATION_NONE;
        ftc_pair_name(pair, name);
        ck_assert_msg(kept == !faulty, "%s, run %d: %s", name, sums.done,
                      kept ? "not found" : words);
        if (!kept)
            printf("%s, seed %d: %s\n", name, sums.done, words);
    }
}
END_TEST

/* --- drawing and names --- */

START_TEST(a_seed_is_a_run)
{
    struct ftc_reach_run a, b;
    struct ftc_reach_result first, again;

    for (int i = 0; i < 200; i++) {
        draw(&a, ftc_pair_at(i % FTC_PAIRS), (uint64_t)i);
        draw(&b, ftc_pair_at(i % FTC_PAIRS), (uint64_t)i);
        ftc_reach_run(&a, &first);
        ftc_reach_run(&b, &again);
        ck_assert_int_ge(a.settings.ranks, 2);
        ck_assert_int_le(a.settings.ranks, FTC_REACH_RANKS);
        ck_assert(first.live == again.live && first.missed == again.missed &&
                  first.coloured_deaths == again.coloured_deaths);
    }
}
END_TEST

START_TEST(pairs_have_names)
{
    struct ftc_pair pair;
    char name[FTC_PAIR_NAME], again[FTC_PAIR_NAME];

    for (int i = 0; i < FTC_PAIRS; i++) {
        ftc_pair_name(ftc_pair_at(i), name);
        ck_assert_int_eq(ftc_pair_parse(&pair, name), 0);
        ck_assert_str_eq(ftc_pair_name(pair, again), name);
    }
    ck_assert_int_eq(ftc_pair_parse(&pair, "fcg"), 0);
    ck_assert_str_eq(ftc_pair_name(pair, name), "gossip+failure-proof");
    ck_assert_int_eq(ftc_pair_parse(&pair, "corrected-tree"), 0);
    ck_assert_str_eq(ftc_pair_name(pair, name), "binomial+checked");
    ck_assert_int_eq(ftc_pair_parse(&pair, "multicast-ring"), 0);
    ck_assert_str_eq(ftc_pair_name(pair, name), "multicast+ring");
    ck_assert_int_eq(ftc_pair_parse(&pair, "multicast"), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_pair_parse(&pair, "tree+checked"), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_pair_parse(&pair, ""), FTC_ERR_ARG);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reach");
    TCase *promises = tcase_create("promises"), *faulty = tcase_create("faults"),
          *small = tcase_create("small");

    tcase_add_loop_test(promises, a_pair_keeps_its_promise, 0, FTC_PAIRS);
    tcase_add_test(promises, sure_corrections_miss_less);
    suite_add_tcase(suite, promises);
    tcase_add_loop_test(faulty, a_fault_is_found, 0, (int)(sizeof(faults) / sizeof(faults[0])));
    suite_add_tcase(suite, faulty);
    tcase_add_test(small, a_seed_is_a_run);
    tcase_add_test(small, pairs_have_names);
    suite_add_tcase(suite, small);
    return test_suite_run(suite);
}
