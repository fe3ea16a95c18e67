/* Tests that like requests, or calls, share an entry of the history of their rank. */
#include "base/error.h"
#include "node/segment/history.h"
#include "scratch.h"

#define RANKS 3
#define RANK  1
#define CHILD 0x3000001

static const uint32_t good = FTC_HISTORY_OUTCOME(0, 1, 0);
static const uint32_t bad = FTC_HISTORY_OUTCOME(FTC_ERR_ROOT_FAILED, 1, 1);
static const struct ftc_signature barrier = {.kind = FTC_CALL_BARRIER};
static const struct ftc_signature sum = {.kind = FTC_CALL_ALLREDUCE, .size = 8};
static const char name[FTC_COMMUNICATOR_NAME] = "solvers";
static struct scratch_job job;
static struct ftc_history_store store;
static struct ftc_history run;
static struct ftc_history_operation found[4];

static int last(void)
{
    struct ftc_history_clock clock;

    ftc_history_look(&clock, job.segment);
    return ftc_history_last(job.segment, RANK, &clock, found, 4);
}

/* Requests 5, 6 and 7 are under way, as if many others had come before without a pause. */
static void setup(void)
{
    struct ftc_history before = {.most = 4, .joined = 1u << 24};

    scratch_job_make_as(&job, &(struct ftc_segment_spec){.ranks = RANKS, .history = true});
    ftc_history_init(&store, job.segment, RANK);
    before.called = ftc_clock_ticks(store.counter);
    ftc_history_open(&run, &store, CHILD, name, true);
    ftc_history_follow(&run, &before);
    run.call = &sum;
    ftc_history_call(&run, 5, false);
    ck_assert(ftc_history_join(&run, &sum, 6) && ftc_history_join(&run, &sum, 7));
}

static void teardown(void)
{
    scratch_job_remove(&job);
}

START_TEST(like_requests_share_an_entry)
{
    ck_assert_int_eq(last(), 1);
    ck_assert(found[0].number == 5 && found[0].count == 3 && found[0].request >= 0);
    ck_assert(found[0].live && found[0].returned == 0 && !found[0].closed);
    ck_assert(!ftc_history_leave(&run, good) && !ftc_history_leave(&run, good));
    ck_assert(ftc_history_leave(&run, good));
    ck_assert_int_eq(last(), 1);
    ck_assert(found[0].count == 3 && found[0].returned == 3 && found[0].returned_ns > 0);
    ck_assert(ftc_history_join(&run, &sum, 8)); /* it goes on */
    ck_assert_int_eq(last(), 1);
    ck_assert(found[0].count == 4 && found[0].returned == 3 && found[0].returned_ns == 0);
    ck_assert(ftc_history_leave(&run, good));
    ftc_history_close(&run);
    ck_assert_int_eq(last(), 1);
    ck_assert(!found[0].live && found[0].closed && found[0].count == 4 && found[0].status == 0);
    ck_assert_uint_eq(store.lanes, 0);
}
END_TEST

START_TEST(others_do_not_join)
{
    ck_assert(!ftc_history_join(&run, &barrier, 8));
    ck_assert(!ftc_history_join(&run, &sum, 9)); /* a call between them took number 8 */
    ftc_history_waits(&run, 2);
    ck_assert(!ftc_history_join(&run, &sum, 8)); /* after a sleep another run begins */
    ck_assert_int_eq(last(), 1);
    ck_assert(found[0].count == 3 && found[0].returned == 0 && found[0].waits_for == 2);
}
END_TEST

START_TEST(those_whose_outcome_differs_go_on_in_another_entry)
{
    ck_assert(!ftc_history_leave(&run, good) && !ftc_history_leave(&run, bad));
    ck_assert_int_eq(last(), 2);
    ck_assert(!found[0].live && found[0].number == 5 && found[0].count == 1 &&
              found[0].status == 0);
    ck_assert(found[1].live && found[1].number == 6 && found[1].count == 2);
    ck_assert(found[1].returned == 1 && found[1].status == FTC_ERR_ROOT_FAILED);
    ck_assert(ftc_history_leave(&run, bad));
    ftc_history_close(&run);
    ck_assert_int_eq(last(), 2);
    ck_assert(!found[1].live && found[1].closed && found[1].count == 2 && found[1].failed == 1);
}
END_TEST

START_TEST(a_call_without_a_number_ends_a_run_of_calls_where_it_is)
{
    static const struct ftc_signature freed = {.kind = FTC_HISTORY_FREE};
    static struct ftc_history calls;

    ftc_history_open(&calls, &store, CHILD, name, false);
    calls.called = ftc_clock_ticks(store.counter);
    calls.most = FTC_HISTORY_RUN; /* as if many had come before without a pause */
    calls.outcome = good;
    calls.call = &sum;
    ftc_history_call(&calls, 20, false);
    if (!calls.run)
        return; /* the machine stood still: it was a pause */
    ftc_history_return(&calls, good);
    ftc_history_continued_to(&calls, 23);
    calls.call = &freed;
    ftc_history_call(&calls, FTC_HISTORY_UNNUMBERED, true);
    ck_assert_int_eq(last(), 3);
    ck_assert(found[1].number == 20 && found[1].count == 3 && found[1].closed);
    ck_assert(found[2].kind == FTC_HISTORY_FREE && found[2].returned == 0);
    ck_assert_uint_eq(found[2].number, FTC_HISTORY_UNNUMBERED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node_history_runs");
    TCase *tests = tcase_create("runs");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, like_requests_share_an_entry);
    tcase_add_test(tests, others_do_not_join);
    tcase_add_test(tests, those_whose_outcome_differs_go_on_in_another_entry);
    tcase_add_test(tests, a_call_without_a_number_ends_a_run_of_calls_where_it_is);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
