/* What a rank of the storm program writes down for each operation. The driver compares the
 * survivors' files. */
#ifndef FTC_TESTS_SYSTEM_RECORD_H
#define FTC_TESTS_SYSTEM_RECORD_H

#include <stdint.h>

#define RECORD_TRAIN 40 /* operations in a row: more than a sender may be ahead */

enum record_kind {
    RECORD_ALLREDUCE,
    RECORD_LARGE, /* an allreduce of more than one block */
    RECORD_REDUCE,
    RECORD_LARGE_REDUCE,
    RECORD_REDUCES, /* reduces one after the other, more than a sender may be ahead */
    RECORD_BCAST,
    RECORD_LARGE_BCAST,
    RECORD_BCASTS,
    RECORD_BARRIER,
    RECORD_VALIDATE,
    RECORD_BLOCKS, /* gathers to all, scatters, exchanges, scans, operators that do not commute */
    RECORD_GATHER, /* to a root */
    RECORD_SIZED,  /* those of RECORD_BLOCKS whose ranks agree on sizes first */
    RECORD_SIZED_GATHER,
    RECORD_GOSSIP,
    RECORD_KINDS
};

/* The sets of ranks are bits, because storms have at most 64 ranks. */
struct record {
    uint32_t op, kind;
    int32_t status, root;
    uint64_t counted;   /* ranks whose input is in the result, exactly once each; ~0 if not known */
    uint64_t failed;    /* failed set of ftc_last_report() */
    uint64_t hash;      /* hash of the result's bytes; 0 at a rank that gets none */
    uint64_t board;     /* 1 if ftc_last_report() names the board, else 0 */
    uint64_t unchecked; /* 1 if a bit flipped in the operation and there was nothing to compare */
    uint64_t done;      /* 1, written last, says that the record is whole */
};

/* The next random number. Operation `op` of a run draws the same ones at every rank and in the
 * driver. */
static inline uint64_t record_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* A number that is drawn alike from `salt` and `what`. */
static inline uint64_t record_draw(uint64_t salt, uint64_t what)
{
    uint64_t state = salt * 1000003u + what;

    (void)record_random(&state);
    return record_random(&state);
}

/* A plain reduce or gather gives a result to its root alone, so there is nothing to compare. */
static inline int record_is_reduce(uint32_t kind)
{
    return kind == RECORD_REDUCE || kind == RECORD_LARGE_REDUCE || kind == RECORD_REDUCES ||
           kind == RECORD_GATHER || kind == RECORD_SIZED_GATHER;
}

/* With `gossip`, one operation in five is an aggregation by gossip. Among many ranks, where it
 * takes long, one in twelve is. */
static inline enum record_kind record_pick(uint64_t seed, uint32_t op, int ranks, int gossip,
                                           int *root)
{
    static const unsigned char percent[RECORD_KINDS] = {
        [RECORD_ALLREDUCE] = 20,   [RECORD_LARGE] = 6,       [RECORD_REDUCE] = 9,
        [RECORD_LARGE_REDUCE] = 3, [RECORD_REDUCES] = 2,     [RECORD_BCAST] = 10,
        [RECORD_LARGE_BCAST] = 4,  [RECORD_BCASTS] = 2,      [RECORD_BARRIER] = 5,
        [RECORD_VALIDATE] = 6,     [RECORD_BLOCKS] = 20,     [RECORD_GATHER] = 5,
        [RECORD_SIZED] = 5,        [RECORD_SIZED_GATHER] = 3};
    uint64_t state = seed * 1000003u + op;
    uint64_t dice = record_random(&state) % 100;
    int kind = 0;

    *root = (int)(record_random(&state) % (uint64_t)ranks);
    for (; dice >= percent[kind]; kind++)
        dice -= percent[kind];
    if (gossip && record_random(&state) % (ranks > 16 ? 12 : 5) == 0)
        return RECORD_GOSSIP;
    return (enum record_kind)kind;
}

/* The number of library operations that a kind takes; for gossip, the number in one attempt. */
static inline unsigned record_operations(enum record_kind kind)
{
    if (kind == RECORD_REDUCES || kind == RECORD_BCASTS)
        return RECORD_TRAIN;
    return kind == RECORD_GOSSIP || kind == RECORD_SIZED || kind == RECORD_SIZED_GATHER ? 2 : 1;
}

#endif
