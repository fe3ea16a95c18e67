/*
 * Explores two levels (docs/design/nodes.md) exhaustively: four to six ranks on two or three nodes,
 * with deaths between post, decision word and each send. Each fault of the protocol, or of its
 * driver, must break a promise there.
 */
#include "explore_nodes.h"

/* --- promises that are kept --- */

static const struct nodes_job sound[] = {
    {.n = 4, .nodes = 2, .f = 1, .crashes = 3, .program = "allreduce*2"},
    {.n = 4, .nodes = 2, .f = 0, .crashes = 2, .program = "allreduce*3"},
    {.n = 4,
     .nodes = 2,
     .f = 2,
     .crashes = 3,
     .program = "allreduce,barrier",
     .rotation = FTC_ROTATION_SPREAD},
    {.n = 4,
     .nodes = 2,
     .f = 1,
     .crashes = 3,
     .program = "validate*2",
     .rotation = FTC_ROTATION_SPREAD},
    {.n = 4, .nodes = 2, .f = 1, .crashes = 2, .program = "allreduce*2", .share = FTC_SHARE_OFF},
    {.n = 4,
     .nodes = 2,
     .f = 1,
     .crashes = 2,
     .program = "allreduce*2",
     .correction = FTC_CORRECTION_CHECKED},
    {.n = 4,
     .nodes = 2,
     .f = 1,
     .crashes = 2,
     .program = "allreduce",
     .dissemination = FTC_DISSEMINATION_GOSSIP},
    {.n = 4,
     .nodes = 3,
     .f = 1,
     .crashes = 3,
     .program = "allreduce*2",
     .prepare = FTC_PREPARE_TREE},
    /* Contributions stay apart. */
    {.n = 4, .nodes = 2, .f = 1, .crashes = 2, .program = "allgather,reduce_scatter"},
    {.n = 4,
     .nodes = 2,
     .f = 1,
     .crashes = 3,
     .program = "alltoall,allreduce-ordered",
     .rotation = FTC_ROTATION_SPREAD},
    {.n = 4, .nodes = 2, .f = 1, .crashes = 2, .program = "reduce-ordered:3,allgather"},
    {.n = 4, .nodes = 2, .f = 1, .crashes = 2, .program = "allgather*2", .doubling = 2},
    {.n = 5, .nodes = 2, .f = 1, .crashes = 2, .program = "allreduce"},
    {.n = 5, .nodes = 3, .f = 1, .crashes = 2, .program = "allreduce"},
    /* An operation in between is by messages among all ranks. */
    {.n = 4, .nodes = 2, .f = 0, .crashes = 2, .program = "allreduce,bcast:3,allreduce", .most = 5},
    {.n = 4,
     .nodes = 2,
     .f = 1,
     .crashes = 1,
     .program = "reduce:3,validate,bcast:3,allreduce",
     .most = 3},
    {.n = 4,
     .nodes = 2,
     .f = 1,
     .crashes = 2,
     .program = "allreduce,bcast:1",
     .most = 3,
     .settle_every = 1},
    {.n = 4, .nodes = 2, .f = 0, .crashes = 2, .program = "allreduce,bcast:1*2,bcast:3", .most = 3},
    /* The root is in the middle of its node, or first of it, and another rank each time. */
    {.n = 4, .nodes = 2, .f = 1, .crashes = 3, .program = "bcast:1,bcast:3,allreduce"},
    {.n = 4, .nodes = 2, .f = 1, .crashes = 3, .program = "bcast:1,reduce:2,bcast:1"},
    {.n = 4, .nodes = 2, .f = 0, .crashes = 2, .program = "reduce:1,bcast:3,reduce:3,bcast:0"},
    {.n = 4, .nodes = 2, .f = 1, .crashes = 2, .program = "bcast:1*4", .settle_every = 2},
    {.n = 4, .nodes = 2, .f = 1, .crashes = 2, .program = "bcast:3*3", .prepare = FTC_PREPARE_TREE},
    {.n = 4,
     .nodes = 2,
     .f = 1,
     .crashes = 2,
     .program = "bcast:1*2",
     .correction = FTC_CORRECTION_CHECKED,
     .dissemination = FTC_DISSEMINATION_GOSSIP},
    {.n = 5, .nodes = 2, .f = 1, .crashes = 2, .program = "bcast:1*2"},
    /* Delegates exchange. */
    {.n = 4, .nodes = 2, .f = 1, .crashes = 3, .program = "allreduce*2", .doubling = 2},
    {.n = 4, .nodes = 3, .f = 0, .crashes = 2, .program = "allreduce,validate", .doubling = 3},
    {.n = 5, .nodes = 3, .f = 1, .crashes = 2, .program = "allreduce", .doubling = 4},
    {.n = 4,
     .nodes = 2,
     .f = 1,
     .crashes = 2,
     .program = "allreduce,bcast:1,barrier",
     .doubling = 2},
    {.n = 5, .nodes = 3, .f = 1, .crashes = 1, .program = "bcast:1,reduce:3,bcast:4"},
};

START_TEST(every_promise_is_kept)
{
    nodes_keep_promises(&sound[_i], (struct ftc_explore_limits){0});
}
END_TEST

START_TEST(reductions_lose_no_outcome)
{
    static const struct nodes_job jobs[] = {
        {.n = 3, .nodes = 2, .f = 1, .crashes = 2, .program = "allreduce"},
        {.n = 4, .nodes = 2, .f = 1, .crashes = 1, .program = "allreduce"},
    };

    for (int j = 0; j < ROWS(jobs); j++)
        nodes_lose_no_outcome(&jobs[j]);
}
END_TEST

/* --- faults --- */

static const struct nodes_fault faults[] = {
    {"decide though a node that has live ranks lost its delegate",
     FTC_MUTATION_LEAVE_OUT_NODE,
     {0},
     "allreduce",
     0},
    {"UP does not say whose input its node lacks",
     FTC_MUTATION_UP_WITHOUT_LIST,
     {0},
     "allreduce",
     0},
    {"UP does not say whose contribution the list of its node lacks",
     FTC_MUTATION_UP_WITHOUT_LIST,
     {0},
     "allgather",
     0},
    {"a new delegate waits to be called", FTC_MUTATION_NO_BALLOT_FOR_DELEGATE, {0}, "allreduce", 0},
    {"a new delegate's call for a ballot is ignored",
     FTC_MUTATION_DELEGATE_IGNORED,
     {0},
     "allreduce",
     0},
    {"no look at the decision word", FTC_MUTATION_NONE, {.late_look = true}, "allreduce", 0},
    {"posts of another history count",
     FTC_MUTATION_NONE,
     {.no_epoch = true},
     "bcast:3,allreduce",
     5},
    {"returned before the word is written, and posts of another history count",
     FTC_MUTATION_NONE,
     {.no_epoch = true, .late_word = true},
     "allreduce*2",
     0},
    {"a word is written over before all of the node have read it",
     FTC_MUTATION_NONE,
     {.far_ahead = true},
     "bcast:1*3",
     0},
    {"a decision is forgotten as soon as the word of a later broadcast is found",
     FTC_MUTATION_FORGET_ON_WORD,
     {0},
     "bcast:2*2",
     0},
    {"a broadcast with a reduce does not wait for its node, and settles what went by messages "
     "among all",
     FTC_MUTATION_NONE,
     {.no_gather = true},
     "allreduce,bcast:1",
     3},
    {"a broadcast's later ballot settles what went by messages among all",
     FTC_MUTATION_SETTLE_BY_NODES,
     {0},
     "allreduce,bcast:1",
     3},
    {"the lowest rank acts for its node though the root is there",
     FTC_MUTATION_ROOT_NOT_FIRST,
     {0},
     "bcast:1",
     0},
};

START_TEST(a_fault_is_found)
{
    nodes_find(&faults[_i],
               (struct nodes_job){.n = 4,
                                  .nodes = 2,
                                  .f = 1,
                                  .crashes = 3,
                                  .settle_every = faults[_i].limits.no_gather ? 1 : 0});
}
END_TEST

/* A rank that returns before the word is written posts for the next operation under another
 * history. That post counts no more than the rank itself. The protocol keeps the order all the
 * same, and so needs no proof of this. */
START_TEST(to_return_before_the_word_is_written_is_harmless)
{
    static const struct nodes_job job = {
        .n = 4, .nodes = 2, .f = 1, .crashes = 2, .program = "allreduce*3"};

    nodes_keep_promises(&job, (struct ftc_explore_limits){.late_word = true});
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("explore_levels");
    TCase *kept = tcase_create("kept"), *found = tcase_create("found");

    tcase_set_timeout(kept, 300);
    tcase_add_loop_test(kept, every_promise_is_kept, 0, ROWS(sound));
    tcase_add_test(kept, reductions_lose_no_outcome);
    tcase_add_test(kept, to_return_before_the_word_is_written_is_harmless);
    tcase_set_timeout(found, 300);
    tcase_add_loop_test(found, a_fault_is_found, 0, ROWS(faults));
    suite_add_tcase(suite, kept);
    suite_add_tcase(suite, found);
    return test_suite_run(suite);
}
