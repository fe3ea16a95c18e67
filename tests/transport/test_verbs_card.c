/* Tests the card that describes a queue pair. A sound card is understood. A damaged or impossible
 * card is refused. */
#include <string.h>

#include "base/error.h"
#include "tests/random.h"
#include "tests/suite.h"
#include "transport/tcp/endpoint.h"
#include "transport/verbs/card.h"

static struct ftc_verbs_card sound_card(void)
{
    struct ftc_verbs_card card = {.ethernet = true,
                                  .mtu = 3,
                                  .queue_pair = 0xfffffe,
                                  .first = 0x123456,
                                  .receives = 64,
                                  .lid = 0xffff};
    memcpy(card.gid, "sixteen bytes..", sizeof(card.gid));
    return card;
}

static int decode(const struct ftc_verbs_card *card)
{
    unsigned char bytes[FTC_VERBS_CARD_SIZE];
    struct ftc_verbs_card got;
    ftc_verbs_card_encode(bytes, card);
    return ftc_verbs_card_decode(&got, bytes);
}

START_TEST(a_card_is_understood)
{
    unsigned char bytes[FTC_VERBS_CARD_SIZE];
    struct ftc_verbs_card card = sound_card(), got;
    ftc_verbs_card_encode(bytes, &card);
    ck_assert_int_eq(ftc_verbs_card_decode(&got, bytes), 0);
    ck_assert(got.ethernet);
    ck_assert_uint_eq(got.mtu, card.mtu);
    ck_assert_uint_eq(got.queue_pair, card.queue_pair);
    ck_assert_uint_eq(got.first, card.first);
    ck_assert_uint_eq(got.receives, card.receives);
    ck_assert_uint_eq(got.lid, card.lid);
    ck_assert_mem_eq(got.gid, card.gid, sizeof(card.gid));
}
END_TEST

START_TEST(each_damaged_bit_is_noticed)
{
    unsigned char bytes[FTC_VERBS_CARD_SIZE];
    struct ftc_verbs_card card = sound_card(), got;
    ftc_verbs_card_encode(bytes, &card);
    for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        ck_assert_int_eq(ftc_verbs_card_decode(&got, bytes), FTC_ERR_PROTO);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    ck_assert_int_eq(ftc_verbs_card_decode(&got, bytes), 0);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    struct ftc_verbs_card card = sound_card();
    card.mtu = _i == 0 ? 0 : card.mtu;
    card.mtu = _i == 1 ? 6 : card.mtu;
    card.queue_pair = _i == 2 ? 1u << 24 : card.queue_pair;
    card.first = _i == 3 ? 1u << 24 : card.first;
    card.lid = _i == 4 ? 1u << 16 : card.lid;
    card.receives = _i == 5 ? FTC_VERBS_RECEIVES_MIN - 1 : card.receives;
    card.receives = _i == 6 ? FTC_VERBS_RECEIVES_MAX + 1 : card.receives;
    ck_assert_int_eq(decode(&card), FTC_ERR_PROTO);
    ck_assert_uint_gt(strlen(ftc_last_error()), 0);
}
END_TEST

START_TEST(an_endpoint_says_of_which_transport_it_is)
{
    struct ftc_tcp_endpoint endpoint;
    char text[FTC_TCP_ENDPOINT_SIZE];
    ck_assert_int_eq(ftc_tcp_endpoint_parse(&endpoint, "verbs:v1;192.0.2.1,fd00::1;4711"), 0);
    ck_assert_int_eq(endpoint.protocol, FTC_TCP_PROTOCOL_VERBS);
    ck_assert_int_eq(endpoint.count, 2);
    ftc_tcp_endpoint_format(text, &endpoint);
    ck_assert_str_eq(text, "verbs:v1;192.0.2.1,fd00::1;4711");
    ck_assert_int_eq(ftc_tcp_endpoint_parse(&endpoint, "tcp:v1;192.0.2.1;4711"), 0);
    ck_assert_int_eq(endpoint.protocol, FTC_TCP_PROTOCOL_SOCKET);
    ck_assert_int_eq(ftc_tcp_endpoint_parse(&endpoint, "verbs:v2;192.0.2.1;4711"), FTC_ERR_PROTO);
    ck_assert_int_eq(ftc_tcp_endpoint_parse(&endpoint, "verbs:v1"), FTC_ERR_PROTO);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport/verbs card");
    TCase *tcase = tcase_create("card");
    tcase_add_test(tcase, a_card_is_understood);
    tcase_add_test(tcase, each_damaged_bit_is_noticed);
    tcase_add_loop_test(tcase, what_cannot_be_is_refused, 0, 7);
    tcase_add_test(tcase, an_endpoint_says_of_which_transport_it_is);
    suite_add_tcase(suite, tcase);
    test_seed_announce();
    return test_suite_run(suite);
}
