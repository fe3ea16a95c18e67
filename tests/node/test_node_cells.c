/* Tests cells: messages of all sizes in order, room that is given back, damage. */
#include <string.h>

#include "base/error.h"
#include "node/cells.h"
#include "scratch.h"
#include "tests/random.h"

static struct scratch_job job;
static struct ftc_ring ring_out, ring_in;
static struct ftc_cells out, in;

static void setup(void)
{
    scratch_job_make(&job, 2);
    ck_assert_int_eq(ftc_ring_create(&ring_out, job.segment, 0, 1), 0);
    ftc_ring_attach(&ring_in, job.segment, 0, 1);
    ftc_cells_attach(&out, &ring_out);
    ftc_cells_attach(&in, &ring_in);
}

static void teardown(void)
{
    scratch_job_remove(&job);
}

static void fill(unsigned char *bytes, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)((number + i * 31) * 0x9e3779b97f4a7c15ull >> 56);
}

/* The sizes of a message, which follow from its number. */
static struct ftc_cells_sizes sizes_of(uint64_t number)
{
    size_t bytes = (size_t)(number * 0x9e3779b97f4a7c15ull >> 40) % (FTC_CELLS_MOST + 1);
    size_t head = number % 3 == 0 || bytes == 0 ? bytes : 1 + (size_t)(number * 77 % bytes);
    return (struct ftc_cells_sizes){head, bytes - head};
}

static int put(uint64_t number)
{
    unsigned char bytes[FTC_CELLS_MOST];
    struct ftc_cells_sizes sizes = sizes_of(number);
    fill(bytes, number, sizeof(bytes));
    if (number % 6 == 0 && sizes.head > 0) {
        struct ftc_cells_sizes pieces = {number % sizes.head, sizes.head - number % sizes.head};
        return ftc_cells_write_head(&out, pieces, bytes, bytes + pieces.head);
    }
    return ftc_cells_write(&out, sizes, bytes, bytes + sizes.head);
}

/* Takes message `number`, and checks it. True: the producer must be rung. */
static bool take(uint64_t number)
{
    unsigned char expected[FTC_CELLS_MOST], head[FTC_CELLS_MOST], value[FTC_CELLS_MOST];
    struct ftc_cells_sizes sizes;
    ck_assert_int_eq(ftc_cells_look(&in, &sizes), 1);
    ck_assert_uint_eq(sizes.head, sizes_of(number).head);
    ck_assert_uint_eq(sizes.value, sizes_of(number).value);
    bool rings = ftc_cells_read(&in, sizes, head, value);
    fill(expected, number, sizeof(expected));
    ck_assert_mem_eq(head, expected, sizes.head);
    ck_assert_mem_eq(value, expected + sizes.head, sizes.value);
    return rings;
}

START_TEST(messages_of_all_sizes_come_in_order)
{
    struct ftc_cells_sizes sizes;
    struct test_random random = test_random_start();
    uint64_t sent = 0, taken = 0;
    while (taken < 100000) {
        while (test_random_chance(&random, 75) && put(sent) == 1)
            sent++;
        for (int64_t most = test_random_between(&random, 0, 7); taken < sent && most > 0; most--)
            take(taken++);
    }
    while (taken < sent)
        take(taken++);
    ck_assert_int_eq(ftc_cells_look(&in, &sizes), 0);
}
END_TEST

START_TEST(a_starved_producer_is_rung_before_the_consumer_has_read_all)
{
    uint64_t sent = 0, taken = 0;
    for (int round = 0; round < 1000; round++) {
        while (put(sent) == 1)
            sent++;
        struct ftc_cells_sizes next = sizes_of(sent);
        if (ftc_cells_starve(&out, next.head + next.value))
            continue;
        while (!take(taken++))
            ck_assert_uint_lt(taken, sent);
    }
}
END_TEST

START_TEST(damage_is_found)
{
    struct ftc_cells_sizes sizes;
    /* Not a mark; a mark of later; sizes that are too long; a value without a head. */
    const uint64_t marks[] = {1, 1ull << 63 | 5ull << 20 | 8, 1ull << 63 | 1020, 1ull << 63 | 1024};
    atomic_store(&in.cell[0].mark, marks[_i]);
    ck_assert_int_eq(ftc_cells_look(&in, &sizes), FTC_ERR_PROTO);
    atomic_store(&out.shared->returned, 1);
    out.denied = true;
    out.position = FTC_CELLS + 2;
    out.returned = 2;
    ck_assert_int_eq(ftc_cells_room(&out, 1), FTC_ERR_PROTO);
}
END_TEST

START_TEST(cells_become_more_when_they_are_full)
{
    uint64_t sent = 0;
    while (out.count == FTC_CELLS)
        ck_assert_int_eq(put(sent++), 1);
    for (uint64_t taken = 0; taken < sent; taken++)
        take(taken);
    ck_assert_uint_eq(in.count, FTC_CELLS_MANY);
    ck_assert_uint_eq(in.origin, out.origin);
}
END_TEST

START_TEST(cells_are_made_once)
{
    struct ftc_ring again;
    ck_assert_int_eq(put(0), 1);
    ck_assert_int_eq(ftc_ring_create(&again, job.segment, 0, 1), FTC_ERR_PROTO);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node/cells");
    TCase *tcase = tcase_create("cells");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, messages_of_all_sizes_come_in_order);
    tcase_add_test(tcase, a_starved_producer_is_rung_before_the_consumer_has_read_all);
    tcase_add_loop_test(tcase, damage_is_found, 0, 4);
    tcase_add_test(tcase, cells_become_more_when_they_are_full);
    tcase_add_test(tcase, cells_are_made_once);
    suite_add_tcase(suite, tcase);
    return scratch_run(suite);
}
