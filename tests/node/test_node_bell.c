/* Bells lose no wake-up, whichever way the other side sleeps. */
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "node/bell.h"
#include "scratch.h"

#define ROUNDS  25000
#define LOST_NS (20 * FTC_NS_PER_S) /* a sleep as long as this is a lost wake-up */
#define LOST_MS 20000

static struct scratch_job job;

static void setup(void)
{
    scratch_job_make(&job, 2);
}

static void teardown(void)
{
    scratch_job_remove(&job);
}

static bool has_come(int self, uint64_t round)
{
    return atomic_load_explicit(&ftc_segment_slot(job.segment, 1 - self)->called,
                                memory_order_acquire) >= round;
}

static bool sleep_until(struct ftc_bell *bell, uint64_t round,
                        uint32_t (*prepare)(struct ftc_bell *))
{
    while (!has_come(bell->self, round)) {
        uint64_t before = ftc_clock_now();
        uint32_t expected = prepare(bell);
        if (!has_come(bell->self, round))
            ftc_bell_sleep(bell, expected, LOST_NS, -1, -1);
        ftc_bell_awake(bell);
        if (ftc_clock_now() - before >= LOST_NS)
            return false;
    }
    return true;
}

static bool wait_on_futex(struct ftc_bell *bell, uint64_t round)
{
    return sleep_until(bell, round, ftc_bell_prepare);
}

static bool nap_at_times(struct ftc_bell *bell, uint64_t round)
{
    return sleep_until(bell, round, round % 3 == 0 ? ftc_bell_prepare : ftc_bell_prepare_nap);
}

static bool wait_on_socket(struct ftc_bell *bell, uint64_t round)
{
    struct pollfd item = {.fd = bell->fd, .events = POLLIN};
    bool rung = true;
    ftc_bell_outside(bell, FTC_SLEEP_SOCKET);
    while (rung && !has_come(bell->self, round)) {
        rung = poll(&item, 1, LOST_MS) > 0;
        ftc_bell_drain(bell);
    }
    ftc_bell_outside(bell, FTC_SLEEP_AWAKE);
    return rung;
}

/* Each player is in poll() at times, and on the futex at others, in all combinations. */
static bool change(struct ftc_bell *bell, uint64_t round)
{
    uint64_t polls = bell->self == 0 ? round & 8 : round & 16;
    if (round % 8 != 0)
        return true;
    ftc_bell_poll_end(bell);
    return polls == 0 || ftc_bell_poll(bell) == 0;
}

struct player {
    int self;
    bool polls;
    bool changes; /* between poll() and the futex, now and then */
    bool (*wait)(struct ftc_bell *bell, uint64_t round);
};

static int play(void *arg)
{
    struct player *player = arg;
    struct ftc_bell bell;
    if (ftc_bell_open(&bell, job.segment, player->self) != 0 ||
        (player->polls && ftc_bell_poll(&bell) != 0))
        return 1;
    struct ftc_slot *own = ftc_segment_slot(job.segment, player->self);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (player->changes && !change(&bell, round))
            return 4;
        if (player->self == 1 && !player->wait(&bell, round))
            return 2;
        atomic_store_explicit(&own->called, round, memory_order_release);
        ftc_bell_ring(&bell, 1 - player->self, true);
        if (player->self == 0 && !player->wait(&bell, round))
            return 3;
    }
    ftc_bell_close(&bell);
    return 0;
}

static void ping_pong(bool polls, bool changes, bool (*first)(struct ftc_bell *, uint64_t),
                      bool (*second)(struct ftc_bell *, uint64_t))
{
    struct player players[2] = {{0, polls, changes, first}, {1, polls, changes, second}};
    pid_t one = scratch_fork(play, &players[0]);
    pid_t other = scratch_fork(play, &players[1]);
    scratch_wait_success(one);
    scratch_wait_success(other);
}

START_TEST(no_wake_up_is_lost_on_the_futex)
{
    ping_pong(false, false, wait_on_futex, wait_on_futex);
}
END_TEST

START_TEST(no_wake_up_is_lost_in_poll)
{
    ping_pong(true, false, wait_on_futex, wait_on_futex);
}
END_TEST

START_TEST(no_wake_up_is_lost_between_naps_and_poll)
{
    ping_pong(true, false, nap_at_times, nap_at_times);
}
END_TEST

START_TEST(no_wake_up_is_lost_between_futex_and_poll)
{
    ping_pong(false, true, wait_on_futex, wait_on_futex);
}
END_TEST

START_TEST(no_wake_up_is_lost_on_the_socket)
{
    ping_pong(false, false, wait_on_socket, wait_on_socket);
}
END_TEST

START_TEST(no_wake_up_is_lost_between_both)
{
    ping_pong(_i == 1, false, wait_on_futex, wait_on_socket);
}
END_TEST

static bool readable(struct ftc_bell *bell)
{
    struct pollfd item = {.fd = bell->fd, .events = POLLIN};
    return poll(&item, 1, 0) == 1;
}

START_TEST(a_rank_outside_is_rung_if_it_is_urgent_or_has_work)
{
    struct ftc_bell mine, other;
    ck_assert_int_eq(ftc_bell_open(&mine, job.segment, 0), 0);
    ck_assert_int_eq(ftc_bell_open(&other, job.segment, 1), 0);
    ftc_bell_ring(&mine, 1, true); /* it is awake and polls by itself */
    ck_assert(!readable(&other));
    ftc_bell_outside(&other, FTC_SLEEP_SOCKET);
    ftc_bell_ring(&mine, 1, false);
    ck_assert(!readable(&other));
    ftc_bell_outside(&other, FTC_SLEEP_WORK); /* its thread moves operations on */
    ftc_bell_ring(&mine, 1, false);
    ck_assert(readable(&other));
    ftc_bell_drain(&other);
    ftc_bell_outside(&other, FTC_SLEEP_SOCKET);
    for (int i = 0; i < 5000; i++) /* more than a queue holds: ringing never blocks */
        ftc_bell_ring(&mine, 1, true);
    ck_assert(readable(&other));
    while (readable(&other))
        ftc_bell_drain(&other);
    ftc_bell_close(&other);
    ftc_bell_close(&other);
    ftc_bell_ring(&mine, 1, true); /* no one is there: ringing does no harm */
    ftc_bell_close(&mine);
    struct ftc_bell never = {.fd = -1};
    ftc_bell_close(&never);
}
END_TEST

static int doze(void *arg)
{
    struct ftc_bell bell;
    (void)arg;
    if (ftc_bell_open(&bell, job.segment, 1) != 0)
        return 1;
    uint32_t expected = ftc_bell_prepare_doze(&bell);
    bool rung = ftc_bell_sleep(&bell, expected, LOST_NS, -1, -1);
    ftc_bell_awake(&bell);
    ftc_bell_close(&bell);
    return rung ? 0 : 2;
}

START_TEST(a_doze_ends_by_what_is_urgent_and_by_a_declaration)
{
    struct ftc_bell mine;
    struct ftc_slot *slot = ftc_segment_slot(job.segment, 1);
    ck_assert_int_eq(ftc_bell_open(&mine, job.segment, 0), 0);
    pid_t dozes = scratch_fork(doze, NULL);
    while (atomic_load(&slot->sleep) != FTC_SLEEP_DOZE)
        sched_yield();
    uint32_t before = atomic_load(&slot->bell);
    ftc_bell_ring(&mine, 1, false);
    ck_assert_uint_eq(atomic_load(&slot->bell), before);
    if (_i == 0)
        ftc_bell_ring(&mine, 1, true);
    else
        ftc_bell_ring_all(&mine);
    scratch_wait_success(dozes);
    ftc_bell_close(&mine);
}
END_TEST

START_TEST(a_declaration_bumps_every_bell_and_wakes_the_living)
{
    struct ftc_bell launcher, other;
    struct ftc_failure failure = {.cause = FTC_CAUSE_EXIT};
    ck_assert_int_eq(ftc_bell_open(&launcher, job.segment, FTC_BELL_LAUNCHER), 0);
    ck_assert_int_eq(ftc_bell_open(&other, job.segment, 1), 0);
    ftc_bell_outside(&other, FTC_SLEEP_SOCKET);
    ftc_segment_declare(job.segment, 0, &failure);
    ftc_bell_ring_all(&launcher);
    ck_assert_uint_eq(atomic_load(&ftc_segment_slot(job.segment, 0)->bell), 1);
    ck_assert_uint_eq(atomic_load(&ftc_segment_slot(job.segment, 1)->bell), 1);
    ck_assert(readable(&other));
    ck_assert(!readable(&launcher));
    ftc_bell_ring_launcher(&other);
    ck_assert(readable(&launcher));
    ftc_bell_close(&other);
    ftc_bell_close(&launcher);
}
END_TEST

START_TEST(a_name_left_by_a_dead_process_is_taken_over)
{
    struct ftc_bell first, second;
    char path[160];
    struct stat info;
    snprintf(path, sizeof(path), "%s/1", job.directory);
    ck_assert_int_eq(ftc_bell_open(&first, job.segment, 1), 0);
    close(first.fd); /* as death does */
    ck_assert_int_eq(ftc_bell_open(&second, job.segment, 1), 0);
    ck_assert_int_eq(lstat(path, &info), 0);
    ftc_bell_close(&second);
    ck_assert_int_ne(lstat(path, &info), 0);
    strcpy(ftc_segment_header(job.segment)->directory, "/nonexistent/directory");
    ck_assert_int_eq(ftc_bell_open(&second, job.segment, 1), FTC_ERR_SYSTEM);
    memset(ftc_segment_header(job.segment)->directory, 'x', 107);
    ck_assert_int_eq(ftc_bell_open(&second, job.segment, 1), FTC_ERR_SYSTEM);
    strcpy(ftc_segment_header(job.segment)->directory, job.directory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node/bell");
    TCase *tcase = tcase_create("bell");
    tcase_set_timeout(tcase, 300);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, no_wake_up_is_lost_on_the_futex);
    tcase_add_test(tcase, no_wake_up_is_lost_in_poll);
    tcase_add_test(tcase, no_wake_up_is_lost_between_naps_and_poll);
    tcase_add_test(tcase, no_wake_up_is_lost_between_futex_and_poll);
    tcase_add_test(tcase, no_wake_up_is_lost_on_the_socket);
    tcase_add_loop_test(tcase, no_wake_up_is_lost_between_both, 0, 2);
    tcase_add_test(tcase, a_rank_outside_is_rung_if_it_is_urgent_or_has_work);
    tcase_add_loop_test(tcase, a_doze_ends_by_what_is_urgent_and_by_a_declaration, 0, 2);
    tcase_add_test(tcase, a_declaration_bumps_every_bell_and_wakes_the_living);
    tcase_add_test(tcase, a_name_left_by_a_dead_process_is_taken_over);
    suite_add_tcase(suite, tcase);
    return scratch_run(suite);
}
