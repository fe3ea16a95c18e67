/* The values of settings that both the configuration and the protocols name. All members of a
 * communicator have the same ones (agreement.md, Model). */
#ifndef FTC_BASE_SETTINGS_H
#define FTC_BASE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

/* What a reduce carries about failures (Küttler, Härtig 2026, section 4.4). */
enum ftc_scheme { FTC_SCHEME_LIST, FTC_SCHEME_COUNT, FTC_SCHEME_BIT };

/* Whether a decided failed set becomes G, so that later operations leave those ranks out. */
enum ftc_share { FTC_SHARE_PIGGYBACK, FTC_SHARE_OFF };

/* Which member coordinates an operation without a root: the first of the view, or each in turn. */
enum ftc_rotation { FTC_ROTATION_FIRST, FTC_ROTATION_SPREAD };

/* Shape of the subtrees of the I(f)-tree. A chain is a heap of arity 1. */
enum ftc_reduce_tree { FTC_REDUCE_HEAP, FTC_REDUCE_CHAIN };

/* Dissemination tree of a decision; interleaved numbering throughout. */
enum ftc_tree { FTC_TREE_BINOMIAL, FTC_TREE_KARY, FTC_TREE_LAME };

/* How a decision is spread first (docs/design/broadcast.md). */
enum ftc_dissemination {
    FTC_DISSEMINATION_TREE,
    FTC_DISSEMINATION_GOSSIP,    /* to random targets, for a bounded number of rounds */
    FTC_DISSEMINATION_MULTICAST, /* unreliable datagrams to all at once */
};

/* ... and how those that this missed are reached, over the ring of positions. */
enum ftc_correction {
    FTC_CORRECTION_NONE,
    FTC_CORRECTION_OPPORTUNISTIC, /* everyone sends to its `distance` nearest */
    FTC_CORRECTION_OPTIMISED,     /* ... leaving out whom another one covers */
    FTC_CORRECTION_CHECKED,       /* until it meets another one on both sides */
    FTC_CORRECTION_THROTTLED,     /* ... sides strictly in turn */
    FTC_CORRECTION_FAILURE_PROOF, /* until it meets f + 1 on both sides */
    FTC_CORRECTION_DELAYED, /* to one side only, and to the other when nothing comes from there */
    FTC_CORRECTION_RING,    /* everyone to its successor */
};

/* What a round of gossip counts (docs/design/broadcast.md, "Gossip"). */
enum ftc_gossip_bound { FTC_GOSSIP_ROUNDS, FTC_GOSSIP_TIME };

/* What a reduce or an allreduce does against silent corruption (docs/design/integrity.md). */
enum ftc_integrity {
    FTC_INTEGRITY_NONE,
    FTC_INTEGRITY_CHECKSUM, /* who finds its memory or a message damaged makes a death of it */
    FTC_INTEGRITY_VOTE,     /* the results of the subtrees are compared */
};

/* How PREPARE reaches the participants (agreement.md, rule 6). */
enum ftc_prepare { FTC_PREPARE_DIRECT, FTC_PREPARE_TREE };

struct ftc_flips;

struct ftc_tree_shape {
    enum ftc_tree tree;
    int arity; /* k: k-ary >= 2; Lamé 1..64, 1 is the binomial tree; binomial: ignored */
};

/* What a member of a communicator is made with; ftc_config_member() fills it from the
 * configuration. */
struct ftc_member_settings {
    int ranks, self;
    int f;
    enum ftc_scheme scheme;
    enum ftc_share share;
    enum ftc_rotation rotation;
    int reduce_arity;
    int direct; /* ballots of at most so many participants collect straight to c_b; below 2: none */
    int doubling; /* first ballots of at most so many participants are exchanges by recursive doubling; below 2: none */
    struct ftc_tree_shape tree; /* of dissemination; and whom to ask when it is another (repair) */
    enum ftc_dissemination dissemination;
    enum ftc_correction correction;
    int distance;                 /* d of opportunistic correction */
    uint64_t correction_delay_ns; /* pace of correction messages; 0: as fast as they can be sent */
    uint64_t patience_ns; /* wait for what should come by itself before asking; 0: for ever */
    enum ftc_gossip_bound gossip_bound;
    int gossip_rounds;       /* that the root grants */
    int gossip_hop;          /* rounds that a message is on its way, by FTC_GOSSIP_TIME */
    uint64_t seed;           /* of random targets */
    uint32_t fragment;       /* bytes of a decision in a datagram */
    int multicast_least;     /* multicast: the tree where fewer ranks take part, */
    uint64_t multicast_most; /* or the value has more bytes */
    uint32_t settle_every;   /* w: every w-th broadcast in a row collects; 0: none */
    enum ftc_prepare prepare;
    enum ftc_integrity integrity;
    const struct ftc_flips
        *flips; /* drills of corruption (collectives/values/flip.h); NULL: none */
    /* Two levels (docs/design/nodes.md): node i has the ranks first_ranks[i] .. first_ranks[i + 1]
     * - 1. 0 nodes: one level. The array must outlive the member. */
    int nodes;
    const int *first_ranks;
    uint64_t levels_most; /* bytes of the largest value that goes over two levels */
};

#endif
