/* Tests the turns of the progress thread: whatever comes in, the heartbeat goes on. The test plays
 * what the thread drives. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/process/gate.h"
#include "runtime/process/lease.h"
#include "runtime/process/progress.h"
#include "runtime/process/reach.h"
#include "runtime/process/thread.h"
#include "runtime/process/turn.h"
#include "tests/node/scratch.h"
#include "tests/suite.h"

#define PERIOD_MS 5
#define DEADLINE  (20 * FTC_NS_PER_S)

/* --- what the thread drives --- */

static atomic_bool flooded;
static atomic_ulong steps;

bool ftc_progress_step(struct ftc_process *process)
{
    (void)process;
    atomic_fetch_add(&steps, 1);
    return atomic_load(&flooded);
}

void ftc_reach_publish(struct ftc_process *process)
{
    (void)process;
}

void ftc_lease_look(struct ftc_process *process, uint64_t lease_ns)
{
    (void)process;
    ck_abort_msg("looking at a lease of %llu ns in a job of one node",
                 (unsigned long long)lease_ns);
}

_Noreturn void ftc_process_leave(struct ftc_process *process, int exit_code, const char *why)
{
    (void)process;
    ck_abort_msg("leaving with %d: %s", exit_code, why);
}

/* This transport is a pipe. Bytes in it wake its sleeper, and are never taken. */
static int messages[2];

static int pipe_descriptor(struct ftc_transport *transport)
{
    (void)transport;
    return messages[0];
}

static const struct ftc_transport_ops pipe_ops = {.name = "pipe", .descriptor = pipe_descriptor};
static struct ftc_transport transport = {.ops = &pipe_ops};

/* --- the fixture --- */

static struct scratch_job job;
/* As for a rank the segment is attached, so that the launcher's lock belongs to another
 * descriptor. */
static struct ftc_segment *segment;
static struct ftc_process process;

static void setup(void)
{
    scratch_job_make(&job, 1);
    ck_assert_int_eq(ftc_segment_attach(&segment, job.name, true), 0);
    process = (struct ftc_process){.size = 1,
                                   .segment = segment,
                                   .slot = ftc_segment_slot(segment, 0),
                                   .transport = &transport};
    process.config.heartbeat_period_ms = PERIOD_MS;
    ck_assert_int_eq(pthread_mutex_init(&process.lock, NULL), 0);
    ck_assert_int_eq(ftc_bell_open(&process.bell, segment, 0), 0);
    ck_assert_int_eq(pipe(messages), 0);
    atomic_store(&flooded, false);
    ck_assert_int_eq(ftc_thread_start(&process), 0);
}

static void teardown(void)
{
    atomic_store(&flooded, false);
    ftc_thread_stop(&process);
    ftc_bell_close(&process.bell);
    close(messages[0]);
    close(messages[1]);
    pthread_mutex_destroy(&process.lock);
    ftc_segment_detach(segment);
    scratch_job_remove(&job);
}

static void wait_for_beats(uint64_t beats)
{
    uint64_t start = atomic_load(&process.slot->heartbeat), until = ftc_clock_now() + DEADLINE;

    while (atomic_load(&process.slot->heartbeat) < start + beats) {
        if (ftc_clock_now() > until)
            ck_abort_msg("the heart did not beat %d times", (int)beats);
        nanosleep(&(struct timespec){.tv_nsec = (long)FTC_NS_PER_MS}, NULL);
    }
}

START_TEST(the_heart_beats_though_messages_never_stop_coming)
{
    atomic_store(&flooded, true);
    ftc_thread_nudge(&process);
    wait_for_beats(10);
}
END_TEST

START_TEST(what_is_left_after_a_turn_is_taken_in_without_another_ring)
{
    atomic_store(&flooded, true);
    ftc_thread_nudge(&process);
    wait_for_beats(2);
    uint64_t beats = atomic_load(&process.slot->heartbeat);
    unsigned long before = atomic_load(&steps);
    wait_for_beats(10);
    /* Without the ring there would be four steps for each beat. */
    ck_assert_uint_gt(atomic_load(&steps) - before,
                      10 * (atomic_load(&process.slot->heartbeat) - beats));
}
END_TEST

START_TEST(it_stops_though_messages_never_stop_coming)
{
    atomic_store(&flooded, true);
    ftc_thread_nudge(&process);
    wait_for_beats(2);
    ftc_thread_stop(&process);
}
END_TEST

START_TEST(what_the_transport_has_wakes_it_while_the_caller_is_outside)
{
    unsigned long before = atomic_load(&steps);
    ck_assert_int_eq(write(messages[1], "!", 1), 1);
    wait_for_beats(10);
    /* Without the ring there would be one step for each beat. */
    ck_assert_uint_gt(atomic_load(&steps) - before, 100);
}
END_TEST

START_TEST(a_shut_gate_leaves_it_to_the_caller)
{
    ftc_gate_enter(&process);
    ck_assert_int_eq(write(messages[1], "!", 1), 1);
    wait_for_beats(2); /* the thread finishes what it was doing */
    unsigned long before = atomic_load(&steps);
    uint64_t beats = atomic_load(&process.slot->heartbeat);
    wait_for_beats(20);
    ck_assert_uint_le(atomic_load(&steps) - before,
                      2 + atomic_load(&process.slot->heartbeat) - beats);
    before = atomic_load(&steps);
    ck_assert(ftc_gate_leave(&process));
    ftc_gate_open(&process); /* the thread finds what came meanwhile */
    wait_for_beats(10);
    ck_assert_uint_gt(atomic_load(&steps) - before, 100);
}
END_TEST

/* Does a call that ends at once ask for the gate to be opened? */
static bool call_opens(void)
{
    pthread_mutex_lock(&process.lock);
    ftc_gate_enter(&process);
    bool opens = ftc_gate_leave(&process);
    pthread_mutex_unlock(&process.lock);
    if (opens)
        ftc_gate_open(&process);
    return opens;
}

/* Calls until the gate stays shut. On a busy machine some calls come late. */
static void call_closely(void)
{
    uint64_t until = ftc_clock_now() + DEADLINE;

    while (call_opens())
        ck_assert_uint_lt(ftc_clock_now(), until);
}

START_TEST(between_close_calls_the_gate_stays_shut_until_they_end)
{
    call_closely();
    ck_assert_int_eq(write(messages[1], "!", 1), 1);
    uint64_t until = ftc_clock_now() + DEADLINE;
    while (atomic_load(&process.thread.gate.stays_shut)) /* only the thread opens it */
        ck_assert_uint_lt(ftc_clock_now(), until);
    unsigned long before = atomic_load(&steps);
    wait_for_beats(10);
    ck_assert_uint_gt(atomic_load(&steps) - before, 100); /* the thread finds what came */
    ck_assert(call_opens());
}
END_TEST

START_TEST(a_long_call_leaves_the_gate_shut_and_nudges_the_thread)
{
    uint64_t until = ftc_clock_now() + DEADLINE;

    call_closely();
    pthread_mutex_lock(&process.lock);
    ftc_gate_enter(&process);
    while (!atomic_load(&process.thread.gate.slow))
        ck_assert_uint_lt(ftc_clock_now(), until);
    bool opens = ftc_gate_leave(&process);
    pthread_mutex_unlock(&process.lock);
    ck_assert(!opens);
    ck_assert(ftc_turn_missed(&process));
    ck_assert(!ftc_turn_missed(&process)); /* one nudge is enough */
    ftc_thread_nudge(&process);
    while (atomic_load(&process.thread.gate.stays_shut)) /* no call follows */
        ck_assert_uint_lt(ftc_clock_now(), until);
}
END_TEST

static atomic_bool drives, over;

/* A driver that always finds something to do. */
static void *drive_for_long(void *arg)
{
    (void)arg;
    ftc_turn_enter(&process);
    atomic_store(&drives, true);
    while (!atomic_load(&over))
        ftc_turn_yield(&process, false);
    ftc_turn_leave(&process);
    pthread_mutex_unlock(&process.lock);
    return NULL;
}

START_TEST(a_look_does_not_wait_until_the_driver_sleeps)
{
    pthread_t driver;

    ck_assert_int_eq(pthread_create(&driver, NULL, drive_for_long, NULL), 0);
    while (!atomic_load(&drives))
        sched_yield();
    for (int i = 0; i < 100; i++) {
        ftc_turn_lock(&process);
        ftc_turn_unlock(&process);
    }
    atomic_store(&over, true);
    pthread_join(driver, NULL);
}
END_TEST

START_TEST(calls_with_time_between_them_open_it_each_time)
{
    for (int i = 0; i < 120; i++) {
        ck_assert(call_opens());
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("thread");
    TCase *turns = tcase_create("turns");

    tcase_add_checked_fixture(turns, setup, teardown);
    tcase_add_test(turns, the_heart_beats_though_messages_never_stop_coming);
    tcase_add_test(turns, what_is_left_after_a_turn_is_taken_in_without_another_ring);
    tcase_add_test(turns, it_stops_though_messages_never_stop_coming);
    tcase_add_test(turns, what_the_transport_has_wakes_it_while_the_caller_is_outside);
    tcase_add_test(turns, a_shut_gate_leaves_it_to_the_caller);
    tcase_add_test(turns, between_close_calls_the_gate_stays_shut_until_they_end);
    tcase_add_test(turns, a_long_call_leaves_the_gate_shut_and_nudges_the_thread);
    tcase_add_test(turns, a_look_does_not_wait_until_the_driver_sleeps);
    tcase_add_test(turns, calls_with_time_between_them_open_it_each_time);
    suite_add_tcase(suite, turns);
    return scratch_run(suite);
}
