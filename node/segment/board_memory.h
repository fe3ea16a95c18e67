/*
 * The board as it lies in the node segment, and the only ways to touch what is shared in it. Of
 * this room only.
 *
 * Each word says who writes it. All of it may be stale (of an older round) or, if a writer broke,
 * garbage: readers check the round, ranks and places before use. agreement.md, "Node board", has
 * the protocol.
 */
#ifndef FTC_NODE_SEGMENT_BOARD_MEMORY_H
#define FTC_NODE_SEGMENT_BOARD_MEMORY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "collectives/call.h"

/* Tests of the protocol make these smaller: few bytes are then many blocks, and a few rounds use a
 * place again. */
#ifndef FTC_BOARD_STEP
#define FTC_BOARD_DEPTH 32u /* W: rounds a rank may be ahead of its readers */
/* Bytes combined under one claim: the result and one post fit into the first-level cache. */
#define FTC_BOARD_CHUNK 8192u
#define FTC_BOARD_SMALL 1024u
#define FTC_BOARD_WHOLE (4u << 20) /* most bytes of a broadcast's post */
/* Below this many bytes of posts to read, each member combines for itself: cheaper than to wait for
 * another's result. */
#define FTC_BOARD_SELF 1024u
/* From this many bytes on, two members copy between their memories, in pieces. */
#define FTC_BOARD_PAIR       16384u
#define FTC_BOARD_PAIR_PIECE 262144u
#define FTC_BOARD_PAIR_UNIT  4096u /* halves end at a multiple: no value of an element is split */
#endif

#define FTC_BOARD_INLINE 8u  /* bytes that travel in the post itself */
#define FTC_BOARD_CHUNKS 16u /* claims in a round: two cache lines */
#define FTC_BOARD_BLOCK                                                                            \
    (FTC_BOARD_CHUNK * FTC_BOARD_CHUNKS) /* most bytes of a post that is combined */

/* One per rank and place. Its rank writes; the mark of a rank in L is written by the survivors. Two
 * posts share a cache line on purpose: the rank that posts second gets the first one's post with
 * the line it writes to, so two ranks exchange with two transfers instead of four (0.16 us for
 * 0.22). */
struct ftc_board_post {
    /* ftc_board_mark(), or one of the two below; release: the rest is there. */
    _Atomic uint64_t mark;
    struct ftc_signature signature;
    union {
        unsigned char data[FTC_BOARD_INLINE];
        uint64_t offset; /* of more data, in the rank's area */
    };
};

/* One per place. Any rank, by compare-and-swap from a value it has read. */
struct ftc_board_place {
    _Alignas(64) _Atomic uint64_t arrived; /* FTC_BOARD_WORD(round, how many): a hint */
    /* FTC_BOARD_WORD(round, claim): claim = rank << 2 | state */
    _Alignas(64) _Atomic uint64_t claim[FTC_BOARD_CHUNKS];
    _Alignas(64) _Atomic uint64_t sleepers; /* FTC_BOARD_WORD(round, how many, the dead included) */
    _Atomic uint32_t bell;                  /* futex word; bumped before every wake-up */
};

/* One per rank. */
struct ftc_board_progress {
    _Alignas(64) _Atomic uint64_t
        finished; /* the last round that does not collect that is finished, + 1; its rank, release: reads are done */
    _Atomic uint64_t decided; /* the last round that it has decided, + 1; its rank */
    _Atomic uint64_t
        wanted; /* 0, or ring when `finished` reaches it; any rank makes it smaller, its rank clears it */
    _Atomic uint32_t bell; /* futex word; its rank and the launcher */
};

/* A mark: round + 1, and the check of the signature; or the word that the survivors of its writer
 * have settled on. */
#define FTC_BOARD_ROUND_MASK  ((UINT64_C(1) << 46) - 1)
#define FTC_BOARD_COUNTED     (UINT64_C(1) << 46) /* a rank has counted the post: all do */
#define FTC_BOARD_VOID        (UINT64_C(1) << 47) /* no rank has, and none does */
#define FTC_BOARD_CHECK_SHIFT 48

#define FTC_BOARD_TAG(round)         (((round) + 1) << 16)
#define FTC_BOARD_WORD(round, value) (FTC_BOARD_TAG(round) | (uint64_t)(value))
#define FTC_BOARD_VALUE(word)        ((uint32_t)((word)&0xffff))

enum ftc_board_claim {
    FTC_CLAIM_NONE,
    FTC_CLAIM_TAKEN,      /* its holder combines */
    FTC_CLAIM_DONE,       /* the result is there; every member had posted */
    FTC_CLAIM_DONE_SHORT, /* the result is there; members were missing: look who */
};

/* A rank's data: buffers of three sizes, allocated when they are first used. */
#define FTC_BOARD_SMALL_COUNT  FTC_BOARD_DEPTH
#define FTC_BOARD_BLOCK_COUNT  4u
#define FTC_BOARD_WHOLE_COUNT  2u
#define FTC_BOARD_SMALL_OFFSET 0u
#define FTC_BOARD_BLOCK_OFFSET (FTC_BOARD_SMALL_OFFSET + FTC_BOARD_SMALL * FTC_BOARD_SMALL_COUNT)
#define FTC_BOARD_WHOLE_OFFSET (FTC_BOARD_BLOCK_OFFSET + FTC_BOARD_BLOCK * FTC_BOARD_BLOCK_COUNT)
#define FTC_BOARD_AREA         (FTC_BOARD_WHOLE_OFFSET + FTC_BOARD_WHOLE * FTC_BOARD_WHOLE_COUNT)

#define FTC_BOARD_RESULTS                                                                          \
    2u /* results of rounds r and r + 1 lie apart: one would do, but caches like it */

struct ftc_board_memory {
    struct ftc_board_place *places;      /* FTC_BOARD_DEPTH */
    struct ftc_board_progress *progress; /* one for each rank */
    unsigned char *posts;                /* by place, then by rank */
    uint64_t post_stride;                /* bytes between two places */
    unsigned char *results;              /* FTC_BOARD_RESULTS blocks */
    unsigned char *areas; /* FTC_BOARD_AREA bytes for each rank; NULL in a read-only mapping */
};

struct ftc_segment;
struct ftc_board_memory ftc_segment_board(struct ftc_segment *segment);
/* Really allocate that part of the rank's area, so that a full /dev/shm is an error here and no
 * SIGBUS later. FTC_ERR_SYSTEM. */
int ftc_segment_area_allocate(struct ftc_segment *segment, int rank, size_t offset, size_t size);

/* Between any two touches of shared memory a process may be killed: the harness of tests/node stops
 * it there. */
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
