/*
 * The board as it lies in the node segment, and the only ways to touch its shared words. Private to
 * node/.
 *
 * The comment of each word names its writer. A word may be stale, that is of an older round, or
 * garbage if its writer broke. So readers check rounds, ranks and places before use. agreement.md,
 * "Node board", has the protocol.
 */
#ifndef FTC_NODE_SEGMENT_BOARD_MEMORY_H
#define FTC_NODE_SEGMENT_BOARD_MEMORY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "collectives/call.h"

/* Tests of the protocol define smaller values, so that few bytes make many blocks, and a place is
 * used again after a few rounds. */
#ifndef FTC_BOARD_STEP
#define FTC_BOARD_DEPTH 32u /* W: how many rounds a rank may be ahead of its readers */
/* Bytes that are combined under one claim. The result and one post fit into the first-level
 * cache. */
#define FTC_BOARD_CHUNK 8192u
#define FTC_BOARD_LINE  64u /* most bytes of data in the line of a place */
#define FTC_BOARD_SMALL 1024u
#define FTC_BOARD_WHOLE (4u << 20) /* most bytes of a post */
/* Up to so many bytes of posts each member combines for itself, which is cheaper than to wait for
 * the result of another one. */
#define FTC_BOARD_SELF 1024u
/* Most bytes of all posts of a round in which each rank reads them for itself, but each may have
 * FTC_BOARD_BLOCK: they fit into the last-level cache, and into a small /dev/shm. */
#define FTC_BOARD_APART (16u << 20)
/* From so many bytes on members copy between their memories, piece by piece ("Direct copies"). */
#define FTC_BOARD_DIRECT    16384u
#define FTC_BOARD_PIECE     262144u
#define FTC_BOARD_PAIR_UNIT 4096u /* a half ends at a multiple of this, so it splits no page */
/* After so many bytes, or one rank, they exchange how it went. As many are kept at the most. */
#define FTC_BOARD_PHASE 4194304u
/* Bytes of half of the memory in which a node gathers (docs/design/nodes.md, "Large values"). */
#define FTC_BOARD_HALF (4u << 20)
#else
#define FTC_BOARD_HALF 4096u
#endif

#define FTC_BOARD_INLINE 8u  /* most bytes of data in the post itself */
#define FTC_BOARD_CHUNKS 16u /* claims in a round; they take two cache lines */
#define FTC_BOARD_BLOCK                                                                            \
    (FTC_BOARD_CHUNK * FTC_BOARD_CHUNKS) /* most bytes of a post that is combined */

/* A post. There is one per rank and place, and another one for started operations. Its rank writes
 * it; when the rank is in L the survivors write its mark. Two posts share a cache line on purpose:
 * the rank that posts second gets the post of the first one with the line that it writes to, so two
 * ranks exchange with two transfers instead of four (0.16 us instead of 0.22 us).
 *
 * Posts of started operations lie apart from the others. There the posts of one rank lie side by
 * side, since it makes several before others read them. */
struct ftc_board_post {
    /* ftc_board_mark(), or FTC_BOARD_COUNTED or FTC_BOARD_VOID with the round + 1. Release: the
     * rest of the post is there. */
    _Atomic uint64_t mark;
    struct ftc_signature signature;
    union {
        unsigned char data[FTC_BOARD_INLINE];
        uint64_t offset; /* where data of more than FTC_BOARD_LINE bytes lies in its rank's area */
    };
};

/* There is one per place. Any rank writes, by compare-and-swap from a value that it has read. */
struct ftc_board_place {
    /* FTC_BOARD_WORD(round, arrival count). The count is a hint. */
    _Alignas(64) _Atomic uint64_t arrived;
    /* FTC_BOARD_WORD(round, claim), with claim = rank << 2 | state. */
    _Alignas(64) _Atomic uint64_t claim[FTC_BOARD_CHUNKS];
    /* FTC_BOARD_WORD(round, number of sleepers). Sleepers that died stay counted. */
    _Alignas(64) _Atomic uint64_t sleepers;
    _Atomic uint32_t bell; /* futex word, incremented before every wake-up */
    /* Of the first place: not 0 when the board was revoked. Any rank writes it.
     * It lies here because no rank writes to this line while no rank sleeps. */
    _Atomic uint32_t revoked;
};

/* There is one per rank. */
struct ftc_board_progress {
    /* The last round that does not collect and that this rank has finished, + 1. Its rank writes.
     * Release: the reads of that round are done. */
    _Alignas(64) _Atomic uint64_t finished;
    _Atomic uint64_t decided; /* the last round that this rank has decided, + 1; its rank writes */
    /* Ring when `finished` reaches this value; 0: none. Any rank makes it smaller, and its
     * rank clears it. */
    _Atomic uint64_t wanted;
    _Atomic uint32_t bell; /* futex word; its rank and the launcher write */
    /* When its rank touches the board no more: the rounds that it has gone through, + 1, as a mark
     * whose check is the number of the communicator. 0 before. Its rank writes. Release: all that
     * it posted is there. */
    _Atomic uint64_t left;
    /* How many communicators of this memory its rank has left, as a mark whose check is the name of
     * the file. It only grows: it is not cleared when the memory is used again. Its rank writes,
     * after `left`. Release: it touches nothing of the last one any more. */
    _Atomic uint64_t uses;
};

/* A mark is the round + 1 with the check of the signature above it, or with the word that the
 * survivors of its writer have settled on. */
#define FTC_BOARD_ROUND_MASK  ((UINT64_C(1) << 46) - 1)
#define FTC_BOARD_COUNTED     (UINT64_C(1) << 46) /* a rank has counted the post, so all do */
#define FTC_BOARD_VOID        (UINT64_C(1) << 47) /* no rank has counted the post, and none does */
#define FTC_BOARD_CHECK_SHIFT 48
#define FTC_BOARD_GOLDEN      0x9e3779b97f4a7c15ull /* 2^64 over the golden ratio: mixes digests */

/* The check in a mark depends on the round, so that a changed number does not make it a mark of
 * another round. The check is odd, so that no flip of a bit turns a mark into one of the words that
 * survivors settle on. */
static inline uint64_t ftc_board_mark(uint64_t end, uint64_t check)
{
    return end | ((check ^ end * FTC_BOARD_GOLDEN) >> FTC_BOARD_CHECK_SHIFT | 1)
                     << FTC_BOARD_CHECK_SHIFT;
}

#define FTC_BOARD_TAG(round)         (((round) + 1) << 16)
#define FTC_BOARD_WORD(round, value) (FTC_BOARD_TAG(round) | (uint64_t)(value))
#define FTC_BOARD_VALUE(word)        ((uint32_t)((word)&0xffff))

enum ftc_board_claim {
    FTC_CLAIM_NONE,
    FTC_CLAIM_TAKEN,      /* its holder combines */
    FTC_CLAIM_DONE,       /* the result is there, and no member was missing */
    FTC_CLAIM_DONE_SHORT, /* the result is there, and members were missing: find out which */
};

/* The area of a rank has buffers of three sizes, and a line for each place. Each is allocated when
 * it is first used. */
#define FTC_BOARD_SMALL_COUNT  FTC_BOARD_DEPTH
#define FTC_BOARD_BLOCK_COUNT  4u
#define FTC_BOARD_WHOLE_COUNT  2u
#define FTC_BOARD_SMALL_OFFSET 0u
#define FTC_BOARD_BLOCK_OFFSET (FTC_BOARD_SMALL_OFFSET + FTC_BOARD_SMALL * FTC_BOARD_SMALL_COUNT)
#define FTC_BOARD_WHOLE_OFFSET (FTC_BOARD_BLOCK_OFFSET + FTC_BOARD_BLOCK * FTC_BOARD_BLOCK_COUNT)
#define FTC_BOARD_LINES_OFFSET (FTC_BOARD_WHOLE_OFFSET + FTC_BOARD_WHOLE * FTC_BOARD_WHOLE_COUNT)
#define FTC_BOARD_LINES_BYTES  4096u /* a page */
#define FTC_BOARD_HALVES_OFFSET                                                                    \
    (FTC_BOARD_LINES_OFFSET + FTC_BOARD_LINES_BYTES) /* between nodes only */
#define FTC_BOARD_AREA (FTC_BOARD_HALVES_OFFSET + 2 * FTC_BOARD_HALF)

#define FTC_BOARD_RESULTS                                                                          \
    2u /* the results of rounds r and r + 1 lie apart; one block would do, but two suit caches */

/* Where the parts of a board begin, in bytes. The areas come behind them, on a page. */
struct ftc_board_layout {
    uint64_t places, progress, posts, ahead, results;
    uint64_t post_stride; /* bytes between the posts of two places */
    uint64_t end;         /* behind the results; a multiple of the page size */
};
/* The layout of a board for so many ranks that begins at `from`, a multiple of 64. */
void ftc_board_layout(struct ftc_board_layout *layout, uint64_t from, uint64_t ranks);

struct ftc_board_memory {
    struct ftc_board_place *places;      /* FTC_BOARD_DEPTH */
    struct ftc_board_progress *progress; /* one for each rank */
    unsigned char *posts;                /* by place, then by rank */
    uint64_t post_stride;                /* bytes between two places */
    unsigned char *ahead;                /* posts of started operations: by rank, then by place */
    unsigned char *results;              /* FTC_BOARD_RESULTS blocks */
    unsigned char *areas; /* FTC_BOARD_AREA bytes for each rank; NULL in a read-only mapping */
    struct ftc_segment *segment; /* NULL: the memory is that of a file of its own (board_file.h) */
};

struct ftc_segment;
struct ftc_board_memory ftc_segment_board(struct ftc_segment *segment);
/* The board of the ranks of this node: rank and place are the same numbers here. */
int ftc_segment_area_allocate(struct ftc_segment *segment, int place, size_t offset, size_t size);
/* Allocate the memory of this part of the rank's area, so that a full /dev/shm is FTC_ERR_SYSTEM
 * here and not a SIGBUS later. */
int ftc_board_allocate(const struct ftc_board_memory *memory, int rank, size_t offset, size_t size);
/* The same for a part of the results. Those of the segment are allocated with it. */
int ftc_board_allocate_result(const struct ftc_board_memory *memory, size_t offset, size_t size);

/* A process may be killed between any two touches of shared memory. The harness of tests/node stops
 * it at these points. */
#ifdef FTC_BOARD_STEP
void ftc_board_step(void);
#else
static inline void ftc_board_step(void)
{
}
#endif

#define FTC_BOARD_LOAD(word) (ftc_board_step(), atomic_load_explicit(&(word), memory_order_acquire))
#define FTC_BOARD_STORE(word, value)                                                               \
    (ftc_board_step(), atomic_store_explicit(&(word), (value), memory_order_release))
#define FTC_BOARD_ADD(word, value)                                                                 \
    (ftc_board_step(), atomic_fetch_add_explicit(&(word), (value), memory_order_seq_cst))
#define FTC_BOARD_SWAP(word, expected, value)                                                      \
    (ftc_board_step(), atomic_compare_exchange_strong(&(word), (expected), (value)))

#endif
