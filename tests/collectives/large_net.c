/* A few ranks in one process that run an exchange of a large value. */
#include "tests/collectives/large_net.h"

#include <string.h>

#include "include/ftcoll.h"
#include "tests/suite.h"

static void add(void *arg, const void *in, void *inout, size_t size)
{
    const uint64_t *from = in;
    uint64_t *to = inout;

    for (size_t i = 0; i < size / sizeof(*to); i++)
        to[i] += from[i];
    ((struct rank *)arg)->net->combined += (int)(size / sizeof(*to));
}

void net_compose(void *arg, const void *in, void *inout, size_t size)
{
    const union element *from = in;
    union element *to = inout;

    (void)arg;
    for (size_t i = 0; i < size / sizeof(*to); i++) {
        to[i].function.b += to[i].function.a * from[i].function.b;
        to[i].function.a *= from[i].function.a;
    }
}

/* Keeps what it is given, and checks that ranks come from the highest to the lowest. */
static void take(void *arg, int rank, size_t offset, const void *data, size_t size, bool first,
                 void *result)
{
    struct rank *r = arg;

    ck_assert_ptr_eq(result, r);
    if (r->call.signature.kind != FTC_CALL_ALLTOALL)
        ck_assert(first == (r->lowest < 0 || rank == r->first));
    ck_assert(r->lowest < 0 || rank <= r->lowest);
    r->first = r->lowest < 0 ? rank : r->first;
    r->lowest = rank;
    if (r->call.signature.kind == FTC_CALL_ALLTOALL && r->call.parts != NULL &&
        r->bounds[rank][1] == 0) {
        ck_assert_uint_eq(offset, (size_t)r->number * sizeof(uint64_t));
        ck_assert_uint_eq(size, 2 * sizeof(uint64_t));
        memcpy(r->bounds[rank], data, size);
        return;
    }
    if (r->taken_size[rank] == 0)
        r->taken_from[rank] = offset;
    ck_assert_uint_eq(offset, r->taken_from[rank] + r->taken_size[rank]);
    ck_assert_uint_le(r->taken_size[rank] + size, sizeof(r->taken[rank]));
    memcpy(r->taken[rank] + r->taken_size[rank], data, size);
    r->taken_size[rank] += size;
}

/* --- a communicator --- */

struct net *net_new(int ranks)
{
    struct net *net = calloc(1, sizeof(*net));

    ck_assert_ptr_nonnull(net);
    net->random = test_random_start();
    net->ranks = ranks;
    ck_assert_int_eq(ftc_set_init(&net->failed, ranks), FTC_SUCCESS);
    for (int r = 0; r < ranks; r++) {
        net->of[r].net = net;
        net->of[r].number = r;
        net->of[r].lowest = -1;
        for (size_t i = 0; i < ELEMENTS; i++)
            net->of[r].input[i].number = test_random_bits(&net->random);
    }
    return net;
}

void net_free(struct net *net)
{
    for (int i = 0; i < net->packets; i++)
        ftc_value_drop(&net->packet[i].value);
    for (int r = 0; r < net->ranks; r++)
        ftc_large_exchange_destroy(net->of[r].exchange);
    ftc_set_fini(&net->failed);
    free(net);
}

static void place_ranks(struct net *net)
{
    net->places = 0;
    for (int r = 0; r < net->ranks; r++) {
        net->place[r] = net->places;
        if (!ftc_set_has(&net->failed, r))
            net->rank[net->places++] = r;
    }
}

/* Each rank that has not failed makes the call; `size` is that of its signature, in elements. */
void net_call(struct net *net, enum ftc_call_kind kind, int root, size_t size)
{
    bool ordered = kind == FTC_CALL_SCAN || kind == FTC_CALL_EXSCAN;

    place_ranks(net);
    for (int r = 0; r < net->ranks; r++) {
        struct ftc_call *c = &net->of[r].call;
        c->signature = (struct ftc_signature){
            .kind = (uint8_t)kind, .root = root, .size = size * sizeof(union element)};
        c->input = net->of[r].input;
        if (c->input_size == 0)
            c->input_size = size * sizeof(union element);
        c->combine = ordered ? net_compose : add;
        c->combine_arg = c->take_arg = &net->of[r];
        c->take = take;
    }
}

static int reserve(void *arg, size_t offset, size_t size)
{
    const struct net *net = arg;

    ck_assert_uint_le(size, offset == 0 ? net->nodes.room : net->nodes.apart);
    return FTC_SUCCESS;
}

void net_share_memory(struct net *net, size_t room)
{
    ck_assert_uint_le(room, AREA);
    net->nodes = (struct ftc_large_nodes){.first_ranks = net->first_ranks,
                                          .areas = net->area[0],
                                          .stride = sizeof(net->area[0]),
                                          .room = room,
                                          .apart = room < AREA ? room : HALF,
                                          .reserve = reserve,
                                          .arg = net};
}

void net_draw_nodes(struct net *net, size_t room)
{
    int nodes = 0;

    for (int r = 0; r < net->ranks; r++)
        if (r == 0 || test_random_chance(&net->random, 35))
            net->first_ranks[nodes++] = r;
    net->first_ranks[nodes] = net->ranks;
    net_share_memory(net, room);
}

void net_create(struct net *net, size_t least, size_t most)
{
    net->part_most = most;
    for (int r = 0; r < net->ranks; r++) {
        struct ftc_large_exchange_settings settings = {
            .call = &net->of[r].call,
            .ranks = net->ranks,
            .self = net->place[r],
            .places = net->places,
            .rank = net->rank,
            .nodes = net->nodes.areas != NULL ? &net->nodes : NULL,
            .element = sizeof(union element),
            .block_least = least * BLOCK,
            .block_most = most * BLOCK,
            .part_most = most * BLOCK,
            .window = WINDOW};
        if (!ftc_set_has(&net->failed, r))
            ck_assert_int_eq(ftc_large_exchange_create(&net->of[r].exchange, &settings),
                             FTC_SUCCESS);
    }
}

/* Copies messages into bytes of its own, as a transport would. */
void net_put_out(struct net *net, int rank)
{
    struct ftc_large_block_output output;

    while (ftc_large_exchange_next_output(net->of[rank].exchange, &output)) {
        struct ftc_value value = {.buffer = ftc_buffer_new(output.value.size),
                                  .size = output.value.size};
        int to = net->rank[output.to];
        ck_assert_ptr_nonnull(value.buffer);
        if (value.size > 0)
            memcpy(value.buffer->data, ftc_value_bytes(&output.value), value.size);
        ck_assert_int_lt(net->packets, MESSAGES);
        net->packet[net->packets++] = (struct packet){rank, to, output.tag, value};
        net->sent[rank][to] += value.size;
        net->messages[rank][to]++;
        net->underway[to] += value.size > 0;
        net->bytes_underway[to] += value.size;
        net->flooded |=
            net->underway[to] > WINDOW && net->bytes_underway[to] > WINDOW * net->part_most * BLOCK;
        if (net->underway[to] > net->most_underway)
            net->most_underway = net->underway[to];
    }
}

void net_start(struct net *net)
{
    for (int i = 0; i < net->places; i++) {
        ck_assert_int_eq(ftc_large_exchange_start(net->of[net->rank[i]].exchange), FTC_SUCCESS);
        net_put_out(net, net->rank[i]);
    }
}

int net_give(struct net *net, const struct packet *packet)
{
    return ftc_large_exchange_receive(net->of[packet->to].exchange, net->place[packet->from],
                                      &packet->tag, &packet->value);
}

void net_deliver(struct net *net, int i)
{
    struct packet packet = net->packet[i];

    net->packet[i] = net->packet[--net->packets];
    net->underway[packet.to] -= packet.value.size > 0;
    net->bytes_underway[packet.to] -= packet.value.size;
    ck_assert(!ftc_large_exchange_whole(net->of[packet.to].exchange));
    int awaited = ftc_large_exchange_awaited(net->of[packet.to].exchange);
    ck_assert(awaited >= 0 && awaited < net->places && awaited != net->place[packet.to]);
    ck_assert_int_eq(net_give(net, &packet), FTC_SUCCESS);
    ftc_value_drop(&packet.value);
    net_put_out(net, packet.to);
}

void net_go_on(struct net *net)
{
    while (net->packets > 0)
        net_deliver(net, (int)test_random_between(&net->random, 0, net->packets - 1));
    for (int i = 0; i < net->places; i++)
        ck_assert(ftc_large_exchange_whole(net->of[net->rank[i]].exchange));
}

void net_run(struct net *net)
{
    net_start(net);
    net_go_on(net);
}

/* A few ranks have failed; `but` has not. */
void net_fail_some(struct net *net, int but)
{
    for (int r = 0; r < net->ranks; r++)
        if (r != but && test_random_chance(&net->random, 25))
            ftc_set_add(&net->failed, r);
    if (ftc_set_count(&net->failed) == net->ranks)
        ftc_set_remove(&net->failed, 0);
}

/* Creates the exchanges with blocks of some size, and runs them. */
void net_run_drawn(struct net *net)
{
    size_t least = (size_t)test_random_between(&net->random, 1, 40);

    net_create(net, least, least + (size_t)test_random_between(&net->random, 0, 60));
    net_run(net);
}

/* Draws unequal parts of some elements: the parts of `rank`. */
void net_draw_parts(struct net *net, int rank, size_t begin, size_t elements)
{
    uint64_t *parts = net->of[rank].parts;

    parts[0] = begin;
    for (int r = 1; r <= net->ranks; r++) {
        uint64_t rest = begin + elements * BLOCK - parts[r - 1];
        uint64_t size = (uint64_t)test_random_between(&net->random, 0, (int64_t)(rest / BLOCK));
        parts[r] = parts[r - 1] + (r == net->ranks ? rest / BLOCK : size / 2) * BLOCK;
    }
    net->of[rank].call.parts = parts;
}

void net_finish(struct net *net, int rank, void *to)
{
    ftc_large_exchange_finish(net->of[rank].exchange, &net->failed, to);
}

uint64_t net_sum_of(const struct net *net, size_t element)
{
    uint64_t sum = 0;

    for (int i = 0; i < net->places; i++)
        sum += net->of[net->rank[i]].input[element].number;
    return sum;
}
