/* Tests links by RDMA: meeting, breaking, floods, deaths, sleeping, memory. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "tests/node/scratch.h"
#include "tests/random.h"
#include "verbs_stories.h"

/* --- meeting --- */

START_TEST(both_connect_at_once)
{
    for (uint64_t round = 0; round < 20; round++) {
        tcp_leave_all();
        verbs_join_two();
        for (uint64_t number = 0; number < 5; number++) {
            tcp_must_send(0, 1, number, 1 + (size_t)number * 1000);
            tcp_must_send(1, 0, number, 1 + (size_t)number * 3000);
        }
        for (uint64_t number = 0; number < 5; number++) {
            tcp_expect(1, 0, number, 1 + (size_t)number * 1000);
            tcp_expect(0, 1, number, 1 + (size_t)number * 3000);
        }
        WAIT_UNTIL(verbs_all_settled());
        ck_assert(!tcp_take(0, 1, 0, 0) && !tcp_take(1, 0, 0, 0));
    }
}
END_TEST

START_TEST(an_endpoint_that_is_known_late_is_found)
{
    char known[FTC_TCP_ENDPOINT_SIZE];
    memcpy(known, tcp_endpoints[1], sizeof(known));
    tcp_endpoints[1][0] = '\0';
    tcp_must_send(0, 1, 1, 10);
    WAIT_UNTIL(ftc_verbs_count(tcp_end[0], FTC_TCP_UNREACHABLE) >= 2);
    ck_assert_uint_ne(tcp_broken_since(0, 1), 0);
    memcpy(tcp_endpoints[1], known, sizeof(known));
    tcp_expect(1, 0, 1, 10);
    WAIT_UNTIL(ftc_verbs_settled(tcp_end[0]));
    ck_assert_uint_eq(tcp_broken_since(0, 1), 0);
}
END_TEST

/* Both ends prove the link. So the other end knows it when it is asked later. */
START_TEST(a_rank_is_known_to_be_reached_before_the_first_message)
{
    ck_assert_int_eq(ftc_transport_verbs.reach(tcp_end[0], 1), FTC_REACH_NOT_YET);
    WAIT_UNTIL(ftc_transport_verbs.reach(tcp_end[0], 1) == FTC_REACH_YES);
    WAIT_UNTIL(ftc_transport_verbs.reach(tcp_end[1], 0) == FTC_REACH_YES);
    tcp_assert_goes_on();
}
END_TEST

static bool reach_of_0_is_known(void)
{
    return ftc_transport_verbs.reach(tcp_end[2], 0) != FTC_REACH_NOT_YET;
}

static bool reach_of_3_is_known(void)
{
    return ftc_transport_verbs.reach(tcp_end[2], 3) != FTC_REACH_NOT_YET;
}

static int ask_asleep(void *arg)
{
    (void)arg;
    for (int rank = 0; rank < TCP_ENDS; rank++)
        tcp_end[rank] = NULL;
    verbs_join(2);
    while (!reach_of_0_is_known())
        if (!verbs_sleep_and_look(2, reach_of_0_is_known))
            return 1;
    return ftc_transport_verbs.reach(tcp_end[2], 0) == FTC_REACH_YES ? 0 : 1;
}

START_TEST(who_asks_may_sleep)
{
    int status = -1;
    pid_t child = scratch_fork(ask_asleep, NULL);
    WAIT_UNTIL(waitpid(child, &status, WNOHANG) == child);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(a_rank_that_is_not_there_is_known_not_to_be_reached)
{
    struct ftc_verbs_setup verbs = verbs_story_setup(2);
    verbs.unanswered_ms = 300;
    verbs_join_as(2, VERBS_RANKS, &verbs);
    snprintf(tcp_endpoints[3], sizeof(tcp_endpoints[3]), "%s", tcp_endpoints[1]);
    strcpy(strrchr(tcp_endpoints[3], ';'), ";1"); /* this port belongs to no socket */
    uint64_t began = ftc_clock_now();
    while (!reach_of_3_is_known())
        ck_assert(verbs_sleep_and_look(2, reach_of_3_is_known));
    ck_assert_uint_ge(ftc_clock_now() - began, 300 * FTC_NS_PER_MS);
    ck_assert_int_eq(ftc_transport_verbs.reach(tcp_end[2], 3), FTC_REACH_NO);
    ck_assert_uint_eq(ftc_verbs_count(tcp_end[2], FTC_TCP_GIVEN_UP), 1);
    ck_assert(ftc_verbs_settled(tcp_end[2]));
}
END_TEST

START_TEST(who_was_asked_for_and_failed_is_asked_for_no_longer)
{
    ftc_transport_verbs.close_peer(tcp_end[0], 3);
    ck_assert_int_eq(ftc_transport_verbs.reach(tcp_end[0], 3),
                     FTC_REACH_YES); /* YES, though messages to it go nowhere */
    ck_assert_int_eq(ftc_transport_verbs.reach(tcp_end[0], 2), FTC_REACH_NOT_YET);
    ftc_transport_verbs.close_peer(tcp_end[0], 2);
    ck_assert(!ftc_tcp_wanted(ftc_tcp_known((struct ftc_tcp *)tcp_end[0], 2)));
}
END_TEST

START_TEST(a_setup_that_cannot_be_is_refused)
{
    struct ftc_verbs_setup verbs = verbs_story_setup(2);
    struct ftc_transport_setup given = {.ranks = VERBS_RANKS, .self = 2, .verbs = &verbs};
    verbs.secret_size = 15;
    ck_assert_int_eq(ftc_transport_verbs.open(&tcp_end[2], &given), FTC_ERR_ARG);
    verbs = verbs_story_setup(2);
    verbs.memory = 5 * FTC_VERBS_SLOT_SIZE;
    ck_assert_int_eq(ftc_transport_verbs.open(&tcp_end[2], &given), FTC_ERR_ARG);
    verbs = verbs_story_setup(2);
    verbs.interface = "no-such-device";
    ck_assert_int_eq(ftc_transport_verbs.open(&tcp_end[2], &given), FTC_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "rdma link"));
    given.verbs = NULL;
    ck_assert_int_eq(ftc_transport_verbs.open(&tcp_end[2], &given), FTC_ERR_ARG);
    ck_assert_ptr_null(tcp_end[2]);
}
END_TEST

/* --- breaking --- */

struct stream {
    int from, to;
    uint64_t sent, got;
    size_t sizes[1000];
};

static void stream_step(struct stream *stream, struct test_random *random, uint64_t total)
{
    if (stream->sent < total && stream->sent < stream->got + 40) {
        int64_t most = test_random_chance(random, 2) ? 1 << 20 : 3000;
        stream->sizes[stream->sent] = (size_t)test_random_between(random, 1, most);
        tcp_must_send(stream->from, stream->to, stream->sent, stream->sizes[stream->sent]);
        stream->sent++;
    }
    if (stream->got < stream->sent &&
        tcp_take(stream->to, stream->from, stream->got, stream->sizes[stream->got]))
        stream->got++;
}

/* Of all links that there were, only the last one may still hold slots. */
static void assert_no_slot_is_lost(int rank, int other)
{
    const struct ftc_verbs_pool *pool = &((struct ftc_verbs *)tcp_end[rank])->pool;
    const struct ftc_verbs_link *link = verbs_link_of(rank, other);
    ck_assert_uint_eq(pool->made - pool->free_count,
                      link != NULL ? link->receives + link->sends : 0);
}

START_TEST(what_breaks_goes_on_where_it_was)
{
    struct test_random random = test_random_start();
    struct stream there = {.from = 0, .to = 1}, back = {.from = 1, .to = 0};
    uint64_t total = 1000, deadline = ftc_clock_now() + 4 * TCP_LOST_NS;
    int breaks = 0;
    random.state += (uint64_t)_i;
    while (there.got < total || back.got < total) {
        tcp_turn();
        stream_step(&there, &random, total);
        stream_step(&back, &random, total);
        int rank = test_random_chance(&random, 50);
        if (test_random_between(&random, 0, 40) == 0)
            breaks += ftc_verbs_break(tcp_end[rank], 1 - rank);
        ck_assert_msg(ftc_clock_now() < deadline, "%llu and %llu of %llu came",
                      (unsigned long long)there.got, (unsigned long long)back.got,
                      (unsigned long long)total);
    }
    WAIT_UNTIL(verbs_all_settled());
    ck_assert_int_gt(breaks, 5);
    ck_assert(!tcp_take(0, 1, 0, 0) && !tcp_take(1, 0, 0, 0));
    assert_no_slot_is_lost(0, 1);
    assert_no_slot_is_lost(1, 0);
}
END_TEST

START_TEST(a_message_that_is_cut_is_not_sent_from_its_start)
{
    struct ftc_tcp *receiver = (struct ftc_tcp *)tcp_end[1];
    tcp_assert_goes_on();
    tcp_must_send(0, 1, 1, 16 << 20);
    WAIT_UNTIL(ftc_tcp_known(receiver, 0)->coming != NULL &&
               ftc_tcp_known(receiver, 0)->used > 2 << 20);
    uint64_t before = ftc_tcp_known(receiver, 0)->used;
    ck_assert(ftc_verbs_break(tcp_end[0], 1));
    WAIT_UNTIL(ftc_verbs_count(tcp_end[0], FTC_TCP_BROKEN) == 1);
    ck_assert_uint_ne(tcp_broken_since(0, 1), 0);
    WAIT_UNTIL(ftc_tcp_known(receiver, 0)->link != NULL &&
               ftc_tcp_known(receiver, 0)->link->payload);
    ck_assert(ftc_tcp_known(receiver, 0)->coming == NULL ||
              ftc_tcp_known(receiver, 0)->used >= before);
    tcp_expect(1, 0, 1, 16 << 20);
}
END_TEST

/* --- floods and deaths --- */

START_TEST(who_does_not_receive_holds_the_sender_back)
{
    struct ftc_tcp *receiver = (struct ftc_tcp *)tcp_end[1];
    struct ftc_buffer *head = ftc_buffer_new(20000), *message = NULL;
    uint64_t total = 400;
    int from;
    memset(head->data, 1, head->size);
    for (uint64_t number = 0; number < total; number++)
        ck_assert_int_eq(ftc_transport_verbs.send(tcp_end[0], 1, head, NULL, true), 0);
    WAIT_UNTIL(ftc_tcp_known(receiver, 0) != NULL &&
               ftc_tcp_known(receiver, 0)->inbox_size >= FTC_TCP_INBOX_MAX);
    WAIT_UNTIL(verbs_link_of(0, 1)->credits == 1);
    for (int i = 0; i < 1000; i++)
        tcp_turn();
    ck_assert_uint_le(ftc_tcp_known(receiver, 0)->inbox_size, FTC_TCP_INBOX_MAX + 2 * head->size);
    ck_assert_int_gt(head->references, 200); /* the sender's queue is references, not copies */
    tcp_must_send(1, 0, 7, 100000);          /* the other direction is free */
    tcp_expect(0, 1, 7, 100000);
    for (uint64_t number = 0; number < total; number++) {
        WAIT_UNTIL(ftc_transport_verbs.receive(tcp_end[1], &from, &message) == 1);
        ftc_buffer_unref(message);
    }
    WAIT_UNTIL(verbs_all_settled());
    ck_assert_int_eq(head->references, 1);
    ck_assert_uint_eq(ftc_verbs_count(tcp_end[0], FTC_TCP_BROKEN), 0);
    ftc_buffer_unref(head);
}
END_TEST

/* Both directions fill up first. Neither end takes anything until then. */
START_TEST(two_that_flood_each_other_get_out_of_it)
{
    uint64_t total = 300, got[2] = {0, 0};
    for (uint64_t number = 0; number < total; number++) {
        tcp_must_send(0, 1, number, 10000);
        tcp_must_send(1, 0, number, 10000);
    }
    WAIT_UNTIL(verbs_link_of(0, 1) != NULL && verbs_link_of(1, 0) != NULL &&
               verbs_link_of(0, 1)->credits <= 1 && verbs_link_of(1, 0)->credits <= 1);
    uint64_t deadline = ftc_clock_now() + TCP_LOST_NS;
    while (got[0] < total || got[1] < total) {
        for (int rank = 0; rank < 2; rank++)
            if (got[rank] < total)
                got[rank] += tcp_take(rank, 1 - rank, got[rank], 10000);
        ck_assert_uint_lt(ftc_clock_now(), deadline);
    }
    WAIT_UNTIL(verbs_all_settled());
}
END_TEST

static int live_and_send(void *arg)
{
    (void)arg;
    for (int rank = 0; rank < TCP_ENDS; rank++)
        tcp_end[rank] = NULL;
    verbs_join(2);
    for (uint64_t number = 0;; number++) {
        tcp_must_send(2, 0, number, 70000);
        for (int i = 0; i < 10; i++)
            tcp_turn();
    }
    return 0;
}

START_TEST(a_peer_that_is_killed_is_a_hint_until_it_is_closed)
{
    uint64_t next = 0, deadline = ftc_clock_now() + TCP_LOST_NS;
    int status;
    pid_t child = scratch_fork(live_and_send, NULL);
    while (next < 20 && ftc_clock_now() < deadline)
        next += tcp_take(0, 2, next, 70000);
    ck_assert_uint_eq(next, 20);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    while (tcp_broken_since(0, 2) == 0 && ftc_clock_now() < deadline)
        next += tcp_take(0, 2, next, 70000);
    ck_assert_uint_ne(tcp_broken_since(0, 2), 0);
    tcp_must_send(0, 2, 0, 10);
    ck_assert(!ftc_verbs_settled(tcp_end[0]));
    ftc_transport_verbs.close_peer(tcp_end[0], 2);
    ck_assert(ftc_verbs_settled(tcp_end[0]));
    ck_assert_uint_eq(tcp_broken_since(0, 2), 0);
    while (tcp_take(0, 2, next, 70000))
        next++;
    ck_assert(!ftc_transport_verbs.ready(tcp_end[0]));
    ck_assert_ptr_null(verbs_link_of(0, 2));
    tcp_assert_goes_on();
}
END_TEST

static int live_and_be_stopped(void *arg)
{
    (void)arg;
    for (int rank = 0; rank < TCP_ENDS; rank++)
        tcp_end[rank] = NULL;
    verbs_join(2);
    tcp_must_send(2, 0, 0, 10);
    WAIT_UNTIL(ftc_verbs_settled(tcp_end[2]));
    raise(SIGSTOP);
    return 1;
}

/* The peer answers nothing, and its queue pair is sound. Work that is posted for it stays until the
 * peer is closed. */
START_TEST(a_peer_that_stands_still_is_closed_with_all_that_is_posted)
{
    int status;
    pid_t child = scratch_fork(live_and_be_stopped, NULL);
    struct ftc_verbs *verbs = (struct ftc_verbs *)tcp_end[0];
    tcp_expect(0, 2, 0, 10);
    do
        tcp_turn();
    while (waitpid(child, &status, WUNTRACED | WNOHANG) == 0);
    ck_assert(WIFSTOPPED(status));
    struct ftc_buffer *head = ftc_buffer_new(10000);
    memset(head->data, 1, head->size);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(ftc_transport_verbs.send(tcp_end[0], 2, head, NULL, true), 0);
    WAIT_UNTIL(verbs_link_of(0, 2)->credits == 1);
    ck_assert(!ftc_verbs_settled(tcp_end[0]));
    ftc_transport_verbs.close_peer(tcp_end[0], 2);
    ck_assert_int_eq(head->references, 1);
    ftc_buffer_unref(head);
    ck_assert(!tcp_take(0, 2, 0, 0));
    ck_assert_ptr_null(verbs_link_of(0, 2));
    ck_assert_uint_eq(verbs->pool.free_count, verbs->pool.made);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    tcp_assert_goes_on();
}
END_TEST

/* By its completions an end knows that the device of the other one has what it sent. */
static void flush_until_sent(int rank, int other)
{
    const struct ftc_verbs_link *link = verbs_link_of(rank, other);
    uint64_t deadline = ftc_clock_now() + TCP_LOST_NS;
    bool idle;
    while (link->idle_count < link->sends) {
        ftc_transport_verbs.flush(tcp_end[rank], &idle);
        ck_assert_msg(ftc_clock_now() < deadline, "the sends do not complete");
    }
}

/* Nobody has looked at the completion queue since the messages came. */
START_TEST(messages_that_came_before_a_peer_is_closed_are_received)
{
    tcp_assert_goes_on();
    WAIT_UNTIL(verbs_all_settled());
    tcp_must_send(1, 0, 1, 10);
    tcp_must_send(1, 0, 2, 70000);
    flush_until_sent(1, 0);
    ftc_transport_verbs.close_peer(tcp_end[0], 1);
    ck_assert(tcp_take(0, 1, 1, 10));
    ck_assert(tcp_take(0, 1, 2, 70000));
    ck_assert(!tcp_take(0, 1, 0, 0));
    ck_assert_ptr_null(verbs_link_of(0, 1));
}
END_TEST

/* The queue pair of a closed peer goes with it. The sender may wait only for that
 * acknowledgement. */
START_TEST(who_closes_a_peer_acknowledges_what_it_sent)
{
    tcp_assert_goes_on();
    WAIT_UNTIL(verbs_all_settled());
    tcp_must_send(0, 1, 1, 10);
    while (!tcp_take(1, 0, 1, 10))
        ck_assert(verbs_sleep_and_look(1, NULL));
    ftc_transport_verbs.close_peer(tcp_end[1], 0);
    ck_assert(!tcp_take(1, 0, 1, 10));
    ck_assert_ptr_null(verbs_link_of(1, 0));
    WAIT_UNTIL(ftc_verbs_settled(tcp_end[0]));
}
END_TEST

START_TEST(a_closed_peer_is_not_let_in_again)
{
    tcp_assert_goes_on();
    ftc_transport_verbs.close_peer(tcp_end[0], 1);
    WAIT_UNTIL(!tcp_take(0, 1, 0, 0) && verbs_link_of(0, 1) == NULL);
    tcp_must_send(1, 0, 7, 10);
    WAIT_UNTIL(ftc_verbs_count(tcp_end[1], FTC_TCP_UNREACHABLE) >= 1);
    ck_assert(!tcp_take(0, 1, 7, 10));
}
END_TEST

/* --- sleeping --- */

/* Flushes this end alone. */
static void flush_until_broken(int rank, int other)
{
    uint64_t deadline = ftc_clock_now() + TCP_LOST_NS;
    bool idle;
    while (verbs_link_of(rank, other) != NULL) {
        ftc_transport_verbs.flush(tcp_end[rank], &idle);
        ck_assert_msg(ftc_clock_now() < deadline, "the link does not break");
    }
}

/* Stops a timer that was set for something else. It would hide that nothing wakes the rank. */
static void stop_timer(int rank)
{
    struct ftc_tcp *tcp = (struct ftc_tcp *)tcp_end[rank];
    struct itimerspec never = {.it_value = {0, 0}};
    ck_assert_int_eq(timerfd_settime(tcp->timer, 0, &never, NULL), 0);
}

START_TEST(who_sleeps_is_woken_by_a_broken_queue_pair)
{
    int broken = _i; /* its own end, or the other's */
    struct pollfd sleeper = {.fd = ftc_transport_verbs.descriptor(tcp_end[0]), .events = POLLIN};
    tcp_assert_goes_on();
    WAIT_UNTIL(verbs_all_settled());
    ck_assert(!ftc_transport_verbs.ready(tcp_end[0]));
    stop_timer(0);
    ck_assert(ftc_verbs_break(tcp_end[broken], 1 - broken));
    if (broken == 1)
        flush_until_broken(1, 0);
    while (tcp_broken_since(0, 1) == 0) {
        ck_assert_int_eq(poll(&sleeper, 1, (int)(TCP_LOST_NS / FTC_NS_PER_MS)), 1);
        ck_assert(!ftc_transport_verbs.ready(tcp_end[0]));
    }
    tcp_assert_goes_on();
}
END_TEST

static bool all_of_2_is_acknowledged(void)
{
    return ftc_verbs_settled(tcp_end[2]);
}

static bool link_to_2_is_gone(void)
{
    return verbs_link_of(0, 2) == NULL;
}

/* Acknowledgements of the sender's device make room, and those of the receiver finish the
 * messages. */
START_TEST(who_sends_much_may_sleep_in_between)
{
    enum { TOTAL = 100, SIZE = 50000 };
    uint64_t got = 0;
    tcp_assert_goes_on();
    WAIT_UNTIL(verbs_all_settled());
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) { /* the child is a rank that sleeps while it sends */
        for (int rank = 0; rank < TCP_ENDS; rank++)
            tcp_end[rank] = NULL;
        verbs_join(2);
        for (uint64_t number = 0; number < TOTAL; number++)
            tcp_must_send(2, 0, number, SIZE);
        while (!all_of_2_is_acknowledged())
            if (!verbs_sleep_and_look(2, all_of_2_is_acknowledged))
                _exit(1);
        _exit(0);
    }
    while (got < TOTAL) {
        ck_assert(verbs_sleep_and_look(0, NULL));
        while (got < TOTAL && tcp_take(0, 2, got, SIZE))
            got++;
    }
    /* The last acknowledgement goes out while this end sleeps, too. */
    while (!link_to_2_is_gone())
        ck_assert(verbs_sleep_and_look(0, link_to_2_is_gone));
    scratch_wait_success(child);
}
END_TEST

/* --- memory --- */

START_TEST(peers_share_what_may_be_registered)
{
    enum { MANY = 20 };
    struct ftc_verbs_setup verbs = verbs_story_setup(0);
    tcp_leave_all();
    verbs.memory = (MANY - 1) * FTC_VERBS_SHARE_LEAST * FTC_VERBS_SLOT_SIZE;
    for (int rank = 0; rank < MANY; rank++) {
        verbs.interface = verbs_interface(rank);
        verbs_join_as(rank, MANY, &verbs);
    }
    for (int rank = 1; rank < MANY; rank++) {
        tcp_must_send(rank, 0, 5, 20000);
        tcp_must_send(0, rank, 6, 20000);
    }
    for (int taken = 1, from = -1; taken < MANY; taken++) {
        struct ftc_buffer *message;
        WAIT_UNTIL(ftc_transport_verbs.receive(tcp_end[0], &from, &message) == 1);
        ftc_buffer_unref(message);
    }
    for (int rank = 1; rank < MANY; rank++)
        tcp_expect(rank, 0, 6, 20000);
    ck_assert_uint_le(ftc_verbs_registered(tcp_end[0]), verbs.memory);
    ck_assert_int_eq(((struct ftc_verbs *)tcp_end[0])->links, MANY - 1);
}
END_TEST

/* The budget is for one peer. The other peer is let in when the first one is gone. */
START_TEST(without_memory_for_a_peer_it_waits_for_some)
{
    struct ftc_verbs_setup verbs = verbs_story_setup(0);
    tcp_leave_all();
    verbs.memory = FTC_VERBS_SHARE_LEAST * FTC_VERBS_SLOT_SIZE;
    verbs_join_as(0, VERBS_RANKS, &verbs);
    verbs_join(1);
    verbs_join(2);
    tcp_assert_goes_on();
    tcp_must_send(2, 0, 1, 10);
    WAIT_UNTIL(ftc_verbs_count(tcp_end[0], FTC_TCP_DESCRIPTORS) >= 1);
    tcp_assert_goes_on();
    WAIT_UNTIL(verbs_all_settled() || ftc_verbs_settled(tcp_end[0]));
    ftc_transport_verbs.close_peer(tcp_end[0], 1);
    tcp_expect(0, 2, 1, 10);
}
END_TEST

/* --- */

int main(void)
{
    if (!verbs_possible())
        return VERBS_SKIPPED;
    Suite *suite = suite_create("transport/verbs");
    TCase *tcase = tcase_create("links");
    tcase_add_checked_fixture(tcase, verbs_join_two, tcp_leave_all);
    tcase_add_test(tcase, both_connect_at_once);
    tcase_add_test(tcase, an_endpoint_that_is_known_late_is_found);
    tcase_add_test(tcase, a_rank_is_known_to_be_reached_before_the_first_message);
    tcase_add_test(tcase, who_asks_may_sleep);
    tcase_add_test(tcase, a_rank_that_is_not_there_is_known_not_to_be_reached);
    tcase_add_test(tcase, who_was_asked_for_and_failed_is_asked_for_no_longer);
    tcase_add_test(tcase, a_setup_that_cannot_be_is_refused);
    tcase_add_loop_test(tcase, what_breaks_goes_on_where_it_was, 0, 4);
    tcase_add_test(tcase, a_message_that_is_cut_is_not_sent_from_its_start);
    tcase_add_test(tcase, who_does_not_receive_holds_the_sender_back);
    tcase_add_test(tcase, two_that_flood_each_other_get_out_of_it);
    tcase_add_test(tcase, a_peer_that_is_killed_is_a_hint_until_it_is_closed);
    tcase_add_test(tcase, a_peer_that_stands_still_is_closed_with_all_that_is_posted);
    tcase_add_test(tcase, messages_that_came_before_a_peer_is_closed_are_received);
    tcase_add_test(tcase, who_closes_a_peer_acknowledges_what_it_sent);
    tcase_add_test(tcase, a_closed_peer_is_not_let_in_again);
    tcase_add_loop_test(tcase, who_sleeps_is_woken_by_a_broken_queue_pair, 0, 2);
    tcase_add_test(tcase, who_sends_much_may_sleep_in_between);
    tcase_add_test(tcase, peers_share_what_may_be_registered);
    tcase_add_test(tcase, without_memory_for_a_peer_it_waits_for_some);
    suite_add_tcase(suite, tcase);
    return scratch_run(suite);
}
