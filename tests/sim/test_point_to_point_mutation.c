/*
 * Tests the prover itself: runs find each fault of point-to-point
 * (collectives/point_to_point/mutation.h) within a budget. The faults are compiled into this
 * program alone. Seeds are fixed, so that the same runs find a fault every time.
 */
#include "collectives/mutation.h"
#include "collectives/point_to_point/mutation.h"
#include "sim/point_to_point/messages.h"
#include "tests/suite.h"

#define BUDGET   50000
#define HARMLESS 5000

enum ftc_matching_mutation ftc_matching_mutation;
enum ftc_mutation ftc_mutation;

static const char *const words[FTC_MATCHING_MUTATIONS_COUNT] = {"sound",
#define WORDS(name, text) text,
                                                                FTC_MATCHING_MUTATIONS_LIST(WORDS)
#undef WORDS
};

/* The number of runs until a promise is broken; `most` + 1 if none was. */
static int find(enum ftc_matching_mutation mutation, int most)
{
    struct ftc_messages_sums sums = {0};
    struct ftc_messages_story story;
    char violation[FTC_MESSAGES_WORDS] = "not found";
    int runs = 1;

    ftc_matching_mutation = mutation;
    for (bool kept = true; kept && runs <= most; runs += kept) {
        ftc_messages_draw(&story, (uint64_t)runs);
        kept = ftc_messages_run(&story, &sums, NULL, violation);
    }
    printf("%s: run %d: %s\n", words[mutation], runs, violation);
    return runs;
}

START_TEST(a_fault_is_found)
{
    ck_assert_msg(find((enum ftc_matching_mutation)_i, BUDGET) <= BUDGET, "%d runs do not find: %s",
                  BUDGET, words[_i]);
}
END_TEST

/* The switch that selects faults changes nothing by itself. */
START_TEST(a_sound_one_keeps_its_promises)
{
    ck_assert_int_gt(find(FTC_MATCHING_MUTATION_NONE, HARMLESS), HARMLESS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mutations of point-to-point");
    TCase *tcase = tcase_create("faults");

    tcase_set_timeout(tcase, TEST_SANITIZED ? 300 : 60);
    tcase_add_loop_test(tcase, a_fault_is_found, FTC_MATCHING_MUTATION_NONE + 1,
                        FTC_MATCHING_MUTATIONS_COUNT);
    tcase_add_test(tcase, a_sound_one_keeps_its_promises);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
