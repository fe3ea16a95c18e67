/* Tests which transport carries a message when several could. The test plays the transports. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "tests/node/scratch.h"
#include "tests/transport/played.h"
#include "transport/route/route.h"
#include "transport/tcp/tcp.h"
#include "transport/verbs/verbs.h"

#define RANKS PLAYED_RANKS /* two nodes: 0 to 2 here, 3 to 5 there */

/* --- the fixture: rank 0 of a job of two nodes, or of one --- */

static struct scratch_job job;
static struct ftc_transport *route;

static void make_job(int nodes, bool endpoints)
{
    static const unsigned char secret[FTC_JOB_SECRET] = "a secret";
    static const struct ftc_node members[] = {{.host = "here", .first = 0, .count = 3},
                                              {.host = "there", .first = 3, .count = 3}};

    scratch_job_make_as(&job, &(struct ftc_segment_spec){.ranks = RANKS,
                                                         .endpoints = endpoints,
                                                         .nodes = nodes > 1 ? nodes : 0,
                                                         .cluster = "4711.0",
                                                         .secret = secret,
                                                         .members = members});
}

static int try_open(const int8_t *order)
{
    struct ftc_tcp_setup tcp_setup = {.job = "4711.0"};
    struct ftc_verbs_setup verbs_setup = {.job = "4711.0", .interface = "rxe7"};
    struct ftc_route_setup choice = {.order = order,
                                     .ops = {[FTC_CARRIER_SHM] = &played_shm,
                                             [FTC_CARRIER_VERBS] = &played_verbs,
                                             [FTC_CARRIER_TCP] = &played_tcp}};
    struct ftc_transport_setup setup = {.ranks = RANKS,
                                        .self = 0,
                                        .segment = job.segment,
                                        .tcp = &tcp_setup,
                                        .verbs = &verbs_setup,
                                        .route = &choice};

    return ftc_transport_route.open(&route, &setup);
}

static const int8_t by_default[] = {FTC_CARRIER_SHM, FTC_CARRIER_VERBS, FTC_CARRIER_TCP, -1};

static void open_with(const int8_t *order)
{
    ck_assert_msg(try_open(order) == 0, "%s", ftc_last_error());
}

static void join(int rank, const char *endpoint)
{
    if (ftc_segment_is_local(job.segment, rank))
        snprintf(ftc_segment_own_endpoint(job.segment, rank), FTC_ENDPOINT_SIZE, "%s", endpoint);
    else
        ck_assert_int_eq(ftc_segment_keep_endpoint(job.segment, rank, endpoint, strlen(endpoint)),
                         0);
    atomic_store(&ftc_segment_standing(job.segment, rank)->phase, FTC_PHASE_JOINED);
}

static void setup(void)
{
    plays_device = true;
    route = NULL;
    memset(plays, 0, sizeof(plays));
    make_job(2, false);
}

static void teardown(void)
{
    if (route != NULL)
        route->ops->close(route);
    scratch_job_remove(&job);
}

static int try_send(int to, unsigned char byte)
{
    struct ftc_buffer *head = ftc_buffer_new(1);

    head->data[0] = byte;
    int rc = route->ops->send(route, to, head, NULL, false);
    ftc_buffer_unref(head);
    return rc;
}

static void say(int to, unsigned char byte)
{
    ck_assert_msg(try_send(to, byte) == 0, "%s", ftc_last_error());
}

static bool flush(void)
{
    bool idle;

    ck_assert_int_eq(route->ops->flush(route, &idle), 0);
    return idle;
}

static void comes(enum ftc_carrier carrier, int from, unsigned char byte)
{
    plays[carrier]->coming[plays[carrier]->coming_count++] = (struct played_letter){from, byte};
}

/* Returns the byte, or the code. */
static int take(int *from)
{
    struct ftc_buffer *message = NULL;
    int rc = route->ops->receive(route, from, &message);

    if (rc != 1)
        return rc;
    rc = message->data[0];
    ftc_buffer_unref(message);
    return rc;
}

static void assert_sent(enum ftc_carrier carrier, const char *letters)
{
    char text[4 * PLAYED_MOST] = "";

    for (int i = 0; i < plays[carrier]->sent_count; i++)
        sprintf(text + strlen(text), "%d%c ", plays[carrier]->sent[i].rank,
                plays[carrier]->sent[i].byte);
    ck_assert_str_eq(text, letters);
}

static uint32_t counted(enum ftc_carrier carrier)
{
    return atomic_load(&ftc_segment_slot(job.segment, 0)->carriers[carrier]);
}

/* --- choosing --- */

START_TEST(each_rank_is_reached_by_the_first_that_can)
{
    open_with(by_default);
    ck_assert_str_eq(route->ops->endpoint(route), "verbs:v1;here tcp:v1;here");
    join(3, "verbs:v1;there tcp:v1;there");
    join(4, "tcp:v1;there");
    say(1, 'a');
    say(3, 'b');
    say(4, 'c');
    say(3, 'd');
    assert_sent(FTC_CARRIER_SHM, "1a ");
    assert_sent(FTC_CARRIER_VERBS, "3b 3d ");
    assert_sent(FTC_CARRIER_TCP, "4c ");
    ck_assert_uint_eq(counted(FTC_CARRIER_SHM), 1);
    ck_assert_uint_eq(counted(FTC_CARRIER_VERBS), 1);
    ck_assert_uint_eq(counted(FTC_CARRIER_TCP), 1);
    ck_assert(flush());
}
END_TEST

START_TEST(the_order_decides)
{
    static const int8_t order[] = {FTC_CARRIER_TCP, FTC_CARRIER_VERBS, FTC_CARRIER_SHM, -1};

    open_with(order);
    ck_assert_ptr_null(plays[FTC_CARRIER_VERBS]); /* because TCP reaches all ranks */
    join(1, "tcp:v1;here");
    join(3, "verbs:v1;there tcp:v1;there");
    say(1, 'a');
    say(3, 'b');
    assert_sent(FTC_CARRIER_TCP, "1a 3b ");
}
END_TEST

START_TEST(a_choice_is_for_good)
{
    open_with(by_default);
    join(3, "tcp:v1;there");
    say(3, 'a');
    join(3, "verbs:v1;there tcp:v1;there");
    say(3, 'b');
    assert_sent(FTC_CARRIER_TCP, "3a 3b ");
}
END_TEST

START_TEST(on_one_node_shared_memory_is_taken_as_it_is)
{
    scratch_job_remove(&job);
    make_job(1, true);
    open_with(by_default);
    ck_assert_ptr_eq(route, &plays[FTC_CARRIER_SHM]->base);
    ck_assert_ptr_null(plays[FTC_CARRIER_VERBS]);
    ck_assert_ptr_null(plays[FTC_CARRIER_TCP]);
}
END_TEST

START_TEST(without_a_device_the_next_one_is_taken)
{
    plays_device = false;
    open_with(by_default);
    ck_assert_str_eq(route->ops->endpoint(route), "tcp:v1;here");
    join(3, "verbs:v1;there tcp:v1;there");
    say(3, 'a');
    assert_sent(FTC_CARRIER_TCP, "3a ");
}
END_TEST

START_TEST(messages_wait_until_it_is_known_whether_a_transport_gets_through)
{
    open_with(by_default);
    plays[FTC_CARRIER_VERBS]->reach[3] = FTC_REACH_NOT_YET;
    plays[FTC_CARRIER_VERBS]->reach[4] = FTC_REACH_NOT_YET;
    for (int rank = 3; rank < RANKS; rank++)
        join(rank, "verbs:v1;there tcp:v1;there");
    say(3, 'a');
    say(4, 'b');
    say(5, 'c');
    say(3, 'd');
    ck_assert(!flush());
    ck_assert(!route->ops->ready(route));
    plays[FTC_CARRIER_VERBS]->reach[3] = FTC_REACH_NO;
    ck_assert(route->ops->ready(route));
    ck_assert(!flush());
    /* This comes too late: a choice is for good. */
    plays[FTC_CARRIER_VERBS]->reach[3] = FTC_REACH_YES;
    plays[FTC_CARRIER_VERBS]->reach[4] = FTC_REACH_YES;
    say(3, 'e');
    ck_assert(flush());
    assert_sent(FTC_CARRIER_TCP, "3a 3d 3e ");
    assert_sent(FTC_CARRIER_VERBS, "5c 4b ");
}
END_TEST

START_TEST(what_does_not_get_through_is_better_than_nothing)
{
    static const int8_t order[] = {FTC_CARRIER_SHM, FTC_CARRIER_VERBS, -1};

    open_with(order);
    plays[FTC_CARRIER_VERBS]->reach[3] = FTC_REACH_NO;
    join(3, "verbs:v1;there tcp:v1;there");
    say(3, 'a');
    assert_sent(FTC_CARRIER_VERBS, "3a ");
}
END_TEST

START_TEST(it_tells_what_it_has)
{
    open_with(by_default);
    ck_assert(ftc_route_has(route, FTC_CARRIER_VERBS));
    route->ops->close(route);
    plays_device = false;
    open_with(by_default);
    ck_assert(!ftc_route_has(route, FTC_CARRIER_VERBS));
    ck_assert(!ftc_route_has(&plays[FTC_CARRIER_TCP]->base, FTC_CARRIER_TCP));
}
END_TEST

START_TEST(an_order_that_reaches_nobody_is_refused)
{
    static const int8_t near[] = {FTC_CARRIER_SHM, -1}, far[] = {FTC_CARRIER_VERBS, -1};

    ck_assert_int_eq(try_open(near), FTC_ERR_CONFIG);
    ck_assert_str_eq(
        ftc_last_error(),
        "transport.order: by shm ranks of another node cannot be reached from here; add tcp");
    plays_device = false;
    ck_assert_int_eq(try_open(far), FTC_ERR_CONFIG);
    ck_assert_str_eq(ftc_last_error(), "transport.order: by verbs the ranks of a node cannot reach "
                                       "one another here; add shm, or tcp");
    route = NULL;
}
END_TEST

START_TEST(others_find_each_their_own_part)
{
    open_with(by_default);
    struct played *played = plays[FTC_CARRIER_TCP];
    ck_assert_ptr_null(played->find(played->context, 3));
    join(3, "verbs:v1;there tcp:v1;there;99");
    ck_assert_str_eq(played->find(played->context, 3), "tcp:v1;there;99");
    join(4, "verbs:v1;there tcpx:v1 xtcp:v2");
    ck_assert_ptr_null(played->find(played->context, 4));
    ck_assert_str_eq(plays_given_to_verbs.interface, "rxe7");
    ck_assert_str_eq(plays_given_to_verbs.endpoint(plays_given_to_verbs.context, 3),
                     "verbs:v1;there");
}
END_TEST

START_TEST(an_endpoint_that_makes_no_sense_is_an_error_with_words)
{
    open_with(by_default);
    join(3, "smoke:signals");
    ck_assert_int_eq(try_send(3, 'a'), FTC_ERR_SYSTEM);
    ck_assert_str_eq(
        ftc_last_error(),
        "rank 3 cannot be reached: its endpoint is \"smoke:signals\", transport.order here is "
        "shm,verbs,tcp; give all nodes one that they have in common, such as tcp");
    /* A damaged word leads to no endpoint. */
    join(4, "tcp:v1;there");
    atomic_store(&ftc_segment_standing(job.segment, 4)->endpoint, 1);
    ck_assert_int_eq(try_send(4, 'a'), FTC_ERR_SYSTEM);
}
END_TEST

/* --- late --- */

START_TEST(messages_wait_in_order_for_an_endpoint)
{
    open_with(by_default);
    say(3, 'a');
    say(1, 'b');
    say(3, 'c');
    ck_assert(!flush());
    ck_assert(!route->ops->ready(route));
    ck_assert(!route->ops->settled(route));
    join(3, "tcp:v1;there");
    ck_assert(route->ops->ready(route));
    say(3, 'd');
    ck_assert(flush());
    assert_sent(FTC_CARRIER_TCP, "3a 3c 3d ");
    assert_sent(FTC_CARRIER_SHM, "1b ");
    ck_assert(!route->ops->ready(route));
    ck_assert(route->ops->settled(route));
    plays[FTC_CARRIER_TCP]->settled = false;
    ck_assert(!route->ops->settled(route));
}
END_TEST

START_TEST(flush_alone_sends_what_waited)
{
    open_with(by_default);
    for (int rank = 3; rank < RANKS; rank++)
        say(rank, (unsigned char)('a' + rank));
    join(4, "tcp:v1;there");
    ck_assert(!flush());
    join(3, "tcp:v1;there");
    join(5, "tcp:v1;there");
    ck_assert(flush());
    assert_sent(FTC_CARRIER_TCP, "4e 3d 5f ");
}
END_TEST

START_TEST(what_waits_for_a_failed_rank_is_dropped)
{
    open_with(by_default);
    say(3, 'a');
    route->ops->close_peer(route, 3);
    ck_assert(flush());
    join(3, "tcp:v1;there");
    say(3, 'b');
    ck_assert(flush());
    assert_sent(FTC_CARRIER_TCP, "");
    ck_assert(plays[FTC_CARRIER_TCP]->closed[3]);
}
END_TEST

/* --- receiving --- */

START_TEST(each_has_its_turn)
{
    int from;

    open_with(by_default);
    for (int i = 0; i < 3; i++) {
        comes(FTC_CARRIER_SHM, 1, 's');
        comes(FTC_CARRIER_TCP, 3, 't');
    }
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(take(&from), 's');
        ck_assert_int_eq(take(&from), 't');
    }
    ck_assert_int_eq(take(&from), 0);
}
END_TEST

START_TEST(a_refused_rank_is_not_heard)
{
    int from;

    open_with(by_default);
    comes(FTC_CARRIER_TCP, 3, 'a');
    ck_assert_int_eq(take(&from), 'a');
    comes(FTC_CARRIER_TCP, 3, 'b');
    comes(FTC_CARRIER_TCP, 4, 'c');
    comes(FTC_CARRIER_TCP, 3, 'd');
    atomic_store(&ftc_segment_standing(job.segment, 3)->refused, 1);
    ck_assert_int_eq(take(&from), 'c');
    ck_assert_int_eq(from, 4);
    ck_assert_int_eq(take(&from), 0);
    ck_assert(plays[FTC_CARRIER_TCP]->closed[3]);
    ck_assert(plays[FTC_CARRIER_VERBS]->closed[3]);
    ck_assert(!plays[FTC_CARRIER_TCP]->closed[4]);
    join(3, "tcp:v1;there");
    say(3, 'e');
    assert_sent(FTC_CARRIER_TCP, "");
}
END_TEST

START_TEST(a_refused_rank_is_not_heard_by_verbs_either)
{
    int from;

    open_with(by_default);
    join(3, "verbs:v1;there tcp:v1;there");
    say(3, 'a');
    comes(FTC_CARRIER_VERBS, 3, 'b');
    comes(FTC_CARRIER_VERBS, 4, 'c');
    atomic_store(&ftc_segment_standing(job.segment, 3)->refused, 1);
    ck_assert_int_eq(take(&from), 'c');
    ck_assert_int_eq(take(&from), 0);
    ck_assert(plays[FTC_CARRIER_VERBS]->closed[3]);
    say(3, 'd');
    assert_sent(FTC_CARRIER_VERBS, "3a ");
}
END_TEST

START_TEST(damage_is_told_unless_the_rank_is_refused)
{
    int from = -1;

    open_with(by_default);
    plays[FTC_CARRIER_TCP]->damaged = 3;
    ck_assert_int_eq(take(&from), FTC_ERR_PROTO);
    ck_assert_int_eq(from, 3);
    atomic_store(&ftc_segment_standing(job.segment, 4)->refused, 1);
    plays[FTC_CARRIER_TCP]->damaged = 4;
    ck_assert_int_eq(take(&from), 0);
}
END_TEST

static bool readable(void)
{
    struct pollfd fd = {.fd = route->ops->descriptor(route), .events = POLLIN};

    return poll(&fd, 1, 0) == 1;
}

START_TEST(one_descriptor_wakes_for_all)
{
    static const enum ftc_carrier carriers[] = {FTC_CARRIER_VERBS, FTC_CARRIER_TCP};
    uint64_t count = 1;

    open_with(by_default);
    for (int i = 0; i < 2; i++) {
        ck_assert(!readable());
        ck_assert_int_eq(write(plays[carriers[i]]->fd, &count, sizeof(count)), sizeof(count));
        ck_assert(readable());
        ck_assert_int_eq(read(plays[carriers[i]]->fd, &count, sizeof(count)), sizeof(count));
    }
}
END_TEST

START_TEST(the_only_descriptor_is_handed_on)
{
    plays_device = false;
    open_with(by_default);
    ck_assert_int_eq(route->ops->descriptor(route), plays[FTC_CARRIER_TCP]->fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("route");
    TCase *tests = tcase_create("route");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, each_rank_is_reached_by_the_first_that_can);
    tcase_add_test(tests, the_order_decides);
    tcase_add_test(tests, a_choice_is_for_good);
    tcase_add_test(tests, on_one_node_shared_memory_is_taken_as_it_is);
    tcase_add_test(tests, without_a_device_the_next_one_is_taken);
    tcase_add_test(tests, an_order_that_reaches_nobody_is_refused);
    tcase_add_test(tests, messages_wait_until_it_is_known_whether_a_transport_gets_through);
    tcase_add_test(tests, what_does_not_get_through_is_better_than_nothing);
    tcase_add_test(tests, it_tells_what_it_has);
    tcase_add_test(tests, others_find_each_their_own_part);
    tcase_add_test(tests, an_endpoint_that_makes_no_sense_is_an_error_with_words);
    tcase_add_test(tests, messages_wait_in_order_for_an_endpoint);
    tcase_add_test(tests, flush_alone_sends_what_waited);
    tcase_add_test(tests, what_waits_for_a_failed_rank_is_dropped);
    tcase_add_test(tests, each_has_its_turn);
    tcase_add_test(tests, a_refused_rank_is_not_heard);
    tcase_add_test(tests, a_refused_rank_is_not_heard_by_verbs_either);
    tcase_add_test(tests, damage_is_told_unless_the_rank_is_refused);
    tcase_add_test(tests, one_descriptor_wakes_for_all);
    tcase_add_test(tests, the_only_descriptor_is_handed_on);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
