/* The ledger notices each broken promise of an operation whose contributions stay apart, and of a
 * scatter (agreement.md, "Operations"). */
#include <string.h>

#include "collectives/values/blocks.h"
#include "job.h"
#include "tests/suite.h"

static struct job job;

static const int everyone[] = {0, 1, 2, 3, -1}, all_but_3[] = {0, 1, 2, -1};

static void setup(void)
{
    job_begin(&job, 4, 1);
}

static void teardown(void)
{
    job_end(&job);
}

static const char *const all_kinds = "allgather,gather:1,scatter:2*2,alltoall,reduce_scatter,scan,"
                                     "exscan,sizes,allreduce-ordered,reduce-ordered:0,finalize";

START_TEST(an_honest_job_keeps_every_promise)
{
    job.settings.scheme = (enum ftc_scheme)(_i / 2);
    job_open(&job, all_kinds, NULL);
    job_all_call(&job);
    if (_i % 2 == 1) {
        job_kill(&job, 2);
        job_tell_all(&job, 2);
    }
    job_run(&job);
    job_kept(&job);
    ck_assert_int_eq(ftc_ledger_counts(job.ledger, 0, 3, 0), 1);
    ck_assert_int_eq(ftc_ledger_counts(job.ledger, 1, 1, 3), 1);
    ck_assert_int_eq(ftc_ledger_counts(job.ledger, 1, 0, 3), -1); /* not the root */
    ck_assert_int_eq(ftc_ledger_status(job.ledger, 3, 0),
                     _i % 2 == 1 ? FTC_ERR_ROOT_FAILED : FTC_SUCCESS);
}
END_TEST

START_TEST(a_live_rank_is_left_out)
{
    job_open(&job, "allgather", NULL);
    job_all_call(&job);
    job_decide(&job, 1, job_decision(&job, 1, all_but_3));
    job_broken(&job, "rank 1: operation 0 leaves live rank 3 out");
}
END_TEST

/* With `list` only. */
START_TEST(a_rank_that_is_left_out_is_named)
{
    job.settings.scheme = (enum ftc_scheme)_i;
    job_open(&job, "scan", NULL);
    job_all_call(&job);
    job_kill(&job, 3);
    job_tell(&job, 1, 3);
    job_decide(&job, 1, job_decision(&job, 1, all_but_3));
    if (job.settings.scheme == FTC_SCHEME_LIST)
        job_broken(&job, "rank 1: operation 0 leaves rank 3 out and does not name it");
    else
        job_kept(&job);
}
END_TEST

/* It has given its block, and died. A caller drops the block. */
START_TEST(a_rank_that_is_named_may_have_given_its_block)
{
    job_open(&job, "alltoall", NULL);
    job_all_call(&job);
    job_kill(&job, 3);
    struct ftc_decision *decision = job_decision(&job, 1, everyone);
    ftc_set_add(&decision->failed, 3);
    job_decide(&job, 1, decision);
    job_kept(&job);
}
END_TEST

/* --- outputs that nobody made --- */

static struct ftc_value changed; /* what is delivered in place of the value */

static void deliver_changed(struct ftc_output *output)
{
    static struct ftc_decision decision;

    if (output->kind != FTC_OUTPUT_DELIVER || output->result.buffer == NULL)
        return;
    output->result = changed;
    if (output->decision == NULL)
        return;
    decision = *output->decision;
    decision.value = changed;
    output->decision = &decision;
}

/* Runs the operation. All ranks deliver the list of everyone with `by` added to the byte at
 * `at`, counted from its end if it is negative, and with `size` bytes more. */
static void run_changed(const char *operation, int at, int by, int size)
{
    job_open(&job, operation, NULL);
    job_all_call(&job);
    struct ftc_value list = job_value(&job, 0, everyone);
    changed = (struct ftc_value){.buffer = ftc_buffer_new(list.size + 4), .size = list.size};
    memcpy(changed.buffer->data, ftc_value_bytes(&list), list.size);
    changed.buffer->data[at < 0 ? (int)list.size + at : at] += (unsigned char)by;
    changed.size += (size_t)size;
    job.tamper = deliver_changed;
    job_deliver_letters(&job);
    ftc_value_drop(&list);
}

static const struct {
    const char *operation;
    int at, by, size;
    const char *words;
} lists[] = {
    {"allgather", -1, 1, 0, "does not have what rank"},
    {"gather:0", -1, 1, 0, "does not have what rank"},
    {"allreduce-ordered", -1, 1, 0, "does not have what rank"},
    {"reduce-ordered:0", -1, 1, 0, "does not have what rank"},
    {"allgather", 0, 1, 0, "a list that makes no sense"},  /* one block more */
    {"allgather", 4, 1, 0, "a list that makes no sense"},  /* rank 4 in place of 3 */
    {"allgather", 12, 1, 0, "a list that makes no sense"}, /* rank 3 twice */
    {"allgather", -1, 0, 1, "a list that makes no sense"}, /* a byte too many */
    {"gather:0", 12, 1, 0, "a list that makes no sense"},
    {"exscan", -1, 0, -1, "a list that makes no sense"},
};

START_TEST(a_list_has_what_the_ranks_have_given)
{
    run_changed(lists[_i].operation, lists[_i].at, lists[_i].by, lists[_i].size);
    job_broken(&job, lists[_i].words);
    ftc_value_drop(&changed);
}
END_TEST

static void scatter_another(struct ftc_output *output)
{
    if (output->kind == FTC_OUTPUT_DELIVER)
        ftc_value_bytes(&output->result)[3] ^= 1;
}

START_TEST(a_scatter_delivers_what_its_root_gives)
{
    job_open(&job, "scatter:2", NULL);
    job.tamper = scatter_another;
    job_all_call(&job);
    job_deliver_letters(&job);
    job_broken(&job, "operation 0 does not deliver what root 2 sent");
}
END_TEST

static void give_up(struct ftc_output *output)
{
    if (output->result.buffer != NULL)
        output->status = FTC_ERR_TOO_MANY_FAILURES;
}

START_TEST(a_gather_does_not_give_up_without_failures)
{
    job_open(&job, "gather:0", NULL);
    job.tamper = give_up;
    job_all_call(&job);
    job_deliver_letters(&job);
    job_broken(&job, "rank 0: plain reduce 0 gives up after 0 failures");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ledger: blocks");
    TCase *tcase = tcase_create("blocks");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, an_honest_job_keeps_every_promise, 0, 6);
    tcase_add_test(tcase, a_live_rank_is_left_out);
    tcase_add_loop_test(tcase, a_rank_that_is_left_out_is_named, 0, 3);
    tcase_add_test(tcase, a_rank_that_is_named_may_have_given_its_block);
    tcase_add_loop_test(tcase, a_list_has_what_the_ranks_have_given, 0,
                        (int)(sizeof(lists) / sizeof(lists[0])));
    tcase_add_test(tcase, a_scatter_delivers_what_its_root_gives);
    tcase_add_test(tcase, a_gather_does_not_give_up_without_failures);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
