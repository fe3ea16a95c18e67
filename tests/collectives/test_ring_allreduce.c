/* The ring by itself: a few ranks in one process, with messages that arrive in any order. */
#include <string.h>

#include "collectives/ring/ring_allreduce.h"
#include "include/ftcoll.h"
#include "tests/random.h"
#include "tests/suite.h"

#define RANKS    9
#define ELEMENTS 700
#define MESSAGES 20000

struct packet {
    int from, to;
    uint32_t block, hop;
    struct ftc_value value;
};

struct net {
    struct test_random random;
    int ranks;
    size_t elements;
    double input[RANKS][ELEMENTS], result[RANKS][ELEMENTS]; /* odd ranks: written in place */
    struct ftc_ring_allreduce *ring[RANKS];
    struct packet packet[MESSAGES];
    int packets;
    size_t sent[RANKS];            /* bytes sent to the right */
    int messages[RANKS], combined; /* combined: number of elements */
};

static void add(void *arg, const void *in, void *inout, size_t size)
{
    const double *from = in;
    double *to = inout;

    for (size_t i = 0; i < size / sizeof(*to); i++)
        to[i] += from[i];
    ((struct net *)arg)->combined += (int)(size / sizeof(*to));
}

static struct net *net_new(int ranks, size_t elements, size_t least, size_t most)
{
    struct net *net = calloc(1, sizeof(*net));

    ck_assert_ptr_nonnull(net);
    net->random = test_random_start();
    net->ranks = ranks;
    net->elements = elements;
    for (int r = 0; r < ranks; r++) {
        struct ftc_ring_allreduce_settings settings = {.self = r,
                                                       .ranks = ranks,
                                                       .size = elements * sizeof(double),
                                                       .element = sizeof(double),
                                                       .block_least = least,
                                                       .block_most = most,
                                                       .input = net->input[r],
                                                       .result = r % 2 == 1 ? net->result[r] : NULL,
                                                       .combine = add,
                                                       .combine_arg = net};
        for (size_t i = 0; i < elements; i++)
            net->input[r][i] = (double)test_random_between(&net->random, 1, 1000000) / 7;
        ck_assert_int_eq(ftc_ring_allreduce_create(&net->ring[r], &settings), FTC_SUCCESS);
    }
    return net;
}

static void net_free(struct net *net)
{
    for (int i = 0; i < net->packets; i++)
        ftc_value_drop(&net->packet[i].value);
    for (int r = 0; r < net->ranks; r++)
        ftc_ring_allreduce_destroy(net->ring[r]);
    free(net);
}

/* Copies messages into bytes of its own, as a transport would. */
static void put_out(struct net *net, int rank)
{
    struct ftc_ring_allreduce_output output;

    while (ftc_ring_allreduce_next_output(net->ring[rank], &output)) {
        struct ftc_value value = {.buffer = ftc_buffer_new(output.value.size),
                                  .size = output.value.size};
        ck_assert_ptr_nonnull(value.buffer);
        memcpy(value.buffer->data, ftc_value_bytes(&output.value), value.size);
        ck_assert_int_lt(net->packets, MESSAGES);
        ck_assert_int_eq(output.to, (rank + 1) % net->ranks);
        net->packet[net->packets++] =
            (struct packet){rank, output.to, output.block, output.hop, value};
        net->sent[rank] += value.size;
        net->messages[rank]++;
    }
}

static void start(struct net *net)
{
    for (int r = 0; r < net->ranks; r++) {
        ck_assert_int_eq(ftc_ring_allreduce_start(net->ring[r]), FTC_SUCCESS);
        put_out(net, r);
    }
}

static int give(struct net *net, const struct packet *packet)
{
    return ftc_ring_allreduce_receive(net->ring[packet->to], packet->from, packet->block,
                                      packet->hop, &packet->value);
}

static void run(struct net *net)
{
    start(net);
    while (net->packets > 0) {
        int i = (int)test_random_between(&net->random, 0, net->packets - 1);
        struct packet packet = net->packet[i];
        net->packet[i] = net->packet[--net->packets];
        ck_assert_int_eq(give(net, &packet), FTC_SUCCESS);
        ftc_value_drop(&packet.value);
        put_out(net, packet.to);
    }
}

static void expect_sums(const struct net *net)
{
    double first[ELEMENTS], other[ELEMENTS];

    for (int r = 0; r < net->ranks; r++) {
        ck_assert(ftc_ring_allreduce_whole(net->ring[r]));
        ftc_ring_allreduce_copy(net->ring[r], r == 0 ? first : other);
        if (r > 0)
            ck_assert_msg(memcmp(first, other, net->elements * sizeof(double)) == 0,
                          "rank %d of %d has other bits", r, net->ranks);
    }
    for (size_t i = 0; i < net->elements; i++) {
        double sum = 0;
        for (int r = 0; r < net->ranks; r++)
            sum += net->input[r][i];
        ck_assert_double_eq_tol(first[i], sum, sum * 1e-12);
    }
}

START_TEST(every_rank_gets_the_same_sum)
{
    struct test_random random = test_random_start();

    for (int ranks = 1; ranks <= RANKS; ranks++)
        for (int i = 0; i < 20; i++) {
            size_t elements = (size_t)test_random_between(&random, 1, ELEMENTS);
            size_t least = (size_t)test_random_between(&random, 1, 300);
            struct net *net = net_new(ranks, elements, least,
                                      least + (size_t)test_random_between(&random, 0, 300));
            run(net);
            expect_sums(net);
            net_free(net);
        }
}
END_TEST

/* The purpose of the ring: no link carries more than two vectors, and each input is combined
 * once. */
START_TEST(a_link_carries_each_byte_twice_at_most)
{
    for (int ranks = 2; ranks <= RANKS; ranks++) {
        struct net *net = net_new(ranks, 630, 8, 4096);
        size_t size = 630 * sizeof(double), all = 0;
        run(net);
        for (int r = 0; r < ranks; r++) {
            ck_assert_uint_le(net->sent[r], 2 * size);
            ck_assert_uint_gt(net->sent[r], (size_t)(2 * (ranks - 1)) * size / (size_t)ranks - 200);
            ck_assert_int_eq(net->messages[r], 2 * (ranks - 1));
            all += net->sent[r];
        }
        ck_assert_uint_eq(all, (size_t)(2 * (ranks - 1)) * size);
        ck_assert_int_eq(net->combined, (ranks - 1) * 630);
        net_free(net);
    }
}
END_TEST

START_TEST(blocks_are_as_large_as_is_wanted)
{
    struct net *few = net_new(8, 16, 64, 4096), *many = net_new(2, 640, 64, 128);

    int all = 0;

    run(few); /* 128 bytes are two blocks, each on 14 hops */
    for (int r = 0; r < 8; r++)
        all += few->messages[r];
    ck_assert_int_eq(all, 2 * 14);
    run(many); /* 5120 bytes are 40 blocks */
    ck_assert_int_eq(many->messages[0], 40);
    expect_sums(few);
    expect_sums(many);
    net_free(few);
    net_free(many);
}
END_TEST

START_TEST(the_result_may_go_where_the_input_was)
{
    struct net *net = net_new(3, 100, 80, 160);
    double result[100];

    run(net);
    ftc_ring_allreduce_copy(net->ring[0], result);
    ftc_ring_allreduce_copy(net->ring[1], net->input[1]);
    ck_assert_mem_eq(result, net->input[1], sizeof(result));
    net_free(net);
}
END_TEST

START_TEST(what_is_not_awaited_is_refused)
{
    struct net *net = net_new(3, 99, 8, 1024);
    struct packet right, wrong;

    start(net);
    right = wrong = net->packet[0];
    wrong.from = right.to;
    ck_assert_int_eq(give(net, &wrong), FTC_ERR_PROTO);
    wrong = right;
    wrong.block = 3;
    ck_assert_int_eq(give(net, &wrong), FTC_ERR_PROTO);
    wrong = right;
    wrong.block = (right.block + 1) % 3;
    ck_assert_int_eq(give(net, &wrong), FTC_ERR_PROTO);
    for (uint32_t hop = 1; hop < 6; hop++) {
        wrong = right;
        wrong.hop = hop;
        ck_assert_int_eq(give(net, &wrong), FTC_ERR_PROTO);
    }
    wrong = right;
    wrong.value.size--;
    ck_assert_int_eq(give(net, &wrong), FTC_ERR_PROTO);
    ck_assert_int_eq(give(net, &right), FTC_SUCCESS);
    put_out(net, right.to);
    ck_assert_int_eq(give(net, &right), FTC_ERR_PROTO); /* it came twice */
    net->packet[0] = net->packet[--net->packets];
    ftc_value_drop(&right.value);
    net_free(net);
}
END_TEST

START_TEST(settings_that_make_no_sense_are_refused)
{
    struct ftc_ring_allreduce_settings sound = {
        .self = 0, .ranks = 2, .size = 16, .element = 8, .block_least = 1, .block_most = 8};
    struct ftc_ring_allreduce *ring;
    struct ftc_ring_allreduce_settings set = sound;

    set.self = 2;
    ck_assert_int_eq(ftc_ring_allreduce_create(&ring, &set), FTC_ERR_ARG);
    set = sound;
    set.size = 12;
    ck_assert_int_eq(ftc_ring_allreduce_create(&ring, &set), FTC_ERR_ARG);
    set = sound;
    set.size = 0;
    ck_assert_int_eq(ftc_ring_allreduce_create(&ring, &set), FTC_ERR_ARG);
    set = sound;
    set.block_most = 0;
    ck_assert_int_eq(ftc_ring_allreduce_create(&ring, &set), FTC_ERR_ARG);
}
END_TEST

int main(void)
{
    test_seed_announce();
    Suite *suite = suite_create("ring allreduce");
    TCase *tcase = tcase_create("ring");
    tcase_add_test(tcase, every_rank_gets_the_same_sum);
    tcase_add_test(tcase, a_link_carries_each_byte_twice_at_most);
    tcase_add_test(tcase, blocks_are_as_large_as_is_wanted);
    tcase_add_test(tcase, the_result_may_go_where_the_input_was);
    tcase_add_test(tcase, what_is_not_awaited_is_refused);
    tcase_add_test(tcase, settings_that_make_no_sense_are_refused);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
