/* The settings that both config/ and the protocols know. All members of a communicator have the
 * same values (agreement.md, Model). */
#ifndef FTC_BASE_SETTINGS_H
#define FTC_BASE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

/* The failure information that a reduce carries (Küttler, Härtig 2026, section 4.4). */
enum ftc_scheme { FTC_SCHEME_LIST, FTC_SCHEME_COUNT, FTC_SCHEME_BIT };

/* PIGGYBACK: the failed set of a decision becomes G, so that later operations leave its ranks out.
 * OFF: G does not change. */
enum ftc_share { FTC_SHARE_PIGGYBACK, FTC_SHARE_OFF };

/* Which member coordinates an operation without a root. FIRST: the first of the view. SPREAD: each
 * member in turn. */
enum ftc_rotation { FTC_ROTATION_FIRST, FTC_ROTATION_SPREAD };

/* The shape of the subtrees of the I(f)-tree. A chain is a heap of arity 1. */
enum ftc_reduce_tree { FTC_REDUCE_HEAP, FTC_REDUCE_CHAIN };

/* The tree by which a decision is disseminated. All of them are numbered interleaved. */
enum ftc_tree { FTC_TREE_BINOMIAL, FTC_TREE_KARY, FTC_TREE_LAME };

/* How a decision is disseminated, in the first phase (docs/design/broadcast.md). */
enum ftc_dissemination {
    FTC_DISSEMINATION_TREE,
    FTC_DISSEMINATION_GOSSIP,    /* to random targets, for a bounded number of rounds */
    FTC_DISSEMINATION_MULTICAST, /* unreliable datagrams to all at once */
};

/* How the processes that the dissemination missed are reached, in the second phase: a correcting
 * process sends round the ring of positions. */
enum ftc_correction {
    FTC_CORRECTION_NONE,
    FTC_CORRECTION_OPPORTUNISTIC, /* to its `distance` nearest positions */
    FTC_CORRECTION_OPTIMISED,     /* the same, without those that another process covers */
    FTC_CORRECTION_CHECKED,       /* to both sides, until it meets another one on each side */
    FTC_CORRECTION_THROTTLED,     /* the same, with the sides strictly in turn */
    FTC_CORRECTION_FAILURE_PROOF, /* to both sides, until it meets f + 1 others on each side */
    FTC_CORRECTION_DELAYED, /* to one side; to the other one only when nothing comes from there */
    FTC_CORRECTION_RING,    /* to its successor */
};

/* What a round of gossip counts (docs/design/broadcast.md, "Gossip"). */
enum ftc_gossip_bound { FTC_GOSSIP_ROUNDS, FTC_GOSSIP_TIME };

/* Which failure-free subtree a coordinator takes (agreement.md, rule 2). AUTO: the first to come
 * where it gives the same bits as the others, else the lowest, but without waiting for ever. */
enum ftc_take { FTC_TAKE_AUTO, FTC_TAKE_FIRST, FTC_TAKE_LOWEST };

/* What a reduce or an allreduce does against silent corruption (docs/design/integrity.md). */
enum ftc_integrity {
    FTC_INTEGRITY_NONE,
    FTC_INTEGRITY_CHECKSUM, /* damage that a checksum shows costs a rank its life */
    FTC_INTEGRITY_VOTE,     /* the results of the subtrees are compared */
};

/* How PREPARE reaches the participants (agreement.md, rule 6). */
enum ftc_prepare { FTC_PREPARE_DIRECT, FTC_PREPARE_TREE };

struct ftc_flips;

struct ftc_tree_shape {
    enum ftc_tree tree;
    int arity; /* k: k-ary >= 2; Lamé 1..64, 1 is the binomial tree; binomial: ignored */
};

/* The settings of one member of a communicator. ftc_config_member() fills them in from the
 * configuration. */
struct ftc_member_settings {
    uint64_t communicator; /* its number, in each message (collectives/frame.h) */
    int ranks, self;
    int f;
    enum ftc_scheme scheme;
    enum ftc_share share;
    enum ftc_rotation rotation;
    int reduce_arity;
    int direct; /* most participants of a direct ballot (agreement.md, rule 2); below 2: none is */
    /* Most participants of a first ballot that is an exchange by recursive doubling; below 2: no
     * ballot is one. */
    int doubling;
    enum ftc_take take;
    uint64_t straggler_ns; /* take = AUTO: how long to wait for lower subtrees; 0: for ever */
    /* The dissemination tree. With gossip or multicast it tells whom to ask in a repair. */
    struct ftc_tree_shape tree;
    enum ftc_dissemination dissemination;
    enum ftc_correction correction;
    int distance;                 /* d of opportunistic correction */
    uint64_t correction_delay_ns; /* pace of correction messages; 0: as fast as they can be sent */
    uint64_t patience_ns;         /* how long to wait for a decision before asking; 0: for ever */
    enum ftc_gossip_bound gossip_bound;
    int gossip_rounds;       /* the budget of rounds that the root grants */
    int gossip_hop;          /* rounds that a message travels, with FTC_GOSSIP_TIME */
    uint64_t seed;           /* of the random targets */
    uint32_t fragment;       /* bytes of a decision in one datagram */
    int multicast_least;     /* with fewer ranks the tree is used instead of multicast */
    uint64_t multicast_most; /* with more bytes of value the tree is used, too */
    uint32_t settle_every;   /* w: every w-th broadcast in a row collects; 0: none does */
    enum ftc_prepare prepare;
    enum ftc_integrity integrity;
    const struct ftc_flips *flips; /* corruption drills (collectives/values/flip.h); NULL: none */
    /* Two levels (docs/design/nodes.md): node i has the ranks first_ranks[i] .. first_ranks[i + 1]
     * - 1. nodes = 0 means one level. The array must outlive the member. */
    int nodes;
    const int *first_ranks;
    uint64_t levels_most; /* bytes of the largest value that goes over two levels */
    bool levels_plain;    /* a reduce over two levels is a plain one: its senders do not wait */
};

#endif
