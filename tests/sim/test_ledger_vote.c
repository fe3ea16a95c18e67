/* Tests what a comparison of the results of subtrees promises (agreement.md, "Vote"). The ledger
 * knows which bits have changed. */
#include "collectives/values/flip.h"
#include "job.h"
#include "tests/suite.h"

static const int everyone[] = {0, 1, 2, 3, 4, 5, 6, -1}, all_but_6[] = {0, 1, 2, 3, 4, 5, -1};

static struct job job;
static struct ftc_flips flips;

/* Begins a job of seven ranks with a vote; `text` names the bits that have changed. */
static void begin(int f, const char *text)
{
    job_begin(&job, 7, f);
    job.settings.integrity = FTC_INTEGRITY_VOTE;
    ck_assert_int_eq(ftc_flips_parse(text, &flips), FTC_SUCCESS);
    job.settings.flips = flips.count > 0 ? &flips : NULL;
    job_open(&job, "allreduce", NULL);
    job_all_call(&job);
}

static void teardown(void)
{
    job_end(&job);
}

/* Rank `at` delivers a decision that says: `compared` heads were compared, and the heads 1 to
 * `wrong` were wrong. Without a value it is CORRUPT. */
static void decide(int at, const int counted[], unsigned compared, int wrong)
{
    struct ftc_decision *decision = job_decision(&job, at, counted != NULL ? counted : everyone);

    if (counted == NULL) {
        ftc_value_drop(&decision->value);
        decision->status = FTC_ERR_CORRUPT;
    }
    if (compared > 0) {
        ck_assert_int_eq(ftc_set_init(&decision->verdict.wrong, 7), FTC_SUCCESS);
        decision->verdict.compared = compared;
        for (int head = 1; head <= wrong; head++)
            ftc_set_add(&decision->verdict.wrong, head);
    }
    job_decide(&job, at, decision);
}

static const struct {
    int f;
    const char *flips;
    const int *counted; /* NULL: CORRUPT */
    unsigned compared;
    int wrong;
    const char *broken; /* NULL: all promises are kept */
} verdicts[] = {
    {2, "", everyone, 3, 0, NULL},
    {2, "4:up:1@0/0", everyone, 3, 1, NULL},
    {1, "4:up:1@0/0", NULL, 2, 2, NULL},
    {2, "4:up:1@0/0", NULL, 2, 2, NULL},
    {2, "4:up:1@0/0", all_but_6, 0, 0, NULL}, /* nothing was compared */
    {2, "4:input:1@0/0", all_but_6, 3, 0, NULL},
    {2, "4:up:1@0/0,5:up:1@0/0", all_but_6, 3, 1, NULL},
    {2, "", everyone, 3, 1, "finds 1 wrong results, but no bit has changed"},
    {2, "4:up:1@1/0", everyone, 3, 1, "finds 1 wrong results, but no bit has changed"},
    {1, "", NULL, 2, 2, "finds 2 wrong results, but no bit has changed"},
    {1, "4:up:1@0/0", everyone, 3, 0, "compares 3 results"},
    {2, "4:up:1@0/0", NULL, 3, 3, "cannot tell which of 3 results is right"},
    {2, "4:up:1@0/0", NULL, 2, 1, "cannot tell which of 2 results is right"},
    {2, "4:up:1@0/0", everyone, 3, 2, "finds 2 wrong results, but one bit has changed"},
    {2, "4:up:1@0/0", all_but_6, 3, 1, "leaves live rank 6 out"},
    {2, "", all_but_6, 0, 0, "leaves live rank 6 out"},
};

START_TEST(a_verdict_fits_what_has_changed)
{
    begin(verdicts[_i].f, verdicts[_i].flips);
    decide(1, verdicts[_i].counted, verdicts[_i].compared, verdicts[_i].wrong);
    if (verdicts[_i].broken == NULL)
        job_kept(&job);
    else
        job_broken(&job, verdicts[_i].broken);
}
END_TEST

START_TEST(two_living_are_told_different_verdicts)
{
    begin(2, "4:up:1@0/0");
    decide(1, everyone, 3, 1);
    decide(2, everyone, 3, 0);
    job_broken(&job, "ranks 1 and 2, both alive, deliver operation 0 differently");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ledger: votes");
    TCase *tcase = tcase_create("votes");

    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_loop_test(tcase, a_verdict_fits_what_has_changed, 0,
                        (int)(sizeof(verdicts) / sizeof(verdicts[0])));
    tcase_add_test(tcase, two_living_are_told_different_verdicts);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
