/* Storms over many workers give the same result as storms with one worker. A run that dies or is
 * stopped is always noticed. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/storm/pool.h"
#include "tests/suite.h"

static struct ftc_storm_plan plan_of(uint64_t runs, int jobs, const struct ftc_promise *promise)
{
    return (struct ftc_storm_plan){.frame = {.settings = ftc_cluster_settings(1, 0)},
                                   .seed = 1,
                                   .runs = runs,
                                   .jobs = jobs,
                                   .promise = promise};
}

static struct ftc_storm_outcome run(const struct ftc_storm_plan *plan)
{
    struct ftc_storm_outcome outcome;

    ck_assert_int_eq(ftc_storm_pool_run(plan, &outcome), FTC_SUCCESS);
    ck_assert_msg(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "a child was left behind");
    return outcome;
}

/* The promise that no rank of four or more may ever pull. Some storms in a hundred break it. */
static void nobody_pulls(struct ftc_cluster *c, void *arg)
{
    (void)arg;
    for (int op = 0; c->n >= 4 && op < c->program->length; op++)
        if (ftc_cluster_sent(c, op, FTC_MESSAGE_PULL) > 0)
            ftc_ledger_violate(c->ledger, "somebody pulls in operation %d", op);
}

static void a_pull_kills(struct ftc_cluster *c, void *arg)
{
    nobody_pulls(c, arg);
    if (ftc_cluster_broken(c))
        abort();
}

START_TEST(sums_do_not_depend_on_workers)
{
    struct ftc_storm_plan serial = plan_of(2000, 1, NULL), parallel = plan_of(2000, 5, NULL);
    struct ftc_storm_outcome one = run(&serial), five = run(&parallel);

    ck_assert_msg(!one.violated, "seed %llu: %s", (unsigned long long)one.seed, one.violation);
    ck_assert_uint_eq(one.sums.runs, 2000);
    ck_assert_uint_gt(one.sums.deaths, 0);
    ck_assert_mem_eq(&one.sums, &five.sums, sizeof(one.sums));
}
END_TEST

START_TEST(the_lowest_seed_is_found_by_any_number_of_workers)
{
    const struct ftc_promise promise = {.check = nobody_pulls};
    struct ftc_storm_plan plan = plan_of(1000000, 1, &promise);
    struct ftc_storm_outcome one = run(&plan);

    ck_assert(one.violated);
    ck_assert_uint_eq(one.sums.runs, one.seed); /* all runs from seed 1 on are counted */
    for (plan.jobs = 2; plan.jobs <= 8; plan.jobs++) {
        struct ftc_storm_outcome many = run(&plan);
        ck_assert(many.violated);
        ck_assert_uint_eq(many.seed, one.seed);
        ck_assert_str_eq(many.violation, one.violation);
    }
}
END_TEST

START_TEST(a_worker_that_dies_is_a_violation_of_its_seed)
{
    const struct ftc_promise breaks = {.check = nobody_pulls}, kills = {.check = a_pull_kills};
    struct ftc_storm_plan plan = plan_of(1000000, 1, &breaks);
    struct ftc_storm_outcome broken = run(&plan);

    plan.promise = &kills;
    for (plan.jobs = 1; plan.jobs <= 4; plan.jobs++) {
        struct ftc_storm_outcome killed = run(&plan);
        ck_assert(killed.violated);
        ck_assert_uint_eq(killed.seed, broken.seed);
        ck_assert_ptr_nonnull(strstr(killed.violation, "dies of signal 6"));
    }
}
END_TEST

/* More runs than anyone can wait for. The first run that a worker begins interrupts them all. */
static void interrupt_parent(struct ftc_cluster *c, void *arg)
{
    (void)c;
    (void)arg;
    kill(getppid(), SIGINT);
}

START_TEST(an_interrupt_ends_it)
{
    const struct ftc_promise promise = {.check = interrupt_parent};
    struct ftc_storm_plan plan = plan_of(UINT64_MAX / 4, 3, &promise);
    struct ftc_storm_outcome outcome = run(&plan);

    ck_assert(outcome.interrupted);
    ck_assert(!outcome.violated);
}
END_TEST

/* The program runs long. The patience is nearly over after some steps, and has begun anew after
 * many more. */
static void patience_begins_anew(struct ftc_cluster *c, void *arg)
{
    const struct itimerval last = {.it_value = {.tv_sec = FTC_STORM_PATIENCE_S / 4}};
    struct itimerval left;

    (void)arg;
    if (c->steps == 10)
        setitimer(ITIMER_PROF, &last, NULL);
    getitimer(ITIMER_PROF, &left);
    if (c->steps > 2 * FTC_STORM_PATIENCE_STEPS && left.it_value.tv_sec <= FTC_STORM_PATIENCE_S / 4)
        ftc_ledger_violate(c->ledger, "only %d s are left", (int)left.it_value.tv_sec);
}

START_TEST(patience_is_for_steps_not_for_runs)
{
    const struct ftc_promise promise = {.check = patience_begins_anew};
    struct ftc_storm_plan plan = plan_of(10, 1, &promise);
    struct ftc_program program;

    ck_assert_int_eq(ftc_program_parse(&program, "barrier*2000", 3), FTC_SUCCESS);
    plan.frame.program = &program;
    plan.frame.least = plan.frame.most = 3;
    struct ftc_storm_outcome outcome = run(&plan);
    ck_assert_msg(!outcome.violated, "%s", outcome.violation);
    ck_assert_uint_gt(outcome.sums.steps, 10 * 3 * FTC_STORM_PATIENCE_STEPS);
    ftc_program_fini(&program);
}
END_TEST

/* The address space is too small for a square of 2000 ranks. */
START_TEST(no_memory_is_an_error_not_a_violation)
{
    const struct rlimit little = {.rlim_cur = 150 << 20, .rlim_max = 150 << 20};
    struct ftc_storm_plan plan = plan_of(1, 2, NULL);
    struct ftc_storm_outcome outcome;

    plan.frame.least = plan.frame.most = 2000;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &little), 0);
    ck_assert_int_eq(ftc_storm_pool_run(&plan, &outcome), FTC_ERR_NOMEM);
    ck_assert_msg(strstr(ftc_last_error(), "no memory for 2000 ranks of seed 1") != NULL, "%s",
                  ftc_last_error());
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "give fewer ranks or --jobs"));
    ck_assert(!outcome.violated);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("storm pool");
    TCase *pool = tcase_create("pool");

    tcase_add_test(pool, sums_do_not_depend_on_workers);
    tcase_add_test(pool, the_lowest_seed_is_found_by_any_number_of_workers);
    tcase_add_test(pool, a_worker_that_dies_is_a_violation_of_its_seed);
    tcase_add_test(pool, an_interrupt_ends_it);
    tcase_add_test(pool, patience_is_for_steps_not_for_runs);
    if (!TEST_SANITIZED) /* a sanitizer needs the address space */
        tcase_add_test(pool, no_memory_is_an_error_not_a_violation);
    suite_add_tcase(suite, pool);
    return test_suite_run(suite);
}
