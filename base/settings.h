/* The values of settings that both the configuration and the protocols name. All members of a communicator have
 * the same ones (agreement.md, Model). */
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

enum ftc_correction { FTC_CORRECTION_NONE, FTC_CORRECTION_CHECKED };

/* How PREPARE reaches the participants (agreement.md, rule 6). */
enum ftc_prepare { FTC_PREPARE_DIRECT, FTC_PREPARE_TREE };

struct ftc_tree_shape {
    enum ftc_tree tree;
    int arity; /* k: k-ary >= 2; Lamé 1..64, 1 is the binomial tree; binomial: ignored */
};

/* What a member of a communicator is made with; ftc_config_member() fills it from the configuration. */
struct ftc_member_settings {
    int ranks, self;
    int f;
    enum ftc_scheme scheme;
    enum ftc_share share;
    enum ftc_rotation rotation;
    int reduce_arity;
    struct ftc_tree_shape tree;
    enum ftc_correction correction;
    uint64_t correction_delay_ns; /* pace of correction messages */
    uint32_t settle_every;        /* w: every w-th broadcast in a row collects; 0: none */
    enum ftc_prepare prepare;
};

#endif
