/* Messages that tell of parts and contributions in the areas of a node (HOP_READY of
 * collectives/large/pairwise.c and ring_gather.c). */
#include "include/ftcoll.h"
#include "tests/collectives/large_net.h"
#include "tests/suite.h"

#define READY              2                     /* the hop that tells of a part... */
#define READY_CONTRIBUTION INT32_MAX             /* ...and of a contribution of an allgather */
#define PART               ((size_t)10)          /* elements: more bytes than a unit of an area */
#define ALL                (5 * PART * BLOCK)    /* bytes of a contribution */
#define UNITS              ((uint32_t)HALF / 64) /* of half an area */

/* Ranks 0 to 2, and 3 and 4, are on one node each. They have called, and nothing has arrived. */
static struct net *two_nodes(enum ftc_call_kind kind, int root)
{
    struct net *net = net_new(5);

    net_call(net, kind, root, 5 * PART);
    for (int r = 0; r < 5; r++)
        net->of[r].call.slice_size = PART * BLOCK;
    net->first_ranks[1] = 3;
    net->first_ranks[2] = 5;
    net_share_memory(net, AREA);
    net_create(net, 1, 2 * PART);
    net_start(net);
    return net;
}

/* The message that tells `to` of the part or contribution of `from`. */
static int ready(const struct net *net, int from, int to)
{
    bool all = net->of[0].call.signature.kind == FTC_CALL_ALLGATHER;
    int i = 0;

    while (net->packet[i].from != from || net->packet[i].to != to ||
           net->packet[i].tag.hop != (all ? READY_CONTRIBUTION : READY))
        ck_assert_int_lt(++i, net->packets);
    return i;
}

static void refuse(struct net *net, int from, int to, struct ftc_large_tag tag)
{
    struct packet packet = {.from = from, .to = to, .tag = tag};

    ck_assert_int_eq(net_give(net, &packet), FTC_ERR_PROTO);
}

START_TEST(a_part_lies_in_the_half_and_in_the_contribution)
{
    static const struct ftc_large_tag wrong[] = {
        {.block = UNITS, .begin = 0, .size = PART * BLOCK},
        {.block = UNITS - 1, .begin = 0, .size = PART * BLOCK},
        {.block = UINT32_C(1) << 26, .begin = 0, .size = PART * BLOCK}, /* 2^32 bytes */
        {.block = UINT32_MAX, .begin = 0, .size = PART * BLOCK},
        {.block = 0, .begin = ALL + BLOCK, .size = PART * BLOCK},
        {.block = 0, .begin = UINT64_MAX, .size = PART * BLOCK},
        {.block = 0, .begin = ALL - BLOCK, .size = PART * BLOCK},
        {.block = 0, .begin = 0, .size = ALL + BLOCK},
        {.block = 0, .begin = 0, .size = UINT64_MAX},
        {.block = 1, .begin = 0, .size = UINT64_MAX - 63}};
    struct net *net = two_nodes(FTC_CALL_ALLTOALL, -1);

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct ftc_large_tag tag = wrong[i];
        tag.hop = READY;
        refuse(net, 1, 0, tag);
    }
    net_go_on(net);
    net_free(net);
}
END_TEST

static const enum ftc_call_kind unrooted[] = {FTC_CALL_ALLTOALL, FTC_CALL_ALLGATHER};

START_TEST(a_part_is_told_of_once_and_without_a_value)
{
    struct net *net = two_nodes(unrooted[_i], -1);
    int i = ready(net, 1, 0);
    struct ftc_large_tag tag = net->packet[i].tag;
    struct packet full = {.from = 1, .to = 0, .tag = tag};

    full.value = (struct ftc_value){.buffer = ftc_buffer_new(BLOCK), .size = BLOCK};
    ck_assert_ptr_nonnull(full.value.buffer);
    ck_assert_int_eq(net_give(net, &full), FTC_ERR_PROTO);
    ftc_value_drop(&full.value);
    net_deliver(net, i);
    refuse(net, 1, 0, tag);
    net_go_on(net);
    net_free(net);
}
END_TEST

START_TEST(a_rank_of_another_node_has_nothing_in_an_area)
{
    struct net *net = two_nodes(unrooted[_i], -1);

    refuse(net, 3, 0, net->packet[ready(net, 3, 4)].tag);
    net_go_on(net);
    net_free(net);
}
END_TEST

/* Rank 1 has its own contribution, and that of rank 4 later. */
START_TEST(a_contribution_is_where_it_can_be)
{
    struct net *net = two_nodes(FTC_CALL_ALLGATHER, -1);
    struct ftc_large_tag tag = net->packet[ready(net, 1, 0)].tag;
    static const uint32_t wrong[] = {0, 3, 6, UINT32_C(1) << 30, UINT32_MAX};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        tag.block = wrong[i];
        refuse(net, 1, 0, tag);
    }
    tag.block = 2;
    refuse(net, 0, 1, tag);
    tag.block = 1;
    tag.size = ALL + BLOCK;
    refuse(net, 1, 0, tag);
    net_go_on(net);
    net_free(net);
}
END_TEST

START_TEST(a_part_is_for_a_receiver_of_its_sender)
{
    struct net *gather = two_nodes(FTC_CALL_GATHER, 0), *scatter = two_nodes(FTC_CALL_SCATTER, 0);

    refuse(gather, 0, 1, gather->packet[ready(gather, 1, 0)].tag);
    refuse(scatter, 1, 0, scatter->packet[ready(scatter, 0, 1)].tag);
    net_go_on(gather);
    net_go_on(scatter);
    net_free(gather);
    net_free(scatter);
}
END_TEST

START_TEST(a_part_of_a_scatter_has_the_size_that_its_receiver_expects)
{
    struct net *net = two_nodes(FTC_CALL_SCATTER, 0);
    struct ftc_large_tag tag = net->packet[ready(net, 0, 1)].tag;

    tag.size -= BLOCK;
    refuse(net, 0, 1, tag);
    net_go_on(net);
    net_free(net);
}
END_TEST

int main(void)
{
    test_seed_announce();
    Suite *suite = suite_create("parts in areas");
    TCase *tcase = tcase_create("parts");
    tcase_add_test(tcase, a_part_lies_in_the_half_and_in_the_contribution);
    tcase_add_loop_test(tcase, a_part_is_told_of_once_and_without_a_value, 0, 2);
    tcase_add_loop_test(tcase, a_rank_of_another_node_has_nothing_in_an_area, 0, 2);
    tcase_add_test(tcase, a_contribution_is_where_it_can_be);
    tcase_add_test(tcase, a_part_is_for_a_receiver_of_its_sender);
    tcase_add_test(tcase, a_part_of_a_scatter_has_the_size_that_its_receiver_expects);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
