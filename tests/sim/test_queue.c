/* Tests the queue of events against a plain sorted list: order, FIFO among equals, late events,
 * memory. */
#include "sim/timed/queue.h"

#include <stdlib.h>

#include "tests/random.h"
#include "tests/suite.h"

static struct ftc_queue queue;

static void setup(void)
{
    ftc_queue_init(&queue);
}

static void teardown(void)
{
    ftc_queue_fini(&queue);
}

static void push(uint64_t key, uint32_t number)
{
    ck_assert_int_eq(ftc_queue_push(&queue, &(struct ftc_event){.key = key, .rank = number}), 0);
}

static void expect(uint64_t key, uint32_t number)
{
    struct ftc_event event;

    ck_assert(ftc_queue_pop(&queue, &event));
    ck_assert_uint_eq(event.key, key);
    ck_assert_uint_eq(event.rank, number);
}

START_TEST(an_empty_queue_has_nothing)
{
    struct ftc_event event;

    ck_assert(!ftc_queue_pop(&queue, &event));
    push(7, 0);
    expect(7, 0);
    ck_assert(!ftc_queue_pop(&queue, &event));
}
END_TEST

START_TEST(events_leave_by_key)
{
    push(UINT64_MAX, 0);
    push(5, 1);
    push(1, 2);
    push(UINT64_C(1) << 63, 3);
    push(6, 4);
    expect(1, 2);
    expect(5, 1);
    push(5, 5);
    expect(5, 5);
    expect(6, 4);
    expect(UINT64_C(1) << 63, 3);
    expect(UINT64_MAX, 0);
}
END_TEST

START_TEST(equal_keys_leave_as_they_came)
{
    push(100, 0);
    push(9, 1);
    push(100, 2);
    expect(9, 1);
    push(100, 3); /* comes through another bucket than the first two */
    expect(100, 0);
    push(100, 4);
    for (uint32_t i = 2; i <= 4; i++)
        expect(100, i);
}
END_TEST

START_TEST(what_is_late_happens_now)
{
    push(50, 0);
    push(50, 1);
    expect(50, 0);
    push(3, 2);
    expect(50, 1);
    expect(50, 2);
}
END_TEST

/* Plays a simulation's pattern: each event schedules a few later ones. The model is an array,
 * sorted by key and then by order of arrival. */
struct entry {
    uint64_t key;
    uint32_t pushed, left; /* its position among the pushed, and among those that left */
};

static int by_key(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->pushed < y->pushed ? -1 : 1;
}

#define EVENTS 20000

START_TEST(a_random_run_is_sorted)
{
    struct test_random random = test_random_start();
    struct entry *model = calloc(EVENTS, sizeof(*model));
    struct ftc_event event = {.key = 0};
    uint32_t pushed = 0;

    ck_assert_ptr_nonnull(model);
    for (uint32_t taken = 0; taken < EVENTS; taken++) {
        while (pushed < EVENTS && (pushed == taken || test_random_chance(&random, 70))) {
            uint64_t far = (uint64_t)1 << test_random_between(&random, 0, 40);
            model[pushed] = (struct entry){event.key + test_random_bits(&random) % far, pushed, 0};
            push(model[pushed].key, pushed);
            pushed++;
        }
        ck_assert(ftc_queue_pop(&queue, &event));
        ck_assert_uint_eq(event.key, model[event.rank].key);
        model[event.rank].left = taken;
    }
    qsort(model, EVENTS, sizeof(*model), by_key);
    for (uint32_t i = 0; i < EVENTS; i++)
        ck_assert_uint_eq(model[i].left, i);
    ck_assert_uint_eq(queue.count, 0);
    free(model);
}
END_TEST

START_TEST(it_knows_how_many_there_were_at_once)
{
    for (uint32_t i = 0; i < 1000; i++)
        push(i / 3, i);
    ck_assert_uint_eq(queue.peak, 1000);
    for (uint32_t i = 0; i < 1000; i++)
        expect(i / 3, i);
    push(1000, 0);
    ck_assert_uint_eq(queue.peak, 1000);
    ck_assert_uint_eq(queue.count, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("queue");
    TCase *tcase = tcase_create("queue");

    test_seed_announce();
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, an_empty_queue_has_nothing);
    tcase_add_test(tcase, events_leave_by_key);
    tcase_add_test(tcase, equal_keys_leave_as_they_came);
    tcase_add_test(tcase, what_is_late_happens_now);
    tcase_add_test(tcase, a_random_run_is_sorted);
    tcase_add_test(tcase, it_knows_how_many_there_were_at_once);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
