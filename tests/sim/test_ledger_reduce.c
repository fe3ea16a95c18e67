/* Tests the promises of a plain reduce. There the ranks agree on nothing, and only the root gets a
 * value. */
#include <string.h>

#include "job.h"
#include "tests/suite.h"

static struct job job;

static void setup(void)
{
    job_begin(&job, 4, 1);
}

static void teardown(void)
{
    job_end(&job);
}

static void of_a_leaf(struct ftc_output *output)
{
    output->status = FTC_ERR_TOO_MANY_FAILURES;
}

static void with_a_decision(struct ftc_output *output)
{
    static struct ftc_decision decision;
    output->decision = &decision;
}

static void by_giving_up(struct ftc_output *output)
{
    if (output->result.buffer != NULL)
        output->status = FTC_ERR_TOO_MANY_FAILURES;
}

static void by_failing(struct ftc_output *output)
{
    if (output->result.buffer != NULL)
        output->status = FTC_ERR_ROOT_FAILED;
}

static void without_counts(struct ftc_output *output)
{
    if (output->kind == FTC_OUTPUT_DELIVER && output->result.buffer != NULL)
        memset(ftc_value_bytes(&output->result), 0, output->result.size);
}

static void too_short(struct ftc_output *output)
{
    output->result.size -= 1;
}

static void naming_the_living(struct ftc_output *output)
{
    if (output->kind == FTC_OUTPUT_DELIVER)
        ftc_set_add(&job.member[0]->report_failed, 2);
}

static const struct {
    void (*tamper)(struct ftc_output *output);
    const char *words;
} reduces[] = {
    {of_a_leaf, "to a rank that is not its root"},
    {with_a_decision, "plain reduce 0 delivers a decision"},
    {by_giving_up, "rank 0: plain reduce 0 gives up after 0 failures"},
    {by_failing, "rank 0: plain reduce 0 returns"},
    {without_counts, "rank 0: operation 0 leaves live rank 0 out"},
    {too_short, "rank 0: operation 0 has a value of 7 bytes"},
    {naming_the_living, "rank 0: plain reduce 0 reports a live rank as failed"},
};

START_TEST(a_plain_reduce_delivers_a_value_at_its_root)
{
    job_open(&job, "reduce:0", NULL);
    job.tamper = reduces[_i].tamper;
    job_all_call(&job);
    job_deliver_letters(&job);
    job_broken(&job, reduces[_i].words);
}
END_TEST

START_TEST(a_plain_reduce_gives_up_after_more_than_f_failures)
{
    job_open(&job, "reduce:0", NULL);
    job_kill(&job, 1); /* ranks 1 and 2 are the heads of both subtrees */
    job_kill(&job, 2);
    job_tell_all(&job, 1);
    job_tell_all(&job, 2);
    job_run(&job);
    job_kept(&job);
    ck_assert_int_eq(ftc_ledger_status(job.ledger, 0, 0), FTC_ERR_TOO_MANY_FAILURES);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ledger: plain reduces");
    TCase *tcase = tcase_create("reduces");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, a_plain_reduce_delivers_a_value_at_its_root, 0,
                        (int)(sizeof(reduces) / sizeof(reduces[0])));
    tcase_add_test(tcase, a_plain_reduce_gives_up_after_more_than_f_failures);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
