/* Tests shared memory that a process scribbled over. The channel is closed and its peer named; the
 * other channels go on. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "node/cells.h"
#include "tests/node/scratch.h"
#include "transport/shm/internal.h"

static struct scratch_job job;
static struct ftc_bell bell[3];
static struct ftc_transport *end[3];
static const struct ftc_transport_ops *ops = &ftc_transport_shm;

static void setup(void)
{
    scratch_job_make(&job, 3);
    for (int rank = 0; rank < 3; rank++) {
        bell[rank] = (struct ftc_bell){.segment = job.segment, .self = rank, .fd = -1};
        struct ftc_transport_setup given = {
            .ranks = 3, .self = rank, .segment = job.segment, .bell = &bell[rank]};
        ck_assert_int_eq(ops->open(&end[rank], &given), 0);
    }
}

static void teardown(void)
{
    for (int rank = 0; rank < 3; rank++)
        ops->close(end[rank]);
    scratch_job_remove(&job);
}

static void send_bytes(int from, int to, size_t size)
{
    struct ftc_buffer *head = ftc_buffer_new(size);
    memset(head->data, from, size);
    ck_assert_int_eq(ops->send(end[from], to, head, NULL, true), 0);
    ftc_buffer_unref(head);
}

static struct ftc_ring_shared *ring(int from, int to)
{
    return ftc_segment_ring(job.segment, from, to);
}

static int receive(int rank, int *from)
{
    struct ftc_buffer *message = NULL;
    int rc = ops->receive(end[rank], from, &message);
    ftc_buffer_unref(message);
    return rc;
}

/* Checks that rank 0 finds its channel with rank 1 damaged, and that rank 2 is still heard and
 * spoken to. */
static void assert_reported(void)
{
    int from = -1, reports = 0, messages = 0;
    bool idle = false;
    send_bytes(2, 0, 100);
    for (int i = 0; i < 10; i++) {
        int rc = receive(0, &from);
        if (rc == FTC_ERR_PROTO) {
            ck_assert_int_eq(from, 1);
            ck_assert_uint_gt(strlen(ftc_last_error()), 0);
            reports++;
        } else if (rc == 1) {
            ck_assert_int_eq(from, 2);
            messages++;
        }
    }
    ck_assert_int_eq(reports, 1);
    ck_assert_int_eq(messages, 1);
    send_bytes(0, 1, 1 << 20);
    ck_assert_int_eq(ops->flush(end[0], &idle), 0);
    ck_assert(idle && !ops->ready(end[0]));
    send_bytes(1, 0, 100);
    ck_assert_int_eq(receive(0, &from), 0);
    send_bytes(0, 2, 100);
    ck_assert_int_eq(receive(2, &from), 1);
}

#define LONG (FTC_CELLS_MOST + 1) /* such a message goes through the ring */

START_TEST(a_damaged_position_closes_the_channel)
{
    send_bytes(1, 0, LONG);
    atomic_store(&ring(1, 0)->written, 1ull << 40);
    assert_reported();
}
END_TEST

START_TEST(a_damaged_frame_closes_the_channel)
{
    static const size_t places[] = {0, 4, 8, 12, 15};
    send_bytes(1, 0, LONG);
    ring(1, 0)->data[places[_i]] ^= 0x10;
    assert_reported();
}
END_TEST

START_TEST(a_damaged_mark_closes_the_channel)
{
    /* A value that is too long, the position, and the top bit. */
    static const int bits[] = {19, 20, 45, 62, 63};
    send_bytes(1, 0, 800);
    atomic_fetch_xor(&ftc_ring_cells(ring(1, 0))->mark, 1ull << bits[_i]);
    assert_reported();
}
END_TEST

START_TEST(a_mark_without_a_frame_waits)
{
    int from;
    send_bytes(1, 0, 800);
    atomic_fetch_and(&ftc_ring_cells(ring(1, 0))->mark, ~0ull << 20);
    ck_assert_int_eq(receive(0, &from), 0);
    ck_assert(!ops->ready(end[0]));
    send_bytes(2, 0, 100);
    ck_assert_int_eq(receive(0, &from), 1);
    ck_assert_int_eq(from, 2);
}
END_TEST

START_TEST(damage_found_while_sending_is_reported_too)
{
    send_bytes(0, 1, LONG);
    atomic_store(&ring(0, 1)->consumed, 1ull << 40);
    send_bytes(0, 1, LONG);
    assert_reported();
}
END_TEST

START_TEST(damage_of_returned_cells_is_reported_too)
{
    atomic_store(&ftc_segment_pending_row(job.segment, 1)[0], 1);
    send_bytes(0, 1, 100);
    atomic_store(&ring(0, 1)->returned, 1ull << 40);
    for (unsigned i = 0; i < FTC_CELLS; i++)
        send_bytes(0, 1, 50);
    assert_reported();
}
END_TEST

START_TEST(damage_found_while_flushing_drops_the_queue)
{
    bool idle = false;
    send_bytes(0, 1, LONG);
    send_bytes(0, 1, 1 << 20);
    atomic_store(&ring(0, 1)->consumed, 1ull << 40);
    ck_assert(ops->ready(end[0]));
    ck_assert_int_eq(ops->flush(end[0], &idle), 0);
    ck_assert(idle);
    assert_reported();
}
END_TEST

START_TEST(pending_bits_of_nobody_are_ignored)
{
    int from;
    atomic_store(&ftc_segment_pending_row(job.segment, 0)[0], ~0ull << 3 | 1);
    ck_assert_int_eq(receive(0, &from), 0);
    ck_assert(!ops->ready(end[0]));
    /* The row of a rank that sent nothing. */
    atomic_store(&ftc_segment_pending_row(job.segment, 0)[0], 2);
    ck_assert_int_eq(receive(0, &from), 0);
    ck_assert(!ops->ready(end[0]));
}
END_TEST

START_TEST(a_setup_that_does_not_fit_is_refused)
{
    struct ftc_transport *none = NULL;
    struct ftc_transport_setup given = {
        .ranks = 4, .self = 0, .segment = job.segment, .bell = &bell[0]};
    ck_assert_int_eq(ops->open(&none, &given), FTC_ERR_ARG);
    given.ranks = 3;
    given.self = 3;
    ck_assert_int_eq(ops->open(&none, &given), FTC_ERR_ARG);
    ck_assert_ptr_null(none);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport/damage");
    TCase *tcase = tcase_create("shm");
    tcase_set_timeout(tcase, 300);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_damaged_position_closes_the_channel);
    tcase_add_loop_test(tcase, a_damaged_frame_closes_the_channel, 0, 5);
    tcase_add_loop_test(tcase, a_damaged_mark_closes_the_channel, 0, 5);
    tcase_add_test(tcase, a_mark_without_a_frame_waits);
    tcase_add_test(tcase, damage_of_returned_cells_is_reported_too);
    tcase_add_test(tcase, damage_found_while_sending_is_reported_too);
    tcase_add_test(tcase, damage_found_while_flushing_drops_the_queue);
    tcase_add_test(tcase, pending_bits_of_nobody_are_ignored);
    tcase_add_test(tcase, a_setup_that_does_not_fit_is_refused);
    suite_add_tcase(suite, tcase);
    return scratch_run(suite);
}
