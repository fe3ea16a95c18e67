/*
 * The detector of a node in virtual time. There are stories for each rule. The bounds of
 * detector/watch.h are checked for random heartbeats, deaths, late watchers and pauses of the whole
 * machine.
 */
#include <stdlib.h>

#include "detector/watch.h"
#include "tests/random.h"
#include "tests/suite.h"

#define RANKS   6
#define PERIOD  100u /* of heartbeats */
#define TIMEOUT 1000u
#define START   5000u
#define NEVER   UINT64_MAX

struct rank {
    uint64_t beats, last_beat, next_beat;
    uint64_t longest; /* upper bound between two beats */
    uint64_t fenced;  /* the time; 0: not fenced */
};

struct world {
    struct ftc_watch watch;
    struct test_random random;
    uint64_t now, next_tick;
    struct rank rank[RANKS];
};

static struct world world_new(bool fence)
{
    struct world w = {.random = test_random_start(), .now = START, .next_tick = START};

    ck_assert_int_eq(ftc_watch_init(&w.watch, RANKS, PERIOD, TIMEOUT, fence), 0);
    for (int r = 0; r < RANKS; r++) {
        ftc_watch_started(&w.watch, r, w.now);
        w.rank[r] = (struct rank){.next_beat = START + 1, .longest = PERIOD};
    }
    return w;
}

static void world_free(struct world *w)
{
    ftc_watch_fini(&w->watch);
}

static void look(struct world *w)
{
    ftc_watch_tick(&w->watch, w->now);
    for (int r = 0; r < RANKS; r++)
        if (w->rank[r].beats > 0)
            ftc_watch_heartbeat(&w->watch, r, w->rank[r].beats, w->now);
    for (int r; (r = ftc_watch_next_to_fence(&w->watch, w->now)) != -1;) {
        if (w->rank[r].fenced != 0)
            ck_abort_msg("rank %d fenced twice", r);
        w->rank[r].fenced = w->now;
    }
    w->next_tick = w->now + PERIOD / 2;
}

/* The loop of the launcher: it takes beats as they come, and looks every half period, unless a test
 * has put next_tick off. */
static void run_until(struct world *w, uint64_t end)
{
    while (w->now < end) {
        w->now++;
        for (int r = 0; r < RANKS; r++) {
            struct rank *rank = &w->rank[r];
            if (w->now < rank->next_beat)
                continue;
            rank->beats++;
            rank->last_beat = w->now;
            rank->next_beat =
                w->now + (uint64_t)test_random_between(&w->random, 1, (int64_t)rank->longest);
        }
        if (w->now >= w->next_tick)
            look(w);
    }
}

static void run_for(struct world *w, uint64_t time)
{
    run_until(w, w->now + time);
}

static void stall(struct world *w, int r)
{
    w->rank[r].next_beat = NEVER;
}

static void resume(struct world *w, int r)
{
    w->rank[r].next_beat = w->now + 1;
}

static const struct ftc_watch_entry *entry_of(const struct world *w, int r)
{
    return &w->watch.entry[r];
}

static int fenced_count(const struct world *w)
{
    int count = 0;
    for (int r = 0; r < RANKS; r++)
        count += w->rank[r].fenced != 0;
    return count;
}

static void check_nobody_suspected(const struct world *w)
{
    ck_assert_int_eq(fenced_count(w), 0);
    for (int r = 0; r < RANKS; r++)
        ck_assert_int_eq(entry_of(w, r)->state, FTC_WATCH_ALIVE);
}

/* --- stories --- */

START_TEST(a_stall_is_fenced_once_and_its_exit_is_the_verdict)
{
    struct world w = world_new(true);

    run_for(&w, 5 * TIMEOUT);
    check_nobody_suspected(&w);
    stall(&w, 2);
    run_for(&w, 3 * TIMEOUT);
    ck_assert_int_eq(fenced_count(&w), 1);
    ck_assert_uint_ne(w.rank[2].fenced, 0);
    ck_assert_int_eq(entry_of(&w, 2)->state, FTC_WATCH_FENCED);
    ck_assert_int_eq(entry_of(&w, 2)->suspicion, FTC_SUSPECT_STALLED);
    ck_assert_uint_eq(entry_of(&w, 2)->suspected_ns, w.rank[2].fenced);

    resume(&w, 2); /* too late: it is being killed */
    run_for(&w, TIMEOUT);
    ck_assert_int_eq(entry_of(&w, 2)->state, FTC_WATCH_FENCED);
    ck_assert(ftc_watch_exited(&w.watch, 2, false));
    ck_assert_int_eq(entry_of(&w, 2)->state, FTC_WATCH_FAILED);
    ck_assert_int_eq(entry_of(&w, 2)->suspicion, FTC_SUSPECT_STALLED);
    ck_assert(!ftc_watch_exited(&w.watch, 2, false)); /* it is declared only once */
    world_free(&w);
}
END_TEST

START_TEST(an_exit_needs_no_suspicion)
{
    struct world w = world_new(true);

    run_for(&w, TIMEOUT);
    ck_assert(ftc_watch_exited(&w.watch, 0, false));
    ck_assert_int_eq(entry_of(&w, 0)->state, FTC_WATCH_FAILED);
    ck_assert_int_eq(entry_of(&w, 0)->suspicion, FTC_SUSPECT_NONE);
    ck_assert(!ftc_watch_exited(&w.watch, 1, true));
    ck_assert_int_eq(entry_of(&w, 1)->state, FTC_WATCH_LEFT);
    ck_assert(!ftc_watch_exited(&w.watch, 1, false));
    ck_assert_int_eq(entry_of(&w, 1)->state, FTC_WATCH_LEFT);

    stall(&w, 0);
    stall(&w, 1);
    ftc_watch_accused(&w.watch, 0, 3, w.now);
    run_for(&w, 3 * TIMEOUT);
    ck_assert_int_eq(fenced_count(&w), 0); /* dead ranks are not killed again */
    world_free(&w);
}
END_TEST

START_TEST(who_has_not_joined_cannot_stall)
{
    struct world w = world_new(true);

    stall(&w, 4);
    run_for(&w, 10 * TIMEOUT);
    check_nobody_suspected(&w);
    ck_assert(!entry_of(&w, 4)->joined);
    ck_assert(ftc_watch_exited(&w.watch, 4, false));
    world_free(&w);
}
END_TEST

START_TEST(a_heartbeat_of_zero_is_one_too)
{
    struct ftc_watch watch;

    ck_assert_int_eq(ftc_watch_init(&watch, 1, PERIOD, TIMEOUT, true), 0);
    ftc_watch_started(&watch, 0, 0);
    ftc_watch_tick(&watch, 0);
    ftc_watch_heartbeat(&watch, 0, 0, 0);
    ck_assert(watch.entry[0].joined);
    for (uint64_t now = 0; now <= TIMEOUT; now += PERIOD) {
        ftc_watch_tick(&watch, now);
        ftc_watch_heartbeat(&watch, 0, 0, now);
        ck_assert_int_eq(ftc_watch_next_to_fence(&watch, now), -1);
    }
    ck_assert_int_eq(ftc_watch_next_to_fence(&watch, TIMEOUT + 1), 0);
    ftc_watch_fini(&watch);
}
END_TEST

/* Ranks 0..2 stop before they have joined, the others after that. */
START_TEST(a_stop_that_lasts_is_fenced)
{
    struct world w = world_new(true);
    int r = _i;

    if (r < 3)
        stall(&w, r);
    run_for(&w, 3 * TIMEOUT);
    uint64_t stopped = w.now;
    stall(&w, r);
    ftc_watch_stopped(&w.watch, r, true, w.now);
    run_for(&w, TIMEOUT - 1);
    check_nobody_suspected(&w);
    run_for(&w, TIMEOUT);
    ck_assert_int_eq(fenced_count(&w), 1);
    ck_assert_int_eq(entry_of(&w, r)->suspicion, FTC_SUSPECT_STOPPED);
    ck_assert_uint_gt(w.rank[r].fenced, stopped + TIMEOUT);
    ck_assert_uint_le(w.rank[r].fenced, stopped + TIMEOUT + PERIOD);
    world_free(&w);
}
END_TEST

/* A rank stopped just before its next beat was due. The stop lasts for nearly the timeout. Then the
 * rank has as much time to beat as was left at the stop. */
START_TEST(continuing_leaves_the_time_that_was_left)
{
    struct world w = world_new(true);

    run_for(&w, TIMEOUT);
    uint64_t used = w.now - w.rank[1].last_beat; /* how much of its time was used at the stop */
    stall(&w, 1);
    ftc_watch_stopped(&w.watch, 1, true, w.now);
    run_for(&w, TIMEOUT / 2);
    ftc_watch_stopped(&w.watch, 1, true, w.now); /* told twice: only the first counts */
    run_for(&w, TIMEOUT / 2 - PERIOD);
    ftc_watch_stopped(&w.watch, 1, false, w.now);
    run_for(&w, TIMEOUT - used - 1);
    check_nobody_suspected(&w);
    resume(&w, 1);
    run_for(&w, 3 * TIMEOUT);
    check_nobody_suspected(&w);
    world_free(&w);
}
END_TEST

/* Stops and continues do not hide a heartbeat that never moves. */
START_TEST(stopping_again_and_again_hides_no_stall)
{
    struct world w = world_new(true);

    run_for(&w, TIMEOUT);
    stall(&w, 1);
    for (int round = 0; round < 40; round++) {
        ftc_watch_stopped(&w.watch, 1, round % 2 == 0, w.now);
        run_for(&w, TIMEOUT / 10);
    }
    ck_assert_uint_ne(w.rank[1].fenced, 0);
    ck_assert_int_eq(entry_of(&w, 1)->suspicion, FTC_SUSPECT_STALLED);
    world_free(&w);
}
END_TEST

START_TEST(an_accusation_suspects_at_once)
{
    struct world w = world_new(true);

    run_for(&w, TIMEOUT);
    ftc_watch_accused(&w.watch, 3, 5, w.now);
    ftc_watch_accused(&w.watch, 3, 4, w.now);
    ck_assert_int_eq(entry_of(&w, 3)->state, FTC_WATCH_SUSPECTED);
    ck_assert_int_eq(ftc_watch_next_to_fence(&w.watch, w.now), 3);
    ck_assert_int_eq(ftc_watch_next_to_fence(&w.watch, w.now), -1);
    ck_assert_int_eq(entry_of(&w, 3)->suspicion, FTC_SUSPECT_ACCUSED);
    ck_assert_int_eq(entry_of(&w, 3)->accuser, 5);
    ck_assert_int_eq(entry_of(&w, 0)->accuser, -1);
    world_free(&w);
}
END_TEST

START_TEST(ranks_out_of_range_are_ignored)
{
    static const int ranks[] = {-1, RANKS, INT32_MAX, INT32_MIN};
    struct world w = world_new(true);

    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        ftc_watch_started(&w.watch, ranks[i], w.now);
        ftc_watch_heartbeat(&w.watch, ranks[i], 1, w.now);
        ftc_watch_stopped(&w.watch, ranks[i], true, w.now);
        ftc_watch_accused(&w.watch, ranks[i], 0, w.now);
        ftc_watch_released(&w.watch, ranks[i]);
        ck_assert(!ftc_watch_exited(&w.watch, ranks[i], false));
    }
    check_nobody_suspected(&w);
    world_free(&w);
}
END_TEST

START_TEST(many_suspects_come_one_by_one)
{
    struct world w = world_new(true);

    run_for(&w, TIMEOUT);
    for (int r = RANKS - 1; r >= 0; r--)
        ftc_watch_accused(&w.watch, r, 0, w.now);
    for (int r = 0; r < RANKS; r++)
        ck_assert_int_eq(ftc_watch_next_to_fence(&w.watch, w.now), r);
    ck_assert_int_eq(ftc_watch_next_to_fence(&w.watch, w.now), -1);
    world_free(&w);
}
END_TEST

START_TEST(without_fencing_suspicions_only_show)
{
    struct world w = world_new(false);

    run_for(&w, TIMEOUT);
    stall(&w, 1);
    stall(&w, 2);
    ftc_watch_stopped(&w.watch, 2, true, w.now);
    ftc_watch_accused(&w.watch, 3, 0, w.now);
    run_for(&w, 3 * TIMEOUT);
    ck_assert_int_eq(fenced_count(&w), 0);
    ck_assert_int_eq(entry_of(&w, 1)->suspicion, FTC_SUSPECT_STALLED);
    ck_assert_int_eq(entry_of(&w, 2)->suspicion, FTC_SUSPECT_STOPPED);
    ck_assert_int_eq(entry_of(&w, 3)->suspicion, FTC_SUSPECT_ACCUSED);
    for (int r = 1; r <= 3; r++)
        ck_assert_int_eq(entry_of(&w, r)->state, FTC_WATCH_SUSPECTED);

    resume(&w, 1);
    resume(&w, 2);
    ftc_watch_stopped(&w.watch, 2, false, w.now);
    run_for(&w, 3 * TIMEOUT);
    ck_assert_int_eq(entry_of(&w, 1)->state, FTC_WATCH_ALIVE);
    ck_assert_int_eq(entry_of(&w, 2)->state, FTC_WATCH_ALIVE);
    ck_assert_int_eq(entry_of(&w, 3)->state, FTC_WATCH_SUSPECTED); /* no heartbeat disproves that */
    stall(&w, 1);
    run_for(&w, 3 * TIMEOUT);
    for (int r = 0; r <= 3; r++) /* suspicions are counted when they arise, not at each look */
        ck_assert_uint_eq(entry_of(&w, r)->suspicions, r == 0 ? 0 : r == 1 ? 2 : 1);
    ck_assert(ftc_watch_exited(&w.watch, 3, false));
    world_free(&w);
}
END_TEST

START_TEST(the_released_may_fall_silent)
{
    struct world w = world_new(true);

    run_for(&w, TIMEOUT);
    ftc_watch_released(&w.watch, 0);
    stall(&w, 0);
    ftc_watch_accused(&w.watch, 0, 1, w.now);
    run_for(&w, 10 * TIMEOUT);
    check_nobody_suspected(&w);
    ck_assert(!ftc_watch_exited(&w.watch, 0, true));
    world_free(&w);
}
END_TEST

START_TEST(the_released_are_fenced_if_they_are_stopped)
{
    struct world w = world_new(true);

    run_for(&w, TIMEOUT);
    ftc_watch_released(&w.watch, 0);
    stall(&w, 0);
    ftc_watch_stopped(&w.watch, 0, true, w.now);
    w.now += TIMEOUT + 1;
    ck_assert_int_eq(ftc_watch_next_to_fence(&w.watch, w.now), 0);
    ck_assert(!ftc_watch_exited(&w.watch, 0, true));
    world_free(&w);
}
END_TEST

/* --- bounds, for random worlds --- */

/* Heartbeats are as irregular as they can be: up to `longest` apart. */
static struct world irregular_world(uint64_t longest, int round)
{
    struct world w = world_new(true);

    for (int i = 0; i <= round; i++)
        w.random.state += test_random_bits(&w.random);
    for (int r = 0; r < RANKS; r++)
        w.rank[r].longest = longest;
    w.next_tick += (uint64_t)test_random_between(&w.random, 0, PERIOD);
    return w;
}

START_TEST(a_death_is_suspected_within_the_bound_and_not_before)
{
    for (int round = 0; round < 300; round++) {
        struct world w = irregular_world(TIMEOUT, round);
        run_for(&w, (uint64_t)test_random_between(&w.random, TIMEOUT, 5 * TIMEOUT));
        check_nobody_suspected(&w);
        int r = (int)test_random_between(&w.random, 0, RANKS - 1);
        stall(&w, r);
        run_for(&w, 3 * TIMEOUT);
        ck_assert_int_eq(fenced_count(&w), 1);
        ck_assert_uint_gt(w.rank[r].fenced, w.rank[r].last_beat + TIMEOUT);
        ck_assert_uint_le(w.rank[r].fenced, w.rank[r].last_beat + TIMEOUT + 2 * PERIOD);
        world_free(&w);
    }
}
END_TEST

START_TEST(a_stop_is_suspected_within_the_bound)
{
    for (int round = 0; round < 300; round++) {
        struct world w = irregular_world(PERIOD, round);
        run_for(&w, (uint64_t)test_random_between(&w.random, TIMEOUT, 5 * TIMEOUT));
        int r = (int)test_random_between(&w.random, 0, RANKS - 1);
        stall(&w, r);
        run_for(&w, (uint64_t)test_random_between(&w.random, 0,
                                                  PERIOD / 2)); /* the news takes a while */
        ftc_watch_stopped(&w.watch, r, true, w.now);
        run_for(&w, 3 * TIMEOUT);
        ck_assert_int_eq(fenced_count(&w), 1);
        ck_assert_int_eq(entry_of(&w, r)->suspicion, FTC_SUSPECT_STOPPED);
        ck_assert_uint_le(w.rank[r].fenced, w.rank[r].last_beat + TIMEOUT + 2 * PERIOD);
        world_free(&w);
    }
}
END_TEST

/* Puts off the next look by up to `longest`. */
static void starve_watcher(struct world *w, uint64_t longest)
{
    w->next_tick += (uint64_t)test_random_between(&w->random, 0, (int64_t)longest);
}

START_TEST(a_starved_watcher_suspects_nobody)
{
    for (int round = 0; round < 100; round++) {
        struct world w = irregular_world(TIMEOUT, round);
        for (int i = 0; i < 20; i++) {
            starve_watcher(&w, i % 2 == 0 ? 3 * TIMEOUT : 2 * PERIOD);
            run_until(&w, w.next_tick + 1);
            run_for(&w, (uint64_t)test_random_between(&w.random, 0, 3 * PERIOD));
        }
        check_nobody_suspected(&w);
        world_free(&w);
    }
}
END_TEST

/* Everything stands still, and the clock goes on. After that the watcher happens to run first. */
static void pause_machine(struct world *w, uint64_t time)
{
    w->now += time;
    for (int r = 0; r < RANKS; r++)
        if (w->rank[r].next_beat != NEVER)
            w->rank[r].next_beat += time;
    look(w);
}

START_TEST(a_pause_of_the_machine_suspects_nobody)
{
    for (int round = 0; round < 100; round++) {
        struct world w = irregular_world(TIMEOUT - PERIOD, round);
        for (int i = 0; i < 10; i++) {
            run_for(&w, (uint64_t)test_random_between(&w.random, 3 * TIMEOUT, 4 * TIMEOUT));
            pause_machine(&w, (uint64_t)test_random_between(
                                  &w.random, 0, i % 2 == 0 ? 20 * TIMEOUT : 2 * PERIOD));
        }
        check_nobody_suspected(&w);
        world_free(&w);
    }
}
END_TEST

START_TEST(a_pause_puts_a_deadline_off_but_does_not_cancel_it)
{
    for (int round = 0; round < 100; round++) {
        struct world w = irregular_world(PERIOD, round);
        run_for(&w, 3 * TIMEOUT);
        bool stopped = test_random_chance(&w.random, 50);
        stall(&w, 0);
        if (stopped)
            ftc_watch_stopped(&w.watch, 0, true, w.now);
        run_for(&w, TIMEOUT / 2);
        uint64_t pause = (uint64_t)test_random_between(&w.random, 2 * PERIOD, 20 * TIMEOUT);
        pause_machine(&w, pause);
        run_for(&w, TIMEOUT / 4);
        check_nobody_suspected(&w);
        run_for(&w, TIMEOUT / 4 + 2 * PERIOD);
        ck_assert_int_eq(fenced_count(&w), 1);
        ck_assert_uint_gt(w.rank[0].fenced, w.rank[0].last_beat + TIMEOUT + pause - PERIOD);
        world_free(&w);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("watch");
    TCase *stories = tcase_create("stories");
    tcase_add_test(stories, a_stall_is_fenced_once_and_its_exit_is_the_verdict);
    tcase_add_test(stories, an_exit_needs_no_suspicion);
    tcase_add_test(stories, who_has_not_joined_cannot_stall);
    tcase_add_test(stories, a_heartbeat_of_zero_is_one_too);
    tcase_add_loop_test(stories, a_stop_that_lasts_is_fenced, 0, RANKS);
    tcase_add_test(stories, continuing_leaves_the_time_that_was_left);
    tcase_add_test(stories, stopping_again_and_again_hides_no_stall);
    tcase_add_test(stories, an_accusation_suspects_at_once);
    tcase_add_test(stories, ranks_out_of_range_are_ignored);
    tcase_add_test(stories, many_suspects_come_one_by_one);
    tcase_add_test(stories, without_fencing_suspicions_only_show);
    tcase_add_test(stories, the_released_may_fall_silent);
    tcase_add_test(stories, the_released_are_fenced_if_they_are_stopped);
    suite_add_tcase(suite, stories);

    TCase *bounds = tcase_create("bounds");
    tcase_add_test(bounds, a_death_is_suspected_within_the_bound_and_not_before);
    tcase_add_test(bounds, a_stop_is_suspected_within_the_bound);
    tcase_add_test(bounds, a_starved_watcher_suspects_nobody);
    tcase_add_test(bounds, a_pause_of_the_machine_suspects_nobody);
    tcase_add_test(bounds, a_pause_puts_a_deadline_off_but_does_not_cancel_it);
    tcase_set_timeout(bounds, 300);
    suite_add_tcase(suite, bounds);

    test_seed_announce();
    return test_suite_run(suite);
}
