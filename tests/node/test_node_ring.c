/* Tests the byte ring: round trips around its capacity, two processes, deaths, damage. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "node/bell.h"
#include "node/ring.h"
#include "scratch.h"
#include "tests/random.h"

#define STREAM_BYTES (100u << 20)

static struct scratch_job job;
static struct ftc_ring out, in;

static void setup(void)
{
    scratch_job_make(&job, 2);
    ck_assert_int_eq(ftc_ring_create(&out, job.segment, 0, 1), 0);
    ftc_ring_attach(&in, job.segment, 0, 1);
}

static void teardown(void)
{
    scratch_job_remove(&job);
}

static unsigned char expected_byte(uint64_t at)
{
    return (unsigned char)((at * 0x9e3779b97f4a7c15ull) >> 56);
}

static void fill(unsigned char *bytes, uint64_t at, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = expected_byte(at + i);
}

static bool matches(const unsigned char *bytes, uint64_t at, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != expected_byte(at + i))
            return false;
    return true;
}

START_TEST(every_size_around_the_capacity_comes_back)
{
    static const size_t sizes[] = {1,
                                   2,
                                   63,
                                   64,
                                   65,
                                   1000,
                                   FTC_RING_SMALL - 1,
                                   FTC_RING_SMALL,
                                   FTC_RING_SMALL + 1,
                                   2 * FTC_RING_SMALL,
                                   FTC_RING_CAPACITY - 1,
                                   FTC_RING_CAPACITY,
                                   FTC_RING_CAPACITY + 1,
                                   2 * FTC_RING_CAPACITY + 7};
    unsigned char *sent = malloc(2 * FTC_RING_CAPACITY + 7),
                  *got = malloc(2 * FTC_RING_CAPACITY + 7);
    uint64_t at = 0;
    for (int round = 0; round < 50; round++) {
        size_t size = sizes[(size_t)round % (sizeof(sizes) / sizeof(sizes[0]))], put = 0, taken = 0;
        fill(sent, at, size);
        if (_i == 1)
            ftc_ring_expect(&out, size);
        while (taken < size) {
            if (put < size)
                put += (size_t)ftc_ring_write(&out, sent + put, size - put);
            ck_assert_int_eq(ftc_ring_available(&in), 0);
            ftc_ring_publish(&out);
            ck_assert_int_eq(ftc_ring_available(&in), (long)(put - taken));
            taken += (size_t)ftc_ring_read(&in, got + taken, size);
            ck_assert(!ftc_ring_release(&in));
        }
        ck_assert_uint_eq(taken, size);
        ck_assert(matches(got, at, size));
        at += size;
    }
    ck_assert(out.large == (_i == 1));
    free(sent);
    free(got);
}
END_TEST

START_TEST(a_ring_grows_only_when_empty)
{
    unsigned char byte = 1;
    ck_assert_int_eq(ftc_ring_write(&out, &byte, 1), 1);
    ftc_ring_publish(&out);
    ftc_ring_expect(&out, 1 << 20);
    ck_assert(!out.large);
    ck_assert_int_eq(ftc_ring_read(&in, &byte, 1), 1);
    ftc_ring_expect(&out, 1 << 20);
    ck_assert(!out.large); /* the byte is read, but not given back */
    ftc_ring_release(&in);
    ftc_ring_expect(&out, 1 << 20);
    ck_assert(out.large);
    ck_assert_int_eq(ftc_ring_room(&out), (long)FTC_RING_CAPACITY);
}
END_TEST

START_TEST(a_starved_producer_is_rung_once)
{
    unsigned char bytes[FTC_RING_SMALL] = {0};
    ck_assert(ftc_ring_starve(&out)); /* there is room */
    ck_assert_int_eq(ftc_ring_write(&out, bytes, sizeof(bytes)), (long)sizeof(bytes));
    ck_assert_int_eq(ftc_ring_write(&out, bytes, 1), 0);
    ftc_ring_publish(&out);
    ck_assert(!ftc_ring_starve(&out));
    ck_assert_int_eq(ftc_ring_read(&in, bytes, 10), 10);
    ck_assert(ftc_ring_release(&in));
    ck_assert_int_eq(ftc_ring_read(&in, bytes, 10), 10);
    ck_assert(!ftc_ring_release(&in));
}
END_TEST

START_TEST(damaged_words_are_found)
{
    unsigned char byte = 0;
    struct ftc_ring_shared *shared = out.shared;
    const uint64_t wrong[] = {FTC_RING_SMALL + 1, UINT64_MAX, 1ull << 63};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        atomic_store(&shared->written, wrong[i]);
        ck_assert_int_eq(ftc_ring_available(&in), FTC_ERR_PROTO);
        ck_assert_int_eq(ftc_ring_read(&in, &byte, 1), FTC_ERR_PROTO);
        atomic_store(&shared->consumed, wrong[i]);
        ck_assert_int_eq(ftc_ring_write(&out, &byte, 1), FTC_ERR_PROTO);
        ck_assert_int_eq(ftc_ring_room(&out), FTC_ERR_PROTO);
    }
    atomic_store(&shared->written, 0);
    atomic_store(&shared->consumed, 0);
    atomic_store(&shared->grown, 12);
    ck_assert_int_eq(ftc_ring_available(&in), FTC_ERR_PROTO);
    atomic_store(&shared->written, 1);
    struct ftc_ring again;
    ck_assert_int_eq(ftc_ring_create(&again, job.segment, 0, 1), FTC_ERR_PROTO);
}
END_TEST

/* --- two processes --- */

struct stream {
    uint64_t bytes;
    bool large;
};

/* Ends only when all is out, or by SIGKILL. */
static int produce(void *arg)
{
    struct stream *stream = arg;
    struct test_random random = test_random_start();
    struct ftc_bell bell = {.segment = job.segment, .self = 0, .fd = -1};
    unsigned char bytes[20000];
    uint64_t at = 0;
    if (stream->large)
        ftc_ring_expect(&out, sizeof(bytes));
    while (at < stream->bytes) {
        size_t size = (size_t)test_random_between(&random, 1, sizeof(bytes));
        if (size > stream->bytes - at)
            size = (size_t)(stream->bytes - at);
        fill(bytes, at, size);
        for (size_t put = 0; put < size;) {
            long written = ftc_ring_write(&out, bytes + put, size - put);
            if (written < 0)
                return 1;
            ftc_ring_publish(&out);
            ftc_bell_ring(&bell, 1, true);
            put += (size_t)written;
            if (put == size || ftc_ring_starve(&out))
                continue;
            uint32_t expected = ftc_bell_prepare(&bell);
            uint64_t before = ftc_clock_now();
            if (ftc_ring_room(&out) == 0)
                ftc_bell_sleep(&bell, expected, 20 * FTC_NS_PER_S, -1, -1);
            ftc_bell_awake(&bell);
            if (ftc_clock_now() - before > 19 * FTC_NS_PER_S)
                return 2; /* a wake-up was lost */
        }
        at += size;
    }
    return 0;
}

/* Reads until `total` bytes have come or, if the producer is gone, the ring is empty. Checks each
 * byte. Returns how many there were. */
static uint64_t consume(uint64_t total, pid_t producer, int *status)
{
    struct ftc_bell bell = {.segment = job.segment, .self = 1, .fd = -1};
    unsigned char bytes[8192];
    uint64_t at = 0;
    bool gone = false;
    while (at < total) {
        long got = ftc_ring_read(&in, bytes, sizeof(bytes));
        ck_assert_msg(got >= 0, "%s", ftc_last_error());
        ck_assert_msg(matches(bytes, at, (size_t)got), "wrong bytes at %llu",
                      (unsigned long long)at);
        at += (uint64_t)got;
        if (got > 0 && ftc_ring_release(&in))
            ftc_bell_ring(&bell, 0, true);
        if (got > 0)
            continue;
        if (gone)
            break;
        gone = waitpid(producer, status, WNOHANG) == producer;
        uint32_t expected = ftc_bell_prepare(&bell);
        if (!gone && ftc_ring_available(&in) == 0)
            ftc_bell_sleep(&bell, expected, 10 * FTC_NS_PER_MS, -1, -1);
        ftc_bell_awake(&bell);
    }
    if (!gone)
        ck_assert_int_eq(waitpid(producer, status, 0), producer);
    return at;
}

START_TEST(a_hundred_megabytes_arrive_unchanged)
{
    struct stream stream = {STREAM_BYTES, _i == 1};
    int status = -1;
    pid_t producer = scratch_fork(produce, &stream);
    ck_assert_uint_eq(consume(STREAM_BYTES, producer, &status), STREAM_BYTES);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(a_killed_producer_leaves_a_prefix)
{
    struct test_random random = test_random_start();
    random.state += (uint64_t)_i;
    struct stream stream = {UINT64_MAX, _i % 2 == 1};
    int status = -1;
    pid_t producer = scratch_fork(produce, &stream);
    struct timespec moment = {0, (long)test_random_between(&random, 0, 20000000)};
    pid_t killer = fork();
    if (killer == 0) {
        nanosleep(&moment, NULL);
        kill(producer, SIGKILL);
        _exit(0);
    }
    consume(UINT64_MAX, producer, &status);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    scratch_wait_success(killer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node/ring");
    TCase *tcase = tcase_create("ring");
    tcase_set_timeout(tcase, 300);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, every_size_around_the_capacity_comes_back, 0, 2);
    tcase_add_test(tcase, a_ring_grows_only_when_empty);
    tcase_add_test(tcase, a_starved_producer_is_rung_once);
    tcase_add_test(tcase, damaged_words_are_found);
    tcase_add_loop_test(tcase, a_hundred_megabytes_arrive_unchanged, 0, 2);
    tcase_add_loop_test(tcase, a_killed_producer_leaves_a_prefix, 0, 40);
    suite_add_tcase(suite, tcase);
    return scratch_run(suite);
}
