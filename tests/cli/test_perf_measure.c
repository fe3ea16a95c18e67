/* How ftcoll-perf measures: an operation made up here, in a job of one rank. */
#include <time.h>

#include "cli/perf/measure.h"
#include "tests/suite.h"

#define COLD_CALLS 3 /* the call that is checked, and the two calls that first estimate the time */

/* buffers->send[0] counts the calls. */
static int run_slow_at_first(const struct ftc_perf_job *job, const struct ftc_perf_buffers *buffers,
                             size_t count, ftc_request **request)
{
    const struct timespec cold = {.tv_nsec = 5000000};

    (void)job, (void)count, (void)request;
    if (buffers->send[0]++ < COLD_CALLS)
        nanosleep(&cold, NULL);
    return FTC_SUCCESS;
}

static const struct ftc_perf_operation slow_at_first = {.name = "slow at first",
                                                        .run = run_slow_at_first};

struct stage {
    ftc_comm *world;
    struct ftc_perf_job job;
    struct ftc_perf_bench bench;
};

static void stage_init(struct stage *stage, const struct ftc_perf_options *options)
{
    stage->bench = (struct ftc_perf_bench){
        .job = &stage->job, .options = options, .operation = &slow_at_first};
    ck_assert_int_eq(ftc_init(NULL, &stage->world), FTC_SUCCESS);
    ck_assert_int_eq(ftc_perf_job_init(&stage->job, stage->world), 0);
    ck_assert_int_eq(ftc_perf_buffers_init(&stage->bench.buffers, sizeof(double), 1, 1), 0);
}

static void stage_fini(struct stage *stage)
{
    ftc_perf_buffers_fini(&stage->bench.buffers);
    ftc_perf_job_fini(&stage->job);
    ck_assert_int_eq(ftc_finalize(stage->world), FTC_SUCCESS);
}

START_TEST(a_cold_start_does_not_shorten_the_warm_up)
{
    const struct ftc_perf_options options = {.seconds = 0.5};
    struct stage stage;
    double us = 0;

    stage_init(&stage, &options);
    ck_assert_int_eq(ftc_perf_warm_up(&stage.bench, &us), 0);
    ck_assert_double_gt(stage.bench.buffers.send[0],
                        1000); /* it would be 12 if only the cold calls counted */
    ck_assert_double_lt(us, 1000);
    stage_fini(&stage);
}
END_TEST

START_TEST(batches_are_as_long_as_promised_although_the_warm_up_was_slow)
{
    const struct ftc_perf_options options = {.seconds = 0.05, .warm_up_given = true};
    struct stage stage;
    struct ftc_perf_row row = {0}; /* without --per-rank */

    stage_init(&stage, &options);
    ck_assert_int_eq(ftc_perf_measure(&stage.bench, &row), 0);
    ck_assert_int_gt(row.batch, 10); /* the warm-up alone would give 1 */
    ck_assert_double_le(row.median, 5000);
    stage_fini(&stage);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("perf_measure");
    TCase *measure = tcase_create("measure");

    tcase_add_test(measure, a_cold_start_does_not_shorten_the_warm_up);
    tcase_add_test(measure, batches_are_as_long_as_promised_although_the_warm_up_was_slow);
    suite_add_tcase(suite, measure);
    return test_suite_run(suite);
}
