/* Tests what a rank does about its node's lease. A process exit plays leaving. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "runtime/process/lease.h"
#include "tests/node/scratch.h"

#define TIMEOUT_MS 50

static struct scratch_job job;
static struct ftc_process process;
static _Atomic uint64_t *lease;

_Noreturn void ftc_process_leave(struct ftc_process *left, int exit_code, const char *why)
{
    (void)left;
    (void)why;
    exit(exit_code);
}

static void join(void)
{
    process = (struct ftc_process){.size = ftc_segment_ranks(job.segment),
                                   .segment = job.segment,
                                   .started_ns = ftc_clock_now()};
    process.config.heartbeat_timeout_ms = TIMEOUT_MS;
    lease = &ftc_segment_header(job.segment)->lease_ns;
}

static void setup(void)
{
    static const struct ftc_node nodes[] = {{.host = "alpha", .first = 0, .count = 1},
                                            {.host = "beta", .first = 1, .count = 1}};
    const struct ftc_segment_spec spec = {
        .host = "beta", .ranks = 2, .node = 1, .nodes = 2, .cluster = "4711.0", .members = nodes};

    scratch_job_make_as(&job, &spec);
    join();
}

static void teardown(void)
{
    scratch_job_remove(&job);
}

START_TEST(on_one_node_there_is_none_whatever_the_word_says)
{
    scratch_job_remove(&job);
    scratch_job_make(&job, 1);
    join();
    process.started_ns = 0; /* long ago */
    ck_assert_uint_eq(atomic_load(lease), UINT64_MAX);
    ftc_lease_check(&process);
    ftc_lease_before_return(&process);
    atomic_store(lease, ftc_clock_now() - 1);
    ftc_lease_check(&process);
    ftc_lease_before_return(&process);
}
END_TEST

START_TEST(within_the_lease_calls_return)
{
    atomic_store(lease, ftc_clock_now() + 600 * FTC_NS_PER_S);
    ftc_lease_check(&process);
    ftc_lease_before_return(&process);
}
END_TEST

START_TEST(after_the_lease_no_call_returns)
{
    atomic_store(lease, ftc_clock_now() - 1);
    ftc_lease_before_return(&process);
    ck_abort_msg("it returned");
}
END_TEST

START_TEST(after_the_lease_the_heartbeat_ends_the_process)
{
    atomic_store(lease, ftc_clock_now() - 1);
    ftc_lease_check(&process);
    ck_abort_msg("it went on");
}
END_TEST

static void *grant(void *arg)
{
    (void)arg;
    nanosleep(&(struct timespec){.tv_nsec = 5 * (long)FTC_NS_PER_MS}, NULL);
    atomic_store(lease, ftc_clock_now() + 600 * FTC_NS_PER_S);
    return NULL;
}

START_TEST(a_call_waits_for_the_first_lease)
{
    pthread_t launcher;

    process.config.heartbeat_timeout_ms = 600000;
    atomic_store(lease, 0);
    ftc_lease_check(&process); /* a heartbeat does not wait */
    ck_assert_int_eq(pthread_create(&launcher, NULL, grant, NULL), 0);
    ftc_lease_before_return(&process);
    ck_assert_uint_ne(atomic_load(lease), 0);
    pthread_join(launcher, NULL);
}
END_TEST

START_TEST(a_call_does_not_wait_for_ever)
{
    atomic_store(lease, 0);
    ftc_lease_before_return(&process);
    ck_abort_msg("it returned");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lease of a rank");
    TCase *tests = tcase_create("lease");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, on_one_node_there_is_none_whatever_the_word_says);
    tcase_add_test(tests, within_the_lease_calls_return);
    tcase_add_exit_test(tests, after_the_lease_no_call_returns, FTC_EXIT_FENCED);
    tcase_add_exit_test(tests, after_the_lease_the_heartbeat_ends_the_process, FTC_EXIT_FENCED);
    tcase_add_test(tests, a_call_waits_for_the_first_lease);
    tcase_add_exit_test(tests, a_call_does_not_wait_for_ever, FTC_EXIT_FENCED);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
