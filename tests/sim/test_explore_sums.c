/*
 * Explores reduces over two levels whose senders go on (docs/design/nodes.md, S1 to S8): four ranks
 * on two nodes, with deaths between the post, the sum, what the root answers, and the next post.
 * Each fault must break a promise there.
 */
#include "explore_nodes.h"

/* --- promises that are kept --- */

static const struct nodes_job sound[] = {
    {4, 2, 1, 3, "reduce:0", 0, .plain = true},
    {4, 2, 1, 3, "reduce:0*2", 0, .plain = true},
    /* The third reduce writes over the posts of the first one. */
    {4, 2, 1, 3, "reduce:0*3", 0, .plain = true},
    {4, 2, 1, 2, "reduce:0*4", 0, .plain = true},
    {4, 2, 1, 3, "reduce:3,reduce:0", 0, .plain = true},
    {4, 2, 1, 2, "reduce:1,reduce:3,reduce:0", 0, .plain = true},
    /* Agreements and broadcasts before, after and in between. */
    {4, 2, 1, 3, "allreduce,reduce:1", 0, .plain = true},
    {4, 2, 1, 3, "reduce:1,allreduce", 0, .plain = true},
    {4, 2, 1, 2, "reduce:3,validate", 0, .plain = true},
    {4, 2, 1, 2, "reduce:0,allreduce,reduce:0", 0, .plain = true},
    {4, 2, 1, 1, "allreduce,reduce:2,allreduce", 0, .plain = true},
    {4, 2, 1, 2, "bcast:2,reduce:0", 0, .plain = true},
    {4, 2, 1, 2, "reduce:0,bcast:2,reduce:0", 0, .plain = true},
    /* The operation in between goes by messages among all ranks. */
    {4, 2, 1, 2, "bcast:3,reduce:0", 5, .plain = true},
    {4, 2, 1, 1, "reduce:0,bcast:3,reduce:1", 5, .plain = true},
    {4, 2, 1, 1, "reduce:0,reduce:3,reduce:2*2", 0, .plain = true},
    {4, 3, 1, 2, "reduce:3*2", 0, .plain = true},
    {5, 2, 1, 2, "reduce:0", 0, .plain = true},
};

START_TEST(every_promise_is_kept)
{
    nodes_keep_promises(&sound[_i], (struct ftc_explore_limits){0});
}
END_TEST

START_TEST(reductions_lose_no_outcome)
{
    nodes_lose_no_outcome(&(struct nodes_job){4, 2, 1, 1, "reduce:0", 0, .plain = true});
}
END_TEST

/* --- faults --- */

static const struct nodes_fault faults[] = {
    {"a post is written over before its sum is taken",
     FTC_MUTATION_NONE,
     {.overwrites = true},
     "reduce:0*3",
     0},
    {"a new delegate does not send again", FTC_MUTATION_NONE, {.no_resend = true}, "reduce:0*2", 0},
    {"posts of another history count",
     FTC_MUTATION_NONE,
     {.no_epoch = true},
     "bcast:3,reduce:0",
     5},
    {"the root takes two sums of a node", FTC_MUTATION_SUMS_TWICE, {0}, "reduce:0", 0},
    {"the root takes the sum of another reduce",
     FTC_MUTATION_SUMS_OF_ANOTHER,
     {0},
     "reduce:0*2",
     0},
    {"a node is written off with its delegate", FTC_MUTATION_SUMS_OF_DELEGATES, {0}, "reduce:0", 0},
    {"a sum does not say whose input it lacks", FTC_MUTATION_UP_WITHOUT_LIST, {0}, "reduce:0", 0},
    {"a dead delegate is told that its sum is taken",
     FTC_MUTATION_SUMS_FIRST_SENDER,
     {0},
     "reduce:0*3",
     0},
    {"a root that goes on to another call does not answer before",
     FTC_MUTATION_SUMS_OWED_FOR_EVER,
     {0},
     "reduce:0,bcast:2,reduce:0",
     0},
    {"a sum that comes late is not answered", FTC_MUTATION_SUMS_UNANSWERED, {0}, "reduce:0*3", 0},
};

START_TEST(a_fault_is_found)
{
    nodes_find(&faults[_i],
               (struct nodes_job){.n = 4, .nodes = 2, .f = 1, .crashes = 2, .plain = true});
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("explore_sums");
    TCase *kept = tcase_create("kept"), *found = tcase_create("found");

    tcase_set_timeout(kept, 300);
    tcase_add_loop_test(kept, every_promise_is_kept, 0, ROWS(sound));
    tcase_add_test(kept, reductions_lose_no_outcome);
    tcase_set_timeout(found, 300);
    tcase_add_loop_test(found, a_fault_is_found, 0, ROWS(faults));
    suite_add_tcase(suite, kept);
    suite_add_tcase(suite, found);
    return test_suite_run(suite);
}
