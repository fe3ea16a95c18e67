/*
 * Conformance of a multicast transport, with all ranks in one process: delivery, strangers, drills,
 * overrun, waiting, errors. The default is UDP on the loopback. FTC_TEST_TRANSPORT=verbs and
 * FTC_TEST_INTERFACES choose another, as the .bats files here and in tests/rdma do.
 */
#include "transport/multicast/multicast.h"

#include <glob.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/error.h"
#include "multicast_numbers.h"
#include "tests/random.h"
#include "tests/suite.h"
#include "transport/multicast/internal.h"

#define RANKS      4
#define MANY       10000
#define BATCH      64 /* datagrams on their way at one time: less than any receiver has room for */
#define ENOUGH     (4 * BATCH)
#define LOSS_PAPER 2870u /* parts per million (Hoefler, Siebert, Rehm 2007) */

static struct ftc_multicast_group group;
static struct ftc_multicast *end[RANKS];
static const struct ftc_log log_all = {FTC_LOG_WARN, "test"};

static const struct ftc_multicast_ops *ops(void)
{
    const char *name = getenv("FTC_TEST_TRANSPORT");
    return name != NULL && strcmp(name, "verbs") == 0 ? &ftc_multicast_verbs : &ftc_multicast_udp;
}

static struct ftc_multicast_setup setup_of(int rank)
{
    return (struct ftc_multicast_setup){.ranks = RANKS,
                                        .self = rank,
                                        .group = group,
                                        .interfaces = getenv("FTC_TEST_INTERFACES"),
                                        .receives = ENOUGH,
                                        .log = &log_all};
}

static struct ftc_multicast *join(const struct ftc_multicast_setup *setup)
{
    struct ftc_multicast *joined = NULL;
    int rc = ftc_multicast_open(&joined, ops(), setup);
    ck_assert_msg(rc == 0, "%s", ftc_last_error());
    return joined;
}

/* Rank `rank` joins, with a drill or NULL. */
static void start(int rank, const struct ftc_multicast_drill *drill)
{
    struct ftc_multicast_setup setup = setup_of(rank);
    if (drill != NULL)
        setup.drill = *drill;
    end[rank] = join(&setup);
}

static void setup_group(void)
{
    unsigned char drawn[FTC_MULTICAST_DRAWN];
    ck_assert_int_eq(getrandom(drawn, sizeof(drawn), 0), sizeof(drawn));
    ftc_multicast_group_make(&group, drawn);
}

static void teardown(void)
{
    for (int rank = 0; rank < RANKS; rank++) {
        ftc_multicast_close(end[rank]);
        end[rank] = NULL;
    }
}

/* --- what came --- */

static struct ftc_multicast_counters counters(int rank)
{
    struct ftc_multicast_counters now;
    ftc_multicast_counters(end[rank], &now);
    return now;
}

static bool by_verbs(void)
{
    return ops() == &ftc_multicast_verbs;
}

/* Datagrams that came over the wire and are dealt with, by the rank or by the kernel. A datagram
 * that a drill holds back does not count yet. What an RDMA device drops is not counted for each
 * rank. */
static uint64_t seen(int rank)
{
    struct ftc_multicast_counters now = counters(rank);
    return now.own + (by_verbs() ? 0 : now.dropped) + now.foreign - now.drilled.foreign +
           now.corrupt + now.drilled.lost + now.received - now.drilled.duplicated;
}

/* Takes datagrams until `count` came over the wire, and marks each received number in `heard`. */
static void pump(int rank, uint64_t count, unsigned char *heard)
{
    uint64_t deadline = ftc_clock_now() + PATIENCE;
    for (;;) {
        uint32_t source;
        size_t size;
        int64_t number = take_sized(end[rank], &source, &size);
        if (number >= 0 && heard != NULL)
            heard[number]++;
        if (number < 0 && seen(rank) == count)
            return;
        if (number < 0)
            ck_assert_msg(sleep_until(end[rank], deadline), "rank %d: %llu of %llu datagrams came",
                          rank, (unsigned long long)seen(rank), (unsigned long long)count);
    }
}

/* Sends `count` numbers from rank 0 to rank 1, as fast as rank 1 takes them. heard[number] counts
 * how often it came. */
static void stream(int count, unsigned char *heard)
{
    memset(heard, 0, (size_t)count);
    for (int number = 0; number < count; number++) {
        send_number(end[0], (uint64_t)number);
        if (number % BATCH == BATCH - 1 || number == count - 1)
            pump(1, (uint64_t)number + 1, heard);
    }
    ck_assert_uint_eq(counters(0).sent, (uint64_t)count);
    ck_assert(!ftc_multicast_ready(end[1]));
}

/* --- delivery --- */

START_TEST(everyone_hears_everyone_else)
{
    for (int rank = 0; rank < RANKS; rank++)
        start(rank, NULL);
    for (int rank = 0; rank < RANKS; rank++)
        for (int i = 0; i < 3; i++)
            send_number(end[rank], (uint64_t)(10 * rank + i));
    for (int rank = 0; rank < RANKS; rank++) {
        unsigned char heard[10 * RANKS] = {0};
        pump(rank, 3 * RANKS, heard);
        for (int number = 0; number < 10 * RANKS; number++)
            ck_assert_int_eq(heard[number], number % 10 < 3 && number / 10 != rank);
        ck_assert_uint_eq(counters(rank).own, 3);
        ck_assert_uint_eq(counters(rank).received, 3 * (RANKS - 1));
    }
}
END_TEST

START_TEST(every_size_up_to_the_largest)
{
    start(0, NULL);
    start(1, NULL);
    size_t most = ftc_multicast_payload_max(end[0]),
           sizes[] = {0, 1, 15, 16, 17, 1000, most - 1, most}, size;
    uint32_t source;
    ck_assert_uint_ge(most, 1000);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        send_sized(end[0], i, sizes[i]);
        ck_assert_int_eq(await_sized(end[1], &source, &size), (int64_t)i);
        ck_assert_uint_eq(size, sizes[i]);
        ck_assert_uint_eq(source, 0);
    }
    ck_assert_uint_eq(counters(0).send_failed, 0);
}
END_TEST

START_TEST(many_come_whole_and_once)
{
    static unsigned char heard[MANY];
    start(0, NULL);
    start(1, NULL);
    stream(MANY, heard);
    for (int number = 0; number < MANY; number++)
        ck_assert_int_eq(heard[number], 1);
    ck_assert_uint_eq(counters(1).received, MANY);
}
END_TEST

/* --- strangers --- */

/* The job key of a stranger differs: by verbs in the bits that are the Q_Key, and by UDP in the
 * last word that the filter of the kernel compares. */
static struct ftc_multicast *join_stranger(void)
{
    struct ftc_multicast_setup stranger = setup_of(2);
    stranger.group.job_key[by_verbs() ? 0 : FTC_JOB_KEY_SIZE - 1] ^= 1;
    return join(&stranger);
}

START_TEST(another_job_on_the_same_group_is_counted_and_not_heard)
{
    start(0, NULL);
    start(1, NULL);
    struct ftc_multicast *other = join_stranger();
    for (uint64_t number = 0; number < 200; number++) {
        send_number(other, 1000 + number);
        send_number(end[0], number);
        ck_assert_int_eq(await_number(end[1]), (int64_t)number);
    }
    ck_assert_uint_eq(counters(1).received, 200);
    if (by_verbs())
        ck_assert_uint_eq(counters(1).foreign, 0);
    else
        ck_assert_uint_eq(counters(1).foreign + counters(1).dropped, 200);
    ftc_multicast_close(other);
}
END_TEST

/* Sends `count` datagrams of the largest size. A queue pair takes only some at once. */
static void flood(struct ftc_multicast *from, uint64_t count)
{
    struct ftc_multicast_counters now = {0};
    uint64_t deadline = ftc_clock_now() + PATIENCE;
    while (now.sent < count) {
        send_sized(from, now.sent, ftc_multicast_payload_max(from));
        ftc_multicast_counters(from, &now);
        ck_assert_msg(ftc_clock_now() < deadline, "%llu of a flood of %llu datagrams are sent",
                      (unsigned long long)now.sent, (unsigned long long)count);
    }
}

/* The job's datagrams come after the flood, and before the rank has looked. */
START_TEST(a_flood_of_another_job_takes_no_room_and_little_time)
{
    struct ftc_multicast_setup few = setup_of(1);
    few.receives = 0; /* uses the default */
    start(0, NULL);
    end[1] = join(&few);
    struct ftc_multicast *other = join_stranger();
    flood(other, MANY);
    for (uint64_t number = 0; number < FTC_MULTICAST_RECEIVES; number++)
        send_number(end[0], number);
    for (int number = 0; number < FTC_MULTICAST_RECEIVES; number++)
        ck_assert_int_eq(await_number(end[1]), number);
    if (by_verbs())
        ck_assert_uint_eq(counters(1).foreign, 0);
    else
        ck_assert_uint_eq(seen(1), MANY + FTC_MULTICAST_RECEIVES);
    ck_assert_uint_lt(counters(1).foreign, 20 * MANY / FTC_MULTICAST_SAMPLE);
    ftc_multicast_close(other);
}
END_TEST

static void push(int rank, const void *bytes, size_t size)
{
    struct iovec piece = {(void *)(uintptr_t)bytes, size};
    ck_assert(ops()->push(end[rank], &piece, 1));
}

START_TEST(noise_is_counted_and_dropped)
{
    unsigned char head[FTC_DATAGRAM_HEAD];
    struct ftc_datagram fields = {.source = RANKS, .count = 1};
    struct iovec nothing = {NULL, 0};
    start(0, NULL);
    start(1, NULL);
    push(0, "?", 1);
    push(0, "a datagram of something else that is as long as an envelope of ours, or longer", 78);
    ftc_datagram_encode(head, &fields, group.job_key, &nothing,
                        1); /* this rank is not in the job */
    push(0, head, sizeof(head));
    fields.source = 0;
    ftc_datagram_encode(head, &fields, group.job_key, &nothing, 1);
    push(0, head, sizeof(head) - 1);
    head[sizeof(head) - 1] ^= 1;
    push(0, head, sizeof(head));
    pump(1, 5, NULL);
    ck_assert_uint_eq(counters(1).foreign + counters(1).dropped, 2);
    ck_assert_uint_eq(counters(1).corrupt, 3);
    ck_assert_uint_eq(counters(1).received, 0);
    send_number(end[0], 42);
    ck_assert_int_eq(await_number(end[1]), 42);
}
END_TEST

/* --- drills --- */

/* Allows five standard deviations around the drill's probability. Chance misses that in one of a
 * million runs. */
static void assert_near(uint64_t count, double probability)
{
    double expected = probability * MANY, spread = 25 * expected * (1 - probability);
    double miss = (double)count - expected;
    ck_assert_msg(miss * miss <= spread, "%llu of %d, expected %.0f", (unsigned long long)count,
                  MANY, expected);
}

START_TEST(loss_is_as_often_as_asked)
{
    static const uint32_t ppm[] = {LOSS_PAPER, 100000, 500000, FTC_DRILL_CERTAIN};
    static unsigned char heard[MANY];
    struct test_random random = test_random_start();
    struct ftc_multicast_drill drill = {.loss_ppm = ppm[_i], .seed = test_random_bits(&random)};
    start(0, NULL);
    start(1, &drill);
    stream(MANY, heard);
    assert_near(counters(1).drilled.lost, ppm[_i] / 1e6);
    ck_assert_uint_eq(counters(1).received + counters(1).drilled.lost, MANY);
    for (int number = 0; number < MANY; number++)
        ck_assert_int_le(heard[number], 1);
}
END_TEST

START_TEST(the_seed_and_the_rank_decide_what_is_lost)
{
    static unsigned char heard[3][1000];
    struct test_random random = test_random_start();
    struct ftc_multicast_drill drill = {.loss_ppm = 300000, .seed = test_random_bits(&random)};
    for (int time = 0; time < 3; time++) {
        int receiver = time < 2 ? 1 : 2;
        start(0, NULL);
        start(receiver, &drill);
        for (uint64_t number = 0; number < 1000; number++) {
            send_number(end[0], number);
            if (number % BATCH == BATCH - 1 || number == 999)
                pump(receiver, number + 1, heard[time]);
        }
        teardown();
    }
    ck_assert_mem_eq(heard[0], heard[1], 1000);
    ck_assert_mem_ne(heard[0], heard[2], 1000);
}
END_TEST

START_TEST(duplicates_come_twice)
{
    static const uint32_t ppm[] = {50000, FTC_DRILL_CERTAIN};
    static unsigned char heard[MANY];
    struct test_random random = test_random_start();
    struct ftc_multicast_drill drill = {.duplicate_ppm = ppm[_i],
                                        .seed = test_random_bits(&random)};
    uint64_t twice = 0;
    start(0, NULL);
    start(1, &drill);
    stream(MANY, heard);
    for (int number = 0; number < MANY; number++) {
        ck_assert(heard[number] == 1 || heard[number] == 2);
        twice += heard[number] == 2;
    }
    assert_near(twice, ppm[_i] / 1e6);
    ck_assert_uint_eq(counters(1).drilled.duplicated, twice);
}
END_TEST

/* A datagram that is held back comes after at most FTC_DRILL_LATE others that were sent later. */
START_TEST(reordered_ones_are_late_but_come)
{
    static unsigned char heard[MANY];
    struct test_random random = test_random_start();
    struct ftc_multicast_drill drill = {.reorder_ppm = 100000, .seed = test_random_bits(&random)};
    int64_t newest = -1;
    int late = 0;
    start(0, NULL);
    start(1, &drill);
    memset(heard, 0, sizeof(heard));
    for (int number = 0; number < MANY; number++) {
        send_number(end[0], (uint64_t)number);
        for (int i = 0; number % BATCH == BATCH - 1 && i < BATCH; i++) {
            int64_t came = await_number(end[1]);
            ck_assert_int_le(newest - came, FTC_DRILL_HELD + FTC_DRILL_LATE);
            late += came < newest;
            newest = came > newest ? came : newest;
            heard[came]++;
        }
    }
    pump(1, MANY, heard);
    for (int number = 0; number < MANY; number++)
        ck_assert_int_eq(heard[number], 1);
    assert_near(counters(1).drilled.reordered, 0.1);
    ck_assert_int_gt(late, MANY / 20);
}
END_TEST

START_TEST(a_held_back_datagram_does_not_wait_for_another)
{
    struct ftc_multicast_drill drill = {.reorder_ppm = FTC_DRILL_CERTAIN};
    start(0, NULL);
    start(1, &drill);
    for (int number = 0; number < 20; number++) {
        send_number(end[0], (uint64_t)number);
        ck_assert_int_eq(await_number(end[1]), number);
    }
    ck_assert_uint_eq(counters(1).drilled.reordered, 20);
}
END_TEST

START_TEST(corrupted_ones_are_dropped_by_the_checksum)
{
    static const uint32_t ppm[] = {100000, FTC_DRILL_CERTAIN};
    static unsigned char heard[MANY];
    struct test_random random = test_random_start();
    struct ftc_multicast_drill drill = {.corrupt_ppm = ppm[_i], .seed = test_random_bits(&random)};
    start(0, NULL);
    start(1, &drill);
    stream(MANY, heard);
    struct ftc_multicast_counters now = counters(1);
    assert_near(now.drilled.corrupted, ppm[_i] / 1e6);
    ck_assert_uint_eq(now.corrupt + now.foreign, now.drilled.corrupted);
    ck_assert_uint_gt(now.corrupt, now.foreign);
    ck_assert_uint_eq(now.received, MANY - now.drilled.corrupted);
}
END_TEST

START_TEST(foreign_ones_come_between_and_harm_nothing)
{
    static unsigned char heard[MANY];
    struct test_random random = test_random_start();
    struct ftc_multicast_drill drill = {.foreign_ppm = 500000, .seed = test_random_bits(&random)};
    start(0, NULL);
    start(1, &drill);
    stream(MANY, heard);
    assert_near(counters(1).drilled.foreign, 0.5);
    ck_assert_uint_eq(counters(1).foreign, counters(1).drilled.foreign);
    ck_assert_uint_eq(counters(1).received, MANY);
}
END_TEST

START_TEST(all_at_once)
{
    static unsigned char heard[MANY];
    struct test_random random = test_random_start();
    struct ftc_multicast_drill drill = {.loss_ppm = 200000,
                                        .duplicate_ppm = 200000,
                                        .reorder_ppm = 200000,
                                        .corrupt_ppm = 200000,
                                        .foreign_ppm = 200000,
                                        .seed = test_random_bits(&random)};
    uint64_t whole = 0;
    start(0, NULL);
    start(1, &drill);
    stream(MANY, heard);
    for (int number = 0; number < MANY; number++)
        whole += heard[number] > 0;
    assert_near(whole, 0.8 * 0.8);
    ck_assert_uint_gt(counters(1).drilled.duplicated, 0);
    ck_assert_uint_gt(counters(1).drilled.reordered, 0);
}
END_TEST

/* --- overrun, waiting --- */

START_TEST(a_late_receiver_loses_datagrams_and_nothing_else)
{
    struct ftc_multicast_setup late = setup_of(1);
    unsigned char heard[MANY + 10] = {0};
    uint32_t source;
    size_t size;
    late.receives = 0; /* uses the default */
    start(0, NULL);
    start(2, NULL);
    end[1] = join(&late);
    for (uint64_t number = 0; number < MANY; number++) {
        send_number(end[0], number);
        if (number % BATCH == BATCH - 1 || number == MANY - 1)
            pump(2, number + 1, NULL); /* rank 2 is not late: all were on the wire */
    }
    while (take_sized(end[1], &source, &size) >= 0)
        ;
    uint64_t early = counters(1).received;
    ck_assert_uint_ge(early, FTC_MULTICAST_RECEIVES);
    ck_assert_uint_lt(early, MANY);
    for (uint64_t number = MANY; number < MANY + 10; number++) {
        send_number(end[0], number);
        ck_assert_int_eq(await_number(end[1]), (int64_t)number);
    }
    pump(1, early + counters(1).dropped + 10, heard);
}
END_TEST

START_TEST(the_descriptor_tells_when_something_comes)
{
    start(0, NULL);
    start(1, NULL);
    struct pollfd item = {.fd = ftc_multicast_fd(end[1]), .events = POLLIN};
    for (int number = 0; number < 100; number++) {
        ck_assert_int_eq(ftc_multicast_arm(end[1]), 0);
        ck_assert(!ftc_multicast_ready(end[1]));
        ck_assert_int_eq(poll(&item, 1, 0), 0);
        send_number(end[0], (uint64_t)number);
        ck_assert_int_eq(poll(&item, 1, PATIENCE / FTC_NS_PER_MS), 1);
        ck_assert_int_eq(await_number(end[1]), number);
    }
}
END_TEST

/* --- errors --- */

static bool has_rdma_devices(void)
{
    glob_t found;
    int rc = glob("/sys/class/infiniband/*", 0, NULL, &found);
    globfree(&found);
    return rc == 0;
}

static void assert_refused(const struct ftc_multicast_setup *setup, int code, const char *cause,
                           const char *remedy)
{
    struct ftc_multicast *none = NULL;
    ck_assert_int_eq(ftc_multicast_open(&none, ops(), setup), code);
    ck_assert_ptr_null(none);
    ck_assert_msg(strstr(ftc_last_error(), cause) != NULL, "no \"%s\" in: %s", cause,
                  ftc_last_error());
    ck_assert_msg(strstr(ftc_last_error(), remedy) != NULL, "no \"%s\" in: %s", remedy,
                  ftc_last_error());
}

START_TEST(what_cannot_be_opened_says_why_and_what_to_do)
{
    struct ftc_multicast_setup setup = setup_of(0);
    setup.interfaces = "nosuch0";
    assert_refused(&setup, FTC_ERR_CONFIG, "nosuch0", "see `");
    setup.interfaces = "192.0.2.254";
    assert_refused(&setup, FTC_ERR_CONFIG, "192.0.2.254", "see `");
    setup.interfaces = "lo,,lo";
    setup.self = 1;
    assert_refused(&setup, FTC_ERR_CONFIG, "lo,,lo", "give names");
    setup = setup_of(RANKS);
    assert_refused(&setup, FTC_ERR_ARG, "rank 4 of 4", "no such rank");
    setup = setup_of(0);
    setup.receives = FTC_MULTICAST_RECEIVES_MAX + 1;
    assert_refused(&setup, FTC_ERR_ARG, "4097 receives", "give 1 to 4096");
    setup = setup_of(0);
    setup.drill.reorder_ppm = FTC_DRILL_CERTAIN + 1;
    assert_refused(&setup, FTC_ERR_ARG, "1000001 parts per million", "give at most 1000000");
}
END_TEST

/* Where there is a device, tests/rdma opens it. */
START_TEST(verbs_without_a_device_is_unsupported)
{
    struct ftc_multicast_setup setup = setup_of(0);
    struct ftc_multicast *none = NULL;
    if (has_rdma_devices())
        return;
    ck_assert_int_eq(ftc_multicast_open(&none, &ftc_multicast_verbs, &setup), FTC_ERR_UNSUPPORTED);
    ck_assert_ptr_null(none);
    ck_assert_msg(strstr(ftc_last_error(), "there is no RDMA device here: use udp") != NULL ||
                      strstr(ftc_last_error(), "this build has no verbs") != NULL,
                  "it says \"%s\"", ftc_last_error());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport/multicast");
    TCase *tcase = tcase_create(ops()->name);
    tcase_set_timeout(tcase, 300);
    test_seed_announce();
    tcase_add_checked_fixture(tcase, setup_group, teardown);
    tcase_add_test(tcase, everyone_hears_everyone_else);
    tcase_add_test(tcase, every_size_up_to_the_largest);
    tcase_add_test(tcase, many_come_whole_and_once);
    tcase_add_test(tcase, another_job_on_the_same_group_is_counted_and_not_heard);
    tcase_add_test(tcase, a_flood_of_another_job_takes_no_room_and_little_time);
    tcase_add_test(tcase, noise_is_counted_and_dropped);
    tcase_add_loop_test(tcase, loss_is_as_often_as_asked, 0, 4);
    tcase_add_test(tcase, the_seed_and_the_rank_decide_what_is_lost);
    tcase_add_loop_test(tcase, duplicates_come_twice, 0, 2);
    tcase_add_test(tcase, reordered_ones_are_late_but_come);
    tcase_add_test(tcase, a_held_back_datagram_does_not_wait_for_another);
    tcase_add_loop_test(tcase, corrupted_ones_are_dropped_by_the_checksum, 0, 2);
    tcase_add_test(tcase, foreign_ones_come_between_and_harm_nothing);
    tcase_add_test(tcase, all_at_once);
    tcase_add_test(tcase, a_late_receiver_loses_datagrams_and_nothing_else);
    tcase_add_test(tcase, the_descriptor_tells_when_something_comes);
    tcase_add_test(tcase, what_cannot_be_opened_says_why_and_what_to_do);
    tcase_add_test(tcase, verbs_without_a_device_is_unsupported);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
