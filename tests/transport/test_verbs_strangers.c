/* Tests links by RDMA among strangers: wrong secrets, other jobs and transports, ends that know the
 * secret and misbehave. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "tests/node/scratch.h"
#include "verbs_stories.h"

START_TEST(a_wrong_secret_is_refused)
{
    struct ftc_verbs_setup verbs = verbs_story_setup(2);
    verbs.secret = (const unsigned char *)"another secret of those 32 bytes";
    verbs_join_as(2, VERBS_RANKS, &verbs);
    tcp_must_send(2, 0, 1, 10);
    WAIT_UNTIL(ftc_verbs_count(tcp_end[2], FTC_TCP_SECRET) >= 2);
    ck_assert(!tcp_take(0, 2, 1, 10));
    ck_assert(!ftc_verbs_settled(tcp_end[2]));
    /* The stranger did not cost a queue pair. */
    ck_assert_int_eq(((struct ftc_verbs *)tcp_end[0])->links, 0);
    tcp_assert_goes_on();
}
END_TEST

START_TEST(another_job_is_refused)
{
    struct ftc_verbs_setup verbs = verbs_story_setup(2);
    verbs.job = "9999.1";
    verbs_join_as(2, VERBS_RANKS, &verbs);
    tcp_must_send(2, 0, 1, 10);
    WAIT_UNTIL(ftc_verbs_count(tcp_end[0], FTC_TCP_FOREIGN_JOB) >= 1);
    ck_assert(!tcp_take(0, 2, 1, 10));
    tcp_assert_goes_on();
}
END_TEST

/* A rank that speaks TCP finds the port. No queue pair is made for it. */
START_TEST(a_rank_of_the_tcp_transport_is_a_stranger)
{
    struct ftc_tcp_setup tcp = tcp_usual();
    struct ftc_transport_setup given = {.ranks = VERBS_RANKS, .self = 2, .tcp = &tcp};
    char own[FTC_TCP_ENDPOINT_SIZE];
    tcp.address = NULL;
    ck_assert_int_eq(ftc_transport_tcp.open(&tcp_end[2], &given), 0);
    memcpy(own, tcp_endpoints[0], sizeof(own));
    tcp_must_send(2, 0, 1, 10);
    WAIT_UNTIL(ftc_tcp_count(tcp_end[2], FTC_TCP_UNREACHABLE) >=
               1); /* another transport's endpoint */
    snprintf(tcp_endpoints[0], sizeof(own), "tcp%s", own + strlen("verbs"));
    WAIT_UNTIL(ftc_verbs_count(tcp_end[0], FTC_TCP_STRANGER) >= 1);
    memcpy(tcp_endpoints[0], own, sizeof(own));
    tcp_assert_goes_on();
}
END_TEST

static int call(int rank)
{
    struct ftc_tcp_endpoint endpoint;
    ck_assert_int_eq(ftc_tcp_endpoint_parse(&endpoint, tcp_endpoints[rank]), 0);
    int fd = socket(endpoint.address[0].ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&endpoint.address[0],
                             ftc_tcp_address_size(&endpoint.address[0])),
                     0);
    return fd;
}

/* Reads exactly `size` bytes, while the ends go on. */
static void hear(int fd, void *bytes, size_t size)
{
    WAIT_UNTIL(recv(fd, bytes, size, MSG_PEEK | MSG_DONTWAIT) == (ssize_t)size);
    ck_assert_int_eq(recv(fd, bytes, size, 0), (ssize_t)size);
}

/* Plays rank 2, which knows the secret. It says `bytes` after the handshake, whatever it is
 * told. */
static int prove_and_say(const void *bytes, size_t size)
{
    struct ftc_tcp_hello hello = {.protocol = FTC_TCP_PROTOCOL_VERBS,
                                  .versions = {FTC_TCP_WIRE_VERSION, FTC_TCP_WIRE_VERSION},
                                  .sender = 2,
                                  .target = 0,
                                  .job = "1234.1"};
    unsigned char said[FTC_TCP_HELLO_SIZE], answer[FTC_TCP_ANSWER_SIZE], proof[FTC_TCP_PROOF_BYTES],
        verdict[FTC_TCP_VERDICT_SIZE], card[FTC_VERBS_CARD_SIZE];
    struct ftc_verbs_setup verbs = verbs_story_setup(0);
    struct ftc_tcp_secret secret = {.ends = FTC_TCP_RANKS, .size = verbs.secret_size};
    struct ftc_tcp_place place = {0};
    int fd = call(0);
    memcpy(secret.bytes, verbs.secret, secret.size);
    ftc_tcp_hello_encode(said, &hello);
    ck_assert_int_eq(send(fd, said, sizeof(said), 0), sizeof(said));
    hear(fd, answer, sizeof(answer));
    ftc_tcp_proof_encode(proof, &place, said, answer, &secret);
    ck_assert_int_eq(send(fd, proof, sizeof(proof), 0), sizeof(proof));
    hear(fd, verdict, sizeof(verdict));
    hear(fd, card, sizeof(card));
    ck_assert_int_eq(send(fd, bytes, size, 0), (ssize_t)size);
    return fd;
}

static bool hung_up(int fd)
{
    char byte;
    ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno == ECONNRESET);
}

START_TEST(a_card_that_makes_no_sense_ends_the_connection)
{
    unsigned char noise[FTC_VERBS_CARD_SIZE], card[FTC_VERBS_CARD_SIZE];
    struct ftc_verbs_card impossible = {
        .ethernet = true, .mtu = 3, .queue_pair = 1u << 24, .receives = FTC_VERBS_RECEIVES_MIN};
    memset(noise, 0x5a, sizeof(noise));
    ftc_verbs_card_encode(card, &impossible);
    for (int i = 0; i < 2; i++) {
        int fd = prove_and_say(i == 0 ? noise : card, FTC_VERBS_CARD_SIZE);
        WAIT_UNTIL(hung_up(fd));
        close(fd);
    }
    ck_assert_uint_eq(ftc_verbs_count(tcp_end[0], FTC_TCP_UNREACHABLE), 2);
    ck_assert_int_eq(((struct ftc_verbs *)tcp_end[0])->links, 0);
    tcp_assert_goes_on();
}
END_TEST

/* TCP passes, but the queue pair that it names does not answer. */
START_TEST(a_way_that_carries_nothing_is_none)
{
    struct ftc_tcp *tcp = (struct ftc_tcp *)tcp_end[0];
    const struct ftc_verbs_device *device = &((struct ftc_verbs *)tcp_end[1])->device;
    unsigned char bytes[FTC_VERBS_CARD_SIZE + 1];
    struct ftc_verbs_card card = {.ethernet = device->ethernet,
                                  .mtu = device->mtu,
                                  .queue_pair = 0xfffff0,
                                  .receives = FTC_VERBS_RECEIVES_MIN,
                                  .lid = device->lid};
    memcpy(card.gid, device->gid.raw, sizeof(card.gid));
    ftc_verbs_card_encode(bytes, &card);
    bytes[FTC_VERBS_CARD_SIZE] = 0x52; /* byte for "ready" */
    int fd = prove_and_say(bytes, sizeof(bytes));
    WAIT_UNTIL(verbs_link_of(0, 2)->state == FTC_VERBS_UP);
    ck_assert_int_eq(ftc_transport_verbs.reach(tcp_end[0], 2), FTC_REACH_NOT_YET);
    tcp_must_send(0, 2, 1, 10);
    ck_assert(!ftc_tcp_known(tcp, 2)->link->proven);
    WAIT_UNTIL(verbs_link_of(0, 2) == NULL);
    WAIT_UNTIL(ftc_transport_verbs.reach(tcp_end[0], 2) == FTC_REACH_NO);
    ck_assert_uint_ne(tcp_broken_since(0, 2), 0);
    ck_assert_uint_ge(ftc_tcp_known(tcp, 2)->attempts, 1); /* attempts become ever rarer */
    ck_assert(!ftc_verbs_settled(tcp_end[0]));
    ftc_transport_verbs.close_peer(tcp_end[0], 2);
    ck_assert(ftc_verbs_settled(tcp_end[0]));
    close(fd);
    tcp_assert_goes_on();
}
END_TEST

START_TEST(who_leaves_before_its_queue_pair_is_connected_costs_nothing)
{
    int fd = prove_and_say("x", 1);
    ck_assert_int_eq(((struct ftc_verbs *)tcp_end[0])->links, 1);
    close(fd);
    WAIT_UNTIL(((struct ftc_verbs *)tcp_end[0])->links == 0);
    tcp_assert_goes_on();
}
END_TEST

START_TEST(more_credits_than_receives_are_damage)
{
    int from = -1, rc = 0;
    struct ftc_buffer *message;
    tcp_assert_goes_on();
    WAIT_UNTIL(verbs_all_settled());
    verbs_link_of(0, 1)->owed = 100000;
    tcp_must_send(0, 1, 2, 10);
    uint64_t deadline = ftc_clock_now() + TCP_LOST_NS;
    while (rc == 0 && ftc_clock_now() < deadline) {
        tcp_turn();
        rc = ftc_transport_verbs.receive(tcp_end[1], &from, &message);
    }
    ck_assert_int_eq(rc, FTC_ERR_PROTO);
    ck_assert_int_eq(from, 0);
    ck_assert_ptr_null(verbs_link_of(1, 0));
}
END_TEST

int main(void)
{
    if (!verbs_possible())
        return VERBS_SKIPPED;
    Suite *suite = suite_create("transport/verbs strangers");
    TCase *tcase = tcase_create("strangers");
    tcase_add_checked_fixture(tcase, verbs_join_two, tcp_leave_all);
    tcase_add_test(tcase, a_wrong_secret_is_refused);
    tcase_add_test(tcase, another_job_is_refused);
    tcase_add_test(tcase, a_rank_of_the_tcp_transport_is_a_stranger);
    tcase_add_test(tcase, a_card_that_makes_no_sense_ends_the_connection);
    tcase_add_test(tcase, a_way_that_carries_nothing_is_none);
    tcase_add_test(tcase, who_leaves_before_its_queue_pair_is_connected_costs_nothing);
    tcase_add_test(tcase, more_credits_than_receives_are_damage);
    suite_add_tcase(suite, tcase);
    return scratch_run(suite);
}
