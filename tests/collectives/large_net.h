/* A few ranks in one process that run an exchange of a large value (collectives/large/exchange.h),
 * with messages that arrive in any order. Some ranks of the communicator may have no place in it.
 * */
#ifndef FTC_TEST_LARGE_NET_H
#define FTC_TEST_LARGE_NET_H

#include "collectives/large/exchange.h"
#include "tests/random.h"

#define RANKS    9
#define ELEMENTS 720 /* most of an input; each number of ranks up to 6, and 8 and 9, divides it */
#define MESSAGES 6000
#define WINDOW   3
#define BLOCK    sizeof(uint64_t)

/* An element is the function x -> a x + b, modulo 2^32. One after the other is associative, and
 * does not commute. As a sum it is a number. */
union element {
    uint64_t number;
    struct {
        uint32_t a, b;
    } function;
};

/* Bytes of an area for what is combined, and of a half for what stays apart: enough for any
 * call. */
#define AREA (((size_t)2 * ELEMENTS * BLOCK + 127) / 64 * 64)
#define HALF (RANKS * AREA)

struct packet {
    int from, to; /* ranks */
    struct ftc_large_tag tag;
    struct ftc_value value;
};

struct rank {
    struct net *net;
    int number;
    struct ftc_call call;
    struct ftc_large_exchange *exchange;
    union element input[ELEMENTS];
    uint64_t parts[RANKS + 1];
    unsigned char taken[RANKS][ELEMENTS * BLOCK];
    size_t taken_from[RANKS], taken_size[RANKS]; /* which bytes of each contribution */
    uint64_t bounds[RANKS][2];
    int first, lowest; /* the ranks that were taken first and last */
};

struct net {
    struct test_random random;
    int ranks, places;
    int rank[RANKS], place[RANKS];
    struct ftc_set failed;
    struct rank of[RANKS];
    struct ftc_large_nodes nodes; /* areas NULL: the ranks share no memory */
    int first_ranks[RANKS + 1];
    _Alignas(64) unsigned char area[RANKS][AREA + 2 * HALF];
    struct packet packet[MESSAGES];
    int packets, combined;
    size_t sent[RANKS][RANKS]; /* bytes of values */
    int messages[RANKS][RANKS];
    int underway[RANKS], most_underway; /* values on their way to each rank */
    size_t bytes_underway[RANKS], part_most;
    bool flooded; /* more were on their way than a window has, and more bytes */
};

struct net *net_new(int ranks);
void net_free(struct net *net);
/* Each rank that has not failed makes the call; `size` is that of its signature, in elements. The
 * operator is addition; that of a scan is net_compose(). */
void net_call(struct net *net, enum ftc_call_kind kind, int root, size_t size);
void net_compose(void *arg, const void *in, void *inout, size_t size);
/* A few ranks have failed; `but` has not. */
void net_fail_some(struct net *net, int but);
/* Draws unequal parts of some elements, from byte `begin` on: the parts of `rank`. */
void net_draw_parts(struct net *net, int rank, size_t begin, size_t elements);

/* The ranks are on nodes, which first_ranks has or whose sizes are drawn. They share areas of so
 * many bytes there. */
void net_share_memory(struct net *net, size_t room);
void net_draw_nodes(struct net *net, size_t room);
/* Creates the exchanges. The sizes of blocks are in elements. */
void net_create(struct net *net, size_t least, size_t most);
void net_start(struct net *net);
void net_put_out(struct net *net, int rank);
int net_give(struct net *net, const struct packet *packet); /* to the rank that it is for */
void net_deliver(struct net *net, int i);                   /* packet i arrives */
void net_go_on(struct net *net);                            /* after net_start(), to the end */
void net_run(struct net *net);                              /* from the start to the end */
void net_run_drawn(struct net *net);                        /* creates them, too: draws the sizes */

void net_finish(struct net *net, int rank, void *to);
uint64_t net_sum_of(const struct net *net, size_t element); /* over the ranks with a place */

#endif
