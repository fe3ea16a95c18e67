/* The exchanges of large values by themselves. */
#include <string.h>

#include "include/ftcoll.h"
#include "tests/collectives/large_net.h"
#include "tests/suite.h"

START_TEST(an_allreduce_gives_every_rank_the_same_sum)
{
    for (int ranks = 1; ranks <= RANKS; ranks++)
        for (int i = 0; i < 20; i++) {
            struct net *net = net_new(ranks);
            union element result[ELEMENTS];
            size_t size = (size_t)test_random_between(&net->random, 1, ELEMENTS);
            net->random.state += (uint64_t)(i * RANKS + ranks);
            net_fail_some(net, 0);
            if (i % 4 > 0)
                net_draw_nodes(net, i % 4 == 1 ? 320 : AREA);
            net_call(net, FTC_CALL_ALLREDUCE, -1, size);
            net_run_drawn(net);
            for (int p = 0; p < net->places; p++) {
                net_finish(net, net->rank[p], result);
                for (size_t e = 0; e < size; e++)
                    ck_assert_uint_eq(result[e].number, net_sum_of(net, e));
            }
            ck_assert_int_eq(net->combined, (net->places - 1) * (int)size);
            net_free(net);
        }
}
END_TEST

START_TEST(a_reduce_gives_the_root_the_sum)
{
    for (int i = 0; i < 400; i++) {
        int ranks = 1 + i % RANKS, root = i / 3 % ranks;
        struct net *net = net_new(ranks);
        union element result[ELEMENTS];
        net->random.state += (uint64_t)i;
        size_t size = (size_t)test_random_between(&net->random, 1, i % 5 == 0 ? 4 : ELEMENTS);
        net_fail_some(net, root);
        if (i % 4 > 0)
            net_draw_nodes(net, AREA);
        net_call(net, FTC_CALL_REDUCE, root, size);
        net_run_drawn(net);
        net_finish(net, root, result);
        for (size_t e = 0; e < size; e++)
            ck_assert_uint_eq(result[e].number, net_sum_of(net, e));
        ck_assert_int_eq(net->combined, (net->places - 1) * (int)size);
        net_free(net);
    }
}
END_TEST

START_TEST(a_broadcast_gives_all_the_value_of_the_root)
{
    for (int i = 0; i < 400; i++) {
        int ranks = 1 + i % RANKS, root = i / 3 % ranks;
        struct net *net = net_new(ranks);
        union element result[ELEMENTS];
        net->random.state += (uint64_t)i;
        size_t size = (size_t)test_random_between(&net->random, 1, i % 5 == 0 ? 4 : ELEMENTS);
        net_fail_some(net, root);
        if (i % 4 > 0)
            net_draw_nodes(net, AREA);
        net_call(net, FTC_CALL_BCAST, root, size);
        net_run_drawn(net);
        for (int p = 0; p < net->places; p++) {
            memset(result, 0, sizeof(result));
            net_finish(net, net->rank[p], result);
            if (net->rank[p] != root)
                ck_assert_mem_eq(result, net->of[root].input, size * BLOCK);
        }
        net_free(net);
    }
}
END_TEST

START_TEST(a_reduce_scatter_gives_each_rank_its_slice)
{
    for (int i = 0; i < 200; i++) {
        int ranks = 1 + i % RANKS;
        struct net *net = net_new(ranks);
        union element result[ELEMENTS];
        size_t size = (size_t)(ranks * 40);
        net->random.state += (uint64_t)i;
        net_fail_some(net, 0);
        if (i % 3 > 0)
            net_draw_nodes(net, AREA);
        net_call(net, FTC_CALL_REDUCE_SCATTER, -1, size);
        if (i % 2 == 0)
            net_draw_parts(net, 0, 0, size);
        for (int r = 1; r < ranks; r++)
            net->of[r].call.parts = net->of[0].call.parts;
        net_run_drawn(net);
        for (int p = 0; p < net->places; p++) {
            size_t offset, bytes;
            ftc_call_part(&net->of[0].call, ranks, net->rank[p], &offset, &bytes);
            net_finish(net, net->rank[p], result);
            for (size_t e = 0; e < bytes / BLOCK; e++)
                ck_assert_uint_eq(result[e].number, net_sum_of(net, offset / BLOCK + e));
        }
        net_free(net);
    }
}
END_TEST

/* The bytes that `to` took of the contribution of `from`. */
static void expect_taken(const struct net *net, int to, int from, size_t begin, size_t size)
{
    const struct rank *r = &net->of[to];

    ck_assert_uint_eq(r->taken_size[from], size);
    if (size == 0)
        return;
    ck_assert_uint_eq(r->taken_from[from], begin);
    ck_assert_mem_eq(r->taken[from], (const unsigned char *)net->of[from].input + begin, size);
}

START_TEST(contributions_of_any_size_are_gathered)
{
    for (int i = 0; i < 400; i++) {
        int ranks = 1 + i % RANKS, root = i % ranks;
        bool all = i % 2 == 0;
        struct net *net = net_new(ranks);
        net->random.state += (uint64_t)i;
        net_fail_some(net, root);
        if (i % 4 > 0)
            net_draw_nodes(net, i % 8 == 1 ? 320 : AREA);
        net_call(net, all ? FTC_CALL_ALLGATHER : FTC_CALL_GATHER, all ? -1 : root, ELEMENTS);
        for (int r = 0; r < ranks; r++)
            net->of[r].call.input_size =
                BLOCK * (size_t)test_random_between(&net->random, 0, i % 3 == 0 ? 3 : ELEMENTS);
        net_run_drawn(net);
        for (int p = 0; p < net->places; p++) {
            int to = net->rank[p];
            net_finish(net, to, &net->of[to]);
            for (int from = 0; from < ranks; from++)
                expect_taken(net, to, from, 0,
                             ftc_set_has(&net->failed, from) || (!all && to != root)
                                 ? 0
                                 : net->of[from].call.input_size);
        }
        net_free(net);
    }
}
END_TEST

START_TEST(a_rank_that_is_named_is_not_taken)
{
    struct net *net = net_new(3);

    net_call(net, FTC_CALL_ALLGATHER, -1, 10);
    net_run_drawn(net);
    ftc_set_add(&net->failed, 2); /* it died when all had its contribution */
    net_finish(net, 0, &net->of[0]);
    expect_taken(net, 0, 2, 0, 0);
    expect_taken(net, 0, 1, 0, 10 * BLOCK);
    net_free(net);
}
END_TEST

START_TEST(an_alltoall_takes_each_part_to_its_receiver)
{
    for (int i = 0; i < 400; i++) {
        int ranks = 1 + i % RANKS;
        size_t size = (size_t)(ranks * (1 + i % 60)), table = (size_t)ranks + 1;
        struct net *net = net_new(ranks);
        net->random.state += (uint64_t)i;
        net_fail_some(net, 0);
        net_call(net, FTC_CALL_ALLTOALL, -1, size + table);
        for (int r = 0; r < ranks && i % 2 == 0; r++) {
            net_draw_parts(net, r, table * BLOCK, size);
            memcpy(net->of[r].input, net->of[r].parts, table * BLOCK);
        }
        if (i % 2 == 1) /* equal parts */
            for (int r = 0; r < ranks; r++)
                net->of[r].call.signature.size = net->of[r].call.input_size = size * BLOCK;
        if (i % 4 > 0)
            net_draw_nodes(net, i % 8 == 1 ? 320 : AREA);
        net_run_drawn(net);
        ck_assert(!net->flooded);
        for (int p = 0; p < net->places; p++) {
            int to = net->rank[p];
            net_finish(net, to, &net->of[to]);
            for (int from = 0; from < ranks; from++) {
                size_t begin, bytes;
                ftc_call_part(&net->of[from].call, ranks, to, &begin, &bytes);
                expect_taken(net, to, from, begin, ftc_set_has(&net->failed, from) ? 0 : bytes);
            }
        }
        net_free(net);
    }
}
END_TEST

START_TEST(a_scatter_gives_each_rank_its_slice)
{
    for (int i = 0; i < 200; i++) {
        int ranks = 1 + i % RANKS, root = i / 2 % ranks;
        struct net *net = net_new(ranks);
        union element result[ELEMENTS];
        size_t size = (size_t)(ranks * 60);
        net->random.state += (uint64_t)i;
        net_fail_some(net, root);
        net_call(net, FTC_CALL_SCATTER, root, size);
        if (i % 2 == 0)
            net_draw_parts(net, root, 0, size);
        if (i % 5 > 0)
            net_draw_nodes(net, i % 5 == 1 ? 320 : AREA);
        for (int r = 0; r < ranks; r++)
            ftc_call_part(&net->of[root].call, ranks, r, &net->of[r].call.slice_offset,
                          &net->of[r].call.slice_size);
        net_run_drawn(net);
        for (int p = 0; p < net->places; p++) {
            const struct ftc_call *c = &net->of[net->rank[p]].call;
            net_finish(net, net->rank[p], result);
            if (c->slice_size > 0)
                ck_assert_mem_eq(result,
                                 (const unsigned char *)net->of[root].input + c->slice_offset,
                                 c->slice_size);
        }
        net_free(net);
    }
}
END_TEST

START_TEST(a_scan_combines_in_the_order_of_the_ranks)
{
    for (int i = 0; i < 200; i++) {
        bool with_own = i % 2 == 0;
        struct net *net = net_new(1 + i % RANKS);
        union element prefix[ELEMENTS], result[ELEMENTS];
        size_t size = (size_t)test_random_between(&net->random, 1, ELEMENTS);
        net->random.state += (uint64_t)i;
        net_fail_some(net, 0);
        net_call(net, with_own ? FTC_CALL_SCAN : FTC_CALL_EXSCAN, -1, size);
        net_run_drawn(net);
        for (int p = 0; p < net->places; p++) {
            union element own[ELEMENTS];
            memcpy(own, net->of[net->rank[p]].input, sizeof(own));
            if (p > 0)
                net_compose(NULL, prefix, own, size * BLOCK);
            memset(result, 0, sizeof(result));
            net_finish(net, net->rank[p], result);
            if (with_own || p > 0)
                ck_assert_mem_eq(result, with_own ? own : prefix, size * BLOCK);
            else
                ck_assert_uint_eq(result[0].number, 0); /* the lowest rank of an exscan */
            memcpy(prefix, own, sizeof(prefix));
        }
        net_free(net);
    }
}
END_TEST

/* The most bytes that went over a link, and those that one rank sent. */
static void measure(const struct net *net, size_t *link, size_t *rank)
{
    *link = *rank = 0;
    for (int from = 0; from < net->ranks; from++) {
        size_t all = 0;
        for (int to = 0; to < net->ranks; to++) {
            all += net->sent[from][to];
            *link = net->sent[from][to] > *link ? net->sent[from][to] : *link;
        }
        *rank = all > *rank ? all : *rank;
    }
}

/* docs/design/nodes.md, "Large values", has these numbers in a table. l is signature.size. */
START_TEST(links_carry_no_more_than_they_must)
{
    static const struct {
        enum ftc_call_kind kind;
        int root;
        size_t link, rank; /* in l / N, at most */
    } rows[] = {{FTC_CALL_ALLREDUCE, -1, 8, 2 * 7},
                {FTC_CALL_REDUCE, 0, 8, 8},
                {FTC_CALL_BCAST, 0, 8, 8},
                {FTC_CALL_REDUCE_SCATTER, -1, 7, 7},
                {FTC_CALL_ALLGATHER, -1, 7 * 8, 7 * 8},
                {FTC_CALL_GATHER, 0, 8, 8},
                {FTC_CALL_SCATTER, 0, 1, 7},
                {FTC_CALL_ALLTOALL, -1, 1, 7},
                {FTC_CALL_SCAN, -1, 8, 8},
                {FTC_CALL_EXSCAN, -1, 8, 8}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct net *net = net_new(8);
        size_t link, rank;
        net_call(net, rows[i].kind, rows[i].root, ELEMENTS);
        for (int r = 0; r < 8; r++)
            net->of[r].call.slice_size = ELEMENTS / 8 * BLOCK;
        net_create(net, 1, 30);
        net_run(net);
        measure(net, &link, &rank);
        printf("%s of l bytes, 8 ranks: %zu/8 l over one link, %zu/8 l from one rank\n",
               ftc_call_kind_name(rows[i].kind), link / (ELEMENTS / 8 * BLOCK),
               rank / (ELEMENTS / 8 * BLOCK));
        ck_assert_uint_eq(link, rows[i].link * (ELEMENTS / 8 * BLOCK));
        ck_assert_uint_eq(rank, rows[i].rank * (ELEMENTS / 8 * BLOCK));
        net_free(net);
    }
}
END_TEST

/* What the ranks of one node send to those of others, at the most, in l / 4. */
static size_t sent_by_a_node(const struct net *net, int ranks_of_node)
{
    size_t most = 0;

    for (int first = 0; first < net->ranks; first += ranks_of_node) {
        size_t sent = 0;
        for (int from = first; from < first + ranks_of_node; from++)
            for (int to = 0; to < net->ranks; to++)
                sent += to < first || to >= first + ranks_of_node ? net->sent[from][to] : 0;
        most = sent > most ? sent : most;
    }
    return most / (ELEMENTS / 4 * BLOCK);
}

START_TEST(a_node_sends_what_one_rank_would)
{
    static const struct {
        enum ftc_call_kind kind;
        int root;
        size_t quarters;
    } rows[] = {{FTC_CALL_ALLREDUCE, -1, 2 * 3},
                {FTC_CALL_REDUCE, 3, 4},
                {FTC_CALL_BCAST, 3, 4},
                {FTC_CALL_REDUCE_SCATTER, -1, 3},
                {FTC_CALL_ALLGATHER, -1, 2 * 3 * 4},
                {FTC_CALL_GATHER, 3, 2 * 4},
                {FTC_CALL_SCATTER, 3, 3},
                {FTC_CALL_ALLTOALL, -1, 2 * 3}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct net *net = net_new(8);
        net_call(net, rows[i].kind, rows[i].root, ELEMENTS);
        for (int r = 0; r < 8; r++)
            net->of[r].call.slice_size = ELEMENTS / 8 * BLOCK;
        for (int node = 0; node <= 4; node++)
            net->first_ranks[node] = 2 * node;
        net_share_memory(net, AREA);
        net_create(net, 1, 30);
        net_run(net);
        ck_assert_uint_eq(sent_by_a_node(net, 2), rows[i].quarters);
        ck_assert_uint_eq(net->sent[2][3] + net->sent[3][2], 0);
        net_free(net);
    }
}
END_TEST

START_TEST(small_parts_come_unasked)
{
    struct net *net = net_new(8);

    net_call(net, FTC_CALL_ALLTOALL, -1, 8 * 3);
    net_create(net, 1, 10); /* the window has more bytes than the 7 parts of 3 elements */
    net_run(net);
    for (int r = 0; r < 8; r++)
        for (int to = 0; to < 8; to++)
            ck_assert_int_eq(net->messages[r][to], r != to);
    net_free(net);
}
END_TEST

/* The input itself is sent, without a copy, until settle(). */
START_TEST(what_waits_to_be_sent_outlives_the_input)
{
    struct net *net = net_new(2);
    struct ftc_large_block_output output;
    struct ftc_value value = {0};
    union element before[ELEMENTS];

    net_call(net, FTC_CALL_GATHER, 0, ELEMENTS);
    net_create(net, 1, ELEMENTS);
    memcpy(before, net->of[1].input, sizeof(before));
    ck_assert_int_eq(ftc_large_exchange_start(net->of[1].exchange), FTC_SUCCESS);
    ck_assert(ftc_large_exchange_next_output(net->of[1].exchange, &output));
    ftc_value_set(&value, &output.value);
    ck_assert_ptr_eq(ftc_value_bytes(&value), net->of[1].input);
    ck_assert_int_eq(ftc_large_exchange_settle(net->of[1].exchange), FTC_SUCCESS);
    memset(net->of[1].input, 0, sizeof(before));
    ck_assert_mem_eq(ftc_value_bytes(&value), before, sizeof(before));
    ftc_value_drop(&value);
    net_free(net);
}
END_TEST

START_TEST(a_root_is_not_flooded)
{
    struct net *net = net_new(RANKS);

    net_call(net, FTC_CALL_GATHER, 4, ELEMENTS);
    net_create(net, 1, 10); /* 72 blocks of each rank */
    net_run(net);
    ck_assert_int_eq(net->most_underway, WINDOW);
    net_free(net);
}
END_TEST

START_TEST(blocks_are_as_large_as_is_wanted)
{
    struct net *few = net_new(8), *many = net_new(2);
    int all = 0;

    net_call(few, FTC_CALL_ALLREDUCE, -1, 16);
    net_create(few, 8, 512);
    net_run(few); /* 128 bytes are two blocks, each on 14 hops */
    for (int r = 0; r < 8; r++)
        for (int to = 0; to < 8; to++)
            all += few->messages[r][to];
    ck_assert_int_eq(all, 2 * 14);
    net_call(many, FTC_CALL_ALLREDUCE, -1, 640);
    net_create(many, 8, 16);
    net_run(many); /* 5120 bytes are 40 blocks */
    ck_assert_int_eq(many->messages[0][1], 40);
    net_free(few);
    net_free(many);
}
END_TEST

START_TEST(the_result_may_go_where_the_input_was)
{
    struct net *net = net_new(3);
    union element result[100];

    net_call(net, FTC_CALL_ALLREDUCE, -1, 100);
    net_create(net, 10, 20);
    net_run(net);
    net_finish(net, 0, result);
    net_finish(net, 1, net->of[1].input);
    ck_assert_mem_eq(result, net->of[1].input, sizeof(result));
    net_free(net);
}
END_TEST

/* Changes one thing of a message. */
static void spoil(struct net *net, struct packet *packet)
{
    int64_t any = test_random_between(&net->random, 1, 1000000);

    switch (test_random_between(&net->random, 0, 4)) {
    case 0:
        packet->tag.block += (uint32_t)any;
        break;
    case 1:
        packet->tag.hop += (uint32_t)any;
        break;
    case 2:
        packet->value.size += (size_t)any;
        break;
    case 3:
        packet->from = packet->to;
        break;
    default:
        packet->value.buffer = NULL;
        break;
    }
}

START_TEST(what_is_not_awaited_is_refused)
{
    static const enum ftc_call_kind kinds[] = {
        FTC_CALL_ALLREDUCE, FTC_CALL_REDUCE_SCATTER, FTC_CALL_ALLGATHER, FTC_CALL_GATHER,
        FTC_CALL_SCATTER,   FTC_CALL_ALLTOALL,       FTC_CALL_SCAN,      FTC_CALL_EXSCAN,
        FTC_CALL_REDUCE,    FTC_CALL_BCAST};

    for (int i = 0; i < 1000; i++) {
        enum ftc_call_kind kind = kinds[i % 10];
        bool rooted = ftc_call_table[kind].rooted;
        struct net *net = net_new(5);
        net->random.state += (uint64_t)i;
        net_call(net, kind, rooted ? 2 : -1, 100);
        for (int r = 0; r < 5; r++)
            net->of[r].call.slice_size = 20 * BLOCK;
        net_create(net, 1, 10);
        net_start(net);
        for (int64_t n = test_random_between(&net->random, 0, 40); n > 0 && net->packets > 1; n--)
            net_deliver(net, 0);
        struct packet right = net->packet[0], wrong = right;
        spoil(net, &wrong);
        if (right.value.size > 0) /* not a question, which has no value to spoil */
            ck_assert_int_eq(net_give(net, &wrong), FTC_ERR_PROTO);
        ck_assert_int_eq(net_give(net, &right), FTC_SUCCESS);
        net_put_out(net, right.to);
        if (right.value.size > 0)
            ck_assert_int_eq(net_give(net, &right), FTC_ERR_PROTO); /* it came twice */
        net->packet[0] = net->packet[--net->packets];
        ftc_value_drop(&right.value);
        net_free(net);
    }
}
END_TEST

/* Block 0 has to pass rank 2 before rank 1 can have its result. */
START_TEST(a_result_without_the_sum_of_this_rank_is_refused)
{
    struct net *net = net_new(3);
    int i = 0;

    net_call(net, FTC_CALL_ALLREDUCE, -1, 30);
    net_create(net, 1, 10);
    net_start(net);
    while (net->packet[i].to != 2 || net->packet[i].tag.block != 0)
        ck_assert_int_lt(++i, net->packets);
    struct packet result = net->packet[i];
    ck_assert_uint_eq(result.tag.hop, 0);
    result.tag.hop = 3;
    ck_assert_int_eq(net_give(net, &result), FTC_ERR_PROTO);
    ck_assert_int_eq(net_give(net, &net->packet[i]), FTC_SUCCESS);
    ck_assert_int_eq(net_give(net, &result), FTC_SUCCESS);
    net_free(net);
}
END_TEST

START_TEST(settings_that_make_no_sense_are_refused)
{
    static const int rank[2] = {0, 1};
    struct ftc_call call = {.signature = {.kind = FTC_CALL_ALLREDUCE, .root = -1, .size = 16}};
    struct ftc_large_exchange_settings sound = {.call = &call,
                                                .ranks = 2,
                                                .places = 2,
                                                .rank = rank,
                                                .element = 8,
                                                .block_least = 1,
                                                .block_most = 8,
                                                .part_most = 8,
                                                .window = 1};
    struct ftc_large_exchange_settings set = sound;
    struct ftc_large_exchange *exchange;

    set.self = 2;
    ck_assert_int_eq(ftc_large_exchange_create(&exchange, &set), FTC_ERR_ARG);
    set = sound;
    set.element = 12;
    ck_assert_int_eq(ftc_large_exchange_create(&exchange, &set), FTC_ERR_ARG);
    set = sound;
    set.block_most = 0;
    ck_assert_int_eq(ftc_large_exchange_create(&exchange, &set), FTC_ERR_ARG);
    set = sound;
    call.signature.size = 0;
    ck_assert_int_eq(ftc_large_exchange_create(&exchange, &set), FTC_ERR_ARG);
    call.signature = (struct ftc_signature){.kind = FTC_CALL_GATHER, .root = 2, .size = 16};
    ck_assert_int_eq(ftc_large_exchange_create(&exchange, &set), FTC_ERR_ARG);
}
END_TEST

START_TEST(not_every_call_has_an_exchange)
{
    struct ftc_signature signature = {.kind = FTC_CALL_BARRIER};

    ck_assert(!ftc_large_exchange_exists(&signature));
    signature.kind = FTC_CALL_KINDS;
    ck_assert(!ftc_large_exchange_exists(&signature));
    signature.operator_code = FTC_OPERATOR_ORDERED;
    signature.kind = FTC_CALL_ALLREDUCE;
    ck_assert(!ftc_large_exchange_exists(&signature));
    signature.kind = FTC_CALL_SCAN;
    ck_assert(ftc_large_exchange_exists(&signature));
}
END_TEST

int main(void)
{
    test_seed_announce();
    Suite *suite = suite_create("exchanges of large values");
    TCase *tcase = tcase_create("exchanges");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, an_allreduce_gives_every_rank_the_same_sum);
    tcase_add_test(tcase, a_reduce_gives_the_root_the_sum);
    tcase_add_test(tcase, a_broadcast_gives_all_the_value_of_the_root);
    tcase_add_test(tcase, a_reduce_scatter_gives_each_rank_its_slice);
    tcase_add_test(tcase, contributions_of_any_size_are_gathered);
    tcase_add_test(tcase, a_rank_that_is_named_is_not_taken);
    tcase_add_test(tcase, an_alltoall_takes_each_part_to_its_receiver);
    tcase_add_test(tcase, a_scatter_gives_each_rank_its_slice);
    tcase_add_test(tcase, a_scan_combines_in_the_order_of_the_ranks);
    tcase_add_test(tcase, links_carry_no_more_than_they_must);
    tcase_add_test(tcase, a_node_sends_what_one_rank_would);
    tcase_add_test(tcase, small_parts_come_unasked);
    tcase_add_test(tcase, what_waits_to_be_sent_outlives_the_input);
    tcase_add_test(tcase, a_root_is_not_flooded);
    tcase_add_test(tcase, blocks_are_as_large_as_is_wanted);
    tcase_add_test(tcase, the_result_may_go_where_the_input_was);
    tcase_add_test(tcase, what_is_not_awaited_is_refused);
    tcase_add_test(tcase, a_result_without_the_sum_of_this_rank_is_refused);
    tcase_add_test(tcase, settings_that_make_no_sense_are_refused);
    tcase_add_test(tcase, not_every_call_has_an_exchange);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
